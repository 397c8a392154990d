//! Faults that are planted and found by SQL alone, in files and in a running server; `weir trace`.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir::profile::event::{Event, Message, Timed};
use weir::profile::trace::{Chunk, header};

use crate::support::weir::Weir;
use crate::support::wire::{Client, Message as Told};
use crate::text;

const MS: u64 = 1_000_000;

fn rows(client: &mut Client, sql: &str) -> Vec<Vec<String>> {
    let rows = client.run(sql).rows(sql).into_iter();
    rows.map(|row| row.into_iter().map(|cell| cell.unwrap_or("NULL".into())).collect()).collect()
}

fn run(client: &mut Client, sql: &str) {
    rows(client, sql);
}

fn write_trace(path: &Path, logs: &[Vec<Timed>]) {
    let through = logs.iter().filter_map(|log| log.last()).map(|last| last.0).max().unwrap();
    let mut file = header();
    for (worker, events) in logs.iter().enumerate() {
        let events = events.clone();
        file.extend(Chunk { worker, peers: logs.len(), through, events }.bytes());
    }
    std::fs::write(path, file).unwrap();
}

/// Rounds in which each worker works on its keys, tells all others, and waits for the last of them.
/// One has 30 % more keys.
fn rounds(workers: usize, straggler: usize, rounds: u64) -> Vec<Vec<Timed>> {
    let mut logs: Vec<Vec<Timed>> = (0..workers)
        .map(|_| {
            let (id, address, name) = (5, vec![0, 1], "work".to_owned());
            vec![(0, Event::Operator { id, address, name })]
        })
        .collect();
    for round in 0..rounds {
        let begin = 10 * MS + round * 140 * MS;
        let message = |from, to| {
            let number = round as usize;
            Message { channel: 8, from, to, number, records: 1 }
        };
        for (worker, log) in logs.iter_mut().enumerate() {
            let work = if worker == straggler { 130 * MS } else { 100 * MS };
            log.push((begin, Event::Started(5)));
            if let Some(last) = round.checked_sub(1) {
                let number = last as usize;
                for from in (0..workers).filter(|from| *from != worker) {
                    let taken = Message { number, ..message(from, worker) };
                    log.push((begin, Event::Received(taken)));
                }
            }
            for to in (0..workers).filter(|to| *to != worker) {
                log.push((begin + work - 1, Event::Sent(message(worker, to))));
            }
            log.push((begin + work, Event::Stopped(5)));
            log.push((begin + work + 1, Event::Parked));
            log.push((begin + 139 * MS, Event::Unparked));
        }
    }
    logs
}

#[test]
fn a_worker_with_more_keys_is_named_where_its_time_looks_like_all_others() {
    let weir = Weir::start(1);
    let mut client = Client::connect(weir.port).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("straggler.trace");
    write_trace(&path, &rounds(4, 2, 50));
    let file = path.display();
    run(&mut client, &format!("CREATE SOURCE run FROM TRACE FILE '{file}' WITH (SNAPSHOT = '2s')"));
    let flat = rows(
        &mut client,
        "SELECT count(DISTINCT share) FROM run.critical_workers WHERE snapshot > 0 \
         AND snapshot < (SELECT max(snapshot) FROM run.snapshots)",
    );
    assert_eq!(flat, [["1"]], "the conventional figure tells nothing");
    let worst = rows(
        &mut client,
        "SELECT worker, sum(participation) > 1.25 * (SELECT max(p) FROM \
           (SELECT sum(participation) AS p FROM run.critical_workers WHERE worker <> w.worker \
            GROUP BY worker) others) \
         FROM run.critical_workers w GROUP BY worker ORDER BY sum(participation) DESC LIMIT 1",
    );
    assert_eq!(worst, [["2", "t"]]);
    let checks = rows(
        &mut client,
        "SELECT bool_and(abs(participation - 1) < 1e-9), count(*) >= 3 FROM run.snapshots",
    );
    assert_eq!(checks, [["t", "t"]]);
    let named = rows(
        &mut client,
        "SELECT DISTINCT name FROM run.critical_operators JOIN run.operators USING (operator)",
    );
    assert_eq!(named, [["work"]]);
    // The source is a schema of ordinary relations, which outlive the file.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(rows(&mut client, "SELECT count(*) > 0 FROM run.activities"), [["t"]]);
}

