//! The transaction that a session has open: its snapshot, what it has written and defined, what
//! it has read.
//!
//! Writes are buffered until COMMIT. The catalog is the snapshot's with the transaction's own
//! definitions applied. A savepoint is a place in the buffers, which only grow; as long as there
//! is one, they note what would have to be undone.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::catalog::item::Item;
use crate::catalog::objects::{Catalog, Change};
use crate::coord::request::{Commit, DdlChange, Install, ReadSet, Snapshot, TableWrite};
use crate::error::{Error, Result, SqlState};
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::session::engine::Engine;
use crate::session::merge::Together;
use crate::session::references::Deferred;
use crate::session::system::feeds;

/// How a transaction came to be, and how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Around one statement, or around the statements of one message.
    Implicit,
    /// Between BEGIN and COMMIT.
    Block,
    /// A block after an error: only its end is accepted.
    Failed,
}

/// An open transaction.
pub(super) struct Transaction {
    pub(super) mode: Mode,
    /// What it reads; its time is what `now()` shows.
    pub(super) snapshot: Arc<Snapshot>,
    /// `now()`.
    pub(super) start: Timestamp,
    /// The objects, its own included.
    pub(super) catalog: Arc<Catalog>,
    /// The version of the catalog before its own changes.
    pub(super) base: Arc<Catalog>,
    /// Whether the snapshot may be newer than what is durable.
    pub(super) at_tip: bool,
    pub(super) read_only: bool,
    /// Whether it has a subscription, which stands outside of it.
    pub(super) watches: bool,
    /// Whether the snapshot's content is given up: what comes next takes another.
    pub(super) released: bool,
    pub(super) work: Work,
    /// While statements run as one.
    pub(super) together: Option<Together>,
    pub(super) savepoints: Vec<Savepoint>,
}

/// What a transaction has done so far.
#[derive(Default)]
pub(super) struct Work {
    pub(super) ddl: Vec<DdlChange>,
    pub(super) buffers: BTreeMap<GlobalId, Buffer>,
    pub(super) reads: Vec<ReadSet>,
    /// Foreign keys that are looked at when it commits.
    pub(super) deferred: Vec<Deferred>,
    /// The entity that it is to the facts that it writes.
    pub(super) entity: Option<i64>,
    /// Buffers of tables that were dropped while there was a savepoint.
    dropped: Vec<(GlobalId, Buffer)>,
}

/// A point to go back to.
pub(super) struct Savepoint {
    pub(super) name: String,
    ddl: Vec<DdlChange>,
    /// How far each buffer had grown.
    marks: BTreeMap<GlobalId, Mark>,
    /// How many buffers were dropped.
    dropped: usize,
    catalog: Arc<Catalog>,
}

/// A place in a buffer.
#[derive(Clone, Copy)]
struct Mark {
    updates: usize,
    undo: usize,
}

/// The changes of one table that are not committed, in its layout.
#[derive(Default)]
pub(super) struct Buffer {
    pub(super) updates: Vec<(Row, Row, Diff)>,
    /// Whether a key that it touched is there after it.
    pub(super) keys: HashMap<Row, bool>,
    /// What `keys` said of a key before each change, since there is a savepoint.
    undo: Vec<(Row, Option<bool>)>,
}

impl Buffer {
    /// Adds changes: rows that go before rows that come. They can be undone where `undoable`.
    fn apply(&mut self, updates: Vec<(Row, Row, Diff)>, keyed: bool, undoable: bool) {
        if keyed {
            for present in [false, true] {
                for (key, ..) in updates.iter().filter(|(_, _, diff)| (*diff > 0) == present) {
                    let before = self.keys.insert(key.clone(), present);
                    if undoable {
                        self.undo.push((key.clone(), before));
                    }
                }
            }
        }
        if self.updates.is_empty() {
            self.updates = updates;
        } else {
            self.updates.extend(updates);
        }
    }

    fn mark(&self) -> Mark {
        Mark { updates: self.updates.len(), undo: self.undo.len() }
    }

