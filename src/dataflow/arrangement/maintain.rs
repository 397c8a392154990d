//! The operator that keeps an arrangement: sorts what comes into batches, and merges them.
//!
//! It does what differential's own does, and is built like all our operators, so that it measures
//! itself and says how far it is. A batch is sealed whenever the input is complete further than it
//! was: it holds all updates below, goes to the trace and down the stream, under the capabilities
//! that it uses up. Where no update lies between, only the trace is told.
//!
//! A batch of many updates is built in several activations, [`FUEL`] updates in each; what arrives
//! meanwhile waits for the next one.

use std::rc::Rc;

use differential_dataflow::logging::{DifferentialEventBuilder, Logger};
use differential_dataflow::operators::arrange::{Arranged, TraceAgent, TraceWriter};
use differential_dataflow::trace::{Description, ExertionLogic, Span, SpanOf, Trace};
use timely::Container;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::generic::{OperatorInfo, OutputBuilder};
use timely::dataflow::operators::{Capability, CapabilitySet};
use timely::dataflow::{Scope, Stream};
use timely::progress::{Antichain, Stamp};

use super::batch::Time;
use super::batcher::{Batcher, Insert};
use crate::dataflow::operator::OperatorBuilder;

/// How many updates are put into a batch in one activation.
const FUEL: usize = 1 << 14;

/// Arranges a stream of updates.
pub(in crate::dataflow) fn arrange<'s, T, C, P, B, Tr>(
    stream: Stream<'s, T, C>,
    pact: P,
    name: &str,
    mut batcher: B,
) -> Arranged<'s, TraceAgent<Tr>>
where
    T: Time,
    C: Container + Clone + 'static,
    P: ParallelizationContract<T, C>,
    B: Insert<C> + Batcher<Time = T, Output: Into<Tr::Batch>> + 'static,
    Tr: Trace<Time = T> + 'static,
{
    let scope = stream.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let again = builder.again();
    let mut input = builder.new_input(stream, pact);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);

    let (trace, mut writer) = new_trace(scope, builder.info());
    builder.build(move |_capabilities| {
        // The lower envelope of the updates in the batcher.
        let mut held = Antichain::<Capability<T>>::new();
        let mut complete = Antichain::from_elem(T::minimum());
        let mut sealing: Option<Sealing<T>> = None;
        move |frontiers| {
            input.for_each(|capability, updates| {
                for capability in capability.retain_stamp(0).iter() {
                    held.insert(capability.clone());
                }
                batcher.insert(updates);
            });
            let frontier = frontiers[0].frontier();
            if sealing.is_none() && complete.borrow() != frontier {
                let upper = frontier.to_owned();
                if held.elements().iter().any(|capability| !upper.less_equal(capability.time())) {
                    let left = batcher.begin(upper.borrow());
                    sealing = Some(Sealing::new(&mut held, &left, upper));
                } else {
                    writer.seal(upper.clone());
                    complete = upper;
                }
            }
            if let Some(Sealing { upper, used }) = sealing.take() {
                if let Some(batch) = batcher.go_on(FUEL) {
                    let since = Antichain::from_elem(T::minimum());
                    let lower = std::mem::replace(&mut complete, upper.clone());
                    let description = Description::new(lower, upper, since);
                    let batch = Span::new(description, batch.map(Into::into));
                    ship(&mut writer, &used, &batch);
                    output.activate().session(&used).give(batch);
                    if complete.borrow() != frontier {
                        again.activate();
                    }
                } else {
                    sealing = Some(Sealing { upper, used });
                    again.activate();
                }
            }
            writer.exert();
        }
    });
    Arranged { stream, trace }
}

/// A trace for what an operator makes.
pub(in crate::dataflow) fn new_trace<T: Time, Tr: Trace<Time = T> + 'static>(
    scope: Scope<'_, T>,
    info: OperatorInfo,
) -> (TraceAgent<Tr>, TraceWriter<Tr>) {
    let worker = scope.worker();
    let logger: Option<Logger> =
        worker.logger_for::<DifferentialEventBuilder>("differential/arrange").map(Into::into);
    let activator = scope.activator_for(Rc::clone(&info.address));
    let mut empty = Tr::new(info.clone(), logger.clone(), Some(activator));
    if let Some(logic) = worker.config().get::<ExertionLogic>("differential/default_exert_logic") {
        empty.set_exert_logic(logic.clone());
    }
    TraceAgent::new(empty, info, logger)
}

/// A batch that is being built.
struct Sealing<T: Time> {
    /// It holds the updates below.
    upper: Antichain<T>,
    used: CapabilitySet<T>,
}

impl<T: Time> Sealing<T> {
    /// Splits what is held into what is used up, and what is left for these times.
    fn new(
        held: &mut Antichain<Capability<T>>,
        left: &Antichain<T>,
        upper: Antichain<T>,
    ) -> Sealing<T> {
        let of_left = delayed(held, left);
        let used = std::mem::replace(held, of_left).into_iter();
        let used = used.filter(|capability| !upper.less_equal(capability.time())).collect();
        Sealing { upper, used }
    }
}

/// Hands a batch to the trace.
fn ship<Tr: Trace>(
    writer: &mut TraceWriter<Tr>,
    used: &CapabilitySet<Tr::Time>,
    batch: &SpanOf<Tr>,
) {
    let stamp: Stamp<Tr::Time> = used.iter().map(|capability| capability.time().clone()).collect();
    writer.insert(batch.clone(), stamp);
}

/// Capabilities for these times.
fn delayed<T: Time>(
    held: &Antichain<Capability<T>>,
    times: &Antichain<T>,
) -> Antichain<Capability<T>> {
    let for_time = |time: &T| {
        let earlier = held.elements().iter().find(|capability| capability.time().less_equal(time));
        earlier.expect("an update came with a capability").delayed(time)
    };
    times.iter().map(for_time).collect()
}
