//! Reading an arrangement at one time, outside of any dataflow.
//!
//! A [`Peek`] is a small state machine that the worker's loop resumes: it waits until the
//! arrangement is complete through its time, takes the batches as they are then (they are immutable
//! and shared, so later writes and compaction do not disturb it), and walks them by fuel. It stops
//! for good at its limit and for a while where its reader has no credit.
//!
//! Only `seek_key` and steps are used: `CursorList::seek_val` loses values when several batches
//! stand at different keys.

use std::rc::Rc;

use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::{Cursor, Navigable, TraceReader};
use timely::progress::Antichain;

use super::arrangement::{RowBatch, RowRef, RowTrace, upper_of};
use super::command::Bounds;
use super::emit::{Emit, RowLogic, encoded_bytes};
use crate::repr::{Diff, Row, Timestamp};

/// The least byte string above all those that begin with `prefix`, if there is one.
///
/// All keys that begin with `prefix` are the range from `prefix` to here.
pub fn successor(prefix: &[u8]) -> Option<Row> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut bytes = prefix[..=last].to_vec();
    bytes[last] += 1;
    Some(Row::new(&bytes))
}

/// How far a peek has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeekProgress {
    /// The arrangement is not complete yet.
    Waiting,
    /// The fuel is spent: resume soon.
    OutOfFuel,
    /// The credit is spent: resume when the reader gives more.
    OutOfCredit,
    /// All is read.
    Done,
    /// The arrangement no longer distinguishes the peek's time: a hold was missing.
    Compacted,
}

/// What a peek has found since it was last asked.
#[derive(Default, Debug)]
pub struct PeekRows {
    /// Rows with their multiplicities.
    pub oks: Vec<(Row, Diff)>,
    /// Errors with their multiplicities.
    pub errs: Vec<(Row, Diff)>,
}

/// A reading of one arrangement at one time.
pub struct Peek {
    at: Timestamp,
    need: Timestamp,
    bounds: Bounds,
    logic: RowLogic,
    /// How many rows may still be returned.
    limit: u64,
    /// How many bytes of rows may still be returned.
    credit: u64,
    walk: Option<Walk>,
    emit: Emit,
}

/// The batches as they were when they were complete, and a position in them.
struct Walk {
    cursor: CursorList<<Rc<RowBatch> as Navigable>::Cursor>,
    batches: Vec<Rc<RowBatch>>,
    /// Which of the keys, or of the one range, is being read.
    part: usize,
    /// Whether the cursor has been moved to its beginning.
    inside: bool,
}

impl Peek {
    /// A peek within `bounds` at `at`, possible once the arrangement is complete below `need`.
    ///
    /// `logic` filters and projects: its rows are the values it emits. At most `limit` rows come,
    /// counted with their multiplicities, but the last one with all of its own.
    pub fn new(
        at: Timestamp,
        need: Timestamp,
        bounds: Bounds,
        limit: Option<u64>,
        logic: RowLogic,
    ) -> Peek {
        let limit = limit.unwrap_or(u64::MAX);
        Peek { at, need, bounds, logic, limit, credit: 0, walk: None, emit: Emit::default() }
    }

    /// Lets the peek return so many bytes more.
    pub fn add_credit(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
    }

    /// Reads on, at most `fuel` updates, and puts what is found into `found`.
    ///
    /// `trace` is used until the arrangement is complete, and must hold the peek's time readable
    /// so long.
    pub fn resume(
        &mut self,
        trace: &mut RowTrace,
        fuel: &mut usize,
        found: &mut PeekRows,
    ) -> PeekProgress {
        if self.walk.is_none() {
            if upper_of(trace).is_some_and(|upper| upper < self.need) {
                return PeekProgress::Waiting;
            }
            if !trace.get_logical_compaction().less_equal(&self.at) {
                return PeekProgress::Compacted;
            }
            let batches = trace.batches_through(Antichain::new().borrow()).unwrap_or_default();
            let (cursor, batches) = cursor_list(batches);
            self.walk = Some(Walk { cursor, batches, part: 0, inside: false });
        }
        self.walk_on(fuel, found)
    }

