//! Aggregate functions: what they compute, and how.
//!
//! An [`Aggregate`] is a call: a function, its arguments, and what decides which rows it sees and
//! in what order. [`fold`] evaluates one over rows, wherever that is needed; [`sums`] has the
//! arithmetic of all that can be added up, so that it can also be kept in the difference of a
//! dataflow. How a view keeps an aggregate up to date is the renderer's business.

pub mod collect;
pub mod exact;
pub mod fold;
pub mod ranges;
pub mod statistics;
pub mod sums;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::aggregate::sums::Kind;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, RangeKind, ScalarType};

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
    /// The bits that all integers, or strings of bits, have.
    BitAnd(ScalarType),
    /// The bits that any has.
    BitOr(ScalarType),
    /// The bits that an odd number of them have.
    BitXor(ScalarType),
    /// The variance: of floats as float8, of the others as numeric.
    Variance(Spread),
    /// The standard deviation, the root of the variance.
    Stddev(Spread),
    /// A statistic of pairs of float8, first the dependent one.
    Paired(Paired),
    /// Text or bytea put together, each but the first behind its own delimiter, the second
    /// argument.
    StringAgg(ScalarType),
    /// An array of all arguments; of arrays, which have one shape, one with a dimension more.
    ArrayAgg(ScalarType),
    /// The multirange of all that is in any range or multirange.
    RangeAgg(RangeKind),
    /// What all ranges, or multiranges, have.
    RangeIntersectAgg(ScalarType),
    /// A jsonb array of all arguments.
    JsonbAgg,
    /// A json array of all arguments.
    JsonAgg,
    /// A json object of names and values.
    JsonObjectAgg,
    /// A jsonb object of names and values; of those with one name the last stays.
    JsonbObjectAgg,
    /// The most frequent one, the first of them in the order asked for.
    Mode(ScalarType),
    /// The first one that so many come before or with; the fraction is the second argument.
    PercentileDisc(ScalarType),
    /// As [`AggFunc::PercentileDisc`], between two of them: float8 or interval.
    PercentileCont(ScalarType),
    /// The only one, be it NULL; more than one is an error (a subquery as a value).
    Only(ScalarType),
    /// As [`AggFunc::PercentileDisc`], for each fraction of an array; the answer is an array of
    /// that shape.
    PercentilesDisc(ScalarType),
    /// As [`AggFunc::PercentileCont`], for each fraction of an array.
    PercentilesCont(ScalarType),
    /// Where a row would stand that is not there. The first half of the arguments is that of the
    /// rows, the other that of this one.
    Hypothetical(Hypothetical),
}

/// What a variance is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spread {
    /// The type of the argument.
    pub ty: ScalarType,
    /// Whether the rows are a sample rather than all there is.
    pub sample: bool,
}

/// Statistics of pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // Each is the SQL aggregate of that name.
pub enum Paired {
    Corr,
    CovarPop,
    CovarSamp,
    RegrAvgX,
    RegrAvgY,
    RegrCount,
    RegrIntercept,
    RegrR2,
    RegrSlope,
    RegrSxx,
    RegrSxy,
    RegrSyy,
}

