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
    bytes: usize,
}

/// About how many bytes a row takes in its place.
fn bytes_of((key, value): &(Row, Row)) -> usize {
    /// Of a row that lies in itself.
    const INLINE_MAX: usize = 23;
    let beside = |row: &Row| Some(row.bytes().len()).filter(|bytes| *bytes > INLINE_MAX);
    // A map's node is three quarters full, more or less.
    let place = (size_of::<Place>() + 2 * size_of::<Row>()) * 4 / 3;
    place + beside(key).unwrap_or(0) + beside(value).unwrap_or(0)
}

impl Content {
    /// The empty content of a relation of `weir_catalog`.
    pub(super) fn new(engine: &Engine, name: &str) -> Result<Content> {
        let item = declared::by_name("weir_catalog", name)
            .ok_or_else(|| Error::internal(format!("{name} is not declared")))?;
        let layout = engine.layout(&Catalog::default(), item.id)?;
        Ok(Content { relation: item.id, layout, rows: BTreeMap::new(), changes: vec![], bytes: 0 })
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
        self.bytes += bytes_of(&new);
        if let Some(old) = self.rows.insert(place, new) {
            self.bytes -= bytes_of(&old);
        }
        Ok(())
    }

    /// Removes the rows of a range.
    pub(super) fn remove(&mut self, range: RangeInclusive<Place>) {
        let places: Vec<Place> = self.rows.range(range).map(|(place, _)| *place).collect();
        for place in places {
            if let Some((key, value)) = self.rows.remove(&place) {
                let row = (key, value);
                self.bytes -= bytes_of(&row);
                let (key, value) = row;
                self.changes.push((key, value, -1));
            }
        }
    }

    /// Removes the rows whose place does not satisfy a condition.
    pub(super) fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
        let places: Vec<Place> = self.rows.keys().filter(|place| !keep(place)).copied().collect();
        places.into_iter().for_each(|place| self.remove(place..=place));
    }

    /// About how many bytes the rows take.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// What has changed since this was last asked.
    pub(super) fn take(&mut self) -> Option<TableWrite> {
        let updates = std::mem::take(&mut self.changes);
        let table = self.relation;
        (!updates.is_empty()).then(|| TableWrite { table, updates: Arc::new(updates) })
    }
}
