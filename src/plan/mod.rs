//! Plans: what is to be computed ([`relation`]), by which operators ([`physical`]), and what else
//! a client may ask for ([`statement`], [`facts`]).
//!
//! Why a fact of a program holds is [`why`].
//! What was seen of a plan while it ran is an [`observed::Observation`].
//!
//! Floor 2: built from expressions and types; knows no name and no front end.

pub mod alter;
mod build;
pub mod explain;
pub mod facts;
pub mod observed;
pub mod physical;
pub mod relation;
pub mod statement;
pub mod typing;
pub mod visit;
pub mod why;
