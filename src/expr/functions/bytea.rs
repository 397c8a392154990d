//! Strings of bytes: parts, bits, digests. [`super::encoding`] has their forms as text.

use bumpalo::Bump;
use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{bytea, int4, int8, text};
use crate::expr::functions::integer::out_of_range;
use crate::expr::functions::registry::Family;
use crate::expr::functions::slices::{negative_length, window};
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::bytea::push_hex;

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

pub(super) const ARRAY_SUBSCRIPT_ERROR: SqlState = SqlState::new(b"2202E");

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn concatenated<'a>(parts: &[&[u8]], arena: &'a Bump) -> Datum<'a> {
    let mut whole = bumpalo::collections::Vec::with_capacity_in(
        parts.iter().map(|part| part.len()).sum(),
        arena,
    );
    parts.iter().for_each(|part| whole.extend_from_slice_copy(part));
    Datum::Bytea(whole.into_bump_slice())
}

fn substring(value: &[u8], start: i32, length: Option<i32>) -> Result<&[u8], EvalError> {
    let (skip, take) = window(start, length)?;
    let rest = &value[skip.min(value.len())..];
    Ok(&rest[..take.unwrap_or(rest.len()).min(rest.len())])
}

fn overlay<'a>(value: &[u8], part: &[u8], start: i32, length: i32, arena: &'a Bump) -> Answer<'a> {
    if start <= 0 {
        return Err(negative_length());
    }
    let after = start.checked_add(length).ok_or_else(|| out_of_range(Int4))?;
    let (before, rest) = (substring(value, 1, Some(start - 1))?, substring(value, after, None)?);
    Ok(concatenated(&[before, part, rest], arena))
}

fn position(value: &[u8], part: &[u8]) -> i32 {
    if part.is_empty() {
        return 1;
    }
    value.windows(part.len()).position(|at| at == part).map_or(0, |at| at as i32 + 1)
}

/// Cuts bytes off either end; none where there are none to cut.
fn trim<'v>(value: &'v [u8], any: &[u8], left: bool, right: bool) -> &'v [u8] {
    let kept = |byte: &u8| !any.contains(byte);
    let start = if left { value.iter().position(kept).unwrap_or(value.len()) } else { 0 };
    let rest = &value[start..];
    let end = if right { rest.iter().rposition(kept).map_or(0, |at| at + 1) } else { rest.len() };
    &rest[..end]
}

/// A place among so many.
fn index(place: i64, count: usize) -> Result<usize, EvalError> {
    usize::try_from(place).ok().filter(|place| *place < count).ok_or_else(|| {
        let message = format!("index {place} out of valid range, 0..{}", count as i64 - 1);
        EvalError::new(ARRAY_SUBSCRIPT_ERROR, message)
    })
}

fn set_byte<'a>(value: &[u8], place: i32, byte: i32, arena: &'a Bump) -> Answer<'a> {
    let place = index(place.into(), value.len())?;
    let changed = arena.alloc_slice_copy(value);
    // The lowest eight bits count.
    changed[place] = byte as u8;
    Ok(Datum::Bytea(changed))
}

fn set_bit<'a>(value: &[u8], place: i64, bit: i32, arena: &'a Bump) -> Answer<'a> {
    let place = index(place, value.len() * 8)?;
    if !matches!(bit, 0 | 1) {
        let message = "new bit must be 0 or 1";
        return Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let changed = arena.alloc_slice_copy(value);
    let mask = 1 << (place % 8);
    match bit {
        0 => changed[place / 8] &= !mask,
        _ => changed[place / 8] |= mask,
    }
    Ok(Datum::Bytea(changed))
}

fn md5<'a>(value: &[u8], arena: &'a Bump) -> Datum<'a> {
    let mut hex = String::with_capacity(32);
    push_hex(&Md5::digest(value), &mut hex);
    Datum::Text(arena.alloc_str(&hex))
}

macro_rules! digest {
    ($oid:literal $name:literal $algorithm:ident) => {
        FuncDef::new($oid, $name, &[Bytea], Bytea, |args, cx| {
            Ok(Datum::Bytea(cx.arena.alloc_slice_copy(&$algorithm::digest(bytea(args[0])))))
        })
        .total()
    };
}

