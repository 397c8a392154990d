//! What timely tells of itself on this worker, as events of [`crate::profile`].
//!
//! Operators [measure themselves](super::timing), channels [count](super::channel): to log one
//! thing costs timely about 45 ns and whether a dataflow is logged is settled when it is built.
//! What is left to timely's log is when a worker sleeps, and all of the dataflows with loops, since
//! what is inside of those is built with operators of others. Timely buffers its log and hands it
//! over as the buffer fills and after each step; the events are added up at once. Times are
//! anchored to the wall clock, since each worker counts from an origin of its own.
//!
//! While somebody records, the events are kept as well.
//!
//! Differential's log tells what its spines merge; there is an entry for each batch and each merge,
//! which is little beside making them.
//!
//! A dataflow with a loop that was built while introspection was off stays silent, and one that was
//! built while it was on costs the writing of its log until it is dropped. All others can be
//! switched at any time.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use differential_dataflow::logging::{DifferentialEvent, DifferentialEventBuilder};
use timely::logging::{
    MessagesEvent, ParkEvent, StartStop, TimelyEvent, TimelyEventBuilder as Builder,
};
use timely::logging_core::Logger;
use timely::worker::Worker;

use super::channel::{count_messages, take_carried};
use super::operator::note_progress;
use super::recording::{Recording, Shared, tell_no_progress, tell_progress};
use super::timing::{self, Sampling};
use crate::profile::event::{Event, Message};
use crate::profile::numbered::Numbered;
use crate::profile::tally::Tally;
use crate::repr::Timestamp;

/// Timely's name for its log.
const TIMELY: &str = "timely";
/// Differential's name for its log.
const DIFFERENTIAL: &str = "differential/arrange";
/// What the name of a type holds where batches of an arrangement travel.
pub(super) const BATCHES: &str = "trace::Span<";

/// The sums of what was logged on this worker.
#[derive(Default)]
pub(super) struct Logs {
    /// The sums.
    pub(super) tally: Rc<RefCell<Tally>>,
    /// What arrangements have merged.
    pub(super) merges: Rc<RefCell<Numbered<Merges>>>,
    is_on: Rc<Cell<bool>>,
    /// What origin the times of the log have.
    origin: Option<(Instant, Timestamp)>,
    sampling: Sampling,
    /// The events themselves, while somebody records.
    recording: Shared,
}

/// What the spine of an arrangement has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Merges {
    /// Merges that are complete.
    pub(super) count: u64,
    /// The updates that they left.
    pub(super) records: u64,
}

impl Logs {
    /// Whether the log is open.
    pub(super) fn is_on(&self) -> bool {
        self.is_on.get()
    }

    /// Opens or closes the log.
    pub(super) fn switch(&mut self, worker: &Worker, on: bool) {
        if self.is_on.replace(on) == on {
            return;
        }
        count_messages(on);
        note_progress(on);
        let Some(mut register) = worker.log_register() else { return };
        if !on {
            register.remove(TIMELY);
            register.remove(DIFFERENTIAL);
            return;
        }
        let Some(origin) = worker.timer() else { return };
        let (origin_ns, is_on) = (wall_time_of(origin), Rc::clone(&self.is_on));
        self.origin = Some((origin, origin_ns));
        timing::set_clock(origin, origin_ns);
        let (tally, recording) = (Rc::clone(&self.tally), Rc::clone(&self.recording));
        let merges = Rc::clone(&self.merges);
        let is_listening = Rc::clone(&self.is_on);
        register.insert::<DifferentialEventBuilder, _>(DIFFERENTIAL, move |_, events| {
            let events = events.iter_mut().flat_map(|events| events.drain(..));
            let mut merges = merges.borrow_mut();
            for (_, event) in events.filter(|_| is_listening.get()) {
                if let DifferentialEvent::Merge(merge) = event
                    && let Some(records) = merge.complete
                {
                    let Merges { count, records: before } =
                        merges.get(merge.operator).copied().unwrap_or_default();
                    let records = before + records as u64;
                    merges.insert(merge.operator, Merges { count: count + 1, records });
                }
            }
        });
        register.insert::<Builder, _>(TIMELY, move |_, events| {
            let Some(events) = events else { return };
            let mut tally = tally.borrow_mut();
            if let Some(recording) = &mut *recording.borrow_mut() {
                for (since, event) in events.iter() {
                    recorded(recording, origin_ns + nanos(*since), event);
                }
            }
            for (since, event) in events.drain(..) {
                let at = origin_ns + nanos(since);
                match event {
                    // By far the most are these.
                    TimelyEvent::Schedule(run) if is_on.get() => match run.start_stop {
                        StartStop::Start => tally.started(at, run.id),
                        StartStop::Stop => tally.stopped(at, run.id),
                    },
                    TimelyEvent::Schedule(_) | TimelyEvent::PushProgress(_) => {}
                    event => {
                        let event = translated(event);
                        let event = event.filter(|event| is_on.get() || !is_activity(event));
                        event.into_iter().for_each(|event| tally.add(at, event));
                    }
                }
            }
        });
    }

    /// Before a step. `whole`: it is measured whatever that costs.
    pub(super) fn begin_step(&mut self, whole: bool) {
        if self.is_on() {
            self.sampling.begin(whole);
        }
    }

    /// After a step.
    pub(super) fn end_step(&mut self) {
        let tally = &self.tally;
        self.sampling.end(|runs, weight| tally.borrow_mut().ran(runs, weight));
    }

