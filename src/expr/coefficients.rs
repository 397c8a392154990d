//! Formal sums: coefficients by place, added place by place, zeros left out.
//!
//! This is what aggregates that can be added up keep, of a row and of a group. A place is a
//! *slot*, one for each thing that is summed, and a *part* in it, for the count, the integer sum,
//! the digits of a numeric of some scale, the limbs of a float; see [`super::aggregate::sums`].
//! Since every kind of sum is such a list, a sum is exact, it does not depend on the order of the
//! rows, and a row taken away again leaves nothing behind.
//!
//! The list is a byte string in a [`Row`]: for each place, ascending, a head with the place and the
//! length of the coefficient, and the coefficient in as few bytes as it needs. A count and the sum
//! of an integer column take ten bytes or so, and lie inside the 24 bytes of the row.

use std::cmp::Ordering;

use smallvec::SmallVec;

use crate::repr::{Diff, Row};

/// Where a coefficient belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What is summed.
    pub slot: u32,
    /// Which part of its sum.
    pub part: u64,
}

impl Place {
    /// The number of rows of the group. All other parts of slot 0 are its own, from 1.
    pub const ROWS: Place = Place { slot: 0, part: 0 };
}

/// Parts from here on are written behind the head.
const PART_MAX: u64 = 7;

/// The bytes of an accumulation under construction.
pub type AccumBytes = SmallVec<[u8; 96]>;

/// Appends a coefficient. Places must ascend.
#[inline]
pub fn put(out: &mut AccumBytes, place: Place, coefficient: i128) {
    if coefficient == 0 {
        return;
    }
    let head = u64::from(place.slot) * 8 + place.part.min(PART_MAX);
    if let Ok(short) = i64::try_from(coefficient)
        && head < 8
        && place.part < PART_MAX
    {
        let (bytes, length) = short_entry(head as u8, short);
        let end = out.len() + length;
        // A copy of fixed size costs less than one of the right size.
        out.extend_from_slice(&bytes);
        out.truncate(end);
        return;
    }
    let bits = 128 - (coefficient ^ (coefficient >> 127)).leading_zeros() as usize;
    let width = bits / 8 + 1;
    put_varint(out, head << 4 | (width as u64 - 1));
    if place.part >= PART_MAX {
        put_varint(out, place.part - PART_MAX);
    }
    out.extend_from_slice(&coefficient.to_le_bytes()[..width]);
}

/// A head of one byte and a coefficient in its shortest form, and how long that is.
#[inline(always)]
fn short_entry(place: u8, coefficient: i64) -> ([u8; 9], usize) {
    let bits = 64 - (coefficient ^ (coefficient >> 63)).leading_zeros() as usize;
    let width = bits / 8 + 1;
    let mut bytes = [0; 9];
    bytes[0] = place << 4 | (width as u8 - 1);
    bytes[1..].copy_from_slice(&coefficient.to_le_bytes());
    (bytes, 1 + width)
}

#[inline]
fn put_varint(out: &mut AccumBytes, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads the coefficients of an accumulation in the order of their places.
#[derive(Clone, Copy)]
pub struct Places<'a>(&'a [u8]);

impl Places<'_> {
    #[inline]
    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let (byte, rest) = self.0.split_first().expect("an accumulation is whole");
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }
}

impl Iterator for Places<'_> {
    type Item = (Place, i128);

    #[inline]
    fn next(&mut self) -> Option<(Place, i128)> {
        if self.0.is_empty() {
            return None;
        }
        let head = self.varint();
        let (slot, mut part) = ((head >> 7) as u32, head >> 4 & PART_MAX);
        if part == PART_MAX {
            part += self.varint();
        }
        let (bytes, rest) = self.0.split_at((head & 15) as usize + 1);
        self.0 = rest;
        let negative = bytes.last().is_some_and(|high| *high >= 0x80);
        let mut raw = [if negative { 0xff } else { 0 }; 16];
        raw[..bytes.len()].copy_from_slice(bytes);
        Some((Place { slot, part }, i128::from_le_bytes(raw)))
    }
}

/// The coefficients that a row holds, by place.
pub fn places(sum: &Row) -> Places<'_> {
    Places(sum.bytes())
}

