//! Rows that a plan holds itself.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::OutputBuilder;

use crate::dataflow::arrangement::{RowUpdate, Rows, RowsByKey};
use crate::dataflow::operator::OperatorBuilder;
use crate::repr::{Diff, Row, Timestamp};

/// These rows, from `as_of` on for ever. Only the first worker holds them.
pub fn constant_rows<'s>(
    scope: Scope<'s, Timestamp>,
    rows: &[(Row, Diff)],
    as_of: Timestamp,
) -> RowsByKey<'s> {
    let here = scope.index() == 0;
    let updates = rows.iter().filter(|_| here);
    let updates: Vec<RowUpdate> = updates
        .map(|(row, diff)| ((Row::EMPTY, row.clone()), as_of, *diff))
        .filter(|(_, _, diff)| *diff != 0)
        .collect();
    once(scope, updates, as_of).as_collection()
}

/// An error in the place of rows, from `as_of` on.
pub fn constant_error<'s>(scope: Scope<'s, Timestamp>, error: Row, as_of: Timestamp) -> Rows<'s> {
    let updates = if scope.index() == 0 { vec![(error, as_of, 1)] } else { Vec::new() };
    once(scope, updates, as_of).as_collection()
}

/// No errors, at any time.
pub fn no_errors(scope: Scope<'_, Timestamp>) -> Rows<'_> {
    once(scope, Vec::new(), Timestamp::MIN).as_collection()
}

/// A stream of these updates, complete as soon as they are sent.
fn once<'s, D: Clone + 'static>(
    scope: Scope<'s, Timestamp>,
    mut updates: Vec<D>,
    as_of: Timestamp,
) -> timely::dataflow::Stream<'s, Timestamp, Vec<D>> {
    let mut builder = OperatorBuilder::new("Constant".to_owned(), scope);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<D>>>::from(output);
    builder.build(move |mut capabilities| {
        let mut capability = capabilities.pop();
        move |_frontiers| {
            if let Some(capability) = capability.take() {
                let capability = capability.delayed(&as_of);
                output.activate().session(&capability).give_iterator(updates.drain(..));
            }
        }
    });
    stream
}
