//! Conversions among text, varchar, bpchar and name, with their lengths.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{bool, text};
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};

/// How many bytes a name has at most.
const NAME_BYTES: usize = 63;

/// What PostgreSQL adds to a length to make it a modifier.
const LENGTH_OFFSET: i32 = 4;

/// The text as one of the string types with a modifier.
pub(super) fn fit<'a>(
    ty: ScalarType,
    value: &'a str,
    typmod: i32,
    explicit: bool,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    match ty {
        Name => Ok(Datum::Text(&value[..value.floor_char_boundary(NAME_BYTES)])),
        Varchar | Bpchar if typmod >= LENGTH_OFFSET => {
            limit(ty, value, (typmod - LENGTH_OFFSET) as usize, explicit, arena)
        }
        _ => Ok(Datum::Text(value)),
    }
}

/// The text in at most `length` characters, or exactly so many where it is a bpchar. What is cut
/// off must be spaces, unless the conversion is written.
fn limit<'a>(
    ty: ScalarType,
    value: &'a str,
    length: usize,
    explicit: bool,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let Some((end, _)) = value.char_indices().nth(length) else {
        let missing = match ty {
            Bpchar => length - value.chars().count(),
            _ => 0,
        };
        if missing == 0 {
            return Ok(Datum::Text(value));
        }
        let mut padded = bumpalo::collections::String::from_str_in(value, arena);
        padded.extend(std::iter::repeat_n(' ', missing));
        return Ok(Datum::Text(padded.into_bump_str()));
    };
    if explicit || value[end..].bytes().all(|b| b == b' ') {
        return Ok(Datum::Text(&value[..end]));
    }
    Err(EvalError::new(
        SqlState::STRING_DATA_RIGHT_TRUNCATION,
        format!("value too long for type {}({length})", ty.display_name()),
    ))
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
    from_bool!(Text),
    from_bool!(Varchar),
    from_bool!(Bpchar),
];
