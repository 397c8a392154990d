//! Window functions: what a call is, and its values over the rows of a partition.
//!
//! A partition is sorted by whoever keeps it; [`partition`] is then a pure function of its rows, so
//! that dataflows and the tests' evaluators compute windows by the same words. [`frame`] says
//! which rows a frame has, [`in_range`] how far a value is from another, [`aggregate`] what
//! aggregates make of the rows of frames, one after the other. [`reach`] says how far a change
//! matters, and [`running`] what the rows before come to, so that a dataflow computes less than the
//! whole partition.

pub mod aggregate;
pub mod call;
pub mod frame;
pub mod in_range;
pub mod partition;
pub mod reach;
pub mod running;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;