    fn walk_on(&mut self, fuel: &mut usize, found: &mut PeekRows) -> PeekProgress {
        let Some(walk) = self.walk.as_mut() else { return PeekProgress::Waiting };
        while walk.part < parts_of(&self.bounds) && self.limit > 0 {
            if *fuel == 0 {
                return PeekProgress::OutOfFuel;
            }
            if !walk.enter(&self.bounds) {
                // Moving to the next part costs a search.
                *fuel -= 1;
                continue;
            }
            while let (Some(key), Some(value)) =
                (walk.cursor.get_key(&walk.batches), walk.cursor.get_val(&walk.batches))
            {
                if self.limit == 0 {
                    return PeekProgress::Done;
                }
                if self.credit == 0 {
                    return PeekProgress::OutOfCredit;
                }
                if *fuel == 0 {
                    return PeekProgress::OutOfFuel;
                }
                let (mut count, mut updates, at) = (0, 0, self.at);
                walk.cursor.map_times(&walk.batches, |time, diff| {
                    updates += 1;
                    if *time <= at {
                        count += *diff;
                    }
                });
                *fuel = fuel.saturating_sub(updates);
                if count != 0 {
                    (self.logic)(key.0, value.0, &mut self.emit);
                    take_found(&mut self.emit, count, &mut self.limit, &mut self.credit, found);
                }
                walk.cursor.step_val(&walk.batches);
            }
            walk.cursor.step_key(&walk.batches);
        }
        PeekProgress::Done
    }
}

/// Moves what was emitted for a row of multiplicity `count` to what was found.
fn take_found(
    emit: &mut Emit,
    count: Diff,
    limit: &mut u64,
    credit: &mut u64,
    found: &mut PeekRows,
) {
    for (_, row) in emit.oks.drain(..) {
        *limit = limit.saturating_sub(count.unsigned_abs());
        *credit = credit.saturating_sub(encoded_bytes(&row));
        found.oks.push((row, count));
    }
    for error in emit.errs.drain(..) {
        *credit = credit.saturating_sub(encoded_bytes(&error));
        found.errs.push((error, count));
    }
}

impl Walk {
    /// Whether the current key lies in the current part; otherwise moves on to the next part.
    fn enter(&mut self, bounds: &Bounds) -> bool {
        let lo = match bounds {
            Bounds::All => None,
            Bounds::Keys(keys) => Some(&keys[self.part]),
            Bounds::Range { lo, .. } => lo.as_ref(),
        };
        if !self.inside {
            self.inside = true;
            if let Some(lo) = lo {
                self.cursor.seek_key(&self.batches, RowRef(lo.bytes()));
            }
        }
        let key = self.cursor.get_key(&self.batches);
        let within = key.is_some_and(|key| match bounds {
            Bounds::All => true,
            Bounds::Keys(_) => lo.is_some_and(|lo| key == lo),
            Bounds::Range { hi, .. } => hi.as_ref().is_none_or(|hi| key < RowRef(hi.bytes())),
        });
        if within {
            return true;
        }
        // Behind the last key of all there is nothing for any later part either.
        self.part = if key.is_none() { usize::MAX } else { self.part + 1 };
        self.inside = false;
        false
    }
}

