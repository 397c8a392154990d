//! Functions of dates, times, timestamps and intervals; arithmetic is a family of its own.

use std::time::{SystemTime, UNIX_EPOCH};

use bumpalo::Bump;

use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::{
    date, float8, int4, interval, text, time, timestamp, timestamptz, timetz,
};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::datetime::calendar::{MICROS_PER_SECOND, UNIX_SECONDS_AT_EPOCH};
use crate::repr::datetime::zone::ZoneName;
use crate::repr::datetime::{
    Extracted, MadeIn, Template, age, age_in_zone, date_bin, date_to_timestamp, extract_date,
    extract_interval, extract_time, extract_timestamp, extract_timestamptz, extract_timetz,
    interval_to_char, is_finite_date, is_finite_timestamp, justify_days, justify_hours,
    justify_interval, make_date, make_interval, make_time, make_timestamp, make_timestamptz,
    timestamp_at_interval, timestamp_at_zone, timestamp_to_char, timestamptz_at_interval,
    timestamptz_at_zone, timestamptz_from_epoch, timestamptz_to_char, timetz_at_interval,
    timetz_at_zone, to_date, to_timestamp, truncate_interval, truncate_timestamp,
    truncate_timestamptz,
};
use crate::repr::numeric::Numeric as Number;

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// A field as `extract` answers it.
pub(super) fn as_numeric(field: Extracted, arena: &Bump) -> Datum<'_> {
    let number = match field {
        // Scales are those of microseconds and of days with them.
        Extracted::Number { unscaled, scale } => Number::new(unscaled, scale as u16),
        Extracted::Infinity => Number::PositiveInfinity,
        Extracted::NegativeInfinity => Number::NegativeInfinity,
        Extracted::Null => return Datum::Null,
    };
    Datum::Numeric(number.encode_in(arena))
}

/// A field as `date_part` answers it.
pub(super) fn as_float<'a>(field: Extracted) -> Datum<'a> {
    field.to_f64().map_or(Datum::Null, Datum::Float8)
}

fn spelled<'a>(spelled: Option<String>, arena: &'a Bump) -> Answer<'a> {
    Ok(spelled.map_or(Datum::Null, |text| Datum::Text(arena.alloc_str(&text))))
}

/// `extract` or `date_part` of one type.
macro_rules! field {
    ($oid:literal extract $ty:ident $get:ident $($rest:tt)*) => {
        FuncDef::new($oid, "extract", &[Text, $ty], Numeric, |args, cx| {
            let field = field!(@ args, cx, $get, $($rest)*)?;
            Ok(as_numeric(field, cx.arena))
        })
        .nullable()
    };
    ($oid:literal date_part $ty:ident $get:ident $($rest:tt)*) => {
        FuncDef::new($oid, "date_part", &[Text, $ty], Float8, |args, cx| {
            let _ = cx;
            Ok(as_float(field!(@ args, cx, $get, $($rest)*)?))
        })
        .nullable()
    };
    (@ $args:ident, $cx:ident, $get:ident, by $compute:ident) => {
        $compute(text($args[0]), $get($args[1]))
    };
    (@ $args:ident, $cx:ident, $get:ident, by ref $compute:ident) => {
        $compute(text($args[0]), &$get($args[1]))
    };
    (@ $args:ident, $cx:ident, $get:ident, by zone $compute:ident) => {
        $compute(text($args[0]), $get($args[1]), &$cx.settings.time_zone)
    };
}

/// `isfinite`.
macro_rules! finite {
    ($oid:literal $ty:ident |$value:ident| $compute:expr) => {
        FuncDef::new($oid, "isfinite", &[$ty], Bool, |args, _| {
            let $value = args[0];
            Ok(Datum::Bool($compute))
        })
        .total()
    };
}

/// `justify_days` and its kin.
macro_rules! justify {
    ($oid:literal $name:ident) => {
        FuncDef::new($oid, stringify!($name), &[Interval], Interval, |args, _| {
            Ok(Datum::Interval($name(&interval(args[0]))?))
        })
    };
}

/// Infinity is the same in every zone, also in one that does not exist.
fn at_zone(time: i64, shift: impl FnOnce() -> crate::error::Result<i64>) -> Result<i64, EvalError> {
    if is_finite_timestamp(time) { Ok(shift()?) } else { Ok(time) }
}

