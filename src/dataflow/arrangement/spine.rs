//! The batches of an arrangement, from the oldest on, merged a piece at a time.
//!
//! Each batch is more than twice as long as the next newer one, or is being merged with it: so
//! there are never many, and each update is rewritten once for each doubling. A new batch owes work
//! in proportion to its length, which is done by pieces: a small one when the batch comes, the
//! others when the operator that keeps the arrangement runs again, which it does until nothing is
//! owed. Differential's own spine does all of it when the batch comes, so that millions of new rows
//! kept the worker for seconds.
//!
//! Whoever reads meanwhile sees more batches than there will be. Where that would be very many, the
//! work is done at once after all.
//!
//! Batches whose times somebody may want to tell apart wait, until nobody does
//! ([`TraceReader::set_physical_compaction`]).

use std::collections::VecDeque;

use differential_dataflow::lattice::Lattice;
use differential_dataflow::logging::{Logger, MergeEvent};
use differential_dataflow::trace::implementations::spine_fueled::{Merger, SpineBatch};
use differential_dataflow::trace::{Description, ExertionLogic, Span, Trace, TraceReader};
use smallvec::SmallVec;
use timely::PartialOrder;
use timely::dataflow::operators::generic::OperatorInfo;
use timely::progress::frontier::AntichainRef;
use timely::progress::{Antichain, Timestamp};
use timely::scheduling::Activator;

/// So much work is owed for each new update to each merge that is under way.
const WORK: usize = 8;
/// The least and the most of it that is done at once.
const PIECE: (usize, usize) = (1 << 12, 1 << 15);
/// With more batches than this, all that is owed is done at once.
const BATCHES_MAX: usize = 32;

/// Batches in the order of time.
pub struct Spine<B: SpineBatch> {
    operator: usize,
    logger: Option<Logger>,
    activator: Option<Activator>,
    idle: Option<ExertionLogic>,
    logical: Antichain<B::Time>,
    physical: Antichain<B::Time>,
    upper: Antichain<B::Time>,
    layers: Vec<Layer<B>>,
    /// What must not be merged yet.
    pending: VecDeque<Span<B::Time, B>>,
    /// Work that is owed to each merge.
    owed: usize,
}

/// A batch, or two of them that are being merged.
enum Layer<B: SpineBatch> {
    Whole(Span<B::Time, B>),
    Merging(Box<Merging<B>>),
}

struct Merging<B: SpineBatch> {
    older: (Span<B::Time, B>, B),
    newer: (Span<B::Time, B>, B),
    description: Description<B::Time>,
    merger: B::Merger,
}

fn length<B: SpineBatch>(span: &Span<B::Time, B>) -> usize {
    span.inner.as_ref().map_or(0, SpineBatch::len)
}

impl<B: SpineBatch> Layer<B> {
    fn len(&self) -> usize {
        match self {
            Layer::Whole(span) => length(span),
            Layer::Merging(merging) => merging.older.1.len() + merging.newer.1.len(),
        }
    }

    fn is_merging(&self) -> bool {
        matches!(self, Layer::Merging(_))
    }

    fn spans(&self, mut take: impl FnMut(&Span<B::Time, B>)) {
        match self {
            Layer::Whole(span) => take(span),
            Layer::Merging(merging) => {
                take(&merging.older.0);
                take(&merging.newer.0);
            }
        }
    }
}

/// Begins to merge two neighbours; where one of them is empty, that is all.
fn merged<B: SpineBatch + Clone>(
    older: Span<B::Time, B>,
    newer: Span<B::Time, B>,
    since: &Antichain<B::Time>,
) -> Layer<B> {
    let since = older.desc.since().join(newer.desc.since()).join(since);
    let description = Description::new(older.lower().clone(), newer.upper().clone(), since);
    match (older.inner.clone(), newer.inner.clone()) {
        (Some(one), Some(two)) => {
            let merger = B::Merger::new(&one, &two, description.since().borrow());
            let (older, newer) = ((older, one), (newer, two));
            Layer::Merging(Box::new(Merging { older, newer, description, merger }))
        }
        (one, two) => Layer::Whole(Span::new(description, one.or(two))),
    }
}

impl<B: SpineBatch + Clone> Spine<B> {
    /// Takes those of the waiting batches that may be merged.
    fn take_pending(&mut self) {
        let mut taken = false;
        while self.pending.front().is_some_and(|span| {
            PartialOrder::less_equal(&span.upper().borrow(), &self.physical.borrow())
        }) {
            let Some(span) = self.pending.pop_front() else { break };
            self.owed += length(&span) * WORK;
            match self.layers.pop() {
                Some(Layer::Whole(last)) if length(&last) == 0 || length(&span) == 0 => {
                    self.layers.push(merged(last, span, &self.logical));
                }
                last => {
                    self.layers.extend(last);
                    self.layers.push(Layer::Whole(span));
                }
            }
            taken = true;
        }
        if taken {
            self.pay();
            self.wake();
        }
    }

