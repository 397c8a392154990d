//! Rows that look for their matches in an arrangement, at the time at which they come.
//!
//! Half of a join: changes of the rows meet what the arrangement holds, and changes of the
//! arrangement meet nothing. A join along paths ([`crate::plan::physical::Node::HalfJoin`]) sums up
//! one such chain for each input, and keeps no rows between.
//!
//! A change at `t` waits until the arrangement is complete through `t`. It then sees the
//! arrangement's changes at `t` and before, or, where it looks *before*, those below `t` alone: so
//! of two changes at the same time exactly one sees the other. Times below the as-of are lifted to
//! it on both sides. An arrangement that was compacted and one that is read back disagree on older
//! times, and pairs would be lost between them; so what comes at the as-of and looks before finds
//! nothing, and is dropped at once.
//!
//! The trace's handle holds history back to the earliest change that waits or can come, and
//! nothing else: batches merge as they like, since no cut through them is asked for.
//!
//! Work stops inside a key when its fuel is spent, with the batches that it walks held, and goes
//! on there. How many rows there are under a key is an upper bound, read off the batches' offsets
//! without a look at the rows: a hub with a million neighbours costs as much to count as a leaf.

use std::collections::BTreeMap;
use std::rc::Rc;

use differential_dataflow::AsCollection;
use differential_dataflow::trace::cursor::{CursorList, cursor_list};
use differential_dataflow::trace::{Cursor, Navigable, TraceReader};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::progress::Antichain;

use super::arrangement::{
    RowArranged, RowBatch, RowRef, RowTrace, RowUpdate, Rows, RowsByKey, route,
};
use super::channel::{ByHash, Local};
use super::emit::{CountLogic, Emit, JoinLogic};
use super::operator::OperatorBuilder;
use crate::repr::{Diff, Row, Timestamp};

/// After how many rows of the arrangement one slice of work ends.
const FUEL: usize = 1 << 16;
/// How many updates are sent at once.
const CHUNK: usize = 1 << 12;

/// What becomes of a row under whose key the arrangement was found.
pub enum Meeting {
    /// It meets each row there: key, value, and the row's value.
    Rows(JoinLogic),
    /// It is told how many rows there are at most, if any.
    Count(CountLogic),
}

/// Looks rows up in an arrangement; returns what becomes of them and, where that is `fallible`,
/// errors.
pub fn half_join<'s>(
    rows: RowsByKey<'s>,
    arranged: RowArranged<'s>,
    name: &str,
    (as_of, before): (Timestamp, bool),
    meeting: Meeting,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    let scope = rows.inner.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let again = builder.again();
    let by_key = ByHash(|update: &RowUpdate| route(update.0.0.bytes()));
    let mut input = builder.new_input(rows.inner, by_key);
    let mut batches = builder.new_input(arranged.stream, Local);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut state = State::new(arranged.trace, as_of, before, meeting);
        move |frontiers| {
            batches.for_each(|_, _| {});
            input.for_each(|capability, updates| {
                let Some(least) = capability.least().copied() else { return };
                let held = |time: Timestamp| Held {
                    oks: capability.delayed(&time.max(least), 0),
                    errs: fallible.then(|| capability.delayed(&time.max(least), 1)),
                };
                state.waiting.put(updates, (as_of, before), held);
            });
            let complete = frontiers[1].frontier().first().copied();
            let mut fuel = FUEL;
            let mut made = Made::default();
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            while state.has_work(complete) {
                let Some(work) = &mut state.work else { break };
                let done = work.go_on(&mut state.meeting, &mut fuel, &mut made);
                if !made.oks.is_empty() {
                    ok_output.session(&work.held.oks).give_container(&mut made.oks);
                    made.oks.clear();
                }
                if let (Some(output), Some(held)) = (&mut err_output, &work.held.errs)
                    && !made.errs.is_empty()
                {
                    output.session(held).give_container(&mut made.errs);
                    made.errs.clear();
                }
                if done {
                    state.work = None;
                } else if fuel == 0 {
                    again.activate();
                    break;
                }
            }
            state.hold(frontiers[0].frontier().first().copied());
        }
    });
    (ok_stream.as_collection(), err_stream.map(AsCollection::as_collection))
}

/// Capabilities for rows, and for errors where there can be any.
struct Held {
    oks: Capability<Timestamp>,
    errs: Option<Capability<Timestamp>>,
}

/// What has been made of the rows.
#[derive(Default)]
struct Made {
    oks: Vec<RowUpdate>,
    errs: Vec<(Row, Timestamp, Diff)>,
    emit: Emit,
}

