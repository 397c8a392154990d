//! Conversions among text, varchar, bpchar and name, with their lengths.

use bumpalo::Bump;

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{bool, text};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::{first_char, fit_bpchar, fit_name, fit_varchar};

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
        Char => first_char(value),
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
    relabel!(implicit Char Text),
    relabel!(assignment Char Varchar),
    relabel!(assignment Char Bpchar),
    relabel!(assignment Char Name),
    relabel!(assignment Text Char),
    relabel!(assignment Varchar Char),
    relabel!(assignment Bpchar Char),
    relabel!(explicit Name Char),
    CastDef::explicit(Char, Int4, |d, _, _, _| {
        let code = text(d).chars().next().map_or(0, |c| c as i32);
        Ok(Datum::Int4(if (128..256).contains(&code) { code - 256 } else { code }))
    })
    .total(),
    from_bool!(Text),
    from_bool!(Varchar),
    from_bool!(Bpchar),
];
