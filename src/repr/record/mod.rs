//! Rows as values: the fields' names and types, which are part of the type, and the values.
//!
//! A record's bytes are the value encoding of its fields, read with the types that its
//! [`RecordType`] says; a [`Datum::Record`](crate::repr::Datum::Record) carries it beside the
//! bytes. So records with other names for their fields are of another type, though their bytes are
//! the same.

mod binary;
mod text;
mod types;
mod view;

pub(super) use binary::{format_binary, parse_binary};
pub(super) use text::{format_text, parse_text};
pub use types::{RecordName, RecordShape, RecordType, row_type_oids};
pub use view::RecordRef;
