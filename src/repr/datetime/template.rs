//! Templates of `to_char`, `to_timestamp` and `to_date`: from text to a list of items.
//!
//! A pattern is written all in capitals or all in small letters; the names of months and days
//! also with one capital, and they come out as the pattern is written. Anything that is no
//! pattern stands for itself.

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub(super) items: Vec<Item>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Item {
    Pattern(Pattern),
    /// A letter, a digit, or anything in quotes.
    Literal(char),
    /// Punctuation outside of quotes.
    Separator(char),
    Space(char),
}

/// A pattern with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    pub key: Key,
    /// As it is written, for messages.
    pub name: &'static str,
    pub case: Case,
    /// `FM`: no padding.
    pub fill: bool,
    /// `TM`: names in the language of the session, which is English; they are not padded.
    pub translated: bool,
    /// `TH` or `th`: an ordinal's ending.
    pub ordinal: Option<Case>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Capital,
    Lower,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Key {
    DottedMeridiem, Meridiem, DottedEra, Era,
    Hour12, Hour24, Minute, Second, Millisecond, Microsecond, Fraction(u32), SecondOfDay,
    Zone, ZoneHour, ZoneMinute, Offset,
    Month, MonthName, ShortMonthName, RomanMonth,
    Day, DayOfYear, DayOfWeek, DayName, ShortDayName, Week, WeekOfMonth, Julian, Quarter,
    Century, Year, YearWithComma, ShortYear(u32),
    IsoYear, IsoShortYear(u32), IsoWeek, IsoDayOfYear, IsoDayOfWeek,
    Exact,
}

impl Key {
    /// Whether the pattern reads digits, so that digits before it must be counted.
    pub(super) fn is_digits(self) -> bool {
        !matches!(
            self,
            Key::DottedMeridiem
                | Key::Meridiem
                | Key::DottedEra
                | Key::Era
                | Key::Zone
                | Key::ZoneHour
                | Key::Offset
                | Key::MonthName
                | Key::ShortMonthName
                | Key::RomanMonth
                | Key::DayName
                | Key::ShortDayName
                | Key::Exact
        )
    }
}

/// Every pattern in capitals and in small letters; a longer name comes before its beginnings.
#[rustfmt::skip]
const KEYS: &[(&str, &str, Key)] = &[
    // With one capital these are names, which alone have a third spelling.
    ("Day", "Day", Key::DayName), ("Dy", "Dy", Key::ShortDayName),
    ("Month", "Month", Key::MonthName), ("Mon", "Mon", Key::ShortMonthName),
    ("A.D.", "a.d.", Key::DottedEra), ("B.C.", "b.c.", Key::DottedEra),
    ("A.M.", "a.m.", Key::DottedMeridiem), ("P.M.", "p.m.", Key::DottedMeridiem),
    ("AD", "ad", Key::Era), ("BC", "bc", Key::Era),
    ("AM", "am", Key::Meridiem), ("PM", "pm", Key::Meridiem),
    ("CC", "cc", Key::Century),
    ("DAY", "day", Key::DayName), ("DDD", "ddd", Key::DayOfYear), ("DD", "dd", Key::Day),
    ("DY", "dy", Key::ShortDayName), ("D", "d", Key::DayOfWeek),
    ("FF1", "ff1", Key::Fraction(1)), ("FF2", "ff2", Key::Fraction(2)),
    ("FF3", "ff3", Key::Fraction(3)), ("FF4", "ff4", Key::Fraction(4)),
    ("FF5", "ff5", Key::Fraction(5)), ("FF6", "ff6", Key::Fraction(6)),
    ("FX", "fx", Key::Exact),
    ("HH24", "hh24", Key::Hour24), ("HH12", "hh12", Key::Hour12), ("HH", "hh", Key::Hour12),
    ("IDDD", "iddd", Key::IsoDayOfYear), ("ID", "id", Key::IsoDayOfWeek),
    ("IW", "iw", Key::IsoWeek), ("IYYY", "iyyy", Key::IsoYear),
    ("IYY", "iyy", Key::IsoShortYear(3)), ("IY", "iy", Key::IsoShortYear(2)),
    ("I", "i", Key::IsoShortYear(1)),
    ("J", "j", Key::Julian),
    ("MI", "mi", Key::Minute), ("MM", "mm", Key::Month), ("MONTH", "month", Key::MonthName),
    ("MON", "mon", Key::ShortMonthName), ("MS", "ms", Key::Millisecond),
    ("OF", "of", Key::Offset), ("Q", "q", Key::Quarter), ("RM", "rm", Key::RomanMonth),
    ("SSSSS", "sssss", Key::SecondOfDay), ("SSSS", "ssss", Key::SecondOfDay),
    ("SS", "ss", Key::Second),
    ("TZH", "tzh", Key::ZoneHour), ("TZM", "tzm", Key::ZoneMinute), ("TZ", "tz", Key::Zone),
    ("US", "us", Key::Microsecond),
    ("WW", "ww", Key::Week), ("W", "w", Key::WeekOfMonth),
    ("Y,YYY", "y,yyy", Key::YearWithComma), ("YYYY", "yyyy", Key::Year),
    ("YYY", "yyy", Key::ShortYear(3)), ("YY", "yy", Key::ShortYear(2)),
    ("Y", "y", Key::ShortYear(1)),
];

