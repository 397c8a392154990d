//! The catalog: which objects there are ([`objects`]) and what each one is ([`item`]).
//!
//! Floor 1: built on representation alone. It holds text, never plans.

pub mod item;
pub mod objects;
