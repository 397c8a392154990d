//! Bringing a shared arrangement into a dataflow, with a frontier that the coordinator moves.
//!
//! If every input advanced whenever time does, each commit would wake each dataflow: 6 µs for each
//! installed view, though nothing that it reads has changed. So an input advances only when it is
//! written, and a dataflow that must answer at `t` while some of its inputs stand still is given a
//! [`Promise`] for each import: once the trace has reached `need` (the last write's time plus one),
//! nothing comes below `t`. No other dataflow notices.
//!
//! A batch that arrives after a promise carries, as the stamp of its message, the time at which its
//! input was last flushed, which may lie below what was promised meanwhile. Its updates do not: the
//! promise was kept. So the message is sent at the later of the two.
//!
//! A trace forgets the importers that are gone only when its frontier moves; until then each of
//! them costs some 130 bytes, and a table that is queried and never written would gather them for
//! ever. So a dataflow that wants nothing from a time on ([`import_until`]), as each query does,
//! takes what is there without being put down as a listener, where the promise says that nothing
//! else will come. Only subscriptions and views listen to a table that stands still.
//!
//! The source hands over whole batches, which are shared and cost nothing. What must be sliced is
//! reading them: [`super::scan`] and [`super::join`] do.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use differential_dataflow::operators::arrange::TraceReplayInstruction;
use differential_dataflow::trace::{SpanOf, TraceReader};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::{OperatorInfo, OutputBuilder};
use timely::scheduling::Activator;

use super::arrangement::{RowArranged, RowSpine, RowTrace, upper_of};
use super::operator::OperatorBuilder;
use crate::repr::Timestamp;

/// Moves the frontier of one import on one worker.
#[derive(Clone, Default)]
pub struct Promise(Rc<State>);

#[derive(Default)]
struct State {
    // Who writes: the worker, on the coordinator's command. Who reads: the import source.
    standing: Cell<Standing>,
    // Who writes: the source. Who reads: the worker, to know whether the source can go on now.
    complete_below: Cell<Timestamp>,
    activator: RefCell<Option<Activator>>,
    /// The source's number.
    operator: Cell<usize>,
}

#[derive(Clone, Copy, Default)]
struct Standing {
    need: Timestamp,
    below: Timestamp,
}

impl Promise {
    /// Promises that once the trace is complete below `need`, nothing comes below `time`.
    ///
    /// The promise must be true: no write of the imported relation may follow at a time from
    /// `need` up to `time`. An older promise is implied by a newer one.
    pub fn advance(&self, need: Timestamp, time: Timestamp) {
        if self.stand(need, time) {
            self.wake();
        }
    }

    /// [`Promise::advance`] without waking the source; says whether it must be woken. It need not
    /// be while it waits for the trace, which wakes it.
    pub fn stand(&self, need: Timestamp, time: Timestamp) -> bool {
        self.0.standing.set(Standing { need, below: time });
        self.0.complete_below.get() >= need
    }

    /// The number of the source.
    pub fn operator(&self) -> usize {
        self.0.operator.get()
    }

    /// Below which time the source is complete; and whether it waits for what it imports.
    pub fn progress(&self) -> (Timestamp, bool) {
        let Standing { need, below } = self.0.standing.get();
        let complete_below = self.0.complete_below.get();
        let waits = complete_below < need;
        (if waits { complete_below } else { complete_below.max(below) }, waits)
    }

    /// Has the source run.
    pub fn wake(&self) {
        if let Some(activator) = &*self.0.activator.borrow() {
            activator.activate();
        }
    }
}

/// Imports a shared arrangement, and returns the means to promise for it.
///
/// All that the trace holds comes at once, at the times it still distinguishes; the trace's handle
/// in the result holds back compaction to where `trace` does.
pub fn import<'s>(
    trace: &mut RowTrace,
    scope: Scope<'s, Timestamp>,
    name: &str,
) -> (RowArranged<'s>, Promise) {
    import_until(trace, scope, name, None)
}

