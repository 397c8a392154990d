//! What a commit costs by the number of views over the table, and beside views over others.
//!
//! Orders are joined with customers, and it is customers that the idle views read: so the table
//! that everything hangs on takes part in each commit's answer, and stands still.

use std::collections::BTreeMap;
use std::time::Instant;

use weir::dataflow::command::Command;
use weir::plan::physical::{Bounds, Dataflow};
use weir::repr::ScalarType;

use crate::allocator::engine_cpu_ns;
use crate::driver::{Driver, Updates};
use crate::orders::mix;
use crate::plans::{Object, join_and_sum};
use crate::report::Figures;

/// Commits of each kind.
const COMMITS: u64 = 400;
const CUSTOMERS: u64 = 1000;

/// What a commit costs: how long the median one and the hundredth takes, and processor time.
struct Cost {
    p50_us: f64,
    p99_us: f64,
    cpu_us: f64,
}

/// Commits to a table with so many views over it, beside so many over others. `observed`: the
/// worker measures what its operators do, and reports once.
fn measure(views: usize, idle: usize, observed: bool) -> Cost {
    let ty = ScalarType::Int4;
    let mut driver = Driver::start();
    driver.send(Command::Introspect(observed));
    let mut scratch = Vec::new();
    let orders = Object::table(20_000, ty, 3);
    let customers = Object::table(20_001, ty, 3);
    let regions = Object::table(20_002, ty, 2);
    for table in [&orders, &customers, &regions] {
        driver.create_table(table);
    }
    let mut keyed = |table: &Object, values: &[i64]| {
        let (key, value) = table.row(values, &mut scratch);
        (key, value, 1)
    };
    let by_id = |id: u64| [id as i64, (id % 10) as i64, id as i64];
    driver.write(&customers, (0..CUSTOMERS).map(|id| keyed(&customers, &by_id(id))).collect());
    driver.write(&regions, (0..10).map(|id| keyed(&regions, &[id, id])).collect());
    driver.write(&orders, Updates::new());
    let make = |number: usize, facts: &Object, dimension: &Object, driver: &mut Driver| {
        let (view, plan) = join_and_sum(21_000 + number as u64, facts, dimension);
        driver.create_view(plan.clone());
        (view, plan)
    };
    let over: Vec<(Object, Dataflow)> =
        (0..views).map(|i| make(i, &orders, &customers, &mut driver)).collect();
    (0..idle).for_each(|i| drop(make(views + i, &customers, &regions, &mut driver)));
    let plans: Vec<Dataflow> = over.iter().map(|(_, plan)| plan.clone()).collect();
    let last = over.last().map_or(&orders, |(view, _)| view);

    let (mut latencies, mut cpu) = (Vec::new(), 0.0);
    let mut expected: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for commit in 0..COMMITS + COMMITS / 10 {
        driver.now += 1;
        if observed && commit == COMMITS / 2 {
            driver.send(Command::Report { request: 0 });
        }
        if commit == COMMITS / 10 {
            (cpu, latencies) = (engine_cpu_ns(), Vec::new());
        }
        let customer = mix(commit) % CUSTOMERS;
        let row = keyed(&orders, &[commit as i64, customer as i64, 7]);
        let total = expected.entry((customer % 10) as i64).or_default();
        *total = (total.0 + 1, total.1 + 7);
        let start = Instant::now();
        driver.write(&orders, vec![row]);
        driver.let_go_on(&plans);
        // Whatever is asked of the last view is answered when it is complete.
        let reader = driver.ask(last, Bounds::Keys(Vec::new().into()));
        let end = driver.answer(reader, |_, _| ());
        latencies.push((end - start).as_nanos() as f64);
    }
    let cpu = engine_cpu_ns() - cpu;
    latencies.sort_by(f64::total_cmp);
    for (view, _) in &over {
        let rows = driver.content(view).into_keys().map(|row| view.numbers(&row));
        let content: BTreeMap<_, _> = rows.map(|row| (row[0], (row[1], row[2]))).collect();
        assert_eq!(content, expected);
    }
    let at = |part: usize| latencies[latencies.len() * part / 100] / 1e3;
    Cost { p50_us: at(50), p99_us: at(99), cpu_us: cpu / 1e3 / COMMITS as f64 }
}

/// Commits of one row.
pub fn by_views(_rows: u64) -> Figures {
    let mut figures = Figures::new();
    let mut add = |name: String, cost: Cost| {
        figures.push((format!("{name}_p50_us"), cost.p50_us));
        figures.push((format!("{name}_cpu_us"), cost.cpu_us));
    };
    for views in [0, 1, 10, 100] {
        add(format!("views_{views}"), measure(views, 0, false));
    }
    for views in [0, 1] {
        add(format!("views_{views}_beside_1000"), measure(views, 1000, false));
    }
    figures
}

/// How much more the same commits cost while they are observed. The two are measured in turn,
/// since the machine is not the same for long. Others on it only ever add to a cost, so ratios are
/// of the least of each, over as many turns as there are ten thousands of rows, seven at most.
pub fn observed(rows: u64) -> Figures {
    let turns = (rows / 10_000).clamp(1, 7);
    let mut figures = Figures::new();
    for views in [1, 10, 100] {
        let mut costs: [Vec<Cost>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..turns {
            costs[0].push(measure(views, 0, false));
            costs[1].push(measure(views, 0, true));
        }
        let mut ratio = |name: &str, of: fn(&Cost) -> f64| {
            let [plain, observed] = [0, 1].map(|side: usize| {
                let mut all: Vec<f64> = costs[side].iter().map(of).collect();
                all.sort_by(f64::total_cmp);
                all[0]
            });
            figures.push((format!("views_{views}_{name}_ratio"), observed / plain));
        };
        ratio("p50", |cost| cost.p50_us);
        ratio("p99", |cost| cost.p99_us);
        ratio("cpu", |cost| cost.cpu_us);
    }
    figures
}
