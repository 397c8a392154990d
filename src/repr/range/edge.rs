//! Where a range begins or ends.

use std::cmp::Ordering;

use crate::error::{Error, Result, SqlState};
use crate::repr::Datum;
use crate::repr::datetime::calendar::date_in_range;

/// A place among the values of a type, or beyond all of them.
#[derive(Clone, Copy, Debug)]
pub struct Edge<'a> {
    /// The value; none beyond all of them.
    pub value: Option<Datum<'a>>,
    /// 0 at the value, -1 just before it, 1 just behind it. Without a value: -1 below, 1 above.
    pub step: i8,
}

impl<'a> Edge<'a> {
    /// The edge at a value.
    pub fn at(value: Datum<'a>) -> Edge<'a> {
        Edge { value: Some(value), step: 0 }
    }

    /// A lower bound; NULL is none.
    pub fn lower(value: Datum<'a>, inclusive: bool) -> Edge<'a> {
        match value {
            Datum::Null => Edge { value: None, step: -1 },
            value => Edge { value: Some(value), step: i8::from(!inclusive) },
        }
    }

    /// An upper bound; NULL is none.
    pub fn upper(value: Datum<'a>, inclusive: bool) -> Edge<'a> {
        match value {
            Datum::Null => Edge { value: None, step: 1 },
            value => Edge { value: Some(value), step: -i8::from(!inclusive) },
        }
    }

    /// Whether the value itself is inside.
    pub fn is_inclusive(&self) -> bool {
        self.value.is_some() && self.step == 0
    }

    /// The value as a datum, NULL where there is none.
    pub fn datum(&self) -> Datum<'a> {
        self.value.unwrap_or(Datum::Null)
    }

    /// The order of places.
    pub fn compare(&self, other: &Edge<'_>) -> Ordering {
        match (&self.value, &other.value) {
            (Some(a), Some(b)) => a.compare(b).then(self.step.cmp(&other.step)),
            (None, None) => self.step.cmp(&other.step),
            (None, Some(_)) => self.step.cmp(&0),
            (Some(_), None) => 0.cmp(&other.step),
        }
    }

    /// The order of values alone.
    pub(super) fn compare_values(&self, other: &Edge<'_>) -> Ordering {
        match (&self.value, &other.value) {
            (Some(a), Some(b)) => a.compare(b),
            _ => self.compare(other),
        }
    }

    /// As the end of what lies before a range that begins here.
    pub fn end_before(self) -> Edge<'a> {
        Edge { step: self.step - 1, ..self }
    }

    /// As the beginning of what lies behind a range that ends here.
    pub fn start_behind(self) -> Edge<'a> {
        Edge { step: self.step + 1, ..self }
    }

    /// Whether a range that ends here touches one that begins there without sharing anything.
    pub fn meets(&self, start: &Edge<'_>) -> bool {
        match (&self.value, &start.value) {
            (Some(a), Some(b)) => a.compare(b).is_eq() && self.step + 1 == start.step,
            _ => false,
        }
    }

    /// The same place as PostgreSQL's canonical form of integers and dates has it: at a value as a
    /// lower bound, just before one as an upper one.
    pub(super) fn canonical(self, step: i8) -> Result<Edge<'a>> {
        let (Some(value), true) = (self.value, self.step != step) else { return Ok(self) };
        match next(value)? {
            Some(value) => Ok(Edge { value: Some(value), step }),
            None => Ok(self),
        }
    }
}

/// The value behind another; none where the type has no such thing, or it is infinite.
fn next<'a>(value: Datum<'a>) -> Result<Option<Datum<'a>>> {
    let out_of_range = |name: &str| {
        let message = format!("{name} out of range");
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    };
    Ok(match value {
        Datum::Int4(v) => {
            Some(Datum::Int4(v.checked_add(1).ok_or_else(|| out_of_range("integer"))?))
        }
        Datum::Int8(v) => {
            Some(Datum::Int8(v.checked_add(1).ok_or_else(|| out_of_range("bigint"))?))
        }
        Datum::Date(i32::MIN | i32::MAX) => None,
        Datum::Date(v) if date_in_range(i64::from(v) + 1) => Some(Datum::Date(v + 1)),
        Datum::Date(_) => {
            return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range"));
        }
        _ => None,
    })
}
