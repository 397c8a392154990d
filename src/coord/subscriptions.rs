//! Subscriptions: changes as they become complete, on all workers, and durable.
//!
//! Each worker sends its part with the time below which it is complete; what is complete on all of
//! them and has passed the gate goes on, in order of time. Idle subscriptions learn once a second
//! that time goes on, without anything below them being woken; those whose rows come and go by
//! themselves ten times a second.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::coord::coordinator::Coordinator;
use crate::coord::objects::Object;
use crate::coord::reads::{Reader, ReaderKind};
use crate::coord::request::{
    ChangeEvent, ChangeStream, READER_CREDIT, Reply, SubscribeRequest, SubscriptionState, dropped,
};
use crate::coord::shared::{Seeding, cost};
use crate::dataflow::command::{Command, ReaderId};
use crate::error::{Error, Result, SqlState};
use crate::expr::error::EvalError;
use crate::plan::physical::{Dataflow, Sink};
use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// A subscription, as far as it is not the worker's.
pub(super) struct Subscription {
    out: mpsc::UnboundedSender<Result<ChangeEvent>>,
    arrivals: Arrivals,
    /// The failure that ends it, once its time may leave.
    failure: Option<(Timestamp, Error)>,
    /// From when on it shows changes.
    as_of: Timestamp,
    /// All up to here has been told.
    told: Timestamp,
    /// Where its dataflow is one for many that it has alone: how its rows are to be read.
    seeding: Option<Arc<Seeding>>,
}

/// What the workers have sent.
pub(super) struct Arrivals {
    /// Below which each worker is complete; none: it is at the end.
    uppers: Vec<Option<Timestamp>>,
    /// Changes that are not complete everywhere, or not durable.
    waiting: Vec<(Timestamp, Row, Diff)>,
}

