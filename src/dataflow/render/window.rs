//! The first rows of each group, in the order of their bytes.
//!
//! An arrangement keeps the values of a key sorted. Whoever encodes a group's rows so that bytes
//! have the wanted order finds the least row, or the first ten, at the front, however large the
//! group is: min, max, DISTINCT, top-k and the rest are this operator with another encoding and
//! another [`GroupLogic`]. No hierarchy of ever smaller groups is needed.
//!
//! What could spoil this is a front of rows that are gone: deletions lie in newer batches than what
//! they delete until both are merged, so a queue that loses its least row again and again would
//! walk over all of them each time. Where that many were seen, the place of the first live row is
//! remembered ([`Window::starts`]): nothing below it is alive, unless a new batch says so.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use differential_dataflow::trace::{Cursor, Navigable};
use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::group::{Answer, Answers, Old, Output, PerKey, per_key};
use crate::dataflow::arrangement::{RowArranged, RowBatch, RowRef, Rows, RowsByKey};
use crate::repr::{Diff, Row, Timestamp};

/// Makes a group's answer of its key and its first rows, with their counts.
///
/// Rows whose count is negative are among them and do not count as first ones.
pub type GroupLogic = Box<dyn FnMut(&[u8], &[(RowRef<'_>, Diff)], &mut Answer)>;

/// How many dead rows in front are walked over without remembering it.
const DEAD_MAX: usize = 32;

/// Answers by the first `first` rows of each group (all where there is none), by `logic`; returns
/// rows and, where that is `fallible`, errors.
pub fn window<'s>(
    arranged: RowArranged<'s>,
    name: &str,
    first: Option<u64>,
    logic: GroupLogic,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    window_with_ties(arranged, name, (first, None), logic, fallible)
}

/// Whether two values of a group are peers.
pub type Ties = fn(RowRef<'_>, RowRef<'_>) -> bool;

/// The same, by the first rows and those that are peers of the last of them.
pub fn window_with_ties<'s>(
    arranged: RowArranged<'s>,
    name: &str,
    (first, ties): (Option<u64>, Option<Ties>),
    logic: GroupLogic,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    let (starts, answers) = (HashMap::default(), Answers::default());
    per_key(arranged, name, Window { first, ties, logic, starts, answers }, fallible)
}

type Batch = Rc<RowBatch>;
type BatchCursor = <Batch as Navigable>::Cursor;

struct Window {
    first: Option<u64>,
    ties: Option<Ties>,
    logic: GroupLogic,
    /// Rows below this are all dead; only for groups that had many such.
    starts: HashMap<Row, Row, FixedState>,
    answers: Answers,
}

/// A group as it was before a batch: its live rows as far as they have been read.
struct Group<'b> {
    batches: &'b [Batch],
    cursors: &'b mut [BatchCursor],
    /// Which cursors stand at the group.
    at: SmallVec<[usize; 8]>,
    live: SmallVec<[(RowRef<'b>, Diff); 4]>,
    dead: usize,
}

impl<'b> Group<'b> {
    fn find(old: &'b mut Old<Batch>, key: RowRef<'_>, start: Option<RowRef<'_>>) -> Group<'b> {
        let Old { batches, cursors } = old;
        let mut at = SmallVec::new();
        for (i, (batch, cursor)) in batches.iter().zip(cursors.iter_mut()).enumerate() {
            cursor.seek_key(batch, key);
            if cursor.get_key(batch) == Some(key) {
                if let Some(start) = start {
                    cursor.seek_val(batch, start);
                }
                at.push(i);
            }
        }
        Group { batches, cursors, at, live: SmallVec::new(), dead: 0 }
    }

    /// Reads one more live row; says whether there was one.
    fn pull(&mut self) -> bool {
        let batches = self.batches;
        loop {
            let values = self.at.iter().filter_map(|i| self.cursors[*i].get_val(&batches[*i]));
            let Some(least) = values.min() else { return false };
            let mut count = 0;
            for &i in &self.at {
                let (batch, cursor) = (&batches[i], &mut self.cursors[i]);
                if cursor.get_val(batch) == Some(least) {
                    cursor.map_times(batch, |_, diff| count += *diff);
                    cursor.step_val(batch);
                }
            }
            if count != 0 {
                self.live.push((least, count));
                return true;
            }
            self.dead += 1;
        }
    }

    /// The first rows, when the counts of `fresh` rows are added.
    fn first(
        &mut self,
        (first, ties): (Option<u64>, Option<Ties>),
        fresh: &[RowRef<'b>],
        counts: &[Diff],
        rows: &mut Vec<(RowRef<'b>, Diff)>,
    ) {
        rows.clear();
        let (mut i, mut j, mut found) = (0, 0, 0u64);
        loop {
            let enough = first.is_some_and(|first| found >= first);
            if enough && ties.is_none() {
                break;
            }
            let old = (i < self.live.len() || self.pull()).then(|| self.live[i]);
            let new = fresh.get(j).map(|row| (*row, counts[j]));
            let (row, count) = match (old, new) {
                (None, None) => break,
                (Some(old), None) => old,
                (None, Some(new)) => new,
                (Some(old), Some(new)) => match old.0.cmp(&new.0) {
                    Ordering::Less => old,
                    Ordering::Equal => (old.0, old.1 + new.1),
                    Ordering::Greater => new,
                },
            };
            let is_peer = |(last, _): &(RowRef<'b>, Diff)| ties.is_some_and(|t| t(*last, row));
            if enough && !rows.last().is_some_and(is_peer) {
                break;
            }
            i += usize::from(old.is_some_and(|old| old.0 == row));
            j += usize::from(new.is_some_and(|new| new.0 == row));
            if count != 0 {
                rows.push((row, count));
                found += count.max(0).unsigned_abs();
            } else {
                self.dead += 1;
            }
        }
    }
}

impl PerKey<Batch> for Window {
    fn treat(
        &mut self,
        (batch, cursor): (&Batch, &mut BatchCursor),
        old: &mut Old<Batch>,
        out: &mut Output,
    ) -> usize {
        let key = cursor.key(batch);
        let mut fresh: SmallVec<[RowRef<'_>; 8]> = SmallVec::new();
        let mut edits: SmallVec<[(Timestamp, usize, Diff); 8]> = SmallVec::new();
        while let Some(row) = cursor.get_val(batch) {
            cursor.map_times(batch, |time, diff| edits.push((*time, fresh.len(), *diff)));
            fresh.push(row);
            cursor.step_val(batch);
        }
        edits.sort_unstable();

        let remembered =
            if self.starts.is_empty() { None } else { self.starts.get(&Row::new(key.0)) };
        let had_start = remembered.is_some();
        let start = remembered.map(|row| RowRef(row.bytes()).min(fresh[0]));
        let mut group = Group::find(old, key, start);
        let mut counts: SmallVec<[Diff; 8]> = SmallVec::from_elem(0, fresh.len());
        let mut rows = Vec::new();

        let Window { first, ties, logic, starts, answers } = self;
        let wanted = (*first, *ties);
        group.first(wanted, &fresh, &counts, &mut rows);
        answers.begin(|answer| logic(key.0, &rows, answer));
        for same in edits.chunk_by(|a, b| a.0 == b.0) {
            for (_, row, diff) in same {
                counts[*row] += *diff;
            }
            group.first(wanted, &fresh, &counts, &mut rows);
            answers.next(same[0].0, |answer| logic(key.0, &rows, answer), out);
        }
        if let Some((least, _)) = rows.first()
            && (group.dead > DEAD_MAX || had_start)
        {
            starts.insert(Row::new(key.0), Row::new(least.0));
        }
        edits.len() + group.live.len() + group.dead
    }
}
