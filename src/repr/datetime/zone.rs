//! Time zones: names to offsets, and offsets of instants and of local times.
//!
//! The rules come from the IANA database that is compiled in, so that answers do not depend on
//! the host. A zone is known by its name alone, as `SHOW TimeZone` prints it; that is what is
//! serialised, and the rules are looked up once, when it is read back.
//!
//! Offsets here count seconds *east* of Greenwich, as ISO 8601 writes them. PostgreSQL's POSIX
//! spellings count west: `SET TimeZone = 'UTC+5'` and `'+05:30'` lie west, while the number `5.5`
//! and an interval lie east.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use jiff::tz::{self, AmbiguousOffset, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{
    Civil, DAYS_PER_CYCLE, MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_SECONDS_AT_EPOCH,
};
use crate::repr::settings::{FormatSettings, invalid_value};

/// The largest offset of a POSIX zone, as PostgreSQL reads it.
const MAX_POSIX_HOURS: i32 = 167;

/// What a zone with daylight saving but no rule follows: the United States since 2007.
const DEFAULT_POSIX_RULE: &str = ",M3.2.0,M11.1.0";

static DATABASE: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A named time zone. Cheap to clone; equal where the names are.
#[derive(Clone)]
pub struct TimeZone(Arc<Named>);

struct Named {
    name: String,
    rules: Rules,
}

enum Rules {
    Fixed { east_seconds: i32, abbreviation: String },
    Changing(tz::TimeZone),
}

/// What a zone's clocks show at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneInfo {
    /// Seconds east of Greenwich.
    pub east_seconds: i32,
    /// The abbreviation in use, such as `CET`.
    pub abbreviation: String,
}

impl TimeZone {
    /// Coordinated Universal Time.
    pub fn utc() -> TimeZone {
        static UTC: LazyLock<TimeZone> = LazyLock::new(|| {
            TimeZone::with(
                "UTC".to_owned(),
                Rules::Fixed { east_seconds: 0, abbreviation: "UTC".to_owned() },
            )
        });
        UTC.clone()
    }

    fn with(name: String, rules: Rules) -> TimeZone {
        TimeZone(Arc::new(Named { name, rules }))
    }

