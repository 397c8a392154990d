//! `literal_propagation`: a column that is known to be a constant is that constant wherever it is
//! used, and what a join makes equal to it is filtered by the same constant.
//!
//! Known are the columns that a filter compares with a literal, where equal values are the same
//! (not numeric: `1.00` passes `= 1.0`), and computed literals.

use std::collections::BTreeMap;

use crate::expr::scalar::{Expr, Literal};
use crate::expr::window::call::WindowCall;
use crate::optimizer::comparison::{literal_as, without_widening};
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::rules::join_equalities::equality;
use crate::optimizer::substitute::{input_starts, is_free, moved, single_input};
use crate::plan::relation::{Id, Relation};
use crate::plan::visit::grow;
use crate::repr::ColumnType;

/// Columns and the values that they have in each row.
type Known = BTreeMap<usize, Literal>;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    walk(relation, &mut BTreeMap::new(), &mut changed);
    changed
}

/// Rewrites the inputs and then the node; answers what is known of its columns.
fn walk(node: &mut Relation, locals: &mut BTreeMap<u64, Known>, changed: &mut bool) -> Known {
    grow(|| match node {
        Relation::Constant { .. } | Relation::Get { id: Id::Global(_), .. } => Known::new(),
        Relation::Get { id: Id::Local(id), .. } => locals.get(id).cloned().unwrap_or_default(),
        Relation::Let { id, value, body } => {
            let known = walk(value, locals, changed);
            locals.insert(*id, known);
            walk(body, locals, changed)
        }
        Relation::LetRec { bindings, body, .. } => {
            for binding in bindings {
                walk(&mut binding.value, locals, changed);
            }
            walk(body, locals, changed)
        }
        Relation::Project { input, outputs } => project(&walk(input, locals, changed), outputs),
        Relation::Map { input, exprs } => {
            let known = walk(input, locals, changed);
            map(input.arity(), exprs, known, changed)
        }
        Relation::FlatMap { input, args, .. } => {
            let known = walk(input, locals, changed);
            args.iter_mut().for_each(|arg| replace(arg, &known, changed));
            known
        }
        Relation::Filter { input, predicates } => {
            let known = walk(input, locals, changed);
            filter(predicates, known, &input.typ().columns, changed)
        }
        Relation::Join { .. } => {
            let (known, filtered) = join(node, locals, changed);
            *changed |= filtered;
            known
        }
        Relation::Reduce { input, group_key, aggregates } => {
            let known = walk(input, locals, changed);
            for expr in group_key.iter_mut() {
                replace(expr, &known, changed);
            }
            for aggregate in aggregates {
                for expr in aggregate.exprs_mut() {
                    replace(expr, &known, changed);
                }
            }
            literals(group_key)
        }
        Relation::TopK { input, group_key, order, .. } => {
            let known = walk(input, locals, changed);
            let before = group_key.len() + order.len();
            group_key.retain(|c| !known.contains_key(c));
            order.retain(|o| !known.contains_key(&o.column));
            *changed |= group_key.len() + order.len() != before;
            known
        }
        Relation::Window { input, partition, calls, .. } => {
            let known = walk(input, locals, changed);
            windows(partition, calls, &known, changed);
            known
        }
        Relation::Negate { input } | Relation::Threshold { input } => walk(input, locals, changed),
        Relation::Union { inputs } => {
            let mut all = inputs.iter_mut().map(|i| walk(i, locals, changed)).collect::<Vec<_>>();
            let mut known = all.pop().unwrap_or_default();
            known.retain(|c, literal| all.iter().all(|other| other.get(c) == Some(literal)));
            known
        }
    })
}

/// The expressions that are literals.
fn literals(exprs: &[Expr]) -> Known {
    let literal = |(i, e): (usize, &Expr)| match e {
        Expr::Literal(literal) => Some((i, literal.clone())),
        _ => None,
    };
    exprs.iter().enumerate().filter_map(literal).collect()
}

fn project(known: &Known, outputs: &[usize]) -> Known {
    let of = |(i, c): (usize, &usize)| Some((i, known.get(c)?.clone()));
    outputs.iter().enumerate().filter_map(of).collect()
}

fn map(arity: usize, exprs: &mut [Expr], mut known: Known, changed: &mut bool) -> Known {
    for (i, expr) in exprs.iter_mut().enumerate() {
        replace(expr, &known, changed);
        if let Expr::Literal(literal) = expr {
            known.insert(arity + i, literal.clone());
        }
    }
    known
}

