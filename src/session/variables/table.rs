//! The table of settings, from `settings.tsv`.
//!
//! A line is a name as PostgreSQL spells it, a kind, who may change it, whether clients are told
//! of changes (`report`), the default and a description. Lines are in the order of their names
//! without regard to case, in which they are searched.
//!
//! Names, limits, defaults and descriptions are PostgreSQL 15's; where Weir's own default differs
//! it says what is true here (`default_transaction_isolation` is serializable, `jit` is off).

use std::sync::LazyLock;

use crate::session::variables::value::{Unit, Value};

/// A setting that exists without being set.
#[derive(Debug)]
pub struct Setting {
    /// The name as SHOW prints it.
    pub name: &'static str,
    /// The name in lower case, by which it is found.
    pub key: String,
    /// What its values are.
    pub kind: Kind,
    /// Who may change it.
    pub access: Access,
    /// Whether a client is told of each change (`ParameterStatus`).
    pub reported: bool,
    /// The value before anything is set.
    pub default: Value,
    /// What it is for.
    pub description: &'static str,
}

/// What the values of a setting are.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// `on` or `off`.
    Bool,
    /// A whole number of units, from the least to the greatest.
    Int(Option<Unit>, i64, i64),
    /// A number of units, from the least to the greatest.
    Real(Option<Unit>, f64, f64),
    /// One of these words.
    Enum(Vec<&'static str>),
    /// Any text.
    Text,
    /// Text of printable ASCII, at most 63 bytes.
    Name,
    /// A list of identifiers.
    Identifiers,
    /// A character set.
    Encoding,
    /// `DateStyle`.
    DateStyle,
    /// `TimeZone`.
    TimeZone,
    /// The name of a role.
    Role,
}

/// Who may change a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever likes.
    User,
    /// It may be set, to what it is.
    Fixed,
    /// It may not be set, because it would not do what it says.
    Refused,
    /// Set when the server starts.
    Server,
    /// A fact.
    Internal,
}

const TABLE: &str = include_str!("settings.tsv");

static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
    TABLE.lines().map(|line| setting(line).expect("a test reads every line")).collect()
});

/// All settings, in the order of their names.
pub fn settings() -> &'static [Setting] {
    &SETTINGS
}

/// The setting of that name in lower case.
pub fn find(key: &str) -> Option<&'static Setting> {
    let at = SETTINGS.binary_search_by(|setting| setting.key.as_str().cmp(key)).ok()?;
    SETTINGS.get(at)
}

fn setting(line: &'static str) -> Option<Setting> {
    let mut fields = line.split('\t');
    let mut next = || fields.next();
    let name = next()?;
    let kind = kind(next()?)?;
    let access = match next()? {
        "user" => Access::User,
        "fixed" => Access::Fixed,
        "refused" => Access::Refused,
        "server" => Access::Server,
        "internal" => Access::Internal,
        _ => return None,
    };
    let reported = next()? == "report";
    let default = match (name, next()?) {
        ("server_version", _) => Value::Text(server_version()),
        (_, text) => Value::parse(name, &kind, text, None).ok()?,
    };
    let description = next()?;
    let key = name.to_ascii_lowercase();
    Some(Setting { name, key, kind, access, reported, default, description })
}

/// Drivers read the numbers before the space.
fn server_version() -> String {
    format!("15.0 (Weir {})", env!("CARGO_PKG_VERSION"))
}

fn kind(text: &'static str) -> Option<Kind> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let limits = || {
        let mut parts = rest.split(' ');
        let unit = match parts.next()? {
            "-" => None,
            unit => Some(Unit::named(unit)?),
        };
        Some((unit, parts.next()?, parts.next()?))
    };
    Some(match word {
        "bool" => Kind::Bool,
        "int" => {
            let (unit, least, greatest) = limits()?;
            Kind::Int(unit, least.parse().ok()?, greatest.parse().ok()?)
        }
        "real" => {
            let (unit, least, greatest) = limits()?;
            Kind::Real(unit, least.parse().ok()?, greatest.parse().ok()?)
        }
        "enum" => Kind::Enum(rest.split(',').collect()),
        "text" => Kind::Text,
        "name" => Kind::Name,
        "identifiers" => Kind::Identifiers,
        "encoding" => Kind::Encoding,
        "date_style" => Kind::DateStyle,
        "time_zone" => Kind::TimeZone,
        "role" => Kind::Role,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read_and_in_order() {
        for line in TABLE.lines() {
            assert!(setting(line).is_some(), "{line}");
        }
        assert!(settings().is_sorted_by(|a, b| a.key < b.key));
        assert_eq!(find("datestyle").map(|s| s.name), Some("DateStyle"));
        assert!(find("DateStyle").is_none());
    }
}
