//! Parts of text: by position, by content, cut off and filled up. Positions count characters,
//! from 1.

use bumpalo::Bump;
use bumpalo::collections::String as ArenaString;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, text};
use crate::expr::functions::integer::out_of_range;
use crate::expr::functions::registry::Family;
use crate::expr::functions::text::{VALUE_BYTES_MAX, too_large};
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

#[cold]
pub(super) fn negative_length() -> EvalError {
    EvalError::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

/// Where `count` characters end, in bytes; the text's end where it has fewer.
fn byte_of(value: &str, count: usize) -> usize {
    // An ASCII text is its own index.
    if value.len() <= count {
        return value.len();
    }
    value.char_indices().nth(count).map_or(value.len(), |(at, _)| at)
}

/// The characters `start..start + length`, those of them that there are; units are the caller's.
///
/// # Errors
///
/// 22011 where the length is negative.
pub(super) fn window(start: i32, length: Option<i32>) -> Result<(usize, Option<usize>), EvalError> {
    let first = i64::from(start).max(1);
    let Some(length) = length else { return Ok((first as usize - 1, None)) };
    if length < 0 {
        return Err(negative_length());
    }
    let end = (i64::from(start) + i64::from(length)).max(first);
    Ok((first as usize - 1, Some((end - first) as usize)))
}

fn substring(value: &str, start: i32, length: Option<i32>) -> Result<&str, EvalError> {
    let (skip, take) = window(start, length)?;
    let rest = &value[byte_of(value, skip)..];
    Ok(match take {
        Some(take) => &rest[..byte_of(rest, take)],
        None => rest,
    })
}

/// The first characters; all but the last ones where the number is negative.
fn left(value: &str, count: i32) -> &str {
    let count = match count {
        0.. => count as usize,
        _ => value.chars().count().saturating_sub(count.unsigned_abs() as usize),
    };
    &value[..byte_of(value, count)]
}

/// The last characters; all but the first ones where the number is negative.
fn right(value: &str, count: i32) -> &str {
    let skip = match count {
        0.. => value.chars().count().saturating_sub(count as usize),
        // Its opposite is no int4, and PostgreSQL cuts nothing then.
        i32::MIN => 0,
        _ => count.unsigned_abs() as usize,
    };
    &value[byte_of(value, skip)..]
}

/// Where a part begins; 0 where it does not occur.
fn position(value: &str, part: &str) -> i32 {
    value.find(part).map_or(0, |at| value[..at].chars().count() as i32 + 1)
}

fn overlay<'a>(value: &str, part: &str, start: i32, length: i32, arena: &'a Bump) -> Answer<'a> {
    if start <= 0 {
        return Err(negative_length());
    }
    let after = start.checked_add(length).ok_or_else(|| out_of_range(Int4))?;
    let (before, rest) = (substring(value, 1, Some(start - 1))?, substring(value, after, None)?);
    Ok(Datum::Text(bumpalo::format!(in arena, "{}{}{}", before, part, rest).into_bump_str()))
}

fn replace<'a>(value: &'a str, from: &str, to: &str, arena: &'a Bump) -> Answer<'a> {
    if from.is_empty() || !value.contains(from) {
        return Ok(Datum::Text(value));
    }
    let mut replaced = ArenaString::new_in(arena);
    for (i, part) in value.split(from).enumerate() {
        if i > 0 {
            replaced.push_str(to);
        }
        replaced.push_str(part);
        if replaced.len() > VALUE_BYTES_MAX {
            return Err(too_large());
        }
    }
    Ok(Datum::Text(replaced.into_bump_str()))
}

/// Replaces characters by those at the same place; those that have none are left out.
fn translate<'a>(value: &str, from: &str, to: &str, arena: &'a Bump) -> Answer<'a> {
    let mut translated = ArenaString::with_capacity_in(value.len(), arena);
    for c in value.chars() {
        match from.chars().position(|f| f == c) {
            None => translated.push(c),
            Some(place) => translated.extend(to.chars().nth(place)),
        }
    }
    Ok(Datum::Text(translated.into_bump_str()))
}

fn split_part<'a>(value: &'a str, separator: &str, field: i32) -> Answer<'a> {
    if field == 0 {
        let message = "field position must not be zero";
        return Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    let place = field.unsigned_abs() as usize - 1;
    let part = match (separator.is_empty(), field > 0) {
        (true, _) => (place == 0).then_some(value),
        (false, true) => value.split(separator).nth(place),
        // What overlaps is told apart from the front, also where fields count from the back.
        (false, false) => {
            let count = value.split(separator).count();
            count.checked_sub(place + 1).and_then(|place| value.split(separator).nth(place))
        }
    };
    Ok(Datum::Text(part.unwrap_or("")))
}

