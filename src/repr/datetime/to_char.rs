//! `to_char` of timestamps and intervals.

use std::fmt::Write;

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::is_finite_timestamp;
use crate::repr::datetime::calendar::{
    self, Civil, JULIAN_DAY_AT_EPOCH, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    days_from_civil,
};
use crate::repr::datetime::names::{DAYS, MONTHS, ROMAN_MONTHS};
use crate::repr::datetime::template::{Case, Item, Key, Pattern, Template};
use crate::repr::datetime::zone::TimeZone;

/// `to_char(timestamp, template)`; NULL of an infinite one and of an empty template.
pub fn timestamp_to_char(timestamp: i64, template: &Template) -> Option<String> {
    let moment = Moment::of_civil(timestamp, None)?;
    // Only an interval has no calendar.
    if template.items.is_empty() { None } else { moment.written(template).ok() }
}

/// `to_char(timestamptz, template)` on the clocks of a zone; NULL as of a timestamp.
pub fn timestamptz_to_char(timestamp: i64, template: &Template, zone: &TimeZone) -> Option<String> {
    let moment = Moment::of_civil(timestamp, Some(zone))?;
    if template.items.is_empty() { None } else { moment.written(template).ok() }
}

/// `to_char(interval, template)`; NULL of an empty template.
pub fn interval_to_char(interval: &Interval, template: &Template) -> Result<Option<String>> {
    if template.items.is_empty() {
        return Ok(None);
    }
    Moment::of_interval(interval).written(template).map(Some)
}

/// What the patterns show, of a timestamp or of an interval.
struct Moment {
    is_interval: bool,
    year: i32,
    month: i32,
    day: i32,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    weekday: i32,
    day_of_year: i64,
    east_seconds: i32,
    zone: String,
}

impl Moment {
    fn of_civil(timestamp: i64, zone: Option<&TimeZone>) -> Option<Moment> {
        if !is_finite_timestamp(timestamp) {
            return None;
        }
        let (east_seconds, zone) = match zone.map(|zone| zone.info_at(timestamp)) {
            Some(info) => (info.east_seconds, info.abbreviation),
            None => (0, String::new()),
        };
        let east = i64::from(east_seconds) * MICROS_PER_SECOND;
        let civil = Civil::from_micros(timestamp.saturating_add(east));
        let days = civil.days();
        Some(Moment {
            is_interval: false,
            year: civil.year,
            month: civil.month,
            day: civil.day,
            hour: i64::from(civil.hour),
            minute: i64::from(civil.minute),
            second: i64::from(civil.second),
            micros: i64::from(civil.micros),
            weekday: calendar::day_of_week(days),
            day_of_year: i64::from(calendar::day_of_year(days)),
            east_seconds,
            zone,
        })
    }

    fn of_interval(interval: &Interval) -> Moment {
        let Interval { months, days, micros } = *interval;
        Moment {
            is_interval: true,
            year: months / 12,
            month: months % 12,
            day: days,
            hour: micros / MICROS_PER_HOUR,
            minute: micros % MICROS_PER_HOUR / MICROS_PER_MINUTE,
            second: micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
            micros: micros % MICROS_PER_SECOND,
            weekday: 0,
            // All of it in days.
            day_of_year: i64::from(months) * 30 + i64::from(days),
            east_seconds: 0,
            zone: String::new(),
        }
    }

    fn written(&self, template: &Template) -> Result<String> {
        let mut out = String::new();
        for item in &template.items {
            match item {
                Item::Pattern(pattern) => {
                    let start = out.len();
                    let counts = self.write(pattern, &mut out)?;
                    if let Some(case) = pattern.ordinal.filter(|_| counts) {
                        push_ordinal(&mut out, start, case);
                    }
                }
                Item::Literal(c) | Item::Separator(c) | Item::Space(c) => out.push(*c),
            }
        }
        Ok(out)
    }

