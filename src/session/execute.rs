//! Statements: starting each kind, and sending what it answers.

use crate::coord::request::When;
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::{Discard, Select, Statement};
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnDesc, ColumnType, Datum, RelationDesc, Row, ScalarType, Timestamp};
use crate::session::frontend::{Format, Frontend};
use crate::session::read::without_indexes;
use crate::session::reg_names::RegNames;
use crate::session::rows::Rows;
use crate::session::session::{Outcome, Session, Tag, fields};

impl Session {
    /// Makes what a bound statement answers with, in the open transaction.
    pub(super) async fn start(&mut self, statement: Statement) -> Result<Outcome> {
        match statement {
            Statement::Empty => Ok(Outcome::Empty),
            Statement::Select(select) => self.select(select).await,
            Statement::Insert(insert) => self.insert(*insert).await,
            Statement::Update(update) => self.update(update).await,
            Statement::Delete(delete) => self.delete(delete).await,
            Statement::Merge(merge) => self.merge(merge).await,
            Statement::Writes(writes) => self.writes(writes).await,
            Statement::Truncate { tables } => self.truncate(tables).await,
            Statement::Transact(transact) => self.transact(transact).await,
            Statement::Subscribe(subscribe) => self.subscribe(subscribe).await,
            Statement::CopyFrom(copy) => {
                self.check_writable("COPY FROM")?;
                Ok(Outcome::CopyIn(Box::new(copy)))
            }
            Statement::CopyTo(copy) => {
                let inner = Box::new(Box::pin(self.start(*copy.query)).await?);
                Ok(Outcome::CopyOut { inner, options: Box::new(copy.options) })
            }
            Statement::CreateSchema { .. }
            | Statement::CreateTable(_)
            | Statement::CreateView(_)
            | Statement::CreateIndex(_)
            | Statement::CreateSequence { .. }
            | Statement::CreateType(_)
            | Statement::CreateAttribute(_)
            | Statement::AlterType(_)
            | Statement::AlterTable(_)
            | Statement::Drop(_) => self.define(statement).await,
            Statement::CreateTraceSource(source) => self.create_trace_source(source).await,
            Statement::Explain(explain) => self.explain(explain),
            Statement::Why(why) => self.explain_why(*why).await,
            Statement::ExplainAnalyze(analyze) => self.explain_analyze(analyze).await,
            Statement::Declare { .. } | Statement::Fetch { .. } | Statement::Close { .. } => {
                self.cursor(statement).await
            }
            Statement::Begin { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint { .. }
            | Statement::ReleaseSavepoint { .. }
            | Statement::RollbackTo { .. } => self.control(statement).await,
            other => self.settings(other).await,
        }
    }

    /// SET and SHOW, prepared statements by name, DISCARD.
    async fn settings(&mut self, statement: Statement) -> Result<Outcome> {
        match statement {
            Statement::Set { name, value, local } => {
                let changed = self.variables.set(&name, value.as_deref(), local)?;
                self.reports.extend(changed);
                Ok(Outcome::Done("SET".into()))
            }
            Statement::AlterSystem { name, value } => {
                self.alter_system(&name, value.as_deref()).await?;
                Ok(Outcome::Done("ALTER SYSTEM".into()))
            }
            Statement::Reset { name } => {
                let changed = match &name {
                    Some(name) => self.variables.set(name, None, false)?.into_iter().collect(),
                    None => self.variables.reset_all(),
                };
                self.reports.extend(changed);
                Ok(Outcome::Done("RESET".into()))
            }
            Statement::Show { name: Some(name) } => {
                self.learn_interval();
                let value = self.variables.get(&name)?;
                let name = self.variables.name(&name)?;
                Ok(text_rows(&[&name], vec![vec![value]], Tag::Fixed("SHOW".into())))
            }
            Statement::Show { name: None } => {
                self.learn_interval();
                let all = self.variables.all();
                let rows = all.into_iter().map(|(n, v, d)| vec![n, v, d]).collect();
                Ok(text_rows(&["name", "setting", "description"], rows, Tag::Fixed("SHOW".into())))
            }
            Statement::Prepare { name, types, text } => {
                self.prepare(name, types, text).await?;
                Ok(Outcome::Done("PREPARE".into()))
            }
            Statement::Execute { name, args } => self.execute_prepared(&name, args).await,
            Statement::Deallocate { name } => {
                match &name {
                    Some(name) => self.deallocate(name)?,
                    None => self.statements.clear(),
                }
                let tag = if name.is_some() { "DEALLOCATE" } else { "DEALLOCATE ALL" };
                Ok(Outcome::Done(tag.into()))
            }
            Statement::DefineRules { rules } => {
                self.rules.add(rules);
                Ok(Outcome::Done("RULE".into()))
            }
            Statement::DropRules { names } => {
                self.rules.remove(&names);
                Ok(Outcome::Done("DROP VIEW".into()))
            }
            Statement::Discard { what } => {
                if matches!(what, Discard::All | Discard::Temp) {
                    self.rules.clear();
                }
                if matches!(what, Discard::All) {
                    self.statements.clear();
                    self.portals.clear();
                    self.sequences.clear();
                    let changed = self.variables.reset_all();
                    self.reports.extend(changed);
                } else if matches!(what, Discard::Sequences) {
                    self.sequences.clear();
                }
                Ok(Outcome::Done(discard_tag(what).into()))
            }
            other => Err(Error::internal(format!("statement without a home: {other:?}"))),
        }
    }

    async fn select(&mut self, select: Select) -> Result<Outcome> {
        let limit = self.row_count(select.finishing.limit.as_ref(), "LIMIT")?;
        let offset = self.row_count(select.finishing.offset.as_ref(), "OFFSET")?.unwrap_or(0);
        if let Some(as_of) = &select.as_of {
            let time = self.time_of(as_of)?;
            self.travel(time).await?;
        }
        let types = select.relation.typ().scalars();
        let order = select.finishing.order_by;
        let project = select.finishing.project;
        let hint = limit.map(|l| l.saturating_add(offset));
        let mut relation = select.relation;
        let mut rows;
        if self.settle_calls(&mut relation)? {
            let (computed, in_order) = self.computed(relation, &order, hint).await?;
            rows = Rows::ready(computed, types).finished(project, offset, limit);
            if !in_order {
                rows.sort(&order, &self.cancel).await?;
            }
        } else {
            let hint = hint.filter(|_| order.is_empty());
            let stream = self.read_relation(relation, hint).await?;
            rows = Rows::streamed(stream, types).finished(project, offset, limit);
            if !order.is_empty() {
                rows.sort(&order, &self.cancel).await?;
            }
        }
        self.await_durable().await?;
        let tag = Tag::Counted("SELECT");
        Ok(Outcome::Rows { desc: select.desc, rows: Box::new(rows), tag })
    }

    /// Moves a transaction that has done nothing to a time in the past.
    pub(super) async fn travel(&mut self, time: Timestamp) -> Result<()> {
        let transaction = self.transaction()?;
        if !transaction.is_empty() || !transaction.work.reads.is_empty() {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "AS OF must be in the first statement of a transaction",
            ));
        }
        let snapshot = self.cancel.or(self.engine.client.snapshot(When::At(time))).await?;
        let catalog = self.transaction()?.catalog.clone();
        let transaction = self.transaction_mut()?;
        transaction.snapshot = std::sync::Arc::new(snapshot);
        transaction.base = without_indexes(&catalog)?;
        transaction.catalog = catalog;
        transaction.read_only = true;
        Ok(())
    }

    /// Before anything leaves that was read at the tip: the tip must be durable.
    pub(super) async fn await_durable(&mut self) -> Result<()> {
        let transaction = self.transaction()?;
        if transaction.at_tip {
            let time = transaction.snapshot.time;
            self.cancel.or(self.engine.client.durable(time)).await?;
            self.transaction_mut()?.at_tip = false;
            self.ahead = false;
        }
        Ok(())
    }

    /// Before an answer leaves that only tells what was read: UPDATE 0, or an error.
    pub(super) async fn await_read(&mut self) -> Result<()> {
        match &self.transaction {
            Some(transaction) if !transaction.work.reads.is_empty() => self.await_durable().await,
            _ => Ok(()),
        }
    }

    /// Refuses a write in a read-only transaction, or beside a subscription.
    pub(super) fn check_writable(&self, command: &str) -> Result<()> {
        let transaction = self.transaction()?;
        if transaction.read_only || self.variables.transaction_read_only() {
            return Err(Error::new(
                SqlState::READ_ONLY_SQL_TRANSACTION,
                format!("cannot execute {command} in a read-only transaction"),
            ));
        }
        if transaction.watches {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                format!("cannot execute {command} in a transaction with a subscription"),
            )
            .with_hint("A subscription shows committed changes only: write in another one."));
        }
        Ok(())
    }

    pub(super) fn row_count(
        &self,
        expr: Option<&crate::expr::scalar::Expr>,
        clause: &str,
    ) -> Result<Option<u64>> {
        let Some(expr) = expr else { return Ok(None) };
        self.constant(expr, |datum| match datum {
            Datum::Null => Ok(None),
            Datum::Int8(n) => u64::try_from(n).map(Some).map_err(|_| {
                let code = match clause {
                    "LIMIT" => SqlState::INVALID_ROW_COUNT_IN_LIMIT,
                    _ => SqlState::INVALID_ROW_COUNT_IN_OFFSET,
                };
                Error::new(code, format!("{clause} must not be negative"))
            }),
            other => Err(Error::internal(format!("{clause} is {other:?}, not int8"))),
        })
    }

    /// The time that an AS OF or UP TO expression names.
    pub(super) fn time_of(&self, expr: &crate::expr::scalar::Expr) -> Result<Timestamp> {
        self.constant(expr, |datum| match datum {
            Datum::Int8(ns) => u64::try_from(ns).map_err(|_| {
                Error::new(SqlState::INVALID_PARAMETER_VALUE, "a time must not be negative")
            }),
            // The end of that microsecond.
            Datum::TimestampTz(us) => {
                nanos_of(us).and_then(|ns| ns.checked_add(999)).ok_or_else(|| {
                    Error::new(SqlState::INVALID_PARAMETER_VALUE, "the time is out of range")
                })
            }
            Datum::Null => {
                Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "a time must not be null"))
            }
            other => Err(Error::internal(format!("a time is {other:?}"))),
        })
    }

    /// Sends an outcome, at most `max_rows` rows of it (0: all). True: it is at its end, and its
    /// tag was sent.
    pub(super) async fn send<F: Frontend>(
        &mut self,
        outcome: &mut Outcome,
        formats: &[Format],
        max_rows: u64,
        out: &mut F,
    ) -> Result<bool> {
        match outcome {
            Outcome::Empty => out.empty_query(),
            Outcome::Done(tag) => out.command_complete(tag),
            Outcome::Rows { desc, rows, tag } => {
                let fields = fields(desc, formats);
                let settings = self.variables.format().clone();
                let names = RegNames::of(self, &fields);
                let mut sent = 0;
                let mut datums = Vec::new();
                while max_rows == 0 || sent < max_rows {
                    let Some(row) = rows.next(&self.cancel).await? else {
                        out.command_complete(&tag.text(sent));
                        return Ok(true);
                    };
                    send_row(&row, rows, &mut datums, (&fields, names.as_ref()), &settings, out);
                    sent += 1;
                    out.ready().await?;
                }
                out.portal_suspended();
                return Ok(false);
            }
            Outcome::Changes(watch) => {
                return self.send_changes(watch, formats, max_rows, out).await;
            }
            Outcome::CopyOut { inner, options } => self.copy_out(inner, options, out).await?,
            Outcome::CopyIn(copy) => {
                let done = Box::pin(self.copy_in((**copy).clone(), out)).await?;
                if let Outcome::Done(tag) = &done {
                    out.command_complete(tag);
                }
            }
        }
        Ok(true)
    }
}

