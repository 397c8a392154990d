//! ALTER TABLE.

use sqlparser::ast;
use sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Spanned};

use crate::catalog::item::{ColumnDefault, Item, ItemKind, Table};
use crate::error::{Error, Result, SqlState};
use crate::plan::alter::{AlterTable, TableChange};
use crate::plan::statement::Statement;
use crate::repr::{ColumnDesc, ColumnType, RelationDesc};
use crate::sql::bind::constraint::{self, WrittenRule};
use crate::sql::bind::context::Binder;
use crate::sql::bind::create::{Constraints, is_counter, key_column, system_catalog};
use crate::sql::bind::entry::scope_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::relation::Typed;

impl Binder<'_, '_> {
    /// ALTER TABLE.
    pub fn alter_table(&mut self, alter: &ast::AlterTable) -> Result<Statement> {
        let position = self.position(alter.name.span());
        let named = self.qualified(&alter.name)?;
        let Some(item) = self.find_object(&named).cloned() else {
            let missing = format!("relation \"{named}\" does not exist");
            if !alter.if_exists {
                return Err(Error::new(SqlState::UNDEFINED_TABLE, missing).at(position));
            }
            let notice = Some(format!("{missing}, skipping"));
            let alter = AlterTable { relation: None, notice, changes: vec![] };
            return Ok(Statement::AlterTable(Box::new(alter)));
        };
        if item.is_system() {
            return Err(system_catalog(&item.name));
        }
        let is_owner = |o: &AlterTableOperation| matches!(o, AlterTableOperation::OwnerTo { .. });
        if (item.attribute().is_some() || item.kept_by().is_some())
            && !alter.operations.iter().all(is_owner)
        {
            return Err(Error::unsupported(
                format!("ALTER TABLE of \"{}\", which holds facts", item.name),
                "Make another attribute, and assert its facts.",
            )
            .at(position));
        }
        let mut changes = vec![];
        for operation in &alter.operations {
            self.table_changes(&item, operation, &mut changes)?;
        }
        let alter = AlterTable { relation: Some(item.id), notice: None, changes };
        Ok(Statement::AlterTable(Box::new(alter)))
    }

