//! In which order the inputs of a join are joined, and by which arrangements.
//!
//! A linear plan begins with one input and joins one more in each step. Each input is tried
//! as the beginning, and the rest follows by need: first an input that has an arrangement by the
//! step's equalities, last one that has none to do with what is there (all pairs). Of the plans
//! found the one is taken that has the fewest products, begins with the fewest rows, and needs
//! the fewest new arrangements of inputs.

use std::collections::BTreeSet;

use crate::expr::scalar::Expr;
use crate::optimizer::comparison::without_widening;
use crate::plan::physical::{Arrangement, ArrangementId};
use crate::plan::relation::Equivalence;
use crate::repr::key::KeyMode;
use crate::repr::{ColumnType, ScalarType};

/// What planning knows of an input.
#[derive(Clone)]
pub struct Candidate {
    /// Its columns, numbered through the join.
    pub columns: std::ops::Range<usize>,
    /// For each column, what it is over the relation that is arranged; none where it is computed
    /// from what can fail.
    pub over_base: Vec<Option<Expr>>,
    /// The arrangements that exist of that relation.
    pub arrangements: Vec<(ArrangementId, Arrangement)>,
    /// How few rows it has: 0 where keys are known, 1 where there is a filter, 2 otherwise.
    pub breadth: u8,
    /// Sets of its columns (numbered through) that are unique.
    pub keys: Vec<Vec<usize>>,
}

/// A part of the key of a step: what must be equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The class.
    pub class: usize,
    /// Its expression over what is there.
    pub left: Expr,
    /// Its expression over the new input.
    pub right: Expr,
}

/// The joining of one more input.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Which input.
    pub input: usize,
    /// By what; nothing: all pairs.
    pub key: Vec<Part>,
    /// How keys are encoded.
    pub mode: KeyMode,
    /// The new input's arrangement, if one serves.
    pub right: Option<usize>,
    /// The beginning's arrangement, if one serves; only in the first step.
    pub left: Option<usize>,
}

/// An order.
#[derive(Clone, Debug)]
pub struct Order {
    /// The beginning.
    pub start: usize,
    /// The other inputs.
    pub steps: Vec<Step>,
}

/// A join to be ordered.
pub struct Problem<'a> {
    /// Its inputs; more than one.
    pub inputs: &'a [Candidate],
    /// Its equivalences.
    pub classes: &'a [Equivalence],
    /// The types of its columns.
    pub types: &'a [ColumnType],
}

