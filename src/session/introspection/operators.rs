//! What workers report: dataflows, operators, channels, arrangements.

use std::collections::{BTreeMap, BTreeSet};

use crate::coord::request::{ChannelReport, Introspection, OperatorReport, Report};
use crate::error::Result;
use crate::repr::{Datum, GlobalId, Timestamp};
use crate::session::engine::Engine;
use crate::session::introspection::content::Content;

/// The relations that workers make.
pub(super) struct Operators {
    dataflows: Content,
    operators: Content,
    channels: Content,
    elapsed: Content,
    activations: Content,
    messages: Content,
    arrangements: Content,
    parks: Content,
    errors: Content,
    progress: Content,
    blocked: Content,
    /// The first number of each dataflow of a worker, by what it maintains.
    roots: BTreeMap<(usize, GlobalId), usize>,
    /// Bytes of each arrangement, by worker and operator.
    bytes: BTreeMap<(usize, usize), u64>,
}

/// A number as it is shown.
pub(super) fn int8(number: u64) -> Datum<'static> {
    Datum::Int8(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A worker as it is shown.
fn int4(number: usize) -> Datum<'static> {
    Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX))
}

/// An object; NULL for what only a query made.
pub(super) fn object(id: GlobalId) -> Datum<'static> {
    match u32::try_from(id.0) {
        Ok(oid) if !id.is_transient() => Datum::Oid(oid),
        _ => Datum::Null,
    }
}

fn or_null(number: Option<usize>) -> Datum<'static> {
    number.map_or(Datum::Null, |number| int8(number as u64))
}

impl Operators {
    /// Nothing yet.
    pub(super) fn new(engine: &Engine) -> Result<Operators> {
        Ok(Operators {
            dataflows: Content::new(engine, "weir_dataflows")?,
            operators: Content::new(engine, "weir_operators")?,
            channels: Content::new(engine, "weir_channels")?,
            elapsed: Content::new(engine, "weir_operator_elapsed")?,
            activations: Content::new(engine, "weir_operator_activations")?,
            messages: Content::new(engine, "weir_messages")?,
            arrangements: Content::new(engine, "weir_arrangements")?,
            parks: Content::new(engine, "weir_parks")?,
            errors: Content::new(engine, "weir_errors")?,
            progress: Content::new(engine, "weir_progress")?,
            blocked: Content::new(engine, "weir_blocked")?,
            roots: BTreeMap::new(),
            bytes: BTreeMap::new(),
        })
    }

    /// All of them.
    pub(super) fn contents(&mut self) -> impl Iterator<Item = &mut Content> {
        [
            &mut self.dataflows,
            &mut self.operators,
            &mut self.channels,
            &mut self.elapsed,
            &mut self.activations,
            &mut self.messages,
            &mut self.arrangements,
            &mut self.parks,
            &mut self.errors,
            &mut self.progress,
            &mut self.blocked,
        ]
        .into_iter()
    }

    /// Bytes of all arrangements.
    pub(super) fn arranged_bytes(&self) -> u64 {
        self.bytes.values().sum()
    }

    /// Takes what workers told.
    pub(super) fn take(&mut self, told: &Introspection) -> Result<()> {
        for report in &told.workers {
            self.report(report)?;
        }
        self.take_blocked(told)
    }

    fn report(&mut self, report: &Report) -> Result<()> {
        let worker = report.worker;
        let at = |id: usize| (worker as u64, id as u64, 0);
        for gone in &report.gone {
            self.roots.remove(&(worker, gone.object));
            let last = (worker as u64, gone.end.saturating_sub(1) as u64, u64::MAX);
            let range = at(gone.first)..=last;
            self.dataflows.remove(range.clone());
            self.operators.remove(range.clone());
            self.channels.remove(range.clone());
            self.elapsed.remove(range.clone());
            self.activations.remove(range.clone());
            self.progress.remove(range.clone());
            self.messages.remove(range);
        }
        for made in &report.dataflows {
            self.roots.insert((worker, made.object), made.first);
            let row = [int4(worker), int8(made.first as u64), object(made.object)];
            self.dataflows.set(at(made.first), &row)?;
        }
        for operator in &report.operators {
            self.operator(worker, operator)?;
        }
        for channel in &report.channels {
            self.channel(worker, channel)?;
        }
        for arrangement in &report.arrangements {
            let (id, place) = (arrangement.operator, at(arrangement.operator));
            let Some(holds) = arrangement.holds else {
                self.arrangements.remove(place..=place);
                self.bytes.remove(&(worker, id));
                continue;
            };
            self.bytes.insert((worker, id), holds.bytes);
            let row = [
                int4(worker),
                int8(id as u64),
                object(arrangement.object),
                int8(holds.records),
                int8(holds.batches),
                int8(holds.bytes),
                int8(holds.shared),
                int8(holds.merges),
                int8(holds.merged),
            ];
            self.arrangements.set(place, &row)?;
        }
        let parks = report.parks;
        let row = [int4(worker), int8(parks.count), int8(parks.elapsed_ns)];
        self.parks.set((worker as u64, 0, 0), &row)?;
        self.take_progress(report)?;
        self.take_errors(report)
    }

