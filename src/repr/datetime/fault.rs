//! Why an input is not a date, time or interval, before it is told to the client.

use crate::error::{Error, SqlState};

/// What is wrong with an input; the caller knows the text and the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It does not read as the type at all.
    BadFormat,
    /// A part is out of its range.
    FieldOverflow,
    /// The month or the day is, as happens when they are swapped.
    MonthDayOverflow,
    /// A part of an interval is out of its range.
    IntervalOverflow,
    /// A zone offset is.
    ZoneDisplacement,
    /// A zone that nobody knows.
    UnknownZone(String),
    /// The parts are well but the whole is not representable.
    ResultOverflow,
    /// It names the current time, and there is no clock here.
    NeedsClock(&'static str),
}

impl Fault {
    /// PostgreSQL's error for this fault of `text`, read as a value of type `kind`.
    pub(super) fn into_error(self, kind: &str, text: &str) -> Error {
        let overflow = |code, what: &str| Error::new(code, format!("{what}: \"{text}\""));
        let field = "date/time field value out of range";
        match self {
            Fault::BadFormat => overflow(
                SqlState::INVALID_DATETIME_FORMAT,
                &format!("invalid input syntax for type {kind}"),
            ),
            Fault::FieldOverflow => overflow(SqlState::DATETIME_FIELD_OVERFLOW, field),
            Fault::MonthDayOverflow => overflow(SqlState::DATETIME_FIELD_OVERFLOW, field)
                .with_hint("Perhaps you need a different \"datestyle\" setting."),
            Fault::IntervalOverflow => {
                overflow(SqlState::INTERVAL_FIELD_OVERFLOW, "interval field value out of range")
            }
            Fault::ZoneDisplacement => overflow(
                SqlState::INVALID_TIME_ZONE_DISPLACEMENT,
                "time zone displacement out of range",
            ),
            Fault::UnknownZone(zone) => {
                let message = format!("time zone \"{zone}\" not recognized");
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            }
            Fault::ResultOverflow => {
                // The messages of the types are about the value, not about its syntax.
                let what = if kind.starts_with("timestamp") { "timestamp" } else { kind };
                overflow(SqlState::DATETIME_FIELD_OVERFLOW, &format!("{what} out of range"))
            }
            Fault::NeedsClock(word) => Error::unsupported(
                format!("the input \"{word}\" of type {kind} here"),
                "Use now(), current_date or current_timestamp instead.",
            ),
        }
    }
}

/// PostgreSQL's error of a result that its type does not hold.
pub(super) fn out_of_range(kind: &str) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, format!("{kind} out of range"))
}
