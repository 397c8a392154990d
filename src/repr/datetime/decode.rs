//! From fields to the parts of a date and a time.
//!
//! One [`Decoder`] reads the fields from the left and notes which parts it has; a part may come
//! once. What a bare number means depends on what is already there and, while nothing is, on the
//! order of `DateStyle`. Offsets of zones need the date, so they are resolved last.

use crate::repr::datetime::calendar::{self, Civil, MICROS_PER_DAY};
use crate::repr::datetime::fault::Fault;
use crate::repr::datetime::keywords::{Meridiem, Special, Unit, Word, date_word};
use crate::repr::datetime::lexer::{Field, FieldKind};
use crate::repr::datetime::number::{fraction, fractional_micros, leading_i32};
use crate::repr::datetime::zone::{Abbreviation, TimeZone, abbreviation};
use crate::repr::settings::{DateOrder, FormatSettings};

/// A set of parts of a date and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts(u16);

impl Parts {
    pub const NONE: Parts = Parts(0);
    pub const YEAR: Parts = Parts(1);
    pub const MONTH: Parts = Parts(2);
    pub const DAY: Parts = Parts(4);
    pub const HOUR: Parts = Parts(8);
    pub const MINUTE: Parts = Parts(16);
    pub const SECOND: Parts = Parts(32);
    pub const FRACTION: Parts = Parts(64);
    pub const ZONE: Parts = Parts(128);
    pub const DAY_OF_YEAR: Parts = Parts(256);
    pub const DAYLIGHT: Parts = Parts(512);
    pub const WEEKDAY: Parts = Parts(1024);
    pub const MERIDIEM: Parts = Parts(2048);
    pub const ERA: Parts = Parts(4096);
    pub const DAYLIGHT_MODIFIER: Parts = Parts(8192);
    pub const SPECIAL: Parts = Parts(16384);
    pub const DYNAMIC_ZONE: Parts = Parts(32768);
    pub const DATE: Parts = Parts(1 | 2 | 4);
    pub const TIME: Parts = Parts(8 | 16 | 32 | 64);

    pub fn has(self, parts: Parts) -> bool {
        self.0 & parts.0 == parts.0
    }

    pub fn meets(self, parts: Parts) -> bool {
        self.0 & parts.0 != 0
    }

    pub fn with(self, parts: Parts) -> Parts {
        Parts(self.0 | parts.0)
    }

    fn date_only(self) -> Parts {
        Parts(self.0 & Parts::DATE.0)
    }
}

/// The zone that an input names.
#[derive(Clone, Debug, Default)]
pub(super) enum InputZone {
    #[default]
    None,
    /// Seconds east.
    Offset(i32),
    Zone(TimeZone),
    Abbreviation(String, TimeZone),
}

/// What an input is.
#[derive(Clone, Debug)]
pub(super) enum Decoded {
    /// A civil time and its offset in seconds east, which the session's zone gives if need be.
    Civil(Civil, i32),
    /// One of the values with a name that is not a civil time.
    Special(Special),
}

/// Reads the fields of a date or timestamp. `now` is the instant of the words that need one.
pub(super) fn decode(
    fields: &[Field],
    settings: &FormatSettings,
    now: Option<i64>,
) -> Result<Decoded, Fault> {
    with_clock(now, |now| decode_at(fields, settings, now))
}

/// Without a clock, an input that needs one is still told from one that is wrong anyway.
pub(super) fn with_clock<T>(
    now: Option<i64>,
    decode: impl Fn(Option<i64>) -> Result<T, Fault>,
) -> Result<T, Fault> {
    match decode(now) {
        Err(Fault::NeedsClock(word)) => decode(Some(0)).and(Err(Fault::NeedsClock(word))),
        other => other,
    }
}

fn decode_at(
    fields: &[Field],
    settings: &FormatSettings,
    now: Option<i64>,
) -> Result<Decoded, Fault> {
    let mut decoder = Decoder::new(settings, now, false);
    for (index, field) in fields.iter().enumerate() {
        decoder.field(field, &fields[index + 1..])?;
    }
    decoder.finish(settings)
}

