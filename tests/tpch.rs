//! TPC-H: its 22 queries as maintained views, under its refresh streams.
//!
//! After the load, and after each transaction of a refresh (some orders and their lines come, as
//! many go), each view and each query asked afresh say what PostgreSQL says. `TPCH_SCALE` and
//! `TPCH_REFRESHES` set the size; times are printed beside PostgreSQL's, which computes from
//! scratch.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

mod support;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use support::postgres::Postgres;
use support::weir::Weir;
use support::wire::Client;
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

const SCHEMA: &str = include_str!("tpch/schema.sql");
const QUERIES: &str = include_str!("tpch/queries.sql");

/// Tables whose rows do not change, as COPY takes them.
type Fixed = Vec<(&'static str, String)>;

/// The orders, and the lines of each, as COPY takes them.
struct Orders {
    orders: Vec<(i64, String)>,
    lines: BTreeMap<i64, String>,
}

/// One line of COPY's text form; the generator ends each with a separator too many.
fn line(row: impl Display) -> String {
    let row = row.to_string();
    format!("{}\n", row.strip_suffix('|').unwrap_or(&row))
}

fn lines<R: Display>(rows: impl IntoIterator<Item = R>) -> String {
    rows.into_iter().map(line).collect()
}

fn fixed(scale: f64) -> Fixed {
    vec![
        ("region", lines(RegionGenerator::new(scale, 1, 1))),
        ("nation", lines(NationGenerator::new(scale, 1, 1))),
        ("part", lines(PartGenerator::new(scale, 1, 1))),
        ("supplier", lines(SupplierGenerator::new(scale, 1, 1))),
        ("partsupp", lines(PartSuppGenerator::new(scale, 1, 1))),
        ("customer", lines(CustomerGenerator::new(scale, 1, 1))),
    ]
}

fn orders(scale: f64) -> Orders {
    let orders = OrderGenerator::new(scale, 1, 1).iter().map(|o| (o.o_orderkey, line(o)));
    let mut all = Orders { orders: orders.collect(), lines: BTreeMap::new() };
    for item in LineItemGenerator::new(scale, 1, 1).iter() {
        all.lines.entry(item.l_orderkey).or_default().push_str(&line(item));
    }
    all
}

/// The queries, by number.
fn queries() -> Vec<(usize, &'static str)> {
    let texts = QUERIES.split(";\n").map(str::trim).filter(|text| !text.is_empty());
    texts.enumerate().map(|(index, text)| (index + 1, text)).collect()
}

/// Both servers.
struct Pair {
    ours: Client,
    theirs: Client,
}

/// An answer's rows, sorted, and how long it took.
fn ask(client: &mut Client, sql: &str) -> (Vec<Vec<Option<String>>>, Duration) {
    let start = Instant::now();
    let outcome = client.run(sql);
    let taken = start.elapsed();
    let mut rows = outcome.rows(sql);
    rows.sort();
    (rows, taken)
}

impl Pair {
    fn both(&mut self, sql: &str) {
        for client in [&mut self.ours, &mut self.theirs] {
            assert_eq!(client.run(sql).error, None, "{sql}");
        }
    }

    fn copy(&mut self, table: &str, rows: &str) {
        let sql = format!("COPY {table} FROM STDIN WITH (DELIMITER '|')");
        for client in [&mut self.ours, &mut self.theirs] {
            let outcomes = client.copy_in(&sql, rows.as_bytes()).unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{sql}");
        }
    }

    /// Writes orders and their lines in one transaction.
    fn insert(&mut self, all: &Orders, orders: &[(i64, String)]) {
        self.both("BEGIN");
        let (mut headers, mut lines) = (String::new(), String::new());
        for (key, order) in orders {
            headers.push_str(order);
            lines.push_str(all.lines.get(key).map_or("", String::as_str));
        }
        self.copy("orders", &headers);
        self.copy("lineitem", &lines);
        self.both("COMMIT");
    }

    /// Deletes orders and their lines in one transaction.
    fn delete(&mut self, orders: &[(i64, String)]) {
        let mut keys = String::new();
        for (key, _) in orders {
            write!(keys, "{}{key}", if keys.is_empty() { "" } else { ", " }).unwrap();
        }
        self.both("BEGIN");
        self.both(&format!("DELETE FROM lineitem WHERE l_orderkey IN ({keys})"));
        self.both(&format!("DELETE FROM orders WHERE o_orderkey IN ({keys})"));
        self.both("COMMIT");
    }

    /// Compares views, and the queries asked afresh where `afresh`; answers PostgreSQL's time, and
    /// ours of reading the views.
    fn check(&mut self, when: &str, afresh: bool) -> (Duration, Duration) {
        let (mut from_scratch, mut reading) = (Duration::ZERO, Duration::ZERO);
        for (number, sql) in queries() {
            let (expected, taken) = ask(&mut self.theirs, sql);
            from_scratch += taken;
            let (view, taken) = ask(&mut self.ours, &format!("SELECT * FROM q{number}"));
            reading += taken;
            assert_eq!(view, expected, "view q{number} {when}");
            assert!(!expected.is_empty(), "query {number} shows nothing {when}");
            if afresh {
                let (rows, _) = ask(&mut self.ours, sql);
                assert_eq!(rows, expected, "query {number} {when}");
            }
        }
        (from_scratch, reading)
    }
}

fn setting<T: std::str::FromStr>(name: &str, otherwise: T) -> T {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn views_follow_the_refresh_streams() {
    let (scale, refreshes) = (setting("TPCH_SCALE", 0.01), setting("TPCH_REFRESHES", 2));
    let Some(postgres) = Postgres::start_if_installed() else { return };
    let weir = Weir::start(2);
    let mut pair = Pair { ours: weir.client(), theirs: postgres.client() };
    pair.both(SCHEMA);
    for (table, rows) in fixed(scale) {
        pair.copy(table, &rows);
    }
    let all = orders(scale);
    let batch = all.orders.len() / 1000;
    let (first, rest) = all.orders.split_at(all.orders.len() - batch * refreshes);
    pair.insert(&all, first);
    // Without these, some of PostgreSQL's plans take minutes.
    for sql in
        ["CREATE INDEX ON lineitem (l_partkey)", "CREATE INDEX ON orders (o_custkey)", "ANALYZE"]
    {
        assert_eq!(pair.theirs.run(sql).error, None);
    }
    for (number, sql) in queries() {
        let start = Instant::now();
        let made = pair.ours.run(&format!("CREATE MATERIALIZED VIEW q{number} AS {sql}"));
        assert_eq!(made.error, None, "query {number}");
        let hydrated = start.elapsed();
        let (_, scratch) = ask(&mut pair.theirs, sql);
        println!("q{number:<2} hydrated in {hydrated:>9.1?}, PostgreSQL {scratch:>9.1?}");
    }
    pair.check("after the load", true);
    for refresh in 0..refreshes {
        let start = Instant::now();
        pair.insert(&all, &rest[refresh * batch..][..batch]);
        let (inserted, reading) = pair.check("after an insertion", false);
        let start_deleting = Instant::now();
        pair.delete(&first[refresh * batch..][..batch]);
        let (deleted, _) = pair.check("after a deletion", refresh + 1 == refreshes);
        println!(
            "refresh {refresh}: {:.1?} and {:.1?} with reading ({reading:.1?} the views); \
             PostgreSQL's queries {inserted:.1?} and {deleted:.1?}",
            start_deleting - start,
            start_deleting.elapsed(),
        );
    }
}
