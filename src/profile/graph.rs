//! The activity graph of a snapshot: what each worker did from one moment to the next, and what it
//! was sent by others.
//!
//! A vertex is a moment on a worker. Local edges lead from one to the next of the same worker and
//! fill the snapshot without a gap: their durations add up to its length. Remote edges lead from
//! where a message was sent to where it was taken. What the log does not tell is
//! [`Kind::Unknown`], never guessed.
//!
//! Vertices lie by worker and then in order, and so do the local edges, one behind each vertex but
//! the last of a worker; remote edges come behind all local ones.

use super::event::OperatorId;
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
    /// Progress was on the way.
    Control,
    /// The log does not tell.
    Unknown,
}

impl Kind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Processing => "processing",
            Kind::Spinning => "spinning",
            Kind::Waiting => "waiting",
            Kind::Busy => "busy",
            Kind::Parked => "parked",
            Kind::Data => "data message",
            Kind::Control => "control message",
            Kind::Unknown => "unknown",
        }
    }
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// When it begins.
    pub from: Timestamp,
    /// When it ends.
    pub until: Timestamp,
    /// The moments.
    pub vertices: Vec<Vertex>,
    /// The activities.
    pub edges: Vec<Edge>,
    /// How many of the edges are local.
    pub locals: usize,
    /// The vertex of each worker at the beginning, and at the end.
    pub bounds: Vec<(usize, usize)>,
    /// Messages that were taken and never sent.
    pub unmatched: usize,
}

impl Graph {
    /// How long an edge is.
    pub fn duration_ns(&self, edge: &Edge) -> u64 {
        self.vertices[edge.target].at.saturating_sub(self.vertices[edge.source].at)
    }

    /// How long the snapshot is.
    pub fn length_ns(&self) -> u64 {
        self.until.saturating_sub(self.from)
    }

    /// The local edge that begins at a vertex; none at the end of a worker.
    pub fn local_from(&self, vertex: usize) -> Option<usize> {
        let worker = self.vertices[vertex].worker;
        let is_end = self.bounds.get(worker).is_none_or(|(_, end)| vertex == *end);
        // Each worker before has a vertex more than edges.
        (!is_end).then(|| vertex - worker)
    }

    /// The local edge that ends at a vertex; none at the beginning of a worker.
    pub fn local_to(&self, vertex: usize) -> Option<usize> {
        let worker = self.vertices[vertex].worker;
        let is_start = self.bounds.get(worker).is_none_or(|(start, _)| vertex == *start);
        (!is_start).then(|| vertex - 1 - worker)
    }
}

/// The remote edges of a graph by one of their ends.
#[derive(Debug, Default)]
pub struct Links {
    /// Where the edges of each vertex begin in `edges`.
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Links {
    /// Sorts the remote edges by an end.
    pub fn fill(&mut self, graph: &Graph, end: impl Fn(&Edge) -> usize) {
        let remote = &graph.edges[graph.locals..];
        self.starts.clear();
        self.starts.resize(graph.vertices.len() + 2, 0);
        self.edges.clear();
        self.edges.resize(remote.len(), 0);
        // Counted one further, so that filling moves each start to where it belongs.
        remote.iter().for_each(|edge| self.starts[end(edge) + 2] += 1);
        for vertex in 2..self.starts.len() {
            self.starts[vertex] += self.starts[vertex - 1];
        }
        for (number, edge) in remote.iter().enumerate() {
            let place = &mut self.starts[end(edge) + 1];
            self.edges[*place as usize] = (graph.locals + number) as u32;
            *place += 1;
        }
    }

    /// The remote edges of a vertex.
    pub fn of(&self, vertex: usize) -> &[u32] {
        &self.edges[self.starts[vertex] as usize..self.starts[vertex + 1] as usize]
    }
}
