//! Comparison of dates, timestamps and instants with each other.
//!
//! The coarser value is converted first; where that is out of range, it is beyond every finite
//! value on its side.

use std::cmp::Ordering;

use crate::error::Result;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{date, timestamp, timestamptz};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::datetime::{date_to_timestamp, date_to_timestamptz, timestamp_to_timestamptz};
use crate::repr::settings::TimeZone;

/// The comparison operators between different types.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

/// Orders a converted value; `sign` says on which side it was if it was out of range.
fn order(converted: Result<i64>, sign: i64, other: i64) -> Ordering {
    match converted {
        Ok(micros) => micros.cmp(&other),
        Err(_) if sign > 0 && other == i64::MAX => Ordering::Less,
        Err(_) if sign > 0 => Ordering::Greater,
        Err(_) if other == i64::MIN => Ordering::Greater,
        Err(_) => Ordering::Less,
    }
}

fn date_with_timestamp(a: Datum<'_>, b: Datum<'_>, _: &TimeZone) -> Ordering {
    order(date_to_timestamp(date(a)), date(a).into(), timestamp(b))
}

fn date_with_timestamptz(a: Datum<'_>, b: Datum<'_>, zone: &TimeZone) -> Ordering {
    order(date_to_timestamptz(date(a), zone), date(a).into(), timestamptz(b))
}

fn timestamp_with_timestamptz(a: Datum<'_>, b: Datum<'_>, zone: &TimeZone) -> Ordering {
    order(timestamp_to_timestamptz(timestamp(a), zone), timestamp(a), timestamptz(b))
}

fn timestamp_with_date(a: Datum<'_>, b: Datum<'_>, zone: &TimeZone) -> Ordering {
    date_with_timestamp(b, a, zone).reverse()
}

fn timestamptz_with_date(a: Datum<'_>, b: Datum<'_>, zone: &TimeZone) -> Ordering {
    date_with_timestamptz(b, a, zone).reverse()
}

fn timestamptz_with_timestamp(a: Datum<'_>, b: Datum<'_>, zone: &TimeZone) -> Ordering {
    timestamp_with_timestamptz(b, a, zone).reverse()
}

macro_rules! comparisons {
    ($($left:ident, $right:ident, $order:ident, $stable:literal:
        $eq:literal $eq_oid:literal, $ne:literal $ne_oid:literal, $lt:literal $lt_oid:literal,
        $le:literal $le_oid:literal, $gt:literal $gt_oid:literal, $ge:literal $ge_oid:literal;)*
    ) => {
        const FUNCTIONS: &[FuncDef] = &[$(
            comparisons!(@ $eq, $eq_oid, $left, $right, $order, $stable, is_eq),
            comparisons!(@ $ne, $ne_oid, $left, $right, $order, $stable, is_ne),
            comparisons!(@ $lt, $lt_oid, $left, $right, $order, $stable, is_lt),
            comparisons!(@ $le, $le_oid, $left, $right, $order, $stable, is_le),
            comparisons!(@ $gt, $gt_oid, $left, $right, $order, $stable, is_gt),
            comparisons!(@ $ge, $ge_oid, $left, $right, $order, $stable, is_ge),
        )*];
        const OPERATORS: &[OperatorDef] = &[$(
            OperatorDef::infix($left, "=", $right, $eq_oid),
            OperatorDef::infix($left, "<>", $right, $ne_oid),
            OperatorDef::infix($left, "<", $right, $lt_oid),
            OperatorDef::infix($left, "<=", $right, $le_oid),
            OperatorDef::infix($left, ">", $right, $gt_oid),
            OperatorDef::infix($left, ">=", $right, $ge_oid),
        )*];
    };
    (@ $name:literal, $oid:literal, $l:ident, $r:ident, $order:ident, $stable:literal,
     $is:ident) => {
        volatility(
            FuncDef::new($oid, $name, &[$l, $r], Bool, |args, cx| {
                Ok(Datum::Bool($order(args[0], args[1], &cx.settings.time_zone).$is()))
            })
            .total(),
            $stable,
        )
    };
}

const fn volatility(func: FuncDef, stable: bool) -> FuncDef {
    if stable { func.stable() } else { func }
}

comparisons! {
    Date, Timestamp, date_with_timestamp, false:
        "date_eq_timestamp" 2340, "date_ne_timestamp" 2343, "date_lt_timestamp" 2338,
        "date_le_timestamp" 2339, "date_gt_timestamp" 2341, "date_ge_timestamp" 2342;
    Date, TimestampTz, date_with_timestamptz, true:
        "date_eq_timestamptz" 2353, "date_ne_timestamptz" 2356, "date_lt_timestamptz" 2351,
        "date_le_timestamptz" 2352, "date_gt_timestamptz" 2354, "date_ge_timestamptz" 2355;
    Timestamp, Date, timestamp_with_date, false:
        "timestamp_eq_date" 2366, "timestamp_ne_date" 2369, "timestamp_lt_date" 2364,
        "timestamp_le_date" 2365, "timestamp_gt_date" 2367, "timestamp_ge_date" 2368;
    Timestamp, TimestampTz, timestamp_with_timestamptz, true:
        "timestamp_eq_timestamptz" 2522, "timestamp_ne_timestamptz" 2525,
        "timestamp_lt_timestamptz" 2520, "timestamp_le_timestamptz" 2521,
        "timestamp_gt_timestamptz" 2523, "timestamp_ge_timestamptz" 2524;
    TimestampTz, Date, timestamptz_with_date, true:
        "timestamptz_eq_date" 2379, "timestamptz_ne_date" 2382, "timestamptz_lt_date" 2377,
        "timestamptz_le_date" 2378, "timestamptz_gt_date" 2380, "timestamptz_ge_date" 2381;
    TimestampTz, Timestamp, timestamptz_with_timestamp, true:
        "timestamptz_eq_timestamp" 2529, "timestamptz_ne_timestamp" 2532,
        "timestamptz_lt_timestamp" 2527, "timestamptz_le_timestamp" 2528,
        "timestamptz_gt_timestamp" 2530, "timestamptz_ge_timestamp" 2531;
}
