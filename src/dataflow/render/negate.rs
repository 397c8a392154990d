//! Rows with the opposite counts.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::generic::OutputBuilder;

use crate::dataflow::arrangement::RowsByKey;
use crate::dataflow::channel::Local;
use crate::dataflow::operator::OperatorBuilder;

/// Negates all counts, in place: differential's operator over a channel that is counted.
pub fn negate<'s>(rows: RowsByKey<'s>, name: &str) -> RowsByKey<'s> {
    let mut builder = OperatorBuilder::new(name.to_owned(), rows.inner.scope());
    let mut input = builder.new_input(rows.inner, Local);
    builder.ignore_progress_of(0);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
    builder.build(move |_capabilities| {
        move |_frontiers| {
            let mut output = output.activate();
            input.for_each(|capability, rows| {
                rows.iter_mut().for_each(|(_, _, diff)| *diff = -*diff);
                output.session(&capability).give_container(rows);
            });
        }
    });
    stream.as_collection()
}
