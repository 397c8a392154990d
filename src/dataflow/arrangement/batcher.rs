//! From updates in any order to sealed batches.
//!
//! Updates gather in blocks of [`SORT_BLOCK`] before they are sorted; differential's own blocks of
//! 8 KiB hold 128 of our updates and make loading two to four times slower. Sealing measures the
//! bytes of keys and values first, so that a batch is allocated once, exactly.

use std::collections::VecDeque;

use differential_dataflow::batcher::merge::vec::VecMerger;
use differential_dataflow::batcher::merge::{MergeBatcher, Sealer};
use differential_dataflow::difference::Semigroup;
use differential_dataflow::trace::Builder;
use timely::container::{ContainerBuilder, PushInto};

use super::batch::{RowBatch, RowBuilder, Time};
use super::layout::RowUpdate;
use crate::repr::{Diff, Row, Timestamp};

/// How many updates are sorted at once.
pub const SORT_BLOCK: usize = 1 << 15;

/// Keeps updates sorted by key, value and time until their times are complete.
pub type RowBatcher<T = Timestamp> =
    MergeBatcher<SortBlocks<(Row, Row), T, Diff>, VecMerger<(Row, Row), T, Diff>, ExactSealer>;

/// Cuts a stream of updates into sorted, consolidated blocks.
pub struct SortBlocks<D, T, R> {
    pending: Vec<(D, T, R)>,
    ready: VecDeque<Vec<(D, T, R)>>,
    handed_out: Vec<(D, T, R)>,
}

impl<D, T, R> Default for SortBlocks<D, T, R> {
    fn default() -> Self {
        SortBlocks { pending: Vec::new(), ready: VecDeque::new(), handed_out: Vec::new() }
    }
}

impl<D: Ord, T: Ord, R: Semigroup> SortBlocks<D, T, R> {
    fn sort_pending(&mut self) {
        let mut block = std::mem::take(&mut self.pending);
        sort_and_consolidate(&mut block);
        if !block.is_empty() {
            self.ready.push_back(block);
        }
    }
}

/// Sorts by data and time, and adds up the diffs of what is equal.
fn sort_and_consolidate<D: Ord, T: Ord, R: Semigroup>(updates: &mut Vec<(D, T, R)>) {
    updates.sort_unstable_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let mut kept = 0;
    for next in 1..updates.len() {
        let (front, back) = updates.split_at_mut(next);
        let (last, update) = (&mut front[kept], &mut back[0]);
        if last.0 == update.0 && last.1 == update.1 {
            last.2.plus_equals(&update.2);
        } else {
            kept += usize::from(!last.2.is_zero());
            updates.swap(kept, next);
        }
    }
    if updates.get(kept).is_some_and(|last| !last.2.is_zero()) {
        kept += 1;
    }
    updates.truncate(kept);
}

impl<'a, D: Ord, T: Ord, R: Semigroup> PushInto<&'a mut Vec<(D, T, R)>> for SortBlocks<D, T, R> {
    fn push_into(&mut self, updates: &'a mut Vec<(D, T, R)>) {
        if self.pending.is_empty() {
            std::mem::swap(&mut self.pending, updates);
        } else {
            self.pending.append(updates);
        }
        if self.pending.len() >= SORT_BLOCK {
            self.sort_pending();
        }
    }
}

impl<D, T, R> ContainerBuilder for SortBlocks<D, T, R>
where
    D: Ord + Clone + 'static,
    T: Ord + Clone + 'static,
    R: Semigroup + 'static,
{
    type Container = Vec<(D, T, R)>;

    fn extract(&mut self) -> Option<&mut Self::Container> {
        self.handed_out = self.ready.pop_front()?;
        Some(&mut self.handed_out)
    }

    fn finish(&mut self) -> Option<&mut Self::Container> {
        self.sort_pending();
        self.extract()
    }
}

/// Builds a batch whose regions have exactly the size of what goes into them.
pub struct ExactSealer;

impl<T: Time> Sealer<Vec<RowUpdate<T>>> for ExactSealer {
    type Output = RowBatch<T>;

    fn seal(chain: &mut Vec<Vec<RowUpdate<T>>>) -> Option<RowBatch<T>> {
        let (mut keys, mut values) = (0, 0);
        let mut previous: Option<&(Row, Row)> = None;
        for (data, _, _) in chain.iter().flatten() {
            let new_key = previous.is_none_or(|p| p.0 != data.0);
            if new_key {
                keys += data.0.bytes().len();
            }
            if new_key || previous.is_none_or(|p| p.1 != data.1) {
                values += data.1.bytes().len();
            }
            previous = Some(data);
        }
        let mut builder = RowBuilder::with_bytes(keys, values);
        for mut block in chain.drain(..) {
            builder.push(&mut block);
        }
        builder.done()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn consolidation_is_a_sum() {
        let mut state = 1u64;
        for length in [0usize, 1, 2, 3, 10, 1000] {
            let mut expected = BTreeMap::new();
            let mut updates: Vec<RowUpdate> = Vec::new();
            for _ in 0..length {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let data = (Row::new(&[(state >> 60) as u8]), Row::new(&[(state >> 50) as u8 & 1]));
                let (time, diff) = (state >> 40 & 1, (state >> 33 & 3) as i64 - 1);
                *expected.entry((data.clone(), time)).or_insert(0) += diff;
                updates.push((data, time, diff));
            }
            expected.retain(|_, diff| *diff != 0);
            sort_and_consolidate(&mut updates);
            let expected: Vec<RowUpdate> =
                expected.into_iter().map(|((data, time), diff)| (data, time, diff)).collect();
            assert_eq!(updates, expected);
        }
    }
}
