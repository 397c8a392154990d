//! Weir: a PostgreSQL-wire-compatible reactive database.
#![warn(missing_docs)]

pub mod catalog;
pub mod commands;
pub mod config;
pub mod coord;
pub mod dataflow;
pub mod error;
pub mod expr;
pub mod optimizer;
pub mod plan;
pub mod repr;
pub mod server;
pub mod session;
pub mod sql;

pub mod storage;
