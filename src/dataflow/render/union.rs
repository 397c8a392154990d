//! All rows of several collections.

use differential_dataflow::{AsCollection, VecCollection};
use timely::dataflow::Scope;
use timely::dataflow::operators::core::Concatenate;

use crate::dataflow::arrangement::Time;
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
            scope.concatenate(streams).as_collection()
        }
    }
}