    /// Reads what `SET TimeZone` is given: a name, a POSIX zone, a number of hours, or
    /// `INTERVAL '…'`. PostgreSQL's errors (22023).
    pub fn parse(text: &str) -> Result<TimeZone> {
        let refuse = || invalid_value("TimeZone", text);
        let out_of_range = || refuse().with_detail("UTC timezone offset is out of range.");
        if text.get(..8).is_some_and(|head| head.eq_ignore_ascii_case("interval")) {
            let quoted = text[8..].trim().strip_prefix('\'');
            let inner = quoted.and_then(|rest| rest.strip_suffix('\'')).ok_or_else(refuse)?;
            let interval = super::parse_interval(inner, -1, &FormatSettings::default())?;
            return TimeZone::from_interval(&interval).map_err(|mut error| {
                error.message = refuse().message;
                error
            });
        }
        if let Some(hours) = number_of_hours(text) {
            let seconds = hours * 3600.0;
            if !seconds.is_finite() || seconds.abs() >= 1e9 {
                return Err(out_of_range());
            }
            return TimeZone::fixed(seconds as i32).ok_or_else(out_of_range);
        }
        let zone = TimeZone::named(text).ok_or_else(refuse)?;
        match &zone.0.rules {
            // PostgreSQL takes such a zone for one whose rules count leap seconds.
            Rules::Fixed { east_seconds, .. } if east_seconds % 60 != 0 => {
                let message = format!("time zone \"{text}\" appears to use leap seconds");
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                    .with_detail("PostgreSQL does not support leap seconds."))
            }
            _ => Ok(zone),
        }
    }

    /// The zone so many hours, minutes and seconds east, of `SET TIME ZONE INTERVAL`.
    pub fn from_interval(interval: &Interval) -> Result<TimeZone> {
        let refuse = |detail: &str| {
            let mut text = String::new();
            let style = crate::repr::settings::IntervalStyle::Iso8601;
            let settings = FormatSettings { interval_style: style, ..FormatSettings::default() };
            super::format_interval(interval, &settings, &mut text);
            invalid_value("TimeZone", &format!("INTERVAL '{text}'")).with_detail(detail)
        };
        if interval.months != 0 {
            return Err(refuse("Cannot specify months in time zone interval."));
        }
        if interval.days != 0 {
            return Err(refuse("Cannot specify days in time zone interval."));
        }
        let fixed = i32::try_from(interval.micros / MICROS_PER_SECOND).ok();
        fixed
            .and_then(TimeZone::fixed)
            .ok_or_else(|| refuse("UTC timezone offset is out of range."))
    }

    /// A fixed offset, named as PostgreSQL names it: `<+05:30>-05:30`. `None` beyond 167 hours.
    pub fn fixed(east_seconds: i32) -> Option<TimeZone> {
        if east_seconds.abs() >= (MAX_POSIX_HOURS + 1) * 3600 {
            return None;
        }
        let rest = east_seconds.abs();
        let mut digits = format!("{:02}", rest / 3600);
        if rest % 3600 != 0 {
            digits.push_str(&format!(":{:02}", rest / 60 % 60));
        }
        if rest % 60 != 0 {
            digits.push_str(&format!(":{:02}", rest % 60));
        }
        let (east, west) = if east_seconds < 0 { ('-', '+') } else { ('+', '-') };
        let abbreviation = format!("{east}{digits}");
        let name = format!("<{abbreviation}>{west}{digits}");
        Some(TimeZone::with(name, Rules::Fixed { east_seconds, abbreviation }))
    }

    /// The zone of a name in the database (in any case of letters) or of a POSIX description.
    pub fn named(name: &str) -> Option<TimeZone> {
        if name.is_empty() || name.len() > 255 || !name.is_ascii() {
            return None;
        }
        if name.eq_ignore_ascii_case("UTC") {
            return Some(TimeZone::utc());
        }
        if let Ok(found) = DATABASE.get(name) {
            let known = found.iana_name().filter(|known| known.eq_ignore_ascii_case(name));
            let name = match known {
                Some(known) => known.to_owned(),
                None => canonical_name(name)?,
            };
            return Some(TimeZone::with(name, Rules::of(found)));
        }
        let upper = name.to_ascii_uppercase();
        let rules = posix_rules(&upper)?;
        Some(TimeZone::with(upper, rules))
    }

    /// The name, as `SHOW TimeZone` prints it.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The offset of a zone that only ever had one, in seconds east.
    pub fn fixed_offset(&self) -> Option<i32> {
        match &self.0.rules {
            Rules::Fixed { east_seconds, .. } => Some(*east_seconds),
            Rules::Changing(_) => None,
        }
    }

    /// The offset at an instant, in seconds east.
    pub fn offset_at(&self, instant: i64) -> i32 {
        match &self.0.rules {
            Rules::Fixed { east_seconds, .. } => *east_seconds,
            Rules::Changing(zone) => zone.to_offset(jiff_timestamp(instant)).seconds(),
        }
    }

    /// Offset and abbreviation at an instant.
    pub fn info_at(&self, instant: i64) -> ZoneInfo {
        match &self.0.rules {
            Rules::Fixed { east_seconds, abbreviation } => {
                ZoneInfo { east_seconds: *east_seconds, abbreviation: abbreviation.clone() }
            }
            Rules::Changing(zone) => {
                let info = zone.to_offset_info(jiff_timestamp(instant));
                ZoneInfo {
                    east_seconds: info.offset().seconds(),
                    abbreviation: info.abbreviation().to_owned(),
                }
            }
        }
    }

    /// The offset that a local time has, in seconds east.
    ///
    /// As in PostgreSQL, a time that the clocks skipped is read by the offset before the gap, and
    /// one that they showed twice by the offset after the overlap.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        let zone = match &self.0.rules {
            Rules::Fixed { east_seconds, .. } => return *east_seconds,
            Rules::Changing(zone) => zone,
        };
        let offset = match zone.to_ambiguous_timestamp(jiff_civil(local)).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } => before,
            AmbiguousOffset::Fold { after, .. } => after,
        };
        offset.seconds()
    }

    /// The offset that an abbreviation has in this zone around a local time: the one that it last
    /// had by then, or else will first have, or else the zone's own.
    pub fn offset_of_abbreviation(&self, local: i64, abbreviation: &str) -> i32 {
        let own = self.offset_of_local(local);
        let Rules::Changing(zone) = &self.0.rules else { return own };
        let instant = jiff_timestamp(local.saturating_sub(i64::from(own) * MICROS_PER_SECOND));
        let now = zone.to_offset_info(instant);
        if now.abbreviation() == abbreviation {
            return now.offset().seconds();
        }
        // A zone with a yearly rule has transitions without end; a few years of them tell.
        let mut near = zone.preceding(instant).chain(zone.following(instant).take(64));
        let found = near.find(|transition| transition.abbreviation() == abbreviation);
        found.map_or(own, |transition| transition.offset().seconds())
    }
}

