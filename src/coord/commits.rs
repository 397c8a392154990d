//! Commits: one after the other, each at its own time.
//!
//! A commit is valid at time `c` if nothing that it read at its snapshot `s` has changed in
//! `(s, c)`: the time of the last change is tried first, then the keys that were written since.
//! It is applied to the workers and handed to the log at once; the answer waits until it is
//! durable and what it made is complete. Everything that can be refused is refused before a time
//! is assigned.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use crate::catalog::item::ItemKind;
use crate::catalog::objects;
use crate::coord::coordinator::Coordinator;
use crate::coord::log_writer::LogRequest;
use crate::coord::objects::Object;
use crate::coord::request::{
    Commit, DdlChange, Event, Exclusive, Install, ReadSet, Reply, RowTest, TableWrite,
};
use crate::dataflow::command::{Command, Write};
use crate::error::{Error, Result, SqlState};
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::storage::{Change, Transaction};

/// The name under which the log keeps the next object id: ids are never reused.
pub(super) const NEXT_ID: &str = "next_id";
/// The version of rows as long as no table can be altered.
pub(super) const ROW_VERSION: u32 = 0;

/// An acknowledgement that is still owed.
pub(super) struct Ack {
    time: Timestamp,
    /// What has to be complete.
    made: Vec<GlobalId>,
    reply: Reply<Timestamp>,
}

/// A table's changes, as commands and log records share them.
pub(super) type Updates = Arc<Vec<(Row, Row, Diff)>>;

/// Writes since the oldest snapshot that is held.
#[derive(Default)]
pub(super) struct Recent {
    writes: VecDeque<(Timestamp, GlobalId, Updates)>,
    /// Writes up to here may be missing.
    floor: Timestamp,
}

impl Recent {
    fn add(&mut self, time: Timestamp, table: GlobalId, updates: Updates) {
        self.writes.push_back((time, table, updates));
    }

    /// Forgets what all snapshots have seen.
    pub(super) fn forget(&mut self, through: Timestamp) {
        while let Some((time, ..)) = self.writes.front()
            && *time <= through
        {
            self.floor = *time;
            self.writes.pop_front();
        }
    }

    /// A write that no snapshot is there to miss.
    fn pass(&mut self, time: Timestamp) {
        self.floor = time;
    }

    /// Whether a row of a table that passes a test was written after a time.
    fn passes(&self, table: GlobalId, test: &RowTest, after: Timestamp) -> bool {
        if after < self.floor {
            return true;
        }
        let newer = self.writes.iter().rev().take_while(|(time, _, _)| *time > after);
        newer
            .filter(|(_, id, _)| *id == table)
            .any(|(_, _, updates)| updates.iter().any(|(key, value, _)| (test.0)(key, value)))
    }

    /// Whether one of the keys of a table was written after a time.
    fn touches(&self, table: GlobalId, keys: &[Row], after: Timestamp) -> bool {
        if after < self.floor {
            // The session is gone, and its hold with it: only its commit is still here.
            return true;
        }
        let mut wanted: Option<HashSet<&Row>> = None;
        self.writes.iter().rev().take_while(|(time, _, _)| *time > after).any(|(_, id, updates)| {
            if *id != table {
                return false;
            }
            let wanted = wanted.get_or_insert_with(|| keys.iter().collect());
            updates.iter().any(|(key, _, _)| wanted.contains(key))
        })
    }
}

impl Coordinator {
    pub(super) fn commit_request(&mut self, commit: Box<Commit>, reply: Reply<Timestamp>) {
        if self.exclusive.is_some() && self.exclusive != commit.exclusive {
            self.deferred.push_back(Event::Commit { commit, reply });
            return;
        }
        if let Err(error) = self.validate(&commit) {
            let _ = reply.send(Err(error));
            return;
        }
        self.apply(*commit, reply);
    }

