//! Which rows of a partition the frame of each row has, before exclusions.
//!
//! Frames of ROWS and GROUPS are counted out. Those of RANGE with offsets are found by walking: as
//! the current row moves on, both ends only move on, as in PostgreSQL, so that all frames together
//! cost one pass even where an order has values that nothing is near to (NaN, infinities, NULL).

use std::ops::Range;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Bound, Exclusion, Frame, FrameMode};
use crate::expr::window::in_range::{Reach, in_range};
use crate::expr::window::partition::{OrderColumn, Partition};
use crate::repr::Datum;

/// An end with its offset evaluated.
#[derive(Clone, Copy, Debug)]
enum Edge<'a> {
    First,
    Before(Datum<'a>),
    Here,
    Behind(Datum<'a>),
    Last,
}

/// The ends of a frame, the same for all rows.
#[derive(Clone, Copy, Debug)]
pub struct Edges<'a> {
    start: Edge<'a>,
    end: Edge<'a>,
}

impl<'a> Edges<'a> {
    /// Evaluates the offsets. Errors: 22004 where one is NULL, 22013 where a count is negative.
    pub fn new(frame: &'a Frame, cx: &EvalContext<'a>) -> Result<Edges<'a>, EvalError> {
        Ok(Edges {
            start: edge(&frame.start, true, frame.mode, cx)?,
            end: edge(&frame.end, false, frame.mode, cx)?,
        })
    }

    /// Whether a value of the order's column is certainly before the frame of a row with another,
    /// as far as offsets of RANGE tell; other ends do not.
    pub fn is_before_start(
        &self,
        value: &Datum<'a>,
        row: &Datum<'a>,
        order: OrderColumn,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        match self.start {
            Edge::Before(by) => is_left_behind((value, row), (by, true, true), order, cx),
            Edge::Behind(by) => is_left_behind((value, row), (by, false, true), order, cx),
            Edge::First | Edge::Here | Edge::Last => Ok(true),
        }
    }

    /// Whether a value is behind the frame of a row, likewise.
    pub fn is_beyond_end(
        &self,
        value: &Datum<'a>,
        row: &Datum<'a>,
        order: OrderColumn,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        let inside = match self.end {
            Edge::Before(by) => is_left_behind((value, row), (by, true, false), order, cx)?,
            Edge::Behind(by) => is_left_behind((value, row), (by, false, false), order, cx)?,
            Edge::First | Edge::Here | Edge::Last => false,
        };
        Ok(!inside)
    }
}

fn edge<'a>(
    bound: &'a Bound,
    is_start: bool,
    mode: FrameMode,
    cx: &EvalContext<'a>,
) -> Result<Edge<'a>, EvalError> {
    Ok(match bound {
        Bound::UnboundedPreceding => Edge::First,
        Bound::Preceding(offset) => Edge::Before(check_offset(offset, is_start, mode, cx)?),
        Bound::CurrentRow => Edge::Here,
        Bound::Following(offset) => Edge::Behind(check_offset(offset, is_start, mode, cx)?),
        Bound::UnboundedFollowing => Edge::Last,
    })
}

/// The value of an offset. Errors: 22004 where it is NULL, 22013 where it counts and is negative.
pub fn check_offset<'a>(
    offset: &'a Expr,
    is_start: bool,
    mode: FrameMode,
    cx: &EvalContext<'a>,
) -> Result<Datum<'a>, EvalError> {
    let which = if is_start { "starting" } else { "ending" };
    let offset = offset.eval(&[], cx)?;
    if offset.is_null() {
        let message = format!("frame {which} offset must not be null");
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    if mode != FrameMode::Range && matches!(offset, Datum::Int8(..0)) {
        let message = format!("frame {which} offset must not be negative");
        return Err(EvalError::new(SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE, message));
    }
    Ok(offset)
}

/// The frame of each row.
///
/// Errors: 22013 where an offset of RANGE is negative, 22008 where it leads out of the range of
/// times.
pub fn frames<'a>(
    mode: FrameMode,
    edges: Edges<'a>,
    rows: &Partition<'_, 'a>,
    cx: &EvalContext<'a>,
) -> Result<Vec<Range<usize>>, EvalError> {
    let end_of = |start: usize, end: usize| start..end.max(start);
    if mode == FrameMode::Rows {
        let frame = |row| end_of(row_start(edges.start, row, rows), row_end(edges.end, row, rows));
        return Ok((0..rows.len()).map(frame).collect());
    }
    let starts = match edges.start {
        Edge::Before(offset) if mode == FrameMode::Range => range(offset, true, true, rows, cx)?,
        Edge::Behind(offset) if mode == FrameMode::Range => range(offset, false, true, rows, cx)?,
        edge => (0..rows.groups()).map(|group| group_start(edge, group, rows)).collect(),
    };
    let ends = match edges.end {
        Edge::Before(offset) if mode == FrameMode::Range => range(offset, true, false, rows, cx)?,
        Edge::Behind(offset) if mode == FrameMode::Range => range(offset, false, false, rows, cx)?,
        edge => (0..rows.groups()).map(|group| group_end(edge, group, rows)).collect(),
    };
    let mut frames = Vec::with_capacity(rows.len());
    for group in 0..rows.groups() {
        let frame = end_of(starts[group], ends[group]);
        frames.extend(rows.group(group).map(|_| frame.clone()));
    }
    Ok(frames)
}

