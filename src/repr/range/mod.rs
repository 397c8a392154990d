//! Ranges and multiranges of the six types that PostgreSQL has them of.
//!
//! A range is what lies between two [`Edge`]s, or nothing. An edge stands at a value, or just
//! before or behind it: `[1` at 1, `(1` just behind it, `1)` just before it. So the order of edges
//! is one comparison, and all that is asked about ranges is a comparison of edges.
//!
//! A range's bytes are PostgreSQL's flags in one byte, then the lower and the upper bound in the
//! value encoding, as far as they are there. A multirange is its ranges one behind the other: not
//! empty, ascending, with gaps between them. Both are read in place with the [`RangeKind`] that the
//! type tells and the datum carries. Ranges of integers and dates are canonical, `[a,b)`, so that
//! equal ranges differ only where their bounds' bytes do.

mod binary;
mod edge;
mod kind;
mod multi;
mod text;
mod view;

pub(super) use binary::{
    format_multirange_binary, format_range_binary, parse_multirange_binary, parse_range_binary,
};
pub use edge::Edge;
pub use kind::{RangeKind, names};
pub use multi::{Multirange, compare_multiranges, ranges_of};
pub(super) use text::{
    format_multirange_text, format_range_text, parse_multirange_text, parse_range_text,
};
pub use view::Range;
