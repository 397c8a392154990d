//! The gate of durability: what may leave the server.
//!
//! Nothing that depends on time `t` leaves before the log is durable through `t`. A time is
//! covered either by a transaction of the log, or, where no transaction has it (progress,
//! `now()`), by the lease: "times below it are spent".

use std::collections::VecDeque;

use crate::repr::Timestamp;

/// How far ahead of a time that needs it a lease is taken, in nanoseconds.
const LEASE_AHEAD: Timestamp = 5_000_000_000;

/// Which times are covered.
pub(crate) struct Gate {
    /// Times of transactions that are applied but not durable.
    pending: VecDeque<Timestamp>,
    /// The newest durable transaction.
    durable: Timestamp,
    /// The newest transaction.
    tip: Timestamp,
    /// Times below it are spent, durably.
    lease: Timestamp,
    /// The lease that was asked for.
    asked: Timestamp,
}

impl Gate {
    /// A gate after recovery with that lease.
    pub(crate) fn new(lease: Timestamp) -> Gate {
        let durable = lease.saturating_sub(1);
        Gate { pending: VecDeque::new(), durable, tip: durable, lease, asked: lease }
    }

    /// A transaction was given this time, and goes to the log.
    pub(crate) fn applied(&mut self, time: Timestamp) {
        self.pending.push_back(time);
        self.tip = time;
    }

    /// The log is durable through a transaction, and has a lease.
    pub(crate) fn advance(&mut self, through: Option<Timestamp>, lease: Timestamp) {
        if let Some(through) = through {
            while self.pending.front().is_some_and(|t| *t <= through) {
                self.pending.pop_front();
            }
            self.durable = self.durable.max(through);
            self.lease = self.lease.max(through + 1);
        }
        self.lease = self.lease.max(lease);
    }

    /// The newest durable transaction: what others may see.
    pub(crate) fn durable(&self) -> Timestamp {
        self.durable
    }

    /// The newest transaction.
    pub(crate) fn tip(&self) -> Timestamp {
        self.tip
    }

    /// Whether all transactions are durable.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Whether no restart can give this time again.
    pub(crate) fn is_spent(&self, time: Timestamp) -> bool {
        time < self.lease
    }

    /// The greatest time such that all up to it may leave.
    pub(crate) fn released(&self) -> Timestamp {
        let covered = self.lease.saturating_sub(1);
        self.pending.front().map_or(covered, |first| covered.min(first - 1))
    }

    /// The lease to ask for so that `time` becomes spent; none where it is, or is asked for.
    pub(crate) fn lease_for(&mut self, time: Timestamp) -> Option<Timestamp> {
        if time < self.asked {
            return None;
        }
        self.asked = time + LEASE_AHEAD;
        Some(self.asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_before_it_is_durable() {
        let mut gate = Gate::new(100);
        assert_eq!((gate.durable(), gate.released()), (99, 99));
        gate.applied(150);
        gate.applied(160);
        assert_eq!((gate.durable(), gate.tip(), gate.released()), (99, 160, 99));
        gate.advance(Some(150), 0);
        assert_eq!((gate.durable(), gate.released()), (150, 150));
        let lease = gate.lease_for(170);
        assert_eq!(lease, Some(170 + LEASE_AHEAD));
        assert_eq!(gate.lease_for(171), None);
        gate.advance(None, 170 + LEASE_AHEAD);
        assert_eq!(gate.released(), 159, "a transaction before it still is pending");
        gate.advance(Some(160), 0);
        assert!(gate.is_spent(170) && gate.released() >= 170);
    }
}
