//! Triangles of a random graph: loaded, and with one edge after another replaced; by a
//! worst-case-optimal plan, and by a linear one beside it.
//!
//! The graph has its size whatever `--rows` says, unless that is less.

use std::collections::BTreeMap;
use std::time::Instant;

use weir::optimizer::physical::JoinStrategy;
use weir::plan::physical::Bounds;

use crate::allocator::{engine_cpu_ns, live};
use crate::driver::{Driver, Updates};
use crate::orders::mix;
use crate::plans::{Object, triangles};
use crate::report::Figures;

/// Edges; there are ten for each node.
const EDGES: u64 = 50_000;
/// How many of them are replaced, in a commit each.
const CHANGES: u64 = 500;
/// After how many commits history is given up.
const COMPACT_EVERY: u64 = 64;

/// Directed edges, each once: for each node where they go.
struct Graph {
    nodes: u64,
    drawn: u64,
    out: Vec<Vec<i64>>,
    /// In the order in which they came.
    edges: Vec<[i64; 2]>,
}

impl Graph {
    fn new(nodes: u64) -> Graph {
        Graph { nodes, drawn: 0, out: vec![Vec::new(); nodes as usize], edges: Vec::new() }
    }

    fn draw(&mut self) -> [i64; 2] {
        loop {
            self.drawn += 2;
            let [from, to] = [0, 1].map(|end| (mix(self.drawn + end) % self.nodes) as i64);
            if !self.out[from as usize].contains(&to) {
                self.out[from as usize].push(to);
                self.edges.push([from, to]);
                return [from, to];
            }
        }
    }

    fn remove(&mut self, at: u64) -> [i64; 2] {
        let [from, to] = self.edges.swap_remove((mix(at) % self.edges.len() as u64) as usize);
        self.out[from as usize].retain(|other| *other != to);
        [from, to]
    }

    /// Each triangle from each of its corners.
    fn triangles(&self) -> BTreeMap<[i64; 3], i64> {
        let mut found = BTreeMap::new();
        for [a, b] in &self.edges {
            for c in &self.out[*b as usize] {
                if self.out[*c as usize].contains(a) {
                    found.insert([*a, *b, *c], 1);
                }
            }
        }
        found
    }
}

/// Both plans.
pub fn measure(rows: u64) -> Figures {
    let mut figures = Figures::new();
    for (name, joins) in [("wco", JoinStrategy::Auto), ("linear", JoinStrategy::Linear)] {
        by(name, joins, rows.min(EDGES), &mut figures);
    }
    figures
}

fn by(name: &str, joins: JoinStrategy, count: u64, figures: &mut Figures) {
    let mut graph = Graph::new(count / 10);
    let mut driver = Driver::start();
    let mut scratch = Vec::new();
    let table = Object::edges(20_000);
    driver.create_table(&table);
    driver.write(&table, Updates::new());
    let (view, plan) = triangles(20_001, &table, joins);
    driver.create_view(plan.clone());
    let plans = [plan];
    let edges: Vec<[i64; 2]> = (0..count).map(|_| graph.draw()).collect();
    let mut change = |driver: &mut Driver, edges: &[([i64; 2], i64)]| {
        driver.now += 1;
        let updates = edges.iter().map(|(edge, diff)| {
            let (key, value) = table.row(edge, &mut scratch);
            (key, value, *diff)
        });
        let updates = updates.collect();
        let start = Instant::now();
        driver.write(&table, updates);
        driver.let_go_on(&plans);
        // What is asked of the view is answered when it is complete.
        let reader = driver.ask(&view, Bounds::Keys(Vec::new().into()));
        (driver.answer(reader, |_, _| ()) - start).as_secs_f64()
    };
    let before = live();
    let cpu = engine_cpu_ns();
    let edges: Vec<_> = edges.into_iter().map(|edge| (edge, 1)).collect();
    let load = change(&mut driver, &edges);
    figures.push((format!("{name}_load_s"), load));
    figures.push((format!("{name}_load_cpu_s"), (engine_cpu_ns() - cpu) / 1e9));
    drop(edges);
    let mut latencies = Vec::new();
    for at in 0..CHANGES {
        let edges = [(graph.remove(at), -1), (graph.draw(), 1)];
        latencies.push(change(&mut driver, &edges) * 1e6);
        if at % COMPACT_EVERY == 0 {
            driver.compact(table.id);
            driver.compact(view.id);
        }
    }
    latencies.sort_by(f64::total_cmp);
    figures.push((format!("{name}_change_p50_us"), latencies[latencies.len() / 2]));
    figures.push((format!("{name}_change_p99_us"), latencies[latencies.len() * 99 / 100]));
    let held = (live() - before) as f64;
    figures.push((format!("{name}_bytes_per_edge"), held / count as f64));
    let rows = driver.content(&view).into_iter();
    let found: BTreeMap<[i64; 3], i64> = rows
        .map(|(row, n)| (view.numbers(&row).try_into().expect("a triangle has three corners"), n))
        .collect();
    assert_eq!(found, graph.triangles());
}
