//! The workers: timely dataflows that maintain what plans describe.
//!
//! Floor 3. Knows plans, expressions and rows; never SQL, the catalog, the log or sessions.
//! [`command`] is all that crosses to the coordinator.

pub mod command;
