//! Window functions over large partitions: a change computes what it reaches, no more.
//!
//! [`super::partition`] answers with a whole partition. Where the calls allow it ([`Reach`]) and a
//! partition is large, this operator keeps what its rows come to, block by block ([`Blocks`]), and
//! at each time
//!
//! 1. finds the blocks that hold changed rows, and goes back and ahead from them as far as calls
//!    see, twice: to the rows whose frames may hold a change, and to the rows of their frames;
//! 2. reads these blocks, as they were and as they are;
//! 3. goes on to the partition's end, if running calls come to something else behind them;
//! 4. computes the calls for the rows that are reached, from what precedes the blocks on, and sends
//!    what is different.
//!
//! Changes that are far apart are treated apart. Nothing but the blocks is kept: old values are
//! computed again from the arrangement, as everywhere.
//!
//! An error anywhere takes the place of all rows of a partition, so when one comes up, and as long
//! as it stands, the partition is computed whole and has no blocks.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use bumpalo::Bump;
use differential_dataflow::trace::{Cursor, Navigable};
use foldhash::fast::FixedState;
use smallvec::SmallVec;

use super::blocks::{BLOCK, Block, Blocks, Place};
use super::group::{Answer, Answers, Old, Output, PerKey};
use super::partition::{Stretch, Windowed, put};
use super::rows::RowSink;
use super::topk::order_and_row;
use crate::dataflow::arrangement::{RowBatch, RowRef};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::window::call::WindowCall;
use crate::expr::window::partition::{Before, OrderColumn, evaluate};
use crate::expr::window::reach::Reach;
use crate::expr::window::running::Summary;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_column, pack};
use crate::repr::{Datum, Diff, Row, Timestamp};

/// Partitions with fewer rows are computed whole.
const LARGE: usize = 4 * BLOCK;

type Batch = Rc<RowBatch>;
type BatchCursor = <Batch as Navigable>::Cursor;

/// The operator's logic and what it keeps.
pub struct Moving {
    windowed: Windowed,
    reach: Reach,
    sink: RowSink,
    settings: FormatSettings,
    /// The large partitions of which no row has failed.
    blocks: HashMap<Row, Blocks, FixedState>,
    answers: Answers,
}

/// A row of a partition: how often it is there before a time, and how often after it.
type Change<'b> = (RowRef<'b>, Diff, Diff);

/// A partition in older batches, with what is new added time by time.
struct Rows<'b> {
    batches: &'b [Batch],
    cursors: &'b mut [BatchCursor],
    at: SmallVec<[usize; 8]>,
    fresh: SmallVec<[RowRef<'b>; 8]>,
    /// What has been added of each fresh row before this time, and with it.
    counts: Vec<(Diff, Diff)>,
    work: usize,
}

impl<'b> Rows<'b> {
    fn find(
        old: &'b mut Old<Batch>,
        key: RowRef<'_>,
        fresh: SmallVec<[RowRef<'b>; 8]>,
    ) -> Rows<'b> {
        let Old { batches, cursors } = old;
        let mut at = SmallVec::new();
        for (i, (batch, cursor)) in batches.iter().zip(cursors.iter_mut()).enumerate() {
            cursor.seek_key(batch, key);
            if cursor.get_key(batch) == Some(key) {
                at.push(i);
            }
        }
        let counts = vec![(0, 0); fresh.len()];
        Rows { batches, cursors, at, fresh, counts, work: 0 }
    }

