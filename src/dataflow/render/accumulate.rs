//! Groups arranged by key with their accumulations as differences, and the operator that reads
//! them.

use std::rc::Rc;

use differential_dataflow::difference::{IsZero, Monoid, Semigroup};
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::implementations::ord_neu::{OrdKeyBatch, OrdKeyBuilder};
use differential_dataflow::trace::{Builder, Cursor, Navigable};
use smallvec::SmallVec;
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

use super::accum::Accum;
use super::group::{Answer, Answers, Old, Output, PerKey, per_key};
use crate::dataflow::arrangement::{
    AffineOffsets, Batcher, BlockBatcher, Insert, LazyContainer, RowContainer, RowUpdate, Rows,
    RowsByKey, SizedBuilder, Spine, arrange, route, size,
};
use crate::dataflow::channel::ByHash;
use crate::repr::{Row, Timestamp};

/// Keys as a byte region, no values, accumulations as differences.
type AccumLayout =
    (RowContainer, Vec<()>, LazyContainer<Timestamp>, LazyContainer<Accum>, AffineOffsets);
type AccumUpdate = ((Row, ()), Timestamp, Accum);
type AccumBatch = Rc<OrdKeyBatch<AccumLayout>>;
type AccumCursor = <AccumBatch as Navigable>::Cursor;
type AccumTrace = TraceAgent<Spine<AccumBatch>>;

/// Answers for a group by its key and its accumulation.
pub type AccumLogic = Box<dyn FnMut(&[u8], &Accum, &mut Answer)>;

/// Adds up contributions by key, and answers by `logic`; each row's value is what it contributes.
pub fn accumulate<'s>(
    contributions: RowsByKey<'s>,
    name: &str,
    logic: AccumLogic,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    let arranged = arrange_accums(contributions, name);
    per_key(arranged, name, Groups { logic, answers: Answers::default() }, fallible)
}

fn arrange_accums<'s>(contributions: RowsByKey<'s>, name: &str) -> Arranged<'s, AccumTrace> {
    let arranged = arrange::<_, _, _, _, Spine<AccumBatch>>(
        contributions.inner,
        ByHash(|update: &RowUpdate| route(update.0.0.bytes())),
        name,
        AccumBatcher::default(),
    );
    size::note(&arranged.trace, |batch| {
        let storage = &batch.storage;
        let sums = storage.upds.times.heap_size() + storage.upds.diffs.heap_size();
        (batch.updates, storage.keys.heap_size() + storage.upds.offs.heap_size() + sums)
    });
    arranged
}

/// Makes differences of the contributions that rows carry, on their way into the arrangement.
#[derive(Default)]
struct AccumBatcher {
    blocks: BlockBatcher<(Row, ()), Timestamp, Accum, AccumBuilder>,
    staged: Vec<AccumUpdate>,
}

impl Insert<Vec<RowUpdate>> for AccumBatcher {
    fn insert(&mut self, updates: &mut Vec<RowUpdate>) {
        self.staged.clear();
        self.staged.extend(updates.drain(..).map(|((key, contribution), time, diff)| {
            ((key, ()), time, Accum::times(contribution, diff))
        }));
        self.blocks.push(&mut self.staged);
    }
}

impl Batcher for AccumBatcher {
    type Time = Timestamp;
    type Output = <AccumBuilder as Builder>::Output;

    fn begin(&mut self, upper: AntichainRef<'_, Timestamp>) -> Antichain<Timestamp> {
        self.blocks.begin(upper)
    }

    fn go_on(&mut self, fuel: usize) -> Option<Option<Self::Output>> {
        self.blocks.go_on(fuel)
    }
}

/// Builds a batch that owns no more memory than it uses.
#[derive(Default)]
struct AccumBuilder(OrdKeyBuilder<AccumLayout, Vec<AccumUpdate>>);

impl SizedBuilder for AccumBuilder {
    fn with_bytes(keys: usize, _values: usize) -> Self {
        let mut builder = OrdKeyBuilder::<AccumLayout, _>::with_capacity(0, 0, 0);
        builder.result.keys.reserve_exact(keys);
        AccumBuilder(builder)
    }
}

impl Builder for AccumBuilder {
    type Input = Vec<AccumUpdate>;
    type Time = Timestamp;
    type Output = OrdKeyBatch<AccumLayout>;

    fn push(&mut self, chunk: &mut Self::Input) {
        self.0.push(chunk);
    }

    fn done(self) -> Option<Self::Output> {
        let mut batch = self.0.done()?;
        batch.storage.keys.trim();
        batch.storage.upds.times.trim();
        batch.storage.upds.diffs.trim();
        Some(batch)
    }
}

struct Groups {
    logic: AccumLogic,
    answers: Answers,
}

impl PerKey<AccumBatch> for Groups {
    fn treat(
        &mut self,
        (batch, cursor): (&AccumBatch, &mut AccumCursor),
        old: &mut Old<AccumBatch>,
        out: &mut Output,
    ) -> usize {
        let key = cursor.key(batch);
        let mut total = Accum::zero();
        for (batch, cursor) in old.batches.iter().zip(&mut old.cursors) {
            cursor.seek_key(batch, key);
            if cursor.get_key(batch) == Some(key) {
                cursor.map_times(batch, |_, accum| total.plus_equals(accum));
            }
        }
        let mut edits: SmallVec<[(Timestamp, Accum); 2]> = SmallVec::new();
        cursor.map_times(batch, |time, accum| edits.push((*time, accum.clone())));
        let Groups { logic, answers } = self;
        answers.begin(|answer| {
            if !total.is_zero() {
                logic(key.0, &total, answer);
            }
        });
        for (time, accum) in &edits {
            total.plus_equals(accum);
            answers.next(*time, |answer| logic(key.0, &total, answer), out);
        }
        edits.len() + old.batches.len()
    }
}
