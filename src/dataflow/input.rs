//! Table inputs: where rows enter, and the arrangement that holds the table.
//!
//! Each table is one small dataflow on every worker: an input, and the arrangement of the table by
//! its key. A table lives in memory once; every reader imports this arrangement.
//!
//! An input advances only when it is written, since advancing wakes each of its readers; see
//! [`super::import`] for how the others learn that time has passed. It is handed whole vectors of
//! updates, up to a load's tens of thousands, which the arrangement sorts in large blocks.

use std::sync::Arc;

use differential_dataflow::AsCollection;
use differential_dataflow::trace::ExertionLogic;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::core::Input;
use timely::worker::Worker;

use super::arrangement::{RowTrace, RowUpdate, arrange_rows};
use super::timing::note_operator;
use crate::repr::Timestamp;

/// One worker's end of a table.
pub struct TableInput {
    handle: InputHandle<Timestamp, CapacityContainerBuilder<Vec<RowUpdate>>>,
    dataflow: usize,
}

impl TableInput {
    /// Builds the table's dataflow; nothing will be written below `since`. Returns the table's
    /// arrangement, too.
    ///
    /// All workers must do so in the same order of commands.
    pub fn create(worker: &mut Worker, name: &str, since: Timestamp) -> (TableInput, RowTrace) {
        let dataflow = worker.next_dataflow_index();
        let mut handle = InputHandle::new();
        let trace = worker.dataflow_named(name, |scope| {
            // Timely's own operator, which is numbered first.
            let (id, address) = (scope.worker().peek_identifier(), [&scope.addr()[..], &[1]]);
            note_operator(id, &address.concat().into(), "Input");
            let rows = scope.input_from(&mut handle).as_collection();
            arrange_rows(rows, name).trace
        });
        handle.advance_to(since);
        (TableInput { handle, dataflow }, trace)
    }

    /// Writes changes, at times that are not closed.
    ///
    /// Each change enters on one worker. They are seen once their times are closed, on all.
    pub fn write(&mut self, mut updates: Vec<RowUpdate>) {
        debug_assert!(updates.iter().all(|(_, time, _)| time >= self.handle.time()));
        self.handle.send_batch(&mut updates);
    }

    /// Closes all times up to and including `time`.
    pub fn close_through(&mut self, time: Timestamp) {
        self.close_below(time.saturating_add(1));
    }

    /// Closes all times below `time`.
    pub fn close_below(&mut self, time: Timestamp) {
        if *self.handle.time() < time {
            self.handle.advance_to(time);
        }
    }

    /// The first time that is not closed.
    pub fn open_from(&self) -> Timestamp {
        *self.handle.time()
    }

    /// The index of the table's dataflow, for dropping it.
    pub fn dataflow(&self) -> usize {
        self.dataflow
    }
}

/// How many updates are merged in one activation of an arrangement that has nothing else to do.
const IDLE_EFFORT: usize = 1 << 12;

/// Makes arrangements merge while their worker is idle, where that is worth it.
///
/// Without it, what was deleted stays in memory until new rows come. Differential's own policy
/// merges on until one batch is left, so that each small commit to a large table rewrites the whole
/// table: commits to one of a million rows took 1.6 ms in place of 0.05. See [`idle_effort`].
pub fn configure_merging(config: &mut timely::WorkerConfig) {
    let logic: ExertionLogic = Arc::new(idle_effort);
    config.set("differential/default_exert_logic".to_owned(), logic);
}

/// What to do for an arrangement, given level, batches and length of each of its layers.
///
/// A merge that has begun is completed: it would be, sooner or later. Otherwise the layers are
/// merged when the smaller ones together hold a quarter of the largest, so that no update is
/// rewritten more than a few times for this, and memory is at most that much larger than it need
/// be.
fn idle_effort(layers: &[(usize, usize, usize)]) -> Option<usize> {
    let under_way = layers.iter().any(|(_, batches, _)| *batches > 1);
    let lengths = || layers.iter().map(|(_, _, length)| *length);
    let (sum, largest) = (lengths().sum::<usize>(), lengths().max().unwrap_or(0));
    let worth_it = (sum - largest) * 4 > largest;
    (under_way || worth_it).then_some(IDLE_EFFORT)
}
