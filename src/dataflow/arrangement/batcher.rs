//! From updates in any order to sealed batches.
//!
//! Updates gather in blocks of [`SORT_BLOCK`], which are sorted and wait. When their times are
//! complete all blocks are merged at once, by a tournament of their heads, straight into the bytes
//! of the batch: a piece at a time, since a batch can be long. Differential's own batcher merges
//! pairs of blocks as they come, through chunks of 8 KiB, so that a load of a million rows is
//! written five times over before it is sealed, and twice after that; here it is read once.
//!
//! Blocks that are small, and what an extraction has to leave behind, are merged pairwise as they
//! come, each only with one of about its size: so there are never many of them, and what adds up
//! to nothing goes.

use std::cell::Cell;
use std::vec::IntoIter;

use differential_dataflow::difference::Semigroup;
use differential_dataflow::trace::Builder;
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

use super::batch::{RowBatch, RowBuilder, Time};
use super::layout::RowUpdate;
use crate::repr::{Diff, Row, Timestamp};

/// How many updates are sorted at once.
pub const SORT_BLOCK: usize = 1 << 15;
/// How many merged updates are handed to the builder at once.
const CHUNK: usize = 1 << 8;

/// Keeps updates until their times are complete, and makes batches of them.
pub trait Batcher {
    /// The times of updates.
    type Time;
    /// What batches are.
    type Output;

    /// Begins a batch of all updates that are not from `upper` on; returns a lower bound of the
    /// times of those that are left. There must be no other batch under way.
    fn begin(&mut self, upper: AntichainRef<'_, Self::Time>) -> Antichain<Self::Time>;

    /// Goes on with the batch: handles so many updates, about. Says when it is done; there is
    /// nothing in it where all has cancelled. What is inserted meanwhile is not part of it.
    fn go_on(&mut self, fuel: usize) -> Option<Option<Self::Output>>;
}

/// Takes updates that come in such containers.
pub trait Insert<C>: Batcher {
    /// Takes the updates; what is left in the container means nothing.
    fn insert(&mut self, updates: &mut C);
}

/// Keeps keyed rows until their times are complete.
pub type RowBatcher<T = Timestamp> = BlockBatcher<(Row, Row), T, Diff, RowBuilder<T>>;

/// What updates are about: a key, perhaps with a value.
pub trait Keyed: Ord {
    /// The bytes of the key and of the value.
    fn bytes(&self) -> (usize, usize);

    /// Whether the keys are equal.
    fn same_key(&self, other: &Self) -> bool;
}

impl Keyed for (Row, Row) {
    #[inline]
    fn bytes(&self) -> (usize, usize) {
        (self.0.bytes().len(), self.1.bytes().len())
    }

