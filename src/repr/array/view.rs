//! Reading an array in place, and its order.

use std::cmp::Ordering;

use super::dims::{DIMS_MAX, Dims};
use crate::repr::scalar::Element;
use crate::repr::value::{skip_value, take_length, take_value};
use crate::repr::{Datum, ScalarType};

/// The bit of the first byte that says that lower bounds follow.
pub(super) const HAS_LOWERS: u8 = 8;
/// The bit of the first byte that says that a NULL bitmap follows.
pub(super) const HAS_NULLS: u8 = 16;

/// An array, read in place.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    /// The type of the elements.
    pub element: Element,
    /// The shape.
    pub dims: Dims,
    /// All bytes, to hand on.
    bytes: &'a [u8],
    /// A bit for each element that is NULL, lowest first; empty where none is.
    nulls: &'a [u8],
    /// The elements that are not NULL.
    items: &'a [u8],
}

impl<'a> ArrayRef<'a> {
    /// Reads the head of an array's bytes.
    pub fn new(element: Element, bytes: &'a [u8]) -> ArrayRef<'a> {
        let mut array = ArrayRef { element, dims: Dims::EMPTY, bytes, nulls: &[], items: &[] };
        let Some((&head, mut at)) = bytes.split_first() else { return array };
        let count = usize::from(head & 7);
        let mut lengths = [0; DIMS_MAX];
        for length in &mut lengths[..count] {
            *length = take_length(&mut at) as i32;
        }
        let mut lowers = [1; DIMS_MAX];
        if head & HAS_LOWERS != 0 {
            for lower in &mut lowers[..count] {
                let (raw, rest) = at.split_first_chunk().expect("a lower bound has four bytes");
                *lower = i32::from_le_bytes(*raw);
                at = rest;
            }
        }
        for dim in 0..count {
            array.dims.push(lengths[dim], lowers[dim]);
        }
        if head & HAS_NULLS != 0 {
            (array.nulls, at) = at.split_at(array.dims.items().div_ceil(8));
        }
        array.items = at;
        array
    }

    /// The array as a datum.
    pub fn datum(self) -> Datum<'a> {
        Datum::Array(self.element, self.bytes)
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.dims.items()
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.dims.count() == 0
    }

    /// Whether an element is NULL.
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// The elements, the last dimension fastest.
    pub fn iter(&self) -> ArrayIter<'a> {
        ArrayIter {
            ty: self.element.scalar(),
            at: self.items,
            nulls: self.nulls,
            next: 0,
            len: self.len(),
        }
    }

    /// The element at a place among all.
    pub fn get(&self, place: usize) -> Option<Datum<'a>> {
        if place >= self.len() {
            return None;
        }
        match self.element.scalar().value_width() {
            Some(width) if self.nulls.is_empty() => {
                Some(take_value(self.element.scalar(), &mut &self.items[place * width..]))
            }
            _ => {
                let mut iter = self.iter();
                iter.pass_over(place);
                iter.next()
            }
        }
    }

    /// PostgreSQL's order (`array_cmp`): by the elements in turn, NULLs last; then by their number,
    /// the number of dimensions, the lengths and the lower bounds.
    pub fn compare(&self, other: &ArrayRef<'_>) -> Ordering {
        let ty = self.element.scalar();
        for (a, b) in self.iter().zip(other.iter()) {
            let order = a.compare_as(ty, &b);
            if order.is_ne() {
                return order;
            }
        }
        let (a, b) = (&self.dims, &other.dims);
        (self.len().cmp(&other.len()))
            .then_with(|| a.count().cmp(&b.count()))
            .then_with(|| a.lengths().cmp(b.lengths()))
            .then_with(|| a.lowers().cmp(b.lowers()))
    }
}

/// The elements of an array.
#[derive(Clone, Debug)]
pub struct ArrayIter<'a> {
    ty: ScalarType,
    at: &'a [u8],
    nulls: &'a [u8],
    next: usize,
    len: usize,
}

impl ArrayIter<'_> {
    fn is_null(&self) -> bool {
        self.nulls.get(self.next / 8).is_some_and(|bits| bits >> (self.next % 8) & 1 != 0)
    }

    /// Passes over elements; no more than there are.
    pub fn pass_over(&mut self, count: usize) {
        for _ in 0..count.min(self.len - self.next) {
            if !self.is_null() {
                skip_value(self.ty, &mut self.at);
            }
            self.next += 1;
        }
    }
}

impl<'a> Iterator for ArrayIter<'a> {
    type Item = Datum<'a>;

    #[inline]
    fn next(&mut self) -> Option<Datum<'a>> {
        if self.next == self.len {
            return None;
        }
        let datum = match self.is_null() {
            true => Datum::Null,
            false => take_value(self.ty, &mut self.at),
        };
        self.next += 1;
        Some(datum)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.next, Some(self.len - self.next))
    }
}

impl ExactSizeIterator for ArrayIter<'_> {}
