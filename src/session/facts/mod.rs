//! The entity store: facts as a session writes them.
//!
//! * `define` — CREATE ATTRIBUTE, and what all attributes share
//! * `change` — the facts of one attribute that come and go, whoever says so
//! * `transact` — transactions: names, lookups, what is said of several attributes at once
//!
//! What is read is read as any table is; see [`crate::catalog::attribute`].

mod change;
mod define;
mod transact;

pub(super) use change::Fact;
