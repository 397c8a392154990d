//! The catalog: which objects there are ([`objects`]), what each one is ([`item`], [`types`],
//! [`attribute`]), and those that tell about all others ([`system`]).
//!
//! Floor 1: built on representation alone. It holds text, never plans.

pub mod attribute;
pub mod item;
pub mod objects;
pub mod system;
pub mod types;
