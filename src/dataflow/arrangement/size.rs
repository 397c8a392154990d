//! What the arrangements of a worker hold, for whoever asks.
//!
//! Each arrangement is noted where it is made, by the number of its operator and by a weak handle:
//! asking neither holds back compaction nor keeps what nobody reads any more. The sums are made
//! when they are asked for, from what the batches know of themselves, so that there is no cost
//! while nobody asks. Rows that wait in a batcher for their time to come are not counted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::rc::Rc;

use differential_dataflow::operators::arrange::TraceAgent;
use differential_dataflow::trace::TraceReader;
use serde::{Deserialize, Serialize};

use super::arrange::RowTrace;
use super::batch::Time;
use crate::repr::Timestamp;

/// What an arrangement holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Updates: as many as rows, where no history is kept.
    pub records: u64,
    /// Batches that have updates.
    pub batches: u64,
    /// Bytes allocated for them.
    pub bytes: u64,
    /// Handles on it: its owner's, and one for each dataflow that reads it.
    pub shared: u64,
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Size) {
        self.records += other.records;
        self.batches += other.batches;
        self.bytes += other.bytes;
        self.shared = self.shared.max(other.shared);
    }
}

impl Size {
    /// What the batches of a trace hold. `of`: the updates and the bytes of one.
    pub fn of<Tr: TraceReader>(trace: &Tr, of: impl Fn(&Tr::Batch) -> (usize, usize)) -> Size {
        let mut size = Size::default();
        trace.map_spans(|span| {
            if let Some(batch) = &span.inner {
                let (records, bytes) = of(batch);
                let (records, bytes) = (records as u64, bytes as u64);
                size += Size { records, batches: 1, bytes, shared: 0 };
            }
        });
        size
    }
}

/// Measures an arrangement, and says below which time it is complete; none once it is gone.
struct Measure {
    size: Box<dyn Fn() -> Option<Size>>,
    upper: Box<dyn Fn() -> Option<Timestamp>>,
}

thread_local! {
    /// The arrangements of this worker, by the operator that makes each.
    static MEASURES: RefCell<BTreeMap<usize, Measure>> = const { RefCell::new(BTreeMap::new()) };
}

/// Notes an arrangement. `of`: the updates and the bytes of a batch.
pub fn note<Tr>(trace: &TraceAgent<Tr>, of: impl Fn(&Tr::Batch) -> (usize, usize) + 'static)
where
    Tr: TraceReader<Time: Time> + 'static,
{
    let weak = Rc::downgrade(&trace.trace_box_unstable());
    let same = weak.clone();
    let size = Box::new(move || {
        let shared = weak.upgrade()?;
        let size = Size::of(shared.borrow().trace(), &of);
        // But for the one that is looking.
        Some(Size { shared: Rc::strong_count(&shared) as u64 - 1, ..size })
    });
    let upper = Box::new(move || {
        let shared = same.upgrade()?;
        let mut upper = Timestamp::MIN;
        shared.borrow().trace().map_spans(|span| {
            let least = span.upper().elements().iter().map(Time::outer).min();
            upper = least.unwrap_or(Timestamp::MAX);
        });
        Some(upper)
    });
    let measure = Measure { size, upper };
    let operator = trace.operator().global_id;
    MEASURES.with(|measures| measures.borrow_mut().insert(operator, measure));
}

/// Notes an arrangement of rows.
pub fn note_rows<T: Time>(trace: &RowTrace<T>) {
    note(trace, |batch| (batch.updates(), batch.heap_size()));
}

/// What an arrangement of rows holds.
pub fn of_rows<T: Time>(trace: &RowTrace<T>) -> Size {
    Size::of(trace, |batch| (batch.updates(), batch.heap_size()))
}

/// The arrangements that operators of a range of numbers make, with what each holds.
pub fn measured(operators: Range<usize>) -> Vec<(usize, Size)> {
    MEASURES.with(|measures| {
        let measures = measures.borrow();
        let there = measures.range(operators);
        there.filter_map(|(operator, measure)| Some((*operator, (measure.size)()?))).collect()
    })
}

/// The same, with the time below which each is complete.
pub fn uppers(operators: Range<usize>) -> Vec<(usize, Timestamp)> {
    MEASURES.with(|measures| {
        let measures = measures.borrow();
        let there = measures.range(operators);
        there.filter_map(|(operator, measure)| Some((*operator, (measure.upper)()?))).collect()
    })
}

/// Forgets the arrangements of a range of operators.
pub fn forget(operators: Range<usize>) {
    MEASURES.with(|measures| {
        let mut measures = measures.borrow_mut();
        let own: Vec<usize> = measures.range(operators).map(|(operator, _)| *operator).collect();
        for operator in own {
            measures.remove(&operator);
        }
    });
}