/// `count` times a sum.
#[inline]
pub fn times(sum: Row, count: Diff) -> Row {
    if count == 1 {
        return sum;
    }
    let mut bytes = AccumBytes::new();
    for (place, coefficient) in places(&sum) {
        put(&mut bytes, place, coefficient.wrapping_mul(count.into()));
    }
    Row::new(&bytes)
}

/// Reads short accumulations: of what lies inside a row, of places with heads of one byte.
struct ShortPlaces {
    bytes: [u8; 32],
    length: usize,
    at: usize,
}

/// Stands for the end of an accumulation.
const NO_PLACE: u8 = u8::MAX;

impl ShortPlaces {
    #[inline(always)]
    fn new(row: &Row) -> Option<ShortPlaces> {
        let (raw, length) = row.inline()?;
        let mut bytes = [0; 32];
        bytes[..24].copy_from_slice(raw);
        Some(ShortPlaces { bytes, length, at: 0 })
    }

    /// The place that comes next; none if it is not a short one.
    #[inline(always)]
    fn place(&self) -> Option<u8> {
        if self.at >= self.length {
            return Some(NO_PLACE);
        }
        let head = self.bytes[self.at];
        let short = head < 0x80 && u64::from(head >> 4) < PART_MAX && head & 15 < 8;
        short.then_some(head >> 4)
    }

    /// The coefficient of the place that comes next.
    #[inline(always)]
    fn take(&mut self) -> i64 {
        let width = usize::from(self.bytes[self.at] & 15) + 1;
        let mut raw = [0; 8];
        raw.copy_from_slice(&self.bytes[self.at + 1..self.at + 9]);
        self.at += 1 + width;
        // What follows the coefficient is shifted out, and its sign in.
        let unused = 64 - 8 * width as u32;
        i64::from_le_bytes(raw) << unused >> unused
    }
}

/// The sum of two short accumulations; none if they, or it, are not.
#[inline]
fn short_sum(a: &Row, b: &Row) -> Option<Row> {
    let (mut a, mut b) = (ShortPlaces::new(a)?, ShortPlaces::new(b)?);
    let (mut out, mut length) = ([0u8; 64], 0);
    loop {
        let (x, y) = (a.place()?, b.place()?);
        let place = x.min(y);
        if place == NO_PLACE {
            return Some(Row::new(&out[..length]));
        }
        let mut sum = if x == place { a.take() } else { 0 };
        if y == place {
            sum = sum.checked_add(b.take())?;
        }
        if sum != 0 {
            let (bytes, entry) = short_entry(place, sum);
            out[length..length + 9].copy_from_slice(&bytes);
            length += entry;
        }
    }
}

/// The sum of two sums.
pub fn add(left: &Row, right: &Row) -> Row {
    if right.bytes().is_empty() {
        return left.clone();
    }
    if left.bytes().is_empty() {
        return right.clone();
    }
    if let Some(sum) = short_sum(left, right) {
        return sum;
    }
    let mut out = AccumBytes::new();
    let (mut a, mut b) = (places(left), places(right));
    let (mut x, mut y) = (a.next(), b.next());
    loop {
        let order = match (&x, &y) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(x), Some(y)) => x.0.cmp(&y.0),
        };
        let mut coefficient = 0i128;
        let mut place = Place::ROWS;
        if order.is_le()
            && let Some(x) = std::mem::replace(&mut x, a.next())
        {
            (place, coefficient) = x;
        }
        if order.is_ge()
            && let Some(y) = std::mem::replace(&mut y, b.next())
        {
            place = y.0;
            coefficient = coefficient.wrapping_add(y.1);
        }
        put(&mut out, place, coefficient);
    }
    Row::new(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_and_an_integer_sum_need_no_heap() {
        let mut bytes = AccumBytes::new();
        put(&mut bytes, Place::ROWS, 1_000_000);
        put(&mut bytes, Place { slot: 0, part: 1 }, 1_000_000);
        put(&mut bytes, Place { slot: 0, part: 2 }, i64::MAX.into());
        assert_eq!(Row::new(&bytes).heap_size(), 0);
    }
}
