//! Strings of bits: their operators, their parts, and single bits.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{bits, int4};
use crate::expr::functions::bytea::ARRAY_SUBSCRIPT_ERROR;
use crate::expr::functions::integer::out_of_range;
use crate::expr::functions::registry::Family;
use crate::expr::functions::slices::{negative_length, window};
use crate::repr::ScalarType::*;
use crate::repr::bits::{BITS_MAX, too_many_bits};
use crate::repr::{BitsRef, Datum};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// Strings of other lengths than each other, for `AND` and its kin.
#[cold]
pub(in crate::expr) fn different_sizes(verb: &str) -> EvalError {
    let message = format!("cannot {verb} bit strings of different sizes");
    EvalError::new(SqlState::new(b"22026"), message)
}

fn combined<'a>(
    args: &[Datum<'a>],
    verb: &str,
    arena: &'a Bump,
    combine: fn(u8, u8) -> u8,
) -> Answer<'a> {
    let (a, b) = (bits(args[0]), bits(args[1]));
    if a.len() != b.len() {
        return Err(different_sizes(verb));
    }
    let byte = |at| combine(a.bytes()[at], b.bytes()[at]);
    Ok(Datum::Bits(BitsRef::of_bytes(a.len(), arena, byte)))
}

/// Moves bits towards the beginning, or towards the end where `by` is negative; zeros follow.
fn shifted<'a>(value: BitsRef<'a>, by: i64, arena: &'a Bump) -> Datum<'a> {
    let len = value.len();
    let places = usize::try_from(by.unsigned_abs()).unwrap_or(len).min(len);
    Datum::Bits(match by {
        0.. => value.part(places, len, arena),
        _ => BitsRef::make(len, arena, |at| at >= places && value.bit(at - places)),
    })
}

fn concatenated<'a>(a: BitsRef<'a>, b: BitsRef<'_>, arena: &'a Bump) -> Answer<'a> {
    if a.len() > BITS_MAX - b.len() {
        return Err(too_many_bits().into());
    }
    Ok(Datum::Bits(a.followed_by(b, arena)))
}

fn substring<'a>(
    value: BitsRef<'a>,
    start: i32,
    length: Option<i32>,
    arena: &'a Bump,
) -> Result<BitsRef<'a>, EvalError> {
    let (skip, take) = window(start, length)?;
    let rest = value.len().saturating_sub(skip);
    Ok(value.part(skip.min(value.len()), take.unwrap_or(rest).min(rest), arena))
}

fn overlay<'a>(args: &[Datum<'a>], length: Option<i32>, arena: &'a Bump) -> Answer<'a> {
    let (value, part, start) = (bits(args[0]), bits(args[1]), int4(args[2]));
    if start <= 0 {
        return Err(negative_length());
    }
    let length = length.unwrap_or(part.len() as i32);
    let after = start.checked_add(length).ok_or_else(|| out_of_range(Int4))?;
    let before = substring(value, 1, Some(start - 1), arena)?;
    let rest = substring(value, after, None, arena)?;
    concatenated(before.followed_by(part, arena), rest, arena)
}

fn position(value: BitsRef<'_>, part: BitsRef<'_>) -> i32 {
    let (len, wanted) = (value.len(), part.len());
    if len == 0 || wanted > len {
        return 0;
    }
    let is_at = |start: &usize| (0..wanted).all(|at| value.bit(start + at) == part.bit(at));
    (0..=len - wanted).find(is_at).map_or(0, |at| at as i32 + 1)
}

