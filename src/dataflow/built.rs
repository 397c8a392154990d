//! What rendering a plan leaves in the worker's hands.
//!
//! [`Rendering::build`] makes one timely dataflow of a
//! [`crate::plan::physical::Dataflow`] and returns a [`Built`]: the means to move its imports, and
//! its result. The caller knows the dataflow's index from
//! [`Worker::next_dataflow_index`], and drops it by that.

use timely::worker::Worker;

use super::emit::RowLogic;
use super::import::Promise;
use super::observe::Places;
use super::subscribe::Subscription;
use super::traces::{Maintained, Traces};
use crate::expr::mfp::Mfp;
use crate::plan::physical::{Arrangement, Dataflow};
use crate::repr::Timestamp;
use crate::repr::settings::FormatSettings;

/// Called when a reader's [`Subscription`] might have something to take.
pub type Notify = Box<dyn Fn()>;

/// How plans become operators. The worker knows nothing else of them.
#[derive(Clone, Copy)]
pub struct Rendering {
    /// Builds a dataflow.
    pub build: fn(&mut Worker, &Dataflow, &mut Traces, Notify) -> Built,
    /// Makes the logic of a peek: decodes the arrangement's rows, maps, filters and projects, and
    /// emits the rows that go out as values.
    pub row_logic: fn(&Arrangement, &Mfp, &FormatSettings) -> RowLogic,
}

/// A dataflow that runs.
pub struct Built {
    /// The means to move its imports.
    pub imports: Imports,
    /// What becomes of the last node.
    pub result: BuiltSink,
    /// Which operators stand for which part of the plan.
    pub places: Places,
}

/// What a dataflow's sink became.
pub enum BuiltSink {
    /// An arrangement, rows and errors, readable from the plan's as-of on.
    Arranged(Box<Maintained>),
    /// Changes for a reader. A peek is a subscription to the snapshot at the plan's as-of alone:
    /// `up_to` is the next time.
    Sent(Subscription),
}

/// For each import of a plan, in its order, the sources that it became.
pub struct Imports(pub Vec<Vec<Promise>>);

impl Imports {
    /// Promises for each import: once it is complete below its need, nothing comes below `time`.
    /// Sources that can go on now are added to `woken`, for the caller to wake.
    pub fn stand(&self, needs: &[Timestamp], time: Timestamp, woken: &mut Vec<Promise>) {
        for (sources, need) in self.0.iter().zip(needs) {
            let ready = sources.iter().filter(|source| source.stand(*need, time));
            woken.extend(ready.cloned());
        }
    }
}
