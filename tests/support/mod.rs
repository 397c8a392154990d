//! What several test binaries share.
//!
//! * [`wire`] — a client that hides nothing of the protocol
//! * [`weir`] — a server under test, on its own data and port
//! * [`postgres`] — the oracle, likewise

#![allow(dead_code)] // Each test binary uses a part.

pub mod postgres;
pub mod weir;
pub mod wire;
