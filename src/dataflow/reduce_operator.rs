//! The operator of a reduction inside a loop: what each key's rows come to, at each time and round.
//!
//! It does what differential's own does, and yields: each activation treats keys for [`FUEL`], and
//! goes on where it was when it is activated again. Batches are taken for an interval of times,
//! from where the last one ended to where the input is complete now; what arrives meanwhile waits
//! for the next. All its keys are treated in their order, and what they come to is kept in a trace
//! of the operator's own, since what was said of a key is not seen from its rows alone: at a time
//! that two others join to, both are, and the correction may not be said yet.
//!
//! A key must be looked at again at such a time, though nothing arrives in it. Those times are kept
//! with their keys, and a capability for the least of them.
//!
//! Rows go out as they are made.

use std::collections::BTreeMap;
use std::rc::Rc;

use differential_dataflow::AsCollection;
use differential_dataflow::lattice::antichain_join_into;
use differential_dataflow::operators::arrange::TraceWriter;
use differential_dataflow::trace::{Builder, Cursor, Description, Navigable, Span, TraceReader};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::{Capability, CapabilitySet};
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

use super::arrangement::{
    RowArranged, RowBatch, RowBuilder, RowCursor, RowRef, RowSpine, RowTrace, RowUpdate, RowsByKey,
    Time, new_trace, size,
};
use super::channel::Local;
use super::operator::OperatorBuilder;
use super::replay::{Edit, Reducer, Replay};
use crate::repr::Row;

/// So much is looked at in one activation: keys, and updates of theirs.
const FUEL: usize = 1 << 14;
/// How many updates are sent at once.
const CHUNK: usize = 1 << 10;

/// What goes out for a key and what it comes to.
pub type Answer = fn(RowRef<'_>, &Row) -> (Row, Row);

/// Reduces each key's rows by a logic, and makes rows of what they come to.
pub fn reduce<'s, T: Time>(
    arranged: RowArranged<'s, T>,
    name: &str,
    reducer: Reducer,
    answer: Answer,
) -> RowsByKey<'s, T> {
    reduce_by(arranged, name, reducer, answer, FUEL)
}

/// The same, with so much fuel for each activation.
fn reduce_by<'s, T: Time>(
    arranged: RowArranged<'s, T>,
    name: &str,
    mut reducer: Reducer,
    answer: Answer,
    fuel: usize,
) -> RowsByKey<'s, T> {
    let scope = arranged.stream.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let again = builder.again();
    let mut input = builder.new_input(arranged.stream, Local);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
    let (own, writer) = new_trace(scope, builder.info());
    size::note_rows(&own);
    let mut state = State::new(arranged.trace, own, writer);
    builder.build(move |_capabilities| {
        let mut job: Option<Job<T>> = None;
        let mut made = Vec::new();
        move |frontiers| {
            input.for_each(|capability, spans| {
                let stamp = capability.retain_stamp(0);
                state.arrive(&stamp, spans.drain(..));
            });
            if job.is_none() {
                job = state.begin(frontiers[0].frontier());
            }
            if let Some(mut current) = job.take() {
                let mut fuel = fuel;
                let mut output = output.activate();
                let done = loop {
                    let done = current.run(&mut fuel, &mut reducer, answer, &mut made);
                    if !made.is_empty() {
                        output.session(&current.used).give_container(&mut made);
                        made.clear();
                    }
                    if done || fuel == 0 {
                        break done;
                    }
                };
                if done {
                    state.end(current);
                    if state.has_news(frontiers[0].frontier()) {
                        again.activate();
                    }
                } else {
                    job = Some(current);
                    again.activate();
                }
            }
            state.writer.exert();
        }
    });
    stream.as_collection()
}

type Batch<T> = Rc<RowBatch<T>>;

/// What the operator knows between two intervals.
struct State<T: Time> {
    source: RowTrace<T>,
    own: RowTrace<T>,
    writer: TraceWriter<RowSpine<T>>,
    held: CapabilitySet<T>,
    /// What arrived for the next interval.
    arrived: CapabilitySet<T>,
    fresh: Vec<Batch<T>>,
    /// All below has been treated.
    lower: Antichain<T>,
    /// The same and what has arrived, as bounds of batches of the source: the other may lie inside
    /// of one, since it takes the input's frontier into account.
    source_lower: Antichain<T>,
    source_upper: Antichain<T>,
    /// Keys to be looked at again, by when.
    later: BTreeMap<T, Vec<Row>>,
}

