//! The words of date, time and interval inputs.
//!
//! Only the first ten letters of a word tell, as in PostgreSQL.

/// What a word of a date or time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Ignored,
    Month(i32),
    Weekday,
    Meridiem(Meridiem),
    Era { before_christ: bool },
    Special(Special),
    DaylightModifier,
    IsoTime,
    Unit(Unit),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meridiem {
    Am,
    Pm,
}

/// Values that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Epoch,
    Infinity,
    NegativeInfinity,
    Now,
    Today,
    Tomorrow,
    Yesterday,
    Midnight,
}

/// The units of intervals and the fields of dates and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Unit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    Julian,
    Epoch,
    Zone,
    ZoneHour,
    ZoneMinute,
    Ago,
    /// The name of a value, such as `now`, which no type has as a field.
    ValueName,
}

fn significant(word: &str) -> &str {
    word.get(..10).unwrap_or(word)
}

/// Looks a word of a date or time up; it is in lower case.
pub(super) fn date_word(word: &str) -> Option<Word> {
    Some(match significant(word) {
        "at" | "on" => Word::Ignored,
        "jan" | "january" => Word::Month(1),
        "feb" | "february" => Word::Month(2),
        "mar" | "march" => Word::Month(3),
        "apr" | "april" => Word::Month(4),
        "may" => Word::Month(5),
        "jun" | "june" => Word::Month(6),
        "jul" | "july" => Word::Month(7),
        "aug" | "august" => Word::Month(8),
        "sep" | "sept" | "september" => Word::Month(9),
        "oct" | "october" => Word::Month(10),
        "nov" | "november" => Word::Month(11),
        "dec" | "december" => Word::Month(12),
        "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday" | "thu"
        | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" | "sun"
        | "sunday" => Word::Weekday,
        "am" => Word::Meridiem(Meridiem::Am),
        "pm" => Word::Meridiem(Meridiem::Pm),
        "ad" => Word::Era { before_christ: false },
        "bc" => Word::Era { before_christ: true },
        "epoch" => Word::Special(Special::Epoch),
        "infinity" => Word::Special(Special::Infinity),
        "-infinity" => Word::Special(Special::NegativeInfinity),
        "now" => Word::Special(Special::Now),
        "today" => Word::Special(Special::Today),
        "tomorrow" => Word::Special(Special::Tomorrow),
        "yesterday" => Word::Special(Special::Yesterday),
        "allballs" => Word::Special(Special::Midnight),
        "dst" => Word::DaylightModifier,
        "t" => Word::IsoTime,
        "y" => Word::Unit(Unit::Year),
        "m" => Word::Unit(Unit::Month),
        "d" => Word::Unit(Unit::Day),
        "h" => Word::Unit(Unit::Hour),
        "mm" => Word::Unit(Unit::Minute),
        "s" => Word::Unit(Unit::Second),
        "j" | "jd" | "julian" => Word::Unit(Unit::Julian),
        "dow" => Word::Unit(Unit::DayOfWeek),
        "doy" => Word::Unit(Unit::DayOfYear),
        "isodow" => Word::Unit(Unit::IsoDayOfWeek),
        "isoyear" => Word::Unit(Unit::IsoYear),
        _ => return None,
    })
}

/// Looks a word of an interval, or the name of a unit, up; it is in lower case.
pub(super) fn unit_word(word: &str) -> Option<Unit> {
    Some(match significant(word) {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Unit::Microsecond,
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Unit::Millisecond,
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Second,
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Minute,
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Hour,
        "d" | "day" | "days" => Unit::Day,
        "w" | "week" | "weeks" => Unit::Week,
        "mon" | "mons" | "month" | "months" => Unit::Month,
        "qtr" | "quarter" => Unit::Quarter,
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Year,
        "dec" | "decs" | "decade" | "decades" => Unit::Decade,
        "c" | "cent" | "century" | "centuries" => Unit::Century,
        "mil" | "mils" | "millennia" | "millennium" => Unit::Millennium,
        "timezone" => Unit::Zone,
        "timezone_h" => Unit::ZoneHour,
        "timezone_m" => Unit::ZoneMinute,
        "ago" => Unit::Ago,
        _ => return None,
    })
}
