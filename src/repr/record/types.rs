//! The types of records, each kept once for ever.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::repr::user_type::{UserFacts, UserType};
use crate::repr::{ColumnDesc, GlobalId, ScalarType};

/// The type of a record: equal where the shapes are.
///
/// The order means nothing, and differs from process to process. Shapes are never forgotten: a
/// statement that writes a row of names and types that were never seen leaves a few hundred bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordType(u32);

/// Whose rows they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RecordName {
    /// Nobody's: `ROW(…)`, and what a subquery returns.
    Anonymous,
    /// A table's or view's, which has a name.
    Relation(GlobalId, String),
    /// Those of a type that a user created.
    User(UserType),
}

/// What a record has.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordShape {
    /// Whose rows they are.
    pub name: RecordName,
    /// The fields; each may be NULL.
    pub fields: Vec<ColumnDesc>,
}

struct Known {
    shape: RecordShape,
    scalars: Vec<ScalarType>,
    facts: UserFacts,
}

#[derive(Default)]
struct Types {
    by_shape: HashMap<&'static RecordShape, u32>,
    known: Vec<&'static Known>,
}

const UNPOISONED: &str = "nothing panics while it holds the types of records";

fn types() -> &'static RwLock<Types> {
    static TYPES: OnceLock<RwLock<Types>> = OnceLock::new();
    TYPES.get_or_init(RwLock::default)
}

/// PostgreSQL's oids of `record` and `record[]`.
const ANONYMOUS: (u32, u32) = (2249, 2287);

/// The oids of the type of a relation's rows and of that of arrays of them: the relation's own with
/// bits above those of all objects.
pub fn row_type_oids(relation: GlobalId) -> (u32, u32) {
    let oid = relation.0 as u32;
    (oid | 1 << 30, oid | 3 << 29)
}

impl RecordType {
    /// The type of a shape.
    pub fn of(mut shape: RecordShape) -> RecordType {
        shape.fields.iter_mut().for_each(|field| field.ty.nullable = true);
        let mut types = types().write().expect(UNPOISONED);
        if let Some(place) = types.by_shape.get(&shape) {
            return RecordType(*place);
        }
        let place = u32::try_from(types.known.len()).expect("there are not that many types");
        let scalars = shape.fields.iter().map(|field| field.ty.scalar).collect();
        let mut facts = UserFacts::default();
        match &shape.name {
            RecordName::Anonymous => facts.set(ANONYMOUS, "record"),
            RecordName::Relation(id, name) => facts.set(row_type_oids(*id), name),
            RecordName::User(_) => {}
        }
        let known: &'static Known = Box::leak(Box::new(Known { shape, scalars, facts }));
        types.known.push(known);
        types.by_shape.insert(&known.shape, place);
        RecordType(place)
    }

    /// The type at a place, as [`RecordType::place`] told it.
    pub(in crate::repr) const fn at(place: u32) -> RecordType {
        RecordType(place)
    }

    /// Its place among the types of this process.
    pub(in crate::repr) const fn place(self) -> u32 {
        self.0
    }

    fn known(self) -> &'static Known {
        types().read().expect(UNPOISONED).known[self.0 as usize]
    }

    /// What such a record has.
    pub fn shape(self) -> &'static RecordShape {
        &self.known().shape
    }

    /// The fields.
    pub fn fields(self) -> &'static [ColumnDesc] {
        &self.known().shape.fields
    }

    /// The types of the fields.
    pub fn scalars(self) -> &'static [ScalarType] {
        &self.known().scalars
    }

    /// Whose rows they are.
    pub fn name(self) -> &'static RecordName {
        &self.known().shape.name
    }

    /// Whether they are nobody's.
    pub fn is_anonymous(self) -> bool {
        *self.name() == RecordName::Anonymous
    }

    /// What `pg_type` says of it.
    pub fn facts(self) -> UserFacts {
        match self.name() {
            RecordName::User(ty) => (*ty.facts()).clone(),
            _ => self.known().facts.clone(),
        }
    }

    /// Whether something holds for the types of all fields.
    pub fn every(self, holds: impl Fn(ScalarType) -> bool) -> bool {
        self.scalars().iter().all(|ty| holds(*ty))
    }
}

impl Serialize for RecordType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shape().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RecordType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RecordType, D::Error> {
        RecordShape::deserialize(deserializer).map(RecordType::of)
    }
}
