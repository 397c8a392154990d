//! `to_timestamp` and `to_date`: text by a template.
//!
//! The template leads: each pattern takes what it can from where the text has come to. Outside of
//! `FX`, spaces before and after patterns are skipped, and a separator of the template takes one
//! of the text, whichever it is, or nothing. What the text has beyond the template is ignored.

use crate::error::{Error, Result, SqlState};
use crate::repr::datetime::calendar::{
    self, Civil, JULIAN_DAY_AT_EPOCH, civil_from_days, days_in_month, monday_of_iso_week,
};
use crate::repr::datetime::fault::{Fault, out_of_range};
use crate::repr::datetime::names::{DAYS, MONTHS, ROMAN_MONTHS};
use crate::repr::datetime::parse::{instant, round_to_precision};
use crate::repr::datetime::template::{Item, Key, Pattern, Template, is_separator};
use crate::repr::datetime::zone::TimeZone;

/// `to_timestamp(text, template)`, in a zone where the text names no offset.
pub fn to_timestamp(text: &str, template: &Template, zone: &TimeZone) -> Result<i64> {
    let fields = read(text, template, false)?;
    let (civil, east) = fields.resolve(text)?;
    let local = civil.micros().unwrap_or(i64::MAX / 2);
    let east = east.unwrap_or_else(|| zone.offset_of_local(local));
    let found = instant(&civil, i64::from(east)).ok_or_else(|| out_of_range("timestamp"))?;
    let digits = fields.fraction_digits;
    Ok(if digits == 0 { found } else { round_to_precision(found, digits as i32) })
}

/// `to_date(text, template)`.
pub fn to_date(text: &str, template: &Template) -> Result<i32> {
    let (civil, _) = read(text, template, false)?.resolve(text)?;
    if !civil.is_julian() || !calendar::date_in_range(civil.days()) {
        return Err(Fault::ResultOverflow.into_error("date", text));
    }
    Ok(civil.days() as i32)
}

/// What a text says by a template that it must match whole: the civil time, the offset in seconds
/// east if there is one, and how many digits a fraction was asked to have.
pub(super) fn read_standard(text: &str, template: &Template) -> Result<(Civil, Option<i32>, u32)> {
    let fields = read(text, template, true)?;
    let (civil, east) = fields.resolve(text)?;
    Ok((civil, east, fields.fraction_digits))
}

/// The calendar that a template counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calendar {
    Gregorian,
    IsoWeek,
}