    /// Reads the rows from a value on, up to another.
    fn read(&mut self, from: &[u8], to: Option<&[u8]>) -> Vec<Change<'b>> {
        let Rows { batches, cursors, at, fresh, counts, work } = self;
        let batches: &'b [Batch] = batches;
        for i in at.iter() {
            cursors[*i].rewind_vals(&batches[*i]);
            cursors[*i].seek_val(&batches[*i], RowRef(from));
        }
        let mut next = fresh.partition_point(|row| row.0 < from);
        let mut rows = Vec::new();
        loop {
            let values = at.iter().filter_map(|i| cursors[*i].get_val(&batches[*i]));
            let least = values.chain(fresh.get(next).copied()).min();
            let Some(least) = least.filter(|least| to.is_none_or(|to| least.0 < to)) else {
                return rows;
            };
            *work += 1;
            let mut count = 0;
            for &i in at.iter() {
                let (batch, cursor) = (&batches[i], &mut cursors[i]);
                if cursor.get_val(batch) == Some(least) {
                    cursor.map_times(batch, |_, diff| count += *diff);
                    cursor.step_val(batch);
                }
            }
            let mut added = (0, 0);
            if fresh.get(next) == Some(&least) {
                added = counts[next];
                next += 1;
            }
            let (was, is) = (count + added.0, count + added.1);
            if was != 0 || is != 0 {
                rows.push((least, was, is));
            }
        }
    }
}

impl Moving {
    /// The logic of these windows, if it can do better than to compute whole partitions.
    pub fn of(windowed: &Windowed, settings: &FormatSettings) -> Option<Reach> {
        let arena = Bump::new();
        let reach = Reach::of(&windowed.calls, &EvalContext { arena: &arena, settings });
        reach.filter(|_| windowed.is_sortable())
    }

    /// The logic of windows that see so far.
    pub fn new(
        windowed: Windowed,
        reach: Reach,
        sink: RowSink,
        settings: &FormatSettings,
    ) -> Moving {
        let (blocks, answers) = (HashMap::default(), Answers::default());
        Moving { windowed, reach, sink, settings: settings.clone(), blocks, answers }
    }
}

impl PerKey<Batch> for Moving {
    fn treat(
        &mut self,
        (batch, cursor): (&Batch, &mut BatchCursor),
        old: &mut Old<Batch>,
        out: &mut Output,
    ) -> usize {
        let key = cursor.key(batch);
        let mut fresh: SmallVec<[RowRef<'_>; 8]> = SmallVec::new();
        let mut edits: SmallVec<[(Timestamp, usize, Diff); 8]> = SmallVec::new();
        while let Some(row) = cursor.get_val(batch) {
            cursor.map_times(batch, |time, diff| edits.push((*time, fresh.len(), *diff)));
            fresh.push(row);
            cursor.step_val(batch);
        }
        edits.sort_unstable();
        let mut rows = Rows::find(old, key, fresh);
        let held = Row::new(key.0);
        let mut blocks = self.blocks.remove(&held);
        let mut was_whole = false;
        for same in edits.chunk_by(|a, b| a.0 == b.0) {
            same.iter().for_each(|(_, row, diff)| rows.counts[*row].1 += *diff);
            let time = same[0].0;
            let changed: Vec<usize> = same.iter().map(|(_, row, _)| *row).collect();
            let few = |blocks: &Blocks| changed.len() * BLOCK <= blocks.rows();
            let mut kept = blocks.take().filter(few);
            let mut stepped = false;
            if let Some(blocks) = &mut kept {
                let mut step = Step { logic: self, blocks, rows: &mut rows, time };
                stepped = step.run(&changed, out).is_ok();
                was_whole = false;
            }
            if !stepped {
                kept = self.whole(&mut rows, was_whole, time, out);
                was_whole = true;
            }
            blocks = kept;
            rows.counts.iter_mut().for_each(|(was, is)| *was = *is);
        }
        self.blocks.extend(blocks.map(|blocks| (held, blocks)));
        edits.len() + rows.work
    }
}

impl Moving {
    /// Answers with all rows of a partition, and cuts it into blocks if it is large. What was
    /// answered before is known where that was whole as well.
    fn whole(
        &mut self,
        rows: &mut Rows<'_>,
        was_whole: bool,
        time: Timestamp,
        out: &mut Output,
    ) -> Option<Blocks> {
        let all = rows.read(&[], None);
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &self.settings };
        let Moving { windowed, reach, sink, answers, .. } = self;
        if !was_whole {
            let was = windowed.stretch(all.iter().map(|(row, was, _)| (*row, *was)));
            answers.begin(|answer| {
                put_all(windowed, &was, sink, answer, &cx);
            });
        }
        let rows: Vec<_> = all.iter().map(|(row, _, is)| (*row, *is)).collect();
        let is = windowed.stretch(rows.iter().copied());
        let mut failed = false;
        answers.next(time, |answer| failed = !put_all(windowed, &is, sink, answer, &cx), out);
        if failed || is.len() < LARGE {
            return None;
        }
        let blocks = cut(windowed, reach, &rows, (Row::EMPTY, Row::EMPTY), &cx).ok()?;
        Some(Blocks::new(&windowed.calls, blocks))
    }
}

