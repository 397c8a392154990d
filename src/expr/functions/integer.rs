//! Integer arithmetic and bits.
//!
//! Everything is computed in 64 bits, wider where that can overflow, and then narrowed to the
//! type of the result, which is where "out of range" is found.

use num_integer::Integer;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int2, int4, int8, integer};
use crate::expr::functions::registry::Family;
use crate::expr::scalar::Expr;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};

/// Functions and operators of int2, int4 and int8.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// "… out of range" for a type.
#[cold]
pub(in crate::expr) fn out_of_range(ty: ScalarType) -> EvalError {
    let message = format!("{} out of range", ty.display_name());
    EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// "division by zero".
#[cold]
pub(super) fn division_by_zero() -> EvalError {
    EvalError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The integer as a datum of a type, where it fits.
#[inline]
pub(super) fn narrow<'a>(ty: ScalarType, value: Option<i64>) -> Answer<'a> {
    let datum = value.and_then(|v| match ty {
        Int2 => v.try_into().ok().map(Datum::Int2),
        Int4 => v.try_into().ok().map(Datum::Int4),
        Oid => v.try_into().ok().map(Datum::Oid),
        _ => Some(Datum::Int8(v)),
    });
    datum.ok_or_else(|| out_of_range(ty))
}

#[inline]
/// Whether a call is a division or a remainder by a literal with which it cannot fail: not by 0,
/// and not by -1, of which the least number has no quotient.
pub fn cannot_fail(func: &FuncDef, args: &[Expr]) -> bool {
    const QUOTIENTS: [u32; 9] = [153, 172, 948, 173, 154, 1281, 840, 1277, 466];
    const REMAINDERS: [u32; 6] = [155, 156, 945, 940, 941, 947];
    let Some(divisor) = args.get(1).and_then(literal) else { return false };
    divisor != 0
        && (REMAINDERS.contains(&func.oid) || (QUOTIENTS.contains(&func.oid) && divisor != -1))
}

/// The value of a literal, also of a converted one.
fn literal(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(literal) => match literal.datum() {
            Datum::Int2(value) => Some(value.into()),
            Datum::Int4(value) => Some(value.into()),
            Datum::Int8(value) => Some(value),
            _ => None,
        },
        Expr::Cast { cast, input, .. } if !cast.fallible => literal(input),
        _ => None,
    }
}

fn divide<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    if b == 0 { Err(division_by_zero()) } else { narrow(ty, a.checked_div(b)) }
}

#[inline]
fn remainder<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    if b == 0 { Err(division_by_zero()) } else { narrow(ty, Some(a.wrapping_rem(b))) }
}

#[inline]
fn add<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, a.checked_add(b))
}

#[inline]
fn subtract<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, a.checked_sub(b))
}

#[inline]
fn multiply<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, a.checked_mul(b))
}

fn gcd<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, a.unsigned_abs().gcd(&b.unsigned_abs()).try_into().ok())
}

fn lcm<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    let (a, b) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    narrow(ty, a.lcm(&b).try_into().ok())
}

fn and<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, Some(a & b))
}

fn or<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, Some(a | b))
}

fn xor<'a>(ty: ScalarType, a: i64, b: i64) -> Answer<'a> {
    narrow(ty, Some(a ^ b))
}

#[inline]
fn negate<'a>(ty: ScalarType, a: i64) -> Answer<'a> {
    narrow(ty, a.checked_neg())
}

fn absolute<'a>(ty: ScalarType, a: i64) -> Answer<'a> {
    narrow(ty, a.checked_abs())
}

fn plus<'a>(ty: ScalarType, a: i64) -> Answer<'a> {
    narrow(ty, Some(a))
}

fn complement<'a>(ty: ScalarType, a: i64) -> Answer<'a> {
    narrow(ty, Some(!a))
}

macro_rules! binary {
    ($oid:literal, $name:literal, $left:ident, $right:ident, $out:ident, $compute:ident) => {
        FuncDef::new($oid, $name, &[$left, $right], $out, |args, _| {
            $compute($out, integer(args[0]), integer(args[1]))
        })
    };
}

macro_rules! unary {
    ($oid:literal, $name:literal, $ty:ident, $compute:ident) => {
        FuncDef::new($oid, $name, &[$ty], $ty, |args, _| $compute($ty, integer(args[0])))
    };
}

