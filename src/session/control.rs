//! BEGIN, COMMIT, ROLLBACK, savepoints; and the commit itself.

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::Statement;
use crate::session::frontend::Notice;
use crate::session::session::{Outcome, Session};
use crate::session::transaction::Mode;

impl Session {
    pub(super) async fn control(&mut self, statement: Statement) -> Result<Outcome> {
        let done = |tag: &str| Ok(Outcome::Done(tag.into()));
        match statement {
            Statement::Begin { read_only } => {
                let in_block = self.mode() == Mode::Block;
                self.transaction_mut()?.mode = Mode::Block;
                if let Some(read_only) = read_only {
                    let value = if read_only { "on" } else { "off" };
                    let changed = self.variables.set("transaction_read_only", Some(value), true)?;
                    self.reports.extend(changed);
                }
                if in_block {
                    let message = "there is already a transaction in progress";
                    self.warn(SqlState::ACTIVE_SQL_TRANSACTION, message);
                }
                done("BEGIN")
            }
            Statement::Commit { chain } => self.commit(chain).await,
            Statement::Rollback { chain } => {
                if self.mode() == Mode::Implicit {
                    self.no_transaction();
                }
                self.portals.clear();
                self.abandon_keeping_notices();
                self.next_in_chain(chain).await?;
                done("ROLLBACK")
            }
            Statement::Savepoint { name } => {
                self.in_block("SAVEPOINT")?.savepoint(name);
                self.variables.savepoint();
                self.rules.savepoint();
                done("SAVEPOINT")
            }
            Statement::ReleaseSavepoint { name } => {
                let depth = self.in_block("RELEASE SAVEPOINT")?.release(&name)?;
                self.variables.release(depth);
                self.rules.release(depth);
                done("RELEASE")
            }
            Statement::RollbackTo { name } => {
                let depth = self.in_block("ROLLBACK TO SAVEPOINT")?.rollback_to(&name)?;
                let changed = self.variables.rollback_to(depth);
                self.rules.rollback_to(depth);
                self.reports.extend(changed);
                done("ROLLBACK")
            }
            other => Err(Error::internal(format!("not transaction control: {other:?}"))),
        }
    }

    async fn commit(&mut self, chain: bool) -> Result<Outcome> {
        let mode = self.mode();
        if mode == Mode::Implicit {
            self.no_transaction();
        }
        if mode == Mode::Failed {
            self.portals.clear();
            self.abandon_keeping_notices();
            self.next_in_chain(chain).await?;
            return Ok(Outcome::Done("ROLLBACK".into()));
        }
        let result = self.commit_work(None).await;
        self.portals.clear();
        self.transaction = None;
        match result {
            Ok(()) => {
                self.rules.commit();
                let changed = self.variables.commit();
                self.reports.extend(changed);
                self.next_in_chain(chain).await?;
                Ok(Outcome::Done("COMMIT".into()))
            }
            Err(error) => {
                self.abandon();
                Err(error)
            }
        }
    }

    /// Sends the open transaction's work to the coordinator and waits until it is durable.
    pub(super) async fn commit_work(&mut self, exclusive: Option<u64>) -> Result<()> {
        let asynchronous = !self.variables.synchronous_commit();
        let engine = self.engine.clone();
        if self.transaction()?.is_empty() {
            return Ok(());
        }
        self.check_deferred().await?;
        let transaction = self.transaction_mut()?;
        let made = transaction.hydrating();
        let commit = transaction.take_commit(&engine, asynchronous, exclusive)?;
        // A commit that was sent goes through, so it is not given up half-way; but what it makes
        // can be undone while it fills.
        let client = self.engine.client.clone();
        let committing = client.commit(commit);
        let result = if made.is_empty() {
            committing.await
        } else {
            match self.cancel.or(committing).await {
                Err(error) if self.cancel.check().is_err() => {
                    self.undo(&made, exclusive).await;
                    Err(error)
                }
                result => result,
            }
        };
        self.committed(asynchronous, result.map(|_| ()))
    }

    /// Notes that the open transaction is committed, if it is.
    pub(super) fn committed(&mut self, asynchronous: bool, result: Result<()>) -> Result<()> {
        result?;
        self.ahead = asynchronous;
        self.transaction_mut()?.at_tip = false;
        Ok(())
    }

    pub(super) fn mode(&self) -> Mode {
        self.transaction.as_ref().map_or(Mode::Implicit, |transaction| transaction.mode)
    }

    fn abandon_keeping_notices(&mut self) {
        let notices = std::mem::take(&mut self.notices);
        self.abandon();
        self.notices = notices;
    }

    async fn next_in_chain(&mut self, chain: bool) -> Result<()> {
        if chain {
            self.open(Mode::Block, false).await?;
        }
        Ok(())
    }

    fn in_block(&mut self, what: &str) -> Result<&mut crate::session::transaction::Transaction> {
        if self.mode() == Mode::Implicit {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                format!("{what} can only be used in transaction blocks"),
            ));
        }
        self.transaction_mut()
    }

    fn no_transaction(&mut self) {
        self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, "there is no transaction in progress");
    }

    pub(super) fn warn(&mut self, code: SqlState, message: impl Into<String>) {
        self.notices.push(Notice { severity: "WARNING", error: Error::new(code, message) });
    }

    pub(super) fn note(&mut self, message: impl Into<String>) {
        let error = Error::new(SqlState::new(b"00000"), message);
        self.notices.push(Notice { severity: "NOTICE", error });
    }
}
