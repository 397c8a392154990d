//! COPY against what PostgreSQL 15 answered.
//!
//! A line of `cases.tsv` has five fields: `read` or `write`; the options; the types of columns
//! `a`, `b` …; what goes in; what came out. A `read` takes a text of which each character is a
//! byte, and gives rows or an error with its context; a `write` takes rows of texts.

use bumpalo::Bump;
use serde_json::Value;

use crate::plan::statement::{CopyFormat, CopyHeader, CopyOptions};
use crate::repr::settings::FormatSettings;
use crate::repr::text::parse_text;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::session::copy::CopyWriter;
use crate::session::copy::reader::tests::{options, read};

const CASES: &str = include_str!("cases.tsv");

fn parse_options(text: &str) -> CopyOptions {
    let given: Value = serde_json::from_str(text).unwrap();
    let mut parsed = options(match given["format"].as_str().unwrap() {
        "text" => CopyFormat::Text,
        "csv" => CopyFormat::Csv,
        _ => CopyFormat::Binary,
    });
    let columns = |value: &Value| -> Vec<usize> {
        value.as_array().unwrap().iter().map(|at| at.as_u64().unwrap() as usize).collect()
    };
    for (name, value) in given.as_object().unwrap() {
        let text = value.as_str().unwrap_or_default();
        let byte = text.bytes().next();
        match name.as_str() {
            "format" => {}
            "delimiter" => parsed.delimiter = byte.unwrap(),
            "quote" => parsed.quote = byte.unwrap(),
            "escape" => parsed.escape = byte.unwrap(),
            "null" => parsed.null = text.to_owned(),
            "header" if text == "match" => parsed.header = CopyHeader::Match,
            "header" => parsed.header = CopyHeader::Names,
            "force_quote" => parsed.force_quote = Some(columns(value)),
            "force_not_null" => parsed.force_not_null = columns(value),
            "force_null" => parsed.force_null = columns(value),
            other => panic!("option {other}"),
        }
    }
    parsed
}

/// `varchar(3)` as type and modifier.
fn parse_type(text: &str) -> ColumnType {
    let (name, modifier) = text.split_once('(').unwrap_or((text, ""));
    let named = match name {
        "int" => "int4",
        "char" => "bpchar",
        name => name,
    };
    let scalar = ScalarType::ALL.into_iter().find(|t| t.name() == named).unwrap();
    let numbers: Vec<i32> =
        modifier.trim_end_matches(')').split(';').filter_map(|n| n.parse().ok()).collect();
    let typmod = match (scalar, &numbers[..]) {
        (_, []) => -1,
        (ScalarType::Numeric, [precision, scale]) => (precision << 16 | scale) + 4,
        (ScalarType::Varchar | ScalarType::Bpchar, [length]) => length + 4,
        (ScalarType::Interval, [precision]) => 0x7fff << 16 | precision,
        (_, [precision, ..]) => *precision,
    };
    ColumnType { typmod, ..ColumnType::nullable(scalar) }
}

/// Each byte as a character.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

fn write(options: &CopyOptions, types: &[ColumnType], rows: &Value) -> String {
    let arena = Bump::new();
    let settings = FormatSettings::default();
    let names = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
    let columns = names.into_iter().zip(types.iter().copied()).collect();
    let mut writer = CopyWriter::new(options, columns, &settings);
    let mut out = Vec::new();
    writer.header(&mut out);
    for row in rows.as_array().unwrap() {
        let values = row.as_array().unwrap().iter().zip(types);
        let datums = values.map(|(value, ty)| match value.as_str() {
            None => Datum::Null,
            Some(text) => parse_text(ty.scalar, ty.typmod, text, &settings, &arena).unwrap(),
        });
        writer.row(&datums.collect::<Vec<_>>(), &mut out);
    }
    writer.trailer(&mut out);
    latin1(&out)
}

/// What is wrong with a case, if anything.
fn check(line: &str) -> Option<String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let options = parse_options(fields[1]);
    let types: Vec<_> = fields[2].split(',').map(parse_type).collect();
    let input: Value = serde_json::from_str(fields[3]).unwrap();
    let expected: Value = serde_json::from_str(fields[4]).unwrap();
    if fields[0] == "write" {
        let got = write(&options, &types, &input);
        let expected = expected.as_str().unwrap();
        return (got != expected).then(|| format!("{line}\n  {got:?}\n  {expected:?}"));
    }
    let data: Vec<u8> = input.as_str().unwrap().chars().map(|c| c as u8).collect();
    let expected: Vec<_> =
        expected.as_array().unwrap().iter().map(|row| row.as_str().unwrap()).collect();
    for piece in [1, 2, 7, 10_000] {
        let mut got = read(&options, &types, &data, piece);
        // An error undoes the rows before it.
        if got.last().is_some_and(|last| !last.starts_with(['<', 'N'])) {
            got.drain(..got.len() - 1);
        }
        if got != expected {
            return Some(format!("{line}\n  {got:?} by {piece}\n  {expected:?}"));
        }
    }
    None
}

#[test]
fn answers_are_those_of_postgresql() {
    let wrong: Vec<_> = CASES.lines().filter_map(check).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
