//! The coordinator: it orders what must be ordered, and nothing else.
//!
//! Floor 5. Knows plans, the catalog, the workers' commands and the log; never SQL nor clients.
//! One task owns all its state and takes one event after the other.
//!
//! * [`request`] — what sessions may ask, and the handles that they get
//! * [`opening`] — from a data directory to a running coordinator
//! * [`coordinator`] — the task: its state, its loop
//! * `commits`, `reads`, `subscriptions`, `sequences` — what it does, by kind of request
//! * `settings` — what ALTER SYSTEM keeps
//! * `observations` — what dataflows cost
//! * `system` — the relations that the engine feeds about itself
//! * `gate` — what may leave the server; `objects` — who reads whom; `clock` — times
//! * `log_writer` — the thread that makes commits durable

mod clock;
mod commits;
pub mod coordinator;
mod gate;
mod log_writer;
mod objects;
mod observations;
pub mod opening;
mod reads;
pub mod request;
mod sequences;
mod settings;
mod shared;
mod subscriptions;
mod system;