    fn validate(&self, commit: &Commit) -> Result<()> {
        if !commit.ddl.is_empty() {
            if commit.catalog_version != self.catalogs.tip.version() {
                return Err(conflict());
            }
            let changes: Vec<_> = commit.ddl.iter().map(|ddl| ddl.change.clone()).collect();
            self.catalogs.tip.with(&changes)?;
        }
        let made: HashSet<GlobalId> =
            commit.ddl.iter().filter(|d| d.install.is_some()).map(|d| d.change.id).collect();
        for write in &commit.writes {
            if !made.contains(&write.table) && self.catalogs.tip.get(write.table).is_none() {
                return Err(conflict());
            }
        }
        // What it wrote was checked by rules that there were at its snapshot.
        let ruled = |table| self.objects.get(table).map_or(0, |object| object.ruled);
        if commit.writes.iter().any(|write| ruled(write.table) > commit.snapshot) {
            return Err(conflict());
        }
        let written = commit.writes.iter().map(|write| write.table);
        let imported = commit.ddl.iter().filter_map(|ddl| match &ddl.install {
            Some(Install::Dataflow(plan)) => Some(plan.imports.iter().map(|i| i.id.index)),
            _ => None,
        });
        if let Some(error) = written.chain(imported.flatten()).find_map(|id| self.broken.get(&id)) {
            return Err(error.clone());
        }
        if commit.reads.iter().any(|read| self.has_changed(read, commit.snapshot)) {
            return Err(conflict());
        }
        if self.log.is_full() {
            return Err(Error::new(
                SqlState::DISK_FULL,
                "could not write to the transaction log: no space left on device",
            )
            .with_hint("Reads go on. Free space on the file system of the data directory."));
        }
        Ok(())
    }

    fn has_changed(&self, read: &ReadSet, snapshot: Timestamp) -> bool {
        let Some(object) = self.objects.get(read.object) else { return true };
        if object.last_change <= snapshot {
            return false;
        }
        if let Some(test) = &read.test {
            return self.recent.passes(read.object, test, snapshot);
        }
        match &read.keys {
            Some(keys) if object.imports.is_empty() => {
                self.recent.touches(read.object, keys, snapshot)
            }
            _ => true,
        }
    }

    fn apply(&mut self, commit: Commit, reply: Reply<Timestamp>) {
        let time = self.clock.next();
        let mut changes = Vec::with_capacity(commit.ddl.len() + commit.writes.len());
        let indexes = self.dropped_indexes(&commit.ddl);
        if !commit.ddl.is_empty() {
            let catalog = commit.ddl.iter().map(|ddl| ddl.change.clone()).collect::<Vec<_>>();
            match self.define(time, &catalog, &mut changes) {
                Ok(()) => {}
                Err(error) => {
                    let _ = reply.send(Err(error));
                    return;
                }
            }
        }
        for ddl in &commit.ddl {
            if let Some(Install::Table(layout)) = &ddl.install {
                let (id, layout) = (ddl.change.id, layout.clone());
                self.flush();
                self.workers.send(Command::CreateTable { id, layout, since: time });
                let retain = self.retain_of(id);
                self.objects.add(id, Object { since: time, retain, ..Object::default() });
            }
        }
        self.note_rules(time, &commit.ddl);
        self.write(time, commit.writes, &mut changes);
        self.write_system(time, commit.system);
        let made = self.install(time, commit.ddl, &indexes);
        self.gate.applied(time);
        self.log.send(LogRequest::Append(Transaction { time, changes }));
        if commit.asynchronous && made.is_empty() {
            let _ = reply.send(Ok(time));
        } else {
            self.acks.push(Ack { time, made, reply });
        }
    }

    /// Remembers which tables have other rules now than before.
    fn note_rules(&mut self, time: Timestamp, ddl: &[DdlChange]) {
        for change in ddl {
            let table = match change.change.item.as_deref().map(|item| (item.id, &item.kind)) {
                Some((id, ItemKind::Table(_))) => id,
                Some((_, ItemKind::Constraint(constraint))) => constraint.on,
                _ => continue,
            };
            if let Some(object) = self.objects.get_mut(table) {
                object.ruled = time;
            }
        }
    }

