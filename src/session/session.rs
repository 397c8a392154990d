//! One client's session: the pipeline from a statement's text to its answer.
//!
//! A statement runs in a transaction: the open block, or an implicit one around it. What it
//! answers is first made ([`Outcome`]) and then sent; a lone write is committed in between, so
//! that its tag means that it is durable, and so that it can be run again where it met a
//! concurrent one, without the client having seen anything.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::coord::request::When;
use crate::error::{Error, Result, SqlState};
use crate::expr::functions::sequence::SequenceCalls;
use crate::plan::statement::Statement;
use crate::repr::RelationDesc;
use crate::session::engine::Engine;
use crate::session::frontend::{CancelToken, Field, Format, Frontend, Notice, TimeoutGuard};
use crate::session::introspection::activity::{Presence, Stage};
use crate::session::portals::{Lone, Portal, Unsent};
use crate::session::prepared::{Prepared, is_write};
use crate::session::rows::Rows;
use crate::session::rules::Rules;
use crate::session::transaction::{Mode, Transaction};
use crate::session::variables::Variables;
use crate::session::watch::Watch;
use crate::sql::{self, ParsedStatement};

/// How often a lone statement that met a concurrent one is tried again before it runs alone.
pub(super) const RETRIES_MAX: usize = 2;

/// One client's session.
pub struct Session {
    pub(super) engine: Engine,
    pub(super) cancel: CancelToken,
    pub(super) variables: Variables,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) transaction: Option<Transaction>,
    pub(super) statements: HashMap<String, Arc<Prepared>>,
    pub(super) portals: HashMap<String, Portal>,
    /// The only statement of the implicit transaction so far.
    pub(super) lone: Option<Lone>,
    /// Whether the implicit transaction was opened for a statement that has not run yet.
    pub(super) lone_possible: bool,
    /// What the lone write of a pipeline answers once it is committed.
    pub(super) unsent: Option<Unsent>,
    /// Whether it has committed something that may not be durable yet.
    pub(super) ahead: bool,
    /// The rules that it has defined.
    pub(super) rules: Rules,
    /// What it has been given by sequences.
    pub(super) sequences: SequenceCalls,
    /// What is to be said before the statement's end.
    pub(super) notices: Vec<Notice>,
    /// Reported settings that have changed.
    pub(super) reports: Vec<(String, String)>,
    /// What others see of it.
    pub(super) presence: Presence,
}

/// What a statement answers with.
pub(super) enum Outcome {
    /// A tag.
    Done(String),
    /// Nothing at all.
    Empty,
    /// Rows; the tag begins with this, and ends with their number where it says so.
    Rows { desc: RelationDesc, rows: Box<Rows>, tag: Tag },
    /// Changes without end.
    Changes(Box<Watch>),
    /// Rows or changes as data.
    CopyOut { inner: Box<Outcome>, options: Box<crate::plan::statement::CopyOptions> },
    /// Waits for data.
    CopyIn(Box<crate::plan::statement::CopyFrom>),
}

/// The tag of a statement that answers with rows.
#[derive(Clone, Debug)]
pub(super) enum Tag {
    /// The word and the number of rows sent.
    Counted(&'static str),
    /// This.
    Fixed(String),
}

impl Session {
    /// A session for a client that said this at its start.
    ///
    /// Errors: 22023 and 42704 for settings that are not to be had.
    pub fn new(
        engine: Engine,
        startup: Vec<(String, String)>,
        cancel: CancelToken,
    ) -> Result<Session> {
        let named = |name: &str| startup.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        let user = named("user").unwrap_or_else(|| "weir".into());
        let database = named("database").unwrap_or_else(|| user.clone());
        let presence = engine.activity.enter(&user, &database);
        Ok(Session {
            engine,
            cancel,
            variables: Variables::new(&startup)?,
            user,
            database,
            transaction: None,
            statements: HashMap::new(),
            portals: HashMap::new(),
            lone: None,
            lone_possible: false,
            unsent: None,
            ahead: false,
            rules: Rules::default(),
            sequences: SequenceCalls::default(),
            notices: Vec::new(),
            reports: Vec::new(),
            presence,
        })
    }

    /// Tells the number by which its connection is cancelled.
    pub fn number(&self, pid: i32) {
        self.presence.number(pid);
    }

    /// The settings that a client is told at its start.
    pub fn reported_parameters(&self) -> Vec<(String, String)> {
        let mut reported = self.variables.reported();
        reported.push(("session_authorization".into(), self.user.clone()));
        reported
    }

