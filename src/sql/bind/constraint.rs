//! CHECK and UNIQUE, as constraints of columns and of tables, and by which key ON CONFLICT finds
//! a row.

use std::collections::BTreeSet;

use sqlparser::ast;

use crate::catalog::item::{Item, ItemKind, Rule, Table};
use crate::error::{Error, Result, SqlState};
use crate::plan::statement::NewRule;
use crate::repr::{GlobalId, RelationDesc, ScalarType};
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::create::key_column;
use crate::sql::bind::entry::scope_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::reference::OwnKeys;

/// A constraint as it was written.
pub(super) enum WrittenRule {
    /// CHECK.
    Check(Option<String>, Box<ast::Expr>),
    /// UNIQUE.
    Unique(Option<String>, Vec<String>),
    /// FOREIGN KEY, REFERENCES.
    Reference(Option<String>, Vec<String>, Box<ast::ForeignKeyConstraint>),
}

/// The rule of a table constraint; none for one of another kind.
pub(super) fn table_rule(constraint: &ast::TableConstraint) -> Result<Option<WrittenRule>> {
    match constraint {
        ast::TableConstraint::Check(check) => check_rule(check, None).map(Some),
        ast::TableConstraint::Unique(unique) => {
            let columns = unique.columns.iter().map(|c| key_column(&c.column.expr));
            unique_rule(unique, None, columns.collect::<Result<_>>()?).map(Some)
        }
        ast::TableConstraint::ForeignKey(key) => {
            let columns = key.columns.iter().map(name::ident).collect();
            let name = key.name.as_ref().map(name::ident);
            Ok(Some(WrittenRule::Reference(name, columns, Box::new(key.clone()))))
        }
        _ => Ok(None),
    }
}

/// The rule of a column's constraint; none for one of another kind.
pub(super) fn column_rule(
    option: &ast::ColumnOptionDef,
    column: &str,
) -> Result<Option<WrittenRule>> {
    let named = option.name.as_ref();
    match &option.option {
        ast::ColumnOption::Check(check) => check_rule(check, named).map(Some),
        ast::ColumnOption::Unique(unique) => {
            unique_rule(unique, named, vec![column.to_owned()]).map(Some)
        }
        ast::ColumnOption::ForeignKey(key) => {
            let name = named.or(key.name.as_ref()).map(name::ident);
            let columns = vec![column.to_owned()];
            Ok(Some(WrittenRule::Reference(name, columns, Box::new(key.clone()))))
        }
        _ => Ok(None),
    }
}

fn check_rule(check: &ast::CheckConstraint, named: Option<&ast::Ident>) -> Result<WrittenRule> {
    if check.enforced == Some(false) {
        return Err(Error::unsupported("NOT ENFORCED", "Leave the constraint out."));
    }
    let name = named.or(check.name.as_ref()).map(name::ident);
    Ok(WrittenRule::Check(name, check.expr.clone()))
}

fn unique_rule(
    unique: &ast::UniqueConstraint,
    named: Option<&ast::Ident>,
    columns: Vec<String>,
) -> Result<WrittenRule> {
    let distinct = &unique.nulls_distinct;
    let deferrable = unique.characteristics.as_ref().is_some_and(|c| c.deferrable == Some(true));
    if matches!(distinct, ast::NullsDistinctOption::NotDistinct)
        || !unique.include.is_empty()
        || deferrable
    {
        return Err(Error::unsupported(
            format!("the constraint {unique}"),
            "UNIQUE tells NULLs apart, holds no other columns, and is checked by each statement.",
        ));
    }
    let name = named.or(unique.name.as_ref()).map(name::ident);
    Ok(WrittenRule::Unique(name, columns))
}

