//! `common_subplans`: what is computed twice is computed once.
//!
//! Equal subtrees that cost something (a join, a reduction, …) become one binding around the whole
//! plan. Subtrees that read an enclosing binding stay: the new one would stand outside of it. So
//! do volatile ones.

use std::collections::HashMap;

use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::{Id, Relation};

/// Larger plans are not searched: each node is hashed with all that is below it.
const NODES_MAX: usize = 2_000;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut nodes = 0;
    relation.visit(&mut |_| nodes += 1);
    if nodes > NODES_MAX {
        return false;
    }
    let mut changed = false;
    // The greatest first; what its two copies shared within is found in the one that is left.
    while let Some(common) = greatest_common(relation) {
        let id = relation.next_local();
        let ty = common.typ();
        relation.visit_mut_pre(&mut |node| {
            if *node == common {
                *node = Relation::local(id, ty.clone());
            }
        });
        *relation = common.let_in(id, relation.take());
        changed = true;
    }
    changed
}

fn greatest_common(relation: &Relation) -> Option<Relation> {
    let mut counts: HashMap<&Relation, usize> = HashMap::new();
    let mut order: Vec<&Relation> = Vec::new();
    let mut todo = vec![relation];
    while let Some(node) = todo.pop() {
        if is_worth_sharing(node) && is_closed(node) {
            let count = counts.entry(node).or_insert(0);
            *count += 1;
            if *count == 1 {
                order.push(node);
            }
        }
        todo.extend(node.children());
    }
    let common = order.into_iter().filter(|node| counts[node] > 1);
    common.max_by_key(|node| size(node)).cloned()
}

fn size(relation: &Relation) -> usize {
    let mut size = 0;
    relation.visit(&mut |_| size += 1);
    size
}

/// Whether the subtree does more than read a relation row by row.
fn is_worth_sharing(relation: &Relation) -> bool {
    match relation {
        Relation::Join { .. } | Relation::Reduce { .. } => true,
        Relation::TopK { .. } | Relation::Window { .. } | Relation::Threshold { .. } => true,
        Relation::FlatMap { .. } => true,
        Relation::Project { input, .. }
        | Relation::Map { input, .. }
        | Relation::Filter { input, .. }
        | Relation::Negate { input } => is_worth_sharing(input),
        Relation::Union { inputs } => inputs.iter().any(is_worth_sharing),
        Relation::Constant { .. }
        | Relation::Get { .. }
        | Relation::Let { .. }
        | Relation::LetRec { .. } => false,
    }
}

/// Whether the subtree means the same anywhere, however often it is computed.
fn is_closed(relation: &Relation) -> bool {
    let mut closed = true;
    relation.visit(&mut |node| {
        closed &= node.own_bindings().is_empty();
        closed &= !matches!(node, Relation::Get { id: Id::Local(_), .. });
        closed &= !node.own_exprs().into_iter().any(|e| e.is_volatile());
        closed &= !matches!(node, Relation::FlatMap { func, .. } if func.is_volatile());
    });
    closed
}