const FUNCTIONS: &[FuncDef] = &[
    binary!(1894, "int2xor", Int2, Int2, Int2, xor).total(),
    binary!(1900, "int4xor", Int4, Int4, Int4, xor).total(),
    binary!(1906, "int8xor", Int8, Int8, Int8, xor).total(),
    binary!(155, "int2mod", Int2, Int2, Int2, remainder),
    binary!(156, "int4mod", Int4, Int4, Int4, remainder),
    binary!(945, "int8mod", Int8, Int8, Int8, remainder),
    binary!(1892, "int2and", Int2, Int2, Int2, and).total(),
    binary!(1898, "int4and", Int4, Int4, Int4, and).total(),
    binary!(1904, "int8and", Int8, Int8, Int8, and).total(),
    binary!(152, "int2mul", Int2, Int2, Int2, multiply),
    binary!(170, "int24mul", Int2, Int4, Int4, multiply),
    binary!(943, "int28mul", Int2, Int8, Int8, multiply),
    binary!(171, "int42mul", Int4, Int2, Int4, multiply),
    binary!(141, "int4mul", Int4, Int4, Int4, multiply),
    binary!(1280, "int48mul", Int4, Int8, Int8, multiply),
    binary!(839, "int82mul", Int8, Int2, Int8, multiply),
    binary!(1276, "int84mul", Int8, Int4, Int8, multiply),
    binary!(465, "int8mul", Int8, Int8, Int8, multiply),
    binary!(176, "int2pl", Int2, Int2, Int2, add),
    binary!(178, "int24pl", Int2, Int4, Int4, add),
    binary!(841, "int28pl", Int2, Int8, Int8, add),
    binary!(179, "int42pl", Int4, Int2, Int4, add),
    binary!(177, "int4pl", Int4, Int4, Int4, add),
    binary!(1278, "int48pl", Int4, Int8, Int8, add),
    binary!(837, "int82pl", Int8, Int2, Int8, add),
    binary!(1274, "int84pl", Int8, Int4, Int8, add),
    binary!(463, "int8pl", Int8, Int8, Int8, add),
    unary!(1911, "int2up", Int2, plus).total(),
    unary!(1912, "int4up", Int4, plus).total(),
    unary!(1910, "int8up", Int8, plus).total(),
    binary!(180, "int2mi", Int2, Int2, Int2, subtract),
    binary!(182, "int24mi", Int2, Int4, Int4, subtract),
    binary!(942, "int28mi", Int2, Int8, Int8, subtract),
    binary!(183, "int42mi", Int4, Int2, Int4, subtract),
    binary!(181, "int4mi", Int4, Int4, Int4, subtract),
    binary!(1279, "int48mi", Int4, Int8, Int8, subtract),
    binary!(838, "int82mi", Int8, Int2, Int8, subtract),
    binary!(1275, "int84mi", Int8, Int4, Int8, subtract),
    binary!(464, "int8mi", Int8, Int8, Int8, subtract),
    unary!(213, "int2um", Int2, negate),
    unary!(212, "int4um", Int4, negate),
    unary!(462, "int8um", Int8, negate),
    binary!(153, "int2div", Int2, Int2, Int2, divide),
    binary!(172, "int24div", Int2, Int4, Int4, divide),
    binary!(948, "int28div", Int2, Int8, Int8, divide),
    binary!(173, "int42div", Int4, Int2, Int4, divide),
    binary!(154, "int4div", Int4, Int4, Int4, divide),
    binary!(1281, "int48div", Int4, Int8, Int8, divide),
    binary!(840, "int82div", Int8, Int2, Int8, divide),
    binary!(1277, "int84div", Int8, Int4, Int8, divide),
    binary!(466, "int8div", Int8, Int8, Int8, divide),
    unary!(1253, "int2abs", Int2, absolute),
    unary!(1251, "int4abs", Int4, absolute),
    unary!(1230, "int8abs", Int8, absolute),
    binary!(1893, "int2or", Int2, Int2, Int2, or).total(),
    binary!(1899, "int4or", Int4, Int4, Int4, or).total(),
    binary!(1905, "int8or", Int8, Int8, Int8, or).total(),
    unary!(1895, "int2not", Int2, complement).total(),
    unary!(1901, "int4not", Int4, complement).total(),
    unary!(1907, "int8not", Int8, complement).total(),
    unary!(1398, "abs", Int2, absolute),
    unary!(1397, "abs", Int4, absolute),
    unary!(1396, "abs", Int8, absolute),
    binary!(5044, "gcd", Int4, Int4, Int4, gcd),
    binary!(5045, "gcd", Int8, Int8, Int8, gcd),
    binary!(5046, "lcm", Int4, Int4, Int4, lcm),
    binary!(5047, "lcm", Int8, Int8, Int8, lcm),
    binary!(940, "mod", Int2, Int2, Int2, remainder),
    binary!(941, "mod", Int4, Int4, Int4, remainder),
    binary!(947, "mod", Int8, Int8, Int8, remainder),
    // Shift counts are taken modulo the width, as PostgreSQL's machines do; int2 shifts as int4.
    FuncDef::new(1896, "int2shl", &[Int2, Int4], Int2, |args, _| {
        let wide = i32::from(int2(args[0])).wrapping_shl(int4(args[1]) as u32);
        Ok(Datum::Int2(wide as i16))
    })
    .total(),
    FuncDef::new(1897, "int2shr", &[Int2, Int4], Int2, |args, _| {
        let wide = i32::from(int2(args[0])).wrapping_shr(int4(args[1]) as u32);
        Ok(Datum::Int2(wide as i16))
    })
    .total(),
    FuncDef::new(1902, "int4shl", &[Int4, Int4], Int4, |args, _| {
        Ok(Datum::Int4(int4(args[0]).wrapping_shl(int4(args[1]) as u32)))
    })
    .total(),
    FuncDef::new(1903, "int4shr", &[Int4, Int4], Int4, |args, _| {
        Ok(Datum::Int4(int4(args[0]).wrapping_shr(int4(args[1]) as u32)))
    })
    .total(),
    FuncDef::new(1908, "int8shl", &[Int8, Int4], Int8, |args, _| {
        Ok(Datum::Int8(int8(args[0]).wrapping_shl(int4(args[1]) as u32)))
    })
    .total(),
    FuncDef::new(1909, "int8shr", &[Int8, Int4], Int8, |args, _| {
        Ok(Datum::Int8(int8(args[0]).wrapping_shr(int4(args[1]) as u32)))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Int2, "#", Int2, 1894),
    OperatorDef::infix(Int4, "#", Int4, 1900),
    OperatorDef::infix(Int8, "#", Int8, 1906),
    OperatorDef::infix(Int2, "%", Int2, 155),
    OperatorDef::infix(Int4, "%", Int4, 156),
    OperatorDef::infix(Int8, "%", Int8, 945),
    OperatorDef::infix(Int2, "&", Int2, 1892),
    OperatorDef::infix(Int4, "&", Int4, 1898),
    OperatorDef::infix(Int8, "&", Int8, 1904),
    OperatorDef::infix(Int2, "*", Int2, 152),
    OperatorDef::infix(Int2, "*", Int4, 170),
    OperatorDef::infix(Int2, "*", Int8, 943),
    OperatorDef::infix(Int4, "*", Int2, 171),
    OperatorDef::infix(Int4, "*", Int4, 141),
    OperatorDef::infix(Int4, "*", Int8, 1280),
    OperatorDef::infix(Int8, "*", Int2, 839),
    OperatorDef::infix(Int8, "*", Int4, 1276),
    OperatorDef::infix(Int8, "*", Int8, 465),
    OperatorDef::infix(Int2, "+", Int2, 176),
    OperatorDef::infix(Int2, "+", Int4, 178),
    OperatorDef::infix(Int2, "+", Int8, 841),
    OperatorDef::infix(Int4, "+", Int2, 179),
    OperatorDef::infix(Int4, "+", Int4, 177),
    OperatorDef::infix(Int4, "+", Int8, 1278),
    OperatorDef::infix(Int8, "+", Int2, 837),
    OperatorDef::infix(Int8, "+", Int4, 1274),
    OperatorDef::infix(Int8, "+", Int8, 463),
    OperatorDef::prefix("+", Int2, 1911),
    OperatorDef::prefix("+", Int4, 1912),
    OperatorDef::prefix("+", Int8, 1910),
    OperatorDef::infix(Int2, "-", Int2, 180),
    OperatorDef::infix(Int2, "-", Int4, 182),
    OperatorDef::infix(Int2, "-", Int8, 942),
    OperatorDef::infix(Int4, "-", Int2, 183),
    OperatorDef::infix(Int4, "-", Int4, 181),
    OperatorDef::infix(Int4, "-", Int8, 1279),
    OperatorDef::infix(Int8, "-", Int2, 838),
    OperatorDef::infix(Int8, "-", Int4, 1275),
    OperatorDef::infix(Int8, "-", Int8, 464),
    OperatorDef::prefix("-", Int2, 213),
    OperatorDef::prefix("-", Int4, 212),
    OperatorDef::prefix("-", Int8, 462),
    OperatorDef::infix(Int2, "/", Int2, 153),
    OperatorDef::infix(Int2, "/", Int4, 172),
    OperatorDef::infix(Int2, "/", Int8, 948),
    OperatorDef::infix(Int4, "/", Int2, 173),
    OperatorDef::infix(Int4, "/", Int4, 154),
    OperatorDef::infix(Int4, "/", Int8, 1281),
    OperatorDef::infix(Int8, "/", Int2, 840),
    OperatorDef::infix(Int8, "/", Int4, 1277),
    OperatorDef::infix(Int8, "/", Int8, 466),
    OperatorDef::infix(Int2, "<<", Int4, 1896),
    OperatorDef::infix(Int4, "<<", Int4, 1902),
    OperatorDef::infix(Int8, "<<", Int4, 1908),
    OperatorDef::infix(Int2, ">>", Int4, 1897),
    OperatorDef::infix(Int4, ">>", Int4, 1903),
    OperatorDef::infix(Int8, ">>", Int4, 1909),
    OperatorDef::prefix("@", Int2, 1253),
    OperatorDef::prefix("@", Int4, 1251),
    OperatorDef::prefix("@", Int8, 1230),
    OperatorDef::infix(Int2, "|", Int2, 1893),
    OperatorDef::infix(Int4, "|", Int4, 1899),
    OperatorDef::infix(Int8, "|", Int8, 1905),
    OperatorDef::prefix("~", Int2, 1895),
    OperatorDef::prefix("~", Int4, 1901),
    OperatorDef::prefix("~", Int8, 1907),
];