/// What the patterns found. Zero is unset, as in PostgreSQL: a pattern may come twice with one
/// value, and a zero never contradicts.
#[derive(Clone, Debug, Default)]
struct Fields {
    calendar: Option<Calendar>,
    twelve_hours: bool,
    afternoon: i32,
    hour: i32,
    minute: i32,
    second: i32,
    second_of_day: i32,
    millis: i32,
    micros: i32,
    fraction_digits: u32,
    /// Sunday is 1.
    weekday: i32,
    day: i32,
    day_of_year: i32,
    month: i32,
    year: i32,
    year_digits: u32,
    before_christ: i32,
    century: i32,
    week: i32,
    week_of_month: i32,
    julian: i32,
    zone_sign: i32,
    zone_hour: i32,
    zone_minute: i32,
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

struct Reader<'a> {
    rest: &'a str,
    /// The character before `rest`, which may be a sign that was skipped.
    before: Option<char>,
    /// Characters skipped beyond what the template has.
    skipped: i32,
    exact: bool,
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Reads by a template. `standard` is as the SQL standard wants it: what stands between patterns
/// must be there as it is, and nothing may be left of the text or of the template.
fn read(text: &str, template: &Template, standard: bool) -> Result<Fields> {
    let mut fields = Fields::default();
    let mut reader = Reader { rest: text, before: None, skipped: 0, exact: standard };
    for (index, item) in template.items.iter().enumerate() {
        if reader.rest.is_empty() {
            if standard {
                let message = "input string is too short for datetime format";
                return Err(invalid(message.to_owned()));
            }
            break;
        }
        let is_exact = matches!(item, Item::Pattern(Pattern { key: Key::Exact, .. }));
        if !reader.exact && !is_exact && (matches!(item, Item::Pattern(_)) || index == 0) {
            reader.skip_spaces();
        }
        match item {
            Item::Space(c) | Item::Separator(c) | Item::Literal(c) if standard => {
                if !reader.rest.starts_with(*c) {
                    let literal = matches!(item, Item::Literal(_));
                    let what = if literal { "character" } else { "separator" };
                    return Err(invalid(format!("unmatched format {what} \"{c}\"")));
                }
                reader.advance();
            }
            Item::Space(_) | Item::Separator(_) => reader.separator(),
            Item::Literal(_) => reader.literal(),
            Item::Pattern(pattern) => {
                let counted = !ends_number(pattern, template.items.get(index + 1));
                fields.pattern(pattern, counted, &mut reader)?;
                if !reader.exact {
                    reader.skipped = 0;
                    reader.skip_spaces();
                }
            }
        }
    }
    if standard && !reader.rest.trim_start_matches(is_space).is_empty() {
        let message = "trailing characters remain in input string after datetime format";
        return Err(invalid(message.to_owned()));
    }
    Ok(fields)
}

/// Whether what follows a pattern cannot be taken for more of its digits.
fn ends_number(pattern: &Pattern, next: Option<&Item>) -> bool {
    pattern.fill
        || pattern.ordinal.is_some()
        || match next {
            None => true,
            Some(Item::Pattern(next)) => !next.key.is_digits(),
            Some(Item::Literal(c) | Item::Separator(c) | Item::Space(c)) => !c.is_ascii_digit(),
        }
}

impl Reader<'_> {
    fn advance(&mut self) {
        let mut chars = self.rest.chars();
        self.before = chars.next().or(self.before);
        self.rest = chars.as_str();
    }

    fn advance_bytes(&mut self, count: usize) {
        self.before = self.rest[..count].chars().next_back().or(self.before);
        self.rest = &self.rest[count..];
    }

    fn skip_spaces(&mut self) {
        while self.rest.starts_with(is_space) {
            self.advance();
            self.skipped += 1;
        }
    }

    fn separator(&mut self) {
        if self.exact {
            return self.advance();
        }
        self.skipped -= 1;
        if self.rest.starts_with(|c| is_space(c) || is_separator(c)) {
            self.advance();
            self.skipped += 1;
        }
    }

    fn literal(&mut self) {
        // A character that was skipped too many stands for this one.
        if !self.exact && self.skipped > 0 {
            self.skipped -= 1;
        } else {
            self.advance();
        }
    }

