//! Conversions among bool, integers, floats and oid.

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{bool, float, int4, integer, oid};
use crate::expr::functions::float::{overflow, underflow};
use crate::expr::functions::integer::{narrow, out_of_range};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The nearest integer, halves to even, as a datum of a type.
fn to_integer<'a>(ty: ScalarType, value: f64) -> Answer<'a> {
    let rounded = value.round_ties_even();
    // Both bounds are floats; the upper one is the first that does not fit.
    let bound = match ty {
        Int2 => 32_768.0,
        Int4 => 2_147_483_648.0,
        _ => 9_223_372_036_854_775_808.0,
    };
    let fits = (-bound..bound).contains(&rounded);
    if fits { narrow(ty, Some(rounded as i64)) } else { Err(out_of_range(ty)) }
}

fn to_float4<'a>(value: f64) -> Answer<'a> {
    let single = value as f32;
    if single.is_infinite() && !value.is_infinite() {
        return Err(overflow());
    }
    if single == 0.0 && value != 0.0 {
        return Err(underflow());
    }
    Ok(Datum::Float4(single))
}

fn to_oid<'a>(value: i64) -> Answer<'a> {
    let fits = u32::try_from(value).map(Datum::Oid);
    fits.map_err(|_| {
        EvalError::new(crate::error::SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "OID out of range")
    })
}

macro_rules! integer_to {
    ($context:ident $from:ident $to:ident) => {
        CastDef::$context($from, $to, |d, _, _, _| narrow($to, Some(integer(d))))
    };
}

macro_rules! to_float {
    ($from:ident Float4) => {
        CastDef::implicit($from, Float4, |d, _, _, _| Ok(Datum::Float4(integer(d) as f32))).total()
    };
    ($from:ident Float8) => {
        CastDef::implicit($from, Float8, |d, _, _, _| Ok(Datum::Float8(integer(d) as f64))).total()
    };
}

macro_rules! from_float {
    ($from:ident $to:ident) => {
        CastDef::assignment($from, $to, |d, _, _, _| to_integer($to, float(d)))
    };
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    integer_to!(implicit Int2 Int4).total(),
    integer_to!(implicit Int2 Int8).total(),
    integer_to!(implicit Int4 Int8).total(),
    integer_to!(assignment Int4 Int2),
    integer_to!(assignment Int8 Int2),
    integer_to!(assignment Int8 Int4),
    to_float!(Int2 Float4),
    to_float!(Int2 Float8),
    to_float!(Int4 Float4),
    to_float!(Int4 Float8),
    to_float!(Int8 Float4),
    to_float!(Int8 Float8),
    from_float!(Float4 Int2),
    from_float!(Float4 Int4),
    from_float!(Float4 Int8),
    from_float!(Float8 Int2),
    from_float!(Float8 Int4),
    from_float!(Float8 Int8),
    CastDef::implicit(Float4, Float8, |d, _, _, _| Ok(Datum::Float8(float(d)))).total(),
    CastDef::assignment(Float8, Float4, |d, _, _, _| to_float4(float(d))),
    CastDef::explicit(Bool, Int4, |d, _, _, _| Ok(Datum::Int4(bool(d).into()))).total(),
    CastDef::explicit(Int4, Bool, |d, _, _, _| Ok(Datum::Bool(int4(d) != 0))).total(),
    // An int4 and an oid of the same bits are the same.
    CastDef::implicit(Int2, Oid, |d, _, _, _| Ok(Datum::Oid(integer(d) as u32))).total(),
    CastDef::implicit(Int4, Oid, |d, _, _, _| Ok(Datum::Oid(integer(d) as u32))).total(),
    CastDef::implicit(Int8, Oid, |d, _, _, _| to_oid(integer(d))),
    CastDef::assignment(Oid, Int4, |d, _, _, _| Ok(Datum::Int4(oid(d) as i32))).total(),
    CastDef::assignment(Oid, Int8, |d, _, _, _| Ok(Datum::Int8(oid(d).into()))).total(),
];