    /// Makes the next catalog, and the log's record of it.
    fn define(
        &mut self,
        time: Timestamp,
        catalog: &[objects::Change],
        changes: &mut Vec<Change>,
    ) -> Result<()> {
        let next = Arc::new(self.catalogs.tip.with(catalog)?);
        for change in catalog {
            let item = match &change.item {
                None => None,
                Some(item) => Some(postcard::to_stdvec(&**item).map_err(|e| {
                    Error::internal(format!("could not store object {}: {e}", change.id))
                })?),
            };
            changes.push(Change::Catalog { id: change.id, item });
            if let Some((last_value, is_called)) = self.sequences.state(change.id) {
                changes.push(Change::Sequence { id: change.id, last_value, is_called });
            }
        }
        let value = Some(self.next_id.0.to_string());
        changes.push(Change::Setting { name: NEXT_ID.into(), value });
        catalog.iter().filter_map(|change| change.item.as_ref()).for_each(|item| item.register());
        self.catalogs.tip = next.clone();
        self.catalogs.pending.push_back((time, next));
        Ok(())
    }

    fn write(&mut self, time: Timestamp, writes: Vec<TableWrite>, changes: &mut Vec<Change>) {
        for TableWrite { table, updates } in writes {
            if updates.is_empty() {
                continue;
            }
            self.objects.written([table], time, &mut self.woken);
            self.note_written(time, table, &updates);
            let logged = updates.clone();
            changes.push(Change::Rows { relation: table, version: ROW_VERSION, updates: logged });
            self.writes.push(Write { time, table, updates });
        }
    }

    /// Remembers a write as long as a snapshot may miss it.
    pub(super) fn note_written(&mut self, time: Timestamp, table: GlobalId, updates: &Updates) {
        match self.holds.is_empty() {
            true => self.recent.pass(time),
            false => self.recent.add(time, table, updates.clone()),
        }
    }

    /// The indexes that go, each with its relation.
    fn dropped_indexes(&self, ddl: &[DdlChange]) -> HashMap<GlobalId, GlobalId> {
        let dropped = ddl.iter().filter(|ddl| ddl.change.item.is_none());
        let items = dropped.filter_map(|ddl| self.catalogs.tip.get(ddl.change.id));
        items
            .filter_map(|item| match &item.kind {
                ItemKind::Index(index) => Some((item.id, index.on)),
                _ => None,
            })
            .collect()
    }

    /// Carries out what a commit defines on the workers; says what has to become complete.
    fn install(
        &mut self,
        time: Timestamp,
        ddl: Vec<DdlChange>,
        indexes: &HashMap<GlobalId, GlobalId>,
    ) -> Vec<GlobalId> {
        let mut made = Vec::new();
        for DdlChange { change, install } in ddl {
            match install {
                Some(Install::Dataflow(mut plan)) => {
                    plan.id = change.id;
                    plan.as_of = time;
                    self.create_dataflow(*plan, time);
                    made.push(change.id);
                }
                Some(Install::Table(_)) => {}
                None if change.item.is_none() => {
                    // Whoever found rows by an index goes on as long as there are rows.
                    let relation = indexes.get(&change.id);
                    if relation.is_none_or(|on| self.catalogs.tip.get(*on).is_none()) {
                        self.end_subscriptions(change.id);
                    }
                    self.retire(change.id);
                }
                None => {}
            }
        }
        made
    }

