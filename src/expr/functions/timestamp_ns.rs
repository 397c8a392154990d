//! `timestamp_ns`: instants with nanoseconds, which PostgreSQL does not have.
//!
//! They have what a `timestamptz` has. Where both meet, as in `ts > now()`, they compare exactly;
//! dates and timestamps become a `timestamptz` first. A difference is an interval, which has only
//! microseconds; exact differences are those of `ts::bigint`, nanoseconds from 1970-01-01, and a
//! bigint is added and taken away as nanoseconds. `to_char` shows microseconds at most.

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::expr::cast::CastDef;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{
    date, int8, interval, text, timestamp, timestamp_ns, timestamptz,
};
use crate::expr::functions::datetime::{as_float, as_numeric};
use crate::expr::functions::registry::Family;
use crate::expr::functions::series::times;
use crate::expr::table::SetColumn;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::datetime::zone::ZoneName;
use crate::repr::datetime::{
    Template, bin_timestamp_ns, date_to_timestamptz, extract_timestamp_ns, interval_negate,
    nanos_compare_timestamptz, nanos_from_timestamptz, nanos_to_timestamptz, round_to_precision,
    timestamp_ns_add, timestamp_ns_add_nanos, timestamp_ns_difference, timestamp_ns_subtract_nanos,
    timestamp_to_timestamptz, timestamptz_to_char, timestamptz_to_date, timestamptz_to_timestamp,
    truncate_timestamp_ns,
};
use crate::repr::value::pack;

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

fn same(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    timestamp_ns(a).cmp(&timestamp_ns(b))
}

fn ns_tz(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    nanos_compare_timestamptz(timestamp_ns(a), timestamptz(b))
}

fn tz_ns(a: Datum<'_>, b: Datum<'_>) -> Ordering {
    ns_tz(b, a).reverse()
}

/// The microseconds of an instant that have passed.
fn micros(datum: Datum<'_>) -> i64 {
    nanos_to_timestamptz(timestamp_ns(datum)).0
}

fn spelled<'a>(text: Option<String>, arena: &'a Bump) -> Datum<'a> {
    text.map_or(Datum::Null, |text| Datum::Text(arena.alloc_str(&text)))
}

