//! The activity graph of a snapshot: what each worker did from one moment to the next, and what it
//! was sent by others.
//!
//! A vertex is a moment on a worker. Local edges lead from one to the next of the same worker and
//! fill the snapshot without a gap: their durations add up to its length. Remote edges lead from
//! where a message was sent to where it was taken. What the log does not tell, before its first
//! event and behind its last, is [`Kind::Unknown`], never guessed.
//!
//! Of activations only the innermost count: an operator with children runs while they do. A message
//! belongs before the activation that took it, and one that was sent while an operator ran divides
//! its activation. A worker that slept until it was sent something was [`Kind::Waiting`].

use std::collections::HashMap;

use super::event::{Event, Message, OperatorId, Timed};
use super::participation::{Participation, Step, participation};
use crate::repr::Timestamp;

/// What an edge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An operator ran, and had received something.
    Processing,
    /// An operator ran, and had received nothing.
    Spinning,
    /// The worker slept until another one sent something.
    Waiting,
    /// The worker ran, and no operator did.
    Busy,
    /// The worker slept.
    Parked,
    /// Records were on the way.
    Data,
    /// The log does not tell.
    Unknown,
}

/// A moment on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vertex {
    /// When.
    pub at: Timestamp,
    /// The worker.
    pub worker: usize,
}

/// What a worker did between two moments, or a message between two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// What it stands for.
    pub kind: Kind,
    /// The vertex where it begins.
    pub source: usize,
    /// The vertex where it ends.
    pub target: usize,
    /// The operator that ran.
    pub operator: Option<OperatorId>,
    /// How many records were received, or on the way.
    pub records: u64,
}

/// The activities of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// The moments.
    pub vertices: Vec<Vertex>,
    /// The activities.
    pub edges: Vec<Edge>,
    /// The vertex of each worker at the beginning, and at the end.
    pub bounds: Vec<(usize, usize)>,
    /// Messages that were taken and never sent.
    pub unmatched: usize,
}

/// What a worker does from a moment on.
#[derive(Clone, Copy)]
struct Doing {
    kind: Kind,
    operator: Option<OperatorId>,
    records: u64,
}

const BUSY: Doing = Doing { kind: Kind::Busy, operator: None, records: 0 };
const UNKNOWN: Doing = Doing { kind: Kind::Unknown, operator: None, records: 0 };
const PARKED: Doing = Doing { kind: Kind::Parked, operator: None, records: 0 };

/// A moment in the log of a worker.
struct Point {
    at: Timestamp,
    /// What follows.
    doing: Doing,
    /// A message that was sent there.
    sent: Option<Message>,
    /// A message that was taken there, and the point where the activation that took it begins.
    taken: Option<(Message, usize)>,
}

/// The moments of a worker, as its log goes on.
#[derive(Default)]
struct Points {
    points: Vec<Point>,
    /// The activations under way: the operator, and the point where each begins.
    active: Vec<(OperatorId, usize)>,
    /// Where the worker has gone to sleep, before the activations that follow.
    parked: Option<usize>,
}

impl Points {
    fn of(events: &[Timed]) -> Vec<Point> {
        let mut points = Points::default();
        events.iter().for_each(|(at, event)| points.add(*at, event));
        points.points
    }

    fn push(&mut self, at: Timestamp, doing: Doing) {
        self.points.push(Point { at, doing, sent: None, taken: None });
    }

