//! Floating-point arithmetic, with PostgreSQL's checks for what was finite and is not any more.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{float, float4, float8};
use crate::expr::functions::integer::division_by_zero;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// Operators of float4 and float8, and the functions of float4.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

#[cold]
pub(super) fn overflow() -> EvalError {
    EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

#[cold]
pub(super) fn underflow() -> EvalError {
    EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

/// The arithmetic of one width.
macro_rules! arithmetic {
    ($width:ident, $ty:ident) => {
        mod $width {
            use super::{EvalError, division_by_zero, overflow, underflow};

            type Answer = Result<$ty, EvalError>;

            #[inline]
            pub fn add(a: $ty, b: $ty) -> Answer {
                let sum = a + b;
                if sum.is_infinite() && a.is_finite() && b.is_finite() {
                    return Err(overflow());
                }
                Ok(sum)
            }

            #[inline]
            pub fn subtract(a: $ty, b: $ty) -> Answer {
                add(a, -b)
            }

            #[inline]
            pub fn multiply(a: $ty, b: $ty) -> Answer {
                let product = a * b;
                if product.is_infinite() && !a.is_infinite() && !b.is_infinite() {
                    return Err(overflow());
                }
                if product == 0.0 && a != 0.0 && b != 0.0 {
                    return Err(underflow());
                }
                Ok(product)
            }

            #[inline]
            pub fn divide(a: $ty, b: $ty) -> Answer {
                if b == 0.0 && !a.is_nan() {
                    return Err(division_by_zero());
                }
                let quotient = a / b;
                if quotient.is_infinite() && !a.is_infinite() {
                    return Err(overflow());
                }
                if quotient == 0.0 && a != 0.0 && !b.is_infinite() {
                    return Err(underflow());
                }
                Ok(quotient)
            }
        }
    };
}

arithmetic!(single, f32);
arithmetic!(double, f64);

pub(super) use double::{divide, multiply};

macro_rules! singles {
    ($oid:literal, $name:literal, $compute:ident) => {
        FuncDef::new($oid, $name, &[Float4, Float4], Float4, |args, _| {
            single::$compute(float4(args[0]), float4(args[1])).map(Datum::Float4)
        })
    };
}

macro_rules! doubles {
    ($oid:literal, $name:literal, $left:ident, $right:ident, $compute:ident) => {
        FuncDef::new($oid, $name, &[$left, $right], Float8, |args, _| {
            double::$compute(float(args[0]), float(args[1])).map(Datum::Float8)
        })
    };
}

const FUNCTIONS: &[FuncDef] = &[
    singles!(204, "float4pl", add),
    singles!(205, "float4mi", subtract),
    singles!(202, "float4mul", multiply),
    singles!(203, "float4div", divide),
    doubles!(218, "float8pl", Float8, Float8, add),
    doubles!(219, "float8mi", Float8, Float8, subtract),
    doubles!(216, "float8mul", Float8, Float8, multiply),
    doubles!(217, "float8div", Float8, Float8, divide),
    doubles!(281, "float48pl", Float4, Float8, add),
    doubles!(282, "float48mi", Float4, Float8, subtract),
    doubles!(279, "float48mul", Float4, Float8, multiply),
    doubles!(280, "float48div", Float4, Float8, divide),
    doubles!(285, "float84pl", Float8, Float4, add),
    doubles!(286, "float84mi", Float8, Float4, subtract),
    doubles!(283, "float84mul", Float8, Float4, multiply),
    doubles!(284, "float84div", Float8, Float4, divide),
    FuncDef::new(1913, "float4up", &[Float4], Float4, |args, _| Ok(args[0])).total(),
    FuncDef::new(206, "float4um", &[Float4], Float4, |args, _| Ok(Datum::Float4(-float4(args[0]))))
        .total(),
    FuncDef::new(207, "float4abs", &[Float4], Float4, |args, _| {
        Ok(Datum::Float4(float4(args[0]).abs()))
    })
    .total(),
    FuncDef::new(1394, "abs", &[Float4], Float4, |args, _| {
        Ok(Datum::Float4(float4(args[0]).abs()))
    })
    .total(),
    FuncDef::new(1914, "float8up", &[Float8], Float8, |args, _| Ok(args[0])).total(),
    FuncDef::new(220, "float8um", &[Float8], Float8, |args, _| Ok(Datum::Float8(-float8(args[0]))))
        .total(),
    FuncDef::new(221, "float8abs", &[Float8], Float8, |args, _| {
        Ok(Datum::Float8(float8(args[0]).abs()))
    })
    .total(),
    FuncDef::new(1395, "abs", &[Float8], Float8, |args, _| {
        Ok(Datum::Float8(float8(args[0]).abs()))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Float4, "+", Float4, 204),
    OperatorDef::infix(Float4, "-", Float4, 205),
    OperatorDef::infix(Float4, "*", Float4, 202),
    OperatorDef::infix(Float4, "/", Float4, 203),
    OperatorDef::infix(Float8, "+", Float8, 218),
    OperatorDef::infix(Float8, "-", Float8, 219),
    OperatorDef::infix(Float8, "*", Float8, 216),
    OperatorDef::infix(Float8, "/", Float8, 217),
    OperatorDef::infix(Float4, "+", Float8, 281),
    OperatorDef::infix(Float4, "-", Float8, 282),
    OperatorDef::infix(Float4, "*", Float8, 279),
    OperatorDef::infix(Float4, "/", Float8, 280),
    OperatorDef::infix(Float8, "+", Float4, 285),
    OperatorDef::infix(Float8, "-", Float4, 286),
    OperatorDef::infix(Float8, "*", Float4, 283),
    OperatorDef::infix(Float8, "/", Float4, 284),
    OperatorDef::prefix("+", Float4, 1913),
    OperatorDef::prefix("-", Float4, 206),
    OperatorDef::prefix("@", Float4, 207),
    OperatorDef::prefix("+", Float8, 1914),
    OperatorDef::prefix("-", Float8, 220),
    OperatorDef::prefix("@", Float8, 221),
];
