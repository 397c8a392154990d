//! The functions, operators, casts and aggregates that Weir has, by family.
//!
//! A family is a file with one `FAMILY`: a const array of functions and one of operators.
//! [`registry`] lists the families and finds their entries by oid and name, [`resolve`] chooses
//! among entries of one name as PostgreSQL does, [`types`] has the categories of types that the
//! choice depends on.

pub mod access;
pub mod aggregates;
pub mod array_casts;
pub mod array_comparison;
pub mod array_search;
pub mod array_sets;
pub mod array_text;
pub mod arrays;
pub mod bits;
pub mod bits_casts;
pub mod boolean;
pub mod bytea;
pub mod casts;
pub mod catalog;
pub mod catalog_names;
pub mod comparison;
pub mod concatenation;
pub mod conversion_calls;
pub mod datetime;
pub mod datetime_arithmetic;
pub mod datetime_casts;
pub mod datetime_comparison;
pub mod datetime_overlaps;
pub mod degrees;
pub mod encoding;
pub mod enums;
pub mod escapes;
pub mod float;
pub mod formatting;
pub mod generic;
pub mod hashes;
pub mod inet;
pub mod inet_casts;
pub mod integer;
pub mod io;
pub mod json;
pub mod json_build;
pub mod json_records;
pub mod json_sets;
pub mod jsonb;
pub mod jsonb_build;
pub mod jsonb_casts;
pub mod jsonb_paths;
pub mod jsonb_sets;
pub mod jsonpath;
pub mod like;
pub mod math;
pub mod modifier_casts;
pub mod multiranges;
pub mod named;
pub mod number_casts;
pub mod numeric;
pub mod numeric_casts;
#[cfg(test)]
mod oracle;
pub mod pull;
pub mod quoting;
pub mod range_casts;
pub mod range_constructors;
pub mod ranges;
pub mod records;
pub mod reg_casts;
pub mod regexp;
pub mod regexp_arrays;
pub mod registry;
pub mod resolve;
pub mod sends;
pub mod sequence;
pub mod series;
pub mod server;
pub mod slices;
pub mod string_casts;
pub mod text;
pub mod text_casts;
pub mod text_sets;
pub mod timestamp_ns;
pub mod types;
pub mod user_casts;
pub mod uuid;

pub use aggregates::{ResolvedAggregate, resolve_aggregate};
pub use registry::{by_oid, functions, is_function, operator_of, operators};
pub use resolve::{
    ResolveError, Resolved, conversion_by_call, resolve_function, resolve_operator, resolve_spread,
};
pub use types::{Category, category, common_type, is_coercible, is_preferred};
