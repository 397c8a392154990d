//! Instants with nanoseconds: the type `timestamp_ns`, which PostgreSQL does not have.
//!
//! A value is an instant, as a `timestamptz` is: nanoseconds from 1970-01-01 in UTC, in 64 bits,
//! which reach from 1677-09-21 00:12:43.145224192 to 2262-04-11 23:47:16.854775807 in UTC. There
//! are no infinities. It is read as a `timestamptz` is, with nine digits behind the point instead
//! of six, the last one rounded; it is printed in ISO 8601 whatever DateStyle says, on the clocks
//! of the session's time zone. Its binary form is the 64 bits, big-endian.
//!
//! What only knows microseconds, as an interval does, gets those that have passed: the rest is cut
//! off, towards the past.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::{
    date_bin, is_finite_timestamp, timestamp_difference, timestamptz_add,
};
use crate::repr::datetime::calendar::{MICROS_PER_SECOND, UNIX_SECONDS_AT_EPOCH};
use crate::repr::datetime::extract::{Extracted, extract_timestamptz};
use crate::repr::datetime::format::{format_timestamptz, push_padded};
use crate::repr::datetime::keywords::Unit;
use crate::repr::datetime::parse::parse_timestamptz;
use crate::repr::datetime::truncate::truncate_timestamptz;
use crate::repr::datetime::units::field_unit;
use crate::repr::datetime::zone::TimeZone;
use crate::repr::settings::{DateOrder, DateOutput, DateStyle, FormatSettings};

const NANOS_PER_MICRO: i64 = 1000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Microseconds from 1970-01-01 to 2000-01-01.
const EPOCH: i64 = UNIX_SECONDS_AT_EPOCH * MICROS_PER_SECOND;

fn out_of_range() -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp_ns out of range")
}

/// The microseconds of a `timestamptz` that have passed, and the nanoseconds since.
pub fn nanos_to_timestamptz(nanos: i64) -> (i64, i64) {
    let (micros, rest) = (nanos.div_euclid(NANOS_PER_MICRO), nanos.rem_euclid(NANOS_PER_MICRO));
    (micros - EPOCH, rest)
}

/// The nanoseconds of a `timestamptz`.
///
/// # Errors
///
/// 22008 where they do not fit, or it is infinite.
pub fn nanos_from_timestamptz(micros: i64) -> Result<i64> {
    joined(micros, 0)
}

fn joined(micros: i64, rest: i64) -> Result<i64> {
    if !is_finite_timestamp(micros) {
        return Err(out_of_range());
    }
    let nanos = (i128::from(micros) + i128::from(EPOCH)) * i128::from(NANOS_PER_MICRO);
    i64::try_from(nanos + i128::from(rest)).map_err(|_| out_of_range())
}

/// How an instant compares with a `timestamptz`.
pub fn nanos_compare_timestamptz(nanos: i64, micros: i64) -> std::cmp::Ordering {
    let (own, rest) = nanos_to_timestamptz(nanos);
    own.cmp(&micros).then(rest.cmp(&0))
}

/// Where in a text the digits behind the point of its seconds stand.
fn fraction(text: &str) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let is_digits = |range: &[u8]| range.iter().all(u8::is_ascii_digit);
    let ends_clock = |point: usize| match &bytes[..point] {
        [.., b':', tens, ones] => is_digits(&[*tens, *ones]),
        head => match head.last_chunk::<7>() {
            Some([b'T' | b't', clock @ ..]) => is_digits(clock),
            _ => false,
        },
    };
    let point = (0..bytes.len()).find(|at| bytes[*at] == b'.' && ends_clock(*at))?;
    let digits = bytes[point + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    (digits > 0).then_some(point + 1..point + 1 + digits)
}

