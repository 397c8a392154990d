//! The store against a model, against damage, and against being killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::repr::{Diff, GlobalId, Row};
use crate::storage::log::open_sled;
use crate::storage::record::Change;
use crate::storage::usage::Usage;

/// Rows by relation, version, key and value.
type Rows = BTreeMap<(GlobalId, u32, Row, Row), Diff>;

fn add_rows(rows: &mut Rows, transaction: &Transaction) {
    for change in &transaction.changes {
        match change {
            Change::Rows { relation, version, updates } => {
                for (key, value, diff) in updates.iter() {
                    *rows.entry((*relation, *version, key.clone(), value.clone())).or_default() +=
                        diff;
                }
            }
            Change::Catalog { id, item: None } => rows.retain(|row, _| row.0 != *id),
            _ => {}
        }
    }
    rows.retain(|_, diff| *diff != 0);
}

/// Inserts one row.
fn insert(time: Timestamp, key: &[u8], value: &[u8]) -> Transaction {
    let updates = Arc::new(vec![(Row::new(key), Row::new(value), 1)]);
    let rows = Change::Rows { relation: GlobalId(20_000), version: 1, updates };
    Transaction { time, changes: vec![rows] }
}

/// Appends and syncs transactions `from..=to` of one row each.
fn fill(store: &mut Store, from: u64, to: u64) {
    for time in from..=to {
        store.append(&[insert(time, &time.to_be_bytes(), b"some value or other")]).unwrap();
    }
    store.sync().unwrap();
}

fn log_of(dir: &Path) -> sled::Db {
    open_sled(&Generation::log(&dir.join("gen-0"))).unwrap()
}

fn code_of(dir: &Path) -> (SqlState, String) {
    let error = Store::open(dir).map(|_| ()).expect_err("the store must not open");
    (error.code, error.message)
}

fn fold_to_end(store: &mut Store, upto: Timestamp, budget: usize) -> Option<Timestamp> {
    loop {
        match store.fold(upto, budget).unwrap() {
            FoldState::Idle => return None,
            FoldState::Working => {}
            FoldState::Done(time) => return Some(time),
            FoldState::Abandoned(error) => panic!("abandoned: {error}"),
        }
    }
}

/// What was appended, in full, and what the store may have made of it.
#[derive(Default)]
struct Model {
    transactions: Vec<Transaction>,
    checkpoint: Option<Timestamp>,
    live: Vec<GlobalId>,
    next_id: u64,
    time: Timestamp,
}

impl Model {
    fn random_transaction(&mut self, rng: &mut StdRng) -> Transaction {
        self.time += rng.random_range(1..5);
        let changes = (0..rng.random_range(0..4)).map(|_| self.random_change(rng)).collect();
        let transaction = Transaction { time: self.time, changes };
        self.transactions.push(transaction.clone());
        transaction
    }

    fn random_change(&mut self, rng: &mut StdRng) -> Change {
        let pick = rng.random_range(0..20);
        let id = if self.live.is_empty() || pick == 0 {
            self.next_id += 1;
            self.live.push(GlobalId(self.next_id));
            GlobalId(self.next_id)
        } else {
            self.live[rng.random_range(0..self.live.len())]
        };
        match pick {
            0 => Change::Catalog { id, item: Some(vec![7; rng.random_range(0..90_000)]) },
            1 => {
                self.live.retain(|live| *live != id);
                Change::Catalog { id, item: None }
            }
            2 => Change::Sequence { id, last_value: rng.random(), is_called: rng.random() },
            3 => Change::Setting {
                name: format!("setting {}", rng.random_range(0..3)),
                value: rng.random::<bool>().then(|| "on".to_owned()),
            },
            _ => {
                let count = if pick == 4 { rng.random_range(0..3000) } else { 20 };
                let updates = Arc::new((0..count).map(|_| random_update(rng)).collect());
                Change::Rows { relation: id, version: rng.random_range(1..3), updates }
            }
        }
    }

