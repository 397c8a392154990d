//! `join_flattening`: a join that is an input of a join becomes part of it, so that the order of
//! all inputs can be chosen together.
//!
//! Maps, filters and projections between the two move above the join: they then see only rows that
//! survive it. That the equivalences do not see more rows than before matters only where one can
//! fail: then nothing moves.

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::{input_starts, is_free, moved, substitute_small};
use crate::plan::relation::{Equivalence, Relation};

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        while flatten(node) {
            changed = true;
        }
    });
    changed
}

/// What stands between a join and an input of it that is a join too.
struct Between {
    /// The input's columns, over those of the inner join.
    columns: Vec<Expr>,
    /// Predicates over the inner join's columns.
    predicates: Vec<Expr>,
}

/// Looks through free maps, filters and projections for a join.
fn between(relation: &Relation) -> Option<(&Relation, Between)> {
    let mut layers = Vec::new();
    let mut base = relation;
    loop {
        match base {
            Relation::Project { input, .. } => {
                layers.push(base);
                base = input;
            }
            Relation::Map { input, .. } | Relation::Filter { input, .. } => {
                if !base.own_exprs().into_iter().all(is_free) {
                    return None;
                }
                layers.push(base);
                base = input;
            }
            Relation::Join { equivalences, .. } => {
                if !equivalences.iter().flat_map(|c| &c.exprs).all(is_free) {
                    return None;
                }
                break;
            }
            _ => return None,
        }
    }
    let mut columns: Vec<Expr> = (0..base.arity()).map(Expr::Column).collect();
    let mut predicates = Vec::new();
    for layer in layers.into_iter().rev() {
        match layer {
            Relation::Project { outputs, .. } => {
                columns = outputs.iter().map(|c| columns[*c].clone()).collect();
            }
            Relation::Map { exprs, .. } => {
                for expr in exprs {
                    columns.push(substitute_small(expr, &columns)?);
                }
            }
            Relation::Filter { predicates: more, .. } => {
                for predicate in more {
                    predicates.push(substitute_small(predicate, &columns)?);
                }
            }
            _ => {}
        }
    }
    Some((base, Between { columns, predicates }))
}

fn flatten(node: &mut Relation) -> bool {
    let Relation::Join { inputs, equivalences } = &*node else { return false };
    if !equivalences.iter().flat_map(|c| &c.exprs).all(is_free) {
        return false;
    }
    let found = inputs.iter().enumerate().find_map(|(i, r)| Some((i, between(r)?)));
    let Some((at, (inner, between))) = found else { return false };
    let Relation::Join { inputs: below, equivalences: within } = inner else { return false };
    let starts = input_starts(inputs);
    let (start, end) = (starts[at], starts[at + 1]);
    let inner_arity = inner.arity();
    // What the old columns are over the new ones.
    let columns: Vec<Expr> = (0..starts[inputs.len()])
        .map(|c| match c {
            c if c < start => Expr::Column(c),
            c if c < end => moved(&between.columns[c - start], |c| c + start),
            c => Expr::Column(c - end + start + inner_arity),
        })
        .collect();
    let mut classes = Vec::new();
    for class in equivalences {
        let exprs = class.exprs.iter().map(|e| substitute_small(e, &columns));
        let Some(exprs) = exprs.collect() else { return false };
        classes.push(Equivalence { exprs, null_safe: class.null_safe });
    }
    for class in within {
        let exprs = class.exprs.iter().map(|e| moved(e, |c| c + start)).collect();
        classes.push(Equivalence { exprs, null_safe: class.null_safe });
    }
    let predicates = between.predicates.iter().map(|p| moved(p, |c| c + start)).collect();
    let mut flat = inputs[..at].to_vec();
    flat.extend(below.iter().cloned());
    flat.extend_from_slice(&inputs[at + 1..]);
    let arity = starts[inputs.len()] - (end - start) + inner_arity;
    let mut mapped = Vec::new();
    let mut outputs = Vec::new();
    for column in columns {
        outputs.push(match column {
            Expr::Column(c) => c,
            expr => {
                mapped.push(expr);
                arity + mapped.len() - 1
            }
        });
    }
    *node = Relation::join(flat, classes).filter(predicates).map(mapped).project(outputs);
    true
}
