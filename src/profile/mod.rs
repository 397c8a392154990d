//! What engines tell about themselves: one model of events, and what is made of them.
//!
//! Floor 1. Knows rows and times; not which engine speaks. An adapter turns an engine's own log
//! into [`event::Event`]s (ours: `dataflow::logging`), and everything here reads those.
//!
//! * [`event`] — operators, channels, activations, messages, arrangements
//! * [`tally`] — events added up by operator and by channel, as they come
//! * [`numbered`] — a map for things that are numbered as they come
//! * [`report`] — what of that has changed
//! * [`graph`] — what each worker did from moment to moment, and what it waited for
//! * [`participation`] — how much each activity is part of the critical paths

pub mod event;
pub mod graph;
pub mod numbered;
pub mod participation;
pub mod report;
pub mod tally;
