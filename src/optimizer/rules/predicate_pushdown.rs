//! `predicate_pushdown`: filters move towards the tables, and equalities between the inputs of a
//! join become its equivalences.
//!
//! A fallible predicate moves only through operators below which there are no other rows than
//! above: projections, maps, unions, and the keys of groups. A predicate on the key of
//! a group stands for all rows of the group only where equal keys are the same, so keys of other
//! types (numeric: 1.0 = 1.00) keep it above.

use crate::expr::cast::Cast;
use crate::expr::functions::operator_of;
use crate::expr::scalar::Expr;
use crate::optimizer::comparison::without_widening;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::{input_starts, is_free, moved, single_input, substitute_small};
use crate::plan::relation::{Equivalence, Relation};
use crate::plan::visit::grow;
use crate::repr::{ColumnType, ScalarType};

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    walk(relation)
}

fn walk(relation: &mut Relation) -> bool {
    // From the top down, so that one walk takes a predicate all the way.
    grow(|| {
        let mut changed = false;
        while let Relation::Filter { .. } = relation {
            if !push(relation) {
                break;
            }
            changed = true;
        }
        for child in relation.children_mut() {
            changed |= walk(child);
        }
        changed
    })
}

/// Moves what can move of a filter through the operator below it.
fn push(node: &mut Relation) -> bool {
    let Relation::Filter { input, predicates } = node else { return false };
    let predicates: Vec<Expr> =
        std::mem::take(predicates).into_iter().flat_map(Expr::into_conjuncts).collect();
    let mut below = input.take();
    let (done, kept) = match &mut below {
        Relation::Filter { predicates: more, .. } => {
            more.extend(predicates);
            (true, Vec::new())
        }
        Relation::Project { input, outputs } => {
            let through = predicates.iter().map(|p| moved(p, |c| outputs[c])).collect();
            wrap(input, through);
            (true, Vec::new())
        }
        Relation::Let { body, .. } | Relation::LetRec { body, .. } => {
            wrap(body, predicates);
            (true, Vec::new())
        }
        Relation::Union { inputs } => some(predicates, is_same_twice, |through| {
            inputs.iter_mut().for_each(|input| wrap(input, through.clone()));
        }),
        // Errors are not negated: what fails on a row that comes and goes has to be above.
        Relation::Negate { input } => {
            let passes = |p: &Expr| is_same_twice(p).filter(|p| !p.is_fallible());
            some(predicates, passes, |through| wrap(input, through))
        }
        Relation::Threshold { input } => {
            some(predicates, |p| is_free(p).then(|| p.clone()), |through| wrap(input, through))
        }
        Relation::Map { input, exprs } => push_map(input, exprs, predicates),
        Relation::FlatMap { input, .. } => {
            let arity = input.arity();
            let of_input = |p: &Expr| {
                let columns = p.columns();
                let passes = is_free(p) && columns.iter().all(|c| *c < arity);
                (passes && !columns.is_empty()).then(|| p.clone())
            };
            some(predicates, of_input, |through| wrap(input, through))
        }
        Relation::Reduce { input, group_key, .. } => push_reduce(input, group_key, predicates),
        Relation::TopK { input, group_key, .. }
        | Relation::Window { input, partition: group_key, .. } => {
            let types = input.typ().columns;
            let of_group = |p: &Expr| {
                let fits = |c: &usize| group_key.contains(c) && is_exact(&types[*c]);
                let columns = p.columns();
                (is_free(p) && !columns.is_empty() && columns.iter().all(fits)).then(|| p.clone())
            };
            some(predicates, of_group, |through| wrap(input, through))
        }
        Relation::Join { inputs, equivalences } => push_join(inputs, equivalences, predicates),
        Relation::Constant { .. } | Relation::Get { .. } => (false, predicates),
    };
    *node = below.filter(kept);
    done
}

/// Whether equal values of the type are the same value.
fn is_exact(ty: &ColumnType) -> bool {
    ty.scalar.key_is_identity()
}

fn wrap(input: &mut Relation, predicates: Vec<Expr>) {
    let below = input.take();
    *input = below.filter(predicates);
}

/// A predicate that answers alike wherever a row stands twice.
fn is_same_twice(predicate: &Expr) -> Option<Expr> {
    (!predicate.is_volatile()).then(|| predicate.clone())
}

/// Passes on the predicates that `through` has a form for, and keeps the others.
fn some(
    predicates: Vec<Expr>,
    through: impl Fn(&Expr) -> Option<Expr>,
    pass: impl FnOnce(Vec<Expr>),
) -> (bool, Vec<Expr>) {
    let (mut moving, mut kept) = (Vec::new(), Vec::new());
    for predicate in predicates {
        match through(&predicate) {
            Some(form) => moving.push(form),
            None => kept.push(predicate),
        }
    }
    let any = !moving.is_empty();
    pass(moving);
    (any, kept)
}

/// Replaces new columns by what computes them. What can fail is not computed twice.
fn push_map(input: &mut Relation, exprs: &[Expr], predicates: Vec<Expr>) -> (bool, Vec<Expr>) {
    let arity = input.arity();
    let is_null = |column: usize| column >= arity && exprs[column - arity].is_null_literal();
    if predicates.iter().any(|predicate| rejects_nulls(predicate, &is_null, true)) {
        wrap(input, vec![Expr::bool(false)]);
        return (true, vec![]);
    }
    let mut columns: Vec<Expr> = (0..arity).map(Expr::Column).collect();
    // None where the column cannot be replaced.
    let mut usable = vec![true; arity];
    for expr in exprs {
        let whole = is_free(expr) && expr.columns().iter().all(|c| usable[*c]);
        let form = if whole { substitute_small(expr, &columns) } else { None };
        usable.push(form.is_some());
        columns.push(form.unwrap_or(Expr::bool(false)));
    }
    let through = |p: &Expr| match p.columns().iter().all(|c| usable[*c]) {
        true => substitute_small(p, &columns),
        false => None,
    };
    some(predicates, through, |moving| wrap(input, moving))
}

