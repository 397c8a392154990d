//! Names that the engine gives: objects, times, multiplicities.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Nanoseconds since the Unix epoch, strictly increasing per transaction.
pub type Timestamp = u64;

/// The change of a row's multiplicity.
pub type Diff = i64;

/// Identifies an object (table, view, index, sequence) or a transient dataflow, for ever.
///
/// Ids are never reused. Objects that users create count from [`GlobalId::FIRST_USER`];
/// transient dataflows (one query, one subscription) from [`GlobalId::FIRST_TRANSIENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GlobalId(pub u64);

impl GlobalId {
    /// The first id of an object that a user creates. PostgreSQL's own oids end below it.
    pub const FIRST_USER: GlobalId = GlobalId(16_384);
    /// The first id of a transient dataflow; nothing at or above it is ever logged.
    pub const FIRST_TRANSIENT: GlobalId = GlobalId(1 << 48);

    /// Stands in plans for the seeds of those who share a dataflow: each such dataflow has an input
    /// of its own for them.
    pub const SEEDS: GlobalId = GlobalId::FIRST_TRANSIENT;

    /// Whether this names a dataflow that no catalog knows.
    pub fn is_transient(self) -> bool {
        self >= GlobalId::FIRST_TRANSIENT
    }
}

impl fmt::Display for GlobalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_transient() {
            write!(f, "t{}", self.0 - GlobalId::FIRST_TRANSIENT.0)
        } else {
            write!(f, "u{}", self.0)
        }
    }
}
