//! FOREIGN KEY: which table is named, by which of its keys.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::ItemKind;
use crate::error::{Error, Result, SqlState};
use crate::plan::alter::{NewReference, ReferenceAction};
use crate::plan::statement::NewRule;
use crate::repr::{GlobalId, RelationDesc, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;

/// The keys of the table that is being defined, which it may name itself by.
pub(super) struct OwnKeys<'a> {
    /// Its schema and its name.
    pub(super) name: (&'a str, &'a str),
    /// Its columns.
    pub(super) desc: &'a RelationDesc,
    /// Its primary key.
    pub(super) key: Option<&'a [usize]>,
    /// Its other rules so far.
    pub(super) rules: &'a [NewRule],
}

/// The table that is named: its name, its columns, its primary key, and its unique keys.
struct Parent {
    name: String,
    desc: RelationDesc,
    primary: Option<Vec<String>>,
    unique: Vec<Vec<String>>,
}

impl Binder<'_, '_> {
    /// Refuses a foreign key to facts, which come and go otherwise than rows.
    fn refuse_facts(&self, parent: &ast::ObjectName) -> Result<()> {
        match self.find_object(&self.qualified(parent)?) {
            Some(item) if item.attribute().is_some() || item.kept_by().is_some() => {
                Err(Error::unsupported(
                    format!("a foreign key to \"{}\", which holds facts,", item.name),
                    "Keep the key of the entity in a table of its own.",
                ))
            }
            _ => Ok(()),
        }
    }

    /// A foreign key over columns of a table. Errors: 42830, 42P01, 42703, 42804, 0A000.
    pub(super) fn new_reference(
        &mut self,
        name: String,
        columns: Vec<String>,
        written: &ast::ForeignKeyConstraint,
        own: &OwnKeys<'_>,
    ) -> Result<NewReference> {
        let position = self.position(written.foreign_table.span());
        refuse_match(written.match_kind.as_ref())?;
        let for_column = |column: &String| {
            own.desc.columns.iter().find(|of| of.name == *column).map(|of| of.ty.scalar).ok_or_else(
                || {
                    let message = format!(
                        "column \"{column}\" referenced in foreign key constraint does not exist"
                    );
                    Error::new(SqlState::UNDEFINED_COLUMN, message)
                },
            )
        };
        let types = columns.iter().map(for_column).collect::<Result<Vec<_>>>()?;
        let (id, parent) = self.parent_of(written, own).map_err(|e| e.at(position))?;
        self.refuse_facts(&written.foreign_table)?;
        let to = parent.named(written)?;
        if to.len() != columns.len() {
            return Err(Error::new(
                INVALID_FOREIGN_KEY,
                "number of referencing and referenced columns for foreign key disagree",
            ));
        }
        let is_key = |key: &Vec<String>| {
            key.len() == to.len() && key.iter().all(|column| to.contains(column))
        };
        if !parent.primary.iter().chain(&parent.unique).any(is_key) {
            return Err(Error::new(
                INVALID_FOREIGN_KEY,
                format!(
                    "there is no unique constraint matching given keys for referenced table \"{}\"",
                    parent.name
                ),
            ));
        }
        for ((column, ty), other) in columns.iter().zip(types).zip(&to) {
            let of = parent.desc.columns.iter().find(|of| of.name == *other);
            let is_text = |ty| matches!(ty, ScalarType::Text | ScalarType::Varchar);
            let alike =
                of.is_some_and(|of| of.ty.scalar == ty || is_text(of.ty.scalar) && is_text(ty));
            if !alike || !ty.key_is_identity() {
                return Err(Error::unsupported(
                    format!("a foreign key from \"{column}\" to \"{other}\", of such types,"),
                    "Give both columns one type that has one form of each value.",
                ));
            }
        }
        let (deferrable, deferred) = deferral(written.characteristics.as_ref());
        Ok(NewReference {
            name,
            columns,
            parent: id,
            to,
            on_delete: action(written.on_delete.as_ref())?,
            on_update: action(written.on_update.as_ref())?,
            deferrable,
            deferred,
        })
    }

