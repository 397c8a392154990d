//! `join_equalities`: each equality of a join is where it costs least.
//!
//! Classes that share an expression become one. Expressions of one class over the same input
//! become a filter of that input, and so does a class with a literal: there is then nothing left
//! for the join to compare. Fallible expressions stay where they are.

use std::collections::BTreeMap;

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::{input_starts, is_free, moved, single_input};
use crate::plan::relation::{Equivalence, Relation};
use crate::repr::ColumnType;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        if let Relation::Join { .. } = node {
            changed |= merge_classes(node);
            changed |= filter_inputs(node);
        }
    });
    changed
}

/// The predicate that two expressions of a class are equal.
pub fn equality(a: &Expr, b: &Expr, null_safe: bool, types: &[ColumnType]) -> Option<Expr> {
    let ty = a.typ(types).scalar;
    match null_safe {
        true => Some(Expr::not_distinct(ty, a.clone(), b.clone())),
        false => Expr::equal(ty, a.clone(), b.clone()),
    }
}

fn merge_classes(node: &mut Relation) -> bool {
    let Relation::Join { equivalences, .. } = node else { return false };
    let mut changed = false;
    let mut merged: Vec<Equivalence> = Vec::new();
    for mut class in std::mem::take(equivalences) {
        let before = class.exprs.len();
        let mut kept: Vec<Expr> = Vec::new();
        for expr in class.exprs {
            if expr.is_volatile() || !kept.contains(&expr) {
                kept.push(expr);
            }
        }
        if kept.len() == 1 && !class.null_safe {
            // What is equal to itself is not NULL.
            kept.push(kept[0].clone());
        }
        changed |= kept.len() != before;
        class.exprs = kept;
        let same = merged.iter_mut().find(|other| {
            other.null_safe == class.null_safe
                && class.exprs.iter().any(|e| !e.is_volatile() && other.exprs.contains(e))
        });
        match same {
            Some(other) => {
                class.exprs.retain(|e| !other.exprs.contains(e));
                other.exprs.append(&mut class.exprs);
                changed = true;
            }
            None if class.exprs.len() > 1 => merged.push(class),
            None => changed = true,
        }
    }
    *equivalences = merged;
    changed
}

fn filter_inputs(node: &mut Relation) -> bool {
    let Relation::Join { inputs, equivalences } = node else { return false };
    let starts = input_starts(inputs);
    let types: Vec<ColumnType> = inputs.iter().flat_map(|i| i.typ().columns).collect();
    let mut filters = Filters { starts: &starts, types: &types, of_input: BTreeMap::new() };
    for class in equivalences.iter_mut() {
        filters.take_from(class);
    }
    let filters = filters.of_input;
    let before = equivalences.len();
    equivalences.retain(|class| class.exprs.len() > 1);
    let changed = !filters.is_empty() || equivalences.len() != before;
    for (input, predicates) in filters {
        let below = inputs[input].take();
        inputs[input] = below.filter(predicates);
    }
    changed
}

/// Predicates that the inputs of a join get.
struct Filters<'a> {
    starts: &'a [usize],
    types: &'a [ColumnType],
    of_input: BTreeMap<usize, Vec<Expr>>,
}

impl Filters<'_> {
    fn add(&mut self, input: usize, a: &Expr, b: &Expr, null_safe: bool) -> bool {
        let Some(predicate) = equality(a, b, null_safe, self.types) else { return false };
        let predicate = moved(&predicate, |c| c - self.starts[input]);
        self.of_input.entry(input).or_default().push(predicate);
        true
    }

    /// Leaves one expression of each input in the class, and no literal.
    fn take_from(&mut self, class: &mut Equivalence) {
        let place = |e: &Expr| match e {
            Expr::Literal(_) => Some(0),
            other => single_input(self.starts, other).filter(|_| is_free(other)),
        };
        let places: Vec<Option<usize>> = class.exprs.iter().map(place).collect();
        // A literal that must be compared in the join stays, and one that equals nothing.
        let never = !class.null_safe && class.exprs.iter().any(Expr::is_null_literal);
        let all = places.iter().all(Option::is_some) && !never;
        let is_literal = |e: &Expr| matches!(e, Expr::Literal(_));
        let literal = class.exprs.iter().find(|e| all && is_literal(e)).cloned();
        let mut first: BTreeMap<usize, Expr> = BTreeMap::new();
        let mut kept = Vec::new();
        for (expr, place) in std::mem::take(&mut class.exprs).into_iter().zip(places) {
            let Some(input) = place.filter(|_| literal.is_some() || !is_literal(&expr)) else {
                kept.push(expr);
                continue;
            };
            let against = match &literal {
                Some(literal) if *literal == expr => continue,
                Some(literal) if is_literal(&expr) || !first.contains_key(&input) => Some(literal),
                _ => first.get(&input),
            };
            let is_filtered = match against.cloned() {
                Some(other) => self.add(input, &other, &expr, class.null_safe),
                None => false,
            };
            // By those that stay, of different inputs, an arrangement can be looked up.
            if !is_literal(&expr) && !first.contains_key(&input) {
                first.insert(input, expr.clone());
                kept.push(expr);
            } else if !is_filtered {
                kept.push(expr);
            }
        }
        class.exprs = kept;
    }
}
