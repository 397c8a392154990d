//! All rows of several collections.

use differential_dataflow::{AsCollection, VecCollection};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::generic::OutputBuilder;
use timely::dataflow::{Scope, StreamVec};

use crate::dataflow::arrangement::Time;
use crate::dataflow::channel::Local;
use crate::dataflow::operator::OperatorBuilder;
use crate::repr::Diff;

/// The rows of all these collections; there is one at least.
pub fn union<'s, T: Time, D: Clone + 'static>(
    scope: Scope<'s, T>,
    mut collections: Vec<VecCollection<'s, T, D, Diff>>,
) -> VecCollection<'s, T, D, Diff> {
    match collections.pop() {
        Some(only) if collections.is_empty() => only,
        last => {
            let streams = collections.into_iter().chain(last).map(|rows| rows.inner);
            concatenate(scope, streams).as_collection()
        }
    }
}

/// Timely's operator of that name, over channels that are counted in place.
fn concatenate<'s, T: Time, D: Clone + 'static>(
    scope: Scope<'s, T>,
    streams: impl Iterator<Item = StreamVec<'s, T, D>>,
) -> StreamVec<'s, T, D> {
    let mut builder = OperatorBuilder::new("Concatenate".to_owned(), scope);
    let mut inputs: Vec<_> = streams.map(|stream| builder.new_input(stream, Local)).collect();
    (0..inputs.len()).for_each(|input| builder.ignore_progress_of(input));
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
    builder.build(move |_capabilities| {
        move |_frontiers| {
            let mut output = output.activate();
            for input in &mut inputs {
                input.for_each(|capability, rows| output.session(&capability).give_container(rows));
            }
        }
    });
    stream
}
