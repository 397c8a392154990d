//! The session settings that decide how values are read and printed.
//!
//! Each type here parses what `SET` is given and displays what `SHOW` answers, with PostgreSQL's
//! errors for what it refuses (22023). The settings are plain data: a maintained object keeps a
//! serialised copy of those it was created under, so that its content does not depend on who
//! reads it. [`TimeZone`] lies with the calendar, in [`crate::repr::datetime::zone`].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, SqlState};

pub use crate::repr::datetime::zone::TimeZone;

/// Everything the text forms of values depend on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatSettings {
    /// How dates and timestamps are printed, and which of ambiguous numbers is the day.
    pub date_style: DateStyle,
    /// How intervals are printed.
    pub interval_style: IntervalStyle,
    /// The zone in which a `timestamptz` is read and printed.
    pub time_zone: TimeZone,
    /// Digits of floating-point numbers: above zero, the shortest exact form.
    pub extra_float_digits: i32,
    /// How `bytea` is printed.
    pub bytea_output: ByteaOutput,
}

impl Default for FormatSettings {
    fn default() -> FormatSettings {
        FormatSettings {
            date_style: DateStyle::default(),
            interval_style: IntervalStyle::default(),
            time_zone: TimeZone::utc(),
            extra_float_digits: 1,
            bytea_output: ByteaOutput::default(),
        }
    }
}

/// The setting `DateStyle`: an output style and an order of day, month and year.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DateStyle {
    /// The shape of output.
    pub style: DateOutput,
    /// The order of ambiguous input, and of output in the styles that have a choice.
    pub order: DateOrder,
}

/// The shape of printed dates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOutput {
    /// `1999-01-08 04:05:06-08`
    #[default]
    Iso,
    /// `01/08/1999 04:05:06 PST`
    Sql,
    /// `Fri Jan 08 04:05:06 1999 PST`
    Postgres,
    /// `08.01.1999 04:05:06 PST`
    German,
}

/// The order of the numbers of a date.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// The setting `IntervalStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

/// The setting `bytea_output`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ByteaOutput {
    /// `\x6162`
    #[default]
    Hex,
    /// `ab`, with `\ooo` for what is not printable.
    Escape,
}

/// PostgreSQL's refusal of a setting's value.
pub(crate) fn invalid_value(parameter: &str, value: &str) -> Error {
    let message = format!("invalid value for parameter \"{parameter}\": \"{value}\"");
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

impl DateStyle {
    /// Reads a list such as `ISO, DMY`. A part that it does not name stays as in `current`;
    /// `DEFAULT` names both parts of the default, where nothing else does.
    pub fn parse(text: &str, current: DateStyle) -> Result<DateStyle> {
        let refuse = |detail: String| Err(invalid_value("DateStyle", text).with_detail(detail));
        let mut style: Option<DateOutput> = None;
        let mut order: Option<DateOrder> = None;
        let mut conflict = false;
        let mut german = false;
        if text.trim().is_empty() {
            return Ok(current);
        }
        for item in text.split(',') {
            let Some(word) = list_item(item) else {
                return refuse("List syntax is invalid.".to_owned());
            };
            let lower = word.to_ascii_lowercase();
            let named = match lower.as_str() {
                "iso" => Keyword::Style(DateOutput::Iso),
                "sql" => Keyword::Style(DateOutput::Sql),
                "german" => Keyword::Style(DateOutput::German),
                "ymd" => Keyword::Order(DateOrder::Ymd),
                "dmy" => Keyword::Order(DateOrder::Dmy),
                "mdy" | "us" => Keyword::Order(DateOrder::Mdy),
                "default" => Keyword::Default,
                _ if lower.starts_with("postgres") => Keyword::Style(DateOutput::Postgres),
                _ if lower.starts_with("euro") => Keyword::Order(DateOrder::Dmy),
                _ if lower.starts_with("noneuro") => Keyword::Order(DateOrder::Mdy),
                _ => return refuse(format!("Unrecognized key word: \"{word}\".")),
            };
            match named {
                Keyword::Style(new) => {
                    conflict |= style.is_some_and(|old| old != new);
                    style = Some(new);
                    german |= new == DateOutput::German;
                }
                Keyword::Order(new) => {
                    conflict |= order.is_some_and(|old| old != new);
                    order = Some(new);
                }
                Keyword::Default => {
                    style = style.or(Some(DateOutput::default()));
                    order = order.or(Some(DateOrder::default()));
                }
            }
        }
        if conflict {
            return refuse("Conflicting \"datestyle\" specifications.".to_owned());
        }
        // German dates put the day first, unless the list says otherwise.
        let order = order.or(german.then_some(DateOrder::Dmy));
        Ok(DateStyle {
            style: style.unwrap_or(current.style),
            order: order.unwrap_or(current.order),
        })
    }
}

/// What one word of a `DateStyle` list names.
enum Keyword {
    Style(DateOutput),
    Order(DateOrder),
    Default,
}

/// The identifier that an item of a list consists of; `None` where it is not one.
fn list_item(item: &str) -> Option<&str> {
    let item = item.trim();
    if let Some(quoted) = item.strip_prefix('"') {
        return quoted.strip_suffix('"').filter(|inner| !inner.is_empty());
    }
    let one_word = !item.is_empty() && !item.contains(char::is_whitespace);
    one_word.then_some(item)
}

impl fmt::Display for DateStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = match self.style {
            DateOutput::Iso => "ISO",
            DateOutput::Sql => "SQL",
            DateOutput::Postgres => "Postgres",
            DateOutput::German => "German",
        };
        let order = match self.order {
            DateOrder::Mdy => "MDY",
            DateOrder::Dmy => "DMY",
            DateOrder::Ymd => "YMD",
        };
        write!(f, "{style}, {order}")
    }
}

