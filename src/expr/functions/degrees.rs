//! Trigonometry in degrees, exact where the answer is: PostgreSQL's way of scaling by the
//! computed values at 30, 45 and 60 degrees, so that their errors cancel out.

use std::hint::black_box;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::float8;
use crate::expr::functions::math::RADIANS_PER_DEGREE;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::Float8;

/// Functions of angles in degrees.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

fn out_of_domain<T>() -> Result<T, EvalError> {
    Err(EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range"))
}

/// The sine from 0 to 30.
fn sine_to_30(degrees: f64) -> f64 {
    let at_30 = (black_box(30.0) * RADIANS_PER_DEGREE).sin();
    (degrees * RADIANS_PER_DEGREE).sin() / at_30 / 2.0
}

/// The cosine from 0 to 60.
fn cosine_to_60(degrees: f64) -> f64 {
    let at_60 = 1.0 - (black_box(60.0) * RADIANS_PER_DEGREE).cos();
    1.0 - (1.0 - (degrees * RADIANS_PER_DEGREE).cos()) / at_60 / 2.0
}

/// The sine from 0 to 90.
fn sine(degrees: f64) -> f64 {
    if degrees <= 30.0 { sine_to_30(degrees) } else { cosine_to_60(90.0 - degrees) }
}

/// The cosine from 0 to 90.
fn cosine(degrees: f64) -> f64 {
    if degrees <= 60.0 { cosine_to_60(degrees) } else { sine_to_30(90.0 - degrees) }
}

/// The angle from 0 to 90 of a sine from 0 to 1.
fn arcsine(sine: f64) -> f64 {
    match sine <= 0.5 {
        true => sine.asin() / black_box(0.5f64).asin() * 30.0,
        false => 90.0 - sine.acos() / black_box(0.5f64).acos() * 60.0,
    }
}

/// The angle from 0 to 90 of a cosine from 0 to 1.
fn arccosine(cosine: f64) -> f64 {
    match cosine <= 0.5 {
        true => 90.0 - cosine.asin() / black_box(0.5f64).asin() * 30.0,
        false => cosine.acos() / black_box(0.5f64).acos() * 60.0,
    }
}

/// An angle in the first quadrant, and the signs of sine and cosine in its own.
fn reduce(degrees: f64) -> Result<(f64, f64, f64), EvalError> {
    if degrees.is_infinite() {
        return out_of_domain();
    }
    let (mut angle, mut of_sine, mut of_cosine) = (degrees % 360.0, 1.0, 1.0);
    if angle < 0.0 {
        angle = -angle;
        of_sine = -of_sine;
    }
    if angle > 180.0 {
        angle = 360.0 - angle;
        of_sine = -of_sine;
    }
    if angle > 90.0 {
        angle = 180.0 - angle;
        of_cosine = -of_cosine;
    }
    Ok((angle, of_sine, of_cosine))
}

fn tangent(a: f64) -> Result<f64, EvalError> {
    let (angle, of_sine, of_cosine) = reduce(a)?;
    let ratio = sine(angle) / cosine(angle) / (sine(45.0) / cosine(45.0));
    // No negative zero.
    Ok(of_sine * of_cosine * ratio + 0.0)
}

fn cotangent(a: f64) -> Result<f64, EvalError> {
    let (angle, of_sine, of_cosine) = reduce(a)?;
    let ratio = cosine(angle) / sine(angle) / (cosine(45.0) / sine(45.0));
    Ok(of_sine * of_cosine * ratio + 0.0)
}

/// The angle of a ratio, from that in radians.
fn scaled(radians: f64) -> f64 {
    radians / black_box(1.0f64).atan() * 45.0
}

macro_rules! unary {
    ($oid:literal $name:literal $f:expr) => {
        FuncDef::new($oid, $name, &[Float8], Float8, |args, _| {
            let f: fn(f64) -> Result<f64, EvalError> = $f;
            let a = float8(args[0]);
            if a.is_nan() { Ok(args[0]) } else { f(a).map(Datum::Float8) }
        })
    };
}

const FUNCTIONS: &[FuncDef] = &[
    unary!(2731 "asind" |a| match a.abs() {
        sine if sine > 1.0 => out_of_domain(),
        sine => Ok(if a < 0.0 { -arcsine(sine) } else { arcsine(sine) }),
    }),
    unary!(2732 "acosd" |a| match a.abs() {
        cosine if cosine > 1.0 => out_of_domain(),
        cosine => Ok(if a < 0.0 { 90.0 + arcsine(cosine) } else { arccosine(cosine) }),
    }),
    unary!(2733 "atand" |a| Ok(scaled(a.atan()))).total(),
    unary!(2735 "sind" |a| reduce(a).map(|(angle, sign, _)| sign * sine(angle))),
    unary!(2736 "cosd" |a| reduce(a).map(|(angle, _, sign)| sign * cosine(angle))),
    unary!(2737 "tand" tangent),
    unary!(2738 "cotd" cotangent),
    FuncDef::new(2734, "atan2d", &[Float8, Float8], Float8, |args, _| {
        Ok(Datum::Float8(scaled(float8(args[0]).atan2(float8(args[1])))))
    })
    .total(),
];
