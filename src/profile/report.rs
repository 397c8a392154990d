//! What a worker reports of itself: what has changed since it last did.
//!
//! A row of a report stands in the place of the one with the same key before it. What is gone is
//! named by ranges of numbers, since operators and channels of a dataflow are numbered together.

use serde::{Deserialize, Serialize};

use super::tally::{Parks, Traffic};
use crate::repr::{GlobalId, Timestamp};

/// A report of one worker.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The worker.
    pub worker: usize,
    /// Dataflows that are gone.
    pub gone: Vec<DataflowReport>,
    /// Dataflows that have come.
    pub dataflows: Vec<DataflowReport>,
    /// Operators that have come or run.
    pub operators: Vec<OperatorReport>,
    /// Channels that have come or carried something.
    pub channels: Vec<ChannelReport>,
    /// Arrangements that hold something else now; nothing where they are gone.
    pub arrangements: Vec<ArrangementReport>,
    /// Relations that are complete, or compacted, to another time now.
    pub frontiers: Vec<FrontierReport>,
    /// Inputs of operators that are complete to another time now.
    pub progress: Vec<ProgressReport>,
    /// What holds back each relation that is behind.
    pub blocked: Vec<BlockedReport>,
    /// How far relations are that are not hydrated yet.
    pub hydrating: Vec<HydratingReport>,
    /// All errors of relations, at the newest time that is complete.
    pub errors: Vec<ErrorReport>,
    /// How the worker has slept.
    pub parks: Parks,
    /// Bytes of rows that wait to be arranged.
    pub waiting_bytes: u64,
    /// Bytes of operators and channels, without what goes through them and what is arranged.
    pub dataflow_bytes: u64,
    /// Nanoseconds that the report took the worker.
    pub took_ns: u64,
}

/// A dataflow: the operators and the channels with numbers from `first` up to `end`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DataflowReport {
    /// The number of the dataflow itself, as an operator.
    pub first: usize,
    /// Behind the last number.
    pub end: usize,
    /// The object that it maintains, or a transient id.
    pub object: GlobalId,
}

/// An operator. What never changes is told once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperatorReport {
    /// Its number.
    pub id: usize,
    /// What is told once.
    pub made: Option<OperatorMade>,
    /// Nanoseconds that it ran.
    pub elapsed_ns: u64,
    /// How often it ran.
    pub activations: u64,
    /// Activations by the binary logarithm of their nanoseconds.
    pub histogram: Vec<u64>,
}

/// What of an operator never changes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OperatorMade {
    /// The path of scopes that leads to it.
    pub address: Vec<usize>,
    /// What it is called.
    pub name: String,
    /// The scope that holds it.
    pub parent: Option<usize>,
    /// The object that its dataflow maintains.
    pub object: GlobalId,
    /// The part of the plan that it was built for.
    pub place: Option<String>,
}

/// A channel. What never changes is told once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelReport {
    /// Its number.
    pub id: usize,
    /// What is told once.
    pub made: Option<ChannelMade>,
    /// What this worker sent over it, by the worker that it was for.
    pub sent: Vec<Traffic>,
}

/// What of a channel never changes. An end is an operator and its port; none where it lies in
/// another dataflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChannelMade {
    /// The object that its dataflow maintains.
    pub object: GlobalId,
    /// Who sends.
    pub source: (Option<usize>, usize),
    /// Who receives.
    pub target: (Option<usize>, usize),
}

/// An arrangement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ArrangementReport {
    /// The number of the operator that makes it.
    pub operator: usize,
    /// The object that its dataflow maintains.
    pub object: GlobalId,
    /// What it holds; none: it is gone.
    pub holds: Option<Arranged>,
}

/// What an arrangement holds, and what it took to keep it so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arranged {
    /// Updates.
    pub records: u64,
    /// Batches that have updates.
    pub batches: u64,
    /// Bytes allocated for them.
    pub bytes: u64,
    /// Handles on it.
    pub shared: u64,
    /// Merges of two batches into one that are complete.
    pub merges: u64,
    /// Updates that these left.
    pub merged: u64,
}

/// How far a relation is complete on a worker, and from when on it is readable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrontierReport {
    /// Which.
    pub object: GlobalId,
    /// Readable from here on; none: it is gone.
    pub since: Option<Timestamp>,
    /// Complete below this; none: for ever.
    pub upper: Option<Timestamp>,
}

/// How far an input of an operator is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressReport {
    /// The number of the operator.
    pub operator: usize,
    /// The input's number; 0 for what an import imports and an arrangement holds.
    pub input: usize,
    /// Complete below this; the greatest time: for ever.
    pub below: Timestamp,
    /// How often it was told a further time; none where that is not counted.
    pub moves: Option<u64>,
}

/// Why a relation is behind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BlockedReport {
    /// Which relation.
    pub object: GlobalId,
    /// The number of the operator that holds it back.
    pub operator: usize,
    /// The relation is complete below this,
    pub held_at: Timestamp,
    /// and has to be below this.
    pub need: Timestamp,
    /// Whether the operator has work left; it waits for something, where not.
    pub is_busy: bool,
    /// The relation that it waits for.
    pub waits_for: Option<GlobalId>,
}

/// How far a relation is that is not hydrated yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HydratingReport {
    /// Which relation.
    pub object: GlobalId,
    /// Updates of other arrangements that it has read.
    pub read: u64,
    /// Updates that there are to read, as far as that is known, with those.
    pub of: u64,
}

/// An error that a relation has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Which relation.
    pub object: GlobalId,
    /// Its SQLSTATE.
    pub code: String,
    /// What it says.
    pub message: String,
    /// How often.
    pub count: i64,
}
