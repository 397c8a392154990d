//! EXPLAIN ANALYZE: a plan with what each of its operators costs.
//!
//! What is maintained is observed as it runs: its figures are sums since it was made. A query is
//! run, to its last row, for its figures alone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::catalog::item::ItemKind;
use crate::coord::request::{ArrangementRead, Observed, Read, ReadSet};
use crate::error::{Error, Result, SqlState};
use crate::optimizer::physical::{Lowered, Want};
use crate::plan::explain::{self, Item, Names};
use crate::plan::observed::{Figures, Measures, Place, Seen};
use crate::plan::physical::{Dataflow, Sink};
use crate::plan::statement::{Analyzed, ExplainAnalyze, Select};
use crate::repr::value::pack;
use crate::repr::{ColumnDesc, ColumnType, Datum, Diff, GlobalId, RelationDesc, Row, ScalarType};
use crate::session::explain::finish_line;
use crate::session::overlay;
use crate::session::read::plan;
use crate::session::rows::{Rows, sorted};
use crate::session::session::{Outcome, Session, Tag};

/// What the session itself measured.
#[derive(Default)]
struct Times {
    planning: Option<Duration>,
    execution: Option<Duration>,
}

/// A query that was run to its end.
struct Ran {
    /// How many rows came.
    count: u64,
    /// The rows, where they are to be put in order.
    rows: Vec<(Row, Diff)>,
    plan: RanPlan,
}

/// What it was run by.
enum RanPlan {
    Dataflow(Observed),
    Peek(Box<ArrangementRead>),
}

impl Session {
    pub(super) async fn explain_analyze(&mut self, analyze: ExplainAnalyze) -> Result<Outcome> {
        let ExplainAnalyze { of, measures } = analyze;
        match of {
            Analyzed::Object(id) => self.analyze_object(id, measures).await,
            Analyzed::Query(select) => self.analyze_query(*select, measures).await,
        }
    }

    async fn analyze_object(&mut self, id: GlobalId, measures: Measures) -> Result<Outcome> {
        let transaction = self.transaction()?;
        let item = transaction.catalog.expect(id)?;
        let is_maintained = match &item.kind {
            ItemKind::View(view) => view.materialized,
            ItemKind::Index(_) => true,
            _ => false,
        };
        if !is_maintained {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a materialized view or index", item.name),
            )
            .with_hint("EXPLAIN ANALYZE SELECT * FROM … runs a query and shows its plan."));
        }
        if transaction.made(id) {
            return Err(Error::unsupported(
                format!("EXPLAIN ANALYZE of \"{}\", which this transaction has made,", item.name),
                "It is maintained from COMMIT on.",
            ));
        }
        let observed = self.cancel.or(self.engine.client.observe(id)).await?;
        let item = self.analyzed(&observed, measures, None)?;
        Ok(answer(&[], item, measures, &Times::default(), observed.workers.len()))
    }

    async fn analyze_query(&mut self, select: Select, measures: Measures) -> Result<Outcome> {
        let began = Instant::now();
        let limit = self.row_count(select.finishing.limit.as_ref(), "LIMIT")?;
        let offset = self.row_count(select.finishing.offset.as_ref(), "OFFSET")?.unwrap_or(0);
        if let Some(as_of) = &select.as_of {
            let time = self.time_of(as_of)?;
            self.travel(time).await?;
        }
        let (types, mut relation) = (select.relation.typ().scalars(), select.relation);
        if self.settle_calls(&mut relation)? {
            return Err(Error::unsupported(
                "EXPLAIN ANALYZE of a query that changes sequences",
                "Leave nextval and setval out of it.",
            ));
        }
        let (engine, config) = (self.engine.clone(), self.optimizer());
        let transaction = self.transaction()?;
        overlay::apply(&mut relation, transaction, &engine)?;
        let lowered = plan(&engine, &transaction.base, relation, &config, Want::Peek)?;
        let (planning, run) = (began.elapsed(), Instant::now());
        let order = &select.finishing.order_by;
        let hint = limit.map(|l| l.saturating_add(offset)).filter(|_| order.is_empty());
        let Ran { count, rows, plan } = self.run(lowered, hint, !order.is_empty()).await?;
        sorted(rows, &types, order);
        self.await_durable().await?;
        let times = Times { planning: Some(planning), execution: Some(run.elapsed()) };
        let left = count.saturating_sub(offset).min(limit.unwrap_or(u64::MAX));
        let finish = finish_line(&select.finishing).map(|line| format!("{line} (rows={left})"));
        let (item, workers) = match plan {
            RanPlan::Dataflow(seen) => {
                (self.analyzed(&seen, measures, Some(count))?, seen.workers.len())
            }
            RanPlan::Peek(read) => {
                let figures = Figures { sent: Some(count), ..Figures::default() };
                let seen = Seen { workers: vec![figures], measures };
                let ArrangementRead { target, layout, bounds, mfp, .. } = &*read;
                let peek = |names: Names<'_>| explain::peek(*target, layout, bounds, mfp, names);
                (self.named(|names| peek(names).seen(seen))?, 1)
            }
        };
        Ok(answer(finish.as_slice(), item, measures, &times, workers))
    }

    /// Reads all rows of a plan, and keeps them if they are to be put in order.
    async fn run(&mut self, lowered: Lowered, limit: Option<u64>, keep: bool) -> Result<Ran> {
        let (engine, settings) = (self.engine.clone(), self.variables.format().clone());
        let buffer_limit = self.variables.result_buffer_limit();
        let snapshot = self.transaction()?.snapshot.clone();
        let (mut stream, ran) = match lowered {
            Lowered::Peek { target, layout, bounds, mfp } => {
                self.note_read(&[target.index])?;
                let read = ArrangementRead { target, layout, bounds, mfp, limit, settings };
                let read = Box::new(read);
                let stream = engine.client.read(&snapshot, Read::Arrangement(read.clone()));
                (self.cancel.or(stream).await?, Err(read))
            }
            Lowered::Dataflow(mut dataflow) => {
                dataflow.sink = Sink::Peek { buffer_limit };
                let read: Vec<GlobalId> = dataflow.imports.iter().map(|i| i.id.index).collect();
                self.note_read(&read)?;
                let stream = engine.client.read_observed(&snapshot, dataflow);
                let (stream, watch) = self.cancel.or(stream).await?;
                (stream, Ok(watch))
            }
        };
        let (mut count, mut rows) = (0, Vec::new());
        while let Some(more) = self.cancel.or(stream.next()).await? {
            count += more.iter().map(|(_, diff)| diff.unsigned_abs()).sum::<u64>();
            rows.extend(more.into_iter().filter(|_| keep));
        }
        let plan = match ran {
            Ok(watch) => RanPlan::Dataflow(self.cancel.or(watch.seen()).await?),
            Err(read) => RanPlan::Peek(read),
        };
        Ok(Ran { count, rows, plan })
    }

    /// Notes that the open transaction depends on objects.
    fn note_read(&mut self, objects: &[GlobalId]) -> Result<()> {
        let sets = objects.iter().map(|object| ReadSet { object: *object, keys: None, test: None });
        self.transaction_mut()?.work.reads.extend(sets);
        Ok(())
    }

    /// A plan with what was seen of it. `returned`: how many rows a reader got.
    fn analyzed(
        &self,
        observed: &Observed,
        measures: Measures,
        returned: Option<u64>,
    ) -> Result<Item> {
        let seen = |place: Place| {
            let mut workers: Vec<Figures> = observed
                .workers
                .iter()
                .map(|worker| worker.figures.get(&place).copied().unwrap_or_default())
                .collect();
            if let (Place::Sink, Some(first)) = (place, workers.first_mut()) {
                first.sent = returned;
            }
            Some(Seen { workers, measures })
        };
        let plan: &Dataflow = &observed.plan;
        self.named(|names| explain::analyzed(plan, names, &seen))
    }

    /// Shows something with the names of the objects.
    fn named(&self, show: impl FnOnce(Names<'_>) -> Item) -> Result<Item> {
        let catalog = self.transaction()?.catalog.clone();
        Ok(show(&|id: GlobalId| match catalog.get(id) {
            Some(item) => format!("{}.{}", item.schema, item.name),
            None => id.to_string(),
        }))
    }
}