impl Made {
    /// Takes what was emitted.
    fn take(&mut self, time: Timestamp, diff: Diff) {
        self.oks.extend(self.emit.oks.drain(..).map(|row| (row, time, diff)));
        self.errs.extend(self.emit.errs.drain(..).map(|error| (error, time, diff)));
    }
}

/// Rows of one time, as key, value and count.
type Changes = Vec<(Row, Row, Diff)>;

/// Rows by the time at which they look.
#[derive(Default)]
struct Waiting(BTreeMap<Timestamp, (Held, Changes)>);

impl Waiting {
    fn put(
        &mut self,
        updates: &mut Vec<RowUpdate>,
        (as_of, before): (Timestamp, bool),
        held: impl Fn(Timestamp) -> Held,
    ) {
        for ((key, value), time, diff) in updates.drain(..) {
            let time = time.max(as_of);
            if before && time == as_of {
                continue;
            }
            let (_, changes) = self.0.entry(time).or_insert_with(|| (held(time), Vec::new()));
            changes.push((key, value, diff));
        }
    }
}

struct State {
    waiting: Waiting,
    work: Option<Work>,
    /// None when nothing more can come.
    trace: Option<RowTrace>,
    as_of: Timestamp,
    before: bool,
    meeting: Meeting,
}

impl State {
    fn new(mut trace: RowTrace, as_of: Timestamp, before: bool, meeting: Meeting) -> State {
        trace.set_physical_compaction(Antichain::new().borrow());
        let (waiting, work) = (Waiting::default(), None);
        State { waiting, work, trace: Some(trace), as_of, before, meeting }
    }

    /// Whether there is work under way, or some that could be begun; `complete` is the
    /// arrangement's frontier.
    fn has_work(&mut self, complete: Option<Timestamp>) -> bool {
        if self.work.is_none() {
            self.work = self.begin(complete);
        }
        self.work.is_some()
    }

    fn begin(&mut self, complete: Option<Timestamp>) -> Option<Work> {
        let entry = self.waiting.0.first_entry()?;
        let time = *entry.key();
        if complete.is_some_and(|complete| complete <= time) {
            return None;
        }
        let (held, changes) = entry.remove();
        let trace = self.trace.as_mut().expect("the trace is kept while something waits");
        let batches = trace.batches_through(Antichain::new().borrow());
        let batches = batches.expect("all batches can be had, as no cut is asked for");
        let through = if self.before { time.checked_sub(1) } else { Some(time) };
        let times = Times { as_of: self.as_of, through };
        let counts = matches!(self.meeting, Meeting::Count(_));
        Some(Work::new((time, held), changes, batches, times, counts))
    }

    /// Holds history back as far as it is needed.
    fn hold(&mut self, frontier: Option<Timestamp>) {
        // The work under way has its batches.
        let waiting = self.waiting.0.first_key_value().map(|(time, _)| *time);
        let Some(least) = waiting.into_iter().chain(frontier).min() else {
            self.trace = None;
            return;
        };
        let least = least.saturating_sub(Timestamp::from(self.before)).max(self.as_of);
        if let Some(trace) = &mut self.trace
            && trace.get_logical_compaction().first().is_some_and(|held| *held < least)
        {
            trace.set_logical_compaction(Antichain::from_elem(least).borrow());
        }
    }
}

/// Which changes of the arrangement are seen.
#[derive(Clone, Copy)]
struct Times {
    /// Earlier times are lifted to this one.
    as_of: Timestamp,
    /// The last one; none: no change is seen.
    through: Option<Timestamp>,
}

impl Times {
    #[inline]
    fn see(self, time: Timestamp) -> bool {
        self.through.is_some_and(|through| time.max(self.as_of) <= through)
    }
}

/// The changes of one time, being looked up.
struct Work {
    time: Timestamp,
    held: Held,
    /// What is left, in descending order of keys.
    changes: Changes,
    found: Found,
    times: Times,
}

/// Where the next change is looked for.
enum Found {
    Rows {
        cursor: CursorList<<Rc<RowBatch> as Navigable>::Cursor>,
        batches: Vec<Rc<RowBatch>>,
        /// Whether the cursor stands at the next change's key.
        inside: bool,
    },
    /// With the position up to which each batch has been passed over.
    Counts(Vec<(Rc<RowBatch>, usize)>),
}

