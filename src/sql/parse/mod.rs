//! Text to syntax trees.
//!
//! `statements` splits a string into statements and hands each to the front end that knows it:
//! ours (`front`, `explain`, `analyze`, `session`, `subscribe`, `retain`, `types`,
//! `facts`) for what is
//! Weir's own or what `sqlparser` lacks, `sqlparser` for the rest, once `rewrite`, `frames`,
//! `grouping` and their like have spelled what it lacks within a query. `position` maps places in
//! the token stream to the characters of the string.

pub(in crate::sql) mod analyze;
pub(in crate::sql) mod asof;
pub mod ast;
pub(in crate::sql) mod between;
pub(in crate::sql) mod cursor;
mod explain;
pub mod facts;
pub(in crate::sql) mod fault;
pub(in crate::sql) mod frames;
mod front;
pub(in crate::sql) mod grouping;
pub mod limits;
pub(in crate::sql) mod mutual;
pub(in crate::sql) mod position;
mod retain;
pub(in crate::sql) mod rewrite;
pub(in crate::sql) mod search;
mod session;
mod statements;
mod subscribe;
pub(in crate::sql) mod tokens;
mod trace_source;
mod types;

pub use statements::{ParsedStatement, parse};