    /// An integer of a pattern, and how many bytes it took. `counted` takes exactly so many
    /// characters.
    fn integer(&mut self, pattern: &Pattern, length: usize, counted: bool) -> Result<(i32, usize)> {
        let start = self.rest.len();
        let spaces = start - self.rest.trim_start_matches(is_space).len();
        let name = pattern.name;
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let (value, end) = if counted {
            let after = &self.rest[spaces..];
            if after.len() < length {
                let left = after.len();
                return Err(invalid(format!(
                    "source string too short for \"{name}\" formatting field"
                ))
                .with_detail(format!("Field requires {length} characters, but only {left} remain."))
                .with_hint(hint));
            }
            let whole = (0..=length).rev().find(|at| after.is_char_boundary(*at)).unwrap_or(0);
            let copy = &after[..whole];
            let (value, used) = integer_prefix(copy);
            if used > 0 && used < length {
                return Err(invalid(format!("invalid value \"{copy}\" for \"{name}\""))
                    .with_detail(format!(
                        "Field requires {length} characters, but only {used} could be parsed."
                    ))
                    .with_hint(hint));
            }
            (value, spaces + used)
        } else {
            let (value, used) = integer_prefix(self.rest);
            (value, used)
        };
        if end == 0 || end == spaces && counted && spaces == 0 {
            let shown: String = self.rest[spaces..].chars().take(length).collect();
            return Err(invalid(format!("invalid value \"{shown}\" for \"{name}\""))
                .with_detail("Value must be an integer."));
        }
        let value = value.and_then(|value| i32::try_from(value).ok()).ok_or_else(|| {
            let message = format!("value for \"{name}\" in source string is out of range");
            Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message).with_detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            ))
        })?;
        self.advance_bytes(end);
        Ok((value, start - self.rest.len()))
    }

    /// The index of the first of some names that the text goes on with, in any case of letters.
    fn name<S: AsRef<str>>(&mut self, pattern: &Pattern, names: &[S]) -> Result<i32> {
        let found = names.iter().position(|name| {
            let length = name.as_ref().len();
            let head = self.rest.get(..length);
            head.is_some_and(|head| head.eq_ignore_ascii_case(name.as_ref()))
        });
        let Some(found) = found else {
            let shown = self.rest.split(is_space).next().unwrap_or("");
            let name = pattern.name;
            return Err(invalid(format!("invalid value \"{shown}\" for \"{name}\"")).with_detail(
                "The given value did not match any of the allowed values for this field.",
            ));
        };
        self.advance_bytes(names[found].as_ref().len());
        Ok(found as i32)
    }
}

/// The integer at the start of a text, after spaces, as the C library reads it, and its bytes;
/// no value where it does not fit.
fn integer_prefix(text: &str) -> (Option<i64>, usize) {
    let trimmed = text.trim_start_matches(is_space);
    let sign = usize::from(trimmed.starts_with(['+', '-']));
    let digits = trimmed[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (Some(0), 0);
    }
    let number = &trimmed[..sign + digits];
    (number.parse().ok(), text.len() - trimmed.len() + number.len())
}

/// Sets a field that may have been set to the same value only.
fn set(field: &mut i32, value: i32, pattern: &Pattern) -> Result<()> {
    if *field != 0 && *field != value {
        let name = pattern.name;
        let message = format!("conflicting values for \"{name}\" field in formatting string");
        return Err(invalid(message)
            .with_detail("This value contradicts a previous setting for the same field type."));
    }
    *field = value;
    Ok(())
}

/// A year of fewer than four digits, taken to be near 2020.
fn year_near_2020(year: i32) -> i32 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// Scales the digits of a fraction that are there to so many that it has.
fn scaled(value: i32, used: usize, digits: usize) -> i32 {
    let missing = digits.saturating_sub(used) as u32;
    value.saturating_mul(10_i32.pow(missing))
}

