//! Critical participation: how much of the longest paths through a snapshot an activity is part of.
//!
//! A transient critical path leads from the beginning of a snapshot to its end; each is as long as
//! the snapshot, and there are N of them. An edge that is on `c` of them, for a time of `d`,
//! participates with `c · d / (N · length)`, and the sum over all edges is 1. `c` is the number of
//! paths that lead to the edge times the number that lead on from it, so that two passes over the
//! edges suffice and no path is ever made.
//!
//! One second of sixteen workers has 10²¹⁰ paths and more, so those that lead on are counted in
//! numbers with an exponent of their own ([`Count`]). The other pass has all paths flow from the
//! beginning: of what comes to a vertex each edge takes the part that as many of the paths take
//! there, and that is a ratio of two neighbours' counts, an ordinary number. What flows over an
//! edge is `c / N`. Edges on which a worker waits are on no path.

use super::graph::{Edge, Graph, Kind, Links};

/// How much the exponent of a count grows at once.
const STEP_BITS: i32 = 512;

/// A count without bounds: a fraction, and how many times it is multiplied by 2^512.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    fraction: f64,
    steps: i32,
}

impl Count {
    /// One.
    pub const ONE: Count = Count { fraction: 1.0, steps: 0 };
    /// None.
    pub const ZERO: Count = Count { fraction: 0.0, steps: 0 };

    /// Whether it is none.
    pub fn is_zero(self) -> bool {
        self.fraction == 0.0
    }

    /// The sum.
    #[inline]
    fn plus(self, other: Count) -> Count {
        let step = 2f64.powi(STEP_BITS);
        let (large, small) =
            if self.steps < other.steps || self.is_zero() { (other, self) } else { (self, other) };
        let fraction = match large.steps - small.steps {
            0 => large.fraction + small.fraction,
            1 => large.fraction + small.fraction / step,
            // What is smaller than the last bit is nothing.
            _ => large.fraction,
        };
        if fraction >= step {
            Count { fraction: fraction / step, steps: large.steps + 1 }
        } else {
            Count { fraction, steps: large.steps }
        }
    }

    /// This divided by another that is not less, nor none.
    #[inline]
    fn over(self, other: Count) -> f64 {
        match other.steps - self.steps {
            0 => self.fraction / other.fraction,
            steps => self.fraction / other.fraction * 2f64.powi(-STEP_BITS * steps.clamp(-1, 3)),
        }
    }

    /// Its binary logarithm.
    pub fn log2(self) -> f64 {
        self.fraction.log2() + f64::from(self.steps) * f64::from(STEP_BITS)
    }
}

/// How much the edges of a snapshot participate, and what finding that takes.
#[derive(Debug, Default)]
pub struct Participation {
    /// How many paths there are.
    pub paths: Count,
    /// How much each edge participates; nothing, where there is no path.
    pub shares: Vec<f64>,
    /// The sum of all shares; none, where there is no path. It has to be 1.
    pub check: Option<f64>,
    leaving: Links,
    arriving: Links,
    order: Vec<u32>,
    /// How many remote edges lead to each vertex from where has not been.
    pending: Vec<u32>,
    /// The place of each vertex in the order.
    rank: Vec<u32>,
    onward: Vec<Count>,
    flow: Vec<f64>,
}

impl Participation {
    /// Finds how much each edge of a snapshot participates.
    ///
    /// Messages that lead back in time, around in a circle, which only wrong clocks can make, are
    /// on no path.
    pub fn find(&mut self, graph: &Graph) {
        self.leaving.fill(graph, |edge| edge.source);
        self.arriving.fill(graph, |edge| edge.target);
        self.put_in_order(graph);
        self.count_onward(graph);
        let starts = graph.bounds.iter().map(|(start, _)| self.onward[*start]);
        self.paths = starts.fold(Count::ZERO, Count::plus);
        self.shares.clear();
        self.shares.resize(graph.edges.len(), 0.0);
        self.check = None;
        if !self.paths.is_zero() && graph.length_ns() > 0 {
            self.let_flow(graph);
            self.check = Some(self.shares.iter().sum());
        }
    }

