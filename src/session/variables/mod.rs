//! The settings of a session: what SET changes, SHOW answers and transactions undo.
//!
//! * [`table`] — every setting there is: `settings.tsv`, read once
//! * [`value`] — texts to values, and back, with PostgreSQL's units and refusals
//! * [`state`] — what one session has set, and how COMMIT, ROLLBACK and savepoints change it
//! * [`startup`] — what a client asks for at its start
//!
//! A setting is here if a client may set or read it and the answer is true: those that would
//! change results which Weir does not change refuse all but their default with 0A000.

pub mod startup;
pub mod state;
pub mod table;
pub mod value;

pub use state::Variables;
