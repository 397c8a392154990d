//! One value of a row, borrowed from where it lies.

use std::cmp::Ordering;

use crate::repr::array::ArrayRef;
use crate::repr::bits::BitsRef;
use crate::repr::datetime::TimeTz;
use crate::repr::jsonb::JsonbRef;
use crate::repr::network::Inet;
use crate::repr::numeric::NumericRef;
use crate::repr::range::{Range, RangeKind, compare_multiranges};
use crate::repr::record::{RecordRef, RecordType};
use crate::repr::scalar::{Element, ScalarType};
use crate::repr::user_type::UserType;

/// A scalar value or NULL, borrowed.
///
/// The variant tells the family of types: `Text` holds text, varchar, bpchar and name. Dates count
/// days and timestamps microseconds from 2000-01-01 (as PostgreSQL's own), `i32::MIN`/`MAX` and
/// `i64::MIN`/`MAX` being -infinity and infinity; times count microseconds from midnight.
///
/// `==` and the order are those of [`Datum::compare`], PostgreSQL's, not those of the bytes.
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
    Json(&'a str),
    /// The element type, and the bytes that [`ArrayRef`] reads.
    Array(Element, &'a [u8]),
    /// A bit or a varbit.
    Bits(BitsRef<'a>),
    /// An inet or a cidr.
    Inet(Inet),
    Macaddr([u8; 6]),
    /// The text that [`crate::repr::jsonpath`] reads.
    JsonPath(&'a str),
    /// The enum, and the key of its label, which has the order of the labels.
    Enum(UserType, &'a str),
    /// The type, and the bytes that [`RecordRef`] reads.
    Record(RecordType, &'a [u8]),
    /// Nanoseconds from 1970-01-01 in UTC.
    TimestampNs(i64),
    TimeTz(TimeTz),
    /// What it is of, and the bytes that [`Range`] reads.
    Range(RangeKind, &'a [u8]),
    /// What it is of, and the bytes that [`ranges_of`](crate::repr::range::ranges_of) reads.
    Multirange(RangeKind, &'a [u8]),
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

impl Interval {
    /// The length in microseconds with 30 days a month and 24 hours a day: how intervals compare.
    #[inline]
    pub fn total_micros(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.micros)
    }
}

impl Datum<'_> {
    /// Whether this is NULL.
    #[inline]
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }

    /// PostgreSQL's btree order between datums of one type; NULLs are equal, and last.
    ///
    /// A datum does not know whether its text is `char(n)`: see [`Datum::compare_as`]. Datums of
    /// different types have some fixed order, which means nothing.
    #[inline]
    pub fn compare(&self, other: &Datum<'_>) -> Ordering {
        match (self, other) {
            (Datum::Null, Datum::Null) => Ordering::Equal,
            (Datum::Null, _) => Ordering::Greater,
            (_, Datum::Null) => Ordering::Less,
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Int2(a), Datum::Int2(b)) => a.cmp(b),
            (Datum::Int4(a), Datum::Int4(b)) | (Datum::Date(a), Datum::Date(b)) => a.cmp(b),
            (Datum::Int8(a), Datum::Int8(b))
            | (Datum::Time(a), Datum::Time(b))
            | (Datum::Timestamp(a), Datum::Timestamp(b))
            | (Datum::TimestampTz(a), Datum::TimestampTz(b))
            | (Datum::TimestampNs(a), Datum::TimestampNs(b)) => a.cmp(b),
            (Datum::Float4(a), Datum::Float4(b)) => compare_floats((*a).into(), (*b).into()),
            (Datum::Float8(a), Datum::Float8(b)) => compare_floats(*a, *b),
            (Datum::Numeric(a), Datum::Numeric(b)) => a.compare(*b),
            (Datum::Text(a), Datum::Text(b))
            | (Datum::Json(a), Datum::Json(b))
            | (Datum::JsonPath(a), Datum::JsonPath(b)) => a.cmp(b),
            (Datum::Bytea(a), Datum::Bytea(b)) => a.cmp(b),
            (Datum::Interval(a), Datum::Interval(b)) => a.total_micros().cmp(&b.total_micros()),
            (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
            (Datum::Jsonb(a), Datum::Jsonb(b)) => a.compare(*b),
            (Datum::Oid(a), Datum::Oid(b)) => a.cmp(b),
            (Datum::Array(e, a), Datum::Array(f, b)) => {
                ArrayRef::new(*e, a).compare(&ArrayRef::new(*f, b))
            }
            (Datum::Bits(a), Datum::Bits(b)) => a.compare(*b),
            (Datum::Inet(a), Datum::Inet(b)) => a.compare(b),
            (Datum::Macaddr(a), Datum::Macaddr(b)) => a.cmp(b),
            (Datum::TimeTz(a), Datum::TimeTz(b)) => a.cmp(b),
            (Datum::Enum(_, a), Datum::Enum(_, b)) => a.cmp(b),
            (Datum::Record(t, a), Datum::Record(u, b)) => {
                RecordRef::new(*t, a).compare(&RecordRef::new(*u, b))
            }
            (Datum::Range(k, a), Datum::Range(_, b)) => {
                Range::read(*k, a).compare(&Range::read(*k, b))
            }
            (Datum::Multirange(k, a), Datum::Multirange(_, b)) => compare_multiranges(*k, a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    /// As [`Datum::compare`] between datums of that type: trailing spaces of `char(n)` are nothing.
    #[inline]
    pub fn compare_as(&self, ty: ScalarType, other: &Datum<'_>) -> Ordering {
        match (self, other) {
            (Datum::Text(a), Datum::Text(b)) if ty == ScalarType::Bpchar => {
                a.trim_end_matches(' ').cmp(b.trim_end_matches(' '))
            }
            _ => self.compare(other),
        }
    }

    /// The place of the variant among the variants.
    fn rank(&self) -> u8 {
        match self {
            Datum::Null => u8::MAX,
            Datum::Bool(_) => 0,
            Datum::Int2(_) => 1,
            Datum::Int4(_) => 2,
            Datum::Int8(_) => 3,
            Datum::Float4(_) => 4,
            Datum::Float8(_) => 5,
            Datum::Numeric(_) => 6,
            Datum::Text(_) => 7,
            Datum::Bytea(_) => 8,
            Datum::Date(_) => 9,
            Datum::Time(_) => 10,
            Datum::Timestamp(_) => 11,
            Datum::TimestampTz(_) => 12,
            Datum::Interval(_) => 13,
            Datum::Uuid(_) => 14,
            Datum::Jsonb(_) => 15,
            Datum::Oid(_) => 16,
            Datum::Array(..) => 17,
            Datum::Json(_) => 18,
            Datum::Bits(_) => 19,
            Datum::Inet(_) => 20,
            Datum::Macaddr(_) => 21,
            Datum::JsonPath(_) => 22,
            Datum::Enum(..) => 23,
            Datum::Record(..) => 24,
            Datum::TimestampNs(_) => 25,
            Datum::Range(..) => 26,
            Datum::Multirange(..) => 27,
            Datum::TimeTz(_) => 28,
        }
    }
}

/// PostgreSQL's order of floats: NaNs are equal and greatest, and −0 is 0.
#[inline]
pub(crate) fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl PartialEq for Datum<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Datum<'_> {}

impl PartialOrd for Datum<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Datum<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.compare(other)
    }
}
