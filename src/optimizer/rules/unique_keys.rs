//! `unique_keys`: what would make rows unique that are unique already is left out.
//!
//! A group of one row needs no reduction, a first row of one needs no order, and a relation that
//! never takes rows away needs no threshold.

use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::cast::Cast;
use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::{Id, Relation};
use crate::plan::visit::grow;
use crate::repr::{ColumnType, Datum, ScalarType};

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        changed |= match node {
            Relation::Reduce { .. } => single_rows(node),
            Relation::TopK { .. } => first_of_one(node),
            Relation::Threshold { input } if never_negative(input) => {
                *node = input.take();
                true
            }
            _ => false,
        };
    });
    changed
}

fn single_rows(node: &mut Relation) -> bool {
    let Relation::Reduce { input, group_key, aggregates } = node else { return false };
    let columns: Vec<usize> = group_key
        .iter()
        .filter_map(|e| match e {
            Expr::Column(c) => Some(*c),
            _ => None,
        })
        .collect();
    let ty = input.typ();
    if !ty.is_unique(&columns) {
        return false;
    }
    let of_one = aggregates.iter().map(|a| of_one_row(a, &ty.columns));
    let Some(values) = of_one.collect::<Option<Vec<_>>>() else { return false };
    let exprs: Vec<Expr> = group_key.drain(..).chain(values).collect();
    let outputs = (ty.arity()..ty.arity() + exprs.len()).collect();
    *node = input.take().map(exprs).project(outputs);
    true
}

/// An aggregate over one row, where that is easily said.
fn of_one_row(aggregate: &Aggregate, types: &[ColumnType]) -> Option<Expr> {
    let arg = aggregate.args.first().cloned().unwrap_or(Expr::bool(true));
    let count = |n| Expr::literal(Datum::Int8(n), ScalarType::Int8);
    let value = match aggregate.func {
        AggFunc::CountStar => count(1),
        AggFunc::Count => match arg.is_fallible() || arg.typ(types).nullable {
            false => count(1),
            true => Expr::Case {
                branches: vec![(arg.is_null(), count(0))],
                otherwise: Box::new(count(1)),
            },
        },
        AggFunc::Min(ty) | AggFunc::Max(ty) if arg.typ(types).scalar == ty => arg,
        AggFunc::BoolAnd | AggFunc::BoolOr | AggFunc::Only(_) => arg,
        AggFunc::Sum(ty @ (ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8)) => {
            let to = aggregate.func.output_type();
            arg.cast(Cast::find(ty, to.scalar)?, to, false)
        }
        _ => return None,
    };
    match &aggregate.filter {
        None => Some(value),
        Some(filter) => {
            let nothing = match aggregate.func {
                AggFunc::CountStar | AggFunc::Count => count(0),
                other => Expr::null(other.output_type().scalar),
            };
            let branches = vec![(filter.clone(), value)];
            Some(Expr::Case { branches, otherwise: Box::new(nothing) })
        }
    }
}

fn first_of_one(node: &mut Relation) -> bool {
    let Relation::TopK { input, group_key, limit, offset, rank, .. } = node else { return false };
    let whole = limit.is_none() && *offset == 0 && !*rank;
    let single = *limit != Some(0) && *offset == 0 && input.typ().is_unique(group_key);
    if !(whole || single) {
        return false;
    }
    let below = input.take();
    *node = match rank {
        true => below.map(vec![Expr::literal(Datum::Int8(1), ScalarType::Int8)]),
        false => below,
    };
    true
}

/// Whether no row has a negative count.
pub fn never_negative(relation: &Relation) -> bool {
    grow(|| match relation {
        Relation::Negate { .. } => false,
        Relation::Constant { rows, .. } => {
            rows.as_ref().map_or(true, |rows| rows.iter().all(|(_, diff)| *diff > 0))
        }
        // What a binding holds is not looked up.
        Relation::Get { id: Id::Local(_), .. } => false,
        Relation::Get { .. } | Relation::Reduce { .. } => true,
        Relation::TopK { .. } | Relation::Window { .. } | Relation::Threshold { .. } => true,
        Relation::Let { body, .. } => never_negative(body),
        _ => relation.children().into_iter().all(never_negative),
    })
}
