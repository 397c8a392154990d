//! Sinks: the changes of a collection, complete and consolidated, for one reader.
//!
//! The operator stashes updates by time (at the as-of where they are older). Times that the
//! frontier has passed are complete: their rows are consolidated and move to an outbox from which
//! the worker takes them as the reader's credit allows. What the reader has not taken stays here;
//! changes past a limit in bytes end the subscription. The snapshot does not count: however large,
//! it waits until the reader has taken it, in messages whose frontier does not pass its time. What
//! has been taken is given back as it goes, so that no row is here twice. The one result of a query
//! is a snapshot that does count; where no row of it can be taken back, it goes out as it comes.
//!
//! Each worker sends its own part; whoever hears them all releases what lies below the least of
//! their frontiers.

use std::cell::{RefCell, RefMut};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use differential_dataflow::consolidation::consolidate;
use serde::{Deserialize, Serialize};
use timely::progress::frontier::MutableAntichain;

use super::arrangement::{RowUpdate, Rows, RowsByKey, route};
use super::channel::ByHash;
use super::emit::encoded_bytes;
use super::operator::OperatorBuilder;
use super::pressure::Pressure;
use crate::repr::{Diff, Row, Timestamp};

/// What a subscription is to send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeOptions {
    /// The time of the snapshot.
    pub as_of: Timestamp,
    /// Whether the content at `as_of` is sent, or only what comes after it.
    pub snapshot: bool,
    /// The time before which the stream ends.
    pub up_to: Option<Timestamp>,
    /// How many bytes of changes, beyond the snapshot, may wait for the reader on one worker.
    pub buffer_bytes_max: u64,
    /// Whether the snapshot counts among these, too.
    pub counts_snapshot: bool,
    /// Whether rows go out as they come. None may be taken back then.
    pub eager: bool,
}

/// A part of a subscription's stream, from one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscribeBatch {
    /// Rows in the order of time; consolidated per time.
    pub oks: Vec<(Timestamp, Row, Diff)>,
    /// Errors in the order of time.
    pub errs: Vec<(Timestamp, Row, Diff)>,
    /// All below this time has been sent; `None` at the end of the stream.
    pub frontier: Option<Timestamp>,
    /// The reader was too slow, and the stream is broken off here.
    pub overflow: bool,
}

/// The worker's end of a subscription.
#[derive(Clone)]
pub struct Subscription(Rc<RefCell<Buffer>>);

/// One side's changes at one time.
#[derive(Default)]
struct Changes {
    rows: Vec<(Row, Diff)>,
    /// At which length to consolidate before the time is complete.
    consolidate_at: usize,
}

/// What a subscription has received and its reader has not taken.
pub(super) struct Buffer {
    options: SubscribeOptions,
    /// Times that may still change: rows, errors.
    open: BTreeMap<Timestamp, [Changes; 2]>,
    /// Complete times, oldest first.
    complete: VecDeque<Waiting>,
    /// What the changes after the snapshot take.
    bytes: u64,
    credit: u64,
    /// All below is complete; `None` at the end.
    frontier: Option<Timestamp>,
    /// The frontier that was last handed over, if any was.
    reported: Option<Option<Timestamp>>,
    overflow: bool,
    /// Tells what feeds an eager sink how much waits.
    pressure: Pressure,
    /// Called when there is something new to take.
    notify: Box<dyn Fn()>,
}

/// Rows at a complete time that have not been taken, last first, and whether they are errors.
type Waiting = (Timestamp, bool, Vec<(Row, Diff)>);

/// How many rows are taken at once.
const TAKEN_MAX: usize = 1 << 14;

/// How many rows of an open time are consolidated first.
const CONSOLIDATE_AT: usize = 1 << 12;

/// Sends the changes of a collection and its errors to a [`Subscription`]. Rows have no key.
///
/// `notify` is called, perhaps often, when [`Subscription::take`] might have something.
pub fn subscribe<'s>(
    oks: RowsByKey<'s>,
    errs: Rows<'s>,
    name: &str,
    options: SubscribeOptions,
    pressure: Pressure,
    notify: Box<dyn Fn()>,
) -> Subscription {
    let subscription = Subscription::new(options, pressure, notify);
    let to_fill = subscription.clone();
    let mut builder = OperatorBuilder::new(name.to_owned(), oks.inner.scope());
    // A row may come to be on one worker and be taken back on another: all that concerns a row
    // meets on one.
    let by_row = ByHash(|((_, row), ..): &RowUpdate| route(row.bytes()));
    let mut ok_input = builder.new_input(oks.inner, by_row);
    let by_error = ByHash(|update: &(Row, Timestamp, Diff)| route(update.0.bytes()));
    let mut err_input = builder.new_input(errs.inner, by_error);
    builder.build(move |_capabilities| {
        move |frontiers| {
            let mut buffer = to_fill.buffer();
            ok_input.for_each(|_, updates| {
                buffer.stash(updates.drain(..).map(|((_, row), time, diff)| (row, time, diff)), 0);
            });
            err_input.for_each(|_, updates| buffer.stash(updates.drain(..), 1));
            buffer.hand_over();
            let least = |f: &MutableAntichain<Timestamp>| f.frontier().first().copied();
            buffer.advance(frontiers.iter().filter_map(least).min());
        }
    });
    subscription
}

