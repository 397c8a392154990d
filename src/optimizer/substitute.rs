//! Expressions in other places: columns replaced by what they stand for.

use crate::expr::scalar::Expr;
use crate::plan::relation::Relation;

/// Expressions do not grow beyond this many nodes by substitution.
const SIZE_MAX: usize = 256;

/// The number of nodes of an expression.
pub fn size(expr: &Expr) -> usize {
    let mut size = 0;
    expr.visit(&mut |_| size += 1);
    size
}

/// The expression with column `c` replaced by `what[c]`.
pub fn substitute(expr: &Expr, what: &[Expr]) -> Expr {
    let mut expr = expr.clone();
    expr.visit_mut(&mut |e| {
        if let Expr::Column(c) = e {
            *e = what[*c].clone();
        }
    });
    expr
}

/// As [`substitute`], unless the result would be large.
pub fn substitute_small(expr: &Expr, what: &[Expr]) -> Option<Expr> {
    let mut total = 0;
    expr.visit(&mut |e| {
        total += match e {
            Expr::Column(c) => size(&what[*c]),
            _ => 1,
        };
    });
    (total <= SIZE_MAX).then(|| substitute(expr, what))
}

/// The expression with its columns moved.
pub fn moved(expr: &Expr, to: impl FnMut(usize) -> usize) -> Expr {
    let mut expr = expr.clone();
    expr.map_columns(to);
    expr
}

/// Whether the expression may be evaluated anywhere, on any rows, any number of times.
pub fn is_free(expr: &Expr) -> bool {
    !expr.is_fallible() && !expr.is_volatile() && !expr.reads_clock()
}

/// The first column of each input of a join, and behind them the number of columns.
pub fn input_starts(inputs: &[Relation]) -> Vec<usize> {
    let mut starts = vec![0];
    for input in inputs {
        starts.push(starts[starts.len() - 1] + input.arity());
    }
    starts
}

/// The input of a join that a column belongs to.
pub fn input_of(starts: &[usize], column: usize) -> usize {
    // Inputs without columns start where the next one does, which then is found.
    starts.partition_point(|s| *s <= column) - 1
}

/// The one input that an expression's columns belong to; none where it has no columns, or
/// columns of several.
pub fn single_input(starts: &[usize], expr: &Expr) -> Option<usize> {
    let mut inputs = expr.columns().into_iter().map(|c| input_of(starts, c));
    let first = inputs.next()?;
    inputs.all(|i| i == first).then_some(first)
}