impl Work {
    fn new(
        (time, held): (Timestamp, Held),
        mut changes: Changes,
        batches: Vec<Rc<RowBatch>>,
        times: Times,
        counts: bool,
    ) -> Work {
        changes.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        let found = match counts {
            true => Found::Counts(batches.into_iter().map(|batch| (batch, 0)).collect()),
            false => {
                let (cursor, batches) = cursor_list(batches);
                Found::Rows { cursor, batches, inside: false }
            }
        };
        Work { time, held, changes, found, times }
    }

    /// Goes on until there is enough to send or the fuel is spent; says whether all is done.
    fn go_on(&mut self, meeting: &mut Meeting, fuel: &mut usize, made: &mut Made) -> bool {
        while *fuel > 0 && made.oks.len() + made.errs.len() < CHUNK {
            let Some((key, value, diff)) = self.changes.last() else { return true };
            *fuel -= 1;
            match (&mut self.found, &mut *meeting) {
                (Found::Rows { cursor, batches, inside }, Meeting::Rows(logic)) => {
                    let sought = RowRef(key.bytes());
                    if !*inside {
                        cursor.seek_key(batches, sought);
                        cursor.rewind_vals(batches);
                    }
                    *inside = cursor.get_key(batches) == Some(sought);
                    if *inside && let Some(found) = cursor.get_val(batches) {
                        let (mut count, times) = (0, self.times);
                        cursor.map_times(batches, |time, n| {
                            count += if times.see(*time) { *n } else { 0 };
                        });
                        if count != 0 {
                            logic(key.bytes(), value.bytes(), found.0, &mut made.emit);
                            made.take(self.time, diff * count);
                        }
                        cursor.step_val(batches);
                        continue;
                    }
                    *inside = false;
                }
                (Found::Counts(batches), Meeting::Count(logic)) => {
                    let of_batch = |(batch, at): &mut (Rc<RowBatch>, usize)| {
                        batch.count_from(at, RowRef(key.bytes()))
                    };
                    let count = batches.iter_mut().map(of_batch).sum::<usize>();
                    if count > 0 {
                        logic(key.bytes(), value.bytes(), count as u64, &mut made.emit);
                        made.take(self.time, *diff);
                    }
                }
                (Found::Rows { .. }, Meeting::Count(_)) | (Found::Counts(_), Meeting::Rows(_)) => {
                    unreachable!("work is begun as it goes on")
                }
            }
            self.changes.pop();
        }
        self.changes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex};

    use super::super::import::import;
    use super::super::scan::scan;
    use super::super::testing::{Random, Table, number, row};
    use super::*;
    use timely::dataflow::operators::probe::{Handle, Probe};

    type Pairs = BTreeMap<[u64; 3], Diff>;

