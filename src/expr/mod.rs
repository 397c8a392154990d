//! Expressions over one row, the functions and casts that they use, aggregates.
//!
//! Floor 1: built on representation alone. Functions, operators and casts are const tables by
//! family under [`functions`]; [`func`] and [`cast`] say what an entry is.

pub mod aggregate;
pub mod cast;
pub mod coefficients;
pub mod display;
pub mod equality;
pub mod error;
pub mod eval;
pub mod fold;
pub mod func;
pub mod functions;
pub mod jsonpath;
pub mod mfp;
pub mod number_template;
pub mod polymorphic;
pub mod scalar;
pub mod spread;
pub mod table;
pub mod temporal;
pub mod window;

#[cfg(test)]
mod tests;
