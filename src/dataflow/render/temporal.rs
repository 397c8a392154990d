//! Rows that come and go as time goes on.
//!
//! Each row is sent when it comes to pass the filter, and taken back when it no longer does, with
//! the exact times of both, which mostly lie in the future. What lies in the future is held here,
//! in buckets by time, until the frontier enters its bucket: in the arrangement behind, a million
//! updates that are yet to come would be looked at with each change (28 ms, against 5.5 µs here).
//! Near buckets are a second wide, far ones an hour; a far one is dealt out when it is entered.
//! A bucket holds the capability for its updates, so that the output is never complete beyond them.

use std::collections::BTreeMap;

use bumpalo::Bump;
use differential_dataflow::AsCollection;
use differential_dataflow::consolidation::consolidate_updates;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::OutputBuilder;

use super::rows::Shaper;
use crate::dataflow::arrangement::{RowUpdate, Rows, RowsByKey};
use crate::dataflow::channel::Local;
use crate::dataflow::emit::Emit;
use crate::dataflow::operator::OperatorBuilder;
use crate::expr::func::EvalContext;
use crate::expr::temporal::{Temporal, Verdict};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::decode_values;
use crate::repr::{Diff, Row, ScalarType, Timestamp};

/// Nanoseconds of a near bucket, as a power of two: 1.07 s.
const NEAR_BITS: u32 = 30;
/// Near buckets of a far one, as a power of two: 73 minutes.
const FAR_BITS: u32 = 12;
/// Updates that a bucket holds before it is consolidated.
const CONSOLIDATE_MIN: usize = 1 << 10;
/// Microseconds from 1970 to 2000, where timestamps begin.
const EPOCH_MICROS: i64 = 946_684_800_000_000;

/// A filter that reads the clock, and what becomes of its rows.
pub struct TimedFilter {
    filter: Temporal,
    types: Vec<ScalarType>,
    /// Nothing at this time or later is wanted.
    until: Option<Timestamp>,
    settings: FormatSettings,
    shaper: Shaper,
    arena: Bump,
    scratch: DatumVec,
    emit: Emit,
}

impl TimedFilter {
    /// Filters rows of `types`, and shapes what passes.
    pub fn new(
        filter: Temporal,
        types: &[ScalarType],
        until: Option<Timestamp>,
        settings: &FormatSettings,
        shaper: Shaper,
    ) -> TimedFilter {
        TimedFilter {
            filter,
            types: types.to_vec(),
            until,
            settings: settings.clone(),
            shaper,
            arena: Bump::new(),
            scratch: DatumVec::new(),
            emit: Emit::default(),
        }
    }

    /// Adds the updates that come of a change to a row.
    fn apply(&mut self, row: &Row, time: Timestamp, diff: Diff, made: &mut Made) {
        self.arena.reset();
        let mut datums = self.scratch.borrow();
        decode_values(&self.types, row.bytes(), &mut datums);
        let (from, until) = (micros_of(time), micros_of(self.until.unwrap_or(Timestamp::MAX)));
        let verdicts = self.filter.verdicts(&mut datums, from, until.max(from), &self.arena);
        let cx = EvalContext { arena: &self.arena, settings: &self.settings };
        for (index, (moment, verdict)) in verdicts.iter().enumerate() {
            let begin = if index == 0 { time } else { nanos_of(*moment) };
            let end = verdicts.get(index + 1).map(|(moment, _)| nanos_of(*moment));
            let wanted = |time: &Timestamp| self.until.is_none_or(|until| *time < until);
            if !wanted(&begin) {
                break;
            }
            match verdict {
                Verdict::Out => continue,
                Verdict::In => (self.shaper)(&datums, &cx, &mut self.emit),
                Verdict::Failed(error) => self.emit.err(error),
            }
            let end = end.filter(wanted);
            for made_row in self.emit.oks.drain(..) {
                made.oks.extend(end.map(|end| (made_row.clone(), end, -diff)));
                made.oks.push((made_row, begin, diff));
            }
            for error in self.emit.errs.drain(..) {
                made.errs.extend(end.map(|end| (error.clone(), end, -diff)));
                made.errs.push((error, begin, diff));
            }
        }
    }
}

/// The microsecond of a time, as timestamps count.
fn micros_of(time: Timestamp) -> i64 {
    i64::try_from(time / 1_000).unwrap_or(i64::MAX) - EPOCH_MICROS
}

/// The first time of a microsecond.
fn nanos_of(micros: i64) -> Timestamp {
    let micros = micros.saturating_add(EPOCH_MICROS);
    u64::try_from(micros).unwrap_or(0).saturating_mul(1_000)
}

/// Updates, and the errors among them.
#[derive(Default)]
struct Made {
    oks: Vec<RowUpdate>,
    errs: Vec<(Row, Timestamp, Diff)>,
}

