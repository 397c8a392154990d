//! ALTER TABLE: another definition for a table, and where its rows change, another table.
//!
//! What changes names, defaults and NOT NULL changes the definition alone. What changes the
//! columns of rows, or the key, writes them anew: a table with an id of its own takes the place of
//! the old one in one transaction, with its indexes, its sequences and its name. So rows that are
//! stored are never read with another definition than the one they were written by. A reader of
//! the past finds the old rows until they are forgotten, under `AS OF` no longer by this name.
//!
//! What others are defined by (views, columns of the row's type) is refused, never changed behind
//! their back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::item::{
    ColumnDefault, Constraint, Index, Item, ItemKind, PrimaryKey, Reference, Rule, Sequence, Table,
};
use crate::catalog::objects::Catalog;
use crate::coord::request::Install;
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::optimizer::physical::table_layout;
use crate::plan::alter::{AlterTable, TableChange};
use crate::plan::relation::{Relation, RelationType};
use crate::plan::statement::{ColumnSource, CreateIndex, NewColumn, NewRule};
use crate::repr::value::decode_values;
use crate::repr::{ColumnDesc, Datum, GlobalId, Row, ScalarType};
use crate::session::binding;
use crate::session::references::renamed_reference;
use crate::session::session::{Outcome, Session};
use crate::session::system::names::quoted;

/// A table on its way to another definition.
struct Draft {
    old: Arc<Item>,
    name: String,
    table: Table,
    /// Where the value of each column comes from, in rows that are there: of the old table's
    /// columns, and behind them those that are computed.
    sources: Vec<ColumnSource>,
    computed: Vec<Expr>,
    /// Sequences that new columns bring: the columns, by name, and what is made.
    sequences: Vec<(String, Item)>,
    /// Constraints that come, and those that go.
    rules: Vec<NewRule>,
    dropped_rules: Vec<GlobalId>,
    /// Old names of columns, with the new ones.
    renamed: Vec<(String, String)>,
    /// Whether rows have to be written anew.
    rewrites: bool,
    /// Whether what is planned over the old definition would be wrong.
    breaks: bool,
}

impl Session {
    pub(super) async fn alter_table(&mut self, alter: AlterTable) -> Result<Outcome> {
        self.check_definable("ALTER TABLE")?;
        let done = || Ok(Outcome::Done("ALTER TABLE".into()));
        if let Some(notice) = alter.notice {
            self.note(notice);
        }
        let Some(id) = alter.relation else { return done() };
        let old = self.transaction()?.catalog.expect(id)?.clone();
        let ItemKind::Table(table) = &old.kind else {
            for change in alter.changes {
                if let TableChange::Rename(to) = change {
                    self.rename_relation(&old, to)?;
                }
            }
            return done();
        };
        let mut draft = Draft {
            name: old.name.clone(),
            table: table.clone(),
            sources: (0..table.desc.arity()).map(ColumnSource::Source).collect(),
            computed: vec![],
            sequences: vec![],
            rules: vec![],
            dropped_rules: vec![],
            renamed: vec![],
            rewrites: false,
            breaks: false,
            old: old.clone(),
        };
        for change in alter.changes {
            self.draft(&mut draft, change).await?;
        }
        if draft.rewrites || draft.breaks {
            self.refuse_dependents(&old)?;
        }
        let rules = std::mem::take(&mut draft.rules);
        self.drop_rules(&draft.dropped_rules)?;
        let id = match draft.rewrites {
            true => self.rewrite(draft).await?,
            false => self.redefine(draft).await?,
        };
        for rule in rules {
            self.add_rule(id, rule).await?;
        }
        done()
    }

    /// Renames a relation that is no table.
    fn rename_relation(&mut self, old: &Item, to: String) -> Result<()> {
        self.refuse_dependents(old)?;
        let item = Item { name: to, ..old.clone() };
        if let Some(error) = self.name_error(&item).or_else(|| self.type_conflict(&item)) {
            return Err(error);
        }
        self.transaction_mut()?.define(item.id, Some(item), None)
    }