impl Fields {
    fn pattern(&mut self, pattern: &Pattern, counted: bool, reader: &mut Reader<'_>) -> Result<()> {
        self.set_calendar(pattern.key)?;
        match pattern.key {
            Key::Exact => {
                reader.exact = true;
                return Ok(());
            }
            Key::Zone | Key::Offset => {
                let name = pattern.name;
                let message = format!("formatting field \"{name}\" is only supported in to_char");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            Key::DottedMeridiem | Key::Meridiem => {
                let dotted = pattern.key == Key::DottedMeridiem;
                let names = if dotted { ["a.m.", "p.m."] } else { ["am", "pm"] };
                let value = reader.name(pattern, &names)?;
                self.twelve_hours = true;
                return set(&mut self.afternoon, value, pattern);
            }
            Key::DottedEra | Key::Era => {
                let dotted = pattern.key == Key::DottedEra;
                let names = if dotted { ["a.d.", "b.c."] } else { ["ad", "bc"] };
                let value = reader.name(pattern, &names)?;
                return set(&mut self.before_christ, value, pattern);
            }
            Key::MonthName => {
                let value = reader.name(pattern, &MONTHS)? + 1;
                return set(&mut self.month, value, pattern);
            }
            Key::ShortMonthName => {
                let value = reader.name(pattern, &MONTHS.map(|name| &name[..3]))? + 1;
                return set(&mut self.month, value, pattern);
            }
            Key::RomanMonth => {
                // From the last, so that `VIII` is not taken for `VII`.
                let mut names = ROMAN_MONTHS;
                names.reverse();
                let value = 12 - reader.name(pattern, &names)?;
                return set(&mut self.month, value, pattern);
            }
            Key::DayName | Key::ShortDayName => {
                let short = pattern.key == Key::ShortDayName;
                let names = DAYS.map(|name| if short { &name[..3] } else { name });
                // PostgreSQL compares before it counts from one; so do we.
                let value = reader.name(pattern, &names)?;
                set(&mut self.weekday, value, pattern)?;
                self.weekday += 1;
                return Ok(());
            }
            Key::ZoneHour => self.zone_hour(pattern, counted, reader)?,
            Key::YearWithComma => self.year_with_comma(pattern, reader)?,
            _ => self.number(pattern, counted, reader)?,
        }
        let of_zone = matches!(pattern.key, Key::ZoneHour | Key::ZoneMinute);
        if pattern.ordinal.is_some() && !of_zone {
            reader.advance();
            reader.advance();
        }
        Ok(())
    }

    fn set_calendar(&mut self, key: Key) -> Result<()> {
        let calendar = match key {
            Key::IsoYear
            | Key::IsoShortYear(_)
            | Key::IsoWeek
            | Key::IsoDayOfYear
            | Key::IsoDayOfWeek => Calendar::IsoWeek,
            Key::Day
            | Key::DayOfYear
            | Key::DayOfWeek
            | Key::Month
            | Key::MonthName
            | Key::ShortMonthName
            | Key::RomanMonth
            | Key::Week
            | Key::WeekOfMonth
            | Key::Year
            | Key::ShortYear(_)
            | Key::YearWithComma => Calendar::Gregorian,
            _ => return Ok(()),
        };
        if self.calendar.is_some_and(|other| other != calendar) {
            return Err(invalid("invalid combination of date conventions".to_owned()).with_hint(
                "Do not mix Gregorian and ISO week date conventions in a formatting template.",
            ));
        }
        self.calendar = Some(calendar);
        Ok(())
    }

    fn zone_hour(
        &mut self,
        pattern: &Pattern,
        counted: bool,
        reader: &mut Reader<'_>,
    ) -> Result<()> {
        let skipped_minus = reader.skipped > 0 && reader.before == Some('-');
        if reader.rest.starts_with(['+', '-', ' ']) {
            self.zone_sign = if reader.rest.starts_with('-') { -1 } else { 1 };
            reader.advance();
        } else {
            // The sign may have been taken for a separator.
            self.zone_sign = if skipped_minus { -1 } else { 1 };
        }
        let (value, _) = reader.integer(pattern, 2, counted)?;
        set(&mut self.zone_hour, value, pattern)
    }

    fn year_with_comma(&mut self, pattern: &Pattern, reader: &mut Reader<'_>) -> Result<()> {
        let broken = || invalid("invalid input string for \"Y,YYY\"".to_owned());
        let (thousands, used) = integer_prefix(reader.rest);
        let thousands = thousands.filter(|_| used > 0).ok_or_else(broken)?;
        let after = reader.rest[used..].strip_prefix(',').ok_or_else(broken)?;
        let three: String = after.chars().take(3).collect();
        let (years, years_used) = integer_prefix(&three);
        let years = years.filter(|_| years_used > 0).ok_or_else(broken)?;
        let sum = thousands.checked_mul(1000).and_then(|sum| sum.checked_add(years));
        let year = sum.and_then(|sum| i32::try_from(sum).ok()).ok_or_else(broken)?;
        set(&mut self.year, year, pattern)?;
        self.year_digits = 4;
        reader.advance_bytes(used + 1 + years_used);
        Ok(())
    }

    fn number(&mut self, pattern: &Pattern, counted: bool, reader: &mut Reader<'_>) -> Result<()> {
        let length = match pattern.key {
            Key::Hour12 | Key::Hour24 | Key::Minute | Key::Second | Key::ZoneMinute => 2,
            Key::Millisecond | Key::IsoDayOfYear => 3,
            Key::Microsecond => 6,
            Key::Fraction(digits) => digits as usize,
            Key::IsoDayOfWeek => 1,
            _ => pattern.name.len(),
        };
        let (value, used) = reader.integer(pattern, length, counted)?;
        let field = match pattern.key {
            Key::Hour12 => {
                self.twelve_hours = true;
                &mut self.hour
            }
            Key::Hour24 => &mut self.hour,
            Key::Minute => &mut self.minute,
            Key::Second => &mut self.second,
            Key::SecondOfDay => &mut self.second_of_day,
            Key::Millisecond => {
                set(&mut self.millis, value, pattern)?;
                self.millis = scaled(value, used, 3);
                return Ok(());
            }
            Key::Microsecond | Key::Fraction(_) => {
                set(&mut self.micros, value, pattern)?;
                if let Key::Fraction(digits) = pattern.key {
                    self.fraction_digits = digits;
                }
                self.micros = scaled(value, used, 6);
                return Ok(());
            }
            Key::ZoneMinute => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                &mut self.zone_minute
            }
            Key::Month => &mut self.month,
            Key::Day => &mut self.day,
            Key::DayOfYear | Key::IsoDayOfYear => &mut self.day_of_year,
            Key::DayOfWeek => &mut self.weekday,
            Key::IsoDayOfWeek => {
                set(&mut self.weekday, value, pattern)?;
                self.weekday = if value >= 7 { 1 } else { value + 1 };
                return Ok(());
            }
            Key::Week | Key::IsoWeek => &mut self.week,
            Key::WeekOfMonth => &mut self.week_of_month,
            Key::Julian => &mut self.julian,
            Key::Century => &mut self.century,
            Key::Year | Key::IsoYear => {
                self.year_digits = 4;
                &mut self.year
            }
            Key::ShortYear(digits) | Key::IsoShortYear(digits) => {
                set(&mut self.year, value, pattern)?;
                if used < 4 {
                    self.year = year_near_2020(value);
                }
                self.year_digits = digits;
                return Ok(());
            }
            // A quarter is read and not used: it names no day.
            _ => return Ok(()),
        };
        set(field, value, pattern)
    }

