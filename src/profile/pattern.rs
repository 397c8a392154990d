//! What leads up to a wait: the activities some steps before it, by what they are.
//!
//! Seeds are the edges on which a worker waits, and the processing right behind each. The edges of
//! hop 1 end where a seed ends, without the seed; those of hop k + 1 end where one of hop k begins.
//! For each kind, worker and hop: how many edges there are and how long they are together. An edge
//! counts once for a seed and a hop, however many ways lead to it.

use std::collections::BTreeMap;

use super::graph::{Graph, Kind, Links};

/// So many edges of one hop are followed.
const EDGES_MAX: usize = 1000;

/// What is counted together: the hop, what the edges are, and the worker where they begin.
pub type Place = (usize, Kind, usize);

/// The edges of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many.
    pub count: u64,
    /// How long they are together.
    pub duration_ns: u64,
}

/// The patterns of a snapshot, up to some hops.
pub fn patterns(graph: &Graph, hops: usize) -> BTreeMap<Place, Found> {
    let mut links = Links::default();
    links.fill(graph, |edge| edge.target);
    let ending_at = |vertex: usize| {
        let remote = links.of(vertex).iter().map(|edge| *edge as usize);
        graph.local_to(vertex).into_iter().chain(remote)
    };
    let mut found: BTreeMap<Place, Found> = BTreeMap::new();
    let (mut hop_edges, mut next) = (Vec::new(), Vec::new());
    for seed in seeds(graph) {
        hop_edges.clear();
        hop_edges.extend(ending_at(graph.edges[seed].target).filter(|edge| *edge != seed));
        for hop in 1..=hops {
            for edge in hop_edges.iter().map(|edge| &graph.edges[*edge]) {
                let place = (hop, edge.kind, graph.vertices[edge.source].worker);
                let found = found.entry(place).or_default();
                found.count += 1;
                found.duration_ns += graph.duration_ns(edge);
            }
            next.clear();
            next.extend(hop_edges.iter().flat_map(|edge| ending_at(graph.edges[*edge].source)));
            next.sort_unstable();
            next.dedup();
            next.truncate(EDGES_MAX);
            std::mem::swap(&mut hop_edges, &mut next);
        }
    }
    found
}

/// The edges on which workers wait, and the processing right behind each.
fn seeds(graph: &Graph) -> Vec<usize> {
    let mut seeds = Vec::new();
    let mut behind_wait = false;
    for (number, edge) in graph.edges[..graph.locals].iter().enumerate() {
        let begins = graph.bounds.iter().any(|(start, _)| *start == edge.source);
        behind_wait &= !begins;
        match edge.kind {
            Kind::Waiting => {
                seeds.push(number);
                behind_wait = true;
            }
            Kind::Processing if std::mem::take(&mut behind_wait) => seeds.push(number),
            // The worker finds out what to do.
            Kind::Busy => {}
            _ => behind_wait = false,
        }
    }
    seeds
}