/// Capabilities for rows, and for errors where there can be any.
#[derive(Clone)]
struct Held {
    oks: Capability<Timestamp>,
    errs: Option<Capability<Timestamp>>,
}

impl Held {
    fn delayed(&self, time: Timestamp) -> Held {
        let delayed = |of: &Capability<Timestamp>| of.delayed(&time.max(*of.time()));
        Held { oks: delayed(&self.oks), errs: self.errs.as_ref().map(delayed) }
    }
}

/// What lies in the future.
#[derive(Default)]
struct Buckets(BTreeMap<u64, Bucket>);

struct Bucket {
    held: Held,
    made: Made,
    /// How many updates there were when it was last consolidated.
    consolidated: usize,
}

impl Buckets {
    /// Puts what is not due at the near bucket `now` into buckets; what is due stays.
    fn put_off(&mut self, made: &mut Made, now: u64, held: &Held) {
        let is_due = |time: &Timestamp| *time >> NEAR_BITS <= now;
        for update in made.oks.extract_if(.., |(_, time, _)| !is_due(time)) {
            self.bucket(update.1, now, held).made.oks.push(update);
        }
        for update in made.errs.extract_if(.., |(_, time, _)| !is_due(time)) {
            self.bucket(update.1, now, held).made.errs.push(update);
        }
    }

    fn bucket(&mut self, time: Timestamp, now: u64, held: &Held) -> &mut Bucket {
        let near = time >> NEAR_BITS;
        // A far bucket is known by the first near one in it, which it may share.
        let far = near >> FAR_BITS << FAR_BITS;
        let key = if far > now { far } else { near };
        let bucket = self.0.entry(key).or_insert_with(|| Bucket {
            held: held.delayed(key << NEAR_BITS),
            made: Made::default(),
            consolidated: CONSOLIDATE_MIN,
        });
        // A row that goes takes back what was to come of it.
        if bucket.made.oks.len() > 2 * bucket.consolidated {
            consolidate_updates(&mut bucket.made.oks);
            bucket.consolidated = bucket.made.oks.len().max(CONSOLIDATE_MIN);
        }
        bucket
    }

    /// A bucket that the frontier has entered.
    fn entered(&mut self, now: u64) -> Option<Bucket> {
        let first = self.0.first_entry().filter(|entry| *entry.key() <= now)?;
        Some(first.remove())
    }
}

/// Filters a collection of whole rows; returns rows and, where that is `fallible`, errors.
pub fn timed_filter<'s>(
    rows: RowsByKey<'s>,
    name: &str,
    mut filter: TimedFilter,
    fallible: bool,
) -> (RowsByKey<'s>, Option<Rows<'s>>) {
    let scope = rows.inner.scope();
    let mut builder = OperatorBuilder::new(name.to_owned(), scope);
    let mut input = builder.new_input(rows.inner, Local);
    let (ok_output, ok_stream) = builder.new_output();
    let (err_output, err_stream) = fallible.then(|| builder.new_output()).unzip();
    let mut ok_output = OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from(ok_output);
    let mut err_output = err_output.map(OutputBuilder::<_, CapacityContainerBuilder<Vec<_>>>::from);
    builder.build(move |_capabilities| {
        let mut buckets = Buckets::default();
        move |frontiers| {
            let mut ok_output = ok_output.activate();
            let mut err_output = err_output.as_mut().map(OutputBuilder::activate);
            let mut send = |made: &mut Made, held: &Held| {
                if !made.oks.is_empty() {
                    ok_output.session(&held.oks).give_container(&mut made.oks);
                }
                if let (Some(output), Some(held)) = (&mut err_output, &held.errs)
                    && !made.errs.is_empty()
                {
                    output.session(held).give_container(&mut made.errs);
                }
                made.oks.clear();
                made.errs.clear();
            };
            let mut made = Made::default();
            input.for_each(|capability, updates| {
                let Some(time) = capability.least().copied() else { return };
                let held = Held {
                    oks: capability.delayed(&time, 0),
                    errs: fallible.then(|| capability.delayed(&time, 1)),
                };
                for ((_, row), time, diff) in updates.drain(..) {
                    filter.apply(&row, time, diff, &mut made);
                }
                buckets.put_off(&mut made, time >> NEAR_BITS, &held);
                send(&mut made, &held);
            });
            let frontier = frontiers[0].frontier().first().copied().unwrap_or(Timestamp::MAX);
            let now = frontier >> NEAR_BITS;
            while let Some(Bucket { held, made: mut due, .. }) = buckets.entered(now) {
                buckets.put_off(&mut due, now, &held);
                send(&mut due, &held);
            }
        }
    });
    (ok_stream.as_collection(), err_stream.map(AsCollection::as_collection))
}
