//! Dates, times and timestamps that are moved by, or differ by, intervals and days.
//!
//! An interval moves months first, then days, then microseconds; a day that the month reached
//! lacks becomes its last. In a zone, months and days keep the clock time and microseconds count
//! real time. Infinite values stay where they are. Where PostgreSQL 15 lets an interval wrap
//! around, these answer 22008, as its later versions do.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{
    self, Civil, MICROS_PER_DAY, MICROS_PER_SECOND, days_in_month,
};
use crate::repr::datetime::fault::out_of_range;
use crate::repr::datetime::interval_math::{interval_negate, justify_hours};
use crate::repr::datetime::parse::instant;
use crate::repr::datetime::zone::TimeZone;

/// Whether a timestamp is neither infinity.
pub fn is_finite_timestamp(micros: i64) -> bool {
    micros != i64::MIN && micros != i64::MAX
}

/// Whether a date is neither infinity.
pub fn is_finite_date(days: i32) -> bool {
    days != i32::MIN && days != i32::MAX
}

/// `timestamp + interval`.
pub fn timestamp_add(timestamp: i64, interval: &Interval) -> Result<i64> {
    add(timestamp, interval, |_| 0)
}

/// `timestamp - interval`.
pub fn timestamp_subtract(timestamp: i64, interval: &Interval) -> Result<i64> {
    timestamp_add(timestamp, &interval_negate(interval)?)
}

/// `timestamptz + interval`, on the clocks of a zone.
pub fn timestamptz_add(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    if !is_finite_timestamp(timestamp) || interval.months == 0 && interval.days == 0 {
        return add(timestamp, interval, |_| 0);
    }
    // Each step is made on the clocks of the place that the step before reached.
    let by_months = Interval { months: interval.months, ..Interval::default() };
    let by_days = Interval { days: interval.days, ..Interval::default() };
    let by_micros = Interval { micros: interval.micros, ..Interval::default() };
    let mut moved = timestamp;
    for step in [by_months, by_days] {
        if step != Interval::default() {
            let local = moved + i64::from(zone.offset_at(moved)) * MICROS_PER_SECOND;
            moved = add(local, &step, |local| zone.offset_of_local(local))?;
        }
    }
    add(moved, &by_micros, |_| 0)
}

/// `timestamptz - interval`, on the clocks of a zone.
pub fn timestamptz_subtract(timestamp: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    timestamptz_add(timestamp, &interval_negate(interval)?, zone)
}

/// Adds the parts of an interval to a local time, and takes the offset away that it then has.
fn add(local: i64, interval: &Interval, offset: impl Fn(i64) -> i32) -> Result<i64> {
    let overflow = || out_of_range("timestamp");
    if !is_finite_timestamp(local) {
        return Ok(local);
    }
    let mut moved = local;
    if interval.months != 0 {
        let civil = add_months(&Civil::from_micros(moved), interval.months);
        moved = instant(&civil, 0).ok_or_else(overflow)?;
    }
    if interval.days != 0 {
        let days = i64::from(interval.days).checked_mul(MICROS_PER_DAY);
        moved = days.and_then(|days| moved.checked_add(days)).ok_or_else(overflow)?;
    }
    let east = i64::from(offset(moved)) * MICROS_PER_SECOND;
    let moved = moved.checked_add(interval.micros).and_then(|sum| sum.checked_sub(east));
    moved.filter(|moved| calendar::timestamp_in_range(*moved)).ok_or_else(overflow)
}

fn add_months(civil: &Civil, months: i32) -> Civil {
    let sum = i64::from(civil.year) * 12 + i64::from(civil.month) - 1 + i64::from(months);
    let (year, month) = (sum.div_euclid(12) as i32, sum.rem_euclid(12) as i32 + 1);
    Civil { year, month, day: civil.day.min(days_in_month(year, month)), ..*civil }
}

/// `timestamp - timestamp`, of either type: days of 24 hours and the rest.
pub fn timestamp_difference(left: i64, right: i64) -> Result<Interval> {
    if !is_finite_timestamp(left) || !is_finite_timestamp(right) {
        let message = "cannot subtract infinite timestamps";
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
    }
    let micros = left.checked_sub(right).ok_or_else(|| out_of_range("interval"))?;
    justify_hours(&Interval { micros, ..Interval::default() })
}

