//! Each row with each row that a function returns for it.
//!
//! One row can become a milliard. Open calls are iterators, taken from by fuel, [`FUEL`] rows an
//! activation: what the function still has to say takes no memory, others have their turn, and
//! when the dataflow is dropped the call is forgotten. Where the rows go to a reader as they come,
//! no more are made while many wait for it ([`Pressure`]).

use std::collections::VecDeque;

use bumpalo::Bump;
use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::CapabilitySet;
use timely::dataflow::operators::generic::OutputBuilder;

use super::rows::{Shaper, evaluate_all};
use crate::dataflow::arrangement::{RowUpdate, Rows, RowsByKey, Time};
use crate::dataflow::channel::Local;
use crate::dataflow::emit::Emit;
use crate::dataflow::operator::OperatorBuilder;
use crate::dataflow::pressure::Pressure;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::table::{TableFunc, TableRows};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::decode_values;
use crate::repr::{Diff, Row, ScalarType};

/// How many rows are made in one activation.
const FUEL: usize = 1 << 14;

/// How many rows are sent at once.
const CHUNK: usize = 1 << 10;

/// A function and what becomes of its rows.
pub struct Expansion {
    func: TableFunc,
    args: Vec<Expr>,
    types: Vec<ScalarType>,
    of_func: Vec<ScalarType>,
    settings: FormatSettings,
    shaper: Shaper,
    arena: Bump,
    scratch: DatumVec,
    values: DatumVec,
}

impl Expansion {
    /// Calls `func` with `args` over rows of `types`, and shapes what comes of it.
    pub fn new(
        func: &TableFunc,
        args: &[Expr],
        types: &[ScalarType],
        settings: &FormatSettings,
        shaper: Shaper,
    ) -> Expansion {
        Expansion {
            func: func.clone(),
            args: args.to_vec(),
            types: types.to_vec(),
            of_func: func.columns().iter().map(|c| c.scalar).collect(),
            settings: settings.clone(),
            shaper,
            arena: Bump::new(),
            scratch: DatumVec::new(),
            values: DatumVec::new(),
        }
    }

    /// Calls the function for a row; none where that fails, which is emitted.
    fn open(&mut self, row: &Row, emit: &mut Emit) -> Option<TableRows> {
        self.arena.reset();
        let cx = EvalContext { arena: &self.arena, settings: &self.settings };
        let (mut datums, mut values) = (self.scratch.borrow(), self.values.borrow());
        decode_values(&self.types, row.bytes(), &mut datums);
        let opened = evaluate_all(&self.args, &datums, &cx, &mut values)
            .and_then(|()| self.func.open(&values, &cx));
        opened.map_err(|error| emit.err(&error)).ok()
    }

    /// Emits up to `count` more rows of a call for a row; says whether those were all, and how
    /// many.
    fn go_on(
        &mut self,
        row: &Row,
        rows: &mut TableRows,
        count: usize,
        emit: &mut Emit,
    ) -> (bool, usize) {
        for made in 0..count {
            let more = match rows.next() {
                None => return (true, made),
                Some(Err(error)) => {
                    emit.err(&error);
                    return (true, made);
                }
                Some(Ok(more)) => more,
            };
            self.arena.reset();
            let cx = EvalContext { arena: &self.arena, settings: &self.settings };
            let mut datums = self.scratch.borrow();
            decode_values(&self.types, row.bytes(), &mut datums);
            decode_values(&self.of_func, more.bytes(), &mut datums);
            (self.shaper)(&datums, &cx, emit);
        }
        (false, count)
    }
}

/// Updates that came together, of which the first may be half done.
struct Waiting<T: Time> {
    held: CapabilitySet<T>,
    errs_held: Option<CapabilitySet<T>>,
    updates: std::vec::IntoIter<RowUpdate<T>>,
    open: Option<(Row, T, Diff, TableRows)>,
}

/// An expansion at work, and what it has made.
struct Worker<T> {
    expansion: Expansion,
    emit: Emit,
    oks: Vec<RowUpdate<T>>,
    errs: Vec<(Row, T, Diff)>,
}

impl<T: Time> Worker<T> {
    /// Goes on until there is something to send or the fuel is spent; says whether all is done.
    fn fill(&mut self, waiting: &mut Waiting<T>, fuel: &mut usize) -> bool {
        self.oks.clear();
        self.errs.clear();
        while *fuel > 0 && self.oks.len() < CHUNK {
            let Some((row, time, diff, rows)) = &mut waiting.open else {
                let Some(((_, row), time, diff)) = waiting.updates.next() else { return true };
                *fuel -= 1;
                let opened = self.expansion.open(&row, &mut self.emit);
                let errors = self.emit.errs.drain(..);
                self.errs.extend(errors.map(|error| (error, time.clone(), diff)));
                waiting.open = opened.map(|rows| (row, time, diff, rows));
                continue;
            };
            // Rows that the shaper leaves out are work, too.
            let count = CHUNK.min(*fuel);
            let (done, made) = self.expansion.go_on(row, rows, count, &mut self.emit);
            *fuel -= made;
            self.oks.extend(self.emit.oks.drain(..).map(|made| (made, time.clone(), *diff)));
            self.errs.extend(self.emit.errs.drain(..).map(|error| (error, time.clone(), *diff)));
            if done {
                waiting.open = None;
            }
        }
        waiting.open.is_none() && waiting.updates.len() == 0
    }
}

/// Expands each row of a collection of whole rows; returns rows and, where that is `fallible`,
/// errors.
pub fn flat_map<'s, T: Time>(
    rows: RowsByKey<'s, T>,
    name: &str,
    expansion: Expansion,
    pressure: Pressure,
    fallible: bool,
) -> (RowsByKey<'s, T>, Option<Rows<'s, T>>) {
    let scope = rows.inner.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let again = builder.again();
    let mut input = builder.new_input(rows.inner, Local);
    builder.ignore_progress_of(0);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut todo: VecDeque<Waiting<T>> = VecDeque::new();
        let (emit, oks, errs) = (Emit::default(), Vec::new(), Vec::new());
        let mut worker = Worker { expansion, emit, oks, errs };
        move |_frontiers| {
            input.for_each(|capability, updates| {
                todo.push_back(Waiting {
                    held: capability.retain_stamp(0),
                    errs_held: fallible.then(|| capability.retain_stamp(1)),
                    updates: std::mem::take(updates).into_iter(),
                    open: None,
                });
            });
            if pressure.is_high() && !todo.is_empty() {
                return pressure.wait(again.activator());
            }
            let mut fuel = FUEL;
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            while let Some(waiting) = todo.front_mut() {
                let done = worker.fill(waiting, &mut fuel);
                if !worker.oks.is_empty() {
                    ok_output.session(&waiting.held).give_container(&mut worker.oks);
                }
                if let (Some(output), Some(held)) = (&mut err_output, &waiting.errs_held)
                    && !worker.errs.is_empty()
                {
                    output.session(held).give_container(&mut worker.errs);
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
