//! Conversions of bits: lengths, integers, text.

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::{bits, integer, text};
use crate::expr::functions::integer::out_of_range;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::parse_text;
use crate::repr::{BitsRef, Datum};

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn fit<'a>(
    to: ScalarType,
    value: BitsRef<'a>,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Answer<'a> {
    Ok(Datum::Bits(match to {
        Bit => value.fit(typmod, explicit, cx.arena)?,
        _ => value.fit_varying(typmod, explicit, cx.arena)?,
    }))
}

/// The lowest bits, as many as the modifier says, one where it says nothing; a negative number
/// goes on with ones.
fn of_integer<'a>(value: i64, typmod: i32, cx: &EvalContext<'a>) -> Datum<'a> {
    let len = typmod.max(1) as usize;
    Datum::Bits(BitsRef::make(len, cx.arena, |at| value >> (len - 1 - at).min(63) & 1 != 0))
}

fn to_integer(value: BitsRef<'_>, ty: ScalarType, width: usize) -> Result<i64, EvalError> {
    if value.len() > width {
        return Err(out_of_range(ty));
    }
    Ok((0..value.len()).fold(0, |number, at| number << 1 | i64::from(value.bit(at))))
}

/// The text is read whole; then it is cut, as any string of bits is.
fn read<'a>(
    to: ScalarType,
    datum: Datum<'a>,
    typmod: i32,
    explicit: bool,
    cx: &EvalContext<'a>,
) -> Answer<'a> {
    let value = parse_text(to, -1, text(datum), cx.settings, cx.arena)?;
    fit(to, bits(value), typmod, explicit, cx)
}

macro_rules! fits {
    ($from:ident $to:ident) => {
        CastDef::implicit($from, $to, |d, typmod, explicit, cx| {
            fit($to, bits(d), typmod, explicit, cx)
        })
        .total()
    };
}

macro_rules! reads {
    ($from:ident $to:ident) => {
        CastDef::explicit($from, $to, |d, typmod, explicit, cx| read($to, d, typmod, explicit, cx))
    };
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    fits!(Bit Bit),
    fits!(Bit Varbit),
    fits!(Varbit Varbit),
    fits!(Varbit Bit),
    CastDef::explicit(Int4, Bit, |d, typmod, _, cx| Ok(of_integer(integer(d), typmod, cx))).total(),
    CastDef::explicit(Int8, Bit, |d, typmod, _, cx| Ok(of_integer(integer(d), typmod, cx))).total(),
    CastDef::explicit(Bit, Int4, |d, _, _, _| {
        Ok(Datum::Int4(to_integer(bits(d), Int4, 32)? as i32))
    }),
    CastDef::explicit(Bit, Int8, |d, _, _, _| Ok(Datum::Int8(to_integer(bits(d), Int8, 64)?))),
    reads!(Text Bit),
    reads!(Varchar Bit),
    reads!(Bpchar Bit),
    reads!(Name Bit),
    reads!(Text Varbit),
    reads!(Varchar Varbit),
    reads!(Bpchar Varbit),
    reads!(Name Varbit),
];
