//! Conversions among text, varchar, bpchar and name, with their lengths.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{bool, int4, text};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::{
    char_byte, char_of, fit_bpchar, fit_name, fit_varchar, format_char, parse_char,
};

/// The text as one of the string types with a modifier.
pub(super) fn fit<'a>(
    ty: ScalarType,
    value: &'a str,
    typmod: i32,
    explicit: bool,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    Ok(Datum::Text(match ty {
        Varchar => fit_varchar(value, typmod, explicit)?,
        Bpchar => fit_bpchar(value, typmod, explicit, arena)?,
        Name => fit_name(value),
        Char => parse_char(value, arena),
        _ => value,
    }))
}

macro_rules! relabel {
    ($context:ident $from:ident $to:ident) => {
        CastDef::$context($from, $to, |d, typmod, explicit, cx| {
            fit($to, text(d), typmod, explicit, cx.arena)
        })
        .total()
    };
}

/// From bpchar: its padding is no part of the value.
macro_rules! unpad {
    ($to:ident) => {
        CastDef::implicit(Bpchar, $to, |d, typmod, explicit, cx| {
            fit($to, text(d).trim_end_matches(' '), typmod, explicit, cx.arena)
        })
        .total()
    };
}

/// From `"char"`: what it prints.
macro_rules! from_char {
    ($context:ident $to:ident) => {
        CastDef::$context(Char, $to, |d, typmod, explicit, cx| {
            let mut spelled = String::new();
            format_char(text(d), &mut spelled);
            fit($to, cx.arena.alloc_str(&spelled), typmod, explicit, cx.arena)
        })
        .total()
    };
}

macro_rules! from_bool {
    ($to:ident) => {
        CastDef::assignment(Bool, $to, |d, typmod, explicit, cx| {
            fit($to, if bool(d) { "true" } else { "false" }, typmod, explicit, cx.arena)
        })
        .total()
    };
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    relabel!(implicit Text Varchar),
    relabel!(implicit Text Bpchar),
    relabel!(implicit Text Name),
    relabel!(implicit Varchar Text),
    relabel!(implicit Varchar Varchar),
    relabel!(implicit Varchar Bpchar),
    relabel!(implicit Varchar Name),
    relabel!(implicit Bpchar Bpchar),
    unpad!(Text),
    unpad!(Varchar),
    unpad!(Name),
    relabel!(implicit Name Text),
    relabel!(assignment Name Varchar),
    relabel!(assignment Name Bpchar),
    from_char!(implicit Text),
    from_char!(assignment Varchar),
    from_char!(assignment Bpchar),
    from_char!(assignment Name),
    relabel!(assignment Text Char),
    relabel!(assignment Varchar Char),
    relabel!(assignment Bpchar Char),
    relabel!(explicit Name Char),
    CastDef::explicit(Char, Int4, |d, _, _, _| Ok(Datum::Int4((char_byte(text(d)) as i8).into())))
        .total(),
    CastDef::explicit(Int4, Char, |d, _, _, cx| match i8::try_from(int4(d)) {
        Ok(byte) => Ok(Datum::Text(char_of(byte as u8, cx.arena))),
        Err(_) => {
            let code = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
            Err(EvalError::new(code, "\"char\" out of range"))
        }
    }),
    from_bool!(Text),
    from_bool!(Varchar),
    from_bool!(Bpchar),
];