impl Coordinator {
    pub(super) fn subscribe(&mut self, request: SubscribeRequest) -> Result<ChangeStream> {
        if let Some(shared) = request.shared {
            return self.subscribe_shared(request.dataflow, shared);
        }
        self.flush();
        let plan = request.dataflow;
        let objects: Vec<GlobalId> = plan.imports.iter().map(|i| i.id.index).collect();
        let is_timed = |id: &GlobalId| self.objects.get(*id).is_some_and(|object| object.timed);
        let timed = plan.reads_clock() || objects.iter().any(is_timed);
        let as_of = request.as_of.unwrap_or_else(|| match timed {
            true => self.newest(),
            false => self.gate.durable(),
        });
        self.check_past(as_of)?;
        if let Sink::Subscribe { up_to: Some(up_to), .. } = plan.sink
            && up_to < as_of
        {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("UP TO {up_to} lies before AS OF {as_of}"),
            ));
        }
        self.check_readable(&objects, as_of)?;
        let reader = self.number();
        let (out, changes) = mpsc::unbounded_channel();
        let told = as_of.saturating_sub(1);
        let subscription = Subscription::going_on(out, self.workers.count(), as_of, told, None);
        self.start_subscription(
            plan,
            reader,
            as_of,
            ReaderKind::Subscription(Box::new(subscription)),
        );
        Ok(ChangeStream { reader, as_of, changes, events: self.events.clone() })
    }

    /// Builds the dataflow of a reader of changes, and has them come.
    pub(super) fn start_subscription(
        &mut self,
        mut plan: Dataflow,
        reader: ReaderId,
        as_of: Timestamp,
        kind: ReaderKind,
    ) {
        let objects: Vec<GlobalId> = plan.imports.iter().map(|i| i.id.index).collect();
        let is_timed = |id: &GlobalId| self.objects.get(*id).is_some_and(|object| object.timed);
        let timed = plan.reads_clock() || objects.iter().any(is_timed);
        plan.id = self.transient();
        plan.as_of = as_of;
        let id = plan.id;
        self.add_reader(reader, objects.clone(), Some(id), kind);
        let last_change = objects.iter().map(|o| self.objects.last_change(*o)).max().unwrap_or(0);
        let through = as_of.max(self.gate.tip());
        self.let_time_pass(objects.iter().map(|id| (*id, through)).collect());
        let object = Object { imports: objects, last_change, timed, ..Object::default() };
        self.objects.add(id, object);
        let promise = self.objects.promise(id, through);
        self.workers.send(Command::CreateDataflow {
            plan: Arc::new(plan),
            reader: Some(reader),
            promise,
        });
        self.workers.send(Command::Credit { reader, bytes: READER_CREDIT });
    }

    /// All subscriptions.
    pub(super) fn subscription_states(&self) -> Vec<SubscriptionState> {
        let state = |(id, reader): (&ReaderId, &Reader)| {
            let (as_of, told, waiting) = match &reader.kind {
                ReaderKind::Subscription(own) => (own.as_of, own.told, own.arrivals.waiting.len()),
                ReaderKind::Member(member) => (member.as_of, member.told, member.queue.len()),
                ReaderKind::Peek { .. } | ReaderKind::Hub(_) => return None,
            };
            let objects = reader.objects.clone();
            let dataflow = self.dataflow_of(*id);
            Some(SubscriptionState { reader: *id, dataflow, objects, as_of, told, waiting })
        };
        self.readers.iter().filter_map(state).collect()
    }

    /// The time of the newest content that may be seen: now, where nothing is under way.
    fn newest(&mut self) -> Timestamp {
        if !self.gate.is_idle() {
            return self.gate.durable();
        }
        let now = self.clock.next();
        self.ask_lease(now);
        now
    }

    /// Lets timed objects, those given and those below them, become complete through times.
    pub(super) fn let_time_pass(&mut self, objects: Vec<(GlobalId, Timestamp)>) {
        let promises = self.objects.promises_of_time(objects);
        if !promises.is_empty() {
            self.workers.send(Command::Promise(Arc::new(promises)));
        }
    }

    /// Lets subscriptions know that time goes on: all, or those that change with it.
    pub(super) fn make_progress(&mut self, timed_only: bool) {
        let is_timed = |id: &GlobalId| self.objects.get(*id).is_some_and(|object| object.timed);
        let live: Vec<GlobalId> = self
            .readers
            .values()
            .filter(|reader| reader.kind.has_dataflow())
            .filter_map(|reader| reader.dataflow)
            .filter(|id| !timed_only || is_timed(id))
            .collect();
        if live.is_empty() {
            return;
        }
        let time = self.clock.next();
        self.ask_lease(time);
        self.let_time_pass(live.iter().map(|id| (*id, time)).collect());
        let promises = live.into_iter().map(|id| self.objects.promise(id, time)).collect();
        self.workers.send(Command::Promise(Arc::new(promises)));
    }

    /// Lets one subscription show all that is durable.
    pub(super) fn advance(&mut self, reader: ReaderId, reply: Reply<Timestamp>) {
        self.flush();
        let durable = self.gate.durable();
        let Some(dataflow) = self.dataflow_of(reader) else {
            // It has ended, and says so itself.
            let _ = reply.send(Ok(0));
            return;
        };
        let tip = self.gate.tip();
        self.let_time_pass(vec![(dataflow, tip)]);
        let promise = self.objects.promise(dataflow, tip);
        self.workers.send(Command::Promise(Arc::new(vec![promise])));
        let by = self.ask_progress(reader, durable);
        let _ = reply.send(Ok(by.unwrap_or(durable)));
    }

    fn subscription(&mut self, reader: ReaderId) -> Option<&mut Subscription> {
        match self.readers.get_mut(&reader) {
            Some(Reader { kind: ReaderKind::Subscription(subscription), .. }) => Some(subscription),
            _ => None,
        }
    }

    pub(super) fn changes(
        &mut self,
        worker: usize,
        reader: ReaderId,
        changes: Vec<(Timestamp, Row, Diff)>,
        upper: Option<Timestamp>,
    ) {
        match self.readers.get_mut(&reader).map(|reader| &mut reader.kind) {
            Some(ReaderKind::Subscription(own)) => own.arrivals.add(worker, changes, upper),
            Some(ReaderKind::Hub(hub)) => {
                // What its members have not read waits for them elsewhere.
                let bytes = changes.iter().map(|(_, row, _)| cost(row)).sum();
                hub.arrivals.add(worker, changes, upper);
                self.workers.send(Command::Credit { reader, bytes });
            }
            _ => return,
        }
        self.release_changes(reader);
    }

    pub(super) fn changes_failed(
        &mut self,
        reader: ReaderId,
        at: Timestamp,
        error: Option<EvalError>,
    ) {
        let error = match error {
            Some(error) => error.into(),
            None => too_slow(),
        };
        if self.divide_hub(reader) {
            return;
        }
        let Some(subscription) = self.subscription(reader) else { return };
        if subscription.failure.as_ref().is_none_or(|(time, _)| at < *time) {
            subscription.failure = Some((at, error));
        }
        self.release_changes(reader);
    }

    /// Ends the subscriptions that read an object which is dropped.
    pub(super) fn end_subscriptions(&mut self, object: GlobalId) {
        let ended: Vec<ReaderId> = self
            .readers
            .iter()
            .filter(|(_, reader)| reader.objects.contains(&object))
            .filter(|(_, reader)| reader.kind.is_subscription())
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            if let Some(subscription) = self.subscription(id) {
                let _ = subscription.out.send(Err(dropped()));
            }
            self.fail_member(id, dropped());
            self.end_reader(id);
        }
    }

    /// Sends what is complete everywhere and may leave.
    pub(super) fn release_changes(&mut self, reader: ReaderId) {
        let released = self.gate.released();
        let Some(subscription) = self.subscription(reader) else {
            return self.release_hub(reader);
        };
        let complete = subscription.arrivals.complete();
        let mut through = complete.map_or(released, |upper| upper.saturating_sub(1).min(released));
        if let Some((at, _)) = &subscription.failure {
            through = through.min(at.saturating_sub(1));
        }
        let mut ready = subscription.arrivals.take_through(through);
        let spared = subscription.seeding.as_ref().map(|seeding| seeding.part_all(&mut ready));
        if !ready.is_empty() {
            ready.shrink_to_fit();
            let _ = subscription.out.send(Ok(ChangeEvent::Changes(ready)));
        }
        // What the client does not take of a row it does not give back, either.
        if let Some(bytes) = spared {
            self.workers.send(Command::Credit { reader, bytes });
        }
        let Some(subscription) = self.subscription(reader) else { return };
        // The worker that failed stays below its failure: what counts is that all is there before.
        let failed = |at: Timestamp| at <= released && complete.is_none_or(|upper| at <= upper);
        if let Some((_, error)) = subscription.failure.take_if(|(at, _)| failed(*at)) {
            let _ = subscription.out.send(Err(error));
            return self.end_reader(reader);
        }
        let at_end = complete.is_none() && subscription.arrivals.waiting.is_empty();
        if at_end {
            let _ = subscription.out.send(Ok(ChangeEvent::End));
            return self.end_reader(reader);
        }
        if complete.is_some() && through > subscription.told {
            subscription.told = through;
            let _ = subscription.out.send(Ok(ChangeEvent::Progress(through)));
        }
        let held_back = complete.is_none_or(|upper| through + 1 < upper);
        if held_back || subscription.failure.is_some() {
            self.withheld.insert(reader);
        }
    }
}

