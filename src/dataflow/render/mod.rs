//! From a physical plan to a running dataflow: one operator a file, one walk over the plan.
//!
//! [`mod@build`] is the walk. Rows are read, filtered and shaped by closures ([`reader`], [`mfp`],
//! [`rows`]) inside few operators that are compiled once: a scan, a join, a [`transform`], and the
//! frame of all that answers per key ([`group`], and over sorted groups [`window`]). Aggregates
//! that can be added up live in the difference ([`accum`]).
//!
//! Errors are rows beside the rows: whatever fails on a row puts the error where the row would
//! have gone, with the row's time and count. They are united, never negated.

pub mod accum;
pub mod accumulate;
pub mod blocks;
pub mod build;
pub mod collate;
pub mod collected;
pub mod constant;
pub mod extreme;
pub mod flat_map;
pub mod group;
pub mod iterate;
pub mod lookup;
pub mod mfp;
pub mod moving;
pub mod negate;
pub mod order;
pub mod partition;
pub mod read_back;
mod reader;
pub mod reduce;
pub mod regroup;
pub mod rows;
pub mod sink;
pub mod temporal;
#[cfg(test)]
mod tests;
mod threshold;
pub mod topk;
pub mod transform;
pub mod union;
pub mod window;

pub use build::{RENDERING, build};
