//! Arithmetic and functions against what PostgreSQL 15 itself answered.
//!
//! A line of `calls.tsv` has a function of ours, the session's `TimeZone`, its arguments as text,
//! and the value as text (`ISO, MDY`), or the error with its SQLSTATE.

use crate::error::Error;
use crate::repr::Interval;
use crate::repr::datetime::zone::ZoneName;
use crate::repr::datetime::*;
use crate::repr::settings::{FormatSettings, TimeZone};

struct Call<'a> {
    arguments: &'a [&'a str],
    settings: FormatSettings,
}

type Shown = Result<String, Error>;

impl Call<'_> {
    fn zone(&self) -> &TimeZone {
        &self.settings.time_zone
    }

    fn text(&self, at: usize) -> &str {
        self.arguments[at]
    }

    fn int(&self, at: usize) -> i32 {
        self.text(at).parse().unwrap()
    }

    fn float(&self, at: usize) -> f64 {
        self.text(at).parse().unwrap()
    }

    fn date(&self, at: usize) -> Result<i32, Error> {
        parse_date(self.text(at), &self.settings)
    }

    fn time(&self, at: usize) -> Result<i64, Error> {
        parse_time(self.text(at), &self.settings)
    }

    fn stamp(&self, at: usize) -> Result<i64, Error> {
        parse_timestamp(self.text(at), &self.settings)
    }

    fn stamptz(&self, at: usize) -> Result<i64, Error> {
        parse_timestamptz(self.text(at), &self.settings)
    }

    fn interval(&self, at: usize) -> Result<Interval, Error> {
        parse_interval(self.text(at), -1, &self.settings)
    }

    fn ymd(&self) -> YearMonthDay {
        (self.int(0), self.int(1), self.int(2))
    }

    fn clock(&self, at: usize) -> Clock {
        (self.int(at), self.int(at + 1), self.float(at + 2))
    }

    fn show_date(&self, value: i32) -> Shown {
        let mut out = String::new();
        format_date(value, &self.settings, &mut out);
        Ok(out)
    }

    fn show_time(&self, value: i64) -> Shown {
        let mut out = String::new();
        format_time(value, &mut out);
        Ok(out)
    }

    fn show_stamp(&self, value: i64) -> Shown {
        let mut out = String::new();
        format_timestamp(value, &self.settings, &mut out);
        Ok(out)
    }

    fn show_stamptz(&self, value: i64) -> Shown {
        let mut out = String::new();
        format_timestamptz(value, &self.settings, &mut out);
        Ok(out)
    }

    fn show_interval(&self, value: Interval) -> Shown {
        let mut out = String::new();
        format_interval(&value, &self.settings, &mut out);
        Ok(out)
    }

    fn answer(&self, function: &str) -> Shown {
        let zone = self.zone();
        match function {
            "timestamp_add" => self.show_stamp(timestamp_add(self.stamp(0)?, &self.interval(1)?)?),
            "timestamp_subtract" => {
                self.show_stamp(timestamp_subtract(self.stamp(0)?, &self.interval(1)?)?)
            }
            "timestamptz_add" => {
                self.show_stamptz(timestamptz_add(self.stamptz(0)?, &self.interval(1)?, zone)?)
            }
            "timestamptz_subtract" => {
                self.show_stamptz(timestamptz_subtract(self.stamptz(0)?, &self.interval(1)?, zone)?)
            }
            "timestamp_difference" => {
                self.show_interval(timestamp_difference(self.stamp(0)?, self.stamp(1)?)?)
            }
            "date_add" => self.show_date(date_add(self.date(0)?, self.int(1))?),
            "date_difference" => Ok(date_difference(self.date(0)?, self.date(1)?)?.to_string()),
            "time_add" => self.show_time(time_add(self.time(0)?, &self.interval(1)?)),
            "time_subtract" => self.show_time(time_subtract(self.time(0)?, &self.interval(1)?)),
            "time_difference" => self.show_interval(time_difference(self.time(0)?, self.time(1)?)),
            "age" => self.show_interval(age(self.stamp(0)?, self.stamp(1)?)?),
            "age_in_zone" => {
                self.show_interval(age_in_zone(self.stamptz(0)?, self.stamptz(1)?, zone)?)
            }
            "date_bin" => {
                self.show_stamp(date_bin(&self.interval(0)?, self.stamp(1)?, self.stamp(2)?)?)
            }
            "interval_add" => {
                self.show_interval(interval_add(&self.interval(0)?, &self.interval(1)?)?)
            }
            "interval_subtract" => {
                self.show_interval(interval_subtract(&self.interval(0)?, &self.interval(1)?)?)
            }
            "interval_multiply" => {
                self.show_interval(interval_multiply(&self.interval(0)?, self.float(1))?)
            }
            "interval_divide" => {
                self.show_interval(interval_divide(&self.interval(0)?, self.float(1))?)
            }
            "justify_hours" => self.show_interval(justify_hours(&self.interval(0)?)?),
            "justify_days" => self.show_interval(justify_days(&self.interval(0)?)?),
            "justify_interval" => self.show_interval(justify_interval(&self.interval(0)?)?),
            _ => self.answer_field(function),
        }
    }

    fn answer_field(&self, function: &str) -> Shown {
        let zone = self.zone();
        match function {
            "truncate_timestamp" => {
                self.show_stamp(truncate_timestamp(self.text(0), self.stamp(1)?)?)
            }
            "truncate_timestamptz" => {
                self.show_stamptz(truncate_timestamptz(self.text(0), self.stamptz(1)?, zone)?)
            }
            "truncate_interval" => {
                self.show_interval(truncate_interval(self.text(0), &self.interval(1)?)?)
            }
            "extract_date" => extract_date(self.text(0), self.date(1)?).map(show_extracted),
            "extract_timestamp" => {
                extract_timestamp(self.text(0), self.stamp(1)?).map(show_extracted)
            }
            "extract_timestamptz" => {
                extract_timestamptz(self.text(0), self.stamptz(1)?, zone).map(show_extracted)
            }
            "extract_time" => extract_time(self.text(0), self.time(1)?).map(show_extracted),
            "extract_interval" => {
                extract_interval(self.text(0), &self.interval(1)?).map(show_extracted)
            }
            "make_date" => self.show_date(make_date(self.ymd())?),
            "make_time" => self.show_time(make_time(self.clock(0))?),
            "make_timestamp" => self.show_stamp(make_timestamp(self.ymd(), self.clock(3))?),
            "make_timestamptz" => {
                let zone = MadeIn::Named(self.text(6));
                self.show_stamptz(make_timestamptz(self.ymd(), self.clock(3), zone)?)
            }
            "make_interval" => {
                let parts = [0, 1, 2, 3, 4, 5].map(|at| self.int(at));
                self.show_interval(make_interval(parts, self.float(6))?)
            }
            "timestamptz_from_epoch" => self.show_stamptz(timestamptz_from_epoch(self.float(0))?),
            "timestamp_at_zone" => self
                .show_stamptz(timestamp_at_zone(self.stamp(0)?, &ZoneName::parse(self.text(1))?)?),
            "timestamptz_at_zone" => self.show_stamp(timestamptz_at_zone(
                self.stamptz(0)?,
                &ZoneName::parse(self.text(1))?,
            )?),
            "date_to_timestamptz" => self.show_stamptz(date_to_timestamptz(self.date(0)?, zone)?),
            "timestamptz_to_date" => self.show_date(timestamptz_to_date(self.stamptz(0)?, zone)),
            "date_and_time" => self.show_stamp(date_and_time(self.date(0)?, self.time(1)?)?),
            _ => self.answer_template(function),
        }
    }

    fn answer_template(&self, function: &str) -> Shown {
        let zone = self.zone();
        let template = Template::parse(self.text(1));
        let or_null = |text: Option<String>| text.unwrap_or("NULL".to_owned());
        match function {
            "to_char_timestamp" => Ok(or_null(timestamp_to_char(self.stamp(0)?, &template))),
            "to_char_timestamptz" => {
                Ok(or_null(timestamptz_to_char(self.stamptz(0)?, &template, zone)))
            }
            "to_char_interval" => interval_to_char(&self.interval(0)?, &template).map(or_null),
            "to_timestamp" => self.show_stamptz(to_timestamp(self.text(0), &template, zone)?),
            "to_date" => self.show_date(to_date(self.text(0), &template)?),
            other => panic!("no such function: {other}"),
        }
    }
}

