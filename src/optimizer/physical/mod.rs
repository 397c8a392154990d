//! From a relation to operators and arrangements.
//!
//! [`lower()`] answers a read from an arrangement that exists where it can ([`keys`] finds the
//! part that is read), and otherwise builds a dataflow: one operator after the other in
//! [`build`], joins as [`join`] says in the order that [`join_order`] chose. [`layout`] says how
//! rows lie in arrangements.

pub mod build;
pub mod join;
pub mod join_order;
pub mod keys;
pub mod layout;
pub mod looped;
pub mod lower;

pub use layout::{index_layout, table_layout, view_layout};
pub use lower::{Lowered, Want, lower};
