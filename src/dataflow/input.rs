//! Table inputs: where rows enter, and the arrangement that holds the table.
//!
//! Each table is one small dataflow on every worker: an input, and the arrangement of the table by
//! its key. A table lives in memory once; every reader imports this arrangement.
//!
//! An input advances only when it is written, since advancing wakes each of its readers; see
//! [`super::import`] for how the others learn that time has passed. It is handed whole vectors of
//! updates, up to a load's tens of thousands, which the arrangement sorts in large blocks.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::InputHandle;
use timely::dataflow::operators::core::Input;
use timely::worker::Worker;

use super::arrangement::{RowTrace, RowUpdate, arrange_rows, clamp_to_upper, upper_of};
use crate::repr::{Diff, Row, Timestamp};

/// One worker's end of a table.
pub struct TableInput {
    handle: InputHandle<Timestamp, CapacityContainerBuilder<Vec<RowUpdate>>>,
    trace: RowTrace,
    since: Timestamp,
    dataflow: usize,
}

impl TableInput {
    /// Builds the table's dataflow. All workers must do so in the same order of commands.
    pub fn create(worker: &mut Worker, name: &str) -> TableInput {
        let dataflow = worker.next_dataflow_index();
        let mut handle = InputHandle::new();
        let trace = worker.dataflow_named(name, |scope| {
            let rows = scope.input_from(&mut handle).as_collection();
            arrange_rows(rows, name).trace
        });
        TableInput { handle, trace, since: 0, dataflow }
    }

    /// Writes changes at `time` and closes it: later writes come at later times.
    ///
    /// Each change enters on one worker, and all workers close the time.
    pub fn write(
        &mut self,
        changes: impl IntoIterator<Item = ((Row, Row), Diff)>,
        time: Timestamp,
    ) {
        // Sent under the last closed time and closed once, so that the frontier moves once.
        let mut updates = changes.into_iter().map(|(row, diff)| (row, time, diff)).collect();
        self.handle.send_batch(&mut updates);
        self.close_through(time);
    }

    /// Closes all times up to and including `time`, without changes.
    pub fn close_through(&mut self, time: Timestamp) {
        let next = time + 1;
        if *self.handle.time() < next {
            self.handle.advance_to(next);
        }
    }

    /// The first time that is not closed.
    pub fn open_from(&self) -> Timestamp {
        *self.handle.time()
    }

    /// Whether the arrangement holds all that was written.
    pub fn is_settled(&mut self) -> bool {
        upper_of(&mut self.trace).is_none_or(|upper| upper >= *self.handle.time())
    }

    /// Allows readers at `since` and later only; moves forward.
    pub fn allow_compaction(&mut self, since: Timestamp) {
        self.since = self.since.max(since);
        self.maintain();
    }

    /// Lets new batches merge with the old ones. Cheap; to be called after the table was written
    /// and the worker has taken the rows in.
    pub fn maintain(&mut self) {
        clamp_to_upper(&mut self.trace, self.since);
    }

    /// The earliest time at which the table can be read.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// The table's arrangement, to be imported or peeked.
    pub fn trace(&mut self) -> &mut RowTrace {
        &mut self.trace
    }

    /// The index of the table's dataflow, for dropping it.
    pub fn dataflow(&self) -> usize {
        self.dataflow
    }
}

/// Makes arrangements merge in the background while the worker is idle.
///
/// Without it many small commits leave as many batches, which each lookup must visit.
pub fn configure_merging(config: &mut timely::WorkerConfig) {
    let effort = differential_dataflow::Config::default().idle_merge_effort(Some(1 << 14));
    differential_dataflow::configure(config, &effort);
}
