//! Events added up by operator and by channel, as they come.
//!
//! This stands in the path of every activation, so it adds and keeps nothing else: an event costs a
//! look-up by number. Messages that were counted elsewhere are added as sums ([`Tally::carried`]).
//! Activations are put down and added up many at a time ([`Tally::settle`]): what is known of an
//! operator is seldom in the processor's cache when it ends, and many such misses together take
//! little longer than one. Whoever does not measure all says for how many one stands. What is gone
//! is forgotten when that is said; what has changed since somebody last asked is listed, so that
//! asking about a thousand idle views costs nothing.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::event::{ChannelId, Event, Message, OperatorId};
use super::numbered::Numbered;
use crate::repr::Timestamp;

/// What has become of something since somebody asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Change {
    #[default]
    None,
    Active,
    New,
}

impl Change {
    /// Says that something happened; whether it is the first thing.
    fn activate(&mut self) -> bool {
        let is_first = *self == Change::None;
        if is_first {
            *self = Change::Active;
        }
        is_first
    }

    /// Whether it is new, where anything has changed; nothing has, after that.
    fn take(&mut self) -> Option<bool> {
        match std::mem::take(self) {
            Change::None => None,
            change => Some(change == Change::New),
        }
    }
}

/// What is known of an operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// The path of scopes that leads to it, itself at the end.
    pub address: Vec<usize>,
    /// What it is called.
    pub name: String,
    /// Nanoseconds that it ran, without its children.
    pub elapsed_ns: u64,
    /// How often it ran.
    pub activations: u64,
    /// Activations by the binary logarithm of their nanoseconds, as far as there are any.
    pub histogram: Vec<u64>,
    change: Change,
}

/// What is known of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channel {
    /// The address of the scope that holds it.
    pub scope: Vec<usize>,
    /// The operator in that scope that sends, and the port.
    pub source: (usize, usize),
    /// The operator in that scope that receives, and the port.
    pub target: (usize, usize),
    /// Whether its records are batches of an arrangement.
    pub batches: bool,
    /// What this worker sent over it, by the worker that it was for.
    pub sent: Vec<Traffic>,
    change: Change,
}

/// What went over a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// How many messages.
    pub messages: u64,
    /// How many records they held.
    pub records: u64,
}

/// How a worker has slept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parks {
    /// How often.
    pub count: u64,
    /// For how long.
    pub elapsed_ns: u64,
}

/// An activation that was measured where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// What ran.
    pub operator: OperatorId,
    /// The scope that it is in.
    pub scope: OperatorId,
    /// Nanoseconds for which the scope ran before it.
    pub before_ns: u64,
    /// Nanoseconds for which it ran.
    pub own_ns: u64,
    /// Nanoseconds for which the scope ran after it.
    pub after_ns: u64,
}

/// So many activations are added up at once.
const ENDED_MAX: usize = 1024;

/// An activation under way.
struct Active {
    operator: OperatorId,
    since: Timestamp,
    /// Nanoseconds that its children ran.
    inner_ns: u64,
}

/// The sums of one worker.
#[derive(Default)]
pub struct Tally {
    operators: Numbered<Operator>,
    channels: Numbered<Channel>,
    active: Vec<Active>,
    /// Activations that have ended and are not added up: the operator, its own nanoseconds, and for
    /// how many it stands.
    ended: Vec<(OperatorId, u64, u64)>,
    parks: Parks,
    parked_since: Option<Timestamp>,
    changed_operators: Vec<OperatorId>,
    changed_channels: Vec<ChannelId>,
}

impl Tally {
    /// Adds an event.
    pub fn add(&mut self, at: Timestamp, event: Event) {
        match event {
            Event::Operator { id, address, name } => {
                let change = Change::New;
                let operator = Operator { address, name, change, ..Operator::default() };
                self.operators.insert(id, operator);
                self.changed_operators.push(id);
            }
            Event::Channel { id, scope, source, target, batches } => {
                let idle = Channel::default();
                let change = Change::New;
                let channel = Channel { scope, source, target, batches, change, ..idle };
                self.channels.insert(id, channel);
                self.changed_channels.push(id);
            }
            // What it did stays known until whoever numbered it says that it is gone.
            Event::Ended(_) => {}
            Event::Started(operator) => self.started(at, operator),
            Event::Stopped(operator) => self.stopped(at, operator),
            Event::Sent(message) => self.sent(message),
            // Who sent it has counted it.
            Event::Received(_) => {}
            Event::Dataflow { .. } | Event::Missed(_) => {}
            Event::ProgressSent(_) | Event::ProgressReceived(_) => {}
            Event::Parked => self.parked_since = Some(at),
            Event::Unparked => {
                if let Some(since) = self.parked_since.take() {
                    self.parks.count += 1;
                    self.parks.elapsed_ns += at.saturating_sub(since);
                }
            }
        }
    }

