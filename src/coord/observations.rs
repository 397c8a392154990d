//! What dataflows cost, as all workers saw it.

use std::sync::Arc;

use crate::coord::coordinator::Coordinator;
use crate::coord::request::{Observed, Reply, dropped};
use crate::dataflow::command::Command;
use crate::plan::observed::Observation;
use crate::plan::physical::Dataflow;
use crate::repr::{GlobalId, Timestamp};

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

    /// Takes what a worker has seen.
    pub(super) fn observed(&mut self, request: u64, observation: Observation) {
        let Some(observing) = self.observing.get_mut(&request) else { return };
        observing.seen.push(observation);
        if observing.seen.len() < self.workers.count() {
            return;
        }
        if let Some(Observing { plan, mut seen, reply }) = self.observing.remove(&request) {
            seen.sort_by_key(|observation| observation.worker);
            let _ = reply.send(Ok(Observed { plan, workers: seen }));
        }
    }
}
