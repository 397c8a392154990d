//! The PostgreSQL protocol, versions 3.0 and 3.2, on the message types of the crate `pgwire`.
//!
//! The connection loop is our own, and so are the decoders: the crate's handlers do not stream, do
//! not notice a vanished client and collect all of an answer first; its decoders panic on bodies
//! that end early and replace what is not UTF-8. Its message structs and encoders are used.
//!
//! Life of a connection:
//!
//! ```text
//! startup ──▶ connection (one task): takes requests, calls the session, reports its errors
//!                ▲ bounded channel               │ Frontend
//!             reader (one task): decodes         ▼
//!             frames, notices the end         client: buffered messages, flow control, COPY data
//! ```
//!
//! * [`backend`] — what a connection asks of the layer below: sessions
//! * [`startup`] — from the first byte to the startup packet
//! * [`decode`] — bytes to requests, without trust
//! * [`encode`] — answers to bytes
//! * [`reader`] — the task that listens
//! * [`client`] — the session's [`Frontend`](crate::session::frontend::Frontend)
//! * [`connection`] — the loop

pub mod backend;
pub mod client;
pub mod connection;
pub mod decode;
pub mod encode;
pub mod reader;
pub mod startup;

#[cfg(test)]
mod tests;
