//! Kills under load: what was acknowledged is there, what was not is there whole or not at all,
//! and a subscription that resumes never goes back.
//!
//! Writers keep a journal on their side of what they sent and what was acknowledged; each of their
//! transactions puts two rows into two tables. Watchers follow a maintained view and resume where
//! they were. The server is killed at random moments: between statements, in them, while it
//! starts, while it folds its log. After each start the journal, the tables, the view and what the
//! watchers have seen have to agree.
//!
//! `WEIR_KILLS` sets how often (CI: 12), `WEIR_SEED` the moments.

#![allow(clippy::unwrap_used)] // A test fails by a panic.

#[path = "crash/facts.rs"]
mod facts;
mod support;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use support::weir::Weir;
use support::wire::{Client, Message};

const WRITERS: i64 = 3;
const SETTINGS: &str = "CREATE TABLE a (id bigint PRIMARY KEY, writer int NOT NULL, n int);
    CREATE TABLE b (id bigint PRIMARY KEY, n int);
    CREATE MATERIALIZED VIEW v AS
        SELECT a.writer, count(*) AS rows, sum(a.n + b.n) AS total
        FROM a JOIN b ON a.id = b.id GROUP BY a.writer;
    CREATE INDEX by_writer ON a (writer)";

/// What a writer knows of its transactions.
#[derive(Default)]
struct Journal {
    /// The number of transactions that were sent; they are 0, 1, 2, ….
    sent: i64,
    /// Whether each was acknowledged; if not, its outcome is not known.
    acknowledged: Vec<bool>,
}

/// What a watcher has folded up: writer to (rows, total).
#[derive(Default)]
struct Seen {
    content: BTreeMap<(i64, i64, i64), i64>,
    /// All through this time has come.
    through: Option<u64>,
    /// The greatest time of any row.
    newest: u64,
    faults: Vec<String>,
}

fn writer(port: u16, me: i64, journal: Arc<Mutex<Journal>>, stop: Arc<AtomicBool>) {
    let mut client = None;
    while !stop.load(Ordering::Relaxed) {
        let Some(connected) = client.as_mut() else {
            client = Client::connect(port).ok();
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let n = {
            let mut journal = journal.lock().unwrap();
            journal.sent += 1;
            journal.acknowledged.push(false);
            journal.sent - 1
        };
        let id = me * 1_000_000_000 + n;
        let sql = format!(
            "BEGIN; INSERT INTO a VALUES ({id}, {me}, {n}); INSERT INTO b VALUES ({id}, 1); COMMIT"
        );
        let Ok(outcomes) = connected.query(&sql) else {
            client = None;
            continue;
        };
        match outcomes.iter().find_map(|outcome| outcome.error.as_ref()) {
            None if outcomes.len() == 4 => {
                journal.lock().unwrap().acknowledged[n as usize] = true;
            }
            _ => client = None,
        }
    }
}

/// Follows the view; resumes after the last progress.
fn watcher(port: u16, seen: Arc<Mutex<Seen>>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut client) = Client::connect(port) else {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        client.set_timeout(Some(Duration::from_millis(200))).unwrap();
        let resume = {
            // What was not closed comes again.
            let mut seen = seen.lock().unwrap();
            seen.newest = seen.through.unwrap_or(0);
            seen.through
        };
        let sql = match resume {
            None => "SUBSCRIBE v WITH (PROGRESS)".to_owned(),
            Some(at) => format!("SUBSCRIBE v WITH (SNAPSHOT = false, PROGRESS) AS OF {at}"),
        };
        if client.send_query(&sql).is_err() {
            continue;
        }
        let mut pending = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            match client.receive() {
                Ok(Message::DataRow(values)) => {
                    let text = |at: usize| -> Option<String> {
                        let value: &Option<Vec<u8>> = &values[at];
                        value.as_ref().map(|v| String::from_utf8_lossy(v).into_owned())
                    };
                    let row: Vec<Option<String>> = (0..values.len()).map(text).collect();
                    seen.lock().unwrap().take(row, &mut pending);
                }
                Ok(Message::Error(report)) => {
                    // A server that starts may not be ready; one whose history is gone is a fault.
                    if report.code() == "22023" {
                        seen.lock().unwrap().faults.push(report.to_string());
                    }
                    break;
                }
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => break,
            }
        }
    }
}

