//! The rules that a session has defined, and what becomes of them when a transaction is undone.

use crate::sql::SessionRules;

/// The rules of a session in its open transaction.
#[derive(Default)]
pub(super) struct Rules {
    now: SessionRules,
    /// As they were before the transaction; none where it has changed nothing.
    before: Option<SessionRules>,
    /// As they were at each savepoint.
    savepoints: Vec<SessionRules>,
}

impl Rules {
    /// The rules that there are.
    pub(super) fn current(&self) -> &SessionRules {
        &self.now
    }

    /// Adds rules: the name that each derives into, and its text.
    pub(super) fn add(&mut self, rules: Vec<(String, String)>) {
        self.keep();
        self.now.add(rules);
    }

    /// Forgets the rules of these names.
    pub(super) fn remove(&mut self, names: &[String]) {
        self.keep();
        names.iter().for_each(|name| self.now.remove(name));
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.keep();
        self.now.clear();
    }

    /// The transaction is committed.
    pub(super) fn commit(&mut self) {
        self.before = None;
        self.savepoints.clear();
    }

    /// The transaction is undone.
    pub(super) fn rollback(&mut self) {
        self.savepoints.clear();
        if let Some(before) = self.before.take() {
            self.now = before;
        }
    }

    /// Makes a savepoint within the ones that are there.
    pub(super) fn savepoint(&mut self) {
        self.keep();
        self.savepoints.push(self.now.clone());
    }

    /// Goes back to the savepoint that has `depth` others around it, and keeps it.
    pub(super) fn rollback_to(&mut self, depth: usize) {
        self.savepoints.truncate(depth + 1);
        if let Some(then) = self.savepoints.get(depth) {
            self.now = then.clone();
        }
    }

    /// Gives up the savepoint that has `depth` others around it, and those within it.
    pub(super) fn release(&mut self, depth: usize) {
        self.savepoints.truncate(depth);
    }

    fn keep(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.now.clone());
        }
    }
}