impl Rules {
    /// A zone without a transition is fixed: its offset needs no search.
    fn of(zone: tz::TimeZone) -> Rules {
        let epoch = jiff::Timestamp::UNIX_EPOCH;
        if zone.preceding(epoch).next().is_some() || zone.following(epoch).next().is_some() {
            return Rules::Changing(zone);
        }
        let info = zone.to_offset_info(epoch);
        Rules::Fixed {
            east_seconds: info.offset().seconds(),
            abbreviation: info.abbreviation().to_owned(),
        }
    }
}

fn canonical_name(name: &str) -> Option<String> {
    let mut all = DATABASE.available();
    all.find(|known| known.as_str().eq_ignore_ascii_case(name)).map(|known| known.to_string())
}

fn number_of_hours(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    if starts { text.parse().ok() } else { None }
}

/// The same instant in years that the zone library covers: rules repeat after four centuries.
fn jiff_timestamp(instant: i64) -> jiff::Timestamp {
    let cycle = DAYS_PER_CYCLE * 86_400;
    // Somewhere in the year 9200, far from the library's end.
    let limit = 18 * cycle;
    let mut seconds = instant.div_euclid(MICROS_PER_SECOND);
    if seconds > limit {
        seconds -= (seconds - limit).div_euclid(cycle) * cycle + cycle;
    }
    let unix = seconds + UNIX_SECONDS_AT_EPOCH;
    jiff::Timestamp::from_second(unix.max(jiff::Timestamp::MIN.as_second()))
        .expect("seconds were brought into the range")
}

/// The same local time, to the second, in years that the zone library covers.
fn jiff_civil(local: i64) -> jiff::civil::DateTime {
    let cycle = DAYS_PER_CYCLE * MICROS_PER_DAY;
    let limit = 18 * cycle;
    let mut local = local.max(super::calendar::TIMESTAMP_MIN - MICROS_PER_DAY * 10);
    if local > limit {
        local -= (local - limit).div_euclid(cycle) * cycle + cycle;
    }
    let civil = Civil::from_micros(local);
    jiff::civil::DateTime::constant(
        civil.year as i16,
        civil.month as i8,
        civil.day as i8,
        civil.hour as i8,
        civil.minute as i8,
        civil.second as i8,
        // Where a gap or an overlap ends is a whole second: the fraction decides nothing.
        0,
    )
}

/// Reads `STD5`, `<+05>-5:30` or `EST5EDT,M3.2.0,M11.1.0`, already in upper case.
fn posix_rules(text: &str) -> Option<Rules> {
    let (standard, rest) = posix_name(text)?;
    let (west, rest) = posix_offset(rest)?;
    if rest.is_empty() {
        return Some(Rules::Fixed { east_seconds: -west, abbreviation: standard.to_owned() });
    }
    let (daylight, rule) = posix_name(rest)?;
    if daylight.is_empty() {
        return None;
    }
    let offset = &text[..text.len() - rest.len()];
    let offset = &offset[offset.rfind(standard)? + standard.len()..];
    let offset = offset.trim_start_matches('>');
    let rule = if rule.is_empty() { DEFAULT_POSIX_RULE } else { rule };
    let whole = format!("<{standard}>{offset}<{daylight}>{rule}");
    tz::TimeZone::posix(&whole).ok().map(Rules::Changing)
}

fn posix_name(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let ends = |c: char| c.is_ascii_digit() || c == ',' || c == '-' || c == '+';
    Some(text.split_at(text.find(ends).unwrap_or(text.len())))
}

