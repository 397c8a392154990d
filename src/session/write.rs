//! INSERT, UPDATE, DELETE, TRUNCATE: rows become changes of the open transaction's buffers.
//!
//! What a statement writes is computed from the transaction's view of the tables. New keys are
//! looked up in the buffer and at the snapshot, and become part of what the commit validates, so
//! that two transactions cannot both insert one.

use std::collections::BTreeSet;
use std::sync::Arc;

use bumpalo::Bump;

use crate::catalog::item::{ItemKind, Table};
use crate::coord::request::{ArrangementRead, Read, ReadSet};
use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::expr::functions::sequence::sequence_calls;
use crate::expr::mfp::Mfp;
use crate::plan::physical::{Arrangement, ArrangementId, Bounds};
use crate::plan::relation::Relation;
use crate::plan::statement::{ColumnSource, Delete, Insert, OnConflict, Returning, Update};
use crate::repr::text::format_text;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, GlobalId, Row, ScalarType};
use crate::session::constraints::{check_row, failing_row};
use crate::session::facts::Fact;
use crate::session::layout::{RowDecoder, RowEncoder};
use crate::session::rows::{Rows, sorted};
use crate::session::session::{Outcome, Session, Tag};

/// The rows that a statement puts into a table and takes from it, encoded.
#[derive(Default)]
struct Changes {
    updates: Vec<(Row, Row, Diff)>,
    /// Keys that come, with the row for the error's DETAIL.
    incoming: Vec<Row>,
    outgoing: BTreeSet<Row>,
}

impl Session {
    pub(super) async fn insert(&mut self, insert: Insert) -> Result<Outcome> {
        self.check_writable("INSERT")?;
        let rows = self.source_rows(insert.source).await?;
        let rows = self.complete_rows(insert.table, &insert.columns, &rows.0, &rows.1).await?;
        let written = match insert.on_conflict {
            OnConflict::Fail => self.put_rows(insert.table, rows, false).await?,
            OnConflict::Nothing => self.put_rows(insert.table, rows, true).await?,
            OnConflict::Update { excluded, selection, by: None } => {
                self.upsert(insert.table, rows, (excluded, selection)).await?
            }
            OnConflict::Update { excluded, selection, by: Some(index) } => {
                self.upsert_by(index, insert.table, rows, (excluded, selection)).await?
            }
        };
        self.written("INSERT 0", written, insert.returning).await
    }

    /// The rows of an INSERT's source, and their types.
    pub(super) async fn source_rows(
        &mut self,
        select: crate::plan::statement::Select,
    ) -> Result<(Vec<Row>, Vec<ScalarType>)> {
        let project = select.finishing.project.clone();
        let types = select.relation.typ().scalars();
        let Outcome::Rows { mut rows, .. } =
            Box::pin(self.start(crate::plan::statement::Statement::Select(select))).await?
        else {
            return Err(Error::internal("a query that answers without rows"));
        };
        let mut all = Vec::new();
        while let Some(row) = rows.next(&self.cancel).await? {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let picked: Vec<_> = project.iter().map(|column| datums[*column]).collect();
            all.push(pack(&picked));
        }
        Ok((all, project.iter().map(|column| types[*column]).collect()))
    }

