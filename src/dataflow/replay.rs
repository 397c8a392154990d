//! One key of a reduction, at all times at which what it comes to may have changed.
//!
//! Times are partially ordered: what is new at one time and what is old at another are both there
//! at the join of the two. So the rows of the key, new and old, are gone through in an order of
//! times that respects theirs, and at each time that is a new one, or a join with one, what the
//! rows come to is compared with what has been said of it. A join that lies beyond the interval
//! must be looked at later ([`Replay::later`]).
//!
//! Nearly always there is one new time and all that is old came before: then there is nothing to go
//! through.

use differential_dataflow::consolidation::consolidate;
use differential_dataflow::operators::history::ValueHistory;
use timely::progress::Antichain;

use super::arrangement::{RowRef, Time};
use crate::repr::{Diff, Row};

/// What a reduction makes of a key and its rows, of which there are some.
pub type Reducer = Box<dyn FnMut(&[u8], &[(RowRef<'_>, Diff)], &mut Vec<(Row, Diff)>)>;

/// An update of a key's row.
pub(super) type Edit<'b, T> = (RowRef<'b>, T, Diff);

/// Treats keys; what is in it besides is room.
pub(super) struct Replay<'b, T> {
    /// Where the interval ends.
    upper: &'b Antichain<T>,
    /// How what the key comes to has changed, in the order of times.
    pub(super) changes: Vec<(Row, T, Diff)>,
    /// When to look at the key again.
    pub(super) later: Vec<T>,
    source: Vec<Edit<'b, T>>,
    said: Vec<Edit<'b, T>>,
    rows: Vec<(RowRef<'b>, Diff)>,
    output: Vec<(Row, Diff)>,
    change: Vec<(Row, Diff)>,
    history: Option<Box<History<'b, T>>>,
}

impl<'b, T: Time> Replay<'b, T> {
    pub(super) fn new(upper: &'b Antichain<T>) -> Replay<'b, T> {
        Replay {
            upper,
            changes: Vec::new(),
            later: Vec::new(),
            source: Vec::new(),
            said: Vec::new(),
            rows: Vec::new(),
            output: Vec::new(),
            change: Vec::new(),
            history: None,
        }
    }

    /// Treats a key: what is new of its rows, and when else to look at it; what its rows were and
    /// what was said of it are read if they are there. Says how much was looked at.
    pub(super) fn treat(
        &mut self,
        key: RowRef<'_>,
        (fresh, times): (&mut Vec<Edit<'b, T>>, &[T]),
        source: impl FnOnce(&mut Vec<Edit<'b, T>>),
        said: impl FnOnce(&mut Vec<Edit<'b, T>>),
        reducer: &mut Reducer,
    ) -> usize {
        self.source.clear();
        self.said.clear();
        source(&mut self.source);
        said(&mut self.said);
        let work = 1 + fresh.len() + times.len() + self.source.len() + self.said.len();
        let only = fresh.first().map(|(_, time, _)| time.clone()).filter(|only| {
            let before = |(_, time, _): &Edit<'_, T>| time.less_equal(only);
            times.is_empty()
                && fresh.iter().all(|(_, time, _)| time == only)
                && self.source.iter().chain(&self.said).all(before)
        });
        match only {
            Some(time) => self.treat_at(key, fresh, time, reducer),
            None => self.treat_all(key, fresh, times, reducer),
        }
        work
    }

    /// Treats a key at the only time that matters.
    fn treat_at(&mut self, key: RowRef<'_>, fresh: &[Edit<'b, T>], time: T, reducer: &mut Reducer) {
        let rows = fresh.iter().chain(&self.source).map(|(row, _, diff)| (*row, *diff));
        self.rows.extend(rows);
        self.output.extend(self.said.iter().map(|(row, _, diff)| (Row::new(row.0), *diff)));
        self.evaluate(key, reducer);
        let changes = self.change.drain(..).map(|(row, diff)| (row, time.clone(), diff));
        self.changes.extend(changes);
    }

    /// Compares what the rows come to with what was said.
    fn evaluate(&mut self, key: RowRef<'_>, reducer: &mut Reducer) {
        consolidate(&mut self.rows);
        if !self.rows.is_empty() {
            reducer(key.0, &self.rows, &mut self.change);
        }
        self.change.extend(self.output.drain(..).map(|(row, diff)| (row, -diff)));
        consolidate(&mut self.change);
        self.rows.clear();
    }

    /// Treats a key at all times that matter.
    fn treat_all(
        &mut self,
        key: RowRef<'_>,
        fresh: &mut [Edit<'b, T>],
        times: &[T],
        reducer: &mut Reducer,
    ) {
        let mut history = self.history.take().unwrap_or_default();
        for edits in [&mut *fresh, &mut self.source, &mut self.said] {
            edits.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        }
        history.load(fresh, times, &self.source, &self.said);
        while let Some(time) = history.next_time() {
            let matters = history.step_to(&time);
            if !self.upper.less_equal(&time) {
                history.add_joins(&time, matters, self.upper, &mut self.later);
                if matters {
                    history.collect_at(&time, &mut self.rows, &mut self.output);
                    self.evaluate(key, reducer);
                    history.note_said(&time, &self.change);
                    let changes = self.change.drain(..);
                    self.changes.extend(changes.map(|(row, diff)| (row, time.clone(), diff)));
                }
            } else if matters {
                self.later.push(time);
            }
            history.forget();
        }
        sort_dedup(&mut self.later);
        self.history = Some(history);
    }
}

/// A key's updates on the way through their times.
struct History<'b, T> {
    fresh: ValueHistory<RowRef<'b>, T, Diff>,
    source: ValueHistory<RowRef<'b>, T, Diff>,
    said: ValueHistory<RowRef<'b>, T, Diff>,
    /// What has been said on the way.
    saying: Vec<((Row, T), Diff)>,
    /// Times to look at that are still to come, the next one last, and the meet of each and those
    /// that come after it.
    times: Vec<(T, T)>,
    /// Joins to look at that are still to come, the next one last.
    joins: Vec<T>,
    /// Times that have been looked at, and matter to those that come.
    seen: Vec<T>,
    /// The meet of all that is still to come.
    meet: Option<T>,
    found: Vec<T>,
}

impl<T: Time> Default for History<'_, T> {
    fn default() -> Self {
        History {
            fresh: ValueHistory::new(),
            source: ValueHistory::new(),
            said: ValueHistory::new(),
            saying: Vec::new(),
            times: Vec::new(),
            joins: Vec::new(),
            seen: Vec::new(),
            meet: None,
            found: Vec::new(),
        }
    }
}

impl<'b, T: Time> History<'b, T> {
    /// Begins a key. Updates are in the order of values; times in their own, each once.
    fn load(
        &mut self,
        fresh: &[Edit<'b, T>],
        times: &[T],
        source: &[Edit<'b, T>],
        said: &[Edit<'b, T>],
    ) {
        self.saying.clear();
        self.joins.clear();
        self.seen.clear();
        self.times.clear();
        for time in times.iter().rev() {
            let meet = self.times.last().map_or(time.clone(), |(_, meet)| meet.meet(time));
            self.times.push((time.clone(), meet));
        }
        self.fresh.load_iter(fresh.iter().cloned(), None);
        self.meet = None;
        meet_with(&mut self.meet, self.times.last().map(|(_, meet)| meet));
        meet_with(&mut self.meet, self.fresh.meet());
        // What came before looks the same from there on.
        self.source.load_iter(source.iter().cloned(), self.meet.as_ref());
        self.said.load_iter(said.iter().cloned(), self.meet.as_ref());
    }

    /// The next time to look at.
    fn next_time(&self) -> Option<T> {
        let times = [
            self.fresh.time(),
            self.times.last().map(|(time, _)| time),
            self.source.time(),
            self.said.time(),
            self.joins.last(),
        ];
        times.into_iter().flatten().min().cloned()
    }

    /// Goes on to a time; says whether what the key comes to may have changed there.
    fn step_to(&mut self, time: &T) -> bool {
        self.source.step_while_time_is(time);
        self.said.step_while_time_is(time);
        let mut matters = self.fresh.step_while_time_is(time);
        if matters && let Some(meet) = &self.meet {
            self.fresh.advance_buffer_by(meet);
        }
        while self.joins.last() == Some(time) {
            self.seen.extend(self.joins.pop());
            matters = true;
        }
        while self.times.last().is_some_and(|(next, _)| next == time) {
            self.seen.extend(self.times.pop().map(|(time, _)| time));
            matters = true;
        }
        matters
            || self.fresh.buffer().iter().any(|((_, seen), _)| seen.less_equal(time))
            || self.seen.iter().any(|seen| seen.less_equal(time))
    }

    /// Has the joins of this time with those before it looked at, in the interval or later. Only
    /// what joins with something new matters.
    fn add_joins(&mut self, time: &T, matters: bool, upper: &Antichain<T>, later: &mut Vec<T>) {
        let found = &mut self.found;
        let mut join = |other: &T| {
            if !other.less_equal(time) {
                found.push(other.join(time));
            }
        };
        self.fresh.buffer().iter().for_each(|((_, other), _)| join(other));
        self.seen.iter().for_each(&mut join);
        if matters {
            if let Some(meet) = &self.meet {
                self.source.advance_buffer_by(meet);
                self.said.advance_buffer_by(meet);
            }
            self.source.buffer().iter().for_each(|((_, other), _)| join(other));
            self.said.buffer().iter().for_each(|((_, other), _)| join(other));
            self.saying.iter().for_each(|((_, other), _)| join(other));
        }
        if found.is_empty() {
            return;
        }
        sort_dedup(found);
        let before = self.joins.len();
        for join in found.drain(..) {
            if upper.less_equal(&join) {
                later.push(join);
            } else {
                self.joins.push(join);
            }
        }
        if self.joins.len() > before {
            self.joins.sort_unstable_by(|one, other| other.cmp(one));
            self.joins.dedup();
        }
    }

    /// The rows of the key at a time, and what has been said of it.
    fn collect_at(
        &self,
        time: &T,
        rows: &mut Vec<(RowRef<'b>, Diff)>,
        output: &mut Vec<(Row, Diff)>,
    ) {
        for ((row, at), diff) in self.source.buffer().iter().chain(self.fresh.buffer()) {
            if at.less_equal(time) {
                rows.push((*row, *diff));
            }
        }
        for ((row, at), diff) in self.said.buffer() {
            if at.less_equal(time) {
                output.push((Row::new(row.0), *diff));
            }
        }
        for ((row, at), diff) in &self.saying {
            if at.less_equal(time) {
                output.push((row.clone(), *diff));
            }
        }
    }

    /// Notes what is said now.
    fn note_said(&mut self, time: &T, change: &[(Row, Diff)]) {
        if change.is_empty() {
            return;
        }
        self.saying.extend(change.iter().map(|(row, diff)| ((row.clone(), time.clone()), *diff)));
        if let Some(meet) = &self.meet {
            self.saying.iter_mut().for_each(|((_, time), _)| time.join_assign(meet));
        }
        consolidate(&mut self.saying);
    }

    /// Forgets what makes no difference to the times that are still to come.
    fn forget(&mut self) {
        self.meet = None;
        meet_with(&mut self.meet, self.fresh.meet());
        meet_with(&mut self.meet, self.source.meet());
        meet_with(&mut self.meet, self.said.meet());
        self.joins.iter().for_each(|time| meet_with(&mut self.meet, Some(time)));
        meet_with(&mut self.meet, self.times.last().map(|(_, meet)| meet));
        if let Some(meet) = &self.meet {
            self.seen.iter_mut().for_each(|time| time.join_assign(meet));
        }
        sort_dedup(&mut self.seen);
    }
}

fn sort_dedup<T: Ord>(list: &mut Vec<T>) {
    list.sort_unstable();
    list.dedup();
}

fn meet_with<T: Time>(meet: &mut Option<T>, other: Option<&T>) {
    match (meet, other) {
        (_, None) => {}
        (Some(meet), Some(other)) => meet.meet_assign(other),
        (meet @ None, Some(other)) => *meet = Some(other.clone()),
    }
}