/// Whether an expression is NULL, or as a condition not true, where the columns that `is_null`
/// names are NULL, if it is computed at all. By this PostgreSQL makes inner joins of outer ones,
/// and does not compute the condition for padded rows, whatever else in it might fail.
fn rejects_nulls(expr: &Expr, is_null: &impl Fn(usize) -> bool, is_condition: bool) -> bool {
    let rejects = |expr: &Expr| rejects_nulls(expr, is_null, false);
    let rejects_as_it_is = |expr: &Expr| rejects_nulls(expr, is_null, is_condition);
    match expr {
        Expr::Column(column) => is_null(*column),
        Expr::Cast { input, .. } => rejects(input),
        Expr::And(exprs) if is_condition => exprs.iter().any(rejects_as_it_is),
        Expr::And(exprs) | Expr::Or(exprs) => exprs.iter().all(rejects_as_it_is),
        Expr::Call { func, args } => match (expr.negated(), is_condition) {
            (Some(Expr::IsNull(input)), true) => matches!(**input, Expr::Column(c) if is_null(c)),
            _ => func.strict && args.iter().any(rejects),
        },
        _ => false,
    }
}

fn push_reduce(
    input: &mut Relation,
    group_key: &[Expr],
    predicates: Vec<Expr>,
) -> (bool, Vec<Expr>) {
    let types = input.typ().columns;
    let through = |p: &Expr| {
        let fits = |c: &usize| {
            group_key.get(*c).is_some_and(|key| !key.is_volatile() && is_exact(&key.typ(&types)))
        };
        let columns = p.columns();
        let whole = !p.is_volatile() && !columns.is_empty() && columns.iter().all(fits);
        // A part of the key that can fail fails below as well.
        if whole { substitute_small(p, group_key) } else { None }
    };
    some(predicates, through, |moving| wrap(input, moving))
}

fn push_join(
    inputs: &mut [Relation],
    equivalences: &mut Vec<Equivalence>,
    predicates: Vec<Expr>,
) -> (bool, Vec<Expr>) {
    let starts = input_starts(inputs);
    let mut of_input: Vec<Vec<Expr>> = vec![Vec::new(); inputs.len()];
    let (mut moved_any, mut kept) = (false, Vec::new());
    for predicate in predicates {
        if !is_free(&predicate) {
            kept.push(predicate);
        } else if let Some(input) = single_input(&starts, &predicate) {
            of_input[input].push(moved(&predicate, |c| c - starts[input]));
            moved_any = true;
        } else if let Some(class) = as_equivalence(&starts, &predicate) {
            equivalences.push(class);
            moved_any = true;
        } else {
            kept.push(predicate);
        }
    }
    for (input, predicates) in inputs.iter_mut().zip(of_input) {
        if !predicates.is_empty() {
            wrap(input, predicates);
        }
    }
    (moved_any, kept)
}

/// An equality between expressions of two inputs.
fn as_equivalence(starts: &[usize], predicate: &Expr) -> Option<Equivalence> {
    let widened = widened(predicate);
    let predicate = widened.as_ref().unwrap_or(predicate);
    let (sides, null_safe) = match predicate.equated() {
        Some(sides) => (sides, false),
        None => (predicate.not_distinguished()?, true),
    };
    let (a, b) = same_type(sides.0, sides.1);
    let (left, right) = (single_input(starts, a)?, single_input(starts, b)?);
    let exprs = vec![a.clone(), b.clone()];
    (left != right).then_some(Equivalence { exprs, null_safe })
}

/// An equality of integers of two widths as one of the wider, by which rows can be looked up.
fn widened(predicate: &Expr) -> Option<Expr> {
    use ScalarType::{Int2, Int4, Int8};
    let Expr::Call { func, args } = predicate else { return None };
    let operator = operator_of(func.oid).filter(|operator| operator.symbol == "=")?;
    let (from, to, right_is_wider) = match (operator.left?, operator.right) {
        (from @ Int2, to @ (Int4 | Int8)) | (from @ Int4, to @ Int8) => (from, to, true),
        (to @ (Int4 | Int8), from @ Int2) | (to @ Int8, from @ Int4) => (from, to, false),
        _ => return None,
    };
    let cast = Cast::find(from, to)?;
    let [a, b] = args.as_slice() else { return None };
    let (a, b) = match right_is_wider {
        true => (a.clone().cast(cast, to, false), b.clone()),
        false => (a.clone(), b.clone().cast(cast, to, false)),
    };
    Expr::equal(to, a, b)
}

/// Operands without the conversions that both have: columns of varchar compare as they are.
fn same_type<'a>(a: &'a Expr, b: &'a Expr) -> (&'a Expr, &'a Expr) {
    match (a, b) {
        (Expr::Cast { cast: x, .. }, Expr::Cast { cast: y, .. }) if x == y => {
            let (inner_a, inner_b) = (without_widening(a), without_widening(b));
            let is_one_step = |whole: &Expr, inner: &Expr| match whole {
                Expr::Cast { input, .. } => **input == *inner,
                _ => false,
            };
            match is_one_step(a, inner_a) && is_one_step(b, inner_b) {
                true => (inner_a, inner_b),
                false => (a, b),
            }
        }
        _ => (a, b),
    }
}
