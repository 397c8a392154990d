//! From the plan that a front end wrote to the plan that workers build.
//!
//! Floor 3. [`pipeline`] runs one ordered list of rules, each in its own file under [`rules`];
//! [`physical`] then chooses operators and arrangements. Knows neither front ends nor names.
//!
//! Every rule keeps the rows of a relation, at every time, and its errors or fewer: what a rule
//! leaves out (an unused column, a row that a join drops) PostgreSQL would not have evaluated, but
//! no fallible expression ever moves to where it sees more rows. Volatile expressions are not
//! doubled and do not move past operators that change how often they are evaluated.

pub mod comparison;
pub mod physical;
pub mod pipeline;
pub mod rules;
pub mod substitute;

pub use pipeline::{OptimizerConfig, optimize, optimize_traced};

#[cfg(test)]
mod testing;
