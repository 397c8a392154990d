//! An arrangement inside a loop as rows, a piece at a time.
//!
//! The pendant of [`crate::dataflow::scan`] for any time, without a logic that could fail.

use std::collections::VecDeque;

use differential_dataflow::AsCollection;
use differential_dataflow::operators::arrange::Arranged;
use differential_dataflow::trace::{BatchCursor, Cursor, Navigable, TraceReader};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::CapabilitySet;
use timely::dataflow::operators::generic::OutputBuilder;

use crate::dataflow::arrangement::{RowRef, RowUpdate, RowsByKey, Time};
use crate::dataflow::channel::Local;
use crate::dataflow::join::RowCursorAt;
use crate::dataflow::operator::OperatorBuilder;
use crate::repr::Row;

/// How many updates are read in one activation.
const FUEL: usize = 1 << 15;
/// How many updates are sent at once.
const CHUNK: usize = 1 << 10;

/// A batch that is being read.
struct Reading<B: Navigable, T: Time> {
    batch: B,
    cursor: B::Cursor,
    held: CapabilitySet<T>,
}

/// Reads an arrangement; `make` makes a row of a key and a value. All updates come at `as_of` or
/// later.
pub fn read_back<'s, T: Time, Tr>(
    arranged: Arranged<'s, Tr>,
    name: &str,
    as_of: T,
    make: impl Fn(RowRef<'_>, RowRef<'_>) -> (Row, Row) + 'static,
) -> RowsByKey<'s, T>
where
    Tr: TraceReader<Time = T, Batch: Navigable> + 'static,
    BatchCursor<Tr>: RowCursorAt<T>,
{
    let mut builder = OperatorBuilder::new(name.to_owned(), arranged.stream.scope());
    let again = builder.again();
    let mut input = builder.new_input(arranged.stream, Local);
    builder.ignore_progress_of(0);
    let (output, stream) = builder.new_output();
    let mut output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(output);
    builder.build(move |_capabilities| {
        let mut todo: VecDeque<Reading<Tr::Batch, T>> = VecDeque::new();
        let mut made: Vec<RowUpdate<T>> = Vec::new();
        move |_frontiers| {
            input.for_each(|capability, spans| {
                let held = capability.retain_stamp(0);
                for batch in spans.drain(..).filter_map(|span| span.inner) {
                    let (cursor, held) = (batch.cursor(), held.clone());
                    todo.push_back(Reading { batch, cursor, held });
                }
            });
            let mut fuel = FUEL;
            let mut output = output.activate();
            while let Some(reading) = todo.front_mut() {
                let done = reading.read(&mut fuel, &as_of, &make, &mut made);
                if !made.is_empty() {
                    output.session(&reading.held).give_container(&mut made);
                    made.clear();
                }
                if done {
                    todo.pop_front();
                } else if fuel == 0 {
                    again.activate();
                    break;
                }
            }
        }
    });
    stream.as_collection()
}

impl<B: Navigable<Cursor: RowCursorAt<T>>, T: Time> Reading<B, T> {
    /// Reads on until there is enough to send or the fuel is spent; says whether that was all.
    fn read(
        &mut self,
        fuel: &mut usize,
        as_of: &T,
        make: &impl Fn(RowRef<'_>, RowRef<'_>) -> (Row, Row),
        made: &mut Vec<RowUpdate<T>>,
    ) -> bool {
        let Reading { batch, cursor, .. } = self;
        while let Some(key) = cursor.get_key(batch) {
            while let Some(value) = cursor.get_val(batch) {
                if *fuel == 0 || made.len() >= CHUNK {
                    return false;
                }
                cursor.map_times(batch, |time, diff| {
                    let time = B::Cursor::owned_time(time).join(as_of);
                    made.push((make(key, value), time, B::Cursor::owned_diff(diff)));
                    *fuel = fuel.saturating_sub(1);
                });
                cursor.step_val(batch);
            }
            cursor.step_key(batch);
        }
        true
    }
}
