//! The text form.

use std::fmt;
use std::fmt::Write;

use super::compare::with_stack;
use super::view::{JsonbItem, JsonbRef};

/// Prints as PostgreSQL does: `{"a": 1, "b": [1, 2]}`.
impl fmt::Display for JsonbRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(*self, f)
    }
}

fn write(json: JsonbRef<'_>, out: &mut dyn Write) -> fmt::Result {
    match json.item() {
        JsonbItem::Array(array) => {
            out.write_char('[')?;
            for (i, value) in array.iter().enumerate() {
                out.write_str(if i > 0 { ", " } else { "" })?;
                with_stack(|| write(value, out))?;
            }
            out.write_char(']')
        }
        JsonbItem::Object(object) => {
            out.write_char('{')?;
            for (i, (key, value)) in object.iter().enumerate() {
                out.write_str(if i > 0 { ", " } else { "" })?;
                write_string(key, out)?;
                out.write_str(": ")?;
                with_stack(|| write(value, out))?;
            }
            out.write_char('}')
        }
        _ => write_scalar(json, out),
    }
}

fn write_scalar(json: JsonbRef<'_>, out: &mut dyn Write) -> fmt::Result {
    match json.item() {
        JsonbItem::Null => out.write_str("null"),
        JsonbItem::Bool(false) => out.write_str("false"),
        JsonbItem::Bool(true) => out.write_str("true"),
        JsonbItem::Number(n) => write!(out, "{n}"),
        JsonbItem::String(s) => write_string(s, out),
        JsonbItem::Array(_) | JsonbItem::Object(_) => Ok(()),
    }
}

/// Appends a string in quotes, escaped as JSON.
pub fn write_string(text: &str, out: &mut dyn Write) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|c| c < 0x20 || c == b'"' || c == b'\\') {
        out.write_str(&rest[..at])?;
        match rest.as_bytes()[at] {
            b'"' => out.write_str("\\\"")?,
            b'\\' => out.write_str("\\\\")?,
            8 => out.write_str("\\b")?,
            12 => out.write_str("\\f")?,
            b'\n' => out.write_str("\\n")?,
            b'\r' => out.write_str("\\r")?,
            b'\t' => out.write_str("\\t")?,
            control => write!(out, "\\u{control:04x}")?,
        }
        rest = &rest[at + 1..];
    }
    out.write_str(rest)?;
    out.write_char('"')
}

impl JsonbRef<'_> {
    /// What `jsonb_pretty` answers: a part a line, four spaces a level.
    pub fn pretty(self) -> String {
        let mut out = String::new();
        write_pretty(self, 0, &mut out).expect("a string takes all text");
        out
    }
}

fn write_pretty(json: JsonbRef<'_>, depth: usize, out: &mut String) -> fmt::Result {
    let indent = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("    ", depth));
    };
    match json.item() {
        JsonbItem::Array(array) => {
            out.push('[');
            for (i, value) in array.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                indent(out, depth + 1);
                with_stack(|| write_pretty(value, depth + 1, out))?;
            }
            indent(out, depth);
            out.push(']');
        }
        JsonbItem::Object(object) => {
            out.push('{');
            for (i, (key, value)) in object.iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                indent(out, depth + 1);
                write_string(key, out)?;
                out.push_str(": ");
                with_stack(|| write_pretty(value, depth + 1, out))?;
            }
            indent(out, depth);
            out.push('}');
        }
        _ => write_scalar(json, out)?,
    }
    Ok(())
}
