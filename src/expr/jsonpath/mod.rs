//! What a path finds in a document: PostgreSQL's `jsonpath_exec.c`.
//!
//! [`run`] walks a chain step by step, [`methods`] has what ends in parentheses, [`predicate`] what
//! is true, false or unknown, [`value`] what is found. A fault is either raised or, where the
//! caller asked for silence and inside predicates, only says that there was one; what was found
//! before it stays found, as in PostgreSQL.
//!
//! Where only *whether* something is found matters, the walk stops at the first find; in strict
//! mode it goes on, since a fault behind it counts.

mod identity;
mod methods;
mod predicate;
mod run;
mod value;

pub use run::{Query, exists, first, found};
pub use value::Value;
