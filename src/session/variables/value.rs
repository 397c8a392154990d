//! Values of settings: read as PostgreSQL reads them, with its refusals, and printed as SHOW does.

use std::fmt::Write;

use crate::error::{Error, Result, SqlState};
use crate::repr::settings::{DateStyle, TimeZone};
use crate::session::variables::table::Kind;

/// What a setting is set to.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `on` or `off`.
    Bool(bool),
    /// So many units.
    Int(i64),
    /// So many units.
    Real(f64),
    /// Text, in the form that SHOW prints.
    Text(String),
    /// Of `DateStyle`.
    DateStyle(DateStyle),
    /// Of `TimeZone`.
    TimeZone(TimeZone),
}

/// The unit in which a setting counts: so many bytes, or so many microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    name: &'static str,
    factor: i64,
    scale: &'static [(&'static str, i64)],
}

/// Units of memory, in bytes.
const MEMORY: &[(&str, i64)] =
    &[("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];
/// Units of time, in microseconds.
const TIME: &[(&str, i64)] = &[
    ("d", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
];

impl Unit {
    /// The unit of that name; `8kB` is a page.
    pub fn named(name: &'static str) -> Option<Unit> {
        if name == "8kB" {
            return Some(Unit { name, factor: 8 << 10, scale: MEMORY });
        }
        [MEMORY, TIME].into_iter().find_map(|scale| {
            let (_, factor) = scale.iter().find(|(unit, _)| *unit == name)?;
            Some(Unit { name, factor: *factor, scale })
        })
    }

    fn hint(self) -> &'static str {
        if self.scale == MEMORY {
            "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"."
        } else {
            "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\"."
        }
    }

    /// `number` of the unit that `text` names, in this one. A broken number of units is rounded
    /// to whole ones of the next smaller unit.
    fn convert(self, number: f64, text: &str) -> Option<f64> {
        let at = self.scale.iter().position(|(name, _)| *name == text)?;
        let mut small = number * self.scale[at].1 as f64;
        if let Some((_, next)) = self.scale.get(at + 1) {
            small = (small / *next as f64).round_ties_even() * *next as f64;
        }
        Some(small / self.factor as f64)
    }
}

fn refuse(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn invalid(name: &str, text: &str) -> Error {
    refuse(format!("invalid value for parameter \"{name}\": \"{text}\""))
}

impl Value {
    /// Reads the value of the setting `name`; `current` is what it is set to.
    pub fn parse(name: &str, kind: &Kind, text: &str, current: Option<&Value>) -> Result<Value> {
        match kind {
            Kind::Bool => parse_bool(text)
                .map(Value::Bool)
                .ok_or_else(|| refuse(format!("parameter \"{name}\" requires a Boolean value"))),
            Kind::Int(unit, least, greatest) => {
                let value = round_int(name, text, parse_number(name, text, *unit)?)?;
                if !(*least..=*greatest).contains(&value) {
                    return Err(outside(name, value, *unit, least, greatest));
                }
                Ok(Value::Int(value))
            }
            Kind::Real(unit, least, greatest) => {
                let value = parse_number(name, text, *unit)?;
                if !(*least..=*greatest).contains(&value) {
                    let [value, least, greatest] =
                        [value, *least, *greatest].map(format_significant);
                    return Err(outside(name, value, *unit, least, greatest));
                }
                Ok(Value::Real(value))
            }
            Kind::Enum(words) => {
                parse_word(words, text).map(|w| Value::Text(w.to_owned())).ok_or_else(|| {
                    let hint = format!("Available values: {}.", words.join(", "));
                    invalid(&name.to_ascii_lowercase(), text).with_hint(hint)
                })
            }
            Kind::Text | Kind::Role => Ok(Value::Text(text.to_owned())),
            Kind::Name => Ok(Value::Text(clean_name(text))),
            Kind::Identifiers => match split_identifiers(text) {
                Some(_) => Ok(Value::Text(text.to_owned())),
                None => Err(invalid(name, text).with_detail("List syntax is invalid.")),
            },
            Kind::Encoding => parse_encoding(name, text),
            Kind::DateStyle => {
                let current = match current {
                    Some(Value::DateStyle(style)) => *style,
                    _ => DateStyle::default(),
                };
                DateStyle::parse(text, current).map(Value::DateStyle)
            }
            Kind::TimeZone => TimeZone::parse(text).map(Value::TimeZone),
        }
    }

    /// The value as SHOW prints it.
    pub fn show(&self, kind: &Kind) -> String {
        match (self, kind) {
            (Value::Bool(on), _) => if *on { "on" } else { "off" }.to_owned(),
            (Value::Int(value), Kind::Int(Some(unit), ..)) => show_int(*value, *unit),
            (Value::Int(value), _) => value.to_string(),
            (Value::Real(value), Kind::Real(Some(unit), ..)) => show_real(*value, *unit),
            (Value::Real(value), _) => format_significant(*value),
            (Value::Text(text), _) => text.clone(),
            (Value::DateStyle(style), _) => style.to_string(),
            (Value::TimeZone(zone), _) => zone.name().to_owned(),
        }
    }
}

fn outside(
    name: &str,
    value: impl std::fmt::Display,
    unit: Option<Unit>,
    least: impl std::fmt::Display,
    greatest: impl std::fmt::Display,
) -> Error {
    let unit = unit.map(|unit| format!(" {}", unit.name)).unwrap_or_default();
    refuse(format!(
        "{value}{unit} is outside the valid range for parameter \"{name}\" ({least} .. {greatest})"
    ))
}

/// Any beginning of `true`, `false`, `yes`, `no` that tells them apart, or `on`, `off`, `1`, `0`.
fn parse_bool(text: &str) -> Option<bool> {
    let word = text.to_ascii_lowercase();
    let begins = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Some(false)
    } else {
        None
    }
}

/// One of the words, or what PostgreSQL takes for one without listing it.
fn parse_word(words: &[&'static str], text: &str) -> Option<&'static str> {
    let find = |text: &str| words.iter().copied().find(|word| word.eq_ignore_ascii_case(text));
    find(text).or_else(|| match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => find("on"),
        "false" | "no" | "0" => find("off"),
        "debug" => find("debug2"),
        "info" if find("debug5").is_some() => Some("info"),
        _ => None,
    })
}

fn round_int(name: &str, text: &str, value: f64) -> Result<i64> {
    let rounded = value.round_ties_even();
    if rounded < i32::MIN.into() || rounded > i32::MAX.into() {
        return Err(invalid(name, text).with_hint("Value exceeds integer range."));
    }
    Ok(rounded as i64)
}

/// A number and perhaps a unit, in the setting's unit.
fn parse_number(name: &str, text: &str, unit: Option<Unit>) -> Result<f64> {
    let body = text.trim_start();
    let (number, rest) = scan_number(body).ok_or_else(|| invalid(name, text))?;
    let suffix = rest.trim();
    if suffix.is_empty() {
        return Ok(number);
    }
    let unit = unit.ok_or_else(|| invalid(name, text))?;
    unit.convert(number, suffix).ok_or_else(|| invalid(name, text).with_hint(unit.hint()))
}

/// The number that `text` begins with, as C's `strtol` and `strtod` read it, and what follows.
fn scan_number(text: &str) -> Option<(f64, &str)> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits =
        |from: &str| from.len() - from.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let signed = |value: f64| if negative { -value } else { value };
    if let Some(hex) = body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        let end = hex.len() - hex.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        let value = u64::from_str_radix(&hex[..end], 16).ok()?;
        return Some((signed(value as f64), &hex[end..]));
    }
    let mut end = digits(body);
    let whole = end;
    if body[end..].starts_with('.') {
        end += 1 + digits(&body[end + 1..]);
    }
    if end == 0 || &body[..end] == "." {
        return None;
    }
    if let Some(exponent) = body[end..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['-', '+']));
        let width = digits(&exponent[sign..]);
        if width > 0 {
            end += 1 + sign + width;
        }
    }
    let value = match body.strip_prefix('0') {
        // A whole number that begins with 0 is octal.
        Some(octal) if end == whole && whole > 1 => {
            let end = octal.len() - octal.trim_start_matches(|c| matches!(c, '0'..='7')).len();
            let value = if end == 0 { 0 } else { i64::from_str_radix(&octal[..end], 8).ok()? };
            return Some((signed(value as f64), &octal[end..]));
        }
        _ => body[..end].parse::<f64>().ok()?,
    };
    value.is_finite().then_some((signed(value), &body[end..]))
}