    fn add(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::Started(operator) => {
                // What is around it is a scope: it keeps things going, and has nothing of its own.
                self.change_active(|doing| *doing = BUSY);
                self.active.push((*operator, self.points.len()));
                let (kind, operator) = (Kind::Spinning, Some(*operator));
                self.push(at, Doing { kind, operator, records: 0 });
            }
            Event::Stopped(operator) => {
                while self.active.pop().is_some_and(|(id, _)| id != *operator) {}
                if self.active.is_empty() {
                    self.parked = None;
                }
                self.push(at, BUSY);
            }
            Event::Sent(message) if message.from != message.to => {
                self.go_on(at);
                if let Some(point) = self.points.last_mut() {
                    point.sent = Some(*message);
                }
            }
            Event::Received(message) => self.received(at, message),
            Event::Parked => {
                self.parked = Some(self.points.len());
                self.push(at, PARKED);
            }
            Event::Unparked => self.push(at, BUSY),
            Event::Sent(_) | Event::Operator { .. } | Event::Channel { .. } | Event::Ended(_) => {}
        }
    }

    /// A moment at which the worker goes on with what it does.
    fn go_on(&mut self, at: Timestamp) {
        let doing = self.points.last().map_or(UNKNOWN, |last| last.doing);
        self.push(at, Doing { records: 0, ..doing });
    }

    /// Changes what the innermost activation has been doing so far.
    fn change_active(&mut self, change: impl Fn(&mut Doing)) {
        let Some((operator, begin)) = self.active.last() else { return };
        let own = |point: &&mut Point| point.doing.operator == Some(*operator);
        self.points[*begin..].iter_mut().filter(own).for_each(|point| change(&mut point.doing));
    }

    fn received(&mut self, at: Timestamp, message: &Message) {
        let Some((_, begin)) = self.active.last().copied() else { return };
        self.change_active(|doing| doing.kind = Kind::Processing);
        self.points[begin].doing.records += message.records.unsigned_abs();
        if message.from == message.to {
            return;
        }
        if let Some(parked) = self.parked.take() {
            self.points[parked].doing.kind = Kind::Waiting;
        }
        self.go_on(at);
        if let Some(point) = self.points.last_mut() {
            point.taken = Some((*message, begin));
        }
    }
}

/// A message that was taken: it, where the activation that took it begins, and where it was taken.
struct Taken {
    message: Message,
    begin: Option<usize>,
    at: usize,
}

/// What a message is known by at both of its ends.
type Key = (usize, usize, usize, usize);

fn key(message: &Message) -> Key {
    (message.from, message.to, message.channel, message.number)
}

impl Graph {
    /// The graph of what workers logged between two moments. `logs`: the events of each worker, in
    /// order; there may be more of them than lie in between.
    pub fn of(logs: &[Vec<Timed>], from: Timestamp, until: Timestamp) -> Graph {
        let mut graph = Graph { from, until, ..Graph::default() };
        let mut sent: HashMap<Key, usize> = HashMap::new();
        let mut taken = Vec::new();
        for (worker, events) in logs.iter().enumerate() {
            let mut last = graph.vertex(worker, from);
            let (begin, mut doing) = (last, UNKNOWN);
            // The vertex of each point; none before the snapshot.
            let mut vertices = Vec::new();
            for point in Points::of(events) {
                if point.at > until {
                    break;
                }
                if point.at >= from {
                    last = graph.go_on(last, point.at, doing);
                    sent.extend(point.sent.map(|message| (key(&message), last)));
                    taken.extend(point.taken.map(|(message, begin)| Taken {
                        message,
                        begin: vertices.get(begin).copied().flatten(),
                        at: last,
                    }));
                }
                vertices.push((point.at >= from).then_some(last));
                doing = point.doing;
            }
            let ends = events.last().is_none_or(|(at, _)| *at <= until);
            let end = graph.go_on(last, until, if ends { UNKNOWN } else { doing });
            graph.bounds.push((begin, end));
        }
        taken.into_iter().for_each(|taken| graph.message(&sent, &taken));
        graph
    }

    fn vertex(&mut self, worker: usize, at: Timestamp) -> usize {
        self.vertices.push(Vertex { at, worker });
        self.vertices.len() - 1
    }

    /// Goes on from a vertex to a later moment of the same worker.
    fn go_on(&mut self, source: usize, at: Timestamp, doing: Doing) -> usize {
        let target = self.vertex(self.vertices[source].worker, at);
        let Doing { kind, operator, records } = doing;
        self.edges.push(Edge { kind, source, target, operator, records });
        target
    }

    /// Adds the edge of a message: to where the activation that took it begins, unless it was
    /// sent later.
    fn message(&mut self, sent: &HashMap<Key, usize>, taken: &Taken) {
        let Some(source) = sent.get(&key(&taken.message)).copied() else {
            self.unmatched += 1;
            return;
        };
        let at = self.vertices[source].at;
        let target = taken.begin.filter(|begin| self.vertices[*begin].at >= at);
        let target = target.unwrap_or(taken.at);
        // Clocks of one host are one clock; those of others may be wrong.
        if self.vertices[target].at >= at {
            let (kind, records) = (Kind::Data, taken.message.records.unsigned_abs());
            self.edges.push(Edge { kind, source, target, operator: None, records });
        }
    }