    fn table_changes(
        &mut self,
        item: &Item,
        operation: &AlterTableOperation,
        changes: &mut Vec<TableChange>,
    ) -> Result<()> {
        match operation {
            // Here everybody may do everything, and objects have one owner.
            AlterTableOperation::OwnerTo { .. } => return Ok(()),
            AlterTableOperation::RenameTable { table_name } => {
                let (ast::RenameTableNameKind::To(to) | ast::RenameTableNameKind::As(to)) =
                    table_name;
                changes.push(TableChange::Rename(self.qualified(to)?.name));
                return Ok(());
            }
            _ => {}
        }
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("ALTER action cannot be performed on relation \"{}\"", item.name),
            )
            .with_detail(format!("This operation is not supported for {}s.", item.kind_name())));
        };
        match operation {
            AlterTableOperation::AddColumn {
                if_not_exists, column_def, column_position, ..
            } if column_position.is_none() => {
                self.added_column(item, table, column_def, *if_not_exists, changes)?;
            }
            AlterTableOperation::DropColumn { column_names, if_exists, .. } => {
                let names = column_names.iter().map(name::ident);
                let if_exists = *if_exists;
                changes.extend(names.map(|column| TableChange::Drop { column, if_exists }));
            }
            AlterTableOperation::RenameColumn { old_column_name, new_column_name } => {
                let (from, to) = (name::ident(old_column_name), name::ident(new_column_name));
                changes.push(TableChange::RenameColumn { from, to });
            }
            AlterTableOperation::AlterColumn { column_name, op } => {
                let column = name::ident(column_name);
                changes.push(self.altered_column(table, column, op, operation)?);
            }
            AlterTableOperation::AddConstraint {
                constraint: ast::TableConstraint::PrimaryKey(key),
                ..
            } => {
                let columns = key.columns.iter().map(|c| key_column(&c.column.expr));
                let columns = columns.collect::<Result<_>>()?;
                let name = key.name.as_ref().map(name::ident);
                changes.push(TableChange::Key { columns, name });
            }
            AlterTableOperation::AddConstraint { constraint, not_valid: false } => {
                let Some(rule) = constraint::table_rule(constraint)? else {
                    return Err(unsupported(operation));
                };
                self.added_rules(item, table, vec![rule], changes)?;
            }
            AlterTableOperation::DropConstraint { if_exists, name, .. } => {
                let (name, if_exists) = (name::ident(name), *if_exists);
                changes.push(TableChange::DropConstraint { name, if_exists });
            }
            AlterTableOperation::RenameConstraint { old_name, new_name } => {
                let (from, to) = (name::ident(old_name), name::ident(new_name));
                changes.push(TableChange::RenameConstraint { from, to });
            }
            other => return Err(unsupported(other)),
        }
        Ok(())
    }

    fn added_column(
        &mut self,
        item: &Item,
        table: &Table,
        column: &ast::ColumnDef,
        if_not_exists: bool,
        changes: &mut Vec<TableChange>,
    ) -> Result<()> {
        let mut constraints = Constraints::default();
        if table.primary_key.is_some() {
            constraints.add_key(&item.name, vec![], None)?;
        }
        let held = constraints.primary_key.is_some();
        let column = self.new_column(&item.name, column, &mut constraints)?;
        let default = column.default.clone();
        let domain = column.domain.and_then(|id| self.cx.catalog.domain_default(id));
        let fill = match default.or(domain) {
            Some(text) => self.default_expr(&text, &column.name, column.ty)?,
            None => Typed::null(ColumnType { nullable: true, ..column.ty }).expr,
        };
        let key = constraints.primary_key;
        changes.push(TableChange::Add { column, fill, if_not_exists });
        self.added_rules(item, table, constraints.rules, changes)?;
        if let (false, Some((columns, name))) = (held, key) {
            changes.push(TableChange::Key { columns, name });
        }
        Ok(())
    }

    /// Constraints over the columns of a table, and over those that are added with them.
    fn added_rules(
        &mut self,
        item: &Item,
        table: &Table,
        written: Vec<WrittenRule>,
        changes: &mut Vec<TableChange>,
    ) -> Result<()> {
        let mut desc = RelationDesc { keys: vec![], ..table.desc.clone() };
        let mut taken: Vec<String> = table.primary_key.iter().map(|key| key.name.clone()).collect();
        taken.extend(self.cx.catalog.constraints(item.id).map(|(rule, _)| rule.name.clone()));
        for change in changes.iter() {
            match change {
                TableChange::Add { column, .. } => {
                    let (name, ty) = (column.name.clone(), column.ty);
                    desc.columns.push(ColumnDesc { name, ty });
                }
                TableChange::Rule(rule) => taken.push(rule.name().to_owned()),
                _ => {}
            }
        }
        let key = table.primary_key.as_ref().map(|key| key.columns.as_slice());
        let rules = self.new_rules((&item.schema, &item.name), written, (&desc, key), &taken)?;
        changes.extend(rules.into_iter().map(TableChange::Rule));
        Ok(())
    }

    fn altered_column(
        &mut self,
        table: &Table,
        column: String,
        change: &AlterColumnOperation,
        whole: &AlterTableOperation,
    ) -> Result<TableChange> {
        // A column that an action before this one adds has the type that it will be checked by.
        let at = table.desc.columns.iter().position(|of| of.name == column);
        Ok(match change {
            AlterColumnOperation::SetNotNull => TableChange::NotNull { column, not_null: true },
            AlterColumnOperation::DropNotNull => TableChange::NotNull { column, not_null: false },
            AlterColumnOperation::DropDefault => {
                TableChange::Default { column, text: None, values_of: None }
            }
            AlterColumnOperation::SetDefault { value } => {
                let Some(at) = at else { return Err(missing(&column)) };
                let ty = table.desc.columns[at].ty;
                match self.default_sequence(value)?.filter(|_| is_counter(ty.scalar)) {
                    Some(id) => TableChange::Default { column, text: None, values_of: Some(id) },
                    None => {
                        let text = Some(self.stored_default(value, &column, ty)?);
                        TableChange::Default { column, text, values_of: None }
                    }
                }
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let Some(at) = at else { return Err(missing(&column)) };
                self.retyped_column(table, at, data_type, using.as_ref())?
            }
            _ => return Err(unsupported(whole)),
        })
    }

    fn retyped_column(
        &mut self,
        table: &Table,
        at: usize,
        data_type: &ast::DataType,
        using: Option<&ast::Expr>,
    ) -> Result<TableChange> {
        let of = &table.desc.columns[at];
        let column = of.name.clone();
        let named = self.named_type(data_type)?;
        if named.domain.is_some() || table.domains().nth(at).flatten().is_some() {
            return Err(Error::unsupported(
                "ALTER COLUMN … TYPE with a domain",
                "Add a column of the new type, fill it, and drop the old one.",
            ));
        }
        let ty = ColumnType { nullable: of.ty.nullable, ..named.ty };
        let scope = scope_of(&table.desc);
        let mut cx = ExprContext::plain(&scope, Clause::Index);
        let typed = match using {
            Some(expr) => self.typed_expr(expr, &mut cx)?,
            None => Typed::column(at, of.ty),
        };
        let Some(value) = self.assignable(typed.into(), ty)? else {
            let (what, shown) = match using {
                Some(_) => ("result of USING clause for column", ""),
                None => ("column", &*column),
            };
            let error = Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "{what} \"{column}\" cannot be cast automatically to type {}",
                    ty.scalar.display_name()
                ),
            );
            return Err(match shown {
                "" => error.with_hint("You might need to add an explicit cast."),
                name => error.with_hint(format!(
                    "You might need to specify \"USING {}::{}\".",
                    name::quoted(name),
                    ty.scalar.display_name()
                )),
            });
        };
        let (_, default) = ColumnDefault::split(table.defaults[at].as_ref());
        if let Some(ColumnDefault::Expression(text)) = default {
            self.default_expr(text, &column, ty).map_err(|_| {
                Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "default for column \"{column}\" cannot be cast automatically to type {}",
                        ty.scalar.display_name()
                    ),
                )
            })?;
        }
        Ok(TableChange::Type { column, ty, value: value.expr })
    }
}

fn missing(column: &str) -> Error {
    Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{column}\" does not exist"))
}

fn unsupported(operation: &AlterTableOperation) -> Error {
    Error::unsupported(
        format!("ALTER TABLE … {operation}"),
        "Columns can be added, dropped, renamed and changed; PRIMARY KEY, UNIQUE, CHECK and NOT \
         NULL are the constraints that there are.",
    )
}