/// What is asked about a row that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Hypothetical {
    /// 1 and how many rows come before it.
    Rank,
    /// 1 and how many different rows come before it.
    DenseRank,
    /// Its rank less 1, in proportion to the number of rows.
    PercentRank,
    /// How many rows come before it or with it, in proportion, itself counted.
    CumeDist,
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
    /// All are looked at, in order.
    Collect,
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
            AggFunc::BitAnd(_) => "bit_and",
            AggFunc::BitOr(_) => "bit_or",
            AggFunc::BitXor(_) => "bit_xor",
            AggFunc::Variance(spread) if spread.sample => "var_samp",
            AggFunc::Variance(_) => "var_pop",
            AggFunc::Stddev(spread) if spread.sample => "stddev_samp",
            AggFunc::Stddev(_) => "stddev_pop",
            AggFunc::Paired(paired) => paired.name(),
            AggFunc::StringAgg(_) => "string_agg",
            AggFunc::ArrayAgg(_) => "array_agg",
            AggFunc::RangeAgg(_) => "range_agg",
            AggFunc::RangeIntersectAgg(_) => "range_intersect_agg",
            AggFunc::JsonAgg => "json_agg",
            AggFunc::JsonObjectAgg => "json_object_agg",
            AggFunc::JsonbAgg => "jsonb_agg",
            AggFunc::JsonbObjectAgg => "jsonb_object_agg",
            AggFunc::Mode(_) => "mode",
            AggFunc::PercentileDisc(_) | AggFunc::PercentilesDisc(_) => "percentile_disc",
            AggFunc::PercentileCont(_) | AggFunc::PercentilesCont(_) => "percentile_cont",
            AggFunc::Only(_) => "only",
            AggFunc::Hypothetical(Hypothetical::Rank) => "rank",
            AggFunc::Hypothetical(Hypothetical::DenseRank) => "dense_rank",
            AggFunc::Hypothetical(Hypothetical::PercentRank) => "percent_rank",
            AggFunc::Hypothetical(Hypothetical::CumeDist) => "cume_dist",
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
            AggFunc::Min(t)
            | AggFunc::Max(t)
            | AggFunc::BitAnd(t)
            | AggFunc::BitOr(t)
            | AggFunc::BitXor(t)
            | AggFunc::StringAgg(t)
            | AggFunc::Mode(t)
            | AggFunc::PercentileDisc(t)
            | AggFunc::PercentileCont(t)
            | AggFunc::RangeIntersectAgg(t)
            | AggFunc::Only(t) => ColumnType::nullable(t),
            AggFunc::RangeAgg(kind) => ColumnType::nullable(Multirange(kind)),
            AggFunc::ArrayAgg(t) | AggFunc::PercentilesDisc(t) | AggFunc::PercentilesCont(t) => {
                ColumnType::nullable(t.array().unwrap_or(t))
            }
            AggFunc::Variance(Spread { ty, .. }) | AggFunc::Stddev(Spread { ty, .. }) => {
                ColumnType::nullable(if matches!(ty, Float4 | Float8) { Float8 } else { Numeric })
            }
            AggFunc::Paired(Paired::RegrCount) => ColumnType::not_null(Int8),
            AggFunc::Paired(_) => ColumnType::nullable(Float8),
            AggFunc::JsonbAgg | AggFunc::JsonbObjectAgg => ColumnType::nullable(Jsonb),
            AggFunc::JsonAgg | AggFunc::JsonObjectAgg => ColumnType::nullable(Json),
            AggFunc::Hypothetical(Hypothetical::Rank | Hypothetical::DenseRank) => {
                ColumnType::not_null(Int8)
            }
            AggFunc::Hypothetical(_) => ColumnType::not_null(Float8),
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
            AggFunc::BitAnd(ty) | AggFunc::BitOr(ty) | AggFunc::BitXor(ty) => {
                Method::Sum(if ty == ScalarType::Bit { Kind::BitStrings } else { Kind::Bits })
            }
            AggFunc::Variance(spread) | AggFunc::Stddev(spread) => {
                Method::Sum(Kind::squares_of(spread.ty))
            }
            AggFunc::Paired(_) => Method::Sum(Kind::Pairs),
            AggFunc::StringAgg(_)
            | AggFunc::ArrayAgg(_)
            | AggFunc::RangeAgg(_)
            | AggFunc::RangeIntersectAgg(_)
            | AggFunc::JsonbAgg
            | AggFunc::JsonbObjectAgg
            | AggFunc::JsonAgg
            | AggFunc::JsonObjectAgg
            | AggFunc::Mode(_)
            | AggFunc::PercentileDisc(_)
            | AggFunc::PercentileCont(_)
            | AggFunc::PercentilesDisc(_)
            | AggFunc::PercentilesCont(_)
            | AggFunc::Only(_)
            | AggFunc::Hypothetical(_) => Method::Collect,
        }
    }

    /// Rows with a NULL among so many first arguments are passed over.
    pub fn strict_args(self) -> usize {
        match self {
            AggFunc::CountStar | AggFunc::JsonbAgg | AggFunc::JsonbObjectAgg => 0,
            AggFunc::JsonAgg | AggFunc::JsonObjectAgg => 0,
            AggFunc::Hypothetical(_) | AggFunc::Only(_) | AggFunc::ArrayAgg(_) => 0,
            AggFunc::Paired(_) => 2,
            _ => 1,
        }
    }

    /// Whether the answer over rows of which none is passed over is never NULL.
    pub fn answers_when_given(self) -> bool {
        match self {
            AggFunc::Variance(spread) | AggFunc::Stddev(spread) => !spread.sample,
            AggFunc::Paired(_) => false,
            AggFunc::PercentileDisc(_) | AggFunc::PercentileCont(_) | AggFunc::Only(_) => false,
            AggFunc::PercentilesDisc(_) | AggFunc::PercentilesCont(_) => false,
            _ => true,
        }
    }
}

impl Paired {
    fn name(self) -> &'static str {
        match self {
            Paired::Corr => "corr",
            Paired::CovarPop => "covar_pop",
            Paired::CovarSamp => "covar_samp",
            Paired::RegrAvgX => "regr_avgx",
            Paired::RegrAvgY => "regr_avgy",
            Paired::RegrCount => "regr_count",
            Paired::RegrIntercept => "regr_intercept",
            Paired::RegrR2 => "regr_r2",
            Paired::RegrSlope => "regr_slope",
            Paired::RegrSxx => "regr_sxx",
            Paired::RegrSxy => "regr_sxy",
            Paired::RegrSyy => "regr_syy",
        }
    }
}
