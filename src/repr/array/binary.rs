//! The binary form of arrays: dimensions, whether there are NULLs, the element type's oid, length
//! and lower bound of each dimension, and the elements with their lengths (−1 for NULL).

use bumpalo::Bump;

use super::build::ArrayBuilder;
use super::dims::{DIMS_MAX, Dims, too_many_dims};
use super::view::ArrayRef;
use crate::error::{Error, Result, SqlState};
use crate::repr::binary::{format_binary as format_element, parse_binary as parse_element};
use crate::repr::scalar::Element;
use crate::repr::{Datum, ScalarType};

/// Reads an array; the modifier is the elements'.
pub(in crate::repr) fn parse_binary<'a>(
    element: Element,
    typmod: i32,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    let invalid = |message: String| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    let mut at = bytes;
    let count = integer(&mut at)?;
    if count < 0 {
        return Err(invalid(format!("invalid number of dimensions: {count}")));
    }
    if count > DIMS_MAX as i32 {
        return Err(too_many_dims(count as usize));
    }
    if !matches!(integer(&mut at)?, 0 | 1) {
        return Err(invalid("invalid array flags".to_owned()));
    }
    let oid = integer(&mut at)? as u32;
    let ty = element.scalar();
    if oid != ty.oid() {
        return Err(other_element(oid, ty));
    }
    let (mut lengths, mut lowers) = (vec![], vec![]);
    for _ in 0..count {
        lengths.push(integer(&mut at)?);
        lowers.push(integer(&mut at)?);
    }
    let dims = Dims::checked(&lengths, &lowers)?;
    let mut builder = ArrayBuilder::new();
    for place in 1..=dims.items() {
        let length = integer(&mut at)?;
        if length < -1 || length > at.len() as i32 {
            return Err(invalid("insufficient data left in message".to_owned()));
        }
        if length == -1 {
            builder.push(&Datum::Null);
            continue;
        }
        let (item, rest) = at.split_at(length as usize);
        at = rest;
        let datum = parse_element(ty, typmod, item, arena).map_err(|error| {
            match error.message == "incorrect binary data format" {
                true => invalid(format!("improper binary format in array element {place}")),
                false => error,
            }
        })?;
        builder.push(&datum);
    }
    match at.is_empty() {
        true => Ok(builder.finish_in(element, &dims, arena)),
        false => Err(invalid("incorrect binary data format".to_owned())),
    }
}

fn other_element(oid: u32, expected: ScalarType) -> Error {
    let found = ScalarType::from_oid(oid).map_or("???", ScalarType::display_name);
    Error::new(
        SqlState::DATATYPE_MISMATCH,
        format!(
            "binary data has array element type {oid} ({found}) instead of expected {} ({})",
            expected.oid(),
            expected.display_name()
        ),
    )
}

fn integer(at: &mut &[u8]) -> Result<i32> {
    let (raw, rest) = at.split_first_chunk().ok_or_else(|| {
        Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
    })?;
    *at = rest;
    Ok(i32::from_be_bytes(*raw))
}

/// Appends an array's binary form.
pub(in crate::repr) fn format_binary(array: &ArrayRef<'_>, out: &mut Vec<u8>) {
    let ty = array.element.scalar();
    let mut put = |value: i32| out.extend_from_slice(&value.to_be_bytes());
    put(array.dims.count() as i32);
    put(array.has_nulls().into());
    put(ty.oid() as i32);
    for (length, lower) in array.dims.lengths().iter().zip(array.dims.lowers()) {
        put(*length);
        put(*lower);
    }
    for datum in array.iter() {
        let start = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if !datum.is_null() {
            format_element(&datum, ty, out);
            let length = (out.len() - start - 4) as i32;
            out[start..start + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}