impl<T: Time> State<T> {
    fn new(source: RowTrace<T>, own: RowTrace<T>, writer: TraceWriter<RowSpine<T>>) -> State<T> {
        let least = || Antichain::from_elem(T::minimum());
        State {
            source,
            own,
            writer,
            held: CapabilitySet::new(),
            arrived: CapabilitySet::new(),
            fresh: Vec::new(),
            lower: least(),
            source_lower: least(),
            source_upper: least(),
            later: BTreeMap::new(),
        }
    }

    /// Takes batches that arrive.
    fn arrive(
        &mut self,
        capabilities: &[Capability<T>],
        spans: impl Iterator<Item = Span<T, Batch<T>>>,
    ) {
        for capability in capabilities {
            self.arrived.insert(capability.clone());
        }
        for span in spans {
            self.source_upper.clone_from(span.upper());
            self.fresh.extend(span.inner);
        }
    }

    /// The end of an interval that begins now.
    fn upper(&mut self, frontier: AntichainRef<'_, T>) -> Antichain<T> {
        self.source.advance_upper(&mut self.source_upper);
        let mut upper = Antichain::new();
        antichain_join_into(&self.source_upper.borrow()[..], &frontier[..], &mut upper);
        upper
    }

    fn has_news(&mut self, frontier: AntichainRef<'_, T>) -> bool {
        !self.fresh.is_empty() || self.upper(frontier) != self.lower
    }

    /// Begins an interval; where there is nothing to do in it, it is over.
    fn begin(&mut self, frontier: AntichainRef<'_, T>) -> Option<Job<T>> {
        let upper = self.upper(frontier);
        if upper == self.lower {
            return None;
        }
        for capability in std::mem::take(&mut self.arrived).iter() {
            self.held.insert(capability.clone());
        }
        let in_it = |capability: &&Capability<T>| !upper.less_equal(capability.time());
        let used: CapabilitySet<T> = self.held.iter().filter(in_it).cloned().collect();
        let fresh = std::mem::take(&mut self.fresh);
        if used.is_empty() {
            self.pass(&upper, self.source_upper.clone());
            return None;
        }
        let below = "batches are told apart where intervals end";
        let source = self.source.batches_through(self.source_lower.borrow()).expect(below);
        let own = self.own.batches_through(self.lower.borrow()).expect(below);
        Some(Job {
            due: self.due(&upper),
            next_due: 0,
            fresh: Side::new(fresh),
            source: Side::new(source),
            own: Side::new(own),
            later: Vec::new(),
            builder: RowBuilder::default(),
            source_upper: self.source_upper.clone(),
            upper,
            used,
        })
    }

    /// Takes the keys that must be looked at again at times not from `upper` on, in order.
    fn due(&mut self, upper: &Antichain<T>) -> Vec<(Row, T)> {
        let times: Vec<T> =
            self.later.keys().filter(|time| !upper.less_equal(time)).cloned().collect();
        let mut due = Vec::new();
        for time in times {
            let keys = self.later.remove(&time).unwrap_or_default();
            due.extend(keys.into_iter().map(|key| (key, time.clone())));
        }
        due.sort_unstable();
        due.dedup();
        due
    }

    /// Ends an interval.
    fn end(&mut self, job: Job<T>) {
        let Job { builder, upper, used, later, source_upper, .. } = job;
        let since = Antichain::from_elem(T::minimum());
        let description = Description::new(self.lower.clone(), upper.clone(), since);
        let batch = Span::new(description, builder.done().map(Rc::new));
        self.writer.insert(batch, used.iter().map(|held| held.time().clone()).collect());
        for (key, time) in later {
            self.later.entry(time).or_default().push(key);
        }
        let least: Antichain<T> = self.later.keys().cloned().collect();
        self.held.downgrade(least.iter());
        self.pass(&upper, source_upper);
    }

    /// All below has been treated.
    fn pass(&mut self, upper: &Antichain<T>, source_upper: Antichain<T>) {
        self.writer.seal(upper.clone());
        self.source.set_logical_compaction(upper.borrow());
        self.own.set_logical_compaction(upper.borrow());
        self.source.set_physical_compaction(source_upper.borrow());
        self.own.set_physical_compaction(upper.borrow());
        self.lower.clone_from(upper);
        self.source_lower = source_upper;
    }
}

/// Batches, and a cursor in each.
struct Side<T: Time> {
    batches: Vec<Batch<T>>,
    cursors: Vec<RowCursor<T>>,
}

impl<T: Time> Side<T> {
    fn new(batches: Vec<Batch<T>>) -> Side<T> {
        let cursors = batches.iter().map(|batch| (**batch).cursor()).collect();
        Side { batches, cursors }
    }
}

