//! Arithmetic of intervals alone.
//!
//! Months, days and microseconds are computed apart; a fraction goes down, a month counting 30
//! days and a day 24 hours, and only `justify_*` carries up.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::repr::datetime::fault::out_of_range;

const DAYS_PER_MONTH: i32 = 30;
const SECONDS_PER_DAY: f64 = 86_400.0;

fn overflow() -> Error {
    out_of_range("interval")
}

/// `- interval`.
pub fn interval_negate(interval: &Interval) -> Result<Interval> {
    let negated = || {
        Some(Interval {
            months: interval.months.checked_neg()?,
            days: interval.days.checked_neg()?,
            micros: interval.micros.checked_neg()?,
        })
    };
    negated().ok_or_else(overflow)
}

/// `interval + interval`.
pub fn interval_add(left: &Interval, right: &Interval) -> Result<Interval> {
    let sum = || {
        Some(Interval {
            months: left.months.checked_add(right.months)?,
            days: left.days.checked_add(right.days)?,
            micros: left.micros.checked_add(right.micros)?,
        })
    };
    sum().ok_or_else(overflow)
}

/// `interval - interval`.
pub fn interval_subtract(left: &Interval, right: &Interval) -> Result<Interval> {
    let rest = || {
        Some(Interval {
            months: left.months.checked_sub(right.months)?,
            days: left.days.checked_sub(right.days)?,
            micros: left.micros.checked_sub(right.micros)?,
        })
    };
    rest().ok_or_else(overflow)
}

/// `interval * double precision`.
pub fn interval_multiply(interval: &Interval, factor: f64) -> Result<Interval> {
    scale(interval, |part| part * factor)
}

/// `interval / double precision`.
pub fn interval_divide(interval: &Interval, divisor: f64) -> Result<Interval> {
    if divisor == 0.0 {
        return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    scale(interval, |part| part / divisor)
}

/// Scales each part; what a whole number of months or days leaves goes to the smaller parts.
fn scale(interval: &Interval, scaled: impl Fn(f64) -> f64) -> Result<Interval> {
    let exact_months = scaled(f64::from(interval.months));
    let exact_days = scaled(f64::from(interval.days));
    let months = whole(exact_months)?;
    let days = whole(exact_days)?;
    // To microseconds, so that a factor such as 0.1 leaves no dust.
    let rounded = |value: f64| (value * 1e6).round_ties_even() / 1e6;
    let month_days = rounded((exact_months - f64::from(months)) * f64::from(DAYS_PER_MONTH));
    let whole_month_days = month_days as i32;
    let day_part = exact_days - f64::from(days) + month_days - f64::from(whole_month_days);
    let mut seconds = rounded(day_part * SECONDS_PER_DAY);
    let mut carried = 0;
    if seconds.abs() >= SECONDS_PER_DAY {
        carried = (seconds / SECONDS_PER_DAY) as i32;
        seconds -= f64::from(carried) * SECONDS_PER_DAY;
    }
    let days = days.checked_add(carried).and_then(|days| days.checked_add(whole_month_days));
    let days = days.ok_or_else(overflow)?;
    let micros = scaled(interval.micros as f64) + seconds * MICROS_PER_SECOND as f64;
    let micros = micros.round_ties_even();
    // The upper bound, as a float, is 2^63, the first that does not fit.
    if !(i64::MIN as f64..i64::MAX as f64).contains(&micros) {
        return Err(overflow());
    }
    Ok(Interval { months, days, micros: micros as i64 })
}

/// The whole part of a number of months or days.
fn whole(value: f64) -> Result<i32> {
    let fits = (f64::from(i32::MIN)..f64::from(i32::MAX) + 1.0).contains(&value);
    if fits { Ok(value as i32) } else { Err(overflow()) }
}

/// `justify_hours`: 24 hours become a day.
pub fn justify_hours(interval: &Interval) -> Result<Interval> {
    let whole = interval.micros / MICROS_PER_DAY;
    let mut micros = interval.micros % MICROS_PER_DAY;
    let mut days = i64::from(interval.days) + whole;
    if days > 0 && micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= MICROS_PER_DAY;
        days += 1;
    }
    let days = i32::try_from(days).map_err(|_| overflow())?;
    Ok(Interval { months: interval.months, days, micros })
}

/// `justify_days`: 30 days become a month.
pub fn justify_days(interval: &Interval) -> Result<Interval> {
    let mut days = interval.days % DAYS_PER_MONTH;
    let mut months = i64::from(interval.months) + i64::from(interval.days / DAYS_PER_MONTH);
    if months > 0 && days < 0 {
        days += DAYS_PER_MONTH;
        months -= 1;
    } else if months < 0 && days > 0 {
        days -= DAYS_PER_MONTH;
        months += 1;
    }
    let months = i32::try_from(months).map_err(|_| overflow())?;
    Ok(Interval { months, days, micros: interval.micros })
}

/// `justify_interval`: both, and all parts get one sign.
pub fn justify_interval(interval: &Interval) -> Result<Interval> {
    let month = i64::from(DAYS_PER_MONTH);
    let mut micros = interval.micros % MICROS_PER_DAY;
    let all_days = i64::from(interval.days) + interval.micros / MICROS_PER_DAY;
    let mut days = all_days % month;
    let mut months = i64::from(interval.months) + all_days / month;
    if months > 0 && (days < 0 || days == 0 && micros < 0) {
        days += month;
        months -= 1;
    } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
        days -= month;
        months += 1;
    }
    if days > 0 && micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    } else if days < 0 && micros > 0 {
        micros -= MICROS_PER_DAY;
        days += 1;
    }
    let months = i32::try_from(months).map_err(|_| overflow())?;
    // Less than a month of them is left.
    Ok(Interval { months, days: days as i32, micros })
}