/// [`import`] for a dataflow to which nothing matters that happens at `until` or later.
///
/// The source ends when all below is there; what it has sent may go beyond.
pub fn import_until<'s>(
    trace: &mut RowTrace,
    scope: Scope<'s, Timestamp>,
    name: &str,
    until: Option<Timestamp>,
) -> (RowArranged<'s>, Promise) {
    let shared = trace.clone();
    let promise = Promise::default();
    let to_keep = promise.clone();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let info = builder.info();
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
    builder.build(move |mut capabilities| {
        let mut listener = Listener::new(trace, scope, &info, until, to_keep);
        let mut capability = capabilities.pop();
        move |_frontiers| {
            let Some(held) = capability.as_mut() else { return };
            let mut output = output.activate();
            let mut ended = false;
            listener.hear(|news| match news {
                News::Batch(span, stamp) => {
                    let time = stamp.max(*held.time());
                    output.session(&held.delayed(&time)).give(span);
                }
                News::Below(time) if time > *held.time() => held.downgrade(&time),
                News::Below(_) => {}
                News::End => ended = true,
            });
            if ended {
                capability = None;
            }
        }
    });
    (RowArranged { stream, trace: shared }, promise)
}

/// What is heard of an arrangement, in this order.
pub(super) enum News {
    /// A batch, and a time that none of its updates comes before.
    Batch(SpanOf<RowSpine>, Timestamp),
    /// Nothing more comes below this time, or one that was given before.
    Below(Timestamp),
    /// Nothing more comes that matters.
    End,
}

/// Listens to an arrangement and to what is promised for it.
pub(super) struct Listener {
    promise: Promise,
    until: Option<Timestamp>,
    /// The arrangement, before the first hearing. What was promised is known only then.
    unheard: Option<(RowTrace, Activator)>,
    queue: Option<Queue>,
}

/// Where a trace puts what happens to it.
type Queue = Rc<(Activator, RefCell<VecDeque<TraceReplayInstruction<RowSpine>>>)>;

impl Listener {
    /// A listener inside an operator, which is woken by the trace and by `promise`.
    pub(super) fn new(
        trace: &RowTrace,
        scope: Scope<'_, Timestamp>,
        operator: &OperatorInfo,
        until: Option<Timestamp>,
        promise: Promise,
    ) -> Listener {
        let activator = || scope.activator_for(Rc::clone(&operator.address));
        *promise.0.activator.borrow_mut() = Some(activator());
        promise.0.operator.set(operator.global_id);
        let unheard = Some((trace.clone(), activator()));
        Listener { promise, until, unheard, queue: None }
    }