fn answer(
    above: &[String],
    item: Item,
    measures: Measures,
    times: &Times,
    workers: usize,
) -> Outcome {
    let ms = |duration: &Duration| duration.as_secs_f64() * 1e3;
    let shown = |duration: Option<Duration>| duration.filter(|_| measures.summary);
    let (planning, execution) = (shown(times.planning), shown(times.execution));
    if measures.json {
        let mut whole = json!({ "Plan": item.json() });
        if let Some(finish) = above.first() {
            whole["Finish"] = json!(finish);
        }
        if measures.summary {
            whole["Workers"] = json!(workers);
        }
        for (name, time) in [("Planning Time", planning), ("Execution Time", execution)] {
            if let Some(time) = time {
                whole[name] = json!(ms(&time));
            }
        }
        let text = serde_json::to_string_pretty(&Value::Array(vec![whole])).unwrap_or_default();
        return plan_rows(&[text], ScalarType::Json);
    }
    let mut lines = above.to_vec();
    lines.extend(item.text().lines().map(str::to_owned));
    if workers > 1 && measures.summary {
        lines.push(format!("Workers: {workers}"));
    }
    lines.extend(planning.map(|time| format!("Planning Time: {:.3} ms", ms(&time))));
    lines.extend(execution.map(|time| format!("Execution Time: {:.3} ms", ms(&time))));
    plan_rows(&lines, ScalarType::Text)
}

/// The type of the column that EXPLAIN ANALYZE answers with.
pub(super) fn plan_type(measures: Measures) -> ScalarType {
    if measures.json { ScalarType::Json } else { ScalarType::Text }
}

pub(super) fn plan_rows(lines: &[String], scalar: ScalarType) -> Outcome {
    let desc = plan_desc(scalar);
    let datum = |line: &String| match scalar {
        ScalarType::Json => pack(&[Datum::Json(line)]),
        _ => pack(&[Datum::Text(line)]),
    };
    let rows = Rows::ready(lines.iter().map(datum).collect(), desc.scalars());
    Outcome::Rows { desc, rows: Box::new(rows), tag: Tag::Fixed("EXPLAIN".into()) }
}

/// What EXPLAIN answers with.
pub(super) fn plan_desc(scalar: ScalarType) -> RelationDesc {
    let column = ColumnDesc { name: "QUERY PLAN".into(), ty: ColumnType::nullable(scalar) };
    RelationDesc { columns: vec![column], keys: vec![] }
}