/// A comparison of every kind between two types.
macro_rules! comparison {
    ($oid:literal $name:literal $left:ident $right:ident $order:ident $test:ident) => {
        FuncDef::new($oid, $name, &[$left, $right], Bool, |args, _| {
            Ok(Datum::Bool($order(args[0], args[1]).$test()))
        })
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    comparison!(90_830 "timestamp_ns_eq" TimestampNs TimestampNs same is_eq),
    comparison!(90_831 "timestamp_ns_ne" TimestampNs TimestampNs same is_ne),
    comparison!(90_832 "timestamp_ns_lt" TimestampNs TimestampNs same is_lt),
    comparison!(90_833 "timestamp_ns_le" TimestampNs TimestampNs same is_le),
    comparison!(90_834 "timestamp_ns_gt" TimestampNs TimestampNs same is_gt),
    comparison!(90_835 "timestamp_ns_ge" TimestampNs TimestampNs same is_ge),
    comparison!(90_836 "timestamp_ns_eq_timestamptz" TimestampNs TimestampTz ns_tz is_eq),
    comparison!(90_837 "timestamp_ns_ne_timestamptz" TimestampNs TimestampTz ns_tz is_ne),
    comparison!(90_838 "timestamp_ns_lt_timestamptz" TimestampNs TimestampTz ns_tz is_lt),
    comparison!(90_839 "timestamp_ns_le_timestamptz" TimestampNs TimestampTz ns_tz is_le),
    comparison!(90_840 "timestamp_ns_gt_timestamptz" TimestampNs TimestampTz ns_tz is_gt),
    comparison!(90_841 "timestamp_ns_ge_timestamptz" TimestampNs TimestampTz ns_tz is_ge),
    comparison!(90_842 "timestamptz_eq_timestamp_ns" TimestampTz TimestampNs tz_ns is_eq),
    comparison!(90_843 "timestamptz_ne_timestamp_ns" TimestampTz TimestampNs tz_ns is_ne),
    comparison!(90_844 "timestamptz_lt_timestamp_ns" TimestampTz TimestampNs tz_ns is_lt),
    comparison!(90_845 "timestamptz_le_timestamp_ns" TimestampTz TimestampNs tz_ns is_le),
    comparison!(90_846 "timestamptz_gt_timestamp_ns" TimestampTz TimestampNs tz_ns is_gt),
    comparison!(90_847 "timestamptz_ge_timestamp_ns" TimestampTz TimestampNs tz_ns is_ge),
    FuncDef::new(
        90_848,
        "timestamp_ns_pl_interval",
        &[TimestampNs, Interval],
        TimestampNs,
        |args, cx| {
            let (instant, span) = (timestamp_ns(args[0]), interval(args[1]));
            Ok(Datum::TimestampNs(timestamp_ns_add(instant, &span, &cx.settings.time_zone)?))
        },
    )
    .stable(),
    FuncDef::new(
        90_849,
        "interval_pl_timestamp_ns",
        &[Interval, TimestampNs],
        TimestampNs,
        |args, cx| {
            let (span, instant) = (interval(args[0]), timestamp_ns(args[1]));
            Ok(Datum::TimestampNs(timestamp_ns_add(instant, &span, &cx.settings.time_zone)?))
        },
    )
    .stable(),
    FuncDef::new(
        90_850,
        "timestamp_ns_mi_interval",
        &[TimestampNs, Interval],
        TimestampNs,
        |args, cx| {
            let (instant, span) = (timestamp_ns(args[0]), interval_negate(&interval(args[1]))?);
            Ok(Datum::TimestampNs(timestamp_ns_add(instant, &span, &cx.settings.time_zone)?))
        },
    )
    .stable(),
    FuncDef::new(90_851, "timestamp_ns_mi", &[TimestampNs, TimestampNs], Interval, |args, _| {
        let difference = timestamp_ns_difference(timestamp_ns(args[0]), timestamp_ns(args[1]))?;
        Ok(Datum::Interval(difference))
    }),
    FuncDef::new(90_852, "timestamp_ns_pl_int8", &[TimestampNs, Int8], TimestampNs, |args, _| {
        Ok(Datum::TimestampNs(timestamp_ns_add_nanos(timestamp_ns(args[0]), int8(args[1]))?))
    }),
    FuncDef::new(90_853, "int8_pl_timestamp_ns", &[Int8, TimestampNs], TimestampNs, |args, _| {
        Ok(Datum::TimestampNs(timestamp_ns_add_nanos(timestamp_ns(args[1]), int8(args[0]))?))
    }),
    FuncDef::new(90_854, "timestamp_ns_mi_int8", &[TimestampNs, Int8], TimestampNs, |args, _| {
        Ok(Datum::TimestampNs(timestamp_ns_subtract_nanos(timestamp_ns(args[0]), int8(args[1]))?))
    }),
    FuncDef::new(90_855, "date_trunc", &[Text, TimestampNs], TimestampNs, |args, cx| {
        let (unit, instant) = (text(args[0]), timestamp_ns(args[1]));
        Ok(Datum::TimestampNs(truncate_timestamp_ns(unit, instant, &cx.settings.time_zone)?))
    })
    .stable(),
    FuncDef::new(90_856, "date_trunc", &[Text, TimestampNs, Text], TimestampNs, |args, _| {
        let (unit, instant) = (text(args[0]), timestamp_ns(args[1]));
        let zone = ZoneName::parse(text(args[2]))?;
        Ok(Datum::TimestampNs(truncate_timestamp_ns(unit, instant, zone.zone())?))
    })
    .stable(),
    FuncDef::new(
        90_857,
        "date_bin",
        &[Interval, TimestampNs, TimestampNs],
        TimestampNs,
        |args, _| {
            let (source, origin) = (timestamp_ns(args[1]), timestamp_ns(args[2]));
            Ok(Datum::TimestampNs(bin_timestamp_ns(&interval(args[0]), source, origin)?))
        },
    ),
    FuncDef::new(90_858, "extract", &[Text, TimestampNs], Numeric, |args, cx| {
        let zone = &cx.settings.time_zone;
        let field = extract_timestamp_ns(text(args[0]), timestamp_ns(args[1]), zone)?;
        Ok(as_numeric(field, cx.arena))
    })
    .nullable()
    .stable(),
    FuncDef::new(90_859, "date_part", &[Text, TimestampNs], Float8, |args, cx| {
        let zone = &cx.settings.time_zone;
        Ok(as_float(extract_timestamp_ns(text(args[0]), timestamp_ns(args[1]), zone)?))
    })
    .nullable()
    .stable(),
    FuncDef::new(90_862, "to_char", &[TimestampNs, Text], Text, |args, cx| {
        let template = Template::parse(text(args[1]));
        let zone = &cx.settings.time_zone;
        Ok(spelled(timestamptz_to_char(micros(args[0]), &template, zone), cx.arena))
    })
    .nullable()
    .stable(),
    FuncDef::new(90_863, "isfinite", &[TimestampNs], Bool, |_, _| Ok(Datum::Bool(true))).total(),
    FuncDef::set(
        90_864,
        "generate_series",
        &[TimestampNs, TimestampNs, Interval],
        &[SetColumn::value(TimestampNs)],
        |args, cx| {
            let bounds = (timestamp_ns(args[0]), timestamp_ns(args[1]), interval(args[2]));
            let zone = cx.settings.time_zone.clone();
            let add = move |time: i64, step: &_| timestamp_ns_add(time, step, &zone);
            times(bounds, add, |now| pack(&[Datum::TimestampNs(*now)]))
        },
    )
    .stable(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(TimestampNs, "=", TimestampNs, 90_830),
    OperatorDef::infix(TimestampNs, "<>", TimestampNs, 90_831),
    OperatorDef::infix(TimestampNs, "<", TimestampNs, 90_832),
    OperatorDef::infix(TimestampNs, "<=", TimestampNs, 90_833),
    OperatorDef::infix(TimestampNs, ">", TimestampNs, 90_834),
    OperatorDef::infix(TimestampNs, ">=", TimestampNs, 90_835),
    OperatorDef::infix(TimestampNs, "=", TimestampTz, 90_836),
    OperatorDef::infix(TimestampNs, "<>", TimestampTz, 90_837),
    OperatorDef::infix(TimestampNs, "<", TimestampTz, 90_838),
    OperatorDef::infix(TimestampNs, "<=", TimestampTz, 90_839),
    OperatorDef::infix(TimestampNs, ">", TimestampTz, 90_840),
    OperatorDef::infix(TimestampNs, ">=", TimestampTz, 90_841),
    OperatorDef::infix(TimestampTz, "=", TimestampNs, 90_842),
    OperatorDef::infix(TimestampTz, "<>", TimestampNs, 90_843),
    OperatorDef::infix(TimestampTz, "<", TimestampNs, 90_844),
    OperatorDef::infix(TimestampTz, "<=", TimestampNs, 90_845),
    OperatorDef::infix(TimestampTz, ">", TimestampNs, 90_846),
    OperatorDef::infix(TimestampTz, ">=", TimestampNs, 90_847),
    OperatorDef::infix(TimestampNs, "+", Interval, 90_848),
    OperatorDef::infix(Interval, "+", TimestampNs, 90_849),
    OperatorDef::infix(TimestampNs, "-", Interval, 90_850),
    OperatorDef::infix(TimestampNs, "-", TimestampNs, 90_851),
    OperatorDef::infix(TimestampNs, "+", Int8, 90_852),
    OperatorDef::infix(Int8, "+", TimestampNs, 90_853),
    OperatorDef::infix(TimestampNs, "-", Int8, 90_854),
];

/// The conversions: to what is coarser and from what may be out of range where a value is stored,
/// between numbers only where it is written.
pub static CASTS: &[CastDef] = &[
    CastDef::assignment(TimestampNs, TimestampTz, |d, typmod, _, _| {
        Ok(Datum::TimestampTz(round_to_precision(micros(d), typmod)))
    })
    .total(),
    CastDef::assignment(TimestampNs, Timestamp, |d, typmod, _, cx| {
        let local = timestamptz_to_timestamp(micros(d), &cx.settings.time_zone)?;
        Ok(Datum::Timestamp(round_to_precision(local, typmod)))
    }),
    CastDef::assignment(TimestampNs, Date, |d, _, _, cx| {
        Ok(Datum::Date(timestamptz_to_date(micros(d), &cx.settings.time_zone)))
    })
    .total(),
    CastDef::explicit(TimestampNs, Int8, |d, _, _, _| Ok(Datum::Int8(timestamp_ns(d)))).total(),
    CastDef::explicit(Int8, TimestampNs, |d, _, _, _| Ok(Datum::TimestampNs(int8(d)))).total(),
    CastDef::assignment(TimestampTz, TimestampNs, |d, _, _, _| {
        Ok(Datum::TimestampNs(nanos_from_timestamptz(timestamptz(d))?))
    }),
    CastDef::assignment(Timestamp, TimestampNs, |d, _, _, cx| {
        let instant = timestamp_to_timestamptz(timestamp(d), &cx.settings.time_zone)?;
        Ok(Datum::TimestampNs(nanos_from_timestamptz(instant)?))
    }),
    CastDef::assignment(Date, TimestampNs, |d, _, _, cx| {
        let instant = date_to_timestamptz(date(d), &cx.settings.time_zone)?;
        Ok(Datum::TimestampNs(nanos_from_timestamptz(instant)?))
    }),
];
