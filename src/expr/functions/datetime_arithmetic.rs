//! Operators between dates, times, timestamps, intervals and numbers.

use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{
    date, float8, int4, interval, time, timestamp, timestamptz, timetz,
};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::datetime::{
    date_add, date_and_time, date_and_timetz, date_difference, date_subtract, date_to_timestamp,
    interval_add, interval_divide, interval_multiply, interval_negate, interval_subtract, time_add,
    time_difference, time_subtract, timestamp_add, timestamp_difference, timestamp_subtract,
    timestamptz_add, timestamptz_subtract,
};

/// Sums, differences, multiples and quotients.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

/// A function of two arguments, and the zone where one is named.
macro_rules! binary {
    ($oid:literal $name:literal ($a:ident: $left:ident by $get_a:ident,
        $b:ident: $right:ident by $get_b:ident) -> $ret:ident, $compute:expr) => {
        FuncDef::new($oid, $name, &[$left, $right], $ret, |args, _| {
            let ($a, $b) = ($get_a(args[0]), $get_b(args[1]));
            Ok(Datum::$ret($compute))
        })
    };
    ($oid:literal $name:literal ($a:ident: $left:ident by $get_a:ident,
        $b:ident: $right:ident by $get_b:ident) in $zone:ident -> $ret:ident, $compute:expr) => {
        FuncDef::new($oid, $name, &[$left, $right], $ret, |args, cx| {
            let ($a, $b) = ($get_a(args[0]), $get_b(args[1]));
            let $zone = &cx.settings.time_zone;
            Ok(Datum::$ret($compute))
        })
        .stable()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    binary!(1141 "date_pli" (a: Date by date, b: Int4 by int4) -> Date, date_add(a, b)?),
    binary!(1142 "date_mii" (a: Date by date, b: Int4 by int4) -> Date, date_subtract(a, b)?),
    binary!(2550 "integer_pl_date" (a: Int4 by int4, b: Date by date) -> Date, date_add(b, a)?),
    binary!(1140 "date_mi" (a: Date by date, b: Date by date) -> Int4, date_difference(a, b)?),
    binary!(2071 "date_pl_interval" (a: Date by date, b: Interval by interval) -> Timestamp,
        timestamp_add(date_to_timestamp(a)?, &b)?),
    binary!(2072 "date_mi_interval" (a: Date by date, b: Interval by interval) -> Timestamp,
        timestamp_subtract(date_to_timestamp(a)?, &b)?),
    binary!(2546 "interval_pl_date" (a: Interval by interval, b: Date by date) -> Timestamp,
        timestamp_add(date_to_timestamp(b)?, &a)?),
    binary!(1272 "datetime_pl" (a: Date by date, b: Time by time) -> Timestamp,
        date_and_time(a, b)?),
    binary!(1296 "timedate_pl" (a: Time by time, b: Date by date) -> Timestamp,
        date_and_time(b, a)?),
    binary!(1747 "time_pl_interval" (a: Time by time, b: Interval by interval) -> Time,
        time_add(a, &b))
    .total(),
    binary!(1848 "interval_pl_time" (a: Interval by interval, b: Time by time) -> Time,
        time_add(b, &a))
    .total(),
    binary!(1748 "time_mi_interval" (a: Time by time, b: Interval by interval) -> Time,
        time_subtract(a, &b))
    .total(),
    binary!(1749 "timetz_pl_interval" (a: TimeTz by timetz, b: Interval by interval) -> TimeTz,
        a.later(&b))
    .total(),
    binary!(2547 "interval_pl_timetz" (a: Interval by interval, b: TimeTz by timetz) -> TimeTz,
        b.later(&a))
    .total(),
    binary!(1750 "timetz_mi_interval" (a: TimeTz by timetz, b: Interval by interval) -> TimeTz,
        a.earlier(&b))
    .total(),
    binary!(1297 "datetimetz_pl" (a: Date by date, b: TimeTz by timetz) -> TimestampTz,
        date_and_timetz(a, b)?),
    binary!(1298 "timetzdate_pl" (a: TimeTz by timetz, b: Date by date) -> TimestampTz,
        date_and_timetz(b, a)?),
    binary!(1359 "timestamptz" (a: Date by date, b: TimeTz by timetz) -> TimestampTz,
        date_and_timetz(a, b)?),
    binary!(1690 "time_mi_time" (a: Time by time, b: Time by time) -> Interval,
        time_difference(a, b))
    .total(),
    binary!(2032 "timestamp_pl_interval"
        (a: Timestamp by timestamp, b: Interval by interval) -> Timestamp, timestamp_add(a, &b)?),
    binary!(2548 "interval_pl_timestamp"
        (a: Interval by interval, b: Timestamp by timestamp) -> Timestamp, timestamp_add(b, &a)?),
    binary!(2033 "timestamp_mi_interval"
        (a: Timestamp by timestamp, b: Interval by interval) -> Timestamp,
        timestamp_subtract(a, &b)?),
    binary!(2031 "timestamp_mi"
        (a: Timestamp by timestamp, b: Timestamp by timestamp) -> Interval,
        timestamp_difference(a, b)?),
    binary!(1189 "timestamptz_pl_interval"
        (a: TimestampTz by timestamptz, b: Interval by interval) in zone -> TimestampTz,
        timestamptz_add(a, &b, zone)?),
    binary!(2549 "interval_pl_timestamptz"
        (a: Interval by interval, b: TimestampTz by timestamptz) in zone -> TimestampTz,
        timestamptz_add(b, &a, zone)?),
    binary!(1190 "timestamptz_mi_interval"
        (a: TimestampTz by timestamptz, b: Interval by interval) in zone -> TimestampTz,
        timestamptz_subtract(a, &b, zone)?),
    binary!(1188 "timestamptz_mi"
        (a: TimestampTz by timestamptz, b: TimestampTz by timestamptz) -> Interval,
        timestamp_difference(a, b)?),
    binary!(1169 "interval_pl" (a: Interval by interval, b: Interval by interval) -> Interval,
        interval_add(&a, &b)?),
    binary!(1170 "interval_mi" (a: Interval by interval, b: Interval by interval) -> Interval,
        interval_subtract(&a, &b)?),
    binary!(1618 "interval_mul" (a: Interval by interval, b: Float8 by float8) -> Interval,
        interval_multiply(&a, b)?),
    binary!(1624 "mul_d_interval" (a: Float8 by float8, b: Interval by interval) -> Interval,
        interval_multiply(&b, a)?),
    binary!(1326 "interval_div" (a: Interval by interval, b: Float8 by float8) -> Interval,
        interval_divide(&a, b)?),
    FuncDef::new(1168, "interval_um", &[Interval], Interval, |args, _| {
        Ok(Datum::Interval(interval_negate(&interval(args[0]))?))
    }),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Date, "+", Int4, 1141),
    OperatorDef::infix(Date, "+", Interval, 2071),
    OperatorDef::infix(Date, "+", Time, 1272),
    OperatorDef::infix(Date, "+", TimeTz, 1297),
    OperatorDef::infix(TimeTz, "+", Date, 1298),
    OperatorDef::infix(TimeTz, "+", Interval, 1749),
    OperatorDef::infix(Interval, "+", TimeTz, 2547),
    OperatorDef::infix(TimeTz, "-", Interval, 1750),
    OperatorDef::infix(Int4, "+", Date, 2550),
    OperatorDef::infix(Interval, "+", Date, 2546),
    OperatorDef::infix(Interval, "+", Interval, 1169),
    OperatorDef::infix(Interval, "+", Time, 1848),
    OperatorDef::infix(Interval, "+", Timestamp, 2548),
    OperatorDef::infix(Interval, "+", TimestampTz, 2549),
    OperatorDef::infix(Time, "+", Date, 1296),
    OperatorDef::infix(Time, "+", Interval, 1747),
    OperatorDef::infix(Timestamp, "+", Interval, 2032),
    OperatorDef::infix(TimestampTz, "+", Interval, 1189),
    OperatorDef::prefix("-", Interval, 1168),
    OperatorDef::infix(Date, "-", Date, 1140),
    OperatorDef::infix(Date, "-", Int4, 1142),
    OperatorDef::infix(Date, "-", Interval, 2072),
    OperatorDef::infix(Interval, "-", Interval, 1170),
    OperatorDef::infix(Time, "-", Interval, 1748),
    OperatorDef::infix(Time, "-", Time, 1690),
    OperatorDef::infix(Timestamp, "-", Interval, 2033),
    OperatorDef::infix(Timestamp, "-", Timestamp, 2031),
    OperatorDef::infix(TimestampTz, "-", Interval, 1190),
    OperatorDef::infix(TimestampTz, "-", TimestampTz, 1188),
    OperatorDef::infix(Float8, "*", Interval, 1624),
    OperatorDef::infix(Interval, "*", Float8, 1618),
    OperatorDef::infix(Interval, "/", Float8, 1326),
];