impl Seen {
    /// Takes one row of the subscription; changes count when their time is closed.
    fn take(&mut self, row: Vec<Option<String>>, pending: &mut Vec<(u64, (i64, i64, i64), i64)>) {
        let number = |at: usize| row[at].as_deref().and_then(|t| t.parse::<i64>().ok());
        let time = number(0).unwrap() as u64;
        if time < self.newest {
            self.faults.push(format!("time {time} after {}", self.newest));
        }
        self.newest = time;
        if row[1].as_deref() == Some("t") {
            for (_, key, diff) in pending.drain(..) {
                let count = self.content.entry(key).or_default();
                *count += diff;
                if *count == 0 {
                    self.content.remove(&key);
                }
            }
            self.through = Some(time);
            return;
        }
        if self.through.is_some_and(|through| time <= through) {
            self.faults.push(format!("a change at {time}, which was closed already"));
        }
        let key = (number(3).unwrap(), number(4).unwrap(), number(5).unwrap());
        pending.push((time, key, number(2).unwrap()));
    }
}

/// The journals, the tables and the view agree.
fn check(weir: &Weir, journals: &[Arc<Mutex<Journal>>]) {
    let mut client = weir.client();
    // The writers go on: what is acknowledged now has to be there, what is sent later may be.
    let acknowledged: Vec<Vec<bool>> =
        journals.iter().map(|journal| journal.lock().unwrap().acknowledged.clone()).collect();
    let sql = "SELECT a.id, a.n, b.n FROM a LEFT JOIN b ON a.id = b.id";
    let mut found: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for row in client.run(sql).rows(sql) {
        let number = |at: usize| row[at].as_deref().and_then(|t| t.parse::<i64>().ok());
        let id = number(0).unwrap();
        assert_eq!(number(1), Some(id % 1_000_000_000), "row {id} is not what was written");
        assert_eq!(number(2), Some(1), "half of a transaction: {id}");
        found.entry(id / 1_000_000_000).or_default().push(id % 1_000_000_000);
    }
    for (me, journal) in journals.iter().enumerate() {
        let sent = journal.lock().unwrap().sent;
        let rows = found.remove(&(me as i64)).unwrap_or_default();
        let mut there = vec![false; sent as usize];
        for n in rows {
            assert!(n < sent, "writer {me}: {n} was never sent");
            assert!(!std::mem::replace(&mut there[n as usize], true), "{n} is there twice");
        }
        for (n, acknowledged) in acknowledged[me].iter().enumerate() {
            assert!(!acknowledged || there[n], "writer {me}: {n} was acknowledged and is lost");
        }
    }
    let view = "SELECT * FROM v ORDER BY 1";
    let afresh = "SELECT a.writer, count(*), sum(a.n + b.n) FROM a, b WHERE a.id = b.id \
                  GROUP BY a.writer ORDER BY 1";
    // Both in one transaction, so at one time.
    client.run("BEGIN");
    let (kept, computed) = (client.run(view).rows(view), client.run(afresh).rows(afresh));
    client.run("COMMIT");
    assert_eq!(kept, computed, "the view is not its query");
    let lookup = "SELECT count(*) FROM a WHERE writer = 1";
    let by_index = client.run(lookup).rows(lookup);
    assert!(by_index[0][0].is_some());
}

#[test]
fn kills_lose_nothing() {
    let setting = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let kills = setting("WEIR_KILLS").unwrap_or(12);
    let seed = setting("WEIR_SEED").unwrap_or_else(rand::random);
    println!("WEIR_SEED={seed} WEIR_KILLS={kills}");
    let mut random = StdRng::seed_from_u64(seed);
    let flags = ["--checkpoint-log-bytes", "65536", "--retain-history", "10min"];
    let mut weir = Weir::start_with(2, &flags);
    weir.client().query(SETTINGS).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let journals: Vec<Arc<Mutex<Journal>>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let seen: Vec<Arc<Mutex<Seen>>> = (0..2).map(|_| Arc::default()).collect();
    let port = weir.port;
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (me, journal) in journals.iter().enumerate() {
        let (journal, stop) = (journal.clone(), stop.clone());
        threads.push(std::thread::spawn(move || writer(port, me as i64, journal, stop)));
    }
    for seen in &seen {
        let (seen, stop) = (seen.clone(), stop.clone());
        threads.push(std::thread::spawn(move || watcher(port, seen, stop)));
    }
    for kill in 0..kills {
        std::thread::sleep(Duration::from_millis(random.random_range(1..600)));
        weir.kill();
        // Sometimes it dies while it starts, too.
        while random.random_bool(0.3) {
            weir.begin();
            std::thread::sleep(Duration::from_millis(random.random_range(1..150)));
            weir.kill();
        }
        weir.resume();
        check(&weir, &journals);
        for seen in &seen {
            let seen = seen.lock().unwrap();
            assert_eq!(seen.faults, Vec::<String>::new(), "after kill {kill}");
        }
    }
    stop.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
    check(&weir, &journals);
    finish_watchers(&weir, &seen);
    let acknowledged: usize = journals
        .iter()
        .map(|journal| journal.lock().unwrap().acknowledged.iter().filter(|a| **a).count())
        .sum();
    println!("{kills} kills, {acknowledged} transactions acknowledged, none lost");
    assert!(acknowledged > 0);
    weir.stop();
}

