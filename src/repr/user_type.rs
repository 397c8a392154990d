//! Types that users create, as far as values need them: a handle, and what it stands for now.
//!
//! The catalog says which types there are; this is the process's memory of them, so that a value
//! can be spelled and read without the catalog at hand. A type is known by a number that is drawn
//! when it is created and stored with it, so that the engines of one process never take each
//! other's. What stands behind the number (its name, the labels of an enum) may change; the
//! number, and the keys of an enum's labels, never do, so that what is stored stays right.
//!
//! What is defined is never forgotten, not even where the type is dropped or its transaction rolled
//! back: a few hundred bytes for each change of a type.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, RwLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A type that a user created.
///
/// The order means nothing, and differs from process to process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserType(u32);

/// What `pg_type` says of a type and of its arrays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFacts {
    /// `pg_type.oid`.
    pub oid: u32,
    /// The `pg_type.oid` of its arrays.
    pub array_oid: u32,
    /// `pg_type.typname`.
    pub name: &'static str,
    /// What `format_type` prints.
    pub display: &'static str,
    /// `pg_type.typname` of its arrays.
    pub array_name: &'static str,
    /// What `format_type` prints of its arrays.
    pub array_display: &'static str,
    /// The labels of an enum, in order.
    pub labels: Vec<Label>,
}

impl UserFacts {
    /// Sets the oids, of the type and of its arrays, and all that follows from the name.
    pub(super) fn set(&mut self, (oid, array_oid): (u32, u32), name: &str) {
        (self.oid, self.array_oid) = (oid, array_oid);
        let display = quoted(name);
        self.array_display = format!("{display}[]").leak();
        self.array_name = format!("_{name}").leak();
        self.display = display.leak();
        self.name = name.to_owned().leak();
    }
}

/// A label of an enum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// What stands for it in rows: printable ASCII, in the order of the labels.
    pub key: String,
    /// The label.
    pub label: String,
}

struct Slot {
    number: u64,
    facts: Arc<UserFacts>,
}

#[derive(Default)]
struct Types {
    by_number: HashMap<u64, u32>,
    slots: Vec<Slot>,
}

const UNPOISONED: &str = "nothing panics while it holds the types";

fn types() -> &'static RwLock<Types> {
    static TYPES: OnceLock<RwLock<Types>> = OnceLock::new();
    TYPES.get_or_init(RwLock::default)
}

impl UserType {
    /// The type of a number, defined or not.
    pub fn numbered(number: u64) -> UserType {
        let mut types = types().write().expect(UNPOISONED);
        if let Some(known) = types.by_number.get(&number) {
            return UserType(*known);
        }
        let place = u32::try_from(types.slots.len()).expect("there are not that many types");
        types.slots.push(Slot { number, facts: Arc::default() });
        types.by_number.insert(number, place);
        UserType(place)
    }

    /// The type at a place, as [`UserType::place`] told it.
    pub(super) const fn at(place: u32) -> UserType {
        UserType(place)
    }

    /// Its place among the types of this process.
    pub(super) const fn place(self) -> u32 {
        self.0
    }

    /// The number that it is known by.
    pub fn number(self) -> u64 {
        types().read().expect(UNPOISONED).slots[self.0 as usize].number
    }

    /// Says what it is from now on.
    pub fn define(self, oid: u32, array_oid: u32, name: &str, labels: &[Label]) {
        let known = self.facts();
        let mut facts = UserFacts { oid, array_oid, labels: labels.to_vec(), ..(*known).clone() };
        if known.name != name {
            facts.set((oid, array_oid), name);
        }
        types().write().expect(UNPOISONED).slots[self.0 as usize].facts = Arc::new(facts);
    }

    /// What it is.
    pub fn facts(self) -> Arc<UserFacts> {
        types().read().expect(UNPOISONED).slots[self.0 as usize].facts.clone()
    }
}

/// A name as `format_type` prints it: in quotes where it would be read as another.
fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    match name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

impl Serialize for UserType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.number())
    }
}

impl<'de> Deserialize<'de> for UserType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<UserType, D::Error> {
        u64::deserialize(deserializer).map(UserType::numbered)
    }
}