fn show_int(value: i64, unit: Unit) -> String {
    if value <= 0 {
        return value.to_string();
    }
    let small = value * unit.factor;
    let fits = |(_, factor): &&(&str, i64)| *factor <= unit.factor || small % factor == 0;
    let (name, factor) = unit.scale.iter().find(fits).unwrap_or(&("", 1));
    format!("{}{name}", small / factor)
}

fn show_real(value: f64, unit: Unit) -> String {
    if value <= 0.0 {
        return format_significant(value);
    }
    let small = value * unit.factor as f64;
    let whole = |factor: i64| {
        let number = small / factor as f64;
        number > 0.0 && (number.round_ties_even() / number - 1.0).abs() <= 1e-8
    };
    let fits = |(_, factor): &&(&str, i64)| whole(*factor);
    let (name, factor) = unit.scale.iter().find(fits).unwrap_or(&unit.scale[unit.scale.len() - 1]);
    format!("{}{name}", format_significant(small / *factor as f64))
}

/// Six significant digits, as C's `%g` prints them.
fn format_significant(value: f64) -> String {
    let scientific = format!("{value:.5e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..6).contains(&exponent) {
        return trim(&format!("{value:.*}", (5 - exponent) as usize));
    }
    let mut out = trim(digits);
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "e{sign}{:02}", exponent.abs()).expect("a string takes all text");
    out
}