/// Seconds west and what follows them.
fn posix_offset(text: &str) -> Option<(i32, &str)> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let mut seconds = 0;
    for (unit, limit) in [(3600, MAX_POSIX_HOURS), (60, 59), (1, 60)] {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let value: i32 = rest[..end].parse().ok()?;
        if value > limit {
            return None;
        }
        seconds += value * unit;
        rest = &rest[end..];
        match rest.strip_prefix(':') {
            Some(next) if unit > 1 => rest = next,
            _ => break,
        }
    }
    Some((sign * seconds, rest))
}

/// A zone as an expression names it: by a zone's name or by an abbreviation.
#[derive(Clone, Debug, PartialEq)]
pub enum ZoneName {
    /// A zone, or an abbreviation of a fixed offset.
    Zone(TimeZone),
    /// An abbreviation that meant different offsets at different times, and the zone it is of.
    Abbreviation(String, TimeZone),
}

impl ZoneName {
    /// Reads the argument of `AT TIME ZONE`: abbreviations come before names.
    pub fn parse(text: &str) -> Result<ZoneName> {
        match abbreviation(text) {
            Some(Abbreviation::Fixed { east_seconds, .. }) => {
                let rules = Rules::Fixed { east_seconds, abbreviation: text.to_ascii_uppercase() };
                Ok(ZoneName::Zone(TimeZone::with(text.to_ascii_uppercase(), rules)))
            }
            Some(Abbreviation::Dynamic(zone)) => {
                Ok(ZoneName::Abbreviation(text.to_ascii_uppercase(), zone))
            }
            None => TimeZone::named(text).map(ZoneName::Zone).ok_or_else(|| {
                let message = format!("time zone \"{text}\" not recognized");
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            }),
        }
    }

    /// The zone that is named, or that the abbreviation is of.
    pub fn zone(&self) -> &TimeZone {
        match self {
            ZoneName::Zone(zone) | ZoneName::Abbreviation(_, zone) => zone,
        }
    }

    /// The offset of a local time, in seconds east.
    pub fn offset_of_local(&self, local: i64) -> i32 {
        match self {
            ZoneName::Zone(zone) => zone.offset_of_local(local),
            ZoneName::Abbreviation(name, zone) => zone.offset_of_abbreviation(local, name),
        }
    }

    /// The offset at an instant, in seconds east.
    pub fn offset_at(&self, instant: i64) -> i32 {
        match self {
            ZoneName::Zone(zone) => zone.offset_at(instant),
            ZoneName::Abbreviation(name, zone) => {
                let own = i64::from(zone.offset_at(instant));
                let local = instant.saturating_add(own * MICROS_PER_SECOND);
                zone.offset_of_abbreviation(local, name)
            }
        }
    }
}

/// What a zone abbreviation of an input means.
#[derive(Clone, Debug)]
pub(crate) enum Abbreviation {
    Fixed { east_seconds: i32, daylight: bool },
    Dynamic(TimeZone),
}

/// Looks an abbreviation up in the default set of PostgreSQL, in any case of letters.
pub(crate) fn abbreviation(text: &str) -> Option<Abbreviation> {
    static TABLE: LazyLock<HashMap<&'static str, (&'static str, bool)>> = LazyLock::new(|| {
        let mut table = HashMap::new();
        for line in include_str!("abbreviations.tsv").lines() {
            let mut columns = line.split('\t');
            if let (Some(name), Some(meaning)) = (columns.next(), columns.next()) {
                table.insert(name, (meaning, columns.next() == Some("D")));
            }
        }
        table
    });
    if text.len() > 10 {
        return None;
    }
    let (meaning, daylight) = *TABLE.get(text.to_ascii_uppercase().as_str())?;
    match meaning.parse() {
        Ok(east_seconds) => Some(Abbreviation::Fixed { east_seconds, daylight }),
        Err(_) => TimeZone::named(meaning).map(Abbreviation::Dynamic),
    }
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &TimeZone) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for TimeZone {}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeZone({})", self.0.name)
    }
}

impl fmt::Display for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl Serialize for TimeZone {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.name)
    }
}

impl<'de> Deserialize<'de> for TimeZone {
    fn deserialize<D: Deserializer<'de>>(
        deserializer: D,
    ) -> std::result::Result<TimeZone, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom(format!("unknown time zone \"{name}\""));
        TimeZone::named(&name).ok_or_else(unknown)
    }
}
