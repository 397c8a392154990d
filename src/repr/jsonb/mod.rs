//! Binary JSON: PostgreSQL's `jsonb`.
//!
//! A document lies in one byte string that is read in place: finding a member of an object is a
//! binary search, and an element of an array one step. Numbers are numerics and keep their digits;
//! object members are ordered by the length of their name, then its bytes, as PostgreSQL orders
//! them, and the last of several with one name is kept.

mod build;
mod compare;
mod datum;
#[cfg(test)]
mod oracle;
mod parse;
mod view;
mod write;

pub use build::JsonbBuilder;
pub use datum::{iso_text, plain_text};
pub use parse::check_json;
pub use view::{JsonbArray, JsonbItem, JsonbObject, JsonbRef};
pub use write::write_string;
