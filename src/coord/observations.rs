//! What dataflows cost, as all workers saw it, and what all of the engine does.

use std::sync::Arc;

use crate::coord::coordinator::Coordinator;
use crate::coord::request::{Introspection, ObjectState, Observed, Reply, dropped};
use crate::dataflow::command::Command;
use crate::plan::observed::Observation;
use crate::plan::physical::Dataflow;
use crate::profile::memory;
use crate::profile::report::Report;
use crate::repr::{GlobalId, Timestamp};

/// A question about all that has changed, which workers have not all answered.
pub(super) struct Reporting {
    reports: Vec<Report>,
    reply: Reply<Introspection>,
}

/// A question about events, which workers have not all answered.
pub(super) struct Tracing {
    chunks: Vec<Vec<u8>>,
    reply: Reply<Vec<Vec<u8>>>,
}

/// A question that workers have not all answered.
pub(super) struct Observing {
    plan: Arc<Dataflow>,
    seen: Vec<Observation>,
    reply: Reply<Observed>,
}

impl Coordinator {
    /// Has a maintained view or an index observed, once it shows all that is written.
    pub(super) fn observe_object(&mut self, id: GlobalId, reply: Reply<Observed>) {
        if let Some(error) = self.broken.get(&id) {
            let _ = reply.send(Err(error.clone()));
            return;
        }
        let Some(plan) = self.objects.get(id).and_then(|object| object.plan.clone()) else {
            let _ = reply.send(Err(dropped()));
            return;
        };
        self.flush();
        let tip = self.gate.tip();
        self.let_time_pass(vec![(id, tip)]);
        let need = self.objects.need(id, tip);
        self.observe(plan, need, reply);
    }

    /// Has a dataflow observed, once it is complete below `need`.
    pub(super) fn observe(&mut self, plan: Arc<Dataflow>, need: Timestamp, reply: Reply<Observed>) {
        let (request, dataflow) = (self.number(), plan.id);
        self.observing.insert(request, Observing { plan, seen: Vec::new(), reply });
        self.workers.send(Command::Observe { request, dataflow, need });
    }

    /// Has the workers report what has changed since they last did.
    pub(super) fn introspect(&mut self, reply: Reply<Introspection>) {
        let request = self.number();
        self.flush();
        self.reporting.insert(request, Reporting { reports: Vec::new(), reply });
        self.workers.send(Command::Report { request });
    }

    /// Takes a worker's report.
    pub(super) fn reported(&mut self, request: u64, report: Report) {
        let Some(reporting) = self.reporting.get_mut(&request) else { return };
        reporting.reports.push(report);
        if reporting.reports.len() < self.workers.count() {
            return;
        }
        let Some(Reporting { reports, reply }) = self.reporting.remove(&request) else { return };
        let objects = self.objects.iter().filter(|(id, _)| *id >= GlobalId::FIRST_USER);
        let objects = objects.map(|(id, object)| ObjectState {
            id,
            since: object.since,
            last_change: object.last_change,
            hydrating: object.hydrating,
            took: match object.hydrating {
                0 => object.took,
                _ => object.began.map(|began| began.elapsed()),
            },
            read: object.read,
            readers: object.readers,
            dependents: object.dependents.len(),
        });
        let introspection = Introspection {
            taken: self.clock.read(),
            objects: objects.collect(),
            subscriptions: self.subscription_states(),
            workers: reports,
            durable: self.gate.durable(),
            backlog: self.workers.backlog(),
            log: self.log.taken(),
            allocated: memory::live(),
            started_with: self.started_with,
            flushes: self.log.take_flushes(),
        };
        // What is told depends on all that was written.
        let tip = self.gate.tip();
        self.when_released(tip, move || {
            let _ = reply.send(Ok(introspection));
        });
    }

    /// Has the workers hand over their events.
    pub(super) fn trace(&mut self, whole: bool, reply: Reply<Vec<Vec<u8>>>) {
        let request = self.number();
        self.flush();
        self.tracing.insert(request, Tracing { chunks: Vec::new(), reply });
        self.workers.send(Command::Trace { request, whole });
    }

    /// Takes the events of a worker.
    pub(super) fn traced(&mut self, request: u64, chunk: Vec<u8>) {
        let Some(tracing) = self.tracing.get_mut(&request) else { return };
        tracing.chunks.push(chunk);
        if tracing.chunks.len() < self.workers.count() {
            return;
        }
        if let Some(Tracing { chunks, reply }) = self.tracing.remove(&request) {
            // What operators did depends on all that was written.
            let tip = self.gate.tip();
            self.when_released(tip, move || {
                let _ = reply.send(Ok(chunks));
            });
        }
    }

    /// Takes what a worker has seen.
    pub(super) fn observed(&mut self, request: u64, observation: Observation) {
        let Some(observing) = self.observing.get_mut(&request) else { return };
        observing.seen.push(observation);
        if observing.seen.len() < self.workers.count() {
            return;
        }
        if let Some(Observing { plan, mut seen, reply }) = self.observing.remove(&request) {
            seen.sort_by_key(|observation| observation.worker);
            let tip = self.gate.tip();
            self.when_released(tip, move || {
                let _ = reply.send(Ok(Observed { plan, workers: seen }));
            });
        }
    }
}
