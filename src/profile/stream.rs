//! Snapshots of the activity graph, as chunks of events come.
//!
//! Snapshots tumble: each is as long as the one before it and begins where that one ends. The first
//! begins where all workers have told something. One is complete once every worker has told all of
//! it; then it is handed out, and what it was made of is freed. An activity that goes on beyond the
//! end is clipped to it, and so is a message that is on the way: what remains of both belongs to
//! the next snapshot.
//!
//! What is kept is what came since the last complete snapshot. Where that grows beyond a bound, as
//! when one worker says nothing for very long, all of it is given up ([`Stream::given_up`]) and
//! snapshots begin anew.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::event::{Event, Progress};
use super::graph::{Edge, Graph, Kind, Vertex};
use super::invariant::{Invariants, Limits, Violation};
use super::names::Names;
use super::trace::Chunk;
use super::track::{Activation, Key, Listener, Sent, Taken, Track};
use crate::repr::Timestamp;

/// So many moments are kept, over all workers.
const MOMENTS_MAX: usize = 16 << 20;
/// How long messages may have been on the way when events begin to be told.
const SETTLING_NS: u64 = 100_000_000;
/// A message that was not taken in so many snapshots never will be.
const SNAPSHOTS_ON_THE_WAY: u64 = 100;

/// What all workers tell together.
#[derive(Default)]
struct Shared {
    /// Messages that left and were not taken.
    sent: HashMap<Key, Sent, FixedState>,
    /// Messages that were taken, in the order in which workers told of them.
    taken: Vec<Taken>,
    invariants: Invariants,
    worker: usize,
}

impl Listener for Shared {
    fn sent(&mut self, key: Key, sent: Sent) {
        self.sent.insert(key, sent);
    }

    fn taken(&mut self, taken: Taken) {
        self.taken.push(taken);
    }

    fn ended(&mut self, activation: Activation) {
        self.invariants.activation(self.worker, &activation);
    }

    fn progressed(&mut self, at: Timestamp, progress: &Progress) {
        self.invariants.progress(at, progress);
    }
}

/// Snapshots, one after the other.
pub struct Stream {
    length_ns: u64,
    tracks: Vec<Track>,
    shared: Shared,
    names: Names,
    /// When the snapshot begins that is not complete.
    from: Option<Timestamp>,
    /// What is taken before this may have been sent before anything was told.
    settled: Timestamp,
    given_up: u64,
}

impl Stream {
    /// Snapshots of this length, which is more than nothing.
    pub fn new(length_ns: u64, limits: Limits) -> Stream {
        let mut shared = Shared::default();
        shared.invariants.limits = limits;
        let (tracks, names) = (Vec::new(), Names::default());
        let (length_ns, from, settled, given_up) = (length_ns.max(1), None, 0, 0);
        Stream { length_ns, tracks, shared, names, from, settled, given_up }
    }

    /// Sets the limits of invariants, for what comes.
    pub fn limit(&mut self, limits: Limits) {
        self.shared.invariants.limits = limits;
    }

    /// What operators are called and belong to.
    pub fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    /// How often all that was kept was given up.
    pub fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Takes what a worker tells.
    pub fn add(&mut self, chunk: &Chunk) {
        let peers = chunk.peers.min(WORKERS_MAX);
        let known = chunk.worker.saturating_add(1).max(peers).min(WORKERS_MAX);
        for worker in self.tracks.len()..known {
            self.tracks.push(Track::new(worker, peers));
        }
        let Some(track) = self.tracks.get_mut(chunk.worker) else { return };
        self.shared.worker = chunk.worker;
        for (at, event) in &chunk.events {
            if !is_known(event) {
                self.names.add(event);
                if matches!(event, Event::Missed(_)) {
                    self.settled = self.settled.max(at.saturating_add(SETTLING_NS));
                }
            }
            track.add(*at, event, &mut self.shared);
        }
        track.first.get_or_insert(chunk.through);
        track.through = track.through.max(chunk.through);
        if self.tracks.iter().map(Track::len).sum::<usize>() > MOMENTS_MAX {
            self.give_up();
        }
    }

    /// Forgets all that is not complete; snapshots begin where all have told something again.
    fn give_up(&mut self) {
        self.given_up += 1;
        let through = self.tracks.iter().map(|track| track.through).max().unwrap_or(0);
        self.tracks.iter_mut().for_each(|track| track.begin(through));
        self.shared.sent.clear();
        self.shared.taken.clear();
        self.from = Some(through);
        self.settled = through.saturating_add(SETTLING_NS);
    }