    /// Both paths of a join of two tables; the second one sees what the first one does not.
    fn join<'s>([left, right]: [RowArranged<'s>; 2], as_of: Timestamp) -> RowsByKey<'s> {
        let rows = |table: RowArranged<'s>| {
            let as_is = Box::new(|key: &[u8], value: &[u8], emit: &mut Emit| {
                emit.ok(Row::new(key), Row::new(value));
            });
            scan(table, "scan", as_of, as_is, false).0
        };
        let meet = |mine: RowArranged<'s>, other: RowArranged<'s>, before: bool| {
            let logic: JoinLogic = Box::new(move |key, mine, other, emit| {
                let (a, b) = if before { (mine, other) } else { (other, mine) };
                emit.ok(Row::EMPTY, Row::new(&[key, a, b].concat()));
            });
            let meeting = Meeting::Rows(logic);
            half_join(rows(mine), other, "half", (as_of, before), meeting, false).0
        };
        meet(left.clone(), right.clone(), true).concat(meet(right, left, false))
    }

    fn joined(tables: &[BTreeMap<(u64, u64), Diff>; 2]) -> Pairs {
        let mut pairs = Pairs::new();
        for ((key, a), m) in &tables[0] {
            for ((_, b), n) in tables[1].iter().filter(|((other, _), _)| other == key) {
                *pairs.entry([*key, *a, *b]).or_insert(0) += m * n;
            }
        }
        pairs.retain(|_, count| *count != 0);
        pairs
    }

    fn check(workers: usize) {
        type Seen = Vec<([u64; 3], Timestamp, Diff)>;
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let expected: Arc<Mutex<Vec<Pairs>>> = Arc::default();
        let (seen_by, expected_by) = (seen.clone(), expected.clone());
        timely::execute(timely::Config::process(workers), move |worker| {
            let index = worker.index();
            let mut tables = [Table::create(worker), Table::create(worker)];
            let mut content = [BTreeMap::new(), BTreeMap::new()];
            let probe = Handle::new();
            let mut random = Random(5);
            for time in 0..80u64 {
                for (table, content) in tables.iter_mut().zip(&mut content) {
                    let changes: Vec<_> = (0..random.below(4))
                        .map(|_| {
                            let (key, value) = (random.below(4), random.below(5));
                            let diff = if random.below(3) == 0 { -1 } else { 1 };
                            *content.entry((key, value)).or_insert(0) += diff;
                            ((row(&[key]), row(&[value])), diff)
                        })
                        .collect();
                    table.write(if index == 0 { &changes } else { &[] }, time);
                }
                if index == 0 {
                    expected_by.lock().unwrap().push(joined(&content));
                }
                for table in &mut tables {
                    table.settle(worker);
                    table.compact(time.saturating_sub(2));
                }
                if time != 20 {
                    continue;
                }
                // Late, over history that is compacted in part.
                let seen = seen_by.clone();
                worker.dataflow(|scope| {
                    let imported = tables.each_mut().map(|table| {
                        let (arranged, promise) = import(&mut table.trace, scope, "import");
                        promise.advance(0, 0);
                        arranged
                    });
                    let pairs = join(imported, 20);
                    let noted = pairs.inspect(move |((_, pair), time, diff)| {
                        let numbers = [0, 1, 2].map(|at| number(pair.bytes(), at));
                        seen.lock().unwrap().push((numbers, *time, *diff));
                    });
                    noted.inner.probe_with(&probe);
                });
            }
            while probe.less_than(&80) {
                worker.step();
            }
        })
        .unwrap();
        let (seen, expected) = (seen.lock().unwrap(), expected.lock().unwrap());
        for at in 20..80 {
            let mut pairs = Pairs::new();
            for (pair, _, diff) in seen.iter().filter(|(_, time, _)| *time <= at) {
                *pairs.entry(*pair).or_insert(0) += diff;
            }
            pairs.retain(|_, count| *count != 0);
            assert_eq!(pairs, expected[at as usize], "at {at}");
        }
        assert!(seen.len() > 200, "{} changes are too few", seen.len());
    }

    #[test]
    fn both_halves_make_a_join_at_every_time() {
        check(1);
        check(2);
    }

    #[test]
    fn a_hot_key_is_left_and_taken_up_again_and_counting_it_is_cheap() {
        timely::execute(timely::Config::thread(), |worker| {
            let mut table = Table::create(worker);
            let many = 3 * FUEL as u64;
            let rows: Vec<_> = (0..many).map(|value| ((row(&[7]), row(&[value])), 1)).collect();
            table.write(&rows, 1);
            table.write(&[((row(&[7]), row(&[many])), 1), ((row(&[9]), row(&[0])), 1)], 2);
            table.settle(worker);
            let probe = Handle::new();
            let sums: Rc<RefCell<[i64; 2]>> = Rc::default();
            let (rows_seen, counts_seen) = (sums.clone(), sums.clone());
            worker.dataflow(|scope| {
                let (arranged, _) = import(&mut table.trace, scope, "import");
                let one: super::super::emit::RowLogic = Box::new(|key, value, emit| {
                    if number(value, 0) < 2 && number(key, 0) == 7 {
                        emit.ok(Row::new(key), Row::EMPTY);
                    }
                });
                let two = scan(arranged.clone(), "scan", 2, one, false).0;
                let all: JoinLogic =
                    Box::new(|_, _, value, emit| emit.ok(Row::EMPTY, Row::new(value)));
                let (at, name) = ((2, false), "half");
                let all =
                    half_join(two.clone(), arranged.clone(), name, at, Meeting::Rows(all), false);
                let count: CountLogic = Box::new(|_, _, count, emit| {
                    emit.ok(Row::EMPTY, row(&[count]));
                });
                let count = half_join(two, arranged, name, at, Meeting::Count(count), false);
                all.0
                    .inspect(move |(_, _, diff)| rows_seen.borrow_mut()[0] += diff)
                    .inner
                    .probe_with(&probe);
                count
                    .0
                    .inspect(move |((_, count), _, diff)| {
                        counts_seen.borrow_mut()[1] += diff * number(count.bytes(), 0) as i64;
                    })
                    .inner
                    .probe_with(&probe);
            });
            let mut steps = 0;
            while probe.less_than(&3) {
                worker.step();
                steps += 1;
            }
            assert!(steps >= 6, "{steps} steps");
            assert_eq!(*sums.borrow(), [2 * (many as i64 + 1); 2]);
        })
        .unwrap();
    }
}