    fn check(&self, recovered: Recovered) {
        let mut state = State::default();
        self.transactions.iter().flat_map(|t| &t.changes).for_each(|c| state.apply(c));
        assert_eq!(recovered.catalog, state.catalog);
        assert_eq!(recovered.sequences, state.sequences);
        assert_eq!(recovered.settings, state.settings);
        assert!(recovered.lease > self.time);
        assert_eq!(recovered.checkpoint, self.checkpoint);
        let covered = |t: &&Transaction| Some(t.time) <= self.checkpoint;
        let mut expected = Rows::new();
        self.transactions.iter().take_while(covered).for_each(|t| add_rows(&mut expected, t));
        let mut found = Vec::new();
        for chunk in recovered.relations {
            let chunk = chunk.unwrap();
            for (key, value, diff) in chunk.updates {
                found.push(((chunk.relation, chunk.version, key, value), diff));
            }
        }
        assert!(found.is_sorted_by(|a, b| a.0 < b.0), "a row comes once and in order");
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        let log: Vec<_> = recovered.log.map(Result::unwrap).collect();
        let rest: Vec<_> = self.transactions.iter().skip_while(covered).cloned().collect();
        assert!(log == rest, "{} transactions, not {}", log.len(), rest.len());
    }
}

fn random_update(rng: &mut StdRng) -> (Row, Row, Diff) {
    let key = [rng.random_range(0..40u8)];
    // Now and then longer than a record, than a frame.
    let long = if rng.random_range(0..400) == 0 { 100_000 } else { 30 };
    let value = vec![rng.random_range(0..2u8); rng.random_range(0..long)];
    let value = if rng.random() { vec![1] } else { value };
    (Row::new(&key), Row::new(&value), if rng.random() { 1 } else { -1 })
}

#[test]
fn any_history_reads_back_over_folds_and_reopening() {
    let (mut folds, mut reopened) = (0, 0);
    for seed in 0..6 {
        let mut rng = StdRng::seed_from_u64(seed);
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model { next_id: 20_000, ..Model::default() };
        let (mut store, recovered) = Store::open(dir.path()).unwrap();
        model.check(recovered);
        for _ in 0..120 {
            store.run_bytes_min = rng.random_range(200..200_000);
            match rng.random_range(0..10) {
                0 => {
                    drop(store);
                    let (again, recovered) = Store::open(dir.path()).unwrap();
                    model.check(recovered);
                    store = again;
                    reopened += 1;
                }
                1 | 2 => {
                    let upto = model.time.saturating_sub(rng.random_range(0..20));
                    // A few slices, so that appends and even a restart come between them.
                    for _ in 0..rng.random_range(1..12) {
                        match store.fold(upto, rng.random_range(1..60_000)).unwrap() {
                            FoldState::Done(time) => {
                                model.checkpoint = Some(time);
                                folds += 1;
                                break;
                            }
                            FoldState::Abandoned(error) => panic!("{error}"),
                            _ => {}
                        }
                    }
                }
                _ => {
                    let group: Vec<_> = (0..rng.random_range(1..4))
                        .map(|_| model.random_transaction(&mut rng))
                        .collect();
                    store.append(&group).unwrap();
                    if rng.random() {
                        store.sync().unwrap();
                    }
                }
            }
        }
        store.sync().unwrap();
        drop(store);
        model.check(Store::open(dir.path()).unwrap().1);
    }
    assert!(folds > 20 && reopened > 20, "vacuous: {folds} folds, {reopened} times reopened");
}