    /// The status that ReadyForQuery carries.
    pub fn transaction_status(&self) -> u8 {
        match self.transaction.as_ref().map(|transaction| transaction.mode) {
            None | Some(Mode::Implicit) => b'I',
            Some(Mode::Block) => b'T',
            Some(Mode::Failed) => b'E',
        }
    }

    /// Runs the statements of a Query message.
    pub async fn simple_query<F: Frontend>(&mut self, text: &str, out: &mut F) -> Result<()> {
        let begun = self.presence.begin(text, out.sent());
        let result = self.run_text(text, out).await;
        let result = self.settle_error(result).await;
        self.presence.end(begun, &result, (self.transaction_status(), out.sent()));
        result
    }

    /// An error tells something of what was read, so that has to be durable first.
    pub(super) async fn settle_error(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() && self.mode() != Mode::Failed {
            self.await_read().await?;
        }
        result
    }

    /// The time limit of the statement that begins now.
    pub(super) fn time_limit(&self) -> Option<TimeoutGuard> {
        let limit = self.variables.statement_timeout_ms().map(Duration::from_millis);
        limit.map(|limit| self.cancel.cancel_after(limit))
    }

    async fn run_text<F: Frontend>(&mut self, text: &str, out: &mut F) -> Result<()> {
        self.portals.remove("");
        let statements = sql::parse(text)?;
        self.presence.mark(Stage::Parse);
        if statements.is_empty() {
            out.empty_query();
            return Ok(());
        }
        let lone = statements.len() == 1;
        for statement in &statements {
            let _limit = self.time_limit();
            self.check_state(statement)?;
            if lone && self.transaction.is_none() {
                self.run_lone(statement, out).await?;
            } else {
                self.open(Mode::Implicit, is_write(statement)).await?;
                let bound = self.bind_statement(statement, &mut Vec::new())?;
                self.check_parameters(&bound)?;
                self.presence.mark(Stage::Bind);
                let mut outcome = self.start(bound).await?;
                self.presence.mark(Stage::Run);
                self.answer(&mut outcome, out).await?;
                self.presence.mark(Stage::Send);
            }
        }
        self.end_implicit(out).await
    }