fn year_month_day(args: &[Datum<'_>]) -> (i32, i32, i32) {
    (int4(args[0]), int4(args[1]), int4(args[2]))
}

fn clock(args: &[Datum<'_>]) -> (i32, i32, f64) {
    (int4(args[0]), int4(args[1]), float8(args[2]))
}

const FUNCTIONS: &[FuncDef] = &[
    field!(6199 extract Date date by extract_date),
    // Unlike `extract`, it has the fields of the day's midnight.
    FuncDef::new(1384, "date_part", &[Text, Date], Float8, |args, _| {
        let midnight = date_to_timestamp(date(args[1]))?;
        Ok(as_float(extract_timestamp(text(args[0]), midnight)?))
    })
    .nullable(),
    field!(6200 extract Time time by extract_time),
    field!(1385 date_part Time time by extract_time),
    field!(6201 extract TimeTz timetz by extract_timetz),
    FuncDef::new(1273, "date_part", &[Text, TimeTz], Float8, |args, _| {
        let (field, time) = (text(args[0]), timetz(args[1]));
        let extracted = extract_timetz(field, time)?;
        if field.eq_ignore_ascii_case("epoch") {
            // PostgreSQL adds up in floats.
            let seconds = time.micros as f64 / MICROS_PER_SECOND as f64;
            return Ok(Datum::Float8(seconds + f64::from(time.west)));
        }
        Ok(as_float(extracted))
    }),
    field!(6202 extract Timestamp timestamp by extract_timestamp),
    field!(2021 date_part Timestamp timestamp by extract_timestamp),
    field!(6203 extract TimestampTz timestamptz by zone extract_timestamptz).stable(),
    field!(1171 date_part TimestampTz timestamptz by zone extract_timestamptz).stable(),
    field!(6204 extract Interval interval by ref extract_interval),
    field!(1172 date_part Interval interval by ref extract_interval),
    FuncDef::new(2020, "date_trunc", &[Text, Timestamp], Timestamp, |args, _| {
        Ok(Datum::Timestamp(truncate_timestamp(text(args[0]), timestamp(args[1]))?))
    }),
    FuncDef::new(1217, "date_trunc", &[Text, TimestampTz], TimestampTz, |args, cx| {
        let zone = &cx.settings.time_zone;
        Ok(Datum::TimestampTz(truncate_timestamptz(text(args[0]), timestamptz(args[1]), zone)?))
    })
    .stable(),
    FuncDef::new(1284, "date_trunc", &[Text, TimestampTz, Text], TimestampTz, |args, _| {
        let (unit, instant) = (text(args[0]), timestamptz(args[1]));
        if !is_finite_timestamp(instant) {
            return Ok(args[1]);
        }
        let zone = ZoneName::parse(text(args[2]))?;
        Ok(Datum::TimestampTz(truncate_timestamptz(unit, instant, zone.zone())?))
    })
    .stable(),
    FuncDef::new(1218, "date_trunc", &[Text, Interval], Interval, |args, _| {
        Ok(Datum::Interval(truncate_interval(text(args[0]), &interval(args[1]))?))
    }),
    FuncDef::new(6177, "date_bin", &[Interval, Timestamp, Timestamp], Timestamp, |args, _| {
        let (source, origin) = (timestamp(args[1]), timestamp(args[2]));
        Ok(Datum::Timestamp(date_bin(&interval(args[0]), source, origin)?))
    }),
    FuncDef::new(
        6178,
        "date_bin",
        &[Interval, TimestampTz, TimestampTz],
        TimestampTz,
        |args, _| {
            let (source, origin) = (timestamptz(args[1]), timestamptz(args[2]));
            Ok(Datum::TimestampTz(date_bin(&interval(args[0]), source, origin)?))
        },
    ),
    FuncDef::new(2058, "age", &[Timestamp, Timestamp], Interval, |args, _| {
        Ok(Datum::Interval(age(timestamp(args[0]), timestamp(args[1]))?))
    }),
    FuncDef::new(1199, "age", &[TimestampTz, TimestampTz], Interval, |args, cx| {
        let (left, right) = (timestamptz(args[0]), timestamptz(args[1]));
        Ok(Datum::Interval(age_in_zone(left, right, &cx.settings.time_zone)?))
    }),
    finite!(1373 Date |d| is_finite_date(date(d))),
    finite!(2048 Timestamp |t| is_finite_timestamp(timestamp(t))),
    finite!(1389 TimestampTz |t| is_finite_timestamp(timestamptz(t))),
    // An interval always is.
    finite!(1390 Interval |_i| true),
    justify!(1295 justify_days),
    justify!(1175 justify_hours),
    justify!(2711 justify_interval),
    FuncDef::new(3846, "make_date", &[Int4, Int4, Int4], Date, |args, _| {
        Ok(Datum::Date(make_date(year_month_day(args))?))
    }),
    FuncDef::new(3847, "make_time", &[Int4, Int4, Float8], Time, |args, _| {
        Ok(Datum::Time(make_time(clock(args))?))
    }),
    FuncDef::new(3461, "make_timestamp", MADE, Timestamp, |args, _| {
        Ok(Datum::Timestamp(make_timestamp(year_month_day(args), clock(&args[3..]))?))
    }),
    FuncDef::new(3462, "make_timestamptz", MADE, TimestampTz, |args, cx| {
        let zone = MadeIn::Zone(&cx.settings.time_zone);
        let made = make_timestamptz(year_month_day(args), clock(&args[3..]), zone)?;
        Ok(Datum::TimestampTz(made))
    })
    .stable(),
    FuncDef::new(3463, "make_timestamptz", MADE_IN_ZONE, TimestampTz, |args, _| {
        let zone = MadeIn::Named(text(args[6]));
        let made = make_timestamptz(year_month_day(args), clock(&args[3..]), zone)?;
        Ok(Datum::TimestampTz(made))
    })
    .stable(),
    FuncDef::new(3464, "make_interval", SPAN, Interval, |args, _| {
        let parts = [0, 1, 2, 3, 4, 5].map(|i| int4(args[i]));
        Ok(Datum::Interval(make_interval(parts, float8(args[6]))?))
    }),
    FuncDef::new(2649, "clock_timestamp", &[], TimestampTz, |_, _| {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
        Ok(Datum::TimestampTz(micros - UNIX_SECONDS_AT_EPOCH * MICROS_PER_SECOND))
    })
    .total()
    .volatile(),
    FuncDef::new(1158, "to_timestamp", &[Float8], TimestampTz, |args, _| {
        Ok(Datum::TimestampTz(timestamptz_from_epoch(float8(args[0]))?))
    }),
    FuncDef::new(1778, "to_timestamp", &[Text, Text], TimestampTz, |args, cx| {
        let template = Template::parse(text(args[1]));
        let instant = to_timestamp(text(args[0]), &template, &cx.settings.time_zone)?;
        Ok(Datum::TimestampTz(instant))
    })
    .stable(),
    FuncDef::new(1780, "to_date", &[Text, Text], Date, |args, _| {
        Ok(Datum::Date(to_date(text(args[0]), &Template::parse(text(args[1])))?))
    })
    .stable(),
    FuncDef::new(2049, "to_char", &[Timestamp, Text], Text, |args, cx| {
        let template = Template::parse(text(args[1]));
        spelled(timestamp_to_char(timestamp(args[0]), &template), cx.arena)
    })
    .nullable()
    .stable(),
    FuncDef::new(1770, "to_char", &[TimestampTz, Text], Text, |args, cx| {
        let template = Template::parse(text(args[1]));
        let zone = &cx.settings.time_zone;
        spelled(timestamptz_to_char(timestamptz(args[0]), &template, zone), cx.arena)
    })
    .nullable()
    .stable(),
    FuncDef::new(1768, "to_char", &[Interval, Text], Text, |args, cx| {
        let template = Template::parse(text(args[1]));
        spelled(interval_to_char(&interval(args[0]), &template)?, cx.arena)
    })
    .nullable()
    .stable(),
    FuncDef::new(2037, "timezone", &[Text, TimeTz], TimeTz, |args, _| {
        Ok(Datum::TimeTz(timetz_at_zone(timetz(args[1]), &ZoneName::parse(text(args[0]))?)?))
    }),
    FuncDef::new(2038, "timezone", &[Interval, TimeTz], TimeTz, |args, _| {
        Ok(Datum::TimeTz(timetz_at_interval(timetz(args[1]), &interval(args[0]))?))
    }),
    FuncDef::new(2069, "timezone", &[Text, Timestamp], TimestampTz, |args, _| {
        let local = timestamp(args[1]);
        at_zone(local, || timestamp_at_zone(local, &ZoneName::parse(text(args[0]))?))
            .map(Datum::TimestampTz)
    }),
    FuncDef::new(1159, "timezone", &[Text, TimestampTz], Timestamp, |args, _| {
        let instant = timestamptz(args[1]);
        at_zone(instant, || timestamptz_at_zone(instant, &ZoneName::parse(text(args[0]))?))
            .map(Datum::Timestamp)
    }),
    FuncDef::new(2070, "timezone", &[Interval, Timestamp], TimestampTz, |args, _| {
        let local = timestamp(args[1]);
        at_zone(local, || timestamp_at_interval(local, &interval(args[0]))).map(Datum::TimestampTz)
    }),
    FuncDef::new(1026, "timezone", &[Interval, TimestampTz], Timestamp, |args, _| {
        let instant = timestamptz(args[1]);
        at_zone(instant, || timestamptz_at_interval(instant, &interval(args[0])))
            .map(Datum::Timestamp)
    }),
];

const MADE: &[ScalarType] = &[Int4, Int4, Int4, Int4, Int4, Float8];
const MADE_IN_ZONE: &[ScalarType] = &[Int4, Int4, Int4, Int4, Int4, Float8, Text];
const SPAN: &[ScalarType] = &[Int4, Int4, Int4, Int4, Int4, Int4, Float8];
