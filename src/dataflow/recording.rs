//! The events of this worker, kept for whoever asks for them all.
//!
//! Sums are what the engine keeps by itself; events are kept while somebody records, in the byte
//! form of [`crate::profile::trace`], and handed over each time they are asked for. What was made
//! before is told at the beginning, so that a recording explains itself. Where nobody takes them
//! for long, further ones are counted and not kept.

use crate::profile::event::Event;
use crate::profile::trace::ChunkWriter;
use crate::repr::Timestamp;

/// So many bytes of events are kept until they are taken.
const BYTES_MAX: usize = 32 << 20;

/// Events that have not been taken.
#[derive(Default)]
pub(super) struct Recording {
    writer: ChunkWriter,
    missed: u64,
}

impl Recording {
    /// Adds an event.
    #[inline]
    pub(super) fn add(&mut self, at: Timestamp, event: &Event) {
        if self.writer.len() < BYTES_MAX {
            self.writer.add(at, event);
        } else {
            self.missed += 1;
        }
    }

    /// All events so far, as a chunk; there are no others up to `through`.
    pub(super) fn take(&mut self, worker: usize, peers: usize, through: Timestamp) -> Vec<u8> {
        let chunk = self.writer.take(worker, peers, through);
        if self.missed > 0 {
            self.writer.add(through, &Event::Missed(std::mem::take(&mut self.missed)));
        }
        chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::trace::chunk;

    #[test]
    fn what_nobody_takes_is_bounded_and_counted() {
        let mut recording = Recording::default();
        for n in 0..20_000_000u64 {
            recording.add(n, &Event::Parked);
            recording.add(n, &Event::Unparked);
        }
        let first = recording.take(0, 1, 20_000_000);
        assert!(first.len() < BYTES_MAX + 100);
        recording.add(30_000_000, &Event::Parked);
        let kept = chunk(&first).unwrap().events.len() as u64;
        let second = chunk(&recording.take(0, 1, 40_000_000)).unwrap();
        let missed = Event::Missed(40_000_000 - kept);
        assert_eq!(second.events, [(20_000_000, missed), (30_000_000, Event::Parked)]);
    }
}
