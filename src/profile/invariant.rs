//! What has to hold of every computation, and where it does not.
//!
//! | invariant | violated when |
//! |---|---|
//! | max epoch | one epoch, over all workers, takes longer from its first event to its last |
//! | max operator | one activation takes longer |
//! | max message | a message takes longer, of records or of progress |
//! | max progress | a worker has told no progress for longer, and again for each further multiple |
//! | some progress | a worker told progress less often in an epoch than there are other workers |
//! | connected | a message was taken that nobody is known to have sent |
//! | live | all workers wait, and no message is on the way |
//!
//! Limits are strict: what takes just as long does not violate them. An invariant about progress
//! holds where the engine tells of none. An epoch has ended when a whole snapshot tells nothing of
//! it.

use std::collections::BTreeMap;

use super::event::{OperatorId, Progress};
use super::graph::{Graph, Kind};
use super::track::{Activation, Sent, Taken};
use crate::repr::Timestamp;

/// So many violations are kept for the next snapshot.
const VIOLATIONS_MAX: usize = 10_000;
/// So many multiples of a limit are told of one gap.
const MULTIPLES_MAX: u64 = 100;
/// So many epochs are followed.
const EPOCHS_MAX: usize = 100_000;

/// What must hold; none: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// How long an epoch may take.
    pub epoch_ns: Option<u64>,
    /// How long an activation may take.
    pub operator_ns: Option<u64>,
    /// How long a message may take.
    pub message_ns: Option<u64>,
    /// How long a worker may tell no progress.
    pub progress_ns: Option<u64>,
    /// Whether each worker has to tell progress in each epoch.
    pub some_progress: bool,
}

/// Where something does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// What.
    pub invariant: Invariant,
    /// When it began.
    pub at: Timestamp,
    /// On which worker.
    pub worker: Option<usize>,
    /// By which operator.
    pub operator: Option<OperatorId>,
    /// What was measured, in nanoseconds; for [`Invariant::SomeProgress`], messages.
    pub measured: u64,
    /// What is allowed.
    pub allowed: u64,
}

/// Something that has to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// How long an epoch takes.
    MaxEpoch,
    /// How long an activation takes.
    MaxOperator,
    /// How long a message takes.
    MaxMessage,
    /// For how long a worker tells no progress.
    MaxProgress,
    /// That each worker tells progress.
    SomeProgress,
    /// That what was taken was sent.
    Connected,
    /// That something is going on, or on the way.
    Live,
}

impl Invariant {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Invariant::MaxEpoch => "max epoch",
            Invariant::MaxOperator => "max operator",
            Invariant::MaxMessage => "max message",
            Invariant::MaxProgress => "max progress",
            Invariant::SomeProgress => "some progress",
            Invariant::Connected => "connected",
            Invariant::Live => "live",
        }
    }
}

/// An epoch that has not ended.
#[derive(Debug)]
struct Epoch {
    first: Timestamp,
    last: Timestamp,
    /// How often each worker told progress.
    told: BTreeMap<usize, u64>,
}

/// When a worker last told progress, and how many multiples of the limit were told since.
#[derive(Debug)]
struct Told {
    at: Timestamp,
    multiples: u64,
}

/// What is watched.
#[derive(Debug, Default)]
pub(super) struct Invariants {
    pub(super) limits: Limits,
    found: Vec<Violation>,
    epochs: BTreeMap<Timestamp, Epoch>,
    told: BTreeMap<usize, Told>,
}

impl Invariants {
    fn find(&mut self, violation: Violation) {
        if self.found.len() < VIOLATIONS_MAX {
            self.found.push(violation);
        }
    }

    /// An activation ended.
    #[inline]
    pub(super) fn activation(&mut self, worker: usize, activation: &Activation) {
        let Some(allowed) = self.limits.operator_ns else { return };
        let measured = activation.until.saturating_sub(activation.since);
        if measured > allowed {
            let (worker, operator) = (Some(worker), Some(activation.operator));
            let (invariant, at) = (Invariant::MaxOperator, activation.since);
            self.find(Violation { invariant, at, worker, operator, measured, allowed });
        }
    }

    /// A message was taken.
    pub(super) fn message(&mut self, taken: &Taken, sent: &Sent) {
        let Some(allowed) = self.limits.message_ns else { return };
        let measured = taken.at.saturating_sub(sent.at);
        if measured > allowed {
            let (invariant, at, worker) = (Invariant::MaxMessage, sent.at, Some(taken.key.to));
            let operator = None;
            self.find(Violation { invariant, at, worker, operator, measured, allowed });
        }
    }

    /// A message was taken that nobody sent.
    pub(super) fn unmatched(&mut self, taken: &Taken) {
        let (invariant, at, worker) = (Invariant::Connected, taken.at, Some(taken.key.to));
        let (operator, measured, allowed) = (None, 0, 0);
        self.find(Violation { invariant, at, worker, operator, measured, allowed });
    }

