//! The coordinator: it orders what must be ordered, and nothing else.
//!
//! Floor 5. Knows plans, the catalog, the workers' commands and the log; never SQL nor clients.
//! One task owns all its state and takes one event after the other ([`request`] has what sessions
//! may ask).

pub mod clock;
pub mod request;
