//! The oids of what is no object of ours, and of objects.
//!
//! The oid of an object is its id. A primary key is no object, but PostgreSQL has an index for it,
//! which clients look for: such things have numbers from 2³¹ on, made from the table's.

use crate::catalog::objects::Catalog;
use crate::repr::GlobalId;

/// The schema `pg_catalog`.
pub const PG_CATALOG: u32 = 11;
/// The schema `information_schema`.
pub const INFORMATION_SCHEMA: u32 = 13_000;
/// The schema `weir_catalog`.
pub const WEIR_CATALOG: u32 = 14_999;
/// The role that owns everything: whoever is connected.
pub const OWNER: u32 = 10;
/// The only database, under whatever name.
pub const DATABASE: u32 = 5;

/// Where the numbers begin of what is not an object of ours.
const DERIVED: u32 = 1 << 31;
/// More than a table has columns.
const COLUMNS_MAX: u32 = 2048;

/// An object's oid.
pub fn oid(id: GlobalId) -> u32 {
    id.0 as u32
}

/// The oid of a table's primary key, as index and as constraint.
pub fn key_oid(table: GlobalId) -> u32 {
    DERIVED | oid(table)
}

/// The table whose primary key has an oid.
pub fn table_of_key(key: u32) -> Option<GlobalId> {
    (key & DERIVED != 0).then_some(GlobalId((key & !DERIVED).into()))
}

/// The oid of a column's default, or of another part of an object.
pub fn part_oid(id: GlobalId, part: usize) -> u32 {
    DERIVED | (oid(id).wrapping_mul(COLUMNS_MAX) + part as u32)
}

/// The oid of a schema.
pub fn schema_oid(catalog: &Catalog, schema: &str) -> Option<u32> {
    match schema {
        "pg_catalog" => Some(PG_CATALOG),
        "information_schema" => Some(INFORMATION_SCHEMA),
        "weir_catalog" => Some(WEIR_CATALOG),
        other => catalog.by_name("", other).map(|item| oid(item.id)),
    }
}
