//! `let_inlining`: a binding that is used once, or costs nothing, goes to where it is used; one
//! that is not used goes away.
//!
//! What costs nothing is a read of a table or of a few constants, with or without maps, filters
//! and projections: joins can then use the table's own arrangements. The types of the readers of
//! the bindings that stay are brought up to date.

use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::{Id, Relation};
use crate::plan::visit::grow;

/// Constants of more rows are shared.
const ROWS_MAX: usize = 16;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        if let Relation::Let { .. } = node {
            changed |= inline(node);
        }
    });
    changed
}

fn inline(node: &mut Relation) -> bool {
    let Relation::Let { id, value, body } = node else { return false };
    let id = *id;
    let mut uses = 0;
    body.visit(&mut |n| uses += usize::from(reads(n, id)));
    if uses > 1 && !is_cheap(value) {
        let ty = value.typ();
        let mut changed = false;
        body.visit_mut_post(&mut |n| match n {
            Relation::Get { id: Id::Local(found), ty: old } if *found == id && *old != ty => {
                *old = ty.clone();
                changed = true;
            }
            _ => {}
        });
        return changed;
    }
    let (mut value, mut body) = (value.take(), body.take());
    let mut left = uses;
    body.visit_mut_pre(&mut |n| {
        if reads(n, id) {
            left -= 1;
            *n = if left == 0 { value.take() } else { value.clone() };
        }
    });
    *node = body;
    true
}

fn reads(node: &Relation, id: u64) -> bool {
    matches!(node, Relation::Get { id: Id::Local(found), .. } if *found == id)
}

fn is_cheap(relation: &Relation) -> bool {
    grow(|| match relation {
        Relation::Get { .. } => true,
        Relation::Constant { rows, .. } => rows.as_ref().map_or(0, Vec::len) <= ROWS_MAX,
        Relation::Project { input, .. }
        | Relation::Map { input, .. }
        | Relation::Filter { input, .. } => {
            !relation.own_exprs().into_iter().any(|e| e.is_volatile()) && is_cheap(input)
        }
        _ => false,
    })
}
