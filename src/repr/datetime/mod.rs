//! Dates, times, time zones and intervals, as PostgreSQL has them.
//!
//! Values are what [`crate::repr::Datum`] says: days and microseconds from 2000-01-01 in the
//! proleptic Gregorian calendar, the extreme integers being the infinities. [`calendar`] turns
//! them into civil fields and back; [`zone`] knows the offsets; `parse_*` and `format_*` are the
//! text forms under the session's [`crate::repr::settings::FormatSettings`].
//!
//! Nothing here reads a clock. The inputs `now`, `today`, `tomorrow` and `yesterday` need the
//! time of the transaction, which the `parse_*_at` functions take; without it they answer 0A000.

pub mod calendar;
#[cfg(test)]
mod cases;
mod decode;
mod fault;
mod format;
mod interval_format;
mod interval_parse;
mod interval_typmod;
mod keywords;
mod lexer;
mod number;
mod parse;
mod time_of_day;
pub mod zone;

pub use format::{format_date, format_time, format_timestamp, format_timestamptz};
pub use interval_format::format_interval;
pub use interval_parse::parse_interval;
pub use parse::{
    parse_date, parse_date_at, parse_time, parse_time_at, parse_timestamp, parse_timestamp_at,
    parse_timestamptz, parse_timestamptz_at, round_to_precision,
};
