//! Sequences: values that are given once, also across a crash.
//!
//! The log holds, for each sequence, a value through which it is spent. Values are given from
//! memory as long as they are below that; a block is logged when they reach it, and the values of
//! a block leave the server when it is durable. A crash loses the rest of a block, as in
//! PostgreSQL. The sequence of an open transaction is not logged: its commit logs its state.

use std::collections::BTreeMap;

use crate::catalog::item::Sequence;
use crate::coord::coordinator::Coordinator;
use crate::coord::log_writer::LogRequest;
use crate::coord::request::Reply;
use crate::error::{Error, Result, SqlState};
use crate::repr::{GlobalId, Timestamp};
use crate::storage::{Change, Transaction};

/// How many values are logged ahead.
const BLOCK: i64 = 32;

/// The state of the sequences that were used.
#[derive(Default)]
pub(super) struct Sequences(BTreeMap<GlobalId, State>);

#[derive(Clone, Copy, Debug)]
struct State {
    /// The last value given, or the first to be given.
    last: i64,
    /// Which of the two.
    is_called: bool,
    /// How many values more the log covers.
    ahead: i64,
    /// The time of the log's record.
    logged_at: Timestamp,
}

impl Sequences {
    /// Takes over what the log says.
    pub(super) fn restore(&mut self, id: GlobalId, last: i64, is_called: bool) {
        self.0.insert(id, State { last, is_called, ahead: 0, logged_at: 0 });
    }

    /// The state of a sequence, as a commit that makes it has to log it.
    pub(super) fn state(&self, id: GlobalId) -> Option<(i64, bool)> {
        self.0.get(&id).map(|state| (state.last, state.is_called))
    }

    pub(super) fn forget(&mut self, id: GlobalId) {
        self.0.remove(&id);
    }
}

/// The value after the state's; error 2200H where there is none.
fn step(definition: &Sequence, last: i64, is_called: bool) -> Result<i64> {
    if !is_called {
        return Ok(last);
    }
    let next = last.checked_add(definition.increment);
    let up = definition.increment > 0;
    match next.filter(|v| (definition.min..=definition.max).contains(v)) {
        Some(value) => Ok(value),
        None if definition.cycle => Ok(if up { definition.min } else { definition.max }),
        None => {
            let (which, bound) =
                if up { ("maximum", definition.max) } else { ("minimum", definition.min) };
            Err(Error::new(
                SqlState::SEQUENCE_LIMIT_EXCEEDED,
                format!("nextval: reached {which} value of sequence ({bound})"),
            ))
        }
    }
}

impl Coordinator {
    pub(super) fn next_values(
        &mut self,
        id: GlobalId,
        definition: &Sequence,
        count: u64,
        reply: Reply<Vec<i64>>,
    ) {
        match self.take_values(id, definition, count) {
            Ok((values, time)) => self.when_released(time, move || {
                let _ = reply.send(Ok(values));
            }),
            Err(error) => {
                let _ = reply.send(Err(error));
            }
        }
    }

    fn take_values(
        &mut self,
        id: GlobalId,
        definition: &Sequence,
        count: u64,
    ) -> Result<(Vec<i64>, Timestamp)> {
        let start = State { last: definition.start, is_called: false, ahead: 0, logged_at: 0 };
        let mut state = self.sequences.0.get(&id).copied().unwrap_or(start);
        let mut values = Vec::new();
        for _ in 0..count {
            state.last = step(definition, state.last, state.is_called).map_err(|mut error| {
                if let Some(item) = self.catalogs.tip.get(id) {
                    error.message = error
                        .message
                        .replace("of sequence (", &format!("of sequence \"{}\" (", item.name));
                }
                error
            })?;
            state.is_called = true;
            state.ahead -= 1;
            values.push(state.last);
        }
        let is_committed = self.catalogs.tip.get(id).is_some();
        if state.ahead < 0 && is_committed {
            let (mut last, mut ahead) = (state.last, 0);
            while ahead < BLOCK
                && let Ok(next) = step(definition, last, true)
            {
                (last, ahead) = (next, ahead + 1);
            }
            state.ahead = ahead;
            state.logged_at = self.log_sequence(id, last, true);
        }
        self.sequences.0.insert(id, state);
        Ok((values, state.logged_at))
    }

    pub(super) fn set_value(
        &mut self,
        id: GlobalId,
        value: i64,
        is_called: bool,
        reply: Reply<()>,
    ) {
        let time = match self.catalogs.tip.get(id) {
            Some(_) => self.log_sequence(id, value, is_called),
            None => 0,
        };
        let state = State { last: value, is_called, ahead: 0, logged_at: time };
        self.sequences.0.insert(id, state);
        self.when_released(time, move || {
            let _ = reply.send(Ok(()));
        });
    }

    /// Logs a sequence's state as a transaction of its own, since it is never rolled back.
    fn log_sequence(&mut self, id: GlobalId, last_value: i64, is_called: bool) -> Timestamp {
        let time = self.clock.next();
        self.gate.applied(time);
        let change = Change::Sequence { id, last_value, is_called };
        self.log.send(LogRequest::Append(Transaction { time, changes: vec![change] }));
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_or_start_over() {
        let mut definition =
            Sequence { start: 2, increment: 2, min: 1, max: 5, cycle: false, owned_by: None };
        assert_eq!(step(&definition, 2, false), Ok(2));
        assert_eq!(step(&definition, 2, true), Ok(4));
        let error = step(&definition, 4, true).expect_err("6 is above the maximum");
        assert_eq!(error.code, SqlState::SEQUENCE_LIMIT_EXCEEDED);
        definition.cycle = true;
        assert_eq!(step(&definition, 4, true), Ok(1));
        definition.increment = i64::MIN;
        assert_eq!(step(&definition, 4, true), Ok(5));
    }
}
