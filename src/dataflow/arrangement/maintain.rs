//! The operator that keeps an arrangement: sorts what comes into batches, and merges them.
//!
//! It does what differential's own does, and is built like all our operators, so that it measures
//! itself and says how far it is. A batch is sealed whenever the input is complete further than it
//! was: it holds all updates below, goes to the trace and down the stream, under the capabilities
//! that it uses up. Where no update lies between, only the trace is told.

use std::rc::Rc;

use differential_dataflow::batcher::Batcher;
use differential_dataflow::logging::{DifferentialEventBuilder, Logger};
use differential_dataflow::operators::arrange::{Arranged, TraceAgent, TraceWriter};
use differential_dataflow::trace::{Description, ExertionLogic, Span, SpanOf, Trace};
use timely::Container;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::operators::{Capability, CapabilitySet};
use timely::progress::{Antichain, Stamp};

use super::batch::Time;
use crate::dataflow::operator::OperatorBuilder;

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
    B: Batcher<C, Time = T, Output: Into<Tr::Batch>> + 'static,
    Tr: Trace<Time = T> + 'static,
{
    let scope = stream.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let mut input = builder.new_input(stream, pact);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);

    let worker = scope.worker();
    let info = builder.info();
    let logger: Option<Logger> =
        worker.logger_for::<DifferentialEventBuilder>("differential/arrange").map(Into::into);
    let activator = scope.activator_for(Rc::clone(&info.address));
    let mut empty = Tr::new(info.clone(), logger.clone(), Some(activator));
    if let Some(logic) = worker.config().get::<ExertionLogic>("differential/default_exert_logic") {
        empty.set_exert_logic(logic.clone());
    }
    let (trace, mut writer) = TraceAgent::new(empty, info, logger);

    builder.build(move |_capabilities| {
        // The lower envelope of the updates in the batcher.
        let mut held = Antichain::<Capability<T>>::new();
        let mut complete = Antichain::from_elem(T::minimum());
        move |frontiers| {
            input.for_each(|capability, updates| {
                for capability in capability.retain_stamp(0).iter() {
                    held.insert(capability.clone());
                }
                batcher.insert(updates);
            });
            let frontier = frontiers[0].frontier();
            if complete.borrow() != frontier {
                let upper = frontier.to_owned();
                if held.elements().iter().any(|capability| !upper.less_equal(capability.time())) {
                    let (batch, retained) = sealed(&mut batcher, &complete, &upper);
                    let used: CapabilitySet<T> = held
                        .elements()
                        .iter()
                        .filter(|c| !upper.less_equal(c.time()))
                        .cloned()
                        .collect();
                    ship(&mut writer, &used, &batch);
                    output.activate().session(&used).give(batch);
                    held = delayed(&held, &retained);
                } else {
                    writer.seal(upper.clone());
                }
                complete = upper;
            }
            writer.exert();
        }
    });
    Arranged { stream, trace }
}

/// The batch of all updates from `lower` on that are not from `upper` on, and the least times of
/// those that are left.
fn sealed<T: Time, C, B, Out>(
    batcher: &mut B,
    lower: &Antichain<T>,
    upper: &Antichain<T>,
) -> (Span<T, Out>, Antichain<T>)
where
    B: Batcher<C, Time = T, Output: Into<Out>>,
{
    let since = Antichain::from_elem(T::minimum());
    let description = Description::new(lower.clone(), upper.clone(), since);
    let (extracted, retained) = batcher.extract(upper.borrow());
    let retained = retained.to_owned();
    (Span::new(description, extracted.map(Into::into)), retained)
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