    /// When the snapshot ends that is the next to be complete.
    pub fn next_end(&self) -> Option<Timestamp> {
        Some(self.from?.saturating_add(self.length_ns))
    }

    /// Makes the next snapshot, if all workers have told all of it.
    pub fn complete(&mut self, into: &mut Snapshot) -> bool {
        let through = self.tracks.iter().map(|track| track.through).min();
        let Some(through) = through else { return false };
        let from = match self.from {
            Some(from) => from,
            None => {
                let firsts: Option<Vec<_>> = self.tracks.iter().map(|track| track.first).collect();
                let Some(from) = firsts.and_then(|firsts| firsts.into_iter().max()) else {
                    return false;
                };
                self.tracks.iter_mut().for_each(|track| track.begin(from));
                // Of what was sent before not all takers tell.
                self.shared.sent.retain(|_, sent| sent.at >= from);
                self.settled = self.settled.max(from.saturating_add(SETTLING_NS));
                *self.from.insert(from)
            }
        };
        let until = from.saturating_add(self.length_ns);
        if through < until {
            return false;
        }
        self.close(from, until, into);
        true
    }

    /// Makes a snapshot of what has been told, though it is shorter than the others; false where
    /// that is nothing.
    pub fn finish(&mut self, into: &mut Snapshot) -> bool {
        let through = self.tracks.iter().map(|track| track.through).min();
        match (self.from, through) {
            (Some(from), Some(through)) if from < through => {
                self.close(from, through, into);
                true
            }
            _ => false,
        }
    }

    fn close(&mut self, from: Timestamp, until: Timestamp, into: &mut Snapshot) {
        into.violations.clear();
        let graph = &mut into.graph;
        (graph.from, graph.until, graph.unmatched) = (from, until, 0);
        graph.vertices.clear();
        graph.edges.clear();
        graph.bounds.clear();
        for (worker, track) in self.tracks.iter().enumerate() {
            let start = graph.vertices.len();
            for moment in track.until(until) {
                let source = graph.vertices.len();
                graph.vertices.push(Vertex { at: moment.at, worker });
                let (kind, operator, records) = (moment.kind, moment.operator, moment.records);
                graph.edges.push(Edge { kind, source, target: source + 1, operator, records });
            }
            graph.bounds.push((start, graph.vertices.len()));
            graph.vertices.push(Vertex { at: until, worker });
        }
        graph.locals = graph.edges.len();
        self.messages(graph);
        self.on_the_way(graph);
        self.shared.invariants.close(graph, &mut into.violations);
        // What is on the way to a dataflow that is gone is never taken.
        let gone = self.names.forget_ended();
        if !gone.is_empty() {
            let is_gone = |channel| gone.iter().any(|dataflow| dataflow.contains(&channel));
            self.shared.sent.retain(|key, _| !is_gone(key.channel));
        }
        self.tracks.iter_mut().for_each(|track| track.begin(until));
        self.from = Some(until);
    }

    /// The edges of the messages that were taken in the snapshot.
    fn messages(&mut self, graph: &mut Graph) {
        let mut later = Vec::new();
        for taken in std::mem::take(&mut self.shared.taken) {
            if let Some(sent) = self.shared.sent.get(&taken.key) {
                self.waited(graph, &taken, sent.at);
            }
            if taken.at > graph.until {
                later.push(taken);
                continue;
            }
            let Some(sent) = self.shared.sent.remove(&taken.key) else {
                if taken.at > self.settled {
                    graph.unmatched += 1;
                    self.shared.invariants.unmatched(&taken);
                }
                continue;
            };
            self.shared.invariants.message(&taken, &sent);
            let Some(source) = self.vertex(graph, taken.key.from, sent.moment) else { continue };
            // To where it woke the worker, or where the activation that took it began, unless it
            // was sent later. Clocks of one host are one clock; those of others may be wrong.
            let woken = taken.slept.map(|(_, woken)| woken);
            let targets = [woken, taken.begin, Some(taken.moment)].into_iter().flatten();
            let at = graph.vertices[source].at.max(sent.at);
            let target = targets
                .filter_map(|moment| self.vertex(graph, taken.key.to, moment))
                .find(|target| graph.vertices[*target].at >= at);
            if let Some(target) = target {
                graph.edges.push(message(&taken.key, source, target, taken.records));
            }
        }
        self.shared.taken = later;
    }

