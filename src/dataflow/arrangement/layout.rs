//! Offsets, times and diffs of an arrangement, and the layout that names them all.
//!
//! Most arrangements have one value per key and one update per value, and after compaction one
//! time and one diff in the whole batch, which differential stores once. So offsets are affine and
//! cost nothing ([`AffineOffsets`]), and times and diffs must not reserve what they will not need
//! ([`LazyContainer`]).

use differential_dataflow::trace::implementations::BatchContainer;

use super::container::RowContainer;
use crate::repr::{Diff, Row, Timestamp};

/// Keys and values as byte regions, times and diffs run-length, offsets affine.
pub type RowLayout<T = Timestamp> =
    (RowContainer, RowContainer, LazyContainer<T>, LazyContainer<Diff>, AffineOffsets);

/// A change of a keyed row: `((key, value), time, diff)`.
pub type RowUpdate<T = Timestamp> = ((Row, Row), T, Diff);

/// Gives back spare capacity, if it is worth a reallocation.
pub(super) fn trim<T>(vec: &mut Vec<T>) {
    let spare = vec.capacity() - vec.len();
    if spare > 16 && spare > vec.len() / 16 {
        vec.shrink_to_fit();
    }
}

/// Growing numbers, in four bytes while they fit and in eight after that.
#[derive(Default)]
pub struct Offsets {
    narrow: Vec<u32>,
    wide: Vec<u64>,
}

impl Offsets {
    /// Appends a number.
    #[inline]
    pub fn push(&mut self, offset: usize) {
        match u32::try_from(offset) {
            Ok(narrow) if self.wide.is_empty() => self.narrow.push(narrow),
            _ => self.wide.push(offset as u64),
        }
    }

    /// The number at a position.
    #[inline]
    pub fn get(&self, index: usize) -> usize {
        match self.narrow.get(index) {
            Some(narrow) => *narrow as usize,
            None => self.wide[index - self.narrow.len()] as usize,
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.narrow.len() + self.wide.len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.narrow.is_empty() && self.wide.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.narrow.clear();
        self.wide.clear();
    }

    /// Makes room for `additional` more, in four bytes each.
    pub fn reserve_exact(&mut self, additional: usize) {
        self.narrow.reserve_exact(additional);
    }

    /// Gives back what was reserved and not used.
    pub fn trim(&mut self) {
        trim(&mut self.narrow);
        trim(&mut self.wide);
    }

    /// Bytes allocated.
    pub fn heap_size(&self) -> usize {
        self.narrow.capacity() * 4 + self.wide.capacity() * 8
    }
}

/// Offsets of which a prefix, often all, are a first number and then an arithmetic sequence.
///
/// One value per key gives 0, 1, 2, 3, …; updates that all equal the first one give 0, 1, 1, 1, ….
/// Both are this shape. The first number that breaks it and all behind it are stored.
#[derive(Default)]
pub struct AffineOffsets {
    first: usize,
    base: usize,
    step: usize,
    prefix: usize,
    rest: Offsets,
}

impl AffineOffsets {
    // Wrapping on purpose: it inverts exactly, so no order of the numbers is assumed.
    #[inline(always)]
    fn affine(&self, index: usize) -> usize {
        self.base.wrapping_add(self.step.wrapping_mul(index - 1))
    }

    #[inline]
    fn push(&mut self, offset: usize) {
        if !self.rest.is_empty() {
            return self.rest.push(offset);
        }
        match self.prefix {
            0 => self.first = offset,
            1 => self.base = offset,
            2 => self.step = offset.wrapping_sub(self.base),
            next if offset == self.affine(next) => {}
            _ => return self.rest.push(offset),
        }
        self.prefix += 1;
    }

    /// Gives back what was reserved and not used.
    pub fn trim(&mut self) {
        self.rest.trim();
    }

