//! What crosses between the coordinator and the workers.
//!
//! Every worker gets the same commands in the same order, and does the same with them, so that
//! dataflows have the same identity everywhere; what belongs to one worker only (which rows to
//! ingest, which part of a result) follows from its index. Both types are closed and serde, so
//! another process can be on the other end. Workers never fail: what can be wrong is checked
//! before a command is sent.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::plan::observed::Observation;
pub use crate::plan::physical::Bounds;
use crate::plan::physical::{Arrangement, ArrangementId, Dataflow};
use crate::profile::report::Report;
use crate::repr::settings::FormatSettings;
use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// Names a peek or a subscription; never used again.
pub type ReaderId = u64;

/// An instruction to all workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Makes the input and the arrangement of a table.
    CreateTable {
        /// The table; its arrangement is `(id, id)`.
        id: GlobalId,
        /// How its rows are laid out; writes come in this layout.
        layout: Arrangement,
        /// Nothing will be written below this.
        since: Timestamp,
    },
    /// Changes to tables, in order of time. Each table written is complete below
    /// the last of its times + 1 afterwards.
    Write(Arc<Vec<Write>>),
    /// As `Write`, but more may follow at the last time: the tables are complete only below it.
    Load(Arc<Vec<Write>>),
    /// Builds a dataflow, whose imports are promised at once.
    CreateDataflow {
        /// What to build.
        plan: Arc<Dataflow>,
        /// The reader of its result, where the sink is one.
        reader: Option<ReaderId>,
        /// As in [`Promise`]: for each import, and up to which time.
        promise: Promise,
    },
    /// Lets dataflows go on.
    Promise(Arc<Vec<Promise>>),
    /// Reads an arrangement.
    Peek(Arc<Peek>),
    /// Lets a reader have so many bytes more.
    Credit {
        /// Whose.
        reader: ReaderId,
        /// Encoded bytes of rows.
        bytes: u64,
    },
    /// Ends a reader. Nothing more is sent to it, and its transient dataflow is dropped: so this
    /// must be sent for each dataflow that has a reader, also after it is done on all workers.
    Cancel {
        /// Which.
        reader: ReaderId,
    },
    /// Gives up the history of an arrangement below a time.
    Compact {
        /// The object that made it: a table, a maintained view or an index.
        relation: GlobalId,
        /// The earliest time that stays readable.
        since: Timestamp,
    },
    /// Drops a table's input, a maintained dataflow or an index, with its arrangement.
    Drop {
        /// Which.
        id: GlobalId,
    },
    /// Asks what a dataflow costs, once it is complete below `need` on the worker.
    Observe {
        /// Goes with the answer.
        request: u64,
        /// Which.
        dataflow: GlobalId,
        /// The time.
        need: Timestamp,
    },
    /// Asks what has changed since this was last asked.
    Report {
        /// Goes with the answer.
        request: u64,
    },
    /// Asks for all events since this was last asked, and has them kept from now on.
    Trace {
        /// Goes with the answer.
        request: u64,
        /// Whether to begin with what was made before.
        whole: bool,
    },
    /// Events are not kept any more.
    EndTrace,
    /// Opens or closes the log of what operators do.
    Introspect(bool),
    /// Ends the worker.
    Stop,
}

/// The changes of one table at one time, in the table's layout.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Write {
    /// When.
    pub time: Timestamp,
    /// The table.
    pub table: GlobalId,
    /// Key, value and change.
    pub updates: Arc<Vec<(Row, Row, Diff)>>,
}

/// "Once each import has reached its `needs`, nothing comes from any of them below `upto`."
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Promise {
    /// The dataflow.
    pub dataflow: GlobalId,
    /// For each import: its last write + 1, or 0.
    pub needs: Vec<Timestamp>,
    /// The time.
    pub upto: Timestamp,
}

/// A read of an arrangement at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peek {
    /// The reader.
    pub reader: ReaderId,
    /// What is read.
    pub target: ArrangementId,
    /// Its layout.
    pub layout: Arrangement,
    /// The time of the content.
    pub at: Timestamp,
    /// The arrangement is ready for the peek once it is complete below this.
    pub need: Timestamp,
    /// Which keys.
    pub bounds: Bounds,
    /// What is done to each row (over the relation's columns).
    pub mfp: Mfp,
    /// Each worker may stop after so many rows.
    pub limit: Option<u64>,
    /// What expressions see of a session.
    pub settings: FormatSettings,
    /// Bytes that may be sent before more credit comes.
    pub credit: u64,
}

/// What a worker says. Rows are in value encoding.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    /// A part of the rows of a peek (of an arrangement or of a transient dataflow).
    Rows {
        /// Whose.
        reader: ReaderId,
        /// The rows and how often each occurs (positive).
        rows: Vec<(Row, Diff)>,
    },
    /// This worker's part of a peek is complete, or wrong: then its rows do not count.
    PeekDone {
        /// The worker.
        worker: usize,
        /// Whose.
        reader: ReaderId,
        /// An error of the relation at that time, the least one.
        result: Result<(), EvalError>,
    },
    /// Changes of a subscription: all of this worker's below `upper` that it has not sent yet,
    /// ordered by time, consolidated.
    Changes {
        /// The worker.
        worker: usize,
        /// Whose.
        reader: ReaderId,
        /// The changes.
        changes: Vec<(Timestamp, Row, Diff)>,
        /// Nothing below this will come; none: nothing at all.
        upper: Option<Timestamp>,
    },
    /// The subscribed relation has an error at a time.
    ChangesFailed {
        /// Whose.
        reader: ReaderId,
        /// When.
        at: Timestamp,
        /// What is wrong; none: the reader was too slow, and its buffer is full.
        error: Option<EvalError>,
    },
    /// A maintained dataflow's arrangement is complete at its `as_of` on this worker.
    Hydrated {
        /// The worker.
        worker: usize,
        /// Which.
        dataflow: GlobalId,
        /// How many updates it has read of other arrangements.
        read: u64,
    },
    /// What this worker has seen of a dataflow; nothing, where it is not there.
    Observed {
        /// That of the question.
        request: u64,
        /// What was seen.
        observation: Observation,
    },
    /// The events of this worker.
    Traced {
        /// That of the question.
        request: u64,
        /// As [`crate::profile::trace`] has it.
        chunk: Vec<u8>,
    },
    /// What has changed on this worker.
    Reported {
        /// That of the question.
        request: u64,
        /// What has changed.
        report: Box<Report>,
    },
}
