//! Aggregate functions, as far as plans need to know them.
//!
//! How an aggregate is maintained is the renderer's business; here is what it computes.

use serde::{Deserialize, Serialize};

use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Aggregate {
    /// What is computed.
    pub func: AggFunc,
    /// Its argument over the input's columns; `true` for `count(*)`.
    pub arg: Expr,
    /// Whether equal arguments count once.
    pub distinct: bool,
    /// Which rows take part; all where there is none.
    pub filter: Option<Expr>,
}

/// What an aggregate computes. The type is the argument's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AggFunc {
    /// Rows, whatever the argument.
    CountStar,
    /// Arguments that are not NULL.
    Count,
    /// The sum: int2 and int4 to int8, int8 and numeric to numeric, floats and intervals to
    /// their own type. NULL where there is nothing to add.
    Sum(ScalarType),
    /// The mean: integers and numeric to numeric, floats to float8, intervals to interval.
    Avg(ScalarType),
    /// The least.
    Min(ScalarType),
    /// The greatest.
    Max(ScalarType),
    /// Whether all are true.
    BoolAnd,
    /// Whether any is true.
    BoolOr,
}

impl AggFunc {
    /// The type of the result.
    pub fn output_type(self) -> ColumnType {
        use ScalarType::*;
        match self {
            AggFunc::CountStar | AggFunc::Count => ColumnType::not_null(Int8),
            AggFunc::Sum(t) => ColumnType::nullable(match t {
                Int2 | Int4 => Int8,
                Int8 => Numeric,
                other => other,
            }),
            AggFunc::Avg(t) => ColumnType::nullable(match t {
                Int2 | Int4 | Int8 => Numeric,
                Float4 => Float8,
                other => other,
            }),
            AggFunc::Min(t) | AggFunc::Max(t) => ColumnType::nullable(t),
            AggFunc::BoolAnd | AggFunc::BoolOr => ColumnType::nullable(Bool),
        }
    }
}
