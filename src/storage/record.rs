//! What is logged: a transaction and its changes.
//!
//! The byte form is postcard's of these types, so their shape is part of the format: a variant or
//! a field is only ever added at the end, together with a new format number.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// All that one commit changes, at its time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    /// When: above the time of every transaction before it.
    pub time: Timestamp,
    /// What, in order.
    pub changes: Vec<Change>,
}

/// One change of what is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Change {
    /// Rows of a relation come and go.
    Rows {
        /// Whose rows.
        relation: GlobalId,
        /// The version of the relation by which the rows are encoded. Rows of two versions are
        /// never the same row here: whoever rewrites a table takes the rows of the earlier version
        /// away by that version.
        version: u32,
        /// Key, value and change of multiplicity.
        updates: Arc<Vec<(Row, Row, Diff)>>,
    },
    /// An object of the catalog is created, altered or dropped.
    Catalog {
        /// Which object.
        id: GlobalId,
        /// Its stored form; `None` drops it, and with it its rows and its sequence's state. An
        /// id that was dropped never comes back.
        item: Option<Vec<u8>>,
    },
    /// A sequence is spent through a value; replaces what was said of it before.
    Sequence {
        /// Which sequence.
        id: GlobalId,
        /// The last value that may have been given out.
        last_value: i64,
        /// Whether that value itself is spent.
        is_called: bool,
    },
    /// A setting of the whole server is set, or goes back to its default.
    Setting {
        /// Its name.
        name: String,
        /// Its text, `None` for the default.
        value: Option<String>,
    },
}

impl Transaction {
    /// Whether anything but rows changes, so that recovery must look inside at once.
    pub(super) fn changes_state(&self) -> bool {
        self.changes.iter().any(|change| !matches!(change, Change::Rows { .. }))
    }
}
