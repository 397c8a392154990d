//! The engine observes itself: what workers and coordinator tell, as rows of the `weir_` relations.
//!
//! * [`feeder`] — the task that asks, and how often
//! * [`activity`] — what sessions say of themselves
//! * [`tracer`] — the task that has events recorded, while somebody wants them
//! * `profiler`, `snapshots` — what becomes of events: activities, and who is critical
//! * [`profiling`] — the settings of that
//! * `content` — the rows of a relation as they are now, and what has changed in them
//! * `operators` — the rows that workers report
//! * `server`, `sessions` — the rows of all else
//!
//! The relations are fed once in an interval, all at one time, with what has changed; a reader sees
//! the newest of them and never waits. What feeding costs is in them as well, since their own
//! dataflows run like any other: an idle server tells of a few rows in each interval, whose number
//! does not grow. Where asking takes long, the pause becomes longer, so that looking never takes
//! more than a twentieth of the time.

pub(super) mod activity;
mod content;
pub mod feeder;
mod operators;
mod profiler;
pub(super) mod profiling;
mod server;
mod sessions;
pub(super) mod snapshots;
pub mod tracer;
