//! Reading a record in place, and its order.

use std::cmp::Ordering;

use bumpalo::Bump;

use super::types::RecordType;
use crate::repr::Datum;
use crate::repr::value::{decode_column, decode_values, encode_values};

/// A record, read in place.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    /// The type.
    pub ty: RecordType,
    bytes: &'a [u8],
}

impl<'a> RecordRef<'a> {
    /// The record of these bytes.
    pub fn new(ty: RecordType, bytes: &'a [u8]) -> RecordRef<'a> {
        RecordRef { ty, bytes }
    }

    /// The record of these fields.
    pub fn build(ty: RecordType, fields: &[Datum<'_>], arena: &'a Bump) -> RecordRef<'a> {
        debug_assert_eq!(fields.len(), ty.scalars().len());
        let mut bytes = Vec::new();
        encode_values(fields, &mut bytes);
        RecordRef { ty, bytes: arena.alloc_slice_copy(&bytes) }
    }

    /// The record as a datum.
    pub fn datum(self) -> Datum<'a> {
        Datum::Record(self.ty, self.bytes)
    }

    /// The fields' values.
    pub fn values(&self) -> Vec<Datum<'a>> {
        let mut values = Vec::new();
        decode_values(self.ty.scalars(), self.bytes, &mut values);
        values
    }

    /// The value of one field.
    pub fn field(&self, place: usize) -> Datum<'a> {
        decode_column(self.ty.scalars(), place, self.bytes)
    }

    /// PostgreSQL's order (`record_cmp`): by the fields in turn, NULLs last, then by their number.
    pub fn compare(&self, other: &RecordRef<'_>) -> Ordering {
        let (a, b) = (self.values(), other.values());
        for ((a, b), ty) in a.iter().zip(&b).zip(self.ty.scalars()) {
            let order = a.compare_as(*ty, b);
            if order.is_ne() {
                return order;
            }
        }
        a.len().cmp(&b.len())
    }
}
