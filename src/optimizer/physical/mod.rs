//! From a relation to operators and arrangements. [`layout`] says how rows lie in arrangements.

pub mod layout;

pub use layout::{index_layout, table_layout, view_layout};
