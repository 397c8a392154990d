//! `union_flattening`: a union inside a union is one union; two negations are none.

use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::Relation;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| changed |= flatten(node));
    changed
}

fn flatten(node: &mut Relation) -> bool {
    match node {
        Relation::Union { inputs } => {
            let is_union = |i: &Relation| matches!(i, Relation::Union { .. });
            if inputs.len() > 1 && !inputs.iter().any(is_union) {
                return false;
            }
            let mut flat = Vec::new();
            for input in std::mem::take(inputs) {
                match input {
                    // A long chain leans to the left: its inputs are moved once.
                    Relation::Union { inputs } if flat.is_empty() => flat = inputs,
                    Relation::Union { inputs } => flat.extend(inputs),
                    other => flat.push(other),
                }
            }
            *node = Relation::union(flat);
            true
        }
        Relation::Negate { input } => match input.as_mut() {
            Relation::Negate { input } => {
                *node = input.take();
                true
            }
            Relation::Union { inputs } => {
                let inputs = std::mem::take(inputs).into_iter().map(Relation::negate).collect();
                *node = Relation::Union { inputs };
                flatten_negations(node);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Removes double negations among the inputs of a union.
fn flatten_negations(node: &mut Relation) {
    for child in node.children_mut() {
        flatten(child);
    }
}
