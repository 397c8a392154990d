//! Text as a whole: lengths, cases, joining, codes; [`super::slices`] has its parts.

use bumpalo::Bump;
use bumpalo::collections::String as ArenaString;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, int8, text};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::text::format_text;

/// Functions and operators of text.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The bytes that a value may have, as PostgreSQL has it: a gigabyte less the value's header.
pub(super) const VALUE_BYTES_MAX: usize = 0x3fff_ffff - 4;

#[cold]
pub(super) fn too_large() -> EvalError {
    EvalError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "requested length too large")
}

/// Maps each character for itself, as C libraries do: what would become several characters stays.
fn map_chars<'a, I: Iterator<Item = char>>(
    value: &str,
    map: fn(char) -> I,
    arena: &'a Bump,
) -> &'a str {
    let mut mapped = ArenaString::with_capacity_in(value.len(), arena);
    mapped.extend(value.chars().map(|c| single(c, map)));
    mapped.into_bump_str()
}

fn single<I: Iterator<Item = char>>(c: char, map: fn(char) -> I) -> char {
    let mut to = map(c);
    match (to.next(), to.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// Text in lower case.
pub(super) fn lower<'a>(value: &str, arena: &'a Bump) -> &'a str {
    map_chars(value, |c| c.to_lowercase(), arena)
}

/// Words with a capital, the rest in lower case; a word is letters and digits.
fn capitalised<'a>(value: &str, arena: &'a Bump) -> &'a str {
    let mut mapped = ArenaString::with_capacity_in(value.len(), arena);
    let mut in_word = false;
    for c in value.chars() {
        mapped.push(match in_word {
            true => single(c, |c| c.to_lowercase()),
            false => single(c, |c| c.to_uppercase()),
        });
        in_word = c.is_alphanumeric();
    }
    mapped.into_bump_str()
}

/// How many characters a value of type `bpchar` has: its padding does not count.
fn unpadded(value: Datum<'_>) -> &str {
    text(value).trim_end_matches(' ')
}

/// The type of a datum, as far as its text form depends on it.
pub(super) fn type_of(datum: &Datum<'_>) -> ScalarType {
    match *datum {
        Datum::Array(element, _) => return Array(element),
        Datum::Enum(ty, _) => return Enum(ty),
        Datum::Record(ty, _) => return Record(ty),
        _ => {}
    }
    ScalarType::ALL
        .into_iter()
        .find(|ty| *ty != Varchar && ty.admits(datum))
        .expect("every datum is of some type")
}

/// Appends the text form of a value of any type.
pub(super) fn push_text_form(datum: &Datum<'_>, cx: &EvalContext<'_>, out: &mut String) {
    match datum {
        Datum::Null => {}
        Datum::Text(text) => out.push_str(text),
        datum => format_text(datum, type_of(datum), cx.settings, out),
    }
}

/// The text forms, with a separator between those of values that are not NULL.
fn joined<'a>(separator: &str, values: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut whole = String::new();
    let mut first = true;
    for value in values.iter().filter(|value| !value.is_null()) {
        if !first {
            whole.push_str(separator);
        }
        first = false;
        push_text_form(value, cx, &mut whole);
    }
    Ok(Datum::Text(cx.arena.alloc_str(&whole)))
}

/// The character of a code.
fn character(code: i32, arena: &Bump) -> Answer<'_> {
    let limit = |message: String| Err(EvalError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    match code {
        ..0 => {
            let message = "character number must be positive";
            Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
        0 => limit("null character not permitted".to_owned()),
        0x11_0000.. => limit(format!("requested character too large for encoding: {code}")),
        code => match char::from_u32(code as u32) {
            Some(c) => Ok(Datum::Text(arena.alloc_str(c.encode_utf8(&mut [0; 4])))),
            None => limit(format!("requested character not valid for encoding: {code}")),
        },
    }
}

fn repeated<'a>(value: &str, count: i32, arena: &'a Bump) -> Answer<'a> {
    let count = usize::try_from(count).unwrap_or(0);
    let size = value.len().checked_mul(count).filter(|size| *size <= VALUE_BYTES_MAX);
    let mut whole = ArenaString::with_capacity_in(size.ok_or_else(too_large)?, arena);
    if !value.is_empty() {
        (0..count).for_each(|_| whole.push_str(value));
    }
    Ok(Datum::Text(whole.into_bump_str()))
}

