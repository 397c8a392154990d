//! How long operators run, as they measure it themselves.
//!
//! Timely can log each activation, but what it logs it pays for: three entries of 45 ns each, and
//! as much again to add them up, where an idle operator runs for 300 ns; and what an operator logs
//! to is settled when it is built. So dataflows are built without that log (but for those with
//! loops, see [`super::logging`]), and each [operator](super::operator) measures itself, while
//! somebody wants to know.
//!
//! Even the two looks at the clock would be a tenth of a small commit. So a worker measures whole
//! steps, and not each: as many as [`SHARE`] of its time allows, which is all of them unless it is
//! busy, and one in [`RARITY`] of the others by chance, which then stands for as many. What comes
//! out is right on average whatever the steps do, since whether a step is measured is settled
//! before it is known what it does. Steps that are long are seldom passed over: while one lasts,
//! the share grows.
//!
//! What lies between two activations is the scope's: timely carries progress from the one to the
//! other. A scope is charged for what comes before its operators, and after the last one of a step.
//!
//! While somebody records, all steps are measured, and the events are told as well.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use super::recording::Shared;
use crate::profile::event::{Event, OperatorId};
use crate::profile::tally::Run;
use crate::repr::Timestamp;

/// One in so many parts of a worker's time may go into measuring.
const SHARE: u64 = 64;
/// One in so many of the other steps is measured.
const RARITY: u64 = 16;
/// What it takes to measure an activation, in nanoseconds.
const COST_NS: i64 = 120;
/// So many nanoseconds of measuring may be saved up.
const SAVED_MAX_NS: i64 = 1_000_000;

