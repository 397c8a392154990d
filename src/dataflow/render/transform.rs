//! One logic applied to each row of a collection that is not arranged.
//!
//! The pendant of [`crate::dataflow::scan`] for rows under way: whatever reads, filters and shapes
//! rows goes through here, so the operator is compiled once.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::generic::OutputBuilder;

use crate::dataflow::arrangement::{RowUpdate, Rows, RowsByKey, Time};
use crate::dataflow::channel::Local;
use crate::dataflow::emit::{Emit, RowLogic};
use crate::dataflow::operator::OperatorBuilder;
use crate::repr::{Diff, Row};

/// How many updates are sent at once.
const CHUNK: usize = 1 << 10;

/// Applies `logic` to every row; returns rows and, where it is `fallible`, errors.
pub fn transform<'s, T: Time>(
    rows: RowsByKey<'s, T>,
    name: &str,
    mut logic: RowLogic,
    fallible: bool,
) -> (RowsByKey<'s, T>, Option<Rows<'s, T>>) {
    let mut builder = OperatorBuilder::new(name.to_owned(), rows.inner.scope());
    let mut input = builder.new_input(rows.inner, Local);
    builder.ignore_progress_of(0);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut emit = Emit::default();
        let mut oks: Vec<RowUpdate<T>> = Vec::new();
        let mut errs: Vec<(Row, T, Diff)> = Vec::new();
        move |_frontiers| {
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            input.for_each(|capability, updates| {
                let mut session = ok_output.session(&capability);
                for ((key, value), time, diff) in updates.drain(..) {
                    logic(key.bytes(), value.bytes(), &mut emit);
                    oks.extend(emit.oks.drain(..).map(|row| (row, time.clone(), diff)));
                    errs.extend(emit.errs.drain(..).map(|error| (error, time.clone(), diff)));
                    if oks.len() >= CHUNK {
                        session.give_container(&mut oks);
                        oks.clear();
                    }
                }
                if !oks.is_empty() {
                    session.give_container(&mut oks);
                    oks.clear();
                }
                if let Some(output) = &mut err_output
                    && !errs.is_empty()
                {
                    let held = capability.retain_stamp(1);
                    output.session(&held).give_container(&mut errs);
                    errs.clear();
                }
            });
        }
    });
    (ok_stream.as_collection(), err_stream.map(AsCollection::as_collection))
}