    /// The number of an object's dataflow.
    fn dataflow(&self, worker: usize, object: GlobalId) -> Datum<'static> {
        int8(self.roots.get(&(worker, object)).copied().unwrap_or_default() as u64)
    }

    fn operator(&mut self, worker: usize, operator: &OperatorReport) -> Result<()> {
        let (at, id) = (worker as u64, operator.id as u64);
        if let Some(made) = &operator.made {
            let address: Vec<String> = made.address.iter().map(usize::to_string).collect();
            let row = [
                int4(worker),
                int8(id),
                self.dataflow(worker, made.object),
                or_null(made.parent),
                Datum::Text(&address.join(".")),
                Datum::Text(&made.name),
                object(made.object),
                made.place.as_deref().map_or(Datum::Null, Datum::Text),
            ];
            self.operators.set((at, id, 0), &row)?;
        }
        let (elapsed, activations) = (int8(operator.elapsed_ns), int8(operator.activations));
        self.elapsed.set((at, id, 0), &[int4(worker), int8(id), elapsed, activations])?;
        for (log, count) in operator.histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
            let below = int8(2u64.saturating_pow(log as u32 + 1));
            let row = [int4(worker), int8(id), below, int8(*count)];
            self.activations.set((at, id, log as u64), &row)?;
        }
        Ok(())
    }

    fn channel(&mut self, worker: usize, channel: &ChannelReport) -> Result<()> {
        let (at, id) = (worker as u64, channel.id as u64);
        if let Some(made) = &channel.made {
            let row = [
                int4(worker),
                int8(id),
                self.dataflow(worker, made.object),
                object(made.object),
                or_null(made.source.0),
                int4(made.source.1),
                or_null(made.target.0),
                int4(made.target.1),
            ];
            self.channels.set((at, id, 0), &row)?;
        }
        for (to, sent) in channel.sent.iter().enumerate().filter(|(_, sent)| sent.messages > 0) {
            let sums = [int8(sent.messages), int8(sent.records)];
            let row = [int4(worker), int8(id), int4(to), sums[0], sums[1]];
            self.messages.set((at, id, to as u64), &row)?;
        }
        Ok(())
    }

    fn take_progress(&mut self, report: &Report) -> Result<()> {
        let worker = report.worker;
        for input in &report.progress {
            let row = [
                int4(worker),
                int8(input.operator as u64),
                int4(input.input),
                if input.below == Timestamp::MAX { Datum::Null } else { int8(input.below) },
                input.moves.map_or(Datum::Null, int8),
            ];
            let place = (worker as u64, input.operator as u64, input.input as u64);
            self.progress.set(place, &row)?;
        }
        Ok(())
    }

    /// What holds back relations, in the place of that before. Where the operator of one worker is
    /// at work, those of the others wait for it.
    fn take_blocked(&mut self, told: &Introspection) -> Result<()> {
        let all = || told.workers.iter().flat_map(|report| &report.blocked);
        let busy: BTreeSet<GlobalId> =
            all().filter(|blocked| blocked.is_busy).map(|blocked| blocked.object).collect();
        let mut there = BTreeSet::new();
        for report in &told.workers {
            for blocked in &report.blocked {
                let reason = match (blocked.is_busy, blocked.waits_for) {
                    (true, _) => "work",
                    (false, Some(_)) => "input",
                    (false, None) if busy.contains(&blocked.object) => continue,
                    (false, None) => "time",
                };
                let (worker, operator) = (report.worker, blocked.operator as u64);
                let row = [
                    int4(worker),
                    object(blocked.object),
                    int8(operator),
                    int8(blocked.held_at),
                    int8(blocked.need),
                    int8(told.taken.saturating_add(1).saturating_sub(blocked.need)),
                    Datum::Text(reason),
                    blocked.waits_for.map_or(Datum::Null, object),
                ];
                let place = (worker as u64, blocked.object.0, operator);
                there.insert(place);
                self.blocked.set(place, &row)?;
            }
        }
        self.blocked.retain(|place| there.contains(place));
        Ok(())
    }

    /// The errors of a worker, in the place of those before.
    fn take_errors(&mut self, report: &Report) -> Result<()> {
        let worker = report.worker as u64;
        let count = report.errors.len() as u64;
        for (number, error) in report.errors.iter().enumerate() {
            let row = [
                int4(report.worker),
                object(error.object),
                Datum::Text(&error.code),
                Datum::Text(&error.message),
                Datum::Int8(error.count),
            ];
            self.errors.set((worker, number as u64, 0), &row)?;
        }
        self.errors.remove((worker, count, 0)..=(worker, u64::MAX, 0));
        Ok(())
    }
}
