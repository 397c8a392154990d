//! The front ends: text to syntax (`parse`), syntax to plans (`bind`); and rules (`datalog`), which
//! share the binder's scalars and names.
//!
//! Floor 3: built on plans, expressions, the catalog and representation. It knows no dataflow, no
//! session. `sqlparser` is used here and nowhere else.
//!
//! Syntax trees may be deep: parsing them and dropping them happens on a stack made for it
//! (`stack`), binding them on one that grows.

pub mod bind;
pub mod datalog;
pub mod parse;
mod stack;

pub use datalog::session::SessionRules;

pub use bind::{BindContext, bind, bind_domain, bind_scalar_text, bind_view_text};
pub use parse::{ParsedStatement, parse};
