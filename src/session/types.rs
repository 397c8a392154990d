//! CREATE TYPE, ALTER TYPE and their kin: changes of the transaction's catalog.
//!
//! A new type is known to values at once, under a number that nobody else has; a changed one when
//! its commit is in order, so that what is rolled back was never seen.

use std::sync::Arc;

use uuid::Uuid;

use crate::catalog::item::{Item, ItemKind};
use crate::catalog::types::{Check, Definition, Domain, Type};
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::statement::{AlterType, CreateType, NewType, TypeChange};
use crate::repr::GlobalId;
use crate::repr::enums::{first_keys, with_label};
use crate::repr::user_type::Label;
use crate::session::binding;
use crate::session::session::{Outcome, Session};

impl Session {
    pub(super) async fn create_type(&mut self, create: CreateType) -> Result<Outcome> {
        let CreateType { schema, name, definition } = create;
        let tag = match definition {
            NewType::Domain(_) => "CREATE DOMAIN",
            _ => "CREATE TYPE",
        };
        self.check_definable(tag)?;
        let definition = match definition {
            NewType::Enum(labels) => {
                let keys = first_keys(labels.len()).into_iter().zip(labels);
                Definition::Enum(keys.map(|(key, label)| Label { key, label }).collect())
            }
            NewType::Composite(fields) => Definition::Composite(fields),
            NewType::Domain(new) => {
                let checks = new.checks.into_iter().map(|(name, text)| Check { name, text });
                Definition::Domain(Domain {
                    base: new.base,
                    over: new.over,
                    not_null: new.not_null,
                    default: new.default,
                    checks: checks.collect(),
                })
            }
        };
        let id = self.new_id(2).await?;
        let (number, _) = Uuid::new_v4().as_u64_pair();
        let kind = ItemKind::Type(Type { number, array_oid: id.0 as u32 + 1, definition });
        let item = Item { id, schema, name, kind };
        item.register();
        self.create(item, None, false)?;
        Ok(Outcome::Done(tag.into()))
    }

    pub(super) async fn alter_type(&mut self, alter: AlterType) -> Result<Outcome> {
        self.check_definable(alter.tag)?;
        for violation in alter.violations {
            if !self.selected(violation.rows).await?.0.is_empty() {
                return Err(violation.error);
            }
        }
        let catalog = self.transaction()?.catalog.clone();
        let mut item = (**catalog.expect(alter.id)?).clone();
        let ItemKind::Type(ty) = &mut item.kind else {
            return Err(Error::internal("a type that is none"));
        };
        let notice = match (&mut ty.definition, alter.change) {
            (_, TypeChange::Rename(name)) => {
                item.name = name;
                if let Some(error) = self.type_conflict(&item) {
                    return Err(error);
                }
                None
            }
            (Definition::Enum(labels), change) => change_labels(labels, change)?,
            (Definition::Domain(domain), change) => change_domain(domain, change, &item.name)?,
            (Definition::Composite(_), _) => {
                return Err(Error::internal("a change of what the type has not"));
            }
        };
        match notice {
            Some(notice) => self.note(notice),
            None => self.transaction_mut()?.define(alter.id, Some(item), None)?,
        }
        Ok(Outcome::Done(alter.tag.into()))
    }