thread_local! {
    static MEASURES: Cell<bool> = const { Cell::new(false) };
    static TELLS: Cell<bool> = const { Cell::new(false) };
    /// When what was last measured ended.
    static LAST: Cell<Timestamp> = const { Cell::new(0) };
    static RUNS: RefCell<Vec<Run>> = const { RefCell::new(Vec::new()) };
    /// The clock of this worker: an instant, and the wall clock's time then.
    static CLOCK: Cell<Option<(Instant, Timestamp)>> = const { Cell::new(None) };
    static RECORDING: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// Says by which clock this worker measures.
pub(super) fn set_clock(origin: Instant, wall: Timestamp) {
    CLOCK.set(Some((origin, wall)));
}

/// The time now, by that clock; 0 without one.
#[inline]
pub(super) fn now() -> Timestamp {
    let since = |(origin, wall): (Instant, Timestamp)| {
        let elapsed = origin.elapsed();
        wall + elapsed.as_secs() * 1_000_000_000 + u64::from(elapsed.subsec_nanos())
    };
    CLOCK.get().map_or(0, since)
}

/// Has events told from now on, or no more.
pub(super) fn tell_to(recording: Option<Shared>) {
    TELLS.set(recording.is_some());
    RECORDING.set(recording);
}

/// Whether events are told.
#[inline]
pub(super) fn tells() -> bool {
    TELLS.get()
}

/// Tells an event, where somebody records.
pub(super) fn tell(at: Timestamp, event: Event) {
    RECORDING.with_borrow(|recording| {
        if let Some(recording) = recording
            && let Some(recording) = &mut *recording.borrow_mut()
        {
            recording.add(at, event);
        }
    });
}

/// Which steps of a worker are measured.
#[derive(Default)]
pub(super) struct Sampling {
    saved_ns: i64,
    seen: Timestamp,
    random: u64,
    weight: u64,
}

impl Sampling {
    /// Before a step. `whole`: it is measured whatever that costs.
    pub(super) fn begin(&mut self, whole: bool) {
        let now = now();
        let since = if self.seen == 0 { 0 } else { now.saturating_sub(self.seen) / SHARE };
        self.seen = now;
        let earned = i64::try_from(since).unwrap_or(SAVED_MAX_NS);
        self.saved_ns = self.saved_ns.saturating_add(earned).min(SAVED_MAX_NS);
        self.weight = match whole || tells() || self.saved_ns > 0 {
            true => 1,
            false if self.chance() => RARITY,
            false => 0,
        };
        MEASURES.set(self.weight > 0);
        LAST.set(now);
    }

    /// After the step: takes what was measured, and for how many steps it stands.
    pub(super) fn end(&mut self, mut take: impl FnMut(&[Run], u64)) {
        if !MEASURES.replace(false) {
            return;
        }
        RUNS.with_borrow_mut(|runs| {
            let Some(last) = runs.last_mut() else { return };
            last.after_ns = now().saturating_sub(LAST.get());
            // What was measured though it was too dear is not owed.
            if self.weight == 1 {
                let cost = i64::try_from(runs.len()).unwrap_or(i64::MAX).saturating_mul(COST_NS);
                self.saved_ns = self.saved_ns.saturating_sub(cost).max(-SAVED_MAX_NS);
            }
            take(runs, self.weight);
            runs.clear();
        });
    }

    /// One in [`RARITY`], by an xorshift generator.
    fn chance(&mut self) -> bool {
        let mut x = if self.random == 0 { self.seen | 1 } else { self.random };
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random = x;
        x.is_multiple_of(RARITY)
    }
}

thread_local! {
    static HAS_RUN: Cell<bool> = const { Cell::new(false) };
}

/// Whether an operator of this worker has run since this was last asked.
pub(super) fn has_run() -> bool {
    HAS_RUN.take()
}

/// Measures the activations of an operator.
pub(super) struct Timer {
    operator: OperatorId,
    /// The operator that stands for the dataflow; none where timely logs it.
    scope: Option<OperatorId>,
}

impl Timer {
    /// That of an operator, in the dataflow that is being built.
    pub(super) fn of(operator: OperatorId) -> Timer {
        Timer { operator, scope: BUILT.with_borrow(|built| Some(built.as_ref()?.scope)) }
    }

    /// It begins to run; when, if that is measured.
    #[inline]
    pub(super) fn start(&self) -> Option<Timestamp> {
        HAS_RUN.set(true);
        if !MEASURES.get() {
            return None;
        }
        let at = now();
        if self.scope.is_some() && tells() {
            tell(at, Event::Started(self.operator));
        }
        Some(at)
    }

    /// It ends to run.
    #[inline]
    pub(super) fn stop(&self, started: Option<Timestamp>) {
        let Some(began) = started else { return };
        let ended = now();
        let before_ns = began.saturating_sub(LAST.replace(ended));
        let Some(scope) = self.scope else { return };
        let (operator, own_ns) = (self.operator, ended.saturating_sub(began));
        RUNS.with_borrow_mut(|runs| {
            runs.push(Run { operator, scope, before_ns, own_ns, after_ns: 0 });
        });
        if tells() {
            tell(ended, Event::Stopped(operator));
        }
    }
}

/// A dataflow that is being built: what it is made of is written down here.
struct BuiltNow {
    scope: OperatorId,
    made: Vec<Event>,
}

thread_local! {
    static BUILT: RefCell<Option<BuiltNow>> = const { RefCell::new(None) };
}

/// Builds a dataflow whose operators measure themselves; returns of what it is made, too. `scope`:
/// the operator that stands for it.
pub(super) fn building<R>(
    (scope, index, name): (OperatorId, usize, String),
    build: impl FnOnce() -> R,
) -> (R, Vec<Event>) {
    let whole = Event::Operator { id: scope, address: vec![index], name };
    BUILT.set(Some(BuiltNow { scope, made: vec![whole] }));
    let built = build();
    (built, BUILT.take().map(|built| built.made).unwrap_or_default())
}

/// Writes down a part of the dataflow that is being built.
pub(super) fn note_made(part: impl FnOnce() -> Event) {
    BUILT.with_borrow_mut(|built| {
        if let Some(built) = built {
            built.made.push(part());
        }
    });
}

/// Writes down an operator.
pub(super) fn note_operator(id: OperatorId, address: &Rc<[usize]>, name: &str) {
    note_made(|| Event::Operator { id, address: address.to_vec(), name: name.to_owned() });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes steps, each with one activation of so many nanoseconds; what was measured of them.
    fn steps(sampling: &mut Sampling, lengths: impl Iterator<Item = u64>) -> (u64, u64, u64) {
        let (mut count, mut sum, mut seen) = (0, 0, 0);
        for length in lengths {
            sampling.begin(false);
            if MEASURES.get() {
                let (operator, scope, before_ns, after_ns) = (2, 1, 0, 0);
                let run = Run { operator, scope, before_ns, own_ns: length, after_ns };
                RUNS.with_borrow_mut(|runs| runs.push(run));
            }
            sampling.end(|runs, weight| {
                seen += 1;
                count += weight * runs.len() as u64;
                sum += weight * runs.iter().map(|run| run.own_ns).sum::<u64>();
            });
        }
        (count, sum, seen)
    }

    #[test]
    fn what_is_passed_over_is_stood_for() {
        set_clock(Instant::now(), 1_000_000_000);
        let mut sampling = Sampling::default();
        // Long steps at regular intervals, which whoever measures each sixteenth would miss or hit.
        let lengths = (0..200_000).map(|n| if n % 16 == 0 { 1_000 } else { 10 });
        let (count, sum, seen) = steps(&mut sampling, lengths);
        assert!((150_000..250_000).contains(&count), "{count} of 200,000 steps");
        let all = 200_000 / 16 * 1_000 + 200_000 / 16 * 15 * 10;
        assert!((all * 3 / 4..all * 5 / 4).contains(&sum), "{sum} of {all} ns");
        assert!(seen < 100_000, "{seen} steps were measured");
    }

    #[test]
    fn who_has_time_measures_all() {
        set_clock(Instant::now(), 1_000_000_000);
        let mut sampling = Sampling::default();
        let pause = || std::thread::sleep(std::time::Duration::from_millis(1));
        pause();
        sampling.begin(true);
        sampling.end(|_, _| ());
        let (count, _, seen) = steps(&mut sampling, (0..20).inspect(|_| pause()).map(|_| 5));
        assert_eq!((count, seen), (20, 20));
    }
}