    /// The table that is named; without an id, the one that is being defined.
    fn parent_of(
        &self,
        written: &ast::ForeignKeyConstraint,
        own: &OwnKeys<'_>,
    ) -> Result<(Option<GlobalId>, Parent)> {
        let named = self.qualified(&written.foreign_table)?;
        let in_schema = named.schema.as_deref().is_none_or(|schema| schema == own.name.0);
        if in_schema && named.name == own.name.1 {
            let names = |key: &[usize]| {
                key.iter().map(|at| own.desc.columns[*at].name.clone()).collect::<Vec<_>>()
            };
            let unique = own.rules.iter().filter_map(|rule| match rule {
                NewRule::Unique { columns, .. } => Some(columns.clone()),
                _ => None,
            });
            let mut unique: Vec<Vec<String>> = unique.collect();
            if let Some(item) = self.find_object(&named)
                && let ItemKind::Table(table) = &item.kind
            {
                let keys = self.unique_keys(item, table).into_iter();
                unique.extend(keys.map(|(_, columns, _)| names(&columns)));
            }
            let primary = own.key.map(names);
            let desc = own.desc.clone();
            return Ok((None, Parent { name: named.name, desc, primary, unique }));
        }
        let item = self.relation(&written.foreign_table)?;
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("referenced relation \"{}\" is not a table", item.name),
            ));
        };
        let names = |key: &[usize]| {
            key.iter().map(|at| table.desc.columns[*at].name.clone()).collect::<Vec<_>>()
        };
        let keys = self.unique_keys(&item, table).into_iter();
        let unique = keys.map(|(_, columns, _)| names(&columns)).collect();
        let primary = table.primary_key.as_ref().map(|key| names(&key.columns));
        let (name, desc) = (item.name.clone(), table.desc.clone());
        Ok((Some(item.id), Parent { name, desc, primary, unique }))
    }
}

/// `invalid_foreign_key`.
const INVALID_FOREIGN_KEY: SqlState = SqlState::new(b"42830");

impl Parent {
    /// The columns that are named: those that are given, or the primary key.
    fn named(&self, written: &ast::ForeignKeyConstraint) -> Result<Vec<String>> {
        if written.referred_columns.is_empty() {
            return self.primary.clone().ok_or_else(|| {
                Error::new(
                    SqlState::UNDEFINED_OBJECT,
                    format!("there is no primary key for referenced table \"{}\"", self.name),
                )
            });
        }
        let columns: Vec<String> = written.referred_columns.iter().map(name::ident).collect();
        match columns.iter().find(|name| !self.desc.columns.iter().any(|of| of.name == **name)) {
            None => Ok(columns),
            Some(missing) => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{missing}\" referenced in foreign key constraint does not exist"),
            )),
        }
    }
}

fn refuse_match(kind: Option<&ast::ConstraintReferenceMatchKind>) -> Result<()> {
    match kind {
        None | Some(ast::ConstraintReferenceMatchKind::Simple) => Ok(()),
        Some(_) => Err(Error::unsupported("MATCH FULL", "Leave it out.")),
    }
}

fn deferral(given: Option<&ast::ConstraintCharacteristics>) -> (bool, bool) {
    let deferred = given
        .is_some_and(|given| matches!(given.initially, Some(ast::DeferrableInitial::Deferred)));
    let deferrable = given.is_some_and(|given| given.deferrable == Some(true));
    (deferrable || deferred, deferred)
}

fn action(given: Option<&ast::ReferentialAction>) -> Result<ReferenceAction> {
    match given {
        None | Some(ast::ReferentialAction::NoAction) => Ok(ReferenceAction::Nothing),
        Some(ast::ReferentialAction::Restrict) => Ok(ReferenceAction::Restrict),
        Some(ast::ReferentialAction::Cascade) => Ok(ReferenceAction::Cascade),
        Some(ast::ReferentialAction::SetNull) => Ok(ReferenceAction::SetNull),
        Some(ast::ReferentialAction::SetDefault) => Err(Error::unsupported(
            "SET DEFAULT of a foreign key",
            "NO ACTION, RESTRICT, CASCADE and SET NULL are there.",
        )),
    }
}