#[test]
fn a_transaction_of_many_records_is_whole_or_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    fill(&mut store, 1, 3);
    let updates = (0..20_000u32).map(|i| (Row::new(&i.to_be_bytes()), Row::EMPTY, 1)).collect();
    let rows = Change::Rows { relation: GlobalId(20_000), version: 1, updates: Arc::new(updates) };
    let large = Transaction { time: 4, changes: vec![rows] };
    store.append(std::slice::from_ref(&large)).unwrap();
    // Written out, not acknowledged: as a crash in between leaves it.
    store.generation.log.sync().unwrap();
    let records = store.generation.log.last.number;
    assert!(records > 20);
    drop(store);

    let (store, recovered) = Store::open(dir.path()).unwrap();
    assert_eq!(recovered.log.map(Result::unwrap).nth(3), Some(large));
    drop(store);

    // The tail torn: the last record gone, and the one before it damaged.
    let watermark = dir.path().join("WATERMARK");
    Watermark::create(&watermark).unwrap();
    let log = log_of(dir.path());
    log.remove(records.to_be_bytes()).unwrap();
    log.insert((records - 1).to_be_bytes(), vec![3; 100]).unwrap();
    drop(log);
    let (mut store, recovered) = Store::open(dir.path()).unwrap();
    assert_eq!(recovered.log.map(|t| t.unwrap().time).collect::<Vec<_>>(), [1, 2, 3]);
    fill(&mut store, 4, 5);
    drop(store);
    let times = Store::open(dir.path()).unwrap().1.log.map(|t| t.unwrap().time);
    assert_eq!(times.collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_hole_in_the_log_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    fill(&mut store, 1, 9);
    drop(store);
    let change = |number: u64, to: Option<Vec<u8>>| {
        let log = log_of(dir.path());
        match to {
            Some(bytes) => log.insert(number.to_be_bytes(), bytes).unwrap().unwrap().to_vec(),
            None => log.remove(number.to_be_bytes()).unwrap().unwrap().to_vec(),
        }
    };
    let whole = change(5, None);
    let (code, message) = code_of(dir.path());
    assert_eq!(code, SqlState::DATA_CORRUPTED);
    assert!(message.contains("record 5 is damaged or missing before the valid record 6"));
    assert!(message.contains("gen-0/log/db"), "{message}");

    log_of(dir.path()).insert(5u64.to_be_bytes(), whole.as_slice()).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    change(5, Some(flipped));
    assert_eq!(code_of(dir.path()).0, SqlState::DATA_CORRUPTED);

    // A valid record in the wrong place: the chain sees it.
    let mut other = Vec::new();
    crate::storage::frame::encode(Link { number: 4, crc: 1 }, 5, 3, b"", &mut other);
    change(5, Some(other));
    let (_, message) = code_of(dir.path());
    assert!(message.contains("record 5 does not follow the record before it"), "{message}");

    change(5, Some(whole.clone()));
    let last = change(9, None);
    let (_, message) = code_of(dir.path());
    assert!(message.contains("it ends at record 8, but record 9 was acknowledged"), "{message}");

    log_of(dir.path()).insert(9u64.to_be_bytes(), last).unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().1.log.count(), 9);
}

