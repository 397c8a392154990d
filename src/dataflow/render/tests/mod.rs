//! Tests of rendering: what a dataflow answers is what a naive evaluator answers, at every time.

mod cases;
mod harness;
mod moving;
mod oracle;
mod paths;
mod random;
mod recursion;
