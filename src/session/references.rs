//! FOREIGN KEY: rows that name rows of another table.
//!
//! After a statement has put its changes, the keys that it brought must be there in the table that
//! they name, and rows that name a key which it took away are refused, or follow (CASCADE, SET
//! NULL), which is a change like any other, with its own consequences. Both are looked at in what
//! the transaction sees, and become part of what its commit validates: a parent that goes, or a
//! child that comes, in another transaction is a conflict. What is deferred is looked at again
//! when the transaction commits, as it stands then.
//!
//! Rows that name a key are found by reading their whole table, as PostgreSQL does without an
//! index.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::item::{Action, Constraint, Item, ItemKind, Reference, Rule};
use crate::error::{Error, Result, SqlState};
use crate::plan::alter::{NewReference, ReferenceAction};
use crate::plan::relation::{Relation, RelationType};
use crate::repr::text::format_text;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, GlobalId, RelationDesc, Row};
use crate::session::layout::{RowDecoder, RowEncoder};
use crate::session::session::Session;

/// A constraint with the places of its columns.
#[derive(Clone)]
pub(super) struct ForeignKey {
    pub(super) id: GlobalId,
    name: String,
    child: GlobalId,
    parent: GlobalId,
    columns: Vec<usize>,
    to: Vec<usize>,
    on_delete: Action,
    on_update: Action,
    deferred: bool,
}

/// Keys that are looked at when the transaction commits: packed values of the child's columns, and
/// whether a row that named them came (otherwise one that they name went).
pub(super) struct Deferred {
    constraint: GlobalId,
    keys: BTreeSet<Row>,
    came: bool,
}