impl Binder<'_, '_> {
    /// The rules of a table under their names: those that are given, or the first that are free.
    pub(super) fn new_rules(
        &mut self,
        (schema, table): (&str, &str),
        written: Vec<WrittenRule>,
        (desc, key): (&RelationDesc, Option<&[usize]>),
        taken: &[String],
    ) -> Result<Vec<NewRule>> {
        let mut rules: Vec<NewRule> = vec![];
        for rule in written {
            let is_taken = |name: &str| {
                taken.iter().any(|of| of == name) || rules.iter().any(|rule| rule.name() == name)
            };
            let rule = match rule {
                WrittenRule::Check(name, expr) => {
                    let columns = self.check_columns(&expr, desc)?;
                    let base = match columns.iter().collect::<Vec<_>>()[..] {
                        [at] => format!("{table}_{}_check", desc.columns[*at].name),
                        _ => format!("{table}_check"),
                    };
                    let name = name.unwrap_or_else(|| first_free(&base, is_taken));
                    NewRule::Check { name, text: expr.to_string() }
                }
                WrittenRule::Unique(name, columns) => {
                    self.check_key(&columns, desc)?;
                    let base = format!("{table}_{}_key", columns.join("_"));
                    let is_taken = |name: &str| {
                        is_taken(name) || self.cx.catalog.by_name(schema, name).is_some()
                    };
                    let name = name.unwrap_or_else(|| first_free(&base, is_taken));
                    NewRule::Unique { name, columns, declared: true }
                }
                WrittenRule::Reference(name, columns, written) => {
                    let base = format!("{table}_{}_fkey", columns.join("_"));
                    let name = name.unwrap_or_else(|| first_free(&base, is_taken));
                    let own = OwnKeys { name: (schema, table), desc, key, rules: &rules };
                    NewRule::Reference(self.new_reference(name, columns, &written, &own)?)
                }
            };
            if rules.iter().any(|other| other.name() == rule.name()) {
                let message = match &rule {
                    NewRule::Reference(of) => {
                        let name = &of.name;
                        format!("constraint \"{name}\" for relation \"{table}\" already exists")
                    }
                    NewRule::Check { name, .. } => {
                        format!("check constraint \"{name}\" already exists")
                    }
                    other => format!("relation \"{}\" already exists", other.name()),
                };
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, message));
            }
            rules.push(rule);
        }
        Ok(rules)
    }

    /// The columns that a condition names. Errors: those of the condition.
    fn check_columns(&mut self, expr: &ast::Expr, desc: &RelationDesc) -> Result<BTreeSet<usize>> {
        let position = self.expr_position(expr);
        let scope = scope_of(desc);
        self.stored_expression = true;
        let bound = self
            .expr(expr, &mut ExprContext::plain(&scope, Clause::Check))
            .and_then(|bound| self.condition(bound, "CHECK", position));
        self.stored_expression = false;
        let typed = bound?;
        if has_subquery(&typed.expr) {
            let message = "cannot use subquery in check constraint";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
        }
        if typed.expr.is_volatile() || typed.expr.reads_clock() {
            return Err(Error::unsupported(
                "a volatile function in a check constraint",
                "Check what the row itself says.",
            )
            .at(position));
        }
        Ok(typed.expr.columns().into_iter().collect())
    }

    /// Errors of the columns of a key: 42703, 42701, 0A000.
    pub(super) fn check_key(&self, columns: &[String], desc: &RelationDesc) -> Result<()> {
        for (at, column) in columns.iter().enumerate() {
            let Some(of) = desc.columns.iter().find(|of| of.name == *column) else {
                let message = format!("column \"{column}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            };
            if columns[..at].contains(column) {
                let message = format!("column \"{column}\" appears twice in unique constraint");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
            comparable::indexed([of.ty.scalar])?;
            if of.ty.scalar == ScalarType::Jsonb {
                return Err(Error::unsupported(
                    "a unique key of type jsonb",
                    "Take a column of another type as the key.",
                ));
            }
        }
        Ok(())
    }

    /// The unique keys of a table beside its primary key: the name, the columns, and the index.
    pub(super) fn unique_keys(
        &self,
        item: &Item,
        table: &Table,
    ) -> Vec<(String, Vec<usize>, GlobalId)> {
        let mut keys = vec![];
        for (rule, constraint) in self.cx.catalog.constraints(item.id) {
            let Rule::Unique { index, .. } = constraint.rule else { continue };
            let Some(ItemKind::Index(of)) = self.cx.catalog.get(index).map(|item| &item.kind)
            else {
                continue;
            };
            let place = |text: &String| {
                let columns = &table.desc.columns;
                let name = match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
                    Some(inner) => inner.replace("\"\"", "\""),
                    None => text.clone(),
                };
                columns.iter().position(|column| column.name == name)
            };
            if let Some(columns) = of.key.iter().map(place).collect() {
                keys.push((rule.name.clone(), columns, index));
            }
        }
        keys
    }
}

fn first_free(base: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let numbered = (1..).map(|n| format!("{base}{n}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_else(|| base.to_owned())
}
