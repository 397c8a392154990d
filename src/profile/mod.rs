//! What engines tell about themselves: one model of events, and what is made of them.
//!
//! Floor 1. Knows rows and times; not which engine speaks. An adapter turns an engine's own log
//! into [`event::Event`]s (ours: `dataflow::logging`), and everything here reads those.
//!
//! * [`event`] — operators, channels, activations, messages, arrangements
//! * [`trace`] — the byte form of events: files, and what workers hand over
//! * [`tally`] — events added up by operator and by channel, as they come
//! * [`memory`] — how much of it is allocated
//! * [`numbered`] — a map for things that are numbered as they come
//! * [`report`] — what of that has changed
//! * `track` — what a worker does from moment to moment, as its events come
//! * [`stream`] — snapshots of that, one after the other
//! * [`graph`] — the activities of a snapshot
//! * [`participation`] — how much each of them is part of the critical paths
//! * [`pattern`] — what leads up to waits
//! * [`invariant`] — what has to hold, and where it does not
//! * [`names`] — what operators are called

pub mod event;
pub mod graph;
pub mod invariant;
pub mod memory;
pub mod names;
pub mod numbered;
pub mod participation;
pub mod pattern;
pub mod report;
pub mod stream;
pub mod tally;
pub mod trace;
mod track;
