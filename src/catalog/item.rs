//! What the catalog holds: objects with their shape and their bound text.
//!
//! Plans are never kept here; an object's text is planned again at each start. Items are stored as
//! they are (serde), so their fields only ever grow at the end of an enum or behind a new variant.

use serde::{Deserialize, Serialize};

use crate::catalog::attribute::Attribute;
use crate::catalog::types::{self, Type};
use crate::repr::settings::FormatSettings;
use crate::repr::{GlobalId, RelationDesc};

/// An object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its identity.
    pub id: GlobalId,
    /// The schema it is in; its own name, for a schema.
    pub schema: String,
    /// Its name there.
    pub name: String,
    /// The rest.
    pub kind: ItemKind,
}

/// The kinds of objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ItemKind {
    /// A schema.
    Schema,
    /// A table.
    Table(Table),
    /// A view, maintained or not.
    View(View),
    /// An index.
    Index(Index),
    /// A sequence.
    Sequence(Sequence),
    /// A relation that the engine feeds about itself; never stored.
    System(System),
    /// A type.
    Type(Type),
    /// What the rows of a table must be.
    Constraint(Constraint),
}

/// A constraint of a table, primary keys apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// The table.
    pub on: GlobalId,
    /// What must hold.
    pub rule: Rule,
}

/// What must hold of the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// A condition of each row that must not be false (bound text).
    Check(String),
    /// No two rows have the same key in an index, unless a part of it is NULL.
    Unique {
        /// The index, over columns alone.
        index: GlobalId,
        /// Whether it is a constraint; otherwise it only is a property of the index.
        declared: bool,
    },
    /// Each row names one of another table, unless a part of the name is NULL.
    Reference(Reference),
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The table that they name rows of.
    pub parent: GlobalId,
    /// The names of its columns, together one of its keys.
    pub to: Vec<String>,
    /// What becomes of rows whose parent goes.
    pub on_delete: Action,
    /// What becomes of rows whose parent has another key then.
    pub on_update: Action,
    /// `DEFERRABLE`.
    pub deferrable: bool,
    /// `INITIALLY DEFERRED`: it is looked at when a transaction commits.
    pub deferred: bool,
}

/// What becomes of rows that name what is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// It is refused, once the statement (or the transaction) is at its end.
    Nothing,
    /// It is refused.
    Restrict,
    /// They go, too, or name the new key.
    Cascade,
    /// They name nothing.
    SetNull,
}

/// A system relation that is no view: see [`crate::catalog::system`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Its columns.
    pub desc: RelationDesc,
    /// The columns of its key; none: it has no key.
    pub key: Vec<usize>,
    /// Where its rows come from.
    pub source: RowSource,
}

/// Where the rows of a system relation come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowSource {
    /// They are written as things happen.
    Fed,
    /// They never change.
    Constant,
    /// There are none.
    Empty,
    /// Each session sees its own.
    Session,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Its columns; its primary key, if any, is the first of the keys.
    pub desc: RelationDesc,
    /// For each column what it is where no value is given.
    pub defaults: Vec<Option<ColumnDefault>>,
    /// Its primary key.
    pub primary_key: Option<PrimaryKey>,
    /// How long history stays readable, in milliseconds; none: the server's default.
    pub retain_ms: Option<u64>,
}

/// A primary key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrimaryKey {
    /// Its columns, in the order of the constraint.
    pub columns: Vec<usize>,
    /// The name of the constraint.
    pub name: String,
}

/// What a column is where no value is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnDefault {
    /// The value of an expression (bound text).
    Expression(String),
    /// The next value of a sequence.
    Sequence {
        /// The sequence, owned by the column.
        id: GlobalId,
        /// Whether the column is an identity column rather than a serial one.
        identity: bool,
        /// `GENERATED ALWAYS`.
        always: bool,
    },
    /// The column is of a domain, and what else it is.
    Domain {
        /// The domain.
        id: GlobalId,
        /// What stands before the domain's own default; none: nothing does.
        default: Option<Box<ColumnDefault>>,
    },
    /// The column has the values of an attribute, which has no default.
    Attribute(Attribute),
    /// The table is kept by an attribute, and goes with it.
    Kept {
        /// The attribute.
        by: GlobalId,
    },
}

impl ColumnDefault {
    /// The domain of a column, and its default without it.
    pub fn split(default: Option<&ColumnDefault>) -> (Option<GlobalId>, Option<&ColumnDefault>) {
        match default {
            Some(ColumnDefault::Domain { id, default }) => (Some(*id), default.as_deref()),
            other => (None, other),
        }
    }
}

/// A view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its columns.
    pub desc: RelationDesc,
    /// Whether its content is maintained.
    pub materialized: bool,
    /// The query: names qualified, `*` expanded.
    pub text: String,
    /// What it reads, ascending.
    pub depends_on: Vec<GlobalId>,
    /// What a maintained view's expressions see, captured when it was made.
    pub settings: FormatSettings,
    /// How long history stays readable, in milliseconds; none: the server's default.
    pub retain_ms: Option<u64>,
}