    /// Bytes allocated.
    pub fn heap_size(&self) -> usize {
        self.rest.heap_size()
    }
}

impl BatchContainer for AffineOffsets {
    type Owned = usize;
    type ReadItem<'a> = usize;

    #[inline(always)]
    fn into_owned(item: usize) -> usize {
        item
    }

    #[inline(always)]
    fn push_ref(&mut self, item: usize) {
        self.push(item);
    }

    #[inline(always)]
    fn push_own(&mut self, item: &usize) {
        self.push(*item);
    }

    fn clear(&mut self) {
        *self = AffineOffsets::default();
    }

    fn with_capacity(_size: usize) -> Self {
        AffineOffsets::default()
    }

    fn merge_capacity(_one: &Self, _two: &Self) -> Self {
        AffineOffsets::default()
    }

    #[inline(always)]
    fn reborrow<'b, 'a: 'b>(item: usize) -> usize {
        item
    }

    #[inline(always)]
    fn index(&self, index: usize) -> usize {
        if index >= self.prefix {
            self.rest.get(index - self.prefix)
        } else if index == 0 {
            self.first
        } else {
            self.affine(index)
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.prefix + self.rest.len()
    }
}

/// A vector that is never given capacity before it has elements.
///
/// Times and diffs are stored once for a run of equal ones, so the number of updates is no
/// estimate of theirs.
pub struct LazyContainer<T>(Vec<T>);

impl<T> LazyContainer<T> {
    /// Gives back what was reserved and not used.
    pub fn trim(&mut self) {
        trim(&mut self.0);
    }

    /// Bytes allocated.
    pub fn heap_size(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}

impl<T: Ord + Clone + 'static> BatchContainer for LazyContainer<T> {
    type Owned = T;
    type ReadItem<'a> = &'a T;

    #[inline(always)]
    fn into_owned(item: &T) -> T {
        item.clone()
    }

    #[inline(always)]
    fn push_ref(&mut self, item: &T) {
        self.0.push(item.clone());
    }

    #[inline(always)]
    fn push_own(&mut self, item: &T) {
        self.0.push(item.clone());
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn with_capacity(_size: usize) -> Self {
        LazyContainer(Vec::new())
    }

    fn merge_capacity(one: &Self, two: &Self) -> Self {
        LazyContainer(Vec::with_capacity(one.0.len() + two.0.len()))
    }

    #[inline(always)]
    fn reborrow<'b, 'a: 'b>(item: &'a T) -> &'b T {
        item
    }

    #[inline(always)]
    fn index(&self, index: usize) -> &T {
        &self.0[index]
    }

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_past_four_bytes() {
        let numbers = [0, 7, u32::MAX as usize, u32::MAX as usize + 1, 1 << 40];
        let mut offsets = Offsets::default();
        for n in numbers {
            offsets.push(n);
        }
        assert_eq!(offsets.len(), numbers.len());
        for (i, n) in numbers.into_iter().enumerate() {
            assert_eq!(offsets.get(i), n);
        }
    }

    #[test]
    fn affine_offsets_store_only_what_breaks_the_sequence() {
        let regular: [&[usize]; 5] = [&[], &[0], &[0, 1, 2, 3, 4], &[0, 1, 1, 1, 1], &[0, 3, 6, 9]];
        let broken: [&[usize]; 3] =
            [&[0, 1, 1, 2, 3, 4], &[0, 2, 3, 5, 5, 9], &[0, 1, 2, 1 << 40, (1 << 40) + 1]];
        for (numbers, free) in
            regular.iter().map(|n| (n, true)).chain(broken.iter().map(|n| (n, false)))
        {
            let mut offsets = AffineOffsets::with_capacity(9);
            for n in *numbers {
                offsets.push_ref(*n);
            }
            let read: Vec<usize> = (0..offsets.len()).map(|i| offsets.index(i)).collect();
            assert_eq!(&read, numbers);
            assert_eq!(offsets.heap_size() == 0, free, "{numbers:?}");
        }
    }
}