    /// Where a message that was sent before the worker woke is the first thing that it took, the
    /// worker had waited for it.
    fn waited(&self, graph: &mut Graph, taken: &Taken, sent: Timestamp) {
        let (worker, Some((asleep, woken))) = (taken.key.to, taken.slept) else { return };
        let Some(track) = self.tracks.get(worker).filter(|track| sent <= track.at(woken)) else {
            return;
        };
        let (start, end) = graph.bounds[worker];
        let (from, to) = (start + track.place(asleep), (start + track.place(woken)).min(end));
        // Each worker before has a vertex more than edges.
        for edge in &mut graph.edges[from.min(to) - worker..to - worker] {
            if edge.kind == Kind::Parked {
                edge.kind = Kind::Waiting;
            }
        }
    }

    /// The edges of the messages that are on the way when the snapshot ends.
    fn on_the_way(&mut self, graph: &mut Graph) {
        let oldest = self.length_ns.saturating_mul(SNAPSHOTS_ON_THE_WAY);
        let oldest = graph.until.saturating_sub(oldest);
        self.shared.sent.retain(|_, sent| sent.at >= oldest);
        let sent = self.shared.sent.iter().filter(|(_, sent)| sent.at < graph.until);
        let mut sent: Vec<(Key, Sent)> = sent.map(|(key, sent)| (*key, *sent)).collect();
        sent.sort_unstable_by_key(|(key, sent)| (sent.at, *key));
        for (key, sent) in sent {
            let source = self.vertex(graph, key.from, sent.moment);
            let target = graph.bounds.get(key.to).map(|(_, end)| *end);
            if let (Some(source), Some(target)) = (source, target) {
                graph.edges.push(message(&key, source, target, sent.records));
            }
        }
    }

    /// The vertex of a moment of a worker.
    fn vertex(&self, graph: &Graph, worker: usize, moment: usize) -> Option<usize> {
        let (start, end) = *graph.bounds.get(worker)?;
        Some((start + self.tracks[worker].place(moment)).min(end))
    }
}

/// No more workers than these are believed in.
const WORKERS_MAX: usize = 1 << 16;

/// Whether an event is one of those that come often, and name nothing.
fn is_known(event: &Event) -> bool {
    matches!(event, Event::Started(_) | Event::Stopped(_) | Event::Sent(_) | Event::Received(_))
}

fn message(key: &Key, source: usize, target: usize, records: u64) -> Edge {
    let kind = if key.is_control { Kind::Control } else { Kind::Data };
    Edge { kind, source, target, operator: None, records }
}