/// Sends one row.
pub(super) fn send_row<F: Frontend>(
    row: &Row,
    rows: &Rows,
    scratch: &mut Vec<Datum<'static>>,
    (fields, names): (&[crate::session::frontend::Field], Option<&RegNames>),
    settings: &crate::repr::settings::FormatSettings,
    out: &mut F,
) {
    scratch.clear();
    let mut datums: Vec<Datum<'_>> = std::mem::take(scratch);
    decode_values(&rows.types, row.bytes(), &mut datums);
    let arena = bumpalo::Bump::new();
    let mut projected: smallvec::SmallVec<[Datum<'_>; 16]> =
        rows.project.iter().map(|column| datums[*column]).collect();
    if let Some(names) = names {
        for (datum, field) in projected.iter_mut().zip(fields) {
            if let Some(name) = names.spell(*datum, field) {
                *datum = Datum::Text(arena.alloc_str(&name));
            }
        }
    }
    out.data_row(&projected, fields, settings);
}

impl Tag {
    /// The text of the tag after so many rows.
    pub(super) fn text(&self, rows: u64) -> String {
        match self {
            Tag::Counted(word) => format!("{word} {rows}"),
            Tag::Fixed(text) => text.clone(),
        }
    }
}

fn discard_tag(what: Discard) -> &'static str {
    match what {
        Discard::All => "DISCARD ALL",
        Discard::Plans => "DISCARD PLANS",
        Discard::Sequences => "DISCARD SEQUENCES",
        Discard::Temp => "DISCARD TEMP",
    }
}

/// Nanoseconds since 1970 of PostgreSQL's microseconds since 2000.
pub(super) fn nanos_of(us: i64) -> Option<Timestamp> {
    const EPOCH_US: i64 = 946_684_800_000_000;
    u64::try_from(us.checked_add(EPOCH_US)?).ok()?.checked_mul(1_000)
}

/// Rows of text columns, as SHOW and EXPLAIN answer.
pub(super) fn text_rows(names: &[&str], rows: Vec<Vec<String>>, tag: Tag) -> Outcome {
    let columns = names.iter().map(|name| ColumnDesc {
        name: (*name).to_owned(),
        ty: ColumnType::nullable(ScalarType::Text),
    });
    let desc = RelationDesc { columns: columns.collect(), keys: vec![] };
    let packed = rows.iter().map(|row| {
        let datums: Vec<Datum<'_>> = row.iter().map(|text| Datum::Text(text)).collect();
        pack(&datums)
    });
    let rows = Rows::ready(packed.collect(), desc.scalars());
    Outcome::Rows { desc, rows: Box::new(rows), tag }
}
