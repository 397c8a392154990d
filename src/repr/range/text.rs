//! The text forms: `[1,5)`, `empty`, `("a b",]`, `{[1,2),[4,)}`.

use bumpalo::Bump;

use super::edge::Edge;
use super::multi::{Multirange, ranges_of};
use super::view::Range;
use crate::error::{Error, Result, SqlState};
use crate::repr::settings::FormatSettings;
use crate::repr::text::{format_text, is_space, parse_text};
use crate::repr::{Datum, RangeKind};

/// The word for nothing.
const NOTHING: &str = "empty";

fn malformed(what: &str, text: &str, detail: &str) -> Error {
    let message = format!("malformed {what} literal: \"{text}\"");
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
}

/// What follows the word for nothing, if the text begins with it.
fn behind_nothing(text: &str) -> Option<&str> {
    let (word, rest) = text.split_at_checked(NOTHING.len())?;
    word.eq_ignore_ascii_case(NOTHING).then_some(rest)
}

/// Reads a range (`range_in`).
pub(in crate::repr) fn parse_range_text<'a>(
    kind: RangeKind,
    text: &str,
    settings: &FormatSettings,
    arena: &'a Bump,
) -> Result<Range<'a>> {
    let fault = |detail: &str| malformed("range", text, detail);
    let body = text.trim_start_matches(is_space);
    if let Some(rest) = behind_nothing(body) {
        return match rest.trim_start_matches(is_space) {
            "" => Ok(Range::empty(kind)),
            _ => Err(fault("Junk after \"empty\" key word.")),
        };
    }
    let mut chars = body.chars();
    let lower_inclusive = match chars.next() {
        Some('[') => true,
        Some('(') => false,
        _ => return Err(fault("Missing left parenthesis or bracket.")),
    };
    let end = || fault("Unexpected end of input.");
    let (lower, delimiter) = bound(&mut chars).ok_or_else(end)?;
    if delimiter != ',' {
        return Err(fault("Missing comma after lower bound."));
    }
    let (upper, delimiter) = bound(&mut chars).ok_or_else(end)?;
    if delimiter == ',' {
        return Err(fault("Too many commas."));
    }
    if !chars.as_str().trim_start_matches(is_space).is_empty() {
        return Err(fault("Junk after right parenthesis or bracket."));
    }
    let value = |bound: Option<String>| match bound {
        None => Ok(Datum::Null),
        Some(bound) => parse_text(kind.subtype(), -1, arena.alloc_str(&bound), settings, arena),
    };
    let lower = Edge::lower(value(lower)?, lower_inclusive);
    Range::make(kind, lower, Edge::upper(value(upper)?, delimiter == ']'))
}

/// A bound, none where nothing is written, and what ends it; none where nothing does.
fn bound(chars: &mut std::str::Chars<'_>) -> Option<(Option<String>, char)> {
    let mut value: Option<String> = None;
    let mut quoted = false;
    loop {
        let c = chars.next()?;
        if !quoted && matches!(c, ',' | ')' | ']') {
            return Some((value, c));
        }
        let value = value.get_or_insert_default();
        match c {
            '\\' => value.push(chars.next()?),
            '"' if quoted && chars.as_str().starts_with('"') => {
                chars.next();
                value.push('"');
            }
            '"' => quoted = !quoted,
            c => value.push(c),
        }
    }
}

/// Appends a range.
pub(in crate::repr) fn format_range_text(
    range: &Range<'_>,
    settings: &FormatSettings,
    out: &mut String,
) {
    let Some((lower, upper)) = &range.edges else { return out.push_str(NOTHING) };
    let bound = |edge: &Edge<'_>, out: &mut String| {
        if let Some(value) = &edge.value {
            let mut spelled = String::new();
            format_text(value, range.kind.subtype(), settings, &mut spelled);
            push_bound(&spelled, out);
        }
    };
    out.push(if lower.is_inclusive() { '[' } else { '(' });
    bound(lower, out);
    out.push(',');
    bound(upper, out);
    out.push(if upper.is_inclusive() { ']' } else { ')' });
}

/// Appends a value, in quotes where it would not be read back without.
fn push_bound(value: &str, out: &mut String) {
    let is_plain = |c: char| !matches!(c, '"' | '\\' | '(' | ')' | '[' | ']' | ',') && !is_space(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return out.push_str(value);
    }
    out.push('"');
    for c in value.chars() {
        if matches!(c, '"' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('"');
}

/// Where in a multirange a text stands: PostgreSQL's `MultirangeParseState`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Before,
    Inside,
    Quoted,
    After,
}

/// Reads a multirange (`multirange_in`).
pub(in crate::repr) fn parse_multirange_text<'a>(
    kind: RangeKind,
    text: &str,
    settings: &FormatSettings,
    arena: &'a Bump,
) -> Result<Multirange<'a>> {
    let fault = |detail: &str| malformed("multirange", text, detail);
    let body = text.trim_start_matches(is_space);
    let mut rest = body.strip_prefix('{').ok_or_else(|| fault("Missing left brace."))?;
    let (mut place, mut start, mut seen) = (Place::Before, rest, 0);
    let mut ranges = vec![];
    loop {
        let here = rest;
        let mut chars = rest.chars();
        let c = chars.next().ok_or_else(|| fault("Unexpected end of input."))?;
        rest = chars.as_str();
        match place {
            _ if is_space(c) => {}
            Place::Before if matches!(c, '[' | '(') => (start, place) = (here, Place::Inside),
            Place::Before if c == '}' && seen == 0 => break,
            Place::Before => {
                let behind = behind_nothing(here);
                rest = behind.ok_or_else(|| fault("Expected range start."))?;
                (seen, place) = (seen + 1, Place::After);
            }
            Place::Inside if matches!(c, ']' | ')') => {
                let range = &start[..start.len() - rest.len()];
                ranges.push(parse_range_text(kind, range, settings, arena)?);
                (seen, place) = (seen + 1, Place::After);
            }
            // What is escaped may be white space, which is passed over like any other.
            Place::Inside | Place::Quoted if c == '\\' => {
                let escaped = rest.trim_start_matches(is_space);
                let mut chars = escaped.chars();
                chars.next().ok_or_else(|| fault("Unexpected end of input."))?;
                rest = chars.as_str();
            }
            Place::Inside if c == '"' => place = Place::Quoted,
            Place::Quoted if c == '"' => match rest.strip_prefix('"') {
                Some(behind) => rest = behind,
                None => place = Place::Inside,
            },
            Place::Inside | Place::Quoted => {}
            Place::After if c == ',' => place = Place::Before,
            Place::After if c == '}' => break,
            Place::After => return Err(fault("Expected comma or end of multirange.")),
        }
    }
    match rest.trim_start_matches(is_space) {
        "" => Ok(Multirange::of(kind, ranges)),
        _ => Err(fault("Junk after closing right brace.")),
    }
}

/// Appends a multirange.
pub(in crate::repr) fn format_multirange_text(
    kind: RangeKind,
    bytes: &[u8],
    settings: &FormatSettings,
    out: &mut String,
) {
    out.push('{');
    for (at, range) in ranges_of(kind, bytes).enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        format_range_text(&range, settings, out);
    }
    out.push('}');
}
