//! A long recursion, and everybody else.
//!
//! Between the rounds of a loop, and between the pieces of a join, the worker serves others. What
//! it does not divide is the arranging and grouping of one round's rows: a round that makes
//! millions of rows holds all others up for as long as that takes, which is not measured here.

use std::time::{Duration, Instant};

use super::support::weir::Weir;
use super::support::wire::Client;
use super::{ask, define};

/// How long a commit or a read may take while a recursion runs; the machine may be busy.
const DELAY_MAX: Duration = Duration::from_secs(3);
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