    /// An operator begins to run.
    #[inline]
    pub fn started(&mut self, at: Timestamp, operator: OperatorId) {
        self.active.push(Active { operator, since: at, inner_ns: 0 });
    }

    /// It ends to run.
    pub fn stopped(&mut self, at: Timestamp, id: OperatorId) {
        // Who began to listen in the middle of an activation hears its end alone.
        while let Some(ended) = self.active.pop() {
            if ended.operator != id {
                continue;
            }
            let whole_ns = at.saturating_sub(ended.since);
            let own_ns = whole_ns.saturating_sub(ended.inner_ns);
            if let Some(outer) = self.active.last_mut() {
                outer.inner_ns += whole_ns;
            }
            self.end(id, own_ns, 1);
            return;
        }
    }

    /// Adds what ran one after the other in a step. It stands for so many steps.
    pub fn ran(&mut self, runs: &[Run], weight: u64) {
        for in_scope in runs.chunk_by(|one, next| one.scope == next.scope) {
            for run in in_scope {
                self.end(run.operator, run.own_ns, weight);
            }
            let own_ns = in_scope.iter().map(|run| run.before_ns + run.after_ns).sum();
            self.end(in_scope[0].scope, own_ns, weight);
        }
    }

    #[inline]
    fn end(&mut self, id: OperatorId, own_ns: u64, weight: u64) {
        self.ended.push((id, own_ns, weight));
        if self.ended.len() >= ENDED_MAX {
            self.settle();
        }
    }

    /// Adds up what has ended; to be called before operators are looked at.
    pub fn settle(&mut self) {
        for (id, own_ns, weight) in self.ended.drain(..) {
            let Some(operator) = self.operators.get_mut(id) else { continue };
            operator.elapsed_ns += own_ns * weight;
            operator.activations += weight;
            let bucket = own_ns.checked_ilog2().unwrap_or(0) as usize;
            if operator.histogram.len() <= bucket {
                operator.histogram.resize(bucket + 1, 0);
            }
            operator.histogram[bucket] += weight;
            if operator.change.activate() {
                self.changed_operators.push(id);
            }
        }
    }

    fn sent(&mut self, Message { channel, to, records, .. }: Message) {
        self.carried(channel, to, Traffic { messages: 1, records: records.unsigned_abs() });
    }

    /// Adds what a channel has carried to a worker.
    pub fn carried(&mut self, id: ChannelId, to: usize, more: Traffic) {
        let Some(channel) = self.channels.get_mut(id) else { return };
        if channel.sent.len() <= to {
            channel.sent.resize(to + 1, Traffic::default());
        }
        channel.sent[to].messages += more.messages;
        channel.sent[to].records += more.records;
        if channel.change.activate() {
            self.changed_channels.push(id);
        }
    }

    /// Forgets the operators and channels of a range of numbers.
    pub fn forget(&mut self, range: Range<usize>) {
        if range.len() > self.operators.count() + self.channels.count() {
            let ids: Vec<usize> = self.operators.ids().chain(self.channels.ids()).collect();
            ids.into_iter().filter(|id| range.contains(id)).for_each(|id| self.remove(id));
            return;
        }
        range.for_each(|id| self.remove(id));
    }

    fn remove(&mut self, id: usize) {
        self.operators.remove(id);
        self.channels.remove(id);
    }

    /// An operator, as of when all was settled.
    pub fn operator(&self, id: OperatorId) -> Option<&Operator> {
        self.operators.get(id)
    }

    /// A channel.
    pub fn channel(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.get(id)
    }

    /// The events by which the operators and channels were made.
    pub fn made(&self) -> impl Iterator<Item = Event> {
        let operators = self.operators.ids().filter_map(|id| {
            let operator = self.operators.get(id)?;
            let (address, name) = (operator.address.clone(), operator.name.clone());
            Some(Event::Operator { id, address, name })
        });
        operators.chain(self.channels.ids().filter_map(|id| {
            let Channel { scope, source, target, batches, .. } = self.channels.get(id)?;
            let (scope, source, target) = (scope.clone(), *source, *target);
            Some(Event::Channel { id, scope, source, target, batches: *batches })
        }))
    }

    /// How the worker has slept.
    pub fn parks(&self) -> Parks {
        self.parks
    }

    /// The operators that have come or run since this was last asked, and are still there, and
    /// whether each has come.
    pub fn take_changed_operators(&mut self) -> Vec<(OperatorId, bool)> {
        self.settle();
        let changed = std::mem::take(&mut self.changed_operators);
        let operators = &mut self.operators;
        let news = |id| Some((id, operators.get_mut(id)?.change.take()?));
        changed.into_iter().filter_map(news).collect()
    }

