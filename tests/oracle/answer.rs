//! Answers, and what makes two of them equal.

use std::collections::BTreeMap;

use crate::support::wire::{Outcome, Report, type_name};

/// A row in text.
pub type Row = Vec<Option<String>>;

pub const FLOAT8: u32 = 701;
const NUMERIC: u32 = 1700;
const FIRST_OF_USERS: u32 = 16384;

/// The answer to a query.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Name and OID of each column.
    pub columns: Vec<(String, u32)>,
    pub rows: Vec<Row>,
    pub error: Option<Report>,
}

/// What a comparison says.
pub enum Verdict {
    Equal,
    EqualErrors,
    /// Refused with 0A000; what it said.
    Unsupported(String),
    /// PostgreSQL evaluated something that Weir did not have to.
    OnlyTheirsFailed,
    Different(String),
}

impl Answer {
    pub fn of(outcome: Outcome) -> Answer {
        let columns = outcome.columns.unwrap_or_default();
        // What users have made has a number of its own on each server.
        let kind = |oid: u32| oid.min(FIRST_OF_USERS);
        let columns = columns.into_iter().map(|column| (column.name, kind(column.oid))).collect();
        Answer { columns, rows: outcome.rows, error: outcome.error }
    }

    /// Whether it shows nothing.
    pub fn is_vacuous(&self) -> bool {
        self.error.is_none() && self.rows.iter().flatten().all(Option::is_none)
    }
}

/// Compares two answers, as bags of rows.
pub fn compare(sql: &str, ours: &Answer, theirs: &Answer) -> Verdict {
    match (&ours.error, &theirs.error) {
        // What PostgreSQL does not do, as recursion over what it cannot hash, may work here; and it
        // has faults of its own (XX000: a window's EXCLUDE TIES behind its frame).
        (_, Some(t)) if matches!(t.code(), "0A000" | "XX000") => return Verdict::OnlyTheirsFailed,
        (Some(o), _) if o.code() == "0A000" => return Verdict::Unsupported(o.to_string()),
        (Some(o), Some(t)) if o.code() == t.code() => return Verdict::EqualErrors,
        // Which of several faults is found first is nobody's promise.
        (Some(o), Some(t)) if is_of_rows(o.code()) && is_of_rows(t.code()) => {
            return Verdict::EqualErrors;
        }
        (None, Some(t)) if is_of_rows(t.code()) => return Verdict::OnlyTheirsFailed,
        (Some(o), None) => return Verdict::Different(format!("{sql}\n  only Weir: {o}")),
        (None, Some(t)) => return Verdict::Different(format!("{sql}\n  only PostgreSQL: {t}")),
        (Some(o), Some(t)) => {
            return Verdict::Different(format!("{sql}\n  Weir: {o}\n  PostgreSQL: {t}"));
        }
        (None, None) => {}
    }
    if ours.columns != theirs.columns {
        let spell = |answer: &Answer| {
            let columns = answer.columns.iter().map(|c| format!("{} {}", c.0, type_name(c.1)));
            columns.collect::<Vec<_>>().join(", ")
        };
        let (ours, theirs) = (spell(ours), spell(theirs));
        return Verdict::Different(format!("{sql}\n  Weir: {ours}\n  PostgreSQL: {theirs}"));
    }
    let (our_rows, their_rows) = (bag(ours), bag(theirs));
    if our_rows.len() == their_rows.len() && alike(&our_rows, &their_rows) {
        return Verdict::Equal;
    }
    let missing = without(&their_rows, &our_rows);
    let invented = without(&our_rows, &their_rows);
    Verdict::Different(format!("{sql}\n  missing: {missing:?}\n  invented: {invented:?}"))
}

/// Whether a fault is one of rows, which shows when they are computed.
fn is_of_rows(code: &str) -> bool {
    code.starts_with("22") || matches!(code, "21000" | "23514")
}

/// The rows in one order, with numbers spelled one way.
///
/// Floats are rounded, since PostgreSQL's sums depend on the order of rows; numerics lose zeros at
/// the end, since which of `1.0` and `1.00` stands for a group is not determined.
fn bag(answer: &Answer) -> Vec<Row> {
    let spell = |(value, column): (&Option<String>, &(String, u32))| {
        value.as_ref().map(|text| match column.1 {
            FLOAT8 => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => format!("{number:.9e}"),
                _ => text.clone(),
            },
            NUMERIC if text.contains('.') => {
                text.trim_end_matches('0').trim_end_matches('.').to_string()
            }
            _ => text.clone(),
        })
    };
    let row = |row: &Row| row.iter().zip(&answer.columns).map(spell).collect();
    let mut rows: Vec<Row> = answer.rows.iter().map(row).collect();
    rows.sort();
    rows
}

/// Whether sorted rows are equal; floats that were rounded apart are compared as numbers.
fn alike(ours: &[Row], theirs: &[Row]) -> bool {
    let close = |a: &str, b: &str| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) if a.is_finite() => (a - b).abs() <= 1e-8 * a.abs().max(1e-8),
        _ => false,
    };
    let same = |(a, b): (&Option<String>, &Option<String>)| match (a, b) {
        (Some(a), Some(b)) => a == b || a.contains('e') && close(a, b),
        (a, b) => a == b,
    };
    ours.iter().zip(theirs).all(|(a, b)| a.len() == b.len() && a.iter().zip(b).all(same))
}

/// The first rows of one bag that the other does not have.
fn without(rows: &[Row], others: &[Row]) -> Vec<Row> {
    let mut left = others.to_vec();
    let mut missing = Vec::new();
    for row in rows {
        match left.iter().position(|other| other == row) {
            Some(index) => drop(left.swap_remove(index)),
            None => missing.push(row.clone()),
        }
    }
    missing.truncate(5);
    missing
}

/// What a subscription adds up to.
#[derive(Default)]
pub struct Fold {
    rows: BTreeMap<Row, i64>,
    time: i64,
}

impl Fold {
    /// Adds changes: time, diff, then the row. Times never decrease; each change is one row and
    /// not nothing.
    pub fn add(&mut self, changes: Vec<Row>) {
        let mut seen = BTreeMap::new();
        for mut change in changes {
            let row = change.split_off(2);
            let number = |n: usize| change[n].as_ref().and_then(|text| text.parse::<i64>().ok());
            let (time, diff) = (number(0).expect("a time"), number(1).expect("a diff"));
            assert!(time >= self.time, "times never decrease");
            self.time = time;
            assert_ne!(diff, 0, "a change of nothing");
            let once = seen.insert((time, row.clone()), ()).is_none();
            assert!(once, "a row twice at one time: {row:?}");
            *self.rows.entry(row).or_insert(0) += diff;
        }
        self.rows.retain(|_, count| *count != 0);
    }

    /// How it differs from what the relation holds.
    pub fn differs(&self, relation: &Outcome) -> Option<String> {
        let mut rows: BTreeMap<Row, i64> = BTreeMap::new();
        for row in &relation.rows {
            *rows.entry(row.clone()).or_insert(0) += 1;
        }
        (rows != self.rows).then(|| format!("  relation: {rows:?}\n  folded: {:?}", self.rows))
    }
}
