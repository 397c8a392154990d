//! Groups arranged by key with their accumulations as differences, and the operator that reads
//! them.

use std::rc::Rc;

use differential_dataflow::batcher::merge::vec::VecMerger;
use differential_dataflow::batcher::merge::{MergeBatcher, Sealer};
use differential_dataflow::difference::{IsZero, Monoid, Semigroup};
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::implementations::ord_neu::{OrdKeyBatch, OrdKeyBuilder};
use differential_dataflow::trace::implementations::spine_fueled::Spine;
use differential_dataflow::trace::{Builder, Cursor, Navigable};
use smallvec::SmallVec;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::generic::Operator;

use super::accum::Accum;
use super::group::{Answer, Answers, Old, Output, PerKey, per_key};
use crate::dataflow::arrangement::{
    AffineOffsets, LazyContainer, RowContainer, Rows, RowsByKey, SortBlocks, route,
};
use crate::repr::{Row, Timestamp};

/// Keys as a byte region, no values, accumulations as differences.
type AccumLayout =
    (RowContainer, Vec<()>, LazyContainer<Timestamp>, LazyContainer<Accum>, AffineOffsets);
type AccumUpdate = ((Row, ()), Timestamp, Accum);
type AccumBatch = Rc<OrdKeyBatch<AccumLayout>>;
type AccumCursor = <AccumBatch as Navigable>::Cursor;
type AccumTrace = TraceAgent<Spine<AccumBatch>>;
type AccumBuilder = OrdKeyBuilder<AccumLayout, Vec<AccumUpdate>>;
type AccumBatcher = MergeBatcher<
    SortBlocks<(Row, ()), Timestamp, Accum>,
    VecMerger<(Row, ()), Timestamp, Accum>,
    AccumSealer,
>;

/// Builds a batch that owns no more memory than it uses.
struct AccumSealer;

impl Sealer<Vec<AccumUpdate>> for AccumSealer {
    type Output = OrdKeyBatch<AccumLayout>;

    fn seal(chain: &mut Vec<Vec<AccumUpdate>>) -> Option<OrdKeyBatch<AccumLayout>> {
        let mut builder = AccumBuilder::with_capacity(0, 0, 0);
        let bytes = chain.iter().flatten().map(|((key, ()), _, _)| key.bytes().len()).sum();
        builder.result.keys.reserve_exact(bytes);
        for mut block in chain.drain(..) {
            builder.push(&mut block);
        }
        let mut batch = builder.done()?;
        batch.storage.keys.trim();
        batch.storage.upds.times.trim();
        batch.storage.upds.diffs.trim();
        Some(batch)
    }
}

/// Answers for a group by its key and its accumulation.
pub type AccumLogic = Box<dyn FnMut(&[u8], &Accum, &mut Answer)>;

/// Adds up contributions by key, and answers by `logic`; each row's value is what it contributes.
pub fn accumulate<'s>(
    contributions: RowsByKey<'s>,
    name: &str,
    logic: AccumLogic,
) -> (RowsByKey<'s>, Rows<'s>) {
    let arranged = arrange_accums(contributions, name);
    per_key(arranged, name, Groups { logic, answers: Answers::default() })
}

fn arrange_accums<'s>(contributions: RowsByKey<'s>, name: &str) -> Arranged<'s, AccumTrace> {
    let updates = contributions.inner.unary::<CapacityContainerBuilder<Vec<AccumUpdate>>, _, _, _>(
        Pipeline,
        name,
        |_, _| {
            move |input, output| {
                input.for_each(|capability, updates| {
                    let updates = updates.drain(..).map(|((key, contribution), time, diff)| {
                        ((key, ()), time, Accum::times(&contribution, diff))
                    });
                    output.session(&capability).give_iterator(updates);
                });
            }
        },
    );
    arrange_core::<_, _, AccumBatcher, Spine<AccumBatch>>(
        updates,
        Exchange::new(|update: &AccumUpdate| route(update.0.0.bytes())),
        name,
        AccumBatcher::new,
    )
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
