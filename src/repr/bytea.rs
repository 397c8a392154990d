//! Text forms of byte strings: hexadecimal, and the older escapes.

use crate::error::{Error, Result, SqlState};
use crate::repr::settings::ByteaOutput;

/// Reads either form.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix("\\x") {
        Some(hex) => parse_hex(hex),
        None => parse_escapes(text.as_bytes()).ok_or_else(|| {
            Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
        }),
    }
}

/// Reads pairs of hexadecimal digits, white space between them being nothing.
pub fn parse_hex(hex: &str) -> Result<Vec<u8>> {
    let fault = |message| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
    let digit = |c: char| {
        c.to_digit(16).ok_or_else(|| fault(format!("invalid hexadecimal digit: \"{c}\"")))
    };
    let mut out = Vec::with_capacity(hex.len() / 2);
    let mut chars = hex.chars();
    while let Some(c) = chars.next() {
        if matches!(c, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let high = digit(c)?;
        let Some(c) = chars.next() else {
            return Err(fault("invalid hexadecimal data: odd number of digits".to_owned()));
        };
        out.push((high << 4 | digit(c)?) as u8);
    }
    Ok(out)
}

/// Reads the older form: octal digits behind backslashes; none where the text is not it.
pub fn parse_escapes(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(rest.len());
    while let Some((&c, after)) = rest.split_first() {
        rest = after;
        if c != b'\\' {
            out.push(c);
            continue;
        }
        match *rest {
            [b'\\', ..] => {
                out.push(b'\\');
                rest = &rest[1..];
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = &rest[3..];
            }
            _ => return None,
        }
    }
    Some(out)
}

/// Appends the form that the setting asks for.
pub fn format_bytea(bytes: &[u8], output: ByteaOutput, out: &mut String) {
    match output {
        ByteaOutput::Hex => {
            out.push_str("\\x");
            push_hex(bytes, out);
        }
        ByteaOutput::Escape => bytes.iter().for_each(|byte| match byte {
            b'\\' => out.push_str("\\\\"),
            0x20..=0x7e => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }),
    }
}

/// Appends two hexadecimal digits a byte.
pub fn push_hex(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * bytes.len());
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}
