//! The rows of a fed relation as they are now.
//!
//! A row is found by up to three numbers, so that all rows of a dataflow's operators are found by a
//! range. What is set to the same row again is no change.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::catalog::objects::Catalog;
use crate::catalog::system::declared;
use crate::coord::request::TableWrite;
use crate::error::{Error, Result};
use crate::plan::physical::Arrangement;
use crate::repr::{Datum, Diff, GlobalId, Row};
use crate::session::engine::Engine;
use crate::session::layout::RowEncoder;

/// Where a row is found.
pub(super) type Place = (u64, u64, u64);

/// The content of a relation.
pub(super) struct Content {
    relation: GlobalId,
    layout: Arc<Arrangement>,
    rows: BTreeMap<Place, (Row, Row)>,
    changes: Vec<(Row, Row, Diff)>,
}

impl Content {
    /// The empty content of a relation of `weir_catalog`.
    pub(super) fn new(engine: &Engine, name: &str) -> Result<Content> {
        let item = declared::by_name("weir_catalog", name)
            .ok_or_else(|| Error::internal(format!("{name} is not declared")))?;
        let layout = engine.layout(&Catalog::default(), item.id)?;
        Ok(Content { relation: item.id, layout, rows: BTreeMap::new(), changes: Vec::new() })
    }

    /// Puts a row in a place, for the one that was there.
    pub(super) fn set(&mut self, place: Place, datums: &[Datum<'_>]) -> Result<()> {
        let new = RowEncoder::new(&self.layout).encode(datums)?;
        let old = self.rows.get(&place);
        if old == Some(&new) {
            return Ok(());
        }
        self.changes.extend(old.map(|(key, value)| (key.clone(), value.clone(), -1)));
        self.changes.push((new.0.clone(), new.1.clone(), 1));
        self.rows.insert(place, new);
        Ok(())
    }

    /// Removes the rows of a range.
    pub(super) fn remove(&mut self, range: RangeInclusive<Place>) {
        let places: Vec<Place> = self.rows.range(range).map(|(place, _)| *place).collect();
        for place in places {
            if let Some((key, value)) = self.rows.remove(&place) {
                self.changes.push((key, value, -1));
            }
        }
    }

    /// Removes the rows whose place does not satisfy a condition.
    pub(super) fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
        let places: Vec<Place> = self.rows.keys().filter(|place| !keep(place)).copied().collect();
        places.into_iter().for_each(|place| self.remove(place..=place));
    }

    /// What has changed since this was last asked.
    pub(super) fn take(&mut self) -> Option<TableWrite> {
        let updates = std::mem::take(&mut self.changes);
        let table = self.relation;
        (!updates.is_empty()).then(|| TableWrite { table, updates: Arc::new(updates) })
    }
}
