//! What one worker does from moment to moment, as its events come.
//!
//! Of activations only the innermost count: an operator with children runs while they do, and what
//! is its own is [`Kind::Busy`]. A message belongs before the activation that took it, and one that
//! was sent while an operator ran divides its activation. Whether a worker slept until it was sent
//! something is known only with who sent it: so what the first activation behind a sleep takes is
//! told together with the sleep.
//!
//! Moments are numbered and never come again: those before the newest snapshot are forgotten, and
//! what was going on there goes on at its beginning under the same number.

use super::event::{Event, Message, OperatorId, Progress};
use super::graph::Kind;
use crate::repr::Timestamp;

/// A moment, and what follows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) kind: Kind,
    pub(super) operator: Option<OperatorId>,
    pub(super) records: u64,
}

/// What a message is known by at both of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) channel: usize,
    pub(super) number: usize,
    /// Whether it tells progress.
    pub(super) is_control: bool,
}

/// Where a message left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Timestamp,
    pub(super) moment: usize,
    pub(super) records: u64,
}

/// Where a message was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    pub(super) key: Key,
    pub(super) at: Timestamp,
    /// The moment when it was taken, and that when the activation began which took it.
    pub(super) moment: usize,
    pub(super) begin: Option<usize>,
    /// The moments from where the worker slept to where it woke, if the message may have woken it.
    pub(super) slept: Option<(usize, usize)>,
    pub(super) records: u64,
}

/// An activation that ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Activation {
    pub(super) operator: OperatorId,
    pub(super) since: Timestamp,
    pub(super) until: Timestamp,
}

/// Hears what a track finds.
pub(super) trait Listener {
    /// A message left.
    fn sent(&mut self, key: Key, sent: Sent);
    /// A message was taken.
    fn taken(&mut self, taken: Taken);
    /// An innermost activation ended.
    fn ended(&mut self, activation: Activation);
    /// Progress left.
    fn progressed(&mut self, at: Timestamp, progress: &Progress);
}

/// An activation under way.
#[derive(Clone, Copy, Debug)]
struct Active {
    operator: OperatorId,
    since: Timestamp,
    begin: usize,
    has_inner: bool,
    has_received: bool,
}

/// The moments of a worker.
#[derive(Debug, Default)]
pub(super) struct Track {
    worker: usize,
    peers: usize,
    moments: Vec<Moment>,
    /// The number of the first of the moments.
    base: usize,
    active: Vec<Active>,
    /// The moments when the worker first went to sleep and last woke, since an activation ended.
    slept: Option<(usize, usize)>,
    /// There are no other events up to here.
    pub(super) through: Timestamp,
    /// When the first of all events was.
    pub(super) first: Option<Timestamp>,
}

impl Track {
    /// Of a worker that nothing is known of.
    pub(super) fn new(worker: usize, peers: usize) -> Track {
        let (at, kind, operator, records) = (0, Kind::Unknown, None, 0);
        let moments = vec![Moment { at, kind, operator, records }];
        Track { worker, peers, moments, ..Track::default() }
    }

    /// How many moments are kept.
    pub(super) fn len(&self) -> usize {
        self.moments.len()
    }

    /// Adds a moment; of two at the same time only the second counts. Returns its number.
    #[inline]
    fn push(&mut self, at: Timestamp, kind: Kind, operator: Option<OperatorId>) -> usize {
        let moment = Moment { at, kind, operator, records: 0 };
        match self.moments.last_mut() {
            Some(last) if last.at >= at => *last = Moment { at: last.at, ..moment },
            _ => self.moments.push(moment),
        }
        self.base + self.moments.len() - 1
    }

    /// A moment at which the worker goes on with what it does.
    fn go_on(&mut self, at: Timestamp) -> usize {
        match self.moments.last() {
            Some(doing) if doing.at < at => self.push(at, doing.kind, doing.operator),
            _ => self.base + self.moments.len() - 1,
        }
    }

    /// Changes what the innermost activation has been doing so far.
    fn change_active(&mut self, change: impl Fn(&mut Moment)) {
        let Some(active) = self.active.last() else { return };
        let begin = active.begin.saturating_sub(self.base);
        let own = |moment: &&mut Moment| moment.operator == Some(active.operator);
        self.moments[begin..].iter_mut().filter(own).for_each(change);
    }

