//! Catalog, sequences and settings, as the changes so far have left them.
//!
//! Small beside the rows, so it is kept whole in memory while a log is read. What a catalog item
//! says is not known here.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::repr::GlobalId;
use crate::storage::record::Change;

/// Everything stored that is not a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    /// The stored form of each object.
    pub catalog: BTreeMap<GlobalId, Vec<u8>>,
    /// Through which value each sequence is spent, and whether that value is.
    pub sequences: BTreeMap<GlobalId, (i64, bool)>,
    /// Settings that are not at their default.
    pub settings: BTreeMap<String, String>,
    /// Objects dropped by the changes applied here, whose rows are gone with them.
    pub dropped: BTreeSet<GlobalId>,
}

/// One entry of a [`State`] in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Entry {
    /// An object and its stored form.
    Catalog(GlobalId, Vec<u8>),
    /// A sequence, its last value, and whether that is spent.
    Sequence(GlobalId, i64, bool),
    /// A setting's name and text.
    Setting(String, String),
}

impl State {
    /// Applies one change; rows leave the state as it is.
    pub fn apply(&mut self, change: &Change) {
        match change {
            Change::Rows { .. } => {}
            Change::Catalog { id, item: Some(item) } => {
                self.catalog.insert(*id, item.clone());
            }
            Change::Catalog { id, item: None } => {
                self.catalog.remove(id);
                self.sequences.remove(id);
                self.dropped.insert(*id);
            }
            Change::Sequence { id, last_value, is_called } => {
                self.sequences.insert(*id, (*last_value, *is_called));
            }
            Change::Setting { name, value: Some(value) } => {
                self.settings.insert(name.clone(), value.clone());
            }
            Change::Setting { name, value: None } => {
                self.settings.remove(name);
            }
        }
    }

    /// Puts one entry of a checkpoint back.
    pub fn restore(&mut self, entry: Entry) {
        match entry {
            Entry::Catalog(id, item) => {
                self.catalog.insert(id, item);
            }
            Entry::Sequence(id, last_value, is_called) => {
                self.sequences.insert(id, (last_value, is_called));
            }
            Entry::Setting(name, value) => {
                self.settings.insert(name, value);
            }
        }
    }

    /// The entries that [`State::restore`] makes this state of, but for `dropped`.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let catalog = self.catalog.iter().map(|(id, item)| Entry::Catalog(*id, item.clone()));
        let sequences = self.sequences.iter().map(|(id, (v, c))| Entry::Sequence(*id, *v, *c));
        let settings = self.settings.iter().map(|(n, v)| Entry::Setting(n.clone(), v.clone()));
        catalog.chain(sequences).chain(settings)
    }
}
