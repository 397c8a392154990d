//! The frame of all operators that answer per key: distinct, aggregates, top-k, threshold.
//!
//! Time is totally ordered, so the answer of a key changes only at times at which its rows do. For
//! each new batch and each of its keys the frame positions cursors in all older batches at that
//! key, and lets a [`PerKey`] compute what the answer was and what it is after each of the new
//! times; the differences go out. Nothing of the answers is kept: what was sent is computed again
//! from the input, which is arranged anyway.
//!
//! Differential's reduce never yields and keeps its output in a second arrangement. This frame
//! stops after [`FUEL`] values, between keys, and goes on when it is activated again; meanwhile the
//! older batches are held as they were, so what arrives later does not disturb it.

use std::collections::VecDeque;

use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate;
use differential_dataflow::operators::arrange::Arranged;
use differential_dataflow::trace::{BatchCursor, Cursor, Navigable, Span, TraceReader};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::generic::{OutputBuilder, OutputBuilderSession};
use timely::dataflow::operators::{Capability, InputCapability};
use timely::progress::Antichain;

use crate::dataflow::arrangement::{RowContainer, RowRef, RowUpdate, Rows, RowsByKey};
use crate::dataflow::channel::Local;
use crate::dataflow::emit::Emit;
use crate::dataflow::operator::OperatorBuilder;
use crate::repr::{Diff, Row, Timestamp};

/// How many values are looked at in one activation.
const FUEL: usize = 1 << 15;
/// How many updates are sent at once.
const CHUNK: usize = 1 << 10;

/// Treats the keys of new batches, in order.
pub trait PerKey<B: Navigable>: 'static {
    /// Treats the key at which `fresh` stands, and says how much work it was.
    ///
    /// The cursors in `old` stand at keys not above this one.
    fn treat(&mut self, fresh: (&B, &mut B::Cursor), old: &mut Old<B>, out: &mut Output) -> usize;
}

/// All that an arrangement held before a batch.
pub struct Old<B: Navigable> {
    /// The batches.
    pub batches: Vec<B>,
    /// A cursor in each.
    pub cursors: Vec<B::Cursor>,
}

/// Differences that go out.
#[derive(Default)]
pub struct Output {
    oks: Vec<RowUpdate>,
    errs: Vec<(Row, Timestamp, Diff)>,
}

/// An output under way.
type Session<'a, D> = OutputBuilderSession<'a, Timestamp, CapacityContainerBuilder<Vec<D>>>;

impl Output {
    /// Takes what is in another.
    pub fn append(&mut self, mut other: Output) {
        self.oks.append(&mut other.oks);
        self.errs.append(&mut other.errs);
    }

    /// Sends what there is; errors only where they are asked for.
    fn send(
        &mut self,
        (oks, held): (&mut Session<'_, RowUpdate>, &Capability<Timestamp>),
        errs: &mut Option<Session<'_, (Row, Timestamp, Diff)>>,
        errs_held: &Option<Capability<Timestamp>>,
    ) {
        if !self.oks.is_empty() {
            oks.session(held).give_container(&mut self.oks);
            self.oks.clear();
        }
        if let (Some(errs), Some(held)) = (errs, errs_held)
            && !self.errs.is_empty()
        {
            errs.session(held).give_container(&mut self.errs);
            self.errs.clear();
        }
    }
}

/// The answer for one key at one time.
#[derive(Default)]
pub struct Answer {
    oks: Vec<((Row, Row), Diff)>,
    errs: Vec<(Row, Diff)>,
    emit: Emit,
}

impl Answer {
    /// Takes `count` times what `make` emits.
    #[inline]
    pub fn add(&mut self, count: Diff, make: impl FnOnce(&mut Emit)) {
        make(&mut self.emit);
        self.oks.extend(self.emit.oks.drain(..).map(|row| (row, count)));
        self.errs.extend(self.emit.errs.drain(..).map(|error| (error, count)));
    }

    /// Takes rows and errors out.
    pub fn take(
        &mut self,
    ) -> (impl Iterator<Item = ((Row, Row), Diff)> + '_, impl Iterator<Item = (Row, Diff)> + '_)
    {
        (self.oks.drain(..), self.errs.drain(..))
    }

    /// Forgets all.
    #[inline]
    pub fn clear(&mut self) {
        self.oks.clear();
        self.errs.clear();
    }
}

/// Two answers in turn, and the differences between them.
#[derive(Default)]
pub struct Answers {
    was: Answer,
    is: Answer,
    changes: Vec<((Row, Row), Diff)>,
    error_changes: Vec<(Row, Diff)>,
}

impl Answers {
    /// Begins a key with the answer before the first new time.
    #[inline]
    pub fn begin(&mut self, answer: impl FnOnce(&mut Answer)) {
        self.was.clear();
        answer(&mut self.was);
    }

