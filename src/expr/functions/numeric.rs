//! Numeric arithmetic and mathematics; the work is [`Number`]'s.

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::error::Result;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, int8, numeric};
use crate::expr::functions::integer::out_of_range;
use crate::expr::functions::math::INVALID_BUCKET;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::numeric::Numeric as Number;

/// Functions and operators of numeric.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = std::result::Result<Datum<'a>, EvalError>;

fn get(datum: Datum<'_>) -> Number {
    numeric(datum).to_owned()
}

fn put(number: Number, arena: &Bump) -> Datum<'_> {
    Datum::Numeric(number.encode_in(arena))
}

macro_rules! unary {
    ($oid:literal $name:literal $f:expr) => {
        FuncDef::new($oid, $name, &[Numeric], Numeric, |args, cx| {
            let f: fn(&Number) -> Result<Number> = $f;
            Ok(put(f(&get(args[0]))?, cx.arena))
        })
    };
}

macro_rules! total {
    ($oid:literal $name:literal $f:expr) => {
        unary!($oid $name |a| Ok($f(a))).total()
    };
}

macro_rules! binary {
    ($oid:literal $name:literal $f:expr) => {
        FuncDef::new($oid, $name, &[Numeric, Numeric], Numeric, |args, cx| {
            let f: fn(&Number, &Number) -> Result<Number> = $f;
            Ok(put(f(&get(args[0]), &get(args[1]))?, cx.arena))
        })
    };
}

macro_rules! scaled {
    ($oid:literal $name:literal $f:expr) => {
        FuncDef::new($oid, $name, &[Numeric, Int4], Numeric, |args, cx| {
            let f: fn(&Number, i32) -> Result<Number> = $f;
            Ok(put(f(&get(args[0]), int4(args[1]))?, cx.arena))
        })
    };
}

const FUNCTIONS: &[FuncDef] = &[
    binary!(1724 "numeric_add" Number::add),
    binary!(1725 "numeric_sub" Number::sub),
    binary!(1726 "numeric_mul" Number::mul),
    binary!(1727 "numeric_div" Number::div),
    binary!(1729 "numeric_mod" Number::rem),
    binary!(1728 "mod" Number::rem),
    binary!(1739 "numeric_power" Number::power),
    binary!(1738 "pow" Number::power),
    binary!(2169 "power" Number::power),
    binary!(1973 "div" Number::div_trunc),
    binary!(1980 "numeric_div_trunc" Number::div_trunc),
    binary!(5048 "gcd" Number::gcd),
    binary!(5049 "lcm" Number::lcm),
    binary!(1736 "log" |base, a| a.log(base)),
    total!(1915 "numeric_uplus" Number::clone),
    total!(1771 "numeric_uminus" Number::neg),
    total!(1704 "numeric_abs" Number::abs),
    total!(1705 "abs" Number::abs),
    total!(1706 "sign" Number::signum),
    total!(5043 "trim_scale" Number::trim_scale),
    unary!(1708 "round" |a| a.round(0)),
    unary!(1710 "trunc" |a| a.trunc(0)),
    scaled!(1707 "round" Number::round),
    scaled!(1709 "trunc" Number::trunc),
    unary!(1711 "ceil" Number::ceil),
    unary!(2167 "ceiling" Number::ceil),
    unary!(1712 "floor" Number::floor),
    unary!(1730 "sqrt" Number::sqrt),
    unary!(1731 "numeric_sqrt" Number::sqrt),
    unary!(1732 "exp" Number::exp),
    unary!(1733 "numeric_exp" Number::exp),
    unary!(1734 "ln" Number::ln),
    unary!(1735 "numeric_ln" Number::ln),
    unary!(1741 "log" Number::log10),
    unary!(1481 "log10" Number::log10),
    FuncDef::new(3281, "scale", &[Numeric], Int4, |args, _| {
        Ok(get(args[0]).scale().map_or(Datum::Null, Datum::Int4))
    })
    .nullable()
    .total(),
    FuncDef::new(5042, "min_scale", &[Numeric], Int4, |args, _| {
        Ok(get(args[0]).min_scale().map_or(Datum::Null, Datum::Int4))
    })
    .nullable()
    .total(),
    FuncDef::new(1376, "factorial", &[Int8], Numeric, |args, cx| {
        Ok(put(Number::factorial(int8(args[0]))?, cx.arena))
    }),
    FuncDef::new(2170, "width_bucket", &[Numeric, Numeric, Numeric, Int4], Int4, |args, _| {
        width_bucket(get(args[0]), get(args[1]), get(args[2]), int4(args[3]))
    }),
];

/// Which of `count` equal buckets between two bounds a value falls into.
fn width_bucket<'a>(operand: Number, low: Number, high: Number, count: i32) -> Answer<'a> {
    let fault = |message: &str| Err(EvalError::new(INVALID_BUCKET, message));
    if count <= 0 {
        return fault("count must be greater than zero");
    }
    let infinite = |n: &Number| matches!(n, Number::PositiveInfinity | Number::NegativeInfinity);
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return fault("operand, lower bound, and upper bound cannot be NaN");
    }
    if infinite(&low) || infinite(&high) {
        return fault("lower and upper bounds must be finite");
    }
    let direction = high.compare(&low);
    if direction == Ordering::Equal {
        return fault("lower bound cannot equal upper bound");
    }
    if operand.compare(&low) == direction.reverse() {
        return Ok(Datum::Int4(0));
    }
    if operand.compare(&high) != direction.reverse() {
        return count.checked_add(1).map(Datum::Int4).ok_or_else(|| out_of_range(Int4));
    }
    let count = Number::from_i128(count.into());
    // Rounded to the end, it is in the bucket behind, as in PostgreSQL 15.
    let bucket = operand.sub(&low)?.mul(&count)?.div(&high.sub(&low)?)?.floor()?;
    Ok(Datum::Int4(bucket.to_i32()? + 1))
}

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Numeric, "+", Numeric, 1724),
    OperatorDef::infix(Numeric, "-", Numeric, 1725),
    OperatorDef::infix(Numeric, "*", Numeric, 1726),
    OperatorDef::infix(Numeric, "/", Numeric, 1727),
    OperatorDef::infix(Numeric, "%", Numeric, 1729),
    OperatorDef::infix(Numeric, "^", Numeric, 1739),
    OperatorDef::prefix("+", Numeric, 1915),
    OperatorDef::prefix("-", Numeric, 1771),
    OperatorDef::prefix("@", Numeric, 1704),
];
