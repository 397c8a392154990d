//! Workloads of the Datalog bench on other engines, measured as the bench measures ours.
//!
//! ```text
//! weir-bench-peers --engines                     the engines, one a line
//! weir-bench-peers --measure ENGINE WORKLOAD SCALE
//! ```
//!
//! An engine that does not have a workload prints nothing. What the engines count as processor time
//! is all of their process: each keeps threads of its own.

#[path = "../../engine/allocator.rs"]
mod allocator;
mod circuits;
#[allow(dead_code)] // Only the bench reads figures.
#[path = "../../datalog/figures.rs"]
mod figures;
mod flowlog;
#[allow(dead_code)] // The rules are not in the language of these engines.
#[path = "../../datalog/graphs.rs"]
mod graphs;

use std::time::Instant;

use allocator::{client_cpu_ns, engine_cpu_ns, live};
use figures::{Check, Figures, SIZES};
use graphs::{Fact, Workload};

/// A query that an engine maintains.
pub trait Maintained {
    /// One transaction; it is over when all that it changes has been added to `check`.
    fn commit(&mut self, changes: &[(Fact, i64)], check: &mut Check);
}

/// An engine: its name, and how it maintains the workload of a name.
type Engine = (&'static str, fn(&str) -> Option<Box<dyn Maintained>>);

const ENGINES: [Engine; 2] = [("flowlog", flowlog::maintain), ("dbsp", circuits::maintain)];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--engines"] => ENGINES.iter().for_each(|(name, _)| println!("{name}")),
        ["--measure", engine, workload, scale] => {
            let found = ENGINES.iter().find(|(name, _)| name == engine);
            let (_, maintain) = found.unwrap_or_else(|| panic!("no engine {engine}"));
            let scale = scale.parse().expect("the scale is a number");
            let workload = Workload::by_name(workload).scaled(scale);
            let before = live();
            if let Some(query) = maintain(workload.name) {
                measure(query, &workload, before).print();
            }
        }
        _ => panic!("--engines, or --measure ENGINE WORKLOAD SCALE"),
    }
}

/// Loads and changes. `before`: the bytes that were allocated without the query.
fn measure(mut query: Box<dyn Maintained>, workload: &Workload, before: usize) -> Figures {
    let (mut figures, mut check) = (Figures::default(), Check::default());
    let cpu_ns = || engine_cpu_ns() + client_cpu_ns();
    let mut commit = |changes: &[(Fact, i64)]| {
        let start = Instant::now();
        query.commit(changes, &mut check);
        start.elapsed().as_secs_f64() * 1e6
    };
    let facts: Vec<(Fact, i64)> = workload.facts().into_iter().map(|fact| (fact, 1)).collect();
    let (own, cpu) = (live() - before, cpu_ns());
    figures.add("load_s", commit(&facts) / 1e6);
    figures.add("load_cpu_s", (cpu_ns() - cpu) / 1e9);
    let held = || (live() as f64 - (before + own) as f64) / (1 << 20) as f64;
    figures.add("live_mb", held());
    for (size, turns) in SIZES {
        let (mut latencies, cpu) = (Vec::new(), cpu_ns());
        for turn in 0..turns {
            let changes = workload.changes(size, turn);
            latencies.push(commit(&changes));
            let back: Vec<_> = changes.iter().map(|(fact, diff)| (*fact, -diff)).collect();
            commit(&back);
        }
        figures.add_changes(size, latencies, (cpu_ns() - cpu) / 1e3);
    }
    figures.add("live_end_mb", held());
    figures.add_check(check);
    figures
}
