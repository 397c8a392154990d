//! The binary forms: a range's flags, and each bound that there is behind its length; the number of
//! ranges, and each behind its length.

use bumpalo::Bump;

use super::edge::Edge;
use super::multi::{Multirange, ranges_of};
use super::view::{EMPTY, LOWER_INCLUSIVE, LOWER_INFINITE, Range, UPPER_INCLUSIVE, UPPER_INFINITE};
use crate::error::{Error, Result, SqlState};
use crate::repr::binary::{format_binary, parse_binary};
use crate::repr::{Datum, RangeKind};

fn short() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
}

fn integer(at: &mut &[u8]) -> Result<i32> {
    let (raw, rest) = at.split_first_chunk().ok_or_else(short)?;
    *at = rest;
    Ok(i32::from_be_bytes(*raw))
}

/// What stands behind its length.
fn measured<'a>(at: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(integer(at)?).map_err(|_| short())?;
    let (bytes, rest) = at.split_at_checked(length).ok_or_else(short)?;
    *at = rest;
    Ok(bytes)
}

fn ended(at: &[u8]) -> Result<()> {
    match at.is_empty() {
        true => Ok(()),
        false => {
            Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format"))
        }
    }
}

/// Reads a range.
pub(in crate::repr) fn parse_range_binary<'a>(
    kind: RangeKind,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Range<'a>> {
    let no_data = || Error::new(SqlState::PROTOCOL_VIOLATION, "no data left in message");
    let (flags, mut at) = bytes.split_first().ok_or_else(no_data)?;
    let mut value = |infinite: u8| match flags & (EMPTY | infinite) {
        0 => parse_binary(kind.subtype(), -1, measured(&mut at)?, arena),
        _ => Ok(Datum::Null),
    };
    let lower = Edge::lower(value(LOWER_INFINITE)?, flags & LOWER_INCLUSIVE != 0);
    let upper = Edge::upper(value(UPPER_INFINITE)?, flags & UPPER_INCLUSIVE != 0);
    ended(at)?;
    match flags & EMPTY {
        0 => Range::make(kind, lower, upper),
        _ => Ok(Range::empty(kind)),
    }
}

/// Appends what `put` appends, behind its length.
fn put_measured(out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    put(out);
    let length = (out.len() - start - 4) as i32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a range.
pub(in crate::repr) fn format_range_binary(range: &Range<'_>, out: &mut Vec<u8>) {
    out.push(range.flags());
    for edge in range.edges.iter().flat_map(|(lower, upper)| [lower, upper]) {
        if let Some(value) = &edge.value {
            put_measured(out, |out| format_binary(value, range.kind.subtype(), out));
        }
    }
}

/// Reads a multirange.
pub(in crate::repr) fn parse_multirange_binary<'a>(
    kind: RangeKind,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Multirange<'a>> {
    let mut at = bytes;
    let mut ranges = vec![];
    for _ in 0..integer(&mut at)?.max(0) {
        ranges.push(parse_range_binary(kind, measured(&mut at)?, arena)?);
    }
    ended(at)?;
    Ok(Multirange::of(kind, ranges))
}

/// Appends a multirange.
pub(in crate::repr) fn format_multirange_binary(kind: RangeKind, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(ranges_of(kind, bytes).count() as i32).to_be_bytes());
    for range in ranges_of(kind, bytes) {
        put_measured(out, |out| format_range_binary(&range, out));
    }
}