/// Reads an instant.
///
/// # Errors
///
/// 22007, 22008 and 22009 as for a `timestamptz`, 22008 where 64 bits do not hold it.
pub fn parse_timestamp_ns(text: &str, settings: &FormatSettings) -> Result<i64> {
    let told = |error: Error| Error {
        message: error.message.replace("timestamp with time zone", "timestamp_ns"),
        ..error
    };
    let too_far = || {
        let message = format!("timestamp_ns out of range: \"{text}\"");
        Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    };
    let (micros, rest) = match fraction(text) {
        None => (parse_timestamptz(text, settings).map_err(told)?, 0),
        Some(range) => {
            // A whole second is read, so that nothing is rounded to microseconds.
            let whole = format!("{}0{}", &text[..range.start], &text[range.end..]);
            let micros = parse_timestamptz(&whole, settings).map_err(|error| {
                let message = error.message.replace(whole.as_str(), text);
                told(Error { message, ..error })
            })?;
            (micros, nanos_of(&text[range]))
        }
    };
    joined(micros, rest).map_err(|_| too_far())
}

/// The nanoseconds that a fraction of a second is nearest to.
fn nanos_of(digits: &str) -> i64 {
    let (kept, rest) = digits.split_at(digits.len().min(9));
    let value = kept.bytes().fold(0, |value, digit| 10 * value + i64::from(digit - b'0'));
    let scale = 10_i64.pow(9 - kept.len() as u32);
    value * scale + i64::from(rest.as_bytes().first().is_some_and(|digit| *digit >= b'5'))
}

/// Appends an instant in ISO 8601, as the session's clocks show it.
pub fn format_timestamp_ns(nanos: i64, settings: &FormatSettings, out: &mut String) {
    let date_style = DateStyle { style: DateOutput::Iso, order: DateOrder::Mdy };
    let settings = FormatSettings { date_style, ..settings.clone() };
    let second = nanos.div_euclid(NANOS_PER_SECOND);
    let rest = nanos.rem_euclid(NANOS_PER_SECOND);
    let start = out.len();
    format_timestamptz(second * MICROS_PER_SECOND - EPOCH, &settings, out);
    if rest != 0 {
        // The clock has eight characters behind the space.
        let at = start + out[start..].find(' ').map_or(0, |space| space + 9);
        let offset = out.split_off(at);
        out.push('.');
        push_padded(out, rest as u64, 9);
        out.truncate(out.trim_end_matches('0').len());
        out.push_str(&offset);
    }
}

/// `timestamp_ns + interval`, on the clocks of a zone.
pub fn timestamp_ns_add(nanos: i64, interval: &Interval, zone: &TimeZone) -> Result<i64> {
    let (micros, rest) = nanos_to_timestamptz(nanos);
    let moved = timestamptz_add(micros, interval, zone).map_err(|_| out_of_range())?;
    joined(moved, rest)
}

/// `timestamp_ns - timestamp_ns`, as an interval.
pub fn timestamp_ns_difference(left: i64, right: i64) -> Result<Interval> {
    let micros = (i128::from(left) - i128::from(right)).div_euclid(i128::from(NANOS_PER_MICRO));
    let micros = i64::try_from(micros).map_err(|_| out_of_range())?;
    timestamp_difference(micros, 0)
}

/// `timestamp_ns + bigint`: that many nanoseconds later.
pub fn timestamp_ns_add_nanos(nanos: i64, count: i64) -> Result<i64> {
    nanos.checked_add(count).ok_or_else(out_of_range)
}

/// `timestamp_ns - bigint`.
pub fn timestamp_ns_subtract_nanos(nanos: i64, count: i64) -> Result<i64> {
    nanos.checked_sub(count).ok_or_else(out_of_range)
}

/// `date_trunc(unit, timestamp_ns)`, on the clocks of a zone.
pub fn truncate_timestamp_ns(unit: &str, nanos: i64, zone: &TimeZone) -> Result<i64> {
    joined(truncate_timestamptz(unit, nanos_to_timestamptz(nanos).0, zone)?, 0)
}

/// `date_bin(stride, source, origin)`: the start of the stride that holds an instant.
pub fn bin_timestamp_ns(stride: &Interval, source: i64, origin: i64) -> Result<i64> {
    let (from, rest) = nanos_to_timestamptz(origin);
    // Strides begin so many nanoseconds behind a microsecond as the origin does.
    let shifted = source.checked_sub(rest).ok_or_else(out_of_range)?;
    joined(date_bin(stride, nanos_to_timestamptz(shifted).0, from)?, rest)
}

