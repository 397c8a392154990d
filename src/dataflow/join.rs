//! The equijoin of two arrangements, which yields inside a key.
//!
//! [The operator](super::join_operator) pairs each new batch with what the other side holds, and
//! pulls output from an iterator until it has done enough. Differential's iterator stops only
//! between keys and counts records after consolidation, so one hot key of 3163 × 3163 matches took
//! one step of 2.5 s and 560 MB. Ours walks value × value and stops after [`MATCHES`] matches
//! wherever it is, and reports work done, not records left, as fuel.
//!
//! The logic is one boxed closure, so the engine's join is compiled once per time and trace.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::{consolidate, consolidate_updates};
use differential_dataflow::operators::arrange::Arranged;
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::{BatchCursor, Cursor, Navigable, TraceReader};

use super::arrangement::{
    RowArranged, RowContainer, RowRef, RowUpdate, Rows, RowsByKey, Time, Updates,
};
use super::emit::{Emit, JoinLogic};
use super::join_operator::{Fresh, Pairs, join};
use crate::repr::{Diff, Row, Timestamp};

/// After how many matches one slice of work ends.
pub const MATCHES: i64 = 1 << 15;
/// After how many rows one slice of work ends.
const ROWS: usize = 1 << 13;

/// A cursor over keyed rows.
pub trait RowCursorAt<T: Time>:
    for<'a> Cursor<
        Time = T,
        Diff = Diff,
        Key<'a> = RowRef<'a>,
        Val<'a> = RowRef<'a>,
        KeyContainer = RowContainer,
    >
{
}

impl<T: Time, C> RowCursorAt<T> for C where
    C: for<'a> Cursor<
            Time = T,
            Diff = Diff,
            Key<'a> = RowRef<'a>,
            Val<'a> = RowRef<'a>,
            KeyContainer = RowContainer,
        >
{
}

/// Joins two arrangements on their keys; returns rows and, where `logic` is `fallible`, errors.
///
/// `logic` sees key, left value and right value of each match. All updates come at `as_of` or
/// later.
pub fn join_rows<'s>(
    left: RowArranged<'s>,
    right: RowArranged<'s>,
    name: &str,
    as_of: Timestamp,
    logic: JoinLogic,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    join_traces(left, right, name, as_of, logic, fallible)
}

/// [`join_rows`] for any time and for traces that are entered into a scope.
pub fn join_traces<'s, T: Time, L, R>(
    left: Arranged<'s, L>,
    right: Arranged<'s, R>,
    name: &str,
    as_of: T,
    logic: JoinLogic,
    fallible: bool,
) -> (RowsByKey<'s, T>, Option<Rows<'s, T>>)
where
    L: TraceReader<Time = T, Batch: Navigable + Updates> + 'static,
    R: TraceReader<Time = T, Batch: Navigable + Updates> + 'static,
    BatchCursor<L>: RowCursorAt<T>,
    BatchCursor<R>: RowCursorAt<T>,
{
    let logic = Rc::new(RefCell::new(logic));
    let prepare = move |left, right, fresh, meet: T| -> Pairs<T> {
        // Joining all times with the as-of is always sound; joining the old side's with the new
        // batch's lower bound changes no result, since a match comes at the later of two times.
        let meet = meet.join(&as_of);
        let (old_left, old_right) = match fresh {
            Fresh::Left => (as_of.clone(), meet),
            Fresh::Right => (meet, as_of.clone()),
        };
        Box::new(Walk {
            left: Side::new(left, old_left),
            right: Side::new(right, old_right),
            inside: false,
            emit: Emit::default(),
            logic: Rc::clone(&logic),
        })
    };
    let (oks, errs) = join(left, right, name, Box::new(prepare), fallible);
    (oks.as_collection(), errs.map(AsCollection::as_collection))
}

/// Rows, errors, and the number of matches it took to make them.
pub(super) struct Metered<T> {
    pub(super) oks: Vec<RowUpdate<T>>,
    pub(super) errs: Vec<(Row, T, Diff)>,
    pub(super) work: i64,
}

/// One side of a walk.
struct Side<B: Navigable, T> {
    cursor: CursorList<B::Cursor>,
    batches: Vec<B>,
    /// Times are joined with this one.
    advance: T,
    /// The updates of the current value, consolidated.
    edits: Vec<(T, Diff)>,
}

impl<T: Time, B: Navigable<Cursor: RowCursorAt<T>>> Side<B, T> {
    fn new(batches: Vec<B>, advance: T) -> Side<B, T> {
        let (cursor, batches) = cursor_list(batches);
        Side { cursor, batches, advance, edits: Vec::new() }
    }

    fn key(&self) -> Option<RowRef<'_>> {
        self.cursor.get_key(&self.batches)
    }

    fn value(&self) -> Option<RowRef<'_>> {
        self.cursor.get_val(&self.batches)
    }

    fn load_edits(&mut self) {
        self.edits.clear();
        let (advance, edits) = (&self.advance, &mut self.edits);
        self.cursor.map_times(&self.batches, |time, diff| {
            let time = B::Cursor::owned_time(time).join(advance);
            edits.push((time, B::Cursor::owned_diff(diff)));
        });
        consolidate(edits);
    }
}

