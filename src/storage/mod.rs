//! Storage: the transaction log, checkpoints, recovery, the lock of the data directory.
//!
//! Floor 3: imports [`crate::repr`] and [`crate::error`] only. What it keeps is opaque: encoded
//! rows with the version of their relation, and the stored form of catalog objects. Plans, views
//! and dataflows are never here.
//!
//! * [`store`] — the design, and [`Store`], the one thing that others use
//! * [`record`] — what a transaction is
//! * [`recovery`] — what an opened store gives back
//! * `log` over `frame` — records in sled, chained and checked
//! * `checkpoint`, `fold` — the sorted file of what is, and how the log becomes part of it
//! * `state` — catalog, sequences and settings while changes are applied to them
//! * `usage` — how much of all that is whose
//! * [`faults`] — which objects crashed the server, and how often
//! * `watermark` — how far the log was ever acknowledged, kept outside the log
//! * `directory`, `files` — lock, format, generations; durable operations on files

mod checkpoint;
mod directory;
pub mod faults;
mod files;
mod fold;
mod frame;
mod log;
pub mod record;
pub mod recovery;
mod state;
pub mod store;
mod usage;
mod watermark;

pub use record::{Change, Transaction};
pub use recovery::{CheckpointRows, LogTransactions, Recovered, RowChunk};
pub use store::{FoldState, RelationBytes, Store};
