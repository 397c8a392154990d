//! Rows as one byte region.
//!
//! A [`RowContainer`] keeps the bytes of its rows one after the other. As long as all rows have the
//! same length, and fixed-width keys always have, their bounds are computed and no offset is
//! stored. From the first row of another length on, each row's end is stored, in four bytes while
//! the region is shorter than 4 GiB and in eight after that.
//!
//! What a row costs here is its bytes and at most one offset; nothing is allocated per row.

use std::cmp::Ordering;

use differential_dataflow::trace::implementations::BatchContainer;
use timely::container::PushInto;

use super::layout::Offsets;
use crate::repr::Row;

/// The bytes of a row inside an arrangement.
#[derive(Clone, Copy, Debug)]
pub struct RowRef<'a>(pub &'a [u8]);

impl PartialEq for RowRef<'_> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.0, other.0);
        if a.len() != b.len() {
            return false;
        }
        // Most keys are short: two words that overlap spare a call.
        match (a.first_chunk::<8>(), b.first_chunk::<8>(), a.first_chunk::<4>()) {
            (Some(first), Some(other), _) if a.len() <= 16 => {
                first == other && a.last_chunk::<8>() == b.last_chunk::<8>()
            }
            (None, None, Some(first)) => {
                Some(first) == b.first_chunk::<4>() && a.last_chunk::<4>() == b.last_chunk::<4>()
            }
            _ => a == b,
        }
    }
}

impl Eq for RowRef<'_> {}

impl Ord for RowRef<'_> {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        // Most keys differ in their first word; comparing it in registers spares a call.
        let (a, b) = (self.0, other.0);
        let (order, compared) = match (a.first_chunk::<8>(), b.first_chunk::<8>()) {
            (Some(a), Some(b)) => (u64::from_be_bytes(*a).cmp(&u64::from_be_bytes(*b)), 8),
            _ => match (a.first_chunk::<4>(), b.first_chunk::<4>()) {
                (Some(a), Some(b)) => (u32::from_be_bytes(*a).cmp(&u32::from_be_bytes(*b)), 4),
                _ => (Ordering::Equal, 0),
            },
        };
        if order.is_ne() || a.len() == compared && b.len() == compared {
            return order;
        }
        a[compared..].cmp(&b[compared..])
    }
}

impl PartialOrd for RowRef<'_> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> PartialEq<&'a Row> for RowRef<'a> {
    #[inline]
    fn eq(&self, other: &&'a Row) -> bool {
        self.0 == other.bytes()
    }
}

/// Rows one after the other; see the module.
///
/// Invariant: the first `prefix` rows have `stride` bytes each, and `ends` holds where each later
/// row ends in `bytes`.
#[derive(Default)]
pub struct RowContainer {
    stride: usize,
    prefix: usize,
    ends: Offsets,
    bytes: Vec<u8>,
}

impl RowContainer {
    /// Appends a row.
    #[inline]
    pub fn push_bytes(&mut self, row: &[u8]) {
        self.bytes.extend_from_slice(row);
        if self.ends.is_empty() && (self.prefix == 0 || row.len() == self.stride) {
            self.stride = row.len();
            self.prefix += 1;
        } else {
            self.ends.push(self.bytes.len());
        }
    }

    /// The row at a position.
    #[inline(always)]
    pub fn at(&self, index: usize) -> &[u8] {
        if index < self.prefix {
            let start = index * self.stride;
            &self.bytes[start..start + self.stride]
        } else {
            let later = index - self.prefix;
            let start =
                if later == 0 { self.prefix * self.stride } else { self.ends.get(later - 1) };
            &self.bytes[start..self.ends.get(later)]
        }
    }

    /// How many rows there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.prefix + self.ends.len()
    }

    /// Makes room for exactly `bytes` more bytes.
    pub fn reserve_exact(&mut self, bytes: usize) {
        self.bytes.reserve_exact(bytes);
    }

    /// Gives back what was reserved and not used.
    pub fn trim(&mut self) {
        super::layout::trim(&mut self.bytes);
        self.ends.trim();
    }

    /// Bytes allocated.
    pub fn heap_size(&self) -> usize {
        self.bytes.capacity() + self.ends.heap_size()
    }
}

impl BatchContainer for RowContainer {
    type Owned = Row;
    type ReadItem<'a> = RowRef<'a>;

    #[inline(always)]
    fn into_owned(item: RowRef<'_>) -> Row {
        Row::new(item.0)
    }

    #[inline(always)]
    fn push_ref(&mut self, item: RowRef<'_>) {
        self.push_bytes(item.0);
    }

    #[inline(always)]
    fn push_own(&mut self, item: &Row) {
        self.push_bytes(item.bytes());
    }

    fn clear(&mut self) {
        self.stride = 0;
        self.prefix = 0;
        self.ends.clear();
        self.bytes.clear();
    }

    // The number of rows says nothing about their bytes: whoever knows them reserves exactly.
    fn with_capacity(_size: usize) -> Self {
        RowContainer::default()
    }

    fn merge_capacity(one: &Self, two: &Self) -> Self {
        let mut merged = RowContainer::default();
        merged.bytes.reserve_exact(one.bytes.len() + two.bytes.len());
        if !one.ends.is_empty() || !two.ends.is_empty() || one.stride != two.stride {
            merged.ends.reserve_exact(one.count() + two.count());
        }
        merged
    }

    #[inline(always)]
    fn reborrow<'b, 'a: 'b>(item: RowRef<'a>) -> RowRef<'b> {
        RowRef(item.0)
    }

    #[inline(always)]
    fn index(&self, index: usize) -> RowRef<'_> {
        RowRef(self.at(index))
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.count()
    }
}

impl PushInto<Row> for RowContainer {
    #[inline]
    fn push_into(&mut self, row: Row) {
        self.push_bytes(row.bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_whatever_their_lengths() {
        let shapes: [&[usize]; 5] =
            [&[4, 4, 4, 4], &[0, 0, 3, 0], &[3, 3, 0, 40, 3], &[9], &[0, 0, 0]];
        for lengths in shapes {
            let mut container = RowContainer::with_capacity(0);
            let rows: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(i, n)| vec![i as u8; *n]).collect();
            for row in &rows {
                container.push_bytes(row);
            }
            assert_eq!(container.len(), rows.len());
            for (i, row) in rows.iter().enumerate() {
                assert_eq!(container.at(i), &row[..], "{lengths:?} at {i}");
            }
        }
    }

    #[test]
    fn equal_lengths_store_no_offsets_and_trimming_keeps_only_bytes() {
        let mut one = RowContainer::with_capacity(0);
        for i in 0..1000u32 {
            one.push_bytes(&i.to_be_bytes());
        }
        let mut merged = RowContainer::merge_capacity(&one, &one);
        for i in 0..1000 {
            merged.push_ref(one.index(i));
        }
        merged.trim();
        assert_eq!(merged.heap_size(), 4000);
    }

    #[test]
    fn references_compare_as_bytes() {
        let rows: [&[u8]; 13] = [
            b"",
            b"\0",
            b"abc",
            b"abcd",
            b"abce",
            b"abcdef",
            b"abcdefgh",
            b"abcdefgh\0",
            b"abcdefgh\0\0",
            b"abcdefgi",
            b"abcdefghijklmnopqr",
            b"abcdefghijklmnopqs",
            b"zzzzzzzzz",
        ];
        for a in rows {
            for b in rows {
                assert_eq!(RowRef(a).cmp(&RowRef(b)), a.cmp(b));
                assert_eq!(RowRef(a) == RowRef(b), a == b);
            }
        }
    }
}