fn count(offset: Datum<'_>) -> usize {
    match offset {
        Datum::Int8(count) => usize::try_from(count).unwrap_or(0),
        _ => 0,
    }
}

fn row_start(edge: Edge<'_>, row: usize, rows: &Partition<'_, '_>) -> usize {
    match edge {
        Edge::First => 0,
        Edge::Before(offset) => row.saturating_sub(count(offset)),
        Edge::Here => row,
        Edge::Behind(offset) => row.saturating_add(count(offset)).min(rows.len()),
        Edge::Last => rows.len(),
    }
}

fn row_end(edge: Edge<'_>, row: usize, rows: &Partition<'_, '_>) -> usize {
    match edge {
        Edge::First => 0,
        Edge::Before(offset) => (row + 1).saturating_sub(count(offset)),
        Edge::Here => row + 1,
        Edge::Behind(offset) => (row + 1).saturating_add(count(offset)).min(rows.len()),
        Edge::Last => rows.len(),
    }
}

fn group_start(edge: Edge<'_>, group: usize, rows: &Partition<'_, '_>) -> usize {
    match edge {
        Edge::First => 0,
        Edge::Before(offset) => rows.group(group.saturating_sub(count(offset))).start,
        Edge::Here => rows.group(group).start,
        Edge::Behind(offset) => match group.saturating_add(count(offset)) {
            ahead if ahead < rows.groups() => rows.group(ahead).start,
            _ => rows.len(),
        },
        Edge::Last => rows.len(),
    }
}

fn group_end(edge: Edge<'_>, group: usize, rows: &Partition<'_, '_>) -> usize {
    match edge {
        Edge::First => 0,
        Edge::Before(offset) => match group.checked_sub(count(offset)) {
            Some(before) => rows.group(before).end,
            None => 0,
        },
        Edge::Here => rows.group(group).end,
        Edge::Behind(offset) => {
            rows.group(group.saturating_add(count(offset)).min(rows.groups() - 1)).end
        }
        Edge::Last => rows.len(),
    }
}

/// The first rows (or those behind the last) that are in range, for each group of peers.
fn range<'a>(
    offset: Datum<'a>,
    preceding: bool,
    is_start: bool,
    rows: &Partition<'_, 'a>,
    cx: &EvalContext<'a>,
) -> Result<Vec<usize>, EvalError> {
    let Some(order) = rows.order else { return Ok(vec![0; rows.groups()]) };
    let value = |group: usize| rows.row(rows.group(group).start)[order.column];
    let mut edges = Vec::with_capacity(rows.groups());
    let mut at = 0;
    for group in 0..rows.groups() {
        let current = value(group);
        let is_left = |at: usize| {
            is_left_behind((&value(at), &current), (offset, preceding, is_start), order, cx)
        };
        while at < rows.groups() && is_left(at)? {
            at += 1;
        }
        edges.push(if at < rows.groups() { rows.group(at).start } else { rows.len() });
    }
    Ok(edges)
}

/// Whether a value lies before the end of a frame that is so far from the current one, which for
/// its start is: outside, for its other end: inside.
fn is_left_behind<'a>(
    (tested, current): (&Datum<'a>, &Datum<'a>),
    (offset, preceding, is_start): (Datum<'a>, bool, bool),
    order: OrderColumn,
    cx: &EvalContext<'a>,
) -> Result<bool, EvalError> {
    let turned = order.descending;
    let reach = Reach { offset, subtract: preceding != turned, below: is_start == turned };
    Ok(match (tested.is_null(), current.is_null()) {
        (false, false) => in_range(tested, current, &reach, cx)? != is_start,
        // NULLs are in range of each other alone, and their place says which side is which.
        (true, false) => order.nulls_first,
        (false, true) => !order.nulls_first,
        (true, true) => !is_start,
    })
}

/// What is left of the frame of a row: up to three stretches, in order.
pub fn pieces(
    frame: Range<usize>,
    exclusion: Exclusion,
    row: usize,
    rows: &Partition<'_, '_>,
) -> [Range<usize>; 3] {
    let without = match exclusion {
        Exclusion::NoOthers => return [frame, 0..0, 0..0],
        Exclusion::CurrentRow => row..row + 1,
        Exclusion::Group | Exclusion::Ties => rows.group(rows.group_of(row)),
    };
    let own = exclusion == Exclusion::Ties && frame.contains(&row);
    let before = frame.start..frame.end.min(without.start).max(frame.start);
    let behind = frame.start.max(without.end).min(frame.end)..frame.end;
    [before, if own { row..row + 1 } else { 0..0 }, behind]
}