pub(super) struct Decoder<'a> {
    settings: &'a FormatSettings,
    now: Option<i64>,
    /// A time of day alone is read: what is not a time only helps to resolve a zone.
    time_only: bool,
    pub(super) seen: Parts,
    pub(super) civil: Civil,
    day_of_year: i32,
    /// The unit that the word before announced.
    pub(super) announced: Option<Announced>,
    text_month: bool,
    two_digit_year: bool,
    julian: bool,
    before_christ: bool,
    meridiem: Option<Meridiem>,
    pub(super) zone: InputZone,
    special: Option<Special>,
}

/// A word that says what the next field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announced {
    Unit(Unit),
    IsoTime,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(
        settings: &'a FormatSettings,
        now: Option<i64>,
        time_only: bool,
    ) -> Decoder<'a> {
        Decoder {
            settings,
            now,
            time_only,
            seen: Parts::NONE,
            civil: Civil::default(),
            day_of_year: 0,
            announced: None,
            text_month: false,
            two_digit_year: false,
            julian: false,
            before_christ: false,
            meridiem: None,
            zone: InputZone::None,
            special: None,
        }
    }

    /// The parts that decide what a number is: a time alone counts its date as given.
    fn context(&self) -> Parts {
        if self.time_only { self.seen.with(Parts::DATE) } else { self.seen }
    }

    /// Notes parts, of which none may be there already.
    pub(super) fn note(&mut self, parts: Parts) -> Result<(), Fault> {
        if self.seen.meets(parts) {
            return Err(Fault::BadFormat);
        }
        self.seen = self.seen.with(parts);
        Ok(())
    }

    fn field(&mut self, field: &Field, rest: &[Field]) -> Result<(), Fault> {
        let parts = match field.kind {
            FieldKind::Date => self.date_field(&field.text)?,
            FieldKind::Time => self.time_field(&field.text)?,
            FieldKind::Zone => {
                self.zone = InputZone::Offset(offset(&field.text)?);
                Parts::ZONE
            }
            FieldKind::Number => match self.announced {
                Some(announced) => self.announced_number(announced, &field.text)?,
                None => self.number_field(&field.text)?,
            },
            FieldKind::Word | FieldKind::Signed => match self.word(&field.text, rest)? {
                Some(parts) => parts,
                None => return Ok(()),
            },
        };
        self.note(parts)
    }

    fn date_field(&mut self, text: &str) -> Result<Parts, Fault> {
        if self.announced == Some(Announced::Unit(Unit::Julian)) {
            let (day, rest) = leading_i32(text)?;
            if day < 0 {
                return Err(Fault::FieldOverflow);
            }
            self.set_julian(i64::from(day));
            self.zone = InputZone::Offset(offset(rest)?);
            self.announced = None;
            return Ok(Parts::DATE.with(Parts::TIME).with(Parts::ZONE));
        }
        let has_day = self.seen.has(Parts::MONTH.with(Parts::DAY));
        if self.announced.is_none() && !has_day {
            return self.date(text);
        }
        // With a date at hand it is a zone with punctuation or a time with an offset.
        if self.announced.is_some() || text.starts_with(|c: char| c.is_ascii_digit()) {
            self.time_and_offset(text)
        } else {
            self.named_zone(text)
        }
    }

    /// `040506-08`: a time run together and an offset.
    pub(super) fn time_and_offset(&mut self, text: &str) -> Result<Parts, Fault> {
        if self.announced.take().is_some_and(|announced| announced != Announced::IsoTime) {
            return Err(Fault::BadFormat);
        }
        if self.seen.has(Parts::TIME) {
            return Err(Fault::BadFormat);
        }
        let (time, _) = text.split_once('-').ok_or(Fault::BadFormat)?;
        self.zone = InputZone::Offset(offset(&text[time.len()..])?);
        Ok(self.run_together(time, self.context())?.with(Parts::ZONE))
    }

    pub(super) fn named_zone(&mut self, text: &str) -> Result<Parts, Fault> {
        let found = TimeZone::named(text);
        let zone = found.ok_or_else(|| Fault::UnknownZone(text.to_owned()))?;
        self.zone = InputZone::Zone(zone);
        Ok(Parts::ZONE)
    }

    pub(super) fn time_field(&mut self, text: &str) -> Result<Parts, Fault> {
        let clash = |announced| announced != Announced::IsoTime;
        if !self.time_only && self.announced.take().is_some_and(clash) {
            return Err(Fault::BadFormat);
        }
        self.set_time(clock_time(text)?);
        if !self.time_only && time_overflows(&self.civil) {
            return Err(Fault::FieldOverflow);
        }
        Ok(Parts::TIME)
    }

    fn set_time(&mut self, time: Civil) {
        let Civil { year, month, day, .. } = self.civil;
        self.civil = Civil { year, month, day, ..time };
    }

    fn set_julian(&mut self, julian_day: i64) {
        self.set_date(julian_day - calendar::JULIAN_DAY_AT_EPOCH);
        self.julian = true;
    }

    fn set_date(&mut self, days: i64) {
        let (year, month, day) = calendar::civil_from_days(days);
        self.civil = Civil { year, month, day, ..self.civil };
    }

    /// A number after the word that says what it is, such as `y1999` or `J2451187`.
    pub(super) fn announced_number(
        &mut self,
        announced: Announced,
        text: &str,
    ) -> Result<Parts, Fault> {
        let (value, rest) = leading_i32(text)?;
        let fractional = match rest.as_bytes().first() {
            None => false,
            Some(b'.') => true,
            Some(_) => return Err(Fault::BadFormat),
        };
        let takes_fraction =
            matches!(announced, Announced::IsoTime | Announced::Unit(Unit::Julian | Unit::Second));
        if fractional && !takes_fraction {
            return Err(Fault::BadFormat);
        }
        self.announced = None;
        // A part of a date makes an ordinary one of it, whatever name came before.
        self.special = None;
        let unit = match announced {
            Announced::Unit(unit) => unit,
            Announced::IsoTime => {
                let parts = self.run_together(text, self.seen.with(Parts::DATE))?;
                let is_time = parts == Parts::TIME;
                return if is_time { Ok(parts) } else { Err(Fault::BadFormat) };
            }
        };
        match unit {
            Unit::Year => self.civil.year = value,
            // With a month and an hour at hand, `m` is minutes.
            Unit::Month if self.seen.has(Parts::MONTH.with(Parts::HOUR)) => {
                self.civil.minute = value;
                return Ok(Parts::MINUTE);
            }
            Unit::Month => self.civil.month = value,
            Unit::Day => self.civil.day = value,
            Unit::Hour => self.civil.hour = value,
            Unit::Minute => self.civil.minute = value,
            Unit::Second => {
                self.civil.second = value;
                if fractional {
                    self.civil.micros = fractional_micros(rest)?;
                    return Ok(Parts::SECOND.with(Parts::FRACTION));
                }
            }
            Unit::Julian => return self.julian_number(value, rest),
            _ => return Err(Fault::BadFormat),
        }
        Ok(match unit {
            Unit::Year => Parts::YEAR,
            Unit::Month => Parts::MONTH,
            Unit::Day => Parts::DAY,
            Unit::Hour => Parts::HOUR,
            Unit::Minute => Parts::MINUTE,
            _ => Parts::SECOND,
        })
    }

    fn julian_number(&mut self, value: i32, rest: &str) -> Result<Parts, Fault> {
        if value < 0 {
            return Err(Fault::FieldOverflow);
        }
        self.set_julian(i64::from(value));
        if rest.is_empty() {
            return Ok(Parts::DATE);
        }
        let time = (fraction(rest)? * MICROS_PER_DAY as f64) as i64;
        self.set_time(Civil::from_time(time));
        Ok(Parts::DATE.with(Parts::TIME))
    }

    fn number_field(&mut self, text: &str) -> Result<Parts, Fault> {
        let point = text.find('.');
        let seen = self.seen;
        match point {
            Some(_) if !seen.meets(Parts::DATE) => self.date(text),
            Some(whole) if whole > 2 => self.run_together(text, seen),
            _ if text.len() >= 6 && !(seen.has(Parts::DATE) && seen.has(Parts::TIME)) => {
                self.run_together(text, seen)
            }
            _ => self.number(text, seen),
        }
    }

    /// A date of several fields in one, such as `1999-Jan-08`.
    pub(super) fn date(&mut self, text: &str) -> Result<Parts, Fault> {
        let before = self.seen;
        let mut seen = before;
        let mut noted = Parts::NONE;
        let mut note = |seen: &mut Parts, parts: Parts| {
            if seen.meets(parts) {
                return Err(Fault::BadFormat);
            }
            *seen = seen.with(parts);
            noted = noted.with(parts);
            Ok(())
        };
        let pieces = date_pieces(text)?;
        let is_alpha = |piece: &&str| piece.starts_with(|c: char| c.is_ascii_alphabetic());
        self.text_month = false;
        for piece in pieces.iter().filter(|piece| is_alpha(piece)) {
            match date_word(piece) {
                Some(Word::Month(month)) => {
                    self.civil.month = month;
                    self.text_month = true;
                    note(&mut seen, Parts::MONTH)?;
                }
                _ => return Err(Fault::BadFormat),
            }
        }
        for piece in pieces.iter().filter(|piece| !is_alpha(piece)) {
            let parts = self.number(piece, seen)?;
            note(&mut seen, parts)?;
        }
        let ignoring = Parts(seen.0 & !(Parts::DAY_OF_YEAR.0 | Parts::ZONE.0));
        if ignoring != Parts::DATE { Err(Fault::BadFormat) } else { Ok(noted) }
    }

    /// One number, by what is there already.
    pub(super) fn number(&mut self, text: &str, seen: Parts) -> Result<Parts, Fault> {
        let (value, rest) = leading_i32(text)?;
        if rest.len() == text.len() {
            return Err(Fault::BadFormat);
        }
        if rest.starts_with('.') {
            if text.len() - rest.len() > 2 {
                return self.run_together(text, seen.with(Parts::DATE));
            }
            self.civil.micros = fractional_micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Fault::BadFormat);
        }
        let length = text.len();
        let date = seen.date_only();
        if length == 3 && date == Parts::YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(Parts::DAY_OF_YEAR.with(Parts::MONTH).with(Parts::DAY));
        }
        if date == Parts::DATE {
            return self.run_together(text, seen);
        }
        let order = self.settings.date_style.order;
        let year_like = length >= 3 || order == DateOrder::Ymd;
        let year_month = Parts::YEAR.with(Parts::MONTH);
        let part = if date == Parts::NONE {
            match order {
                _ if year_like => Parts::YEAR,
                DateOrder::Dmy => Parts::DAY,
                _ => Parts::MONTH,
            }
        } else if date == Parts::YEAR || date == Parts::DAY {
            Parts::MONTH
        } else if date == Parts::MONTH {
            if self.text_month && year_like { Parts::YEAR } else { Parts::DAY }
        } else if date == year_month {
            if self.text_month && length >= 3 && self.two_digit_year {
                // `08-Jan-1999` in year-first order: the first number was the day after all.
                self.civil.day = self.civil.year;
                self.civil.year = value;
                self.two_digit_year = false;
                return Ok(Parts::DAY);
            }
            Parts::DAY
        } else if date == Parts::MONTH.with(Parts::DAY) {
            Parts::YEAR
        } else {
            return Err(Fault::BadFormat);
        };
        if part == Parts::YEAR {
            self.civil.year = value;
            self.two_digit_year = length <= 2;
        } else if part == Parts::MONTH {
            self.civil.month = value;
        } else {
            self.civil.day = value;
        }
        Ok(part)
    }

    /// A date or a time without delimiters: `19990108`, `990108`, `040506.789`, `0405`.
    pub(super) fn run_together(&mut self, text: &str, seen: Parts) -> Result<Parts, Fault> {
        let digits = match text.find('.') {
            Some(point) => {
                self.civil.micros = fractional_micros(&text[point..])?;
                &text[..point]
            }
            None => text,
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Fault::BadFormat);
        }
        let number = |part: &str| leading_i32(part).map(|(value, _)| value);
        let length = digits.len();
        if length == text.len() && !seen.has(Parts::DATE) && length >= 6 {
            self.civil.year = number(&digits[..length - 4])?;
            self.civil.month = number(&digits[length - 4..length - 2])?;
            self.civil.day = number(&digits[length - 2..])?;
            if length == 6 {
                self.two_digit_year = true;
            }
            return Ok(Parts::DATE);
        }
        if seen.has(Parts::TIME) || (length != 6 && length != 4) {
            return Err(Fault::BadFormat);
        }
        self.civil.hour = number(&digits[..2])?;
        self.civil.minute = number(&digits[2..4])?;
        self.civil.second = if length == 6 { number(&digits[4..])? } else { 0 };
        Ok(Parts::TIME)
    }

    /// A word; `None` where it says nothing of its own.
    pub(super) fn word(&mut self, text: &str, rest: &[Field]) -> Result<Option<Parts>, Fault> {
        if let Some(found) = abbreviation(text) {
            return Ok(Some(self.abbreviation(text, found)));
        }
        let Some(word) = date_word(text) else {
            let zone = TimeZone::named(text).ok_or(Fault::BadFormat)?;
            self.zone = InputZone::Zone(zone);
            return Ok(Some(Parts::ZONE));
        };
        Ok(Some(match word {
            Word::Ignored => return Ok(None),
            Word::Special(special) => return self.special(special).map(Some),
            Word::Month(_) | Word::Weekday if self.time_only => return Err(Fault::BadFormat),
            Word::Month(month) => self.month(month),
            Word::DaylightModifier => {
                if let InputZone::Offset(east) = &mut self.zone {
                    *east += 3600;
                }
                Parts::DAYLIGHT.with(Parts::DAYLIGHT_MODIFIER)
            }
            Word::Meridiem(meridiem) => {
                self.meridiem = Some(meridiem);
                Parts::MERIDIEM
            }
            Word::Era { before_christ } => {
                self.before_christ = before_christ;
                Parts::ERA
            }
            Word::Weekday => Parts::WEEKDAY,
            Word::Unit(unit) => {
                self.announced = Some(Announced::Unit(unit));
                return Ok(None);
            }
            Word::IsoTime => {
                let next = rest.first().map(|field| field.kind);
                let dated = self.time_only || self.seen.has(Parts::DATE);
                let timed =
                    matches!(next, Some(FieldKind::Number | FieldKind::Time | FieldKind::Date));
                if !dated || !timed {
                    return Err(Fault::BadFormat);
                }
                self.announced = Some(Announced::IsoTime);
                return Ok(None);
            }
        }))
    }

    fn month(&mut self, month: i32) -> Parts {
        let number_was_day = self.seen.has(Parts::MONTH)
            && !self.text_month
            && !self.seen.has(Parts::DAY)
            && (1..=31).contains(&self.civil.month);
        self.text_month = true;
        let day = std::mem::replace(&mut self.civil.month, month);
        if number_was_day {
            self.civil.day = day;
            return Parts::DAY;
        }
        Parts::MONTH
    }

    fn abbreviation(&mut self, text: &str, found: Abbreviation) -> Parts {
        match found {
            Abbreviation::Fixed { east_seconds, daylight } => {
                self.zone = InputZone::Offset(east_seconds);
                if daylight {
                    return Parts::ZONE.with(Parts::DAYLIGHT);
                }
            }
            Abbreviation::Dynamic(zone) => {
                self.zone = InputZone::Abbreviation(text.to_ascii_uppercase(), zone);
                return Parts::ZONE.with(Parts::DYNAMIC_ZONE);
            }
        }
        Parts::ZONE
    }

    fn special(&mut self, special: Special) -> Result<Parts, Fault> {
        let all = Parts::DATE.with(Parts::TIME).with(Parts::ZONE);
        let clock = |word| self.now.ok_or(Fault::NeedsClock(word));
        let zone = &self.settings.time_zone;
        let local = |now: i64| now + i64::from(zone.offset_at(now)) * 1_000_000;
        let (word, shift) = match special {
            Special::Midnight => {
                self.set_time(Civil::default());
                self.zone = InputZone::Offset(0);
                return Ok(Parts::TIME.with(Parts::ZONE));
            }
            _ if self.time_only && special != Special::Now => return Err(Fault::BadFormat),
            Special::Epoch | Special::Infinity | Special::NegativeInfinity => {
                self.special = Some(special);
                return Ok(Parts::SPECIAL);
            }
            Special::Now => {
                let now = clock("now")?;
                let offset = zone.offset_at(now);
                let civil = Civil::from_micros(local(now));
                if self.time_only {
                    self.set_time(civil);
                    return Ok(Parts::TIME);
                }
                self.civil = civil;
                self.zone = InputZone::Offset(offset);
                return Ok(all);
            }
            Special::Today => ("today", 0),
            Special::Tomorrow => ("tomorrow", 1),
            Special::Yesterday => ("yesterday", -1),
        };
        let today = local(clock(word)?).div_euclid(MICROS_PER_DAY);
        self.set_date(today + shift);
        // The date is whole and its year not to be adjusted, as with a Julian day.
        self.julian = true;
        Ok(Parts::DATE)
    }

    fn finish(mut self, settings: &FormatSettings) -> Result<Decoded, Fault> {
        self.validate_date()?;
        self.apply_meridiem()?;
        if let Some(special) = self.special {
            return Ok(Decoded::Special(special));
        }
        if !self.seen.has(Parts::DATE) {
            return Err(Fault::BadFormat);
        }
        let local = self.civil.micros().unwrap_or(i64::MAX / 2);
        let modified = self.seen.has(Parts::DAYLIGHT_MODIFIER);
        let east = match &self.zone {
            InputZone::Offset(east) => *east,
            _ if modified => return Err(Fault::BadFormat),
            InputZone::None => settings.time_zone.offset_of_local(local),
            InputZone::Zone(zone) => zone.offset_of_local(local),
            InputZone::Abbreviation(name, zone) => zone.offset_of_abbreviation(local, name),
        };
        Ok(Decoded::Civil(self.civil, east))
    }

    pub(super) fn apply_meridiem(&mut self) -> Result<(), Fault> {
        if self.meridiem.is_some() && self.civil.hour > 12 {
            return Err(Fault::FieldOverflow);
        }
        match self.meridiem {
            Some(Meridiem::Am) if self.civil.hour == 12 => self.civil.hour = 0,
            Some(Meridiem::Pm) if self.civil.hour != 12 => self.civil.hour += 12,
            _ => {}
        }
        Ok(())
    }

    pub(super) fn validate_date(&mut self) -> Result<(), Fault> {
        let civil = &mut self.civil;
        if self.seen.has(Parts::YEAR) && !self.julian {
            if self.before_christ {
                // There is no year zero: 1 BC is the year before 1.
                if civil.year <= 0 {
                    return Err(Fault::FieldOverflow);
                }
                civil.year = 1 - civil.year;
            } else if self.two_digit_year {
                civil.year += match civil.year {
                    ..0 => return Err(Fault::FieldOverflow),
                    0..70 => 2000,
                    70..100 => 1900,
                    _ => 0,
                };
            } else if civil.year <= 0 {
                return Err(Fault::FieldOverflow);
            }
        }
        if self.seen.has(Parts::DAY_OF_YEAR) {
            let days = calendar::days_from_civil(civil.year, 1, 1);
            self.set_date(days + i64::from(self.day_of_year) - 1);
        }
        let civil = &self.civil;
        let bad_month = self.seen.has(Parts::MONTH) && !(1..=12).contains(&civil.month);
        let bad_day = self.seen.has(Parts::DAY) && !(1..=31).contains(&civil.day);
        if bad_month || bad_day {
            return Err(Fault::MonthDayOverflow);
        }
        let whole = self.seen.has(Parts::DATE);
        if whole && civil.day > calendar::days_in_month(civil.year, civil.month) {
            return Err(Fault::FieldOverflow);
        }
        Ok(())
    }
}

