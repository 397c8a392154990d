//! Sessions: what one client has open, and the pipeline from its text to its answer.
//!
//! Floor 6. Knows SQL's front end, the optimizer and the coordinator; never sockets nor timely.
//!
//! * [`frontend`] — the client as the session talks to it
//! * [`session`] — one client's session: the pipeline of a statement
//! * `execute` — each kind of statement; `read`, `write`, `define`, `watch`, `copy_data`,
//!   `control`, `explain`, `analyze`, `why`, `why_not` — how
//! * `sequences` — calls of nextval and its kin, which only a session can evaluate
//! * `prepared`, `portals`, `parameters` — the extended protocol, PREPARE, cursors
//! * `transaction`, `overlay` — what an open transaction has done, and how it sees that itself
//! * `rules` — rules in Datalog that are statements; `facts` — the entity store
//! * [`variables`], `system_settings`, [`copy`] — settings, and the formats of COPY
//! * `reg_names` — the text of oids that name something
//! * `system` — the rows of the system relations
//! * [`introspection`] — the relations in which the engine tells about itself
//! * `trace_source` — a trace file as relations
//! * [`engine`], [`boot`] — what all sessions share, and how a server starts

mod alter_table;
mod analyze;
mod binding;
pub mod boot;
mod constraints;
mod control;
pub mod copy;
mod copy_data;
mod define;
pub mod engine;
mod execute;
mod explain;
mod facts;
pub mod frontend;
pub mod introspection;
mod layout;
mod merge;
mod overlay;
mod parameters;
mod portals;
mod prepared;
mod read;
mod references;
mod reg_names;
mod rows;
mod rules;
mod sequences;
#[allow(clippy::module_inception)] // The file holds the type that the module is about.
pub mod session;
mod system;
mod system_settings;
mod trace_source;
mod transaction;
mod types;
mod upsert;
pub mod variables;
mod watch;
mod why;
mod why_not;
mod write;
