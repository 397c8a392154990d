//! Map, filter, project: what one operator does to each row before it lets it go.
//!
//! The predicates are one conjunction, in which a predicate that is not true beats an error in
//! another, whichever comes first. A computed column that fails is no error by itself: it is one
//! where a predicate or another column needs it to decide, and where the row goes out with it.
//! So a filter may stand before or behind the computation of a column that it does not use.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::error::EvalError;
use crate::expr::eval::Columns;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::repr::Datum;

/// New columns, predicates and an output order over an input row.
///
/// Expressions may use the input's columns and earlier expressions. A predicate `(n, p)` is
/// applied as soon as the first `n` columns are there, so a row that fails it costs nothing more.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mfp {
    /// The number of columns that come in.
    pub input_arity: usize,
    /// Columns to compute, in order; the first has position `input_arity`.
    pub expressions: Vec<Expr>,
    /// Predicates, by the number of columns that must be there; ascending.
    pub predicates: Vec<(usize, Expr)>,
    /// The columns that go out.
    pub projection: Vec<usize>,
}

/// Building. Each step speaks of the columns that go out so far.
impl Mfp {
    /// Lets rows of that many columns through as they are.
    pub fn identity(arity: usize) -> Mfp {
        Mfp {
            input_arity: arity,
            expressions: Vec::new(),
            predicates: Vec::new(),
            projection: (0..arity).collect(),
        }
    }

    /// Adds columns behind those that go out; each expression may use those before it.
    pub fn map(mut self, exprs: impl IntoIterator<Item = Expr>) -> Mfp {
        for mut expr in exprs {
            expr.map_columns(|c| self.projection[c]);
            let column = match expr {
                // Nothing to compute.
                Expr::Column(column) => column,
                expr => {
                    self.expressions.push(expr);
                    self.input_arity + self.expressions.len() - 1
                }
            };
            self.projection.push(column);
        }
        self
    }

    /// Lets only rows through for which all predicates are true.
    pub fn filter(mut self, predicates: impl IntoIterator<Item = Expr>) -> Mfp {
        for predicate in predicates.into_iter().flat_map(Expr::into_conjuncts) {
            let mut predicate = predicate;
            predicate.map_columns(|c| self.projection[c]);
            self.add_predicate(predicate);
        }
        self
    }

    /// Lets the given columns go out, in that order.
    pub fn project(mut self, columns: impl IntoIterator<Item = usize>) -> Mfp {
        self.projection = columns.into_iter().map(|c| self.projection[c]).collect();
        self
    }

    /// Does this and then `next`, whose input is what goes out here.
    pub fn then(self, next: Mfp) -> Mfp {
        let mut names = self.projection.clone();
        let mut whole = self;
        for mut expr in next.expressions {
            expr.map_columns(|c| names[c]);
            names.push(whole.input_arity + whole.expressions.len());
            whole.expressions.push(expr);
        }
        for (_, mut predicate) in next.predicates {
            predicate.map_columns(|c| names[c]);
            whole.add_predicate(predicate);
        }
        whole.projection = next.projection.into_iter().map(|c| names[c]).collect();
        whole
    }

    /// The same over an input of `arity` columns, in which column `c` stands at `place(c)`.
    pub fn permute(&mut self, arity: usize, place: impl Fn(usize) -> usize) {
        let from = self.input_arity;
        let to = |c: usize| if c < from { place(c) } else { c - from + arity };
        self.input_arity = arity;
        for expr in &mut self.expressions {
            expr.map_columns(to);
        }
        for column in &mut self.projection {
            *column = to(*column);
        }
        for (_, mut predicate) in std::mem::take(&mut self.predicates) {
            predicate.map_columns(to);
            self.add_predicate(predicate);
        }
    }

    /// Leaves out the computation of columns that nothing uses.
    pub fn prune(&mut self) {
        let mut used = vec![false; self.input_arity + self.expressions.len()];
        let mark = |e: &Expr, used: &mut Vec<bool>| {
            e.columns().into_iter().for_each(|c| used[c] = true);
        };
        self.projection.iter().for_each(|c| used[*c] = true);
        self.predicates.iter().for_each(|(_, p)| mark(p, &mut used));
        for (i, expr) in self.expressions.iter().enumerate().rev() {
            if used[self.input_arity + i] {
                mark(expr, &mut used);
            }
        }
        let mut next = 0;
        let names: Vec<usize> = (0..used.len())
            .map(|c| {
                let name = next;
                next += usize::from(c < self.input_arity || used[c]);
                name
            })
            .collect();
        let mut position = self.input_arity;
        self.expressions.retain(|_| {
            position += 1;
            used[position - 1]
        });
        for expr in &mut self.expressions {
            expr.map_columns(|c| names[c]);
        }
        self.projection.iter_mut().for_each(|c| *c = names[*c]);
        for (_, mut predicate) in std::mem::take(&mut self.predicates) {
            predicate.map_columns(|c| names[c]);
            self.add_predicate(predicate);
        }
    }

