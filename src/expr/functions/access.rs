//! Datums as the Rust values that they hold.
//!
//! An expression is typed when it is made, so that a datum of another type here is a broken
//! invariant; NULL is one too, where a function is strict.

use crate::repr::numeric::NumericRef;
use crate::repr::range::{Multirange, Range};
use crate::repr::{ArrayRef, BitsRef, Datum, Inet, Interval, RecordRef};

macro_rules! accessors {
    ($($(#[$doc:meta])* $name:ident: $variant:ident -> $ty:ty;)*) => {
        $($(#[$doc])*
        #[inline]
        #[track_caller]
        pub fn $name<'a>(datum: Datum<'a>) -> $ty {
            match datum {
                Datum::$variant(value) => value,
                other => unexpected(other),
            }
        })*
    };
}

accessors! {
    /// The value of a bool.
    bool: Bool -> bool;
    /// The value of an int2.
    int2: Int2 -> i16;
    /// The value of an int4.
    int4: Int4 -> i32;
    /// The value of an int8.
    int8: Int8 -> i64;
    /// The value of a float4.
    float4: Float4 -> f32;
    /// The value of a float8.
    float8: Float8 -> f64;
    /// The value of a numeric.
    numeric: Numeric -> NumericRef<'a>;
    /// The value of a text, varchar, bpchar or name.
    text: Text -> &'a str;
    /// The value of a bytea.
    bytea: Bytea -> &'a [u8];
    /// The value of a date.
    date: Date -> i32;
    /// The value of a time.
    time: Time -> i64;
    /// The value of a timetz.
    timetz: TimeTz -> crate::repr::datetime::TimeTz;
    /// The value of a timestamp.
    timestamp: Timestamp -> i64;
    /// The value of a timestamptz.
    timestamptz: TimestampTz -> i64;
    /// The value of a timestamp_ns.
    timestamp_ns: TimestampNs -> i64;
    /// The value of an interval.
    interval: Interval -> Interval;
    /// The value of a uuid.
    uuid: Uuid -> [u8; 16];
    /// The value of a jsonb.
    jsonb: Jsonb -> crate::repr::jsonb::JsonbRef<'a>;
    /// The value of a json.
    json: Json -> &'a str;
    /// The value of a bit or a varbit.
    bits: Bits -> BitsRef<'a>;
    /// The value of an inet or a cidr.
    inet: Inet -> Inet;
    /// The value of a macaddr.
    macaddr: Macaddr -> [u8; 6];
    /// The text of a jsonpath.
    jsonpath: JsonPath -> &'a str;
    /// The value of an oid.
    oid: Oid -> u32;
}

/// The value of an array.
#[inline]
#[track_caller]
pub fn array(datum: Datum<'_>) -> ArrayRef<'_> {
    match datum {
        Datum::Array(element, bytes) => ArrayRef::new(element, bytes),
        other => unexpected(other),
    }
}

/// The value of a record.
#[inline]
#[track_caller]
pub fn record(datum: Datum<'_>) -> RecordRef<'_> {
    match datum {
        Datum::Record(ty, bytes) => RecordRef::new(ty, bytes),
        other => unexpected(other),
    }
}

/// The value of a range.
#[inline]
#[track_caller]
pub fn range(datum: Datum<'_>) -> Range<'_> {
    match datum {
        Datum::Range(kind, bytes) => Range::read(kind, bytes),
        other => unexpected(other),
    }
}

/// The value of a multirange.
#[track_caller]
pub fn multirange(datum: Datum<'_>) -> Multirange<'_> {
    match datum {
        Datum::Multirange(kind, bytes) => Multirange::read(kind, bytes),
        other => unexpected(other),
    }
}

/// The value of an int2, int4, int8 or oid.
#[inline]
#[track_caller]
pub fn integer(datum: Datum<'_>) -> i64 {
    match datum {
        Datum::Int2(v) => v.into(),
        Datum::Int4(v) => v.into(),
        Datum::Int8(v) => v,
        Datum::Oid(v) => v.into(),
        other => unexpected(other),
    }
}

/// The value of a float4 or float8.
#[inline]
#[track_caller]
pub fn float(datum: Datum<'_>) -> f64 {
    match datum {
        Datum::Float4(v) => v.into(),
        Datum::Float8(v) => v,
        other => unexpected(other),
    }
}

#[cold]
#[track_caller]
fn unexpected(datum: Datum<'_>) -> ! {
    panic!("an argument of another type: {datum:?}")
}
