//! Dates and times inside JSON: text by a template as the SQL standard reads it.
//!
//! Which of five types a text is of follows from what its template has: a date, a time, an
//! offset. One of them, a time with an offset, is no type of columns here; it lives only as long
//! as a path looks at it.

use std::cmp::Ordering;
use std::sync::OnceLock;

use crate::error::{Error, Result, SqlState};
use crate::repr::datetime::calendar::{self, Civil, MICROS_PER_SECOND};
use crate::repr::datetime::convert::{
    date_to_timestamp, date_to_timestamptz, timestamp_to_timestamptz,
};
use crate::repr::datetime::fault::out_of_range;
use crate::repr::datetime::format::{format_date, format_time, push_offset};
use crate::repr::datetime::parse::{instant, round_to_precision};
use crate::repr::datetime::template::{Item, Kind, Template};
use crate::repr::datetime::to_timestamp::read_standard;
use crate::repr::datetime::zone::TimeZone;
use crate::repr::settings::FormatSettings;

/// What `.datetime()` tries one after the other where it has no template.
const TEMPLATES: [&str; 19] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZH:TZM",
    "HH24:MI:SS.USTZH",
    "HH24:MI:SSTZH:TZM",
    "HH24:MI:SSTZH",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd HH24:MI:SS.USTZH",
    "yyyy-mm-dd HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd HH24:MI:SSTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZH",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH:TZM",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZH",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];

fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// A template of the SQL standard.
#[derive(Clone, Debug)]
pub struct StandardTemplate {
    template: Template,
    dated: bool,
    timed: bool,
    zoned: bool,
}

/// A date or time; offsets are in seconds east.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The variants are PostgreSQL's types of those names.
pub enum StandardTime {
    Date(i32),
    Time(i64),
    TimeTz(i64, i32),
    Timestamp(i64),
    TimestampTz(i64, i32),
}

impl StandardTemplate {
    /// Parses a template.
    ///
    /// # Errors
    ///
    /// 22007 for a character between patterns that the standard does not allow.
    pub fn parse(text: &str) -> Result<StandardTemplate> {
        let template = Template::parse(text);
        // Text in quotes is allowed, whatever it is; a space stands for it here.
        let mut quoted = false;
        let unquoted = text.chars().filter_map(|c| match c {
            '"' => {
                quoted = !quoted;
                (!quoted).then_some(' ')
            }
            c => (!quoted).then_some(c),
        });
        let unquoted: String = unquoted.collect();
        let plain = Template::parse(&unquoted);
        let strange = plain.items.iter().find_map(|item| match item {
            Item::Literal(c) | Item::Separator(c) | Item::Space(c) => {
                (!"-./,':; ".contains(*c)).then_some(*c)
            }
            Item::Pattern(_) => None,
        });
        if let Some(c) = strange {
            return Err(invalid(format!("invalid datetime format separator: \"{c}\"")));
        }
        let has = |kind| {
            let is = |item: &Item| matches!(item, Item::Pattern(p) if p.key.kind() == kind);
            template.items.iter().any(is)
        };
        let (dated, timed, zoned) = (has(Kind::Date), has(Kind::Time), has(Kind::Zone));
        Ok(StandardTemplate { template, dated, timed, zoned })
    }
}

fn templates() -> &'static [StandardTemplate] {
    static PARSED: OnceLock<Vec<StandardTemplate>> = OnceLock::new();
    PARSED.get_or_init(|| {
        TEMPLATES.iter().filter_map(|text| StandardTemplate::parse(text).ok()).collect()
    })
}

impl StandardTime {
    /// Reads a text by a template.
    ///
    /// # Errors
    ///
    /// 22007 and 22008 in PostgreSQL's words.
    pub fn parse(text: &str, template: &StandardTemplate) -> Result<StandardTime> {
        let (civil, east, digits) = read_standard(text, &template.template)?;
        let rounded = |micros| match digits {
            0 => micros,
            digits => round_to_precision(micros, digits as i32),
        };
        let zone = |ty: &str| {
            let missing = format!("missing time zone in input string for type {ty}");
            east.ok_or_else(|| invalid(missing))
        };
        match (template.dated, template.timed, template.zoned) {
            (true, true, true) => {
                let east = zone("timestamptz")?;
                let found = instant(&civil, i64::from(east));
                let found = found.ok_or_else(|| out_of_range("timestamptz"))?;
                Ok(StandardTime::TimestampTz(rounded(found), east))
            }
            (true, true, false) => {
                let found = instant(&civil, 0).ok_or_else(|| out_of_range("timestamp"))?;
                Ok(StandardTime::Timestamp(rounded(found)))
            }
            (true, false, true) => Err(invalid("datetime format is zoned but not timed")),
            (true, false, false) => date(text, &civil),
            (false, true, true) => Ok(StandardTime::TimeTz(rounded(civil.time()), zone("timetz")?)),
            (false, true, false) => Ok(StandardTime::Time(rounded(civil.time()))),
            (false, false, _) => Err(invalid("datetime format is not dated and not timed")),
        }
    }

