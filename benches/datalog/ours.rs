//! A workload on our engine: commands in, changes out.

use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use weir::catalog::item::{Item, ItemKind, Table};
use weir::catalog::objects::{Catalog, Change};
use weir::optimizer::physical::{Lowered, Want, lower, table_layout};
use weir::optimizer::{OptimizerConfig, optimize};
use weir::plan::physical::{Dataflow, Sink};
use weir::plan::relation::{Relation, RelationType};
use weir::plan::statement::Statement;
use weir::repr::settings::FormatSettings;
use weir::repr::value::decode_values;
use weir::repr::{ColumnDesc, ColumnType, Datum, GlobalId, RelationDesc, ScalarType};
use weir::sql::{BindContext, SessionRules, bind, parse};

use crate::allocator::{engine_cpu_ns, live};
use crate::driver::{Driver, Updates};
use crate::figures::{Check, Figures, SIZES};
use crate::graphs::{Fact, Workload};
use crate::plans::{Object, own};

/// After how many transactions history is given up.
const COMPACT_EVERY: u64 = 64;

fn tables(workload: &Workload) -> Vec<Object> {
    let table = |(at, (_, arity)): (usize, &(&str, usize))| {
        let columns = vec![ColumnType::not_null(ScalarType::Int4); *arity];
        let layout = table_layout(&columns, None);
        Object { id: GlobalId(20_000 + at as u64), ty: RelationType::new(columns), layout }
    };
    workload.tables.iter().enumerate().map(table).collect()
}

/// What the query means.
fn bound(workload: &Workload, tables: &[Object]) -> Relation {
    let change = |(object, (name, _)): (&Object, &(&str, usize))| {
        let column =
            |(at, ty): (usize, &ColumnType)| ColumnDesc { name: format!("c{at}"), ty: *ty };
        let columns: Vec<ColumnDesc> = object.ty.columns.iter().enumerate().map(column).collect();
        let defaults = vec![None; columns.len()];
        let desc = RelationDesc { columns, keys: vec![] };
        let kind = ItemKind::Table(Table { desc, defaults, primary_key: None, retain_ms: None });
        let item = Item { id: object.id, schema: "public".into(), name: (*name).into(), kind };
        Change { id: object.id, item: Some(Arc::new(item)) }
    };
    let changes: Vec<Change> = tables.iter().zip(workload.tables).map(change).collect();
    let catalog = Catalog::default().with(&changes).expect("the tables have different names");
    let path = ["pg_catalog", "weir_catalog", "public"].map(str::to_owned);
    let mut cx = BindContext {
        catalog: &catalog,
        search_path: &path,
        settings: &FormatSettings::default(),
        now: 1,
        current_user: "",
        database: "",
        rules: &SessionRules::default(),
        variables: &|name| (name == "recursion_limit").then(|| "100000".to_owned()),
        param_types: &mut vec![],
    };
    let parsed = parse(&format!("DATALOG $$ {} $$", workload.text)).expect("the query is one");
    match bind(&parsed[0], &mut cx).expect("the query has a meaning") {
        Statement::Select(select) => select.relation,
        other => panic!("{other:?} is no query"),
    }
}

fn planned(workload: &Workload, tables: &[Object]) -> Dataflow {
    let config = OptimizerConfig::default();
    let available = |id: GlobalId| {
        let found = tables.iter().find(|table| table.id == id);
        found.map(|table| (own(id), table.layout.clone())).into_iter().collect()
    };
    let relation = optimize(bound(workload, tables), &config);
    let Ok(Lowered::Dataflow(mut plan)) = lower(&relation, &available, &config, Want::Subscribe)
    else {
        panic!("a query over tables is a dataflow");
    };
    plan.id = GlobalId::FIRST_TRANSIENT;
    plan.sink = Sink::Subscribe { up_to: None, snapshot: true, buffer_limit: 1 << 40 };
    plan
}

