//! Who is connected: how many may be, and who may cancel whom.
//!
//! A cancel request comes on a connection of its own and names a number and a secret, which only
//! the client of that number was told.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result, SqlState};
use crate::session::frontend::{CancelReason, CancelToken};

/// The length of a secret where the client's protocol version has no longer ones.
const SHORT_SECRET_BYTES: usize = 4;

/// All connections that have been admitted.
#[derive(Debug)]
pub struct Registry {
    connections_max: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_number: HashMap<i32, Entry>,
    last_number: i32,
    stopping: bool,
}

#[derive(Debug)]
struct Entry {
    secret: Vec<u8>,
    cancel: CancelToken,
}

/// A connection's place in the registry, given back when it is dropped.
#[derive(Debug)]
pub struct Registration {
    registry: Arc<Registry>,
    /// The number that stands for a process id in the protocol.
    pub number: i32,
    /// What has to be known to cancel this connection's statements.
    pub secret: Vec<u8>,
}

impl Registry {
    /// A registry of so many connections at most.
    pub fn new(connections_max: usize) -> Arc<Registry> {
        Arc::new(Registry { connections_max, entries: Mutex::default() })
    }

    /// Admits a connection. Error 53300 where there are too many, 57P03 once the server stops.
    pub fn register(
        self: &Arc<Registry>,
        cancel: CancelToken,
        long_secret: bool,
    ) -> Result<Registration> {
        let mut entries = self.lock();
        if entries.stopping {
            return Err(Error::new(
                SqlState::CANNOT_CONNECT_NOW,
                "the database system is shutting down",
            ));
        }
        if entries.by_number.len() >= self.connections_max {
            return Err(Error::new(
                SqlState::TOO_MANY_CONNECTIONS,
                "sorry, too many clients already",
            ));
        }
        let mut number = entries.last_number;
        loop {
            number = number.checked_add(1).unwrap_or(1);
            if !entries.by_number.contains_key(&number) {
                break;
            }
        }
        entries.last_number = number;
        let secret = new_secret(long_secret);
        entries.by_number.insert(number, Entry { secret: secret.clone(), cancel });
        Ok(Registration { registry: self.clone(), number, secret })
    }

    /// Cancels what a connection does, if the secret is right. Says nothing to whoever asks.
    pub fn cancel(&self, number: i32, secret: &[u8]) {
        let entries = self.lock();
        if let Some(entry) = entries.by_number.get(&number)
            && same(&entry.secret, secret)
        {
            entry.cancel.cancel(CancelReason::User);
        }
    }

    /// Admits nobody any more, and tells every connection to end.
    pub fn stop(&self) {
        let mut entries = self.lock();
        entries.stopping = true;
        for entry in entries.by_number.values() {
            entry.cancel.cancel(CancelReason::Shutdown);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Nothing that is done under the lock leaves it half done.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.lock().by_number.remove(&self.number);
    }
}

/// 32 unpredictable bytes, or the first few of them.
fn new_secret(long: bool) -> Vec<u8> {
    let mut secret = Vec::with_capacity(32);
    for _ in 0..2 {
        secret.extend_from_slice(uuid::Uuid::new_v4().as_bytes());
    }
    if !long {
        // The bits of a version 4 UUID that are fixed lie behind these.
        secret.truncate(SHORT_SECRET_BYTES);
    }
    secret
}

/// Whether two secrets are equal, in a time that does not depend on where they differ.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |sum, (l, r)| sum | (l ^ r)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_secret_cancels() {
        let registry = Registry::new(10);
        let token = CancelToken::default();
        let place = registry.register(token.clone(), true).expect("room");
        assert_eq!(place.secret.len(), 32);
        registry.cancel(place.number, &place.secret[..31]);
        registry.cancel(place.number, &[0; 32]);
        registry.cancel(place.number + 1, &place.secret);
        assert!(token.check().is_ok());
        registry.cancel(place.number, &place.secret);
        assert!(token.check().is_err());
    }

    #[test]
    fn places_are_given_back() {
        let registry = Registry::new(1);
        let place = registry.register(CancelToken::default(), false).expect("room");
        assert_eq!(place.secret.len(), 4);
        let full = registry.register(CancelToken::default(), false).expect_err("full");
        assert_eq!(full.code, SqlState::TOO_MANY_CONNECTIONS);
        drop(place);
        let token = CancelToken::default();
        let _place = registry.register(token.clone(), false).expect("room again");
        registry.stop();
        assert_eq!(token.check().expect_err("stopping").code, SqlState::ADMIN_SHUTDOWN);
        let late = registry.register(CancelToken::default(), false).expect_err("stopping");
        assert_eq!(late.code, SqlState::CANNOT_CONNECT_NOW);
    }
}
