//! The store: one log in, checkpoints beside it, everything back after a crash.
//!
//! # What is promised
//!
//! What [`Store::sync`] has returned for is there after any crash, whole; what it has not returned
//! for is there whole or not at all, and the outcome is unknown until the store is opened again.
//! What is there is a prefix of what was appended. Where the files say otherwise, the store does
//! not open: it never starts on less than was acknowledged, nor with a hole in it.
//!
//! # Generations
//!
//! A *generation* is a directory with a checkpoint (all that was stored at a time `s`, sorted, one
//! plain file) and a sled tree with the log after `s`. Folding writes the next generation beside
//! the current one: its checkpoint is the old one merged with the log up to a newer `s`, its log a
//! copy of the records after that. One rename of the file CURRENT makes the switch; then the old
//! directory is removed.
//!
//! The alternative was to fold in place: checkpoint chunks in a second sled tree, one sled batch
//! that switches and removes. It was left because sled never shortens its file, cleans segments
//! only as it rewrites others, and keeps every page's place in memory. Removing a directory gives
//! the space back for certain, nothing that is durable is ever overwritten, and a half-done fold
//! is a directory that nothing names. The price is that the log's tail is written twice, and that
//! a fold needs room for the new checkpoint before the old one goes.
//!
//! So sled holds the log and nothing else: it appends, reads in order, and is thrown away whole.
//!
//! # The chain
//!
//! sled's checksums are not trusted alone. Each record carries its length, its checksum, a dense
//! number, and its predecessor's checksum (`frame`). When the log is opened it is read to the first
//! gap, and a valid record behind a gap is a refusal. A torn tail, which is a transaction without
//! its last record, is cut. Numbers and chain go on over folds: a checkpoint names the last record
//! it covers, and the log after it must follow that one.
//!
//! The chain cannot tell a shorter log from an earlier one, and sled makes logs shorter: it takes
//! the first damaged byte for the end. Hence `watermark`, which holds the last acknowledged record
//! outside the log. sled may by then have wiped what it took for torn; the refusal is then all
//! that can be done, and a backup is needed.
//!
//! A worked example. Records 1–3 are transaction A, 4 is B, 5–6 are C, and C's sync never returned.
//! A crash may leave 1–4 (C is not there), 1–5 (5 is cut), or 1–6 (C is there, and its client may
//! find out). 1–3 is refused, since 4 was acknowledged; 1, 2, 4 is refused in any case.
//!
//! # Lease
//!
//! The server hands out times that no transaction has. [`Store::lease`] says below which time they
//! are spent, in the watermark, and [`Recovered::lease`] is above all of them.
//!
//! # What can go wrong, and what then
//!
//! * A failed append or sync: the store refuses everything after it, and leaves sled's files
//!   alone. The caller ends the engine.
//! * A failed fold: it is given up, the current generation goes on, the next try waits until the
//!   log has grown by half. Only an error at the switch itself is as bad as a failed append.
//! * A failed removal of a folded generation: it is removed at the next start.
//! * sled's fault of refusing to open after a kill during start-up: see `log::open_sled`.
//!
//! # What is left out
//!
//! Compression and encryption (the file system's work), a cap on one transaction (it is held whole
//! in memory when it is read back), a check of the old checkpoint's rows before they are asked for
//! (they are checked as they stream).

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::JoinHandle;

use crate::error::{Error, Result, SqlState};
use crate::repr::{GlobalId, Timestamp};
use crate::storage::checkpoint::ChunkReader;
use crate::storage::directory::Directory;
use crate::storage::files;
use crate::storage::fold::{Fold, Generation, RUN_BYTES_MIN};
use crate::storage::frame::Link;
use crate::storage::log::Log;
use crate::storage::record::Transaction;
use crate::storage::recovery::{CheckpointRows, Recovered};
use crate::storage::state::State;
use crate::storage::usage::Shared;
use crate::storage::watermark::Watermark;

/// A log shorter than this is not worth a fold.
pub const FOLD_LOG_BYTES_MIN: u64 = 64 << 20;
/// A fold is given up rather than leave less free space than this to the log.
const FOLD_FREE_BYTES_MIN: u64 = 64 << 20;

