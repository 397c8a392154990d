//! Text forms against what PostgreSQL 15 itself answered.
//!
//! A line of `cases.tsv` has a type, the settings `DateStyle`, `IntervalStyle` and `TimeZone`, an
//! input, and the value as text, or the error with its SQLSTATE and hint.

use crate::error::Error;
use crate::repr::datetime::*;
use crate::repr::settings::{DateStyle, FormatSettings, IntervalStyle, TimeZone};

/// The answer in the form of the file.
fn answer(kind: &str, text: &str, settings: &FormatSettings) -> String {
    let mut out = String::new();
    let result: Result<(), Error> = match kind {
        "date" => parse_date(text, settings).map(|value| format_date(value, settings, &mut out)),
        "time" => parse_time(text, settings).map(|value| format_time(value, &mut out)),
        "timestamp" => {
            parse_timestamp(text, settings).map(|value| format_timestamp(value, settings, &mut out))
        }
        "timestamptz" => parse_timestamptz(text, settings)
            .map(|value| format_timestamptz(value, settings, &mut out)),
        _ => parse_interval(text, -1, settings)
            .map(|value| format_interval(&value, settings, &mut out)),
    };
    match result {
        Ok(()) => out,
        Err(error) => {
            let hint = error.hint.map(|hint| format!(" HINT {hint}")).unwrap_or_default();
            format!("ERROR {} {}{hint}", error.code, error.message)
        }
    }
}

#[test]
fn text_forms_are_those_of_postgresql() {
    let mut failures = Vec::new();
    let mut count = 0;
    for line in include_str!("cases.tsv").lines() {
        let [kind, date_style, interval_style, zone, text, expected] =
            line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("a line without six columns: {line}");
        };
        let settings = FormatSettings {
            date_style: DateStyle::parse(date_style, DateStyle::default()).unwrap(),
            interval_style: IntervalStyle::parse(interval_style).unwrap(),
            time_zone: TimeZone::parse(zone).unwrap(),
            ..FormatSettings::default()
        };
        let found = answer(kind, text, &settings);
        if found != expected {
            failures.push(format!("{line}\n   we answer: {found}"));
        }
        count += 1;
    }
    assert!(count > 300, "the file holds the cases");
    assert!(failures.is_empty(), "{} of {count}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn words_that_need_a_clock_take_the_given_one() {
    let settings = FormatSettings {
        time_zone: TimeZone::parse("America/New_York").unwrap(),
        ..FormatSettings::default()
    };
    let now = parse_timestamptz("2026-03-01 02:30:00+00", &settings).unwrap();
    let date = |text| parse_date_at(text, &settings, Some(now)).unwrap();
    assert_eq!(date("today"), parse_date("2026-02-28", &settings).unwrap());
    assert_eq!(date("tomorrow"), parse_date("2026-03-01", &settings).unwrap());
    assert_eq!(parse_timestamptz_at("now", &settings, Some(now)).unwrap(), now);
    let yesterday = parse_timestamp_at("yesterday 04:05", &settings, Some(now)).unwrap();
    assert_eq!(yesterday, parse_timestamp("2026-02-27 04:05", &settings).unwrap());
    assert_eq!(parse_date("now", &settings).unwrap_err().code.as_str(), "0A000");
}

#[test]
fn set_time_zone() {
    let shown = |text: &str| TimeZone::parse(text).map(|zone| zone.to_string());
    assert_eq!(shown("5.5").unwrap(), "<+05:30>-05:30");
    assert_eq!(shown("-3").unwrap(), "<-03>+03");
    assert_eq!(shown("+05:30").unwrap(), "+05:30");
    assert_eq!(shown("foo+5").unwrap(), "FOO+5");
    assert_eq!(shown("FOO5BAR").unwrap(), "FOO5BAR");
    assert_eq!(shown("interval '-3:30'").unwrap(), "<-03:30>+03:30");
    assert_eq!(shown("america/new_york").unwrap(), "America/New_York");
    assert_eq!(shown("etc/gmt+5").unwrap(), "Etc/GMT+5");
    assert_eq!(shown("gmt").unwrap(), "GMT");
    assert_eq!(TimeZone::parse("+05:30").unwrap().offset_at(0), -19_800);
    assert_eq!(TimeZone::parse("5.5").unwrap().offset_at(0), 19_800);
    let refused = |text: &str| {
        let error = TimeZone::parse(text).unwrap_err();
        (error.code.as_str().to_owned(), error.message, error.detail)
    };
    let (code, message, _) = refused("pst");
    assert_eq!(code, "22023");
    assert_eq!(message, "invalid value for parameter \"TimeZone\": \"pst\"");
    assert_eq!(refused("200").2.unwrap(), "UTC timezone offset is out of range.");
    let month = refused("interval '1 month'").2.unwrap();
    assert_eq!(month, "Cannot specify months in time zone interval.");
}

#[test]
fn interval_types_cut_and_round() {
    let settings = FormatSettings::default();
    let typmod = |fields: i32, precision: i32| fields << 16 | precision;
    let shown = |text: &str, typmod: i32| {
        let mut out = String::new();
        format_interval(&parse_interval(text, typmod, &settings).unwrap(), &settings, &mut out);
        out
    };
    let minute_to_second = 1 << 11 | 1 << 12;
    assert_eq!(shown("1:02", typmod(minute_to_second, 0xffff)), "00:01:02");
    assert_eq!(shown("1.55 secs", typmod(0x7fff, 1)), "00:00:01.6");
    assert_eq!(shown("5", typmod(1 << 2, 0xffff)), "5 years");
    assert_eq!(shown("1-2 3 4:05:06", typmod(1 << 10, 0xffff)), "1 year 2 mons 3 days 04:00:00");
}

#[test]
fn garbage_never_panics() {
    let words: Vec<&str> =
        "1 -1 . 99 2147483648 9223372036854775807 -9223372036854775808 1e5 : - / \
         + BC am pm jan dst z pst msk j y m d h mm s t P T Y M W D H S ago year century week us \
         epoch infinity é 24:00:00 America/New_York FOO5BAR <a>5 \u{1}"
            .split_whitespace()
            .collect();
    let templates = ["YYYY-MM-DD", "FXCC Y IW", "J DDD TZH:TZM", "Y,YYY MS US FF3 Dy RM BC"];
    let styles = ["postgres", "sql_standard"].map(|style| FormatSettings {
        interval_style: IntervalStyle::parse(style).unwrap(),
        ..FormatSettings::default()
    });
    let mut state = 1_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % bound
    };
    for _ in 0..60_000 {
        let mut text = String::new();
        for _ in 0..=next(6) {
            text.push_str(words[next(words.len())]);
            text.push_str(["", "", " "][next(3)]);
        }
        let settings = &styles[next(2)];
        let _ = parse_date_at(&text, settings, Some(0));
        let _ = parse_time(&text, settings);
        let _ = TimeZone::parse(&text);
        let template = Template::parse(if next(2) == 0 { &text } else { templates[next(4)] });
        let _ = to_timestamp(&text, &template, &settings.time_zone);
        let _ = to_date(&text, &template);
        if let Ok(instant) = parse_timestamptz(&text, settings) {
            let _ = timestamp_to_char(instant, &template);
        }
        if let Ok(interval) = parse_interval(&text, -1, settings) {
            format_interval(&interval, settings, &mut String::new());
            let _ = interval_to_char(&interval, &template);
            let _ = timestamptz_add(0, &interval, &settings.time_zone);
            let _ = interval_multiply(&interval, -1e300);
        }
    }
}
