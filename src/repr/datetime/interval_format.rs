//! Intervals as text, in the four styles of `IntervalStyle`.

use std::fmt::Write;

use crate::repr::Interval;
use crate::repr::datetime::calendar::{MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::repr::datetime::format::{push_fraction, push_padded};
use crate::repr::settings::{FormatSettings, IntervalStyle};

/// An interval's fields; all have the sign of the part that they come from.
struct Fields {
    years: i32,
    months: i32,
    days: i32,
    hours: i64,
    minutes: i32,
    seconds: i32,
    micros: i32,
}

impl Fields {
    fn new(interval: &Interval) -> Fields {
        let Interval { months, days, micros } = *interval;
        Fields {
            years: months / 12,
            months: months % 12,
            days,
            hours: micros / MICROS_PER_HOUR,
            minutes: (micros % MICROS_PER_HOUR / MICROS_PER_MINUTE) as i32,
            seconds: (micros % MICROS_PER_MINUTE / MICROS_PER_SECOND) as i32,
            micros: (micros % MICROS_PER_SECOND) as i32,
        }
    }

    fn clock_is_negative(&self) -> bool {
        self.hours < 0 || self.minutes < 0 || self.seconds < 0 || self.micros < 0
    }

    fn clock_is_zero(&self) -> bool {
        self.hours == 0 && self.minutes == 0 && self.seconds == 0 && self.micros == 0
    }

    /// `04:05:06.7` without a sign.
    fn push_clock(&self, hour_width: usize, out: &mut String) {
        push_padded(out, self.hours.unsigned_abs(), hour_width);
        out.push(':');
        push_padded(out, u64::from(self.minutes.unsigned_abs()), 2);
        out.push(':');
        push_padded(out, u64::from(self.seconds.unsigned_abs()), 2);
        push_fraction(out, self.micros);
    }
}

/// Appends an `interval`.
pub fn format_interval(interval: &Interval, settings: &FormatSettings, out: &mut String) {
    let fields = Fields::new(interval);
    match settings.interval_style {
        IntervalStyle::Postgres => postgres(&fields, out),
        IntervalStyle::PostgresVerbose => verbose(&fields, out),
        IntervalStyle::SqlStandard => sql_standard(interval, &fields, out),
        IntervalStyle::Iso8601 => iso_8601(interval, &fields, out),
    }
}

fn postgres(fields: &Fields, out: &mut String) {
    let start = out.len();
    let mut after_negative = false;
    let parts = [(fields.years, "year"), (fields.months, "mon"), (fields.days, "day")];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        if out.len() > start {
            out.push(' ');
        }
        // A sign says that it is the other one from the part before.
        let plus = if after_negative && value > 0 { "+" } else { "" };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, "{plus}{value} {unit}{plural}");
        after_negative = value < 0;
    }
    if out.len() > start && fields.clock_is_zero() {
        return;
    }
    if out.len() > start {
        out.push(' ');
    }
    if fields.clock_is_negative() {
        out.push('-');
    } else if after_negative {
        out.push('+');
    }
    fields.push_clock(2, out);
}

fn verbose(fields: &Fields, out: &mut String) {
    out.push('@');
    let mut empty = true;
    let mut before = false;
    let parts = [
        (i64::from(fields.years), "year"),
        (i64::from(fields.months), "mon"),
        (i64::from(fields.days), "day"),
        (fields.hours, "hour"),
        (i64::from(fields.minutes), "min"),
    ];
    for (value, unit) in parts.into_iter().filter(|(value, _)| *value != 0) {
        // The first part decides whether the whole is in the past.
        if empty {
            before = value < 0;
        }
        empty = false;
        let value = if before { -i128::from(value) } else { i128::from(value) };
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, " {value} {unit}{plural}");
    }
    if fields.seconds != 0 || fields.micros != 0 {
        let negative = fields.seconds < 0 || fields.micros < 0;
        if empty {
            before = negative;
        }
        empty = false;
        out.push(' ');
        if negative != before {
            out.push('-');
        }
        push_padded(out, u64::from(fields.seconds.unsigned_abs()), 1);
        push_fraction(out, fields.micros);
        let one = fields.seconds.abs() == 1 && fields.micros == 0;
        out.push_str(if one { " sec" } else { " secs" });
    }
    if empty {
        out.push_str(" 0");
    }
    if before {
        out.push_str(" ago");
    }
}

fn sql_standard(interval: &Interval, fields: &Fields, out: &mut String) {
    let Interval { months, days, micros } = *interval;
    let any_negative = months < 0 || days < 0 || micros < 0;
    let any_positive = months > 0 || days > 0 || micros > 0;
    let year_month = months != 0;
    let day_time = days != 0 || micros != 0;
    let years = fields.years.unsigned_abs();
    let rest = fields.months.unsigned_abs();
    let day_count = days.unsigned_abs();
    if !any_negative && !any_positive {
        out.push('0');
    } else if any_negative && any_positive || year_month && day_time {
        // Mixed signs, or fields that the standard does not put together: each has its sign.
        let sign = |negative: bool| if negative { '-' } else { '+' };
        let (year_sign, day_sign) = (sign(months < 0), sign(days < 0));
        let _ = write!(out, "{year_sign}{years}-{rest} {day_sign}{day_count} ");
        out.push(sign(micros < 0));
        fields.push_clock(1, out);
    } else {
        if any_negative {
            out.push('-');
        }
        if year_month {
            let _ = write!(out, "{years}-{rest}");
        } else {
            if days != 0 {
                let _ = write!(out, "{day_count} ");
            }
            fields.push_clock(1, out);
        }
    }
}

fn iso_8601(interval: &Interval, fields: &Fields, out: &mut String) {
    if *interval == Interval::default() {
        return out.push_str("PT0S");
    }
    out.push('P');
    push_part(out, i64::from(fields.years), 'Y');
    push_part(out, i64::from(fields.months), 'M');
    push_part(out, i64::from(fields.days), 'D');
    if fields.clock_is_zero() {
        return;
    }
    out.push('T');
    push_part(out, fields.hours, 'H');
    push_part(out, i64::from(fields.minutes), 'M');
    if fields.seconds != 0 || fields.micros != 0 {
        if fields.seconds < 0 || fields.micros < 0 {
            out.push('-');
        }
        push_padded(out, u64::from(fields.seconds.unsigned_abs()), 1);
        push_fraction(out, fields.micros);
        out.push('S');
    }
}

fn push_part(out: &mut String, value: i64, unit: char) {
    if value != 0 {
        let _ = write!(out, "{value}{unit}");
    }
}