    /// In a failed block only its end is accepted.
    pub(super) fn check_state(&self, statement: &ParsedStatement) -> Result<()> {
        let failed = self.transaction.as_ref().is_some_and(|t| t.mode == Mode::Failed);
        if failed && !statement.is_transaction_exit() {
            return Err(Error::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    fn check_parameters(&self, bound: &Statement) -> Result<()> {
        match crate::session::parameters::first_parameter(bound) {
            None => Ok(()),
            Some(number) => Err(Error::new(
                SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${number}"),
            )),
        }
    }

    /// Runs a statement in a transaction of its own, again where it meets a concurrent one.
    async fn run_lone<F: Frontend>(
        &mut self,
        statement: &ParsedStatement,
        out: &mut F,
    ) -> Result<()> {
        let mut exclusive = None;
        for attempt in 0.. {
            if attempt > RETRIES_MAX && exclusive.is_none() {
                exclusive = Some(self.cancel.or(self.engine.client.exclusive()).await?);
            }
            self.open(Mode::Implicit, is_write(statement)).await?;
            let bound = self.bind_statement(statement, &mut Vec::new())?;
            self.check_parameters(&bound)?;
            self.presence.mark(Stage::Bind);
            let mut outcome = self.start(bound).await?;
            self.presence.mark(Stage::Run);
            if let Outcome::CopyIn(copy) = outcome {
                outcome = self.copy_in(*copy, out).await?;
                self.commit_copied().await?;
            }
            let token = exclusive.as_ref().map(|guard| guard.token());
            match self.commit_writes(token).await {
                Err(error) if error.code == SqlState::SERIALIZATION_FAILURE && token.is_none() => {
                    self.abandon();
                }
                Err(error) => return Err(error),
                Ok(()) => {
                    // Others need not wait until the client has taken its answer.
                    drop(exclusive);
                    self.presence.mark(Stage::Commit);
                    let answered = self.answer(&mut outcome, out).await;
                    self.presence.mark(Stage::Send);
                    return answered;
                }
            }
        }
        Ok(())
    }

    /// Opens a transaction, unless one is open; a block that has done nothing yet takes its
    /// snapshot now, so that it shows all that was acknowledged before its first statement.
    pub(super) async fn open(&mut self, mode: Mode, writes: bool) -> Result<()> {
        let at_tip = writes || self.ahead;
        let when = if at_tip { When::Tip } else { When::Durable };
        // Parse has opened one, but the statement begins when it is run.
        let renewable = |mode| mode == Mode::Block || mode == Mode::Implicit && self.lone_possible;
        let fresh = self
            .transaction
            .as_ref()
            .is_none_or(|t| t.released || renewable(t.mode) && t.is_fresh());
        if !fresh {
            return Ok(());
        }
        let snapshot = self.cancel.or(self.engine.client.snapshot(when)).await?;
        let taken = snapshot.taken;
        let mut next = Transaction::new(snapshot, taken, mode);
        next.at_tip = at_tip;
        if let Some(block) = &self.transaction {
            next.mode = block.mode;
            next.start = block.start;
            next.read_only = block.read_only;
            next.watches = block.watches;
        }
        self.transaction = Some(next);
        Ok(())
    }

    pub(super) fn transaction(&self) -> Result<&Transaction> {
        self.transaction.as_ref().ok_or_else(|| Error::internal("no transaction is open"))
    }

    pub(super) fn transaction_mut(&mut self) -> Result<&mut Transaction> {
        self.transaction.as_mut().ok_or_else(|| Error::internal("no transaction is open"))
    }

    /// Commits what an implicit transaction has written; its snapshot stays for the answer.
    pub(super) async fn commit_writes(&mut self, exclusive: Option<u64>) -> Result<()> {
        let Some(transaction) = &self.transaction else { return Ok(()) };
        if transaction.mode != Mode::Implicit {
            return Ok(());
        }
        if transaction.is_empty() {
            return self.await_read().await;
        }
        self.commit_work(exclusive).await
    }

    /// Ends the implicit transaction around a message.
    pub(super) async fn end_implicit<F: Frontend>(&mut self, out: &mut F) -> Result<()> {
        if self.transaction.as_ref().is_some_and(|t| t.mode == Mode::Implicit) {
            self.commit_writes(None).await?;
            self.transaction = None;
            self.portals.clear();
            self.rules.commit();
            let changed = self.variables.commit();
            self.reports.extend(changed);
        }
        self.say(out);
        Ok(())
    }

    /// Gives up the open transaction.
    pub(super) fn abandon(&mut self) {
        self.transaction = None;
        self.notices.clear();
        self.rules.rollback();
        self.reports.extend(self.variables.rollback());
    }

    /// The client was told of an error: a block becomes failed, an implicit transaction is gone.
    pub fn failed(&mut self, _error: &Error) {
        self.notices.clear();
        match &mut self.transaction {
            Some(transaction) if transaction.mode != Mode::Implicit => {
                transaction.fail();
            }
            _ => {
                self.abandon();
                self.portals.clear();
                self.unsent = None;
            }
        }
    }

    /// Says what has gathered beside the result.
    pub(super) fn say<F: Frontend>(&mut self, out: &mut F) {
        for notice in self.notices.drain(..) {
            if self.variables.wants_notice(notice.severity) {
                out.notice(&notice);
            }
        }
        for (name, value) in self.reports.drain(..) {
            out.parameter_status(&name, &value);
        }
    }

    /// Sends an outcome whole, as the simple protocol does.
    pub(super) async fn answer<F: Frontend>(
        &mut self,
        outcome: &mut Outcome,
        out: &mut F,
    ) -> Result<()> {
        self.say(out);
        if let Outcome::Rows { desc, .. } = &*outcome {
            out.row_description(&fields(desc, &[]));
        }
        if let Outcome::Changes(watch) = &*outcome {
            out.row_description(&fields(watch.desc(), &[]));
        }
        self.send(outcome, &[], 0, out).await?;
        Ok(())
    }
}

/// The columns of a result as the client is told them. `formats`: none: text; one: for all.
pub(super) fn fields(desc: &RelationDesc, formats: &[Format]) -> Vec<Field> {
    let format = |at: usize| match formats {
        [] => Format::Text,
        [all] => *all,
        each => each.get(at).copied().unwrap_or_default(),
    };
    let columns = desc.columns.iter().enumerate();
    columns.map(|(at, c)| Field { name: c.name.clone(), ty: c.ty, format: format(at) }).collect()
}
