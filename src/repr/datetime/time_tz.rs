//! `time with time zone`: a time of day and how far its clocks are from UTC.
//!
//! Two are ordered by the instant of the day that they mean, then by their offsets, so that only
//! those which are written alike are equal. Where an offset must be taken from a zone whose offset
//! changes, PostgreSQL looks at the clock; nothing here does, and it is refused.

use std::cmp::Ordering;

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::{time_add, time_subtract};
use crate::repr::datetime::calendar::{
    Civil, MICROS_PER_DAY, MICROS_PER_SECOND, timestamp_in_range,
};
use crate::repr::datetime::convert::{date_to_timestamp, east_seconds};
use crate::repr::datetime::format::{format_time, push_offset};
use crate::repr::datetime::parse::round_to_precision;
use crate::repr::datetime::zone::{TimeZone, ZoneName};

/// A time of day with an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// Microseconds from midnight on its own clocks.
    pub micros: i64,
    /// Seconds west of UTC, as PostgreSQL keeps them.
    pub west: i32,
}

/// No offset is so far from UTC.
const OFFSET_LIMIT: i32 = 16 * 3600;

impl TimeTz {
    /// Microseconds from the midnight of UTC; may lie outside of the day.
    pub fn utc_micros(self) -> i64 {
        self.micros + i64::from(self.west) * MICROS_PER_SECOND
    }

    /// That time at another offset.
    pub fn at_offset(self, west: i32) -> TimeTz {
        let micros = self.utc_micros() - i64::from(west) * MICROS_PER_SECOND;
        TimeTz { micros: micros.rem_euclid(MICROS_PER_DAY), west }
    }

    /// With so many digits of seconds.
    pub fn rounded(self, typmod: i32) -> TimeTz {
        TimeTz { micros: round_to_precision(self.micros, typmod), ..self }
    }

    /// `timetz + interval`, around the clock.
    pub fn later(self, interval: &Interval) -> TimeTz {
        TimeTz { micros: time_add(self.micros, interval), ..self }
    }

    /// `timetz - interval`, around the clock.
    pub fn earlier(self, interval: &Interval) -> TimeTz {
        TimeTz { micros: time_subtract(self.micros, interval), ..self }
    }

    /// Appends the text form.
    pub fn format(self, out: &mut String) {
        format_time(self.micros, out);
        push_offset(out, -self.west);
    }

    /// From the binary form. Errors: 22008 and 22009.
    pub fn checked(micros: i64, west: i32) -> Result<TimeTz> {
        if !(0..=MICROS_PER_DAY).contains(&micros) {
            return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "time out of range"));
        }
        if west <= -OFFSET_LIMIT || west >= OFFSET_LIMIT {
            let message = "time zone displacement out of range";
            return Err(Error::new(SqlState::INVALID_TIME_ZONE_DISPLACEMENT, message));
        }
        Ok(TimeTz { micros, west })
    }
}

impl PartialOrd for TimeTz {
    fn partial_cmp(&self, other: &TimeTz) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TimeTz {
    fn cmp(&self, other: &TimeTz) -> Ordering {
        self.utc_micros().cmp(&other.utc_micros()).then(self.west.cmp(&other.west))
    }
}

/// `time` as a `timetz`, in a zone. Errors: 0A000 where the zone's offset changes.
pub fn time_to_timetz(micros: i64, zone: &TimeZone) -> Result<TimeTz> {
    let east = zone.fixed_offset().ok_or_else(needs_clock)?;
    Ok(TimeTz { micros, west: -east })
}

/// `timestamptz` as a `timetz`, on the clocks of a zone; nothing for the infinities.
pub fn timestamptz_to_timetz(instant: i64, zone: &TimeZone) -> Option<TimeTz> {
    if instant == i64::MIN || instant == i64::MAX {
        return None;
    }
    let east = zone.offset_at(instant);
    let local = instant.saturating_add(i64::from(east) * MICROS_PER_SECOND);
    Some(TimeTz { micros: Civil::from_micros(local).time(), west: -east })
}

/// `timetz AT TIME ZONE zone`. Errors: 0A000 where the zone's offset changes.
pub fn timetz_at_zone(time: TimeTz, zone: &ZoneName) -> Result<TimeTz> {
    Ok(time.at_offset(-zone.zone().fixed_offset().ok_or_else(needs_clock)?))
}

/// `timetz AT TIME ZONE interval`.
pub fn timetz_at_interval(time: TimeTz, zone: &Interval) -> Result<TimeTz> {
    Ok(time.at_offset(-east_seconds(zone)? as i32))
}

/// `date + timetz`, an instant. Errors: 22008 where it is out of range.
pub fn date_and_timetz(date: i32, time: TimeTz) -> Result<i64> {
    let midnight = date_to_timestamp(date)?;
    if midnight == i64::MIN || midnight == i64::MAX {
        return Ok(midnight);
    }
    let instant = midnight.saturating_add(time.utc_micros());
    match timestamp_in_range(instant) {
        true => Ok(instant),
        false => {
            Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp"))
        }
    }
}

pub(super) fn needs_clock() -> Error {
    Error::unsupported(
        "the offset of a time of day in a zone whose offset changes",
        "Write the offset, or set TimeZone to an offset.",
    )
}
