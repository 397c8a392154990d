//! Weir: a reactive database in one process. Clients speak the PostgreSQL protocol, every write
//! goes through one transaction log, every query is a differential dataflow, and whoever has
//! subscribed to an answer is told when it changes.
//!
//! One sentence decides arguments: *the content of a view at time `t` equals its query evaluated,
//! as PostgreSQL would, on the tables as of `t`, with `now()` = `t`.*
//!
//! # The life of a statement
//!
//! ```text
//! wire frame → server → session → parse, bind (sql) → plan::Relation → optimizer → physical plan
//!   → coord (picks a time, holds history) → dataflow::Command → render → arrangement
//!   → peek or subscription → dataflow::Response → coord → session → wire frame
//! ```
//!
//! A write is computed from a snapshot by the session, given its time by the coordinator, applied
//! to the workers at once and appended to the log; nothing that depends on it leaves the server
//! before the log is durable through its time.
//!
//! # Floors
//!
//! A module imports only from floors below its own; a test (`tests/tidy.rs`) reads the sources.
//!
//! | floor | module | never knows |
//! |---|---|---|
//! | 8 | [`config`], [`commands`] | – |
//! | 7 | [`server`]: the protocol | what SQL text means, plans |
//! | 6 | [`session`]: one client's state, statements from text to answer | sockets, timely |
//! | 5 | [`coord`]: times, commits, reads, subscriptions | SQL, clients |
//! | 3 | [`sql`]: text to plans | dataflows, sessions |
//! | 3 | [`optimizer`]: plans to cheaper plans to operators | front ends, names |
//! | 3 | [`dataflow`]: the workers | SQL, the catalog, the log |
//! | 3 | [`storage`]: the log, checkpoints, recovery | plans, dataflows |
//! | 2 | [`plan`]: what is to be computed | the catalog, timely |
//! | 1 | [`expr`]: scalar expressions, [`catalog`]: objects, [`profile`]: events | each other |
//! | 0 | [`repr`]: datums, rows, types, [`error`] | everything |
#![warn(missing_docs)]

pub mod catalog;
pub mod commands;
pub mod config;
pub mod coord;
pub mod dataflow;
pub mod error;
pub mod expr;
pub mod optimizer;
pub mod plan;
pub mod profile;
pub mod repr;
pub mod server;
pub mod session;
pub mod sql;

pub mod storage;
