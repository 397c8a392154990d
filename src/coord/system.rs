//! System relations: sequenced in the same time as all others, and never logged.
//!
//! What a definition changes in them is written at the time of its commit; other feeds get a time
//! of their own. That time needs no log record: whoever reads at it has been given a later one,
//! which the lease covers.

use std::sync::Arc;

use crate::coord::coordinator::Coordinator;
use crate::coord::objects::Object;
use crate::coord::request::TableWrite;
use crate::dataflow::command::{Command, Write};
use crate::plan::physical::Arrangement;
use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// When constant rows come: before everything else.
const FIRST: Timestamp = 1;

impl Coordinator {
    /// Makes a relation with the rows that it begins with, readable from `since` on.
    pub(super) fn provide(
        &mut self,
        id: GlobalId,
        layout: Arrangement,
        since: Timestamp,
        rows: Arc<Vec<(Row, Row, Diff)>>,
    ) {
        if self.objects.get(id).is_some() {
            return;
        }
        self.flush();
        self.workers.send(Command::CreateTable { id, layout, since });
        let retain = self.retain;
        self.objects.add(id, Object { since, retain, ..Object::default() });
        if rows.is_empty() {
            return;
        }
        let time = since.max(FIRST);
        if let Some(object) = self.objects.get_mut(id) {
            object.last_change = time;
        }
        let write = Write { time, table: id, updates: rows };
        self.workers.send(Command::Write(Arc::new(vec![write])));
    }

    /// Writes to system relations at a new time.
    pub(super) fn feed(&mut self, writes: Vec<TableWrite>) {
        let time = self.clock.next();
        self.write_system(time, writes);
        if self.readers.values().any(|reader| reader.kind.has_dataflow()) {
            self.ask_lease(time);
        }
    }

    /// Writes to system relations at a time, those of them that are there.
    pub(super) fn write_system(&mut self, time: Timestamp, writes: Vec<TableWrite>) {
        for TableWrite { table, updates } in writes {
            if updates.is_empty() || self.objects.get(table).is_none() {
                continue;
            }
            self.objects.written([table], time, &mut self.woken);
            self.note_written(time, table, &updates);
            self.writes.push(Write { time, table, updates });
        }
    }
}
