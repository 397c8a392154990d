//! CREATE and DROP: changes of the transaction's catalog, and what workers must do for them.

use std::collections::BTreeSet;

use crate::catalog::item::{
    ColumnDefault, Index, Item, ItemKind, PrimaryKey, Rule, Sequence, Table, View,
};
use crate::catalog::objects::{Catalog, Change, taken};
use crate::catalog::types::is_of;
use crate::coord::request::{Commit, DdlChange, Install, When};
use crate::error::{Error, Result, SqlState};
use crate::optimizer::physical::{Want, index_layout, table_layout, view_layout};
use crate::plan::physical::Sink;
use crate::plan::relation::{Relation, RelationType};
use crate::plan::statement::{
    self, ColumnSource, CreateIndex, CreateTable, CreateView, NewColumn, NewRule, SequenceOptions,
    Statement,
};
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnDesc, GlobalId, RelationDesc};
use crate::session::read::plan_maintained;
use crate::session::session::{Outcome, Session};
use crate::session::system::feeds;

impl Session {
    pub(super) async fn define(&mut self, statement: Statement) -> Result<Outcome> {
        match statement {
            Statement::CreateSchema { name, if_not_exists } => {
                self.check_definable("CREATE SCHEMA")?;
                let item = Item {
                    id: self.new_id(1).await?,
                    schema: name.clone(),
                    name,
                    kind: ItemKind::Schema,
                };
                self.create(item, None, if_not_exists)?;
                Ok(Outcome::Done("CREATE SCHEMA".into()))
            }
            Statement::CreateTable(create) => self.create_table(create).await,
            Statement::CreateView(create) => self.create_view(create).await,
            Statement::CreateIndex(create) => self.create_index(create).await,
            Statement::CreateSequence { schema, name, options, if_not_exists } => {
                self.check_definable("CREATE SEQUENCE")?;
                let id = self.new_id(1).await?;
                let kind = ItemKind::Sequence(sequence(options, None));
                self.create(Item { id, schema, name, kind }, None, if_not_exists)?;
                Ok(Outcome::Done("CREATE SEQUENCE".into()))
            }
            Statement::CreateType(create) => self.create_type(create).await,
            Statement::CreateAttribute(create) => self.create_attribute(create).await,
            Statement::AlterType(alter) => self.alter_type(alter).await,
            Statement::AlterTable(alter) => self.alter_table(*alter).await,
            Statement::Drop(drop) => self.drop_objects(drop),
            other => Err(Error::internal(format!("not a definition: {other:?}"))),
        }
    }

    pub(super) fn check_definable(&self, command: &str) -> Result<()> {
        self.check_writable(command)
    }

    pub(super) async fn new_id(&self, count: u64) -> Result<GlobalId> {
        self.engine.client.ids(count).await
    }

    /// Defines an object. False: it is there already, which was said to be no error.
    pub(super) fn create(
        &mut self,
        item: Item,
        install: Option<Install>,
        if_not_exists: bool,
    ) -> Result<bool> {
        let error = self.name_error(&item);
        match error {
            Some(error) if if_not_exists => {
                self.note(format!("{}, skipping", error.message));
                Ok(false)
            }
            Some(error) => Err(error),
            None if self.type_conflict(&item).is_some() && has_type(&item) => {
                Err(self.type_conflict(&item).unwrap_or_else(|| taken(&item)))
            }
            None => {
                let id = item.id;
                self.transaction_mut()?.define(id, Some(item), install)?;
                Ok(true)
            }
        }
    }

    pub(super) fn name_error(&self, item: &Item) -> Option<Error> {
        let catalog = &self.transaction.as_ref()?.catalog;
        match item.kind {
            ItemKind::Schema => catalog.has_schema(&item.name).then(|| taken(item)),
            ItemKind::Type(_) => None,
            _ => catalog.by_name(&item.schema, &item.name).map(|_| taken(item)),
        }
    }

