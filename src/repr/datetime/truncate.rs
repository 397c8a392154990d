//! `date_trunc`.

use crate::error::Result;
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::is_finite_timestamp;
use crate::repr::datetime::calendar::{
    Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_from_days, iso_week,
    monday_of_iso_week,
};
use crate::repr::datetime::fault::out_of_range;
use crate::repr::datetime::keywords::Unit;
use crate::repr::datetime::parse::instant;
use crate::repr::datetime::units::{FieldOf, truncation_unit};
use crate::repr::datetime::zone::TimeZone;

/// `date_trunc(unit, timestamp)`.
pub fn truncate_timestamp(unit: &str, timestamp: i64) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let known = truncation_unit(unit).ok_or_else(|| FieldOf::Timestamp.unknown(unit))?;
    let civil = truncated(Civil::from_micros(timestamp), known);
    let civil = civil.ok_or_else(|| FieldOf::Timestamp.unsupported(unit))?;
    instant(&civil, 0).ok_or_else(|| out_of_range("timestamp"))
}

/// `date_trunc(unit, timestamptz, zone)`, on the clocks of the zone.
pub fn truncate_timestamptz(unit: &str, timestamp: i64, zone: &TimeZone) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let known = truncation_unit(unit).ok_or_else(|| FieldOf::TimestampTz.unknown(unit))?;
    let east = zone.offset_at(timestamp);
    let overflow = || out_of_range("timestamp");
    let local = timestamp.checked_add(i64::from(east) * MICROS_PER_SECOND);
    let civil = truncated(Civil::from_micros(local.ok_or_else(overflow)?), known);
    let civil = civil.ok_or_else(|| FieldOf::TimestampTz.unsupported(unit))?;
    // A part of a day is cut within its hour's offset, also where the clocks show it twice.
    let within_day = matches!(
        known,
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond | Unit::Microsecond
    );
    let east = match civil.micros() {
        Some(local) if !within_day => zone.offset_of_local(local),
        _ => east,
    };
    instant(&civil, i64::from(east)).ok_or_else(overflow)
}

/// `date_trunc(unit, interval)`.
pub fn truncate_interval(unit: &str, interval: &Interval) -> Result<Interval> {
    let known = truncation_unit(unit).ok_or_else(|| FieldOf::Interval.unknown(unit))?;
    let Interval { months, days, micros } = *interval;
    let of_months = |unit: i32| Interval { months: months / unit * unit, days: 0, micros: 0 };
    let of_micros = |unit: i64| Interval { micros: micros / unit * unit, ..*interval };
    Ok(match known {
        Unit::Millennium => of_months(12_000),
        Unit::Century => of_months(1200),
        Unit::Decade => of_months(120),
        Unit::Year => of_months(12),
        Unit::Quarter => of_months(3),
        Unit::Month => of_months(1),
        Unit::Day => Interval { months, days, micros: 0 },
        Unit::Hour => of_micros(MICROS_PER_HOUR),
        Unit::Minute => of_micros(MICROS_PER_MINUTE),
        Unit::Second => of_micros(MICROS_PER_SECOND),
        Unit::Millisecond => of_micros(1000),
        Unit::Microsecond => *interval,
        Unit::Week => {
            let error = FieldOf::Interval.unsupported(unit);
            return Err(error.with_detail("Months usually have fractional weeks."));
        }
        _ => return Err(FieldOf::Interval.unsupported(unit)),
    })
}

/// The start of the unit that holds a civil time; `None` where the unit has none.
fn truncated(civil: Civil, unit: Unit) -> Option<Civil> {
    let Civil { year, month, day, hour, minute, second, micros } = civil;
    let on = |year, month, day| Civil { year, month, day, ..Civil::default() };
    Some(match unit {
        // Centuries start with the year 1 of their hundred, and there is no year 0.
        Unit::Millennium => on(first_of(year, 1000), 1, 1),
        Unit::Century => on(first_of(year, 100), 1, 1),
        Unit::Decade => on(year.div_euclid(10) * 10, 1, 1),
        Unit::Year => on(year, 1, 1),
        Unit::Quarter => on(year, (month - 1) / 3 * 3 + 1, 1),
        Unit::Month => on(year, month, 1),
        Unit::Week => {
            let (iso_year, week) = iso_week(civil.days());
            let (year, month, day) = civil_from_days(monday_of_iso_week(iso_year, week));
            on(year, month, day)
        }
        Unit::Day => on(year, month, day),
        Unit::Hour => Civil { minute: 0, second: 0, micros: 0, ..civil },
        Unit::Minute => Civil { second: 0, micros: 0, ..civil },
        Unit::Second => Civil { micros: 0, ..civil },
        Unit::Millisecond => Civil { micros: micros / 1000 * 1000, hour, minute, second, ..civil },
        Unit::Microsecond => civil,
        _ => return None,
    })
}

/// The first year of the hundred or thousand that holds a year.
fn first_of(year: i32, count: i32) -> i32 {
    (year - 1).div_euclid(count) * count + 1
}