/// Into how many searches the bounds fall.
fn parts_of(bounds: &Bounds) -> usize {
    match bounds {
        Bounds::Keys(keys) => keys.len(),
        Bounds::All | Bounds::Range { .. } => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::super::testing::{Random, Table, number, row};
    use super::*;

    type Content = BTreeMap<(u64, u64), Diff>;

    /// Peeks to the end with little fuel and credit at a time, or until told to wait.
    fn peek_all(
        peek: &mut Peek,
        trace: &mut RowTrace,
        fuel: usize,
    ) -> Result<(Content, usize), PeekProgress> {
        let (mut content, mut slices) = (Content::new(), 0);
        loop {
            let mut found = PeekRows::default();
            let progress = peek.resume(trace, &mut { fuel }, &mut found);
            slices += 1;
            for (row, count) in found.oks {
                let entry = (number(row.bytes(), 0), number(row.bytes(), 1));
                assert_eq!(content.insert(entry, count), None, "{entry:?} came twice");
            }
            match progress {
                PeekProgress::Done => return Ok((content, slices)),
                PeekProgress::OutOfFuel => {}
                PeekProgress::OutOfCredit => peek.add_credit(40),
                PeekProgress::Waiting | PeekProgress::Compacted => return Err(progress),
            }
        }
    }

    fn both() -> RowLogic {
        Box::new(|key, value, emit| emit.ok(Row::EMPTY, Row::new(&[key, value].concat())))
    }

    #[test]
    fn keys_ranges_and_scans_equal_brute_force_at_every_time() {
        timely::execute(timely::Config::thread(), |worker| {
            let mut table = Table::create(worker);
            let mut random = Random(3);
            let (mut content, mut history) = (Content::new(), Vec::new());
            for time in 0..40u64 {
                let mut changes = Vec::new();
                for _ in 0..6 {
                    let entry = (random.below(20), random.below(3));
                    let count = content.entry(entry).or_insert(0);
                    let diff = if *count > 0 && random.below(2) == 0 { -1 } else { 1 };
                    *count += diff;
                    changes.push(((row(&[entry.0]), row(&[entry.1])), diff));
                }
                content.retain(|_, count| *count != 0);
                history.push(content.clone());
                table.write(&changes, time);
                table.settle(worker);
            }
            table.compact(5);
            for at in 5..40u64 {
                let keys = [2u64, 5, 6, 19, 77];
                let key_rows = keys.iter().map(|key| row(&[*key])).collect();
                let lo = Some(row(&[4]));
                let hi = successor(row(&[8]).bytes());
                type Holds = Box<dyn Fn(u64) -> bool>;
                let cases: [(Bounds, Holds); 4] = [
                    (Bounds::All, Box::new(|_| true)),
                    (Bounds::Keys(Arc::new(key_rows)), Box::new(move |k| keys.contains(&k))),
                    (Bounds::Range { lo, hi }, Box::new(|k| (4..=8).contains(&k))),
                    (Bounds::Range { lo: None, hi: Some(row(&[3])) }, Box::new(|k| k < 3)),
                ];
                for (bounds, holds) in cases {
                    let mut expected = history[at as usize].clone();
                    expected.retain(|entry, _| holds(entry.0));
                    for fuel in [1, 7, 10_000] {
                        let mut peek = Peek::new(at, at + 1, bounds.clone(), None, both());
                        let found = peek_all(&mut peek, &mut table.trace, fuel).unwrap().0;
                        assert_eq!(found, expected, "{bounds:?} at {at}");
                    }
                }
            }
        })
        .unwrap();
    }

    #[test]
    fn a_peek_waits_stops_at_its_limit_and_refuses_lost_times() {
        timely::execute(timely::Config::thread(), |worker| {
            let mut table = Table::create(worker);
            let rows: Vec<_> = (0..1000).map(|k| ((row(&[k]), row(&[k])), 1)).collect();
            table.write(&rows, 10);
            let mut peek = Peek::new(10, 11, Bounds::All, Some(5), both());
            assert_eq!(
                peek_all(&mut peek, &mut table.trace, 100).err(),
                Some(PeekProgress::Waiting)
            );
            table.settle(worker);
            assert_eq!(peek_all(&mut peek, &mut table.trace, 100).unwrap().0.len(), 5);
            let mut scan = Peek::new(10, 11, Bounds::All, None, both());
            scan.add_credit(1 << 40);
            let (found, slices) = peek_all(&mut scan, &mut table.trace, 100).unwrap();
            assert_eq!((found.len(), slices), (1000, 11));
            // A later time is readable as long as nothing was written since.
            let mut later = Peek::new(500, 11, Bounds::All, None, both());
            assert_eq!(peek_all(&mut later, &mut table.trace, 100).unwrap().0.len(), 1000);
            table.write(&[], 20);
            table.settle(worker);
            table.compact(15);
            let mut old = Peek::new(12, 11, Bounds::All, None, both());
            assert_eq!(
                peek_all(&mut old, &mut table.trace, 100).err(),
                Some(PeekProgress::Compacted)
            );
        })
        .unwrap();
    }

    #[test]
    fn successors_end_a_prefix() {
        assert_eq!(successor(b"ab"), Some(Row::new(b"ac")));
        assert_eq!(successor(b"a\xff\xff"), Some(Row::new(b"b")));
        assert_eq!(successor(b"\xff"), None);
        assert_eq!(successor(b""), None);
    }
}
