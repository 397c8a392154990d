//! What the tests of rendering share: three tables, histories, and a run of a plan over them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bumpalo::Bump;
use rand::prelude::*;
use timely::worker::Worker;

use super::super::build::build;
use super::super::rows::arranged_rows;
use super::oracle::{Content, evaluate};
use crate::dataflow::built::{Built, BuiltSink};
use crate::dataflow::emit::{Emit, error_of};
use crate::dataflow::import::Promise;
use crate::dataflow::subscribe::Subscription;
use crate::dataflow::testing::Table;
use crate::dataflow::traces::{Maintained, Traces};
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Arrangement, ArrangementId, Dataflow, Import, Node, Sink, Source};
use crate::repr::key::KeyMode;
use crate::repr::numeric::Numeric;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, GlobalId, Interval, Row, ScalarType, Timestamp};

use ScalarType::{Bool, Bpchar, Date, Float8, Int4, Int8, Interval as Span, Numeric as Num, Text};

/// A change of a table at a time.
pub type Change = (usize, Row, Diff);
/// The changes of each time, from 1 on.
pub type History = Vec<Vec<Change>>;

pub fn layout(types: &[ScalarType], key: &[usize], mode: KeyMode) -> Arrangement {
    let key_types: Vec<ScalarType> = key.iter().map(|c| types[*c]).collect();
    let in_key = |c: usize| key.iter().position(|k| *k == c && types[c].key_is_identity());
    let value: Vec<usize> = (0..types.len()).filter(|c| in_key(*c).is_none()).collect();
    let source = |c: usize| match in_key(c) {
        Some(at) => Source::Key(at),
        None => Source::Value(value.iter().position(|v| *v == c).unwrap()),
    };
    Arrangement {
        types: types.to_vec(),
        key: key.iter().map(|c| Expr::Column(*c)).collect(),
        key_types,
        mode,
        columns: (0..types.len()).map(source).collect(),
        value,
    }
}

pub fn tables() -> Vec<Arrangement> {
    vec![
        layout(&[Int4, Int4, Text, Num], &[0], KeyMode::NullSafe),
        layout(&[Int4, Num, Float8, Span, Bool], &[1, 0], KeyMode::NullSafe),
        layout(&[Int4, Bpchar, Int8, Date], &[2, 0], KeyMode::Strict),
    ]
}

fn random_datum<'a>(ty: ScalarType, rng: &mut StdRng, arena: &'a Bump) -> Datum<'a> {
    if rng.random_bool(0.15) {
        return Datum::Null;
    }
    let small = rng.random_range(-1..3);
    match ty {
        Int4 => Datum::Int4(small),
        Int8 => Datum::Int8(small.into()),
        Date => Datum::Date(small),
        Bool => Datum::Bool(small > 0),
        Text => Datum::Text(["", "a", "ab", "b"][(small + 1) as usize]),
        Bpchar => Datum::Text(["", " ", "a", "a "][(small + 1) as usize]),
        Float8 => Datum::Float8([0.0, -0.0, 0.25, -1.5][(small + 1) as usize]),
        Num => {
            let special = [Numeric::NaN, Numeric::PositiveInfinity, Numeric::NegativeInfinity];
            let scale = rng.random_range(0..4);
            let numeric = match rng.random_range(0..40) {
                i @ 0..3 => special[i].clone(),
                3 => Numeric::new(i128::MAX - 5, 2),
                _ => Numeric::new(i128::from(small) * 10i128.pow(scale), scale as u16),
            };
            Datum::Numeric(numeric.encode_in(arena))
        }
        Span => Datum::Interval(Interval { months: small, days: 30 * (small % 2), micros: 5 }),
        _ => panic!("no table has this type"),
    }
}

/// Random changes that leave no count negative.
pub fn random_history(rng: &mut StdRng, times: usize, largest: usize) -> History {
    let mut live: Vec<Change> = Vec::new();
    (0..times)
        .map(|_| {
            let mut changes = Vec::new();
            for _ in 0..rng.random_range(0..largest) {
                if !live.is_empty() && rng.random_bool(0.45) {
                    let (table, row, _) = live.swap_remove(rng.random_range(0..live.len()));
                    changes.push((table, row, -1));
                } else {
                    let arena = Bump::new();
                    let table = rng.random_range(0..3);
                    let types = &tables()[table].types;
                    let mut datums: Vec<_> =
                        types.iter().map(|ty| random_datum(*ty, rng, &arena)).collect();
                    if table == 2 {
                        // Its key is strict.
                        datums[0] = Datum::Int4(rng.random_range(0..3));
                        datums[2] = Datum::Int8(rng.random_range(0..3));
                    }
                    live.push((table, pack(&datums), 1));
                    changes.extend(live.last().cloned());
                }
            }
            changes
        })
        .collect()
}