    /// The civil time of the fields, and the offset in seconds east if there is one.
    fn resolve(&self, text: &str) -> Result<(Civil, Option<i32>)> {
        let mut civil = self.time()?;
        let validated = self.date(&mut civil)?;
        let fraction = i64::from(self.millis) * 1000 + i64::from(self.micros);
        let Civil { year, month, day, hour, minute, second, .. } = civil;
        let well = !validated
            || (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
        let on_clock = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..1_000_000).contains(&fraction);
        let in_zone = self.zone_sign == 0
            || (0..=15).contains(&self.zone_hour) && (0..60).contains(&self.zone_minute);
        if !well || !on_clock {
            return Err(Fault::FieldOverflow.into_error("timestamp", text));
        }
        if !in_zone {
            return Err(Fault::ZoneDisplacement.into_error("timestamp", text));
        }
        civil.micros = fraction as i32;
        let seconds = self.zone_hour * 3600 + self.zone_minute * 60;
        Ok((civil, (self.zone_sign != 0).then_some(self.zone_sign * seconds)))
    }

    fn time(&self) -> Result<Civil> {
        let mut civil = Civil { month: 1, day: 1, ..Civil::default() };
        if self.second_of_day != 0 {
            civil.hour = self.second_of_day / 3600;
            civil.minute = self.second_of_day % 3600 / 60;
            civil.second = self.second_of_day % 60;
        }
        let given = |value: i32, otherwise: i32| if value != 0 { value } else { otherwise };
        civil.second = given(self.second, civil.second);
        civil.minute = given(self.minute, civil.minute);
        civil.hour = given(self.hour, civil.hour);
        if self.twelve_hours {
            let hour = civil.hour;
            if !(1..=12).contains(&hour) {
                return Err(invalid(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                    .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            civil.hour = hour % 12 + if self.afternoon != 0 { 12 } else { 0 };
        }
        Ok(civil)
    }

    /// Puts the date into `civil`, and says whether any field of it was given.
    fn date(&self, civil: &mut Civil) -> Result<bool> {
        let mut given = false;
        if let Some(year) = self.resolved_year() {
            civil.year = year;
            given = true;
        }
        let put = |civil: &mut Civil, days: i64| {
            (civil.year, civil.month, civil.day) = civil_from_days(days);
        };
        if self.julian != 0 {
            put(civil, i64::from(self.julian) - JULIAN_DAY_AT_EPOCH);
            given = true;
        }
        let mut day_of_year = i64::from(self.day_of_year);
        if self.week != 0 && self.calendar == Some(Calendar::IsoWeek) {
            // Without a day it is the week's Monday.
            let shift = match self.weekday {
                0 => 0,
                2.. => i64::from(self.weekday) - 2,
                _ => 6,
            };
            put(civil, monday_of_iso_week(civil.year, self.week) + shift);
            given = true;
        } else if self.week != 0 {
            day_of_year = (i64::from(self.week) - 1) * 7 + 1;
        }
        let mut day = i64::from(self.day);
        if self.week_of_month != 0 {
            day = (i64::from(self.week_of_month) - 1) * 7 + 1;
        }
        if day != 0 {
            civil.day = i32::try_from(day).unwrap_or(i32::MAX);
            given = true;
        }
        if self.month != 0 {
            civil.month = self.month;
            given = true;
        }
        if day_of_year != 0 && (civil.month <= 1 || civil.day <= 1) {
            if civil.year == 0 && self.before_christ == 0 {
                return Err(invalid(
                    "cannot calculate day of year without year information".to_owned(),
                ));
            }
            given = true;
            if self.calendar == Some(Calendar::IsoWeek) {
                put(civil, monday_of_iso_week(civil.year, 1) + day_of_year - 1);
            } else {
                spread_day_of_year(civil, day_of_year);
            }
        }
        Ok(given)
    }

    fn resolved_year(&self) -> Option<i32> {
        let before_christ = self.before_christ != 0;
        let century = i64::from(self.century) * if before_christ { -1 } else { 1 };
        let year = if self.year != 0 && self.century != 0 && self.year_digits <= 2 {
            // The 21st century is 2001 to 2100, the 6th before Christ 600 to 501.
            match i64::from(self.year % 100) {
                0 => century * 100 + i64::from(century < 0),
                year if century < 0 => year + (century + 1) * 100,
                year => year + (century - 1) * 100,
            }
        } else if self.year != 0 {
            let year = i64::from(self.year) * if before_christ { -1 } else { 1 };
            // There is no year 0: 1 BC comes before 1.
            if year < 0 { year + 1 } else { year }
        } else if self.century != 0 {
            if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 }
        } else {
            return None;
        };
        Some(year.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }
}

/// Sets the month and the day that are not given from a day of the year.
fn spread_day_of_year(civil: &mut Civil, day_of_year: i64) {
    let mut left = day_of_year;
    let mut month = 1;
    while month <= 12 && left > i64::from(days_in_month(civil.year, month)) {
        left -= i64::from(days_in_month(civil.year, month));
        month += 1;
    }
    if civil.month <= 1 {
        civil.month = month;
    }
    if civil.day <= 1 {
        civil.day = i32::try_from(left).unwrap_or(i32::MAX);
    }
}
