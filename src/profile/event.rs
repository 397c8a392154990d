//! An event of a dataflow engine.
//!
//! Events of one worker come in the order of their times, which are nanoseconds of the wall clock.
//! Identifiers are the worker's own: operators and channels of the same dataflow have the same ones
//! on all workers of a computation.
//!
//! An activation is what lies between [`Event::Started`] and [`Event::Stopped`] of an operator. An
//! operator with children is active while they are: who wants its own time peels theirs off.

use crate::repr::Timestamp;

/// Names an operator on a worker.
pub type OperatorId = usize;
/// Names a channel on a worker. Operators and channels are numbered together.
pub type ChannelId = usize;

/// Something that happened on a worker, at a time that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An operator was made.
    Operator {
        /// Which.
        id: OperatorId,
        /// The path of scopes that leads to it, itself at the end.
        address: Vec<usize>,
        /// What it is called.
        name: String,
    },
    /// A channel was made.
    Channel {
        /// Which.
        id: ChannelId,
        /// The address of the scope that holds it.
        scope: Vec<usize>,
        /// The operator in that scope that sends, and the port; operator 0 is the scope itself.
        source: (usize, usize),
        /// The operator in that scope that receives, and the port.
        target: (usize, usize),
        /// Whether its records are batches of an arrangement.
        batches: bool,
    },
    /// An operator will not run any more.
    Ended(OperatorId),
    /// An operator begins to run.
    Started(OperatorId),
    /// It ends to run.
    Stopped(OperatorId),
    /// Records were sent.
    Sent(Message),
    /// Records were received.
    Received(Message),
    /// The worker has nothing to do and sleeps.
    Parked,
    /// The worker was woken.
    Unparked,
    /// Operators and channels with numbers from `first` up to `end` make up a dataflow.
    Dataflow {
        /// The number of the dataflow itself, as an operator.
        first: usize,
        /// Behind the last number.
        end: usize,
        /// What the dataflow is for, as the engine numbers such things.
        object: u64,
    },
    /// The worker told all workers, itself among them, how far it is.
    ProgressSent(Progress),
    /// It was told by a worker, maybe itself.
    ProgressReceived(Progress),
    /// So many events are missing here, because there were more than could be kept.
    Missed(u64),
}

/// How far a worker is, as it tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The channel.
    pub channel: ChannelId,
    /// The worker that sent it.
    pub from: usize,
    /// Counts what that worker sent over this channel.
    pub number: usize,
    /// The least time that it is about, where times are numbers.
    pub epoch: Option<Timestamp>,
}

/// Records that went over a channel together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The channel.
    pub channel: ChannelId,
    /// The worker that sent it.
    pub from: usize,
    /// The worker that it was for.
    pub to: usize,
    /// Counts the messages from the one to the other over this channel.
    pub number: usize,
    /// How many records.
    pub records: i64,
}

/// An event and its time.
pub type Timed = (Timestamp, Event);