    /// Does a piece of what is owed.
    fn pay(&mut self) {
        let piece = match self.layers.len() > BATCHES_MAX {
            true => self.owed,
            false => (self.owed / 8).clamp(PIECE.0, PIECE.1).min(self.owed),
        };
        self.work(piece);
        let left = self.owed - piece;
        self.owed = if self.layers.iter().any(Layer::is_merging) { left } else { 0 };
    }

    /// Does so much work for each merge, and begins those that are due.
    fn work(&mut self, piece: usize) {
        let piece = isize::try_from(piece).unwrap_or(isize::MAX);
        for at in (0..self.layers.len()).rev() {
            self.work_at(at, piece);
            if at > 0 && self.is_due(at - 1) {
                self.join(at - 1);
            }
        }
    }

    /// Goes on with a merge.
    fn work_at(&mut self, at: usize, piece: isize) {
        let Layer::Merging(merging) = &mut self.layers[at] else { return };
        let mut fuel = piece;
        merging.merger.work(&merging.older.1, &merging.newer.1, &mut fuel);
        if fuel <= 0 {
            return;
        }
        let Layer::Merging(merging) = self.layers.remove(at) else { return };
        let (length1, length2) = (merging.older.1.len(), merging.newer.1.len());
        let span = Span::new(merging.description, merging.merger.done());
        if let Some(logger) = &self.logger {
            let scale = (length1 + length2).next_power_of_two().trailing_zeros() as usize;
            let (operator, complete) = (self.operator, Some(length(&span)));
            logger.log(MergeEvent { operator, scale, length1, length2, complete });
        }
        self.layers.insert(at, Layer::Whole(span));
    }

    /// Whether a batch is not longer than it must be beside the next newer one.
    fn is_due(&self, at: usize) -> bool {
        let (older, newer) = (&self.layers[at], &self.layers[at + 1]);
        let (long, short) = (older.len(), newer.len());
        !older.is_merging() && !newer.is_merging() && (long <= short * 2 || short == 0)
    }

    /// Begins to merge a batch with the next newer one.
    fn join(&mut self, at: usize) {
        let newer = self.layers.remove(at + 1);
        let older = self.layers.remove(at);
        if let (Layer::Whole(older), Layer::Whole(newer)) = (older, newer) {
            self.layers.insert(at, merged(older, newer, &self.logical));
        }
    }

    /// How much is worth doing though nothing is owed.
    fn idle_work(&self) -> Option<usize> {
        let layer = |(at, layer): (usize, &Layer<B>)| {
            (at, if layer.is_merging() { 2 } else { 1 }, layer.len())
        };
        let layers: SmallVec<[_; 16]> = self.layers.iter().enumerate().map(layer).collect();
        self.idle.as_ref()?(&layers)
    }

    /// Has the operator run again if there is work.
    fn wake(&self) {
        if let Some(activator) = &self.activator
            && (self.owed > 0 || self.idle_work().is_some())
        {
            activator.activate();
        }
    }
}

impl<B: SpineBatch + Clone + 'static> TraceReader for Spine<B> {
    type Time = B::Time;
    type Batch = B;

    fn spans_through(&mut self, upper: AntichainRef<'_, B::Time>) -> Option<Vec<Span<B::Time, B>>> {
        if upper.less_equal(&B::Time::minimum()) {
            return Some(Vec::new());
        }
        assert!(
            PartialOrder::less_equal(&self.physical.borrow(), &upper),
            "batches below have been merged"
        );
        let mut spans = Vec::new();
        for layer in &self.layers {
            layer.spans(|span| {
                if span.has_updates() {
                    spans.push(span.clone());
                }
            });
        }
        for span in self.pending.iter().filter(|span| span.has_updates()) {
            let begins_below = PartialOrder::less_equal(&span.lower().borrow(), &upper);
            let ends_below = PartialOrder::less_equal(&span.upper().borrow(), &upper);
            assert!(
                begins_below == ends_below || upper == span.lower().borrow(),
                "batches are told apart where they end"
            );
            if ends_below {
                spans.push(span.clone());
            }
        }
        Some(spans)
    }

    fn set_logical_compaction(&mut self, frontier: AntichainRef<'_, B::Time>) {
        self.logical.clear();
        self.logical.extend(frontier.iter().cloned());
    }

    fn get_logical_compaction(&mut self) -> AntichainRef<'_, B::Time> {
        self.logical.borrow()
    }

    fn set_physical_compaction(&mut self, frontier: AntichainRef<'_, B::Time>) {
        self.physical.clear();
        self.physical.extend(frontier.iter().cloned());
        self.take_pending();
    }

    fn get_physical_compaction(&mut self) -> AntichainRef<'_, B::Time> {
        self.physical.borrow()
    }

    fn map_spans<F: FnMut(&Span<B::Time, B>)>(&self, mut f: F) {
        self.layers.iter().for_each(|layer| layer.spans(&mut f));
        self.pending.iter().for_each(f);
    }
}

