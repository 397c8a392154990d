//! Scalar expressions over the columns of one row.
//!
//! Invariants: an expression is typed and resolved when it is made (functions, casts and implicit
//! conversions are explicit nodes), holds no name, and is the same on every worker. Evaluation is
//! lazy exactly where PostgreSQL's is: `Case` and `Coalesce` guard; in `And` false beats an error
//! and in `Or` true does, in either order.

use serde::{Deserialize, Serialize};

use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::Func;
use crate::repr::{ColumnType, Row};

/// A scalar expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Expr {
    /// The input's column of that position.
    Column(usize),
    /// A constant.
    Literal(Literal),
    /// A function or operator; strict ones answer NULL when an argument is NULL.
    Call {
        /// What is called.
        func: Func,
        /// Its arguments, of exactly the types that it declares.
        args: Vec<Expr>,
    },
    /// A conversion to a type and modifier.
    Cast {
        /// How.
        cast: Cast,
        /// What.
        input: Box<Expr>,
        /// The type and modifier to reach (its nullability is not used).
        to: ColumnType,
        /// Whether it was written (`x::t`) or is an assignment's or operator's.
        explicit: bool,
    },
    /// Three-valued conjunction of booleans; empty is true.
    And(Vec<Expr>),
    /// Three-valued disjunction of booleans; empty is false.
    Or(Vec<Expr>),
    /// The first branch whose condition is true; all results have one type.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result where no condition is true.
        otherwise: Box<Expr>,
    },
    /// The first argument that is not NULL; not empty; all of one type.
    Coalesce(Vec<Expr>),
    /// Whether the argument is NULL.
    IsNull(Box<Expr>),
    /// A parameter of a prepared statement, from 1. None reaches the optimizer: execution puts
    /// literals in their places.
    Parameter(usize, ColumnType),
    /// Fails when it is evaluated (what a folded `1/0` becomes); has the given type.
    Raise(EvalError, ColumnType),
}

/// A constant and its type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Literal {
    /// The value encoding of the one datum.
    pub row: Row,
    /// Its type; nullable exactly if it is NULL.
    pub ty: ColumnType,
}
