//! Folding: the next generation out of the current one, in slices.
//!
//! 1. *Collect*: the log's transactions up to the time are read; state changes are applied, row
//!    changes are sorted and consolidated in runs. One run stays in memory; several are files.
//! 2. *Merge*: the old checkpoint and the runs, all sorted alike, are merged into the new
//!    checkpoint: multiplicities are summed, what is zero or belongs to a dropped object goes.
//! 3. *Tail*: the records after that time are copied, as they are, into the new log, until none
//!    is missing.
//!
//! The current generation is only read, so a fold can be given up at any moment. Memory is a run
//! and one frame of each file, whatever the sizes; only a single transaction is held whole.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::storage::checkpoint::{ChunkReader, ChunkWriter, Head, update_bytes};
use crate::storage::files;
use crate::storage::log::Log;
use crate::storage::record::{Change, Transaction};
use crate::storage::recovery::LogTransactions;
use crate::storage::state::State;
use crate::storage::usage::Usage;

/// A run has at least so many bytes; sorting them takes some ten milliseconds.
pub(super) const RUN_BYTES_MIN: u64 = 8 << 20;
/// A log makes about so many runs at most, since each is an open file.
const RUNS_MAX: u64 = 64;
/// The checkpoint's name in its generation.
const CHECKPOINT: &str = "checkpoint";
/// The log's name in its generation.
const LOG: &str = "log";

/// A checkpoint and the log after it.
pub(super) struct Generation {
    /// Its number, which names its directory.
    pub number: u64,
    /// Its directory.
    pub path: PathBuf,
    /// What the checkpoint is of, `None` before the first fold.
    pub head: Option<Head>,
    /// The checkpoint's length.
    pub checkpoint_bytes: u64,
    /// The log.
    pub log: Log,
}

impl Generation {
    /// Where the checkpoint of a generation lies.
    pub fn checkpoint(path: &Path) -> PathBuf {
        path.join(CHECKPOINT)
    }

    /// Where the log of a generation lies.
    pub fn log(path: &Path) -> PathBuf {
        path.join(LOG)
    }
}

/// A row's change while it is sorted: relation, version, key, value, difference.
type Update = (GlobalId, u32, Row, Row, Diff);

/// A fold under way.
pub(super) struct Fold {
    number: u64,
    path: PathBuf,
    upto: Timestamp,
    phase: Phase,
    /// What of the log is folded, as far as it was collected.
    pub collected: Usage,
    /// What the new checkpoint holds, once it is written.
    pub written: Usage,
}

enum Phase {
    Collect(Box<Collect>),
    Merge(Box<Merge>),
    Tail { log: Log, head: Head, checkpoint_bytes: u64, seen: u64 },
    Over,
}

impl Fold {
    /// Starts to fold everything up to a time into the next generation, at `path`, in runs of at
    /// least so many bytes.
    pub fn start(
        current: &Generation,
        path: PathBuf,
        upto: Timestamp,
        run_bytes_min: u64,
    ) -> Result<Fold> {
        files::remove_directory(&path)?;
        files::create_directory(&path)?;
        let checkpoint = match current.head {
            Some(_) => Some(ChunkReader::open(&Generation::checkpoint(&current.path))?.0),
            None => None,
        };
        let mut collect = Collect {
            transactions: current.log.transactions(None),
            head: current.head.unwrap_or_default(),
            state: State::default(),
            checkpoint,
            buffer: Vec::new(),
            buffer_bytes: 0,
            run_bytes: run_bytes_min.max(current.log.bytes / RUNS_MAX),
            runs: Vec::new(),
            usage: Usage::default(),
        };
        if let Some(reader) = &mut collect.checkpoint {
            collect.state = reader.read_state()?;
        }
        Ok(Fold {
            number: current.number + 1,
            path,
            upto,
            phase: Phase::Collect(Box::new(collect)),
            collected: Usage::default(),
            written: Usage::default(),
        })
    }

