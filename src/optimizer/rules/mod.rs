//! The rules, one a file. Their order is [`crate::optimizer::pipeline`]'s.

pub mod common_factors;
pub mod common_subplans;
pub mod constant_folding;
pub mod constant_join_inputs;
pub mod constant_relations;
pub mod fuse;
pub mod join_equalities;
pub mod join_flattening;
pub mod let_inlining;
pub mod literal_propagation;
pub mod predicate_pushdown;
pub mod projection_pushdown;
pub mod rank_limit;
pub mod reduction_pushdown;
pub mod redundant_joins;
pub mod union_cancelling;
pub mod union_flattening;
pub mod unique_keys;