    fn go_back(&mut self, mark: Mark) {
        self.updates.truncate(mark.updates);
        for (key, before) in self.undo.drain(mark.undo..).rev() {
            match before {
                Some(present) => self.keys.insert(key, present),
                None => self.keys.remove(&key),
            };
        }
    }

    /// The net changes.
    pub(super) fn consolidate(&mut self) {
        self.updates.sort_unstable();
        self.updates.dedup_by(|next, kept| {
            let same = next.0 == kept.0 && next.1 == kept.1;
            if same {
                kept.2 += next.2;
            }
            same
        });
        self.updates.retain(|(_, _, diff)| *diff != 0);
    }
}

impl Transaction {
    /// A transaction on a snapshot.
    pub(super) fn new(snapshot: Snapshot, start: Timestamp, mode: Mode) -> Transaction {
        let catalog = snapshot.catalog.clone();
        Transaction {
            mode,
            snapshot: Arc::new(snapshot),
            start,
            base: catalog.clone(),
            catalog,
            at_tip: false,
            read_only: false,
            watches: false,
            released: false,
            work: Work::default(),
            together: None,
            savepoints: Vec::new(),
        }
    }

    /// Whether it would change anything.
    pub(super) fn is_empty(&self) -> bool {
        self.work.ddl.is_empty() && self.work.buffers.values().all(|b| b.updates.is_empty())
    }

    /// Whether an object was made by this transaction.
    pub(super) fn made(&self, id: GlobalId) -> bool {
        self.base.get(id).is_none()
    }

