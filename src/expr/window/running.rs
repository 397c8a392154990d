//! What the rows before a row come to, for the calls that need no more of them than that.
//!
//! `row_number` needs how many rows are before, a running sum what they add up to. A [`Summary`]
//! is that of a stretch of rows; those of neighbouring stretches are put together without looking
//! at rows again. Sums are kept as their parts ([`crate::expr::aggregate::sums`]), exactly.

use std::collections::BTreeMap;

use crate::expr::aggregate::fold::is_better;
use crate::expr::aggregate::sums::Kind;
use crate::expr::aggregate::{Aggregate, Method};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::window::call::{Bound, Exclusion, WindowCall, WindowFunc};
use crate::expr::window::partition::Partition;
use crate::repr::value::{decode_column, pack};
use crate::repr::{Datum, Row, ScalarType};

/// What a stretch of rows comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many rows.
    pub rows: usize,
    /// How many groups of peers begin in it.
    pub groups: usize,
    /// By call; empty where no call needs any.
    pub states: Vec<State>,
}

/// What a call keeps of a stretch of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The call needs nothing.
    Nothing,
    /// The parts of a sum, none of them zero.
    Sum(BTreeMap<u64, i128>),
    /// A value: the best of an extreme, or that of the first row. None where there is none.
    Value(Option<Row>),
}

/// What a call begins with at the first row of a stretch.
#[derive(Clone, Debug)]
pub enum Start<'a> {
    /// Nothing, as at the first row of a partition.
    Nothing,
    /// A sum.
    Sum(BTreeMap<u64, i128>),
    /// A value, which may be NULL.
    Value(Datum<'a>),
}

/// How a call depends on the rows before, where its frame begins with the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Running {
    /// By a sum of this kind.
    Sum(Kind),
    /// By the best value of a type.
    Extreme(ScalarType, bool),
    /// By the value of the first row.
    First,
}

impl Running {
    /// How that call does; none where a summary is of no use to it.
    pub fn of(call: &WindowCall) -> Option<Running> {
        let plain = call.frame.exclusion == Exclusion::NoOthers;
        if !plain || call.frame.start != Bound::UnboundedPreceding {
            return None;
        }
        match &call.func {
            // A frame that ends before its row may have no first row.
            WindowFunc::FirstValue if !matches!(call.frame.end, Bound::Preceding(_)) => {
                Some(Running::First)
            }
            WindowFunc::Aggregate(of) if of.order.is_empty() => match of.func.method() {
                Method::Extreme { ty, greatest } => Some(Running::Extreme(ty, greatest)),
                Method::Sum(kind) if !of.distinct => Some(Running::Sum(kind)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Summary {
    /// What rows come to. Errors: those of the arguments.
    pub fn of<'a>(
        calls: &'a [WindowCall],
        rows: &Partition<'_, 'a>,
        cx: &EvalContext<'a>,
    ) -> Result<Summary, EvalError> {
        let state = |call: &'a WindowCall| match (Running::of(call), &call.func) {
            (None, _) => Ok(State::Nothing),
            (Some(Running::First), _) if rows.is_empty() => Ok(State::Value(None)),
            (Some(Running::First), _) => {
                Ok(State::Value(Some(pack(&[rows.eval(&call.args[0], 0, cx)?]))))
            }
            (Some(running), WindowFunc::Aggregate(of)) => state_of(running, of, rows, cx),
            (Some(_), _) => unreachable!("only aggregates have sums and extremes"),
        };
        let states = calls.iter().map(state).collect::<Result<_, _>>()?;
        Ok(Summary { rows: rows.len(), groups: rows.groups(), states })
    }

    /// Puts what comes behind to it.
    pub fn append(&mut self, calls: &[WindowCall], behind: &Summary) {
        if self.states.is_empty() {
            self.states.clone_from(&behind.states);
        } else {
            for ((call, own), other) in calls.iter().zip(&mut self.states).zip(&behind.states) {
                append(call, own, other);
            }
        }
        self.rows += behind.rows;
        self.groups += behind.groups;
    }

    /// What each call begins with behind these rows.
    pub fn starts<'a>(&'a self, calls: &[WindowCall], rows: &Partition<'_, 'a>) -> Vec<Start<'a>> {
        let start = |(call, state): (&WindowCall, &'a State)| match state {
            State::Nothing | State::Value(None) => Start::Nothing,
            State::Sum(parts) => Start::Sum(parts.clone()),
            State::Value(Some(value)) => {
                Start::Value(decode_column(&[value_type(call, rows.types())], 0, value.bytes()))
            }
        };
        calls.iter().zip(&self.states).map(start).collect()
    }
}

fn value_type(call: &WindowCall, types: &[ScalarType]) -> ScalarType {
    match Running::of(call) {
        Some(Running::Extreme(ty, _)) => ty,
        _ => {
            let nullable = |ty: &ScalarType| crate::repr::ColumnType::nullable(*ty);
            call.output_type(&types.iter().map(nullable).collect::<Vec<_>>()).scalar
        }
    }
}

fn state_of<'a>(
    running: Running,
    of: &'a Aggregate,
    rows: &Partition<'_, 'a>,
    cx: &EvalContext<'a>,
) -> Result<State, EvalError> {
    let mut sum = BTreeMap::<u64, i128>::new();
    let mut best = Datum::Null;
    for row in 0..rows.len() {
        if let Some(filter) = &of.filter
            && rows.eval(filter, row, cx)? != Datum::Bool(true)
        {
            continue;
        }
        let args = of.args.iter().map(|arg| rows.eval(arg, row, cx));
        let args = args.collect::<Result<Vec<_>, _>>()?;
        if args[..of.func.strict_args()].iter().any(Datum::is_null) {
            continue;
        }
        match running {
            Running::Sum(kind) => kind.contribute(&args, |part, coefficient| {
                let sum = sum.entry(part).or_default();
                *sum = sum.wrapping_add(coefficient);
            }),
            Running::Extreme(ty, greatest) => {
                if is_better(ty, greatest, &args[0], &best) {
                    best = args[0];
                }
            }
            Running::First => {}
        }
    }
    sum.retain(|_, coefficient| *coefficient != 0);
    Ok(match running {
        Running::Sum(_) => State::Sum(sum),
        _ => State::Value((!best.is_null()).then(|| pack(&[best]))),
    })
}

fn append(call: &WindowCall, own: &mut State, other: &State) {
    match (own, other) {
        (State::Sum(own), State::Sum(other)) => {
            for (part, coefficient) in other {
                let sum = own.entry(*part).or_default();
                *sum = sum.wrapping_add(*coefficient);
                if *sum == 0 {
                    own.remove(part);
                }
            }
        }
        (State::Value(own), State::Value(Some(other))) => {
            let better = match (&own, Running::of(call)) {
                (None, _) => true,
                (Some(own), Some(Running::Extreme(ty, greatest))) => {
                    let own = decode_column(&[ty], 0, own.bytes());
                    is_better(ty, greatest, &decode_column(&[ty], 0, other.bytes()), &own)
                }
                _ => false,
            };
            if better {
                *own = Some(other.clone());
            }
        }
        _ => {}
    }
}
