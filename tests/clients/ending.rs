//! Clients that do not keep up, and clients that go without a word: neither may cost the others.
//!
//! What the server holds for a reader is seen in its log: at level `debug` it says when a reader
//! begins and when it ends.

use std::time::{Duration, Instant};

use super::support::weir::Weir;
use super::support::wire::{Client, Message};

/// How long the server may take to notice.
const LIMIT: Duration = Duration::from_secs(20);

const LOGGED: [&str; 2] = ["--log-level", "debug"];

/// Waits until something is so.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Readers that the server serves.
fn readers(weir: &Weir) -> usize {
    weir.logged("a reader begins") - weir.logged("a reader ends")
}

fn define(client: &mut Client, sql: &str) {
    for outcome in client.query(sql).unwrap() {
        assert!(outcome.error.is_none(), "{sql}: {:?}", outcome.error);
    }
}

/// A table of 1,024 rows of a kilobyte, and one of 4,096 numbers.
fn fill(client: &mut Client) {
    let seed: Vec<String> = (0..64).map(|n| format!("({n})")).collect();
    define(
        client,
        &format!(
            "CREATE TABLE seed (n int PRIMARY KEY); INSERT INTO seed VALUES {};
             CREATE TABLE wide (n int PRIMARY KEY, round int, pad text);
             INSERT INTO wide SELECT a.n * 64 + b.n, 0, repeat('x', 1000) FROM seed a, seed b
                 WHERE a.n < 16;
             CREATE TABLE many (n int PRIMARY KEY);
             INSERT INTO many SELECT a.n * 64 + b.n FROM seed a, seed b",
            seed.join(",")
        ),
    );
}

/// Reads to the end of a statement; returns its error's code, and how many rows came before.
fn read_on(client: &mut Client) -> (Option<String>, usize) {
    let (mut code, mut rows) = (None, 0);
    loop {
        match client.receive().unwrap() {
            Message::DataRow(_) => rows += 1,
            Message::Error(report) => code = Some(report.code().to_owned()),
            Message::Ready(_) => return (code, rows),
            _ => {}
        }
    }
}

/// A subscription whose reader takes nothing is ended once its limit is reached; other sessions,
/// and other subscriptions to the same table, go on.
#[test]
fn a_slow_subscriber_is_ended_and_nobody_else_notices() {
    let weir = Weir::start_with(2, &LOGGED);
    let mut writer = weir.client();
    fill(&mut writer);
    let (mut slow, mut fast) = (weir.client(), weir.client());
    define(&mut slow, "SET subscribe_buffer_limit = '64kB'");
    slow.send_query("SUBSCRIBE wide WITH (SNAPSHOT = false)").unwrap();
    fast.send_query("SUBSCRIBE (SELECT n, round FROM wide WHERE n = 7)").unwrap();
    let mut seen = 0;
    eventually("both subscriptions begin", || readers(&weir) == 2);
    let mut round = 0;
    // The credit and the sockets' buffers come before the limit.
    eventually("the slow one is ended", || {
        round += 1;
        define(&mut writer, &format!("UPDATE wide SET round = {round}"));
        while seen < 1 + 2 * round {
            seen += usize::from(matches!(fast.receive().unwrap(), Message::DataRow(_)));
        }
        readers(&weir) == 1
    });
    let (code, rows) = read_on(&mut slow);
    assert_eq!(code.as_deref(), Some("53400"), "after {rows} rows");
    assert!(rows > 0, "what was sent before arrives");
    assert_eq!(slow.run("SELECT 'alive'").rows("alive").len(), 1);
    define(&mut writer, "UPDATE wide SET round = -1 WHERE n = 7");
    while seen < 3 + 2 * round {
        seen += usize::from(matches!(fast.receive().unwrap(), Message::DataRow(_)));
    }
}

