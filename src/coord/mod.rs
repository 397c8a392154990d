//! The coordinator: it orders what must be ordered, and nothing else.
//!
//! Floor 5. Knows plans, the catalog, the workers' commands and the log; never SQL nor clients.

pub mod clock;
pub mod request;
