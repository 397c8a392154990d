//! CHECK and UNIQUE: what the rows of a table must be, looked at before they are put.
//!
//! A condition is evaluated over each new row. Whether a key is there already is looked up in the
//! constraint's index at the transaction's snapshot, and among what the transaction has changed
//! since; that no other transaction brings the same key is validated at COMMIT, by the changes of
//! the table alone: those of other keys are no conflict. A statement is looked at as a whole, so
//! `SET k = k + 1` meets no key that it is about to free.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bumpalo::Bump;

use crate::catalog::item::{Constraint, Item, ItemKind, Rule};
use crate::coord::request::{ArrangementRead, Read, ReadSet, RowTest};
use crate::error::{Error, Result, SqlState};
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Arrangement, ArrangementId, Bounds};
use crate::plan::relation::{Relation, RelationType};
use crate::plan::statement::{CreateIndex, NewRule};
use crate::repr::text::format_text;
use crate::repr::value::decode_values;
use crate::repr::{Datum, Diff, GlobalId, RelationDesc, Row, ScalarType};
use crate::session::binding;
use crate::session::layout::{RowDecoder, RowEncoder};
use crate::session::session::Session;
use crate::session::system::names;

/// A key that no two rows of a table share.
pub(super) struct UniqueKey {
    name: String,
    index: GlobalId,
    /// Its columns.
    columns: Vec<usize>,
    /// How the table keeps rows, and how the index does.
    table_layout: Arc<Arrangement>,
    index_layout: Arc<Arrangement>,
}

impl UniqueKey {
    /// The key of a row; none where a part of it is NULL.
    fn of(&self, encoder: &mut RowEncoder<'_>, datums: &[Datum<'_>]) -> Result<Option<Row>> {
        if self.columns.iter().any(|column| datums[*column].is_null()) {
            return Ok(None);
        }
        Ok(Some(encoder.encode(datums)?.0))
    }

    /// The keys of whole rows.
    pub(super) fn of_rows(&self, rows: &[Row]) -> Result<Vec<Option<Row>>> {
        let mut encoder = RowEncoder::new(&self.index_layout);
        let keys = rows.iter().map(|row| {
            let mut datums = Vec::with_capacity(self.types().len());
            decode_values(self.types(), row.bytes(), &mut datums);
            self.of(&mut encoder, &datums)
        });
        keys.collect()
    }

    /// Its columns.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How its index keeps rows.
    pub(super) fn index_layout(&self) -> &Arc<Arrangement> {
        &self.index_layout
    }

    /// The types of the table's columns.
    pub(super) fn types(&self) -> &[ScalarType] {
        &self.table_layout.types
    }

    fn of_stored(
        &self,
        encoder: &mut RowEncoder<'_>,
        key: &Row,
        value: &Row,
    ) -> Result<Option<Row>> {
        self.of(encoder, &RowDecoder::new(&self.table_layout).decode(key, value))
    }
}

/// Conditions of rows, by the names of their constraints.
pub(super) type Checks = Arc<Vec<(String, Expr)>>;