impl Subscription {
    /// A subscription that has received nothing; see [`subscribe`].
    pub(super) fn new(
        options: SubscribeOptions,
        pressure: Pressure,
        notify: Box<dyn Fn()>,
    ) -> Subscription {
        Subscription(Rc::new(RefCell::new(Buffer {
            options,
            open: BTreeMap::new(),
            complete: VecDeque::new(),
            bytes: 0,
            credit: 0,
            frontier: Some(Timestamp::MIN),
            reported: None,
            overflow: false,
            pressure,
            notify,
        })))
    }

    /// Where an operator puts what it receives.
    pub(super) fn buffer(&self) -> RefMut<'_, Buffer> {
        self.0.borrow_mut()
    }

    /// Lets the subscription hand over so many bytes more.
    pub fn add_credit(&self, bytes: u64) {
        let mut buffer = self.0.borrow_mut();
        buffer.credit = buffer.credit.saturating_add(bytes);
    }

    /// What is complete, as far as the credit goes; `None` if that is nothing new.
    ///
    /// News of the frontier alone needs no credit.
    pub fn take(&self) -> Option<SubscribeBatch> {
        self.0.borrow_mut().take()
    }

    /// Bytes of changes after the snapshot that wait for the reader.
    pub fn buffered_bytes(&self) -> u64 {
        self.0.borrow().bytes
    }
}

/// What a waiting row takes of memory.
fn cost(row: &Row) -> u64 {
    (size_of::<(Row, Diff)>() + row.heap_size()) as u64
}

impl Buffer {
    /// Whether nothing more will be received.
    pub(super) fn is_over(&self) -> bool {
        self.overflow || self.frontier.is_none()
    }

    /// Receives updates of a side: 0 rows, 1 errors.
    pub(super) fn stash(
        &mut self,
        updates: impl Iterator<Item = (Row, Timestamp, Diff)>,
        side: usize,
    ) {
        if self.is_over() {
            return;
        }
        let options = &self.options;
        for (row, time, diff) in updates {
            let dropped = options.up_to.is_some_and(|up_to| time >= up_to)
                || (!options.snapshot && time <= options.as_of);
            // Errors of the snapshot are errors of what follows, too.
            if dropped && (side == 0 || time > options.as_of) {
                continue;
            }
            let counts = options.counts(time);
            let changes = &mut self.open.entry(time.max(options.as_of)).or_default()[side];
            if counts {
                self.bytes += cost(&row);
            }
            changes.rows.push((row, diff));
            if !options.eager && changes.rows.len() >= changes.consolidate_at.max(CONSOLIDATE_AT) {
                self.bytes -= changes.consolidate(counts);
                changes.consolidate_at = changes.rows.len() * 2;
            }
        }
    }

    /// Lets go of what has come, where that need not be complete.
    fn hand_over(&mut self) {
        if !self.options.eager || self.open.is_empty() {
            return;
        }
        while let Some((time, [oks, errs])) = self.open.pop_first() {
            for (mut changes, is_error) in [(errs, true), (oks, false)] {
                if !changes.rows.is_empty() {
                    changes.rows.reverse();
                    self.complete.push_back((time, is_error, changes.rows));
                }
            }
        }
        self.pressure.set(self.bytes);
        (self.notify)();
    }

    /// Notes that nothing more comes below a time, or at all.
    pub(super) fn advance(&mut self, mut frontier: Option<Timestamp>) {
        if self.is_over() {
            return;
        }
        if self.options.up_to.is_some_and(|up_to| frontier.is_some_and(|f| f >= up_to)) {
            frontier = None;
        }
        if frontier != self.frontier {
            self.frontier = frontier;
            while let Some(entry) = self.open.first_entry() {
                if frontier.is_some_and(|frontier| *entry.key() >= frontier) {
                    break;
                }
                let (time, [oks, errs]) = entry.remove_entry();
                // Errors come first: what goes with them is of no use.
                for (mut changes, is_error) in [(errs, true), (oks, false)] {
                    self.bytes -= changes.consolidate(self.options.counts(time));
                    if !changes.rows.is_empty() {
                        changes.rows.reverse();
                        self.complete.push_back((time, is_error, changes.rows));
                    }
                }
            }
            (self.notify)();
        }
        if self.bytes > self.options.buffer_bytes_max.saturating_add(self.credit) {
            self.overflow = true;
            self.open.clear();
            self.complete.clear();
            self.bytes = 0;
            (self.notify)();
        }
    }