/// The values of some columns; none where one of them is NULL.
fn picked(datums: &[Datum<'_>], columns: &[usize]) -> Option<Row> {
    let values: Vec<_> = columns.iter().map(|column| datums[*column]).collect();
    (!values.iter().any(Datum::is_null)).then(|| pack(&values))
}

impl Session {
    fn foreign_key(&self, item: &Item) -> Result<Option<ForeignKey>> {
        let ItemKind::Constraint(constraint) = &item.kind else { return Ok(None) };
        let Rule::Reference(reference) = &constraint.rule else { return Ok(None) };
        let Reference { columns, parent, to, on_delete, on_update, deferred, .. } = reference;
        let catalog = &self.transaction()?.catalog;
        let places = |table: GlobalId, names: &[String]| {
            let desc = catalog.expect(table)?.desc().cloned().unwrap_or_default();
            let place = |name: &String| desc.columns.iter().position(|of| of.name == *name);
            let found: Option<Vec<_>> = names.iter().map(place).collect();
            found.ok_or_else(|| Error::internal("a foreign key over columns that are gone"))
        };
        Ok(Some(ForeignKey {
            id: item.id,
            name: item.name.clone(),
            child: constraint.on,
            parent: *parent,
            columns: places(constraint.on, columns)?,
            to: places(*parent, to)?,
            on_delete: *on_delete,
            on_update: *on_update,
            deferred: *deferred,
        }))
    }

    /// The foreign keys of a table, and those that name it.
    fn foreign_keys(&self, table: GlobalId) -> Result<(Vec<ForeignKey>, Vec<ForeignKey>)> {
        let catalog = self.transaction()?.catalog.clone();
        let (mut own, mut others) = (vec![], vec![]);
        for (item, _) in catalog.constraints(table) {
            own.extend(self.foreign_key(item)?);
        }
        for item in catalog.references(table) {
            others.extend(self.foreign_key(item)?);
        }
        Ok((own, others))
    }

    /// Looks at what changes of a table, which are in its buffer, mean for foreign keys.
    pub(super) async fn follow_references(
        &mut self,
        table: GlobalId,
        updates: &[(Row, Row, Diff)],
    ) -> Result<()> {
        let (own, others) = self.foreign_keys(table)?;
        if own.is_empty() && others.is_empty() {
            return Ok(());
        }
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        let decoder = RowDecoder::new(&layout);
        for key in others {
            let (mut gone, mut come) = (BTreeSet::new(), BTreeSet::new());
            let mut moved = BTreeMap::new();
            let mut before: Option<Row> = None;
            for (row_key, value, diff) in updates {
                let of = picked(&decoder.decode(row_key, value), &key.to);
                if *diff < 0 {
                    gone.extend(of.clone());
                    before = of;
                } else {
                    // An update is the old row, then the new one.
                    if let (Some(from), Some(to)) = (before.take(), of.clone()) {
                        moved.insert(from, to);
                    }
                    come.extend(of);
                }
            }
            let gone: BTreeSet<Row> = gone.difference(&come).cloned().collect();
            if !gone.is_empty() {
                self.lose_parents(&key, gone, &moved).await?;
            }
        }
        for key in own {
            let mut named = BTreeSet::new();
            for (row_key, value, _) in updates.iter().filter(|(_, _, diff)| *diff > 0) {
                named.extend(picked(&decoder.decode(row_key, value), &key.columns));
            }
            if named.is_empty() {
                continue;
            }
            if key.deferred {
                let deferred = Deferred { constraint: key.id, keys: named, came: true };
                self.transaction_mut()?.work.deferred.push(deferred);
                continue;
            }
            let missing = self.missing_parents(&key, &named).await?;
            if let Some(of) = missing.first() {
                return Err(self.no_parent(&key, of)?);
            }
        }
        Ok(())
    }

    /// Which of these keys the table that they name does not have.
    async fn missing_parents(
        &mut self,
        key: &ForeignKey,
        named: &BTreeSet<Row>,
    ) -> Result<BTreeSet<Row>> {
        let catalog = self.transaction()?.catalog.clone();
        let parent = catalog.expect(key.parent)?.clone();
        let ItemKind::Table(table) = &parent.kind else {
            return Err(Error::internal("a foreign key that names no table"));
        };
        let types: Vec<_> = key.to.iter().map(|at| table.desc.columns[*at].ty.scalar).collect();
        let is_primary = table.primary_key.as_ref().is_some_and(|of| same(&of.columns, &key.to));
        let unique = match is_primary {
            true => None,
            false => {
                let mut keys = self.unique_keys(key.parent)?.into_iter();
                let found = keys.find(|of| same(of.columns(), &key.to));
                Some(found.ok_or_else(|| Error::internal("a foreign key without its key"))?)
            }
        };
        let layout = match &unique {
            Some(unique) => unique.index_layout().clone(),
            None => self.engine.layout(&catalog, key.parent)?,
        };
        let mut encoder = RowEncoder::new(&layout);
        let mut encoded = BTreeMap::new();
        for of in named {
            let mut values = Vec::with_capacity(types.len());
            decode_values(&types, of.bytes(), &mut values);
            let mut datums = vec![Datum::Null; table.desc.arity()];
            for (at, value) in key.to.iter().zip(values) {
                datums[*at] = value;
            }
            encoded.insert(encoder.encode(&datums)?.0, of.clone());
        }
        let wanted: BTreeSet<Row> = encoded.keys().cloned().collect();
        let found: BTreeSet<Row> = match unique {
            Some(unique) => {
                let counts = self.occurrences(key.parent, &unique, wanted).await?;
                counts.into_iter().filter(|(_, count)| *count > 0).map(|(of, _)| of).collect()
            }
            None => {
                let wanted = wanted.into_iter().collect();
                self.existing_keys(key.parent, &layout, wanted, &BTreeSet::new()).await?
            }
        };
        encoded.retain(|of, _| !found.contains(of));
        Ok(encoded.into_values().collect())
    }

    /// The rows that name one of these keys, as the transaction sees them, each with its count.
    async fn children(
        &mut self,
        key: &ForeignKey,
        keys: &BTreeSet<Row>,
    ) -> Result<Vec<(Row, Diff)>> {
        let child = self.transaction()?.catalog.expect(key.child)?.clone();
        let desc = child.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
        let types = desc.scalars();
        let (mut rows, _) = self.selected(Relation::global(key.child, ty)).await?;
        rows.retain(|(row, _)| {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            picked(&datums, &key.columns).is_some_and(|of| keys.contains(&of))
        });
        Ok(rows)
    }

    /// What becomes of rows whose keys are gone from the table that they name.
    async fn lose_parents(
        &mut self,
        key: &ForeignKey,
        gone: BTreeSet<Row>,
        moved: &BTreeMap<Row, Row>,
    ) -> Result<()> {
        let (updated, deleted): (BTreeSet<Row>, BTreeSet<Row>) =
            gone.into_iter().partition(|of| moved.contains_key(of));
        for (keys, action) in [(updated, key.on_update), (deleted, key.on_delete)] {
            if keys.is_empty() {
                continue;
            }
            if key.deferred && action == Action::Nothing {
                let deferred = Deferred { constraint: key.id, keys, came: false };
                self.transaction_mut()?.work.deferred.push(deferred);
                continue;
            }
            let rows = self.children(key, &keys).await?;
            let Some((first, _)) = rows.first() else { continue };
            match action {
                Action::Nothing | Action::Restrict => {
                    let child = self.transaction()?.catalog.expect(key.child)?.clone();
                    let types = child.desc().map(RelationDesc::scalars).unwrap_or_default();
                    let mut datums = Vec::with_capacity(types.len());
                    decode_values(&types, first.bytes(), &mut datums);
                    let of = picked(&datums, &key.columns).unwrap_or_else(|| first.clone());
                    return Err(self.still_named(key, &of)?);
                }
                Action::Cascade | Action::SetNull => {
                    Box::pin(self.carry_on(key, rows, action, moved)).await?;
                }
            }
        }
        Ok(())
    }

    /// Rows follow the rows that they name.
    async fn carry_on(
        &mut self,
        key: &ForeignKey,
        rows: Vec<(Row, Diff)>,
        action: Action,
        moved: &BTreeMap<Row, Row>,
    ) -> Result<()> {
        let child = self.transaction()?.catalog.expect(key.child)?.clone();
        let desc = child.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let types = desc.scalars();
        let (mut deleted, mut changed) = (vec![], vec![]);
        for (row, count) in rows {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let to = picked(&datums, &key.columns).and_then(|of| moved.get(&of));
            let key_types: Vec<_> = key.columns.iter().map(|at| types[*at]).collect();
            let mut values = vec![];
            match (action, to) {
                (Action::SetNull, _) => values = vec![Datum::Null; key.columns.len()],
                (_, Some(to)) => decode_values(&key_types, to.bytes(), &mut values),
                (_, None) => {
                    deleted.push((row.clone(), count));
                    continue;
                }
            }
            let mut both = datums.clone();
            both.extend(datums);
            for (at, value) in key.columns.iter().zip(values) {
                both[types.len() + at] = value;
            }
            changed.push((pack(&both), count));
        }
        if !deleted.is_empty() {
            self.take_away(key.child, &deleted, &types).await?;
        }
        if !changed.is_empty() {
            let twice: Vec<_> = types.iter().chain(&types).copied().collect();
            self.change(key.child, &changed, &twice).await?;
        }
        Ok(())
    }

    /// Looks at what was deferred. Errors: 23503.
    pub(super) async fn check_deferred(&mut self) -> Result<()> {
        let deferred = std::mem::take(&mut self.transaction_mut()?.work.deferred);
        for Deferred { constraint, keys, came } in deferred {
            let catalog = self.transaction()?.catalog.clone();
            let Some(item) = catalog.get(constraint) else { continue };
            let Some(key) = self.foreign_key(item)? else { continue };
            let missing = self.missing_parents(&key, &keys).await?;
            if missing.is_empty() {
                continue;
            }
            let rows = self.children(&key, &missing).await?;
            let Some((row, _)) = rows.first() else { continue };
            let child = catalog.expect(key.child)?;
            let types = child.desc().map(RelationDesc::scalars).unwrap_or_default();
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let of = picked(&datums, &key.columns).unwrap_or_else(|| row.clone());
            return Err(match came {
                true => self.no_parent(&key, &of)?,
                false => self.still_named(&key, &of)?,
            });
        }
        Ok(())
    }

    /// Makes a foreign key; rows that are there must keep it. Errors: 23503.
    pub(super) async fn new_reference(
        &mut self,
        id: GlobalId,
        child: GlobalId,
        new: NewReference,
    ) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        let on = catalog.expect(child)?.clone();
        let NewReference { name, parent, columns, to, deferrable, deferred, .. } = new;
        let (on_delete, on_update) = (kept(new.on_delete), kept(new.on_update));
        let parent = parent.unwrap_or(child);
        let reference =
            Reference { columns, parent, to, on_delete, on_update, deferrable, deferred };
        let rule = Rule::Reference(reference);
        let kind = ItemKind::Constraint(Constraint { on: child, rule });
        let item = Item { id, schema: on.schema.clone(), name, kind };
        self.transaction_mut()?.define(id, Some(item.clone()), None)?;
        let Some(key) = self.foreign_key(&item)? else { return Ok(()) };
        let desc = on.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
        let types = desc.scalars();
        let (rows, _) = self.selected(Relation::global(child, ty)).await?;
        let named = rows.iter().filter_map(|(row, _)| {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            picked(&datums, &key.columns)
        });
        let named: BTreeSet<Row> = named.collect();
        if named.is_empty() {
            return Ok(());
        }
        match self.missing_parents(&key, &named).await?.first() {
            Some(of) => Err(self.no_parent(&key, of)?),
            None => Ok(()),
        }
    }

    /// Refuses to empty tables that others name. Errors: 0A000.
    pub(super) fn check_truncated(&self, tables: &[GlobalId]) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        for table in tables {
            for item in catalog.references(*table) {
                let ItemKind::Constraint(constraint) = &item.kind else { continue };
                if tables.contains(&constraint.on) {
                    continue;
                }
                let (child, parent) = (catalog.expect(constraint.on)?, catalog.expect(*table)?);
                let message = "cannot truncate a table referenced in a foreign key constraint";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_detail(format!(
                        "Table \"{}\" references \"{}\".",
                        child.name, parent.name
                    ))
                    .with_hint(format!(
                        "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                        child.name
                    )));
            }
        }
        Ok(())
    }

    /// Refuses to change the type of a column of a foreign key.
    pub(super) fn refuse_named(&self, table: &Item, column: &str) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        let own = catalog.constraints(table.id).map(|(item, _)| item);
        for item in own.chain(catalog.references(table.id)) {
            let ItemKind::Constraint(constraint) = &item.kind else { continue };
            let Rule::Reference(of) = &constraint.rule else { continue };
            let names = if constraint.on == table.id { &of.columns } else { &of.to };
            if names.iter().any(|name| name == column) {
                return Err(Error::unsupported(
                    format!("another type for a column of the foreign key \"{}\"", item.name),
                    "Drop the constraint first, and add it again.",
                ));
            }
        }
        Ok(())
    }

    /// Error 2BP01 where a key goes that another table's rows name.
    pub(super) fn refuse_referenced(&self, table: &Item, constraint: &str) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        let ItemKind::Table(of) = &table.kind else { return Ok(()) };
        let is_primary = of.primary_key.as_ref().is_some_and(|key| key.name == constraint);
        let is_unique = catalog.constraints(table.id).any(|(item, rule)| {
            item.name == constraint && matches!(rule.rule, Rule::Unique { .. })
        });
        match catalog.references(table.id).next() {
            Some(_) if is_primary || is_unique => Err(Error::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "cannot drop constraint {constraint} on table {} because other objects \
                     depend on it",
                    table.name
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Has the foreign keys of other tables name this one, and its columns as they are called now.
    pub(super) fn rename_references(
        &mut self,
        old: &Item,
        desc: &RelationDesc,
        renamed: &[(String, String)],
        id: GlobalId,
    ) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        let others: Vec<_> = catalog.references(old.id).cloned().collect();
        for item in others {
            let ItemKind::Constraint(constraint) = &item.kind else { continue };
            let Rule::Reference(of) = &constraint.rule else { continue };
            let to = renamed_columns(&of.to, renamed);
            if let Some(column) =
                to.iter().find(|column| !desc.columns.iter().any(|of| of.name == **column))
            {
                return Err(Error::new(
                    SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                    format!(
                        "cannot drop column {column} of table {} because other objects depend on \
                         it",
                        old.name
                    ),
                ));
            }
            if constraint.on == old.id {
                continue;
            }
            let rule = Rule::Reference(Reference { parent: id, to, ..of.clone() });
            let kind = ItemKind::Constraint(Constraint { on: constraint.on, rule });
            let item = Item { kind, ..(*item).clone() };
            self.transaction_mut()?.define(item.id, Some(item), None)?;
        }
        Ok(())
    }

    fn no_parent(&self, key: &ForeignKey, of: &Row) -> Result<Error> {
        let catalog = &self.transaction()?.catalog;
        let (child, parent) = (catalog.expect(key.child)?, catalog.expect(key.parent)?);
        let message = format!(
            "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
            child.name, key.name
        );
        let shown = self.shown(child, &key.columns, of);
        Ok(Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .with_detail(format!("Key {shown} is not present in table \"{}\".", parent.name)))
    }

    fn still_named(&self, key: &ForeignKey, of: &Row) -> Result<Error> {
        let catalog = &self.transaction()?.catalog;
        let (child, parent) = (catalog.expect(key.child)?, catalog.expect(key.parent)?);
        let message = format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \
             \"{}\"",
            parent.name, key.name, child.name
        );
        let shown = self.shown(parent, &key.to, of);
        Ok(Error::new(SqlState::FOREIGN_KEY_VIOLATION, message)
            .with_detail(format!("Key {shown} is still referenced from table \"{}\".", child.name)))
    }

    fn shown(&self, table: &Item, columns: &[usize], of: &Row) -> String {
        let Some(desc) = table.desc() else { return String::new() };
        let columns: Vec<_> = columns.iter().map(|at| &desc.columns[*at]).collect();
        let types: Vec<_> = columns.iter().map(|column| column.ty.scalar).collect();
        let mut values = Vec::with_capacity(types.len());
        decode_values(&types, of.bytes(), &mut values);
        let texts = values.iter().zip(&types).map(|(value, ty)| {
            let mut text = String::new();
            format_text(value, *ty, self.variables.format(), &mut text);
            text
        });
        let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
        format!("({})=({})", names.join(", "), texts.collect::<Vec<_>>().join(", "))
    }
}

