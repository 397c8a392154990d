//! Readers: what a worker has begun to send and not finished.
//!
//! A reader is a peek of an arrangement, or the sink of a transient dataflow: a subscription, or
//! the one result of a query. Each turns what it finds into [`Response`]s as its credit allows.
//! A relation whose error side is not empty at the time that is read answers with its least error
//! in place of rows.

use super::arrangement::RowTrace;
use super::command::{Bounds, Peek as PeekCommand, ReaderId, Response};
use super::emit::{RowLogic, error_of};
use super::peek::{Peek, PeekProgress, PeekRows};
use super::subscribe::{SubscribeBatch, Subscription};
use super::traces::Traces;
use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::plan::physical::ArrangementId;
use crate::repr::{Diff, Row, Timestamp};

/// How many updates one peek reads before another's turn.
const FUEL: usize = 1 << 15;

/// Where responses go, and from which worker.
pub(super) struct Outlet<'a> {
    pub(super) worker: usize,
    pub(super) send: &'a dyn Fn(Response),
}

/// What a reader waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Its turn.
    Turn,
    /// Something else to happen: progress of the dataflow, or credit.
    Event,
    /// Nothing: it is done.
    End,
}

/// A peek of an arrangement.
pub(super) struct ArrangementPeek {
    reader: ReaderId,
    target: ArrangementId,
    /// Reads the error side, first.
    errs: Option<Peek>,
    oks: Peek,
}

impl ArrangementPeek {
    pub(super) fn new(command: &PeekCommand, logic: RowLogic) -> ArrangementPeek {
        let every: RowLogic = Box::new(|key, _, emit| emit.ok(Row::EMPTY, Row::new(key)));
        let (at, need) = (command.at, command.need);
        let mut errs = Peek::new(at, need, Bounds::All, None, every);
        errs.add_credit(u64::MAX);
        let mut oks = Peek::new(at, need, command.bounds.clone(), command.limit, logic);
        oks.add_credit(command.credit);
        ArrangementPeek { reader: command.reader, target: command.target, errs: Some(errs), oks }
    }

    /// Reads on for one turn.
    pub(super) fn resume(&mut self, traces: &mut Traces, outlet: &Outlet<'_>) -> Next {
        let Some(maintained) = traces.get_mut(&self.target) else {
            return self.end(outlet, Err(internal("the relation is not maintained")));
        };
        let mut fuel = FUEL;
        if let (Some(errs), Some(trace)) = (&mut self.errs, &mut maintained.errs) {
            let mut found = PeekRows::default();
            let progress = errs.resume(trace, &mut fuel, &mut found);
            let errors = found.oks.iter().map(|(row, count)| (row, *count));
            if let Some(error) = least_error(errors) {
                return self.end(outlet, Err(error));
            }
            if progress != PeekProgress::Done {
                return self.pause(progress, outlet);
            }
        }
        self.errs = None;
        self.resume_oks(&mut maintained.oks, fuel, outlet)
    }

    fn resume_oks(&mut self, trace: &mut RowTrace, mut fuel: usize, outlet: &Outlet<'_>) -> Next {
        let mut found = PeekRows::default();
        let progress = self.oks.resume(trace, &mut fuel, &mut found);
        if let Some(error) = least_error(found.errs.iter().map(|(row, count)| (row, *count))) {
            return self.end(outlet, Err(error));
        }
        if found.oks.iter().any(|(_, count)| *count < 0) {
            return self.end(outlet, Err(negative_count()));
        }
        if !found.oks.is_empty() {
            (outlet.send)(Response::Rows { reader: self.reader, rows: found.oks });
        }
        self.pause(progress, outlet)
    }

    fn pause(&self, progress: PeekProgress, outlet: &Outlet<'_>) -> Next {
        match progress {
            PeekProgress::OutOfFuel => Next::Turn,
            PeekProgress::Waiting | PeekProgress::OutOfCredit => Next::Event,
            PeekProgress::Done => self.end(outlet, Ok(())),
            PeekProgress::Compacted => {
                self.end(outlet, Err(internal("the relation's history at that time is gone")))
            }
        }
    }

    fn end(&self, outlet: &Outlet<'_>, result: Result<(), EvalError>) -> Next {
        let (worker, reader) = (outlet.worker, self.reader);
        (outlet.send)(Response::PeekDone { worker, reader, result });
        Next::End
    }