/// What the watchers folded up, brought up to date, is the view.
fn finish_watchers(weir: &Weir, seen: &[Arc<Mutex<Seen>>]) {
    let mut client = weir.client();
    let sql = "SELECT * FROM v";
    let content: BTreeMap<(i64, i64, i64), i64> = client
        .run(sql)
        .rows(sql)
        .into_iter()
        .map(|row| {
            let number = |at: usize| row[at].as_deref().unwrap().parse::<i64>().unwrap();
            ((number(0), number(1), number(2)), 1)
        })
        .collect();
    for seen in seen {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (seen, stop, port) = (seen.clone(), stop.clone(), weir.port);
            move || watcher(port, seen, stop)
        });
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            if seen.lock().unwrap().content == content {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        thread.join().unwrap();
        let seen = seen.lock().unwrap();
        assert_eq!(seen.content, content, "what a watcher folded up is not the view");
        assert_eq!(seen.faults, Vec::<String>::new());
    }
}

/// History is given up as time goes on; the newest content is not history, however old it is.
#[test]
fn idle_content_stays_readable() {
    let weir = Weir::start_with(1, &["--retain-history", "100ms"]);
    let mut client = weir.client();
    client
        .query(
            "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1);
             CREATE MATERIALIZED VIEW n AS SELECT count(*) FROM t",
        )
        .unwrap();
    let mut early = weir.client();
    early.run("BEGIN");
    let first = early.run("SELECT id FROM t").rows("the snapshot");
    // Two ticks of the coordinator.
    std::thread::sleep(Duration::from_millis(2500));
    for sql in ["SELECT id FROM t", "SELECT * FROM n", "SELECT count(*) FROM t, n"] {
        assert_eq!(client.run(sql).rows(sql), first, "{sql}");
    }
    client.run("INSERT INTO t VALUES (2)");
    std::thread::sleep(Duration::from_millis(2500));
    let held = "SELECT id FROM t";
    assert_eq!(early.run(held).rows(held), first, "a snapshot is held by its transaction");
    let gone = client.run("SELECT * FROM t AS OF 1000").error.expect("long ago");
    assert_eq!(gone.code(), "22023");
}

/// What a dataflow's fault leaves in the data directory, for the objects of these numbers.
fn record_fault(weir: &Weir, objects: &[u64]) {
    let mut file = File::options().append(true).create(true).open(fault_file(weir)).unwrap();
    for object in objects {
        writeln!(file, "u{object}").unwrap();
    }
}

fn fault_file(weir: &Weir) -> PathBuf {
    weir.data_dir().join("FAULTS")
}

