//! Several ranges of one kind.

use std::cmp::Ordering;

use bumpalo::Bump;

use super::view::Range;
use crate::error::Result;
use crate::repr::{Datum, RangeKind};

/// The ranges of a multirange's bytes.
pub fn ranges_of(kind: RangeKind, bytes: &[u8]) -> impl Iterator<Item = Range<'_>> {
    let mut at = bytes;
    std::iter::from_fn(move || (!at.is_empty()).then(|| Range::take(kind, &mut at)))
}

/// PostgreSQL's order (`multirange_cmp`): range by range; of two of which one goes on, the other.
pub fn compare_multiranges(kind: RangeKind, a: &[u8], b: &[u8]) -> Ordering {
    let (mut a, mut b) = (ranges_of(kind, a), ranges_of(kind, b));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => a.compare(&b),
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// A multirange that is computed with.
#[derive(Clone, Debug)]
pub struct Multirange<'a> {
    /// What the ranges are of.
    pub kind: RangeKind,
    /// The ranges: not empty, ascending, with gaps between them.
    pub ranges: Vec<Range<'a>>,
}

impl<'a> Multirange<'a> {
    /// All that lies in any of these ranges.
    pub fn of(kind: RangeKind, ranges: impl IntoIterator<Item = Range<'a>>) -> Multirange<'a> {
        let mut sorted: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        sorted.sort_by(Range::compare);
        let mut ranges: Vec<Range<'a>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match ranges.last_mut() {
                Some(last) if last.overlaps(&range) || last.is_adjacent(&range) => {
                    *last = last.merge(range);
                }
                _ => ranges.push(range),
            }
        }
        Multirange { kind, ranges }
    }

    /// Reads a multirange's bytes.
    pub fn read(kind: RangeKind, bytes: &'a [u8]) -> Multirange<'a> {
        Multirange { kind, ranges: ranges_of(kind, bytes).collect() }
    }

    /// The multirange as a datum in an arena.
    pub fn datum_in<'b>(&self, arena: &'b Bump) -> Datum<'b> {
        let mut bytes = Vec::new();
        self.ranges.iter().for_each(|range| range.encode(&mut bytes));
        Datum::Multirange(self.kind, arena.alloc_slice_copy(&bytes))
    }

    /// The smallest range that has all of them.
    pub fn span(&self) -> Range<'a> {
        match (self.ranges.first(), self.ranges.last()) {
            (Some(first), Some(last)) => first.merge(*last),
            _ => Range::empty(self.kind),
        }
    }

    /// Whether all of a range lies in one of them.
    pub fn contains_range(&self, range: &Range<'_>) -> bool {
        range.is_empty() || self.ranges.iter().any(|own| own.contains(range))
    }

    /// Whether all of another lies in it.
    pub fn contains(&self, other: &Multirange<'_>) -> bool {
        other.ranges.iter().all(|range| self.contains_range(range))
    }

    /// Whether it shares something with a range.
    pub fn overlaps_range(&self, range: &Range<'_>) -> bool {
        self.ranges.iter().any(|own| own.overlaps(range))
    }

    /// Whether they share something.
    pub fn overlaps(&self, other: &Multirange<'_>) -> bool {
        other.ranges.iter().any(|range| self.overlaps_range(range))
    }

    /// What is in either.
    pub fn union(self, other: Multirange<'a>) -> Multirange<'a> {
        Multirange::of(self.kind, self.ranges.into_iter().chain(other.ranges))
    }

    /// What both have.
    pub fn intersection(&self, other: &Multirange<'a>) -> Multirange<'a> {
        let pairs =
            self.ranges.iter().flat_map(|a| other.ranges.iter().map(move |b| a.intersection(*b)));
        Multirange::of(self.kind, pairs)
    }

    /// What is left of it without another.
    pub fn without(&self, other: &Multirange<'a>) -> Result<Multirange<'a>> {
        let mut left = vec![];
        for range in &self.ranges {
            let mut rest = *range;
            for taken in &other.ranges {
                let [before, behind] = rest.without(taken)?;
                // What lies before it lies before all that follows.
                if rest.overlaps(taken) {
                    left.push(before);
                    rest = behind;
                }
            }
            left.push(rest);
        }
        Ok(Multirange::of(self.kind, left))
    }
}
