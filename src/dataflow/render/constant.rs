//! Rows that a plan holds itself.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::source;

use crate::dataflow::arrangement::{RowUpdate, Rows, RowsByKey};
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

/// A stream of these updates, complete as soon as they are sent.
fn once<'s, D: Clone + 'static>(
    scope: Scope<'s, Timestamp>,
    mut updates: Vec<D>,
    as_of: Timestamp,
) -> timely::dataflow::Stream<'s, Timestamp, Vec<D>> {
    source::<_, CapacityContainerBuilder<Vec<D>>, _, _>(scope, "Constant", move |capability, _| {
        let mut capability = Some(capability);
        move |output| {
            if let Some(capability) = capability.take() {
                let capability = capability.delayed(&as_of);
                output.session(&capability).give_iterator(updates.drain(..));
            }
        }
    })
}
