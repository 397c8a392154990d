//! What timely tells of itself on this worker, as events of [`crate::profile`].
//!
//! Timely buffers its own log and hands it over as the buffer fills and after each step. The events
//! are added up at once and not kept: to log one costs about 45 ns, to keep and carry it on would
//! cost twice as much again. Messages are not logged but counted in place, by
//! [`channel`](super::channel). Times are anchored to the wall clock when the log is opened, since
//! each worker counts from an origin of its own.
//!
//! While somebody records, all messages are logged, and the events are kept as well.
//!
//! Differential's log tells what its spines merge; there is an entry for each batch and each merge,
//! which is little beside making them.
//!
//! Whether a dataflow is logged is decided when it is built: one that was built while introspection
//! was off stays silent, and one that was built while it was on costs the writing of its log until
//! it is dropped.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use differential_dataflow::logging::{DifferentialEvent, DifferentialEventBuilder};
use timely::logging::{
    MessagesEvent, ParkEvent, StartStop, TimelyEvent, TimelyEventBuilder as Builder,
};
use timely::worker::Worker;

use super::channel::{COUNTED, count_messages, log_messages, take_carried};
use super::operator::note_progress;
use super::recording::{Recording, Shared, tell_no_progress, tell_progress};
use crate::profile::event::{Event, Message};
use crate::profile::numbered::Numbered;
use crate::profile::tally::Tally;
use crate::repr::Timestamp;

/// Timely's name for its log.
const TIMELY: &str = "timely";
/// Differential's name for its log.
const DIFFERENTIAL: &str = "differential/arrange";
/// What the name of a type holds where batches of an arrangement travel.
const BATCHES: &str = "trace::Span<";

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
                    TimelyEvent::Messages(event) if event.channel & COUNTED != 0 => {}
                    event => {
                        let event = translated(event);
                        let event = event.filter(|event| is_on.get() || !is_activity(event));
                        event.into_iter().for_each(|event| tally.add(at, event));
                    }
                }
            }
        });
    }

    /// The time now, by the clock of the log.
    fn now(&self) -> Timestamp {
        self.origin.map_or(0, |(origin, origin_ns)| origin_ns + nanos(origin.elapsed()))
    }

    /// Notes an event that timely does not tell, where somebody records.
    pub(super) fn note(&self, event: Event) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.add(self.now(), event);
        }
    }

    /// Records from now on, and first what is `known`. Messages are logged for that.
    pub(super) fn record(&self, worker: &Worker, known: impl Iterator<Item = Event>) {
        let is_new = {
            let mut recording = self.recording.borrow_mut();
            let is_new = recording.is_none();
            let (recording, now) = (recording.get_or_insert_default(), self.now());
            known.for_each(|event| recording.add(now, event));
            is_new
        };
        if is_new
            && let (Some((_, origin_ns)), Some(mut log)) = (self.origin, worker.log_register())
        {
            log_messages(true);
            tell_progress(&mut log, origin_ns, &self.recording);
        }
    }

    /// What was recorded since this was last asked, as a chunk.
    pub(super) fn take_recorded(&self, worker: &Worker) -> Vec<u8> {
        if let Some(mut log) = worker.log_register() {
            log.flush();
        }
        let mut recording = self.recording.borrow_mut();
        recording.get_or_insert_default().take(worker.index(), worker.peers(), self.now())
    }

    /// Records no more.
    pub(super) fn end_recording(&self, worker: &Worker) {
        log_messages(false);
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
        TimelyEvent::Messages(message) => {
            let message = MessagesEvent { channel: message.channel & !COUNTED, ..message.clone() };
            let event = translated(TimelyEvent::Messages(message));
            event.into_iter().for_each(|event| recording.add(at, event));
        }
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
