//! TPC-H: its 22 queries as maintained views, under its refresh streams.
//!
//! After the load, and after each transaction of a refresh (some orders and their lines come, as
//! many go), each view and each query asked afresh say what PostgreSQL says. `TPCH_SCALE` and
//! `TPCH_REFRESHES` set the size; times are printed beside PostgreSQL's, which computes from
//! scratch. The bench of the same name times each query alone.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "tpch/data.rs"]
mod data;
#[path = "tpch/pair.rs"]
mod pair;
mod support;

use std::time::{Duration, Instant};

use data::queries;
use pair::{Pair, ask};
use support::postgres::Postgres;
use support::weir::Weir;

/// Compares views, and the queries asked afresh where `afresh`; answers PostgreSQL's time, and
/// ours of reading the views.
fn check(pair: &mut Pair, when: &str, afresh: bool) -> (Duration, Duration) {
    let (mut from_scratch, mut reading) = (Duration::ZERO, Duration::ZERO);
    for (number, sql) in queries() {
        let (expected, taken) = ask(&mut pair.theirs, sql);
        from_scratch += taken;
        let (view, taken) = ask(&mut pair.ours, &format!("SELECT * FROM q{number}"));
        reading += taken;
        assert_eq!(view, expected, "view q{number} {when}");
        assert!(!expected.is_empty(), "query {number} shows nothing {when}");
        if afresh {
            let (rows, _) = ask(&mut pair.ours, sql);
            assert_eq!(rows, expected, "query {number} {when}");
        }
    }
    (from_scratch, reading)
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
    let load = pair.load(scale, refreshes);
    for (number, sql) in queries() {
        let start = Instant::now();
        let made = pair.ours.run(&format!("CREATE MATERIALIZED VIEW q{number} AS {sql}"));
        assert_eq!(made.error, None, "query {number}");
        let hydrated = start.elapsed();
        let (_, scratch) = ask(&mut pair.theirs, sql);
        println!("q{number:<2} hydrated in {hydrated:>9.1?}, PostgreSQL {scratch:>9.1?}");
    }
    check(&mut pair, "after the load", true);
    for refresh in 0..refreshes {
        let [coming, going] = load.refresh(refresh);
        let start = Instant::now();
        pair.insert(&load.all, coming);
        pair.both("COMMIT");
        let (inserted, reading) = check(&mut pair, "after an insertion", false);
        let start_deleting = Instant::now();
        pair.delete(going);
        pair.both("COMMIT");
        let is_last = refresh + 1 == refreshes;
        let (deleted, _) = check(&mut pair, "after a deletion", is_last);
        println!(
            "refresh {refresh}: {:.1?} and {:.1?} with reading ({reading:.1?} the views); \
             PostgreSQL's queries {inserted:.1?} and {deleted:.1?}",
            start_deleting - start,
            start_deleting.elapsed(),
        );
    }
}
