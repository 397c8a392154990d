//! The objects of one moment, by id and by name.
//!
//! A [`Catalog`] is a value: a change makes another one, and whoever holds the old one (a running
//! statement, an open transaction) goes on reading it. It is small beside the data, so a change
//! copies the maps but shares the items.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::catalog::item::{Constraint, Item, ItemKind, Rule};
use crate::catalog::system::declared;
use crate::catalog::types::{Definition, Domain, Type};
use crate::error::{Error, Result, SqlState};
use crate::repr::{GlobalId, ScalarType};

/// Schemas that are always there and that no one may write to.
pub const SYSTEM_SCHEMAS: [&str; 3] = ["pg_catalog", "weir_catalog", "information_schema"];

/// The objects of one moment.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// How many changes made it.
    version: u64,
    items: BTreeMap<GlobalId, Arc<Item>>,
    /// Schema, then name. Schemas themselves are under the empty schema.
    names: BTreeMap<(String, String), GlobalId>,
    /// The constraints of each table.
    constraints: BTreeSet<(GlobalId, GlobalId)>,
    /// The foreign keys that name each table.
    references: BTreeSet<(GlobalId, GlobalId)>,
}

/// A change of one object: its new form, or none where it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which object.
    pub id: GlobalId,
    /// What it becomes.
    pub item: Option<Arc<Item>>,
}

impl Catalog {
    /// How many changes made it; equal versions of one server are equal catalogs.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The object of that id.
    pub fn get(&self, id: GlobalId) -> Option<&Arc<Item>> {
        self.items.get(&id).or_else(|| declared::get(id))
    }

    /// The object of that id, which the caller knows to be there.
    pub fn expect(&self, id: GlobalId) -> Result<&Arc<Item>> {
        self.get(id).ok_or_else(|| Error::internal(format!("no object {id} in the catalog")))
    }

    /// All objects that users have made, by id.
    pub fn items(&self) -> impl Iterator<Item = &Arc<Item>> {
        self.items.values()
    }

    /// The object of that name in that schema.
    pub fn by_name(&self, schema: &str, name: &str) -> Option<&Arc<Item>> {
        if SYSTEM_SCHEMAS.contains(&schema) {
            return declared::by_name(schema, name);
        }
        let id = self.names.get(&(schema.to_owned(), name.to_owned()))?;
        self.items.get(id)
    }

    /// The first object of that name in the schemas of `path`.
    pub fn resolve(&self, path: &[String], name: &str) -> Option<&Arc<Item>> {
        path.iter().find_map(|schema| self.by_name(schema, name))
    }

    /// The type of that name in that schema.
    pub fn type_by_name(&self, schema: &str, name: &str) -> Option<&Arc<Item>> {
        self.by_name(schema, &type_key(name))
    }

    /// The type that an oid is of, or is the type of arrays of.
    pub fn type_by_oid(&self, oid: u32) -> Option<ScalarType> {
        self.items.values().find_map(|item| match &item.kind {
            ItemKind::Type(ty) if item.id.0 == u64::from(oid) => Some(ty.scalar()),
            ItemKind::Type(ty) if ty.array_oid == oid => ty.scalar().array(),
            _ => None,
        })
    }

    /// The domain of that id, and those that it was made of.
    pub fn domains(&self, id: GlobalId) -> impl Iterator<Item = (&Arc<Item>, &Domain)> {
        let find = |id: GlobalId| {
            let item = self.get(id)?;
            match &item.kind {
                ItemKind::Type(Type { definition: Definition::Domain(domain), .. }) => {
                    Some((item, domain))
                }
                _ => None,
            }
        };
        std::iter::successors(find(id), move |(_, domain)| find(domain.over?))
    }

    /// What a column of a domain is where no value is given (bound text).
    pub fn domain_default(&self, id: GlobalId) -> Option<String> {
        self.domains(id).find_map(|(_, domain)| domain.default.clone())
    }

    /// Whether there is a schema of that name.
    pub fn has_schema(&self, name: &str) -> bool {
        SYSTEM_SCHEMAS.contains(&name) || self.by_name("", name).is_some()
    }