impl IntervalStyle {
    const ALL: [(IntervalStyle, &'static str); 4] = [
        (IntervalStyle::Postgres, "postgres"),
        (IntervalStyle::PostgresVerbose, "postgres_verbose"),
        (IntervalStyle::SqlStandard, "sql_standard"),
        (IntervalStyle::Iso8601, "iso_8601"),
    ];

    /// Reads one of the four names, in any case of letters.
    pub fn parse(text: &str) -> Result<IntervalStyle> {
        let found = Self::ALL.iter().find(|(_, name)| name.eq_ignore_ascii_case(text));
        found.map(|(style, _)| *style).ok_or_else(|| {
            invalid_value("IntervalStyle", text)
                .with_hint("Available values: postgres, postgres_verbose, sql_standard, iso_8601.")
        })
    }
}

impl fmt::Display for IntervalStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = Self::ALL.iter().find(|(style, _)| style == self);
        f.write_str(found.map_or("", |(_, name)| name))
    }
}

impl ByteaOutput {
    /// Reads `hex` or `escape`, in any case of letters.
    pub fn parse(text: &str) -> Result<ByteaOutput> {
        match text.to_ascii_lowercase().as_str() {
            "hex" => Ok(ByteaOutput::Hex),
            "escape" => Ok(ByteaOutput::Escape),
            _ => {
                Err(invalid_value("bytea_output", text).with_hint("Available values: escape, hex."))
            }
        }
    }
}

impl fmt::Display for ByteaOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ByteaOutput::Hex => "hex",
            ByteaOutput::Escape => "escape",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_style_keeps_what_the_list_leaves_out() {
        let iso = DateStyle::default();
        assert_eq!(iso.to_string(), "ISO, MDY");
        let german = DateStyle::parse("german", iso).unwrap();
        assert_eq!(german.to_string(), "German, DMY");
        assert_eq!(DateStyle::parse("sql", german).unwrap().to_string(), "SQL, DMY");
        let explicit = DateStyle::parse("German , ymd", iso).unwrap();
        assert_eq!(explicit.to_string(), "German, YMD");
        assert_eq!(DateStyle::parse("\"iso\",us", german).unwrap(), iso);
        assert_eq!(DateStyle::parse("default", german).unwrap(), iso);
        assert_eq!(DateStyle::parse("", german).unwrap(), german);
    }

    #[test]
    fn date_style_refuses_as_postgresql_does() {
        let detail = |text| {
            let error = DateStyle::parse(text, DateStyle::default()).unwrap_err();
            assert_eq!(
                error.message,
                format!("invalid value for parameter \"DateStyle\": \"{text}\"")
            );
            error.detail.unwrap()
        };
        assert_eq!(detail("foo"), "Unrecognized key word: \"foo\".");
        assert_eq!(detail("iso,sql"), "Conflicting \"datestyle\" specifications.");
        assert_eq!(detail("iso,"), "List syntax is invalid.");
        assert_eq!(detail("iso mdy"), "List syntax is invalid.");
    }

    #[test]
    fn settings_survive_serialisation() {
        let settings = FormatSettings {
            interval_style: IntervalStyle::parse("ISO_8601").unwrap(),
            time_zone: TimeZone::parse("europe/berlin").unwrap(),
            ..FormatSettings::default()
        };
        let text = serde_json::to_string(&settings).unwrap();
        assert!(text.contains("\"Europe/Berlin\""), "{text}");
        assert_eq!(serde_json::from_str::<FormatSettings>(&text).unwrap(), settings);
    }
}