/// Answers with all rows, or the error that takes their place; says whether there was none.
fn put_all<'a>(
    windowed: &'a Windowed,
    stretch: &Stretch<'a>,
    sink: &mut RowSink,
    answer: &mut Answer,
    cx: &EvalContext<'a>,
) -> bool {
    if stretch.len() == 0 {
        return true;
    }
    let rows = windowed.partition(stretch);
    match evaluate(&windowed.calls, &rows, 0..rows.len(), cx) {
        Ok(columns) => {
            put(&rows, 0..rows.len(), &columns, sink, answer);
            true
        }
        Err(error) => {
            answer.add(1, |emit| emit.err(&error));
            false
        }
    }
}

/// Cuts rows into blocks, the first of which begins with what was the begin of one.
fn cut<'a>(
    windowed: &'a Windowed,
    reach: &Reach,
    rows: &[(RowRef<'a>, Diff)],
    begin: (Row, Row),
    cx: &EvalContext<'a>,
) -> Result<Vec<Block>, EvalError> {
    let total: usize = rows.iter().map(|(_, count)| (*count).max(0) as usize).sum();
    let size = total.div_ceil(total.div_ceil(BLOCK).max(1)).max(1);
    let mut cuts = vec![0];
    let mut held = 0;
    for (i, (value, count)) in rows.iter().enumerate() {
        let starts =
            || !reach.peers || order_and_row(rows[i - 1].0.0).0 != order_and_row(value.0).0;
        if held >= size && starts() {
            cuts.push(i);
            held = 0;
        }
        held += (*count).max(0) as usize;
    }
    cuts.push(rows.len());
    let mut blocks = Vec::with_capacity(cuts.len());
    for pair in cuts.windows(2) {
        let stretch = windowed.stretch(rows[pair[0]..pair[1]].iter().copied());
        let mut summary = Summary::of(&windowed.calls, &windowed.partition(&stretch), cx)?;
        if !reach.peers {
            // Blocks do not begin where groups do.
            summary.groups = 0;
        }
        let (from, order) = match pair[0] {
            0 => begin.clone(),
            first => {
                let value = rows[first].0;
                let order = order_and_row(value.0).0;
                let from = if reach.peers { order } else { value.0 };
                (Row::new(from), windowed.order_of(value).map_or(Row::EMPTY, |by| pack(&[by])))
            }
        };
        blocks.push(Block { from, order, summary });
    }
    Ok(blocks)
}

/// A time of a partition that is held in blocks.
struct Step<'m, 'b> {
    logic: &'m mut Moving,
    blocks: &'m mut Blocks,
    rows: &'m mut Rows<'b>,
    time: Timestamp,
}

impl<'b> Step<'_, 'b> {
    /// Answers with what changed rows reach. Errors: then nothing was sent.
    fn run(&mut self, changed: &[usize], out: &mut Output) -> Result<(), EvalError> {
        let (mut answered, mut were) = (Output::default(), Vec::new());
        let result = self.answer_all(changed, &mut were, &mut answered);
        match result {
            Ok(()) => out.append(answered),
            Err(_) => were.iter().for_each(|(row, was)| self.rows.counts[*row].0 = *was),
        }
        result
    }

    fn answer_all(
        &mut self,
        changed: &[usize],
        were: &mut Vec<(usize, Diff)>,
        out: &mut Output,
    ) -> Result<(), EvalError> {
        let (mut rest, mut least) = (changed, 1);
        while !rest.is_empty() {
            let (span, count) = self.span(rest, least)?;
            let is_last = count == rest.len();
            if !self.answer(span, is_last, out)? {
                // Together with those behind it may come to the same as before.
                least = count * 2;
                continue;
            }
            // Blocks are other ones now: whoever reads these changes again is to see no changes.
            for row in &rest[..count] {
                let (was, is) = &mut self.rows.counts[*row];
                were.push((*row, *was));
                *was = *is;
            }
            (rest, least) = (&rest[count..], 1);
        }
        Ok(())
    }

    fn calls(&self) -> &[WindowCall] {
        &self.logic.windowed.calls
    }

    /// The blocks to be read for the first of the changed rows, and for how many of them: at least
    /// so many, if there are.
    fn span(&self, changed: &[usize], least: usize) -> Result<((Place, Place), usize), EvalError> {
        let value = |number: usize| changed.get(number).map(|row| self.rows.fresh[*row]);
        let mut last = value(0).expect("something has changed");
        let from = self.back(last)?;
        let mut count = 1;
        loop {
            let place = self.blocks.find(last.0);
            let end = self.ahead(place, last)?;
            let Some(next) = value(count) else { return Ok(((from, end), count)) };
            let is_apart = self.blocks.find(next.0) > end && self.back(next)? > place;
            if is_apart && count >= least {
                return Ok(((from, end), count));
            }
            (last, count) = (next, count + 1);
        }
    }

    /// The first block that must be seen for a change.
    fn back(&self, changed: RowRef<'b>) -> Result<Place, EvalError> {
        let (reach, blocks) = (&self.logic.reach, &self.blocks);
        let mut reached = blocks.back(blocks.find(changed.0), reach.behind);
        if !reach.ranges.is_empty() {
            while let Some(before) = blocks.before(reached)
                && !self.asks(Reach::is_beyond, self.order_of(changed), self.order_at(reached))?
            {
                reached = before;
            }
        }
        let mut seen = blocks.back(reached, reach.before);
        if !reach.ranges.is_empty() {
            while let Some(before) = blocks.before(seen)
                && !self.asks(Reach::is_behind, self.order_at(seen), self.order_at(reached))?
            {
                seen = before;
            }
        }
        Ok(seen)
    }

    /// The last block that must be seen for a change in a block.
    fn ahead(&self, last: Place, changed: RowRef<'b>) -> Result<Place, EvalError> {
        let (reach, blocks) = (&self.logic.reach, &self.blocks);
        let mut reached = blocks.ahead(last, reach.before);
        if reach.ranges.is_empty() {
            return Ok(blocks.ahead(reached, reach.behind));
        }
        while let Some(behind) = blocks.behind(reached)
            && !self.asks(Reach::is_behind, self.order_of(changed), self.order_at(behind))?
        {
            reached = behind;
        }
        let mut seen = blocks.ahead(reached, reach.behind);
        let Some(first_spared) = blocks.behind(reached) else { return Ok(seen) };
        while let Some(behind) = blocks.behind(seen)
            && !self.asks(Reach::is_beyond, self.order_at(behind), self.order_at(first_spared))?
        {
            seen = behind;
        }
        Ok(seen)
    }

    /// The packed order of a row.
    fn order_of(&self, value: RowRef<'_>) -> Row {
        self.logic.windowed.order_of(value).map_or(Row::EMPTY, |by| pack(&[by]))
    }

    fn order_at(&self, place: Place) -> Row {
        self.blocks.block(place).order.clone()
    }

    fn asks(&self, question: Question, value: Row, row: Row) -> Result<bool, EvalError> {
        let Some(order) = self.logic.windowed.single() else { return Ok(false) };
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &self.logic.settings };
        let ty = [self.logic.windowed.types()[order.column]];
        let value = decode_column(&ty, 0, value.bytes());
        let row = decode_column(&ty, 0, row.bytes());
        question(&self.logic.reach, self.calls(), (&value, &row), order, &cx)
    }

    /// Answers with what the changes in some blocks reach, and cuts these blocks anew. Where they
    /// reach everything behind and are not the last ones, nothing is done, which it says.
    fn answer(
        &mut self,
        span: (Place, Place),
        are_last: bool,
        out: &mut Output,
    ) -> Result<bool, EvalError> {
        let (from, mut last) = span;
        let arena = Bump::new();
        let begin = self.blocks.block(from);
        let begin = (begin.from.clone(), begin.order.clone());
        let end = self.blocks.behind(last).map(|place| self.blocks.block(place).from.clone());
        let mut all = self.rows.read(begin.0.bytes(), end.as_ref().map(Row::bytes));
        let Moving { windowed, reach, sink, settings, answers, .. } = &mut *self.logic;
        let cx = EvalContext { arena: &arena, settings };
        let calls = &windowed.calls;
        let now =
            |all: &[Change<'b>]| all.iter().map(|(row, _, is)| (*row, *is)).collect::<Vec<_>>();
        let mut cut_anew = cut(windowed, reach, &now(&all), begin.clone(), &cx)?;
        let mut same = true;
        if reach.running {
            let mut sum = Summary::default();
            cut_anew.iter().for_each(|block| sum.append(calls, &block.summary));
            same = sum == self.blocks.sum(calls, (from, last));
        }
        if !same && !are_last {
            return Ok(false);
        }
        if let (false, Some(end)) = (same, end) {
            last = self.blocks.last();
            all.extend(self.rows.read(end.bytes(), None));
            cut_anew = cut(windowed, reach, &now(&all), begin, &cx)?;
        }
        let preceding = self.blocks.preceding(calls, from);
        let was = windowed.stretch(all.iter().map(|(row, was, _)| (*row, *was)));
        let is = windowed.stretch(all.iter().map(|(row, _, is)| (*row, *is)));
        let [was, is] = [&was, &is].map(|stretch| {
            let rows = windowed.partition(stretch);
            let starts = preceding.starts(calls, &rows);
            rows.behind(Before { rows: preceding.rows, groups: preceding.groups, starts })
        });
        let (changed_was, changed_is) = changed(&all);
        let reached_was = reach.reached(calls, &was, changed_was, &cx)?;
        let reached_is = reach.reached(calls, &is, changed_is, &cx)?;
        let start = reached_was.start.min(reached_is.start);
        let spared = match same {
            true => (was.len() - reached_was.end).min(is.len() - reached_is.end),
            false => 0,
        };
        let (was_wanted, is_wanted) = (start..was.len() - spared, start..is.len() - spared);
        let values_were = evaluate(calls, &was, was_wanted.clone(), &cx)?;
        let values_are = evaluate(calls, &is, is_wanted.clone(), &cx)?;
        answers.begin(|answer| put(&was, was_wanted, &values_were, sink, answer));
        let answer = |answer: &mut Answer| put(&is, is_wanted, &values_are, sink, answer);
        answers.next(self.time, answer, out);
        self.blocks.replace(calls, (from, last), cut_anew);
        Ok(true)
    }
}

type Question = for<'a, 'c, 'd> fn(
    &'c Reach,
    &'a [WindowCall],
    (&'d Datum<'a>, &'d Datum<'a>),
    OrderColumn,
    &'d EvalContext<'a>,
) -> Result<bool, EvalError>;

/// From the first changed row to the last one: their places before, and their places now.
fn changed(rows: &[Change<'_>]) -> (Range<usize>, Range<usize>) {
    let (mut was, mut is) = (0usize, 0usize);
    let mut found: Option<(usize, usize, usize)> = None;
    for (_, before, now) in rows {
        let start = was;
        was += (*before).max(0) as usize;
        is += (*now).max(0) as usize;
        if before != now {
            let first = found.map_or(start, |(first, ..)| first);
            found = Some((first, was, is));
        }
    }
    let (first, was, is) = found.unwrap_or_default();
    (first..was, first..is)
}
