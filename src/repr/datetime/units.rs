//! Names of units, as `extract` and `date_trunc` are given them.

use crate::error::{Error, SqlState};
use crate::repr::datetime::keywords::{Special, Unit, Word, date_word, unit_word};

/// The type whose field is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldOf {
    Date,
    Time,
    TimeTz,
    Timestamp,
    TimestampTz,
    Interval,
}

impl FieldOf {
    fn name(self) -> &'static str {
        match self {
            FieldOf::Date => "date",
            FieldOf::Time => "time without time zone",
            FieldOf::TimeTz => "time with time zone",
            FieldOf::Timestamp => "timestamp without time zone",
            FieldOf::TimestampTz => "timestamp with time zone",
            FieldOf::Interval => "interval",
        }
    }

    /// PostgreSQL's error for a unit that it does not know.
    pub(super) fn unknown(self, unit: &str) -> Error {
        let unit = unit.to_lowercase();
        let message = format!("unit \"{unit}\" not recognized for type {}", self.name());
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    }

    /// PostgreSQL's error for a unit that the type does not have.
    pub(super) fn unsupported(self, unit: &str) -> Error {
        let unit = unit.to_lowercase();
        let message = format!("unit \"{unit}\" not supported for type {}", self.name());
        Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
    }
}

/// A unit to truncate to.
pub(super) fn truncation_unit(name: &str) -> Option<Unit> {
    unit_word(&name.to_lowercase()).filter(|unit| *unit != Unit::Ago)
}

/// A field to extract.
pub(super) fn field_unit(name: &str) -> Option<Unit> {
    let name = name.to_lowercase();
    let unit = unit_word(&name).or_else(|| match date_word(&name) {
        Some(Word::Unit(unit)) => Some(unit),
        Some(Word::Special(Special::Epoch)) => Some(Unit::Epoch),
        Some(Word::Special(_)) => Some(Unit::ValueName),
        _ => None,
    });
    unit.filter(|unit| *unit != Unit::Ago)
}
