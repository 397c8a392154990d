//! `fuse`: neighbouring maps, filters and projections become one of each, projections stand above
//! maps, and operators that do nothing go.

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::moved;
use crate::plan::relation::Relation;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        while fuse(node) {
            changed = true;
        }
    });
    changed
}

fn fuse(node: &mut Relation) -> bool {
    match node {
        Relation::Filter { .. } => fuse_filter(node),
        Relation::Map { .. } => fuse_map(node),
        Relation::Project { .. } => fuse_project(node),
        Relation::Join { inputs, equivalences } if inputs.len() == 1 && equivalences.is_empty() => {
            *node = inputs[0].take();
            true
        }
        _ => false,
    }
}

fn fuse_filter(node: &mut Relation) -> bool {
    let Relation::Filter { input, predicates } = node else { return false };
    if predicates.is_empty() {
        *node = input.take();
        return true;
    }
    let Relation::Filter { input: below, predicates: inner } = input.as_mut() else {
        return false;
    };
    let mut all = std::mem::take(inner);
    all.append(predicates);
    *node = below.take().filter(all);
    true
}

fn fuse_map(node: &mut Relation) -> bool {
    let Relation::Map { input, exprs } = node else { return false };
    if exprs.is_empty() {
        *node = input.take();
        return true;
    }
    if exprs.iter().all(|e| matches!(e, Expr::Column(_))) {
        let mut outputs: Vec<usize> = (0..input.arity()).collect();
        for expr in exprs {
            if let Expr::Column(c) = expr {
                outputs.push(outputs[*c]);
            }
        }
        *node = input.take().project(outputs);
        return true;
    }
    match input.as_mut() {
        Relation::Map { input: below, exprs: inner } => {
            let mut all = std::mem::take(inner);
            all.append(exprs);
            *node = below.take().map(all);
            true
        }
        Relation::Project { input: below, outputs } => {
            let mut outputs = std::mem::take(outputs);
            let arity = below.arity();
            let mut mapped = Vec::new();
            for expr in std::mem::take(exprs) {
                mapped.push(moved(&expr, |c| outputs[c]));
                outputs.push(arity + mapped.len() - 1);
            }
            *node = below.take().map(mapped).project(outputs);
            true
        }
        _ => false,
    }
}

fn fuse_project(node: &mut Relation) -> bool {
    let Relation::Project { input, outputs } = node else { return false };
    if let Relation::Project { input: below, outputs: inner } = input.as_mut() {
        let outputs = outputs.iter().map(|c| inner[*c]).collect();
        *node = below.take().project(outputs);
        return true;
    }
    let is_identity =
        outputs.len() == input.arity() && outputs.iter().enumerate().all(|(i, c)| i == *c);
    if is_identity {
        *node = input.take();
        return true;
    }
    drop_trailing_map(node)
}

/// Leaves out the last new columns of a map that the projection above it does not use.
fn drop_trailing_map(node: &mut Relation) -> bool {
    let Relation::Project { input, outputs } = node else { return false };
    let Relation::Map { input: below, exprs } = input.as_mut() else { return false };
    let arity = below.arity();
    let kept = outputs.iter().map(|c| c + 1).max().unwrap_or(0).saturating_sub(arity);
    if kept >= exprs.len() {
        return false;
    }
    exprs.truncate(kept);
    if exprs.is_empty() {
        **input = below.take();
    }
    true
}