/// An index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The table or materialized view.
    pub on: GlobalId,
    /// The key's expressions (bound text over the relation's columns).
    pub key: Vec<String>,
    /// What its expressions see.
    pub settings: FormatSettings,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// The first value.
    pub start: i64,
    /// The step.
    pub increment: i64,
    /// The least value.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
    /// Whether it starts over.
    pub cycle: bool,
    /// The table and column that it goes with.
    pub owned_by: Option<(GlobalId, usize)>,
}

impl Item {
    /// The columns, where it is a relation.
    pub fn desc(&self) -> Option<&RelationDesc> {
        match &self.kind {
            ItemKind::Table(table) => Some(&table.desc),
            ItemKind::View(view) => Some(&view.desc),
            ItemKind::System(system) => Some(&system.desc),
            ItemKind::Schema
            | ItemKind::Index(_)
            | ItemKind::Sequence(_)
            | ItemKind::Type(_)
            | ItemKind::Constraint(_) => None,
        }
    }

    /// What it cannot exist without.
    pub fn depends_on(&self) -> Vec<GlobalId> {
        match &self.kind {
            ItemKind::Schema => vec![],
            ItemKind::Table(table) => {
                let mut found = types::types_of(&table.desc);
                found.extend(table.domains().flatten());
                found.extend(table.sequences());
                found.extend(table.kept_by());
                found
            }
            ItemKind::View(view) => {
                let mut found = types::types_of(&view.desc);
                found.extend(&view.depends_on);
                found
            }
            ItemKind::Type(ty) => ty.depends_on(),
            ItemKind::Index(index) => vec![index.on],
            ItemKind::Constraint(Constraint { on, rule: Rule::Check(_) }) => vec![*on],
            ItemKind::Constraint(Constraint { on, rule: Rule::Unique { index, .. } }) => {
                vec![*on, *index]
            }
            ItemKind::Constraint(Constraint { on, rule: Rule::Reference(reference) }) => {
                vec![*on, reference.parent]
            }
            ItemKind::Sequence(_) | ItemKind::System(_) => vec![],
        }
    }

    /// How long its history stays readable, in milliseconds, where it says so.
    pub fn retain_ms(&self) -> Option<u64> {
        match &self.kind {
            ItemKind::Table(table) => table.retain_ms,
            ItemKind::View(view) => view.retain_ms,
            _ => None,
        }
    }

    /// What it is beside a table, where it is an attribute.
    pub fn attribute(&self) -> Option<&Attribute> {
        match &self.kind {
            ItemKind::Table(table) => table.attribute(),
            _ => None,
        }
    }

    /// The attribute that keeps it, where one does.
    pub fn kept_by(&self) -> Option<GlobalId> {
        match &self.kind {
            ItemKind::Table(table) => table.kept_by(),
            _ => None,
        }
    }

    /// Whether it is the engine's own, which nobody may change.
    pub fn is_system(&self) -> bool {
        self.id < GlobalId::FIRST_USER
    }

    /// What kind of object it is, in words.
    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            ItemKind::Schema => "schema",
            ItemKind::Table(table) if table.attribute().is_some() => "attribute",
            ItemKind::Table(_) | ItemKind::System(_) => "table",
            ItemKind::View(view) if view.materialized => "materialized view",
            ItemKind::View(_) => "view",
            ItemKind::Index(_) => "index",
            ItemKind::Sequence(_) => "sequence",
            ItemKind::Type(_) => "type",
            ItemKind::Constraint(_) => "constraint",
        }
    }

    /// Whether workers hold something for it.
    pub fn is_maintained(&self) -> bool {
        match &self.kind {
            ItemKind::Table(_) | ItemKind::Index(_) => true,
            ItemKind::View(view) => view.materialized,
            _ => false,
        }
    }
}

impl Table {
    /// Whether a column's default is an expression.
    pub fn has_expressions(&self) -> bool {
        let mut defaults = self.defaults.iter().map(|d| ColumnDefault::split(d.as_ref()).1);
        defaults.any(|default| matches!(default, Some(ColumnDefault::Expression(_))))
    }

    /// What it is as an attribute, if it is one.
    pub fn attribute(&self) -> Option<&Attribute> {
        self.defaults.iter().find_map(|d| match ColumnDefault::split(d.as_ref()).1 {
            Some(ColumnDefault::Attribute(attribute)) => Some(attribute),
            _ => None,
        })
    }

    /// The attribute that keeps it, where one does.
    pub fn kept_by(&self) -> Option<GlobalId> {
        self.defaults.iter().find_map(|default| match default {
            Some(ColumnDefault::Kept { by }) => Some(*by),
            _ => None,
        })
    }

    /// The domain of each column, where it is of one.
    pub fn domains(&self) -> impl Iterator<Item = Option<GlobalId>> {
        self.defaults.iter().map(|default| ColumnDefault::split(default.as_ref()).0)
    }

    /// The sequences that its columns own.
    pub fn sequences(&self) -> impl Iterator<Item = GlobalId> {
        self.defaults.iter().filter_map(|default| match ColumnDefault::split(default.as_ref()).1 {
            Some(ColumnDefault::Sequence { id, .. }) => Some(*id),
            _ => None,
        })
    }
}