    /// Rows with all columns of the table: defaults are evaluated, sequences advanced, NOT NULL
    /// is checked.
    pub(super) async fn complete_rows(
        &mut self,
        table: GlobalId,
        columns: &[ColumnSource],
        rows: &[Row],
        types: &[ScalarType],
    ) -> Result<Vec<Row>> {
        let item = self.transaction()?.catalog.expect(table)?.clone();
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("rows are put into what is no table"));
        };
        let domains = self.domain_checks(item.id)?;
        let checks = self.check_rules(item.id)?;
        let mut values = self.default_values(columns, rows.len() as u64).await?;
        let settings = self.variables.format().clone();
        let mut arena = Bump::new();
        let mut whole = Vec::with_capacity(rows.len());
        for row in rows {
            arena.reset();
            let cx = EvalContext { arena: &arena, settings: &settings };
            let mut given = Vec::with_capacity(types.len());
            decode_values(types, row.bytes(), &mut given);
            let mut datums = Vec::with_capacity(columns.len());
            for (column, source) in columns.iter().enumerate() {
                datums.push(match source {
                    ColumnSource::Source(from) => given[*from],
                    ColumnSource::Default(expr) => expr.eval(&[], &cx)?,
                    ColumnSource::Sequence(id) => {
                        let value = values.get_mut(id).and_then(Iterator::next);
                        let value = value.ok_or_else(|| Error::internal("too few values"))?;
                        sequence_datum(value, table.desc.columns[column].ty.scalar)?
                    }
                });
            }
            for check in &*domains {
                check.eval(&datums, &cx)?;
            }
            check_not_null(&item.name, table, &datums, &settings)?;
            check_row(&item.name, &table.desc, &checks, &datums, &cx)?;
            whole.push(pack(&datums));
        }
        Ok(whole)
    }

    /// Puts whole rows into a table's buffer; returns those that were put.
    pub(super) async fn put_rows(
        &mut self,
        table: GlobalId,
        rows: Vec<Row>,
        do_nothing: bool,
    ) -> Result<Vec<Row>> {
        let rows = if do_nothing { self.without_taken(table, rows).await? } else { rows };
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        if catalog.expect(table)?.attribute().is_some() {
            let facts = rows.iter().map(|row| Fact::of_row(row, &layout.types)).collect();
            self.change_facts(table, vec![], facts).await?;
            return Ok(rows);
        }
        let mut encoder = RowEncoder::new(&layout);
        let mut encoded = Vec::with_capacity(rows.len());
        for row in &rows {
            let mut datums = Vec::with_capacity(layout.types.len());
            decode_values(&layout.types, row.bytes(), &mut datums);
            encoded.push(encoder.encode(&datums)?);
        }
        if !self.is_keyed(table)? {
            let updates = encoded.into_iter().map(|(key, value)| (key, value, 1)).collect();
            self.put_changes(table, updates).await?;
            return Ok(rows);
        }
        let wanted = encoded.iter().map(|(key, _)| key.clone()).collect();
        let mut taken = self.existing_keys(table, &layout, wanted, &BTreeSet::new()).await?;
        let (mut updates, mut put) = (Vec::with_capacity(rows.len()), Vec::new());
        for ((key, value), row) in encoded.into_iter().zip(rows) {
            if !taken.insert(key.clone()) {
                if do_nothing {
                    continue;
                }
                return Err(self.duplicate(table, &layout, &row));
            }
            updates.push((key, value, 1));
            put.push(row);
        }
        self.put_changes(table, updates).await?;
        Ok(put)
    }

    /// Puts rows that are in the table's layout already.
    pub(super) async fn put_encoded(
        &mut self,
        table: GlobalId,
        updates: Vec<(Row, Row, Diff)>,
    ) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        if self.is_keyed(table)? {
            let wanted = updates.iter().map(|(key, _, _)| key.clone()).collect();
            let taken = self.existing_keys(table, &layout, wanted, &BTreeSet::new()).await?;
            if let Some((key, value, _)) = updates.iter().find(|(key, _, _)| taken.contains(key)) {
                let row = pack(&RowDecoder::new(&layout).decode(key, value));
                return Err(self.duplicate(table, &layout, &row));
            }
        }
        self.put_changes(table, updates).await
    }

    fn is_keyed(&self, table: GlobalId) -> Result<bool> {
        let item = self.transaction()?.catalog.expect(table)?;
        Ok(matches!(&item.kind, ItemKind::Table(table) if table.primary_key.is_some()))
    }

    pub(super) fn buffer(&mut self, table: GlobalId, updates: Vec<(Row, Row, Diff)>) -> Result<()> {
        let keyed = self.is_keyed(table)?;
        self.transaction_mut()?.buffer(table, updates, keyed);
        Ok(())
    }

    /// Which of the keys the table has, as the transaction sees it once `leaving` are gone.
    pub(super) async fn existing_keys(
        &mut self,
        table: GlobalId,
        layout: &Arrangement,
        wanted: Vec<Row>,
        leaving: &BTreeSet<Row>,
    ) -> Result<BTreeSet<Row>> {
        let transaction = self.transaction()?;
        let mut found = BTreeSet::new();
        let mut unknown = BTreeSet::new();
        let buffer = transaction.work.buffers.get(&table);
        for key in wanted {
            match buffer.and_then(|buffer| buffer.keys.get(&key)) {
                _ if leaving.contains(&key) => {}
                Some(true) => {
                    found.insert(key);
                }
                Some(false) => {}
                None => {
                    unknown.insert(key);
                }
            }
        }
        if unknown.is_empty() || transaction.made(table) {
            return Ok(found);
        }
        let mut encoder = RowEncoder::new(layout);
        for row in self.rows_at_snapshot(table, layout, unknown.into_iter().collect()).await? {
            let mut datums = Vec::with_capacity(layout.types.len());
            decode_values(&layout.types, row.bytes(), &mut datums);
            found.insert(encoder.encode(&datums)?.0);
        }
        Ok(found)
    }

    /// The rows of a table that have one of these keys at the transaction's snapshot, whole; that
    /// they stay so becomes part of what the commit validates.
    pub(super) async fn rows_at_snapshot(
        &mut self,
        table: GlobalId,
        layout: &Arrangement,
        keys: Vec<Row>,
    ) -> Result<Vec<Row>> {
        let snapshot = self.transaction()?.snapshot.clone();
        let read = ArrangementRead {
            target: ArrangementId { relation: table, index: table },
            layout: layout.clone(),
            bounds: Bounds::Keys(Arc::new(keys.clone())),
            mfp: Mfp::identity(layout.types.len()),
            limit: None,
            settings: self.variables.format().clone(),
        };
        let read = Read::Arrangement(Box::new(read));
        let mut stream = self.cancel.or(self.engine.client.read(&snapshot, read)).await?;
        let mut found = Vec::new();
        while let Some(rows) = self.cancel.or(stream.next()).await? {
            found.extend(rows.into_iter().map(|(row, _)| row));
        }
        let reads = &mut self.transaction_mut()?.work.reads;
        reads.push(ReadSet { object: table, keys: Some(keys), test: None });
        Ok(found)
    }

    /// The error of a key that is there already.
    fn duplicate(&self, table: GlobalId, layout: &Arrangement, row: &Row) -> Error {
        let catalog = self.transaction().map(|t| t.catalog.clone());
        let item = catalog.ok().and_then(|catalog| catalog.get(table).cloned());
        let Some(ItemKind::Table(table)) = item.as_ref().map(|item| &item.kind) else {
            return Error::internal("a key of what is no table");
        };
        let Some(key) = &table.primary_key else { return Error::internal("a table without key") };
        let mut datums = Vec::with_capacity(layout.types.len());
        decode_values(&layout.types, row.bytes(), &mut datums);
        let names: Vec<_> =
            key.columns.iter().map(|c| table.desc.columns[*c].name.as_str()).collect();
        let values: Vec<_> = key
            .columns
            .iter()
            .map(|c| {
                let mut text = String::new();
                let scalar = layout.types[*c];
                format_text(&datums[*c], scalar, self.variables.format(), &mut text);
                text
            })
            .collect();
        Error::new(
            SqlState::UNIQUE_VIOLATION,
            format!("duplicate key value violates unique constraint \"{}\"", key.name),
        )
        .with_detail(format!(
            "Key ({})=({}) already exists.",
            names.join(", "),
            values.join(", ")
        ))
    }

    pub(super) async fn update(&mut self, update: Update) -> Result<Outcome> {
        self.check_writable("UPDATE")?;
        let (rows, types) = self.selected(update.selection).await?;
        let rows = self.unchanged(update.table, rows, &types)?;
        let width = self.width(update.table)?;
        let new = self.change(update.table, &rows, &types).await?;
        let mut returned = Vec::with_capacity(new.len());
        for ((row, count), new) in rows.iter().zip(new) {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let whole = if types.len() == 2 * width { new } else { pack(&datums[width..]) };
            returned.extend(std::iter::repeat_n(whole, *count as usize));
        }
        self.written("UPDATE", returned, update.returning).await
    }

    /// How many columns a table has.
    pub(super) fn width(&self, table: GlobalId) -> Result<usize> {
        let item = self.transaction()?.catalog.expect(table)?;
        let desc = item.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        Ok(desc.arity())
    }

    /// Changes rows, given as the old row's columns and the new row's; answers the new ones.
    pub(super) async fn change(
        &mut self,
        table: GlobalId,
        rows: &[(Row, Diff)],
        types: &[ScalarType],
    ) -> Result<Vec<Row>> {
        let item = self.transaction()?.catalog.expect(table)?.clone();
        let ItemKind::Table(desc) = &item.kind else {
            return Err(Error::internal("an update of what is no table"));
        };
        let width = desc.desc.arity();
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        let mut encoder = RowEncoder::new(&layout);
        let (mut changes, mut new_rows) = (Changes::default(), Vec::new());
        let domains = self.domain_checks(table)?;
        let checks = self.check_rules(table)?;
        let mut arena = Bump::new();
        for (row, count) in rows {
            arena.reset();
            let cx = EvalContext { arena: &arena, settings: self.variables.format() };
            let mut datums = Vec::with_capacity(types.len());
            decode_values(types, row.bytes(), &mut datums);
            let (old, new) = datums[..2 * width].split_at(width);
            for check in &*domains {
                check.eval(new, &cx)?;
            }
            check_not_null(&item.name, desc, new, self.variables.format())?;
            check_row(&item.name, &desc.desc, &checks, new, &cx)?;
            let (old, new_row) = (encoder.encode(old)?, pack(new));
            let new = encoder.encode(new)?;
            if old.0 != new.0 {
                changes.incoming.push(new.0.clone());
            }
            changes.outgoing.insert(old.0.clone());
            changes.updates.push((old.0, old.1, -count));
            changes.updates.push((new.0, new.1, *count));
            new_rows.push(new_row);
        }
        if desc.attribute().is_some() {
            let old = rows.iter().map(|(row, _)| Fact::of_row(row, types)).collect();
            let new = new_rows.iter().map(|row| Fact::of_row(row, &layout.types)).collect();
            self.change_facts(table, old, new).await?;
            return Ok(new_rows);
        }
        if desc.primary_key.is_some() {
            self.check_moved(table, &layout, &changes, &new_rows).await?;
        }
        self.put_changes(table, changes.updates).await?;
        Ok(new_rows)
    }

    /// Rows whose key an UPDATE changes must not meet another row.
    async fn check_moved(
        &mut self,
        table: GlobalId,
        layout: &Arrangement,
        changes: &Changes,
        new_rows: &[Row],
    ) -> Result<()> {
        let incoming = changes.incoming.clone();
        let taken = self.existing_keys(table, layout, incoming, &changes.outgoing).await?;
        let mut seen = BTreeSet::new();
        let mut encoder = RowEncoder::new(layout);
        for row in new_rows {
            let mut datums = Vec::with_capacity(layout.types.len());
            decode_values(&layout.types, row.bytes(), &mut datums);
            let (key, _) = encoder.encode(&datums)?;
            if taken.contains(&key) || !seen.insert(key) {
                return Err(self.duplicate(table, layout, row));
            }
        }
        Ok(())
    }

    pub(super) async fn delete(&mut self, delete: Delete) -> Result<Outcome> {
        self.check_writable("DELETE")?;
        let (rows, types) = self.selected(delete.selection).await?;
        let rows = self.unchanged(delete.table, rows, &types)?;
        self.take_away(delete.table, &rows, &types).await?;
        let gone = rows.into_iter().flat_map(|(row, n)| std::iter::repeat_n(row, n as usize));
        self.written("DELETE", gone.collect(), delete.returning).await
    }

    /// Takes rows, the table's columns first, out of a table.
    pub(super) async fn take_away(
        &mut self,
        table: GlobalId,
        rows: &[(Row, Diff)],
        types: &[ScalarType],
    ) -> Result<()> {
        if self.transaction()?.catalog.expect(table)?.attribute().is_some() {
            let facts = rows.iter().map(|(row, _)| Fact::of_row(row, types)).collect();
            return self.change_facts(table, facts, vec![]).await;
        }
        let updates = self.removal(table, rows, types)?;
        self.put_changes(table, updates).await
    }

    /// The changes that take rows out of a table.
    fn removal(
        &self,
        table: GlobalId,
        rows: &[(Row, Diff)],
        types: &[ScalarType],
    ) -> Result<Vec<(Row, Row, Diff)>> {
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        let mut encoder = RowEncoder::new(&layout);
        let width = layout.types.len();
        let mut updates = Vec::with_capacity(rows.len());
        for (row, count) in rows {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(types, row.bytes(), &mut datums);
            let (key, value) = encoder.encode(&datums[..width])?;
            updates.push((key, value, -count));
        }
        Ok(updates)
    }

    pub(super) async fn truncate(&mut self, tables: Vec<GlobalId>) -> Result<Outcome> {
        self.check_writable("TRUNCATE TABLE")?;
        self.check_truncated(&tables)?;
        for table in tables {
            let item = self.transaction()?.catalog.expect(table)?.clone();
            let desc = item.desc().ok_or_else(|| Error::internal("not a table"))?;
            let ty = crate::plan::relation::RelationType { columns: desc.types(), keys: vec![] };
            let selection = Relation::global(table, ty);
            let (rows, types) = self.selected(selection).await?;
            let rows = self.unchanged(table, rows, &types)?;
            if item.attribute().is_some() {
                self.take_away(table, &rows, &types).await?;
                continue;
            }
            let updates = self.removal(table, &rows, &types)?;
            self.buffer(table, updates)?;
        }
        Ok(Outcome::Done("TRUNCATE TABLE".into()))
    }

    /// All rows of a selection, in a fixed order, and their types.
    pub(super) async fn selected(
        &mut self,
        mut selection: Relation,
    ) -> Result<(Vec<(Row, Diff)>, Vec<ScalarType>)> {
        let types = selection.typ().scalars();
        if self.settle_calls(&mut selection)? {
            let (rows, _) = self.computed(selection, &[], None).await?;
            return Ok((rows.into_iter().map(|row| (row, 1)).collect(), types));
        }
        let mut stream = self.read_relation(selection, None).await?;
        let mut rows = Vec::new();
        while let Some(more) = self.cancel.or(stream.next()).await? {
            rows.extend(more);
        }
        Ok((sorted(rows, &types, &[]), types))
    }

    /// The answer of a statement that wrote these rows.
    pub(super) async fn written(
        &mut self,
        word: &str,
        rows: Vec<Row>,
        returning: Option<Returning>,
    ) -> Result<Outcome> {
        let tag = format!("{word} {}", rows.len());
        let in_block = self.mode() != crate::session::transaction::Mode::Implicit;
        if in_block {
            // Inside a block the tag leaves before the commit.
            self.await_durable().await?;
        }
        let Some(returning) = returning else { return Ok(Outcome::Done(tag)) };
        let types = returning.input.clone();
        let settings = self.variables.format().clone();
        if rows.len() > 1 && returning.exprs.iter().any(|expr| sequence_calls(expr).0) {
            return Err(Error::unsupported(
                "RETURNING a function of a sequence for several rows",
                "Return the column that holds the value.",
            ));
        }
        let mut results = Vec::with_capacity(rows.len());
        for row in &rows {
            let result = self.with_sequences(|| {
                let arena = Bump::new();
                let cx = EvalContext { arena: &arena, settings: &settings };
                let mut datums = Vec::with_capacity(types.len());
                decode_values(&types, row.bytes(), &mut datums);
                let values = returning.exprs.iter().map(|expr| expr.eval(&datums, &cx));
                Ok(pack(&values.collect::<std::result::Result<Vec<_>, _>>()?))
            });
            results.push(result.await?);
        }
        let rows = Rows::ready(results, returning.desc.scalars());
        Ok(Outcome::Rows { desc: returning.desc, rows: Box::new(rows), tag: Tag::Fixed(tag) })
    }
}

fn sequence_datum(value: i64, scalar: ScalarType) -> Result<Datum<'static>> {
    let range = |what: &str| {
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{what} out of range"))
    };
    match scalar {
        ScalarType::Int2 => i16::try_from(value).map(Datum::Int2).map_err(|_| range("smallint")),
        ScalarType::Int4 => i32::try_from(value).map(Datum::Int4).map_err(|_| range("integer")),
        _ => Ok(Datum::Int8(value)),
    }
}

fn check_not_null(
    name: &str,
    table: &Table,
    datums: &[Datum<'_>],
    settings: &crate::repr::settings::FormatSettings,
) -> Result<()> {
    let columns = table.desc.columns.iter();
    let Some((column, _)) = columns.zip(datums).find(|(c, d)| !c.ty.nullable && d.is_null()) else {
        return Ok(());
    };
    Err(Error::new(
        SqlState::NOT_NULL_VIOLATION,
        format!(
            "null value in column \"{}\" of relation \"{name}\" violates not-null constraint",
            column.name
        ),
    )
    .with_detail(failing_row(&table.desc, datums, settings)))
}
