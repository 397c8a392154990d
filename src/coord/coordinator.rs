//! The task that owns the state of the server: it takes one event after the other.
//!
//! Writes are applied to the workers at once and logged at the same time; answers wait at the
//! [`Gate`]. Events that have queued up are taken together: their writes travel to the workers as
//! one command and wake each dataflow once, at the newest of their times.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::catalog::objects::Catalog;
use crate::coord::clock::Clock;
use crate::coord::commits::{Ack, Recent};
use crate::coord::gate::Gate;
use crate::coord::log_writer::{LogRequest, LogWriter};
use crate::coord::objects::Objects;
use crate::coord::observations::{Observing, Reporting, Tracing};
use crate::coord::reads::Reader;
use crate::coord::request::{Event, Reply, Snapshot, When};
use crate::coord::sequences::Sequences;
use crate::dataflow::command::{Command, ReaderId, Response, Write};
use crate::dataflow::worker::Workers;
use crate::error::{Error, Result, SqlState};
use crate::repr::{GlobalId, Timestamp};

/// How often those are looked after who wait for what comes and goes by itself.
const TICK: Duration = Duration::from_millis(100);
/// After how many ticks all others learn that time goes on, and history is given up.
const TICKS_WHOLE: u64 = 10;
/// How many events are taken before their writes are sent.
const EVENTS_MAX: usize = 256;

/// The catalogs that somebody may have to be shown.
pub(super) struct Catalogs {
    /// After all transactions.
    pub(super) tip: Arc<Catalog>,
    /// After the durable ones.
    pub(super) durable: Arc<Catalog>,
    /// Between the two, by time.
    pub(super) pending: VecDeque<(Timestamp, Arc<Catalog>)>,
}

/// Something that waits until a time may leave the server.
pub(super) struct Waiter {
    pub(super) time: Timestamp,
    pub(super) go: Box<dyn FnOnce() + Send>,
}

/// All state of the server that is not a session's, a worker's or the log's.
pub struct Coordinator {
    pub(super) events: mpsc::UnboundedSender<Event>,
    pub(super) receiver: mpsc::UnboundedReceiver<Event>,
    pub(super) workers: Workers,
    pub(super) log: LogWriter,
    pub(super) clock: Clock,
    pub(super) gate: Gate,
    pub(super) catalogs: Catalogs,
    pub(super) objects: Objects,
    /// Bytes that were allocated when it began, without what workers have.
    pub(super) started_with: u64,
    /// Relations whose stored text no longer plans.
    pub(super) broken: BTreeMap<GlobalId, Error>,
    /// Times that must stay readable, by the hold's number.
    pub(super) holds: BTreeMap<u64, Timestamp>,
    pub(super) readers: BTreeMap<ReaderId, Reader>,
    /// Subscriptions with changes that the gate keeps.
    pub(super) withheld: BTreeSet<ReaderId>,
    pub(super) sequences: Sequences,
    /// Questions about dataflows, by number.
    pub(super) observing: BTreeMap<u64, Observing>,
    /// Questions about all that has changed, by number.
    pub(super) reporting: BTreeMap<u64, Reporting>,
    /// Questions about events, by number.
    pub(super) tracing: BTreeMap<u64, Tracing>,
    pub(super) recent: Recent,
    pub(super) acks: Vec<Ack>,
    pub(super) waiters: Vec<Waiter>,
    /// What waits only for the lease to pass a time.
    pub(super) spending: Vec<Waiter>,
    /// Who is exclusive, and what waits for the end of it.
    pub(super) exclusive: Option<u64>,
    pub(super) deferred: VecDeque<Event>,
    pub(super) writes: Vec<Write>,
    pub(super) woken: BTreeMap<GlobalId, Timestamp>,
    pub(super) next_id: GlobalId,
    pub(super) next_transient: u64,
    /// Numbers of readers, holds and exclusive sessions.
    pub(super) next_number: u64,
    /// No history is given up before the clock shows this.
    pub(super) keep_until: Timestamp,
    /// The default of retention, in nanoseconds.
    pub(super) retain: Timestamp,
    /// Ticks so far.
    pub(super) ticks: u64,
}

impl Coordinator {
    /// Runs until it is stopped, or until the log fails: then what is on the disk is unknown, and
    /// the process has to end so that recovery can decide.
    pub async fn run(mut self) -> Result<()> {
        let ticks = self.events.clone();
        let ticker = tokio::spawn(async move {
            let mut interval = tokio::time::interval(TICK);
            interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            while ticks.send(Event::Tick).is_ok() {
                interval.tick().await;
            }
        });
        let result = self.take_events().await;
        ticker.abort();
        if result.is_ok() {
            self.log.stop();
        }
        self.workers.stop();
        result
    }

