//! PostgreSQL and Weir with the same tables.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use crate::data::{Orders, SCHEMA, fixed, orders};
use crate::support::wire::Client;

/// Both servers.
pub struct Pair {
    pub ours: Client,
    pub theirs: Client,
}

/// An answer's rows, sorted, and how long it took.
pub fn ask(client: &mut Client, sql: &str) -> (Vec<Vec<Option<String>>>, Duration) {
    let start = Instant::now();
    let outcome = client.run(sql);
    let taken = start.elapsed();
    let mut rows = outcome.rows(sql);
    rows.sort();
    (rows, taken)
}

impl Pair {
    /// Runs statements on both, which must not fail.
    pub fn both(&mut self, sql: &str) {
        for client in [&mut self.ours, &mut self.theirs] {
            assert_eq!(client.run(sql).error, None, "{sql}");
        }
    }

    pub fn copy(&mut self, table: &str, rows: &str) {
        let sql = format!("COPY {table} FROM STDIN WITH (DELIMITER '|')");
        for client in [&mut self.ours, &mut self.theirs] {
            let outcomes = client.copy_in(&sql, rows.as_bytes()).unwrap();
            assert!(outcomes.iter().all(|outcome| outcome.error.is_none()), "{sql}");
        }
    }

    /// Writes orders and their lines in one transaction, and leaves it open.
    pub fn insert(&mut self, all: &Orders, orders: &[(i64, String)]) {
        self.both("BEGIN");
        let (mut headers, mut lines) = (String::new(), String::new());
        for (key, order) in orders {
            headers.push_str(order);
            lines.push_str(all.lines.get(key).map_or("", String::as_str));
        }
        self.copy("orders", &headers);
        self.copy("lineitem", &lines);
    }

    /// Deletes orders and their lines in one transaction, and leaves it open.
    pub fn delete(&mut self, orders: &[(i64, String)]) {
        let mut keys = String::new();
        for (key, _) in orders {
            write!(keys, "{}{key}", if keys.is_empty() { "" } else { ", " }).unwrap();
        }
        self.both("BEGIN");
        self.both(&format!("DELETE FROM lineitem WHERE l_orderkey IN ({keys})"));
        self.both(&format!("DELETE FROM orders WHERE o_orderkey IN ({keys})"));
    }

    /// Tables with everything in them but the last orders, which so many refreshes bring.
    ///
    /// Answers the orders that are there, and those of each refresh.
    pub fn load(&mut self, scale: f64, refreshes: usize) -> Load {
        self.both(SCHEMA);
        for (table, rows) in fixed(scale) {
            self.copy(table, &rows);
        }
        let all = orders(scale);
        let batch = (all.orders.len() / 1000).max(1);
        let first = all.orders.len() - batch * refreshes;
        self.insert(&all, &all.orders[..first]);
        self.both("COMMIT");
        // Without these, some of PostgreSQL's plans take minutes.
        for sql in [
            "CREATE INDEX ON lineitem (l_partkey)",
            "CREATE INDEX ON orders (o_custkey)",
            "ANALYZE",
        ] {
            assert_eq!(self.theirs.run(sql).error, None);
        }
        Load { all, first, batch }
    }
}

/// What was loaded, and what is to come.
pub struct Load {
    pub all: Orders,
    first: usize,
    batch: usize,
}

impl Load {
    /// The orders that a refresh brings, and those that it takes.
    pub fn refresh(&self, number: usize) -> [&[(i64, String)]; 2] {
        let at = number * self.batch;
        [&self.all.orders[self.first + at..][..self.batch], &self.all.orders[at..][..self.batch]]
    }
}
