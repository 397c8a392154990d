//! `extract` and `date_part`.

use crate::error::Result;
use crate::repr::Interval;
use crate::repr::datetime::arithmetic::{is_finite_date, is_finite_timestamp};
use crate::repr::datetime::calendar::{
    self, JULIAN_DAY_AT_EPOCH, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE,
    MICROS_PER_SECOND, UNIX_SECONDS_AT_EPOCH,
};
use crate::repr::datetime::keywords::Unit;
use crate::repr::datetime::time_tz::TimeTz;
use crate::repr::datetime::units::{FieldOf, field_unit};
use crate::repr::datetime::zone::TimeZone;

/// A field, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extracted {
    /// A decimal: `unscaled` over ten to the power of `scale`.
    Number {
        /// The digits.
        unscaled: i128,
        /// How many of them stand after the point.
        scale: u32,
    },
    /// What grows without bound, of infinity.
    Infinity,
    /// What grows without bound, of -infinity.
    NegativeInfinity,
    /// What is bounded, of an infinite value.
    Null,
}

impl Extracted {
    fn whole(value: impl Into<i128>) -> Extracted {
        Extracted::scaled(value, 0)
    }

    fn scaled(value: impl Into<i128>, scale: u32) -> Extracted {
        Extracted::Number { unscaled: value.into(), scale }
    }

    /// The field as `date_part` answers it.
    pub fn to_f64(self) -> Option<f64> {
        match self {
            Extracted::Number { unscaled, scale } => {
                let unit = 10_i128.pow(scale);
                let (whole, rest) = (unscaled / unit, unscaled % unit);
                // The whole and the fraction apart, where the digits together are too many.
                Some(if scale <= 6 {
                    unscaled as f64 / unit as f64
                } else {
                    whole as f64 + rest as f64 / unit as f64
                })
            }
            Extracted::Infinity => Some(f64::INFINITY),
            Extracted::NegativeInfinity => Some(f64::NEG_INFINITY),
            Extracted::Null => None,
        }
    }
}

/// `extract(field from date)`.
pub fn extract_date(field: &str, date: i32) -> Result<Extracted> {
    let unit = field_unit(field).ok_or_else(|| FieldOf::Date.unknown(field))?;
    let unsupported = || FieldOf::Date.unsupported(field);
    match unit {
        Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute => return Err(unsupported()),
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Millisecond | Unit::Microsecond => {
            return Err(unsupported());
        }
        _ => {}
    }
    if !is_finite_date(date) {
        return of_infinity(unit, date < 0).ok_or_else(unsupported);
    }
    let days = i64::from(date);
    Ok(match unit {
        Unit::Julian => Extracted::whole(days + JULIAN_DAY_AT_EPOCH),
        Unit::Epoch => Extracted::whole(days * 86_400 + UNIX_SECONDS_AT_EPOCH),
        _ => of_day(unit, days).ok_or_else(unsupported)?,
    })
}

/// `extract(field from timestamp)`.
pub fn extract_timestamp(field: &str, timestamp: i64) -> Result<Extracted> {
    of_timestamp(field, timestamp, None)
}

/// `extract(field from timestamptz)`, on the clocks of a zone.
pub fn extract_timestamptz(field: &str, timestamp: i64, zone: &TimeZone) -> Result<Extracted> {
    of_timestamp(field, timestamp, Some(zone))
}

/// `extract(field from time)`.
pub fn extract_time(field: &str, time: i64) -> Result<Extracted> {
    let unit = field_unit(field).filter(|unit| *unit != Unit::ValueName);
    let unit = unit.ok_or_else(|| FieldOf::Time.unknown(field))?;
    if unit == Unit::Epoch {
        return Ok(Extracted::scaled(time, 6));
    }
    of_clock(unit, time).ok_or_else(|| FieldOf::Time.unsupported(field))
}

/// `extract(field from timetz)`.
pub fn extract_timetz(field: &str, time: TimeTz) -> Result<Extracted> {
    let unit = field_unit(field).filter(|unit| *unit != Unit::ValueName);
    let unit = unit.ok_or_else(|| FieldOf::TimeTz.unknown(field))?;
    Ok(match unit {
        Unit::Zone => Extracted::whole(-time.west),
        Unit::ZoneHour => Extracted::whole(-time.west / 3600),
        Unit::ZoneMinute => Extracted::whole(-time.west / 60 % 60),
        Unit::Epoch => Extracted::scaled(time.utc_micros(), 6),
        _ => of_clock(unit, time.micros).ok_or_else(|| FieldOf::TimeTz.unsupported(field))?,
    })
}

/// `extract(field from interval)`.
pub fn extract_interval(field: &str, interval: &Interval) -> Result<Extracted> {
    let unit = field_unit(field).filter(|unit| *unit != Unit::ValueName);
    let unit = unit.ok_or_else(|| FieldOf::Interval.unknown(field))?;
    let Interval { months, days, micros } = *interval;
    let years = months / 12;
    Ok(match unit {
        Unit::Day => Extracted::whole(days),
        Unit::Month => Extracted::whole(months % 12),
        Unit::Quarter => Extracted::whole(months % 12 / 3 + 1),
        Unit::Year => Extracted::whole(years),
        Unit::Decade => Extracted::whole(years / 10),
        Unit::Century => Extracted::whole(years / 100),
        Unit::Millennium => Extracted::whole(years / 1000),
        Unit::Epoch => {
            // A year counts 365.25 days and a month 30: in quarters of a day, to stay whole.
            let quarters =
                1461 * i128::from(years) + 120 * i128::from(months % 12) + 4 * i128::from(days);
            let seconds = quarters * (86_400 / 4);
            Extracted::scaled(seconds * i128::from(MICROS_PER_SECOND) + i128::from(micros), 6)
        }
        _ => of_clock(unit, micros).ok_or_else(|| FieldOf::Interval.unsupported(field))?,
    })
}

