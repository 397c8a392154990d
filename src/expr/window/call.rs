//! A call of a window function, as plans have it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expr::aggregate::sums::Kind;
use crate::expr::aggregate::{Aggregate, Method};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};

/// A call with its frame. What it is computed over, the partition and its order, belongs to the
/// relation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WindowCall {
    /// What is computed.
    pub func: WindowFunc,
    /// The arguments, over the input's columns: the value first, then an offset or a count, then
    /// a default. An aggregate has its own.
    pub args: Vec<Expr>,
    /// The rows that it sees. Functions of a row's place in its partition see them all.
    pub frame: Frame,
}

/// What is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // The functions of these names.
pub enum WindowFunc {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
    /// An aggregate over the frame. Where it has an order, it is that of the frame: the place of a
    /// row in the partition is one more argument, an int8 behind the others.
    Aggregate(Box<Aggregate>),
}

/// Which rows of the partition belong to a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// What offsets count.
    pub mode: FrameMode,
    /// Where it begins.
    pub start: Bound,
    /// Where it ends.
    pub end: Bound,
    /// What is left out of it.
    pub exclusion: Exclusion,
}

/// What the offsets of a frame count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FrameMode {
    /// Rows.
    Rows,
    /// How far the one column of the order is away.
    Range,
    /// Groups of peers.
    Groups,
}

/// An end of a frame. Offsets are constant: int8, or of the type that goes with the order's column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Bound {
    /// The partition's first row.
    UnboundedPreceding,
    /// So much before the current row.
    Preceding(Expr),
    /// The current row; its peers too, unless rows are counted.
    CurrentRow,
    /// So much behind the current row.
    Following(Expr),
    /// The partition's last row.
    UnboundedFollowing,
}

/// What a frame leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Exclusion {
    /// Nothing.
    NoOthers,
    /// The current row.
    CurrentRow,
    /// The current row and its peers.
    Group,
    /// The peers, not the current row.
    Ties,
}

impl Default for Frame {
    /// From the partition's first row to the current row's last peer.
    fn default() -> Frame {
        Frame {
            mode: FrameMode::Range,
            start: Bound::UnboundedPreceding,
            end: Bound::CurrentRow,
            exclusion: Exclusion::NoOthers,
        }
    }
}

impl Bound {
    /// The offset, where there is one.
    pub fn offset(&self) -> Option<&Expr> {
        match self {
            Bound::Preceding(offset) | Bound::Following(offset) => Some(offset),
            _ => None,
        }
    }

    /// The offset, to be changed.
    pub fn offset_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Bound::Preceding(offset) | Bound::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            FrameMode::Rows => "ROWS",
            FrameMode::Range => "RANGE",
            FrameMode::Groups => "GROUPS",
        };
        let exclusion = match self.exclusion {
            Exclusion::NoOthers => "",
            Exclusion::CurrentRow => " EXCLUDE CURRENT ROW",
            Exclusion::Group => " EXCLUDE GROUP",
            Exclusion::Ties => " EXCLUDE TIES",
        };
        write!(f, "{mode} BETWEEN {} AND {}{exclusion}", self.start, self.end)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::UnboundedPreceding => f.write_str("UNBOUNDED PRECEDING"),
            Bound::Preceding(offset) => write!(f, "{offset} PRECEDING"),
            Bound::CurrentRow => f.write_str("CURRENT ROW"),
            Bound::Following(offset) => write!(f, "{offset} FOLLOWING"),
            Bound::UnboundedFollowing => f.write_str("UNBOUNDED FOLLOWING"),
        }
    }
}