    /// Refuses to change what others, indexes apart, are defined by.
    fn refuse_dependents(&self, old: &Item) -> Result<()> {
        let catalog = &self.transaction()?.catalog;
        let mut others = catalog.dependents(old.id).filter(|other| {
            let goes_along = matches!(other.kind, ItemKind::Index(_) | ItemKind::Constraint(_));
            !goes_along && other.id != old.id
        });
        match others.next() {
            None => Ok(()),
            Some(other) => Err(Error::unsupported(
                format!("changing \"{}\", by which \"{}\" is defined,", old.name, other.name),
                "Drop what depends on it first, and create it again.",
            )),
        }
    }

    async fn draft_column(
        &mut self,
        draft: &mut Draft,
        column: NewColumn,
        fill: Expr,
        if_not_exists: bool,
    ) -> Result<()> {
        if draft.at(&column.name).is_ok() {
            let (column, table) = (&column.name, &draft.name);
            let message = format!("column \"{column}\" of relation \"{table}\" already exists");
            if !if_not_exists {
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            self.note(format!("{message}, skipping"));
            return Ok(());
        }
        let id = match column.sequence {
            Some(_) => Some(self.new_id(1).await?),
            None => None,
        };
        draft.add(column, fill, id);
        Ok(())
    }

    async fn draft(&mut self, draft: &mut Draft, change: TableChange) -> Result<()> {
        match change {
            TableChange::Add { column, fill, if_not_exists } => {
                self.draft_column(draft, column, fill, if_not_exists).await
            }
            TableChange::Drop { column, if_exists } => match draft.at(&column) {
                Ok(at) => draft.drop(at),
                Err(error) if if_exists => {
                    self.note(format!("{}, skipping", error.message));
                    Ok(())
                }
                Err(error) => Err(error),
            },
            TableChange::Rule(rule) => {
                draft.rules.push(rule);
                Ok(())
            }
            TableChange::DropConstraint { name, if_exists } => {
                let catalog = self.transaction()?.catalog.clone();
                self.refuse_referenced(&draft.old, &name)?;
                let rule = catalog.constraints(draft.old.id).find(|(item, rule)| {
                    item.name == name && !matches!(rule.rule, Rule::Unique { declared: false, .. })
                });
                if let Some((item, _)) = rule {
                    draft.dropped_rules.push(item.id);
                    return Ok(());
                }
                let error = match draft.drop_constraint(&name) {
                    Err(error) if if_exists => error,
                    result => return result,
                };
                self.note(format!("{}, skipping", error.message));
                Ok(())
            }
            TableChange::RenameColumn { from, to } => draft.rename_column(from, to),
            TableChange::Rename(to) => {
                draft.breaks = true;
                draft.name = to;
                let item = Item { name: draft.name.clone(), ..(*draft.old).clone() };
                match self.name_error(&item).or_else(|| self.type_conflict(&item)) {
                    Some(error) => Err(error),
                    None => Ok(()),
                }
            }
            TableChange::Default { column, text, values_of } => {
                draft.set_default(&column, text, values_of)
            }
            TableChange::NotNull { column, not_null } => draft.set_not_null(&column, not_null),
            TableChange::Type { column, ty, value } => {
                let at = draft.at(&column)?;
                self.refuse_named(&draft.old, &column)?;
                draft.table.desc.columns[at].ty.scalar = ty.scalar;
                draft.table.desc.columns[at].ty.typmod = ty.typmod;
                let width = draft.old.desc().map_or(0, |desc| desc.arity());
                draft.sources[at] = ColumnSource::Source(width + draft.computed.len());
                draft.computed.push(value);
                draft.rewrites = true;
                Ok(())
            }
            TableChange::Key { columns, name } => draft.add_key(&columns, name),
            TableChange::RenameConstraint { from, to } => draft.rename_constraint(&from, to),
        }
    }

    /// Drops constraints, with the indexes that are theirs.
    fn drop_rules(&mut self, rules: &[GlobalId]) -> Result<()> {
        for id in rules {
            let item = self.transaction()?.catalog.expect(*id)?.clone();
            self.transaction_mut()?.define(*id, None, None)?;
            if let ItemKind::Constraint(Constraint { rule: Rule::Unique { index, .. }, .. }) =
                &item.kind
            {
                self.transaction_mut()?.define(*index, None, None)?;
            }
        }
        Ok(())
    }

    /// Another definition for the same rows.
    async fn redefine(&mut self, draft: Draft) -> Result<GlobalId> {
        if draft.needs_check() {
            let (rows, types) = self.old_rows(&draft).await?;
            draft.check_nulls(&rows, &types)?;
        }
        let catalog = self.transaction()?.catalog.clone();
        let settings = self.variables.format().clone();
        for item in indexes(&catalog, draft.old.id) {
            let ItemKind::Index(index) = &item.kind else { continue };
            let key = draft.renamed_key(index);
            for text in &key {
                binding::stored_scalar(&catalog, text, &draft.table.desc, &settings)
                    .map_err(|_| index_names_it(&item))?;
            }
            if key != index.key {
                let kind = ItemKind::Index(Index { key, ..index.clone() });
                let item = Item { kind, ..(*item).clone() };
                self.transaction_mut()?.define(item.id, Some(item), None)?;
            }
        }
        self.rename_references(&draft.old, &draft.table.desc, &draft.renamed, draft.old.id)?;
        for (item, rule) in catalog.constraints(draft.old.id) {
            if let Rule::Reference(of) = &rule.rule
                && !draft.dropped_rules.contains(&item.id)
            {
                let rule = Rule::Reference(renamed_reference(
                    of,
                    draft.old.id,
                    &draft.renamed,
                    draft.old.id,
                ));
                let kind = ItemKind::Constraint(Constraint { on: draft.old.id, rule });
                let item = Item { kind, ..(**item).clone() };
                self.transaction_mut()?.define(item.id, Some(item), None)?;
            }
            let Rule::Check(text) = &rule.rule else { continue };
            if !draft.dropped_rules.contains(&item.id) {
                binding::stored_scalar(&catalog, text, &draft.table.desc, &settings)
                    .map_err(|_| check_names_it(item))?;
            }
        }
        let kind = ItemKind::Table(draft.table);
        let item = Item { name: draft.name, kind, ..(*draft.old).clone() };
        let id = item.id;
        self.transaction_mut()?.define(id, Some(item), None)?;
        Ok(id)
    }

    /// Another table with the rows of this one.
    async fn rewrite(&mut self, draft: Draft) -> Result<GlobalId> {
        let id = self.new_id(1).await?;
        let catalog = self.transaction()?.catalog.clone();
        let (rows, types) = self.old_rows(&draft).await?;
        draft.check_nulls(&rows, &types)?;
        let old_indexes = indexes(&catalog, draft.old.id);
        let old_rules: Vec<_> =
            catalog.constraints(draft.old.id).map(|(item, _)| item.clone()).collect();
        let mut anew = BTreeMap::new();
        for item in &old_rules {
            if let ItemKind::Constraint(Constraint { rule: Rule::Reference(of), .. }) = &item.kind {
                anew.insert(item.id, renamed_reference(of, draft.old.id, &draft.renamed, id));
            }
        }
        self.rename_references(&draft.old, &draft.table.desc, &draft.renamed, id)?;
        let dropped = owned_sequences(&catalog, &draft.old);
        let Draft { old, name, table, sources, sequences, renamed, .. } = draft;
        for index in old_rules.iter().chain(&old_indexes) {
            self.transaction_mut()?.define(index.id, None, None)?;
        }
        self.transaction_mut()?.define(old.id, None, None)?;
        let kept: Vec<GlobalId> = table.sequences().collect();
        for sequence in dropped.iter().filter(|item| !kept.contains(&item.id)) {
            self.transaction_mut()?.define(sequence.id, None, None)?;
        }
        let place = |id: GlobalId| table.defaults.iter().position(|d| takes_from(d.as_ref(), id));
        for item in dropped.iter().filter(|item| kept.contains(&item.id)) {
            let ItemKind::Sequence(sequence) = &item.kind else { continue };
            let owned_by = place(item.id).map(|at| (id, at));
            let kind = ItemKind::Sequence(Sequence { owned_by, ..sequence.clone() });
            let item = Item { kind, ..(**item).clone() };
            self.transaction_mut()?.define(item.id, Some(item), None)?;
        }
        for (_, mut item) in sequences.into_iter().filter(|(_, item)| kept.contains(&item.id)) {
            let at = place(item.id);
            if let ItemKind::Sequence(sequence) = &mut item.kind {
                sequence.owned_by = at.map(|at| (id, at));
            }
            self.create(item, None, false)?;
        }
        let key = table.primary_key.as_ref().map(|key| key.columns.as_slice());
        let install = Install::Table(table_layout(&table.desc.types(), key));
        let key_name = table.primary_key.as_ref().map(|key| key.name.clone());
        let kind = ItemKind::Table(table);
        let item = Item { id, name, kind, schema: old.schema.clone() };
        self.create(item, Some(install), false)?;
        let rows = self.complete_rows(id, &sources, &rows, &types).await?;
        self.put_rows(id, rows, false).await.map_err(|error| not_unique(error, key_name))?;
        self.rebuild(id, &renamed, old_indexes, old_rules, anew).await?;
        Ok(id)
    }

    /// Makes the indexes and the constraints of a table anew. Those of a column that is gone are
    /// gone, too.
    async fn rebuild(
        &mut self,
        id: GlobalId,
        renamed: &[(String, String)],
        old_indexes: Vec<Arc<Item>>,
        old_rules: Vec<Arc<Item>>,
        references: BTreeMap<GlobalId, Reference>,
    ) -> Result<()> {
        let catalog = self.transaction()?.catalog.clone();
        let desc = catalog.expect(id)?.desc().cloned().unwrap_or_default();
        let mut anew = BTreeMap::new();
        for item in old_indexes {
            let ItemKind::Index(index) = &item.kind else { continue };
            let key_text = renamed_key(index, renamed);
            let key = key_text
                .iter()
                .map(|text| binding::stored_scalar(&catalog, text, &desc, &index.settings));
            // An index goes with the columns that it is over.
            let Ok(key) = key.collect::<Result<Vec<_>>>() else { continue };
            let name = item.name.clone();
            let create =
                CreateIndex { name, on: id, key, key_text, unique: None, if_not_exists: false };
            anew.insert(item.id, self.make_index(create, index.settings.clone()).await?);
        }
        let settings = self.variables.format().clone();
        for item in old_rules {
            let ItemKind::Constraint(constraint) = &item.kind else { continue };
            let rule = match &constraint.rule {
                Rule::Check(text) => {
                    if let Err(error) = binding::stored_scalar(&catalog, text, &desc, &settings) {
                        match error.code == SqlState::UNDEFINED_COLUMN && renamed.is_empty() {
                            true => continue,
                            false => return Err(check_names_it(&item)),
                        }
                    }
                    Rule::Check(text.clone())
                }
                Rule::Unique { index, declared } => match anew.get(index) {
                    Some(index) => Rule::Unique { index: *index, declared: *declared },
                    None => continue,
                },
                Rule::Reference(_) => {
                    let has = |name: &String| desc.columns.iter().any(|of| of.name == *name);
                    match references.get(&item.id) {
                        Some(of) if of.columns.iter().all(has) => Rule::Reference(of.clone()),
                        _ => continue,
                    }
                }
            };
            let kind = ItemKind::Constraint(Constraint { on: id, rule });
            let item = Item { id: self.new_id(1).await?, kind, ..(*item).clone() };
            self.transaction_mut()?.define(item.id, Some(item), None)?;
        }
        Ok(())
    }

    /// All rows of the old table, with what is computed of them.
    async fn old_rows(&mut self, draft: &Draft) -> Result<(Vec<Row>, Vec<ScalarType>)> {
        let desc = draft.old.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let ty = RelationType { columns: desc.types(), keys: desc.keys.clone() };
        let mut relation = Relation::global(draft.old.id, ty);
        if !draft.computed.is_empty() {
            relation = relation.map(draft.computed.clone());
        }
        let (rows, types) = self.selected(relation).await?;
        let rows = rows.into_iter();
        let rows = rows.flat_map(|(row, count)| std::iter::repeat_n(row, count.max(0) as usize));
        Ok((rows.collect(), types))
    }
}

impl Draft {
    /// The place of a column. Errors: 42703.
    fn at(&self, column: &str) -> Result<usize> {
        self.table.desc.columns.iter().position(|of| of.name == column).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{column}\" of relation \"{}\" does not exist", self.name),
            )
        })
    }

    fn add(&mut self, column: NewColumn, fill: Expr, sequence: Option<GlobalId>) {
        let NewColumn { name, ty, default, sequence: new, values_of, domain } = column;
        let mut own = default.map(ColumnDefault::Expression);
        let mut source = ColumnSource::Default(fill);
        if let Some(id) = values_of {
            own = Some(ColumnDefault::Sequence { id, identity: false, always: false });
            source = ColumnSource::Sequence(id);
        }
        if let (Some(new), Some(id)) = (new, sequence) {
            let (identity, always) = (new.identity, new.always);
            own = Some(ColumnDefault::Sequence { id, identity, always });
            source = ColumnSource::Sequence(id);
            let options = new.options;
            let kind = ItemKind::Sequence(Sequence {
                start: options.start,
                increment: options.increment,
                min: options.min,
                max: options.max,
                cycle: options.cycle,
                owned_by: None,
            });
            let (schema, sequence) = (self.old.schema.clone(), format!("{}_{name}_seq", self.name));
            self.sequences.push((name.clone(), Item { id, schema, name: sequence, kind }));
        }
        let default = match domain {
            Some(id) => Some(ColumnDefault::Domain { id, default: own.map(Box::new) }),
            None => own,
        };
        self.table.desc.columns.push(ColumnDesc { name, ty });
        self.table.defaults.push(default);
        self.sources.push(source);
        self.rewrites = true;
    }

    fn drop(&mut self, at: usize) -> Result<()> {
        if self.table.desc.arity() == 1 {
            return Err(Error::unsupported(
                "a table without columns",
                "Drop the table, or add another column first.",
            ));
        }
        self.table.desc.columns.remove(at);
        self.table.defaults.remove(at);
        self.sources.remove(at);
        self.rewrites = true;
        match &mut self.table.primary_key {
            Some(key) if key.columns.contains(&at) => self.table.primary_key = None,
            Some(key) => key.columns.iter_mut().filter(|c| **c > at).for_each(|c| *c -= 1),
            None => {}
        }
        self.key_changed();
        Ok(())
    }

    /// The key of the rows is the primary key's.
    fn key_changed(&mut self) {
        let key = self.table.primary_key.iter();
        self.table.desc.keys = key.map(|key| key.columns.clone()).collect();
    }

    fn rename_column(&mut self, from: String, to: String) -> Result<()> {
        let at = self.at(&from).map_err(|_| {
            Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{from}\" does not exist"))
        })?;
        if self.at(&to).is_ok() {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{to}\" of relation \"{}\" already exists", self.name),
            ));
        }
        self.table.desc.columns[at].name.clone_from(&to);
        self.renamed.push((from, to));
        self.breaks = true;
        Ok(())
    }

    fn set_default(
        &mut self,
        column: &str,
        text: Option<String>,
        values_of: Option<GlobalId>,
    ) -> Result<()> {
        let at = self.at(column)?;
        let (domain, own) = ColumnDefault::split(self.table.defaults[at].as_ref());
        match own {
            Some(ColumnDefault::Sequence { identity: true, .. }) => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!(
                        "column \"{column}\" of relation \"{}\" is an identity column",
                        self.name
                    ),
                ));
            }
            // The sequence would be nobody's then, and go with the table all the same.
            Some(ColumnDefault::Sequence { .. }) => {
                return Err(Error::unsupported(
                    "another default for a column with a sequence of its own",
                    "Add a column with that default, and drop this one.",
                ));
            }
            _ => {}
        }
        let own = match values_of {
            Some(id) => Some(ColumnDefault::Sequence { id, identity: false, always: false }),
            None => text.map(ColumnDefault::Expression),
        };
        self.table.defaults[at] = match domain {
            Some(id) => Some(ColumnDefault::Domain { id, default: own.map(Box::new) }),
            None => own,
        };
        Ok(())
    }

    fn set_not_null(&mut self, column: &str, not_null: bool) -> Result<()> {
        let at = self.at(column)?;
        if not_null {
            self.table.desc.columns[at].ty.nullable = false;
            return Ok(());
        }
        if self.table.primary_key.as_ref().is_some_and(|key| key.columns.contains(&at)) {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("column \"{column}\" is in a primary key"),
            ));
        }
        let (_, own) = ColumnDefault::split(self.table.defaults[at].as_ref());
        if matches!(own, Some(ColumnDefault::Sequence { identity: true, .. })) {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("column \"{column}\" of relation \"{}\" is an identity column", self.name),
            ));
        }
        self.breaks |= !self.table.desc.columns[at].ty.nullable;
        self.table.desc.columns[at].ty.nullable = true;
        Ok(())
    }

    fn add_key(&mut self, columns: &[String], name: Option<String>) -> Result<()> {
        if self.table.primary_key.is_some() {
            return Err(Error::new(
                SqlState::INVALID_TABLE_DEFINITION,
                format!("multiple primary keys for table \"{}\" are not allowed", self.name),
            ));
        }
        let mut key = vec![];
        for column in columns {
            let at = self.at(column).map_err(|_| {
                let message = format!("column \"{column}\" named in key does not exist");
                Error::new(SqlState::UNDEFINED_COLUMN, message)
            })?;
            if key.contains(&at) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{column}\" appears twice in primary key constraint"),
                ));
            }
            let ty = self.table.desc.columns[at].ty.scalar;
            if !ty.is_comparable() || ty == ScalarType::Jsonb {
                return Err(Error::unsupported(
                    format!("a primary key of type {}", ty.display_name()),
                    "Take a column of another type as the key.",
                ));
            }
            self.table.desc.columns[at].ty.nullable = false;
            key.push(at);
        }
        let name = name.unwrap_or_else(|| format!("{}_pkey", self.name));
        self.table.primary_key = Some(PrimaryKey { columns: key, name });
        self.key_changed();
        self.rewrites = true;
        Ok(())
    }

    fn drop_constraint(&mut self, name: &str) -> Result<()> {
        if self.table.primary_key.as_ref().is_none_or(|key| key.name != name) {
            return Err(self.no_constraint(name, "of relation"));
        }
        self.table.primary_key = None;
        self.key_changed();
        self.rewrites = true;
        Ok(())
    }

    fn rename_constraint(&mut self, from: &str, to: String) -> Result<()> {
        match &mut self.table.primary_key {
            Some(key) if key.name == from => {
                key.name = to;
                Ok(())
            }
            _ => Err(self.no_constraint(from, "for table")),
        }
    }

    fn no_constraint(&self, name: &str, place: &str) -> Error {
        let message = format!("constraint \"{name}\" {place} \"{}\" does not exist", self.name);
        Error::new(SqlState::UNDEFINED_OBJECT, message)
    }

    /// Columns of the new definition that rows may not have NULL in, but might.
    fn doubtful(&self) -> impl Iterator<Item = (usize, &ColumnSource)> {
        let columns = self.table.desc.columns.iter().zip(&self.sources).enumerate();
        let old = self.old.desc();
        columns.filter_map(move |(at, (column, source))| {
            let was_null = match source {
                ColumnSource::Source(from) => {
                    old.and_then(|old| old.columns.get(*from)).is_none_or(|of| of.ty.nullable)
                }
                ColumnSource::Default(_) => true,
                ColumnSource::Sequence(_) => false,
            };
            (was_null && !column.ty.nullable).then_some((at, source))
        })
    }

    fn needs_check(&self) -> bool {
        self.doubtful().next().is_some()
    }

    /// Error 23502 where rows have NULL in what must not be NULL.
    fn check_nulls(&self, rows: &[Row], types: &[ScalarType]) -> Result<()> {
        let mut datums = Vec::with_capacity(types.len());
        for (at, source) in self.doubtful() {
            let is_null = |datums: &[Datum<'_>]| match source {
                ColumnSource::Source(from) => datums[*from].is_null(),
                ColumnSource::Default(expr) => expr.as_literal() == Some(Datum::Null),
                ColumnSource::Sequence(_) => false,
            };
            for row in rows {
                datums.clear();
                decode_values(types, row.bytes(), &mut datums);
                if is_null(&datums) {
                    let (column, table) = (&self.table.desc.columns[at].name, &self.name);
                    return Err(Error::new(
                        SqlState::NOT_NULL_VIOLATION,
                        format!("column \"{column}\" of relation \"{table}\" contains null values"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn renamed_key(&self, index: &Index) -> Vec<String> {
        renamed_key(index, &self.renamed)
    }
}

/// The texts of an index's key after columns were renamed.
fn renamed_key(index: &Index, renamed: &[(String, String)]) -> Vec<String> {
    let mut key = index.key.clone();
    for (from, to) in renamed {
        let (from, to) = (quoted(from), quoted(to));
        key.iter_mut().filter(|text| **text == from).for_each(|text| text.clone_from(&to));
    }
    key
}

fn index_names_it(index: &Item) -> Error {
    Error::unsupported(
        format!("renaming a column that an expression of index \"{}\" names", index.name),
        "Drop the index first, and create it again.",
    )
}

fn check_names_it(rule: &Item) -> Error {
    Error::unsupported(
        format!("changing a column that the check constraint \"{}\" names", rule.name),
        "Drop the constraint first, and add it again.",
    )
}

/// The indexes of a table.
fn indexes(catalog: &Catalog, table: GlobalId) -> Vec<Arc<Item>> {
    let dependents = catalog.dependents(table);
    dependents.filter(|item| matches!(item.kind, ItemKind::Index(_))).cloned().collect()
}

/// The sequences that the columns of a table own.
fn owned_sequences(catalog: &Catalog, table: &Item) -> Vec<Arc<Item>> {
    let owned = catalog.items().filter(|item| match &item.kind {
        ItemKind::Sequence(sequence) => sequence.owned_by.is_some_and(|(of, _)| of == table.id),
        _ => false,
    });
    owned.cloned().collect()
}

/// Whether a default takes the values of a sequence.
fn takes_from(default: Option<&ColumnDefault>, id: GlobalId) -> bool {
    let (_, own) = ColumnDefault::split(default);
    matches!(own, Some(ColumnDefault::Sequence { id: of, .. }) if *of == id)
}

/// The error of rows that a new key does not tell apart.
fn not_unique(error: Error, key: Option<String>) -> Error {
    match key {
        Some(name) if error.code == SqlState::UNIQUE_VIOLATION => {
            let detail = error
                .detail
                .as_deref()
                .map(|detail| detail.replace(" already exists.", " is duplicated."));
            let message = format!("could not create unique index \"{name}\"");
            let error = Error::new(SqlState::UNIQUE_VIOLATION, message);
            match detail {
                Some(detail) => error.with_detail(detail),
                None => error,
            }
        }
        _ => error,
    }
}
