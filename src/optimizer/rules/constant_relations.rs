//! `constant_relations`: operators over constant rows are computed, and what has no rows makes
//! what depends on it have none.
//!
//! Rows on which an expression fails, or has another value each time, are left to the dataflow.

use std::collections::BTreeMap;

use bumpalo::Bump;

use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::{Relation, RelationType};
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::value::{decode_values, pack};
use crate::repr::{Diff, Row, ScalarType};

/// More rows than this are left to the function that makes them.
const EXPANDED_MAX: usize = 1_000;

/// The rule.
pub fn apply(relation: &mut Relation, config: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        while step(node, config) {
            changed = true;
        }
    });
    changed
}

/// Whether the relation is known to have neither rows nor errors.
pub fn is_empty(relation: &Relation) -> bool {
    matches!(relation, Relation::Constant { rows: Ok(rows), .. } if rows.is_empty())
}

fn step(node: &mut Relation, config: &OptimizerConfig) -> bool {
    match node {
        Relation::Map { input, exprs } => {
            let mfp = Mfp::identity(input.arity()).map(exprs.iter().cloned());
            compute(node, &mfp, config)
        }
        Relation::Filter { input, predicates } => {
            let mfp = Mfp::identity(input.arity()).filter(predicates.iter().cloned());
            compute(node, &mfp, config)
        }
        Relation::Project { input, outputs } => {
            let mfp = Mfp::identity(input.arity()).project(outputs.iter().copied());
            compute(node, &mfp, config)
        }
        Relation::FlatMap { input, .. } => {
            if is_empty(input) {
                empty(node)
            } else {
                expand(node, config)
            }
        }
        Relation::Negate { input } => match input.as_mut() {
            Relation::Constant { rows: Ok(rows), ty } => {
                rows.iter_mut().for_each(|(_, diff)| *diff = -*diff);
                ty.keys.clear();
                *node = input.take();
                true
            }
            _ => false,
        },
        Relation::Union { .. } => merge(node),
        Relation::Reduce { input, group_key, aggregates } => {
            let plain = group_key.iter().enumerate().all(|(i, e)| *e == Expr::Column(i));
            let whole = plain && group_key.len() == input.arity() && aggregates.is_empty();
            if is_empty(input) { empty(node) } else { whole && distinct(node) }
        }
        Relation::TopK { input, limit, .. } => {
            (is_empty(input) || *limit == Some(0)) && empty(node)
        }
        Relation::Window { input, .. } => is_empty(input) && empty(node),
        Relation::Threshold { input } => is_empty(input) && empty(node),
        Relation::Join { inputs, equivalences } => {
            let never = equivalences
                .iter()
                .any(|class| !class.null_safe && class.exprs.iter().any(Expr::is_null_literal));
            (never || inputs.iter().any(is_empty)) && empty(node)
        }
        Relation::Constant { .. }
        | Relation::Get { .. }
        | Relation::Let { .. }
        | Relation::LetRec { .. } => false,
    }
}

fn empty(node: &mut Relation) -> bool {
    *node = Relation::empty(node.typ().columns);
    true
}

/// Puts the rows of an operator over a constant in its place.
fn compute(node: &mut Relation, mfp: &Mfp, config: &OptimizerConfig) -> bool {
    let exprs = mfp.expressions.iter().chain(mfp.predicates.iter().map(|(_, p)| p));
    if exprs.into_iter().any(Expr::is_volatile) {
        return false;
    }
    let child = node.children().into_iter().next();
    let Some(Relation::Constant { rows: Ok(rows), ty }) = child else { return false };
    let Ok(rows) = evaluate(rows, &ty.scalars(), mfp, config) else { return false };
    let ty = constant_type(node.typ(), &rows);
    *node = Relation::constant(rows, ty);
    true
}