    /// Has each vertex come behind all from where edges lead to it. A worker goes on until it is
    /// sent something from where has not been.
    fn put_in_order(&mut self, graph: &Graph) {
        let vertices = graph.vertices.len();
        self.order.clear();
        self.rank.clear();
        self.rank.resize(vertices, u32::MAX);
        self.pending.clear();
        self.pending.extend((0..vertices).map(|vertex| self.arriving.of(vertex).len() as u32));
        let mut heads: Vec<usize> = graph.bounds.iter().map(|(start, _)| *start).collect();
        let mut ready: Vec<usize> = (0..heads.len()).collect();
        loop {
            while let Some(worker) = ready.pop() {
                let end = graph.bounds[worker].1;
                while heads[worker] <= end && self.pending[heads[worker]] == 0 {
                    let vertex = heads[worker];
                    heads[worker] += 1;
                    self.rank[vertex] = self.order.len() as u32;
                    self.order.push(vertex as u32);
                    for edge in self.leaving.of(vertex) {
                        let target = graph.edges[*edge as usize].target;
                        self.pending[target] = self.pending[target].saturating_sub(1);
                        let other = graph.vertices[target].worker;
                        if self.pending[target] == 0 && heads[other] == target && other != worker {
                            ready.push(other);
                        }
                    }
                }
            }
            // All that is left goes round in circles: the first of it goes on all the same.
            let left = (0..heads.len()).filter(|worker| heads[*worker] <= graph.bounds[*worker].1);
            let Some(worker) = left.min_by_key(|worker| graph.vertices[heads[*worker]].at) else {
                return;
            };
            self.pending[heads[worker]] = 0;
            ready.push(worker);
        }
    }

    /// Counts the paths that lead on from each vertex.
    fn count_onward(&mut self, graph: &Graph) {
        self.onward.clear();
        self.onward.resize(graph.vertices.len(), Count::ZERO);
        graph.bounds.iter().for_each(|(_, end)| self.onward[*end] = Count::ONE);
        for vertex in self.order.iter().rev().map(|vertex| *vertex as usize) {
            let mut sum = self.onward[vertex];
            if let Some(local) = graph.local_from(vertex).map(|edge| &graph.edges[edge])
                && is_open(local)
            {
                sum = sum.plus(self.onward[local.target]);
            }
            for edge in self.leaving.of(vertex) {
                let target = graph.edges[*edge as usize].target;
                if self.rank[target] > self.rank[vertex] {
                    sum = sum.plus(self.onward[target]);
                }
            }
            self.onward[vertex] = sum;
        }
    }

    /// Has all paths flow from the beginnings, and says how much flows over each edge.
    fn let_flow(&mut self, graph: &Graph) {
        let length = graph.length_ns() as f64;
        self.flow.clear();
        self.flow.resize(graph.vertices.len(), 0.0);
        for (start, _) in &graph.bounds {
            self.flow[*start] = self.onward[*start].over(self.paths);
        }
        for vertex in self.order.iter().map(|vertex| *vertex as usize) {
            let (flow, onward) = (self.flow[vertex], self.onward[vertex]);
            if flow == 0.0 {
                continue;
            }
            let local = graph.local_from(vertex).filter(|edge| is_open(&graph.edges[*edge]));
            let remote = self.leaving.of(vertex).iter().map(|edge| *edge as usize);
            for number in local.into_iter().chain(remote) {
                let edge = &graph.edges[number];
                if self.rank[edge.target] > self.rank[vertex] {
                    let part = flow * self.onward[edge.target].over(onward);
                    self.flow[edge.target] += part;
                    self.shares[number] = part * (graph.duration_ns(edge) as f64 / length);
                }
            }
        }
    }
}

/// Whether paths may lead over an edge.
fn is_open(edge: &Edge) -> bool {
    edge.kind != Kind::Waiting
}

#[cfg(test)]
mod tests {
    use super::super::graph::Vertex;
    use super::*;