/// A client that is gone gives back its place, its readers and its snapshot, whatever the server
/// was doing for it.
#[test]
fn a_client_that_vanishes_leaves_nothing_behind() {
    let flags = ["--max-connections", "2", "--retain-history", "100ms"];
    let weir = Weir::start_with(2, &[&LOGGED[..], &flags[..]].concat());
    let mut other = weir.client();
    fill(&mut other);
    let mut client = weir.client();
    let long = "SELECT count(*) FROM many a, many b, many c WHERE a.n + b.n = c.n - 1";
    for (what, sql, readers_held) in [
        ("a silent subscription", "SUBSCRIBE many WITH (SNAPSHOT = false)", 1),
        ("a subscription that nobody reads", "SUBSCRIBE wide", 1),
        ("a subscription by COPY", "COPY (SUBSCRIBE wide) TO STDOUT", 1),
        ("a long query", long, 1),
        ("rows that nobody reads", "SELECT * FROM wide a, wide b", 1),
        ("COPY FROM STDIN", "COPY seed FROM STDIN", 0),
        ("a transaction", "BEGIN; UPDATE many SET n = n + 4096", 0),
    ] {
        client.send_query(sql).unwrap();
        if readers_held > 0 {
            eventually(what, || readers(&weir) == readers_held);
        } else {
            // The server has taken it, and answered as far as it can.
            while !matches!(client.receive().unwrap(), Message::CopyIn | Message::Ready(_)) {}
        }
        let refused = Client::connect(weir.port).err().expect("two are connected").to_string();
        assert!(refused.contains("53300"), "{refused}");
        drop(client);
        let mut next = None;
        eventually(&format!("{what}: its place"), || {
            next = Client::connect(weir.port).ok();
            next.is_some()
        });
        client = next.expect("it has its place");
        eventually(&format!("{what}: its reader"), || readers(&weir) == 0);
        define(&mut other, "UPDATE many SET n = n + 8192 WHERE n = 0");
        define(&mut other, "UPDATE many SET n = 0 WHERE n = 8192");
    }
}

/// A view that is being made goes with the client that wanted it.
#[test]
fn a_definition_goes_with_its_client() {
    let weir = Weir::start_with(2, &LOGGED);
    let mut other = weir.client();
    fill(&mut other);
    let mut client = weir.client();
    client
        .send_query(
            "CREATE MATERIALIZED VIEW v AS SELECT a.n, count(*) FROM many a, many b, many c
             WHERE a.n + b.n = c.n - 1 GROUP BY a.n",
        )
        .unwrap();
    eventually("it is on its way", || other.run("EXPLAIN SELECT n FROM v").error.is_none());
    drop(client);
    eventually("its name is free", || other.run("CREATE TABLE v (n int)").error.is_none());
}

/// A snapshot is given back with the transaction that held it.
#[test]
fn history_goes_on_when_its_holder_vanishes() {
    let weir = Weir::start_with(1, &["--retain-history", "100ms"]);
    let mut other = weir.client();
    define(&mut other, "CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)");
    let mut holder = weir.client();
    define(&mut holder, "BEGIN");
    assert_eq!(holder.run("SELECT n FROM t").rows("t").len(), 1);
    let mut subscriber = weir.client();
    subscriber.send_query("SUBSCRIBE t WITH (PROGRESS)").unwrap();
    // Progress that was made once it is held.
    let mut times = Vec::new();
    while times.len() < 2 {
        if let Message::DataRow(values) = subscriber.receive().unwrap() {
            times.push(String::from_utf8(values[0].clone().unwrap()).unwrap());
            times.dedup();
        }
    }
    let time = times.swap_remove(1);
    drop(subscriber);
    let then = format!("SELECT n FROM t AS OF {time}");
    std::thread::sleep(Duration::from_millis(2500));
    define(&mut other, "INSERT INTO t VALUES (2)");
    std::thread::sleep(Duration::from_millis(2500));
    assert_eq!(other.run(&then).rows(&then).len(), 1, "it is held");
    drop(holder);
    eventually("what nobody holds is given up", || other.run(&then).error.is_some());
}

/// A number that was given is not given again, however the server ends: nor is one that was only
/// seen by a client whose transaction failed.
#[test]
fn sequence_values_never_come_again() {
    let mut weir = Weir::start(2);
    define(
        &mut weir.client(),
        "CREATE TABLE t (id serial PRIMARY KEY, n int GENERATED ALWAYS AS IDENTITY, kill int)",
    );
    let mut newest = (0, 0);
    for kill in 0..6 {
        let mut client = weir.client();
        for n in 0..40 {
            // Some are rolled back, and their numbers are spent all the same.
            let end = if n % 3 == 0 { "ROLLBACK" } else { "COMMIT" };
            let sql = format!("INSERT INTO t (kill) VALUES ({kill}) RETURNING id, n");
            client.run("BEGIN");
            let row = client.run(&sql).rows(&sql).remove(0);
            let number = |at: usize| row[at].as_deref().unwrap().parse::<i64>().unwrap();
            let given = (number(0), number(1));
            assert!(given.0 > newest.0 && given.1 > newest.1, "{given:?} after {newest:?}");
            newest = given;
            client.run(end);
        }
        // A statement in the air.
        client.send_query(&format!("INSERT INTO t (kill) VALUES ({kill})")).unwrap();
        weir.kill();
        weir.resume();
    }
}
