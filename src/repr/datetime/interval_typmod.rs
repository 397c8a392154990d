//! The fields and the precision of an `interval` type, such as `interval day to second (3)`.
//!
//! A typmod is PostgreSQL's: the fields as a bit set in the upper half, the precision in the
//! lower; −1 and the full marks mean that nothing is restricted.

use crate::error::{Error, Result, SqlState};
use crate::repr::Interval;
use crate::repr::datetime::calendar::{MICROS_PER_HOUR, MICROS_PER_MINUTE};
use crate::repr::datetime::keywords::Unit;

const MONTH: i32 = 1 << 1;
const YEAR: i32 = 1 << 2;
const DAY: i32 = 1 << 3;
const HOUR: i32 = 1 << 10;
const MINUTE: i32 = 1 << 11;
const SECOND: i32 = 1 << 12;
const FULL_RANGE: i32 = 0x7fff;
const FULL_PRECISION: i32 = 0xffff;

/// The interval with what a type of that modifier lets it keep.
pub fn interval_with_typmod(interval: Interval, typmod: i32) -> Result<Interval> {
    IntervalTypmod::new(typmod).apply(interval)
}

/// What a type lets an interval keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct IntervalTypmod {
    fields: i32,
    precision: Option<i32>,
}

impl IntervalTypmod {
    pub(super) fn new(typmod: i32) -> IntervalTypmod {
        if typmod < 0 {
            return IntervalTypmod { fields: FULL_RANGE, precision: None };
        }
        let precision = typmod & 0xffff;
        let precision = (precision != FULL_PRECISION).then_some(precision);
        IntervalTypmod { fields: typmod >> 16 & FULL_RANGE, precision }
    }

    /// Whether two fields of a clock time are minutes and seconds.
    pub(super) fn is_minute_to_second(self) -> bool {
        self.fields == MINUTE | SECOND
    }

    /// The unit of a number that has none.
    pub(super) fn smallest_unit(self) -> Unit {
        match self.fields {
            YEAR => Unit::Year,
            fields if fields == MONTH || fields == YEAR | MONTH => Unit::Month,
            DAY => Unit::Day,
            fields if fields == HOUR || fields == DAY | HOUR => Unit::Hour,
            fields
                if fields == MINUTE || fields == HOUR | MINUTE || fields == DAY | HOUR | MINUTE =>
            {
                Unit::Minute
            }
            _ => Unit::Second,
        }
    }

    /// Cuts what is smaller than the smallest field, and rounds the fraction of the seconds.
    pub(super) fn apply(self, mut interval: Interval) -> Result<Interval> {
        let clear = |interval: &mut Interval, unit: i64| {
            interval.micros -= interval.micros % unit;
        };
        match self.smallest_field() {
            Some(YEAR) => {
                interval = Interval { months: interval.months / 12 * 12, days: 0, micros: 0 };
            }
            Some(MONTH) => interval = Interval { days: 0, micros: 0, ..interval },
            Some(DAY) => interval.micros = 0,
            Some(HOUR) => clear(&mut interval, MICROS_PER_HOUR),
            Some(MINUTE) => clear(&mut interval, MICROS_PER_MINUTE),
            _ => {}
        }
        if let Some(precision @ 0..6) = self.precision {
            let unit = 10_i64.pow(6 - precision as u32);
            let half = if interval.micros < 0 { -unit / 2 } else { unit / 2 };
            let sum = interval.micros.checked_add(half).ok_or_else(|| {
                Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range")
            })?;
            interval.micros = sum - sum % unit;
        }
        Ok(interval)
    }

    fn smallest_field(self) -> Option<i32> {
        if self.fields == FULL_RANGE {
            return None;
        }
        [SECOND, MINUTE, HOUR, DAY, MONTH, YEAR].into_iter().find(|field| self.fields & field != 0)
    }
}
