//! Aggregates over the frames of a partition, row after row.
//!
//! One [`Fold`] follows the frames: a frame that grows is added to; one that moves gives back what
//! it leaves behind where the fold can, exactly, so that nothing drifts whatever the type. Where it
//! cannot the frame is folded again, except that extremes keep a queue of the values that may still
//! become one.

use std::collections::VecDeque;
use std::ops::Range;

use crate::expr::aggregate::fold::{Fold, is_better};
use crate::expr::aggregate::{Aggregate, Method};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::window::call::Exclusion;
use crate::expr::window::frame::pieces;
use crate::expr::window::partition::Partition;
use crate::expr::window::running::Start;
use crate::repr::{ColumnType, Datum, ScalarType};

/// The arguments of rows, each evaluated when it is first asked for.
struct Arguments<'p, 'q, 'a> {
    aggregate: &'a Aggregate,
    types: Vec<ScalarType>,
    rows: &'p Partition<'q, 'a>,
    cx: &'p EvalContext<'a>,
    known: Vec<Option<Option<&'a [Datum<'a>]>>>,
    start: Start<'a>,
}

/// The frames of some rows, of which the first has that place.
#[derive(Clone, Copy)]
pub struct Frames<'f> {
    /// The frames.
    pub of: &'f [Range<usize>],
    /// The place of the first one's row.
    pub first: usize,
}

impl<'f> Frames<'f> {
    fn by_row(self) -> impl Iterator<Item = (usize, &'f Range<usize>)> {
        self.of.iter().enumerate().map(move |(i, frame)| (self.first + i, frame))
    }
}

impl<'a> Arguments<'_, '_, 'a> {
    /// The arguments of a row; none where the row does not take part.
    fn get(&mut self, row: usize) -> Result<Option<&'a [Datum<'a>]>, EvalError> {
        if let Some(known) = self.known[row] {
            return Ok(known);
        }
        let takes_part = match &self.aggregate.filter {
            Some(filter) => self.rows.eval(filter, row, self.cx)? == Datum::Bool(true),
            None => true,
        };
        let mut args = None;
        if takes_part {
            let ordered = !self.aggregate.order.is_empty();
            let count = self.aggregate.args.len() + usize::from(ordered);
            let mut made = bumpalo::collections::Vec::with_capacity_in(count, self.cx.arena);
            for arg in &self.aggregate.args {
                made.push(self.rows.eval(arg, row, self.cx)?);
            }
            made.extend(ordered.then_some(Datum::Int8(row as i64)));
            args = Some(made.into_bump_slice() as &[_]);
        }
        self.known[row] = Some(args);
        Ok(args)
    }

    fn take(
        &mut self,
        fold: &mut Fold<'a>,
        rows: Range<usize>,
        count: i64,
    ) -> Result<(), EvalError> {
        for row in rows {
            if let Some(args) = self.get(row)? {
                fold.take(args, count);
            }
        }
        Ok(())
    }

    fn fold(&self) -> Fold<'a> {
        let fold = Fold::new(self.aggregate, self.types.clone());
        match &self.start {
            Start::Sum(parts) => fold.resumed(parts),
            _ => fold,
        }
    }
}

/// An aggregate over each row's frame, from `start` on where frames begin with the partition.
pub fn aggregate<'a>(
    aggregate: &'a Aggregate,
    (exclusion, start): (Exclusion, Start<'a>),
    rows: &Partition<'_, 'a>,
    frames: Frames<'_>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let columns: Vec<ColumnType> =
        rows.types().iter().map(|ty| ColumnType::nullable(*ty)).collect();
    let mut types = aggregate.arg_types(&columns);
    types.extend((!aggregate.order.is_empty()).then_some(ScalarType::Int8));
    let known = vec![None; rows.len()];
    let mut arguments = Arguments { aggregate, types, rows, cx, known, start };
    match (exclusion, aggregate.func.method()) {
        (Exclusion::NoOthers, Method::Extreme { ty, greatest }) => {
            extremes((ty, greatest), frames.of, &mut arguments)
        }
        (Exclusion::NoOthers, _) => followed(frames.of, &mut arguments),
        // What is left out is not evaluated.
        _ if aggregate.is_fallible() => pieced(exclusion, frames, &mut arguments),
        (_, Method::Extreme { ty, greatest }) => {
            extremes_of_pieces((ty, greatest), exclusion, frames, &mut arguments)
        }
        _ if arguments.fold().can_retract() => excluded(exclusion, frames, &mut arguments),
        _ => pieced(exclusion, frames, &mut arguments),
    }
}

/// Moves a fold from one frame to the next.
fn advance<'a>(
    fold: &mut Fold<'a>,
    (from, to): (&Range<usize>, &Range<usize>),
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<(), EvalError> {
    let grows = to.start == from.start && to.end >= from.end;
    let moves = from.start <= to.start && to.start < from.end && from.end <= to.end;
    if grows || moves && fold.can_retract() {
        arguments.take(fold, from.end..to.end, 1)?;
        return arguments.take(fold, from.start..to.start, -1);
    }
    *fold = arguments.fold();
    arguments.take(fold, to.clone(), 1)
}

