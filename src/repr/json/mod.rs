//! Textual JSON: PostgreSQL's `json`, which keeps what was written.
//!
//! A value is its text, checked once when it is read; white space, the order of members and those
//! that repeat stay. What is taken out of it is a slice of it. There is no equality.

mod view;
mod write;

pub use view::{JsonKind, JsonText};
pub use write::{format_array, format_record, push_json, push_json_name};
