//! What it costs to make use of a trace: that of two workers which maintain a view.
//!
//! `edges_per_cpu_s`: chunks become the activity graph; `events_per_cpu_s`: and participation, its
//! four summaries, the patterns; `snapshot_ms`: a snapshot of 30,000 events, from the bytes to
//! that.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use weir::dataflow::command::{Command, Response};
use weir::profile::invariant::Limits;
use weir::profile::participation::Participation;
use weir::profile::pattern::patterns;
use weir::profile::stream::{Snapshot, Stream};
use weir::profile::trace;
use weir::repr::ScalarType;

use crate::allocator::client_cpu_ns;
use crate::driver::{Driver, Updates};
use crate::orders::mix;
use crate::plans::{Object, join_and_sum};
use crate::report::Figures;

/// Commits that are recorded, and after how many of them events are taken.
const COMMITS: u64 = 20_000;
const COMMITS_A_CHUNK: u64 = 200;
const CUSTOMERS: u64 = 1000;
const SNAPSHOT: Duration = Duration::from_millis(50);
/// Events of the snapshot that is timed.
const EVENTS: usize = 30_000;

/// Has workers maintain a view, and records them. One chunk of each worker at a time.
fn recorded() -> Vec<Vec<u8>> {
    let ty = ScalarType::Int4;
    let mut driver = Driver::start_with(2);
    driver.send(Command::Introspect(true));
    let (orders, customers) = (Object::table(20_000, ty, 3), Object::table(20_001, ty, 3));
    let mut scratch = Vec::new();
    let mut keyed = |table: &Object, values: &[i64]| {
        let (key, value) = table.row(values, &mut scratch);
        (key, value, 1)
    };
    driver.create_table(&orders);
    driver.create_table(&customers);
    let by_id = |id: u64| [id as i64, (id % 10) as i64, id as i64];
    driver.write(&customers, (0..CUSTOMERS).map(|id| keyed(&customers, &by_id(id))).collect());
    driver.write(&orders, Updates::new());
    let (_, plan) = join_and_sum(21_000, &orders, &customers);
    driver.create_view(plan.clone());
    let plans = [plan];
    let mut chunks = Vec::new();
    for commit in 0..COMMITS {
        driver.now += 1;
        let customer = (mix(commit) % CUSTOMERS) as i64;
        let rows = (0..4).map(|n| keyed(&orders, &[(commit * 4 + n) as i64, customer, 7]));
        let rows = rows.collect();
        driver.write(&orders, rows);
        driver.let_go_on(&plans);
        if commit % COMMITS_A_CHUNK == 0 {
            driver.send(Command::Trace { request: commit, whole: commit == 0 });
            let traced = |response| match response {
                Response::Traced { chunk, .. } => Some(chunk),
                _ => None,
            };
            let before = chunks.len();
            while chunks.len() < before + 2 {
                chunks.extend(traced(driver.next().1));
            }
        }
    }
    chunks
}

/// Sums by what summaries group by.
#[derive(Default)]
struct Summaries {
    kinds: HashMap<&'static str, (f64, u64)>,
    workers: HashMap<usize, (f64, u64)>,
    operators: HashMap<(Option<usize>, usize), (f64, u64)>,
    pairs: HashMap<(usize, usize), (f64, u64)>,
}

impl Summaries {
    fn add(&mut self, snapshot: &Snapshot, participation: &Participation) {
        let graph = &snapshot.graph;
        for (edge, share) in graph.edges.iter().zip(&participation.shares) {
            let (from, to) =
                (graph.vertices[edge.source].worker, graph.vertices[edge.target].worker);
            let duration = graph.duration_ns(edge);
            let add = |sums: &mut (f64, u64)| *sums = (sums.0 + share, sums.1 + duration);
            add(self.kinds.entry(edge.kind.name()).or_default());
            if from == to {
                add(self.workers.entry(from).or_default());
                add(self.operators.entry((edge.operator, from)).or_default());
            } else {
                add(self.pairs.entry((from, to)).or_default());
            }
        }
    }
}

/// Measures over a recorded trace, or over the file that `WEIR_BENCH_TRACE` names.
pub fn measure(_rows: u64) -> Figures {
    let chunks: Vec<trace::Chunk> = match std::env::var_os("WEIR_BENCH_TRACE") {
        Some(path) => {
            let file = std::fs::File::open(path).expect("the trace can be opened");
            let chunks = trace::Chunks::open(std::io::BufReader::new(file)).expect("a trace");
            chunks.collect::<Result<_, _>>().expect("a whole trace")
        }
        None => recorded().iter().map(|bytes| trace::chunk(bytes).expect("a chunk")).collect(),
    };
    let events: usize = chunks.iter().map(|chunk| chunk.events.len()).sum();
    let encoded: Vec<Vec<u8>> = chunks.iter().map(trace::Chunk::bytes).collect();
    let bytes: usize = encoded.iter().map(Vec::len).sum();
    let (mut edges, mut snapshots, mut kept_max) = (0, 0, 0);
    let run = |whole: bool, length: Duration, each: &mut dyn FnMut(&Snapshot)| {
        let mut stream = Stream::new(length.as_nanos() as u64, Limits::default());
        let (mut snapshot, mut participation) = (Snapshot::default(), Participation::default());
        let mut summaries = Summaries::default();
        let cpu = client_cpu_ns();
        for bytes in &encoded {
            stream.add(&trace::chunk(bytes).expect("a chunk"));
            while stream.complete(&mut snapshot) {
                if whole {
                    participation.find(&snapshot.graph);
                    if let Some(check) = participation.check {
                        assert!((check - 1.0).abs() < 1e-9, "{check}");
                    }
                    summaries.add(&snapshot, &participation);
                    patterns(&snapshot.graph, 3);
                }
                each(&snapshot);
            }
        }
        (client_cpu_ns() - cpu) / 1e9
    };
    let graph_s = run(false, SNAPSHOT, &mut |snapshot| {
        edges += snapshot.graph.edges.len();
        snapshots += 1;
        kept_max = kept_max.max(snapshot.graph.edges.len());
    });
    let whole_s = run(true, SNAPSHOT, &mut |_| ());
    assert!(snapshots > 0, "the trace is too short: {events} events");
    // A snapshot of so many events, as it comes to whoever asks for it.
    let (first, last) = span(&chunks);
    let length = Duration::from_nanos((last - first) * EVENTS as u64 / events as u64);
    let (mut times, mut begin) = (Vec::new(), Instant::now());
    run(true, length, &mut |_| {
        times.push(begin.elapsed().as_nanos() as f64 / 1e6);
        begin = Instant::now();
    });
    times.sort_by(f64::total_cmp);
    vec![
        ("events".into(), events as f64),
        ("bytes_per_event".into(), bytes as f64 / events as f64),
        ("ns_per_edge".into(), graph_s * 1e9 / edges as f64),
        ("ns_per_event".into(), whole_s * 1e9 / events as f64),
        ("edges_per_cpu_s".into(), edges as f64 / graph_s),
        ("events_per_cpu_s".into(), events as f64 / whole_s),
        ("snapshot_ms".into(), times.get(times.len() / 2).copied().unwrap_or(f64::NAN)),
    ]
}

/// The first time and the last.
fn span(chunks: &[trace::Chunk]) -> (u64, u64) {
    let times = || chunks.iter().flat_map(|chunk| chunk.events.iter().map(|(at, _)| *at));
    (times().min().unwrap_or(0), times().max().unwrap_or(0))
}
