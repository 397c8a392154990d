//! Types that users create: what is stored of them, and what they are to values.

use serde::{Deserialize, Serialize};

use crate::catalog::item::{Item, ItemKind};
use crate::repr::user_type::{Label, UserType};
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RecordName, RecordShape, RecordType};
use crate::repr::{RelationDesc, ScalarType};

/// A type that a user created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Type {
    /// The number by which values know it; see [`crate::repr::user_type`].
    pub number: u64,
    /// The oid of the type of its arrays.
    pub array_oid: u32,
    /// What it is.
    pub definition: Definition,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Definition {
    /// `ENUM (…)`: its labels, in order.
    Enum(Vec<Label>),
    /// A domain.
    Domain(Domain),
    /// `AS (…)`: its fields.
    Composite(Vec<ColumnDesc>),
}

/// A domain: another type, and what its values must be. Values are of the other type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// The type that values have, which is no domain.
    pub base: ColumnType,
    /// The domain that it was made of, if it was one.
    pub over: Option<GlobalId>,
    /// Whether NULL is refused.
    pub not_null: bool,
    /// What a column is where no value is given (bound text).
    pub default: Option<String>,
    /// What must not be false.
    pub checks: Vec<Check>,
}

/// A condition of a domain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The condition over the column `value` (bound text).
    pub text: String,
}

impl Type {
    /// The type of its values.
    pub fn scalar(&self) -> ScalarType {
        let named = UserType::numbered(self.number);
        match &self.definition {
            Definition::Enum(_) => ScalarType::Enum(named),
            Definition::Domain(domain) => domain.base.scalar,
            Definition::Composite(fields) => {
                let (name, fields) = (RecordName::User(named), fields.clone());
                ScalarType::Record(RecordType::of(RecordShape { name, fields }))
            }
        }
    }

    /// What it cannot exist without.
    pub(super) fn depends_on(&self) -> Vec<GlobalId> {
        let mut found = vec![];
        match &self.definition {
            Definition::Enum(_) => {}
            Definition::Domain(domain) => {
                collect(domain.base.scalar, &mut found);
                found.extend(domain.over);
            }
            Definition::Composite(fields) => {
                fields.iter().for_each(|field| collect(field.ty.scalar, &mut found));
            }
        }
        found
    }
}

impl Item {
    /// Where it is a type, makes it known to values.
    pub fn register(&self) {
        let ItemKind::Type(ty) = &self.kind else { return };
        let labels = match &ty.definition {
            Definition::Enum(labels) => labels.as_slice(),
            _ => &[],
        };
        UserType::numbered(ty.number).define(self.id.0 as u32, ty.array_oid, &self.name, labels);
    }
}

/// The objects whose types a relation's columns are of.
pub(super) fn types_of(desc: &RelationDesc) -> Vec<GlobalId> {
    let mut found = vec![];
    desc.columns.iter().for_each(|column| collect(column.ty.scalar, &mut found));
    found
}

/// Whether a type is that of an object, or made of it at the first level.
pub fn is_of(scalar: ScalarType, id: GlobalId) -> bool {
    let mut found = vec![];
    collect(scalar, &mut found);
    found.contains(&id)
}

fn collect(scalar: ScalarType, found: &mut Vec<GlobalId>) {
    match scalar.element().unwrap_or(scalar) {
        ScalarType::Enum(ty) => found.push(GlobalId(ty.facts().oid.into())),
        ScalarType::Record(ty) => match ty.name() {
            RecordName::User(ty) => found.push(GlobalId(ty.facts().oid.into())),
            RecordName::Relation(id, _) => found.push(*id),
            RecordName::Anonymous => {
                ty.scalars().iter().for_each(|field| collect(*field, found));
            }
        },
        _ => {}
    }
}
