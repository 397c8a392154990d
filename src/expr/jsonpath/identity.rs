//! The numbers that `.keyvalue()` gives objects.
//!
//! PostgreSQL makes them of the distance between an object and the document that it lies in, in
//! bytes of its own encoding. So that the numbers are the same, that encoding's sizes are computed
//! here: a head of four bytes, four more for each name and value, then names and values; numbers,
//! arrays and objects begin at a multiple of four.

use crate::repr::jsonb::{JsonbItem, JsonbRef};
use crate::repr::numeric::{Decimal, Numeric, NumericRef};

/// Where in a document a part of it lies, in bytes of PostgreSQL's encoding; the part must be a
/// slice of the document.
pub(super) fn offset_in(document: JsonbRef<'_>, part: JsonbRef<'_>) -> Option<u64> {
    find(document, part, 0)
}

fn contains(outer: JsonbRef<'_>, inner: JsonbRef<'_>) -> bool {
    let (outer, inner) = (outer.0.as_ptr_range(), inner.0.as_ptr_range());
    outer.start <= inner.start && inner.end <= outer.end
}

fn aligned(at: u64) -> u64 {
    at.next_multiple_of(4)
}

fn find(here: JsonbRef<'_>, part: JsonbRef<'_>, start: u64) -> Option<u64> {
    if here.0.as_ptr() == part.0.as_ptr() {
        return Some(start);
    }
    let mut found = None;
    let mut search = |value: JsonbRef<'_>, at: u64| {
        if contains(value, part) && found.is_none() {
            found = stacker::maybe_grow(64 << 10, 1 << 20, || find(value, part, aligned(at)));
        }
        end_of(value, at)
    };
    walk(here, start, &mut search);
    found
}

/// Calls with each value and where it begins, before it is aligned; the call answers where it
/// ends.
fn walk(here: JsonbRef<'_>, start: u64, visit: &mut dyn FnMut(JsonbRef<'_>, u64) -> u64) -> u64 {
    match here.item() {
        JsonbItem::Array(items) => {
            let first = start + 4 + 4 * items.len() as u64;
            items.iter().fold(first, |at, item| visit(item, at))
        }
        JsonbItem::Object(members) => {
            let names: u64 = members.iter().map(|(name, _)| name.len() as u64).sum();
            let first = start + 4 + 8 * members.len() as u64 + names;
            members.iter().fold(first, |at, (_, member)| visit(member, at))
        }
        _ => start,
    }
}

/// Where a value ends that begins at a place.
fn end_of(value: JsonbRef<'_>, at: u64) -> u64 {
    match value.item() {
        JsonbItem::Null | JsonbItem::Bool(_) => at,
        JsonbItem::String(text) => at + text.len() as u64,
        JsonbItem::Number(number) => aligned(at) + number_size(number),
        JsonbItem::Array(_) | JsonbItem::Object(_) => {
            stacker::maybe_grow(64 << 10, 1 << 20, || walk(value, aligned(at), &mut end_of))
        }
    }
}

/// The bytes of a numeric with its length: groups of four digits behind a head of two or four.
fn number_size(number: NumericRef<'_>) -> u64 {
    let Numeric::Finite(decimal) = number.to_owned() else { return 4 + 2 };
    let (groups, weight) = groups(&decimal);
    let short = decimal.dscale() <= 0x3f && (-0x40..=0x3f).contains(&weight);
    4 + if short { 2 } else { 4 } + 2 * groups
}

/// How many groups of four digits there are between zeros, and the power of the first.
fn groups(decimal: &Decimal) -> (u64, i64) {
    if decimal.is_zero() {
        return (0, 0);
    }
    let digits = decimal.unscaled().magnitude().to_string();
    let scale = i64::from(decimal.dscale());
    // Powers of ten of the first and the last digit that is no zero.
    let first = digits.len() as i64 - 1 - scale;
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let last = zeros as i64 - scale;
    let (first, last) = (first.div_euclid(4), last.div_euclid(4));
    ((first - last + 1) as u64, first)
}