    async fn take_events(&mut self) -> Result<()> {
        let mut stopping: Option<oneshot::Sender<()>> = None;
        while stopping.is_none() {
            let Some(event) = self.receiver.recv().await else { break };
            let (mut next, mut taken) = (Some(event), 0);
            while let Some(event) = next {
                match event {
                    Event::Stop { reply } => {
                        stopping = Some(reply);
                        break;
                    }
                    Event::LogFailed(error) => return Err(error),
                    other => self.handle(other),
                }
                taken += 1;
                // What is taken out of the queue is handled.
                next = if taken < EVENTS_MAX { self.receiver.try_recv().ok() } else { None };
            }
            self.flush();
        }
        self.log.stop();
        while let Ok(event) = self.receiver.try_recv() {
            match event {
                Event::Durable { through, lease } => self.durable(through, lease),
                Event::LogFailed(error) => return Err(error),
                _ => {}
            }
        }
        if let Some(reply) = stopping {
            let _ = reply.send(());
        }
        Ok(())
    }

    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Snapshot { when, reply } => self.snapshot(when, reply),
            Event::Release { hold } => self.release(hold),
            Event::Now { reply } => self.now(reply),
            Event::AwaitDurable { time, reply } => self.when_released(time, move || {
                let _ = reply.send(Ok(()));
            }),
            Event::Ids { count, reply } => {
                let first = self.next_id;
                self.next_id = GlobalId(first.0 + count);
                let _ = reply.send(Ok(first));
            }
            Event::Read { at, read, observer, reply } => {
                let stream = self.read(at, read, observer);
                let _ = reply.send(stream);
            }
            Event::Observe { object, reply } => self.observe_object(object, reply),
            Event::Introspect { reply } => self.introspect(reply),
            Event::Trace { whole, reply } => self.trace(whole, reply),
            Event::EndTrace => self.workers.send(Command::EndTrace),
            Event::SwitchIntrospection { on } => self.workers.send(Command::Introspect(on)),
            Event::Subscribe { request, reply } => {
                let stream = self.subscribe(*request);
                let _ = reply.send(stream);
            }
            Event::Advance { reader, reply } => self.advance(reader, reply),
            Event::Credit { reader, bytes } => {
                if !self.member_credit(reader, bytes) && self.readers.contains_key(&reader) {
                    self.workers.send(Command::Credit { reader, bytes });
                }
            }
            Event::Cancel { reader } => self.end_reader(reader),
            Event::Commit { commit, reply } => self.commit_request(commit, reply),
            Event::Exclusive { reply } => self.exclusive_request(reply),
            Event::EndExclusive { token } => self.end_exclusive(token),
            Event::Feed { writes } => self.feed(writes),
            Event::Provide { id, layout, rows } => self.provide(id, layout, 0, rows),
            Event::NextValues { sequence, definition, count, reply } => {
                self.next_values(sequence, &definition, count, reply);
            }
            Event::SetValue { sequence, value, is_called, reply } => {
                self.set_value(sequence, value, is_called, reply);
            }
            Event::KeepSetting { name, value, reply } => self.keep_setting(&name, value, reply),
            Event::Worker(response) => self.response(response),
            Event::Durable { through, lease } => self.durable(through, lease),
            Event::Tick => self.tick(),
            // Both are taken by the loop.
            Event::LogFailed(_) | Event::Stop { .. } => {}
        }
    }

    fn response(&mut self, response: Response) {
        match response {
            Response::Rows { reader, rows } => self.peek_rows(reader, rows),
            Response::PeekDone { reader, result, .. } => self.peek_done(reader, result),
            Response::Changes { worker, reader, changes, upper } => {
                self.changes(worker, reader, changes, upper);
            }
            Response::ChangesFailed { reader, at, error } => self.changes_failed(reader, at, error),
            Response::Hydrated { dataflow, read, .. } => self.hydrated(dataflow, read),
            Response::Observed { request, observation } => self.observed(request, observation),
            Response::Traced { request, chunk } => self.traced(request, chunk),
            Response::Reported { request, report } => self.reported(request, *report),
        }
    }

    /// Sends the writes that have gathered, and lets go on what they touch.
    pub(super) fn flush(&mut self) {
        if !self.writes.is_empty() {
            let writes = Arc::new(std::mem::take(&mut self.writes));
            self.workers.send(Command::Write(writes));
        }
        if !self.woken.is_empty() {
            let woken = std::mem::take(&mut self.woken);
            let woken_too = woken.iter().map(|(id, time)| (*id, *time));
            let mut promises = self.objects.promises_of_time(woken_too);
            promises.extend(woken.into_iter().map(|(id, time)| self.objects.promise(id, time)));
            self.workers.send(Command::Promise(Arc::new(promises)));
        }
    }

    fn snapshot(&mut self, when: When, reply: Reply<Snapshot>) {
        let (time, catalog) = match when {
            When::Durable => (self.gate.durable(), self.catalogs.durable.clone()),
            When::Tip => (self.gate.tip(), self.catalogs.tip.clone()),
            When::At(time) => (time, self.catalogs.tip.clone()),
        };
        if let When::At(time) = when
            && let Err(error) = self.check_past(time)
        {
            let _ = reply.send(Err(error));
            return;
        }
        let hold = self.number();
        let taken = self.clock.next();
        // Where nothing is under way the newest content is that of now: rows that come and go as
        // time goes on have.
        let time = match when {
            When::Durable | When::Tip if self.gate.is_idle() => taken,
            _ => time,
        };
        self.holds.insert(hold, time);
        let snapshot = Snapshot { time, taken, catalog, hold, events: self.events.clone() };
        let answer = move || {
            let _ = reply.send(Ok(snapshot));
        };
        match when {
            When::At(_) => self.when_released(time, answer),
            When::Durable | When::Tip => self.when_spent(taken, answer),
        }
    }

    /// Makes sure that no later transaction can have this time. Error 22023 if it is to come.
    pub(super) fn check_past(&mut self, time: Timestamp) -> Result<()> {
        if time < self.clock.next() {
            return Ok(());
        }
        Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("AS OF time {time} lies in the future"),
        )
        .with_hint("Times are nanoseconds since 1970-01-01 UTC."))
    }

    fn release(&mut self, hold: u64) {
        self.holds.remove(&hold);
        let oldest = self.holds.values().min().copied();
        self.recent.forget(oldest.unwrap_or(Timestamp::MAX));
    }

    fn now(&mut self, reply: Reply<Timestamp>) {
        let time = self.clock.next();
        self.when_spent(time, move || {
            let _ = reply.send(Ok(time));
        });
    }

    /// Does something once no restart can give a time again.
    fn when_spent(&mut self, time: Timestamp, go: impl FnOnce() + Send + 'static) {
        if self.gate.is_spent(time) {
            go();
            return;
        }
        self.ask_lease(time);
        self.spending.push(Waiter { time, go: Box::new(go) });
    }

    pub(super) fn ask_lease(&mut self, time: Timestamp) {
        if let Some(lease) = self.gate.lease_for(time) {
            self.log.send(LogRequest::Lease(lease));
        }
    }

    /// Does something once all up to a time may leave the server.
    pub(super) fn when_released(&mut self, time: Timestamp, go: impl FnOnce() + Send + 'static) {
        if self.gate.released() >= time {
            go();
            return;
        }
        self.ask_lease(time);
        self.waiters.push(Waiter { time, go: Box::new(go) });
    }

    fn durable(&mut self, through: Option<Timestamp>, lease: Timestamp) {
        self.gate.advance(through, lease);
        let durable = self.gate.durable();
        while let Some((time, catalog)) = self.catalogs.pending.front() {
            if *time > durable {
                break;
            }
            self.catalogs.durable = catalog.clone();
            self.catalogs.pending.pop_front();
        }
        self.acknowledge();
        let released = self.gate.released();
        let waiting = std::mem::take(&mut self.waiters);
        for waiter in waiting {
            if waiter.time <= released { (waiter.go)() } else { self.waiters.push(waiter) }
        }
        for waiter in std::mem::take(&mut self.spending) {
            if self.gate.is_spent(waiter.time) {
                (waiter.go)();
            } else {
                self.spending.push(waiter);
            }
        }
        for reader in std::mem::take(&mut self.withheld) {
            self.release_changes(reader);
        }
    }

    fn tick(&mut self) {
        self.flush();
        let is_whole = self.ticks.is_multiple_of(TICKS_WHOLE);
        self.ticks += 1;
        self.make_progress(!is_whole);
        if !is_whole {
            return;
        }
        let now = self.clock.read();
        if now < self.keep_until {
            return;
        }
        // The newest durable content is what everybody reads, however long ago it was written.
        let newest = self.gate.durable();
        let held = self.holds.values().min().map_or(newest, |held| newest.min(*held));
        let mut oldest = now.saturating_sub(self.retain).min(held);
        for (id, object) in self.objects.iter_mut() {
            let target = now.saturating_sub(object.retain).min(held);
            oldest = oldest.min(target);
            if id.is_transient() && !object.seeds || !object.dirty || target <= object.since {
                continue;
            }
            object.since = target;
            object.dirty = target <= object.last_change;
            self.workers.send(Command::Compact { relation: id, since: target });
        }
        self.log.send(LogRequest::FoldBelow(oldest));
    }

    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn transient(&mut self) -> GlobalId {
        self.next_transient += 1;
        GlobalId(GlobalId::FIRST_TRANSIENT.0 + self.next_transient)
    }
}