/// Whether a log is long enough to be folded into a checkpoint.
///
/// Restart reads both, so with this rule it takes at most twice the time that the data alone
/// would; and a byte of the checkpoint is rewritten at most once per byte logged.
fn fold_is_due(log_bytes: u64, checkpoint_bytes: u64, log_bytes_min: u64) -> bool {
    log_bytes > checkpoint_bytes.max(log_bytes_min)
}

/// What a slice of a fold came to.
#[derive(Debug)]
pub enum FoldState {
    /// Nothing in the log is as old as that.
    Idle,
    /// There is more to do: call again.
    Working,
    /// The log up to this time is folded, its space is free.
    Done(Timestamp),
    /// The fold failed and was given up. What is stored is as it was.
    Abandoned(Error),
}

/// What a relation takes of the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelationBytes {
    /// Of the log.
    pub log: u64,
    /// Of the checkpoint.
    pub checkpoint: u64,
}

/// An open, locked data directory. One thread owns it and writes.
pub struct Store {
    // In this order they are closed: the lock goes last.
    fold: Option<Fold>,
    removal: Removal,
    generation: Generation,
    watermark: Watermark,
    /// A lease to write with the next sync.
    lease: Option<Timestamp>,
    /// Log bytes that the last fold left behind, or failed to fold; they make no fold due.
    kept_bytes: u64,
    run_bytes_min: u64,
    /// A shorter log is not folded.
    fold_bytes_min: u64,
    /// Whose the log's bytes are, and the checkpoint's.
    log_usage: Shared,
    checkpoint_usage: Shared,
    /// Why nothing works any more.
    failure: Option<Error>,
    directory: Directory,
}

impl Store {
    /// Opens a data directory, or makes a new one, and gives what is stored.
    ///
    /// Fails with 55006 if another server runs on it, 22023 if its format is newer than this
    /// program, XX001 if anything that was acknowledged is damaged or missing.
    pub fn open(dir: &Path) -> Result<(Store, Recovered)> {
        let directory = Directory::open(dir)?;
        let Some(number) = directory.current()? else { return Store::create(directory) };
        let watermark = Watermark::open(&directory.watermark())?;
        let path = directory.generation(number);
        let (mut head, mut state, mut checkpoint) = (None, State::default(), None);
        // The first generation begins with nothing; any other with the checkpoint that made it.
        if number > 0 {
            let (mut reader, found) = ChunkReader::open(&Generation::checkpoint(&path))?;
            state = reader.read_state()?;
            (head, checkpoint) = (Some(found), Some(reader));
        }
        let start = head.unwrap_or_default();
        let checkpoint_bytes = checkpoint.as_ref().map_or(0, |reader| reader.bytes);
        let log_path = Generation::log(&path);
        let log = Log::open(&log_path, start.base(), start.time, watermark.synced, &mut state)?;
        directory.remove_other_generations(number)?;
        let generation = Generation { number, path, head, checkpoint_bytes, log };
        Store::assemble(directory, watermark, generation, state, checkpoint)
    }

    fn create(directory: Directory) -> Result<(Store, Recovered)> {
        // Before there was a current generation, nothing was acknowledged.
        let path = directory.watermark();
        if path.exists() && Watermark::open(&path).is_ok_and(|found| found.says_anything()) {
            let current = directory.path.join("CURRENT");
            return Err(files::corrupted(&current, "it is missing, but the data is there"));
        }
        let path = directory.generation(0);
        files::remove_directory(&path)?;
        files::create_directory(&path)?;
        let watermark = Watermark::create(&directory.watermark())?;
        let log = Log::create(&Generation::log(&path), Link::default(), 0)?;
        files::sync_directory(&path)?;
        directory.set_current(0)?;
        let generation = Generation { number: 0, path, head: None, checkpoint_bytes: 0, log };
        Store::assemble(directory, watermark, generation, State::default(), None)
    }