/// `extract(field from timestamp_ns)`, on the clocks of a zone.
pub fn extract_timestamp_ns(field: &str, nanos: i64, zone: &TimeZone) -> Result<Extracted> {
    let (micros, rest) = nanos_to_timestamptz(nanos);
    let extracted = extract_timestamptz(field, micros, zone)?;
    let finer = |scale: u32| match extracted {
        Extracted::Number { unscaled, .. } => {
            let unscaled = unscaled * i128::from(NANOS_PER_MICRO) + i128::from(rest);
            Extracted::Number { unscaled, scale }
        }
        other => other,
    };
    Ok(match field_unit(field) {
        Some(Unit::Epoch | Unit::Second) => finer(9),
        Some(Unit::Millisecond) => finer(6),
        Some(Unit::Microsecond) => finer(3),
        _ => extracted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::settings::TimeZone;

    fn settings(zone: &str) -> FormatSettings {
        FormatSettings { time_zone: TimeZone::parse(zone).unwrap(), ..FormatSettings::default() }
    }

    #[test]
    fn text_goes_in_and_out() {
        let cases = [
            ("2024-02-29 12:34:56.123456789+00", "2024-02-29 12:34:56.123456789+00"),
            ("2024-02-29T12:34:56.1Z", "2024-02-29 12:34:56.1+00"),
            ("2024-02-29T123456.000000001Z", "2024-02-29 12:34:56.000000001+00"),
            ("2024-02-29 12:34:56.1234567895", "2024-02-29 12:34:56.12345679+00"),
            ("2024-02-29 12:34:56.9999999999", "2024-02-29 12:34:57+00"),
            ("2024-02-29", "2024-02-29 00:00:00+00"),
            ("1969-12-31 23:59:59.999999999", "1969-12-31 23:59:59.999999999+00"),
            ("29 Feb 2024 12:34:56.5 -03:30", "2024-02-29 16:04:56.5+00"),
            ("1677-09-21 00:12:43.145224192", "1677-09-21 00:12:43.145224192+00"),
            ("2262-04-11 23:47:16.854775807", "2262-04-11 23:47:16.854775807+00"),
        ];
        for (text, expected) in cases {
            let mut out = String::new();
            let nanos = parse_timestamp_ns(text, &settings("UTC")).unwrap();
            format_timestamp_ns(nanos, &settings("UTC"), &mut out);
            assert_eq!(out, expected, "{text}");
        }
        let mut out = String::new();
        format_timestamp_ns(-1, &settings("Asia/Kolkata"), &mut out);
        assert_eq!(out, "1970-01-01 05:29:59.999999999+05:30");
        for text in [
            "1677-09-21 00:12:43.145224191",
            "2262-04-11 23:47:16.854775808",
            "infinity",
            "2024-02-30 00:00:00.5",
        ] {
            let error = parse_timestamp_ns(text, &settings("UTC")).unwrap_err();
            assert_eq!(error.code, SqlState::DATETIME_FIELD_OVERFLOW, "{text}: {error}");
            assert!(error.message.contains(text), "{error}");
        }
        let error = parse_timestamp_ns("x 1:00:00.5", &settings("UTC")).unwrap_err();
        let message = "invalid input syntax for type timestamp_ns: \"x 1:00:00.5\"";
        assert_eq!(error.message, message);
    }

    #[test]
    fn bins_and_fields_are_exact() {
        let second = Interval { micros: 1_000_000, ..Interval::default() };
        assert_eq!(bin_timestamp_ns(&second, 2_000_000_004, 5).unwrap(), 1_000_000_005);
        assert_eq!(bin_timestamp_ns(&second, 2_000_000_005, 5).unwrap(), 2_000_000_005);
        assert_eq!(bin_timestamp_ns(&second, -1, 0).unwrap(), -1_000_000_000);
        let utc = TimeZone::utc();
        let epoch = extract_timestamp_ns("epoch", -1, &utc).unwrap();
        assert_eq!(epoch, Extracted::Number { unscaled: -1, scale: 9 });
        let second = extract_timestamp_ns("second", -1, &utc).unwrap();
        assert_eq!(second, Extracted::Number { unscaled: 59_999_999_999, scale: 9 });
        assert!(nanos_compare_timestamptz(1, -EPOCH).is_gt());
        assert!(nanos_compare_timestamptz(0, -EPOCH).is_eq());
    }
}
