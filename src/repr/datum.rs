//! One value of a row, borrowed from where it lies.

use crate::repr::jsonb::JsonbRef;
use crate::repr::numeric::NumericRef;

/// A scalar value or NULL, borrowed.
///
/// The variant tells the family of types: `Text` holds text, varchar, bpchar and name. Dates count
/// days and timestamps microseconds from 2000-01-01 (as PostgreSQL's own), `i32::MIN`/`MAX` and
/// `i64::MIN`/`MAX` being -infinity and infinity; times count microseconds from midnight.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The variants are the types of `ScalarType`.
pub enum Datum<'a> {
    Null,
    Bool(bool),
    Int2(i16),
    Int4(i32),
    Int8(i64),
    Float4(f32),
    Float8(f64),
    Numeric(NumericRef<'a>),
    Text(&'a str),
    Bytea(&'a [u8]),
    Date(i32),
    Time(i64),
    Timestamp(i64),
    TimestampTz(i64),
    Interval(Interval),
    Uuid([u8; 16]),
    Jsonb(JsonbRef<'a>),
    Oid(u32),
}

/// PostgreSQL's interval: three parts that do not carry into each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Months.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Datum<'_> {
    /// Whether this is NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }
}
