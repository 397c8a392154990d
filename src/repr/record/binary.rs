//! The binary form of records: PostgreSQL's `record_send` and `record_recv`.

use bumpalo::Bump;

use super::types::RecordType;
use super::view::RecordRef;
use crate::error::{Error, Result, SqlState};
use crate::repr::{Datum, binary};

/// Appends a record's binary form: the number of fields, then of each its type and its bytes
/// behind their length, -1 for NULL.
pub(in crate::repr) fn format_binary(record: &RecordRef<'_>, out: &mut Vec<u8>) {
    let values = record.values();
    out.extend_from_slice(&(values.len() as i32).to_be_bytes());
    for (datum, ty) in values.iter().zip(record.ty.scalars()) {
        out.extend_from_slice(&ty.oid().to_be_bytes());
        let at = out.len();
        out.extend_from_slice(&(-1i32).to_be_bytes());
        if !datum.is_null() {
            binary::format_binary(datum, *ty, out);
            let length = (out.len() - at - 4) as i32;
            out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }
}

fn insufficient() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
}

fn take<const N: usize>(at: &mut &[u8]) -> Result<[u8; N]> {
    let (head, rest) = at.split_first_chunk::<N>().ok_or_else(insufficient)?;
    *at = rest;
    Ok(*head)
}

/// Reads a record of a named type.
///
/// # Errors
///
/// 42804 for other fields, 08P01, 22P03, those of the fields' types, and 0A000 for a record
/// without a name.
pub(in crate::repr) fn parse_binary<'a>(
    ty: RecordType,
    bytes: &'a [u8],
    arena: &'a Bump,
) -> Result<Datum<'a>> {
    if ty.is_anonymous() {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "input of anonymous composite types is not implemented",
        ));
    }
    let mut at = bytes;
    let count = i32::from_be_bytes(take(&mut at)?);
    let wrong = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
    let expected = ty.fields().len();
    if usize::try_from(count) != Ok(expected) {
        return Err(wrong(format!("wrong number of columns: {count}, expected {expected}")));
    }
    let mut values = vec![];
    for (i, field) in ty.fields().iter().enumerate() {
        let oid = u32::from_be_bytes(take(&mut at)?);
        if oid != field.ty.scalar.oid() {
            return Err(wrong(format!(
                "binary data has type {oid} (???) instead of expected {} ({}) in record column {}",
                field.ty.scalar.oid(),
                field.ty.scalar.display_name(),
                i + 1
            )));
        }
        let length = i32::from_be_bytes(take(&mut at)?);
        values.push(match usize::try_from(length) {
            Err(_) if length == -1 => Datum::Null,
            Ok(length) if length <= at.len() => {
                let (value, rest) = at.split_at(length);
                at = rest;
                binary::parse_binary(field.ty.scalar, field.ty.typmod, value, arena)?
            }
            _ => return Err(insufficient()),
        });
    }
    match at.is_empty() {
        true => Ok(RecordRef::build(ty, &values, arena).datum()),
        false => Err(Error::new(
            SqlState::INVALID_BINARY_REPRESENTATION,
            "improper binary format in record column",
        )),
    }
}