#[test]
fn a_flipped_bit_in_a_file_is_refused_or_healed_but_never_loses_anything() {
    let source = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(source.path()).unwrap();
    fill(&mut store, 1, 300);
    fold_to_end(&mut store, 200, 1 << 20).unwrap();
    fill(&mut store, 301, 400);
    drop(store);
    let checkpoint = source.path().join("gen-1/checkpoint");
    let log = source.path().join("gen-1/log/db");
    let mut rng = StdRng::seed_from_u64(1);
    let mut refused = 0;
    for round in 0..24 {
        let file = if round % 2 == 0 { &checkpoint } else { &log };
        let content = std::fs::read(file).unwrap();
        let used = content.iter().rposition(|byte| *byte != 0).unwrap();
        let at = rng.random_range(0..used);
        let dir = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-r").arg(source.path()).arg(dir.path()).status();
        assert!(copied.unwrap().success());
        let copy = dir.path().join(source.path().file_name().unwrap());
        let damaged = copy.join(file.strip_prefix(source.path()).unwrap());
        let damaged = std::fs::OpenOptions::new().write(true).open(damaged).unwrap();
        damaged.write_all_at(&[content[at] ^ 16], at as u64).unwrap();
        let read = || -> Result<(usize, usize)> {
            let (_store, recovered) = Store::open(&copy)?;
            let mut rows = 0;
            for chunk in recovered.relations {
                rows += chunk?.updates.len();
            }
            let transactions = recovered.log.collect::<Result<Vec<_>>>()?;
            Ok((rows, transactions.len()))
        };
        match read() {
            Ok(counts) => assert_eq!(counts, (200, 200), "{} at {at}", file.display()),
            Err(error) => {
                assert_eq!(error.code, SqlState::DATA_CORRUPTED, "{error}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 12, "only {refused} refused");
}

#[test]
fn the_directory_is_locked_and_its_format_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(dir.path()).unwrap();
    let error = Store::open(dir.path()).map(|_| ()).expect_err("it is locked");
    assert_eq!(error.code, SqlState::OBJECT_IN_USE);
    assert!(error.hint.unwrap().contains(&format!("PID {}", std::process::id())));
    drop(store);
    Store::open(dir.path()).unwrap();

    let format = dir.path().join("FORMAT");
    std::fs::write(&format, "weir data directory, format 2\n").unwrap();
    let error = Store::open(dir.path()).map(|_| ()).expect_err("the format is newer");
    assert_eq!(error.code, SqlState::INVALID_PARAMETER_VALUE);
    assert!(error.detail.unwrap().contains("format 2"));
    std::fs::write(&format, "something else").unwrap();
    assert_eq!(code_of(dir.path()).0, SqlState::DATA_CORRUPTED);
    std::fs::remove_file(&format).unwrap();
    assert_eq!(code_of(dir.path()).0, SqlState::DATA_CORRUPTED);
}

#[test]
fn a_lost_file_never_makes_an_empty_store() {
    for lost in ["CURRENT", "WATERMARK", "gen-0", "gen-0/log/db"] {
        let dir = tempfile::tempdir().unwrap();
        let (mut store, _) = Store::open(dir.path()).unwrap();
        fill(&mut store, 1, 3);
        drop(store);
        let path = dir.path().join(lost);
        let removed =
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        removed.unwrap();
        assert!(Store::open(dir.path()).is_err(), "{lost} is lost");
    }
    // A start cut short before anything was acknowledged is simply made again.
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path()).unwrap());
    std::fs::remove_file(dir.path().join("CURRENT")).unwrap();
    Store::open(dir.path()).unwrap();
}

#[test]
fn damaged_snapshots_of_sled_are_survived() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    fill(&mut store, 1, 50);
    drop(store);
    drop(Store::open(dir.path()).unwrap());
    let path = dir.path().join("gen-0/log");
    let snapshot = std::fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|name| name.file_name().unwrap().to_string_lossy().starts_with("snap."))
        .expect("sled writes one at each start");
    std::fs::write(&snapshot, b"damaged snapshot").unwrap();
    std::fs::write(path.join("snap.FFFFFFFFFFFFFFF0.generating"), b"half").unwrap();
    assert_eq!(Store::open(dir.path()).unwrap().1.log.count(), 50);
}

#[test]
fn leases_survive_and_times_must_rise() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, recovered) = Store::open(dir.path()).unwrap();
    assert_eq!(recovered.lease, 1);
    drop(recovered);
    store.lease(5_000).unwrap();
    store.lease(4_000).unwrap();
    store.sync().unwrap();
    fill(&mut store, 10, 20);
    drop(store);
    let (mut store, recovered) = Store::open(dir.path()).unwrap();
    assert_eq!(recovered.lease, 5_000);
    drop(recovered);
    fill(&mut store, 6_000, 6_000);
    assert!(store.append(&[insert(6_000, b"", b"")]).is_err());
    assert!(store.sync().is_err(), "after a failure nothing works");
    std::mem::forget(store);
}