    async fn create_table(&mut self, create: CreateTable) -> Result<Outcome> {
        self.check_definable("CREATE TABLE")?;
        let first = self.new_id(1 + create.columns.len() as u64).await?;
        let mut next = first.0;
        let (mut defaults, mut sequences) = (Vec::new(), Vec::new());
        for (at, column) in create.columns.iter().enumerate() {
            defaults.push(match (&column.sequence, column.values_of, &column.default) {
                (Some(new), _, _) => {
                    next += 1;
                    let id = GlobalId(next);
                    sequences.push(owned_sequence(id, &create, column, new.options, first, at));
                    let (identity, always) = (new.identity, new.always);
                    Some(ColumnDefault::Sequence { id, identity, always })
                }
                (None, Some(id), _) => {
                    Some(ColumnDefault::Sequence { id, identity: false, always: false })
                }
                (None, None, Some(text)) => Some(ColumnDefault::Expression(text.clone())),
                (None, None, None) => None,
            });
            if let Some(id) = column.domain {
                let default = defaults.pop().flatten().map(Box::new);
                defaults.push(Some(ColumnDefault::Domain { id, default }));
            }
        }
        let columns = create.columns.iter();
        let columns: Vec<_> =
            columns.map(|c| ColumnDesc { name: c.name.clone(), ty: c.ty }).collect();
        let keys = create.primary_key.iter().map(|(columns, _)| columns.clone()).collect();
        let desc = RelationDesc { columns, keys };
        let key = create.primary_key.as_ref().map(|(columns, _)| columns.as_slice());
        let install = Install::Table(table_layout(&desc.types(), key));
        let primary_key =
            create.primary_key.clone().map(|(columns, name)| PrimaryKey { columns, name });
        let width = desc.arity();
        let table = Table { desc, defaults, primary_key, retain_ms: create.retain_ms };
        let item = Item {
            id: first,
            schema: create.schema.clone(),
            name: create.name.clone(),
            kind: ItemKind::Table(table),
        };
        if let Some(error) = self.name_error(&item)
            && create.if_not_exists
        {
            self.note(format!("{}, skipping", error.message));
            let tag = if create.source.is_some() { "CREATE TABLE AS" } else { "CREATE TABLE" };
            return Ok(Outcome::Done(tag.into()));
        }
        for sequence in sequences {
            self.create(sequence, None, false)?;
        }
        self.create(item, Some(install), false)?;
        for rule in create.rules {
            self.add_rule(first, rule).await?;
        }
        let Some(source) = create.source else { return Ok(Outcome::Done("CREATE TABLE".into())) };
        let (rows, types) = self.source_rows(*source).await?;
        let columns: Vec<_> = (0..width).map(ColumnSource::Source).collect();
        let rows = self.complete_rows(first, &columns, &rows, &types).await?;
        let count = self.put_rows(first, rows, false).await?.len();
        Ok(Outcome::Done(format!("SELECT {count}")))
    }

    async fn create_view(&mut self, create: CreateView) -> Result<Outcome> {
        let tag = match create.materialized {
            true => "CREATE MATERIALIZED VIEW",
            false => "CREATE VIEW",
        };
        self.check_definable(tag)?;
        let mut desc = create.desc;
        desc.keys = create.relation.typ().keys;
        let settings = self.variables.format().clone();
        let existing = self.transaction()?.catalog.by_name(&create.schema, &create.name).cloned();
        let id = match &existing {
            Some(old) if create.or_replace => self.replaceable(old, &desc)?,
            _ => self.new_id(1).await?,
        };
        let install = if create.materialized {
            let catalog = self.transaction()?.catalog.clone();
            let layout = view_layout(&desc.types(), &desc.keys);
            let (engine, config) = (&self.engine, self.optimizer());
            let mut plan =
                plan_maintained(engine, &catalog, create.relation, &config, Want::Maintain)?;
            plan.sink = Sink::Arrange(layout);
            Some(Install::Dataflow(Box::new(plan)))
        } else {
            None
        };
        let view = View {
            desc,
            materialized: create.materialized,
            text: create.text,
            depends_on: create.depends_on,
            settings,
            retain_ms: create.retain_ms,
        };
        let (schema, name) = (create.schema, create.name);
        let item = Item { id, schema, name, kind: ItemKind::View(view) };
        if create.or_replace && existing.is_some() {
            self.transaction_mut()?.define(id, Some(item), install)?;
        } else {
            self.create(item, install, create.if_not_exists)?;
        }
        Ok(Outcome::Done(tag.into()))
    }