    /// Adds a predicate over input and computed columns.
    fn add_predicate(&mut self, predicate: Expr) {
        // Columns that come in are all there from the start.
        let needed = predicate.arity_needed().max(self.input_arity);
        let at = self.predicates.partition_point(|(n, _)| *n <= needed);
        self.predicates.insert(at, (needed, predicate));
    }
}

/// Asking.
impl Mfp {
    /// The number of columns that go out.
    pub fn arity(&self) -> usize {
        self.projection.len()
    }

    /// Whether rows go out as they come in.
    pub fn is_identity(&self) -> bool {
        self.expressions.is_empty()
            && self.predicates.is_empty()
            && self.projection.len() == self.input_arity
            && self.projection.iter().enumerate().all(|(i, c)| i == *c)
    }

    /// The columns of the input that are looked at, ascending.
    pub fn input_columns(&self) -> Vec<usize> {
        let mut used = vec![false; self.input_arity];
        let exprs = self.expressions.iter().chain(self.predicates.iter().map(|(_, p)| p));
        let columns = exprs.flat_map(|e| e.columns()).chain(self.projection.iter().copied());
        columns.filter(|c| *c < self.input_arity).for_each(|c| used[c] = true);
        (0..self.input_arity).filter(|c| used[*c]).collect()
    }

    /// Whether the same row can come out differently.
    pub fn is_volatile(&self) -> bool {
        self.expressions.iter().chain(self.predicates.iter().map(|(_, p)| p)).any(Expr::is_volatile)
    }

    /// Whether a row can make this fail.
    pub fn is_fallible(&self) -> bool {
        self.expressions.iter().chain(self.predicates.iter().map(|(_, p)| p)).any(Expr::is_fallible)
    }
}

impl fmt::Display for Mfp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let predicates = self.predicates.iter().map(|(_, p)| format!("filter {p}"));
        let numbers = self.input_arity..;
        let computed = numbers.zip(&self.expressions).map(|(c, e)| format!("#{c} = {e}"));
        let mut parts: Vec<String> = computed.chain(predicates).collect();
        if !self.is_identity() {
            let columns: Vec<_> = self.projection.iter().map(|c| format!("#{c}")).collect();
            parts.push(format!("project ({})", columns.join(", ")));
        }
        f.write_str(&parts.join("; "))
    }
}

/// Evaluation.
impl Mfp {
    /// Appends the computed columns to those of the input and says whether the row goes on: it
    /// then is `datums[c]` for each `c` of the projection. Where the answer is not `Ok(true)`,
    /// what is in `datums` means nothing.
    #[inline]
    pub fn evaluate<'a>(
        &'a self,
        datums: &mut Vec<Datum<'a>>,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        debug_assert_eq!(datums.len(), self.input_arity);
        let mut predicates = self.predicates.iter();
        let mut next = predicates.next();
        for expr in &self.expressions {
            while let Some((needed, predicate)) = next
                && *needed <= datums.len()
            {
                match predicate.eval(datums, cx) {
                    Ok(Datum::Bool(true)) => {}
                    Ok(_) => return Ok(false),
                    Err(_) => return self.evaluate_with_faults(datums, cx),
                }
                next = predicates.next();
            }
            match expr.eval(datums, cx) {
                Ok(datum) => datums.push(datum),
                Err(_) => return self.evaluate_with_faults(datums, cx),
            }
        }
        while let Some((_, predicate)) = next {
            match predicate.eval(datums, cx) {
                Ok(Datum::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(_) => return self.evaluate_with_faults(datums, cx),
            }
            next = predicates.next();
        }
        Ok(true)
    }

    /// The same from the beginning, for a row on which something fails.
    #[cold]
    fn evaluate_with_faults<'a>(
        &'a self,
        datums: &mut Vec<Datum<'a>>,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        let mut row = Faulty(datums[..self.input_arity].iter().map(|d| Ok(*d)).collect());
        for expr in &self.expressions {
            let datum = expr.eval_over(&row, cx);
            row.0.push(datum);
        }
        let mut fault = None;
        for (_, predicate) in &self.predicates {
            match predicate.eval_over(&row, cx) {
                Ok(Datum::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(e) => fault = fault.or(Some(e)),
            }
        }
        if let Some(fault) = fault {
            return Err(fault);
        }
        for column in &self.projection {
            row.column(*column)?;
        }
        datums.truncate(self.input_arity);
        datums.extend(row.0.drain(self.input_arity..).map(|d| d.unwrap_or(Datum::Null)));
        Ok(true)
    }
}

/// A row some of whose columns could not be computed.
struct Faulty<'a>(Vec<Result<Datum<'a>, EvalError>>);

impl<'a> Columns<'a> for Faulty<'a> {
    fn column(&self, position: usize) -> Result<Datum<'a>, EvalError> {
        self.0[position].clone()
    }
}