#[test]
fn disk_use_stays_bounded_over_many_folds() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    let mut time = 0;
    let mut sizes = Vec::new();
    for _ in 0..12 {
        for _ in 0..100 {
            time += 1;
            let update = |key: u64, of: u64, diff| {
                let value = of.to_be_bytes().repeat(20);
                (Row::new(&key.to_be_bytes()), Row::new(&value), diff)
            };
            // The same thousand rows, rewritten for ever.
            let keys = (0..50).map(|i| (time * 50 + i) % 1000);
            let mut updates = Vec::new();
            for key in keys {
                updates.push(update(key, time, 1));
                if time > 20 {
                    updates.push(update(key, time - 20, -1));
                }
            }
            let updates = Arc::new(updates);
            let rows = Change::Rows { relation: GlobalId(20_000), version: 1, updates };
            store.append(&[Transaction { time, changes: vec![rows] }]).unwrap();
        }
        store.sync().unwrap();
        assert_eq!(fold_to_end(&mut store, time - 5, 1 << 20), Some(time - 5));
        store.removal.finish();
        sizes.push((store.disk_bytes(), store.checkpoint_bytes()));
    }
    let (first, last) = (sizes[2], sizes[11]);
    assert!(last.0 <= first.0 * 5 / 4, "{sizes:?}");
    assert!(last.1 < 200_000, "a thousand rows of 168 bytes: {sizes:?}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 5);
}

#[test]
fn an_unfinished_fold_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    fill(&mut store, 1, 200);
    for _ in 0..4 {
        assert!(matches!(store.fold(150, 500).unwrap(), FoldState::Working));
    }
    assert!(store.fold_due() && dir.path().join("gen-1").exists());
    drop(store);
    let (mut store, recovered) = Store::open(dir.path()).unwrap();
    assert_eq!((recovered.checkpoint, recovered.log.count()), (None, 200));
    assert!(!store.fold_due() && !dir.path().join("gen-1").exists());
    assert_eq!(fold_to_end(&mut store, 150, 500), Some(150));
    assert_eq!(fold_to_end(&mut store, 150, 500), None, "nothing is left that old");
}

/// Set for the child process of the test below, with the directory.
const CHILD: &str = "WEIR_STORAGE_TEST_CHILD";

/// The child: commits for ever, says after each sync what is durable, folds now and then.
fn commit_for_ever(dir: PathBuf) {
    let (mut store, recovered) = Store::open(&dir).unwrap();
    let mut time = recovered.lease;
    loop {
        let group: Vec<_> = (0..1 + time % 7)
            .map(|i| insert(time + i, &(time + i).to_be_bytes(), &[5; 300]))
            .collect();
        store.append(&group).unwrap();
        store.sync().unwrap();
        for transaction in &group {
            println!("durable {}", transaction.time);
        }
        time += group.len() as u64;
        let _ = store.fold(time.saturating_sub(200), 4_000).unwrap();
    }
}