    /// The answer from `time` on; what changed goes out.
    #[inline]
    pub fn next(&mut self, time: Timestamp, answer: impl FnOnce(&mut Answer), out: &mut Output) {
        self.is.clear();
        answer(&mut self.is);
        if self.is.oks != self.was.oks {
            self.changes.extend(self.was.oks.drain(..).map(|(row, diff)| (row, -diff)));
            self.changes.extend(self.is.oks.iter().cloned());
            consolidate(&mut self.changes);
            out.oks.extend(self.changes.drain(..).map(|(row, diff)| (row, time, diff)));
        }
        if self.is.errs != self.was.errs {
            self.error_changes.extend(self.was.errs.drain(..).map(|(row, diff)| (row, -diff)));
            self.error_changes.extend(self.is.errs.iter().cloned());
            consolidate(&mut self.error_changes);
            out.errs.extend(self.error_changes.drain(..).map(|(row, diff)| (row, time, diff)));
        }
        std::mem::swap(&mut self.was, &mut self.is);
    }
}

/// A batch whose keys are being treated.
struct Job<B: Navigable> {
    ok_capability: Capability<Timestamp>,
    err_capability: Option<Capability<Timestamp>>,
    fresh: B,
    cursor: B::Cursor,
    lower: Antichain<Timestamp>,
    old: Option<Old<B>>,
}

/// Applies `logic` to each key that changes; returns rows and, where it is `fallible`, errors.
pub fn per_key<'s, Tr, L>(
    arranged: Arranged<'s, Tr>,
    name: &str,
    mut logic: L,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>)
where
    Tr: TraceReader<Time = Timestamp, Batch: Navigable> + 'static,
    for<'a> BatchCursor<Tr>: Cursor<Key<'a> = RowRef<'a>, KeyContainer = RowContainer>,
    L: PerKey<Tr::Batch>,
{
    let scope = arranged.stream.scope();
    let mut trace = arranged.trace;
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let again = builder.again();
    let mut input = builder.new_input(arranged.stream, Local);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut jobs: VecDeque<Job<Tr::Batch>> = VecDeque::new();
        let mut out = Output::default();
        // All batches below have been received.
        let mut upper = Antichain::from_elem(Timestamp::MIN);
        let mut held_at = upper.clone();
        move |_frontiers| {
            input.for_each(|capability, spans| {
                for span in spans.drain(..) {
                    upper.clone_from(span.upper());
                    jobs.extend(Job::new(&capability, span, fallible));
                }
            });
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            let mut fuel = FUEL;
            while let Some(job) = jobs.front_mut() {
                job.load(&mut trace);
                loop {
                    let (more, fuel_left) = (job.run(&mut fuel, &mut logic, &mut out), fuel > 0);
                    out.send(
                        (&mut ok_output, &job.ok_capability),
                        &mut err_output,
                        &job.err_capability,
                    );
                    if !more {
                        break;
                    }
                    if !fuel_left {
                        again.activate();
                        return;
                    }
                }
                jobs.pop_front();
                if let Some(next) = jobs.front() {
                    trace.set_logical_compaction(next.lower.borrow());
                    trace.set_physical_compaction(next.lower.borrow());
                }
            }
            trace.advance_upper(&mut upper);
            if upper != held_at {
                trace.set_logical_compaction(upper.borrow());
                trace.set_physical_compaction(upper.borrow());
                held_at.clone_from(&upper);
            }
        }
    });
    (ok_stream.as_collection(), err_stream.map(AsCollection::as_collection))
}

impl<B: Navigable> Job<B>
where
    for<'a> B::Cursor: Cursor<Storage = B, Key<'a> = RowRef<'a>, KeyContainer = RowContainer>,
{
    /// What there is to do for a span of time, if anything came in it.
    fn new(
        capability: &InputCapability<Timestamp>,
        span: Span<Timestamp, B>,
        fallible: bool,
    ) -> Option<Job<B>> {
        let lower = span.lower().clone();
        let fresh = span.inner?;
        Some(Job {
            ok_capability: capability.retain_least(0)?,
            err_capability: if fallible { capability.retain_least(1) } else { None },
            cursor: fresh.cursor(),
            fresh,
            lower,
            old: None,
        })
    }

    /// Takes what the trace held before this batch, once.
    fn load(&mut self, trace: &mut impl TraceReader<Time = Timestamp, Batch = B>) {
        if self.old.is_none() {
            let batches = trace.batches_through(self.lower.borrow());
            let batches = batches.expect("the trace is held where the last batch ended");
            let cursors = batches.iter().map(Navigable::cursor).collect();
            self.old = Some(Old { batches, cursors });
        }
    }

    /// Treats keys until there is enough to send or the fuel is spent; says whether there are
    /// more.
    fn run(&mut self, fuel: &mut usize, logic: &mut impl PerKey<B>, out: &mut Output) -> bool {
        let Some(old) = self.old.as_mut() else { return false };
        while self.cursor.key_valid(&self.fresh) {
            if *fuel == 0 || out.oks.len() >= CHUNK {
                return true;
            }
            let work = logic.treat((&self.fresh, &mut self.cursor), old, out);
            *fuel = fuel.saturating_sub(work.max(1));
            self.cursor.step_key(&self.fresh);
        }
        false
    }
}
