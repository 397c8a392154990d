//! Making an array's bytes.

use bumpalo::Bump;

use super::dims::Dims;
use super::view::{ArrayRef, HAS_LOWERS, HAS_NULLS};
use crate::repr::Datum;
use crate::repr::scalar::Element;
use crate::repr::value::{put_length, put_value};

/// Gathers elements, the last dimension fastest; the shape is told at the end.
#[derive(Clone, Debug, Default)]
pub struct ArrayBuilder {
    items: Vec<u8>,
    nulls: Vec<u8>,
    len: usize,
    has_nulls: bool,
}

impl ArrayBuilder {
    /// No elements yet.
    pub fn new() -> ArrayBuilder {
        ArrayBuilder::default()
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds an element.
    pub fn push(&mut self, datum: &Datum<'_>) {
        if self.len.is_multiple_of(8) {
            self.nulls.push(0);
        }
        if datum.is_null() {
            self.has_nulls = true;
            self.nulls[self.len / 8] |= 1 << (self.len % 8);
        } else {
            put_value(datum, &mut self.items);
        }
        self.len += 1;
    }

    /// Adds several.
    pub fn extend<'d>(&mut self, datums: impl IntoIterator<Item = Datum<'d>>) {
        datums.into_iter().for_each(|datum| self.push(&datum));
    }

    /// The bytes of an array of that shape, which has as many elements as were added.
    pub fn finish(&self, dims: &Dims) -> Vec<u8> {
        debug_assert_eq!(dims.items(), self.len);
        let mut out = Vec::with_capacity(self.items.len() + 8);
        if dims.count() == 0 {
            return out;
        }
        let has_lowers = dims.lowers().iter().any(|lower| *lower != 1);
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        let flags = flag(has_lowers, HAS_LOWERS) | flag(self.has_nulls, HAS_NULLS);
        out.push(dims.count() as u8 | flags);
        for length in dims.lengths() {
            put_length(*length as usize, &mut out);
        }
        if has_lowers {
            for lower in dims.lowers() {
                out.extend_from_slice(&lower.to_le_bytes());
            }
        }
        if self.has_nulls {
            out.extend_from_slice(&self.nulls);
        }
        out.extend_from_slice(&self.items);
        out
    }

    /// The array as a datum in an arena.
    pub fn finish_in<'a>(&self, element: Element, dims: &Dims, arena: &'a Bump) -> Datum<'a> {
        Datum::Array(element, arena.alloc_slice_copy(&self.finish(dims)))
    }

    /// As [`ArrayBuilder::finish_in`], in one dimension that counts from 1.
    pub fn vector_in<'a>(&self, element: Element, arena: &'a Bump) -> Datum<'a> {
        self.finish_in(element, &Dims::vector(self.len), arena)
    }
}

impl ArrayRef<'_> {
    /// The same elements in another shape, which has as many.
    pub fn reshaped<'b>(&self, dims: &Dims, arena: &'b Bump) -> Datum<'b> {
        let mut builder = ArrayBuilder::new();
        builder.extend(self.iter());
        builder.finish_in(self.element, dims, arena)
    }
}
