//! Bytes that sort as `ORDER BY` says.

use std::cmp::Ordering;

use crate::plan::relation::ColumnOrder;
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::{Datum, ScalarType};

const NULL_FIRST: u8 = 0;
const PRESENT: u8 = 1;
const NULL_LAST: u8 = 2;

/// Appends a datum so that bytes sort as asked: a key, with all bits inverted where the greatest
/// comes first. No key is a prefix of another, so inverting keeps it so.
pub fn put_ordered(
    ty: ScalarType,
    datum: &Datum<'_>,
    descending: bool,
    nulls_first: bool,
    out: &mut Vec<u8>,
) {
    if datum.is_null() {
        out.push(if nulls_first { NULL_FIRST } else { NULL_LAST });
        return;
    }
    out.push(PRESENT);
    let start = out.len();
    encode_key(KeyMode::Strict, &[ty], std::slice::from_ref(datum), out);
    if descending {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Appends the columns that order rows.
pub fn put_row_order(
    types: &[ScalarType],
    order: &[ColumnOrder],
    datums: &[Datum<'_>],
    out: &mut Vec<u8>,
) {
    for by in order {
        let (ty, datum) = (types[by.column], &datums[by.column]);
        put_ordered(ty, datum, by.descending, by.nulls_first, out);
    }
}

/// Whether the bytes of [`put_row_order`] really sort so; keys of jsonb do not.
pub fn is_sortable(types: &[ScalarType], order: &[ColumnOrder]) -> bool {
    order.iter().all(|by| types[by.column].key_is_ordered())
}

/// Compares rows as `ORDER BY` does.
pub fn compare_rows(
    types: &[ScalarType],
    order: &[ColumnOrder],
    a: &[Datum<'_>],
    b: &[Datum<'_>],
) -> Ordering {
    for by in order {
        let (x, y) = (&a[by.column], &b[by.column]);
        let ordering = match (x.is_null(), y.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if by.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if by.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if by.descending => y.compare_as(types[by.column], x),
            (false, false) => x.compare_as(types[by.column], y),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}
