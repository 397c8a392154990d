//! What has changed on this worker since it was last asked, as a [`Report`].
//!
//! Sums that stayed the same are not told again, so that a thousand idle views cost a report next
//! to nothing. The errors of relations are few or in the way of everything; those are told whole.

use std::collections::BTreeMap;
use std::time::Instant;

use differential_dataflow::trace::cursor::cursor_list;
use differential_dataflow::trace::{Cursor, TraceReader};
use timely::progress::Antichain;

use super::arrangement::{RowTrace, Size, size, upper_of};
use super::emit::error_of;
use super::logging::Merges;
use super::observe::{Claim, Ledger};
use super::operator::progress;
use super::traces::Traces;
use crate::plan::observed::Place;
use crate::profile::report::{
    Arranged, ArrangementReport, ChannelMade, ChannelReport, DataflowReport, ErrorReport,
    FrontierReport, OperatorMade, OperatorReport, ProgressReport, Report,
};
use crate::profile::tally::Tally;
use crate::repr::{GlobalId, Timestamp};

/// So many different errors of a relation are told.
const ERRORS_MAX: usize = 1000;

/// What was told before.
#[derive(Default)]
pub(super) struct Told {
    /// Dataflows that are gone since, of those that were told.
    pub(super) gone: Vec<DataflowReport>,
    sizes: BTreeMap<usize, (GlobalId, Arranged)>,
    progress: BTreeMap<(usize, usize), (Timestamp, Option<u64>)>,
    frontiers: BTreeMap<GlobalId, (Timestamp, Option<Timestamp>)>,
}

impl Ledger {
    /// What has changed since the last report. `imports`: how far each is, by its operator.
    pub(super) fn report(
        &mut self,
        worker: usize,
        traces: &mut Traces,
        imports: BTreeMap<usize, Timestamp>,
    ) -> Report {
        let began = Instant::now();
        let mut report = Report { worker, ..Report::default() };
        report.gone = std::mem::take(&mut self.told.gone);
        for (object, claim) in &mut self.dataflows {
            if !std::mem::replace(&mut claim.told, true) {
                let (first, end) = (claim.operators.start, claim.operators.end);
                report.dataflows.push(DataflowReport { first, end, object: *object });
            }
        }
        let bytes: i64 = self.dataflows.values().map(|claim| claim.bytes).sum();
        report.dataflow_bytes = u64::try_from(bytes).unwrap_or(0);
        let owners = Owners(
            self.dataflows
                .iter()
                .map(|(id, claim)| (claim.operators.start, (*id, claim)))
                .collect(),
        );
        self.logs.collect();
        activity(&mut self.logs.tally.borrow_mut(), &owners, &mut report);
        let sizes = size::measured(0..usize::MAX).into_iter();
        let arranged = |id: usize, size: Size| {
            let Size { records, batches, bytes, shared } = size;
            let Merges { count: merges, records: merged } = self.logs.merges_of(id);
            Arranged { records, batches, bytes, shared, merges, merged }
        };
        let sizes =
            sizes.filter_map(|(id, size)| Some((id, (owners.of(id)?.0, arranged(id, size)))));
        let sizes = sizes.collect();
        report.arrangements = self.told.sizes(sizes);
        report.progress = self.told.progress(imports, |operator| owners.of(operator).is_some());
        self.told.frontiers(traces, &mut report);
        report.took_ns = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        report
    }
}

/// The dataflows by their first numbers.
struct Owners<'l>(BTreeMap<usize, (GlobalId, &'l Claim)>);

impl<'l> Owners<'l> {
    /// The dataflow of an operator or a channel.
    fn of(&self, id: usize) -> Option<(GlobalId, &'l Claim)> {
        let (_, (object, claim)) = self.0.range(..=id).next_back()?;
        claim.operators.contains(&id).then_some((*object, *claim))
    }
}

/// Reports what the log says.
fn activity(tally: &mut Tally, owners: &Owners<'_>, report: &mut Report) {
    let operators = tally.take_changed_operators();
    let channels = tally.take_changed_channels();
    report.parks = tally.parks();
    let tally = &*tally;
    let mut addresses: BTreeMap<GlobalId, BTreeMap<&[usize], usize>> = BTreeMap::new();
    for (id, is_new) in operators.iter().chain(&channels) {
        if let Some((object, claim)) = owners.of(*id).filter(|_| *is_new) {
            addresses.entry(object).or_insert_with(|| claim.addresses(tally));
        }
    }
    for (id, is_new) in operators {
        let (Some(operator), Some((object, claim))) = (tally.operator(id), owners.of(id)) else {
            continue;
        };
        let made = is_new.then(|| {
            let (address, name) = (operator.address.clone(), operator.name.clone());
            let scope = &address[..address.len().saturating_sub(1)];
            let parent = addresses.get(&object).and_then(|known| known.get(scope)).copied();
            // What was built for no node keeps the whole going.
            let place = match claim.place(id) {
                Place::Sink if claim.places.is_empty() || parent.is_none() => None,
                place => Some(place.to_string()),
            };
            OperatorMade { address, name, parent, object, place }
        });
        let (elapsed_ns, activations) = (operator.elapsed_ns, operator.activations);
        let histogram = operator.histogram.clone();
        report.operators.push(OperatorReport { id, made, elapsed_ns, activations, histogram });
    }
    for (id, is_new) in channels {
        let (Some(channel), Some((object, _))) = (tally.channel(id), owners.of(id)) else {
            continue;
        };
        let made = is_new.then(|| {
            let known = addresses.get(&object);
            let end = |(operator, port): (usize, usize)| {
                let mut address = channel.scope.clone();
                address.extend((operator != 0).then_some(operator));
                (known.and_then(|known| known.get(&address[..])).copied(), port)
            };
            ChannelMade { object, source: end(channel.source), target: end(channel.target) }
        });
        report.channels.push(ChannelReport { id, made, sent: channel.sent.clone() });
    }
}

