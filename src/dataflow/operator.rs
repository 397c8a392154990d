//! How far operators are, noted in place.
//!
//! Timely can log every change of every capability, which costs more than most changes do. What
//! one wants to know of an operator is less: how far each of its inputs is complete, and whether it
//! has been given something that it has not done yet. Our operators are built with an
//! [`OperatorBuilder`] that writes down both, a word each, whenever they run; imports and
//! arrangements know how far they are anyway. [`super::blocked`] makes the rest of that.
//!
//! Nothing is written down of an input whose operator is not told how far it is, since it does not
//! care; or while nobody asks.

use std::any::type_name;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{AddAssign, Range};
use std::rc::{Rc, Weak};

use timely::Container;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::channels::pushers::Output;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::InputHandleCore;
use timely::dataflow::operators::generic::OperatorInfo;
use timely::dataflow::operators::generic::builder_rc;
use timely::dataflow::{Scope, Stream};
use timely::progress::frontier::MutableAntichain;
use timely::progress::operate::FrontierInterest;
use timely::scheduling::Activator;

use super::arrangement::Time;
use super::logging::BATCHES;
use super::timing::{Timer, note_made, note_operator};
use crate::profile::event::Event;
use crate::repr::Timestamp;

thread_local! {
    static NOTES: Cell<bool> = const { Cell::new(false) };
    /// The operators of this worker, by number.
    static OPERATORS: RefCell<BTreeMap<usize, Weak<Note>>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Has this worker's operators note how far they are, or not.
pub fn note_progress(on: bool) {
    NOTES.set(on);
}

/// What an operator has noted.
#[derive(Default)]
struct Note {
    /// Below which time each input is complete; none where nobody is told.
    inputs: Vec<Option<Cell<Timestamp>>>,
    /// How often each was told a further time.
    moves: Vec<Cell<u64>>,
    /// Parts of its work that are left.
    left: Cell<usize>,
    reading: Meter,
}

impl Note {
    /// Notes how far the inputs are.
    fn take<T: Time>(&self, frontiers: &[MutableAntichain<T>]) {
        for ((noted, moves), frontier) in self.inputs.iter().zip(&self.moves).zip(frontiers) {
            if let Some(noted) = noted {
                let least = frontier.frontier().iter().map(T::outer).min();
                let least = least.unwrap_or(Timestamp::MAX);
                moves.set(moves.get() + u64::from(noted.replace(least) != least));
            }
        }
    }
}

/// How far an operator is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Below which time each input is complete; none where that is not known.
    pub inputs: Vec<Option<Timestamp>>,
    /// How often each was told a further time, while somebody asked.
    pub moves: Vec<u64>,
    /// Whether it has work left, for which it will run again.
    pub is_busy: bool,
    /// How much it has read of the arrangements that it reads.
    pub reading: Reading,
}

/// How much has been read of arrangements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Updates that have been read.
    pub done: u64,
    /// Updates that there were to read, with those.
    pub of: u64,
}

impl AddAssign for Reading {
    fn add_assign(&mut self, other: Reading) {
        self.done += other.done;
        self.of += other.of;
    }
}

/// Counts what an operator reads of arrangements.
#[derive(Clone, Default)]
pub struct Meter(Rc<Cell<Reading>>);

impl Meter {
    /// There are so many updates more to read.
    pub fn add(&self, updates: usize) {
        let Reading { done, of } = self.0.get();
        self.0.set(Reading { done, of: of + updates as u64 });
    }

    /// So many have been read.
    pub fn done(&self, updates: usize) {
        let Reading { done, of } = self.0.get();
        self.0.set(Reading { done: done + updates as u64, of });
    }
}

/// How far the operators of a range of numbers are, of those that say so.
pub fn progress(operators: Range<usize>) -> Vec<(usize, Progress)> {
    OPERATORS.with_borrow(|known| {
        let noted = known.range(operators).filter_map(|(id, note)| {
            let note = note.upgrade()?;
            let inputs = note.inputs.iter().map(|at| at.as_ref().map(Cell::get)).collect();
            let moves = note.moves.iter().map(Cell::get).collect();
            let (is_busy, reading) = (note.left.get() > 0, note.reading.0.get());
            Some((*id, Progress { inputs, moves, is_busy, reading }))
        });
        noted.collect()
    })
}