    /// Takes the next event.
    pub(super) fn add(&mut self, at: Timestamp, event: &Event, listener: &mut impl Listener) {
        self.first.get_or_insert(at);
        match event {
            Event::Started(operator) => self.started(at, *operator),
            Event::Stopped(operator) => self.stopped(at, *operator, listener),
            Event::Sent(message) if message.from != message.to => {
                let moment = self.go_on(at);
                let records = message.records.unsigned_abs();
                listener.sent(key(message), Sent { at, moment, records });
            }
            Event::Received(message) => self.received(at, message, listener),
            Event::Parked => {
                let moment = self.push(at, Kind::Parked, None);
                if self.active.is_empty() {
                    self.slept.get_or_insert((moment, moment));
                }
            }
            Event::Unparked => {
                let moment = self.push(at, Kind::Busy, None);
                if let Some((_, woken)) = &mut self.slept {
                    *woken = moment;
                }
            }
            Event::ProgressSent(progress) => self.progress_sent(at, progress, listener),
            Event::ProgressReceived(progress) if progress.from != self.worker => {
                let Progress { channel, from, number, .. } = *progress;
                let key = Key { from, to: self.worker, channel, number, is_control: true };
                let records = 0;
                self.taken(at, key, records, listener);
            }
            Event::Missed(_) => {
                self.active.clear();
                self.slept = None;
                self.push(at, Kind::Unknown, None);
            }
            // What was made and what ended; what stays on this worker.
            Event::Operator { .. } | Event::Channel { .. } | Event::Ended(_) => {}
            Event::Dataflow { .. } | Event::Sent(_) | Event::ProgressReceived(_) => {}
        }
    }

    fn started(&mut self, at: Timestamp, operator: OperatorId) {
        if self.active.last().is_some_and(|outer| !outer.has_inner) {
            // What is around it is a scope: it keeps things going, and has nothing of its own.
            self.change_active(|moment| {
                (moment.kind, moment.operator, moment.records) = (Kind::Busy, None, 0);
            });
            if let Some(outer) = self.active.last_mut() {
                outer.has_inner = true;
            }
        }
        let begin = self.push(at, Kind::Spinning, Some(operator));
        let (has_inner, has_received) = (false, false);
        self.active.push(Active { operator, since: at, begin, has_inner, has_received });
    }

    fn stopped(&mut self, at: Timestamp, operator: OperatorId, listener: &mut impl Listener) {
        while let Some(ended) = self.active.pop() {
            if ended.operator == operator {
                if !ended.has_inner {
                    listener.ended(Activation { operator, since: ended.since, until: at });
                }
                break;
            }
        }
        if self.active.is_empty() {
            self.slept = None;
        }
        self.push(at, Kind::Busy, None);
    }

    fn received(&mut self, at: Timestamp, message: &Message, listener: &mut impl Listener) {
        let records = message.records.unsigned_abs();
        if let Some(active) = self.active.last().copied().filter(|active| !active.has_inner) {
            if !active.has_received {
                self.change_active(|moment| moment.kind = Kind::Processing);
            }
            if let Some(active) = self.active.last_mut() {
                active.has_received = true;
            }
            let begin = active.begin.saturating_sub(self.base);
            let begin = self.moments.get_mut(begin);
            if let Some(begin) = begin.filter(|begin| begin.operator == Some(active.operator)) {
                begin.records += records;
            }
        }
        if message.from != message.to {
            self.taken(at, key(message), records, listener);
        }
    }

    fn taken(&mut self, at: Timestamp, key: Key, records: u64, listener: &mut impl Listener) {
        let moment = self.go_on(at);
        let begin = self.active.last().map(|active| active.begin);
        listener.taken(Taken { key, at, moment, begin, slept: self.slept, records });
    }

    fn progress_sent(&mut self, at: Timestamp, told: &Progress, listener: &mut impl Listener) {
        let moment = self.go_on(at);
        listener.progressed(at, told);
        let Progress { channel, from, number, .. } = *told;
        for to in (0..self.peers).filter(|to| *to != self.worker) {
            let key = Key { from, to, channel, number, is_control: true };
            listener.sent(key, Sent { at, moment, records: 0 });
        }
    }

    /// Begins at a time: what was before it is forgotten.
    pub(super) fn begin(&mut self, from: Timestamp) {
        // There is one at the least: a track begins before all times.
        let last = self.moments.partition_point(|moment| moment.at <= from).saturating_sub(1);
        self.moments.drain(..last);
        self.base += last;
        if let Some(first) = self.moments.first_mut() {
            first.at = from;
        }
    }

    /// The moments before a time, the first of which is the beginning of the snapshot.
    pub(super) fn until(&self, until: Timestamp) -> &[Moment] {
        &self.moments[..self.moments.partition_point(|moment| moment.at < until)]
    }

    /// When a moment was; the beginning, where it is forgotten.
    pub(super) fn at(&self, moment: usize) -> Timestamp {
        self.moments.get(self.place(moment)).map_or(0, |moment| moment.at)
    }

    /// Where a moment lies behind the beginning; one that is forgotten lies there.
    pub(super) fn place(&self, moment: usize) -> usize {
        moment.saturating_sub(self.base)
    }
}

fn key(message: &Message) -> Key {
    let Message { from, to, channel, number, .. } = *message;
    Key { from, to, channel, number, is_control: false }
}