impl WindowFunc {
    /// How SQL calls it.
    pub fn name(&self) -> &'static str {
        match self {
            WindowFunc::RowNumber => "row_number",
            WindowFunc::Rank => "rank",
            WindowFunc::DenseRank => "dense_rank",
            WindowFunc::PercentRank => "percent_rank",
            WindowFunc::CumeDist => "cume_dist",
            WindowFunc::Ntile => "ntile",
            WindowFunc::Lag => "lag",
            WindowFunc::Lead => "lead",
            WindowFunc::FirstValue => "first_value",
            WindowFunc::LastValue => "last_value",
            WindowFunc::NthValue => "nth_value",
            WindowFunc::Aggregate(aggregate) => aggregate.func.name(),
        }
    }

    /// The type of the result where the first argument has that type.
    pub fn output_type(&self, value: Option<ColumnType>) -> ColumnType {
        use WindowFunc::*;
        match self {
            RowNumber | Rank | DenseRank => ColumnType::not_null(ScalarType::Int8),
            PercentRank | CumeDist => ColumnType::not_null(ScalarType::Float8),
            Ntile => ColumnType::nullable(ScalarType::Int4),
            Lag | Lead | FirstValue | LastValue | NthValue => {
                let value = value.unwrap_or(ColumnType::nullable(ScalarType::Text));
                ColumnType { nullable: true, ..value }
            }
            Aggregate(aggregate) => aggregate.func.output_type(),
        }
    }

    /// Whether the frame matters.
    pub fn has_frame(&self) -> bool {
        use WindowFunc::*;
        matches!(self, FirstValue | LastValue | NthValue | Aggregate(_))
    }
}

impl WindowFunc {
    /// The expressions over the input's columns, to be changed; `args` are the call's.
    pub fn exprs_mut<'c>(&'c mut self, args: &'c mut [Expr]) -> impl Iterator<Item = &'c mut Expr> {
        let of_aggregate = match self {
            WindowFunc::Aggregate(aggregate) => Some(aggregate.exprs_mut()),
            _ => None,
        };
        args.iter_mut().chain(of_aggregate.into_iter().flatten())
    }
}

impl fmt::Display for WindowCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.func {
            // The place in the partition is no argument that was written.
            WindowFunc::Aggregate(aggregate) => {
                write!(f, "{}", Aggregate { order: vec![], ..(**aggregate).clone() })?;
            }
            func => {
                let args: Vec<String> = self.args.iter().map(Expr::to_string).collect();
                write!(f, "{}({})", func.name(), args.join(", "))?;
            }
        }
        match self.func.has_frame() && self.frame != Frame::default() {
            true => write!(f, " {}", self.frame),
            false => Ok(()),
        }
    }
}

impl WindowCall {
    /// The expressions over the input's columns, and the offsets.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        let offsets = [self.frame.start.offset(), self.frame.end.offset()];
        let of_aggregate = match &self.func {
            WindowFunc::Aggregate(aggregate) => Some(aggregate.exprs()),
            _ => None,
        };
        let args = self.args.iter().chain(of_aggregate.into_iter().flatten());
        args.chain(offsets.into_iter().flatten())
    }

    /// The same, to be changed.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let offsets = [self.frame.start.offset_mut(), self.frame.end.offset_mut()];
        self.func.exprs_mut(&mut self.args).chain(offsets.into_iter().flatten())
    }

    /// The type of the result.
    pub fn output_type(&self, input: &[ColumnType]) -> ColumnType {
        self.func.output_type(self.args.first().map(|value| value.typ(input)))
    }

    /// Whether evaluation can fail.
    pub fn is_fallible(&self) -> bool {
        use WindowFunc::*;
        let of_itself = match &self.func {
            RowNumber | Rank | DenseRank | PercentRank | CumeDist => false,
            Lag | Lead | FirstValue | LastValue => false,
            Ntile | NthValue => true,
            Aggregate(aggregate) => match aggregate.func.method() {
                Method::Sum(kind) => kind != Kind::Count,
                Method::Extreme { .. } => false,
                Method::Collect => true,
            },
        };
        let offset = |bound: &Bound| bound.offset().is_some();
        of_itself
            || offset(&self.frame.start)
            || offset(&self.frame.end)
            || self.exprs().any(Expr::is_fallible)
    }

    /// Whether the order of peers makes no difference to any row's value.
    pub fn ignores_ties(&self) -> bool {
        use WindowFunc::*;
        match &self.func {
            Rank | DenseRank | PercentRank | CumeDist => true,
            Aggregate(aggregate) => {
                aggregate.order.is_empty() && self.frame.mode != FrameMode::Rows
            }
            RowNumber | Ntile | Lag | Lead | FirstValue | LastValue | NthValue => false,
        }
    }
}