/// Forgets the operators of a range of numbers.
pub fn forget(operators: Range<usize>) {
    OPERATORS.with_borrow_mut(|known| {
        let ids: Vec<usize> = known.range(operators).map(|(id, _)| *id).collect();
        ids.iter().for_each(|id| drop(known.remove(id)));
    });
}

/// Has an operator run again for the work that it has left.
pub struct Again {
    activator: Activator,
    busy: Rc<Cell<bool>>,
}

impl Again {
    /// The operator runs again.
    pub fn activate(&self) {
        self.busy.set(true);
        self.activator.activate();
    }

    /// What runs it, for whoever it waits for.
    pub fn activator(&self) -> &Activator {
        &self.activator
    }
}

/// Timely's builder of operators, as far as we use it; see there.
pub struct OperatorBuilder<'s, T: Time> {
    builder: builder_rc::OperatorBuilder<'s, T>,
    name: String,
    scope: Scope<'s, T>,
    told: Vec<bool>,
    busy: Rc<Cell<bool>>,
    reading: Meter,
}

impl<'s, T: Time> OperatorBuilder<'s, T> {
    /// An operator without inputs and outputs.
    pub fn new(name: String, scope: Scope<'s, T>) -> OperatorBuilder<'s, T> {
        let builder = builder_rc::OperatorBuilder::new(name.clone(), scope);
        OperatorBuilder {
            builder,
            name,
            scope,
            told: Vec::new(),
            busy: Rc::default(),
            reading: Meter::default(),
        }
    }

    /// Means to say how much of arrangements it has read.
    pub fn meter(&self) -> Meter {
        self.reading.clone()
    }

    /// Its number and its address.
    pub fn info(&self) -> OperatorInfo {
        self.builder.operator_info()
    }

    /// Means to have it run again.
    pub fn again(&self) -> Again {
        let activator = self.scope.activator_for(self.builder.operator_info().address);
        Again { activator, busy: Rc::clone(&self.busy) }
    }

    /// Adds an input.
    pub fn new_input<C: Container, P: ParallelizationContract<T, C>>(
        &mut self,
        stream: Stream<'s, T, C>,
        pact: P,
    ) -> InputHandleCore<T, C, P::Puller> {
        note_made(|| {
            let (id, scope) = (self.scope.worker().peek_identifier(), self.scope.addr().to_vec());
            let source = (stream.name().node, stream.name().port);
            let target = (self.builder.index(), self.told.len());
            let batches = type_name::<C>().contains(BATCHES);
            Event::Channel { id, scope, source, target, batches }
        });
        self.told.push(true);
        self.builder.new_input(stream, pact)
    }

    /// Says that it need not run because an input is further.
    pub fn ignore_progress_of(&mut self, input: usize) {
        self.told[input] = false;
        self.builder.set_notify_for(input, FrontierInterest::Never);
    }

    /// Adds an output.
    pub fn new_output<C: Container>(&mut self) -> (Output<T, C>, Stream<'s, T, C>) {
        self.builder.new_output()
    }

    /// Builds it.
    pub fn build<B, L>(self, constructor: B)
    where
        B: FnOnce(Vec<Capability<T>>) -> L,
        L: FnMut(&[MutableAntichain<T>]) + 'static,
    {
        let inputs = self.told.iter().map(|told| told.then(Cell::default)).collect();
        let moves = self.told.iter().map(|_| Cell::new(0)).collect();
        let note = Rc::new(Note { inputs, moves, left: Cell::new(0), reading: self.reading });
        let id = self.builder.global();
        note_operator(id, &self.builder.operator_info().address, &self.name);
        let timer = Timer::of(id);
        OPERATORS.with_borrow_mut(|known| known.insert(id, Rc::downgrade(&note)));
        let busy = self.busy;
        self.builder.build(move |capabilities| {
            let mut logic = constructor(capabilities);
            note.left.set(usize::from(busy.get()));
            move |frontiers| {
                busy.set(false);
                let started = timer.start();
                logic(frontiers);
                timer.stop(started);
                if NOTES.get() {
                    note.left.set(usize::from(busy.get()));
                    note.take(frontiers);
                }
            }
        });
    }
}
