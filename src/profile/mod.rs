//! What engines tell about themselves: one model of events, and what is made of them.
//!
//! Floor 1. Knows rows and times; not which engine speaks. An adapter turns an engine's own log
//! into [`event::Event`]s (ours: `dataflow::logging`), and everything here reads those.
//!
//! * [`event`] — operators, channels, activations, messages, arrangements
//! * [`tally`] — events added up by operator and by channel, as they come
//! * [`report`] — what of that has changed

pub mod event;
pub mod report;
pub mod tally;