    /// Where the new generation is being made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Works through about `budget` bytes; gives the new generation once it holds all that the
    /// current one does, durably.
    pub fn step(&mut self, current: &Generation, budget: u64) -> Result<Option<Generation>> {
        // An error leaves the phase over: a fold that has failed is given up.
        self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Collect(mut collect) => {
                if collect.step(&self.path, self.upto, budget)? {
                    self.collected = std::mem::take(&mut collect.usage);
                    Phase::Merge(Box::new(Merge::start(*collect, &self.path)?))
                } else {
                    Phase::Collect(collect)
                }
            }
            Phase::Merge(mut merge) => {
                if merge.step(budget)? {
                    let (head, runs) = (merge.head, std::mem::take(&mut merge.runs));
                    let (checkpoint_bytes, written) = merge.writer.finish()?;
                    self.written = written;
                    for run in runs {
                        fs::remove_file(&run)
                            .map_err(|e| files::io_error("remove file", &run, &e))?;
                    }
                    let log = Log::create(&Generation::log(&self.path), head.base(), head.time)?;
                    files::sync_directory(&self.path)?;
                    Phase::Tail { log, head, checkpoint_bytes, seen: current.log.bytes }
                } else {
                    Phase::Merge(merge)
                }
            }
            Phase::Tail { mut log, head, checkpoint_bytes, seen } => {
                // Faster than the log grows, or it would never be caught up with.
                let budget = budget.max(2 * (current.log.bytes - seen));
                copy_tail(&mut log, &current.log, budget)?;
                log.sync()?;
                if log.last == current.log.last {
                    let (number, path) = (self.number, self.path.clone());
                    let head = Some(head);
                    return Ok(Some(Generation { number, path, head, checkpoint_bytes, log }));
                }
                Phase::Tail { log, head, checkpoint_bytes, seen: current.log.bytes }
            }
            Phase::Over => return Err(Error::internal("a fold went on after its end")),
        };
        Ok(None)
    }
}

fn copy_tail(to: &mut Log, from: &Log, budget: u64) -> Result<()> {
    let mut copied = 0;
    for record in from.records_after(to.last) {
        if copied >= budget {
            break;
        }
        let record = record?;
        to.append_record(&record)?;
        copied += record.len() as u64;
    }
    Ok(())
}

/// The first phase.
struct Collect {
    transactions: LogTransactions,
    /// As far as has been collected.
    head: Head,
    state: State,
    /// The old checkpoint, before its rows.
    checkpoint: Option<ChunkReader>,
    buffer: Vec<Update>,
    buffer_bytes: u64,
    run_bytes: u64,
    runs: Vec<PathBuf>,
    /// What of the log is collected.
    usage: Usage,
}

impl Collect {
    /// Whether everything up to the time is collected now.
    fn step(&mut self, path: &Path, upto: Timestamp, budget: u64) -> Result<bool> {
        let mut read = 0;
        while read < budget {
            let Some(transaction) = self.transactions.next().transpose()? else { return Ok(true) };
            if transaction.time > upto {
                return Ok(true);
            }
            let before = self.buffer_bytes;
            self.collect(&transaction);
            read += self.buffer_bytes - before;
            let last = self.transactions.position();
            self.head = Head { time: transaction.time, number: last.number, crc: last.crc };
            if self.buffer_bytes > self.run_bytes {
                self.spill(path)?;
                return Ok(false);
            }
        }
        Ok(false)
    }

    fn collect(&mut self, transaction: &Transaction) {
        // Something for the transaction itself, so that empty ones end a slice, too.
        self.buffer_bytes += 16;
        self.usage.add_transaction(transaction);
        for change in &transaction.changes {
            if let Change::Rows { relation, version, updates } = change {
                for (key, value, diff) in updates.iter() {
                    self.buffer_bytes += (update_bytes(key, value) + 16) as u64;
                    self.buffer.push((*relation, *version, key.clone(), value.clone(), *diff));
                }
            } else {
                self.state.apply(change);
            }
        }
    }

    /// Sorts what is in memory into a file.
    fn spill(&mut self, path: &Path) -> Result<()> {
        let run = path.join(format!("run-{}", self.runs.len()));
        let mut writer = ChunkWriter::create(&run, &Head::default(), &State::default())?;
        for (relation, version, key, value, diff) in self.sort()? {
            writer.push(relation, version, key, value, diff)?;
        }
        writer.finish()?;
        self.runs.push(run);
        Ok(())
    }

