//! The rows of the system relations, where they follow from the catalog or from the engine's own
//! tables. [`crate::catalog::system`] tells how to add a relation.
//!
//! * [`feeds`] — which relation has its rows from where; what a DDL commit changes
//! * [`rows`] — a row from the names of its columns
//! * `objects`, `definitions`, `types`, `functions`, `server` — the rows, by subject
//! * [`names`] — identifiers as definitions spell them
//!
//! Rows that follow from objects are computed from all of them at each definition, and compared
//! with those before: no rule about what else an object's definition may touch can be forgotten.

mod definitions;
pub(super) mod feeds;
mod functions;
pub(in crate::session) mod names;
mod objects;
pub(super) mod rows;
mod server;
mod types;
mod user_types;
