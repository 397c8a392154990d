//! Syntax trees to plans.
//!
//! `entry` is the door. A `context::Binder` lives for one statement; `query`, `select`, `from`,
//! `join` (with `late`), `table_function`, `aggregate`, `window`, `window_spec` and `sets` bind
//! relations, `expr` and its neighbours bind scalars in a `scope::Scope` (`array` the arrays),
//! `coerce` and `resolve` settle types as PostgreSQL's rules have it. `write`, `create`,
//! `create_view`, `copy` and `control` bind the other statements; `text` is how a view is stored.

pub(in crate::sql) mod aggregate;
mod alter_table;
pub(in crate::sql) mod apply;
mod arguments;
mod array;
mod array_query;
mod asof;
mod call;
mod clock;
pub(in crate::sql) mod coerce;
pub(in crate::sql) mod comparable;
pub mod constraint;
pub mod context;
mod control;
mod copy;
mod create;
mod create_view;
mod decorrelate;
mod domain;
pub(in crate::sql) mod entry;
pub(in crate::sql) mod expr;
mod facts_in_time;
pub(in crate::sql) mod figure;
pub(in crate::sql) mod from;
mod grouping;
mod grouping_sets;
mod join;
mod json_records;
mod late;
mod literal;
mod merge;
mod mutual;
pub(in crate::sql) mod name;
mod operator;
mod order;
mod outer;
mod output;
pub(in crate::sql) mod query;
mod record;
mod recursive;
mod recursive_order;
mod reference;
mod reg;
pub(in crate::sql) mod relation;
mod resolve;
pub(in crate::sql) mod scope;
mod search_cycle;
mod select;
mod sequence;
mod session_relation;
pub(in crate::sql) mod setop;
mod sets;
mod special;
mod sql_function;
mod subquery;
mod table_function;
mod text;
mod time_windows;
mod types;
mod update;
pub mod user_type;
mod values;
mod view;
mod window;
mod window_spec;
mod write;
mod writes;

#[cfg(test)]
mod tests;

pub use context::BindContext;
pub use entry::{bind, bind_domain, bind_scalar_text, bind_view_text};
