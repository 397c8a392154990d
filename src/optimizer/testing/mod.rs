//! Tests of rules and lowering: against what a plain evaluator of relations answers.

mod dataflow;
mod evaluate;
mod plans;
mod random;
mod rules;
mod same;
mod shapes;