fn of_timestamp(field: &str, timestamp: i64, zone: Option<&TimeZone>) -> Result<Extracted> {
    let kind = if zone.is_some() { FieldOf::TimestampTz } else { FieldOf::Timestamp };
    let unit = field_unit(field).ok_or_else(|| kind.unknown(field))?;
    let unsupported = || kind.unsupported(field);
    if !is_finite_timestamp(timestamp) {
        return of_infinity(unit, timestamp < 0).ok_or_else(unsupported);
    }
    let of_zone = matches!(unit, Unit::Zone | Unit::ZoneHour | Unit::ZoneMinute);
    if of_zone && zone.is_none() {
        return Err(unsupported());
    }
    let east = zone.map_or(0, |zone| zone.offset_at(timestamp));
    let local = timestamp.saturating_add(i64::from(east) * MICROS_PER_SECOND);
    let (days, time) = (local.div_euclid(MICROS_PER_DAY), local.rem_euclid(MICROS_PER_DAY));
    Ok(match unit {
        Unit::Zone => Extracted::whole(east),
        Unit::ZoneHour => Extracted::whole(east / 3600),
        Unit::ZoneMinute => Extracted::whole(east / 60 % 60),
        Unit::Julian => julian(days + JULIAN_DAY_AT_EPOCH, time),
        Unit::Epoch => {
            let epoch = i128::from(UNIX_SECONDS_AT_EPOCH * MICROS_PER_SECOND);
            Extracted::scaled(i128::from(timestamp) + epoch, 6)
        }
        _ => of_clock(unit, time).or_else(|| of_day(unit, days)).ok_or_else(unsupported)?,
    })
}

/// The fields of a day.
fn of_day(unit: Unit, days: i64) -> Option<Extracted> {
    let (year, month, day) = calendar::civil_from_days(days);
    let weekday = calendar::day_of_week(days);
    let (iso_year, iso_week) = calendar::iso_week(days);
    // There is no year 0: before 1 comes -1.
    let of_era = |year: i32| if year > 0 { year } else { year - 1 };
    Some(Extracted::whole(match unit {
        Unit::Day => day,
        Unit::Week => iso_week,
        Unit::Month => month,
        Unit::Quarter => (month - 1) / 3 + 1,
        Unit::Year => of_era(year),
        Unit::Decade => year.div_euclid(10),
        Unit::Century => of_era((year - 1).div_euclid(100) + 1),
        Unit::Millennium => of_era((year - 1).div_euclid(1000) + 1),
        Unit::IsoYear => of_era(iso_year),
        Unit::DayOfWeek => weekday,
        Unit::IsoDayOfWeek => (weekday + 6) % 7 + 1,
        Unit::DayOfYear => calendar::day_of_year(days),
        _ => return None,
    }))
}

/// The fields of a clock time, or of an interval's microseconds.
fn of_clock(unit: Unit, micros: i64) -> Option<Extracted> {
    let seconds = micros % MICROS_PER_MINUTE;
    Some(match unit {
        Unit::Microsecond => Extracted::whole(seconds),
        Unit::Millisecond => Extracted::scaled(seconds, 3),
        Unit::Second => Extracted::scaled(seconds, 6),
        Unit::Minute => Extracted::whole(micros % MICROS_PER_HOUR / MICROS_PER_MINUTE),
        Unit::Hour => Extracted::whole(micros / MICROS_PER_HOUR),
        _ => return None,
    })
}

/// The fields of an infinite date or timestamp; `None` where the unit is none of them.
fn of_infinity(unit: Unit, negative: bool) -> Option<Extracted> {
    match unit {
        Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::Julian
        | Unit::IsoYear
        | Unit::Epoch => Some(match negative {
            true => Extracted::NegativeInfinity,
            false => Extracted::Infinity,
        }),
        Unit::Ago | Unit::ValueName => None,
        _ => Some(Extracted::Null),
    }
}

/// A Julian day with its fraction, to the digits that PostgreSQL's division gives: the quotient
/// has at least 16 significant ones, counted in groups of four.
fn julian(day: i64, time: i64) -> Extracted {
    let group = |value: i64| {
        let mut first = value;
        let mut weight = 0;
        while first >= 10_000 {
            first /= 10_000;
            weight += 1;
        }
        (weight, first)
    };
    let (weight, first) = group(time);
    let (divisor_weight, divisor_first) = group(MICROS_PER_DAY);
    let quotient_weight = weight - divisor_weight - i32::from(first <= divisor_first);
    let scale = (16 - 4 * quotient_weight) as u32;
    let unit = 10_i128.pow(scale);
    let divisor = i128::from(MICROS_PER_DAY);
    // Half of the divisor makes the division round half up.
    let fraction = (i128::from(time) * unit + divisor / 2) / divisor;
    Extracted::scaled(i128::from(day) * unit + fraction, scale)
}
