//! Sessions: what one client has open, and the pipeline from its text to its answer.
//!
//! Floor 6. Knows SQL's front end, the optimizer and the coordinator; never sockets nor timely.
//!
//! * [`frontend`] — the client as the session talks to it
//! * [`variables`] — settings

pub mod frontend;
pub mod variables;