macro_rules! measure {
    ($oid:literal $name:literal $ret:ident |$value:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[Bytea], $ret, |args, _| {
            let $value = bytea(args[0]);
            Ok(Datum::$ret($compute))
        })
        .total()
    };
}

macro_rules! substrings {
    ($oid:literal $name:literal) => {
        FuncDef::new($oid, $name, &[Bytea, Int4], Bytea, |args, _| {
            substring(bytea(args[0]), int4(args[1]), None).map(Datum::Bytea)
        })
        .total()
    };
    ($oid:literal $name:literal with length) => {
        FuncDef::new($oid, $name, &[Bytea, Int4, Int4], Bytea, |args, _| {
            substring(bytea(args[0]), int4(args[1]), Some(int4(args[2]))).map(Datum::Bytea)
        })
    };
}

macro_rules! trims {
    ($oid:literal $name:literal $left:literal $right:literal) => {
        FuncDef::new($oid, $name, &[Bytea, Bytea], Bytea, |args, _| {
            Ok(Datum::Bytea(trim(bytea(args[0]), bytea(args[1]), $left, $right)))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(2011, "byteacat", &[Bytea, Bytea], Bytea, |args, cx| {
        Ok(concatenated(&[bytea(args[0]), bytea(args[1])], cx.arena))
    })
    .total(),
    measure!(2010 "length" Int4 |v| v.len() as i32),
    measure!(720 "octet_length" Int4 |v| v.len() as i32),
    measure!(1810 "bit_length" Int4 |v| v.len() as i32 * 8),
    measure!(6163 "bit_count" Int8 |v| v.iter().map(|b| i64::from(b.count_ones())).sum()),
    substrings!(2013 "substring"),
    substrings!(2086 "substr"),
    substrings!(2012 "substring" with length),
    substrings!(2085 "substr" with length),
    FuncDef::new(752, "overlay", &[Bytea, Bytea, Int4], Bytea, |args, cx| {
        let part = bytea(args[1]);
        overlay(bytea(args[0]), part, int4(args[2]), part.len() as i32, cx.arena)
    }),
    FuncDef::new(749, "overlay", &[Bytea, Bytea, Int4, Int4], Bytea, |args, cx| {
        overlay(bytea(args[0]), bytea(args[1]), int4(args[2]), int4(args[3]), cx.arena)
    }),
    FuncDef::new(2014, "position", &[Bytea, Bytea], Int4, |args, _| {
        Ok(Datum::Int4(position(bytea(args[0]), bytea(args[1]))))
    })
    .total(),
    trims!(2015 "btrim" true true),
    trims!(6195 "ltrim" true false),
    trims!(6196 "rtrim" false true),
    FuncDef::new(721, "get_byte", &[Bytea, Int4], Int4, |args, _| {
        let value = bytea(args[0]);
        let place = index(int4(args[1]).into(), value.len())?;
        Ok(Datum::Int4(value[place].into()))
    }),
    FuncDef::new(722, "set_byte", &[Bytea, Int4, Int4], Bytea, |args, cx| {
        set_byte(bytea(args[0]), int4(args[1]), int4(args[2]), cx.arena)
    }),
    FuncDef::new(723, "get_bit", &[Bytea, Int8], Int4, |args, _| {
        let value = bytea(args[0]);
        let place = index(int8(args[1]), value.len() * 8)?;
        Ok(Datum::Int4((value[place / 8] >> (place % 8) & 1).into()))
    }),
    FuncDef::new(724, "set_bit", &[Bytea, Int8, Int4], Bytea, |args, cx| {
        set_bit(bytea(args[0]), int8(args[1]), int4(args[2]), cx.arena)
    }),
    FuncDef::new(2321, "md5", &[Bytea], Text, |args, cx| Ok(md5(bytea(args[0]), cx.arena))).total(),
    FuncDef::new(2311, "md5", &[Text], Text, |args, cx| {
        Ok(md5(text(args[0]).as_bytes(), cx.arena))
    })
    .total(),
    digest!(3419 "sha224" Sha224),
    digest!(3420 "sha256" Sha256),
    digest!(3421 "sha384" Sha384),
    digest!(3422 "sha512" Sha512),
];

const OPERATORS: &[OperatorDef] = &[OperatorDef::infix(Bytea, "||", Bytea, 2011)];
