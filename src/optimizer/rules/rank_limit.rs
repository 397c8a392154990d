//! `rank_limit`: "the first k by `row_number()`" is a limit.
//!
//! A filter that bounds the number of rows of a numbering is taken into it, so that the rows
//! beyond the bound need not be numbered.

use crate::expr::scalar::Expr;
use crate::optimizer::comparison::{Op, with_literal, without_widening};
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::Relation;
use crate::repr::Datum;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| changed |= bound(node));
    changed
}

fn bound(node: &mut Relation) -> bool {
    let Relation::Filter { input, predicates } = node else { return false };
    let rank_column = input.arity() - usize::from(input.arity() > 0);
    let Relation::TopK { limit, offset: 0, rank: true, .. } = input.as_mut() else { return false };
    let mut changed = false;
    predicates.retain(|predicate| {
        let Some((most, exact)) = most_rows(predicate, rank_column) else { return true };
        if limit.is_none_or(|old| most < old) {
            *limit = Some(most);
            changed = true;
        }
        changed |= exact;
        !exact
    });
    changed
}

/// How many rows a predicate lets through at most, and whether it says nothing else.
fn most_rows(predicate: &Expr, rank: usize) -> Option<(u64, bool)> {
    let (of, op, literal) = with_literal(predicate)?;
    if *without_widening(of) != Expr::Column(rank) {
        return None;
    }
    let bound = match literal.datum() {
        Datum::Int2(v) => i64::from(v),
        Datum::Int4(v) => i64::from(v),
        Datum::Int8(v) => v,
        _ => return None,
    };
    let at_most = |n: i64| u64::try_from(n).unwrap_or(0);
    match op {
        Op::Le => Some((at_most(bound), true)),
        Op::Lt => Some((at_most(bound.saturating_sub(1)), true)),
        Op::Eq => Some((at_most(bound), bound <= 1)),
        Op::Gt | Op::Ge => None,
    }
}
