//! Casts between dates, times, timestamps and intervals, and `AT TIME ZONE`.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::{is_finite_date, is_finite_timestamp};
use crate::repr::datetime::calendar::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::repr::datetime::fault::out_of_range;
use crate::repr::datetime::format_interval;
use crate::repr::datetime::zone::{TimeZone, ZoneName};
use crate::repr::settings::FormatSettings;

/// `date` to `timestamp`: its midnight.
pub fn date_to_timestamp(date: i32) -> Result<i64> {
    match date {
        i32::MIN => return Ok(i64::MIN),
        i32::MAX => return Ok(i64::MAX),
        _ => {}
    }
    let micros = i64::from(date).checked_mul(MICROS_PER_DAY);
    micros.filter(|micros| calendar::timestamp_in_range(*micros)).ok_or_else(|| {
        let message = "date out of range for timestamp";
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    })
}

/// `date` to `timestamptz`: its midnight in a zone.
pub fn date_to_timestamptz(date: i32, zone: &TimeZone) -> Result<i64> {
    let local = date_to_timestamp(date)?;
    timestamp_to_timestamptz(local, zone)
}

/// `date + time`.
pub fn date_and_time(date: i32, time: i64) -> Result<i64> {
    let midnight = date_to_timestamp(date)?;
    if !is_finite_date(date) {
        return Ok(midnight);
    }
    let sum = midnight.checked_add(time);
    sum.filter(|sum| calendar::timestamp_in_range(*sum)).ok_or_else(|| out_of_range("timestamp"))
}

/// `timestamp` to `date`.
pub fn timestamp_to_date(timestamp: i64) -> i32 {
    match timestamp {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        // A timestamp's days fit: there are at most 2^63 / 86.4e9 of them.
        _ => timestamp.div_euclid(MICROS_PER_DAY) as i32,
    }
}

/// `timestamptz` to `date`, in a zone.
pub fn timestamptz_to_date(timestamp: i64, zone: &TimeZone) -> i32 {
    if !is_finite_timestamp(timestamp) {
        return timestamp_to_date(timestamp);
    }
    let east = i64::from(zone.offset_at(timestamp)) * MICROS_PER_SECOND;
    timestamp_to_date(timestamp.saturating_add(east))
}

/// `timestamp` to `time`; an infinite one has none.
pub fn timestamp_to_time(timestamp: i64) -> Option<i64> {
    is_finite_timestamp(timestamp).then(|| timestamp.rem_euclid(MICROS_PER_DAY))
}

/// `timestamptz` to `time`, in a zone; an infinite one has none.
pub fn timestamptz_to_time(timestamp: i64, zone: &TimeZone) -> Option<i64> {
    let east = i64::from(zone.offset_at(timestamp)) * MICROS_PER_SECOND;
    is_finite_timestamp(timestamp)
        .then(|| timestamp.saturating_add(east).rem_euclid(MICROS_PER_DAY))
}

/// `interval` to `time`: its clock time, around the clock.
pub fn interval_to_time(interval: &Interval) -> i64 {
    interval.micros.rem_euclid(MICROS_PER_DAY)
}

/// `timestamp` to `timestamptz`: the instant at which a zone's clocks show it.
pub fn timestamp_to_timestamptz(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    shift(timestamp, |local| -i64::from(zone.offset_of_local(local)))
}

/// `timestamptz` to `timestamp`: what a zone's clocks show at the instant.
pub fn timestamptz_to_timestamp(timestamp: i64, zone: &TimeZone) -> Result<i64> {
    shift(timestamp, |instant| i64::from(zone.offset_at(instant)))
}

/// `timestamp AT TIME ZONE zone`, a `timestamptz`.
pub fn timestamp_at_zone(timestamp: i64, zone: &ZoneName) -> Result<i64> {
    shift(timestamp, |local| -i64::from(zone.offset_of_local(local)))
}

/// `timestamptz AT TIME ZONE zone`, a `timestamp`.
pub fn timestamptz_at_zone(timestamp: i64, zone: &ZoneName) -> Result<i64> {
    shift(timestamp, |instant| i64::from(zone.offset_at(instant)))
}

/// `timestamp AT TIME ZONE interval`, a `timestamptz`.
pub fn timestamp_at_interval(timestamp: i64, zone: &Interval) -> Result<i64> {
    let east = east_seconds(zone)?;
    shift(timestamp, |_| -east)
}

/// `timestamptz AT TIME ZONE interval`, a `timestamp`.
pub fn timestamptz_at_interval(timestamp: i64, zone: &Interval) -> Result<i64> {
    let east = east_seconds(zone)?;
    shift(timestamp, |_| east)
}

pub(super) fn east_seconds(zone: &Interval) -> Result<i64> {
    if zone.months == 0 && zone.days == 0 {
        return Ok(zone.micros / MICROS_PER_SECOND);
    }
    let mut text = String::new();
    format_interval(zone, &FormatSettings::default(), &mut text);
    let message = format!("interval time zone \"{text}\" must not include months or days");
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// Moves a finite timestamp by so many seconds.
fn shift(timestamp: i64, seconds: impl Fn(i64) -> i64) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let moved = seconds(timestamp)
        .checked_mul(MICROS_PER_SECOND)
        .and_then(|micros| timestamp.checked_add(micros));
    moved
        .filter(|moved| calendar::timestamp_in_range(*moved))
        .ok_or_else(|| out_of_range("timestamp"))
}
