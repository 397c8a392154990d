//! The specification: every file of `sqllogictest/`, on PostgreSQL and on Weir.
//!
//! Expected answers are PostgreSQL 15's own, word for word and with their types: one test runs
//! the directory there, the others run it over a socket with one and with several workers, and in
//! process. What only Weir has stands behind `onlyif weir`; what it answers otherwise by design
//! (0A000) is written twice, behind `onlyif weir` and `onlyif postgres`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test sqllogictest` rewrites the files: from PostgreSQL, and from
//! Weir what is Weir's alone. `SLT=name` runs the files whose name contains that.
//!
//! A row is its values with ` | ` between them; `NULL` is null, `(empty)` the empty text. Each
//! column's type is one letter, see [`LETTERS`]. An error is its SQLSTATE and message.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "sqllogictest/in_process.rs"]
mod in_process;
mod support;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use in_process::InProcess;
use sqllogictest::{
    ColumnType, Condition, DB, DBOutput, ExpectedError, MakeConnection, QueryExpect, Record,
    RecordOutput, Runner, StatementExpect,
};
use support::postgres::Postgres;
use support::weir::Weir;
use support::wire::{Client, Outcome, Report};

/// What stands between the values of a row.
const SEPARATOR: &str = " | ";
/// How many faults of a file are shown.
const SHOWN_MAX: usize = 40;

/// The letter of each type.
const LETTERS: &[(u32, char)] = &[
    (16, 'B'),
    (21, 's'),
    (23, 'i'),
    (20, 'l'),
    (26, 'o'),
    (700, 'f'),
    (701, 'd'),
    (1700, 'n'),
    (25, 't'),
    (1043, 'v'),
    (1042, 'c'),
    (19, 'N'),
    (17, 'y'),
    (1082, 'D'),
    (1083, 'T'),
    (1266, 'z'),
    (1114, 'S'),
    (1184, 'Z'),
    (1186, 'I'),
    (2950, 'U'),
    (3802, 'J'),
    (2205, 'r'),
    (18, 'C'),
    (1005, '2'),
    (1007, '1'),
    (1016, '8'),
    (1021, '7'),
    (1022, '6'),
    (1231, '0'),
    (1009, '9'),
    (1015, 'V'),
    (1014, '5'),
    (1000, 'b'),
    (1182, 'e'),
    (1115, '3'),
    (1185, '4'),
    (3807, 'j'),
    (114, 'h'),
    (1560, 'x'),
    (1562, 'X'),
    (869, 'a'),
    (650, 'A'),
    (829, 'm'),
    (3904, 'R'),
    (3926, 'K'),
    (3906, 'Q'),
    (3908, 'W'),
    (3910, 'w'),
    (3912, 'E'),
    (4451, 'G'),
    (4536, 'k'),
    (4532, 'q'),
    (4533, 'p'),
    (4534, 'P'),
    (4535, 'g'),
];

/// A column's type by its letter; `?` is any that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter(char);

impl ColumnType for Letter {
    fn from_char(value: char) -> Option<Letter> {
        Some(Letter(value))
    }

    fn to_char(&self) -> char {
        self.0
    }
}

/// An error, as the files spell it.
#[derive(Debug)]
pub struct Refusal {
    code: String,
    message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<Report> for Refusal {
    fn from(report: Report) -> Refusal {
        Refusal { code: report.code().to_string(), message: report.message().to_string() }
    }
}

/// A session on some engine, over a socket.
struct Session {
    client: Client,
    engine: &'static str,
}

impl DB for Session {
    type Error = Refusal;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> Result<DBOutput<Letter>, Refusal> {
        let lost = |error: std::io::Error| Refusal {
            code: "08006".to_string(),
            message: format!("connection lost: {error}"),
        };
        let outcomes = self.client.query(sql).map_err(lost)?;
        answer(outcomes.into_iter().last().unwrap_or_default())
    }

    fn engine_name(&self) -> &str {
        self.engine
    }
}

fn answer(outcome: Outcome) -> Result<DBOutput<Letter>, Refusal> {
    if let Some(error) = outcome.error {
        return Err(error.into());
    }
    if let Some(columns) = outcome.columns {
        let letter = |oid| LETTERS.iter().find(|l| l.0 == oid).map_or('?', |l| l.1);
        let types = columns.iter().map(|column| Letter(letter(column.oid))).collect();
        let rows = outcome.rows.into_iter().map(|row| row.into_iter().map(spell).collect());
        return Ok(DBOutput::Rows { types, rows: rows.collect() });
    }
    let tag = outcome.tag.unwrap_or_default();
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    Ok(DBOutput::StatementComplete(count.unwrap_or(0)))
}

/// A value as the files spell it.
fn spell(value: Option<String>) -> String {
    match value {
        None => "NULL".to_string(),
        Some(text) if text.is_empty() => "(empty)".to_string(),
        Some(text) if text.trim() != text => format!("\"{}\"", text.replace('\n', "\\n")),
        Some(text) => text.replace('\n', "\\n"),
    }
}

/// The files to run.
fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sqllogictest");
    let wanted = std::env::var("SLT").unwrap_or_default();
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .filter(|path| path.file_stem().unwrap().to_str().unwrap().contains(&wanted))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no file has {wanted} in its name");
    files
}

fn is_update() -> bool {
    std::env::var_os("UPDATE_GOLDEN").is_some()
}

fn runner<D, M>(make: M) -> Runner<D, M>
where
    D: DB<ColumnType = Letter> + Send + 'static,
    M: MakeConnection<Conn = D>,
{
    let mut runner = Runner::new(make);
    runner.with_validator(is_equal);
    runner.with_column_validator(|actual, expected| actual == expected);
    runner
}