impl Problem<'_> {
    /// The best order that is found.
    pub fn solve(&self) -> Order {
        let orders = (0..self.inputs.len()).map(|start| self.from(start));
        orders.min_by_key(|order| self.cost(order)).expect("a join has inputs")
    }

    fn cost(&self, order: &Order) -> (usize, bool, usize, u8) {
        let products = order.steps.iter().filter(|s| s.key.is_empty()).count();
        let breadth = self.inputs[order.start].breadth;
        let made = order.steps.iter().filter(|s| s.right.is_none()).count();
        let first = breadth > 0 && order.steps.first().is_some_and(|s| s.left.is_none());
        (products, breadth > 0, made + usize::from(first), breadth)
    }

    fn from(&self, start: usize) -> Order {
        let mut there = BTreeSet::from([start]);
        let mut steps = Vec::new();
        while there.len() < self.inputs.len() {
            let rest = (0..self.inputs.len()).filter(|i| !there.contains(i));
            let possible = rest.map(|input| self.step(&there, input));
            let step = possible.min_by_key(|s| self.preference(s)).expect("there is one left");
            there.insert(step.input);
            steps.push(step);
        }
        Order { start, steps }
    }

    /// Less is better.
    pub fn preference(&self, step: &Step) -> (bool, bool, bool, u8, usize) {
        let input = &self.inputs[step.input];
        let is_unique = self.is_unique(step.input, &step.key);
        (step.key.is_empty(), step.right.is_none(), !is_unique, input.breadth, step.input)
    }

    fn step(&self, there: &BTreeSet<usize>, input: usize) -> Step {
        let parts = self.parts(there, input);
        // Few rows are better arranged again than found in an arrangement of all.
        let start = match there.len() {
            1 => there.first().copied().filter(|start| self.inputs[*start].breadth > 0),
            _ => None,
        };
        if let Some((at, key)) = self.serving(input, &parts) {
            let layout = &self.inputs[input].arrangements[at].1;
            let left = start.and_then(|start| self.matching(start, &key, layout));
            let mode = layout.mode;
            return Step { input, key, mode, right: Some(at), left };
        }
        if let Some(start) = start {
            let left = (0..self.inputs[start].arrangements.len())
                .filter_map(|at| Some((at, self.serves(start, at, &parts, false)?)))
                .max_by_key(|(at, key)| (key.len(), std::cmp::Reverse(*at)));
            if let Some((at, key)) = left {
                let mode = self.inputs[start].arrangements[at].1.mode;
                return Step { input, key, mode, right: None, left: Some(at) };
            }
        }
        self.arranged_anew(input, parts)
    }

    /// A step that looks rows up in an arrangement of the input; nothing else is arranged.
    ///
    /// With `whole`, by all that must be equal, unless a part of it is unique.
    pub fn lookup(&self, there: &BTreeSet<usize>, input: usize, whole: bool) -> Step {
        let mut parts = self.parts(there, input);
        // In one order whatever the lookup comes from, so that one arrangement serves all.
        parts.sort_by_key(|part| part.right.columns());
        match self.serving(input, &parts) {
            Some((at, key))
                if !whole || key.len() == parts.len() || self.is_unique(input, &key) =>
            {
                let mode = self.inputs[input].arrangements[at].1.mode;
                Step { input, key, mode, right: Some(at), left: None }
            }
            _ => self.arranged_anew(input, parts),
        }
    }

    /// The arrangement of the input that serves with the longest key.
    fn serving(&self, input: usize, parts: &[Part]) -> Option<(usize, Vec<Part>)> {
        (0..self.inputs[input].arrangements.len())
            .filter_map(|at| Some((at, self.serves(input, at, parts, true)?)))
            .max_by_key(|(at, key)| (key.len(), std::cmp::Reverse(*at)))
    }

    fn arranged_anew(&self, input: usize, parts: Vec<Part>) -> Step {
        let null_safe = parts.iter().any(|p| self.compares_nulls(p));
        let mode = if null_safe { KeyMode::NullSafe } else { KeyMode::Strict };
        Step { input, key: parts, mode, right: None, left: None }
    }

    /// Whether at most one row of an input has the same key.
    pub fn is_unique(&self, input: usize, key: &[Part]) -> bool {
        let by = |unique: &Vec<usize>| {
            let is_part = |c: &usize| key.iter().any(|p| p.right == Expr::Column(*c));
            unique.iter().all(is_part)
        };
        self.inputs[input].keys.iter().any(by)
    }

    /// The classes that have an expression on either side.
    pub fn parts(&self, there: &BTreeSet<usize>, input: usize) -> Vec<Part> {
        let mut parts = Vec::new();
        for (class, equivalence) in self.classes.iter().enumerate() {
            let side = |ok: &dyn Fn(usize) -> bool| {
                let mut exprs = equivalence.exprs.iter();
                exprs.find(|e| !e.columns().is_empty() && e.columns().into_iter().all(ok)).cloned()
            };
            let is_there = |c: usize| there.iter().any(|i| self.inputs[*i].columns.contains(&c));
            let left = side(&is_there);
            let right = side(&|c| self.inputs[input].columns.contains(&c));
            if let (Some(left), Some(right)) = (left, right) {
                parts.push(Part { class, left, right });
            }
        }
        parts
    }

    /// Whether NULL on both sides is a match.
    pub fn compares_nulls(&self, part: &Part) -> bool {
        let nullable = |e: &Expr| e.typ(self.types).nullable;
        self.classes[part.class].null_safe && nullable(&part.left) && nullable(&part.right)
    }

    /// The key by which an arrangement of an input serves, if all of it must be equal to
    /// something on the other side.
    fn serves(&self, input: usize, at: usize, parts: &[Part], is_right: bool) -> Option<Vec<Part>> {
        let layout = &self.inputs[input].arrangements[at].1;
        if layout.key.is_empty() {
            return None;
        }
        let mut key = Vec::new();
        for (expr, ty) in layout.key.iter().zip(&layout.key_types) {
            let found = parts.iter().find(|part| {
                let (own, other) = match is_right {
                    true => (&part.right, &part.left),
                    false => (&part.left, &part.right),
                };
                self.is_key_part(input, own, expr) && self.encodes_alike(other, *ty)
            })?;
            // A strict arrangement that exists holds all rows, so its key is never NULL.
            key.push(found.clone());
        }
        Some(key)
    }

    /// The start's arrangement by exactly this key, if there is one.
    fn matching(&self, start: usize, key: &[Part], other: &Arrangement) -> Option<usize> {
        self.inputs[start].arrangements.iter().position(|(_, layout)| {
            (layout.mode, &layout.key_types) == (other.mode, &other.key_types)
                && key
                    .iter()
                    .zip(&layout.key)
                    .all(|(part, expr)| self.is_key_part(start, &part.left, expr))
        })
    }

    /// Whether an expression over the join's columns is this one over the arranged relation.
    fn is_key_part(&self, input: usize, expr: &Expr, key: &Expr) -> bool {
        let candidate = &self.inputs[input];
        let Some(expr) = candidate.below(expr) else { return false };
        // What differs in encoding differs in the other side's type.
        without_widening(&expr) == without_widening(key)
    }

    fn encodes_alike(&self, expr: &Expr, ty: ScalarType) -> bool {
        let own = expr.typ(self.types).scalar;
        own == ty || (is_text(own) && is_text(ty))
    }
}

/// Types whose keys are spelled alike.
fn is_text(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Text | ScalarType::Varchar)
}

impl Candidate {
    /// An expression over the join's columns as one over the arranged relation.
    pub fn below(&self, expr: &Expr) -> Option<Expr> {
        let mut whole = true;
        let mut expr = expr.clone();
        expr.visit_mut(&mut |e| {
            if let Expr::Column(c) = e {
                match self.over_base.get(c.wrapping_sub(self.columns.start)) {
                    Some(Some(base)) => *e = base.clone(),
                    _ => whole = false,
                }
            }
        });
        whole.then_some(expr)
    }
}
