//! Conversions of jsonb to the scalar types, and of json to jsonb and back.

use crate::error::SqlState;
use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{json, jsonb};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::jsonb::{JsonbItem, JsonbRef};
use crate::repr::numeric::Numeric as Number;

#[cold]
fn refused(datum: Datum<'_>, to: ScalarType) -> EvalError {
    let what = match jsonb(datum).type_name() {
        "number" => "numeric",
        what => what,
    };
    let message = format!("cannot cast jsonb {what} to type {}", to.display_name());
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn number(datum: Datum<'_>, to: ScalarType) -> Result<Number, EvalError> {
    match jsonb(datum).item() {
        JsonbItem::Number(number) => Ok(number.to_owned()),
        _ => Err(refused(datum, to)),
    }
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    CastDef::assignment(Json, Jsonb, |d, _, _, cx| {
        Ok(Datum::Jsonb(JsonbRef::parse(json(d), cx.arena)?))
    }),
    CastDef::assignment(Jsonb, Json, |d, _, _, cx| {
        Ok(Datum::Json(cx.arena.alloc_str(&jsonb(d).to_string())))
    })
    .total(),
    CastDef::explicit(Jsonb, Bool, |d, _, _, _| match jsonb(d).item() {
        JsonbItem::Bool(value) => Ok(Datum::Bool(value)),
        _ => Err(refused(d, Bool)),
    }),
    CastDef::explicit(Jsonb, Int2, |d, _, _, _| Ok(Datum::Int2(number(d, Int2)?.to_i16()?))),
    CastDef::explicit(Jsonb, Int4, |d, _, _, _| Ok(Datum::Int4(number(d, Int4)?.to_i32()?))),
    CastDef::explicit(Jsonb, Int8, |d, _, _, _| Ok(Datum::Int8(number(d, Int8)?.to_i64()?))),
    CastDef::explicit(Jsonb, Float4, |d, _, _, _| Ok(Datum::Float4(number(d, Float4)?.to_f32()?))),
    CastDef::explicit(Jsonb, Float8, |d, _, _, _| Ok(Datum::Float8(number(d, Float8)?.to_f64()?))),
    CastDef::explicit(Jsonb, Numeric, |d, typmod, _, cx| {
        let number = number(d, Numeric)?.with_typmod(typmod)?;
        Ok(Datum::Numeric(number.encode_in(cx.arena)))
    }),
];
