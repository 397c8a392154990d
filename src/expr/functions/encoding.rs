//! Bytes as text and back: hexadecimal, base64, escapes, and UTF-8.

use bumpalo::Bump;

use crate::error::{Error, SqlState};
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::{bytea, text};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::bytea::{parse_escapes, parse_hex, push_hex};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// The characters of a line of base64.
const LINE_CHARS: usize = 76;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cold]
fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn unknown(encoding: &str) -> EvalError {
    invalid(format!("unrecognized encoding: \"{encoding}\""))
}

fn encode<'a>(bytes: &[u8], encoding: &str, arena: &'a Bump) -> Answer<'a> {
    let mut out = String::new();
    match encoding.to_ascii_lowercase().as_str() {
        "hex" => push_hex(bytes, &mut out),
        "base64" => push_base64(bytes, &mut out),
        "escape" => bytes.iter().for_each(|byte| match byte {
            b'\\' => out.push_str("\\\\"),
            1..=0x7f => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }),
        _ => return Err(unknown(encoding)),
    }
    Ok(Datum::Text(arena.alloc_str(&out)))
}

fn decode<'a>(value: &str, encoding: &str, arena: &'a Bump) -> Answer<'a> {
    let bytes = match encoding.to_ascii_lowercase().as_str() {
        "hex" => parse_hex(value)?,
        "base64" => parse_base64(value)?,
        "escape" => parse_escapes(value.as_bytes()).ok_or_else(|| {
            let message = "invalid input syntax for type bytea";
            EvalError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
        })?,
        _ => return Err(unknown(encoding)),
    };
    Ok(Datum::Bytea(arena.alloc_slice_copy(&bytes)))
}

fn push_base64(bytes: &[u8], out: &mut String) {
    let mut line = 0;
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - group.len()));
        for i in 0..4 {
            let place = (bits >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= group.len() { char::from(ALPHABET[place]) } else { '=' });
        }
        line += 4;
        if line == LINE_CHARS {
            out.push('\n');
            line = 0;
        }
    }
}

fn parse_base64(value: &str) -> Result<Vec<u8>, EvalError> {
    let mut bytes = Vec::with_capacity(value.len() / 4 * 3);
    // The bits of a group of four characters, how many there are, and where its filling began.
    let (mut bits, mut count, mut filled_at) = (0_u32, 0, None);
    for c in value.chars() {
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let digit = if c == '=' {
            if filled_at.is_none() {
                if count < 2 {
                    return Err(invalid("unexpected \"=\" while decoding base64 sequence"));
                }
                filled_at = Some(count);
            }
            0
        } else {
            ALPHABET.iter().position(|d| char::from(*d) == c).ok_or_else(|| {
                invalid(format!("invalid symbol \"{c}\" found while decoding base64 sequence"))
            })?
        };
        bits = bits << 6 | digit as u32;
        count += 1;
        if count == 4 {
            let kept = filled_at.map_or(3, |at| at - 1);
            bytes.extend_from_slice(&bits.to_be_bytes()[1..=kept]);
            (bits, count) = (0, 0);
        }
    }
    if count != 0 {
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        let error = invalid("invalid base64 end sequence");
        return Err(EvalError { hint: Some(hint.into()), ..error });
    }
    Ok(bytes)
}

/// Whether a name means UTF-8: letters and digits count, in any case.
fn check_encoding(name: &str, what: &str) -> Result<(), EvalError> {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    match plain.to_ascii_lowercase().as_str() {
        "utf8" | "unicode" => Ok(()),
        other if is_encoding(other) => {
            let hint = "Text is UTF-8 everywhere.";
            Err(Error::unsupported(format!("the encoding {name}"), hint).into())
        }
        _ => Err(invalid(format!("invalid {what} encoding name \"{name}\""))),
    }
}

/// Whether PostgreSQL has an encoding of this name, in small letters and digits.
fn is_encoding(name: &str) -> bool {
    const NAMES: [&str; 32] = [
        "abc",
        "alt",
        "big5",
        "euccn",
        "eucjis2004",
        "eucjp",
        "euckr",
        "euctw",
        "gb18030",
        "gbk",
        "johab",
        "koi8",
        "koi8r",
        "koi8u",
        "mskanji",
        "muleinternal",
        "shiftjis",
        "shiftjis2004",
        "sjis",
        "sqlascii",
        "tcvn",
        "tcvn5712",
        "uhc",
        "vscii",
        "win",
        "win866",
        "win874",
        "win932",
        "win936",
        "win949",
        "win950",
        "windows",
    ];
    let numbered = |prefix: &str, numbers: std::ops::RangeInclusive<u32>| {
        let number = name.strip_prefix(prefix).and_then(|rest| rest.parse().ok());
        number.is_some_and(|number| numbers.contains(&number))
    };
    NAMES.contains(&name)
        || numbered("latin", 1..=10)
        || numbered("iso8859", 1..=16)
        || numbered("win", 1250..=1258)
        || numbered("windows", 866..=1258)
}

/// The message shows the bytes that one character would have had.
fn from_utf8(bytes: &[u8]) -> Result<&str, EvalError> {
    let checked = std::str::from_utf8(bytes);
    let zero = bytes.iter().position(|byte| *byte == 0);
    let at = match (&checked, zero) {
        (Ok(text), None) => return Ok(text),
        (Err(error), Some(zero)) => error.valid_up_to().min(zero),
        (Err(error), None) => error.valid_up_to(),
        (Ok(_), Some(zero)) => zero,
    };
    let width = match bytes[at] {
        0xf0..=0xf7 => 4,
        0xe0..=0xef => 3,
        0xc0..=0xdf => 2,
        _ => 1,
    };
    let shown: Vec<_> =
        bytes[at..].iter().take(width).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Err(EvalError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(1946, "encode", &[Bytea, Text], Text, |args, cx| {
        encode(bytea(args[0]), text(args[1]), cx.arena)
    }),
    FuncDef::new(1947, "decode", &[Text, Text], Bytea, |args, cx| {
        decode(text(args[0]), text(args[1]), cx.arena)
    }),
    FuncDef::new(1714, "convert_from", &[Bytea, Name], Text, |args, _| {
        check_encoding(text(args[1]), "source")?;
        Ok(Datum::Text(from_utf8(bytea(args[0]))?))
    })
    .stable(),
    FuncDef::new(1717, "convert_to", &[Text, Name], Bytea, |args, _| {
        check_encoding(text(args[1]), "destination")?;
        Ok(Datum::Bytea(text(args[0]).as_bytes()))
    })
    .stable(),
];
