//! `make_date`, `make_time`, `make_timestamp`, `make_timestamptz`, `make_interval`, and
//! `to_timestamp` of a number.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{
    self, Civil, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    UNIX_SECONDS_AT_EPOCH, days_in_month,
};
use crate::repr::datetime::decode::offset;
use crate::repr::datetime::fault::{Fault, out_of_range};
use crate::repr::datetime::parse::instant;
use crate::repr::datetime::zone::ZoneName;

/// A year, month and day.
pub type YearMonthDay = (i32, i32, i32);
/// An hour, minute and second.
pub type Clock = (i32, i32, f64);

fn overflow(message: String) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// `make_date(year, month, day)`; a negative year is before Christ.
pub fn make_date(date: YearMonthDay) -> Result<i32> {
    let (year, month, day) = date;
    // PostgreSQL's messages show the year as it counts it inside: -43 for 44 BC.
    let shown_year = if year < 0 { year + 1 } else { year };
    let civil = civil_date(date, shown_year)?;
    if !calendar::date_in_range(civil.days()) {
        let shown = format!("{shown_year}-{month:02}-{day:02}");
        return Err(overflow(format!("date out of range: {shown}")));
    }
    Ok(civil.days() as i32)
}

/// `make_time(hour, minute, second)`.
pub fn make_time(clock: Clock) -> Result<i64> {
    let (hour, minute, second) = clock;
    let micros = (second * MICROS_PER_SECOND as f64).round_ties_even();
    let well = (0..=24).contains(&hour)
        && (0..60).contains(&minute)
        && (0.0..=60.0 * MICROS_PER_SECOND as f64).contains(&micros);
    let whole = i64::from(hour) * MICROS_PER_HOUR + i64::from(minute) * MICROS_PER_MINUTE;
    // What is out of range, or no number, may be more than the sum can hold.
    let time = whole.saturating_add(micros as i64);
    if !well || time > MICROS_PER_DAY {
        return Err(overflow(format!("time field value out of range: {}", shown_clock(clock))));
    }
    Ok(time)
}

/// `make_timestamp(year, month, day, hour, minute, second)`.
pub fn make_timestamp(date: YearMonthDay, clock: Clock) -> Result<i64> {
    let (year, month, day) = date;
    let civil = civil_date(date, year)?;
    let time = make_time(clock)?;
    let sum = civil.micros().and_then(|midnight| midnight.checked_add(time));
    sum.filter(|sum| calendar::timestamp_in_range(*sum)).ok_or_else(|| {
        let clock = shown_clock(clock);
        overflow(format!("timestamp out of range: {year}-{month:02}-{day:02} {clock}"))
    })
}

/// `make_timestamptz(year, month, day, hour, minute, second)` in a zone.
pub fn make_timestamptz(date: YearMonthDay, clock: Clock, zone: MadeIn<'_>) -> Result<i64> {
    let local = make_timestamp(date, clock)?;
    let east = match zone {
        MadeIn::Zone(zone) => zone.offset_of_local(local),
        MadeIn::Named(name) => named_offset(name, local)?,
    };
    instant(&Civil::from_micros(local), i64::from(east)).ok_or_else(|| out_of_range("timestamp"))
}

/// The zone of a made timestamp.
#[derive(Clone, Copy, Debug)]
pub enum MadeIn<'a> {
    /// The session's.
    Zone(&'a crate::repr::settings::TimeZone),
    /// One that the call names; an offset lies as ISO 8601 says, not POSIX.
    Named(&'a str),
}

fn named_offset(name: &str, local: i64) -> Result<i32> {
    let invalid = |message| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let message = format!("invalid input syntax for type numeric time zone: \"{name}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return invalid(message).map_err(|error: Error| error.with_hint(hint));
    }
    match offset(name) {
        Ok(east) => Ok(east),
        Err(Fault::ZoneDisplacement) => {
            invalid(format!("numeric time zone \"{name}\" out of range"))
        }
        Err(_) => Ok(ZoneName::parse(name)?.offset_of_local(local)),
    }
}

/// `make_interval(years, months, weeks, days, hours, mins, secs)`.
pub fn make_interval(parts: [i32; 6], seconds: f64) -> Result<Interval> {
    let [years, months, weeks, days, hours, minutes] = parts;
    let micros = (seconds * MICROS_PER_SECOND as f64).round_ties_even();
    let fits = (i64::MIN as f64..i64::MAX as f64).contains(&micros);
    let clock = i64::from(hours) * MICROS_PER_HOUR + i64::from(minutes) * MICROS_PER_MINUTE;
    let made = || {
        Some(Interval {
            months: years.checked_mul(12)?.checked_add(months)?,
            days: weeks.checked_mul(7)?.checked_add(days)?,
            micros: clock.checked_add(micros as i64).filter(|_| fits)?,
        })
    };
    made().ok_or_else(|| out_of_range("interval"))
}

/// `to_timestamp(double precision)`: seconds from 1970, as an instant.
pub fn timestamptz_from_epoch(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        return Err(overflow("timestamp cannot be NaN".to_owned()));
    }
    if seconds.is_infinite() {
        return Ok(if seconds < 0.0 { i64::MIN } else { i64::MAX });
    }
    let out = || overflow(format!("timestamp out of range: \"{}\"", shown_general(seconds)));
    let unix = UNIX_SECONDS_AT_EPOCH as f64;
    let first = (calendar::DATE_MIN * 86_400) as f64 + unix;
    let end = (calendar::TIMESTAMP_END / MICROS_PER_SECOND) as f64 + unix;
    if !(first..end).contains(&seconds) {
        return Err(out());
    }
    let micros = ((seconds - unix) * MICROS_PER_SECOND as f64).round_ties_even() as i64;
    if calendar::timestamp_in_range(micros) { Ok(micros) } else { Err(out()) }
}

/// A date whose fields are well and whose arithmetic is safe; its year is astronomical. The
/// messages show the year that is given.
fn civil_date((year, month, day): YearMonthDay, shown_year: i32) -> Result<Civil> {
    let astronomical = if year < 0 { year + 1 } else { year };
    let well = year != 0
        && (1..=12).contains(&month)
        && (1..=days_in_month(astronomical, month)).contains(&day);
    let civil = Civil { year: astronomical, month, day, ..Civil::default() };
    let shown = || format!("{shown_year}-{month:02}-{day:02}");
    if !well {
        Err(overflow(format!("date field value out of range: {}", shown())))
    } else if civil.is_julian() {
        Ok(civil)
    } else {
        Err(overflow(format!("date out of range: {}", shown())))
    }
}

fn shown_clock((hour, minute, second): Clock) -> String {
    // As C's `%02g`: at least two characters.
    format!("{hour}:{minute:02}:{:0>2}", shown_general(second))
}

/// A number as C's `%g` prints it: six significant digits, without zeros at the end.
fn shown_general(value: f64) -> String {
    if value.is_infinite() {
        return if value < 0.0 { "-Infinity".to_owned() } else { "Infinity".to_owned() };
    }
    if value == 0.0 || value.is_nan() {
        return value.to_string();
    }
    let scientific = format!("{value:.5e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        let decimals = (5 - exponent).max(0) as usize;
        return trimmed(&format!("{value:.decimals$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}
