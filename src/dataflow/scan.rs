//! Reading an arrangement's batches back into rows, a slice at a time.
//!
//! Differential's `as_collection` walks a batch in one go: two million rows kept a worker for
//! 100 ms and filled 125 MB of messages. This operator walks batches by fuel, [`FUEL`] updates an
//! activation, and applies the reader's filter and projection on the way.
//!
//! Updates from before the reader's as-of come at the as-of, with what cancels cancelled.

use std::collections::VecDeque;
use std::rc::Rc;

use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate;
use differential_dataflow::trace::{Cursor, Navigable};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;

use super::arrangement::{RowArranged, RowBatch, RowUpdate, Rows, RowsByKey};
use super::channel::Local;
use super::emit::{Emit, RowLogic};
use super::operator::OperatorBuilder;
use crate::repr::{Diff, Row, Timestamp};

/// How many updates are read in one activation.
pub const FUEL: usize = 1 << 16;

/// How many updates are sent at once: few enough to stay in the cache until they are read.
const CHUNK: usize = 1 << 12;

/// A batch that is being read.
pub(super) struct Reading {
    batch: Rc<RowBatch>,
    cursor: <Rc<RowBatch> as Navigable>::Cursor,
}

/// What has been made of the rows that were read.
#[derive(Default)]
pub(super) struct Made {
    pub(super) oks: Vec<RowUpdate>,
    pub(super) errs: Vec<(Row, Timestamp, Diff)>,
}

/// A capability for rows, and where there can be errors one for them.
type Held = (Capability<Timestamp>, Option<Capability<Timestamp>>);

/// Applies `logic` to every row of an arrangement; returns rows and, where that is `fallible`,
/// errors.
///
/// All updates come at `as_of` or later.
pub fn scan<'s>(
    arranged: RowArranged<'s>,
    name: &str,
    as_of: Timestamp,
    mut logic: RowLogic,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    let scope = arranged.stream.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let (again, meter) = (builder.again(), builder.meter());
    let mut input = builder.new_input(arranged.stream, Local);
    builder.ignore_progress_of(0);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut todo: VecDeque<(Reading, Held)> = VecDeque::new();
        let mut emit = Emit::default();
        let mut made = Made::default();
        move |_frontiers| {
            input.for_each(|capability, spans| {
                let Some(time) = capability.least().map(|least| (*least).max(as_of)) else {
                    return;
                };
                for batch in spans.drain(..).filter_map(|span| span.inner) {
                    meter.add(batch.updates());
                    let for_errs = fallible.then(|| capability.delayed(&time, 1));
                    todo.push_back((Reading::new(batch), (capability.delayed(&time, 0), for_errs)));
                }
            });
            let mut fuel = FUEL;
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            while let Some((reading, (held, errs_held))) = todo.front_mut() {
                let before = fuel;
                let done = reading.read(&mut fuel, as_of, &mut logic, &mut emit, &mut made);
                meter.done(before - fuel);
                if !made.oks.is_empty() {
                    ok_output.session(&*held).give_container(&mut made.oks);
                }
                if let (Some(output), Some(capability)) = (&mut err_output, &*errs_held)
                    && !made.errs.is_empty()
                {
                    output.session(capability).give_container(&mut made.errs);
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
    (ok_stream.as_collection(), err_stream.map(AsCollection::as_collection))
}

impl Reading {
    /// Begins to read a batch.
    pub(super) fn new(batch: Rc<RowBatch>) -> Reading {
        Reading { cursor: batch.cursor(), batch }
    }

    /// Reads on until there is enough to send or the fuel is spent; says whether the batch is read
    /// to its end.
    pub(super) fn read(
        &mut self,
        fuel: &mut usize,
        as_of: Timestamp,
        logic: &mut RowLogic,
        emit: &mut Emit,
        made: &mut Made,
    ) -> bool {
        made.oks.clear();
        made.errs.clear();
        let mut edits = Vec::new();
        while let Some(key) = self.cursor.get_key(&self.batch) {
            while let Some(value) = self.cursor.get_val(&self.batch) {
                if *fuel == 0 || made.oks.len() >= CHUNK {
                    return false;
                }
                edits.clear();
                self.cursor.map_times(&self.batch, |time, diff| {
                    edits.push(((*time).max(as_of), *diff));
                });
                *fuel = fuel.saturating_sub(edits.len().max(1));
                consolidate(&mut edits);
                if !edits.is_empty() {
                    logic(key.0, value.0, emit);
                    if let [(time, diff)] = edits[..] {
                        made.oks.extend(emit.oks.drain(..).map(|row| (row, time, diff)));
                    }
                    for row in emit.oks.drain(..) {
                        made.oks.extend(edits.iter().map(|(t, d)| (row.clone(), *t, *d)));
                    }
                    for error in emit.errs.drain(..) {
                        made.errs.extend(edits.iter().map(|(t, d)| (error.clone(), *t, *d)));
                    }
                }
                self.cursor.step_val(&self.batch);
            }
            self.cursor.step_key(&self.batch);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use super::super::import::import;
    use super::super::testing::{Table, number, row};
    use super::*;
    use crate::error::SqlState;
    use crate::expr::error::EvalError;
    use timely::dataflow::operators::probe::{Handle, Probe};

    #[test]
    fn a_scan_yields_and_splits_rows_from_errors() {
        timely::execute(timely::Config::thread(), |worker| {
            let mut table = Table::create(worker);
            let count = 3 * FUEL as u64;
            let rows: Vec<_> = (0..count).map(|k| ((row(&[k]), row(&[k % 10])), 1)).collect();
            table.write(&rows, 1);
            table.write(&[((row(&[5]), row(&[5])), -1), ((row(&[6]), row(&[6])), 2)], 2);
            table.write(&[((row(&[0]), row(&[0])), -1)], 9);
            table.settle(worker);
            let probe = Handle::new();
            let sums = Rc::new(RefCell::new(BTreeMap::<(u64, bool), Diff>::new()));
            let (ok_sums, err_sums) = (sums.clone(), sums.clone());
            worker.dataflow(|scope| {
                let (arranged, _promise) = import(&mut table.trace, scope, "import");
                let logic: RowLogic = Box::new(|key, value, emit| match number(value, 0) {
                    9 => emit.err(&EvalError::new(SqlState::DIVISION_BY_ZERO, "nine")),
                    _ => emit.ok(Row::new(key), Row::EMPTY),
                });
                let (oks, errs) = scan(arranged, "scan", 7, logic, true);
                oks.inspect(move |(_, time, diff)| {
                    *ok_sums.borrow_mut().entry((*time, false)).or_default() += diff;
                });
                errs.expect("it can fail")
                    .inspect(move |(error, time, diff)| {
                        assert_eq!(&*super::super::emit::error_of(error.bytes()).message, "nine");
                        *err_sums.borrow_mut().entry((*time, true)).or_default() += diff;
                    })
                    .inner
                    .probe_with(&probe);
            });
            let mut steps = 0;
            while probe.less_than(&10) {
                worker.step();
                steps += 1;
            }
            assert!(steps >= 3, "{steps} steps");
            let nines = (count / 10) as Diff;
            let expected = BTreeMap::from([
                ((7, false), count as Diff - nines - 1 + 2),
                ((9, false), -1),
                ((7, true), nines),
            ]);
            assert_eq!(*sums.borrow(), expected);
        })
        .unwrap();
    }
}
