//! Aggregate functions: what they compute, and how.
//!
//! An [`Aggregate`] is a call: a function, its arguments, and what decides which rows it sees and
//! in what order. [`fold`] evaluates one over rows, wherever that is needed; [`sums`] has the
//! arithmetic of all that can be added up, so that it can also be kept in the difference of a
//! dataflow. How a view keeps an aggregate up to date is the renderer's business.

pub mod fold;
pub mod sums;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::aggregate::sums::Kind;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};

/// An aggregate over the rows of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Aggregate {
    /// What is computed.
    pub func: AggFunc,
    /// Its arguments over the input's columns, and behind them what else `order` needs. None for
    /// `count(*)`.
    pub args: Vec<Expr>,
    /// The order in which the rows are taken; only where that matters. Rows that it leaves equal
    /// are ordered by their arguments.
    pub order: Vec<ArgOrder>,
    /// Whether equal arguments count once; then `order` names arguments alone.
    pub distinct: bool,
    /// Which rows take part; all where there is none.
    pub filter: Option<Expr>,
}

/// How rows are ordered by an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ArgOrder {
    /// The position among [`Aggregate::args`].
    pub arg: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything else.
    pub nulls_first: bool,
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

/// How the rows of a group become the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// They are added up.
    Sum(Kind),
    /// One of them is the answer: the least argument, or the greatest.
    Extreme {
        /// The argument's type.
        ty: ScalarType,
        /// Whether it is the greatest.
        greatest: bool,
    },
}

impl Aggregate {
    /// A function of one argument over all rows.
    pub fn of(func: AggFunc, arg: Expr) -> Aggregate {
        Aggregate { func, args: vec![arg], order: vec![], distinct: false, filter: None }
    }

    /// `count(*)`.
    pub fn count_star() -> Aggregate {
        let func = AggFunc::CountStar;
        Aggregate { func, args: vec![], order: vec![], distinct: false, filter: None }
    }

    /// The types of the arguments over an input of such columns.
    pub fn arg_types(&self, columns: &[ColumnType]) -> Vec<ScalarType> {
        self.args.iter().map(|arg| arg.typ(columns).scalar).collect()
    }

    /// All expressions over the input's columns.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.args.iter().chain(&self.filter)
    }

    /// As [`Aggregate::exprs`], to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.args.iter_mut().chain(&mut self.filter)
    }

    /// Whether taking a row can fail.
    pub fn is_fallible(&self) -> bool {
        self.exprs().any(Expr::is_fallible)
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |args: &[Expr]| args.iter().map(Expr::to_string).collect::<Vec<_>>().join(", ");
        let shown = match self.func {
            AggFunc::CountStar => "*".to_owned(),
            _ => list(&self.args),
        };
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "{}({distinct}{shown}", self.func.name())?;
        for (i, by) in self.order.iter().enumerate() {
            let start = if i == 0 { " ORDER BY" } else { "," };
            let direction = if by.descending { " DESC" } else { "" };
            let nulls = match (by.nulls_first, by.descending) {
                (true, false) => " NULLS FIRST",
                (false, true) => " NULLS LAST",
                _ => "",
            };
            write!(f, "{start} {}{direction}{nulls}", self.args[by.arg])?;
        }
        f.write_str(")")?;
        match &self.filter {
            Some(filter) => write!(f, " FILTER (WHERE {filter})"),
            None => Ok(()),
        }
    }
}

impl AggFunc {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            AggFunc::CountStar | AggFunc::Count => "count",
            AggFunc::Sum(_) => "sum",
            AggFunc::Avg(_) => "avg",
            AggFunc::Min(_) => "min",
            AggFunc::Max(_) => "max",
            AggFunc::BoolAnd => "bool_and",
            AggFunc::BoolOr => "bool_or",
        }
    }

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

    /// How the answer is made.
    pub fn method(self) -> Method {
        match self {
            AggFunc::Min(ty) => Method::Extreme { ty, greatest: false },
            AggFunc::Max(ty) => Method::Extreme { ty, greatest: true },
            AggFunc::CountStar | AggFunc::Count => Method::Sum(Kind::Count),
            AggFunc::BoolAnd | AggFunc::BoolOr => Method::Sum(Kind::Bool),
            AggFunc::Sum(ty) | AggFunc::Avg(ty) => Method::Sum(Kind::of_type(ty)),
        }
    }

    /// Whether rows with a NULL among the first arguments, this many, are passed over.
    pub fn strict_args(self) -> usize {
        match self {
            AggFunc::CountStar => 0,
            _ => 1,
        }
    }

    /// Whether over a group's rows, with this argument never NULL, the answer is never NULL.
    pub fn answers_when_given(self) -> bool {
        true
    }
}
