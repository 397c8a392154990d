//! Attributes: the entity store's relations of an entity and a value.
//!
//! An attribute *is* a table with the columns `e` and `v`, so that whatever reads, copies, indexes
//! or subscribes to a table has it. It differs in how it is written: what is put into it are facts,
//! which replace, or are there already. Beside it stand two tables that it keeps, each written in
//! the transaction that writes the attribute: the history of its facts, and, where it is unique,
//! the owner of each value, by whose keys concurrent transactions notice each other.
//!
//! Entities are numbers from one sequence, and so are transactions, which are entities too; both
//! stand in the schema `db`, which the first attribute makes.

use serde::{Deserialize, Serialize};

use crate::repr::GlobalId;

/// The schema of what all attributes share.
pub const SHARED_SCHEMA: &str = "db";
/// The sequence of entities.
pub const ENTITIES: &str = "entity";
/// The attribute that says when a transaction was.
pub const INSTANT: &str = "tx_instant";

/// The number of the first entity that the engine names; those below are for who names them.
pub const FIRST_ENTITY: i64 = 1 << 32;

/// Where the entity stands in an attribute and in its history.
pub const ENTITY: usize = 0;
/// Where the value stands.
pub const VALUE: usize = 1;

/// What an attribute is beside its table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Whether an entity may have several values.
    pub many: bool,
    /// Whether its values are entities.
    pub reference: bool,
    /// The table of its history: entity, value, transaction, and whether the fact came or went.
    pub history: Option<GlobalId>,
    /// The table of the owners of values, where no two entities may have one.
    pub owners: Option<GlobalId>,
}

/// The name of an attribute's history.
pub fn history_name(attribute: &str) -> String {
    format!("{attribute}_history")
}

/// The name of the owners of an attribute's values.
pub fn owners_name(attribute: &str) -> String {
    format!("{attribute}_owner")
}