/// The runs of letters and of digits of a date; anything else delimits them.
fn date_pieces(text: &str) -> Result<Vec<&str>, Fault> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
        let first = rest.chars().next().ok_or(Fault::BadFormat)?;
        let digits = first.is_ascii_digit();
        let ends = |c: char| {
            if digits { !c.is_ascii_digit() } else { !c.is_ascii_alphabetic() }
        };
        let end = rest.find(ends).unwrap_or(rest.len());
        pieces.push(&rest[..end]);
        // One delimiter is eaten, whatever it is, even the first character of the next piece.
        rest = rest.get(end + 1..).unwrap_or("");
    }
    Ok(pieces)
}

/// The clock time `04:05:06.789`, `04:05` or `05:06.7` (minutes and seconds).
pub(super) fn clock_time(text: &str) -> Result<Civil, Fault> {
    let (hour, minute, second, micros) = clock_fields(text)?;
    let hour = i32::try_from(hour).map_err(|_| Fault::FieldOverflow)?;
    Ok(Civil { hour, minute, second, micros, ..Civil::default() })
}

/// Hours, minutes, seconds and microseconds of a clock time; an interval's hours may be many.
pub(super) fn clock_fields(text: &str) -> Result<(i64, i32, i32, i32), Fault> {
    let (mut hour, rest) = crate::repr::datetime::number::leading_int(text)?;
    let rest = rest.strip_prefix(':').ok_or(Fault::BadFormat)?;
    let (mut minute, rest) = leading_i32(rest)?;
    let mut second = 0;
    let mut micros = 0;
    match rest.as_bytes().first() {
        None => {}
        Some(b'.') => {
            micros = fractional_micros(rest)?;
            second = minute;
            minute = i32::try_from(hour).map_err(|_| Fault::FieldOverflow)?;
            hour = 0;
        }
        Some(b':') => {
            let (seconds, rest) = leading_i32(&rest[1..])?;
            second = seconds;
            if !rest.is_empty() {
                micros = fractional_micros(rest)?;
            }
        }
        Some(_) => return Err(Fault::BadFormat),
    }
    let well = hour >= 0 && (0..60).contains(&minute) && (0..=60).contains(&second);
    if well { Ok((hour, minute, second, micros)) } else { Err(Fault::FieldOverflow) }
}