    /// The objects that cannot exist without `id`, directly.
    pub fn dependents(&self, id: GlobalId) -> impl Iterator<Item = &Arc<Item>> {
        let in_schema = self
            .get(id)
            .filter(|item| matches!(item.kind, ItemKind::Schema))
            .map(|item| item.name.clone());
        self.items.values().filter(move |other| {
            let named = in_schema.as_ref().is_some_and(|s| other.id != id && other.schema == *s);
            named || other.depends_on().contains(&id)
        })
    }

    /// The constraints of a table, in the order in which they were made.
    pub fn constraints(&self, table: GlobalId) -> impl Iterator<Item = (&Arc<Item>, &Constraint)> {
        let of_table = self.constraints.range((table, GlobalId(0))..=(table, GlobalId(u64::MAX)));
        of_table.filter_map(|(_, id)| {
            let item = self.items.get(id)?;
            match &item.kind {
                ItemKind::Constraint(constraint) => Some((item, constraint)),
                _ => None,
            }
        })
    }

    /// The foreign keys that name rows of a table.
    pub fn references(&self, table: GlobalId) -> impl Iterator<Item = &Arc<Item>> {
        let of_table = self.references.range((table, GlobalId(0))..=(table, GlobalId(u64::MAX)));
        of_table.filter_map(|(_, id)| self.items.get(id))
    }

    /// The constraint that makes an index unique.
    pub fn unique_by(&self, index: GlobalId) -> Option<(&Arc<Item>, bool)> {
        let on = match &self.get(index)?.kind {
            ItemKind::Index(index) => index.on,
            _ => return None,
        };
        self.constraints(on).find_map(|(item, constraint)| match constraint.rule {
            Rule::Unique { index: of, declared } if of == index => Some((item, declared)),
            _ => None,
        })
    }

    /// This catalog with the changes applied, in order.
    ///
    /// Errors: 42P07 and its kin where a name is taken (the message is PostgreSQL's).
    pub fn with(&self, changes: &[Change]) -> Result<Catalog> {
        let mut next = self.clone();
        next.version += 1;
        for change in changes {
            if let Some(old) = next.items.remove(&change.id) {
                next.names.remove(&name_of(&old));
                if let ItemKind::Constraint(constraint) = &old.kind {
                    next.constraints.remove(&(constraint.on, old.id));
                    if let Rule::Reference(reference) = &constraint.rule {
                        next.references.remove(&(reference.parent, old.id));
                    }
                }
            }
            let Some(item) = &change.item else { continue };
            let name = name_of(item);
            if next.names.contains_key(&name) {
                return Err(taken(item));
            }
            next.names.insert(name, item.id);
            if let ItemKind::Constraint(constraint) = &item.kind {
                next.constraints.insert((constraint.on, item.id));
                if let Rule::Reference(reference) = &constraint.rule {
                    next.references.insert((reference.parent, item.id));
                }
            }
            next.items.insert(item.id, item.clone());
        }
        Ok(next)
    }
}

fn name_of(item: &Item) -> (String, String) {
    match item.kind {
        ItemKind::Schema => (String::new(), item.name.clone()),
        ItemKind::Type(_) => (item.schema.clone(), type_key(&item.name)),
        // Each table has names of its own for its constraints.
        ItemKind::Constraint(Constraint { on, .. }) => {
            (item.schema.clone(), format!("\0{on}\0{}", item.name))
        }
        _ => (item.schema.clone(), item.name.clone()),
    }
}

/// Types have names of their own, which no other object has.
fn type_key(name: &str) -> String {
    format!("\0{name}")
}

/// The error of a name that is taken.
pub fn taken(item: &Item) -> Error {
    match item.kind {
        ItemKind::Schema => Error::new(
            SqlState::DUPLICATE_SCHEMA,
            format!("schema \"{}\" already exists", item.name),
        ),
        ItemKind::Type(_) => {
            Error::new(SqlState::DUPLICATE_OBJECT, format!("type \"{}\" already exists", item.name))
        }
        ItemKind::Constraint(_) => Error::new(
            SqlState::DUPLICATE_OBJECT,
            format!("constraint \"{}\" already exists", item.name),
        ),
        _ => Error::new(
            SqlState::DUPLICATE_TABLE,
            format!("relation \"{}\" already exists", item.name),
        ),
    }
}