/// The matches of two lists of batches, in slices.
struct Walk<L: Navigable, R: Navigable, T> {
    left: Side<L, T>,
    right: Side<R, T>,
    /// Whether both sides stand at the same key and the left value's edits are loaded.
    inside: bool,
    emit: Emit,
    logic: Rc<RefCell<JoinLogic>>,
}

impl<T: Time, L, R> Iterator for Walk<L, R, T>
where
    L: Navigable<Cursor: RowCursorAt<T>>,
    R: Navigable<Cursor: RowCursorAt<T>>,
{
    type Item = Metered<T>;

    fn next(&mut self) -> Option<Metered<T>> {
        let mut out = Metered { oks: Vec::new(), errs: Vec::new(), work: 0 };
        while out.work < MATCHES && out.oks.len() + out.errs.len() < ROWS {
            let (Some(left_key), Some(right_key)) = (self.left.key(), self.right.key()) else {
                break;
            };
            match left_key.cmp(&right_key) {
                Ordering::Less => {
                    self.left.cursor.seek_key(&self.left.batches, right_key);
                    out.work += 1;
                }
                Ordering::Greater => {
                    self.right.cursor.seek_key(&self.right.batches, left_key);
                    out.work += 1;
                }
                Ordering::Equal => {
                    if !self.inside {
                        self.inside = true;
                        self.left.load_edits();
                    }
                    self.step_inside(&mut out);
                }
            }
        }
        if out.work == 0 {
            return None;
        }
        // Rows are added up where they are arranged, and few are equal before.
        consolidate_updates(&mut out.errs);
        Some(out)
    }
}