pub fn contents_at(history: &History, time: usize) -> Vec<Content> {
    let mut contents = vec![Content::default(); 3];
    for (table, row, diff) in history[..time].iter().flatten() {
        contents[*table].add(row.clone(), *diff);
    }
    contents
}

pub fn import(relation: u64, layout: Arrangement) -> Import {
    let id = GlobalId(relation);
    Import { id: ArrangementId { relation: id, index: id }, layout }
}

pub fn dataflow(nodes: Vec<Node>) -> Dataflow {
    let imports = tables().into_iter().enumerate().map(|(i, layout)| import(i as u64, layout));
    Dataflow {
        id: GlobalId(100),
        imports: imports.collect(),
        nodes,
        sink: Sink::Subscribe { up_to: None, snapshot: true, buffer_limit: 1 << 40 },
        as_of: 0,
        settings: FormatSettings::default(),
    }
}

/// What came out: changes of rows and of errors.
#[derive(Default, Debug)]
pub struct Outcome {
    pub oks: Vec<(Timestamp, Row, Diff)>,
    pub errs: Vec<(Timestamp, Row, Diff)>,
    /// Nothing more will come.
    ended: bool,
}

impl Outcome {
    pub fn at(&self, time: Timestamp) -> Content {
        let mut content = Content::default();
        let up_to = |changes: &[(Timestamp, Row, Diff)]| {
            let mut sum: BTreeMap<Row, Diff> = BTreeMap::new();
            for (_, row, diff) in changes.iter().filter(|(t, ..)| *t <= time) {
                *sum.entry(row.clone()).or_insert(0) += diff;
            }
            sum.retain(|_, count| *count != 0);
            sum
        };
        content.rows = up_to(&self.oks);
        let errors = up_to(&self.errs);
        assert!(errors.values().all(|count| *count > 0), "errors are never negated");
        content.errors = errors.keys().map(|error| error_of(error.bytes())).collect();
        content
    }
}

/// One worker's tables and dataflows.
struct Site<'w> {
    worker: &'w mut Worker,
    tables: Vec<Table>,
    traces: Traces,
    needs: Vec<Timestamp>,
    running: Vec<(Built, usize)>,
}

