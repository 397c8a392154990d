//! The door: sockets, and the protocols that are spoken on them.
//!
//! Floor 7. Knows sessions and values; never what a statement's text means.
//!
//! * [`listener`] — connections are accepted, counted, and told to end
//! * [`registry`] — who is connected, and who may cancel whom
//! * [`pgwire`] — the PostgreSQL protocol

pub mod listener;
pub mod pgwire;
pub mod registry;
