//! Batches of keyed rows that own no more memory than they use.
//!
//! A [`RowBatch`] is differential's `OrdValBatch` over our containers. It is wrapped for one
//! reason: a merge reserves what both of its inputs hold, and keeps it even when history collapses
//! and half of the rows go (41 bytes a row were seen where 22 are needed). Our merger and builder
//! trim when they are done.

use std::rc::Rc;

use differential_dataflow::lattice::Lattice;
use differential_dataflow::trace::implementations::BatchContainer;
use differential_dataflow::trace::implementations::ord_neu::{OrdValBatch, OrdValBuilder};
use differential_dataflow::trace::implementations::spine_fueled::{Merger, SpineBatch};
use differential_dataflow::trace::{Builder, Cursor, Navigable};
use timely::order::Product;
use timely::progress::frontier::AntichainRef;

use super::container::{RowContainer, RowRef};
use super::layout::{LazyContainer, RowLayout, RowUpdate};
use crate::repr::{Diff, Row, Timestamp};

/// A time that arrangements can have: our [`Timestamp`], or a product with it inside iteration.
pub trait Time: timely::progress::Timestamp + Lattice {
    /// The time outside of all loops.
    fn outer(&self) -> Timestamp;
}

impl Time for Timestamp {
    fn outer(&self) -> Timestamp {
        *self
    }
}

impl Time for Product<Timestamp, u64> {
    fn outer(&self) -> Timestamp {
        self.outer
    }
}

/// A batch that knows how many updates it holds.
pub trait Updates {
    /// The number of updates.
    fn updates(&self) -> usize;
}

impl<T: Time> Updates for Rc<RowBatch<T>> {
    fn updates(&self) -> usize {
        RowBatch::updates(self)
    }
}

type Inner<T> = OrdValBatch<RowLayout<T>>;

/// An immutable run of updates in the order of key, value, time.
pub struct RowBatch<T: Time = Timestamp>(Inner<T>);

impl<T: Time> RowBatch<T> {
    fn trimmed(mut inner: Inner<T>) -> RowBatch<T> {
        let storage = &mut inner.storage;
        storage.keys.trim();
        storage.vals.vals.trim();
        storage.vals.offs.trim();
        storage.upds.offs.trim();
        storage.upds.times.trim();
        storage.upds.diffs.trim();
        RowBatch(inner)
    }

    /// The number of updates.
    pub fn updates(&self) -> usize {
        self.0.updates
    }

    /// How many values there are under a key, counting those that come to nothing, if it is at
    /// `from` or behind it; `from` moves to the first key that is not less.
    pub fn count_from(&self, from: &mut usize, key: RowRef<'_>) -> usize {
        let storage = &self.0.storage;
        let end = storage.keys.count();
        *from += storage.keys.advance(*from, end, |other| other < key);
        if *from == end || storage.keys.index(*from) != key {
            return 0;
        }
        let (lower, upper) = storage.vals.bounds(*from);
        upper - lower
    }

    /// Bytes allocated for the updates.
    pub fn heap_size(&self) -> usize {
        let storage = &self.0.storage;
        storage.keys.heap_size()
            + storage.vals.vals.heap_size()
            + storage.vals.offs.heap_size()
            + storage.upds.offs.heap_size()
            + storage.upds.times.heap_size()
            + storage.upds.diffs.heap_size()
    }
}

impl<T: Time> SpineBatch for RowBatch<T> {
    type Time = T;
    type Merger = RowMerger<T>;

    fn len(&self) -> usize {
        SpineBatch::len(&self.0)
    }
}

/// A merge of two batches under way.
pub struct RowMerger<T: Time>(<Inner<T> as SpineBatch>::Merger);

impl<T: Time> Merger<RowBatch<T>> for RowMerger<T> {
    fn new(one: &RowBatch<T>, two: &RowBatch<T>, since: AntichainRef<'_, T>) -> Self {
        RowMerger(Merger::new(&one.0, &two.0, since))
    }

    fn work(&mut self, one: &RowBatch<T>, two: &RowBatch<T>, fuel: &mut isize) {
        self.0.work(&one.0, &two.0, fuel);
    }

    fn done(self) -> Option<RowBatch<T>> {
        self.0.done().map(RowBatch::trimmed)
    }
}