    /// Reads a text as one of the forms of ISO 8601 that there are.
    pub fn recognise(text: &str) -> Option<StandardTime> {
        templates().iter().find_map(|template| StandardTime::parse(text, template).ok())
    }

    /// The name of its type.
    pub fn type_name(self) -> &'static str {
        match self {
            StandardTime::Date(_) => "date",
            StandardTime::Time(_) => "time without time zone",
            StandardTime::TimeTz(..) => "time with time zone",
            StandardTime::Timestamp(_) => "timestamp without time zone",
            StandardTime::TimestampTz(..) => "timestamp with time zone",
        }
    }

    /// Its text in JSON.
    pub fn to_json_text(self) -> String {
        let (mut out, era) = match self {
            StandardTime::Date(days) => {
                let mut out = String::new();
                format_date(days, &FormatSettings::default(), &mut out);
                return out;
            }
            StandardTime::Time(micros) | StandardTime::TimeTz(micros, _) => {
                let mut out = String::new();
                format_time(micros, &mut out);
                (out, "")
            }
            StandardTime::Timestamp(micros) => local(micros),
            StandardTime::TimestampTz(micros, east) => {
                local(micros.saturating_add(i64::from(east) * MICROS_PER_SECOND))
            }
        };
        if let StandardTime::TimeTz(_, east) | StandardTime::TimestampTz(_, east) = self {
            push_offset(&mut out, east);
            out.push_str(if east % 3600 == 0 { ":00" } else { "" });
        }
        out.push_str(era);
        out
    }

    /// How two compare; nothing where their types do not. A zone is there where offsets may be
    /// taken from it.
    ///
    /// # Errors
    ///
    /// 0A000 where an offset must be taken from a zone.
    pub fn compare(self, other: Self, zone: Option<&TimeZone>) -> Result<Option<Ordering>> {
        use StandardTime::*;
        let needs = |from: &str, to: &str| zone.ok_or_else(|| needs_zone(from, to));
        Ok(Some(match (self, other) {
            (Date(a), Date(b)) => a.cmp(&b),
            (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(&b),
            (TimestampTz(a, _), TimestampTz(b, _)) => a.cmp(&b),
            (TimeTz(a, a_east), TimeTz(b, b_east)) => {
                let utc = |micros: i64, east: i32| micros - i64::from(east) * MICROS_PER_SECOND;
                utc(a, a_east).cmp(&utc(b, b_east)).then(b_east.cmp(&a_east))
            }
            (Date(a), Timestamp(b)) => {
                date_to_timestamp(a).map_or(Ordering::Greater, |a| a.cmp(&b))
            }
            (Date(a), TimestampTz(b, _)) => {
                let zone = needs("date", "timestamptz")?;
                date_to_timestamptz(a, zone).map_or(Ordering::Greater, |a| a.cmp(&b))
            }
            (Timestamp(a), TimestampTz(b, _)) => {
                let zone = needs("timestamp", "timestamptz")?;
                timestamp_to_timestamptz(a, zone).map_or(Ordering::Greater, |a| a.cmp(&b))
            }
            (Time(a), TimeTz(..)) => {
                let Some(east) = needs("time", "timetz")?.fixed_offset() else {
                    return Err(Error::unsupported(
                        "comparing a time with one that has an offset, in a zone whose offset \
                         changes",
                        "Set TimeZone to an offset.",
                    ));
                };
                return TimeTz(a, east).compare(other, zone);
            }
            (Timestamp(_) | TimestampTz(..), Date(_))
            | (TimestampTz(..), Timestamp(_))
            | (TimeTz(..), Time(_)) => {
                return Ok(other.compare(self, zone)?.map(Ordering::reverse));
            }
            _ => return Ok(None),
        }))
    }
}

/// A date and a time with a `T` between, and the era.
fn local(micros: i64) -> (String, &'static str) {
    let mut out = String::new();
    let days = micros.div_euclid(calendar::MICROS_PER_DAY);
    format_date(days as i32, &FormatSettings::default(), &mut out);
    let era = if out.ends_with(" BC") { " BC" } else { "" };
    out.truncate(out.len() - era.len());
    out.push('T');
    format_time(micros.rem_euclid(calendar::MICROS_PER_DAY), &mut out);
    (out, era)
}

fn date(text: &str, civil: &Civil) -> Result<StandardTime> {
    if !civil.is_julian() || !calendar::date_in_range(civil.days()) {
        let message = format!("date out of range: \"{text}\"");
        return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message));
    }
    Ok(StandardTime::Date(civil.days() as i32))
}

fn needs_zone(from: &str, to: &str) -> Error {
    let message = format!("cannot convert value from {from} to {to} without time zone usage");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("Use *_tz() function for time zone support.")
}
