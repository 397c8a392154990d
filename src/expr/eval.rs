//! Evaluation of expressions on one row.
//!
//! Nothing is allocated but what a result itself needs, in the arena: constants are read where
//! they lie, and arguments stand on the stack. Recursion continues on a new piece of stack where
//! little is left, so that the depth of a tree is bounded by memory alone.

use smallvec::SmallVec;

use crate::error::SqlState;
use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, Func};
use crate::expr::scalar::{Expr, descend};
use crate::repr::Datum;

/// Where columns come from: datums, or datums some of which could not be computed.
pub(super) trait Columns<'a> {
    /// The column, or why there is none.
    fn column(&self, position: usize) -> Result<Datum<'a>, EvalError>;
}

impl<'a> Columns<'a> for [Datum<'a>] {
    #[inline]
    fn column(&self, position: usize) -> Result<Datum<'a>, EvalError> {
        Ok(self[position])
    }
}

impl Expr {
    /// The value on a row of datums.
    #[inline]
    pub fn eval<'a>(
        &'a self,
        row: &[Datum<'a>],
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        self.eval_over(row, cx)
    }

    /// The value over columns, some of which may not be there.
    #[inline]
    pub(super) fn eval_over<'a, C: Columns<'a> + ?Sized>(
        &'a self,
        row: &C,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        match self {
            Expr::Column(position) => row.column(*position),
            Expr::Literal(literal) => Ok(literal.datum()),
            _ => descend(|| self.eval_node(row, cx)),
        }
    }

    fn eval_node<'a, C: Columns<'a> + ?Sized>(
        &'a self,
        row: &C,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        match self {
            Expr::Column(position) => row.column(*position),
            Expr::Literal(literal) => Ok(literal.datum()),
            Expr::Call { func, args } => call(*func, args, row, cx),
            Expr::Cast { cast, input, to, explicit } => {
                convert(*cast, input.eval_over(row, cx)?, to.typmod, *explicit, cx)
            }
            Expr::And(exprs) => junction(exprs, false, row, cx),
            Expr::Or(exprs) => junction(exprs, true, row, cx),
            Expr::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if let Datum::Bool(true) = condition.eval_over(row, cx)? {
                        return result.eval_over(row, cx);
                    }
                }
                otherwise.eval_over(row, cx)
            }
            Expr::Coalesce(exprs) => {
                for expr in exprs {
                    let datum = expr.eval_over(row, cx)?;
                    if !datum.is_null() {
                        return Ok(datum);
                    }
                }
                Ok(Datum::Null)
            }
            Expr::IsNull(expr) => Ok(Datum::Bool(expr.eval_over(row, cx)?.is_null())),
            Expr::Parameter(number, _) => Err(EvalError::new(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${number}"),
            )),
            Expr::Raise(error, _) => Err(error.clone()),
            Expr::Now | Expr::Outer { .. } | Expr::Subquery { .. } => Err(EvalError::new(
                SqlState::INTERNAL_ERROR,
                "an expression was evaluated that still had to be replaced",
            )),
        }
    }
}

#[inline]
fn call<'a, C: Columns<'a> + ?Sized>(
    func: Func,
    args: &'a [Expr],
    row: &C,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    match args {
        [a] => apply(func, &[a.eval_over(row, cx)?], cx),
        [a, b] => apply(func, &[a.eval_over(row, cx)?, b.eval_over(row, cx)?], cx),
        args => {
            let mut datums = SmallVec::<[Datum<'a>; 6]>::with_capacity(args.len());
            for arg in args {
                datums.push(arg.eval_over(row, cx)?);
            }
            apply(func, &datums, cx)
        }
    }
}

#[inline]
fn apply<'a>(func: Func, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
    if func.strict && args.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    func.compute(args, cx)
}

#[inline]
fn convert<'a>(
    cast: Cast,
    datum: Datum<'a>,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    if datum.is_null() {
        return Ok(Datum::Null);
    }
    cast.compute(datum, typmod, explicit, cx)
}

/// AND and OR: `decisive` beats an error, an error beats NULL, in any order.
#[inline]
fn junction<'a, C: Columns<'a> + ?Sized>(
    exprs: &'a [Expr],
    decisive: bool,
    row: &C,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let mut null = false;
    let mut error = None;
    for expr in exprs {
        match expr.eval_over(row, cx) {
            Ok(Datum::Bool(value)) if value == decisive => return Ok(Datum::Bool(decisive)),
            Ok(Datum::Bool(_)) => {}
            Ok(_) => null = true,
            Err(e) => error = error.or(Some(e)),
        }
    }
    match error {
        Some(error) => Err(error),
        None if null => Ok(Datum::Null),
        None => Ok(Datum::Bool(!decisive)),
    }
}
