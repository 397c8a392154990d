//! `VARIADIC array`: a function of any number of arguments that are given as an array.
//!
//! The elements stand for the last arguments, in their order, whatever the array's shape. Without
//! an array there is no answer, except by `format`, which then has no values to put in.

use crate::expr::error::EvalError;
use crate::expr::func::{Eval, EvalContext, FuncDef};
use crate::repr::{ArrayRef, Datum, Element, ScalarType};

/// `format`, which takes no array for an empty one.
const FORMAT: u32 = 3539;

/// The function that takes an array of such elements; none where a function takes no number of
/// arguments, or none of that type.
pub(super) fn make(oid: u32, func: &'static FuncDef, element: Element) -> Option<FuncDef> {
    let rest = func.variadic?;
    if !func.any && rest != element.scalar() {
        return None;
    }
    let args = func.args.iter().copied().chain([ScalarType::Array(element)]);
    Some(FuncDef {
        oid,
        name: func.name,
        args: args.collect::<Vec<_>>().leak(),
        variadic: None,
        any: false,
        ret: func.ret,
        strict: func.strict,
        nullable: true,
        fallible: func.fallible,
        volatility: func.volatility,
        eval: Eval::Spread(func),
        set: None,
        sql: None,
    })
}

/// Calls a function with the elements of the last argument.
pub(super) fn compute<'a>(
    func: &FuncDef,
    args: &[Datum<'a>],
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let Some((last, first)) = args.split_last() else { return Ok(Datum::Null) };
    let mut spread = first.to_vec();
    match *last {
        Datum::Array(element, bytes) => spread.extend(ArrayRef::new(element, bytes).iter()),
        _ if func.oid == FORMAT => {}
        _ => return Ok(Datum::Null),
    }
    if func.strict && spread.iter().any(Datum::is_null) {
        return Ok(Datum::Null);
    }
    func.compute(&spread, cx)
}
