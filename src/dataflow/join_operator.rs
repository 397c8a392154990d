//! The operator of a join: pairs what is new on one side with what the other side holds.
//!
//! It does what differential's own does, and is built like all our operators, so that it measures
//! itself and says how far it is and whether it has work left; rows and errors leave it by outputs
//! of their own.
//!
//! Each batch of one side is joined with all batches of the other side that were taken before it,
//! so each pair is met once. What the traces hold when the join is built is paired at once; batches
//! that then arrive on the stream and lie below are passed over. A trace may have merged away what
//! a batch holds (a row that came and went), and say of itself that it is complete further: the
//! batch is joined all the same, since who reads downstream may tell its times apart.
//!
//! Pairs are made by iterators that stop after a slice of work ([`super::join`]). Each side has a
//! queue and half of the fuel of an activation, so that much that is new on one side does not
//! starve the other. Until they are made, neither trace compacts beyond what they need.

use std::collections::VecDeque;

use differential_dataflow::operators::arrange::Arranged;
use differential_dataflow::trace::{Span, SpanOf, TraceReader};
use timely::PartialOrder;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::StreamVec;
use timely::dataflow::channels::pushers::Output;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::{Capability, CapabilitySet, InputCapability};
use timely::progress::Antichain;
use timely::progress::frontier::AntichainRef;

use super::arrangement::{RowUpdate, Time, Updates};
use super::channel::Local;
use super::join::Metered;
use super::operator::{Meter, OperatorBuilder};
use crate::repr::{Diff, Row};

/// So much work is done in one activation for each side: some milliseconds, since whoever gets the
/// rows has as much to do with them, all in one step of the worker.
const FUEL: i64 = 1 << 15;

/// On which side the batch is that is new.
pub(super) enum Fresh {
    /// Left.
    Left,
    /// Right.
    Right,
}

/// An error and its time.
type ErrUpdate<T> = (Row, T, Diff);
/// Makes the rows of some pairs of batches, in slices.
pub(super) type Pairs<T> = Box<dyn Iterator<Item = Metered<T>>>;
/// Makes such an iterator, of left and right batches. The time bounds those of the batch that is
/// new from below.
pub(super) type Prepare<T, L, R> = Box<dyn FnMut(Vec<L>, Vec<R>, Fresh, T) -> Pairs<T>>;
/// The streams of rows and of errors.
type Joined<'s, T> = (StreamVec<'s, T, RowUpdate<T>>, Option<StreamVec<'s, T, ErrUpdate<T>>>);