/// An interval whose keys are being treated.
struct Job<T: Time> {
    upper: Antichain<T>,
    source_upper: Antichain<T>,
    /// Capabilities for the interval.
    used: CapabilitySet<T>,
    fresh: Side<T>,
    source: Side<T>,
    own: Side<T>,
    due: Vec<(Row, T)>,
    next_due: usize,
    /// What must be looked at again after the interval.
    later: Vec<(Row, T)>,
    builder: RowBuilder<T>,
}

impl<T: Time> Job<T> {
    /// Treats keys until the fuel is spent or there is enough to send; says whether all are
    /// treated.
    fn run(
        &mut self,
        fuel: &mut usize,
        reducer: &mut Reducer,
        answer: Answer,
        made: &mut Vec<RowUpdate<T>>,
    ) -> bool {
        let Side { batches, cursors } = &mut self.fresh;
        let mut replay = Replay::new(&self.upper);
        let (mut built, mut times) = (Vec::new(), Vec::new());
        let mut fresh: Vec<Edit<'_, T>> = Vec::new();
        let done = loop {
            let keys = batches.iter().zip(cursors.iter()).filter_map(|(b, c)| c.get_key(b));
            let due = self.due.get(self.next_due).map(|(key, _)| RowRef(key.bytes()));
            let Some(key) = keys.chain(due).min() else { break true };
            if *fuel == 0 || made.len() >= CHUNK {
                break false;
            }
            times.clear();
            while let Some((due, time)) = self.due.get(self.next_due)
                && RowRef(due.bytes()) == key
            {
                times.push(time.clone());
                self.next_due += 1;
            }
            fresh.clear();
            for (batch, cursor) in batches.iter().zip(cursors.iter_mut()) {
                if cursor.get_key(batch) == Some(key) {
                    read_key(batch, cursor, &mut fresh);
                    cursor.step_key(batch);
                }
            }
            let work = replay.treat(
                key,
                (&mut fresh, &times),
                |edits| seek(&self.source.batches, &mut self.source.cursors, key, edits),
                |edits| seek(&self.own.batches, &mut self.own.cursors, key, edits),
                reducer,
            );
            *fuel = fuel.saturating_sub(work);
            if !replay.later.is_empty() {
                self.later.extend(replay.later.drain(..).map(|time| (Row::new(key.0), time)));
            }
            // In the order of values, and of times for each.
            replay.changes.sort_by(|one, other| one.0.cmp(&other.0));
            for (value, time, diff) in replay.changes.drain(..) {
                made.push((answer(key, &value), time.clone(), diff));
                built.push(((Row::new(key.0), value), time, diff));
            }
        };
        self.builder.push(&mut built);
        done
    }
}

/// Reads all updates of the key at which a cursor stands.
fn read_key<'b, T: Time>(
    batch: &'b Batch<T>,
    cursor: &mut RowCursor<T>,
    edits: &mut Vec<Edit<'b, T>>,
) {
    while let Some(value) = cursor.get_val(batch) {
        cursor.map_times(batch, |time, diff| edits.push((value, time.clone(), *diff)));
        cursor.step_val(batch);
    }
}