#[test]
fn a_killed_process_has_lost_nothing_that_it_acknowledged() {
    if let Some(dir) = std::env::var_os(CHILD) {
        commit_for_ever(PathBuf::from(dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let mut rng = StdRng::seed_from_u64(3);
    let mut durable = Vec::new();
    for round in 0..12 {
        let name = "a_killed_process_has_lost_nothing_that_it_acknowledged";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                format!("storage::store::tests::{name}"),
                "--exact".into(),
                "--nocapture".into(),
            ])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let reader = BufReader::new(child.stdout.take().unwrap());
        let kill_at = rng.random_range(0..500);
        let mut lines = reader.lines().map_while(|line| line.ok());
        let start = Instant::now();
        for line in lines.by_ref().take(kill_at) {
            durable.extend(line.strip_prefix("durable ").and_then(|t| t.parse::<u64>().ok()));
        }
        std::thread::sleep(Duration::from_micros(rng.random_range(0..3000)));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in lines {
            durable.extend(line.strip_prefix("durable ").and_then(|t| t.parse::<u64>().ok()));
        }
        assert!(start.elapsed() < Duration::from_secs(60), "round {round} hangs");
        let (_store, recovered) = Store::open(dir.path()).unwrap();
        let mut found: Vec<u64> = Vec::new();
        for chunk in recovered.relations {
            for (key, _, diff) in chunk.unwrap().updates {
                assert_eq!(diff, 1);
                found.push(u64::from_be_bytes(key.bytes().try_into().unwrap()));
            }
        }
        found.extend(recovered.log.map(|t| t.unwrap().time));
        assert!(found.is_sorted_by(|a, b| a < b));
        let lost = durable.iter().find(|time| found.binary_search(time).is_err());
        assert_eq!(lost, None, "round {round}");
    }
    assert!(durable.len() > 500, "vacuous: {} commits", durable.len());
}

#[test]
fn a_store_can_move_to_another_thread() {
    fn is_send<T: Send>() {}
    is_send::<Store>();
    is_send::<Recovered>();
}

#[test]
fn a_fold_is_due_when_the_log_outgrows_the_data() {
    assert!(!fold_is_due(FOLD_LOG_BYTES_MIN, 0, FOLD_LOG_BYTES_MIN));
    assert!(fold_is_due(FOLD_LOG_BYTES_MIN + 1, 1 << 20, FOLD_LOG_BYTES_MIN));
    assert!(!fold_is_due(1 << 30, 1 << 30, FOLD_LOG_BYTES_MIN));
    assert!(fold_is_due((1 << 30) + 1, 1 << 30, FOLD_LOG_BYTES_MIN));
}

/// What relations take, of transactions that are not folded and of rows that are.
fn taken(log: &[Transaction], rows: &Rows) -> BTreeMap<GlobalId, RelationBytes> {
    let (mut of_log, mut stored) = (Usage::default(), Usage::default());
    log.iter().for_each(|transaction| of_log.add_transaction(transaction));
    for ((relation, _, key, value), diff) in rows {
        stored.add(*relation, &[(key.clone(), value.clone(), *diff)]);
    }
    let mut taken: BTreeMap<GlobalId, RelationBytes> = BTreeMap::new();
    of_log.0.iter().for_each(|(id, bytes)| taken.entry(*id).or_default().log = *bytes);
    stored.0.iter().for_each(|(id, bytes)| taken.entry(*id).or_default().checkpoint = *bytes);
    taken.retain(|_, bytes| *bytes != RelationBytes::default());
    taken
}

#[test]
fn what_relations_take_is_known_over_folds_and_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path()).unwrap();
    let (mut model, mut rng) = (Model::default(), StdRng::seed_from_u64(5));
    let append = |store: &mut Store, model: &mut Model, rng: &mut StdRng| {
        for _ in 0..60 {
            let transaction = model.random_transaction(rng);
            store.append(&[transaction]).unwrap();
        }
        store.sync().unwrap();
    };
    append(&mut store, &mut model, &mut rng);
    assert_eq!(store.relation_bytes(), taken(&model.transactions, &Rows::new()));
    let upto = model.transactions[40].time;
    for time in [upto, model.time] {
        assert!(fold_to_end(&mut store, time, 2000).is_some());
        append(&mut store, &mut model, &mut rng);
        let folded = model.transactions.partition_point(|transaction| transaction.time <= time);
        let mut rows = Rows::new();
        model.transactions[..folded].iter().for_each(|t| add_rows(&mut rows, t));
        let expected = taken(&model.transactions[folded..], &rows);
        assert_eq!(store.relation_bytes(), expected);
        drop(store);
        let (opened, recovered) = Store::open(dir.path()).unwrap();
        assert_eq!(opened.relation_bytes(), BTreeMap::new(), "nothing has been read");
        recovered.relations.for_each(|chunk| drop(chunk.unwrap()));
        recovered.log.for_each(|transaction| drop(transaction.unwrap()));
        assert_eq!(opened.relation_bytes(), expected);
        store = opened;
    }
}
