//! `LIKE` and `ILIKE`, of text and of bytes; and the patterns of `SIMILAR TO` as regular
//! expressions.
//!
//! A pattern is matched part by part between its `%`: each part at the first place where it fits,
//! which is enough, since the rest may begin anywhere behind it. An escape without a character
//! behind it is an error only where matching comes to it.

use std::borrow::Cow;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{bytea, text};
use crate::expr::functions::registry::Family;
use crate::expr::functions::text::lower;
use crate::repr::Datum;
use crate::repr::ScalarType::*;

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

const INVALID_USE_OF_ESCAPE_CHARACTER: SqlState = SqlState::new(b"2200C");

#[cold]
fn open_escape() -> EvalError {
    let message = "LIKE pattern must not end with escape character";
    EvalError::new(SqlState::INVALID_ESCAPE_SEQUENCE, message)
}

/// The bytes of the character that a byte begins; in `bytea` every byte is one.
fn width(first: u8, is_text: bool) -> usize {
    match first {
        _ if !is_text => 1,
        0xf0.. => 4,
        0xe0.. => 3,
        0xc0.. => 2,
        _ => 1,
    }
}

fn matches(value: &[u8], pattern: &[u8], is_text: bool) -> Result<bool, EvalError> {
    let (mut v, mut p) = (0, 0);
    // Where the part behind the last `%` begins, and where in the value it was tried last.
    let mut retry: Option<(usize, usize)> = None;
    while v < value.len() {
        let fits = match pattern.get(p) {
            Some(b'%') => {
                while let Some(wildcard @ (b'%' | b'_')) = pattern.get(p) {
                    if *wildcard == b'_' {
                        let Some(first) = value.get(v) else { return Ok(false) };
                        v += width(*first, is_text);
                    }
                    p += 1;
                }
                match pattern.get(p) {
                    None => return Ok(true),
                    Some(b'\\') if p + 1 == pattern.len() => return Err(open_escape()),
                    Some(_) => retry = Some((p, v)),
                }
                continue;
            }
            Some(b'_') => {
                v += width(value[v], is_text);
                p += 1;
                continue;
            }
            Some(b'\\') => {
                p += 1;
                *pattern.get(p).ok_or_else(open_escape)? == value[v]
            }
            Some(literal) => *literal == value[v],
            None => false,
        };
        if fits {
            v += 1;
            p += 1;
            continue;
        }
        let Some((part, tried)) = retry else { return Ok(false) };
        let next = tried + width(value[tried], is_text);
        retry = Some((part, next));
        (p, v) = (part, next);
    }
    Ok(pattern[p..].iter().all(|b| *b == b'%'))
}

fn like(value: &str, pattern: &str) -> Result<bool, EvalError> {
    matches(value.as_bytes(), pattern.as_bytes(), true)
}

/// A pattern with another escape, written with the backslash.
fn with_backslash<'p>(pattern: &'p str, escape: &str) -> Result<Cow<'p, str>, EvalError> {
    let mut chars = escape.chars();
    let escape = match (chars.next(), chars.next()) {
        (None, _) => return Ok(Cow::Owned(pattern.replace('\\', "\\\\"))),
        (Some('\\'), None) => return Ok(Cow::Borrowed(pattern)),
        (Some(escape), None) => escape,
        _ => return Err(invalid_escape()),
    };
    let (mut rewritten, mut after_escape) = (String::with_capacity(pattern.len()), false);
    for c in pattern.chars() {
        if c == escape && !after_escape {
            rewritten.push('\\');
            after_escape = true;
            continue;
        }
        if c == '\\' && !after_escape {
            rewritten.push('\\');
        }
        rewritten.push(c);
        after_escape = false;
    }
    Ok(Cow::Owned(rewritten))
}

#[cold]
fn invalid_escape() -> EvalError {
    let hint = "Escape string must be empty or one character.";
    EvalError {
        hint: Some(hint.into()),
        ..EvalError::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
    }
}