    /// Whether nothing hangs on its snapshot yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_empty() && self.work.reads.is_empty() && self.savepoints.is_empty()
    }

    /// Lets go of the snapshot before a wait without end, if nothing hangs on it: a hold keeps all
    /// history since its time, and the keys of all writes.
    pub(super) fn release_snapshot(&mut self) {
        if self.is_fresh() {
            self.snapshot.release();
            self.released = true;
        }
    }

    /// Changes an object, and says what workers must do for it at COMMIT.
    pub(super) fn define(
        &mut self,
        id: GlobalId,
        item: Option<Item>,
        install: Option<Install>,
    ) -> Result<()> {
        let change = Change { id, item: item.map(Arc::new) };
        self.catalog = Arc::new(self.catalog.with(std::slice::from_ref(&change))?);
        if change.item.is_none() {
            let buffer = self.work.buffers.remove(&id);
            if !self.savepoints.is_empty() {
                self.work.dropped.extend(buffer.map(|buffer| (id, buffer)));
            }
            if self.made(id) {
                // Nobody else ever sees it.
                self.work.ddl.retain(|ddl| ddl.change.id != id);
                return Ok(());
            }
        }
        self.work.ddl.push(DdlChange { change, install });
        Ok(())
    }

    /// What it makes that takes time to become complete.
    pub(super) fn hydrating(&self) -> Vec<GlobalId> {
        let made = self.work.ddl.iter();
        let made = made.filter(|ddl| matches!(ddl.install, Some(Install::Dataflow(_))));
        made.map(|ddl| ddl.change.id).collect()
    }

    /// What the coordinator is asked to commit. The buffers are handed over: whatever comes of it,
    /// the transaction is at its end.
    pub(super) fn take_commit(
        &mut self,
        engine: &Engine,
        asynchronous: bool,
        exclusive: Option<u64>,
    ) -> Result<Commit> {
        let system = match self.work.ddl.is_empty() {
            true => vec![],
            false => feeds::changes(engine, &self.base, &self.catalog)?,
        };
        let work = std::mem::take(&mut self.work);
        let writes = work.buffers.into_iter().map(|(table, mut buffer)| {
            buffer.consolidate();
            TableWrite { table, updates: Arc::new(buffer.updates) }
        });
        Ok(Commit {
            system,
            snapshot: self.snapshot.time,
            reads: work.reads,
            writes: writes.filter(|write| !write.updates.is_empty()).collect(),
            ddl: work.ddl,
            catalog_version: self.base.version(),
            asynchronous,
            exclusive,
        })
    }

    /// How much of a table's buffer the statement sees.
    pub(super) fn seen(&self, table: GlobalId) -> usize {
        let there = self.work.buffers.get(&table).map_or(0, |buffer| buffer.updates.len());
        match &self.together {
            Some(together) => together.seen.get(&table).copied().unwrap_or(0),
            None => there,
        }
    }

    /// `SAVEPOINT`.
    pub(super) fn savepoint(&mut self, name: String) {
        let marks = self.work.buffers.iter().map(|(id, buffer)| (*id, buffer.mark())).collect();
        self.savepoints.push(Savepoint {
            name,
            ddl: self.work.ddl.clone(),
            marks,
            dropped: self.work.dropped.len(),
            catalog: self.catalog.clone(),
        });
    }

    /// Buffers changes of a table.
    pub(super) fn buffer(&mut self, table: GlobalId, updates: Vec<(Row, Row, Diff)>, keyed: bool) {
        let undoable = !self.savepoints.is_empty();
        self.work.buffers.entry(table).or_default().apply(updates, keyed, undoable);
    }

    /// What an error in a block leaves of its work: what a savepoint may need.
    pub(super) fn fail(&mut self) {
        self.mode = Mode::Failed;
        if self.savepoints.is_empty() {
            self.work.buffers.clear();
        }
    }

    /// `RELEASE SAVEPOINT`; returns how many there are around it.
    pub(super) fn release(&mut self, name: &str) -> Result<usize> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at);
        if self.savepoints.is_empty() {
            self.work.buffers.values_mut().for_each(|buffer| buffer.undo.clear());
            self.work.dropped.clear();
        }
        Ok(at)
    }

    /// `ROLLBACK TO SAVEPOINT`, which also heals a failed block. What was read stays read.
    /// Returns how many savepoints there are around it.
    pub(super) fn rollback_to(&mut self, name: &str) -> Result<usize> {
        let at = self.find_savepoint(name)?;
        self.savepoints.truncate(at + 1);
        let savepoint = &self.savepoints[at];
        let work = &mut self.work;
        work.buffers.extend(work.dropped.drain(savepoint.dropped..));
        work.buffers.retain(|table, buffer| {
            let mark = savepoint.marks.get(table);
            mark.is_some_and(|mark| {
                buffer.go_back(*mark);
                true
            })
        });
        work.ddl = savepoint.ddl.clone();
        self.catalog = savepoint.catalog.clone();
        self.mode = Mode::Block;
        Ok(at)
    }

    fn find_savepoint(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|savepoint| savepoint.name == name).ok_or_else(|| {
            Error::new(SqlState::INVALID_SAVEPOINT, format!("savepoint \"{name}\" does not exist"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_goes_back_to_where_it_was() {
        let row = |text: &str| Row::new(text.as_bytes());
        let change = |key: &str, diff| (row(key), row("value"), diff);
        let mut buffer = Buffer::default();
        buffer.apply(vec![change("a", 1), change("b", 1)], true, false);
        let (mark, keys) = (buffer.mark(), buffer.keys.clone());
        buffer.apply(vec![change("a", 1), change("a", -1), change("b", -1)], true, true);
        let inner = buffer.mark();
        buffer.apply(vec![change("b", 1), change("c", 1)], true, true);
        buffer.apply(vec![change("c", -1)], true, true);
        assert_eq!(buffer.keys.get(&row("c")), Some(&false));
        buffer.go_back(inner);
        let expected = [("a", Some(true)), ("b", Some(false)), ("c", None)];
        for (key, present) in expected {
            assert_eq!(buffer.keys.get(&row(key)).copied(), present, "{key}");
        }
        buffer.go_back(mark);
        assert_eq!((buffer.keys, buffer.updates.len()), (keys, 2));
    }
}