/// A snapshot, and what is wrong in it.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The activities.
    pub graph: Graph,
    /// Which invariants do not hold.
    pub violations: Vec<Violation>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::super::event::{Message, Timed};
    use super::super::invariant::Invariant;
    use super::super::participation::Participation;
    use super::super::pattern::patterns;
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

    fn chunk(worker: usize, peers: usize, through: Timestamp, events: &[Timed]) -> Chunk {
        Chunk { worker, peers, through, events: events.to_vec() }
    }

    fn snapshot(logs: &[Vec<Timed>], from: Timestamp, until: Timestamp) -> Snapshot {
        let mut stream = Stream::new(until - from, Limits::default());
        for (worker, events) in logs.iter().enumerate() {
            stream.add(&chunk(worker, logs.len(), 1000, events));
        }
        stream.from = Some(from);
        stream.tracks.iter_mut().for_each(|track| track.begin(from));
        let mut snapshot = Snapshot::default();
        assert!(stream.complete(&mut snapshot));
        snapshot
    }

    fn durations(graph: &Graph, worker: usize) -> BTreeMap<Kind, u64> {
        let mut sums = BTreeMap::new();
        for edge in &graph.edges[..graph.locals] {
            if graph.vertices[edge.source].worker == worker {
                *sums.entry(edge.kind).or_default() += graph.duration_ns(edge);
            }
        }
        sums
    }

    fn check(graph: &Graph) -> Option<f64> {
        let mut participation = Participation::default();
        participation.find(graph);
        for (edge, share) in graph.edges.iter().zip(&participation.shares) {
            assert!(edge.kind != Kind::Waiting || *share == 0.0);
            assert!(*share >= 0.0 && *share <= 1.0 + 1e-9);
        }
        participation.check
    }

    #[test]
    fn what_a_worker_did_adds_up_to_the_snapshot() {
        let graph = snapshot(&logs(), 0, 100).graph;
        let one = durations(&graph, 0);
        let expected = [
            (Kind::Processing, 18),
            (Kind::Spinning, 10),
            (Kind::Busy, 2 + 5 + 5 + 5 + 10),
            (Kind::Parked, 35),
            (Kind::Unknown, 10),
        ];
        assert_eq!(one, expected.into_iter().collect());
        let two = durations(&graph, 1);
        assert_eq!(two[&Kind::Waiting], 17);
        assert_eq!(two[&Kind::Processing], 36);
        for worker in [&one, &two] {
            assert_eq!(worker.values().sum::<u64>(), 100);
        }
        // The message leads to where it woke the worker.
        let data: Vec<_> = graph.edges[graph.locals..].to_vec();
        assert_eq!((data.len(), graph.unmatched, graph.duration_ns(&data[0])), (1, 0, 2));
        assert_eq!((data[0].kind, data[0].records), (Kind::Data, 5));
        assert!((check(&graph).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_snapshot_holds_what_overlaps_it_clipped() {
        let graph = snapshot(&logs(), 14, 58).graph;
        for worker in [0, 1] {
            assert_eq!(durations(&graph, worker).values().sum::<u64>(), 44);
        }
        assert_eq!(durations(&graph, 0)[&Kind::Processing], 16);
        assert_eq!(durations(&graph, 0)[&Kind::Parked], 3);
        assert!((check(&graph).unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_message_on_the_way_is_in_both_snapshots() {
        let sent = vec![(0, Event::Parked), (20, Event::Sent(message(0, 1, 3)))];
        let taken = vec![
            (0, Event::Parked),
            (70, Event::Unparked),
            (71, Event::Started(4)),
            (71, Event::Received(message(0, 1, 3))),
            (80, Event::Stopped(4)),
        ];
        let mut stream = Stream::new(50, Limits::default());
        stream.add(&chunk(0, 2, 100, &sent));
        stream.add(&chunk(1, 2, 100, &taken));
        let mut snapshots = Vec::new();
        let mut snapshot = Snapshot::default();
        while stream.complete(&mut snapshot) {
            let graph = &snapshot.graph;
            let remote = graph.edges[graph.locals..].iter();
            let ends = |edge: &Edge| (graph.vertices[edge.source], graph.vertices[edge.target]);
            snapshots.push(remote.map(ends).collect::<Vec<_>>());
        }
        let vertex = |at, worker| Vertex { at, worker };
        assert_eq!(snapshots, [[(vertex(20, 0), vertex(50, 1))], [(vertex(50, 0), vertex(70, 1))]]);
        assert!(stream.shared.sent.is_empty() && stream.shared.taken.is_empty());
    }

    #[test]
    fn what_is_missing_is_unknown() {
        let log = vec![
            (0, Event::Started(1)),
            (10, Event::Missed(99)),
            (30, Event::Stopped(7)),
            (40, Event::Parked),
        ];
        let graph = snapshot(&[log], 0, 50).graph;
        let expected =
            [(Kind::Spinning, 10), (Kind::Unknown, 20), (Kind::Busy, 10), (Kind::Parked, 10)];
        assert_eq!(durations(&graph, 0), expected.into_iter().collect());
    }

    /// The logs of workers that send each other messages at random.
    fn simulated(seed: u64, workers: usize, steps: usize) -> Vec<Vec<Timed>> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut logs = vec![vec![]; workers];
        let mut clocks = vec![1000u64; workers];
        let mut inboxes: Vec<Vec<(Timestamp, Message)>> = vec![vec![]; workers];
        let mut numbers = BTreeMap::new();
        for step in 0..steps {
            let worker = (0..workers).min_by_key(|worker| clocks[*worker]).unwrap();
            let (log, clock) = (&mut logs[worker], &mut clocks[worker]);
            let tick = |clock: &mut u64, random: &mut StdRng| {
                *clock += random.random_range(0..300);
                *clock
            };
            if inboxes[worker].is_empty() && random.random_range(0..3) == 0 {
                log.push((tick(clock, &mut random), Event::Parked));
                *clock += 2000;
                log.push((tick(clock, &mut random), Event::Unparked));
                continue;
            }
            log.push((tick(clock, &mut random), Event::Started(1)));
            log.push((tick(clock, &mut random), Event::Started(2 + step % 3)));
            for (sent, message) in std::mem::take(&mut inboxes[worker]) {
                *clock = tick(clock, &mut random).max(sent);
                log.push((*clock, Event::Received(message)));
            }
            for (to, inbox) in inboxes.iter_mut().enumerate() {
                if random.random_range(0..3) == 0 {
                    let number = numbers.entry((worker, to)).or_insert(0);
                    let sent = message(worker, to, *number);
                    *number += 1;
                    let at = tick(clock, &mut random);
                    log.push((at, Event::Sent(sent)));
                    if to == worker {
                        log.push((at, Event::Received(sent)));
                    } else {
                        inbox.push((at, sent));
                    }
                }
            }
            log.push((tick(clock, &mut random), Event::Stopped(2 + step % 3)));
            log.push((tick(clock, &mut random), Event::Stopped(1)));
        }
        logs
    }

    /// All snapshots of logs that come in pieces, which end where a worker does nothing.
    fn snapshots(logs: &[Vec<Timed>], length: u64, pieces: usize) -> Vec<Snapshot> {
        let mut stream = Stream::new(length, Limits::default());
        let end = logs.iter().filter_map(|log| log.last()).map(|last| last.0).min().unwrap();
        let start = logs.iter().map(|log| log[0].0).max().unwrap();
        let (mut rests, mut found) = (logs.iter().map(|log| &log[..]).collect::<Vec<_>>(), vec![]);
        let mut kept_max = 0;
        for piece in 1..=pieces as u64 {
            let through = start + (end - start) * piece / pieces as u64;
            for (worker, rest) in rests.iter_mut().enumerate() {
                let before = rest.partition_point(|(at, _)| *at <= through);
                let idle = |event: &Event| matches!(event, Event::Stopped(1));
                let behind = rest[..before].iter().rposition(|(_, event)| idle(event));
                let (events, others) = rest.split_at(behind.map_or(0, |place| place + 1));
                let told = if piece == pieces as u64 {
                    through
                } else {
                    events.last().map_or(0, |event| event.0)
                };
                *rest = others;
                stream.add(&chunk(worker, logs.len(), told, events));
            }
            let mut snapshot = Snapshot::default();
            while stream.complete(&mut snapshot) {
                found.push(snapshot.clone());
            }
            kept_max = kept_max.max(stream.tracks.iter().map(Track::len).sum());
        }
        if pieces > 20 {
            let all: usize = logs.iter().map(Vec::len).sum();
            assert!(kept_max < all / 2, "{kept_max} of {all} are kept");
        }
        found
    }

    #[test]
    fn snapshots_add_up_and_have_paths_that_do() {
        for seed in 0..30 {
            let logs = simulated(seed, 1 + seed as usize % 5, 400);
            for length in [777, 5_000, 40_000] {
                let found = snapshots(&logs, length, 1);
                assert!(!found.is_empty() || length > 5_000);
                for Snapshot { graph, .. } in &found {
                    for (worker, (start, end)) in graph.bounds.iter().enumerate() {
                        let sum: u64 = durations(graph, worker).values().sum();
                        assert_eq!(sum, length, "seed {seed}");
                        assert_eq!(graph.vertices[*start].at, graph.from);
                        assert_eq!(graph.vertices[*end].at, graph.until);
                    }
                    for edge in &graph.edges {
                        let (source, target) = (edge.source, edge.target);
                        assert!(graph.vertices[source].at <= graph.vertices[target].at);
                    }
                    assert_eq!(graph.unmatched, 0);
                    if let Some(check) = check(graph) {
                        assert!((check - 1.0).abs() < 1e-9, "seed {seed}: {check}");
                    }
                }
            }
        }
    }

    /// How many paths lead over each edge, by walking all of them; none where there are too many.
    fn walked(graph: &Graph) -> Option<(u64, Vec<u64>)> {
        let (mut paths, mut counts) = (0, vec![0; graph.edges.len()]);
        let mut open: Vec<(usize, Vec<usize>)> =
            graph.bounds.iter().map(|(start, _)| (*start, vec![])).collect();
        while let Some((vertex, way)) = open.pop() {
            if graph.bounds.iter().any(|(_, end)| *end == vertex) {
                paths += 1;
                way.iter().for_each(|edge| counts[*edge] += 1);
            }
            for (number, edge) in graph.edges.iter().enumerate() {
                if edge.source == vertex && edge.kind != Kind::Waiting {
                    let way = way.iter().copied().chain([number]).collect();
                    open.push((edge.target, way));
                }
            }
            if paths > 5_000 {
                return None;
            }
        }
        Some((paths, counts))
    }

    #[test]
    fn participation_is_what_walking_all_paths_finds() {
        let (mut compared, mut several) = (0, 0);
        for seed in 0..40 {
            let logs = simulated(seed, 1 + seed as usize % 4, 60);
            for Snapshot { graph, .. } in snapshots(&logs, 2_500, 1) {
                let Some((paths, counts)) = walked(&graph) else { continue };
                let mut found = Participation::default();
                found.find(&graph);
                assert_eq!(found.check.is_none(), paths == 0, "seed {seed}");
                for (number, edge) in graph.edges.iter().enumerate().filter(|_| paths > 0) {
                    let part = graph.duration_ns(edge) as f64 / graph.length_ns() as f64;
                    let share = counts[number] as f64 / paths as f64 * part;
                    assert!((found.shares[number] - share).abs() < 1e-12, "seed {seed}");
                }
                compared += 1;
                several += usize::from(paths > 10);
            }
        }
        assert!(compared > 100 && several > 20, "{compared} and {several}");
    }

    #[test]
    fn snapshots_are_the_same_however_the_events_come() {
        for seed in 0..20 {
            let logs = simulated(seed, 3, 2000);
            let whole = snapshots(&logs, 30_000, 1);
            let pieces = snapshots(&logs, 30_000, 40);
            // The last ones are not told whole in pieces that end earlier.
            assert!(whole.len() >= pieces.len() && pieces.len() > 5, "{}", pieces.len());
            for (one, other) in whole.iter().zip(&pieces) {
                let kinds = |graph: &Graph| {
                    (0..3).map(|worker| durations(graph, worker)).collect::<Vec<_>>()
                };
                assert_eq!(kinds(&one.graph), kinds(&other.graph), "seed {seed}");
            }
        }
    }

    #[test]
    fn limits_are_strict_and_violations_name_who_did_it() {
        let limits = Limits { operator_ns: Some(36), message_ns: Some(3), ..Limits::default() };
        let found = |limits| {
            let mut stream = Stream::new(100, limits);
            for (worker, events) in logs().iter().enumerate() {
                stream.add(&chunk(worker, 2, 1000, events));
            }
            let mut snapshot = Snapshot::default();
            assert!(stream.complete(&mut snapshot));
            snapshot.violations
        };
        let slow = found(limits);
        assert_eq!(slow.len(), 1, "an activation of 36 does not take longer: {slow:?}");
        let Violation { invariant, worker, measured, allowed, .. } = slow[0];
        assert_eq!((invariant, worker), (Invariant::MaxMessage, Some(1)));
        assert_eq!((measured, allowed), (4, 3));
        let slow = found(Limits { operator_ns: Some(35), ..Limits::default() });
        assert_eq!((slow.len(), slow[0].operator, slow[0].at), (1, Some(2), 24));
    }

    #[test]
    fn silence_is_told_once_for_each_multiple() {
        let progress = |number, epoch| Progress { channel: 7, from: 0, number, epoch };
        let log = vec![
            (0, Event::ProgressSent(progress(0, Some(5)))),
            (100, Event::ProgressSent(progress(1, Some(5)))),
        ];
        let limits = Limits {
            progress_ns: Some(30),
            epoch_ns: Some(99),
            some_progress: true,
            ..Limits::default()
        };
        let mut stream = Stream::new(50, limits);
        stream.add(&chunk(0, 2, 400, &log));
        stream.add(&chunk(1, 2, 400, &[(0, Event::Parked)]));
        let (mut snapshot, mut found) = (Snapshot::default(), Vec::new());
        while stream.complete(&mut snapshot) {
            found.append(&mut snapshot.violations);
        }
        let of = |what| found.iter().filter(move |found| found.invariant == what);
        let allowed: Vec<_> = of(Invariant::MaxProgress).map(|found| found.allowed).collect();
        assert_eq!(allowed[..3], [30, 60, 90], "of the first gap");
        assert_eq!(of(Invariant::MaxEpoch).map(|found| found.measured).collect::<Vec<_>>(), [100]);
        let silent: Vec<_> = of(Invariant::SomeProgress).map(|found| found.worker).collect();
        assert_eq!(silent, [Some(1)]);
        assert!(stream.shared.invariants.is_idle());
    }

    #[test]
    fn what_leads_up_to_a_wait_is_counted_once_for_each_hop() {
        let graph = snapshot(&logs(), 0, 100).graph;
        let found = patterns(&graph, 2);
        // The one wait ends where the message comes; that left in the middle of an operator.
        let data = found[&(1, Kind::Data, 0)];
        assert_eq!((data.count, data.duration_ns), (1, 2));
        assert_eq!(found[&(2, Kind::Processing, 0)].count, 1);
    }
}
