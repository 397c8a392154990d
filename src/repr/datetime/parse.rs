//! Dates, times and timestamps from text.

use crate::error::Result;
use crate::repr::datetime::calendar::{
    self, Civil, MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_SECONDS_AT_EPOCH,
};
use crate::repr::datetime::decode::{self, Decoded};
use crate::repr::datetime::fault::Fault;
use crate::repr::datetime::keywords::Special;
use crate::repr::datetime::time_tz::{TimeTz, needs_clock};
use crate::repr::datetime::{lexer, time_of_day};
use crate::repr::settings::FormatSettings;

/// Bytes that the fields of an input have at most, as in PostgreSQL's buffers.
const DATE_LIMIT: usize = 129;
const TIMESTAMP_LIMIT: usize = 153;

/// Reads a `date`: days from 2000-01-01. Refuses the words that need a clock.
pub fn parse_date(text: &str, settings: &FormatSettings) -> Result<i32> {
    parse_date_at(text, settings, None)
}

/// Reads a `date` at an instant, which `now` and `today` mean.
pub fn parse_date_at(text: &str, settings: &FormatSettings, now: Option<i64>) -> Result<i32> {
    date(text, settings, now).map_err(|fault| fault.into_error("date", text))
}

/// Reads a `time`: microseconds from midnight. Refuses the words that need a clock.
pub fn parse_time(text: &str, settings: &FormatSettings) -> Result<i64> {
    parse_time_at(text, settings, None)
}

/// Reads a `time` at an instant, which `now` means.
pub fn parse_time_at(text: &str, settings: &FormatSettings, now: Option<i64>) -> Result<i64> {
    let fields = lexer::split(text, DATE_LIMIT);
    let civil = fields.and_then(|fields| time_of_day::decode(&fields, settings, now));
    civil.map(|civil| civil.time()).map_err(|fault| fault.into_error("time", text))
}

/// Reads a `timetz`. Refuses the words that need a clock, and a zone whose offset changes where no
/// date stands beside the time.
pub fn parse_timetz(text: &str, settings: &FormatSettings) -> Result<TimeTz> {
    let fields = lexer::split(text, DATE_LIMIT);
    let decoded = fields.and_then(|fields| time_of_day::decode_zoned(&fields, settings, None));
    match decoded.map_err(|fault| fault.into_error("time with time zone", text))? {
        (civil, Some(east)) => Ok(TimeTz { micros: civil.time(), west: -east }),
        (_, None) => Err(needs_clock()),
    }
}

/// Reads a `timestamp`: microseconds from 2000-01-01. Refuses the words that need a clock.
pub fn parse_timestamp(text: &str, settings: &FormatSettings) -> Result<i64> {
    parse_timestamp_at(text, settings, None)
}

/// Reads a `timestamp` at an instant, which `now` and `today` mean.
pub fn parse_timestamp_at(text: &str, settings: &FormatSettings, now: Option<i64>) -> Result<i64> {
    timestamp(text, settings, now, |_| 0).map_err(|fault| fault.into_error("timestamp", text))
}

/// Reads a `timestamptz`: microseconds from 2000-01-01 in UTC. Refuses the words that need a
/// clock.
pub fn parse_timestamptz(text: &str, settings: &FormatSettings) -> Result<i64> {
    parse_timestamptz_at(text, settings, None)
}

/// Reads a `timestamptz` at an instant, which `now` and `today` mean.
pub fn parse_timestamptz_at(
    text: &str,
    settings: &FormatSettings,
    now: Option<i64>,
) -> Result<i64> {
    timestamp(text, settings, now, i64::from)
        .map_err(|fault| fault.into_error("timestamp with time zone", text))
}

/// Rounds microseconds of a time or timestamp to its type's digits, half away from zero. A
/// negative precision and the infinities change nothing.
pub fn round_to_precision(micros: i64, typmod: i32) -> i64 {
    if !(0..6).contains(&typmod) || micros == i64::MIN || micros == i64::MAX {
        return micros;
    }
    let unit = 10_i64.pow(6 - typmod as u32);
    let half = unit / 2;
    if micros >= 0 {
        (micros.saturating_add(half)) / unit * unit
    } else {
        -((micros.saturating_neg().saturating_add(half)) / unit * unit)
    }
}

fn date(
    text: &str,
    settings: &FormatSettings,
    now: Option<i64>,
) -> std::result::Result<i32, Fault> {
    let fields = lexer::split(text, DATE_LIMIT)?;
    let civil = match decode::decode(&fields, settings, now)? {
        Decoded::Civil(civil, _) => civil,
        Decoded::Special(Special::Infinity) => return Ok(i32::MAX),
        Decoded::Special(Special::NegativeInfinity) => return Ok(i32::MIN),
        Decoded::Special(_) => return Ok((-UNIX_SECONDS_AT_EPOCH / 86_400) as i32),
    };
    if !civil.is_julian() || !calendar::date_in_range(civil.days()) {
        return Err(Fault::ResultOverflow);
    }
    Ok(civil.days() as i32)
}

/// Reads either type of timestamp; `applied` says how much of the offset counts.
fn timestamp(
    text: &str,
    settings: &FormatSettings,
    now: Option<i64>,
    applied: fn(i32) -> i64,
) -> std::result::Result<i64, Fault> {
    let fields = lexer::split(text, TIMESTAMP_LIMIT)?;
    match decode::decode(&fields, settings, now)? {
        Decoded::Civil(civil, east) => instant(&civil, applied(east)).ok_or(Fault::ResultOverflow),
        Decoded::Special(Special::Infinity) => Ok(i64::MAX),
        Decoded::Special(Special::NegativeInfinity) => Ok(i64::MIN),
        Decoded::Special(_) => Ok(-UNIX_SECONDS_AT_EPOCH * MICROS_PER_SECOND),
    }
}

/// The instant at which clocks so many seconds east show a civil time, if a timestamp holds it.
pub(super) fn instant(civil: &Civil, east_seconds: i64) -> Option<i64> {
    if !civil.is_julian() {
        return None;
    }
    let local = civil.days().checked_mul(MICROS_PER_DAY)?.checked_add(civil.time())?;
    let instant = local.checked_sub(east_seconds * MICROS_PER_SECOND)?;
    calendar::timestamp_in_range(instant).then_some(instant)
}
