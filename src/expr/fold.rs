//! Constant folding.
//!
//! A folded expression has the value or the error that the original has on every row, with two
//! exceptions that are PostgreSQL's own: a strict function with a constant NULL is NULL even where
//! another argument would fail, and the error of a constant argument wins over that of another
//! argument. What fails becomes [`Expr::Raise`] in its place, so that guards keep it from being
//! evaluated; nothing moves.
//!
//! Functions that depend on settings are folded too, with the settings given: the settings that a
//! query is planned with are those that it runs with.

use bumpalo::Bump;

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, Volatility};
use crate::expr::scalar::{Expr, Literal};
use crate::repr::settings::FormatSettings;
use crate::repr::{Datum, ScalarType};

impl Expr {
    /// Replaces constant parts by their values.
    pub fn fold(&mut self, settings: &FormatSettings) {
        self.visit_mut(&mut |expr| fold_node(expr, settings));
    }
}

/// Folds an expression whose operands are folded.
fn fold_node(expr: &mut Expr, settings: &FormatSettings) {
    match expr {
        Expr::Column(_)
        | Expr::Literal(_)
        | Expr::Parameter(..)
        | Expr::Raise(..)
        | Expr::Now
        | Expr::Outer { .. }
        | Expr::Subquery { .. } => {}
        Expr::Call { func, args } => {
            if let Some(error) = args.iter().find_map(raised) {
                *expr = Expr::Raise(error, func.ret.into());
            } else if func.strict && args.iter().any(Expr::is_null_literal) {
                *expr = Expr::null(func.ret);
            } else if func.volatility != Volatility::Volatile
                && args.iter().all(|a| matches!(a, Expr::Literal(_)))
            {
                compute(expr, settings);
            }
        }
        Expr::Cast { input, to, .. } => match &**input {
            Expr::Literal(_) => compute(expr, settings),
            Expr::Raise(error, _) => *expr = Expr::Raise(error.clone(), *to),
            _ => {}
        },
        Expr::IsNull(input) => match &**input {
            Expr::Literal(_) => compute(expr, settings),
            Expr::Raise(error, _) => *expr = Expr::Raise(error.clone(), ScalarType::Bool.into()),
            _ => {}
        },
        Expr::And(exprs) => {
            if let Some(folded) = fold_junction(exprs, false, settings) {
                *expr = folded;
            }
        }
        Expr::Or(exprs) => {
            if let Some(folded) = fold_junction(exprs, true, settings) {
                *expr = folded;
            }
        }
        Expr::Case { .. } => fold_case(expr),
        Expr::Coalesce(exprs) => {
            if let Some(folded) = fold_coalesce(exprs) {
                *expr = folded;
            }
        }
    }
}

fn raised(expr: &Expr) -> Option<EvalError> {
    match expr {
        Expr::Raise(error, _) => Some(error.clone()),
        _ => None,
    }
}

/// Replaces an expression over literals by its value or failure.
fn compute(expr: &mut Expr, settings: &FormatSettings) {
    let arena = Bump::new();
    let ty = expr.typ(&[]);
    let folded = match expr.eval(&[], &EvalContext { arena: &arena, settings }) {
        Ok(datum) => Expr::Literal(Literal::new(datum, ty)),
        Err(error) => Expr::Raise(error, ty),
    };
    *expr = folded;
}

/// Folds the operands of AND (`decisive` false) or OR (true); answers what takes the whole's place.
fn fold_junction(exprs: &mut Vec<Expr>, decisive: bool, settings: &FormatSettings) -> Option<Expr> {
    if exprs.iter().any(|e| same_junction(e, decisive)) {
        *exprs = exprs.drain(..).flat_map(|e| operands(e, decisive)).collect();
    }
    let is = |e: &Expr, value| matches!(e.as_literal(), Some(Datum::Bool(b)) if b == value);
    if exprs.iter().any(|e| is(e, decisive)) {
        return Some(Expr::bool(decisive));
    }
    exprs.retain(|e| !is(e, !decisive));
    match exprs.len() {
        0 => Some(Expr::bool(!decisive)),
        1 => exprs.pop(),
        // All NULL, or failures too.
        _ if exprs.iter().all(|e| matches!(e, Expr::Literal(_) | Expr::Raise(..))) => {
            let mut whole = match decisive {
                false => Expr::And(std::mem::take(exprs)),
                true => Expr::Or(std::mem::take(exprs)),
            };
            compute(&mut whole, settings);
            Some(whole)
        }
        _ => None,
    }
}

fn same_junction(expr: &Expr, decisive: bool) -> bool {
    matches!((expr, decisive), (Expr::And(_), false) | (Expr::Or(_), true))
}

fn operands(expr: Expr, decisive: bool) -> Vec<Expr> {
    match expr {
        Expr::And(exprs) if !decisive => exprs,
        Expr::Or(exprs) if decisive => exprs,
        other => vec![other],
    }
}

fn fold_case(expr: &mut Expr) {
    let Expr::Case { branches, otherwise } = expr else { return };
    // A condition that is never true goes with its result; one that always is ends the list.
    branches.retain(|(condition, _)| !(condition.is_false() || condition.is_null_literal()));
    if let Some(last) = branches.iter().position(|(condition, _)| condition.is_true()) {
        branches.truncate(last + 1);
        if let Some((_, result)) = branches.pop() {
            **otherwise = result;
        }
    }
    let whole = match branches.first() {
        None => std::mem::replace(&mut **otherwise, Expr::bool(false)),
        // The first condition is always evaluated.
        Some((Expr::Raise(error, _), result)) if is_typed_without_input(result) => {
            Expr::Raise(error.clone(), result.typ(&[]))
        }
        Some(_) => return,
    };
    *expr = whole;
}

/// Whether the type can be told without that of a row.
fn is_typed_without_input(expr: &Expr) -> bool {
    !expr.any(&mut |e| matches!(e, Expr::Column(_)))
}

fn fold_coalesce(exprs: &mut Vec<Expr>) -> Option<Expr> {
    let null = exprs.iter().rposition(Expr::is_null_literal).map(|at| exprs[at].clone());
    exprs.retain(|e| !e.is_null_literal());
    let ends = |e: &Expr| matches!(e, Expr::Literal(_) | Expr::Raise(..));
    if let Some(last) = exprs.iter().position(ends) {
        exprs.truncate(last + 1);
    }
    match exprs.len() {
        0 => null,
        1 => exprs.pop(),
        _ => None,
    }
}
