//! Intervals from text: PostgreSQL's and the standard's spellings, and ISO 8601 durations.
//!
//! Months, days and microseconds are gathered apart and never carry into each other; only the
//! fraction of a field goes down into the smaller ones. The fields are read from the right,
//! because a unit stands after its number.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
};
use crate::repr::datetime::decode::clock_fields;
use crate::repr::datetime::fault::Fault;
use crate::repr::datetime::interval_typmod::IntervalTypmod;
use crate::repr::datetime::keywords::{Unit, unit_word};
use crate::repr::datetime::lexer::{self, Field, FieldKind};
use crate::repr::datetime::number::{fraction, leading_i32, leading_int};
use crate::repr::settings::{FormatSettings, IntervalStyle};

/// Bytes that the fields of an interval have at most.
const INTERVAL_LIMIT: usize = 256;

/// Reads an `interval`, and fits it into the fields and the precision of the type.
pub fn parse_interval(text: &str, typmod: i32, settings: &FormatSettings) -> Result<Interval> {
    let typmod = IntervalTypmod::new(typmod);
    let parsed = lexer::split(text, INTERVAL_LIMIT)
        .and_then(|fields| decode(&fields, settings.interval_style, typmod));
    let parsed = match parsed {
        Err(Fault::BadFormat) => iso_8601(text),
        other => other,
    };
    let sum = parsed.map_err(|fault| match fault {
        Fault::FieldOverflow => Fault::IntervalOverflow.into_error("interval", text),
        other => other.into_error("interval", text),
    })?;
    let interval = sum
        .interval()
        .ok_or_else(|| Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range"))?;
    typmod.apply(interval)
}

/// The sum of the fields so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

impl Sum {
    fn interval(&self) -> Option<Interval> {
        let months = self.years.checked_mul(12)?.checked_add(self.months)?;
        Some(Interval { months, days: self.days, micros: self.micros })
    }

    fn negated(&self) -> Option<Sum> {
        Some(Sum {
            years: self.years.checked_neg()?,
            months: self.months.checked_neg()?,
            days: self.days.checked_neg()?,
            micros: self.micros.checked_neg()?,
        })
    }

    fn add_micros(&mut self, whole: i64, part: f64, unit: i64) -> std::result::Result<(), Fault> {
        let product = whole.checked_mul(unit).ok_or(Fault::FieldOverflow)?;
        self.micros = self.micros.checked_add(product).ok_or(Fault::FieldOverflow)?;
        self.add_fraction(part, unit)
    }

    /// Adds a fraction of a unit of so many microseconds, rounded half toward zero.
    fn add_fraction(&mut self, part: f64, unit: i64) -> std::result::Result<(), Fault> {
        let exact = part * unit as f64;
        let mut micros = exact as i64;
        let rest = exact - micros as f64;
        if rest > 0.5 {
            micros += 1;
        } else if rest < -0.5 {
            micros -= 1;
        }
        self.micros = self.micros.checked_add(micros).ok_or(Fault::FieldOverflow)?;
        Ok(())
    }

    fn add_days(&mut self, whole: i64, part: f64, unit: i32) -> std::result::Result<(), Fault> {
        let extra = part * f64::from(unit);
        let extra_days = extra as i32;
        let days = i32::try_from(whole).ok().and_then(|whole| whole.checked_mul(unit));
        let days = days.and_then(|days| self.days.checked_add(days));
        let days = days.and_then(|days| days.checked_add(extra_days));
        self.days = days.ok_or(Fault::FieldOverflow)?;
        self.add_fraction(extra - f64::from(extra_days), MICROS_PER_DAY)
    }

    fn add_months(&mut self, whole: i64, part: f64) -> std::result::Result<(), Fault> {
        let whole = i32::try_from(whole).ok().and_then(|whole| self.months.checked_add(whole));
        self.months = whole.ok_or(Fault::FieldOverflow)?;
        self.add_days(0, part, 30)
    }

    fn add_years(&mut self, whole: i64, part: f64, unit: i32) -> std::result::Result<(), Fault> {
        let years = i32::try_from(whole).ok().and_then(|whole| whole.checked_mul(unit));
        let years = years.and_then(|years| self.years.checked_add(years));
        self.years = years.ok_or(Fault::FieldOverflow)?;
        let months = (part * f64::from(unit) * 12.0).round_ties_even() as i32;
        self.months = self.months.checked_add(months).ok_or(Fault::FieldOverflow)?;
        Ok(())
    }

    /// Adds so many of a unit; `false` where the unit is none of an interval.
    fn add(&mut self, unit: Unit, whole: i64, part: f64) -> std::result::Result<bool, Fault> {
        match unit {
            Unit::Microsecond => self.add_micros(whole, part, 1)?,
            Unit::Millisecond => self.add_micros(whole, part, 1000)?,
            Unit::Second => self.add_micros(whole, part, MICROS_PER_SECOND)?,
            Unit::Minute => self.add_micros(whole, part, MICROS_PER_MINUTE)?,
            Unit::Hour => self.add_micros(whole, part, MICROS_PER_HOUR)?,
            Unit::Day => {
                self.add_days(whole, 0.0, 1)?;
                self.add_fraction(part, MICROS_PER_DAY)?;
            }
            Unit::Week => self.add_days(whole, part, 7)?,
            Unit::Month => self.add_months(whole, part)?,
            Unit::Year => self.add_years(whole, part, 1)?,
            Unit::Decade => self.add_years(whole, part, 10)?,
            Unit::Century => self.add_years(whole, part, 100)?,
            Unit::Millennium => self.add_years(whole, part, 1000)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Which units an interval has had, each at most once.
#[derive(Default)]
struct SeenUnits(u32);

impl SeenUnits {
    fn bit(unit: Unit) -> u32 {
        match unit {
            // Weeks and days are apart, and so are the multiples of years.
            Unit::Microsecond => 1,
            Unit::Millisecond => 1 << 1,
            Unit::Second => 1 << 2,
            Unit::Minute => 1 << 3,
            Unit::Hour => 1 << 4,
            Unit::Day => 1 << 5,
            Unit::Week => 1 << 6,
            Unit::Month => 1 << 7,
            Unit::Year => 1 << 8,
            Unit::Decade => 1 << 9,
            Unit::Century => 1 << 10,
            _ => 1 << 11,
        }
    }

    const CLOCK: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4;
    const SECONDS: u32 = 1 | 1 << 1 | 1 << 2;

    fn note(&mut self, bits: u32) -> std::result::Result<(), Fault> {
        if self.0 & bits != 0 {
            return Err(Fault::BadFormat);
        }
        self.0 |= bits;
        Ok(())
    }
}

struct Decoder {
    sum: Sum,
    seen: SeenUnits,
    /// The unit of the next number to the left, if it is known.
    unit: Option<Unit>,
    ago: bool,
    /// A leading minus counts for all fields (`sql_standard` without further signs).
    all_negative: bool,
    typmod: IntervalTypmod,
}

fn decode(
    fields: &[Field],
    style: IntervalStyle,
    typmod: IntervalTypmod,
) -> std::result::Result<Sum, Fault> {
    let signed = |field: &Field| field.text.starts_with(['+', '-']);
    let all_negative = style == IntervalStyle::SqlStandard
        && fields.first().is_some_and(|first| first.text.starts_with('-'))
        && !fields[1..].iter().any(signed);
    let mut decoder = Decoder {
        sum: Sum::default(),
        seen: SeenUnits::default(),
        unit: None,
        ago: false,
        all_negative,
        typmod,
    };
    for field in fields.iter().rev() {
        decoder.field(field)?;
    }
    if decoder.seen.0 == 0 {
        return Err(Fault::BadFormat);
    }
    if decoder.ago { decoder.sum.negated().ok_or(Fault::FieldOverflow) } else { Ok(decoder.sum) }
}

impl Decoder {
    fn field(&mut self, field: &Field) -> std::result::Result<(), Fault> {
        match field.kind {
            FieldKind::Time => self.clock(&field.text, false),
            FieldKind::Zone => {
                let unsigned = &field.text[1..];
                let negative = field.text.starts_with('-');
                if unsigned.contains(':') && self.clock(unsigned, negative).is_ok() {
                    return Ok(());
                }
                self.number(&field.text)
            }
            FieldKind::Date | FieldKind::Number => self.number(&field.text),
            FieldKind::Word | FieldKind::Signed => self.word(&field.text),
        }
    }

    fn clock(&mut self, text: &str, negative: bool) -> std::result::Result<(), Fault> {
        let (mut hours, mut minutes, mut seconds, micros) = clock_fields(text)?;
        if self.typmod.is_minute_to_second() && text.matches(':').count() == 1 && micros == 0 {
            // Two fields are minutes and seconds where the type has no hours.
            if !text.contains('.') {
                (hours, minutes, seconds) = (0, hours as i32, minutes);
            }
        }
        let total = hours
            .checked_mul(MICROS_PER_HOUR)
            .and_then(|sum| sum.checked_add(i64::from(minutes) * MICROS_PER_MINUTE))
            .and_then(|sum| sum.checked_add(i64::from(seconds) * MICROS_PER_SECOND))
            .and_then(|sum| sum.checked_add(i64::from(micros)));
        let total = total.ok_or(Fault::FieldOverflow)?;
        let total = if negative || self.all_negative { -total } else { total };
        self.seen.note(SeenUnits::CLOCK)?;
        // The fractions of units to the right are lost, as PostgreSQL loses them.
        self.sum.micros = total;
        // What stands before a clock time without a unit is days.
        self.unit = Some(Unit::Day);
        Ok(())
    }

    fn number(&mut self, text: &str) -> std::result::Result<(), Fault> {
        let mut unit = self.unit.unwrap_or_else(|| self.typmod.smallest_unit());
        let (mut whole, rest) = leading_int(text)?;
        let negative = text.starts_with('-');
        let mut part = 0.0;
        match rest.as_bytes().first() {
            None => {}
            Some(b'-') => {
                // `1-2` is a year and two months.
                let (months, rest) = leading_i32(&rest[1..])?;
                if !(0..12).contains(&months) {
                    return Err(Fault::FieldOverflow);
                }
                if !rest.is_empty() {
                    return Err(Fault::BadFormat);
                }
                unit = Unit::Month;
                let months = i64::from(if negative { -months } else { months });
                let years = whole.checked_mul(12).ok_or(Fault::FieldOverflow)?;
                whole = years.checked_add(months).ok_or(Fault::FieldOverflow)?;
            }
            Some(b'.') => {
                part = fraction(rest)?;
                if negative {
                    part = -part;
                }
            }
            Some(_) => return Err(Fault::BadFormat),
        }
        if self.all_negative {
            whole = if whole > 0 { -whole } else { whole };
            part = -part.abs();
        }
        let bits = match unit {
            Unit::Second if part != 0.0 => SeenUnits::SECONDS,
            unit => SeenUnits::bit(unit),
        };
        if !self.sum.add(unit, whole, part)? {
            return Err(Fault::BadFormat);
        }
        self.seen.note(bits)?;
        self.unit = Some(if unit == Unit::Hour { Unit::Day } else { unit });
        Ok(())
    }

    fn word(&mut self, text: &str) -> std::result::Result<(), Fault> {
        let unit = unit_word(text).ok_or(Fault::BadFormat)?;
        self.ago |= unit == Unit::Ago;
        self.unit = Some(unit);
        Ok(())
    }
}

/// Reads an ISO 8601 duration: `P1Y2M3DT4H5M6S`, `P0001-02-03T04:05:06` or `P00010203T040506`.
fn iso_8601(text: &str) -> std::result::Result<Sum, Fault> {
    let rest = text.strip_prefix('P').filter(|rest| !rest.is_empty());
    let mut reader = IsoReader { rest: rest.ok_or(Fault::BadFormat)?, sum: Sum::default() };
    let mut date_part = true;
    let mut has_field = false;
    while !reader.rest.is_empty() {
        if let Some(rest) = reader.rest.strip_prefix('T') {
            reader.rest = rest;
            date_part = false;
            has_field = false;
            continue;
        }
        let digits = integer_width(reader.rest);
        let (whole, part) = reader.number()?;
        let designator = reader.rest.chars().next();
        reader.rest = designator.map_or("", |unit| &reader.rest[unit.len_utf8()..]);
        let done = if date_part {
            reader.date_field(designator, digits, has_field, whole, part)?
        } else {
            reader.time_field(designator, digits, has_field, whole, part)?
        };
        match done {
            Step::Designated => has_field = true,
            Step::TimeFollows => {
                date_part = false;
                has_field = false;
            }
            Step::Done => return Ok(reader.sum),
        }
    }
    Ok(reader.sum)
}

enum Step {
    Designated,
    TimeFollows,
    Done,
}

struct IsoReader<'a> {
    rest: &'a str,
    sum: Sum,
}

fn integer_width(text: &str) -> usize {
    let text = text.strip_prefix('-').unwrap_or(text);
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

impl IsoReader<'_> {
    /// A number, split toward zero into its whole and its fraction.
    fn number(&mut self) -> std::result::Result<(i64, f64), Fault> {
        if !self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
            return Err(Fault::BadFormat);
        }
        let end = float_width(self.rest);
        let value: f64 = self.rest[..end].parse().map_err(|_| Fault::BadFormat)?;
        self.rest = &self.rest[end..];
        if !(-1e15..=1e15).contains(&value) {
            return Err(Fault::FieldOverflow);
        }
        Ok((value.trunc() as i64, value.fract()))
    }

    fn date_field(
        &mut self,
        designator: Option<char>,
        digits: usize,
        has_field: bool,
        whole: i64,
        part: f64,
    ) -> std::result::Result<Step, Fault> {
        let unit = match designator {
            Some('Y') => Unit::Year,
            Some('M') => Unit::Month,
            Some('W') => Unit::Week,
            Some('D') => Unit::Day,
            None | Some('T') if digits == 8 && !has_field => {
                self.sum.add_years(whole / 10_000, 0.0, 1)?;
                self.sum.add_months(whole / 100 % 100, 0.0)?;
                self.sum.add(Unit::Day, whole % 100, part)?;
                return Ok(after_date(designator));
            }
            None | Some('T' | '-') if !has_field => {
                self.sum.add_years(whole, part, 1)?;
                if designator != Some('-') {
                    return Ok(after_date(designator));
                }
                return self.dashed_date();
            }
            _ => return Err(Fault::BadFormat),
        };
        self.sum.add(unit, whole, part)?;
        Ok(Step::Designated)
    }

    /// The months and days of `P0001-02-03`.
    fn dashed_date(&mut self) -> std::result::Result<Step, Fault> {
        let (months, part) = self.number()?;
        self.sum.add_months(months, part)?;
        if let Some(step) = self.end_of_date() {
            return Ok(step);
        }
        self.rest = self.rest.strip_prefix('-').ok_or(Fault::BadFormat)?;
        let (days, part) = self.number()?;
        self.sum.add(Unit::Day, days, part)?;
        self.end_of_date().ok_or(Fault::BadFormat)
    }

    fn end_of_date(&mut self) -> Option<Step> {
        let designator = self.rest.chars().next();
        match designator {
            None => Some(Step::Done),
            Some('T') => {
                self.rest = &self.rest[1..];
                Some(Step::TimeFollows)
            }
            Some(_) => None,
        }
    }

    fn time_field(
        &mut self,
        designator: Option<char>,
        digits: usize,
        has_field: bool,
        whole: i64,
        part: f64,
    ) -> std::result::Result<Step, Fault> {
        let unit = match designator {
            Some('H') => Unit::Hour,
            Some('M') => Unit::Minute,
            Some('S') => Unit::Second,
            None if digits == 6 && !has_field => {
                self.sum.add(Unit::Hour, whole / 10_000, 0.0)?;
                self.sum.add(Unit::Minute, whole / 100 % 100, 0.0)?;
                self.sum.add(Unit::Second, whole % 100, 0.0)?;
                // PostgreSQL counts this fraction in microseconds, which loses it.
                self.sum.add_fraction(part, 1)?;
                return Ok(Step::Done);
            }
            None | Some(':') if !has_field => {
                self.sum.add(Unit::Hour, whole, part)?;
                if designator.is_none() {
                    return Ok(Step::Done);
                }
                return self.colon_time();
            }
            _ => return Err(Fault::BadFormat),
        };
        self.sum.add(unit, whole, part)?;
        Ok(Step::Designated)
    }

    /// The minutes and seconds of `T04:05:06`.
    fn colon_time(&mut self) -> std::result::Result<Step, Fault> {
        let (minutes, part) = self.number()?;
        self.sum.add(Unit::Minute, minutes, part)?;
        if self.rest.is_empty() {
            return Ok(Step::Done);
        }
        self.rest = self.rest.strip_prefix(':').ok_or(Fault::BadFormat)?;
        let (seconds, part) = self.number()?;
        self.sum.add(Unit::Second, seconds, part)?;
        if self.rest.is_empty() { Ok(Step::Done) } else { Err(Fault::BadFormat) }
    }
}

fn after_date(designator: Option<char>) -> Step {
    if designator.is_some() { Step::TimeFollows } else { Step::Done }
}

/// Bytes of the floating-point number at the start of a text.
fn float_width(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count() + from;
    let mut end = digits(usize::from(text.starts_with('-')));
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if bytes.get(end).is_some_and(|byte| byte.eq_ignore_ascii_case(&b'e')) {
        let sign = bytes.get(end + 1).is_some_and(|byte| b"+-".contains(byte));
        let start = end + 1 + usize::from(sign);
        if bytes.get(start).is_some_and(u8::is_ascii_digit) {
            end = digits(start);
        }
    }
    end
}