    /// How long an edge is.
    pub fn duration_ns(&self, edge: &Edge) -> u64 {
        self.vertices[edge.target].at.saturating_sub(self.vertices[edge.source].at)
    }

    /// How much each edge is part of the critical paths.
    pub fn participation(&self) -> Participation {
        let step = |edge: &Edge| Step {
            source: edge.source,
            target: edge.target,
            duration_ns: self.duration_ns(edge),
            is_open: edge.kind != Kind::Waiting,
        };
        let steps: Vec<Step> = self.edges.iter().map(step).collect();
        let (starts, ends): (Vec<_>, Vec<_>) = self.bounds.iter().copied().unzip();
        let length_ns = self.until.saturating_sub(self.from);
        participation(&steps, self.vertices.len(), &starts, &ends, length_ns)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn message(from: usize, to: usize, number: usize) -> Message {
        Message { channel: 9, from, to, number, records: 5 }
    }

    /// A worker runs an operator in a scope and sends; another one sleeps until that comes.
    fn logs() -> Vec<Vec<Timed>> {
        let one = vec![
            (10, Event::Started(1)),
            (12, Event::Started(2)),
            (15, Event::Received(message(0, 0, 0))),
            (20, Event::Sent(message(0, 1, 0))),
            (30, Event::Stopped(2)),
            (35, Event::Stopped(1)),
            (40, Event::Started(3)),
            (50, Event::Stopped(3)),
            (55, Event::Parked),
            (90, Event::Unparked),
        ];
        let two = vec![
            (5, Event::Parked),
            (22, Event::Unparked),
            (24, Event::Started(2)),
            (24, Event::Received(message(0, 1, 0))),
            (60, Event::Stopped(2)),
            (95, Event::Parked),
        ];
        vec![one, two]
    }

    fn durations(graph: &Graph, worker: usize) -> BTreeMap<Kind, u64> {
        let mut sums = BTreeMap::new();
        for edge in &graph.edges {
            if edge.kind != Kind::Data && graph.vertices[edge.source].worker == worker {
                *sums.entry(edge.kind).or_default() += graph.duration_ns(edge);
            }
        }
        sums
    }

    #[test]
    fn what_a_worker_did_adds_up_to_the_snapshot() {
        let graph = Graph::of(&logs(), 0, 100);
        let one = durations(&graph, 0);
        let expected = [
            (Kind::Processing, 18),
            (Kind::Spinning, 10),
            (Kind::Busy, 2 + 5 + 5 + 5),
            (Kind::Parked, 35),
            (Kind::Unknown, 10 + 10),
        ];
        assert_eq!(one, expected.into_iter().collect());
        let two = durations(&graph, 1);
        assert_eq!(two[&Kind::Waiting], 17);
        assert_eq!(two[&Kind::Processing], 36);
        for worker in [&one, &two] {
            assert_eq!(worker.values().sum::<u64>(), 100);
        }
        let (data, unmatched): (Vec<_>, _) =
            (graph.edges.iter().filter(|e| e.kind == Kind::Data).collect(), graph.unmatched);
        assert_eq!((data.len(), unmatched, graph.duration_ns(data[0])), (1, 0, 4));
    }

    #[test]
    fn participation_adds_up_and_leaves_out_who_waits() {
        let graph = Graph::of(&logs(), 0, 100);
        let found = graph.participation();
        assert!((found.check.unwrap() - 1.0).abs() < 1e-12, "{:?}", found.check);
        for (edge, share) in graph.edges.iter().zip(&found.shares) {
            assert!(edge.kind != Kind::Waiting || *share == 0.0);
        }
    }

    #[test]
    fn a_snapshot_holds_what_overlaps_it_clipped() {
        let graph = Graph::of(&logs(), 14, 58);
        for worker in [0, 1] {
            assert_eq!(durations(&graph, worker).values().sum::<u64>(), 44);
        }
        assert_eq!(durations(&graph, 0)[&Kind::Processing], 16);
        assert_eq!(durations(&graph, 0)[&Kind::Parked], 3);
        assert!((graph.participation().check.unwrap() - 1.0).abs() < 1e-12);
    }
}