    fn assemble(
        directory: Directory,
        mut watermark: Watermark,
        generation: Generation,
        state: State,
        checkpoint: Option<ChunkReader>,
    ) -> Result<(Store, Recovered)> {
        // Opening has made the whole log durable, the tail that nobody acknowledged with it.
        watermark.write(watermark.lease, generation.log.last)?;
        let (log_usage, checkpoint_usage) = (Shared::default(), Shared::default());
        let transactions = generation.log.transactions(Some(generation.log.last));
        let recovered = Recovered {
            lease: watermark.lease.max(generation.log.last_time + 1),
            catalog: state.catalog,
            sequences: state.sequences,
            settings: state.settings,
            checkpoint: generation.head.map(|head| head.time),
            relations: CheckpointRows::new(checkpoint, Shared::clone(&checkpoint_usage)),
            log: transactions.counted(Shared::clone(&log_usage)),
        };
        let store = Store {
            fold: None,
            removal: Removal(None),
            generation,
            watermark,
            lease: None,
            kept_bytes: 0,
            fold_bytes_min: FOLD_LOG_BYTES_MIN,
            run_bytes_min: RUN_BYTES_MIN,
            log_usage,
            checkpoint_usage,
            failure: None,
            directory,
        };
        Ok((store, recovered))
    }

    /// Appends transactions, whose times must rise. They are durable after the next sync.
    ///
    /// An error leaves open which of them are stored, and the store refuses everything after it.
    pub fn append(&mut self, transactions: &[Transaction]) -> Result<()> {
        self.check()?;
        for transaction in transactions {
            let result = if transaction.time > self.generation.log.last_time {
                self.generation.log.append(transaction)
            } else {
                Err(Error::internal(format!(
                    "a transaction at {} was appended after one at {}",
                    transaction.time, self.generation.log.last_time
                )))
            };
            self.fail_on_error(result)?;
            if let Ok(mut usage) = self.log_usage.lock() {
                usage.add_transaction(transaction);
            }
        }
        Ok(())
    }

    /// Makes everything appended, and the last lease, durable.
    ///
    /// An error leaves open what of it is, and the store refuses everything after it.
    pub fn sync(&mut self) -> Result<()> {
        self.check()?;
        let result = self.sync_all();
        self.fail_on_error(result)
    }

    fn sync_all(&mut self) -> Result<()> {
        let wrote = self.generation.log.sync()?;
        let last = self.generation.log.last;
        match self.lease.take() {
            Some(lease) => self.watermark.write(lease, last),
            None if wrote => self.watermark.hint(last),
            None => Ok(()),
        }
    }

    /// Says that times below this one are spent, from the next sync on.
    pub fn lease(&mut self, below: Timestamp) -> Result<()> {
        self.check()?;
        if below > self.watermark.lease.max(self.lease.unwrap_or(0)) {
            self.lease = Some(below);
        }
        Ok(())
    }

    /// Has logs folded that are longer than this, and longer than the checkpoint.
    pub fn fold_beyond(&mut self, log_bytes: u64) {
        self.fold_bytes_min = log_bytes;
    }

    /// Whether a fold is under way, or the log is long enough for one to begin.
    pub fn fold_due(&self) -> bool {
        let grown = self.log_bytes().saturating_sub(self.kept_bytes);
        self.fold.is_some()
            || fold_is_due(grown, self.generation.checkpoint_bytes, self.fold_bytes_min)
    }

    /// Folds the log up to a time into a checkpoint, or goes on with the fold that is under way
    /// (and keeps its time), working through about `budget` bytes.
    ///
    /// Nothing may still need to read, after a restart, as of a time below `upto`. An error means
    /// what an error of [`Store::append`] means.
    pub fn fold(&mut self, upto: Timestamp, budget: usize) -> Result<FoldState> {
        self.check()?;
        match self.fold_slice(upto, budget as u64) {
            Ok(Some(Some(generation))) => {
                let result = self.switch_to(generation);
                self.fail_on_error(result).map(FoldState::Done)
            }
            Ok(Some(None)) => Ok(FoldState::Working),
            Ok(None) => {
                self.kept_bytes = self.log_bytes();
                Ok(FoldState::Idle)
            }
            Err(error) => Ok(FoldState::Abandoned(self.abandon_fold(error))),
        }
    }

    /// One slice: nothing to fold, or a generation if it is finished.
    fn fold_slice(&mut self, upto: Timestamp, budget: u64) -> Result<Option<Option<Generation>>> {
        if self.fold.is_none() {
            match self.generation.log.first_time()? {
                Some(time) if time <= upto => {}
                _ => return Ok(None),
            }
            self.removal.finish();
            let path = self.directory.generation(self.generation.number + 1);
            self.fold = Some(Fold::start(&self.generation, path, upto, self.run_bytes_min)?);
        }
        if self.free_space()? < FOLD_FREE_BYTES_MIN {
            let message = "could not fold the log: no space left on device";
            return Err(Error::new(SqlState::DISK_FULL, message));
        }
        match &mut self.fold {
            Some(fold) => fold.step(&self.generation, budget).map(Some),
            None => Ok(None),
        }
    }