fn show_extracted(value: Extracted) -> String {
    match value {
        Extracted::Number { unscaled, scale: 0 } => unscaled.to_string(),
        Extracted::Number { unscaled, scale } => {
            let sign = if unscaled < 0 { "-" } else { "" };
            let width = scale as usize + 1;
            let digits = format!("{:0width$}", unscaled.unsigned_abs());
            let (whole, fraction) = digits.split_at(digits.len() - scale as usize);
            format!("{sign}{whole}.{fraction}")
        }
        Extracted::Infinity => "Infinity".to_owned(),
        Extracted::NegativeInfinity => "-Infinity".to_owned(),
        Extracted::Null => "NULL".to_owned(),
    }
}

#[test]
fn functions_answer_as_postgresql_does() {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in include_str!("calls.tsv").lines() {
        let columns = line.split('\t').collect::<Vec<_>>();
        let [function, zone, arguments @ .., expected] = &columns[..] else {
            panic!("a line without columns: {line}");
        };
        let settings = FormatSettings {
            time_zone: TimeZone::parse(zone).unwrap(),
            ..FormatSettings::default()
        };
        let found = Call { arguments, settings }.answer(function).unwrap_or_else(|error| {
            let detail = error.detail.map(|detail| format!(" DETAIL {detail}"));
            let hint = error.hint.map(|hint| format!(" HINT {hint}"));
            let (detail, hint) = (detail.unwrap_or_default(), hint.unwrap_or_default());
            format!("ERROR {} {}{detail}{hint}", error.code, error.message)
        });
        if found != *expected {
            failures.push(format!("{line}\n   we answer: {found}"));
        }
        count += 1;
    }
    assert!(count > 500, "the file holds the cases");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}
