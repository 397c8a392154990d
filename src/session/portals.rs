//! Portals: statements that are being run bit by bit, by Execute or by FETCH.
//!
//! A portal begins to run at its first Execute. It lives until the end of its transaction.

use std::sync::Arc;

use crate::error::{Error, Result, SqlState};
use crate::plan::statement::Statement;
use crate::repr::value::{decode_values, pack};
use crate::repr::{RelationDesc, Row};
use crate::session::frontend::{Field, Format, Frontend};
use crate::session::introspection::activity::Stage;
use crate::session::parameters::Value;
use crate::session::prepared::{Prepared, is_write};
use crate::session::rows::Rows;
use crate::session::session::{Outcome, RETRIES_MAX, Session, Tag, fields};
use crate::session::transaction::Mode;

/// A statement that is being run.
pub(super) struct Portal {
    source: Option<(Arc<Prepared>, Vec<Value>)>,
    formats: Vec<Format>,
    pub(super) desc: Option<RelationDesc>,
    outcome: Option<Outcome>,
    done: bool,
}

/// The only statement of an implicit transaction, so that it can be run again at its end.
pub(super) struct Lone {
    prepared: Arc<Prepared>,
    values: Vec<Value>,
    /// What it answered; none: rows, which cannot be taken back.
    tag: Option<String>,
    /// Whether it is a COPY, whose data has been taken and is not there again.
    is_copy: bool,
}

/// A portal whose lone statement has run, but was not answered: it is committed first.
pub(super) struct Unsent {
    name: String,
    portal: Portal,
}

impl Portal {
    /// A portal that has not begun.
    pub(super) fn bound(
        prepared: Arc<Prepared>,
        values: Vec<Value>,
        formats: Vec<Format>,
        desc: Option<RelationDesc>,
    ) -> Portal {
        Portal { source: Some((prepared, values)), formats, desc, outcome: None, done: false }
    }
}

fn no_portal(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("cursor \"{name}\" does not exist"))
}

impl Session {
    /// The columns of a portal (Describe). Error 34000.
    pub async fn describe_portal(&mut self, name: &str) -> Result<Option<Vec<Field>>> {
        let portal = self.portals.get(name).ok_or_else(|| portal_gone(name))?;
        Ok(portal.desc.as_ref().map(|desc| fields(desc, &portal.formats)))
    }

    /// Runs a portal on, at most `max_rows` rows (Execute; 0: all).
    pub async fn execute<F: Frontend>(
        &mut self,
        name: &str,
        max_rows: u32,
        out: &mut F,
    ) -> Result<()> {
        let _limit = self.time_limit();
        let source = self.portals.get(name).and_then(|portal| portal.source.as_ref());
        let statement = source.and_then(|(prepared, _)| prepared.statement.as_ref());
        let begun =
            statement.and_then(|statement| self.presence.begin(&statement.text, out.sent()));
        let result = self.run_portal(name, max_rows, out).await;
        let result = self.settle_error(result).await;
        self.presence.mark(Stage::Send);
        self.presence.end(begun, &result, (self.transaction_status(), out.sent()));
        result
    }