/// Joins two arrangements.
pub(super) fn join<'s, T: Time, L, R>(
    left: Arranged<'s, L>,
    right: Arranged<'s, R>,
    name: &str,
    mut prepare: Prepare<T, L::Batch, R::Batch>,
    fallible: bool,
) -> Joined<'s, T>
where
    L: TraceReader<Time = T, Batch: Updates> + 'static,
    R: TraceReader<Time = T, Batch: Updates> + 'static,
{
    let mut builder = OperatorBuilder::new(name.to_owned(), left.stream.scope());
    let (again, meter) = (builder.again(), builder.meter());
    let mut left_input = builder.new_input(left.stream, Local);
    let mut right_input = builder.new_input(right.stream, Local);
    let (oks, ok_stream) = builder.new_output();
    let (errs, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut outputs = Outputs::new(oks, errs);
    builder.build(move |capabilities| {
        let (mut left, _) = Side::new(left.trace);
        let (mut right, first) = Side::new(right.trace);
        let [mut of_left, mut of_right] = [Queue::new(&meter), Queue::new(&meter)];
        let held = Held::initial(&capabilities);
        for batch in first.into_iter().filter_map(|span| span.inner) {
            let (meet, updates) = (capabilities[0].time().clone(), batch.updates());
            let pairs = prepare(left.batches(), vec![batch], Fresh::Right, meet);
            of_right.push(updates, held.clone(), pairs);
        }
        drop((held, capabilities));
        if of_right.has_work() {
            again.activate();
        }
        move |frontiers| {
            left_input.for_each(|capability, spans| {
                let (held, meet) = Held::by(&capability, fallible);
                for batch in spans.drain(..).filter_map(|span| left.take(span)) {
                    let updates = batch.updates();
                    let pairs = prepare(vec![batch], right.batches(), Fresh::Left, meet.clone());
                    of_left.push(updates, held.clone(), pairs);
                }
            });
            right_input.for_each(|capability, spans| {
                let (held, meet) = Held::by(&capability, fallible);
                for batch in spans.drain(..).filter_map(|span| right.take(span)) {
                    let updates = batch.updates();
                    let pairs = prepare(left.batches(), vec![batch], Fresh::Right, meet.clone());
                    of_right.push(updates, held.clone(), pairs);
                }
            });
            left.advance();
            right.advance();
            outputs.work_off(&mut of_left);
            outputs.work_off(&mut of_right);
            if of_left.has_work() || of_right.has_work() {
                again.activate();
            }
            left.hold(frontiers[1].frontier());
            right.hold(frontiers[0].frontier());
        }
    });
    (ok_stream, err_stream)
}

/// Capabilities for what becomes of a message.
#[derive(Clone)]
struct Held<T: Time> {
    oks: CapabilitySet<T>,
    errs: Option<CapabilitySet<T>>,
}

impl<T: Time> Held<T> {
    fn initial(capabilities: &[Capability<T>]) -> Held<T> {
        let at = |output: usize| Some(CapabilitySet::from_elem(capabilities.get(output)?.clone()));
        Held { oks: at(0).unwrap_or_default(), errs: at(1) }
    }

    /// Those of a message, and a time that bounds what comes of it from below.
    fn by(capability: &InputCapability<T>, fallible: bool) -> (Held<T>, T) {
        let oks = capability.retain_stamp(0);
        let errs = fallible.then(|| capability.retain_stamp(1));
        let times = oks.iter().map(|capability| capability.time().clone());
        let meet = times.reduce(|one, other| one.meet(&other)).unwrap_or_else(T::minimum);
        (Held { oks, errs }, meet)
    }
}

/// Pairs that are not made yet, and how many updates are new in each.
struct Queue<T: Time> {
    todo: VecDeque<(usize, Held<T>, Pairs<T>)>,
    meter: Meter,
}

impl<T: Time> Queue<T> {
    fn new(meter: &Meter) -> Queue<T> {
        Queue { todo: VecDeque::new(), meter: meter.clone() }
    }

    fn push(&mut self, updates: usize, held: Held<T>, pairs: Pairs<T>) {
        self.meter.add(updates);
        self.todo.push_back((updates, held, pairs));
    }

    fn has_work(&self) -> bool {
        !self.todo.is_empty()
    }
}

/// Builds what goes to an output.
type To<T, D> = OutputBuilder<T, CapacityContainerBuilder<Vec<D>>>;

/// The two outputs.
struct Outputs<T: Time> {
    oks: To<T, RowUpdate<T>>,
    errs: Option<To<T, ErrUpdate<T>>>,
}

impl<T: Time> Outputs<T> {
    fn new(
        oks: Output<T, Vec<RowUpdate<T>>>,
        errs: Option<Output<T, Vec<ErrUpdate<T>>>>,
    ) -> Outputs<T> {
        Outputs { oks: OutputBuilder::from(oks), errs: errs.map(OutputBuilder::from) }
    }

    /// Makes pairs while there is fuel.
    fn work_off(&mut self, queue: &mut Queue<T>) {
        let mut fuel = FUEL;
        if !queue.has_work() {
            return;
        }
        let mut oks = self.oks.activate();
        let mut errs = self.errs.as_mut().map(OutputBuilder::activate);
        while fuel >= 0
            && let Some((updates, held, pairs)) = queue.todo.front_mut()
        {
            let Some(mut made) = pairs.next() else {
                queue.meter.done(*updates);
                queue.todo.pop_front();
                continue;
            };
            fuel -= made.work;
            if !made.oks.is_empty() {
                oks.session(&held.oks).give_container(&mut made.oks);
            }
            if let (Some(errs), Some(held)) = (&mut errs, &held.errs)
                && !made.errs.is_empty()
            {
                errs.session(held).give_container(&mut made.errs);
            }
        }
    }
}

/// One side of the join.
struct Side<Tr: TraceReader> {
    /// None once the other side has ended, and nobody needs it any more.
    trace: Option<Tr>,
    /// Batches below have been taken.
    taken: Antichain<Tr::Time>,
    /// Batches below were there at the beginning.
    preloaded: Antichain<Tr::Time>,
}

impl<Tr: TraceReader<Time: Time>> Side<Tr> {
    /// A side, and what it holds.
    fn new(mut trace: Tr) -> (Side<Tr>, Vec<SpanOf<Tr>>) {
        let mut taken = Antichain::from_elem(timely::progress::Timestamp::minimum());
        let mut spans = Vec::new();
        trace.map_spans(|span| {
            taken.clone_from(span.upper());
            spans.push(span.clone());
        });
        assert!(
            PartialOrder::less_equal(&trace.get_physical_compaction(), &taken.borrow()),
            "batches can be told apart where they end"
        );
        let preloaded = taken.clone();
        (Side { trace: Some(trace), taken, preloaded }, spans)
    }

    /// The batches that have been taken.
    fn batches(&mut self) -> Vec<Tr::Batch> {
        let trace = self.trace.as_mut().expect("a side is dropped when the other has ended");
        trace.batches_through(self.taken.borrow()).expect("batches are told apart where they end")
    }

    /// Takes a batch that arrives; its updates, where there are any that were not there.
    fn take(&mut self, span: Span<Tr::Time, Tr::Batch>) -> Option<Tr::Batch> {
        if PartialOrder::less_equal(span.upper(), &self.preloaded) {
            return None;
        }
        // Empty ones are not sent, and the trace may have said that it is complete further.
        if PartialOrder::less_equal(&self.taken, span.lower()) {
            self.taken.clone_from(span.upper());
        }
        span.inner
    }

    /// Passes over batches without updates, which do not arrive.
    fn advance(&mut self) {
        if let Some(trace) = &mut self.trace {
            trace.advance_upper(&mut self.taken);
        }
    }

    /// Lets the trace compact as far as what comes on the other side can do without.
    fn hold(&mut self, other: AntichainRef<'_, Tr::Time>) {
        if other.is_empty() {
            self.trace = None;
        } else if let Some(trace) = &mut self.trace {
            trace.set_logical_compaction(other);
            trace.set_physical_compaction(self.taken.borrow());
        }
    }
}
