//! `redundant_joins`: a relation is not joined with its own keys.
//!
//! The keys are the different values of some of its columns, which each of its rows meets once. A
//! subquery is computed for the keys of the rows around it; where nothing that it found is read,
//! they are all that is left of it.

use std::collections::BTreeMap;

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::input_starts;
use crate::plan::relation::{Equivalence, Id, Relation};
use crate::plan::visit::grow;

/// Bindings that hold different values of columns: of what, and of which.
type Bound = BTreeMap<u64, (Relation, Vec<usize>)>;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    simplify(relation, &mut Bound::new())
}

fn simplify(node: &mut Relation, bound: &mut Bound) -> bool {
    grow(|| {
        if let Relation::Let { id, value, body } = node {
            let mut changed = simplify(value, bound);
            if let Some(keys) = keys_of(value, bound) {
                bound.insert(*id, keys);
            }
            changed |= simplify(body, bound);
            bound.remove(id);
            return changed;
        }
        let mut changed = false;
        for child in node.children_mut() {
            changed |= simplify(child, bound);
        }
        while leave_out(node, bound) {
            changed = true;
        }
        changed
    })
}

/// Of which columns of what a relation holds each combination once.
fn keys_of(relation: &Relation, bound: &Bound) -> Option<(Relation, Vec<usize>)> {
    match relation {
        Relation::Reduce { input, group_key, aggregates } if aggregates.is_empty() => {
            let columns = group_key.iter().map(|key| match key {
                Expr::Column(column) => Some(*column),
                _ => None,
            });
            let mut columns = columns.collect::<Option<Vec<_>>>()?;
            let mut base = &**input;
            while let Relation::Project { input, outputs } = base {
                columns.iter_mut().for_each(|column| *column = outputs[*column]);
                base = input;
            }
            Some((base.clone(), columns))
        }
        Relation::Get { id: Id::Local(id), .. } => bound.get(id).cloned(),
        _ => None,
    }
}

/// Where the columns of `base` come out of a relation whose rows are some of its rows.
fn places(mut relation: &Relation, base: &Relation, columns: &[usize]) -> Option<Vec<usize>> {
    let mut outputs: Vec<usize> = (0..relation.arity()).collect();
    while relation != base {
        match relation {
            Relation::Project { input, outputs: inner } => {
                outputs.iter_mut().for_each(|output| *output = inner[*output]);
                relation = input;
            }
            Relation::Filter { input, .. } => relation = input,
            _ => return None,
        }
    }
    let place = |column: &usize| outputs.iter().position(|output| output == column);
    columns.iter().map(place).collect()
}

/// Takes one input out of a join of which only some columns are read.
fn leave_out(node: &mut Relation, bound: &Bound) -> bool {
    let Relation::Project { input: join, outputs } = node else {
        return leave_out_all(node, bound);
    };
    let Relation::Join { inputs, equivalences } = &mut **join else { return false };
    let starts = input_starts(inputs);
    let found = (0..inputs.len()).find_map(|at| {
        let own = starts[at]..starts[at + 1];
        let unread = !outputs.iter().any(|output| own.contains(output));
        let classes = unread.then(|| without(inputs, equivalences, &starts, at, bound))??;
        Some((at, classes))
    });
    let Some((at, mut classes)) = found else { return false };
    let (start, width) = (starts[at], starts[at + 1] - starts[at]);
    // Columns of the input itself are in no class any more.
    let moved = |column: usize| if column < start { column } else { column - width };
    for expr in classes.iter_mut().flat_map(|class| &mut class.exprs) {
        expr.map_columns(moved);
    }
    outputs.iter_mut().for_each(|output| *output = moved(*output));
    inputs.remove(at);
    *equivalences = classes;
    if inputs.len() == 1 && equivalences.is_empty() {
        **join = inputs.remove(0);
    }
    true
}

/// An input without columns is read by nobody.
fn leave_out_all(node: &mut Relation, bound: &Bound) -> bool {
    let Relation::Join { inputs, .. } = node else { return false };
    if !inputs.iter().any(|input| input.arity() == 0) {
        return false;
    }
    let mut projected = node.take();
    let outputs = (0..projected.arity()).collect();
    projected = projected.project(outputs);
    let changed = leave_out(&mut projected, bound);
    let Relation::Project { input, .. } = projected else { return false };
    *node = *input;
    changed
}

/// The classes of a join without one of its inputs, where that one adds nothing.
fn without(
    inputs: &[Relation],
    equivalences: &[Equivalence],
    starts: &[usize],
    at: usize,
    bound: &Bound,
) -> Option<Vec<Equivalence>> {
    let (base, columns) = keys_of(&inputs[at], bound)?;
    let mut others = (0..inputs.len()).filter(|other| *other != at);
    others.find_map(|other| {
        let places = places(&inputs[other], &base, &columns)?;
        let types = inputs[other].typ().columns;
        let mut classes = equivalences.to_vec();
        for (n, place) in places.iter().enumerate() {
            let (key, column) = (Expr::Column(starts[at] + n), Expr::Column(starts[other] + place));
            let class = classes.iter_mut().find(|class| {
                let met = class.exprs.contains(&key) && class.exprs.contains(&column);
                met && (class.null_safe || !types[*place].nullable)
            })?;
            class.exprs.retain(|expr| *expr != key);
        }
        classes.retain(|class| class.exprs.len() > 1);
        let own = starts[at]..starts[at + 1];
        let mut read = classes.iter().flat_map(|class| &class.exprs).flat_map(Expr::columns);
        (!read.any(|column| own.contains(&column))).then_some(classes)
    })
}