/// A dataflow that crashed the server twice is left out, with all that depends on it; everything
/// else goes on, and it is back once it is made again or the record is gone.
#[test]
fn a_dataflow_that_crashed_twice_is_not_built_again() {
    let mut weir = Weir::start(2);
    // The first object is the schema `public`; a table takes a number for each of its columns.
    let (table, view, index) = (16_385, 16_388, 16_389);
    weir.client()
        .query(
            "CREATE TABLE t (k int NOT NULL, n int);
             CREATE MATERIALIZED VIEW sums AS SELECT k, sum(n) AS s FROM t GROUP BY k;
             CREATE INDEX by_n ON t (n);
             CREATE VIEW plain AS SELECT s FROM sums;
             CREATE MATERIALIZED VIEW above AS SELECT max(s) FROM plain;
             CREATE INDEX by_s ON sums (s);
             CREATE MATERIALIZED VIEW ones AS SELECT k FROM t WHERE n = 1;
             INSERT INTO t VALUES (1, 1), (1, 2), (2, 3)",
        )
        .unwrap();
    let ones = "SELECT * FROM ones";
    let keys = weir.client().run(ones).rows(ones);
    // Once may be chance.
    weir.kill();
    record_fault(&weir, &[view, index]);
    weir.resume();
    let above = "SELECT * FROM above";
    assert!(weir.client().run(above).rows(above)[0][0].is_some());
    weir.kill();
    record_fault(&weir, &[view, index]);
    weir.resume();
    let mut client = weir.client();
    for sql in [
        above,
        "SELECT * FROM sums WHERE s = 3",
        "SELECT * FROM plain",
        "SUBSCRIBE sums",
        "CREATE INDEX another ON sums (k)",
        "CREATE MATERIALIZED VIEW further AS SELECT count(*) FROM plain",
    ] {
        let report = client.run(sql).error.expect(sql);
        assert_eq!(report.code(), "XX000", "{sql}: {report}");
        assert!(report.field('H').contains("FAULTS"), "{sql}: {report}");
    }
    assert_eq!(client.run(ones).rows(ones), keys, "a view beside it");
    client.run("INSERT INTO t VALUES (3, 1)");
    assert_eq!(client.run(ones).rows(ones).len(), 2);
    let by_n = "SELECT k FROM t WHERE n = 3";
    assert_eq!(client.run(by_n).rows(by_n).len(), 1, "a table without its index");
    // Made again, it is another object.
    for sql in [
        "DROP VIEW plain CASCADE",
        "DROP MATERIALIZED VIEW sums",
        "CREATE MATERIALIZED VIEW sums AS SELECT k, sum(n) AS s FROM t GROUP BY k",
    ] {
        assert!(client.run(sql).error.is_none(), "{sql}");
    }
    assert_eq!(client.run("SELECT * FROM sums").rows("SELECT * FROM sums").len(), 3);
    // A table is an object like others; what is written to it would be lost to its readers.
    weir.kill();
    record_fault(&weir, &[table, table]);
    weir.resume();
    let mut client = weir.client();
    for sql in ["SELECT * FROM t", "INSERT INTO t VALUES (4, 4)", ones, "SELECT * FROM sums"] {
        assert_eq!(client.run(sql).error.expect(sql).code(), "XX000", "{sql}");
    }
    weir.kill();
    std::fs::remove_file(fault_file(&weir)).unwrap();
    weir.resume();
    let mut client = weir.client();
    assert_eq!(client.run(ones).rows(ones).len(), 2);
    assert_eq!(client.run(by_n).rows(by_n).len(), 1);
}

/// A view that looks rows up by an index outlives it, and one that is older than an index does
/// not need it at the next start.
#[test]
fn views_outlive_the_indexes_that_they_use() {
    let mut weir = Weir::start(2);
    let mut client = weir.client();
    client
        .query(
            "CREATE TABLE t (k int NOT NULL, n int);
             CREATE MATERIALIZED VIEW older AS SELECT n FROM t WHERE k = 1;
             CREATE INDEX by_k ON t (k);
             CREATE MATERIALIZED VIEW younger AS SELECT n FROM t WHERE k = 1;
             INSERT INTO t VALUES (1, 1), (2, 2)",
        )
        .unwrap();
    let mut watcher = weir.client();
    watcher.send_query("SUBSCRIBE (SELECT n FROM t WHERE k = 1)").unwrap();
    let mut rows_seen = |count: usize| {
        let mut seen = 0;
        while seen < count {
            match watcher.receive().unwrap() {
                Message::DataRow(_) => seen += 1,
                Message::Error(report) => panic!("{report}"),
                _ => {}
            }
        }
    };
    rows_seen(1);
    assert!(client.run("DROP INDEX by_k").error.is_none());
    client.run("INSERT INTO t VALUES (1, 3)");
    let both = "SELECT * FROM (SELECT count(*) FROM older) a, (SELECT count(*) FROM younger) b";
    let two = vec![vec![Some("2".to_owned()), Some("2".to_owned())]];
    assert_eq!(client.run(both).rows(both), two);
    rows_seen(1);
    client.run("CREATE INDEX by_k ON t (k)");
    weir.kill();
    weir.resume();
    assert_eq!(weir.client().run(both).rows(both), two);
    // With its table, the index ends what reads by it.
    let mut client = weir.client();
    let mut watcher = weir.client();
    watcher.send_query("SUBSCRIBE (SELECT n FROM t WHERE k = 1)").unwrap();
    while !matches!(watcher.receive().unwrap(), Message::DataRow(_)) {}
    assert!(client.run("DROP TABLE t CASCADE").error.is_none());
    let end = loop {
        if let Message::Error(report) = watcher.receive().unwrap() {
            break report;
        }
    };
    assert_eq!(end.code(), "42P01");
    weir.stop();
}
