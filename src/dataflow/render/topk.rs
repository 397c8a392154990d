//! The first rows of each group by an order: `LIMIT`, `OFFSET`, `row_number()`.
//!
//! Rows are arranged by their group with a value that begins with the order's bytes, so the window
//! operator reads no more of a group than it answers. Ties are broken by the bytes of the row. A
//! row that is there more than once counts, and is numbered, as that many rows.

use super::order::{compare_rows, is_sortable, put_row_order};
use super::rows::{RowSink, Shaper};
use super::window::{GroupLogic, Ties};
use crate::dataflow::arrangement::RowRef;
use crate::plan::relation::ColumnOrder;
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{Datum, Diff, Row, ScalarType};

/// What a top-k answers.
#[derive(Clone)]
pub struct TopK {
    /// The input's column types.
    pub types: Vec<ScalarType>,
    /// Columns that tell groups apart.
    pub group_key: Vec<usize>,
    /// The order.
    pub order: Vec<ColumnOrder>,
    /// At most so many rows.
    pub limit: Option<u64>,
    /// So many are passed over.
    pub offset: u64,
    /// Whether the peers of the last row are there as well.
    pub ties: bool,
    /// Whether the row's number is added.
    pub rank: bool,
}

/// The bytes that say where in a value the row begins.
const SUFFIX: usize = 4;

impl TopK {
    /// How many rows of a group must be seen.
    pub fn first(&self) -> Option<u64> {
        let first = self.limit.map(|limit| limit.saturating_add(self.offset));
        first.filter(|_| is_sortable(&self.types, &self.order))
    }

    /// Whether rows with those values are peers, where that decides which must be seen.
    pub fn ties(&self) -> Option<Ties> {
        self.ties.then_some(|a, b| order_and_row(a.0).0 == order_and_row(b.0).0)
    }

    /// Keys rows by their group, and puts them in order.
    pub fn shaper(&self) -> Shaper {
        let TopK { types, group_key, order, .. } = self.clone();
        let key_types: Vec<ScalarType> = group_key.iter().map(|c| types[*c]).collect();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut parts = DatumVec::new();
        Box::new(move |datums, _, emit| {
            let mut parts = parts.borrow();
            parts.extend(group_key.iter().map(|c| datums[*c]));
            key.clear();
            encode_key(KeyMode::NullSafe, &key_types, &parts, &mut key);
            value.clear();
            put_row_order(&types, &order, datums, &mut value);
            let start = value.len() as u32;
            encode_values(datums, &mut value);
            value.extend_from_slice(&start.to_le_bytes());
            emit.ok(Row::new(&key), Row::new(&value));
        })
    }

    /// Answers with the rows in the window.
    pub fn logic(&self, mut sink: RowSink) -> GroupLogic {
        let top = self.clone();
        let sorted = is_sortable(&top.types, &top.order);
        Box::new(move |_, rows, answer| {
            let mut resorted = Vec::new();
            let rows = if sorted {
                rows
            } else {
                resorted.extend_from_slice(rows);
                top.sort(&mut resorted);
                &resorted
            };
            let end = top.limit.map_or(u64::MAX, |limit| limit.saturating_add(top.offset));
            let ties = top.ties && top.limit != Some(0);
            let mut last: Option<&[u8]> = None;
            let mut position = 0u64;
            for (value, count) in rows.iter().filter(|(_, count)| *count > 0) {
                let (order, row) = order_and_row(value.0);
                let next = position.saturating_add(count.unsigned_abs());
                let is_peer = ties && (position < end || last == Some(order));
                let window = position.max(top.offset)..if is_peer { next } else { next.min(end) };
                position = next;
                if window.is_empty() {
                    continue;
                }
                last = Some(order);
                if !top.rank {
                    sink.put((window.end - window.start) as Diff, answer, |_, datums| {
                        decode_values(&top.types, row, datums);
                        Ok(())
                    });
                    continue;
                }
                for number in window {
                    sink.put(1, answer, |_, datums| {
                        decode_values(&top.types, row, datums);
                        datums.push(Datum::Int8(number as i64 + 1));
                        Ok(())
                    });
                }
            }
        })
    }

    /// Sorts rows whose bytes do not sort as the order says.
    pub(super) fn sort(&self, rows: &mut [(RowRef<'_>, Diff)]) {
        rows.sort_by(|(a, _), (b, _)| {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            decode_values(&self.types, row_of(a.0), &mut x);
            decode_values(&self.types, row_of(b.0), &mut y);
            compare_rows(&self.types, &self.order, &x, &y)
                .then_with(|| row_of(a.0).cmp(row_of(b.0)))
        });
    }
}

/// The row in a value that begins with its order.
fn row_of(value: &[u8]) -> &[u8] {
    order_and_row(value).1
}

/// The two parts of a value.
pub(super) fn order_and_row(value: &[u8]) -> (&[u8], &[u8]) {
    let (rest, suffix) =
        value.split_last_chunk::<SUFFIX>().expect("a value of a top-k ends with a position");
    rest.split_at(u32::from_le_bytes(*suffix) as usize)
}
