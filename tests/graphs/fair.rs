//! A long recursion, and everybody else.
//!
//! All that a loop does is divided into pieces, and between two of them the worker serves others:
//! between rounds, of which there may be very many, and inside a round, which may make very many
//! rows.

use std::time::{Duration, Instant};

use super::support::weir::Weir;
use super::support::wire::Client;
use super::{ask, define};

/// How long a commit or a read may take while a recursion runs; the machine may be busy.
const DELAY_MAX: Duration = Duration::from_secs(3);
/// Beside rounds of many rows the slowest may take this part of what the recursion takes, and half
/// of them that part: however slow the build and busy the machine, a piece is a small part of it.
const PARTS: (u32, u32) = (5, 10);
/// How long a cancel may take.
const CANCEL_MAX: Duration = Duration::from_secs(10);
const TURNS: usize = 30;

/// The slowest and the median of some commits, each with a read of what a view makes of it.
fn commits(client: &mut Client, from: usize) -> (Duration, Duration) {
    let mut taken: Vec<Duration> = (from..from + TURNS)
        .map(|number| {
            let start = Instant::now();
            define(client, &format!("INSERT INTO item VALUES ({number}, {})", number % 3));
            let rows = ask(client, "SELECT sum(n) FROM totals");
            assert_eq!(rows.into_iter().next().unwrap(), [(number + 1).to_string()]);
            start.elapsed()
        })
        .collect();
    taken.sort();
    (taken[TURNS - 1], taken[TURNS / 2])
}

/// On one worker, which all share: a recursion with few rows in each of very many rounds.
#[test]
fn a_long_recursion_delays_nobody_and_ends_when_it_is_cancelled() {
    let weir = Weir::start(1);
    let mut client = weir.client();
    define(
        &mut client,
        "CREATE TABLE item (id int PRIMARY KEY, kind int);
         CREATE MATERIALIZED VIEW totals AS SELECT kind, count(*) AS n FROM item GROUP BY kind",
    );
    let (slowest, median) = commits(&mut client, 0);
    println!("alone: slowest {slowest:.1?}, median {median:.1?}");
    let long = "DATALOG $$ n(0). n(X + 1) <- n(X), X < 2000000000. FIND count(X) WHERE n(X) $$";
    let mut other = weir.client();
    define(&mut other, "SET recursion_limit = 0");
    let canceller = other.canceller.clone();
    other.send_query(long).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let (slowest, median) = commits(&mut client, TURNS);
    println!("beside a recursion: slowest {slowest:.1?}, median {median:.1?}");
    assert!(slowest < DELAY_MAX, "a commit took {slowest:?}");
    let start = Instant::now();
    canceller.cancel().unwrap();
    let outcome = other.collect(b"").unwrap().pop().unwrap();
    assert_eq!(outcome.error.unwrap().code(), "57014");
    println!("cancelled after {:.1?}", start.elapsed());
    assert!(start.elapsed() < CANCEL_MAX, "the cancel took {:?}", start.elapsed());
    // What was cancelled is gone: the session goes on, and so does everything else.
    assert_eq!(ask(&mut other, "SELECT 1").len(), 1);
    // What does not end by itself ends at the limit, and names the rule.
    define(&mut client, "SET recursion_limit = 300");
    let error = client.run(long).error.expect("the recursion has no end");
    assert_eq!(error.code(), "54000");
    assert_eq!(error.message(), "rule \"n\" does not end within 300 rounds");
}

/// On one worker: a closure that makes half a million rows in a single round, which are joined,
/// arranged and made distinct, and then looked at once more. Each commit meets another piece of it.
#[test]
fn rounds_of_many_rows_delay_nobody() {
    const NODES: usize = if cfg!(debug_assertions) { 700 } else { 3_000 };
    let weir = Weir::start(1);
    let mut client = weir.client();
    define(
        &mut client,
        "CREATE TABLE item (id int PRIMARY KEY, kind int);
         CREATE MATERIALIZED VIEW totals AS SELECT kind, count(*) AS n FROM item GROUP BY kind;
         CREATE TABLE edge (a int, b int)",
    );
    // Everybody reaches everybody by way of the hub.
    let to_hub = format!("SELECT n, 0 FROM generate_series(1, {NODES}) AS g (n)");
    let from_hub = format!("SELECT 0, n FROM generate_series(1, {NODES}) AS g (n)");
    define(&mut client, &format!("INSERT INTO edge {to_hub} UNION ALL {from_hub}"));
    let mut other = weir.client();
    let (told, done) = std::sync::mpsc::channel();
    let closure = std::thread::spawn(move || {
        let start = Instant::now();
        let rows = ask(
            &mut other,
            "DATALOG $$ path(X, Y) <- edge(X, Y). path(X, Z) <- path(X, Y), edge(Y, Z).
             FIND count(*) WHERE path(X, Y) $$",
        );
        told.send(start.elapsed()).unwrap();
        rows
    });
    let mut taken = Vec::new();
    let took = loop {
        let number = taken.len();
        let start = Instant::now();
        define(&mut client, &format!("INSERT INTO item VALUES ({number}, {})", number % 3));
        let rows = ask(&mut client, "SELECT sum(n) FROM totals");
        assert_eq!(rows.into_iter().next().unwrap(), [(number + 1).to_string()]);
        taken.push(start.elapsed());
        if let Ok(took) = done.try_recv() {
            break took;
        }
    };
    let paths = (NODES + 1) * (NODES + 1);
    assert_eq!(closure.join().unwrap().into_iter().next().unwrap(), [paths.to_string()]);
    taken.sort();
    let of = |percent: usize| taken[(taken.len() - 1) * percent / 100];
    let (count, half, most, slowest) = (taken.len(), of(50), of(99), of(100));
    println!(
        "{count} commits beside {paths} paths in {took:.1?}: median {half:.1?}, p99 {most:.1?}, \
         slowest {slowest:.1?}"
    );
    assert!(slowest < took / PARTS.0 && half < took / PARTS.1, "{half:?}, {slowest:?} of {took:?}");
}