/// Puts the rows of functions over a constant in its place, where they are few.
fn expand(node: &mut Relation, config: &OptimizerConfig) -> bool {
    let Relation::FlatMap { input, func, args } = &*node else { return false };
    let Relation::Constant { rows: Ok(rows), ty } = &**input else { return false };
    if func.is_volatile() || args.iter().any(Expr::is_volatile) {
        return false;
    }
    let (types, of_func) = (ty.scalars(), func.columns());
    let of_func: Vec<ScalarType> = of_func.iter().map(|c| c.scalar).collect();
    let mut out = Vec::new();
    for (row, diff) in rows {
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &config.settings };
        let mut datums = Vec::new();
        decode_values(&types, row.bytes(), &mut datums);
        let values: Result<Vec<_>, _> = args.iter().map(|arg| arg.eval(&datums, &cx)).collect();
        let Ok(found) = values.and_then(|values| func.open(&values, &cx)) else { return false };
        for more in found {
            let Ok(more) = more else { return false };
            if out.len() == EXPANDED_MAX {
                return false;
            }
            let mut whole = datums.clone();
            decode_values(&of_func, more.bytes(), &mut whole);
            out.push((pack(&whole), *diff));
        }
    }
    let ty = constant_type(node.typ(), &out);
    *node = Relation::constant(out, ty);
    true
}

/// One row at most is a key without columns; without rows nothing is NULL.
fn constant_type(mut ty: RelationType, rows: &[(Row, Diff)]) -> RelationType {
    if rows.is_empty() || matches!(rows, [(_, 1)]) {
        ty.keys = vec![Vec::new()];
    }
    ty
}

fn evaluate(
    rows: &[(Row, Diff)],
    types: &[ScalarType],
    mfp: &Mfp,
    config: &OptimizerConfig,
) -> Result<Vec<(Row, Diff)>, EvalError> {
    let mut out = Vec::with_capacity(rows.len());
    for (row, diff) in rows {
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &config.settings };
        let mut datums = Vec::new();
        decode_values(types, row.bytes(), &mut datums);
        if mfp.evaluate(&mut datums, &cx)? {
            let datums: Vec<_> = mfp.projection.iter().map(|c| datums[*c]).collect();
            out.push((pack(&datums), *diff));
        }
    }
    Ok(out)
}

/// One constant for all of a union's constants; none for empty ones.
fn merge(node: &mut Relation) -> bool {
    let Relation::Union { inputs } = node else { return false };
    let is_rows = |i: &Relation| matches!(i, Relation::Constant { rows: Ok(_), .. });
    let constants = inputs.iter().filter(|i| is_rows(i)).count();
    let empties = inputs.iter().filter(|i| is_empty(i)).count();
    if constants < 2 && empties == 0 {
        return false;
    }
    let columns = node.typ().columns;
    let Relation::Union { inputs } = node else { return false };
    let (mut rows, mut rest) = (Vec::new(), Vec::new());
    for input in std::mem::take(inputs) {
        match input {
            Relation::Constant { rows: Ok(some), .. } => rows.extend(some),
            other => rest.push(other),
        }
    }
    if !rows.is_empty() || rest.is_empty() {
        let ty = constant_type(RelationType::new(columns), &rows);
        rest.push(Relation::constant(rows, ty));
    }
    *node = Relation::union(rest);
    true
}

/// Each row once; of equal ones the least.
fn distinct(node: &mut Relation) -> bool {
    let Relation::Reduce { input, .. } = node else { return false };
    let Relation::Constant { rows: Ok(rows), ty } = input.as_mut() else { return false };
    let types = ty.scalars();
    let mut groups: BTreeMap<Vec<u8>, (Row, Diff)> = BTreeMap::new();
    if rows.iter().any(|(_, diff)| *diff < 0) {
        return false;
    }
    for (row, diff) in std::mem::take(rows).into_iter().filter(|(_, diff)| *diff > 0) {
        let mut datums = Vec::new();
        decode_values(&types, row.bytes(), &mut datums);
        let mut key = Vec::new();
        encode_key(KeyMode::NullSafe, &types, &datums, &mut key);
        let group = groups.entry(key).or_insert_with(|| (row.clone(), diff));
        if row < group.0 {
            group.0 = row;
        }
    }
    let rows: Vec<_> = groups.into_values().map(|(row, _)| (row, 1)).collect();
    let mut ty = std::mem::take(ty);
    ty.keys = vec![(0..types.len()).collect()];
    *node = Relation::constant(rows.clone(), constant_type(ty, &rows));
    true
}
