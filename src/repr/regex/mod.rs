//! PostgreSQL's regular expressions, the advanced ones.
//!
//! [`parse`] reads the syntax into a tree, [`syntax`] is the tree, [`program`] compiles it for the
//! engine of the `regex` crates, and [`dissect`] finds what the groups of a match hold.
//!
//! Where a match starts, all engines agree: as far left as it can. Where it ends, they do not: in
//! PostgreSQL a whole expression wants either the longest or the shortest match, which its first
//! quantifier decides, while Perl's engines try alternatives in order. So the end is looked for
//! separately, and so are the groups, where the two rules may differ about them.
//!
//! Not there: look-around, back references, basic and extended (`(?b)`, `(?e)`) syntax, and named
//! collating elements. They answer 0A000.

mod bracket;
mod cache;
mod dissect;
mod fault;
mod flags;
mod parse;
mod program;
mod syntax;

pub use cache::compiled;
pub use flags::Flags;
pub use program::{Groups, Regex};