/// How a workload's query is computed.
pub fn explain(workload: &Workload) -> String {
    let plan = planned(workload, &tables(workload));
    let node = |(at, node): (usize, &_)| format!("{at}: {node:#?}\n");
    plan.nodes.iter().enumerate().map(node).collect()
}

/// A query that is subscribed to.
struct Live {
    driver: Driver,
    tables: Vec<Object>,
    plan: [Dataflow; 1],
    reader: u64,
    types: Vec<ScalarType>,
    check: Check,
    scratch: Vec<u8>,
}

impl Live {
    fn new(workload: &Workload) -> Live {
        let tables = tables(workload);
        let plan = planned(workload, &tables);
        let types = bound(workload, &tables).typ().scalars();
        let mut driver = Driver::start();
        for table in &tables {
            driver.create_table(table);
            driver.write(table, Updates::new());
        }
        let reader = driver.subscribe(plan.clone());
        driver.changes(reader, |_, _| panic!("there is nothing yet"));
        let (check, scratch) = (Check::default(), Vec::new());
        Live { driver, tables, plan: [plan], reader, types, check, scratch }
    }

    /// One transaction; how many microseconds until all that it changes has come out.
    fn commit(&mut self, facts: &[(Fact, i64)]) -> f64 {
        self.driver.now += 1;
        let mut updates: Vec<Updates> = self.tables.iter().map(|_| Updates::new()).collect();
        for ((table, numbers), diff) in facts {
            let object = &self.tables[*table];
            let numbers: SmallVec<[i64; 3]> = numbers.iter().map(|n| i64::from(*n)).collect();
            let (key, value) = object.row(&numbers, &mut self.scratch);
            updates[*table].push((key, value, *diff));
        }
        let start = Instant::now();
        for (table, updates) in self.tables.iter().zip(updates) {
            if !updates.is_empty() {
                self.driver.write(table, updates);
            }
        }
        self.driver.let_go_on(&self.plan);
        let (check, types) = (&mut self.check, &self.types);
        let end = self.driver.changes(self.reader, |row, diff| {
            check.add(&numbers(types, row.bytes()), diff);
        });
        (end - start).as_secs_f64() * 1e6
    }
}

fn numbers(types: &[ScalarType], row: &[u8]) -> SmallVec<[u32; 3]> {
    let mut datums = Vec::with_capacity(types.len());
    decode_values(types, row, &mut datums);
    let number = |datum: &Datum<'_>| match datum {
        Datum::Int4(number) => *number as u32,
        other => panic!("{other:?} is no node"),
    };
    datums.iter().map(number).collect()
}

/// Loads and changes.
pub fn measure(workload: &Workload) -> Figures {
    let mut figures = Figures::default();
    let facts: Vec<(Fact, i64)> = workload.facts().into_iter().map(|fact| (fact, 1)).collect();
    let mut query = Live::new(workload);
    let (before, cpu) = (live(), engine_cpu_ns());
    figures.add("load_s", query.commit(&facts) / 1e6);
    figures.add("load_cpu_s", (engine_cpu_ns() - cpu) / 1e9);
    figures.add("live_mb", (live() as f64 - before as f64) / (1 << 20) as f64);
    let mut commits = 0;
    for (size, turns) in SIZES {
        let (mut latencies, cpu) = (Vec::new(), engine_cpu_ns());
        for turn in 0..turns {
            let changes = workload.changes(size, turn);
            latencies.push(query.commit(&changes));
            query.commit(&changes.iter().map(|(fact, diff)| (*fact, -diff)).collect::<Vec<_>>());
            commits += 2;
            if commits % COMPACT_EVERY == 0 {
                query.tables.iter().for_each(|table| query.driver.compact(table.id));
            }
        }
        figures.add_changes(size, latencies, (engine_cpu_ns() - cpu) / 1e3);
    }
    figures.add("live_end_mb", (live() as f64 - before as f64) / (1 << 20) as f64);
    figures.add_check(query.check);
    figures
}
