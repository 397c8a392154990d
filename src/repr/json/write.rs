//! Values as json text, as `to_json` and its kin spell them.

use crate::repr::jsonb::{iso_text, plain_text, write_string};
use crate::repr::settings::FormatSettings;
use crate::repr::{ArrayRef, Datum, RecordRef, ScalarType};

/// Appends a value of type `ty`: numbers that are finite as numbers, json and jsonb as they are,
/// arrays as arrays, dates in ISO 8601 whatever the settings say, what JSON does not know as its
/// text.
pub fn push_json(datum: &Datum<'_>, ty: ScalarType, settings: &FormatSettings, out: &mut String) {
    match *datum {
        Datum::Null => out.push_str("null"),
        Datum::Bool(v) => out.push_str(if v { "true" } else { "false" }),
        Datum::Int2(_) | Datum::Int4(_) | Datum::Int8(_) => {
            out.push_str(&plain_text(datum, ty, settings));
        }
        Datum::Float4(_) | Datum::Float8(_) | Datum::Numeric(_) => {
            let text = plain_text(datum, ty, settings);
            match text.ends_with(|c: char| c.is_ascii_digit()) {
                true => out.push_str(&text),
                false => quote(&text, out),
            }
        }
        Datum::Text(text) => quote(text, out),
        Datum::Json(text) => out.push_str(text),
        Datum::Jsonb(_) => out.push_str(&plain_text(datum, ty, settings)),
        Datum::Array(element, bytes) => {
            format_array(&ArrayRef::new(element, bytes), false, settings, out);
        }
        Datum::Record(ty, bytes) => {
            format_record(&RecordRef::new(ty, bytes), false, settings, out);
        }
        Datum::Date(_) | Datum::Timestamp(_) | Datum::TimestampTz(_) | Datum::TimestampNs(_) => {
            quote(&iso_text(datum, ty, settings), out);
        }
        _ => quote(&plain_text(datum, ty, settings), out),
    }
}

/// Appends the name of a member.
pub fn push_json_name(name: &str, out: &mut String) {
    quote(name, out);
}

fn quote(text: &str, out: &mut String) {
    write_string(text, out).expect("a string takes all text");
}

/// Appends a record as an object; `pretty` puts its members on lines of their own.
pub fn format_record(
    record: &RecordRef<'_>,
    pretty: bool,
    settings: &FormatSettings,
    out: &mut String,
) {
    out.push('{');
    for (i, (field, datum)) in record.ty.fields().iter().zip(record.values()).enumerate() {
        if i > 0 {
            out.push_str(if pretty { ",\n " } else { "," });
        }
        quote(&field.name, out);
        out.push(':');
        push_json(&datum, field.ty.scalar, settings, out);
    }
    out.push('}');
}

/// Appends an array, each dimension as arrays in an array; `pretty` puts what is in the outermost
/// on lines of their own.
pub fn format_array(
    array: &ArrayRef<'_>,
    pretty: bool,
    settings: &FormatSettings,
    out: &mut String,
) {
    let lengths = array.dims.lengths();
    if lengths.is_empty() {
        return out.push_str("[]");
    }
    let ty = array.element.scalar();
    // The dimensions that begin at a place.
    let spans = |place: usize| {
        let spans = lengths.iter().rev().scan(1, |span, length| {
            *span *= *length as usize;
            Some(*span)
        });
        spans.filter(|span| place.is_multiple_of(*span)).count()
    };
    for (place, datum) in array.iter().enumerate() {
        let opened = spans(place);
        if place > 0 {
            let is_outermost = opened + 1 == lengths.len();
            out.push_str(if pretty && is_outermost { ",\n " } else { "," });
        }
        (0..opened).for_each(|_| out.push('['));
        push_json(&datum, ty, settings, out);
        (0..spans(place + 1)).for_each(|_| out.push(']'));
    }
}
