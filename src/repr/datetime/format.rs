//! Dates, times and timestamps as text, in the four styles of `DateStyle`.

use std::fmt::Write;

use crate::repr::datetime::calendar::{self, Civil, MICROS_PER_SECOND};
use crate::repr::settings::{DateOrder, DateOutput, DateStyle, FormatSettings};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/// Appends a number with at least so many digits.
pub(super) fn push_padded(out: &mut String, value: u64, width: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    let mut rest = value;
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let at = at.min(digits.len().saturating_sub(width));
    out.extend(digits[at..].iter().map(|digit| *digit as char));
}

fn push_two(out: &mut String, value: i32) {
    push_padded(out, u64::from(value.unsigned_abs()), 2);
}

/// Appends a `date`, days from 2000-01-01.
pub fn format_date(days: i32, settings: &FormatSettings, out: &mut String) {
    match days {
        i32::MIN => return out.push_str("-infinity"),
        i32::MAX => return out.push_str("infinity"),
        _ => {}
    }
    let (year, month, day) = calendar::civil_from_days(i64::from(days));
    let civil = Civil { year, month, day, ..Civil::default() };
    let DateStyle { style, order } = settings.date_style;
    match (style, order) {
        (DateOutput::Iso, _) => push_year_first(out, &civil, '-'),
        (DateOutput::Sql, DateOrder::Dmy) => push_numbers(out, day, month, year, '/'),
        (DateOutput::Sql, _) => push_numbers(out, month, day, year, '/'),
        (DateOutput::German, _) => push_numbers(out, day, month, year, '.'),
        (DateOutput::Postgres, DateOrder::Dmy) => push_numbers(out, day, month, year, '-'),
        (DateOutput::Postgres, _) => push_numbers(out, month, day, year, '-'),
    }
    push_era(out, year);
}

/// Appends a `time`, microseconds from midnight.
pub fn format_time(micros: i64, out: &mut String) {
    push_clock(out, &Civil::from_time(micros));
}

/// Appends a `timestamp`, microseconds from 2000-01-01.
pub fn format_timestamp(micros: i64, settings: &FormatSettings, out: &mut String) {
    if !push_infinity(micros, out) {
        push_timestamp(out, &Civil::from_micros(micros), settings.date_style, None);
    }
}

/// Appends a `timestamptz`, microseconds from 2000-01-01 in UTC, as the session's clocks show it.
pub fn format_timestamptz(micros: i64, settings: &FormatSettings, out: &mut String) {
    if push_infinity(micros, out) {
        return;
    }
    let zone = &settings.time_zone;
    let east = zone.offset_at(micros);
    let local = micros.saturating_add(i64::from(east) * MICROS_PER_SECOND);
    let civil = Civil::from_micros(local);
    let abbreviation = match settings.date_style.style {
        DateOutput::Iso => String::new(),
        _ => zone.info_at(micros).abbreviation,
    };
    push_timestamp(out, &civil, settings.date_style, Some((east, &abbreviation)));
}

fn push_infinity(micros: i64, out: &mut String) -> bool {
    match micros {
        i64::MIN => out.push_str("-infinity"),
        i64::MAX => out.push_str("infinity"),
        _ => return false,
    }
    true
}

fn push_timestamp(
    out: &mut String,
    civil: &Civil,
    DateStyle { style, order }: DateStyle,
    zone: Option<(i32, &str)>,
) {
    let Civil { year, month, day, .. } = *civil;
    match (style, order) {
        (DateOutput::Iso, _) => push_year_first(out, civil, '-'),
        (DateOutput::Sql, DateOrder::Dmy) => push_numbers(out, day, month, year, '/'),
        (DateOutput::Sql, _) => push_numbers(out, month, day, year, '/'),
        (DateOutput::German, _) => push_numbers(out, day, month, year, '.'),
        (DateOutput::Postgres, _) => {
            out.push_str(WEEKDAYS[calendar::day_of_week(civil.days()) as usize]);
            out.push(' ');
            let name = MONTHS[(month - 1) as usize];
            if order == DateOrder::Dmy {
                push_two(out, day);
                out.push(' ');
                out.push_str(name);
            } else {
                out.push_str(name);
                out.push(' ');
                push_two(out, day);
            }
            out.push(' ');
            push_clock(out, civil);
            out.push(' ');
            push_year(out, year);
        }
    }
    if style != DateOutput::Postgres {
        out.push(' ');
        push_clock(out, civil);
    }
    if let Some((east, abbreviation)) = zone {
        if style == DateOutput::Iso {
            push_offset(out, east);
        } else {
            out.push(' ');
            out.extend(abbreviation.chars().take(10));
        }
    }
    push_era(out, year);
}

/// The year as its era counts it.
fn year_of_era(year: i32) -> i64 {
    if year > 0 { i64::from(year) } else { 1 - i64::from(year) }
}

fn push_year(out: &mut String, year: i32) {
    push_padded(out, year_of_era(year) as u64, 4);
}

fn push_era(out: &mut String, year: i32) {
    if year <= 0 {
        out.push_str(" BC");
    }
}

fn push_year_first(out: &mut String, civil: &Civil, delimiter: char) {
    push_year(out, civil.year);
    out.push(delimiter);
    push_two(out, civil.month);
    out.push(delimiter);
    push_two(out, civil.day);
}

fn push_numbers(out: &mut String, first: i32, second: i32, year: i32, delimiter: char) {
    push_two(out, first);
    out.push(delimiter);
    push_two(out, second);
    out.push(delimiter);
    push_year(out, year);
}

fn push_clock(out: &mut String, civil: &Civil) {
    push_two(out, civil.hour);
    out.push(':');
    push_two(out, civil.minute);
    out.push(':');
    push_two(out, civil.second);
    push_fraction(out, civil.micros);
}

/// Appends a point and the digits of a fraction of a second, without zeros at the end.
pub(super) fn push_fraction(out: &mut String, micros: i32) {
    if micros != 0 {
        out.push('.');
        push_padded(out, u64::from(micros.unsigned_abs()), 6);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends `+05:30`, with minutes and seconds where they are not zero.
pub(super) fn push_offset(out: &mut String, east_seconds: i32) {
    out.push(if east_seconds < 0 { '-' } else { '+' });
    let rest = east_seconds.unsigned_abs();
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    // Writing to a string cannot fail.
    let _ = if seconds != 0 {
        write!(out, "{hours:02}:{minutes:02}:{seconds:02}")
    } else if minutes != 0 {
        write!(out, "{hours:02}:{minutes:02}")
    } else {
        write!(out, "{hours:02}")
    };
}