/// Reads all updates of a key that is not before the last one.
fn seek<'b, T: Time>(
    batches: &'b [Batch<T>],
    cursors: &mut [RowCursor<T>],
    key: RowRef<'_>,
    edits: &mut Vec<Edit<'b, T>>,
) {
    for (batch, cursor) in batches.iter().zip(cursors) {
        cursor.seek_key(batch, key);
        if cursor.get_key(batch) == Some(key) {
            read_key(batch, cursor, edits);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::arrangement::{Round, RowContainer, RowSpine, arrange_rows, fill};
    use super::super::testing::{Random, number, row};
    use super::*;
    use crate::repr::Diff;
    use timely::dataflow::InputHandle;
    use timely::dataflow::StreamVec;
    use timely::dataflow::operators::core::Input;
    use timely::dataflow::operators::probe::{Handle, Probe};
    use timely::dataflow::operators::vec::Map;
    use timely::order::Product;
    use timely::worker::Worker;

    type Built = RowBuilder<Round>;
    type Kept = RowSpine<Round>;
    type Rounds = InputHandle<u64, CapacityContainerBuilder<Vec<RowUpdate>>>;

    /// The least value that is there, and how many rows there are.
    fn least(rows: &[(RowRef<'_>, Diff)], out: &mut Vec<(Row, Diff)>) {
        let count: Diff = rows.iter().map(|(_, count)| count).sum();
        if let Some((value, _)) = rows.iter().find(|(_, count)| *count > 0) {
            out.push((Row::new(value.0), 1));
        }
        out.push((row(&[1000 + count.unsigned_abs()]), count.signum().abs()));
        out.retain(|(_, count)| *count != 0);
    }

    /// Sends each round's updates alone, in any order of times that there can be.
    fn delayed(
        rows: StreamVec<'_, Round, RowUpdate<Round>>,
    ) -> StreamVec<'_, Round, RowUpdate<Round>> {
        let mut builder = OperatorBuilder::new("delayed".to_owned(), rows.scope());
        let again = builder.again();
        let mut input = builder.new_input(rows, Local);
        let (output, stream) = builder.new_output();
        let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
        builder.build(move |_capabilities| {
            let mut waiting: BTreeMap<Round, (Capability<Round>, Vec<RowUpdate<Round>>)> =
                BTreeMap::new();
            let mut random = Random(3);
            move |_frontiers| {
                input.for_each(|capability, updates| {
                    for update in updates.drain(..) {
                        let held = || (capability.delayed(&update.1, 0), Vec::new());
                        waiting.entry(update.1).or_insert_with(held).1.push(update.clone());
                    }
                });
                if waiting.is_empty() {
                    return;
                }
                let times: Vec<Round> = waiting.keys().copied().collect();
                let time = times[random.below(times.len() as u64) as usize];
                if let Some((held, mut updates)) = waiting.remove(&time) {
                    output.activate().session(&held).give_container(&mut updates);
                }
                again.activate();
            }
        });
        stream
    }

    /// Changes at sixty times, of which several are under way at once.
    fn write(worker: &mut Worker, handle: &mut Rounds, seed: u64) {
        let mut random = Random(seed);
        let mut there: Vec<(Row, Row)> = Vec::new();
        for time in 0..60u64 {
            let mut updates: Vec<RowUpdate> = Vec::new();
            for _ in 0..random.below(8) {
                if random.below(3) == 0 && !there.is_empty() {
                    let gone = there.swap_remove(random.below(there.len() as u64) as usize);
                    updates.push((gone, time, -1));
                } else {
                    let value = row(&[random.below(4), random.below(5)]);
                    there.push((row(&[random.below(3)]), value));
                    updates.push((there[there.len() - 1].clone(), time, 1));
                }
            }
            handle.send_batch(&mut updates);
            handle.advance_to(time + 1);
            // Several times are under way at once.
            if random.below(3) == 0 {
                (0..random.below(12)).for_each(|_| {
                    worker.step();
                });
            }
        }
        handle.advance_to(60);
    }

    /// Rows that name the round they come in, several times at once, against differential's own.
    #[test]
    fn says_at_all_times_and_rounds_what_differential_says() {
        for fuel in [1, 7, FUEL] {
            timely::execute_directly(move |worker| {
                let mut handle = Rounds::new();
                let probe = Handle::new();
                let differences = Rc::new(RefCell::new(Vec::new()));
                let seen = Rc::clone(&differences);
                let said = Rc::new(RefCell::new(0));
                let counted = Rc::clone(&said);
                worker.dataflow::<u64, _, _>(|scope| {
                    let rows = scope.input_from(&mut handle);
                    scope.scoped::<Round, _, _>("rounds", |inner| {
                        let rows = rows.as_collection().enter(inner).inner.map(
                            |((key, value), time, diff): RowUpdate<Round>| {
                                let round = number(value.bytes(), 1);
                                let value = row(&[number(value.bytes(), 0)]);
                                ((key, value), Product::new(time.outer, round), diff)
                            },
                        );
                        let arranged = arrange_rows(delayed(rows).as_collection(), "rows");
                        let theirs = arranged
                            .clone()
                            .reduce_abelian::<_, Built, Kept, RowContainer, _>(
                                "theirs",
                                |_, rows, out| least(rows, out),
                                fill,
                            )
                            .as_collection(|key, value| (Row::new(key.0), Row::new(value.0)));
                        let reducer: Reducer = Box::new(|_, rows, out| least(rows, out));
                        let answer: Answer = |key, value| (Row::new(key.0), value.clone());
                        let ours = reduce_by(arranged, "ours", reducer, answer, fuel);
                        let counted = ours.inspect(move |_| *counted.borrow_mut() += 1);
                        theirs
                            .negate()
                            .concat(counted)
                            .consolidate()
                            .inspect(move |update| seen.borrow_mut().push(update.clone()))
                            .leave(scope)
                            .inner
                            .probe_with(&probe);
                    });
                });
                write(worker, &mut handle, fuel as u64);
                while probe.less_than(&60) {
                    worker.step();
                }
                assert_eq!(*differences.borrow(), [], "with {fuel}");
                assert!(*said.borrow() > 100, "{} updates", said.borrow());
            });
        }
    }
}