    /// The id of a view that may be replaced by one with these columns.
    fn replaceable(&self, old: &Item, desc: &RelationDesc) -> Result<GlobalId> {
        let ItemKind::View(view) = &old.kind else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a view", old.name),
            ));
        };
        if view.materialized {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not a view", old.name),
            ));
        }
        let catalog = &self.transaction()?.catalog;
        if let Some(dependent) = catalog.dependents(old.id).next() {
            return Err(Error::unsupported(
                format!("replacing view \"{}\", which \"{}\" reads,", old.name, dependent.name),
                "Drop what depends on it first, and create it again.",
            ));
        }
        if desc.columns.len() < view.desc.columns.len() {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                "cannot drop columns from view",
            ));
        }
        for (new, old) in desc.columns.iter().zip(&view.desc.columns) {
            if new.name != old.name {
                return Err(Error::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!(
                        "cannot change name of view column \"{}\" to \"{}\"",
                        old.name, new.name
                    ),
                ));
            }
            if new.ty.scalar != old.ty.scalar {
                return Err(Error::new(
                    SqlState::INVALID_TABLE_DEFINITION,
                    format!(
                        "cannot change data type of view column \"{}\" from {} to {}",
                        old.name,
                        old.ty.scalar.display_name(),
                        new.ty.scalar.display_name()
                    ),
                ));
            }
        }
        Ok(old.id)
    }

    async fn create_index(&mut self, create: CreateIndex) -> Result<Outcome> {
        self.check_definable("CREATE INDEX")?;
        let settings = self.variables.format().clone();
        match create.unique {
            Some(columns) => {
                let on = self.transaction()?.catalog.expect(create.on)?.clone();
                let there = self.transaction()?.catalog.by_name(&on.schema, &create.name).is_some();
                if there && create.if_not_exists {
                    self.note(format!("relation \"{}\" already exists, skipping", create.name));
                } else {
                    let name = create.name;
                    let rule = NewRule::Unique { name, columns, declared: false };
                    self.add_rule(create.on, rule).await?;
                }
            }
            None => {
                self.make_index(create, settings).await?;
            }
        }
        Ok(Outcome::Done("CREATE INDEX".into()))
    }

    /// Makes an index whose expressions see these settings.
    pub(super) async fn make_index(
        &mut self,
        create: CreateIndex,
        settings: FormatSettings,
    ) -> Result<GlobalId> {
        let catalog = self.transaction()?.catalog.clone();
        let on = catalog.expect(create.on)?;
        let desc = on.desc().ok_or_else(|| Error::internal("an index on what has no columns"))?;
        let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
        let relation = Relation::global(create.on, ty);
        let mut plan =
            plan_maintained(&self.engine, &catalog, relation, &self.optimizer(), Want::Maintain)?;
        plan.sink = Sink::Arrange(index_layout(&desc.types(), &create.key));
        let index = Index { on: create.on, key: create.key_text, settings };
        let item = Item {
            id: self.new_id(1).await?,
            schema: on.schema.clone(),
            name: create.name,
            kind: ItemKind::Index(index),
        };
        let id = item.id;
        self.create(item, Some(Install::Dataflow(Box::new(plan))), create.if_not_exists)?;
        Ok(id)
    }

    fn drop_objects(&mut self, drop: statement::Drop) -> Result<Outcome> {
        self.check_definable(drop.tag)?;
        for notice in drop.notices {
            self.note(notice);
        }
        let wanted: BTreeSet<GlobalId> = drop.objects.iter().copied().collect();
        let (mut order, mut cascades) = (Vec::new(), Vec::new());
        for id in &drop.objects {
            self.collect_drop(*id, &wanted, &mut order, &mut cascades)?;
        }
        if !cascades.is_empty() && !drop.cascade {
            return Err(self.dependents_exist(drop.objects[0], &cascades));
        }
        self.check_defaults(&wanted)?;
        self.check_required(&drop.objects, &order)?;
        self.check_columns(&order)?;
        match &cascades[..] {
            [] => {}
            [(one, _)] => self.note(format!("drop cascades to {one}")),
            several => {
                let detail: Vec<_> =
                    several.iter().map(|(name, _)| format!("drop cascades to {name}")).collect();
                self.note(format!("drop cascades to {} other objects", several.len()));
                if let Some(notice) = self.notices.last_mut() {
                    notice.error.detail = Some(detail.join("\n"));
                }
            }
        }
        for id in order {
            self.transaction_mut()?.define(id, None, None)?;
        }
        Ok(Outcome::Done(drop.tag.into()))
    }

    /// Refuses to drop an index from under a constraint whose table stays.
    fn check_required(&self, objects: &[GlobalId], order: &[GlobalId]) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        for id in objects {
            let Some((item, true)) = catalog.unique_by(*id) else { continue };
            let ItemKind::Constraint(constraint) = &item.kind else { continue };
            if order.contains(&constraint.on) {
                continue;
            }
            let (index, table) = (catalog.expect(*id)?, catalog.expect(constraint.on)?);
            let this = format!("constraint {} on table {}", item.name, table.name);
            return Err(Error::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop index {} because {this} requires it", index.name),
            )
            .with_hint(format!("You can drop {this} instead.")));
        }
        Ok(())
    }

    /// Whether an object is dropped by its name, or with its schema.
    fn goes(&self, item: &Item, wanted: &BTreeSet<GlobalId>) -> Result<bool> {
        let schema = self.transaction()?.catalog.by_name("", &item.schema).map(|schema| schema.id);
        Ok(wanted.contains(&item.id) || schema.is_some_and(|id| wanted.contains(&id)))
    }

    /// Refuses to drop a type from under the columns of a table that stays.
    fn check_columns(&self, order: &[GlobalId]) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        for id in order {
            let item = catalog.expect(*id)?;
            let mut users = catalog.dependents(*id).filter(|user| !order.contains(&user.id));
            let user = users.find(|user| matches!(user.kind, ItemKind::Table(_)));
            if let (ItemKind::Type(_), Some(user)) = (&item.kind, user) {
                return Err(Error::unsupported(
                    format!("dropping type {} with a column of table {}", item.name, user.name),
                    "Drop the table too.",
                ));
            }
        }
        Ok(())
    }

    /// Refuses to drop a sequence from under the defaults of a table that stays: the table would
    /// go with it.
    fn check_defaults(&self, wanted: &BTreeSet<GlobalId>) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        for id in wanted {
            let item = catalog.expect(*id)?;
            let mut users = catalog.dependents(*id).filter(|user| !wanted.contains(&user.id));
            let user = users.find(|user| matches!(user.kind, ItemKind::Table(_)));
            if let (ItemKind::Sequence(_), Some(user)) = (&item.kind, user) {
                return Err(Error::unsupported(
                    format!(
                        "dropping sequence {} with a default of table {}",
                        item.name, user.name
                    ),
                    "Drop the table too.",
                ));
            }
        }
        Ok(())
    }

    /// Puts an object behind all that depends on it. `cascades`: what nobody named.
    fn collect_drop(
        &self,
        id: GlobalId,
        wanted: &BTreeSet<GlobalId>,
        order: &mut Vec<GlobalId>,
        cascades: &mut Vec<(String, String)>,
    ) -> Result<()> {
        if order.contains(&id) {
            return Ok(());
        }
        let catalog = self.transaction()?.catalog.clone();
        let item = catalog.expect(id)?;
        let this = format!("{} {}", item.kind_name(), item.name);
        for dependent in catalog.dependents(id) {
            if let (ItemKind::Type(_), ItemKind::Table(table)) = (&item.kind, &dependent.kind)
                && !self.goes(dependent, wanted)?
            {
                for column in columns_of(table, id) {
                    let name = format!("column {column} of table {}", dependent.name);
                    cascades.push((name.clone(), format!("{name} depends on {this}")));
                }
                continue;
            }
            if let ItemKind::Constraint(constraint) = &dependent.kind
                && constraint.on != id
                && matches!(constraint.rule, Rule::Reference(_))
            {
                // The constraint goes, not the table whose it is.
                let on = catalog.expect(constraint.on)?;
                if !self.goes(on, wanted)? && !order.contains(&dependent.id) {
                    let name = format!("constraint {} on table {}", dependent.name, on.name);
                    cascades.push((name.clone(), format!("{name} depends on {this}")));
                }
                if !order.contains(&dependent.id) {
                    order.push(dependent.id);
                }
                continue;
            }
            let goes_along = matches!(dependent.kind, ItemKind::Index(_) | ItemKind::Constraint(_))
                || dependent.kept_by() == Some(id);
            if !wanted.contains(&dependent.id) && !order.contains(&dependent.id) && !goes_along {
                let name = format!("{} {}", dependent.kind_name(), dependent.name);
                cascades.push((name.clone(), format!("{name} depends on {this}")));
            }
            self.collect_drop(dependent.id, wanted, order, cascades)?;
        }
        if order.contains(&id) {
            return Ok(());
        }
        order.push(id);
        if let ItemKind::Table(table) = &item.kind {
            order.extend(table.sequences().filter(|id| is_owned(&catalog, *id, item.id)));
        }
        Ok(())
    }

    fn dependents_exist(&self, id: GlobalId, cascades: &[(String, String)]) -> Error {
        let item = self.transaction.as_ref().and_then(|t| t.catalog.get(id));
        let (kind, name) = item.map_or(("object", ""), |i| (i.kind_name(), i.name.as_str()));
        let detail: Vec<_> = cascades.iter().map(|(_, detail)| detail.as_str()).collect();
        Error::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {kind} {name} because other objects depend on it"),
        )
        .with_detail(detail.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too.")
    }

    /// Drops what a cancelled CREATE has made: its commit goes through, but it may take long
    /// until it is complete.
    pub(super) async fn undo(&mut self, made: &[GlobalId], exclusive: Option<u64>) {
        let Ok(snapshot) = self.engine.client.snapshot(When::Tip).await else { return };
        let ddl = made
            .iter()
            .filter(|id| snapshot.catalog.get(**id).is_some())
            .map(|id| Change { id: *id, item: None })
            .collect::<Vec<_>>();
        let without = snapshot.catalog.with(&ddl);
        let system = without.and_then(|new| feeds::changes(&self.engine, &snapshot.catalog, &new));
        let Ok(system) = system else { return };
        let ddl = ddl.into_iter().map(|change| DdlChange { change, install: None });
        let commit = Commit {
            system,
            snapshot: snapshot.time,
            ddl: ddl.collect(),
            catalog_version: snapshot.catalog.version(),
            exclusive,
            ..Commit::default()
        };
        if let Err(error) = self.engine.client.commit(commit).await {
            tracing::warn!(%error, "a cancelled definition could not be undone");
        }
    }
}