impl<T: Time, L, R> Walk<L, R, T>
where
    L: Navigable<Cursor: RowCursorAt<T>>,
    R: Navigable<Cursor: RowCursorAt<T>>,
{
    /// Makes one match, or moves to the next left value or the next key.
    fn step_inside(&mut self, out: &mut Metered<T>) {
        out.work += 1;
        match (self.left.value(), self.right.value()) {
            (Some(_), Some(_)) if self.left.edits.is_empty() => self.next_left_value(),
            (Some(_), Some(_)) => {
                self.right.load_edits();
                self.make_match(out);
                self.right.cursor.step_val(&self.right.batches);
            }
            (Some(_), None) => self.next_left_value(),
            (None, _) => {
                self.left.cursor.step_key(&self.left.batches);
                self.right.cursor.step_key(&self.right.batches);
                self.inside = false;
            }
        }
    }

    fn next_left_value(&mut self) {
        self.left.cursor.step_val(&self.left.batches);
        if self.left.value().is_some() {
            self.right.cursor.rewind_vals(&self.right.batches);
            self.left.load_edits();
        }
    }

    fn make_match(&mut self, out: &mut Metered<T>) {
        let (Some(key), Some(left), Some(right)) =
            (self.left.key(), self.left.value(), self.right.value())
        else {
            return;
        };
        let (left_edits, right_edits) = (&self.left.edits, &self.right.edits);
        if right_edits.is_empty() {
            return;
        }
        out.work += (left_edits.len() * right_edits.len()) as i64;
        (self.logic.borrow_mut())(key.0, left.0, right.0, &mut self.emit);
        let edits = || {
            left_edits
                .iter()
                .flat_map(|(t, d)| right_edits.iter().map(move |(u, e)| (t.join(u), d * e)))
        };
        if let ([(left, m)], [(right, n)]) = (&left_edits[..], &right_edits[..]) {
            let (time, diff) = (left.join(right), m * n);
            out.oks.extend(self.emit.oks.drain(..).map(|row| (row, time.clone(), diff)));
        }
        for row in self.emit.oks.drain(..) {
            out.oks.extend(edits().map(|(time, diff)| (row.clone(), time, diff)));
        }
        for error in self.emit.errs.drain(..) {
            out.errs.extend(edits().map(|(time, diff)| (error.clone(), time, diff)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use super::super::import::import;
    use super::super::testing::{Random, Table, number, row};
    use super::*;
    use crate::error::SqlState;
    use crate::expr::error::EvalError;
    use timely::dataflow::operators::probe::{Handle, Probe};

    type Content = BTreeMap<Vec<u64>, Diff>;

    fn joined(left: &Content, right: &Content) -> Content {
        let mut result = Content::new();
        for (l, m) in left {
            for (r, n) in right.iter().filter(|(r, _)| r[0] == l[0]) {
                *result.entry(vec![l[0], l[1], r[1]]).or_insert(0) += m * n;
            }
        }
        result.retain(|_, count| *count != 0);
        result
    }

    /// Collects updates from several workers.
    type Seen = Arc<Mutex<Vec<(Vec<u64>, Timestamp, Diff)>>>;

    fn content_at(seen: &Seen, at: Timestamp) -> Content {
        let mut content = Content::new();
        for (data, time, diff) in &*seen.lock().unwrap() {
            if *time <= at {
                *content.entry(data.clone()).or_insert(0) += diff;
            }
        }
        content.retain(|_, count| *count != 0);
        content
    }

    #[test]
    fn equals_brute_force_at_every_time_on_two_workers() {
        let seen = Seen::default();
        let history = Arc::new(Mutex::new(Vec::new()));
        let (worker_seen, worker_history) = (seen.clone(), history.clone());
        timely::execute(timely::Config::process(2), move |worker| {
            let index = worker.index();
            let mut tables = [Table::create(worker), Table::create(worker)];
            let probe = Handle::new();
            let (mut random, mut contents) = (Random(11), [Content::new(), Content::new()]);
            for time in 0..80u64 {
                for (table, content) in tables.iter_mut().zip(&mut contents) {
                    let mut changes = Vec::new();
                    for _ in 0..3 {
                        let (key, value) = (random.below(5), random.below(4));
                        let diff = if random.below(3) == 0 { -1 } else { 1 };
                        *content.entry(vec![key, value]).or_insert(0) += diff;
                        changes.push(((row(&[key]), row(&[value])), diff));
                    }
                    table.write(if index == 0 { &changes } else { &[] }, time);
                }
                if index == 0 {
                    worker_history.lock().unwrap().push(joined(&contents[0], &contents[1]));
                }
                for table in &mut tables {
                    table.settle(worker);
                    table.compact(time.saturating_sub(3));
                }
                if time != 20 {
                    continue;
                }
                // Installed late, over history that is compacted in part.
                let (seen, err_seen) = (worker_seen.clone(), worker_seen.clone());
                worker.dataflow(|scope| {
                    let [left, right] = &mut tables;
                    let left = import(&mut left.trace, scope, "left").0;
                    let right = import(&mut right.trace, scope, "right").0;
                    let logic: JoinLogic = Box::new(|key, l, r, emit| {
                        emit.ok(Row::new(key), Row::new(&[l, r].concat()));
                        emit.err(&EvalError::new(SqlState::DIVISION_BY_ZERO, "match"));
                    });
                    let (oks, errs) = join_rows(left, right, "join", 20, logic, true);
                    oks.inspect(move |((key, value), time, diff)| {
                        let data = [key.bytes(), value.bytes()].concat();
                        let data = (0..3).map(|i| number(&data, i)).collect();
                        seen.lock().unwrap().push((data, *time, *diff));
                    });
                    errs.expect("it can fail")
                        .inspect(move |(_, time, diff)| {
                            err_seen.lock().unwrap().push((vec![], *time, *diff));
                        })
                        .inner
                        .probe_with(&probe);
                });
            }
            while probe.less_than(&80) {
                worker.step();
            }
        })
        .unwrap();
        let history = history.lock().unwrap();
        for at in 20..80 {
            let mut expected = history[at].clone();
            let matches = expected.values().sum::<Diff>();
            if matches != 0 {
                expected.insert(vec![], matches);
            }
            assert_eq!(content_at(&seen, at as Timestamp), expected, "at {at}");
        }
        assert!(history.iter().any(|content| content.len() > 20));
    }

    #[test]
    fn a_hot_key_is_left_and_taken_up_again() {
        timely::execute(timely::Config::thread(), |worker| {
            let mut tables = [Table::create(worker), Table::create(worker)];
            let side = 3000u64;
            for table in &mut tables {
                let rows: Vec<_> = (0..side).map(|v| ((row(&[1]), row(&[v])), 1)).collect();
                table.write(&rows, 0);
                table.settle(worker);
            }
            let probe = Handle::new();
            let matches = Rc::new(RefCell::new(0u64));
            let (counter, total) = (matches.clone(), Rc::new(RefCell::new(0)));
            let sum = total.clone();
            worker.dataflow(|scope| {
                let [left, right] = &mut tables;
                let left = import(&mut left.trace, scope, "left").0;
                let right = import(&mut right.trace, scope, "right").0;
                // A selective filter inside the logic must not hide the work.
                let logic: JoinLogic = Box::new(move |_, l, r, emit| {
                    *counter.borrow_mut() += 1;
                    if number(l, 0) == number(r, 0) {
                        emit.ok(Row::EMPTY, Row::EMPTY);
                    }
                });
                let (oks, _) = join_rows(left, right, "join", 0, logic, false);
                oks.inspect(move |(_, _, diff)| *sum.borrow_mut() += diff).inner.probe_with(&probe);
            });
            let mut longest = 0;
            while probe.less_than(&1) {
                let before = *matches.borrow();
                worker.step();
                longest = longest.max(*matches.borrow() - before);
            }
            assert_eq!(*matches.borrow(), side * side);
            assert_eq!(*total.borrow(), side as Diff);
            assert!(longest < 1_100_000, "{longest} matches in one step");
        })
        .unwrap();
    }
}
