//! What a worker maintains for others to read: the arrangements of tables and views, by name.
//!
//! Each arranged relation has two sides: rows, and errors. The error side is arranged with the
//! error as its key and nothing as its value. A table has no errors, so its error side is absent.
//!
//! The handles here are the worker's own hold on history: each stands at the relation's `since`,
//! and moves when the coordinator says so. Whoever imports clones the handle, and then holds the
//! history that it needs by itself.

use std::collections::BTreeMap;

use super::arrangement::size::{Size, of_rows};
use super::arrangement::{RowTrace, clamp_to_upper, upper_of};
use crate::plan::physical::ArrangementId;
use crate::repr::{GlobalId, Timestamp};

/// One arrangement of a relation.
pub struct Maintained {
    /// The rows.
    pub oks: RowTrace,
    /// The errors; none for a table.
    pub errs: Option<RowTrace>,
    /// Readable from here on.
    since: Timestamp,
}

impl Maintained {
    /// An arrangement readable from `since` on.
    pub fn new(oks: RowTrace, errs: Option<RowTrace>, since: Timestamp) -> Maintained {
        Maintained { oks, errs, since }
    }

    /// Readable from here on.
    pub fn since(&self) -> Timestamp {
        self.since
    }

    /// Gives up the history below `since`.
    pub fn compact(&mut self, since: Timestamp) {
        self.since = self.since.max(since);
        self.maintain();
    }

    /// Lets new batches merge with old ones: to be called now and then after changes.
    pub fn maintain(&mut self) {
        clamp_to_upper(&mut self.oks, self.since);
        if let Some(errs) = &mut self.errs {
            clamp_to_upper(errs, self.since);
        }
    }

    /// What both sides hold.
    pub fn size(&self) -> Size {
        let mut size = of_rows(&self.oks);
        if let Some(errs) = &self.errs {
            size += of_rows(errs);
        }
        size
    }

    /// Whether both sides are complete below a time.
    pub fn is_complete_below(&mut self, time: Timestamp) -> bool {
        self.upper().is_none_or(|upper| upper >= time)
    }

    /// The time below which both sides are complete; `None` if they are for ever.
    pub fn upper(&mut self) -> Option<Timestamp> {
        let oks = upper_of(&mut self.oks);
        let errs = self.errs.as_mut().and_then(upper_of);
        oks.into_iter().chain(errs).min()
    }
}

/// All that a worker maintains, by the object that made it: a table, a maintained view, an index.
///
/// It is the `index` of an [`ArrangementId`].
#[derive(Default)]
pub struct Traces(BTreeMap<GlobalId, Maintained>);

impl Traces {
    /// Adds an arrangement.
    pub fn insert(&mut self, maker: GlobalId, maintained: Maintained) {
        self.0.insert(maker, maintained);
    }

    /// An arrangement to import or to peek.
    pub fn get_mut(&mut self, id: &ArrangementId) -> Option<&mut Maintained> {
        self.made_by(id.index)
    }

    /// The arrangement that an object made.
    pub fn made_by(&mut self, maker: GlobalId) -> Option<&mut Maintained> {
        self.0.get_mut(&maker)
    }

    /// All arrangements, each with the object that made it.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&GlobalId, &mut Maintained)> {
        self.0.iter_mut()
    }

    /// Drops an arrangement.
    pub fn remove(&mut self, maker: GlobalId) {
        self.0.remove(&maker);
    }
}