/// A side of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Cuts a text, or fills it up with a filling, to a length.
fn pad<'a>(value: &'a str, length: i32, filling: &str, side: Side, arena: &'a Bump) -> Answer<'a> {
    let length = usize::try_from(length).unwrap_or(0);
    let count = value.chars().count();
    if count >= length || filling.is_empty() {
        return Ok(Datum::Text(&value[..byte_of(value, length)]));
    }
    // PostgreSQL reserves what the widest characters would need.
    if length > VALUE_BYTES_MAX / 4 {
        return Err(too_large());
    }
    let mut padded = ArenaString::with_capacity_in(value.len() + (length - count), arena);
    if side == Side::Right {
        padded.push_str(value);
    }
    padded.extend(filling.chars().cycle().take(length - count));
    if side == Side::Left {
        padded.push_str(value);
    }
    Ok(Datum::Text(padded.into_bump_str()))
}

/// Padding with blanks, or with what is given.
macro_rules! pads {
    ($oid:literal $name:literal $side:ident) => {
        FuncDef::new($oid, $name, &[Text, Int4], Text, |args, cx| {
            pad(text(args[0]), int4(args[1]), " ", Side::$side, cx.arena)
        })
    };
    ($oid:literal $name:literal $side:ident with filling) => {
        FuncDef::new($oid, $name, &[Text, Int4, Text], Text, |args, cx| {
            pad(text(args[0]), int4(args[1]), text(args[2]), Side::$side, cx.arena)
        })
    };
}

/// Trimming of blanks, or of any of the characters that are given.
macro_rules! trims {
    ($oid:literal $name:literal $trim:ident) => {
        FuncDef::new($oid, $name, &[Text], Text, |args, _| {
            Ok(Datum::Text(text(args[0]).$trim(' ')))
        })
        .total()
    };
    ($oid:literal $name:literal $trim:ident any) => {
        FuncDef::new($oid, $name, &[Text, Text], Text, |args, _| {
            let any = text(args[1]);
            Ok(Datum::Text(text(args[0]).$trim(|c| any.contains(c))))
        })
        .total()
    };
}

macro_rules! substrings {
    ($oid:literal $name:literal) => {
        FuncDef::new($oid, $name, &[Text, Int4], Text, |args, _| {
            substring(text(args[0]), int4(args[1]), None).map(Datum::Text)
        })
        .total()
    };
    ($oid:literal $name:literal with length) => {
        FuncDef::new($oid, $name, &[Text, Int4, Int4], Text, |args, _| {
            substring(text(args[0]), int4(args[1]), Some(int4(args[2]))).map(Datum::Text)
        })
    };
}

macro_rules! positions {
    ($oid:literal $name:literal) => {
        FuncDef::new($oid, $name, &[Text, Text], Int4, |args, _| {
            Ok(Datum::Int4(position(text(args[0]), text(args[1]))))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    substrings!(937 "substring"),
    substrings!(883 "substr"),
    substrings!(936 "substring" with length),
    substrings!(877 "substr" with length),
    FuncDef::new(3060, "left", &[Text, Int4], Text, |args, _| {
        Ok(Datum::Text(left(text(args[0]), int4(args[1]))))
    })
    .total(),
    FuncDef::new(3061, "right", &[Text, Int4], Text, |args, _| {
        Ok(Datum::Text(right(text(args[0]), int4(args[1]))))
    })
    .total(),
    positions!(849 "position"),
    positions!(868 "strpos"),
    FuncDef::new(3696, "starts_with", &[Text, Text], Bool, |args, _| {
        Ok(Datum::Bool(text(args[0]).starts_with(text(args[1]))))
    })
    .total(),
    FuncDef::new(1405, "overlay", &[Text, Text, Int4], Text, |args, cx| {
        let (value, part, start) = (text(args[0]), text(args[1]), int4(args[2]));
        overlay(value, part, start, part.chars().count() as i32, cx.arena)
    }),
    FuncDef::new(1404, "overlay", &[Text, Text, Int4, Int4], Text, |args, cx| {
        overlay(text(args[0]), text(args[1]), int4(args[2]), int4(args[3]), cx.arena)
    }),
    FuncDef::new(2087, "replace", &[Text, Text, Text], Text, |args, cx| {
        replace(text(args[0]), text(args[1]), text(args[2]), cx.arena)
    }),
    FuncDef::new(878, "translate", &[Text, Text, Text], Text, |args, cx| {
        translate(text(args[0]), text(args[1]), text(args[2]), cx.arena)
    })
    .total(),
    FuncDef::new(2088, "split_part", &[Text, Text, Int4], Text, |args, _| {
        split_part(text(args[0]), text(args[1]), int4(args[2]))
    }),
    pads!(879 "lpad" Left),
    pads!(873 "lpad" Left with filling),
    pads!(880 "rpad" Right),
    pads!(874 "rpad" Right with filling),
    trims!(885 "btrim" trim_matches),
    trims!(884 "btrim" trim_matches any),
    trims!(881 "ltrim" trim_start_matches),
    trims!(875 "ltrim" trim_start_matches any),
    trims!(882 "rtrim" trim_end_matches),
    trims!(876 "rtrim" trim_end_matches any),
];

const OPERATORS: &[OperatorDef] = &[OperatorDef::infix(Text, "^@", Text, 3696)];
