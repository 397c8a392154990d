//! The path language of SQL/JSON: PostgreSQL's `jsonpath`.
//!
//! A value is its normal text, as PostgreSQL prints it, and that is what rows hold: the text is
//! read once for many rows ([`parsed`]). [`lexer`] and [`parse`] read the syntax into a tree,
//! [`ast`] is the tree, [`mod@print`] spells it. What a path finds is not known here.

pub mod ast;
mod cache;
mod lexer;
mod parse;
mod print;

pub use ast::{Chain, Item, Method, Operator, Path, Subscript};
pub use cache::{parsed, shown};
