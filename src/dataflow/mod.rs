//! The workers: timely dataflows that maintain what plans describe.
//!
//! Floor 3. Knows plans, expressions and rows; never SQL, the catalog, the log or sessions.
//! [`command`] is all that crosses to the coordinator.
//!
//! Rows enter through an [`input`] for each table, are indexed in [`arrangement`]s, are brought
//! into other dataflows by an [`import`], read by a [`scan`], a [`join`] or a [`half_join`], and
//! leave by a [`peek`] or a [`subscribe`] sink; [`observe`] tells what all that costs. A worker
//! never fails: a fault of a row is a row of the error side.
//!
//! Time is [`crate::repr::Timestamp`], totally ordered; only arrangements and joins are written
//! for any time, so that iteration can use them.

pub mod arrangement;
mod blocked;
pub mod built;
pub mod channel;
pub mod command;
pub mod emit;
mod executor;
pub mod follow;
pub mod half_join;
pub mod import;
pub mod input;
pub mod join;
mod join_operator;
mod logging;
pub mod observe;
pub mod operator;
pub mod peek;
pub mod pressure;
mod readers;
mod recording;
mod reduce_operator;
pub mod render;
mod replay;
mod report;
pub mod scan;
pub mod subscribe;
mod timing;
pub mod traces;
pub mod worker;

#[cfg(test)]
mod testing;