/// Builds a batch from sorted updates.
pub struct RowBuilder<T: Time = Timestamp>(OrdValBuilder<RowLayout<T>, Vec<RowUpdate<T>>>);

impl<T: Time> RowBuilder<T> {
    /// A builder with room for exactly so many bytes of keys and of values.
    pub fn with_bytes(keys: usize, values: usize) -> Self {
        let mut builder = OrdValBuilder::<RowLayout<T>, _>::with_capacity(0, 0, 0);
        builder.result.keys.reserve_exact(keys);
        builder.result.vals.vals.reserve_exact(values);
        RowBuilder(builder)
    }
}

impl<T: Time> Default for RowBuilder<T> {
    fn default() -> Self {
        RowBuilder::with_bytes(0, 0)
    }
}

impl<T: Time> Builder for RowBuilder<T> {
    type Input = Vec<RowUpdate<T>>;
    type Time = T;
    type Output = RowBatch<T>;

    fn push(&mut self, chunk: &mut Self::Input) {
        self.0.push(chunk);
    }

    fn done(self) -> Option<RowBatch<T>> {
        self.0.done().map(RowBatch::trimmed)
    }
}

impl<T: Time> Navigable for RowBatch<T> {
    type Cursor = RowCursor<T>;

    fn cursor(&self) -> RowCursor<T> {
        RowCursor(self.0.cursor())
    }
}

/// A position in a [`RowBatch`].
pub struct RowCursor<T: Time = Timestamp>(<Inner<T> as Navigable>::Cursor);

impl<T: Time> Cursor for RowCursor<T> {
    type Storage = RowBatch<T>;
    type Key<'a> = RowRef<'a>;
    type ValOwn = Row;
    type Val<'a> = RowRef<'a>;
    type Time = T;
    type TimeGat<'a> = &'a T;
    type Diff = Diff;
    type DiffGat<'a> = &'a Diff;
    type KeyContainer = RowContainer;
    type ValContainer = RowContainer;
    type TimeContainer = LazyContainer<T>;
    type DiffContainer = LazyContainer<Diff>;

    #[inline]
    fn key_valid(&self, batch: &RowBatch<T>) -> bool {
        self.0.key_valid(&batch.0)
    }

    #[inline]
    fn val_valid(&self, batch: &RowBatch<T>) -> bool {
        self.0.val_valid(&batch.0)
    }

    #[inline]
    fn key<'a>(&self, batch: &'a RowBatch<T>) -> RowRef<'a> {
        self.0.key(&batch.0)
    }

    #[inline]
    fn val<'a>(&self, batch: &'a RowBatch<T>) -> RowRef<'a> {
        self.0.val(&batch.0)
    }

    #[inline]
    fn get_key<'a>(&self, batch: &'a RowBatch<T>) -> Option<RowRef<'a>> {
        self.0.get_key(&batch.0)
    }

    #[inline]
    fn get_val<'a>(&self, batch: &'a RowBatch<T>) -> Option<RowRef<'a>> {
        self.0.get_val(&batch.0)
    }

    #[inline]
    fn map_times<L: FnMut(&T, &Diff)>(&mut self, batch: &RowBatch<T>, logic: L) {
        self.0.map_times(&batch.0, logic);
    }

    #[inline]
    fn step_key(&mut self, batch: &RowBatch<T>) {
        self.0.step_key(&batch.0);
    }

    #[inline]
    fn seek_key(&mut self, batch: &RowBatch<T>, key: RowRef<'_>) {
        self.0.seek_key(&batch.0, key);
    }

    #[inline]
    fn step_val(&mut self, batch: &RowBatch<T>) {
        self.0.step_val(&batch.0);
    }

    // Right for one batch. Over several, differential's `CursorList` moves cursors at other keys.
    #[inline]
    fn seek_val(&mut self, batch: &RowBatch<T>, value: RowRef<'_>) {
        self.0.seek_val(&batch.0, value);
    }

    #[inline]
    fn rewind_keys(&mut self, batch: &RowBatch<T>) {
        self.0.rewind_keys(&batch.0);
    }

    #[inline]
    fn rewind_vals(&mut self, batch: &RowBatch<T>) {
        self.0.rewind_vals(&batch.0);
    }
}
