//! What an opened store gives back: the state at once, rows and transactions as streams.
//!
//! There may be millions of rows, so nothing here holds more than one chunk or one transaction.
//! The streams stand on their own: the store may be written, folded or closed while they are read.
//! Until they are read or dropped they keep the files they read, and a directory that a fold has
//! replaced keeps its space.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::storage::checkpoint::ChunkReader;
use crate::storage::frame::{LAST, Link, Record};
use crate::storage::log::{damaged, sled_error};
use crate::storage::record::Transaction;
use crate::storage::usage::Shared;

/// All that is stored, as of the opening of the store.
pub struct Recovered {
    /// The first time that was never given to anybody: above every transaction, and no client can
    /// have seen one at or above it.
    pub lease: Timestamp,
    /// The stored form of each object, after the whole log.
    pub catalog: BTreeMap<GlobalId, Vec<u8>>,
    /// Through which value each sequence is spent, and whether that value is; after the whole log.
    pub sequences: BTreeMap<GlobalId, (i64, bool)>,
    /// The settings that are not at their default, after the whole log.
    pub settings: BTreeMap<String, String>,
    /// The time of the checkpoint that `relations` reads. No earlier time can be read any more.
    pub checkpoint: Option<Timestamp>,
    /// The rows at the checkpoint. Relations that the log drops later are among them.
    pub relations: CheckpointRows,
    /// The transactions after the checkpoint, in order, at their own times.
    pub log: LogTransactions,
}

/// Some rows of one relation, encoded by one version of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowChunk {
    /// Whose rows.
    pub relation: GlobalId,
    /// By which version they are encoded.
    pub version: u32,
    /// Key, value and multiplicity. A multiplicity can be negative only where rows of different
    /// versions cancel out.
    pub updates: Vec<(Row, Row, Diff)>,
}

/// The rows of a checkpoint, by relation, version, key and value. Ends after an error.
pub struct CheckpointRows {
    reader: Option<ChunkReader>,
    /// Where what is read is counted.
    usage: Shared,
}

impl CheckpointRows {
    /// The rows that a reader stands before; none without one. They are counted as they come.
    pub(super) fn new(reader: Option<ChunkReader>, usage: Shared) -> CheckpointRows {
        CheckpointRows { reader, usage }
    }
}

impl Iterator for CheckpointRows {
    type Item = Result<RowChunk>;

    fn next(&mut self) -> Option<Result<RowChunk>> {
        let next = self.reader.as_mut()?.next_rows().transpose();
        match &next {
            Some(Ok(chunk)) => {
                if let Ok(mut usage) = self.usage.lock() {
                    usage.add(chunk.relation, &chunk.updates);
                }
            }
            _ => self.reader = None,
        }
        next
    }
}

/// The transactions of a log in order. Ends after an error.
pub struct LogTransactions {
    /// `None` at the end, so that sled's files are let go of.
    records: Option<sled::Iter>,
    path: PathBuf,
    last: Link,
    end: Option<u64>,
    /// Where what is read is counted, if it is.
    usage: Option<Shared>,
}

impl LogTransactions {
    /// The transactions in records that follow one, up to a number or as far as there are any.
    pub(super) fn new(
        records: sled::Iter,
        path: &Path,
        base: Link,
        end: Option<u64>,
    ) -> LogTransactions {
        let (records, path) = (Some(records), path.to_owned());
        LogTransactions { records, path, last: base, end, usage: None }
    }

    /// The same, counted as they come.
    pub(super) fn counted(mut self, usage: Shared) -> LogTransactions {
        self.usage = Some(usage);
        self
    }

    /// The last record read.
    pub(super) fn position(&self) -> Link {
        self.last
    }

    fn read(&mut self) -> Result<Option<Transaction>> {
        let mut parts = Vec::new();
        let mut inside = false;
        while inside || self.end.is_none_or(|end| self.last.number < end) {
            let Some(item) = self.records.as_mut().and_then(Iterator::next) else { break };
            let (_, value) = item.map_err(|e| sled_error("read file", &self.path, e))?;
            let next = self.last.number + 1;
            let record = Record::decode(&value)
                .filter(|record| record.follows(self.last, inside))
                .ok_or_else(|| damaged(&self.path, next))?;
            self.last = record.link;
            let last = record.flags & LAST != 0;
            if last && !inside {
                return decode(record.payload, &self.path, next).map(Some);
            }
            parts.extend_from_slice(record.payload);
            if last {
                return decode(&parts, &self.path, next).map(Some);
            }
            inside = true;
        }
        // The end was checked when the log was opened, so records have gone since.
        if inside || self.end.is_some_and(|end| self.last.number < end) {
            return Err(damaged(&self.path, self.last.number + 1));
        }
        Ok(None)
    }
}

fn decode(bytes: &[u8], path: &Path, number: u64) -> Result<Transaction> {
    postcard::from_bytes(bytes).map_err(|_| damaged(path, number))
}

impl Iterator for LogTransactions {
    type Item = Result<Transaction>;

    fn next(&mut self) -> Option<Result<Transaction>> {
        self.records.as_ref()?;
        let next = self.read().transpose();
        match (&next, &self.usage) {
            (Some(Ok(transaction)), Some(usage)) => {
                if let Ok(mut usage) = usage.lock() {
                    usage.add_transaction(transaction);
                }
            }
            (Some(Ok(_)), None) => {}
            _ => self.records = None,
        }
        next
    }
}