    async fn run_portal<F: Frontend>(
        &mut self,
        name: &str,
        max_rows: u32,
        out: &mut F,
    ) -> Result<()> {
        let mut portal = self.portals.remove(name).ok_or_else(|| portal_gone(name))?;
        if let Some((prepared, values)) = portal.source.take() {
            if let Some(statement) = &prepared.statement {
                self.check_state(statement)?;
                let first = self.transaction.is_none();
                self.open(Mode::Implicit, is_write(statement)).await?;
                let outcome = self.run_prepared(&prepared, &values).await?;
                self.presence.mark(Stage::Run);
                let tag = match &outcome {
                    Outcome::Done(tag) => Some(tag.clone()),
                    _ => None,
                };
                let is_copy = matches!(outcome, Outcome::CopyIn(_));
                self.lone = (first || self.lone_possible).then(|| Lone {
                    prepared: prepared.clone(),
                    values,
                    tag,
                    is_copy,
                });
                self.lone_possible = false;
                portal.outcome = Some(outcome);
            } else {
                portal.outcome = Some(Outcome::Empty);
            }
        }
        if portal.done {
            return Err(Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("portal \"{name}\" cannot be run"),
            ));
        }
        if self.can_wait(&portal, max_rows) {
            self.unsent = Some(Unsent { name: name.to_owned(), portal });
            return Ok(());
        }
        self.answer_portal(name, portal, max_rows, out).await
    }

    /// Whether a portal's answer can be kept until the Sync behind it has committed it. Nothing
    /// has been said then, so that the statement can be run again.
    fn can_wait(&self, portal: &Portal, max_rows: u32) -> bool {
        let fixed = match &portal.outcome {
            Some(Outcome::Done(_)) => true,
            Some(Outcome::Rows { tag, .. }) => matches!(tag, Tag::Fixed(_)),
            _ => false,
        };
        let open = self.transaction.as_ref();
        let implicit = open.is_some_and(|t| t.mode == Mode::Implicit && !t.is_empty());
        fixed && implicit && max_rows == 0 && self.lone.is_some()
    }

    /// Says what was kept back for a Sync, because something else has come.
    pub async fn settle<F: Frontend>(&mut self, out: &mut F) -> Result<()> {
        match self.unsent.take() {
            Some(Unsent { name, portal }) => self.answer_portal(&name, portal, 0, out).await,
            None => Ok(()),
        }
    }

    async fn answer_portal<F: Frontend>(
        &mut self,
        name: &str,
        mut portal: Portal,
        max_rows: u32,
        out: &mut F,
    ) -> Result<()> {
        self.say(out);
        let Some(mut outcome) = portal.outcome.take() else { return Err(portal_gone(name)) };
        let formats = portal.formats.clone();
        portal.done = self.send(&mut outcome, &formats, u64::from(max_rows), out).await?;
        if matches!(outcome, Outcome::Rows { .. }) && portal.done {
            // At its end it answers with nothing more.
            portal.done = false;
        }
        portal.outcome = Some(outcome);
        // COMMIT has dropped the portals, and this one with them.
        if self.transaction.is_some() {
            self.portals.insert(name.to_owned(), portal);
        }
        Ok(())
    }

    /// Forgets a portal (Close); it need not be there.
    pub fn close_portal(&mut self, name: &str) {
        self.portals.remove(name);
    }

    /// Ends the implicit transaction around a pipeline (Sync).
    pub async fn sync<F: Frontend>(&mut self, out: &mut F) -> Result<()> {
        let lone = self.lone.take();
        self.lone_possible = false;
        let mut unsent = self.unsent.take();
        let Some(transaction) = &self.transaction else { return Ok(()) };
        if transaction.mode != Mode::Implicit {
            return Ok(());
        }
        let _limit = self.time_limit();
        if lone.as_ref().is_some_and(|lone| lone.is_copy) {
            self.commit_copied().await?;
        }
        match (self.commit_writes(None).await, lone) {
            (Ok(()), _) => {}
            (Err(error), Some(lone)) if error.code == SqlState::SERIALIZATION_FAILURE => {
                self.run_again(lone, error, &mut unsent).await?;
            }
            (Err(error), _) => return Err(error),
        }
        if let Some(Unsent { name, portal }) = unsent {
            self.answer_portal(&name, portal, 0, out).await?;
        }
        self.end_implicit(out).await
    }

    /// Runs the lone statement of a pipeline again after it met a concurrent one. Where the client
    /// has its tag already, it must answer with the same one.
    async fn run_again(
        &mut self,
        lone: Lone,
        error: Error,
        unsent: &mut Option<Unsent>,
    ) -> Result<()> {
        for attempt in 1.. {
            let exclusive = if attempt > RETRIES_MAX {
                Some(self.cancel.or(self.engine.client.exclusive()).await?)
            } else {
                None
            };
            self.abandon();
            self.open(Mode::Implicit, true).await?;
            let outcome = self.run_prepared(&lone.prepared, &lone.values).await?;
            match (&mut *unsent, outcome, &lone.tag) {
                (Some(unsent), outcome, _) => unsent.portal.outcome = Some(outcome),
                (None, Outcome::Done(again), Some(tag)) if again == *tag => {}
                _ => return Err(error),
            }
            match self.commit_writes(exclusive.as_ref().map(|guard| guard.token())).await {
                Err(again)
                    if again.code == SqlState::SERIALIZATION_FAILURE && exclusive.is_none() => {}
                result => return result,
            }
        }
        Ok(())
    }

    /// DECLARE, FETCH, MOVE, CLOSE.
    pub(super) async fn cursor(&mut self, statement: Statement) -> Result<Outcome> {
        match statement {
            Statement::Declare { name, hold, query, .. } => {
                if hold {
                    return Err(Error::unsupported(
                        "DECLARE CURSOR ... WITH HOLD",
                        "Read the cursor in the transaction that declares it.",
                    ));
                }
                if self.mode() == Mode::Implicit {
                    return Err(Error::new(
                        SqlState::NO_ACTIVE_SQL_TRANSACTION,
                        "DECLARE CURSOR can only be used in transaction blocks",
                    ));
                }
                if self.portals.contains_key(&name) {
                    return Err(Error::new(
                        SqlState::DUPLICATE_CURSOR,
                        format!("cursor \"{name}\" already exists"),
                    ));
                }
                let desc = self.describe(&query)?;
                let outcome = Box::pin(self.start(*query)).await?;
                let portal = Portal {
                    source: None,
                    formats: vec![],
                    desc,
                    outcome: Some(outcome),
                    done: false,
                };
                self.portals.insert(name, portal);
                Ok(Outcome::Done("DECLARE CURSOR".into()))
            }
            Statement::Fetch { cursor, count, timeout_ms, is_move } => {
                self.fetch(&cursor, count, timeout_ms, is_move).await
            }
            Statement::Close { cursor: Some(cursor) } => {
                self.portals.remove(&cursor).ok_or_else(|| no_portal(&cursor))?;
                Ok(Outcome::Done("CLOSE CURSOR".into()))
            }
            Statement::Close { cursor: None } => {
                self.portals.clear();
                Ok(Outcome::Done("CLOSE CURSOR ALL".into()))
            }
            other => Err(Error::internal(format!("not a cursor's: {other:?}"))),
        }
    }

    async fn fetch(
        &mut self,
        name: &str,
        count: Option<u64>,
        timeout_ms: Option<u64>,
        is_move: bool,
    ) -> Result<Outcome> {
        let mut portal = self.portals.remove(name).ok_or_else(|| no_portal(name))?;
        let taken = self.take_rows(&mut portal, count, timeout_ms).await;
        let desc = portal.desc.clone().unwrap_or_default();
        self.portals.insert(name.to_owned(), portal);
        let taken = taken?;
        if is_move {
            return Ok(Outcome::Done(format!("MOVE {}", taken.len())));
        }
        let rows = Rows::ready(taken, desc.scalars());
        Ok(Outcome::Rows { desc, rows: Box::new(rows), tag: Tag::Counted("FETCH") })
    }

    /// Takes rows from a cursor. What a cancel interrupts stays in it.
    async fn take_rows(
        &mut self,
        portal: &mut Portal,
        count: Option<u64>,
        timeout_ms: Option<u64>,
    ) -> Result<Vec<Row>> {
        let mut taken = Vec::new();
        let more = |taken: &Vec<Row>| count.is_none_or(|n| (taken.len() as u64) < n);
        match &mut portal.outcome {
            Some(Outcome::Rows { rows, .. }) => {
                while more(&taken)
                    && let Some(row) = rows.next(&self.cancel).await?
                {
                    let mut datums = Vec::with_capacity(rows.types.len());
                    decode_values(&rows.types, row.bytes(), &mut datums);
                    let projected: Vec<_> = rows.project.iter().map(|c| datums[*c]).collect();
                    taken.push(pack(&projected));
                }
            }
            Some(Outcome::Changes(watch)) => {
                self.transaction_mut()?.release_snapshot();
                if count != Some(0) && !watch.is_ended() {
                    watch.fill(count, timeout_ms, &self.cancel).await?;
                }
                while more(&taken)
                    && let Some(row) = watch.pop()
                {
                    taken.push(row);
                }
            }
            _ => {
                return Err(Error::new(
                    SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                    "the cursor has no rows",
                ));
            }
        }
        Ok(taken)
    }
}

fn portal_gone(name: &str) -> Error {
    Error::new(SqlState::INVALID_CURSOR_NAME, format!("portal \"{name}\" does not exist"))
}