impl Told {
    fn sizes(&mut self, now: BTreeMap<usize, (GlobalId, Arranged)>) -> Vec<ArrangementReport> {
        let row = |operator: usize, object: GlobalId, holds: Option<Arranged>| ArrangementReport {
            operator,
            object,
            holds,
        };
        let gone = self.sizes.iter().filter(|(operator, _)| !now.contains_key(operator));
        let mut rows: Vec<_> =
            gone.map(|(operator, (object, _))| row(*operator, *object, None)).collect();
        for (operator, (object, size)) in &now {
            if self.sizes.get(operator) != Some(&(*object, *size)) {
                rows.push(row(*operator, *object, Some(*size)));
            }
        }
        self.sizes = now;
        rows
    }

    /// Tells how far operators are, of those that anybody knows.
    fn progress(
        &mut self,
        imports: BTreeMap<usize, Timestamp>,
        is_known: impl Fn(usize) -> bool,
    ) -> Vec<ProgressReport> {
        let mut now: BTreeMap<(usize, usize), (Timestamp, Option<u64>)> =
            size::uppers(0..usize::MAX)
                .into_iter()
                .chain(imports)
                .map(|(operator, below)| ((operator, 0), (below, None)))
                .collect();
        for (operator, progress) in progress(0..usize::MAX) {
            let inputs = progress.inputs.into_iter().zip(progress.moves).enumerate();
            now.extend(inputs.filter_map(|(input, (below, moves))| {
                Some(((operator, input), (below?, Some(moves))))
            }));
        }
        now.retain(|(operator, _), _| is_known(*operator));
        let changed = now.iter().filter(|(place, below)| self.progress.get(place) != Some(below));
        let changed = changed
            .map(|(&(operator, input), &(below, moves))| ProgressReport {
                operator,
                input,
                below,
                moves,
            })
            .collect();
        self.progress = now;
        changed
    }

    /// Tells how far users' relations are complete, and their errors there.
    fn frontiers(&mut self, traces: &mut Traces, report: &mut Report) {
        let mut now = BTreeMap::new();
        for (object, maintained) in traces.iter_mut().filter(|(id, _)| **id >= GlobalId::FIRST_USER)
        {
            let (since, upper) = (maintained.since(), maintained.upper());
            now.insert(*object, (since, upper));
            if let Some(errs) = &mut maintained.errs {
                report.errors.extend(errors_of(*object, errs));
            }
        }
        let gone = self.frontiers.keys().filter(|object| !now.contains_key(object));
        report.frontiers.extend(gone.map(|object| FrontierReport {
            object: *object,
            since: None,
            upper: None,
        }));
        for (object, (since, upper)) in &now {
            if self.frontiers.get(object) != Some(&(*since, *upper)) {
                let (object, since, upper) = (*object, Some(*since), *upper);
                report.frontiers.push(FrontierReport { object, since, upper });
            }
        }
        self.frontiers = now;
    }
}

/// The errors that a relation has at the newest time at which they are complete.
fn errors_of(object: GlobalId, errs: &mut RowTrace) -> Vec<ErrorReport> {
    let mut found = Vec::new();
    let below = upper_of(errs).unwrap_or(Timestamp::MAX);
    let Some(batches) = errs.batches_through(Antichain::new().borrow()) else { return found };
    let (mut cursor, batches) = cursor_list(batches);
    while let Some(key) = cursor.get_key(&batches) {
        let mut count = 0;
        while cursor.get_val(&batches).is_some() {
            cursor.map_times(&batches, |time, diff| count += if *time < below { *diff } else { 0 });
            cursor.step_val(&batches);
        }
        if count != 0 {
            let error = error_of(key.0);
            let (code, message) = (error.code.as_str().to_owned(), error.message.to_string());
            found.push(ErrorReport { object, code, message, count });
        }
        if found.len() >= ERRORS_MAX {
            break;
        }
        cursor.step_key(&batches);
    }
    found
}