/// Rows of one partition agree about what is known of all.
fn windows(
    partition: &mut Vec<usize>,
    calls: &mut [WindowCall],
    known: &Known,
    changed: &mut bool,
) {
    let before = partition.len();
    partition.retain(|c| !known.contains_key(c));
    *changed |= partition.len() != before;
    calls.iter_mut().flat_map(WindowCall::exprs_mut).for_each(|e| replace(e, known, changed));
}

fn replace(expr: &mut Expr, known: &Known, changed: &mut bool) {
    if known.is_empty() {
        return;
    }
    expr.visit_mut(&mut |e| {
        if let Expr::Column(c) = e
            && let Some(literal) = known.get(c)
        {
            *e = Expr::Literal(literal.clone());
            *changed = true;
        }
    });
}

/// The column and the exact value that a predicate gives it.
fn definition(predicate: &Expr, types: &[ColumnType]) -> Option<(usize, Literal)> {
    let (a, b) = predicate.equated()?;
    let (of, literal) = match (a, b) {
        (Expr::Literal(literal), of) | (of, Expr::Literal(literal)) => (of, literal),
        _ => return None,
    };
    let Expr::Column(c) = without_widening(of) else { return None };
    let ty = types[*c];
    let literal = literal_as(literal, ty.scalar)?;
    let is_exact = ty.scalar.key_is_identity() && !literal.datum().is_null();
    let ty = ColumnType { nullable: false, ..ty };
    is_exact.then_some((*c, Literal { ty, ..literal }))
}

fn filter(
    predicates: &mut [Expr],
    mut known: Known,
    types: &[ColumnType],
    changed: &mut bool,
) -> Known {
    for predicate in predicates.iter_mut() {
        replace(predicate, &known, changed);
    }
    // A column's first definition stays as it is; all else sees the value.
    let mut defines = BTreeMap::new();
    for (i, predicate) in predicates.iter().enumerate() {
        if let Some((column, literal)) = definition(predicate, types) {
            defines.entry(column).or_insert((i, literal));
        }
    }
    for (i, predicate) in predicates.iter_mut().enumerate() {
        let others = defines.iter().filter(|(_, (at, _))| *at != i);
        let others: Known = others.map(|(c, (_, literal))| (*c, literal.clone())).collect();
        replace(predicate, &others, changed);
    }
    known.extend(defines.into_iter().map(|(c, (_, literal))| (c, literal)));
    known
}

/// Filters inputs by what others know of columns that must be equal.
fn join(
    node: &mut Relation,
    locals: &mut BTreeMap<u64, Known>,
    changed: &mut bool,
) -> (Known, bool) {
    let Relation::Join { inputs, equivalences } = node else { return (Known::new(), false) };
    let starts = input_starts(inputs);
    let mut known = Known::new();
    for (input, start) in inputs.iter_mut().zip(&starts) {
        let of_input = walk(input, locals, changed);
        known.extend(of_input.into_iter().map(|(c, literal)| (c + start, literal)));
    }
    if known.is_empty() {
        return (known, false);
    }
    let types: Vec<ColumnType> = inputs.iter().flat_map(|i| i.typ().columns).collect();
    let mut filters: Vec<(usize, Expr)> = Vec::new();
    for class in equivalences.iter() {
        let value = class.exprs.iter().find_map(|e| match e {
            Expr::Column(c) => known.get(c).filter(|l| types[*c].scalar == l.ty.scalar),
            _ => None,
        });
        let Some(value) = value.filter(|v| !v.datum().is_null()).cloned() else { continue };
        let literal = Expr::Literal(value.clone());
        for expr in &class.exprs {
            // Other expressions would be filtered again in each round.
            let Expr::Column(c) = expr else { continue };
            let exact = types[*c].scalar == value.ty.scalar && value.ty.scalar.key_is_identity();
            if known.contains_key(c) || !exact || !is_free(expr) {
                continue;
            }
            let input = single_input(&starts, expr);
            if let (Some(input), Some(p)) = (input, equality(expr, &literal, false, &types)) {
                filters.push((input, moved(&p, |c| c - starts[input])));
                known.insert(*c, value.clone());
            }
        }
    }
    let any = !filters.is_empty();
    for (input, predicate) in filters {
        let below = inputs[input].take();
        inputs[input] = below.filter(vec![predicate]);
    }
    (known, any)
}