    /// Days from 2000-01-01; an interval's fields are taken for a date's, as PostgreSQL does.
    fn days(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// The year as its era counts it.
    fn shown_year(&self, year: i32) -> i64 {
        let year = i64::from(year);
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    /// Appends one pattern, and says whether it is a number that can have an ordinal's ending.
    fn write(&self, pattern: &Pattern, out: &mut String) -> Result<bool> {
        let name = match pattern.key {
            Key::DottedMeridiem if self.is_afternoon() => "P.M.",
            Key::DottedMeridiem => "A.M.",
            Key::Meridiem if self.is_afternoon() => "PM",
            Key::Meridiem => "AM",
            Key::RomanMonth => self.roman_month(),
            Key::Exact => "",
            Key::DottedEra
            | Key::Era
            | Key::MonthName
            | Key::ShortMonthName
            | Key::DayName
            | Key::ShortDayName
            | Key::Zone
            | Key::Offset
            | Key::ZoneHour
            | Key::ZoneMinute
            | Key::DayOfWeek
            | Key::IsoDayOfWeek
                if self.is_interval =>
            {
                let message = "invalid format specification for an interval value";
                return Err(Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
                    .with_hint("Intervals are not tied to specific calendar dates."));
            }
            Key::DottedEra if self.year <= 0 => "B.C.",
            Key::DottedEra => "A.D.",
            Key::Era if self.year <= 0 => "BC",
            Key::Era => "AD",
            Key::MonthName => MONTHS[self.month as usize - 1],
            Key::ShortMonthName => &MONTHS[self.month as usize - 1][..3],
            Key::DayName => DAYS[self.weekday as usize],
            Key::ShortDayName => &DAYS[self.weekday as usize][..3],
            Key::Zone if pattern.case == Case::Lower => {
                out.push_str(&self.zone.to_lowercase());
                ""
            }
            Key::Zone => {
                out.push_str(&self.zone);
                ""
            }
            Key::Offset | Key::ZoneHour | Key::ZoneMinute => {
                self.write_offset(pattern, out);
                ""
            }
            _ => return Ok(self.write_number(pattern, out)),
        };
        push_name(name, pattern, out);
        Ok(false)
    }

    fn is_afternoon(&self) -> bool {
        self.hour % 24 >= 12
    }

    fn roman_month(&self) -> &'static str {
        match self.month {
            0 if self.year == 0 => "",
            // Twelve months are a year and none: the last month of it, or the first.
            0 if self.year > 0 => ROMAN_MONTHS[11],
            0 => ROMAN_MONTHS[0],
            month if month < 0 => ROMAN_MONTHS[(12 + month) as usize],
            month => ROMAN_MONTHS[month as usize - 1],
        }
    }

    fn write_offset(&self, pattern: &Pattern, out: &mut String) {
        let sign = if self.east_seconds < 0 { '-' } else { '+' };
        let rest = self.east_seconds.unsigned_abs();
        let (hours, minutes) = (rest / 3600, rest % 3600 / 60);
        // Writing to a string cannot fail.
        let _ = match pattern.key {
            Key::ZoneHour => write!(out, "{sign}{hours:02}"),
            Key::ZoneMinute => write!(out, "{minutes:02}"),
            _ if pattern.fill => write!(out, "{sign}{hours}"),
            _ => write!(out, "{sign}{hours:02}"),
        };
        if pattern.key == Key::Offset && minutes != 0 {
            let _ = write!(out, ":{minutes:02}");
        }
    }

    /// Appends a number; `false` where the pattern shows none.
    fn write_number(&self, pattern: &Pattern, out: &mut String) -> bool {
        let Some(value) = self.number(pattern.key) else { return false };
        let year = self.shown_year(self.year);
        // The digits that are padded to, and what gives a sign a place of its own.
        let (digits, signed) = match pattern.key {
            Key::Hour12 | Key::Hour24 => (2, self.hour),
            Key::Minute => (2, self.minute),
            Key::Second => (2, self.second),
            Key::Month => (2, i64::from(self.month)),
            Key::Day | Key::Week | Key::IsoWeek => (2, 0),
            Key::DayOfYear | Key::IsoDayOfYear => (3, 0),
            Key::Year | Key::IsoYear => (4, year),
            Key::ShortYear(digits) | Key::IsoShortYear(digits) if digits > 1 => {
                (digits as usize, year)
            }
            Key::Century if value.abs() <= 99 => (2, value),
            Key::Millisecond => (3, 0),
            Key::Microsecond => (6, 0),
            Key::Fraction(digits) => (digits as usize, 0),
            _ => (0, 0),
        };
        let is_fraction =
            matches!(pattern.key, Key::Millisecond | Key::Microsecond | Key::Fraction(_));
        let width = digits + usize::from(signed < 0);
        let _ = match pattern.key {
            Key::YearWithComma => write!(out, "{},{:03}", value / 1000, value % 1000),
            _ if pattern.fill && !is_fraction => write!(out, "{value}"),
            _ => write!(out, "{value:0width$}"),
        };
        true
    }

    /// The number that a pattern shows.
    fn number(&self, key: Key) -> Option<i64> {
        Some(match key {
            Key::Hour12 => match self.hour % 12 {
                0 => 12,
                hour => hour,
            },
            Key::Hour24 => self.hour,
            Key::Minute => self.minute,
            Key::Second => self.second,
            Key::Millisecond => self.micros / 1000,
            Key::Microsecond => self.micros,
            Key::Fraction(digits) => self.micros / 10_i64.pow(6 - digits),
            Key::SecondOfDay => self.hour * 3600 + self.minute * 60 + self.second,
            Key::Month => i64::from(self.month),
            Key::Day => i64::from(self.day),
            Key::DayOfYear => self.day_of_year,
            Key::DayOfWeek => i64::from(self.weekday) + 1,
            Key::IsoDayOfWeek => i64::from((self.weekday + 6) % 7) + 1,
            Key::Week => (self.day_of_year - 1) / 7 + 1,
            Key::WeekOfMonth => (i64::from(self.day) - 1) / 7 + 1,
            Key::Julian => self.days() + JULIAN_DAY_AT_EPOCH,
            Key::Quarter if self.month == 0 => return None,
            Key::Quarter => (i64::from(self.month) - 1) / 3 + 1,
            Key::IsoWeek => i64::from(calendar::iso_week(self.days()).1),
            Key::IsoDayOfYear => {
                let days = self.days();
                days - calendar::monday_of_iso_week(calendar::iso_week(days).0, 1) + 1
            }
            Key::Century => self.century(),
            Key::Year | Key::YearWithComma => self.shown_year(self.year),
            Key::IsoYear => self.iso_year(),
            Key::ShortYear(digits) => self.shown_year(self.year) % 10_i64.pow(digits),
            Key::IsoShortYear(digits) => self.iso_year() % 10_i64.pow(digits),
            _ => return None,
        })
    }

    fn iso_year(&self) -> i64 {
        self.shown_year(calendar::iso_week(self.days()).0)
    }

    fn century(&self) -> i64 {
        let year = i64::from(self.year);
        match year {
            _ if self.is_interval => year / 100,
            1.. => (year - 1) / 100 + 1,
            // Year 0 is 1 BC.
            _ => year / 100 - 1,
        }
    }
}

/// Appends a name in the case of its pattern, padded where it is one of a month or a day.
fn push_name(name: &str, pattern: &Pattern, out: &mut String) {
    let width = match pattern.key {
        _ if pattern.fill || pattern.translated || name.is_empty() => 0,
        Key::MonthName | Key::DayName => 9,
        Key::RomanMonth => 4,
        _ => 0,
    };
    let _ = match pattern.case {
        Case::Upper => write!(out, "{:width$}", name.to_ascii_uppercase()),
        Case::Capital => write!(out, "{name:width$}"),
        Case::Lower => write!(out, "{:width$}", name.to_ascii_lowercase()),
    };
}

/// Appends the ending of an ordinal to the number that starts at `start`.
fn push_ordinal(out: &mut String, start: usize, case: Case) {
    let mut digits = out[start..].bytes().rev();
    let (last, before) = (digits.next(), digits.next());
    let ending = match last {
        _ if before == Some(b'1') => "th",
        Some(b'1') => "st",
        Some(b'2') => "nd",
        Some(b'3') => "rd",
        _ => "th",
    };
    match case {
        Case::Lower => out.push_str(ending),
        _ => out.push_str(&ending.to_ascii_uppercase()),
    }
}