    pub(super) fn add_credit(&mut self, bytes: u64) {
        self.oks.add_credit(bytes);
    }
}

/// What the sink of a transient dataflow sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamKind {
    /// The rows of one time.
    Peek,
    /// Changes.
    Changes,
}

/// The sink of a transient dataflow.
pub(super) struct Stream {
    reader: ReaderId,
    kind: StreamKind,
    subscription: Subscription,
    /// All below was sent.
    upper: Timestamp,
}

impl Stream {
    pub(super) fn new(reader: ReaderId, kind: StreamKind, subscription: Subscription) -> Stream {
        Stream { reader, kind, subscription, upper: Timestamp::MIN }
    }

    pub(super) fn add_credit(&mut self, bytes: u64) {
        self.subscription.add_credit(bytes);
    }

    /// Sends what there is.
    pub(super) fn pump(&mut self, outlet: &Outlet<'_>) -> Next {
        while let Some(batch) = self.subscription.take() {
            let next = match self.kind {
                StreamKind::Peek => self.send_rows(batch, outlet),
                StreamKind::Changes => self.send_changes(batch, outlet),
            };
            if next == Next::End {
                return Next::End;
            }
        }
        Next::Event
    }

    fn send_rows(&mut self, batch: SubscribeBatch, outlet: &Outlet<'_>) -> Next {
        let (worker, reader) = (outlet.worker, self.reader);
        let errors = batch.errs.iter().map(|(_, row, count)| (row, *count));
        let failed = if batch.overflow {
            Some(too_large())
        } else if batch.oks.iter().any(|(.., count)| *count < 0) {
            Some(negative_count())
        } else {
            least_error(errors)
        };
        if let Some(error) = failed {
            (outlet.send)(Response::PeekDone { worker, reader, result: Err(error) });
            return Next::End;
        }
        if !batch.oks.is_empty() {
            let rows = batch.oks.into_iter().map(|(_, row, count)| (row, count)).collect();
            (outlet.send)(Response::Rows { reader, rows });
        }
        if batch.frontier.is_none() {
            (outlet.send)(Response::PeekDone { worker, reader, result: Ok(()) });
            return Next::End;
        }
        Next::Event
    }

    fn send_changes(&mut self, mut batch: SubscribeBatch, outlet: &Outlet<'_>) -> Next {
        let (worker, reader) = (outlet.worker, self.reader);
        let failed_at = batch.errs.iter().find(|(.., count)| *count > 0).map(|(time, ..)| *time);
        if let Some(at) = failed_at {
            batch.oks.retain(|(time, ..)| *time < at);
            batch.frontier = Some(at);
        }
        if !batch.overflow {
            let upper = batch.frontier;
            self.upper = upper.unwrap_or(self.upper);
            (outlet.send)(Response::Changes { worker, reader, changes: batch.oks, upper });
        }
        if failed_at.is_none() && !batch.overflow {
            return if batch.frontier.is_none() { Next::End } else { Next::Event };
        }
        let at = failed_at.unwrap_or(self.upper);
        let then = batch.errs.iter().filter(|(time, ..)| *time == at);
        let error = least_error(then.map(|(_, row, count)| (row, *count)));
        (outlet.send)(Response::ChangesFailed { reader, at, error });
        Next::End
    }
}

/// The least of the errors that are there.
fn least_error<'a>(errors: impl Iterator<Item = (&'a Row, Diff)>) -> Option<EvalError> {
    errors.filter(|(_, count)| *count > 0).map(|(row, _)| error_of(row.bytes())).min()
}

#[cold]
fn too_large() -> EvalError {
    EvalError {
        detail: Some("What has not been sent is more than result_buffer_limit.".into()),
        hint: Some("Ask for fewer rows, with LIMIT or WHERE, or raise the setting.".into()),
        ..EvalError::new(SqlState::CONFIGURATION_LIMIT_EXCEEDED, "the result is too large")
    }
}

fn internal(message: &'static str) -> EvalError {
    EvalError::new(SqlState::INTERNAL_ERROR, message)
}

fn negative_count() -> EvalError {
    internal("a row of the relation occurs less than zero times")
}