/// Whether a time of day is beyond 24:00:00 or a field of it out of range.
pub(super) fn time_overflows(time: &Civil) -> bool {
    !(0..=24).contains(&time.hour)
        || !(0..60).contains(&time.minute)
        || !(0..=60).contains(&time.second)
        || !(0..=1_000_000).contains(&time.micros)
        || time.time() > MICROS_PER_DAY
}

/// Seconds east of `+05:30`, `-08`, `-0800` or `+01:02:03`.
pub(super) fn offset(text: &str) -> Result<i32, Fault> {
    let sign = match text.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(Fault::BadFormat),
    };
    let displaced = |_| Fault::ZoneDisplacement;
    let (mut hours, mut rest) = leading_i32(&text[1..]).map_err(displaced)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(next) = rest.strip_prefix(':') {
        (minutes, rest) = leading_i32(next).map_err(displaced)?;
        if let Some(next) = rest.strip_prefix(':') {
            (seconds, rest) = leading_i32(next).map_err(displaced)?;
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    let well =
        (0..=15).contains(&hours) && (0..60).contains(&minutes) && (0..60).contains(&seconds);
    if !well {
        return Err(Fault::ZoneDisplacement);
    }
    if rest.is_empty() {
        Ok(sign * (hours * 3600 + minutes * 60 + seconds))
    } else {
        Err(Fault::BadFormat)
    }
}
