//! Dates, times, time zones and intervals, as PostgreSQL has them.
//!
//! Values are what [`crate::repr::Datum`] says: days and microseconds from 2000-01-01 in the
//! proleptic Gregorian calendar, the extreme integers being the infinities. [`calendar`] turns
//! them into civil fields and back; [`zone`] knows the offsets; `parse_*` and `format_*` are the
//! text forms under the session's [`crate::repr::settings::FormatSettings`].
//!
//! Nothing here reads a clock. The inputs `now`, `today`, `tomorrow` and `yesterday` need the
//! time of the transaction, which the `parse_*_at` functions take; without it they answer 0A000.

mod arithmetic;
pub mod calendar;
#[cfg(test)]
mod call_cases;
#[cfg(test)]
mod cases;
mod convert;
mod decode;
mod extract;
mod fault;
mod format;
mod interval_format;
mod interval_math;
mod interval_parse;
mod interval_typmod;
mod keywords;
mod lexer;
mod make;
mod names;
mod nano;
mod number;
mod parse;
mod standard;
mod template;
mod time_of_day;
mod time_tz;
mod to_char;
mod to_timestamp;
mod truncate;
mod units;
pub mod zone;

pub use arithmetic::{
    age, age_in_zone, date_add, date_bin, date_difference, date_subtract, is_finite_date,
    is_finite_timestamp, time_add, time_difference, time_subtract, timestamp_add,
    timestamp_difference, timestamp_subtract, timestamptz_add, timestamptz_subtract,
};
pub use convert::{
    date_and_time, date_to_timestamp, date_to_timestamptz, interval_to_time, timestamp_at_interval,
    timestamp_at_zone, timestamp_to_date, timestamp_to_time, timestamp_to_timestamptz,
    timestamptz_at_interval, timestamptz_at_zone, timestamptz_to_date, timestamptz_to_time,
    timestamptz_to_timestamp,
};
pub use extract::{
    Extracted, extract_date, extract_interval, extract_time, extract_timestamp,
    extract_timestamptz, extract_timetz,
};
pub use format::{format_date, format_time, format_timestamp, format_timestamptz};
pub use interval_format::format_interval;
pub use interval_math::{
    interval_add, interval_divide, interval_multiply, interval_negate, interval_subtract,
    justify_days, justify_hours, justify_interval,
};
pub use interval_parse::parse_interval;
pub use interval_typmod::interval_with_typmod;
pub use make::{
    Clock, MadeIn, YearMonthDay, make_date, make_interval, make_time, make_timestamp,
    make_timestamptz, timestamptz_from_epoch,
};
pub use nano::{
    bin_timestamp_ns, extract_timestamp_ns, format_timestamp_ns, nanos_compare_timestamptz,
    nanos_from_timestamptz, nanos_to_timestamptz, parse_timestamp_ns, timestamp_ns_add,
    timestamp_ns_add_nanos, timestamp_ns_difference, timestamp_ns_subtract_nanos,
    truncate_timestamp_ns,
};
pub use parse::{
    parse_date, parse_date_at, parse_time, parse_time_at, parse_timestamp, parse_timestamp_at,
    parse_timestamptz, parse_timestamptz_at, parse_timetz, round_to_precision,
};
pub use standard::{StandardTemplate, StandardTime};
pub use template::Template;
pub use time_tz::{
    TimeTz, date_and_timetz, time_to_timetz, timestamptz_to_timetz, timetz_at_interval,
    timetz_at_zone,
};
pub use to_char::{interval_to_char, timestamp_to_char, timestamptz_to_char};
pub use to_timestamp::{to_date, to_timestamp};
pub use truncate::{truncate_interval, truncate_timestamp, truncate_timestamptz};