    fn take(&mut self) -> Option<SubscribeBatch> {
        let mut batch = SubscribeBatch { overflow: self.overflow, ..SubscribeBatch::default() };
        let mut room = TAKEN_MAX;
        while let Some((time, is_error, rows)) = self.complete.front_mut() {
            let counts = self.options.counts(*time);
            while self.credit > 0
                && room > 0
                && let Some((row, diff)) = rows.pop()
            {
                if counts {
                    self.bytes -= cost(&row);
                }
                room -= 1;
                self.credit = self.credit.saturating_sub(encoded_bytes(&row));
                let side = if *is_error { &mut batch.errs } else { &mut batch.oks };
                side.push((*time, row, diff));
            }
            if !rows.is_empty() {
                if rows.len() < rows.capacity() / 2 {
                    rows.shrink_to_fit();
                }
                break;
            }
            self.complete.pop_front();
        }
        batch.frontier = match self.complete.front() {
            Some((time, ..)) => Some(*time),
            None => self.frontier,
        };
        if self.options.eager {
            self.pressure.set(self.bytes);
        }
        let news = !batch.oks.is_empty()
            || !batch.errs.is_empty()
            || self.reported != Some(batch.frontier)
            || self.overflow;
        if self.overflow {
            // Said once; the stream is over.
            self.overflow = false;
            self.frontier = None;
            batch.frontier = None;
        }
        self.reported = Some(batch.frontier);
        news.then_some(batch)
    }
}

impl SubscribeOptions {
    /// Whether what waits at a time counts.
    fn counts(&self, time: Timestamp) -> bool {
        self.counts_snapshot || time > self.as_of
    }
}

