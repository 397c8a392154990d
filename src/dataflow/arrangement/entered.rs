//! Arrangements of an outer scope, read inside a loop.
//!
//! An update that enters a loop is there from its first round on, so an arrangement needs no copy
//! inside: an [`EnteredTrace`] is a handle on the outer trace whose batches answer with the time of
//! the first round. Differential has such a wrapper for traces; how batches are read it leaves to
//! whoever reads them, which here is [`EnteredCursor`].

use std::rc::Rc;

use differential_dataflow::operators::arrange::Arranged;
use differential_dataflow::trace::wrappers::enter::{BatchEnter, TraceEnter};
use differential_dataflow::trace::{Cursor, Navigable, Span, TraceReader};
use timely::dataflow::Scope;
use timely::dataflow::operators::vec::Map;
use timely::order::Product;
use timely::progress::frontier::AntichainRef;

use super::arrange::{RowArranged, RowTrace};
use super::batch::{RowBatch, RowCursor, Updates};
use super::container::{RowContainer, RowRef};
use super::layout::LazyContainer;
use crate::repr::{Diff, Row, Timestamp};

/// A time and a round.
pub type Round = Product<Timestamp, u64>;

/// A handle on a trace outside.
pub struct EnteredTrace(TraceEnter<RowTrace, Round>);

/// An arrangement outside, in a loop.
pub type EnteredArranged<'s> = Arranged<'s, EnteredTrace>;

/// A batch of a trace outside.
#[derive(Clone)]
pub struct EnteredBatch(Rc<RowBatch>);

/// A position in an [`EnteredBatch`].
pub struct EnteredCursor(RowCursor);

impl Updates for EnteredBatch {
    fn updates(&self) -> usize {
        self.0.updates()
    }
}

/// Brings an arrangement into a loop.
pub fn enter<'s>(arranged: RowArranged<'_>, scope: Scope<'s, Round>) -> EnteredArranged<'s> {
    let Arranged { stream, trace } = arranged.enter(scope);
    Arranged { stream: stream.map(readable), trace: EnteredTrace(trace) }
}

fn readable(span: Span<Round, BatchEnter<Rc<RowBatch>, Round>>) -> Span<Round, EnteredBatch> {
    Span::new(span.desc, span.inner.map(|batch| EnteredBatch(Rc::clone(batch.inner()))))
}

impl Clone for EnteredTrace {
    fn clone(&self) -> EnteredTrace {
        EnteredTrace(self.0.clone())
    }
}

impl TraceReader for EnteredTrace {
    type Time = Round;
    type Batch = EnteredBatch;

    fn map_spans<F: FnMut(&Span<Round, EnteredBatch>)>(&self, mut f: F) {
        self.0.map_spans(|span| f(&readable(span.clone())));
    }

    fn spans_through(
        &mut self,
        upper: AntichainRef<'_, Round>,
    ) -> Option<Vec<Span<Round, EnteredBatch>>> {
        Some(self.0.spans_through(upper)?.into_iter().map(readable).collect())
    }

    fn set_logical_compaction(&mut self, frontier: AntichainRef<'_, Round>) {
        self.0.set_logical_compaction(frontier);
    }

    fn get_logical_compaction(&mut self) -> AntichainRef<'_, Round> {
        self.0.get_logical_compaction()
    }

    fn set_physical_compaction(&mut self, frontier: AntichainRef<'_, Round>) {
        self.0.set_physical_compaction(frontier);
    }

    fn get_physical_compaction(&mut self) -> AntichainRef<'_, Round> {
        self.0.get_physical_compaction()
    }
}

impl Navigable for EnteredBatch {
    type Cursor = EnteredCursor;

    fn cursor(&self) -> EnteredCursor {
        EnteredCursor((*self.0).cursor())
    }
}

impl Cursor for EnteredCursor {
    type Storage = EnteredBatch;
    type Key<'a> = RowRef<'a>;
    type ValOwn = Row;
    type Val<'a> = RowRef<'a>;
    type Time = Round;
    type TimeGat<'a> = &'a Round;
    type Diff = Diff;
    type DiffGat<'a> = &'a Diff;
    type KeyContainer = RowContainer;
    type ValContainer = RowContainer;
    type TimeContainer = LazyContainer<Round>;
    type DiffContainer = LazyContainer<Diff>;

    #[inline]
    fn key_valid(&self, batch: &EnteredBatch) -> bool {
        self.0.key_valid(&batch.0)
    }

    #[inline]
    fn val_valid(&self, batch: &EnteredBatch) -> bool {
        self.0.val_valid(&batch.0)
    }

    #[inline]
    fn key<'a>(&self, batch: &'a EnteredBatch) -> RowRef<'a> {
        self.0.key(&batch.0)
    }

    #[inline]
    fn val<'a>(&self, batch: &'a EnteredBatch) -> RowRef<'a> {
        self.0.val(&batch.0)
    }

    #[inline]
    fn get_key<'a>(&self, batch: &'a EnteredBatch) -> Option<RowRef<'a>> {
        self.0.get_key(&batch.0)
    }

    #[inline]
    fn get_val<'a>(&self, batch: &'a EnteredBatch) -> Option<RowRef<'a>> {
        self.0.get_val(&batch.0)
    }

    #[inline]
    fn map_times<L: FnMut(&Round, &Diff)>(&mut self, batch: &EnteredBatch, mut logic: L) {
        self.0.map_times(&batch.0, |time, diff| logic(&Product::new(*time, 0), diff));
    }

    #[inline]
    fn step_key(&mut self, batch: &EnteredBatch) {
        self.0.step_key(&batch.0);
    }

    #[inline]
    fn seek_key(&mut self, batch: &EnteredBatch, key: RowRef<'_>) {
        self.0.seek_key(&batch.0, key);
    }

    #[inline]
    fn step_val(&mut self, batch: &EnteredBatch) {
        self.0.step_val(&batch.0);
    }

    // As in `RowCursor`: right for one batch alone.
    #[inline]
    fn seek_val(&mut self, batch: &EnteredBatch, value: RowRef<'_>) {
        self.0.seek_val(&batch.0, value);
    }

    #[inline]
    fn rewind_keys(&mut self, batch: &EnteredBatch) {
        self.0.rewind_keys(&batch.0);
    }

    #[inline]
    fn rewind_vals(&mut self, batch: &EnteredBatch) {
        self.0.rewind_vals(&batch.0);
    }
}