/// So many milliseconds a snapshot of 30,000 events may take until a subscriber sees it.
const VISIBLE_MS: f64 = 60.0;

#[test]
fn a_snapshot_is_visible_soon_after_its_end() {
    let weir = Weir::start(2);
    let mut client = Client::connect(weir.port).unwrap();
    PIPELINE.iter().for_each(|sql| run(&mut client, sql));
    run(&mut client, "ALTER SYSTEM SET introspection_snapshot = '1s'");
    let mut subscriber = Client::connect(weir.port).unwrap();
    let sql = "SUBSCRIBE (SELECT ends, activities FROM weir_snapshots) WITH (SNAPSHOT = false)";
    subscriber.send_query(sql).unwrap();
    let mut seen: Vec<(f64, i64)> = Vec::new();
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let (mut client, end) = (weir.client(), Instant::now() + Duration::from_secs(8));
            for n in 0.. {
                run(&mut client, &format!("INSERT INTO t VALUES ({n}, 0)"));
                if Instant::now() > end {
                    break;
                }
            }
        });
        while !load.is_finished() || seen.is_empty() {
            let Told::DataRow(values) = subscriber.receive().unwrap() else { continue };
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
            let number = |column: usize| -> i64 {
                let text = values[column].as_deref().unwrap();
                std::str::from_utf8(text).unwrap().parse().unwrap()
            };
            if number(1) > 0 {
                seen.push(((now - number(2)) as f64 / 1e6, number(3)));
            }
        }
    });
    seen.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ms, activities) = seen[seen.len() / 2];
    let verdict = match ms < VISIBLE_MS {
        true => "met",
        false if cfg!(debug_assertions) => "missed, but this is not optimised",
        false => "MISSED",
    };
    println!(
        "a snapshot of {activities} activities is visible after {ms:.1} ms \
         (target {VISIBLE_MS} ms for 30,000 events): {verdict}; all: {seen:?}"
    );
    assert!(ms < 100.0 * VISIBLE_MS, "{seen:?}");
}

/// Three stages, the second of which takes long for each row.
const PIPELINE: &[&str] = &[
    "CREATE TABLE t (a int PRIMARY KEY, b int)",
    "CREATE MATERIALIZED VIEW first AS SELECT a, b, a % 10 AS k FROM t WHERE b > 0",
    "CREATE MATERIALIZED VIEW second AS SELECT k, \
       length(replace(repeat(md5(a::text), 500), 'a', 'bb')) AS l FROM first",
    "CREATE MATERIALIZED VIEW third AS SELECT k, count(*), sum(l) FROM second GROUP BY k",
];