    /// The same of channels that have come or carried something.
    pub fn take_changed_channels(&mut self) -> Vec<(ChannelId, bool)> {
        let changed = std::mem::take(&mut self.changed_channels);
        let channels = &mut self.channels;
        let news = |id| Some((id, channels.get_mut(id)?.change.take()?));
        changed.into_iter().filter_map(news).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operator(tally: &mut Tally, id: OperatorId) {
        let address = vec![0, id];
        tally.add(0, Event::Operator { id, address, name: format!("operator {id}") });
    }

    #[test]
    fn a_scope_is_charged_for_its_own_time_alone() {
        let mut tally = Tally::default();
        (1..=3).for_each(|id| operator(&mut tally, id));
        let run = [
            (100, Event::Started(1)),
            (110, Event::Started(2)),
            (150, Event::Stopped(2)),
            (160, Event::Started(3)),
            (163, Event::Stopped(3)),
            (170, Event::Stopped(1)),
        ];
        run.into_iter().for_each(|(at, event)| tally.add(at, event));
        tally.settle();
        let elapsed = |id| tally.operator(id).unwrap().elapsed_ns;
        assert_eq!((elapsed(1), elapsed(2), elapsed(3)), (27, 40, 3));
        // 2^5 ≤ 40 < 2^6, 2^1 ≤ 3 < 2^2.
        assert_eq!(tally.operator(2).unwrap().histogram, [0, 0, 0, 0, 0, 1]);
        assert_eq!(tally.operator(3).unwrap().histogram, [0, 1]);
    }

    #[test]
    fn what_was_measured_stands_for_as_many() {
        let mut tally = Tally::default();
        (1..=4).for_each(|id| operator(&mut tally, id));
        let run = |operator, scope, before_ns, own_ns, after_ns| Run {
            operator,
            scope,
            before_ns,
            own_ns,
            after_ns,
        };
        tally.ran(&[run(2, 1, 5, 40, 0), run(3, 1, 6, 7, 0), run(4, 9, 1, 1, 3)], 16);
        tally.ran(&[run(2, 1, 1, 2, 3)], 1);
        tally.settle();
        let of = |id| tally.operator(id).map(|found| (found.elapsed_ns, found.activations));
        assert_eq!(of(1), Some((16 * 11 + 4, 17)));
        assert_eq!((of(2), of(3)), (Some((16 * 40 + 2, 17)), Some((16 * 7, 16))));
        assert_eq!((of(4), of(9)), (Some((16, 16)), None));
        assert_eq!(tally.operator(2).unwrap().histogram, [0, 1, 0, 0, 0, 16]);
    }

    #[test]
    fn an_end_without_a_beginning_is_nothing() {
        let mut tally = Tally::default();
        operator(&mut tally, 1);
        tally.add(5, Event::Stopped(1));
        tally.add(6, Event::Unparked);
        tally.settle();
        assert_eq!(tally.operator(1).unwrap().activations, 0);
        assert_eq!(tally.parks(), Parks::default());
        tally.add(7, Event::Parked);
        tally.add(9, Event::Unparked);
        assert_eq!(tally.parks(), Parks { count: 1, elapsed_ns: 2 });
    }

    #[test]
    fn what_has_changed_is_told_once_and_what_is_gone_is_not() {
        let mut tally = Tally::default();
        (1..=3).for_each(|id| operator(&mut tally, id));
        let (scope, ends) = (vec![0], (1, 0));
        tally.add(0, Event::Channel { id: 9, scope, source: ends, target: ends, batches: false });
        assert_eq!(tally.take_changed_operators(), [(1, true), (2, true), (3, true)]);
        assert_eq!(tally.take_changed_channels(), [(9, true)]);
        for id in [3, 1, 3] {
            tally.add(1, Event::Started(id));
            tally.add(2, Event::Stopped(id));
        }
        let message = Message { channel: 9, from: 0, to: 1, number: 0, records: 7 };
        tally.add(3, Event::Sent(message));
        tally.add(3, Event::Sent(message));
        tally.add(4, Event::Received(message));
        tally.forget(1..2);
        assert_eq!(tally.take_changed_operators(), [(3, false)]);
        assert_eq!(tally.take_changed_channels(), [(9, false)]);
        assert!(tally.take_changed_operators().is_empty());
        let channel = tally.channel(9).unwrap();
        assert_eq!(channel.sent, [Traffic::default(), Traffic { messages: 2, records: 14 }]);
        tally.forget(0..1000);
        assert!(tally.channel(9).is_none() && tally.operator(2).is_none());
    }
}
