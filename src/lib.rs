//! Weir: a PostgreSQL-wire-compatible reactive database.
#![warn(missing_docs)]

pub mod error;
pub mod repr;
