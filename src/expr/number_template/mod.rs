//! Templates of numbers: `to_char` and `to_number`.
//!
//! [`template`] reads a template, [`spell`] writes a number by it, [`read`] reads one. The rules
//! are those of PostgreSQL, with the "C" locale: the point is `.`, the separator of thousands `,`,
//! and the currency has no sign.

mod read;
mod spell;
mod template;

pub use read::to_number;
pub use spell::{Spelled, float4, float8, int4, int8, numeric};