impl Changes {
    /// Adds up equal rows; says how many bytes that freed of those that count.
    fn consolidate(&mut self, counts: bool) -> u64 {
        if !counts {
            consolidate(&mut self.rows);
            return 0;
        }
        let sum = |rows: &[(Row, Diff)]| rows.iter().map(|(row, _)| cost(row)).sum::<u64>();
        let before = sum(&self.rows);
        consolidate(&mut self.rows);
        before - sum(&self.rows)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::emit::RowLogic;
    use super::super::follow::follow;
    use super::super::import::import;
    use super::super::scan::scan;
    use super::super::testing::{Random, Table, number, row};
    use super::super::traces::Maintained;
    use super::*;
    use crate::error::SqlState;
    use crate::expr::error::EvalError;
    use timely::worker::Worker;

    fn options(as_of: Timestamp) -> SubscribeOptions {
        SubscribeOptions {
            as_of,
            snapshot: true,
            up_to: None,
            buffer_bytes_max: 1 << 20,
            counts_snapshot: false,
            eager: false,
        }
    }

    /// Subscribes to a table's values; the value 99 is an error.
    type Install = fn(&mut Worker, &mut Table, SubscribeOptions) -> Subscription;

    fn logic() -> RowLogic {
        Box::new(|_, value, emit| match number(value, 0) {
            99 => emit.err(&EvalError::new(SqlState::DIVISION_BY_ZERO, "99")),
            _ => emit.ok(Row::EMPTY, Row::new(value)),
        })
    }

    fn by_operators(
        worker: &mut Worker,
        table: &mut Table,
        options: SubscribeOptions,
    ) -> Subscription {
        worker.dataflow(|scope| {
            let (arranged, _promise) = import(&mut table.trace, scope, "import");
            let (oks, errs) = scan(arranged, "scan", options.as_of, logic(), true);
            let errs = errs.expect("it can fail");
            subscribe(oks, errs, "subscribe", options, Pressure::default(), Box::new(|| ()))
        })
    }

    fn by_following(
        worker: &mut Worker,
        table: &mut Table,
        options: SubscribeOptions,
    ) -> Subscription {
        worker.dataflow(|scope| {
            let mut maintained = Maintained::new(table.trace.clone(), None, 0);
            follow(&mut maintained, scope, "follow", logic(), options, Box::new(|| ())).0
        })
    }

    fn in_both_ways(test: fn(&mut Worker, Install)) {
        timely::execute(timely::Config::thread(), move |worker| {
            test(worker, by_operators);
            test(worker, by_following);
        })
        .unwrap();
    }

    fn keyed(key: u64, value: u64) -> (Row, Row) {
        (row(&[key]), row(&[value]))
    }

    fn settle(worker: &mut Worker, table: &mut Table) {
        table.settle(worker);
        for _ in 0..10 {
            worker.step();
        }
    }

    #[test]
    fn the_stream_folds_up_to_the_content_whatever_the_credit() {
        in_both_ways(|worker, install| {
            for credit in [1, 100, 1 << 30] {
                let mut table = Table::create(worker);
                let mut random = Random(credit);
                let mut content: BTreeMap<u64, Diff> = BTreeMap::new();
                let mut history = Vec::new();
                let mut subscription = None;
                let mut sent: BTreeMap<Timestamp, Vec<(Row, Diff)>> = BTreeMap::new();
                let mut closed = 0;
                for time in 0..50u64 {
                    let changes: Vec<_> = (0..5)
                        .map(|_| {
                            let (value, diff) = (random.below(9), random.below(2) as Diff * 2 - 1);
                            *content.entry(value).or_default() += diff;
                            (keyed(random.below(4), value), diff)
                        })
                        .collect();
                    table.write(&changes, time);
                    settle(worker, &mut table);
                    content.retain(|_, count| *count != 0);
                    history.push(content.clone());
                    if time == 10 {
                        subscription = Some(install(worker, &mut table, options(8)));
                    }
                    let Some(subscription) = &subscription else { continue };
                    subscription.add_credit(credit);
                    while let Some(batch) = subscription.take() {
                        assert!(!batch.overflow);
                        for (time, row, diff) in batch.oks {
                            assert!(time >= closed, "{time} was closed by {closed}");
                            sent.entry(time).or_default().push((row, diff));
                        }
                        closed = closed.max(batch.frontier.unwrap());
                        subscription.add_credit(credit);
                    }
                }
                assert_eq!(closed, 50);
                let mut folded: BTreeMap<u64, Diff> = BTreeMap::new();
                for at in 8..50 {
                    for (row, diff) in sent.get(&at).into_iter().flatten() {
                        assert_ne!(*diff, 0);
                        *folded.entry(number(row.bytes(), 0)).or_default() += diff;
                    }
                    let mut rows: Vec<_> = sent.get(&at).into_iter().flatten().collect();
                    let count = rows.len();
                    rows.dedup_by(|a, b| a.0 == b.0);
                    assert_eq!(rows.len(), count, "consolidated at {at}");
                    folded.retain(|_, count| *count != 0);
                    assert_eq!(folded, history[at as usize], "at {at}");
                }
                assert!(sent.keys().all(|time| *time >= 8));
            }
        });
    }

    #[test]
    fn bounds_and_errors() {
        in_both_ways(|worker, install| {
            let mut table = Table::create(worker);
            table.write(&[(keyed(1, 1), 1), (keyed(2, 99), 1)], 0);
            let bounded = SubscribeOptions { snapshot: false, up_to: Some(3), ..options(0) };
            let subscription = install(worker, &mut table, bounded);
            subscription.add_credit(1 << 20);
            for time in 1..6 {
                table.write(&[(keyed(1, 10 + time), 1)], time);
            }
            settle(worker, &mut table);
            let batch = subscription.take().unwrap();
            let times: Vec<Timestamp> = batch.oks.iter().map(|(time, ..)| *time).collect();
            assert_eq!(times, [1, 2]);
            assert_eq!(batch.errs.len(), 1);
            assert_eq!(batch.frontier, None);
            assert_eq!(subscription.take(), None);
        });
    }

    #[test]
    fn a_reader_that_does_not_read_is_let_go() {
        in_both_ways(|worker, install| {
            let mut table = Table::create(worker);
            let small = SubscribeOptions { buffer_bytes_max: 1000, ..options(0) };
            // The snapshot does not count, however large.
            let rows: Vec<_> = (0..1000).map(|n| (keyed(n, 1000 + n), 1)).collect();
            table.write(&rows, 0);
            let subscription = install(worker, &mut table, small);
            settle(worker, &mut table);
            assert_eq!(subscription.buffered_bytes(), 0);
            let mut snapshot = 0;
            while snapshot < rows.len() {
                subscription.add_credit(4000);
                let batch = subscription.take().unwrap();
                assert!(!batch.overflow && batch.oks.iter().all(|(time, ..)| *time == 0));
                snapshot += batch.oks.len();
            }
            for time in 1..100 {
                table.write(&[(keyed(time, time % 50), 1)], time);
                settle(worker, &mut table);
                assert!(subscription.buffered_bytes() <= 1000);
            }
            let batch = subscription.take().unwrap();
            assert!(batch.overflow && batch.oks.is_empty() && batch.frontier.is_none());
            assert_eq!(subscription.take(), None);
        });
    }
}
