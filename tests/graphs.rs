//! Rules on graphs as they are found, and on as many edges as programs have.
//!
//! `packages` is Debian's own package graph, live while packages are upgraded, go and come back.
//! `programs` analyses generated programs: what pointers point to, and calls that return to where
//! they came from. Each answer is compared with a computation of the test's own. `fair` measures
//! what a long recursion costs everybody else, `many` what many cost who watch each a part.
//!
//! `GRAPH_PACKAGES` says how many packages, `GRAPH_SCALE` how large the programs are beside those
//! of the bench (1: 120,000 edges). The package index is what `apt-get update` has brought; where
//! there is none the test says so and passes, but not under CI.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "graphs/fair.rs"]
mod fair;
#[path = "../benches/datalog/graphs.rs"]
#[allow(dead_code)] // The bench measures more of them.
mod generated;
#[path = "graphs/index.rs"]
mod index;
#[path = "graphs/many.rs"]
mod many;
#[path = "graphs/packages.rs"]
mod packages;
#[path = "graphs/programs.rs"]
mod programs;
mod support;

use std::collections::BTreeSet;

use support::wire::Client;

fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs statements, none of which may fail.
fn define(client: &mut Client, sql: &str) {
    for outcome in client.query(sql).unwrap() {
        assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
    }
}

/// Puts rows into a table by COPY, tabs between their columns.
fn copy(client: &mut Client, table: &str, rows: &str) {
    for outcome in client.copy_in(&format!("COPY {table} FROM STDIN"), rows.as_bytes()).unwrap() {
        assert!(outcome.error.is_none(), "{table}: {:?}", outcome.error);
    }
}

/// The rows of an answer, none of which may come twice.
fn ask(client: &mut Client, sql: &str) -> BTreeSet<Vec<String>> {
    let rows = client.run(sql).rows(sql);
    let count = rows.len();
    let row = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    let rows: BTreeSet<Vec<String>> = rows.into_iter().map(row).collect();
    assert_eq!(rows.len(), count, "{sql}: a row comes twice");
    rows
}