    /// The error of a name that another type has, or a relation, whose rows are of that type.
    pub(super) fn type_conflict(&self, item: &Item) -> Option<Error> {
        let catalog = &self.transaction.as_ref()?.catalog;
        let taken = || {
            Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{}\" already exists", item.name))
        };
        let of_type = catalog.type_by_name(&item.schema, &item.name);
        if of_type.is_some_and(|other| other.id != item.id) {
            return Some(match item.kind {
                ItemKind::Type(_) => taken(),
                _ => taken().with_hint(
                    "A relation has an associated type of the same name, so you must use a name \
                     that doesn't conflict with any existing type.",
                ),
            });
        }
        let relation = catalog.by_name(&item.schema, &item.name);
        let is_type = matches!(item.kind, ItemKind::Type(_));
        relation.filter(|other| is_type && other.desc().is_some()).map(|_| taken())
    }

    /// What a table's rows must be by the domains of its columns: expressions that fail.
    pub(super) fn domain_checks(&self, table: GlobalId) -> Result<Arc<Vec<Expr>>> {
        let catalog = &self.transaction()?.catalog;
        let ItemKind::Table(table) = &catalog.expect(table)?.kind else {
            return Ok(Arc::default());
        };
        let mut checks = vec![];
        for (column, domain) in table.domains().enumerate() {
            let Some(domain) = domain else { continue };
            let base = table.desc.columns[column].ty;
            let mut check = binding::domain_check(catalog, domain, base, self.variables.format())?;
            check.map_columns(|_| column);
            checks.push(check);
        }
        Ok(Arc::new(checks))
    }
}

/// Changes the labels of an enum; what is to be said where there is nothing to change.
fn change_labels(labels: &mut Vec<Label>, change: TypeChange) -> Result<Option<String>> {
    let find = |labels: &[Label], wanted: &str| {
        labels.iter().position(|label| label.label == wanted).ok_or_else(|| {
            Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("\"{wanted}\" is not an existing enum label"),
            )
        })
    };
    let taken = |label: &str| format!("enum label \"{label}\" already exists");
    match change {
        TypeChange::AddLabel { label, place, if_not_exists } => {
            if find(labels, &label).is_ok() {
                return match if_not_exists {
                    true => Ok(Some(format!("{}, skipping", taken(&label)))),
                    false => Err(Error::new(SqlState::DUPLICATE_OBJECT, taken(&label))),
                };
            }
            let at = match place {
                None => labels.len(),
                Some((before, other)) => find(labels, &other)? + usize::from(!before),
            };
            *labels = with_label(labels, at, &label);
        }
        TypeChange::RenameLabel { from, to } => {
            let at = find(labels, &from)?;
            if find(labels, &to).is_ok() {
                return Err(Error::new(SqlState::DUPLICATE_OBJECT, taken(&to)));
            }
            labels[at].label = to;
        }
        _ => return Err(Error::internal("a change of what an enum has not")),
    }
    Ok(None)
}

/// Changes a domain; what is to be said where there is nothing to change.
fn change_domain(domain: &mut Domain, change: TypeChange, name: &str) -> Result<Option<String>> {
    let find = |domain: &Domain, wanted: &str| domain.checks.iter().position(|c| c.name == wanted);
    let missing = |text: String| Error::new(SqlState::UNDEFINED_OBJECT, text);
    match change {
        TypeChange::Default(default) => domain.default = default,
        TypeChange::NotNull(not_null) => domain.not_null = not_null,
        TypeChange::AddCheck(name, text) => domain.checks.push(Check { name, text }),
        TypeChange::DropCheck { name: check, if_exists } => match find(domain, &check) {
            Some(at) => {
                domain.checks.remove(at);
            }
            None => {
                let text = format!("constraint \"{check}\" of domain \"{name}\" does not exist");
                return match if_exists {
                    true => Ok(Some(format!("{text}, skipping"))),
                    false => Err(missing(text)),
                };
            }
        },
        TypeChange::RenameCheck { from, to } => {
            let Some(at) = find(domain, &from) else {
                let text = format!("constraint \"{from}\" for domain {name} does not exist");
                return Err(missing(text));
            };
            if find(domain, &to).is_some() {
                return Err(Error::new(
                    SqlState::DUPLICATE_OBJECT,
                    format!("constraint \"{to}\" for domain {name} already exists"),
                ));
            }
            domain.checks[at].name = to;
        }
        _ => return Err(Error::internal("a change of what a domain has not")),
    }
    Ok(None)
}