/// A function from text to text that cannot fail.
macro_rules! text_to_text {
    ($oid:literal $name:literal $compute:expr) => {
        FuncDef::new($oid, $name, &[Text], Text, |args, cx| {
            let compute: for<'a> fn(&str, &'a Bump) -> &'a str = $compute;
            Ok(Datum::Text(compute(text(args[0]), cx.arena)))
        })
        .total()
    };
}

/// A measure of text.
macro_rules! measure {
    ($oid:literal $name:literal $ty:ident |$value:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[$ty], Int4, |args, _| {
            let $value = args[0];
            Ok(Datum::Int4($compute as i32))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(1258, "textcat", &[Text, Text], Text, |args, cx| {
        let (a, b) = (text(args[0]), text(args[1]));
        let mut whole = ArenaString::with_capacity_in(a.len() + b.len(), cx.arena);
        whole.push_str(a);
        whole.push_str(b);
        Ok(Datum::Text(whole.into_bump_str()))
    })
    .total(),
    measure!(1317 "length" Text |v| text(v).chars().count()),
    measure!(1257 "textlen" Text |v| text(v).chars().count()),
    measure!(1381 "char_length" Text |v| text(v).chars().count()),
    measure!(1369 "character_length" Text |v| text(v).chars().count()),
    measure!(1318 "length" Bpchar |v| unpadded(v).chars().count()),
    measure!(1372 "char_length" Bpchar |v| unpadded(v).chars().count()),
    measure!(1367 "character_length" Bpchar |v| unpadded(v).chars().count()),
    measure!(1374 "octet_length" Text |v| text(v).len()),
    measure!(1375 "octet_length" Bpchar |v| text(v).len()),
    measure!(1811 "bit_length" Text |v| text(v).len() * 8),
    measure!(1620 "ascii" Text |v| text(v).chars().next().map_or(0, u32::from)),
    text_to_text!(871 "upper" |v, arena| map_chars(v, |c| c.to_uppercase(), arena)),
    text_to_text!(870 "lower" lower),
    text_to_text!(872 "initcap" capitalised),
    text_to_text!(3062 "reverse" |v, arena| {
        let mut reversed = ArenaString::with_capacity_in(v.len(), arena);
        reversed.extend(v.chars().rev());
        reversed.into_bump_str()
    }),
    FuncDef::new(1621, "chr", &[Int4], Text, |args, cx| character(int4(args[0]), cx.arena)),
    FuncDef::new(1622, "repeat", &[Text, Int4], Text, |args, cx| {
        repeated(text(args[0]), int4(args[1]), cx.arena)
    }),
    FuncDef::new(2089, "to_hex", &[Int4], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&format!("{:x}", int4(args[0])))))
    })
    .total(),
    FuncDef::new(2090, "to_hex", &[Int8], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&format!("{:x}", int8(args[0])))))
    })
    .total(),
    FuncDef::new(3058, "concat", &[], Text, |args, cx| joined("", args, cx))
        .variadic(Text)
        .any()
        .lax()
        .total()
        .stable(),
    FuncDef::new(3059, "concat_ws", &[Text], Text, |args, cx| match args[0] {
        Datum::Null => Ok(Datum::Null),
        separator => joined(text(separator), &args[1..], cx),
    })
    .variadic(Text)
    .any()
    .lax()
    .nullable()
    .total()
    .stable(),
    FuncDef::new(440, "num_nonnulls", &[], Int4, |args, _| {
        Ok(Datum::Int4(args.iter().filter(|arg| !arg.is_null()).count() as i32))
    })
    .variadic(Text)
    .any()
    .lax()
    .total(),
    FuncDef::new(438, "num_nulls", &[], Int4, |args, _| {
        Ok(Datum::Int4(args.iter().filter(|arg| arg.is_null()).count() as i32))
    })
    .variadic(Text)
    .any()
    .lax()
    .total(),
];

const OPERATORS: &[OperatorDef] = &[OperatorDef::infix(Text, "||", Text, 1258)];
