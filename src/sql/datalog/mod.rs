//! Datalog: rules over tables and views, bound to the plans that SQL is bound to.
//!
//! `recognize` finds programs among the tokens of a statement and leaves a mark for each, `text`
//! has their tokens (`edn` and `edn_rules` spell those of queries in EDN), `parse` makes an `ast`
//! of them (`negation` makes rules of what is negated); the `binder` meets the mark in the place of
//! a function of FROM. `strata` puts rules in order, `monotone` looks at the cycles of lattices,
//! `program` binds the rules one stratum after the other, `body` and `head` one rule; `demand`
//! rewrites them to what is asked for, `seeds` makes rows of the constants that are asked for;
//! `views` opens what it is to reach through, `selected` asks for what a SELECT does.
//! For `EXPLAIN WHY`, `why` has the rules as queries for their `instances`, as they are `shown`,
//! among facts with their `heights`. Scalar expressions, types and the names of relations are the
//! SQL binder's; `session` keeps the rules that are statements. `facts` binds what the entity store
//! is told, `pull` and `edn_facts` what is asked of it.

pub mod ast;
mod binder;
mod body;
mod demand;
pub(in crate::sql) mod edn;
mod edn_facts;
mod edn_rules;
pub(in crate::sql) mod facts;
mod head;
mod heights;
mod instances;
mod monotone;
mod negation;
pub(in crate::sql) mod parse;
mod program;
mod pull;
pub mod recognize;
mod seeds;
mod selected;
pub mod session;
mod shown;
mod strata;
pub mod text;
mod views;
mod why;
