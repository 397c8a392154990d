//! From a relation to operators and arrangements.
//!
//! [`lower()`] answers a read from an arrangement that exists where it can ([`keys`] finds the
//! part that is read), and otherwise builds a dataflow: one operator after the other in
//! [`build`], joins as [`join`] says in the order that [`join_order`] chose, or along the [`paths`]
//! that [`half_joins`] builds. [`layout`] says how rows lie in arrangements.

pub mod build;
pub mod half_joins;
pub mod join;
pub mod join_order;
pub mod keys;
pub mod layout;
pub mod looped;
pub mod lower;
pub mod paths;

pub use layout::{index_layout, table_layout, view_layout};
pub use lower::{Lowered, Want, lower};
pub use paths::JoinStrategy;
