//! One range: read, made, and computed with.

use std::cmp::Ordering;

use bumpalo::Bump;

use super::edge::Edge;
use crate::error::{Error, Result, SqlState};
use crate::repr::value::{put_value, take_value};
use crate::repr::{Datum, RangeKind};

/// PostgreSQL's flags of a range.
pub(super) const EMPTY: u8 = 1;
pub(super) const LOWER_INCLUSIVE: u8 = 2;
pub(super) const UPPER_INCLUSIVE: u8 = 4;
pub(super) const LOWER_INFINITE: u8 = 8;
pub(super) const UPPER_INFINITE: u8 = 16;

/// A range.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// What it is a range of.
    pub kind: RangeKind,
    /// Where it begins and ends; none where it is empty.
    pub edges: Option<(Edge<'a>, Edge<'a>)>,
}

impl<'a> Range<'a> {
    /// The empty range.
    pub fn empty(kind: RangeKind) -> Range<'a> {
        Range { kind, edges: None }
    }

    /// The range between two edges, made canonical.
    ///
    /// # Errors
    ///
    /// 22000 where the lower value is the greater, 22003 and 22008 where there is no next value.
    pub fn make(kind: RangeKind, lower: Edge<'a>, upper: Edge<'a>) -> Result<Range<'a>> {
        let is_empty = |lower: &Edge<'_>, upper: &Edge<'_>| match lower.compare_values(upper) {
            Ordering::Less => false,
            Ordering::Equal => !(lower.is_inclusive() && upper.is_inclusive()),
            Ordering::Greater => true,
        };
        if lower.compare_values(&upper).is_gt() {
            let message = "range lower bound must be less than or equal to range upper bound";
            return Err(Error::new(SqlState::new(b"22000"), message));
        }
        if is_empty(&lower, &upper) {
            return Ok(Range::empty(kind));
        }
        let (lower, upper) = match kind.is_discrete() {
            true => (lower.canonical(0)?, upper.canonical(-1)?),
            false => (lower, upper),
        };
        let edges = (!is_empty(&lower, &upper)).then_some((lower, upper));
        Ok(Range { kind, edges })
    }

    /// Reads a range's bytes.
    pub fn read(kind: RangeKind, bytes: &'a [u8]) -> Range<'a> {
        Range::take(kind, &mut &*bytes)
    }

    /// Takes a range off the front.
    pub(super) fn take(kind: RangeKind, at: &mut &'a [u8]) -> Range<'a> {
        let (flags, rest) = at.split_first().expect("a range has its flags");
        *at = rest;
        if flags & EMPTY != 0 {
            return Range::empty(kind);
        }
        let mut value = |infinite: u8| match flags & infinite {
            0 => take_value(kind.subtype(), at),
            _ => Datum::Null,
        };
        let lower = Edge::lower(value(LOWER_INFINITE), flags & LOWER_INCLUSIVE != 0);
        let upper = Edge::upper(value(UPPER_INFINITE), flags & UPPER_INCLUSIVE != 0);
        Range { kind, edges: Some((lower, upper)) }
    }

    /// PostgreSQL's flags.
    pub(super) fn flags(&self) -> u8 {
        let Some((lower, upper)) = &self.edges else { return EMPTY };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        flag(lower.is_inclusive(), LOWER_INCLUSIVE)
            | flag(upper.is_inclusive(), UPPER_INCLUSIVE)
            | flag(lower.value.is_none(), LOWER_INFINITE)
            | flag(upper.value.is_none(), UPPER_INFINITE)
    }

    /// Appends the range's bytes.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.flags());
        if let Some((lower, upper)) = &self.edges {
            put_value(&lower.datum(), out);
            put_value(&upper.datum(), out);
        }
    }

    /// The range as a datum in an arena.
    pub fn datum_in<'b>(&self, arena: &'b Bump) -> Datum<'b> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        Datum::Range(self.kind, arena.alloc_slice_copy(&bytes))
    }

    /// PostgreSQL's order (`range_cmp`): the empty range first, then by lower and upper edge.
    pub fn compare(&self, other: &Range<'_>) -> Ordering {
        match (&self.edges, &other.edges) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => a.0.compare(&b.0).then_with(|| a.1.compare(&b.1)),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.edges.is_none()
    }

    /// Tests both ranges' edges; false where one is empty.
    pub fn both(
        &self,
        other: &Range<'_>,
        test: impl Fn((&Edge<'_>, &Edge<'_>), (&Edge<'_>, &Edge<'_>)) -> bool,
    ) -> bool {
        match (&self.edges, &other.edges) {
            (Some((a, b)), Some((c, d))) => test((a, b), (c, d)),
            _ => false,
        }
    }

    /// Whether a value lies in it.
    pub fn has(&self, value: Datum<'_>) -> bool {
        let value = Edge::at(value);
        self.edges.is_some_and(|(a, b)| a.compare(&value).is_le() && value.compare(&b).is_le())
    }

    /// Whether all of another lies in it.
    pub fn contains(&self, other: &Range<'_>) -> bool {
        other.is_empty()
            || self.both(other, |a, b| a.0.compare(b.0).is_le() && a.1.compare(b.1).is_ge())
    }

    /// Whether they share something.
    pub fn overlaps(&self, other: &Range<'_>) -> bool {
        self.both(other, |a, b| a.0.compare(b.1).is_le() && b.0.compare(a.1).is_le())
    }

    /// Whether all of it lies before all of another.
    pub fn is_before(&self, other: &Range<'_>) -> bool {
        self.both(other, |a, b| a.1.compare(b.0).is_lt())
    }

    /// Whether one ends where the other begins.
    pub fn is_adjacent(&self, other: &Range<'_>) -> bool {
        self.both(other, |a, b| a.1.meets(b.0) || b.1.meets(a.0))
    }

    /// Whether it ends no later than another.
    pub fn ends_within(&self, other: &Range<'_>) -> bool {
        self.both(other, |a, b| a.1.compare(b.1).is_le())
    }

    /// Whether it begins no earlier than another.
    pub fn begins_within(&self, other: &Range<'_>) -> bool {
        self.both(other, |a, b| a.0.compare(b.0).is_ge())
    }

    /// The smallest range that has both.
    pub fn merge(self, other: Range<'a>) -> Range<'a> {
        match (self.edges, other.edges) {
            (None, _) => other,
            (_, None) => self,
            (Some((a, b)), Some((c, d))) => {
                // Of equal ones, which may be written otherwise, PostgreSQL takes the second.
                let lower = if a.compare(&c).is_lt() { a } else { c };
                let upper = if b.compare(&d).is_gt() { b } else { d };
                Range { edges: Some((lower, upper)), ..self }
            }
        }
    }

    /// What both have.
    pub fn intersection(self, other: Range<'a>) -> Range<'a> {
        match (self.edges, other.edges) {
            (Some((a, b)), Some((c, d))) if self.overlaps(&other) => {
                let lower = if a.compare(&c).is_ge() { a } else { c };
                let upper = if b.compare(&d).is_le() { b } else { d };
                Range { edges: Some((lower, upper)), ..self }
            }
            _ => Range::empty(self.kind),
        }
    }

    /// What is left of it before another and behind it.
    pub fn without(self, other: &Range<'a>) -> Result<[Range<'a>; 2]> {
        let nothing = Range::empty(self.kind);
        let (Some((a, b)), Some((c, d))) = (self.edges, other.edges) else {
            return Ok([self, nothing]);
        };
        if !self.overlaps(other) {
            return Ok([self, nothing]);
        }
        let before = match a.compare(&c).is_lt() {
            true => Range::make(self.kind, a, c.end_before())?,
            false => nothing,
        };
        let behind = match b.compare(&d).is_gt() {
            true => Range::make(self.kind, d.start_behind(), b)?,
            false => nothing,
        };
        Ok([before, behind])
    }
}
