//! The values of window functions over the rows of a partition.

use std::ops::Range;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::aggregate::{Frames, aggregate};
use crate::expr::window::call::{WindowCall, WindowFunc};
use crate::expr::window::frame::{Edges, frames, pieces};
use crate::expr::window::running::Start;
use crate::repr::{Datum, ScalarType};

/// The rows of a partition, sorted.
pub struct Partition<'p, 'a> {
    /// The rows one after the other.
    datums: &'p [Datum<'a>],
    /// The types of the columns.
    types: &'p [ScalarType],
    /// Where each group of peers begins, and the number of rows.
    bounds: Vec<usize>,
    /// The group of each row.
    group_of: Vec<usize>,
    /// The column that the rows are ordered by, where there is one and no more.
    pub order: Option<OrderColumn>,
    /// What comes before these rows, where they are not all of the partition.
    before: Before<'a>,
}

/// What the rows of a partition that are not at hand, before the others, come to.
#[derive(Clone, Debug, Default)]
pub struct Before<'a> {
    /// How many they are.
    pub rows: usize,
    /// How many groups of peers.
    pub groups: usize,
    /// What each call begins with; none where there are no such rows.
    pub starts: Vec<Start<'a>>,
}

/// The single column of an order.
#[derive(Clone, Copy, Debug)]
pub struct OrderColumn {
    /// Which.
    pub column: usize,
    /// Greatest first.
    pub descending: bool,
    /// NULL before everything else.
    pub nulls_first: bool,
}

impl<'p, 'a> Partition<'p, 'a> {
    /// The rows of a partition: `starts_group` says of each row whether it is no peer of the one
    /// before it.
    pub fn new(
        datums: &'p [Datum<'a>],
        types: &'p [ScalarType],
        starts_group: &[bool],
        order: Option<OrderColumn>,
    ) -> Partition<'p, 'a> {
        let (mut bounds, mut group_of) = (Vec::new(), Vec::with_capacity(starts_group.len()));
        for (row, starts) in starts_group.iter().enumerate() {
            if *starts || row == 0 {
                bounds.push(row);
            }
            group_of.push(bounds.len() - 1);
        }
        bounds.push(starts_group.len());
        Partition { datums, types, bounds, group_of, order, before: Before::default() }
    }

    /// The same rows as the rest of a partition.
    pub fn behind(self, before: Before<'a>) -> Partition<'p, 'a> {
        Partition { before, ..self }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.group_of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.group_of.is_empty()
    }

    /// The columns of a row.
    pub fn row(&self, row: usize) -> &'p [Datum<'a>] {
        let arity = self.types.len();
        &self.datums[row * arity..(row + 1) * arity]
    }

    /// The types of the columns.
    pub fn types(&self) -> &'p [ScalarType] {
        self.types
    }

    /// The number of groups of peers.
    pub fn groups(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The rows of a group.
    pub fn group(&self, group: usize) -> Range<usize> {
        self.bounds[group]..self.bounds[group + 1]
    }

    /// The group of a row.
    pub fn group_of(&self, row: usize) -> usize {
        self.group_of[row]
    }

    /// What a call begins with.
    pub fn start(&self, call: usize) -> Start<'a> {
        self.before.starts.get(call).cloned().unwrap_or(Start::Nothing)
    }

    /// Where the peers of the first of some rows begin, and those of the last one end.
    pub fn with_peers(&self, rows: Range<usize>) -> (usize, usize) {
        match rows.is_empty() {
            true => (rows.start, rows.end),
            false => {
                let (first, last) = (self.group_of(rows.start), self.group_of(rows.end - 1));
                (self.group(first).start, self.group(last).end)
            }
        }
    }

    /// An expression on a row.
    pub fn eval(
        &self,
        expr: &'a Expr,
        row: usize,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        expr.eval(self.row(row), cx)
    }
}

/// The value of each call on each of those rows.
///
/// Nothing is evaluated that PostgreSQL would not evaluate: arguments only on the rows that are
/// looked at, defaults only where they are needed. Errors: the first that a call meets.
pub fn evaluate<'a>(
    calls: &'a [WindowCall],
    rows: &Partition<'_, 'a>,
    wanted: Range<usize>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Vec<Datum<'a>>>, EvalError> {
    let each = |(number, call)| values(call, rows.start(number), rows, wanted.clone(), cx);
    calls.iter().enumerate().map(each).collect()
}

/// The frame of each row.
pub fn frames_of<'a>(
    call: &'a WindowCall,
    rows: &Partition<'_, 'a>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Range<usize>>, EvalError> {
    frames(call.frame.mode, Edges::new(&call.frame, cx)?, rows, cx)
}