    #[inline]
    fn same_key(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Keyed for (Row, ()) {
    #[inline]
    fn bytes(&self) -> (usize, usize) {
        (self.0.bytes().len(), 0)
    }

    #[inline]
    fn same_key(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// A builder that is told how many bytes of keys and values will come at most.
pub trait SizedBuilder: Builder {
    /// A builder with room for so many bytes.
    fn with_bytes(keys: usize, values: usize) -> Self;
}

impl<T: Time> SizedBuilder for RowBuilder<T> {
    fn with_bytes(keys: usize, values: usize) -> Self {
        RowBuilder::with_bytes(keys, values)
    }
}

thread_local! {
    /// Bytes of what waits in this worker's batchers.
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Bytes of the rows that wait to be arranged on this worker.
pub fn waiting_bytes() -> usize {
    WAITING.get()
}

/// A batcher's part in [`waiting_bytes`].
#[derive(Default)]
struct Waiting(usize);

impl Waiting {
    fn is(&mut self, bytes: usize) {
        WAITING.set(WAITING.get() + bytes - self.0);
        self.0 = bytes;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.is(0);
    }
}

/// Keeps updates in sorted blocks until their times are complete, and then builds a batch.
pub struct BlockBatcher<D, T, R, B> {
    pending: Vec<(D, T, R)>,
    blocks: Vec<Block<D, T, R>>,
    /// The batch that is under way.
    building: Option<Building<D, T, R, B>>,
    waiting: Waiting,
}

impl<D, T, R, B> Default for BlockBatcher<D, T, R, B> {
    fn default() -> Self {
        BlockBatcher {
            pending: Vec::new(),
            blocks: Vec::new(),
            building: None,
            waiting: Waiting::default(),
        }
    }
}

/// Updates in order, none of them twice; at least one.
struct Block<D, T, R> {
    updates: Vec<(D, T, R)>,
    /// Whether all have one time.
    one_time: bool,
    keys: usize,
    values: usize,
}

impl<D: Keyed, T: PartialEq, R> Block<D, T, R> {
    fn new(updates: Vec<(D, T, R)>) -> Option<Block<D, T, R>> {
        let (first, rest) = updates.split_first()?;
        let (mut keys, mut values) = first.0.bytes();
        let mut one_time = true;
        let mut last = first;
        for update in rest {
            one_time &= update.1 == first.1;
            let (key, value) = update.0.bytes();
            if !update.0.same_key(&last.0) {
                keys += key;
            }
            values += value;
            last = update;
        }
        Some(Block { updates, one_time, keys, values })
    }
}

impl<D, T, R, B> BlockBatcher<D, T, R, B>
where
    D: Keyed,
    T: Ord,
    R: Semigroup,
{
    /// Adds updates; what is left of the vector means nothing.
    pub fn push(&mut self, updates: &mut Vec<(D, T, R)>) {
        if self.pending.is_empty() {
            std::mem::swap(&mut self.pending, updates);
        } else {
            let together = self.pending.len() + updates.len();
            if together > self.pending.capacity() && together > SORT_BLOCK / 8 {
                // It will grow on: once is enough.
                self.pending.reserve_exact(SORT_BLOCK.max(together) - self.pending.len());
            }
            self.pending.append(updates);
        }
        if self.pending.len() >= SORT_BLOCK {
            self.sort_pending();
        }
        self.note_waiting();
    }

    /// Notes how much is kept, without what long rows have beside.
    fn note_waiting(&mut self) {
        let blocks = self.blocks.iter().map(|block| block.updates.capacity());
        let building = self.building.as_ref().map_or(0, |building| building.updates);
        let updates = self.pending.capacity() + blocks.sum::<usize>() + building;
        self.waiting.is(updates * size_of::<(D, T, R)>());
    }

    fn sort_pending(&mut self) {
        sort_and_consolidate(&mut self.pending);
        // Where little is left the allocation is kept for the next block.
        let block = if self.pending.len() < self.pending.capacity() / 2 {
            self.pending.drain(..).collect()
        } else {
            std::mem::take(&mut self.pending)
        };
        self.keep(block);
    }

    /// Keeps a sorted block.
    fn keep(&mut self, updates: Vec<(D, T, R)>) {
        self.blocks.extend(Block::new(updates));
        while let [.., before, last] = &self.blocks[..]
            && last.updates.len() < SORT_BLOCK / 2
            && before.updates.len() <= last.updates.len() * 2
        {
            let pair = self.blocks.split_off(self.blocks.len() - 2);
            let mut merged = Vec::with_capacity(pair.iter().map(|b| b.updates.len()).sum());
            Merge::new(pair).go_on(usize::MAX, |chunk| merged.append(chunk));
            self.blocks.extend(Block::new(merged));
        }
    }
}

impl<T, R, B> Insert<Vec<((Row, Row), T, R)>> for BlockBatcher<(Row, Row), T, R, B>
where
    T: Time,
    R: Semigroup,
    B: SizedBuilder<Input = Vec<((Row, Row), T, R)>>,
{
    fn insert(&mut self, updates: &mut Vec<((Row, Row), T, R)>) {
        self.push(updates);
    }
}

/// Rows that are keys without values.
impl<T, R, B> Insert<Vec<(Row, T, R)>> for BlockBatcher<(Row, Row), T, R, B>
where
    T: Time,
    R: Semigroup,
    B: SizedBuilder<Input = Vec<((Row, Row), T, R)>>,
{
    fn insert(&mut self, updates: &mut Vec<(Row, T, R)>) {
        let keyed = updates.drain(..).map(|(row, time, diff)| ((row, Row::EMPTY), time, diff));
        self.push(&mut keyed.collect());
    }
}

/// Keeps rows that are the values of what comes as keys without values.
pub struct WholeRows<T: Time>(RowBatcher<T>);

impl<T: Time> Default for WholeRows<T> {
    fn default() -> Self {
        WholeRows(RowBatcher::default())
    }
}

impl<T: Time> Insert<Vec<RowUpdate<T>>> for WholeRows<T> {
    fn insert(&mut self, updates: &mut Vec<RowUpdate<T>>) {
        for ((key, row), ..) in updates.iter_mut() {
            *key = std::mem::replace(row, Row::EMPTY);
        }
        self.0.push(updates);
    }
}

impl<T: Time> Batcher for WholeRows<T> {
    type Time = T;
    type Output = RowBatch<T>;

    fn begin(&mut self, upper: AntichainRef<'_, T>) -> Antichain<T> {
        self.0.begin(upper)
    }

    fn go_on(&mut self, fuel: usize) -> Option<Option<RowBatch<T>>> {
        self.0.go_on(fuel)
    }
}

impl<D, T, R, B> Batcher for BlockBatcher<D, T, R, B>
where
    D: Keyed,
    T: Time,
    R: Semigroup,
    B: SizedBuilder<Input = Vec<(D, T, R)>>,
{
    type Time = T;
    type Output = B::Output;

    fn begin(&mut self, upper: AntichainRef<'_, T>) -> Antichain<T> {
        if !self.pending.is_empty() {
            self.sort_pending();
        }
        let mut left = Antichain::new();
        let (mut ready, mut kept) = (Vec::new(), Vec::new());
        for mut block in self.blocks.drain(..) {
            if block.one_time {
                let time = &block.updates[0].1;
                if upper.less_equal(time) {
                    left.insert_ref(time);
                    kept.push(block.updates);
                } else {
                    ready.push(block);
                }
                continue;
            }
            let late = |update: &mut (D, T, R)| upper.less_equal(&update.1);
            let waiting: Vec<_> = block.updates.extract_if(.., late).collect();
            waiting.iter().for_each(|update| {
                left.insert_ref(&update.1);
            });
            kept.push(waiting);
            ready.extend(Block::new(block.updates));
        }
        kept.into_iter().for_each(|block| self.keep(block));
        self.building = Building::new(ready);
        self.note_waiting();
        left
    }

    fn go_on(&mut self, fuel: usize) -> Option<Option<B::Output>> {
        let Some(building) = &mut self.building else { return Some(None) };
        if !building.merge.go_on(fuel, |chunk| building.builder.push(chunk)) {
            return None;
        }
        let built = self.building.take().and_then(|building| building.builder.done());
        self.note_waiting();
        Some(built)
    }
}

/// A batch that is being built.
struct Building<D, T, R, B> {
    merge: Merge<D, T, R>,
    builder: B,
    /// How many updates went in.
    updates: usize,
}

impl<D, T, R, B> Building<D, T, R, B>
where
    D: Keyed,
    T: Ord,
    R: Semigroup,
    B: SizedBuilder<Input = Vec<(D, T, R)>>,
{
    fn new(blocks: Vec<Block<D, T, R>>) -> Option<Building<D, T, R, B>> {
        if blocks.is_empty() {
            return None;
        }
        let sum = |bytes: fn(&Block<D, T, R>) -> usize| blocks.iter().map(bytes).sum();
        let builder = B::with_bytes(sum(|block| block.keys), sum(|block| block.values));
        let updates = sum(|block| block.updates.capacity());
        Some(Building { merge: Merge::new(blocks), builder, updates })
    }
}

/// A merge of blocks, in which what is equal is added up.
enum Merge<D, T, R> {
    One(Vec<(D, T, R)>),
    Many { heads: Heads<D, T, R>, last: Option<(D, T, R)> },
}

impl<D: Ord, T: Ord, R: Semigroup> Merge<D, T, R> {
    fn new(mut blocks: Vec<Block<D, T, R>>) -> Merge<D, T, R> {
        if blocks.len() < 2 {
            return Merge::One(blocks.pop().map(|block| block.updates).unwrap_or_default());
        }
        let mut heads = Heads::new(blocks);
        let last = heads.next();
        Merge::Many { heads, last }
    }

    /// Takes so many updates, and hands out chunks, to be emptied; says whether those were all.
    fn go_on(&mut self, fuel: usize, mut out: impl FnMut(&mut Vec<(D, T, R)>)) -> bool {
        let (heads, kept) = match self {
            Merge::One(updates) => {
                out(updates);
                return true;
            }
            Merge::Many { heads, last } => (heads, last),
        };
        let Some(mut last) = kept.take() else { return true };
        let mut chunk: Vec<(D, T, R)> = Vec::with_capacity(CHUNK);
        for _ in 0..fuel {
            let Some(update) = heads.next() else {
                if !last.2.is_zero() {
                    chunk.push(last);
                }
                out(&mut chunk);
                return true;
            };
            if last.0 == update.0 && last.1 == update.1 {
                last.2.plus_equals(&update.2);
                continue;
            }
            let done = std::mem::replace(&mut last, update);
            if !done.2.is_zero() {
                chunk.push(done);
                if chunk.len() == CHUNK {
                    out(&mut chunk);
                    chunk.clear();
                }
            }
        }
        *kept = Some(last);
        out(&mut chunk);
        false
    }
}

/// A tournament of the least updates of several blocks.
///
/// `losers[0]` is the block with the least head; every other entry is the block that lost the game
/// at that place of the tree, whose leaves are the blocks. So the next update costs one game a
/// level.
struct Heads<D, T, R> {
    heads: Vec<Option<(D, T, R)>>,
    rests: Vec<IntoIter<(D, T, R)>>,
    losers: Vec<usize>,
}

impl<D: Ord, T: Ord, R> Heads<D, T, R> {
    fn new(blocks: Vec<Block<D, T, R>>) -> Heads<D, T, R> {
        let mut rests: Vec<_> = blocks.into_iter().map(|b| b.updates.into_iter()).collect();
        let heads: Vec<_> = rests.iter_mut().map(Iterator::next).collect();
        let count = heads.len();
        // A block that does not exist loses no game, until all others have played.
        let mut all = Heads { heads, rests, losers: vec![count; count] };
        (0..count).for_each(|block| all.play(block));
        all
    }

    /// Whether a block's head goes before another's.
    #[inline]
    fn is_before(&self, a: usize, b: usize) -> bool {
        if a == self.heads.len() || b == self.heads.len() {
            return a == self.heads.len();
        }
        match (&self.heads[a], &self.heads[b]) {
            (Some(a), Some(b)) => (&a.0, &a.1) < (&b.0, &b.1),
            (Some(_), None) => true,
            (None, _) => false,
        }
    }

    /// Plays the games of a block on the way from its leaf to the root.
    #[inline]
    fn play(&mut self, block: usize) {
        let mut winner = block;
        let mut place = (block + self.heads.len()) / 2;
        while place > 0 {
            if self.is_before(self.losers[place], winner) {
                std::mem::swap(&mut self.losers[place], &mut winner);
            }
            place /= 2;
        }
        self.losers[0] = winner;
    }

    #[inline]
    fn next(&mut self) -> Option<(D, T, R)> {
        let block = self.losers[0];
        let next = self.rests[block].next();
        let least = std::mem::replace(&mut self.heads[block], next)?;
        self.play(block);
        Some(least)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Drives a batcher with small blocks and with blocks that must be merged.
    #[test]
    fn batches_hold_what_was_put_in_at_their_times() {
        use differential_dataflow::trace::{Cursor, Navigable};
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for size in [1, 3, SORT_BLOCK / 3, SORT_BLOCK + 5] {
            let mut batcher = RowBatcher::<Timestamp>::default();
            let mut waiting: BTreeMap<(u64, u64, Timestamp), Diff> = BTreeMap::new();
            for upper in 1..6u64 {
                for _ in 0..4 {
                    let mut updates: Vec<RowUpdate> = (0..size)
                        .map(|_| {
                            let (key, value) = (random(2_000), random(3));
                            let (time, diff) = (upper - 1 + random(3), random(3) as i64 - 1);
                            *waiting.entry((key, value, time)).or_default() += diff;
                            let row = |n: u64| Row::new(&n.to_be_bytes());
                            ((row(key), row(value)), time, diff)
                        })
                        .collect();
                    batcher.insert(&mut updates);
                }
                let left = batcher.begin(Antichain::from_elem(upper).borrow());
                let pieces = (0..).map(|_| batcher.go_on(size / 2 + 1));
                let batch = pieces.flatten().next().unwrap();
                let later = waiting.split_off(&(0, 0, 0)).into_iter();
                let (later, ready): (Vec<_>, Vec<_>) = later.partition(|((.., t), _)| *t >= upper);
                let ready: BTreeMap<_, _> = ready.into_iter().filter(|(_, d)| *d != 0).collect();
                waiting = later.into_iter().filter(|(_, d)| *d != 0).collect();
                let mut found = BTreeMap::new();
                if let Some(batch) = batch {
                    let number = |row: &[u8]| u64::from_be_bytes(row.try_into().unwrap());
                    let mut cursor = batch.cursor();
                    while let Some(key) = cursor.get_key(&batch) {
                        while let Some(value) = cursor.get_val(&batch) {
                            let (key, value) = (number(key.0), number(value.0));
                            cursor.map_times(&batch, |time, diff| {
                                assert!(found.insert((key, value, *time), *diff).is_none());
                            });
                            cursor.step_val(&batch);
                        }
                        cursor.step_key(&batch);
                    }
                }
                assert!(found == ready, "{size} at {upper}");
                // A bound; what has cancelled may have lowered it.
                let least = waiting.keys().map(|(.., t)| *t).min();
                assert!(left.iter().min() <= least.as_ref() || least.is_none());
            }
            assert!(batcher.blocks.len() < 20, "{} blocks", batcher.blocks.len());
        }
    }

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