    /// Builds a maintained dataflow that shows all through `through`.
    pub(super) fn create_dataflow(
        &mut self,
        plan: crate::plan::physical::Dataflow,
        through: Timestamp,
    ) {
        self.flush();
        let plan = Arc::new(plan);
        let imports: Vec<GlobalId> = plan.imports.iter().map(|i| i.id.index).collect();
        let newest = imports.iter().map(|i| self.objects.last_change(*i)).max().unwrap_or(0);
        self.objects.add(
            plan.id,
            Object {
                imports,
                last_change: newest.max(plan.as_of),
                since: plan.as_of,
                dirty: true,
                retain: self.retain_of(plan.id),
                hydrating: self.workers.count(),
                began: Some(Instant::now()),
                timed: plan.reads_clock(),
                plan: Some(Arc::clone(&plan)),
                ..Object::default()
            },
        );
        let through = through.max(plan.as_of);
        let below = plan.imports.iter().map(|import| (import.id.index, through)).collect();
        self.let_time_pass(below);
        let promise = self.objects.promise(plan.id, through);
        self.workers.send(Command::CreateDataflow { plan, reader: None, promise });
    }

    fn retire(&mut self, id: GlobalId) {
        self.broken.remove(&id);
        self.sequences.forget(id);
        let Some(object) = self.objects.get_mut(id) else { return };
        object.retired = true;
        self.remove_unused(id);
    }

    /// How long an object's history stays readable, in nanoseconds.
    pub(super) fn retain_of(&self, id: GlobalId) -> Timestamp {
        let retain_ms = self.catalogs.tip.get(id).and_then(|item| item.retain_ms());
        retain_ms.map_or(self.retain, |ms| ms.saturating_mul(1_000_000))
    }

    /// Sends the acknowledgements whose conditions have come true.
    pub(super) fn acknowledge(&mut self) {
        let durable = self.gate.durable();
        for ack in std::mem::take(&mut self.acks) {
            let complete = ack
                .made
                .iter()
                .all(|id| self.objects.get(*id).is_none_or(|object| object.hydrating == 0));
            if ack.time <= durable && complete {
                let _ = ack.reply.send(Ok(ack.time));
            } else {
                self.acks.push(ack);
            }
        }
    }

    pub(super) fn hydrated(&mut self, dataflow: GlobalId, read: u64) {
        if let Some(object) = self.objects.get_mut(dataflow) {
            object.hydrating = object.hydrating.saturating_sub(1);
            object.read += read;
            object.took = object.began.map(|began| began.elapsed());
            if object.hydrating == 0 {
                self.acknowledge();
            }
        }
    }

    pub(super) fn exclusive_request(&mut self, reply: Reply<Exclusive>) {
        if self.exclusive.is_some() {
            self.deferred.push_back(Event::Exclusive { reply });
            return;
        }
        let token = self.number();
        let guard = Exclusive { token, events: self.events.clone() };
        // A guard that nobody takes is dropped by the channel, and that gives the token back.
        self.exclusive = Some(token);
        let _ = reply.send(Ok(guard));
    }

    pub(super) fn end_exclusive(&mut self, token: u64) {
        if self.exclusive != Some(token) {
            return;
        }
        self.exclusive = None;
        for event in std::mem::take(&mut self.deferred) {
            match event {
                Event::Commit { commit, reply } => self.commit_request(commit, reply),
                Event::Exclusive { reply } => self.exclusive_request(reply),
                _ => {}
            }
        }
    }
}

/// What a transaction is told that read something which has changed since.
fn conflict() -> Error {
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to concurrent update",
    )
    .with_hint("The transaction might succeed if retried.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_counts_as_changed() {
        let (table, key) = (GlobalId(1), Row::new(b"k"));
        let mut recent = Recent::default();
        let touches =
            |recent: &Recent, after| recent.touches(table, std::slice::from_ref(&key), after);
        recent.add(10, table, Arc::new(vec![(Row::new(b"other"), Row::new(b""), 1)]));
        recent.add(20, table, Arc::new(vec![(key.clone(), Row::new(b""), 1)]));
        assert!(touches(&recent, 5) && touches(&recent, 19) && !touches(&recent, 20));
        recent.forget(20);
        assert!(touches(&recent, 19) && !touches(&recent, 20));
        recent.pass(30);
        assert!(touches(&recent, 20) && !touches(&recent, 30));
    }
}