/// Whether the name of an object is a type's too.
fn has_type(item: &Item) -> bool {
    item.desc().is_some() || matches!(item.kind, ItemKind::Type(_))
}

/// The columns of a table that are of a type.
fn columns_of(table: &Table, id: GlobalId) -> Vec<String> {
    let columns = table.desc.columns.iter().zip(table.domains());
    let used =
        columns.filter(|(column, domain)| *domain == Some(id) || is_of(column.ty.scalar, id));
    used.map(|(column, _)| column.name.clone()).collect()
}

/// Whether a sequence is that of a column, and goes with its table.
fn is_owned(catalog: &Catalog, sequence: GlobalId, table: GlobalId) -> bool {
    match catalog.get(sequence).map(|item| &item.kind) {
        Some(ItemKind::Sequence(sequence)) => {
            sequence.owned_by.is_some_and(|(owner, _)| owner == table)
        }
        _ => false,
    }
}

fn sequence(options: SequenceOptions, owned_by: Option<(GlobalId, usize)>) -> Sequence {
    let SequenceOptions { start, increment, min, max, cycle } = options;
    Sequence { start, increment, min, max, cycle, owned_by }
}

fn owned_sequence(
    id: GlobalId,
    create: &CreateTable,
    column: &NewColumn,
    options: SequenceOptions,
    table: GlobalId,
    at: usize,
) -> Item {
    Item {
        id,
        schema: create.schema.clone(),
        name: format!("{}_{}_seq", create.name, column.name),
        kind: ItemKind::Sequence(sequence(options, Some((table, at)))),
    }
}