fn key_at(text: &str) -> Option<(&'static str, Key, Case)> {
    KEYS.iter().find_map(|(upper, lower, key)| {
        if text.starts_with(upper) {
            Some((*upper, *key, if upper == lower { Case::Capital } else { Case::Upper }))
        } else if text.starts_with(lower) {
            Some((*lower, *key, Case::Lower))
        } else {
            None
        }
    })
}

impl Key {
    /// Whether a value that it is part of has a date, a time, an offset.
    pub(super) fn kind(self) -> Kind {
        match self {
            Key::Zone | Key::ZoneHour | Key::ZoneMinute | Key::Offset => Kind::Zone,
            Key::DottedMeridiem | Key::Meridiem | Key::Hour12 | Key::Hour24 => Kind::Time,
            Key::Minute | Key::Second | Key::Millisecond | Key::Microsecond => Kind::Time,
            Key::Fraction(_) | Key::SecondOfDay => Kind::Time,
            Key::Exact => Kind::Nothing,
            _ => Kind::Date,
        }
    }
}

/// What a pattern says something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Date,
    Time,
    Zone,
}

impl Template {
    /// Parses a template; every text is one.
    pub fn parse(text: &str) -> Template {
        let mut items = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (mut fill, mut translated) = (false, false);
            if let Some(next) = strip_either(rest, "FM", "fm") {
                (fill, rest) = (true, next);
            } else if let Some(next) = strip_either(rest, "TM", "tm") {
                (translated, rest) = (true, next);
            }
            if let Some((name, key, case)) = key_at(rest) {
                rest = &rest[name.len()..];
                let mut pattern = Pattern { key, name, case, fill, translated, ordinal: None };
                if let Some(next) = rest.strip_prefix("TH") {
                    (pattern.ordinal, rest) = (Some(Case::Upper), next);
                } else if let Some(next) = rest.strip_prefix("th") {
                    (pattern.ordinal, rest) = (Some(Case::Lower), next);
                } else if let Some(next) = rest.strip_prefix("SP") {
                    rest = next;
                }
                items.push(Item::Pattern(pattern));
            } else if let Some(quoted) = rest.strip_prefix('"') {
                rest = push_quoted(quoted, &mut items);
            } else {
                // A backslash quotes only a quote.
                if rest.starts_with("\\\"") {
                    rest = &rest[1..];
                }
                let mut chars = rest.chars();
                let Some(next) = chars.next() else { break };
                items.push(match next {
                    ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => Item::Space(next),
                    _ if is_separator(next) => Item::Separator(next),
                    _ => Item::Literal(next),
                });
                rest = chars.as_str();
            }
        }
        Template { items }
    }
}

fn strip_either<'a>(text: &'a str, upper: &str, lower: &str) -> Option<&'a str> {
    text.strip_prefix(upper).or_else(|| text.strip_prefix(lower))
}

/// Punctuation of ASCII; letters and digits of any language are none.
pub(super) fn is_separator(c: char) -> bool {
    c.is_ascii_graphic() && !c.is_ascii_alphanumeric()
}

/// Appends what stands before the closing quote, and returns what follows it.
fn push_quoted<'a>(text: &'a str, items: &mut Vec<Item>) -> &'a str {
    let mut chars = text.chars();
    while let Some(mut next) = chars.next() {
        if next == '"' {
            break;
        }
        if next == '\\' {
            next = chars.next().unwrap_or(next);
        }
        items.push(Item::Literal(next));
    }
    chars.as_str()
}
