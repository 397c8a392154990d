//! The proleptic Gregorian calendar: days and microseconds on one side, civil fields on the other.
//!
//! Years are astronomical inside: year 0 is 1 BC. The limits are PostgreSQL's, so that what one
//! server accepts the other does.

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// Microseconds of a day of 24 hours.
pub const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
/// Seconds from 1970-01-01 to 2000-01-01.
pub const UNIX_SECONDS_AT_EPOCH: i64 = 946_684_800;
/// The Julian day number of 2000-01-01.
pub const JULIAN_DAY_AT_EPOCH: i64 = 2_451_545;

/// The earliest finite timestamp, 4713-11-24 BC.
pub const TIMESTAMP_MIN: i64 = -211_813_488_000_000_000;
/// The first instant after the latest timestamp, 294277-01-01.
pub const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;
/// The earliest finite date, 4713-11-24 BC.
pub const DATE_MIN: i64 = -JULIAN_DAY_AT_EPOCH;
/// The first day after the latest date, 5874898-01-01.
pub const DATE_END: i64 = 2_147_483_494 - JULIAN_DAY_AT_EPOCH;

/// Days of four centuries, after which the calendar and the days of the week repeat.
pub const DAYS_PER_CYCLE: i64 = 146_097;

/// A point of the civil calendar. The fields may be out of range until they are validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // The fields are what they are called; `year` 0 is 1 BC.
pub struct Civil {
    pub year: i32,
    pub month: i32,
    pub day: i32,
    pub hour: i32,
    pub minute: i32,
    pub second: i32,
    pub micros: i32,
}

impl Civil {
    /// The civil time of so many microseconds from 2000-01-01; any `i64` has one.
    pub fn from_micros(micros: i64) -> Civil {
        let (year, month, day) = civil_from_days(micros.div_euclid(MICROS_PER_DAY));
        Civil { year, month, day, ..Civil::from_time(micros.rem_euclid(MICROS_PER_DAY)) }
    }

    /// The civil time of so many microseconds from midnight, on no day.
    pub fn from_time(micros: i64) -> Civil {
        Civil {
            hour: (micros / MICROS_PER_HOUR) as i32,
            minute: (micros / MICROS_PER_MINUTE % 60) as i32,
            second: (micros / MICROS_PER_SECOND % 60) as i32,
            micros: (micros % MICROS_PER_SECOND) as i32,
            ..Civil::default()
        }
    }

    /// Days from 2000-01-01.
    pub fn days(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }

    /// Microseconds from midnight.
    pub fn time(&self) -> i64 {
        i64::from(self.hour) * MICROS_PER_HOUR
            + i64::from(self.minute) * MICROS_PER_MINUTE
            + i64::from(self.second) * MICROS_PER_SECOND
            + i64::from(self.micros)
    }

    /// Microseconds from 2000-01-01; `None` where an `i64` does not hold them.
    pub fn micros(&self) -> Option<i64> {
        self.days().checked_mul(MICROS_PER_DAY)?.checked_add(self.time())
    }

    /// The fields of the date are within the range in which arithmetic on it is safe.
    pub fn is_julian(&self) -> bool {
        let after = (self.year, self.month) >= (-4713, 11);
        after && (self.year, self.month) < (5_874_898, 6)
    }
}

/// Whether an instant is one that PostgreSQL's type holds (the infinities are not asked here).
pub fn timestamp_in_range(micros: i64) -> bool {
    (TIMESTAMP_MIN..TIMESTAMP_END).contains(&micros)
}

/// Whether a day is one that PostgreSQL's type holds (the infinities are not asked here).
pub fn date_in_range(days: i64) -> bool {
    (DATE_MIN..DATE_END).contains(&days)
}

/// Days from 2000-01-01 of a date whose month is 1 to 12; the day may lie outside the month.
///
/// Counts years from March, so that the leap day is the last of its year (Howard Hinnant's
/// `days_from_civil`).
pub fn days_from_civil(year: i32, month: i32, day: i32) -> i64 {
    let year = i64::from(year) - i64::from(month <= 2);
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * i64::from((month + 9) % 12) + 2) / 5 + i64::from(day) - 1;
    let day_of_cycle = year_of_cycle * 365 + year_of_cycle / 4 - year_of_cycle / 100 + day_of_year;
    // 2000-03-01, where a cycle starts, is day 60.
    (cycle - 5) * DAYS_PER_CYCLE + day_of_cycle + 60
}

/// Year, month and day of so many days from 2000-01-01.
pub fn civil_from_days(days: i64) -> (i32, i32, i32) {
    let from_march = days - 60;
    let cycle = from_march.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = from_march.rem_euclid(DAYS_PER_CYCLE);
    let year_of_cycle =
        (day_of_cycle - day_of_cycle / 1460 + day_of_cycle / 36_524 - day_of_cycle / 146_096) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_cycle + (cycle + 5) * 400 + i64::from(month <= 2);
    (year as i32, month as i32, day as i32)
}

/// Whether an astronomical year has 366 days.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month, 1 to 12.
pub fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day of the week, 0 being Sunday.
pub fn day_of_week(days: i64) -> i32 {
    // 2000-01-01 was a Saturday.
    (days + 6).rem_euclid(7) as i32
}

/// The day of the year, from 1.
pub fn day_of_year(days: i64) -> i32 {
    let (year, _, _) = civil_from_days(days);
    (days - days_from_civil(year, 1, 1)) as i32 + 1
}

/// The ISO 8601 year, astronomical, and the week in it, from 1.
pub fn iso_week(days: i64) -> (i32, i32) {
    // A week belongs to the year of its Thursday.
    let weekday = i64::from((day_of_week(days) + 6) % 7);
    let thursday = days - weekday + 3;
    let (year, _, _) = civil_from_days(thursday);
    (year, ((thursday - days_from_civil(year, 1, 1)) / 7) as i32 + 1)
}

/// The Monday of an ISO week, in days from 2000-01-01. The week may lie outside its year.
pub fn monday_of_iso_week(iso_year: i32, week: i32) -> i64 {
    let fourth = days_from_civil(iso_year, 1, 4);
    let weekday = i64::from((day_of_week(fourth) + 6) % 7);
    fourth - weekday + (i64::from(week) - 1) * 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_of_a_cycle_and_the_limits_round_trip() {
        for days in -200_000..200_000 {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
        }
        assert_eq!(civil_from_days(0), (2000, 1, 1));
        assert_eq!(civil_from_days(DATE_MIN), (-4713, 11, 24));
        assert_eq!(civil_from_days(DATE_END), (5_874_898, 1, 1));
        assert_eq!(Civil::from_micros(TIMESTAMP_END).year, 294_277);
        assert_eq!(Civil::from_micros(-1).second, 59);
    }

    #[test]
    fn weeks() {
        assert_eq!(iso_week(days_from_civil(2005, 1, 1)), (2004, 53));
        assert_eq!(iso_week(days_from_civil(2012, 12, 31)), (2013, 1));
        assert_eq!(monday_of_iso_week(2013, 1), days_from_civil(2012, 12, 31));
        assert_eq!(day_of_week(days_from_civil(2026, 11, 30)), 1);
        assert_eq!(day_of_year(days_from_civil(2024, 12, 31)), 366);
    }
}
