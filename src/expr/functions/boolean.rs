//! Negation and the tests of truth, which are syntax in SQL and functions here.

use crate::expr::func::FuncDef;
use crate::expr::functions::access::bool;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::Bool;

/// NOT.
pub const NOT: u32 = 90_000;
/// IS TRUE.
pub const IS_TRUE: u32 = 90_001;
/// IS NOT TRUE.
pub const IS_NOT_TRUE: u32 = 90_002;
/// IS FALSE.
pub const IS_FALSE: u32 = 90_003;
/// IS NOT FALSE.
pub const IS_NOT_FALSE: u32 = 90_004;

/// Functions of booleans. IS UNKNOWN is IS NULL.
pub static FAMILY: Family = Family {
    functions: &[
        FuncDef::new(NOT, "NOT", &[Bool], Bool, |args, _| Ok(Datum::Bool(!bool(args[0])))).total(),
        test(IS_TRUE, "IS TRUE", |args, _| Ok(Datum::Bool(matches!(args[0], Datum::Bool(true))))),
        test(IS_NOT_TRUE, "IS NOT TRUE", |args, _| {
            Ok(Datum::Bool(!matches!(args[0], Datum::Bool(true))))
        }),
        test(IS_FALSE, "IS FALSE", |args, _| {
            Ok(Datum::Bool(matches!(args[0], Datum::Bool(false))))
        }),
        test(IS_NOT_FALSE, "IS NOT FALSE", |args, _| {
            Ok(Datum::Bool(!matches!(args[0], Datum::Bool(false))))
        }),
    ],
    operators: &[],
};

const fn test(oid: u32, name: &'static str, eval: crate::expr::func::EvalFn) -> FuncDef {
    FuncDef::new(oid, name, &[Bool], Bool, eval).lax().total()
}
