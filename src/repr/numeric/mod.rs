//! Arbitrary-precision decimal numbers: PostgreSQL's `numeric`.
//!
//! A finite numeric is an integer and a display scale: the number of digits behind the point, which
//! are kept and printed even where they are zeros. Integers that fit 128 bits are kept in an
//! `i128`, so that ordinary money and sums never allocate; others in a big integer. The two forms
//! never overlap: what fits is small.
//!
//! PostgreSQL computes in groups of four decimal digits, and where a result cannot be exact
//! (division, roots, logarithms) its scale follows from the number of such groups. The same rules
//! are followed here, so that results print the same digits.

mod arith;
mod convert;
mod decimal;
mod fixed;
mod key;
#[cfg(test)]
mod oracle;
mod power;
mod round;
mod text;
mod transcendental;

pub use decimal::{Decimal, Numeric, NumericRef};
pub(crate) use key::key_length;
pub use round::typmod_parts;