/// `date + integer`.
pub fn date_add(date: i32, days: i32) -> Result<i32> {
    if !is_finite_date(date) {
        return Ok(date);
    }
    let sum = date.checked_add(days).filter(|sum| calendar::date_in_range(i64::from(*sum)));
    sum.ok_or_else(|| out_of_range("date"))
}

/// `date - integer`.
pub fn date_subtract(date: i32, days: i32) -> Result<i32> {
    if !is_finite_date(date) {
        return Ok(date);
    }
    let rest = date.checked_sub(days).filter(|rest| calendar::date_in_range(i64::from(*rest)));
    rest.ok_or_else(|| out_of_range("date"))
}

/// `date - date`, in days.
pub fn date_difference(left: i32, right: i32) -> Result<i32> {
    if !is_finite_date(left) || !is_finite_date(right) {
        let message = "cannot subtract infinite dates";
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
    }
    left.checked_sub(right).ok_or_else(|| out_of_range("date"))
}

/// `time + interval`, around the clock; months and days do not count.
pub fn time_add(time: i64, interval: &Interval) -> i64 {
    (time + interval.micros % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY)
}

/// `time - interval`, around the clock; months and days do not count.
pub fn time_subtract(time: i64, interval: &Interval) -> i64 {
    (time - interval.micros % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY)
}

/// `time - time`.
pub fn time_difference(left: i64, right: i64) -> Interval {
    Interval { micros: left - right, ..Interval::default() }
}

/// `age(timestamp, timestamp)`: the difference in years, months, days and clock time.
pub fn age(left: i64, right: i64) -> Result<Interval> {
    if !is_finite_timestamp(left) || !is_finite_timestamp(right) {
        return Err(out_of_range("timestamp"));
    }
    let negative = left < right;
    let (later, earlier) = if negative { (right, left) } else { (left, right) };
    let (later, earlier) = (Civil::from_micros(later), Civil::from_micros(earlier));
    let mut micros = later.time() - earlier.time();
    let mut days = later.day - earlier.day;
    let mut months = (later.year - earlier.year) * 12 + later.month - earlier.month;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    // A month that is borrowed from has as many days as the earlier date's.
    while days < 0 {
        days += days_in_month(earlier.year, earlier.month);
        months -= 1;
    }
    let age = Interval { months, days, micros };
    if negative { interval_negate(&age) } else { Ok(age) }
}

/// `age(timestamptz, timestamptz)`, by the clocks of a zone.
pub fn age_in_zone(left: i64, right: i64, zone: &TimeZone) -> Result<Interval> {
    if !is_finite_timestamp(left) || !is_finite_timestamp(right) {
        return Err(out_of_range("timestamp"));
    }
    let local = |instant: i64| {
        instant.saturating_add(i64::from(zone.offset_at(instant)) * MICROS_PER_SECOND)
    };
    // Which one is later is decided in real time, which an overlap can contradict.
    let (local_left, local_right) = (local(left), local(right));
    if (left < right) == (local_left < local_right) || local_left == local_right {
        return age(local_left, local_right);
    }
    Ok(Interval { micros: local_left - local_right, ..Interval::default() })
}

/// `date_bin(stride, source, origin)`: the start of the stride that holds a timestamp.
pub fn date_bin(stride: &Interval, source: i64, origin: i64) -> Result<i64> {
    if !is_finite_timestamp(source) {
        return Ok(source);
    }
    if !is_finite_timestamp(origin) {
        return Err(out_of_range("origin"));
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    }
    let overflow = || out_of_range("interval");
    let days = i64::from(stride.days).checked_mul(MICROS_PER_DAY).ok_or_else(overflow)?;
    let width = days.checked_add(stride.micros).ok_or_else(overflow)?;
    if width <= 0 {
        let message = "stride must be greater than zero";
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
    }
    let distance = source.checked_sub(origin).ok_or_else(overflow)?;
    let start = source.checked_sub(distance.rem_euclid(width));
    start
        .filter(|start| calendar::timestamp_in_range(*start))
        .ok_or_else(|| out_of_range("timestamp"))
}