    /// Makes the new generation the current one and removes the old one.
    fn switch_to(&mut self, generation: Generation) -> Result<Timestamp> {
        let fold = self.fold.take();
        self.directory.set_current(generation.number)?;
        let old = std::mem::replace(&mut self.generation, generation);
        self.kept_bytes = self.log_bytes();
        if let Some(fold) = fold {
            if let Ok(mut usage) = self.log_usage.lock() {
                usage.remove(&fold.collected);
            }
            if let Ok(mut usage) = self.checkpoint_usage.lock() {
                *usage = fold.written;
            }
        }
        self.removal = Removal::start(old);
        let last = self.generation.log.last;
        self.watermark.hint(last)?;
        Ok(self.generation.head.map_or(0, |head| head.time))
    }

    fn abandon_fold(&mut self, error: Error) -> Error {
        tracing::warn!(%error, "folding the log was given up");
        // Half of what makes a fold due must come before the next try.
        let enough = self.generation.checkpoint_bytes.max(self.fold_bytes_min) / 2;
        self.kept_bytes = self.log_bytes().saturating_sub(enough);
        if let Some(fold) = self.fold.take() {
            let path = fold.path().to_owned();
            drop(fold);
            if let Err(error) = files::remove_directory(&path) {
                tracing::warn!(%error, "the unfinished checkpoint is removed at the next start");
            }
        }
        error
    }

    /// Bytes of the log's records: what a restart has to replay.
    pub fn log_bytes(&self) -> u64 {
        self.generation.log.bytes
    }

    /// Bytes of the checkpoint.
    pub fn checkpoint_bytes(&self) -> u64 {
        self.generation.checkpoint_bytes
    }

    /// What each relation takes of both. What was stored before is counted once it was read back.
    pub fn relation_bytes(&self) -> BTreeMap<GlobalId, RelationBytes> {
        let mut relations: BTreeMap<GlobalId, RelationBytes> = BTreeMap::new();
        if let Ok(usage) = self.log_usage.lock() {
            let of_log = usage.0.iter();
            of_log.for_each(|(id, bytes)| relations.entry(*id).or_default().log = *bytes);
        }
        if let Ok(usage) = self.checkpoint_usage.lock() {
            let stored = usage.0.iter();
            stored.for_each(|(id, bytes)| relations.entry(*id).or_default().checkpoint = *bytes);
        }
        relations
    }

    /// Bytes that the data directory takes on its file system.
    pub fn disk_bytes(&self) -> u64 {
        files::disk_bytes(&self.directory.path)
    }

    /// Bytes that may still be written to that file system.
    pub fn free_space(&self) -> Result<u64> {
        files::free_space(&self.directory.path)
    }

    fn check(&self) -> Result<()> {
        match &self.failure {
            None => Ok(()),
            Some(failure) => Err(Error::internal("the transaction log has failed")
                .with_detail(format!("The first failure was: {failure}."))),
        }
    }

    /// Makes an error the last thing that this store does.
    fn fail_on_error<T>(&mut self, result: Result<T>) -> Result<T> {
        if let Err(error) = &result {
            self.generation.log.abandon();
            self.failure = Some(error.clone());
        }
        result
    }
}

/// The end of a generation, in a thread: closing sled on a long log takes a good part of a second,
/// in which nothing could be appended. It is over before the next fold begins or the lock goes.
struct Removal(Option<JoinHandle<()>>);

impl Removal {
    fn start(old: Generation) -> Removal {
        Removal(Some(std::thread::spawn(move || {
            let path = old.path.clone();
            drop(old);
            if let Err(error) = files::remove_directory(&path) {
                tracing::warn!(%error, "the folded log is removed at the next start");
            }
        })))
    }

    fn finish(&mut self) {
        // A panic in it has been reported by its hook, and leaves a directory that nothing names.
        let _ = self.0.take().map(JoinHandle::join);
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests;