/// Names of columns after some were renamed.
fn renamed_columns(names: &[String], renamed: &[(String, String)]) -> Vec<String> {
    let mut names = names.to_vec();
    for (from, to) in renamed {
        names.iter_mut().filter(|name| *name == from).for_each(|name| name.clone_from(to));
    }
    names
}

/// A table's own foreign key after a change of the table, which has this id then.
pub(super) fn renamed_reference(
    of: &Reference,
    old: GlobalId,
    renamed: &[(String, String)],
    id: GlobalId,
) -> Reference {
    let columns = renamed_columns(&of.columns, renamed);
    match of.parent == old {
        true => {
            let to = renamed_columns(&of.to, renamed);
            Reference { columns, parent: id, to, ..of.clone() }
        }
        false => Reference { columns, ..of.clone() },
    }
}

/// An action as the catalog keeps it.
fn kept(action: ReferenceAction) -> Action {
    match action {
        ReferenceAction::Nothing => Action::Nothing,
        ReferenceAction::Restrict => Action::Restrict,
        ReferenceAction::Cascade => Action::Cascade,
        ReferenceAction::SetNull => Action::SetNull,
    }
}

/// Whether two lists have the same columns.
fn same(a: &[usize], b: &[usize]) -> bool {
    a.len() == b.len() && a.iter().all(|column| b.contains(column))
}