impl Session {
    /// The conditions that a table's rows must not make false, in the order of their names.
    pub(super) fn check_rules(&self, table: GlobalId) -> Result<Checks> {
        let catalog = &self.transaction()?.catalog;
        let mut checks = vec![];
        for (item, constraint) in catalog.constraints(table) {
            let Rule::Check(text) = &constraint.rule else { continue };
            let desc = catalog.expect(table)?.desc().cloned().unwrap_or_default();
            let settings = self.variables.format();
            checks
                .push((item.name.clone(), binding::stored_scalar(catalog, text, &desc, settings)?));
        }
        checks.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Arc::new(checks))
    }

    /// The keys of a table that are unique, its primary key apart.
    pub(super) fn unique_keys(&self, table: GlobalId) -> Result<Vec<UniqueKey>> {
        let catalog = &self.transaction()?.catalog;
        let mut keys = vec![];
        for (item, constraint) in catalog.constraints(table) {
            let Rule::Unique { index, .. } = constraint.rule else { continue };
            keys.push(self.unique_key(&item.name, table, index)?);
        }
        Ok(keys)
    }

    pub(super) fn unique_key(
        &self,
        name: &str,
        table: GlobalId,
        index: GlobalId,
    ) -> Result<UniqueKey> {
        let catalog = &self.transaction()?.catalog;
        let desc = catalog.expect(table)?.desc().cloned().unwrap_or_default();
        let ItemKind::Index(of) = &catalog.expect(index)?.kind else {
            return Err(Error::internal("a key without an index"));
        };
        let columns = names::key_columns(of, &desc).into_iter().map(|at| at as usize - 1);
        Ok(UniqueKey {
            name: name.to_owned(),
            index,
            columns: columns.collect(),
            table_layout: self.engine.layout(catalog, table)?,
            index_layout: self.engine.layout(catalog, index)?,
        })
    }

    /// Puts changes into a table's buffer that leave each of its keys with one row at most.
    pub(super) async fn put_changes(
        &mut self,
        table: GlobalId,
        updates: Vec<(Row, Row, Diff)>,
    ) -> Result<()> {
        for key in self.unique_keys(table)? {
            self.check_unique(table, &key, &updates).await?;
        }
        let catalog = &self.transaction()?.catalog;
        let is_plain = catalog.constraints(table).next().is_none()
            && catalog.references(table).next().is_none();
        if is_plain {
            return self.buffer(table, updates);
        }
        self.buffer(table, updates.clone())?;
        self.follow_references(table, &updates).await
    }

    /// Error 23505 where changes bring a key a second time.
    async fn check_unique(
        &mut self,
        table: GlobalId,
        key: &UniqueKey,
        updates: &[(Row, Row, Diff)],
    ) -> Result<()> {
        let mut encoder = RowEncoder::new(&key.index_layout);
        let mut wanted = BTreeSet::new();
        for (row_key, value, _) in updates.iter().filter(|(_, _, diff)| *diff > 0) {
            wanted.extend(key.of_stored(&mut encoder, row_key, value)?);
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let mut counts = self.occurrences(table, key, wanted).await?;
        for (row_key, value, diff) in updates {
            if let Some(of) = key.of_stored(&mut encoder, row_key, value)?
                && let Some(count) = counts.get_mut(&of)
            {
                *count += diff;
            }
        }
        for (row_key, value, diff) in updates {
            let of = key.of_stored(&mut encoder, row_key, value)?;
            if *diff > 0 && of.and_then(|of| counts.get(&of)).is_some_and(|count| *count > 1) {
                let datums = RowDecoder::new(&key.table_layout).decode(row_key, value);
                return Err(self.taken_twice(table, key, &datums)?);
            }
        }
        Ok(())
    }

    /// Drops rows whose keys are there already, or come before them.
    pub(super) async fn without_taken(
        &mut self,
        table: GlobalId,
        mut rows: Vec<Row>,
    ) -> Result<Vec<Row>> {
        for key in self.unique_keys(table)? {
            let of_rows = key.of_rows(&rows)?;
            let wanted = of_rows.iter().flatten().cloned().collect();
            let mut counts = self.occurrences(table, &key, wanted).await?;
            let mut is_free = of_rows.into_iter().map(|of| {
                let count = of.and_then(|of| {
                    counts.get_mut(&of).map(|count| {
                        *count += 1;
                        *count
                    })
                });
                count.is_none_or(|count| count <= 1)
            });
            rows.retain(|_| is_free.next().unwrap_or(true));
        }
        Ok(rows)
    }

    /// How many rows have each of these keys, as the transaction sees the table.
    pub(super) async fn occurrences(
        &mut self,
        table: GlobalId,
        key: &UniqueKey,
        wanted: BTreeSet<Row>,
    ) -> Result<HashMap<Row, Diff>> {
        let mut counts: HashMap<Row, Diff> = wanted.iter().map(|of| (of.clone(), 0)).collect();
        let mut encoder = RowEncoder::new(&key.index_layout);
        let transaction = self.transaction()?;
        if let Some(buffer) = transaction.work.buffers.get(&table) {
            for (row_key, value, diff) in &buffer.updates {
                if let Some(of) = key.of_stored(&mut encoder, row_key, value)?
                    && let Some(count) = counts.get_mut(&of)
                {
                    *count += diff;
                }
            }
        }
        if wanted.is_empty() || transaction.made(table) {
            return Ok(counts);
        }
        let has_index = !transaction.made(key.index);
        let (index, layout, bounds) = match has_index {
            true => {
                let keys = wanted.iter().cloned().collect();
                (key.index, &key.index_layout, Bounds::Keys(Arc::new(keys)))
            }
            false => (table, &key.table_layout, Bounds::All),
        };
        let types = &layout.types;
        let snapshot = transaction.snapshot.clone();
        let read = ArrangementRead {
            target: ArrangementId { relation: table, index },
            layout: (**layout).clone(),
            bounds,
            mfp: Mfp::identity(types.len()),
            limit: None,
            settings: self.variables.format().clone(),
        };
        let read = Read::Arrangement(Box::new(read));
        let mut stream = self.cancel.or(self.engine.client.read(&snapshot, read)).await?;
        while let Some(rows) = self.cancel.or(stream.next()).await? {
            for (row, diff) in &rows {
                let mut datums = Vec::with_capacity(types.len());
                decode_values(types, row.bytes(), &mut datums);
                if let Some(of) = key.of(&mut encoder, &datums)?
                    && let Some(count) = counts.get_mut(&of)
                {
                    *count += diff;
                }
            }
        }
        let test = Some(test(key, wanted.into_iter().collect()));
        let reads = &mut self.transaction_mut()?.work.reads;
        reads.push(ReadSet { object: table, keys: None, test });
        Ok(counts)
    }

    /// The error of a key that two rows would have.
    fn taken_twice(&self, table: GlobalId, key: &UniqueKey, datums: &[Datum<'_>]) -> Result<Error> {
        let item = self.transaction()?.catalog.expect(table)?.clone();
        let desc = item.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let message = format!("duplicate key value violates unique constraint \"{}\"", key.name);
        let shown = self.shown_key(desc, &key.columns, datums);
        Ok(Error::new(SqlState::UNIQUE_VIOLATION, message)
            .with_detail(format!("Key {shown} already exists.")))
    }

    fn shown_key(&self, desc: &RelationDesc, columns: &[usize], datums: &[Datum<'_>]) -> String {
        let names: Vec<_> = columns.iter().map(|at| desc.columns[*at].name.as_str()).collect();
        let values = columns.iter().map(|at| {
            let mut text = String::new();
            format_text(
                &datums[*at],
                desc.columns[*at].ty.scalar,
                self.variables.format(),
                &mut text,
            );
            text
        });
        format!("({})=({})", names.join(", "), values.collect::<Vec<_>>().join(", "))
    }

    /// Adds a constraint to a table; what it has must keep it. Errors: 23505, 23514, 42710.
    pub(super) async fn add_rule(&mut self, table: GlobalId, rule: NewRule) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        let on = catalog.expect(table)?.clone();
        let name = rule.name().to_owned();
        let has_key = matches!(&on.kind, ItemKind::Table(of)
            if of.primary_key.as_ref().is_some_and(|key| key.name == name));
        if has_key || catalog.constraints(table).any(|(item, _)| item.name == name) {
            return Err(Error::new(
                SqlState::DUPLICATE_OBJECT,
                format!("constraint \"{name}\" for relation \"{}\" already exists", on.name),
            ));
        }
        let desc = on.desc().cloned().unwrap_or_default();
        let rule = match rule {
            NewRule::Check { text, .. } => {
                let settings = self.variables.format().clone();
                let check = binding::stored_scalar(&catalog, &text, &desc, &settings)?;
                self.check_rows(&on, &name, &check).await?;
                Rule::Check(text)
            }
            NewRule::Unique { columns, declared, .. } => {
                let (mut key, mut key_text) = (vec![], vec![]);
                for column in &columns {
                    let at = desc.columns.iter().position(|of| of.name == *column);
                    let at = at.ok_or_else(|| {
                        let message = format!("column \"{column}\" named in key does not exist");
                        Error::new(SqlState::UNDEFINED_COLUMN, message)
                    })?;
                    key.push(Expr::Column(at));
                    key_text.push(names::quoted(column));
                }
                let settings = self.variables.format().clone();
                let if_not_exists = false;
                let create = CreateIndex {
                    name: name.clone(),
                    on: table,
                    key,
                    key_text,
                    unique: None,
                    if_not_exists,
                };
                let index = self.make_index(create, settings).await?;
                let key = self.unique_key(&name, table, index)?;
                self.check_keys(&on, &key).await?;
                Rule::Unique { index, declared }
            }
            NewRule::Reference(new) => {
                let id = self.new_id(1).await?;
                return self.new_reference(id, table, new).await;
            }
        };
        let kind = ItemKind::Constraint(Constraint { on: table, rule });
        let id = self.new_id(1).await?;
        let item = Item { id, schema: on.schema.clone(), name, kind };
        self.transaction_mut()?.define(id, Some(item), None)
    }

    /// All rows of a table, each once.
    async fn rows_of(&mut self, table: &Item) -> Result<Vec<(Row, Diff)>> {
        let desc = table.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
        Ok(self.selected(Relation::global(table.id, ty)).await?.0)
    }

    /// Error 23514 where a row that is there makes a condition false.
    async fn check_rows(&mut self, table: &Item, name: &str, check: &Expr) -> Result<()> {
        let rows = self.rows_of(table).await?;
        let types = table.desc().map(RelationDesc::scalars).unwrap_or_default();
        let mut arena = Bump::new();
        for (row, _) in &rows {
            arena.reset();
            let cx = EvalContext { arena: &arena, settings: self.variables.format() };
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            if check.eval(&datums, &cx)? == Datum::Bool(false) {
                let table = &table.name;
                return Err(Error::new(
                    SqlState::CHECK_VIOLATION,
                    format!(
                        "check constraint \"{name}\" of relation \"{table}\" is violated by some \
                         row"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Error 23505 where two rows that are there have the same key.
    async fn check_keys(&mut self, table: &Item, key: &UniqueKey) -> Result<()> {
        let rows = self.rows_of(table).await?;
        let desc = table.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let types = desc.scalars();
        let mut encoder = RowEncoder::new(&key.index_layout);
        let mut seen = HashSet::new();
        for (row, count) in &rows {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let Some(of) = key.of(&mut encoder, &datums)? else { continue };
            if !seen.insert(of) || *count > 1 {
                let message = format!("could not create unique index \"{}\"", key.name);
                let shown = self.shown_key(desc, &key.columns, &datums);
                return Err(Error::new(SqlState::UNIQUE_VIOLATION, message)
                    .with_detail(format!("Key {shown} is duplicated.")));
            }
        }
        Ok(())
    }
}

/// Which changes of a table are of one of these keys. What cannot be read counts as one.
fn test(key: &UniqueKey, wanted: HashSet<Row>) -> RowTest {
    let (table, index) = (key.table_layout.clone(), key.index_layout.clone());
    RowTest(Arc::new(move |row_key, value| {
        let datums = RowDecoder::new(&table).decode(row_key, value);
        let of = RowEncoder::new(&index).encode(&datums);
        of.map_or(true, |(of, _)| wanted.contains(&of))
    }))
}

/// Error 23514 where a row makes a condition false.
pub(super) fn check_row(
    name: &str,
    desc: &RelationDesc,
    checks: &Checks,
    datums: &[Datum<'_>],
    cx: &EvalContext<'_>,
) -> Result<()> {
    for (check, condition) in &**checks {
        if condition.eval(datums, cx)? == Datum::Bool(false) {
            let message =
                format!("new row for relation \"{name}\" violates check constraint \"{check}\"");
            return Err(Error::new(SqlState::CHECK_VIOLATION, message).with_detail(failing_row(
                desc,
                datums,
                cx.settings,
            )));
        }
    }
    Ok(())
}

/// The sentence about a row that is refused.
pub(super) fn failing_row(
    desc: &RelationDesc,
    datums: &[Datum<'_>],
    settings: &crate::repr::settings::FormatSettings,
) -> String {
    let mut row = String::new();
    for (column, datum) in desc.columns.iter().zip(datums) {
        if !row.is_empty() {
            row.push_str(", ");
        }
        match datum {
            Datum::Null => row.push_str("null"),
            datum => format_text(datum, column.ty.scalar, settings, &mut row),
        }
    }
    format!("Failing row contains ({row}).")
}