/// A place among so many.
fn index(place: i32, count: usize) -> Result<usize, EvalError> {
    usize::try_from(place).ok().filter(|place| *place < count).ok_or_else(|| {
        let message = format!("bit index {place} out of valid range (0..{})", count as i64 - 1);
        EvalError::new(ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn set_bit<'a>(args: &[Datum<'a>], arena: &'a Bump) -> Answer<'a> {
    let (value, bit) = (bits(args[0]), int4(args[2]));
    let place = index(int4(args[1]), value.len())?;
    if !matches!(bit, 0 | 1) {
        let message = "new bit must be 0 or 1";
        return Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let set = |at| if at == place { bit == 1 } else { value.bit(at) };
    Ok(Datum::Bits(BitsRef::make(value.len(), arena, set)))
}

macro_rules! combination {
    ($oid:literal $name:literal $verb:literal $combine:expr) => {
        FuncDef::new($oid, $name, &[Bit, Bit], Bit, |args, cx| {
            combined(args, $verb, cx.arena, $combine)
        })
    };
}

macro_rules! measure {
    ($oid:literal $name:literal $ret:ident |$value:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[Bit], $ret, |args, _| {
            let $value = bits(args[0]);
            Ok(Datum::$ret($compute))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    combination!(1673 "bitand" "AND" |a, b| a & b),
    combination!(1674 "bitor" "OR" |a, b| a | b),
    combination!(1675 "bitxor" "XOR" |a, b| a ^ b),
    FuncDef::new(1676, "bitnot", &[Bit], Bit, |args, cx| {
        let value = bits(args[0]);
        Ok(Datum::Bits(BitsRef::of_bytes(value.len(), cx.arena, |at| !value.bytes()[at])))
    })
    .total(),
    FuncDef::new(1677, "bitshiftleft", &[Bit, Int4], Bit, |args, cx| {
        Ok(shifted(bits(args[0]), int4(args[1]).into(), cx.arena))
    })
    .total(),
    FuncDef::new(1678, "bitshiftright", &[Bit, Int4], Bit, |args, cx| {
        Ok(shifted(bits(args[0]), -i64::from(int4(args[1])), cx.arena))
    })
    .total(),
    FuncDef::new(1679, "bitcat", &[Varbit, Varbit], Varbit, |args, cx| {
        concatenated(bits(args[0]), bits(args[1]), cx.arena)
    }),
    FuncDef::new(1680, "substring", &[Bit, Int4, Int4], Bit, |args, cx| {
        substring(bits(args[0]), int4(args[1]), Some(int4(args[2])), cx.arena).map(Datum::Bits)
    }),
    FuncDef::new(1699, "substring", &[Bit, Int4], Bit, |args, cx| {
        substring(bits(args[0]), int4(args[1]), None, cx.arena).map(Datum::Bits)
    }),
    FuncDef::new(3030, "overlay", &[Bit, Bit, Int4, Int4], Bit, |args, cx| {
        overlay(args, Some(int4(args[3])), cx.arena)
    }),
    FuncDef::new(3031, "overlay", &[Bit, Bit, Int4], Bit, |args, cx| overlay(args, None, cx.arena)),
    FuncDef::new(1698, "position", &[Bit, Bit], Int4, |args, _| {
        Ok(Datum::Int4(position(bits(args[0]), bits(args[1]))))
    })
    .total(),
    FuncDef::new(3032, "get_bit", &[Bit, Int4], Int4, |args, _| {
        let value = bits(args[0]);
        let place = index(int4(args[1]), value.len())?;
        Ok(Datum::Int4(value.bit(place).into()))
    }),
    FuncDef::new(3033, "set_bit", &[Bit, Int4, Int4], Bit, |args, cx| set_bit(args, cx.arena)),
    measure!(1681 "length" Int4 |v| v.len() as i32),
    measure!(1682 "octet_length" Int4 |v| v.bytes().len() as i32),
    measure!(1812 "bit_length" Int4 |v| v.len() as i32),
    measure!(6162 "bit_count" Int8 |v| v.bytes().iter().map(|b| i64::from(b.count_ones())).sum()),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Bit, "&", Bit, 1673),
    OperatorDef::infix(Bit, "|", Bit, 1674),
    OperatorDef::infix(Bit, "#", Bit, 1675),
    OperatorDef::prefix("~", Bit, 1676),
    OperatorDef::infix(Bit, "<<", Int4, 1677),
    OperatorDef::infix(Bit, ">>", Int4, 1678),
    OperatorDef::infix(Varbit, "||", Varbit, 1679),
];
