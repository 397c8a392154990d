//! Scratch space for decoded rows.
//!
//! Decoding a row fills a `Vec<Datum<'a>>` that borrows from the row, so that a vector cannot
//! outlive one row without this: [`DatumVec`] keeps the allocation while nothing is borrowed, and
//! lends it out empty, for any lifetime.

use std::mem::{ManuallyDrop, take};
use std::ops::{Deref, DerefMut};

use crate::repr::Datum;

/// The allocation of a vector of datums, reused for rows of different lifetimes.
#[derive(Debug, Default)]
pub struct DatumVec(Vec<Datum<'static>>);

impl DatumVec {
    /// Allocates nothing yet.
    pub fn new() -> DatumVec {
        DatumVec::default()
    }

    /// Lends the vector, empty; its allocation comes back when the borrow ends.
    #[inline]
    pub fn borrow<'a>(&'a mut self) -> DatumVecBorrow<'a> {
        let datums = take(&mut self.0);
        DatumVecBorrow { home: self, datums }
    }
}

/// An empty vector lent by [`DatumVec::borrow`].
#[derive(Debug)]
pub struct DatumVecBorrow<'a> {
    home: &'a mut DatumVec,
    datums: Vec<Datum<'a>>,
}

impl<'a> Deref for DatumVecBorrow<'a> {
    type Target = Vec<Datum<'a>>;

    #[inline]
    fn deref(&self) -> &Vec<Datum<'a>> {
        &self.datums
    }
}

impl<'a> DerefMut for DatumVecBorrow<'a> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Vec<Datum<'a>> {
        &mut self.datums
    }
}

impl Drop for DatumVecBorrow<'_> {
    #[inline]
    fn drop(&mut self) {
        let mut datums = ManuallyDrop::new(take(&mut self.datums));
        datums.clear();
        let (start, capacity) = (datums.as_mut_ptr(), datums.capacity());
        // Sound: the vector is empty, and lifetimes do not change the layout of a datum.
        self.home.0 = unsafe { Vec::from_raw_parts(start.cast::<Datum<'static>>(), 0, capacity) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocation_comes_back() {
        let mut scratch = DatumVec::new();
        let mut places = Vec::new();
        for round in 0..3 {
            let text = format!("row {round}");
            let mut datums = scratch.borrow();
            assert!(datums.is_empty());
            datums.extend([Datum::Text(&text), Datum::Int4(round)]);
            places.push(datums.as_ptr() as usize);
        }
        assert!(places.iter().all(|p| *p == places[0]));
    }
}