/// A pattern of `SIMILAR TO` as a regular expression, with PostgreSQL's `similar_to_escape`'s text.
///
/// An escaped `"` stands between the three parts of a pattern of `SUBSTRING`: the first matches as
/// little as it can, the second is captured.
pub(super) fn similar(pattern: &str, escape: Option<&str>) -> Result<String, EvalError> {
    let mut chars = escape.unwrap_or("\\").chars();
    let escape = match (chars.next(), chars.next()) {
        (escape, None) => escape,
        _ => return Err(invalid_escape()),
    };
    let mut regex = String::from("^(?:");
    let (mut after_escape, mut in_class, mut separators) = (false, false, 0);
    for c in pattern.chars() {
        if after_escape {
            after_escape = false;
            if c != '"' || in_class {
                regex.extend(['\\', c]);
                continue;
            }
            separators += 1;
            regex.push_str(match separators {
                1 => "){1,1}?(",
                2 => "){1,1}(?:",
                _ => {
                    let message = "SQL regular expression may not contain more than two \
                                   escape-double-quote separators";
                    return Err(EvalError::new(INVALID_USE_OF_ESCAPE_CHARACTER, message));
                }
            });
        } else if Some(c) == escape {
            after_escape = true;
        } else if in_class {
            if c == '\\' {
                regex.push('\\');
            }
            regex.push(c);
            in_class = c != ']';
        } else {
            match c {
                '%' => regex.push_str(".*"),
                '_' => regex.push('.'),
                '(' => regex.push_str("(?:"),
                '\\' | '.' | '^' | '$' => regex.extend(['\\', c]),
                _ => regex.push(c),
            }
            in_class = c == '[';
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

macro_rules! likes {
    ($oid:literal $name:literal $ty:ident |$value:ident, $pattern:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[$ty, Text], Bool, |args, _| {
            let ($value, $pattern) = (text(args[0]), text(args[1]));
            Ok(Datum::Bool($compute))
        })
    };
}

/// Without regard to case: both in lower case.
macro_rules! ilikes {
    ($oid:literal $name:literal $ty:ident, $wanted:literal) => {
        FuncDef::new($oid, $name, &[$ty, Text], Bool, |args, cx| {
            let (value, pattern) = (text(args[0]), text(args[1]));
            let found = like(lower(value, cx.arena), lower(pattern, cx.arena))?;
            Ok(Datum::Bool(found == $wanted))
        })
    };
}

macro_rules! bytea_likes {
    ($oid:literal $name:literal $wanted:literal) => {
        FuncDef::new($oid, $name, &[Bytea, Bytea], Bool, |args, _| {
            Ok(Datum::Bool(matches(bytea(args[0]), bytea(args[1]), false)? == $wanted))
        })
    };
}

const FUNCTIONS: &[FuncDef] = &[
    likes!(850 "textlike" Text |v, p| like(v, p)?),
    likes!(851 "textnlike" Text |v, p| !like(v, p)?),
    likes!(1569 "like" Text |v, p| like(v, p)?),
    likes!(1570 "notlike" Text |v, p| !like(v, p)?),
    likes!(858 "namelike" Name |v, p| like(v, p)?),
    likes!(859 "namenlike" Name |v, p| !like(v, p)?),
    likes!(1571 "like" Name |v, p| like(v, p)?),
    likes!(1572 "notlike" Name |v, p| !like(v, p)?),
    // The padding of a bpchar is matched.
    likes!(1631 "bpcharlike" Bpchar |v, p| like(v, p)?),
    likes!(1632 "bpcharnlike" Bpchar |v, p| !like(v, p)?),
    ilikes!(1633 "texticlike" Text, true),
    ilikes!(1634 "texticnlike" Text, false),
    ilikes!(1635 "nameiclike" Name, true),
    ilikes!(1636 "nameicnlike" Name, false),
    ilikes!(1660 "bpchariclike" Bpchar, true),
    ilikes!(1661 "bpcharicnlike" Bpchar, false),
    bytea_likes!(2005 "bytealike" true),
    bytea_likes!(2006 "byteanlike" false),
    bytea_likes!(2007 "like" true),
    bytea_likes!(2008 "notlike" false),
    FuncDef::new(1637, "like_escape", &[Text, Text], Text, |args, cx| {
        let pattern = with_backslash(text(args[0]), text(args[1]))?;
        Ok(Datum::Text(cx.arena.alloc_str(&pattern)))
    }),
    FuncDef::new(1987, "similar_to_escape", &[Text], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&similar(text(args[0]), None)?)))
    }),
    FuncDef::new(1986, "similar_to_escape", &[Text, Text], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&similar(text(args[0]), Some(text(args[1])))?)))
    }),
    // As `similar_to_escape`, but a NULL escape is the backslash.
    FuncDef::new(1623, "similar_escape", &[Text, Text], Text, |args, cx| {
        let Datum::Text(pattern) = args[0] else { return Ok(Datum::Null) };
        let escape = if args[1].is_null() { None } else { Some(text(args[1])) };
        Ok(Datum::Text(cx.arena.alloc_str(&similar(pattern, escape)?)))
    })
    .lax()
    .nullable(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Text, "~~", Text, 850),
    OperatorDef::infix(Text, "!~~", Text, 851),
    OperatorDef::infix(Text, "~~*", Text, 1633),
    OperatorDef::infix(Text, "!~~*", Text, 1634),
    OperatorDef::infix(Name, "~~", Text, 858),
    OperatorDef::infix(Name, "!~~", Text, 859),
    OperatorDef::infix(Name, "~~*", Text, 1635),
    OperatorDef::infix(Name, "!~~*", Text, 1636),
    OperatorDef::infix(Bpchar, "~~", Text, 1631),
    OperatorDef::infix(Bpchar, "!~~", Text, 1632),
    OperatorDef::infix(Bpchar, "~~*", Text, 1660),
    OperatorDef::infix(Bpchar, "!~~*", Text, 1661),
    OperatorDef::infix(Bytea, "~~", Bytea, 2005),
    OperatorDef::infix(Bytea, "!~~", Bytea, 2006),
];