impl<'w> Site<'w> {
    fn new(worker: &'w mut Worker) -> Site<'w> {
        let mut traces = Traces::default();
        let tables: Vec<Table> = (0..3).map(|_| Table::create(worker)).collect();
        for (i, table) in tables.iter().enumerate() {
            let maintained = Maintained::new(table.trace.clone(), None, 0);
            traces.insert(GlobalId(i as u64), maintained);
        }
        Site { worker, tables, traces, needs: vec![0; 3], running: Vec::new() }
    }

    fn write(&mut self, changes: &[Change], time: Timestamp) {
        let (index, peers) = (self.worker.index(), self.worker.peers());
        type Arranged = Vec<((Row, Row), Diff)>;
        let mut here: BTreeMap<usize, Arranged> = BTreeMap::new();
        for (i, (table, row, diff)) in changes.iter().enumerate() {
            let here = here.entry(*table).or_default();
            if i % peers == index {
                here.push((keyed(&tables()[*table], row), *diff));
            }
        }
        for (table, changes) in here {
            self.tables[table].write(&changes, time);
            self.needs[table] = time + 1;
        }
    }

    /// Builds a dataflow; imports beyond the tables are those of earlier dataflows.
    fn build(&mut self, plan: &Dataflow) {
        let built = build(self.worker, plan, &mut self.traces, Box::new(|| {}));
        self.running.push((built, plan.imports.len()));
    }

    fn promise(&mut self, time: Timestamp) {
        for (built, imports) in &self.running {
            let needs = if *imports == 3 { self.needs.clone() } else { vec![time + 1] };
            let mut woken = Vec::new();
            built.imports.stand(&needs, time + 1, &mut woken);
            woken.iter().for_each(Promise::wake);
        }
    }

    /// Steps until the reader has all of a time.
    fn read(&mut self, reader: &Subscription, time: Timestamp, outcome: &mut Outcome) {
        while !outcome.ended {
            while let Some(batch) = reader.take() {
                outcome.oks.extend(batch.oks);
                outcome.errs.extend(batch.errs);
                outcome.ended = batch.frontier.is_none();
                if batch.frontier.is_none_or(|frontier| frontier > time) {
                    return;
                }
            }
            self.worker.step();
        }
    }
}

fn keyed(layout: &Arrangement, row: &Row) -> (Row, Row) {
    let mut shaper = arranged_rows(layout);
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let (mut datums, mut emit) = (Vec::new(), Emit::default());
    decode_values(&layout.types, row.bytes(), &mut datums);
    shaper(&datums, &EvalContext { arena: &arena, settings: &settings }, &mut emit);
    emit.oks.pop().unwrap()
}

/// Runs a plan over a history. With `kept`, its result is arranged so and read by a second
/// dataflow.
pub fn run(
    plan: &Dataflow,
    history: &History,
    workers: usize,
    kept: Option<Arrangement>,
) -> Outcome {
    let (plan, history) = (Arc::new(plan.clone()), Arc::new(history.clone()));
    let config = match workers {
        1 => timely::Config::thread(),
        n => timely::Config::process(n),
    };
    let guards = timely::execute(config, move |worker| {
        let mut site = Site::new(worker);
        let mut outcome = Outcome::default();
        let mut reader = None;
        for (i, changes) in history.iter().enumerate() {
            let time = i as Timestamp + 1;
            site.write(changes, time);
            if time >= plan.as_of {
                let reader = reader.get_or_insert_with(|| install(&mut site, &plan, &kept));
                site.promise(time);
                site.read(reader, time, &mut outcome);
            }
            for table in &mut site.tables {
                table.settle(site.worker);
                table.compact(time.min(plan.as_of));
            }
        }
        site.running.clear();
        for index in site.worker.installed_dataflows() {
            site.worker.drop_dataflow(index);
        }
        outcome
    });
    let mut all = Outcome::default();
    for outcome in guards.unwrap().join() {
        let outcome = outcome.unwrap();
        all.oks.extend(outcome.oks);
        all.errs.extend(outcome.errs);
    }
    all
}

fn install(site: &mut Site<'_>, plan: &Dataflow, kept: &Option<Arrangement>) -> Subscription {
    match kept {
        None => site.build(plan),
        Some(layout) => {
            let sink = Sink::Arrange(layout.clone());
            site.build(&Dataflow { sink, ..plan.clone() });
            let Built { imports, result, places } = site.running.pop().unwrap().0;
            let BuiltSink::Arranged(maintained) = result else { panic!("it is arranged") };
            site.traces.insert(GlobalId(100), *maintained);
            let nothing = nothing_sent(site);
            site.running.push((Built { imports, result: BuiltSink::Sent(nothing), places }, 3));
            let mut reading = dataflow(vec![Node::Import { import: 0 }]);
            reading.imports = vec![import(100, layout.clone())];
            reading.as_of = plan.as_of;
            site.build(&reading);
        }
    }
    match &site.running.last().unwrap().0.result {
        BuiltSink::Sent(reader) => {
            reader.add_credit(1 << 40);
            reader.clone()
        }
        BuiltSink::Arranged(_) => panic!("it is sent"),
    }
}

/// A reader that stands in where the result has gone elsewhere.
fn nothing_sent(site: &mut Site<'_>) -> Subscription {
    let plan = dataflow(vec![Node::Constant { rows: Ok(Vec::new()) }]);
    let built = build(site.worker, &plan, &mut site.traces, Box::new(|| {}));
    match built.result {
        BuiltSink::Sent(reader) => reader,
        BuiltSink::Arranged(_) => panic!("it is sent"),
    }
}

/// Compares at every time; says at how many there were rows.
pub fn check(
    plan: &Dataflow,
    history: &History,
    workers: usize,
    kept: Option<Arrangement>,
) -> usize {
    let outcome = run(plan, history, workers, kept);
    let mut seen = 0;
    for time in (plan.as_of as usize).max(1)..=history.len() {
        let expected = evaluate(plan, &contents_at(history, time));
        let found = outcome.at(time as Timestamp);
        if expected.errors.is_empty() {
            assert_eq!(found, expected, "at {time} of {plan:#?}\n{history:#?}");
            seen += usize::from(!expected.rows.is_empty());
        } else {
            // What is left of the rows is nobody's business.
            assert!(!found.errors.is_empty(), "at {time} of {plan:#?}\n{history:#?}");
        }
    }
    seen
}
