//! TPC-H's queries as maintained views beside PostgreSQL, which computes them from scratch.
//!
//! `cargo bench --bench tpch [-- --scale 0.01 --refreshes 5]`, or `--smoke` for seconds. Each query
//! is a view alone: how long until it is there, and how long from COMMIT of a refresh's transaction
//! (a thousandth of the orders come, or go, with their lines) until the view was read as of then.
//! PostgreSQL's time is that of the same query at the same moment, over the same socket. Then all
//! 22 stand together. Answers are compared.

#![allow(clippy::unwrap_used)] // A bench fails by a panic.

#[path = "../tests/tpch/data.rs"]
mod data;
#[path = "../tests/tpch/pair.rs"]
mod pair;
#[path = "../tests/support/mod.rs"]
mod support;

use std::time::{Duration, Instant};

use clap::Parser;

use data::queries;
use pair::{Load, Pair, ask};
use support::postgres::Postgres;
use support::weir::Weir;

/// What to measure.
#[derive(Debug, Parser)]
struct Options {
    /// TPC-H's scale factor.
    #[arg(long, default_value_t = 0.01)]
    scale: f64,
    /// Refreshes, of two transactions each, while one view is there.
    #[arg(long, default_value_t = 5)]
    refreshes: usize,
    /// Workers of the server.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Only whether it runs.
    #[arg(long)]
    smoke: bool,
    /// What `cargo bench` adds.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Times of one view, or of all.
#[derive(Default)]
struct Times {
    hydrated: Duration,
    refreshes: Vec<Duration>,
    scratch: Vec<Duration>,
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Commits on both, and reads the views; the clock runs for ours from COMMIT.
fn commit(pair: &mut Pair, views: &[(usize, &str)], times: &mut Times) {
    assert_eq!(pair.theirs.run("COMMIT").error, None);
    let start = Instant::now();
    assert_eq!(pair.ours.run("COMMIT").error, None);
    let read =
        |(number, _): &(usize, &str)| ask(&mut pair.ours, &format!("SELECT * FROM q{number}")).0;
    let ours: Vec<_> = views.iter().map(read).collect();
    times.refreshes.push(start.elapsed());
    let mut scratch = Duration::ZERO;
    for ((number, sql), ours) in views.iter().zip(ours) {
        let (theirs, taken) = ask(&mut pair.theirs, sql);
        assert_eq!(ours, theirs, "query {number}");
        scratch += taken;
    }
    times.scratch.push(scratch);
}

/// Makes views, refreshes the tables, and puts them back.
fn measure(pair: &mut Pair, load: &Load, views: &[(usize, &str)], refreshes: usize) -> Times {
    let mut times = Times::default();
    let start = Instant::now();
    for (number, sql) in views {
        let made = pair.ours.run(&format!("CREATE MATERIALIZED VIEW q{number} AS {sql}"));
        assert_eq!(made.error, None, "query {number}");
    }
    times.hydrated = start.elapsed();
    for refresh in 0..refreshes {
        let [coming, going] = load.refresh(refresh);
        pair.insert(&load.all, coming);
        commit(pair, views, &mut times);
        pair.delete(going);
        commit(pair, views, &mut times);
    }
    for (number, _) in views {
        let sql = format!("DROP MATERIALIZED VIEW q{number}");
        assert_eq!(pair.ours.run(&sql).error, None, "{sql}");
    }
    for refresh in 0..refreshes {
        let [coming, going] = load.refresh(refresh);
        pair.delete(coming);
        pair.both("COMMIT");
        pair.insert(&load.all, going);
        pair.both("COMMIT");
    }
    times
}

fn report(name: &str, mut times: Times) {
    let (refresh, scratch) = (median(&mut times.refreshes), median(&mut times.scratch));
    println!(
        "{name:>5} {:>12.1} {:>12.2} {:>12.2} {:>8.1}",
        milliseconds(times.hydrated),
        milliseconds(refresh),
        milliseconds(scratch),
        scratch.as_secs_f64() / refresh.as_secs_f64(),
    );
}

fn main() {
    let mut options = Options::parse();
    if options.smoke {
        options.refreshes = 1;
    }
    let Some(postgres) = Postgres::start_if_installed() else { return };
    let weir = Weir::start(options.workers);
    let mut pair = Pair { ours: weir.client(), theirs: postgres.client() };
    let load = pair.load(options.scale, options.refreshes);
    println!("TPC-H, scale {}, {} workers; medians in ms", options.scale, options.workers);
    println!("query      hydrate      refresh   PostgreSQL    ratio");
    let all = queries();
    // Some are enough to see that it runs.
    let alone = if options.smoke { 4 } else { all.len() };
    for query in &all[..alone] {
        let times = measure(&mut pair, &load, &[*query], options.refreshes);
        report(&format!("q{}", query.0), times);
    }
    if !options.smoke {
        report("all", measure(&mut pair, &load, &all, options.refreshes));
    }
}
