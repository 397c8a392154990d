//! The log of one generation: records in a sled tree, by their number.
//!
//! Invariants: the keys are the big-endian numbers from the one after `base` to `last`, dense; each
//! record holds its predecessor's checksum; `last` ends a transaction. A failed write breaks them,
//! and is final: the log refuses everything after it, and whoever opens the store next decides from
//! what is on disk.
//!
//! sled is used narrowly, because that is what of it can be trusted: one tree, one writer, no
//! flusher thread, no transactions, and no removals but of a torn tail.

use std::fs::{self, File};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result, SqlState};
use crate::repr::Timestamp;
use crate::storage::files;
use crate::storage::frame::{self, FIRST, LAST, Link, PAYLOAD_BYTES_MAX, Record, STATE};
use crate::storage::record::Transaction;
use crate::storage::recovery::LogTransactions;
use crate::storage::state::State;

/// sled's page cache; its own default is 1 GiB.
const CACHE_BYTES: u64 = 64 << 20;

/// An open log.
pub(super) struct Log {
    db: sled::Db,
    /// sled's data file through a handle of ours: sled's flush is no fsync.
    file: File,
    path: PathBuf,
    /// The record before the first of this log.
    pub base: Link,
    /// The last record.
    pub last: Link,
    /// The time of the last transaction, in this log or before it.
    pub last_time: Timestamp,
    /// Bytes of the records.
    pub bytes: u64,
    dirty: bool,
    record: Vec<u8>,
}

/// What the records that are there amount to.
struct Verified {
    last: Link,
    last_time: Timestamp,
    bytes: u64,
}

impl Log {
    /// Makes the empty log after a record and its time.
    pub fn create(path: &Path, base: Link, time: Timestamp) -> Result<Log> {
        files::create_directory(path)?;
        let db = open_sled(path)?;
        let file = own_handle(path)?;
        let mut log = Log {
            db,
            file,
            path: path.to_owned(),
            base,
            last: base,
            last_time: time,
            bytes: 0,
            dirty: true,
            record: Vec::new(),
        };
        log.sync()?;
        files::sync_file(&path.join("conf"))?;
        files::sync_directory(path)?;
        Ok(log)
    }

    /// Opens the log after a record and its time, checks all of it, cuts a torn tail, and applies
    /// to `state` what the transactions change of it. `synced` is the last record that was known
    /// to be durable.
    pub fn open(
        path: &Path,
        base: Link,
        time: Timestamp,
        synced: Link,
        state: &mut State,
    ) -> Result<Log> {
        let db = open_sled(path)?;
        let file = own_handle(path)?;
        let verified = verify(&db, &path.join("db"), (base, time), synced, state)?;
        let mut log = Log {
            db,
            file,
            path: path.to_owned(),
            base,
            last: verified.last,
            last_time: verified.last_time,
            bytes: verified.bytes,
            dirty: true,
            record: Vec::new(),
        };
        log.cut_tail()?;
        log.sync()?;
        files::sync_directory(path)?;
        Ok(log)
    }

    /// Removes what lies behind the last whole transaction.
    fn cut_tail(&mut self) -> Result<()> {
        let mut cut = 0u64;
        for item in self.db.range(key_after(self.last)..) {
            let (key, _) = item.map_err(|e| sled_error("read file", &self.path, e))?;
            self.db.remove(&key).map_err(|e| sled_error("write to file", &self.path, e))?;
            cut += 1;
        }
        if cut > 0 {
            tracing::warn!(
                records = cut,
                after = self.last.number,
                path = %self.path.display(),
                "cut an unfinished transaction off the end of the log"
            );
        }
        Ok(())
    }

    /// Appends a transaction; it is durable after the next [`Log::sync`].
    pub fn append(&mut self, transaction: &Transaction) -> Result<()> {
        let flags = if transaction.changes_state() { STATE } else { 0 };
        let mut writer = Parts {
            log: self,
            time: transaction.time,
            flags: flags | FIRST,
            payload: Vec::new(),
            error: None,
        };
        match postcard::to_io(transaction, &mut writer) {
            Ok(_) => writer.finish()?,
            Err(e) => {
                let error = writer.error.take();
                return Err(error.unwrap_or_else(|| {
                    Error::internal(format!("could not encode a transaction: {e}"))
                }));
            }
        }
        self.last_time = transaction.time;
        Ok(())
    }

