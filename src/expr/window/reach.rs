//! How far a change in a partition reaches: which rows can have another value, and what must be
//! known to compute theirs.
//!
//! A call is *near-sighted* where each row's value depends on rows near it alone (`lag`, bounded
//! frames), and *running* where it depends on the rows before only by what they come to
//! ([`super::running`]). A change then spares the rows before it, up to those whose frames hold
//! it, and those behind it as well, where what precedes them comes to the same as before. Calls
//! that see all of their partition (`ntile`, frames without an end) are neither.

use std::ops::Range;

use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Bound, Exclusion, Frame, FrameMode, WindowCall, WindowFunc};
use crate::expr::window::frame::{Edges, check_offset};
use crate::expr::window::partition::{OrderColumn, Partition, frames_of};
use crate::expr::window::running::Running;
use crate::repr::Datum;

/// How far calls see, all of them together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Towards the partition's begin.
    pub before: Extent,
    /// Towards its end.
    pub behind: Extent,
    /// Whether peers matter, so that groups of them must be seen whole.
    pub peers: bool,
    /// Whether a call needs what the rows before come to.
    pub running: bool,
    /// Whether that is no sum, so that what a change makes of it is known only some rows behind.
    pub selects: bool,
    /// The calls whose frames are bounded by how far values are away.
    pub ranges: Vec<usize>,
}

/// So many rows, and so many groups of peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Rows.
    pub rows: usize,
    /// Groups beyond the own one.
    pub groups: usize,
}

impl Extent {
    fn see(&mut self, other: Extent) {
        self.rows = self.rows.max(other.rows);
        self.groups = self.groups.max(other.groups);
    }
}

/// Further than this it is not worth to look.
const FAR: i64 = 1 << 16;