fn values<'a>(
    call: &'a WindowCall,
    start: Start<'a>,
    rows: &Partition<'_, 'a>,
    wanted: Range<usize>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let (count, before) = (rows.len(), &rows.before);
    // Offsets are looked at even where the function has no use for a frame.
    let edges = Edges::new(&call.frame, cx)?;
    let group = |row: usize| rows.group(rows.group_of(row));
    let number = |n: usize| Datum::Int8(n as i64);
    let each = |value: &dyn Fn(usize) -> Datum<'a>| Ok(wanted.clone().map(value).collect());
    match &call.func {
        WindowFunc::RowNumber => each(&|row| number(before.rows + row + 1)),
        WindowFunc::Rank => each(&|row| number(before.rows + group(row).start + 1)),
        WindowFunc::DenseRank => each(&|row| number(before.groups + rows.group_of(row) + 1)),
        WindowFunc::PercentRank => {
            let others = count.saturating_sub(1).max(1) as f64;
            each(&|row| Datum::Float8(group(row).start as f64 / others))
        }
        WindowFunc::CumeDist => each(&|row| Datum::Float8(group(row).end as f64 / count as f64)),
        WindowFunc::Ntile => Ok(ntile(call, rows, cx)?[wanted].to_vec()),
        WindowFunc::Lag => displaced(call, rows, wanted, -1, cx),
        WindowFunc::Lead => displaced(call, rows, wanted, 1, cx),
        WindowFunc::FirstValue | WindowFunc::LastValue | WindowFunc::NthValue => {
            if let Start::Value(first) = start {
                return Ok(vec![first; wanted.len()]);
            }
            let frames = frames(call.frame.mode, edges, rows, cx)?;
            let value = |row: usize| of_frame(call, rows, row, frames[row].clone(), cx);
            wanted.map(value).collect()
        }
        WindowFunc::Aggregate(of) => {
            let frames = frames(call.frame.mode, edges, rows, cx)?;
            let frames = Frames { of: &frames[wanted.clone()], first: wanted.start };
            aggregate(of, (call.frame.exclusion, start), rows, frames, cx)
        }
    }
}

/// `ntile`: the count is read on the first row on which it is not NULL, which is where counting
/// begins.
fn ntile<'a>(
    call: &'a WindowCall,
    rows: &Partition<'_, 'a>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let mut values = Vec::with_capacity(rows.len());
    let mut first = 0;
    let buckets = loop {
        if first == rows.len() {
            return Ok(values);
        }
        match rows.eval(&call.args[0], first, cx)? {
            Datum::Int4(buckets) => break i64::from(buckets),
            _ => values.push(Datum::Null),
        }
        first += 1;
    };
    if buckets <= 0 {
        return Err(EvalError::new(
            SqlState::INVALID_ARGUMENT_FOR_NTILE,
            "argument of ntile must be greater than zero",
        ));
    }
    let (size, larger) = (rows.len() as i64 / buckets, rows.len() as i64 % buckets);
    for at in 0..(rows.len() - first) as i64 {
        let in_larger = larger * (size + 1);
        let before = match at < in_larger {
            true => at / (size + 1),
            false => larger + (at - in_larger) / size.max(1),
        };
        values.push(Datum::Int4((before + 1) as i32));
    }
    Ok(values)
}

/// `lag` and `lead`.
fn displaced<'a>(
    call: &'a WindowCall,
    rows: &Partition<'_, 'a>,
    wanted: Range<usize>,
    direction: i64,
    cx: &EvalContext<'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let value = |row: usize| {
        let offset = match call.args.get(1) {
            None => 1,
            Some(offset) => match rows.eval(offset, row, cx)? {
                Datum::Int4(offset) => i64::from(offset),
                _ => return Ok(Datum::Null),
            },
        };
        let target = usize::try_from(row as i64 + direction * offset);
        match (target, call.args.get(2)) {
            (Ok(target), _) if target < rows.len() => rows.eval(&call.args[0], target, cx),
            (_, Some(default)) => rows.eval(default, row, cx),
            (_, None) => Ok(Datum::Null),
        }
    };
    wanted.map(value).collect()
}

/// `first_value`, `last_value` and `nth_value`.
fn of_frame<'a>(
    call: &'a WindowCall,
    rows: &Partition<'_, 'a>,
    row: usize,
    frame: Range<usize>,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let pieces = pieces(frame, call.frame.exclusion, row, rows);
    let found = match call.func {
        WindowFunc::LastValue => pieces.into_iter().rev().find_map(|mut piece| piece.next_back()),
        WindowFunc::FirstValue => pieces.into_iter().find_map(|mut piece| piece.next()),
        _ => {
            let Datum::Int4(number) = rows.eval(&call.args[1], row, cx)? else {
                return Ok(Datum::Null);
            };
            let number = usize::try_from(number).ok().filter(|number| *number > 0);
            let number = number.ok_or_else(|| {
                EvalError::new(
                    SqlState::INVALID_ARGUMENT_FOR_NTH_VALUE,
                    "argument of nth_value must be greater than zero",
                )
            })?;
            pieces.into_iter().flatten().nth(number - 1)
        }
    };
    match found {
        Some(found) => rows.eval(&call.args[0], found, cx),
        None => Ok(Datum::Null),
    }
}