/// What is not printable ASCII becomes a question mark; a name has 63 bytes.
fn clean_name(text: &str) -> String {
    let clean = text.bytes().map(|c| if matches!(c, 32..=126) { c.into() } else { '?' });
    clean.take(63).collect()
}

/// The identifiers of a list such as `"$user", public`: those in quotes as they are, others in
/// lower case. `None`: it is not such a list.
pub fn split_identifiers(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, after) = match rest.strip_prefix('"') {
            Some(quoted) => take_quoted(quoted)?,
            None => {
                let end = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        if name.is_empty() && !rest.starts_with('"') {
            return None;
        }
        names.push(name);
        match after.trim_start().strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return after.trim().is_empty().then_some(names),
        }
    }
}

/// A name up to its closing quote, and what follows.
fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return Some((name, rest)),
        }
    }
}

/// Character sets that PostgreSQL converts and Weir does not: without case and punctuation.
const OTHER_ENCODINGS: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("big5", "BIG5"),
    ("euccn", "EUC_CN"),
    ("eucjis2004", "EUC_JIS_2004"),
    ("eucjp", "EUC_JP"),
    ("euckr", "EUC_KR"),
    ("euctw", "EUC_TW"),
    ("gb18030", "GB18030"),
    ("gbk", "GBK"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88595", "ISO_8859_5"),
    ("iso88596", "ISO_8859_6"),
    ("iso88597", "ISO_8859_7"),
    ("iso88598", "ISO_8859_8"),
    ("iso88599", "LATIN5"),
    ("johab", "JOHAB"),
    ("koi8", "KOI8R"),
    ("koi8r", "KOI8R"),
    ("koi8u", "KOI8U"),
    ("latin1", "LATIN1"),
    ("latin10", "LATIN10"),
    ("latin2", "LATIN2"),
    ("latin3", "LATIN3"),
    ("latin4", "LATIN4"),
    ("latin5", "LATIN5"),
    ("latin6", "LATIN6"),
    ("latin7", "LATIN7"),
    ("latin8", "LATIN8"),
    ("latin9", "LATIN9"),
    ("mskanji", "SJIS"),
    ("muleinternal", "MULE_INTERNAL"),
    ("shiftjis", "SJIS"),
    ("shiftjis2004", "SHIFT_JIS_2004"),
    ("sjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("uhc", "UHC"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win1250", "WIN1250"),
    ("win1251", "WIN1251"),
    ("win1252", "WIN1252"),
    ("win1253", "WIN1253"),
    ("win1254", "WIN1254"),
    ("win1255", "WIN1255"),
    ("win1256", "WIN1256"),
    ("win1257", "WIN1257"),
    ("win1258", "WIN1258"),
    ("win866", "WIN866"),
    ("win874", "WIN874"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows1250", "WIN1250"),
    ("windows1251", "WIN1251"),
    ("windows1252", "WIN1252"),
    ("windows1253", "WIN1253"),
    ("windows1254", "WIN1254"),
    ("windows1255", "WIN1255"),
    ("windows1256", "WIN1256"),
    ("windows1257", "WIN1257"),
    ("windows1258", "WIN1258"),
    ("windows866", "WIN866"),
    ("windows874", "WIN874"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

/// UTF8 under its names, or SQL_ASCII, under which PostgreSQL does not convert either.
fn parse_encoding(name: &str, text: &str) -> Result<Value> {
    let plain: String =
        text.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match plain.as_str() {
        // An old driver insists on reading back what it has set.
        "unicode" if text == "UNICODE" => Ok(Value::Text("UNICODE".to_owned())),
        "utf8" | "unicode" => Ok(Value::Text("UTF8".to_owned())),
        "sqlascii" => Ok(Value::Text("SQL_ASCII".to_owned())),
        _ => match OTHER_ENCODINGS.binary_search_by(|(known, _)| (*known).cmp(&plain)) {
            Err(_) => Err(invalid(name, text)),
            Ok(at) => {
                let detail = format!(
                    "Conversion between {} and UTF8 is not supported.",
                    OTHER_ENCODINGS[at].1
                );
                let mut error = invalid(name, text).with_detail(detail);
                error.code = SqlState::FEATURE_NOT_SUPPORTED;
                Err(error)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_c_does() {
        for (text, number, rest) in [
            ("12", 12.0, ""),
            ("-1.5s", -1.5, "s"),
            ("0x1F kB", 31.0, " kB"),
            ("010", 8.0, ""),
            ("0", 0.0, ""),
            ("1e3ms", 1000.0, "ms"),
            ("1e", 1.0, "e"),
            (".5min", 0.5, "min"),
        ] {
            assert_eq!(scan_number(text), Some((number, rest)), "{text}");
        }
        for text in ["", ".", "-", "x", "0x", "1e999"] {
            assert_eq!(scan_number(text), None, "{text}");
        }
    }

    #[test]
    fn six_digits_as_c_prints_them() {
        let shown = [0.00001, 0.005, 100_000.0, 1_234_567.0, 0.0, 2.5, f64::MAX];
        let expected = ["1e-05", "0.005", "100000", "1.23457e+06", "0", "2.5", "1.79769e+308"];
        assert_eq!(shown.map(format_significant), expected);
    }

    #[test]
    fn lists_of_identifiers() {
        let split = |text| split_identifiers(text).map(|names| names.join("|"));
        assert_eq!(split("\"$user\", Public").as_deref(), Some("$user|public"));
        assert_eq!(split("  \"a \"\"B\" ,c").as_deref(), Some("a \"B|c"));
        assert_eq!(split("").as_deref(), Some(""));
        assert_eq!(split("\"\"").as_deref(), Some(""));
        for text in ["a b", "a,", ",a", "\"a", "a,,b"] {
            assert_eq!(split(text), None, "{text}");
        }
    }

    #[test]
    fn encodings_are_in_order() {
        assert!(OTHER_ENCODINGS.is_sorted());
    }
}
