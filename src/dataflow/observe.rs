//! What each dataflow of this worker costs, by the places of its plan.
//!
//! Rendering says which operators it built for which node, as ranges of their numbers; the log
//! says how long they ran and what went over their channels; the arrangements are measured where
//! they lie. An [`Observation`] puts the three together when somebody asks, so that a worker that
//! nobody asks pays for the log alone.

use std::collections::BTreeMap;
use std::ops::Range;

use timely::worker::Worker;

use super::arrangement::size;
use super::logging::Logs;
use super::operator::{self, Reading};
use super::report::Told;
use super::traces::Traces;
use crate::plan::observed::{Figures, Observation, Place};
use crate::plan::physical::{Dataflow, Node};
use crate::profile::event::Event;
use crate::profile::report::DataflowReport;
use crate::profile::tally::{Channel, Tally};
use crate::repr::{GlobalId, Timestamp};

/// Which operators were built for which place, as ranges of their numbers; where two overlap, the
/// first counts.
pub type Places = Vec<(Range<usize>, Place)>;

/// A question about a dataflow that is answered once it is complete.
pub(super) struct Question {
    /// Goes with the answer.
    pub(super) request: u64,
    /// The dataflow.
    pub(super) dataflow: GlobalId,
    /// The time below which it has to be complete.
    pub(super) need: Timestamp,
}

/// What is known of the dataflows of a worker beside what the log tells.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) logs: Logs,
    pub(super) dataflows: BTreeMap<GlobalId, Claim>,
    questions: Vec<Question>,
    /// What was reported.
    pub(super) told: Told,
}

/// What belongs to a dataflow.
pub(super) struct Claim {
    pub(super) operators: Range<usize>,
    pub(super) places: Places,
    /// The arrangements that it imports: the place, and the object that made it.
    imports: Vec<(Place, GlobalId)>,
    /// Bytes that building it took.
    pub(super) bytes: i64,
    /// Whether it was reported.
    pub(super) told: bool,
}

impl Ledger {
    /// Opens or closes the log.
    pub(super) fn switch(&mut self, worker: &Worker, on: bool) {
        self.logs.switch(worker, on);
    }

    /// Notes a dataflow, whose operators and channels have these numbers, and so many bytes.
    pub(super) fn claim(
        &mut self,
        plan: &Dataflow,
        operators: Range<usize>,
        places: Places,
        bytes: i64,
    ) {
        let import = |(id, node): (usize, &Node)| match node {
            Node::Import { import } => Some((Place::Node(id), plan.imports[*import].id.index)),
            _ => None,
        };
        let imports = plan.nodes.iter().enumerate().filter_map(import).collect();
        self.insert(plan.id, Claim { operators, places, imports, bytes, told: false });
    }

    /// Notes the dataflow of a table.
    pub(super) fn claim_table(&mut self, id: GlobalId, operators: Range<usize>, bytes: i64) {
        let (places, imports) = (Vec::new(), Vec::new());
        self.insert(id, Claim { operators, places, imports, bytes, told: false });
    }

    fn insert(&mut self, id: GlobalId, claim: Claim) {
        self.logs.note(made(id, &claim));
        self.dataflows.insert(id, claim);
    }

    /// What was recorded since this was last asked. `whole`: begins with what was made before.
    pub(super) fn recorded(&self, worker: &Worker, whole: bool) -> Vec<u8> {
        if whole {
            let dataflows = self.dataflows.iter().map(|(id, claim)| made(*id, claim));
            self.logs.record(worker, dataflows.chain(self.logs.tally.borrow().made()));
        }
        self.logs.take_recorded(worker)
    }

    /// Forgets a dataflow.
    pub(super) fn release(&mut self, id: GlobalId) {
        let Some(claim) = self.dataflows.remove(&id) else { return };
        size::forget(claim.operators.clone());
        operator::forget(claim.operators.clone());
        self.logs.note(Event::Ended(claim.operators.start));
        if claim.told {
            let (first, end) = (claim.operators.start, claim.operators.end);
            self.told.gone.push(DataflowReport { first, end, object: id });
        }
        self.logs.forget(claim.operators);
    }

    /// How much a dataflow has read of arrangements.
    pub(super) fn reading(&self, id: GlobalId) -> Reading {
        let mut sum = Reading::default();
        if let Some(claim) = self.dataflows.get(&id) {
            let all = operator::progress(claim.operators.clone());
            all.into_iter().for_each(|(_, progress)| sum += progress.reading);
        }
        sum
    }

    /// Takes a question.
    pub(super) fn ask(&mut self, question: Question) {
        self.questions.push(question);
    }

