//! What rendering a plan leaves in the worker's hands.
//!
//! `render::build(worker, plan, traces, notify)` makes one timely dataflow of a
//! [`crate::plan::physical::Dataflow`] and returns a [`Built`]: the means to move its imports, and
//! its result. The caller knows the dataflow's index from
//! [`timely::worker::Worker::next_dataflow_index`], and drops it by that.

use super::import::Promise;
use super::subscribe::Subscription;
use super::traces::Maintained;
use crate::repr::Timestamp;

/// A dataflow that runs.
pub struct Built {
    /// For each import of the plan, in its order, the sources that it became.
    pub imports: Vec<Vec<Promise>>,
    /// What becomes of the last node.
    pub result: BuiltSink,
}

/// What a dataflow's sink became.
pub enum BuiltSink {
    /// An arrangement, rows and errors, readable from the plan's as-of on.
    Arranged(Maintained),
    /// Changes for a reader. A peek is a subscription to the snapshot at the plan's as-of alone:
    /// `up_to` is the next time.
    Sent(Subscription),
}

impl Built {
    /// Promises for each import: once it is complete below its need, nothing comes below `time`.
    pub fn advance(&self, needs: &[Timestamp], time: Timestamp) {
        for (sources, need) in self.imports.iter().zip(needs) {
            for source in sources {
                source.advance(*need, time);
            }
        }
    }
}