impl<B: SpineBatch + Clone + 'static> Trace for Spine<B> {
    fn new(info: OperatorInfo, logger: Option<Logger>, activator: Option<Activator>) -> Self {
        let least = || Antichain::from_elem(B::Time::minimum());
        Spine {
            operator: info.global_id,
            logger,
            activator,
            idle: None,
            logical: least(),
            physical: least(),
            upper: least(),
            layers: Vec::new(),
            pending: VecDeque::new(),
            owed: 0,
        }
    }

    fn exert(&mut self) {
        if self.owed > 0 {
            self.pay();
        } else if let Some(piece) = self.idle_work() {
            if !self.layers.iter().any(Layer::is_merging) && self.layers.len() > 1 {
                self.join(self.layers.len() - 2);
            }
            self.work(piece);
        } else {
            return;
        }
        self.wake();
    }

    fn set_exert_logic(&mut self, logic: ExertionLogic) {
        self.idle = Some(logic);
    }

    fn insert(&mut self, span: Span<B::Time, B>) {
        assert!(span.lower() != span.upper(), "a span has some times");
        assert_eq!(span.lower(), &self.upper, "each span begins where the last one ends");
        self.upper.clone_from(span.upper());
        self.pending.push_back(span);
        self.take_pending();
    }

    fn close(&mut self) {
        if !self.upper.is_empty() {
            self.insert(Span::empty(self.upper.clone(), Antichain::new()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use differential_dataflow::trace::cursor::cursor_list;
    use differential_dataflow::trace::{Builder, Cursor};

    use super::super::batch::{RowBatch, RowBuilder};
    use super::*;
    use crate::repr::Row;

    fn batch(rows: std::ops::Range<u64>, time: u64, diff: i64) -> Option<Rc<RowBatch>> {
        let mut builder = RowBuilder::default();
        let update = |n: u64| ((Row::new(&n.to_be_bytes()), Row::EMPTY), time, diff);
        builder.push(&mut rows.map(update).collect());
        builder.done().map(Rc::new)
    }

    /// Long batches, short ones, none, and what takes them back: however little is merged at once,
    /// all is there, and in the end there are few batches.
    #[test]
    fn merging_by_pieces_loses_nothing() {
        let info = OperatorInfo::new(0, 0, Rc::from([]));
        let mut spine = Spine::<Rc<RowBatch>>::new(info, None, None);
        let mut counts = [0i64; 40_000];
        let mut most = 0;
        for time in 0..200u64 {
            let length = [20_000, 0, 1, 300, 5, 0, 4_000][time as usize % 7];
            let rows = time * 97 % 20_000..time * 97 % 20_000 + length;
            let diff = if time % 3 == 2 { -1 } else { 1 };
            rows.clone().for_each(|row| counts[row as usize] += diff);
            let [lower, upper] = [time, time + 1].map(Antichain::from_elem);
            let since = Antichain::from_elem(0);
            let description = Description::new(lower, upper.clone(), since);
            spine.insert(Span::new(description, batch(rows, time, diff)));
            spine.set_logical_compaction(upper.borrow());
            spine.set_physical_compaction(Antichain::from_elem(time.saturating_sub(3)).borrow());
            spine.exert();
            most = most.max(spine.layers.len());
            let mut end = Antichain::from_elem(0);
            spine.read_upper(&mut end);
            assert_eq!(end, upper);
            let batches = spine.batches_through(Antichain::new().borrow()).unwrap();
            let (mut cursor, batches) = cursor_list(batches);
            let mut found = [0i64; 40_000];
            while let Some(key) = cursor.get_key(&batches) {
                let row = u64::from_be_bytes(key.0.try_into().unwrap()) as usize;
                cursor.map_times(&batches, |_, diff| found[row] += *diff);
                cursor.step_key(&batches);
            }
            assert!(found == counts, "at {time}");
        }
        assert!(most <= BATCHES_MAX + 2, "{most} layers");
        (0..1_000).for_each(|_| spine.exert());
        let layers = spine.layers.len();
        assert!(layers <= 16, "{layers} layers are left");
    }
}