/// Over frames that leave nothing out.
fn followed<'a>(
    frames: &[Range<usize>],
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let mut values: Vec<Datum<'a>> = Vec::with_capacity(frames.len());
    let (mut fold, mut at) = (arguments.fold(), 0..0);
    for frame in frames {
        let value = match values.last() {
            Some(value) if *frame == at => *value,
            _ => {
                advance(&mut fold, (&at, frame), arguments)?;
                fold.finish(arguments.cx)?
            }
        };
        at = frame.clone();
        values.push(value);
    }
    Ok(values)
}

/// Over frames that leave something out, which a fold gives back.
///
/// The fold holds a frame without what is left out; the rows of a group of peers often share both.
fn excluded<'a>(
    exclusion: Exclusion,
    frames: Frames<'_>,
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let mut values = Vec::with_capacity(frames.of.len());
    let (mut fold, mut held) = (arguments.fold(), (0..0, 0..0));
    for (row, frame) in frames.by_row() {
        let [before, own, behind] = pieces(frame.clone(), exclusion, row, arguments.rows);
        let wanted = (frame.clone(), before.end..behind.start);
        if wanted != held {
            let most = wanted.1.len().max(held.1.len()) * 2 > frame.len();
            if most {
                fold = arguments.fold();
                arguments.take(&mut fold, before, 1)?;
                arguments.take(&mut fold, behind, 1)?;
            } else {
                arguments.take(&mut fold, held.1, 1)?;
                advance(&mut fold, (&held.0, frame), arguments)?;
                arguments.take(&mut fold, wanted.1.clone(), -1)?;
            }
            held = wanted;
        }
        arguments.take(&mut fold, own.clone(), 1)?;
        values.push(fold.finish(arguments.cx)?);
        arguments.take(&mut fold, own, -1)?;
    }
    Ok(values)
}

/// Over frames that leave something out, each by itself.
fn pieced<'a>(
    exclusion: Exclusion,
    frames: Frames<'_>,
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let mut values: Vec<Datum<'a>> = Vec::with_capacity(frames.of.len());
    let mut last = None;
    for (row, frame) in frames.by_row() {
        let pieces = pieces(frame.clone(), exclusion, row, arguments.rows);
        let value = match (values.last(), last == Some(pieces.clone())) {
            (Some(value), true) => *value,
            _ => of_pieces(pieces.clone(), arguments)?,
        };
        last = Some(pieces);
        values.push(value);
    }
    Ok(values)
}

fn of_pieces<'a>(
    pieces: [Range<usize>; 3],
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Datum<'a>, EvalError> {
    let mut fold = arguments.fold();
    for piece in pieces {
        arguments.take(&mut fold, piece, 1)?;
    }
    fold.finish(arguments.cx)
}

/// The least or the greatest of each frame: a queue of rows, each better than all behind it.
fn extremes<'a>(
    (ty, greatest): (ScalarType, bool),
    frames: &[Range<usize>],
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let mut queue: VecDeque<(usize, Datum<'a>)> = VecDeque::new();
    if let Start::Value(best) = &arguments.start {
        queue.push_back((0, *best));
    }
    let mut at = 0..0;
    let mut values = Vec::with_capacity(frames.len());
    for frame in frames {
        if frame.start < at.start || frame.end < at.end || frame.start > at.end {
            queue.clear();
            at = frame.start..frame.start;
        }
        while queue.front().is_some_and(|(row, _)| *row < frame.start) {
            queue.pop_front();
        }
        for row in at.end..frame.end {
            let Some(value) = arguments.get(row)?.map(|args| args[0]).filter(|v| !v.is_null())
            else {
                continue;
            };
            while queue.back().is_some_and(|(_, kept)| is_better(ty, greatest, &value, kept)) {
                queue.pop_back();
            }
            queue.push_back((row, value));
        }
        at = frame.clone();
        values.push(queue.front().map_or(Datum::Null, |(_, value)| *value));
    }
    Ok(values)
}

/// The least or the greatest of each frame that leaves something out: a tree over the rows, whose
/// nodes know the best of what is below them, answers for any stretch.
fn extremes_of_pieces<'a>(
    (ty, greatest): (ScalarType, bool),
    exclusion: Exclusion,
    frames: Frames<'_>,
    arguments: &mut Arguments<'_, '_, 'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    let count = arguments.rows.len();
    let better = |a: Datum<'a>, b: Datum<'a>| match b.is_null() {
        false if is_better(ty, greatest, &b, &a) => b,
        _ => a,
    };
    // The children of `i` are `2 * i` and the next; the rows are the leaves.
    let mut tree = vec![Datum::Null; 2 * count];
    for row in 0..count {
        tree[count + row] = arguments.get(row)?.map_or(Datum::Null, |args| args[0]);
    }
    for node in (1..count).rev() {
        tree[node] = better(tree[2 * node], tree[2 * node + 1]);
    }
    let of = |rows: Range<usize>| {
        let (mut best, mut from, mut to) = (Datum::Null, rows.start + count, rows.end + count);
        while from < to {
            if from % 2 == 1 {
                best = better(best, tree[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                best = better(best, tree[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
        best
    };
    let value = |(row, frame): (usize, &Range<usize>)| {
        let pieces = pieces(frame.clone(), exclusion, row, arguments.rows);
        pieces.into_iter().map(of).fold(Datum::Null, better)
    };
    Ok(frames.by_row().map(value).collect())
}
