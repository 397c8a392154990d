//! Conversions between numeric and the other numbers.

use bumpalo::Bump;

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{float4, float8, integer, numeric};
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::numeric::Numeric as Number;

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn with_modifier<'a>(number: Number, typmod: i32, arena: &'a Bump) -> Answer<'a> {
    Ok(Datum::Numeric(number.with_typmod(typmod)?.encode_in(arena)))
}

macro_rules! from_integer {
    ($from:ident) => {
        CastDef::implicit($from, Numeric, |d, typmod, _, cx| {
            with_modifier(Number::from(integer(d)), typmod, cx.arena)
        })
        .total()
    };
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    from_integer!(Int2),
    from_integer!(Int4),
    from_integer!(Int8),
    CastDef::assignment(Float4, Numeric, |d, typmod, _, cx| {
        with_modifier(Number::from_f32(float4(d)), typmod, cx.arena)
    })
    .total(),
    CastDef::assignment(Float8, Numeric, |d, typmod, _, cx| {
        with_modifier(Number::from_f64(float8(d)), typmod, cx.arena)
    })
    .total(),
    CastDef::implicit(Numeric, Numeric, |d, typmod, _, cx| match typmod {
        -1 => Ok(d),
        _ => with_modifier(numeric(d).to_owned(), typmod, cx.arena),
    })
    .total(),
    CastDef::assignment(Numeric, Int2, |d, _, _, _| {
        Ok(Datum::Int2(numeric(d).to_owned().to_i16()?))
    }),
    CastDef::assignment(Numeric, Int4, |d, _, _, _| {
        Ok(Datum::Int4(numeric(d).to_owned().to_i32()?))
    }),
    CastDef::assignment(Numeric, Int8, |d, _, _, _| {
        Ok(Datum::Int8(numeric(d).to_owned().to_i64()?))
    }),
    CastDef::implicit(Numeric, Float4, |d, _, _, _| {
        Ok(Datum::Float4(numeric(d).to_owned().to_f32()?))
    }),
    CastDef::implicit(Numeric, Float8, |d, _, _, _| {
        Ok(Datum::Float8(numeric(d).to_owned().to_f64()?))
    }),
];
