//! Type modifiers of times, timestamps and intervals: the digits of seconds, and the fields.

use crate::expr::cast::CastDef;
use crate::expr::functions::access::{interval, time, timestamp, timestamptz, timetz};
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::datetime::{interval_with_typmod, round_to_precision};

/// The conversions.
pub static CASTS: &[CastDef] = &[
    CastDef::implicit(Time, Time, |d, typmod, _, _| {
        Ok(Datum::Time(round_to_precision(time(d), typmod)))
    })
    .total(),
    CastDef::implicit(TimeTz, TimeTz, |d, typmod, _, _| {
        Ok(Datum::TimeTz(timetz(d).rounded(typmod)))
    })
    .total(),
    CastDef::implicit(Timestamp, Timestamp, |d, typmod, _, _| {
        Ok(Datum::Timestamp(round_to_precision(timestamp(d), typmod)))
    })
    .total(),
    CastDef::implicit(TimestampTz, TimestampTz, |d, typmod, _, _| {
        Ok(Datum::TimestampTz(round_to_precision(timestamptz(d), typmod)))
    })
    .total(),
    CastDef::implicit(Interval, Interval, |d, typmod, _, _| {
        Ok(Datum::Interval(interval_with_typmod(interval(d), typmod)?))
    })
    .total(),
];
