//! `OVERLAPS`: whether two periods have a time in common; the ends are exclusive, NULLs unknown.

use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::{interval, time, timestamp, timestamptz};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::datetime::{time_add, timestamp_add, timestamptz_add};

/// The functions of every kind of period: two ends, or a start and a length.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// A period: its earlier end, and its later one where both are known.
fn period<'a>(start: Datum<'a>, end: Datum<'a>) -> Option<(Datum<'a>, Option<Datum<'a>>)> {
    match (start, end) {
        (Datum::Null, Datum::Null) => None,
        (Datum::Null, one) | (one, Datum::Null) => Some((one, None)),
        (start, end) if start.compare(&end).is_gt() => Some((end, Some(start))),
        (start, end) => Some((start, Some(end))),
    }
}

fn overlap<'a>(ends: [Datum<'a>; 4]) -> Answer<'a> {
    let [start, end, other_start, other_end] = ends;
    let (Some(one), Some(other)) = (period(start, end), period(other_start, other_end)) else {
        return Ok(Datum::Null);
    };
    let order = one.0.compare(&other.0);
    if order.is_eq() {
        let known = one.1.is_some() && other.1.is_some();
        return Ok(if known { Datum::Bool(true) } else { Datum::Null });
    }
    let (earlier, later) = if order.is_lt() { (one, other) } else { (other, one) };
    Ok(match earlier.1 {
        None => Datum::Null,
        Some(end) if later.0.compare(&end).is_lt() => Datum::Bool(true),
        Some(_) if later.1.is_none() => Datum::Null,
        Some(_) => Datum::Bool(false),
    })
}

/// The end of a period, where it may be given as a length.
fn end<'a>(start: Datum<'a>, end: Datum<'a>, cx: &EvalContext<'a>) -> Answer<'a> {
    let Datum::Interval(length) = end else { return Ok(end) };
    Ok(match start {
        Datum::Null => Datum::Null,
        Datum::Time(_) => Datum::Time(time_add(time(start), &length)),
        Datum::TimeTz(start) => Datum::TimeTz(start.later(&length)),
        Datum::Timestamp(_) => Datum::Timestamp(timestamp_add(timestamp(start), &interval(end))?),
        _ => {
            let zone = &cx.settings.time_zone;
            Datum::TimestampTz(timestamptz_add(timestamptz(start), &length, zone)?)
        }
    })
}

const fn overlaps(oid: u32, args: &'static [ScalarType; 4]) -> FuncDef {
    FuncDef::new(oid, "overlaps", args, Bool, |args, cx| {
        let end_of = |i: usize| end(args[i], args[i + 1], cx);
        overlap([args[0], end_of(0)?, args[2], end_of(2)?])
    })
    .lax()
    .nullable()
}

const FUNCTIONS: &[FuncDef] = &[
    overlaps(1308, &[Time, Time, Time, Time]),
    overlaps(1309, &[Time, Interval, Time, Interval]),
    overlaps(1310, &[Time, Time, Time, Interval]),
    overlaps(1311, &[Time, Interval, Time, Time]),
    overlaps(1271, &[TimeTz, TimeTz, TimeTz, TimeTz]),
    overlaps(2041, &[Timestamp, Timestamp, Timestamp, Timestamp]),
    overlaps(2042, &[Timestamp, Interval, Timestamp, Interval]),
    overlaps(2043, &[Timestamp, Timestamp, Timestamp, Interval]),
    overlaps(2044, &[Timestamp, Interval, Timestamp, Timestamp]),
    overlaps(1304, &[TimestampTz, TimestampTz, TimestampTz, TimestampTz]),
    overlaps(1305, &[TimestampTz, Interval, TimestampTz, Interval]).stable(),
    overlaps(1306, &[TimestampTz, TimestampTz, TimestampTz, Interval]).stable(),
    overlaps(1307, &[TimestampTz, Interval, TimestampTz, TimestampTz]).stable(),
];
