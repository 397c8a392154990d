//! The clock that times come from.
//!
//! A time is wall-clock nanoseconds: the wall clock is read once, at start, and from then on the
//! monotonic clock carries it, so it never steps back and never jumps. Two calls never give the
//! same time. Recovery starts the clock at the log's lease, below which all times are spent, even
//! where the wall clock is behind it.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::repr::Timestamp;

/// Gives strictly increasing times.
pub struct Clock {
    origin: Instant,
    origin_ns: Timestamp,
    last: Timestamp,
}

impl Clock {
    /// A clock whose first time is at or above `first`.
    pub fn starting_at(first: Timestamp) -> Clock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin_ns = (wall.as_nanos() as Timestamp).max(first);
        Clock { origin: Instant::now(), origin_ns, last: first.saturating_sub(1) }
    }

    /// What the clock shows, without spending it.
    pub fn read(&self) -> Timestamp {
        let elapsed = self.origin.elapsed().as_nanos() as Timestamp;
        (self.origin_ns + elapsed).max(self.last)
    }

    /// A time above all that it gave before.
    pub fn next(&mut self) -> Timestamp {
        self.last = self.read().max(self.last + 1);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_increase_from_the_first() {
        let far = 1 << 62;
        let mut clock = Clock::starting_at(far);
        assert!(clock.read() >= far - 1);
        let (a, b) = (clock.next(), clock.next());
        assert!(far <= a && a < b);
    }
}