fn is_equal(_: fn(&String) -> String, actual: &[Vec<String>], expected: &[String]) -> bool {
    actual.iter().map(|row| row.join(SEPARATOR)).eq(expected.iter().cloned())
}

/// Runs one file to its end. What it got wrong, one text each.
fn run<D, M>(path: &Path, make: M) -> Vec<String>
where
    D: DB<ColumnType = Letter> + Send + 'static,
    M: MakeConnection<Conn = D>,
{
    let mut runner = runner(make);
    let mut faults = Vec::new();
    for record in sqllogictest::parse_file::<Letter>(path).unwrap() {
        if let Err(error) = runner.run(record) {
            faults.push(error.display(false).to_string());
        }
    }
    faults
}

/// Fails with what all files got wrong.
fn conclude(faults: Vec<(PathBuf, Vec<String>)>) {
    let mut text = String::new();
    let mut count = 0;
    for (path, faults) in &faults {
        count += faults.len();
        for fault in faults.iter().take(SHOWN_MAX) {
            text.push_str(fault);
            text.push_str("\n\n");
        }
        if faults.len() > SHOWN_MAX {
            let more = faults.len() - SHOWN_MAX;
            text.push_str(&format!("... and {more} more in {}\n\n", path.display()));
        }
    }
    assert!(count == 0, "{count} answers differ:\n{text}");
}

fn over_socket(workers: usize) {
    if is_update() {
        return;
    }
    let run_one = |path: PathBuf| {
        let weir = Weir::start(workers);
        let port = weir.port;
        let make = move || async move { connect(port, "weir", "weir") };
        let faults = run(&path, make);
        (path, faults)
    };
    conclude(files().into_iter().map(run_one).collect());
}

fn connect(port: u16, engine: &'static str, database: &str) -> Result<Session, Refusal> {
    let parameters = [("user", "weir"), ("database", database)];
    let client = Client::connect_with(port, &parameters).map_err(|error| Refusal {
        code: "08001".to_string(),
        message: format!("cannot connect: {error}"),
    })?;
    Ok(Session { client, engine })
}

#[test]
fn weir_with_one_worker() {
    over_socket(1);
}

#[test]
fn weir_with_three_workers() {
    over_socket(3);
}

#[test]
fn weir_in_process() {
    if is_update() {
        return;
    }
    let run_one = |path: PathBuf| {
        let weir = InProcess::start(2);
        let faults = run(&path, || std::future::ready(Ok(weir.session())));
        (path, faults)
    };
    conclude(files().into_iter().map(run_one).collect());
}

#[test]
fn postgres() {
    let Some(postgres) = Postgres::start_if_installed() else { return };
    let port = postgres.port;
    let mut all = Vec::new();
    for path in files() {
        let database = path.file_stem().unwrap().to_str().unwrap().to_string();
        let created = postgres.client().run(&format!("CREATE DATABASE \"{database}\""));
        assert_eq!(created.error, None);
        let make = || {
            let session = connect(port, "postgres", &database);
            async move { session }
        };
        if is_update() {
            rewrite(&path, make, |_| true);
            if fs::read_to_string(&path).unwrap().contains("\nonlyif weir\n") {
                let weir = InProcess::start(2);
                rewrite(&path, || std::future::ready(Ok(weir.session())), is_own);
            }
        } else {
            let faults = run(&path, make);
            all.push((path, faults));
        }
    }
    conclude(all);
}

/// Whether a record is Weir's alone.
fn is_own(conditions: &[Condition]) -> bool {
    conditions.iter().any(|condition| match condition {
        Condition::OnlyIf { label } => label == "weir",
        Condition::SkipIf { label } => label == "postgres",
    })
}

/// Writes what the engine answers into the file, for the records that are wanted.
fn rewrite<D, M>(path: &Path, make: M, is_wanted: fn(&[Condition]) -> bool)
where
    D: DB<ColumnType = Letter> + Send + 'static,
    M: MakeConnection<Conn = D>,
{
    let mut runner = runner(make);
    let mut text = String::new();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for record in sqllogictest::parse_file::<Letter>(path).unwrap() {
        let output = runtime.block_on(runner.apply_record(record.clone()));
        let conditions = match &record {
            Record::Statement { conditions, .. } | Record::Query { conditions, .. } => conditions,
            _ => &Vec::new(),
        };
        let updated = match is_wanted(conditions) {
            true => updated(record.clone(), &output),
            false => record,
        };
        text.push_str(&format!("{updated}\n"));
    }
    let text = format!("{}\n", text.trim_end());
    fs::write(path, text).unwrap();
}

/// The record with what was answered.
fn updated(mut record: Record<Letter>, output: &RecordOutput<Letter>) -> Record<Letter> {
    // Errors are spelled in full, below a line, and not as a pattern beside the keyword.
    let is_error = match output {
        RecordOutput::Query { error, .. } | RecordOutput::Statement { error, .. } => {
            error.is_some()
        }
        _ => false,
    };
    let in_full = ExpectedError::Multiline("-".to_string());
    match &mut record {
        Record::Statement { expected, .. } if is_error => {
            *expected = StatementExpect::Error(in_full);
        }
        Record::Query { expected, .. } if is_error => *expected = QueryExpect::Error(in_full),
        _ => {}
    }
    sqllogictest::update_record_with_output(
        &record,
        output,
        SEPARATOR,
        is_equal,
        |value| value.clone(),
        |actual, expected| actual == expected,
    )
    .unwrap_or(record)
}
