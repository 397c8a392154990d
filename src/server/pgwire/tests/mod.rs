//! The protocol on real sockets, in raw frames, against a session that does what a test wants.

mod abuse;
mod ending;
mod extended;
mod harness;
mod mock;
mod simple;