    /// Hands over what is new.
    pub(super) fn hear(&mut self, mut take: impl FnMut(News)) {
        let Standing { need, below } = self.promise.0.standing.get();
        if let Some((mut trace, activator)) = self.unheard.take() {
            let complete = upper_of(&mut trace).is_none_or(|upper| upper >= need);
            if complete && self.until.is_some_and(|until| below >= until) {
                trace.map_spans(|span| {
                    if span.has_updates() {
                        take(News::Batch(span.clone(), Timestamp::MIN));
                    }
                });
                return take(News::End);
            }
            self.queue = Some(trace.new_listener(activator));
        }
        let Some(queue) = &self.queue else { return };
        let mut complete_below = self.promise.0.complete_below.get();
        for instruction in queue.1.borrow_mut().drain(..) {
            match instruction {
                TraceReplayInstruction::Span(span, stamp) => {
                    if let Some(least) = stamp.least().filter(|_| span.has_updates()) {
                        let stamp = *least;
                        take(News::Batch(span, stamp));
                    }
                }
                TraceReplayInstruction::Frontier(frontier) => {
                    complete_below = frontier.first().copied().unwrap_or(Timestamp::MAX);
                    take(News::Below(complete_below));
                }
            }
        }
        self.promise.0.complete_below.set(complete_below);
        if complete_below >= need {
            take(News::Below(below));
        }
        if complete_below == Timestamp::MAX {
            take(News::End);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::{Arc, Mutex};

    use super::super::arrangement::{
        RowBuilder, RowContainer, RowSpine, RowTrace, arrange_rows, fill,
    };
    use super::super::emit::JoinLogic;
    use super::super::join::join_rows;
    use super::super::scan::scan;
    use super::super::testing::{Random, Table, number, row};
    use super::*;
    use crate::repr::{Diff, Row};
    use timely::dataflow::operators::probe::{Handle, Probe};
    use timely::worker::Worker;

    const TIMES: u64 = 200;

    type Seen = Arc<Mutex<Vec<((u64, u64), Timestamp, Diff)>>>;

    /// Counts matches by key; a join and a reduction, which waits for both frontiers.
    fn install(
        worker: &mut Worker,
        left: &mut RowTrace,
        right: &mut RowTrace,
        probe: &Handle<Timestamp>,
        seen: Seen,
    ) -> [Promise; 2] {
        worker.dataflow(|scope| {
            let (left, left_promise) = import(left, scope, "left");
            let (right, right_promise) = import(right, scope, "right");
            let logic: JoinLogic =
                Box::new(|key, l, r, emit| emit.ok(Row::new(key), Row::new(&[l, r].concat())));
            let (oks, _) = join_rows(left, right, "join", 0, logic, false);
            let counts = arrange_rows(oks, "matches")
                .reduce_abelian::<_, RowBuilder, RowSpine, RowContainer, _>(
                    "count",
                    |_key, input, output| {
                        let count = input.iter().map(|(_, diff)| diff).sum::<Diff>();
                        output.push((row(&[count as u64]), 1));
                    },
                    fill,
                );
            let every =
                Box::new(|key: &[u8], value: &[u8], emit: &mut crate::dataflow::emit::Emit| {
                    emit.ok(Row::new(key), Row::new(value));
                });
            let (counts, _) = scan(counts, "counts", 0, every, false);
            counts
                .inspect(move |((key, count), time, diff)| {
                    let data = (number(key.bytes(), 0), number(count.bytes(), 0));
                    seen.lock().unwrap().push((data, *time, *diff));
                })
                .inner
                .probe_with(probe);
            [left_promise, right_promise]
        })
    }

    #[test]
    fn promises_move_a_view_while_its_tables_stand_still() {
        let seen = Seen::default();
        let history = Arc::new(Mutex::new(Vec::new()));
        let (worker_seen, worker_history) = (seen.clone(), history.clone());
        timely::execute(timely::Config::process(2), move |worker| {
            let index = worker.index();
            let mut tables = [Table::create(worker), Table::create(worker)];
            let probe = Handle::new();
            let [left, right] = &mut tables;
            let seen = worker_seen.clone();
            let promises = install(worker, &mut left.trace, &mut right.trace, &probe, seen);
            let (mut sets, mut needs) = ([BTreeSet::new(), BTreeSet::new()], [0; 2]);
            let mut random = Random(5);
            for time in 1..TIMES {
                // One of them changes; the other is hardly ever written, and never advanced.
                let which = usize::from(random.below(8) == 0);
                let mut changes = Vec::new();
                for _ in 0..3 {
                    let pair = (random.below(6), random.below(6));
                    let diff = if sets[which].remove(&pair) { -1 } else { 1 };
                    if diff > 0 {
                        sets[which].insert(pair);
                    }
                    changes.push(((row(&[pair.0]), row(&[pair.1])), diff));
                }
                tables[which].write(if index == 1 { &changes } else { &[] }, time);
                needs[which] = time + 1;
                for (promise, need) in promises.iter().zip(needs) {
                    promise.advance(need, time + 1);
                }
                while probe.less_than(&(time + 1)) {
                    worker.step();
                }
                for table in &mut tables {
                    table.compact(time);
                }
                if index == 0 {
                    worker_history.lock().unwrap().push((time, sets.clone()));
                }
            }
        })
        .unwrap();
        let (seen, history) = (seen.lock().unwrap(), history.lock().unwrap());
        for (at, [left, right]) in &*history {
            let mut content: BTreeMap<(u64, u64), Diff> = BTreeMap::new();
            for (data, time, diff) in &*seen {
                *content.entry(*data).or_default() += if time <= at { *diff } else { 0 };
            }
            content.retain(|_, count| *count != 0);
            let of = |set: &BTreeSet<(u64, u64)>, key| set.iter().filter(|p| p.0 == key).count();
            let expected: BTreeMap<(u64, u64), Diff> = (0..6)
                .map(|key| ((key, (of(left, key) * of(right, key)) as u64), 1))
                .filter(|((_, count), _)| *count > 0)
                .collect();
            assert_eq!(content, expected, "at {at}");
        }
        assert_eq!(history.len() as u64, TIMES - 1);
    }
}