impl Reach {
    /// How far these calls see; none where one of them sees all of its partition.
    pub fn of<'a>(calls: &'a [WindowCall], cx: &EvalContext<'a>) -> Option<Reach> {
        let mut reach = Reach::default();
        for (number, call) in calls.iter().enumerate() {
            reach.see(number, call, cx)?;
        }
        Some(reach)
    }

    fn see<'a>(&mut self, number: usize, call: &'a WindowCall, cx: &EvalContext<'a>) -> Option<()> {
        use WindowFunc::*;
        if !call.func.has_frame() && call.frame != Frame::default() {
            // Offsets are looked at all the same, and can fail.
            Edges::new(&call.frame, cx).ok()?;
        }
        match &call.func {
            RowNumber => self.running = true,
            Rank | DenseRank => (self.running, self.peers) = (true, true),
            PercentRank | CumeDist | Ntile => return None,
            Lag | Lead => {
                let rows = match call.args.get(1).map(Expr::as_literal) {
                    None => 1,
                    Some(Some(Datum::Int4(offset))) => i64::from(offset),
                    Some(Some(Datum::Null)) => 0,
                    Some(_) => return None,
                };
                let ahead = if call.func == Lead { rows } else { -rows };
                self.see_rows(-ahead)?;
                self.see_rows_behind(ahead)?;
            }
            FirstValue | LastValue | NthValue | Aggregate(_) => {
                return self.see_frame(number, call, cx);
            }
        }
        Some(())
    }

    fn see_frame<'a>(
        &mut self,
        number: usize,
        call: &'a WindowCall,
        cx: &EvalContext<'a>,
    ) -> Option<()> {
        let Frame { mode, start, end, exclusion } = &call.frame;
        self.peers |= *mode != FrameMode::Rows;
        self.peers |= matches!(exclusion, Exclusion::Group | Exclusion::Ties);
        if *start == Bound::UnboundedPreceding && !sees_its_end(call) {
            let running = Running::of(call)?;
            self.running = true;
            self.selects |= !matches!(running, Running::Sum(_));
            if *mode == FrameMode::Range && matches!(end, Bound::Preceding(_)) {
                return None;
            }
        }
        for (bound, is_start) in [(start, true), (end, false)] {
            let sign = match bound {
                Bound::UnboundedPreceding if is_start => continue,
                Bound::UnboundedPreceding | Bound::UnboundedFollowing => return None,
                Bound::CurrentRow => continue,
                Bound::Preceding(_) => -1,
                Bound::Following(_) => 1,
            };
            let offset = check_offset(bound.offset()?, is_start, *mode, cx).ok()?;
            match (mode, offset) {
                (FrameMode::Range, _) => self.ranges.push(number),
                (FrameMode::Rows, Datum::Int8(rows)) => {
                    let ahead = rows.saturating_mul(sign);
                    self.see_rows(-ahead)?;
                    self.see_rows_behind(ahead)?;
                }
                (FrameMode::Groups, Datum::Int8(groups)) if groups <= FAR => {
                    let groups = Extent { rows: 0, groups: groups as usize };
                    let side = if sign < 0 { &mut self.before } else { &mut self.behind };
                    side.see(groups);
                }
                _ => return None,
            }
        }
        self.ranges.dedup();
        Some(())
    }

    fn see_rows(&mut self, rows: i64) -> Option<()> {
        self.before.see(Extent { rows: rows.max(0) as usize, groups: 0 });
        (rows <= FAR).then_some(())
    }

    fn see_rows_behind(&mut self, rows: i64) -> Option<()> {
        self.behind.see(Extent { rows: rows.max(0) as usize, groups: 0 });
        (rows <= FAR).then_some(())
    }

    /// Whether no row behind one of that order has a frame that holds a value.
    pub fn is_behind<'a>(
        &self,
        calls: &'a [WindowCall],
        (value, row): (&Datum<'a>, &Datum<'a>),
        order: OrderColumn,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        self.all_ranges(calls, cx, |edges| edges.is_before_start(value, row, order, cx))
    }

    /// Whether no row before one of that order has a frame that holds a value.
    pub fn is_beyond<'a>(
        &self,
        calls: &'a [WindowCall],
        (value, row): (&Datum<'a>, &Datum<'a>),
        order: OrderColumn,
        cx: &EvalContext<'a>,
    ) -> Result<bool, EvalError> {
        self.all_ranges(calls, cx, |edges| edges.is_beyond_end(value, row, order, cx))
    }

    fn all_ranges<'a>(
        &self,
        calls: &'a [WindowCall],
        cx: &EvalContext<'a>,
        mut holds: impl FnMut(Edges<'a>) -> Result<bool, EvalError>,
    ) -> Result<bool, EvalError> {
        for call in &self.ranges {
            if !holds(Edges::new(&calls[*call].frame, cx)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The rows that a change of `changed` ones can reach, by the frames as they are now; what
    /// precedes `rows` comes to the same as before.
    pub fn reached<'a>(
        &self,
        calls: &'a [WindowCall],
        rows: &Partition<'_, 'a>,
        changed: Range<usize>,
        cx: &EvalContext<'a>,
    ) -> Result<Range<usize>, EvalError> {
        let (first, end) = match self.peers {
            true => rows.with_peers(changed),
            false => (changed.start, changed.end),
        };
        let mut reached =
            first.saturating_sub(self.behind.rows)..(end + self.before.rows).min(rows.len());
        let framed = |call: &&WindowCall| call.func.has_frame();
        for call in calls.iter().filter(framed) {
            let from_first = call.frame.start == Bound::UnboundedPreceding;
            let sees = |(row, frame): &(usize, Range<usize>)| match from_first {
                true if *row < first => frame.end > first,
                true => frame.end < if self.selects { rows.len() } else { end },
                // What lies between a row and its frame says where the frame is.
                false => frame.start.min(*row) < end && first < frame.end.max(row + 1),
            };
            let mut seen = frames_of(call, rows, cx)?.into_iter().enumerate().filter(sees);
            if let Some((least, _)) = seen.next() {
                let last = seen.next_back().map_or(least, |(row, _)| row);
                reached.start = reached.start.min(least);
                reached.end = reached.end.max(last + 1);
            }
        }
        Ok(reached)
    }
}

/// Whether the last row of a frame is all that matters of it, and is never far.
fn sees_its_end(call: &WindowCall) -> bool {
    call.func == WindowFunc::LastValue
        && call.frame.exclusion == Exclusion::NoOthers
        && matches!(call.frame.end, Bound::CurrentRow | Bound::Following(_))
}