    /// A worker told progress.
    pub(super) fn progress(&mut self, at: Timestamp, progress: &Progress) {
        self.silent(progress.from, at);
        self.told.insert(progress.from, Told { at, multiples: 0 });
        let Some(time) = progress.epoch else { return };
        let new = Epoch { first: at, last: at, told: BTreeMap::new() };
        let epoch = self.epochs.entry(time).or_insert(new);
        epoch.first = epoch.first.min(at);
        epoch.last = epoch.last.max(at);
        *epoch.told.entry(progress.from).or_default() += 1;
        if self.epochs.len() > EPOCHS_MAX {
            self.epochs.pop_first();
        }
    }

    /// A worker has told no progress until now.
    fn silent(&mut self, worker: usize, now: Timestamp) {
        let Some(allowed) = self.limits.progress_ns.filter(|allowed| *allowed > 0) else { return };
        let Some(told) = self.told.get_mut(&worker) else { return };
        let (at, silent) = (told.at, now.saturating_sub(told.at));
        let (before, multiples) = (told.multiples, (silent.saturating_sub(1)) / allowed);
        told.multiples = multiples.max(before);
        for multiple in (before + 1..=multiples).take(MULTIPLES_MAX as usize) {
            let (invariant, worker, operator) = (Invariant::MaxProgress, Some(worker), None);
            let measured = silent.min(allowed.saturating_mul(multiple + 1));
            let allowed = allowed * multiple;
            self.find(Violation { invariant, at, worker, operator, measured, allowed });
        }
    }

    /// Whether nothing is followed.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.epochs.is_empty() && self.found.is_empty()
    }

    /// A snapshot is complete: tells what does not hold.
    pub(super) fn close(&mut self, graph: &Graph, into: &mut Vec<Violation>) {
        let workers: Vec<usize> = self.told.keys().copied().collect();
        workers.into_iter().for_each(|worker| self.silent(worker, graph.until));
        self.ended_epochs(graph);
        self.live(graph);
        into.append(&mut self.found);
        into.sort_by_key(|violation| (violation.at, violation.invariant, violation.worker));
    }

    fn ended_epochs(&mut self, graph: &Graph) {
        let peers = graph.bounds.len();
        let ended: Vec<Epoch> =
            self.epochs.extract_if(.., |_, epoch| epoch.last < graph.from).map(|e| e.1).collect();
        for epoch in ended {
            let (at, operator) = (epoch.first, None);
            let measured = epoch.last.saturating_sub(epoch.first);
            if let Some(allowed) = self.limits.epoch_ns.filter(|allowed| measured > *allowed) {
                let (invariant, worker) = (Invariant::MaxEpoch, None);
                self.find(Violation { invariant, at, worker, operator, measured, allowed });
            }
            let needed = peers.saturating_sub(1) as u64;
            let workers = if self.limits.some_progress { peers } else { 0 };
            for worker in 0..workers {
                let measured = epoch.told.get(&worker).copied().unwrap_or(0);
                if measured < needed {
                    let (invariant, worker) = (Invariant::SomeProgress, Some(worker));
                    let allowed = needed;
                    self.find(Violation { invariant, at, worker, operator, measured, allowed });
                }
            }
        }
    }

    /// Finds when all workers wait, and nothing is on the way.
    fn live(&mut self, graph: &Graph) {
        let remote = graph.edges[graph.locals..].iter();
        let waits = graph.edges[..graph.locals].iter().filter(|edge| edge.kind == Kind::Waiting);
        let at = |vertex: usize| graph.vertices[vertex].at;
        let mut changes: Vec<(Timestamp, isize, isize)> = Vec::new();
        for edge in waits {
            changes.extend([(at(edge.source), 1, 0), (at(edge.target), -1, 0)]);
        }
        if changes.is_empty() {
            return;
        }
        for edge in remote {
            changes.extend([(at(edge.source), 0, 1), (at(edge.target), 0, -1)]);
        }
        changes.sort_unstable_by_key(|change| change.0);
        let (mut waiting, mut moving, mut since) = (0, 0, None);
        let mut index = 0;
        while index < changes.len() {
            let now = changes[index].0;
            while let Some((_, waits, moves)) = changes.get(index).filter(|c| c.0 == now) {
                (waiting, moving, index) = (waiting + waits, moving + moves, index + 1);
            }
            let is_dead = waiting == graph.bounds.len() as isize && moving == 0;
            match (is_dead, since) {
                (true, None) => since = Some(now),
                (false, Some(at)) => {
                    let (invariant, worker, operator) = (Invariant::Live, None, None);
                    let (measured, allowed) = (now - at, 0);
                    self.find(Violation { invariant, at, worker, operator, measured, allowed });
                    since = None;
                }
                _ => {}
            }
        }
    }
}