    /// Appends the next record of another log as it stands there.
    pub fn append_record(&mut self, bytes: &[u8]) -> Result<()> {
        let record = Record::decode(bytes)
            .filter(|r| r.link.number == self.last.number + 1 && r.previous_crc == self.last.crc)
            .ok_or_else(|| damaged(&self.path, self.last.number + 1))?;
        self.put(record.link, bytes)?;
        self.last_time = record.time;
        Ok(())
    }

    fn put(&mut self, link: Link, bytes: &[u8]) -> Result<()> {
        self.dirty = true;
        self.db
            .insert(link.number.to_be_bytes(), bytes)
            .map_err(|e| sled_error("write to file", &self.path, e))?;
        self.bytes += bytes.len() as u64;
        self.last = link;
        Ok(())
    }

    /// Makes all that was appended durable; tells whether there was anything.
    pub fn sync(&mut self) -> Result<bool> {
        if !self.dirty {
            return Ok(false);
        }
        self.db.flush().map_err(|e| sled_error("write to file", &self.path, e))?;
        self.file.sync_data().map_err(|e| files::io_error("fsync file", &self.path, &e))?;
        self.dirty = false;
        Ok(true)
    }

    /// Leaves sled's files as they are from here on: closing it would write again what may have
    /// failed, or panic on it. For a log of which an operation has failed.
    pub fn abandon(&self) {
        std::mem::forget(self.db.clone());
    }

    /// The records after one, as bytes.
    pub fn records_after(&self, after: Link) -> impl Iterator<Item = Result<sled::IVec>> {
        let path = self.path.clone();
        self.db
            .range(key_after(after)..)
            .map(move |item| item.map(|(_, v)| v).map_err(|e| sled_error("read file", &path, e)))
    }

    /// The time of the first transaction.
    pub fn first_time(&self) -> Result<Option<Timestamp>> {
        let Some(bytes) = self.records_after(self.base).next().transpose()? else {
            return Ok(None);
        };
        match Record::decode(&bytes) {
            Some(record) => Ok(Some(record.time)),
            None => Err(damaged(&self.path, self.base.number + 1)),
        }
    }

    /// The transactions in order: those that are there now, or also those that come meanwhile.
    pub fn transactions(&self, end: Option<Link>) -> LogTransactions {
        let range = key_after(self.base)..;
        let records = self.db.range(range);
        LogTransactions::new(records, &self.path, self.base, end.map(|link| link.number))
    }
}

/// Cuts a transaction's bytes into records while they are made.
struct Parts<'a> {
    log: &'a mut Log,
    time: Timestamp,
    /// Of the next record.
    flags: u8,
    payload: Vec<u8>,
    /// What went wrong, since the encoder forgets it.
    error: Option<Error>,
}

impl Parts<'_> {
    fn put(&mut self, more: u8) -> Result<()> {
        let mut record = std::mem::take(&mut self.log.record);
        let flags = self.flags | more;
        let link = frame::encode(self.log.last, self.time, flags, &self.payload, &mut record);
        self.log.put(link, &record)?;
        self.log.record = record;
        self.flags &= !FIRST;
        self.payload.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        self.put(LAST)
    }
}

impl Write for Parts<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Only when more comes is a full record known not to be the last.
        if self.payload.len() == PAYLOAD_BYTES_MAX
            && let Err(error) = self.put(0)
        {
            self.error = Some(error);
            return Err(io::Error::other("the log refused a record"));
        }
        let taken = bytes.len().min(PAYLOAD_BYTES_MAX - self.payload.len());
        self.payload.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The first key that a record after this one can have.
fn key_after(link: Link) -> [u8; 8] {
    (link.number + 1).to_be_bytes()
}