    /// Answers the questions about dataflows that are complete, or gone.
    pub(super) fn answer(
        &mut self,
        worker: usize,
        traces: &mut Traces,
        mut answer: impl FnMut(u64, Observation),
    ) {
        for question in std::mem::take(&mut self.questions) {
            let Question { request, dataflow, need } = question;
            let maintained = traces.made_by(dataflow);
            if maintained.is_none_or(|maintained| maintained.is_complete_below(need)) {
                let figures = self.figures(dataflow, traces);
                answer(request, Observation { worker, figures });
            } else {
                self.questions.push(question);
            }
        }
    }

    /// What was seen of a dataflow.
    fn figures(&self, id: GlobalId, traces: &mut Traces) -> BTreeMap<Place, Figures> {
        let mut figures: BTreeMap<Place, Figures> = BTreeMap::new();
        let Some(claim) = self.dataflows.get(&id) else { return figures };
        let add = |to: &mut Option<u64>, more: u64| *to = Some(to.unwrap_or(0) + more);
        for (operator, size) in size::measured(claim.operators.clone()) {
            let here = figures.entry(claim.place(operator)).or_default();
            add(&mut here.arranged, size.records);
            add(&mut here.bytes, size.bytes);
        }
        for (place, maker) in &claim.imports {
            if let Some(maintained) = traces.made_by(*maker) {
                let here = figures.entry(*place).or_default();
                here.arranged = Some(maintained.size().records);
            }
        }
        if !self.logs.is_on() {
            return figures;
        }
        self.logs.collect();
        let tally = self.logs.tally.borrow();
        for id in claim.operators.clone() {
            let Some(operator) = tally.operator(id) else { continue };
            let here = figures.entry(claim.place(id)).or_default();
            add(&mut here.elapsed_ns, operator.elapsed_ns);
            add(&mut here.activations, operator.activations);
        }
        for (place, records) in claim.sent(&tally) {
            add(&mut figures.entry(place).or_default().sent, records);
        }
        figures
    }
}

/// The event that a dataflow was made.
fn made(id: GlobalId, claim: &Claim) -> Event {
    let (first, end) = (claim.operators.start, claim.operators.end);
    Event::Dataflow { first, end, object: id.0 }
}

impl Claim {
    /// The place that an operator was built for; what was built for none keeps the whole going,
    /// and is counted to the sink.
    pub(super) fn place(&self, operator: usize) -> Place {
        let own = self.places.iter().find(|(range, _)| range.contains(&operator));
        own.map_or(Place::Sink, |(_, place)| *place)
    }

    /// The relation that an operator imports.
    pub(super) fn imported_by(&self, operator: usize) -> Option<GlobalId> {
        let place = self.place(operator);
        self.imports.iter().find(|(of, _)| *of == place).map(|(_, object)| *object)
    }

    /// The operators by their addresses.
    pub(super) fn addresses<'t>(&self, tally: &'t Tally) -> BTreeMap<&'t [usize], usize> {
        let known = self.operators.clone().filter_map(|id| Some((id, tally.operator(id)?)));
        known.map(|(id, operator)| (&operator.address[..], id)).collect()
    }

    /// How many updates went from each place to others: a stream that several read counts once,
    /// batches of an arrangement do not count.
    fn sent(&self, tally: &Tally) -> BTreeMap<Place, u64> {
        let by_address = self.addresses(tally);
        let end = |scope: &[usize], operator: usize| {
            let mut address = scope.to_vec();
            address.extend((operator != 0).then_some(operator));
            by_address.get(&address[..]).copied()
        };
        let mut by_port: BTreeMap<(usize, usize), (Place, u64)> = BTreeMap::new();
        for channel in self.operators.clone().filter_map(|id| tally.channel(id)) {
            let Channel { scope, source, target, sent, batches, .. } = channel;
            // What enters a scope was counted where it came from.
            if *batches || source.0 == 0 {
                continue;
            }
            let (Some(from), Some(to)) = (end(scope, source.0), end(scope, target.0)) else {
                continue;
            };
            let place = self.place(from);
            // What a loop does inside is its nodes'.
            let is_inside = matches!(place, Place::Inside(..));
            if place == self.place(to) || is_inside != (scope.len() > 1) {
                continue;
            }
            let records = sent.iter().map(|traffic| traffic.records).sum();
            let counted = by_port.entry((from, source.1)).or_insert((place, 0));
            counted.1 = counted.1.max(records);
        }
        let mut sums = BTreeMap::new();
        for (place, records) in by_port.into_values() {
            *sums.entry(place).or_default() += records;
        }
        sums
    }
}
