//! `reduction_pushdown`: where it does not matter how often a row comes, an input of a join that
//! only says which rows of the others may stay comes down to its different keys.
//!
//! `SELECT DISTINCT a.x FROM a JOIN b ON a.id = b.a_id` needs no more of `b` than each `a_id`
//! once: a row of `a` then meets one row, not all that it has. The same goes for aggregates to
//! which a row that comes again adds nothing. An input of which all columns are compared is left
//! alone, since it would hardly get smaller, and so is one whose keys are unique already.

use std::collections::BTreeSet;

use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::scalar::Expr;
use crate::optimizer::physical::build::peel;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::rules::unique_keys::never_negative;
use crate::optimizer::substitute::input_starts;
use crate::plan::relation::{Equivalence, Relation};
use crate::repr::ColumnType;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| changed |= push(node));
    changed
}

fn push(node: &mut Relation) -> bool {
    let Relation::Reduce { input, group_key, aggregates } = node else { return false };
    if !aggregates.iter().all(ignores_repetition) {
        return false;
    }
    let exprs = aggregates.iter().flat_map(Aggregate::exprs).chain(group_key.iter());
    let exprs: Vec<&Expr> = exprs.collect();
    if exprs.iter().any(|expr| expr.is_volatile()) {
        return false;
    }
    let read: BTreeSet<usize> = exprs.iter().flat_map(|expr| expr.columns()).collect();
    let (Relation::Join { .. }, mfp) = peel(input) else { return false };
    let mut mfp = mfp.project(read);
    mfp.prune();
    if mfp.is_volatile() {
        return false;
    }
    let used = mfp.input_columns();
    let mut join: &mut Relation = input;
    while let Relation::Project { input, .. }
    | Relation::Map { input, .. }
    | Relation::Filter { input, .. } = join
    {
        join = input;
    }
    let Relation::Join { inputs, equivalences } = join else { return false };
    let starts = input_starts(inputs);
    let mut changed = false;
    for (at, input) in inputs.iter_mut().enumerate() {
        let columns = starts[at]..starts[at + 1];
        if used.iter().any(|column| columns.contains(column)) {
            continue;
        }
        let Some(key) = compared(equivalences, columns) else { continue };
        let is_smaller = key.len() < peel(input).0.arity() && !input.typ().is_unique(&key);
        if is_smaller && !key.is_empty() && never_negative(input) {
            keep_keys(input, &key);
            changed = true;
        }
    }
    changed
}

/// Whether an aggregate is the same over rows that come once and over rows that come again.
fn ignores_repetition(aggregate: &Aggregate) -> bool {
    aggregate.distinct
        || matches!(
            aggregate.func,
            AggFunc::Min(_)
                | AggFunc::Max(_)
                | AggFunc::BoolAnd
                | AggFunc::BoolOr
                | AggFunc::BitAnd(_)
                | AggFunc::BitOr(_)
        )
}

/// The columns of an input that are compared, if nothing else of it is; numbered by the input.
fn compared(classes: &[Equivalence], columns: std::ops::Range<usize>) -> Option<Vec<usize>> {
    let mut key = BTreeSet::new();
    for expr in classes.iter().flat_map(|class| &class.exprs) {
        match expr {
            Expr::Column(column) if columns.contains(column) => {
                key.insert(column - columns.start);
            }
            other if other.columns().iter().any(|column| columns.contains(column)) => return None,
            _ => {}
        }
    }
    Some(key.into_iter().collect())
}

/// Each key once. The other columns, which nobody reads, are NULL.
fn keep_keys(input: &mut Relation, key: &[usize]) {
    let types = input.typ().columns;
    let others = (0..types.len()).filter(|column| !key.contains(column));
    let nulls = others.map(|column| Expr::null(ColumnType::nullable(types[column].scalar)));
    let nulls: Vec<Expr> = nulls.collect();
    let mut other = key.len()..;
    let outputs = (0..types.len()).map(|column| {
        let place = key.iter().position(|kept| *kept == column);
        place.or_else(|| other.next()).expect("there is always one more number")
    });
    let outputs = outputs.collect();
    *input = input.take().project(key.to_vec()).distinct().map(nulls).project(outputs);
}