/// Reads to the first gap and checks that nothing valid lies behind it.
fn verify(
    db: &sled::Db,
    path: &Path,
    (base, time): (Link, Timestamp),
    synced: Link,
    state: &mut State,
) -> Result<Verified> {
    let mut verified = Verified { last: base, last_time: time, bytes: 0 };
    let (mut last, mut bytes) = (base, 0);
    let mut gap = None;
    // The parts of an open transaction, kept only if it changes the state.
    let (mut inside, mut parts) = (false, Vec::new());
    for item in db.iter() {
        let (key, value) = item.map_err(|e| sled_error("read file", path, e))?;
        let expected = last.number + 1;
        let record = Record::decode(&value).filter(|r| *key == r.link.number.to_be_bytes());
        let Some(record) = record else {
            gap.get_or_insert(expected);
            continue;
        };
        let number = record.link.number;
        if gap.is_some() || !record.follows(last, inside) {
            let gap = gap.unwrap_or(expected);
            let what =
                if number == gap { "does not follow" } else { "is damaged or missing before" };
            return Err(files::corrupted(path, gap_message(gap, number, what)));
        }
        if number == synced.number && record.link.crc != synced.crc {
            return Err(files::corrupted(path, format!("record {number} is not the one written")));
        }
        (last, inside) = (record.link, record.flags & LAST == 0);
        bytes += value.len() as u64;
        if record.flags & STATE != 0 {
            parts.extend_from_slice(record.payload);
        }
        if !inside {
            verified = Verified { last, last_time: record.time, bytes };
            if record.flags & STATE != 0 {
                let transaction: Transaction =
                    postcard::from_bytes(&parts).map_err(|_| damaged(path, number))?;
                transaction.changes.iter().for_each(|change| state.apply(change));
                parts.clear();
            }
        }
    }
    if verified.last.number < synced.number {
        let (ends, durable) = (verified.last.number, synced.number);
        let message = format!("it ends at record {ends}, but record {durable} was acknowledged");
        return Err(files::corrupted(path, message));
    }
    Ok(verified)
}

fn gap_message(gap: u64, number: u64, what: &str) -> String {
    if number == gap {
        format!("record {number} {what} the record before it")
    } else {
        format!("record {gap} {what} the valid record {number}")
    }
}

/// The error of a record that is there and wrong.
pub(super) fn damaged(path: &Path, number: u64) -> Error {
    files::corrupted(path, format!("record {number} of the log does not have its checksum"))
}

/// An error of sled as ours.
pub(super) fn sled_error(action: &str, path: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(e) => files::io_error(action, path, &e),
        sled::Error::Corruption { at, .. } => files::corrupted(
            path,
            match at {
                Some(at) => format!("the log cannot be read at {at:?}"),
                None => "the log cannot be read".to_owned(),
            },
        ),
        other => Error::internal(format!("could not {action} \"{}\": {other}", path.display())),
    }
}

/// A second handle on sled's data file, only to sync it.
fn own_handle(path: &Path) -> Result<File> {
    let file = path.join("db");
    fs::OpenOptions::new()
        .write(true)
        .open(&file)
        .map_err(|e| files::io_error("open file", &file, &e))
}

/// Opens sled, around its two known faults at start-up: a half-written snapshot file, left by a
/// kill, makes it refuse, and so does a damaged one, though it can do without any.
pub(super) fn open_sled(path: &Path) -> Result<sled::Db> {
    for name in snapshots(path)? {
        if name.extension().is_some_and(|extension| extension == "generating") {
            fs::remove_file(&name).map_err(|e| files::io_error("remove file", &name, &e))?;
        }
    }
    match try_open_sled(path) {
        Err(error) if error.code == SqlState::DATA_CORRUPTED => {
            tracing::warn!(
                path = %path.display(),
                %error,
                "moving the snapshots of the log aside to open it without them"
            );
            for name in snapshots(path)? {
                let file_name = name.file_name().unwrap_or_default().to_string_lossy();
                let aside = path.join(format!("aside.{file_name}"));
                fs::rename(&name, &aside).map_err(|e| files::io_error("rename file", &name, &e))?;
            }
            try_open_sled(path)
        }
        result => result,
    }
}

fn try_open_sled(path: &Path) -> Result<sled::Db> {
    let config = sled::Config::new().path(path).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    // A store just closed in this process can hold sled's own lock for a moment longer, while
    // sled's threads let go of it. Ours is held, so nobody else can have it.
    let mut attempts_left = 200;
    loop {
        // Damaged files can break sled's assertions, too.
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()))
            .unwrap_or_else(|_| Err(sled::Error::Corruption { at: None, bt: () }));
        match opened {
            Ok(db) => return Ok(db),
            Err(sled::Error::Io(e))
                if attempts_left > 0 && e.to_string().contains("could not acquire lock") =>
            {
                attempts_left -= 1;
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            Err(e) => return Err(sled_error("open file", &path.join("db"), e)),
        }
    }
}

/// sled's snapshot files, finished or not.
fn snapshots(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path).map_err(|e| files::io_error("read directory", path, &e))?;
    let names = entries.flatten().map(|entry| entry.path());
    let is_snapshot =
        |name: &PathBuf| name.file_name().is_some_and(|n| n.to_string_lossy().starts_with("snap."));
    Ok(names.filter(is_snapshot).collect())
}
