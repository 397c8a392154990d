//! Escaped characters, and names in their quotes: `unistr`, `parse_ident`.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::{bool, text};
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::array::ArrayBuilder;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

fn syntax(message: &str) -> EvalError {
    EvalError::new(SqlState::SYNTAX_ERROR, message)
}

fn invalid_escape() -> EvalError {
    let hint = "Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.";
    EvalError { hint: Some(hint.into()), ..syntax("invalid Unicode escape") }
}

/// The code of an escape behind its backslash, and its bytes.
fn code(escape: &str) -> Option<(u32, usize)> {
    let (skipped, length) = match escape.as_bytes().first()? {
        b'u' => (1, 4),
        b'U' => (1, 8),
        b'+' => (1, 6),
        _ => (0, 4),
    };
    let digits = escape.get(skipped..skipped + length)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    Some((u32::from_str_radix(digits, 16).ok()?, skipped + length))
}

/// `unistr`: characters for their escapes.
fn unescaped(value: &str) -> Result<String, EvalError> {
    let wrong_pair = || syntax("invalid Unicode surrogate pair");
    let (mut out, mut rest, mut high) = (String::with_capacity(value.len()), value, None);
    while let Some(next) = rest.chars().next() {
        if next != '\\' || rest[1..].starts_with('\\') {
            if high.is_some() {
                return Err(wrong_pair());
            }
            out.push(next);
            rest = &rest[next.len_utf8() * if next == '\\' { 2 } else { 1 }..];
            continue;
        }
        let (code, length) = code(&rest[1..]).ok_or_else(invalid_escape)?;
        rest = &rest[1 + length..];
        let code = match (high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                high = Some(code);
                continue;
            }
            (Some(high), 0xdc00..=0xdfff) => 0x1_0000 + ((high & 0x3ff) << 10) + (code & 0x3ff),
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(wrong_pair()),
            (None, code) => code,
        };
        let Some(c) = char::from_u32(code).filter(|c| *c != '\0') else {
            let message = format!("invalid Unicode code point: {code:04X}");
            return Err(EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        out.push(c);
    }
    if high.is_some() { Err(wrong_pair()) } else { Ok(out) }
}

/// `parse_ident`: the parts of a qualified name.
fn parts(value: &str, strict: bool) -> Result<Vec<String>, EvalError> {
    let wrong = |detail: Option<&str>| EvalError {
        detail: detail.map(Into::into),
        ..EvalError::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("string is not a valid identifier: \"{value}\""),
        )
    };
    let is_space = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
    let is_start = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    let (mut rest, mut found) = (value.trim_start_matches(is_space), vec![]);
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (part, behind) = unquoted(quoted)
                .ok_or_else(|| wrong(Some("String has unclosed double quotes.")))?;
            if part.is_empty() {
                return Err(wrong(Some("Quoted identifier must not be empty.")));
            }
            found.push(part);
            rest = behind;
        } else {
            let more = |c: char| is_start(c) || c.is_ascii_digit() || c == '$';
            let end = rest.find(|c| !more(c)).unwrap_or(rest.len());
            if !rest.starts_with(is_start) {
                return Err(wrong(match (rest.starts_with('.'), found.is_empty()) {
                    (true, _) => Some("No valid identifier before \".\"."),
                    (false, false) => Some("No valid identifier after \".\"."),
                    (false, true) => None,
                }));
            }
            found.push(rest[..end].to_ascii_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches(is_space);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(is_space),
            None if rest.is_empty() || !strict => return Ok(found),
            None => return Err(wrong(None)),
        }
    }
}

/// What stands before the closing quote, and what behind it; two quotes are one.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let (mut part, mut rest) = (String::new(), text);
    loop {
        let end = rest.find('"')?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                part.push('"');
                rest = behind;
            }
            None => return Some((part, rest)),
        }
    }
}

fn parse_ident<'a>(args: &[Datum<'a>], arena: &'a bumpalo::Bump) -> Result<Datum<'a>, EvalError> {
    let strict = args.get(1).is_none_or(|strict| bool(*strict));
    let parts = parts(text(args[0]), strict)?;
    let mut builder = ArrayBuilder::new();
    parts.iter().for_each(|part| builder.push(&Datum::Text(part)));
    let element = Text.as_element().expect("a text is an element");
    Ok(builder.vector_in(element, arena))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(6198, "unistr", &[Text], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&unescaped(text(args[0]))?)))
    }),
    FuncDef::new(90_870, "parse_ident", &[Text], array_of(Text), |args, cx| {
        parse_ident(args, cx.arena)
    }),
    FuncDef::new(1268, "parse_ident", &[Text, Bool], array_of(Text), |args, cx| {
        parse_ident(args, cx.arena)
    }),
];
