//! The events of this worker, kept for whoever asks for them all.
//!
//! Sums are what the engine keeps by itself; events are kept while somebody records, and handed
//! over in the byte form of [`crate::profile::trace`] each time they are asked for. What was made
//! before is told at the beginning, so that a recording explains itself. Where nobody takes them
//! for long, further ones are counted and not kept.
//!
//! What is told of progress comes from logs of its own, one for each kind of time, some time after
//! the rest: so events are put in order when they are taken. A dataflow tells its progress if it
//! was built while somebody recorded, and goes on to pay for that until it is dropped.

use std::any::type_name;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use timely::logging::TimelyProgressEventBuilder as Builder;
use timely::logging_core::Registry;
use timely::order::Product;

use crate::profile::event::{Event, Progress, Timed};
use crate::profile::trace::ChunkWriter;
use crate::repr::Timestamp;

/// So many events are kept until they are taken.
const EVENTS_MAX: usize = 1 << 20;

/// Where events are kept; nothing, while nobody records.
pub(super) type Shared = Rc<RefCell<Option<Recording>>>;

/// Events that have not been taken.
#[derive(Default)]
pub(super) struct Recording {
    events: Vec<Timed>,
    writer: ChunkWriter,
    missed: u64,
}

impl Recording {
    /// Adds an event.
    #[inline]
    pub(super) fn add(&mut self, at: Timestamp, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push((at, event));
        } else {
            self.missed += 1;
        }
    }

    /// All events so far, as a chunk; there are no others up to `through`.
    pub(super) fn take(&mut self, worker: usize, peers: usize, through: Timestamp) -> Vec<u8> {
        self.events.sort_by_key(|(at, _)| *at);
        for (at, event) in self.events.drain(..) {
            self.writer.add(at, &event);
        }
        if self.missed > 0 {
            self.events.push((through, Event::Missed(std::mem::take(&mut self.missed))));
        }
        self.writer.take(worker, peers, through)
    }
}

/// Has dataflows that are built from now on tell their progress.
pub(super) fn tell_progress(register: &mut Registry, origin_ns: Timestamp, to: &Shared) {
    tell::<Timestamp>(register, origin_ns, to, |time| Some(*time));
    // Rounds of a loop are no epochs.
    tell::<Product<Timestamp, u64>>(register, origin_ns, to, |_| None);
}

/// Dataflows that are built from now on tell none.
pub(super) fn tell_no_progress(register: &mut Registry) {
    register.remove(&name::<Timestamp>());
    register.remove(&name::<Product<Timestamp, u64>>());
}

/// Timely's name for the log of progress.
fn name<T>() -> String {
    format!("timely/progress/{}", type_name::<T>())
}

fn tell<T: Clone + 'static>(
    register: &mut Registry,
    origin_ns: Timestamp,
    to: &Shared,
    epoch: fn(&T) -> Option<Timestamp>,
) {
    let to = Rc::clone(to);
    register.insert::<Builder<T>, _>(&name::<T>(), move |_: &Duration, events| {
        let Some(events) = events else { return };
        let mut to = to.borrow_mut();
        for (since, told) in events.drain(..) {
            let Some(to) = &mut *to else { continue };
            let times = told.messages.iter().chain(&told.internal);
            let epoch = times.filter_map(|(_, _, time, _)| epoch(time)).min();
            let (channel, from, number) = (told.channel, told.source, told.seq_no);
            let progress = Progress { channel, from, number, epoch };
            let since = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
            to.add(
                origin_ns.saturating_add(since),
                match told.is_send {
                    true => Event::ProgressSent(progress),
                    false => Event::ProgressReceived(progress),
                },
            );
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::trace::chunk;

    #[test]
    fn what_nobody_takes_is_bounded_and_counted() {
        let mut recording = Recording::default();
        for n in 0..EVENTS_MAX as u64 {
            recording.add(n, Event::Parked);
            recording.add(n, Event::Unparked);
        }
        let first = chunk(&recording.take(0, 1, 2_000_000)).unwrap();
        assert_eq!(first.events.len(), EVENTS_MAX);
        recording.add(3_000_000, Event::Parked);
        let second = chunk(&recording.take(0, 1, 4_000_000)).unwrap();
        let missed = Event::Missed(EVENTS_MAX as u64);
        assert_eq!(second.events, [(2_000_000, missed), (3_000_000, Event::Parked)]);
        assert!(chunk(&recording.take(0, 1, 5_000_000)).unwrap().events.is_empty());
    }

    #[test]
    fn what_comes_late_is_put_in_its_place() {
        let mut recording = Recording::default();
        let progress = Progress { channel: 1, from: 0, number: 0, epoch: Some(7) };
        recording.add(10, Event::Started(3));
        recording.add(20, Event::Stopped(3));
        recording.add(15, Event::ProgressSent(progress));
        let events = chunk(&recording.take(0, 1, 30)).unwrap().events;
        assert_eq!(events[1], (15, Event::ProgressSent(progress)));
    }
}