    /// A graph of workers whose local edges take the durations, and of remote edges between
    /// vertices, which are numbered by worker. A local edge of `None` is a wait that takes all.
    fn graph(length: u64, workers: &[&[Option<u64>]], remote: &[(usize, usize)]) -> Graph {
        let mut graph = Graph { until: length, ..Graph::default() };
        for (worker, durations) in workers.iter().enumerate() {
            let start = graph.vertices.len();
            graph.vertices.push(Vertex { at: 0, worker });
            for duration in *durations {
                let source = graph.vertices.len() - 1;
                let begin = graph.vertices[source].at;
                let at = duration.map_or(length, |duration| begin + duration);
                let kind = if duration.is_some() { Kind::Busy } else { Kind::Waiting };
                graph.vertices.push(Vertex { at, worker });
                let (target, operator, records) = (source + 1, None, 0);
                graph.edges.push(Edge { kind, source, target, operator, records });
            }
            graph.bounds.push((start, graph.vertices.len() - 1));
        }
        graph.locals = graph.edges.len();
        graph.edges.extend(remote.iter().map(|(source, target)| {
            let (source, target, operator, records) = (*source, *target, None, 0);
            Edge { kind: Kind::Data, source, target, operator, records }
        }));
        graph
    }

    fn found(graph: &Graph) -> Participation {
        let mut participation = Participation::default();
        participation.find(graph);
        participation
    }

    /// On how many paths each edge is.
    fn counts(graph: &Graph) -> Vec<f64> {
        let found = found(graph);
        let count = |(edge, share): (&Edge, &f64)| {
            let part = graph.duration_ns(edge) as f64 / graph.length_ns() as f64;
            (share * 2f64.powf(found.paths.log2()) / part * 1e6).round() / 1e6
        };
        graph.edges.iter().zip(&found.shares).map(count).collect()
    }

    #[test]
    fn edges_are_on_as_many_paths_as_there_are_ways_around_them() {
        // 1→2, 2→3, 3→4, 4→5, and 2→4.
        let graph = graph(4, &[&[Some(1); 4]], &[(1, 3)]);
        assert_eq!(counts(&graph), [2., 1., 1., 2., 1.]);
        assert_eq!(found(&graph).paths.log2(), 1.0);
    }

    #[test]
    fn shares_are_those_of_the_worked_example() {
        // Two times three ways through five units: an edge before the second choice is on two of
        // six paths for each of its three alternatives, the one between the choices on all.
        let first = [Some(1), Some(1), Some(1), Some(2)];
        let graph = graph(5, &[&first, &[None], &[None]], &[(5, 1), (7, 1), (3, 6)]);
        let found = found(&graph);
        assert!((found.paths.log2() - 6f64.log2()).abs() < 1e-12);
        assert_eq!(counts(&graph)[..4], [2., 6., 6., 3.]);
        assert!((found.shares[0] - 0.0667).abs() < 1e-4);
        assert!((found.shares[1] - 0.2).abs() < 1e-12);
        assert!((found.check.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!((found.shares[4], found.shares[5]), (0.0, 0.0), "nobody waits on a path");
    }

    #[test]
    fn more_paths_than_any_float_can_count_still_add_up() {
        // At each of 50,000 moments a message leads around the next one: a golden number of times
        // more paths for each.
        let moments = 50_000;
        let local = vec![Some(1); moments];
        let around: Vec<_> = (0..moments - 1).map(|n| (n, n + 2)).collect();
        let graph = graph(moments as u64, &[&local], &around);
        let found = found(&graph);
        assert!((found.check.unwrap() - 1.0).abs() < 1e-9, "{:?}", found.check);
        let golden = (1.0 + 5f64.sqrt()) / 2.0;
        assert!((found.paths.log2() / (golden.log2() * moments as f64) - 1.0).abs() < 1e-3);
    }

    #[test]
    fn where_all_wait_there_is_no_path() {
        let one = graph(5, &[&[None], &[Some(5)]], &[]);
        let found_one = found(&one);
        assert_eq!((found_one.shares, found_one.check), (vec![0.0, 1.0], Some(1.0)));
        let both = found(&graph(5, &[&[None], &[None]], &[]));
        assert_eq!((both.paths, both.check), (Count::ZERO, None));
    }

    #[test]
    fn messages_that_lead_in_a_circle_end_it() {
        // Each is taken before what it answers was sent: clocks that are wrong.
        let graph = graph(9, &[&[Some(3); 3], &[Some(3); 3]], &[(2, 5), (6, 1)]);
        let found = found(&graph);
        assert!(found.check.is_some() && found.shares.iter().all(|share| share.is_finite()));
    }
}
