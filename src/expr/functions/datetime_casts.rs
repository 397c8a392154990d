//! Conversions among dates, times, timestamps and intervals.

use crate::expr::cast::CastDef;
use crate::expr::error::EvalError;
use crate::expr::functions::access::{date, interval, time, timestamp, timestamptz, timetz};
use crate::repr::ScalarType::*;
use crate::repr::datetime::{
    date_to_timestamp, date_to_timestamptz, interval_to_time, interval_with_typmod,
    round_to_precision, time_to_timetz, timestamp_to_date, timestamp_to_time,
    timestamp_to_timestamptz, timestamptz_to_date, timestamptz_to_time, timestamptz_to_timestamp,
    timestamptz_to_timetz,
};
use crate::repr::{Datum, Interval as Span};

type Answer<'a> = Result<Datum<'a>, EvalError>;

fn of_time<'a>(micros: Option<i64>, typmod: i32) -> Answer<'a> {
    Ok(micros.map_or(Datum::Null, |micros| Datum::Time(round_to_precision(micros, typmod))))
}

fn of_timestamp<'a>(micros: i64, typmod: i32) -> Answer<'a> {
    Ok(Datum::Timestamp(round_to_precision(micros, typmod)))
}

fn of_timestamptz<'a>(micros: i64, typmod: i32) -> Answer<'a> {
    Ok(Datum::TimestampTz(round_to_precision(micros, typmod)))
}

/// The conversions.
pub static CASTS: &[CastDef] = &[
    CastDef::implicit(Date, Timestamp, |d, typmod, _, _| {
        of_timestamp(date_to_timestamp(date(d))?, typmod)
    }),
    CastDef::implicit(Date, TimestampTz, |d, typmod, _, cx| {
        of_timestamptz(date_to_timestamptz(date(d), &cx.settings.time_zone)?, typmod)
    }),
    CastDef::assignment(Timestamp, Date, |d, _, _, _| {
        Ok(Datum::Date(timestamp_to_date(timestamp(d))))
    })
    .total(),
    CastDef::assignment(Timestamp, Time, |d, typmod, _, _| {
        of_time(timestamp_to_time(timestamp(d)), typmod)
    })
    .nullable()
    .total(),
    CastDef::implicit(Timestamp, TimestampTz, |d, typmod, _, cx| {
        of_timestamptz(timestamp_to_timestamptz(timestamp(d), &cx.settings.time_zone)?, typmod)
    }),
    CastDef::assignment(TimestampTz, Date, |d, _, _, cx| {
        Ok(Datum::Date(timestamptz_to_date(timestamptz(d), &cx.settings.time_zone)))
    })
    .total(),
    CastDef::assignment(TimestampTz, Time, |d, typmod, _, cx| {
        of_time(timestamptz_to_time(timestamptz(d), &cx.settings.time_zone), typmod)
    })
    .nullable()
    .total(),
    CastDef::assignment(TimestampTz, Timestamp, |d, typmod, _, cx| {
        of_timestamp(timestamptz_to_timestamp(timestamptz(d), &cx.settings.time_zone)?, typmod)
    }),
    CastDef::implicit(Time, TimeTz, |d, typmod, _, cx| {
        let time = time_to_timetz(time(d), &cx.settings.time_zone)?;
        Ok(Datum::TimeTz(time.rounded(typmod)))
    }),
    CastDef::assignment(TimeTz, Time, |d, typmod, _, _| of_time(Some(timetz(d).micros), typmod))
        .total(),
    CastDef::assignment(TimestampTz, TimeTz, |d, typmod, _, cx| {
        let time = timestamptz_to_timetz(timestamptz(d), &cx.settings.time_zone);
        Ok(time.map_or(Datum::Null, |time| Datum::TimeTz(time.rounded(typmod))))
    })
    .nullable()
    .total(),
    CastDef::implicit(Time, Interval, |d, typmod, _, _| {
        let span = Span { micros: time(d), ..Span::default() };
        Ok(Datum::Interval(interval_with_typmod(span, typmod)?))
    })
    .total(),
    CastDef::assignment(Interval, Time, |d, typmod, _, _| {
        of_time(Some(interval_to_time(&interval(d))), typmod)
    })
    .total(),
];