#[test]
fn a_slow_operator_is_named_and_one_that_sleeps_breaks_its_invariant() {
    let weir = Weir::start(2);
    let mut client = Client::connect(weir.port).unwrap();
    PIPELINE.iter().for_each(|sql| run(&mut client, sql));
    run(&mut client, "ALTER SYSTEM SET introspection_snapshot = '500ms'");
    run(&mut client, "ALTER SYSTEM SET introspection_retention = '1min'");
    run(&mut client, "ALTER SYSTEM SET introspection_max_operator = '100ms'");
    let end = Instant::now() + Duration::from_secs(4);
    let mut next = 0;
    while Instant::now() < end {
        let last = next + 20;
        run(
            &mut client,
            &format!("INSERT INTO t SELECT n, 1 FROM generate_series({next}, {last}) n"),
        );
        next = last + 1;
    }
    // So many rows at once that the operator keeps its worker for long.
    let last = next + 4000;
    run(&mut client, &format!("INSERT INTO t SELECT n, 1 FROM generate_series({next}, {last}) n"));
    run(&mut client, "SELECT sum FROM third");
    std::thread::sleep(Duration::from_millis(1500));
    let named = rows(
        &mut client,
        "SELECT c.relname FROM weir_critical_operators o JOIN pg_class c ON c.oid = o.object \
         WHERE c.relname IN ('t', 'first', 'second', 'third') \
         GROUP BY c.relname ORDER BY sum(o.participation) DESC LIMIT 1",
    );
    assert_eq!(named, [["second"]]);
    let broken = rows(
        &mut client,
        "SELECT DISTINCT c.relname, v.invariant, v.allowed FROM weir_invariant_violations v \
         JOIN pg_class c ON c.oid = v.object WHERE c.relname IN ('t', 'first', 'second', 'third')",
    );
    assert_eq!(broken, [["second", "max operator", "100000000"]]);
}

#[test]
fn a_server_is_recorded_and_its_file_read() {
    let weir = Weir::start(2);
    let mut client = Client::connect(weir.port).unwrap();
    run(&mut client, "ALTER SYSTEM SET introspection_interval = '200ms'");
    PIPELINE.iter().for_each(|sql| run(&mut client, sql));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.trace");
    let port = weir.port.to_string();
    let record = |seconds: &str, path: &Path| {
        Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["trace", "record", "--port", &port, "--seconds", seconds])
            .arg(path)
            .output()
            .unwrap()
    };
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| record("2", &path));
        while !recording.is_finished() {
            run(&mut client, "INSERT INTO t SELECT coalesce(max(a), 0) + 1, 1 FROM t");
        }
        let output = recording.join().unwrap();
        assert!(output.status.success(), "{}", text(&output));
    });
    let file = path.display();
    run(
        &mut client,
        &format!("CREATE SOURCE s FROM TRACE FILE '{file}' WITH (SNAPSHOT = '100ms')"),
    );
    let found = rows(
        &mut client,
        "SELECT count(*) > 10, bool_and(abs(participation - 1) < 1e-9), sum(unmatched) \
         FROM s.snapshots WHERE snapshot < (SELECT max(snapshot) FROM s.snapshots)",
    );
    assert_eq!(found, [["t", "t", "0"]]);
    let named = rows(
        &mut client,
        "SELECT count(*) > 0 FROM s.critical_operators JOIN s.operators USING (operator) \
         JOIN pg_class c ON c.oid = s.critical_operators.object WHERE c.relname = 'first'",
    );
    assert_eq!(named, [["t"]]);
    let told = rows(
        &mut client,
        "SELECT DISTINCT type FROM s.activities WHERE type LIKE '%message' ORDER BY 1",
    );
    assert_eq!(told, [["control message"], ["data message"]]);
    // It is shown, as any client can.
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["top", "--port", &port, "--once", "--interval", "300ms", "--height", "90"])
        .output()
        .unwrap();
    let shown = text(&output);
    for name in ["Critical operators", "public.second", "public.third", "memory"] {
        assert!(shown.contains(name), "{shown}");
    }
    // Nobody records any more.
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(rows(&mut client, "SELECT count(*) FROM weir_trace"), [["0"]]);
    // A damaged file is refused, and leaves nothing.
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let refused = client.run(&format!("CREATE SOURCE d FROM TRACE FILE '{file}'"));
    assert!(format!("{refused:?}").contains("trace file is damaged at byte"), "{refused:?}");
    assert_eq!(rows(&mut client, "SELECT count(*) FROM pg_namespace WHERE nspname = 'd'"), [["0"]]);
}

#[test]
fn where_nothing_listens_recording_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["trace", "record", "--port", "1"])
        .arg(folder.path().join("none"))
        .output()
        .unwrap();
    assert!(!output.status.success() && text(&output).contains("refused"), "{}", text(&output));
}
