//! The text form of records: PostgreSQL's `record_out` and `record_in`.

use bumpalo::Bump;

use super::types::RecordType;
use super::view::RecordRef;
use crate::error::{Error, Result, SqlState};
use crate::repr::Datum;
use crate::repr::settings::FormatSettings;
use crate::repr::text::{self, is_space};

/// Appends a record's text form.
pub(in crate::repr) fn format_text(
    record: &RecordRef<'_>,
    settings: &FormatSettings,
    out: &mut String,
) {
    out.push('(');
    let mut field = String::new();
    for (i, (datum, ty)) in record.values().iter().zip(record.ty.scalars()).enumerate() {
        if i > 0 {
            out.push(',');
        }
        if !datum.is_null() {
            field.clear();
            text::format_text(datum, *ty, settings, &mut field);
            push_field(&field, out);
        }
    }
    out.push(')');
}

/// A field, quoted where it would be read as something else.
fn push_field(field: &str, out: &mut String) {
    let special = |c| matches!(c, '"' | '\\' | '(' | ')' | ',') || is_space(c);
    if !field.is_empty() && !field.contains(special) {
        return out.push_str(field);
    }
    out.push('"');
    for c in field.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

fn malformed(text: &str, detail: &str) -> Error {
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("malformed record literal: \"{text}\""),
    )
    .with_detail(detail)
}

/// Reads a record of a named type.
///
/// # Errors
///
/// 22P02, those of the fields' types, and 0A000 for a record without a name.
pub(in crate::repr) fn parse_text<'a>(
    ty: RecordType,
    whole: &'a str,
    settings: &FormatSettings,
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    if ty.is_anonymous() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "input of anonymous composite types is not implemented",
        ));
    }
    let fail = |detail| malformed(whole, detail);
    let Some(mut rest) = whole.trim_start_matches(is_space).strip_prefix('(') else {
        return Err(fail("Missing left parenthesis."));
    };
    let mut values = vec![];
    for (i, field) in ty.fields().iter().enumerate() {
        if i > 0 {
            rest = rest.strip_prefix(',').ok_or_else(|| fail("Too few columns."))?;
        }
        let (text, behind) = read_field(rest).ok_or_else(|| fail("Unexpected end of input."))?;
        rest = behind;
        values.push(match text {
            None => Datum::Null,
            Some(text) => {
                let text = arena.alloc_str(&text);
                text::parse_text(field.ty.scalar, field.ty.typmod, text, settings, arena)?
            }
        });
    }
    let Some(rest) = rest.strip_prefix(')') else {
        return Err(fail("Too many columns."));
    };
    match rest.contains(|c| !is_space(c)) {
        true => Err(fail("Junk after right parenthesis.")),
        false => Ok(RecordRef::build(ty, &values, arena).datum()),
    }
}

/// A field up to what ends it, and the rest from there; none where nothing ends it. An empty field
/// is NULL.
fn read_field(text: &str) -> Option<(Option<String>, &str)> {
    if text.starts_with([',', ')']) {
        return Some((None, text));
    }
    let mut field = String::new();
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => field.push(chars.next()?.1),
            '"' if !quoted => quoted = true,
            '"' => match chars.clone().next() {
                Some((_, '"')) => {
                    chars.next();
                    field.push('"');
                }
                _ => quoted = false,
            },
            ',' | ')' if !quoted => return Some((Some(field), &text[at..])),
            c => field.push(c),
        }
    }
    None
}