/// The error of a client that does not read what it is sent.
pub(super) fn too_slow() -> Error {
    let message = "the subscription's reader is too slow";
    Error::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, message)
        .with_detail("What it has not read is more than subscribe_buffer_limit.")
        .with_hint("Read faster, or resume with AS OF the last progress.")
}

impl Subscription {
    /// A subscription to whom all up to `told` has been told.
    pub(super) fn going_on(
        out: mpsc::UnboundedSender<Result<ChangeEvent>>,
        workers: usize,
        as_of: Timestamp,
        told: Timestamp,
        seeding: Option<Arc<Seeding>>,
    ) -> Subscription {
        let arrivals = Arrivals::new(workers);
        Subscription { out, arrivals, failure: None, as_of, told, seeding }
    }
}

impl Arrivals {
    /// Nothing yet.
    pub(super) fn new(workers: usize) -> Arrivals {
        Arrivals { uppers: vec![Some(0); workers], waiting: Vec::new() }
    }

    fn add(
        &mut self,
        worker: usize,
        changes: Vec<(Timestamp, Row, Diff)>,
        upper: Option<Timestamp>,
    ) {
        self.waiting.extend(changes);
        self.uppers[worker] = upper;
    }

    /// Below which all is there; none at the end.
    pub(super) fn complete(&self) -> Option<Timestamp> {
        self.uppers.iter().flatten().min().copied()
    }

    /// Takes the changes up to a time, in order. Each row's are one worker's, which has
    /// consolidated them.
    pub(super) fn take_through(&mut self, through: Timestamp) -> Vec<(Timestamp, Row, Diff)> {
        let all = self.waiting.iter().all(|(time, _, _)| *time <= through);
        let mut ready = if all {
            std::mem::take(&mut self.waiting)
        } else {
            let (ready, rest) =
                std::mem::take(&mut self.waiting).into_iter().partition(|c| c.0 <= through);
            self.waiting = rest;
            ready
        };
        if self.uppers.len() > 1 {
            ready.sort_unstable();
        }
        ready
    }
}
