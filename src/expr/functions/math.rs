//! Mathematical functions of float8.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{float8, int4};
use crate::expr::functions::float::{divide, multiply, overflow, underflow};
use crate::expr::functions::integer::out_of_range;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// Functions and operators of float8.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer = Result<f64, EvalError>;

/// π/180.
pub(super) const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

unsafe extern "C" {
    // The C library's, for PostgreSQL's last digit: Rust has its own, which round otherwise.
    safe fn asinh(a: f64) -> f64;
    safe fn acosh(a: f64) -> f64;
    safe fn atanh(a: f64) -> f64;
}

#[cold]
fn fail<T>(code: SqlState, message: &str) -> Result<T, EvalError> {
    Err(EvalError::new(code, message))
}

fn out_of_domain<T>() -> Result<T, EvalError> {
    fail(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

fn square_root(a: f64) -> Answer {
    if a < 0.0 {
        return fail(
            SqlState::INVALID_POWER_ARGUMENT,
            "cannot take square root of a negative number",
        );
    }
    Ok(a.sqrt())
}

fn logarithm(a: f64, log: fn(f64) -> f64) -> Answer {
    if a == 0.0 {
        return fail(SqlState::INVALID_LOGARITHM_ARGUMENT, "cannot take logarithm of zero");
    }
    if a < 0.0 {
        let message = "cannot take logarithm of a negative number";
        return fail(SqlState::INVALID_LOGARITHM_ARGUMENT, message);
    }
    Ok(log(a))
}

fn exponential(a: f64) -> Answer {
    let result = a.exp();
    if a.is_finite() && result.is_infinite() {
        return Err(overflow());
    }
    if a.is_finite() && result == 0.0 {
        return Err(underflow());
    }
    Ok(result)
}

fn power(base: f64, exponent: f64) -> Answer {
    if base == 0.0 && exponent < 0.0 {
        return fail(
            SqlState::INVALID_POWER_ARGUMENT,
            "zero raised to a negative power is undefined",
        );
    }
    if base < 0.0 && !exponent.is_nan() && exponent.floor() != exponent {
        return fail(
            SqlState::INVALID_POWER_ARGUMENT,
            "a negative number raised to a non-integer power yields a complex result",
        );
    }
    let result = base.powf(exponent);
    if base.is_finite() && exponent.is_finite() {
        if result.is_infinite() {
            return Err(overflow());
        }
        if result == 0.0 && base != 0.0 {
            return Err(underflow());
        }
    }
    Ok(result)
}

/// A function that is undefined where its argument is infinite.
fn periodic(a: f64, f: fn(f64) -> f64) -> Answer {
    if a.is_infinite() { out_of_domain() } else { Ok(f(a)) }
}

fn tangent(a: f64) -> Answer {
    periodic(a, f64::tan)
}

fn cotangent(a: f64) -> Answer {
    periodic(a, |a| 1.0 / a.tan())
}

/// A function from −1 to 1.
fn inverse(a: f64, f: fn(f64) -> f64) -> Answer {
    if a.abs() > 1.0 { out_of_domain() } else { Ok(f(a)) }
}

fn hyperbolic_cosine(a: f64) -> Answer {
    let result = a.cosh();
    if result == 0.0 { Err(underflow()) } else { Ok(result) }
}

fn hyperbolic_inverse_cosine(a: f64) -> Answer {
    if a < 1.0 { out_of_domain() } else { Ok(acosh(a)) }
}

fn hyperbolic_inverse_tangent(a: f64) -> Answer {
    match a {
        _ if !a.is_nan() && a.abs() > 1.0 => out_of_domain(),
        1.0 => Ok(f64::INFINITY),
        -1.0 => Ok(f64::NEG_INFINITY),
        _ => Ok(atanh(a)),
    }
}

/// −1, 0 or 1; 0 for NaN, too.
fn sign(a: f64) -> f64 {
    f64::from(i8::from(a > 0.0) - i8::from(a < 0.0))
}

/// Which of `count` equal buckets between two bounds a value falls into.
fn width_bucket(operand: f64, low: f64, high: f64, count: i32) -> Result<i32, EvalError> {
    let fault = |message| fail(INVALID_BUCKET, message);
    if count <= 0 {
        return fault("count must be greater than zero");
    }
    if operand.is_nan() || low.is_nan() || high.is_nan() {
        return fault("operand, lower bound, and upper bound cannot be NaN");
    }
    if low.is_infinite() || high.is_infinite() {
        return fault("lower and upper bounds must be finite");
    }
    if low == high {
        return fault("lower bound cannot equal upper bound");
    }
    let ascending = low < high;
    let (below, above) = match ascending {
        true => (operand < low, operand >= high),
        false => (operand > low, operand <= high),
    };
    if above {
        return count.checked_add(1).ok_or_else(|| out_of_range(Int4));
    }
    if below {
        return Ok(0);
    }
    // Halves, where the distance itself is no float.
    let span = high - low;
    let part = match span.is_finite() {
        true => (operand - low) / span,
        false => (operand / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
    };
    // Rounded to the end, it is in the bucket behind, as in PostgreSQL 15.
    ((f64::from(count) * part) as i32).checked_add(1).ok_or_else(|| out_of_range(Int4))
}

/// SQLSTATE of `width_bucket`.
pub(super) const INVALID_BUCKET: SqlState = SqlState::new(b"2201G");

macro_rules! unary {
    ($oid:literal $name:literal $f:expr) => {
        FuncDef::new($oid, $name, &[Float8], Float8, |args, _| {
            let f: fn(f64) -> Answer = $f;
            let a = float8(args[0]);
            if a.is_nan() { Ok(args[0]) } else { f(a).map(Datum::Float8) }
        })
    };
}

macro_rules! total {
    ($oid:literal $name:literal $f:expr) => {
        unary!($oid $name |a| Ok($f(a))).total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    total!(228 "dround" f64::round_ties_even),
    total!(1342 "round" f64::round_ties_even),
    total!(229 "dtrunc" f64::trunc),
    total!(1343 "trunc" f64::trunc),
    total!(2308 "ceil" f64::ceil),
    total!(2320 "ceiling" f64::ceil),
    total!(2309 "floor" f64::floor),
    FuncDef::new(2310, "sign", &[Float8], Float8, |args, _| {
        Ok(Datum::Float8(sign(float8(args[0]))))
    })
    .total(),
    unary!(230 "dsqrt" square_root),
    unary!(1344 "sqrt" square_root),
    total!(231 "dcbrt" f64::cbrt),
    total!(1345 "cbrt" f64::cbrt),
    unary!(233 "dexp" exponential),
    unary!(1347 "exp" exponential),
    unary!(234 "dlog1" |a| logarithm(a, f64::ln)),
    unary!(1341 "ln" |a| logarithm(a, f64::ln)),
    unary!(1339 "dlog10" |a| logarithm(a, f64::log10)),
    unary!(1340 "log" |a| logarithm(a, f64::log10)),
    unary!(1194 "log10" |a| logarithm(a, f64::log10)),
    unary!(1608 "degrees" |a| divide(a, RADIANS_PER_DEGREE)),
    unary!(1609 "radians" |a| multiply(a, RADIANS_PER_DEGREE)),
    unary!(1604 "sin" |a| periodic(a, f64::sin)),
    unary!(1605 "cos" |a| periodic(a, f64::cos)),
    unary!(1606 "tan" tangent),
    unary!(1607 "cot" cotangent),
    unary!(1600 "asin" |a| inverse(a, f64::asin)),
    unary!(1601 "acos" |a| inverse(a, f64::acos)),
    total!(1602 "atan" f64::atan),
    total!(2462 "sinh" f64::sinh),
    unary!(2463 "cosh" hyperbolic_cosine),
    total!(2464 "tanh" f64::tanh),
    total!(2465 "asinh" asinh),
    unary!(2466 "acosh" hyperbolic_inverse_cosine),
    unary!(2467 "atanh" hyperbolic_inverse_tangent),
    FuncDef::new(1603, "atan2", &[Float8, Float8], Float8, |args, _| {
        Ok(Datum::Float8(float8(args[0]).atan2(float8(args[1]))))
    })
    .total(),
    binary_power(232, "dpow"),
    binary_power(1346, "pow"),
    binary_power(1368, "power"),
    FuncDef::new(1610, "pi", &[], Float8, |_, _| Ok(Datum::Float8(std::f64::consts::PI))).total(),
    FuncDef::new(1598, "random", &[], Float8, |_, _| Ok(Datum::Float8(random())))
        .total()
        .volatile(),
    FuncDef::new(320, "width_bucket", &[Float8, Float8, Float8, Int4], Int4, |args, _| {
        let [operand, low, high] = [0, 1, 2].map(|i| float8(args[i]));
        width_bucket(operand, low, high, int4(args[3])).map(Datum::Int4)
    }),
];

const fn binary_power(oid: u32, name: &'static str) -> FuncDef {
    FuncDef::new(oid, name, &[Float8, Float8], Float8, |args, _| {
        power(float8(args[0]), float8(args[1])).map(Datum::Float8)
    })
}

/// From 0 to below 1, from 53 bits of a hash of a counter under a key of the process.
fn random() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    static KEY: OnceLock<RandomState> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let bits = KEY.get_or_init(RandomState::new).hash_one(NEXT.fetch_add(1, Ordering::Relaxed));
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Float8, "^", Float8, 232),
    OperatorDef::prefix("|/", Float8, 230),
    OperatorDef::prefix("||/", Float8, 231),
];