    /// What is in memory, sorted, each row once.
    fn sort(&mut self) -> Result<Vec<Update>> {
        self.buffer_bytes = 0;
        let mut updates = std::mem::take(&mut self.buffer);
        updates.sort_unstable();
        let mut consolidated: Vec<Update> = Vec::new();
        for update in updates {
            match consolidated.last_mut() {
                Some(last) if same_row(last, &update) => last.4 = sum(last.4, update.4)?,
                _ => {
                    if consolidated.last().is_some_and(|last| last.4 == 0) {
                        consolidated.pop();
                    }
                    consolidated.push(update);
                }
            }
        }
        if consolidated.last().is_some_and(|last| last.4 == 0) {
            consolidated.pop();
        }
        Ok(consolidated)
    }
}

fn same_row(a: &Update, b: &Update) -> bool {
    (a.0, a.1, &a.2, &a.3) == (b.0, b.1, &b.2, &b.3)
}

fn sum(a: Diff, b: Diff) -> Result<Diff> {
    a.checked_add(b).ok_or_else(|| Error::internal("a row's multiplicity exceeds 64 bits"))
}

/// Something sorted to merge.
struct Source {
    reader: Option<ChunkReader>,
    relation: GlobalId,
    version: u32,
    /// Of a file: the rest of its chunk.
    chunk: std::vec::IntoIter<(Row, Row, Diff)>,
    /// Of memory: the rest of it.
    memory: std::vec::IntoIter<Update>,
}

impl Source {
    fn file(reader: ChunkReader) -> Source {
        Source {
            reader: Some(reader),
            relation: GlobalId(0),
            version: 0,
            chunk: Vec::new().into_iter(),
            memory: Vec::new().into_iter(),
        }
    }

    fn memory(updates: Vec<Update>) -> Source {
        Source {
            reader: None,
            relation: GlobalId(0),
            version: 0,
            chunk: Vec::new().into_iter(),
            memory: updates.into_iter(),
        }
    }

    fn next(&mut self) -> Result<Option<Update>> {
        let Some(reader) = &mut self.reader else { return Ok(self.memory.next()) };
        loop {
            if let Some((key, value, diff)) = self.chunk.next() {
                return Ok(Some((self.relation, self.version, key, value, diff)));
            }
            let Some(rows) = reader.next_rows()? else { return Ok(None) };
            (self.relation, self.version) = (rows.relation, rows.version);
            self.chunk = rows.updates.into_iter();
        }
    }
}

/// The second phase.
struct Merge {
    head: Head,
    state: State,
    sources: Vec<Source>,
    runs: Vec<PathBuf>,
    /// The least of each source that is not at its end.
    least: BinaryHeap<Reverse<(Update, usize)>>,
    /// The row being summed.
    pending: Option<Update>,
    writer: ChunkWriter,
}

impl Merge {
    fn start(mut collect: Collect, path: &Path) -> Result<Merge> {
        let memory = collect.sort()?;
        let mut sources = vec![Source::memory(memory)];
        sources.extend(collect.checkpoint.take().map(Source::file));
        for run in &collect.runs {
            sources.push(Source::file(ChunkReader::open(run)?.0));
        }
        let mut least = BinaryHeap::new();
        for (index, source) in sources.iter_mut().enumerate() {
            least.extend(source.next()?.map(|update| Reverse((update, index))));
        }
        let checkpoint = Generation::checkpoint(path);
        let writer = ChunkWriter::create(&checkpoint, &collect.head, &collect.state)?;
        let (head, state, runs) = (collect.head, collect.state, collect.runs);
        Ok(Merge { head, state, sources, runs, least, pending: None, writer })
    }

    /// Whether everything is written now.
    fn step(&mut self, budget: u64) -> Result<bool> {
        let mut merged = 0;
        while merged < budget {
            let Some(Reverse((update, index))) = self.least.pop() else {
                self.write_pending()?;
                return Ok(true);
            };
            let following = self.sources[index].next()?;
            self.least.extend(following.map(|update| Reverse((update, index))));
            merged += update_bytes(&update.2, &update.3) as u64;
            match &mut self.pending {
                Some(pending) if same_row(pending, &update) => {
                    pending.4 = sum(pending.4, update.4)?;
                }
                _ => {
                    self.write_pending()?;
                    self.pending = Some(update);
                }
            }
        }
        Ok(false)
    }

    fn write_pending(&mut self) -> Result<()> {
        match self.pending.take() {
            Some((relation, version, key, value, diff))
                if diff != 0 && !self.state.dropped.contains(&relation) =>
            {
                self.writer.push(relation, version, key, value, diff)
            }
            _ => Ok(()),
        }
    }
}
