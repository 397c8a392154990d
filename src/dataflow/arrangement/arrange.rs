//! The arrange operator for keyed rows, and what readers of its trace need.
//!
//! Rows go to the worker that the hash of their key names, so equal keys meet and all arrangements
//! by the same key lie alike.

use std::hash::BuildHasher;
use std::rc::Rc;

use differential_dataflow::VecCollection;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::TraceReader;
use differential_dataflow::trace::implementations::spine_fueled::Spine;
use timely::dataflow::channels::pact::Exchange;
use timely::progress::Antichain;

use super::batch::{RowBatch, Time};
use super::batcher::RowBatcher;
use super::container::RowRef;
use super::layout::RowUpdate;
use crate::repr::{Diff, Row, Timestamp};

/// Rows that change over time.
pub type Rows<'s, T = Timestamp> = VecCollection<'s, T, Row, Diff>;
/// Rows that change over time, as key and value.
pub type RowsByKey<'s, T = Timestamp> = VecCollection<'s, T, (Row, Row), Diff>;
/// The batches of an arrangement, merged in the background.
pub type RowSpine<T = Timestamp> = Spine<Rc<RowBatch<T>>>;
/// A handle on an arrangement's batches that holds back compaction.
pub type RowTrace<T = Timestamp> = TraceAgent<RowSpine<T>>;
/// An arrangement inside the dataflow that makes or imports it.
pub type RowArranged<'s, T = Timestamp> = Arranged<'s, RowTrace<T>>;

/// The hash that decides on which worker a key lives: equal in all processes of a run.
#[inline]
pub fn route(key: &[u8]) -> u64 {
    foldhash::fast::FixedState::with_seed(0).hash_one(key)
}

/// Arranges rows by their key.
pub fn arrange_rows<'s, T: Time>(rows: RowsByKey<'s, T>, name: &str) -> RowArranged<'s, T> {
    arrange_core::<_, _, RowBatcher<T>, RowSpine<T>>(
        rows.inner,
        Exchange::new(|update: &RowUpdate<T>| route(update.0.0.bytes())),
        name,
        RowBatcher::<T>::new,
    )
}

/// Fills a reduction's output buffer for one key: the `push` argument of `reduce_abelian`.
pub fn fill<T: Time>(
    buffer: &mut Vec<RowUpdate<T>>,
    key: RowRef<'_>,
    updates: &mut Vec<(Row, T, Diff)>,
) {
    buffer.clear();
    let key = Row::new(key.0);
    buffer.extend(updates.drain(..).map(|(value, time, diff)| ((key.clone(), value), time, diff)));
}

/// The time below which the trace is complete; `None` if no more will come.
pub fn upper_of(trace: &mut RowTrace) -> Option<Timestamp> {
    let mut upper = Antichain::new();
    trace.read_upper(&mut upper);
    upper.first().copied()
}

/// Lets a trace forget the differences between times below `since`.
///
/// Both kinds of compaction move, since logical compaction alone frees nothing: the logical one to
/// `since`, the physical one as far as the trace is complete, so that batches merge although
/// history is held. Neither goes beyond what is complete: the next import would panic.
pub fn clamp_to_upper(trace: &mut RowTrace, since: Timestamp) {
    let Some(upper) = upper_of(trace) else { return };
    trace.set_logical_compaction(Antichain::from_elem(since.min(upper)).borrow());
    trace.set_physical_compaction(Antichain::from_elem(upper).borrow());
}