    /// Builds a dataflow that measures itself, and says by itself what it is made of.
    pub(super) fn building<R>(
        &self,
        worker: &mut Worker,
        name: String,
        build: impl FnOnce(&mut Worker) -> R,
    ) -> R {
        let log = worker.log_register().and_then(|mut register| register.remove(TIMELY));
        let whole = (worker.peek_identifier(), worker.next_dataflow_index(), name);
        let (built, made) = timing::building(whole, || build(worker));
        if let Some(log) = log.and_then(|log| log.downcast::<Logger<Builder>>().ok())
            && let Some(mut register) = worker.log_register()
        {
            register.insert_logger(TIMELY, *log);
        }
        let now = timing::now();
        let mut tally = self.tally.borrow_mut();
        for event in made {
            self.note(event.clone());
            tally.add(now, event);
        }
        built
    }

    /// Notes an event that timely does not tell, where somebody records.
    pub(super) fn note(&self, event: Event) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.add(timing::now(), event);
        }
    }

    /// Records from now on, and first what is `known`. Messages are logged for that.
    pub(super) fn record(&self, worker: &Worker, known: impl Iterator<Item = Event>) {
        let is_new = {
            let mut recording = self.recording.borrow_mut();
            let is_new = recording.is_none();
            let (recording, now) = (recording.get_or_insert_default(), timing::now());
            known.for_each(|event| recording.add(now, event));
            is_new
        };
        if is_new
            && let (Some((_, origin_ns)), Some(mut log)) = (self.origin, worker.log_register())
        {
            timing::tell_to(Some(Rc::clone(&self.recording)));
            tell_progress(&mut log, origin_ns, &self.recording);
        }
    }

    /// What was recorded since this was last asked, as a chunk.
    pub(super) fn take_recorded(&self, worker: &Worker) -> Vec<u8> {
        if let Some(mut log) = worker.log_register() {
            log.flush();
        }
        let mut recording = self.recording.borrow_mut();
        recording.get_or_insert_default().take(worker.index(), worker.peers(), timing::now())
    }

    /// Records no more.
    pub(super) fn end_recording(&self, worker: &Worker) {
        timing::tell_to(None);
        if let Some(mut log) = worker.log_register() {
            tell_no_progress(&mut log);
        }
        *self.recording.borrow_mut() = None;
    }

    /// What an arrangement has merged.
    pub(super) fn merges_of(&self, operator: usize) -> Merges {
        self.merges.borrow().get(operator).copied().unwrap_or_default()
    }

    /// Forgets operators and channels of a range of numbers.
    pub(super) fn forget(&self, range: Range<usize>) {
        self.tally.borrow_mut().forget(range.clone());
        let mut merges = self.merges.borrow_mut();
        range.for_each(|id| {
            merges.remove(id);
        });
    }

    /// Adds up what has been logged and what channels have counted.
    pub(super) fn collect(&self) {
        let mut tally = self.tally.borrow_mut();
        tally.settle();
        take_carried(|channel, sent| {
            let sent = sent.iter().enumerate().filter(|(_, sent)| sent.messages > 0);
            sent.for_each(|(to, sent)| tally.carried(channel, to, *sent));
        });
    }
}

/// Records what timely logged.
fn recorded(recording: &mut Recording, at: Timestamp, event: &TimelyEvent) {
    match event {
        TimelyEvent::Schedule(run) => recording.add(
            at,
            match run.start_stop {
                StartStop::Start => Event::Started(run.id),
                StartStop::Stop => Event::Stopped(run.id),
            },
        ),
        TimelyEvent::PushProgress(_) => {}
        other => {
            let event = translated(other.clone());
            event.into_iter().for_each(|event| recording.add(at, event));
        }
    }
}

fn nanos(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}

/// The wall clock's time at an instant.
fn wall_time_of(instant: Instant) -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    nanos(now.saturating_sub(instant.elapsed()))
}

/// Whether an event is passed over while introspection is off.
fn is_activity(event: &Event) -> bool {
    !matches!(event, Event::Operator { .. } | Event::Channel { .. } | Event::Ended(_))
}

#[inline]
fn translated(event: TimelyEvent) -> Option<Event> {
    Some(match event {
        TimelyEvent::Schedule(schedule) => match schedule.start_stop {
            StartStop::Start => Event::Started(schedule.id),
            StartStop::Stop => Event::Stopped(schedule.id),
        },
        TimelyEvent::Messages(event) => {
            let MessagesEvent { is_send, channel, source, target, seq_no, record_count } = event;
            let (from, to, number, records) = (source, target, seq_no, record_count);
            let message = Message { channel, from, to, number, records };
            if is_send { Event::Sent(message) } else { Event::Received(message) }
        }
        TimelyEvent::Operates(made) => {
            Event::Operator { id: made.id, address: made.addr, name: made.name }
        }
        TimelyEvent::Channels(made) => {
            let (scope, source, target) = (made.scope_addr, made.source, made.target);
            let batches = made.typ.contains(BATCHES);
            Event::Channel { id: made.id, scope, source, target, batches }
        }
        TimelyEvent::Shutdown(ended) => Event::Ended(ended.id),
        TimelyEvent::Park(ParkEvent::Park(_)) => Event::Parked,
        TimelyEvent::Park(ParkEvent::Unpark) => Event::Unparked,
        TimelyEvent::PushProgress(_) | TimelyEvent::CommChannels(_) | TimelyEvent::Text(_) => {
            return None;
        }
    })
}
