//! What sessions are doing, and the statements that they have run.
//!
//! Each session says when a statement begins and when it ends; that is a lock that nobody holds for
//! long, and a copy of the beginning of the text. While introspection is off nothing is said.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::error::Result;
use crate::repr::Timestamp;
use crate::session::frontend::Sent;

/// How many statements are kept.
pub(super) const STATEMENTS_MAX: usize = 1000;
/// How many bytes of a statement's text are kept, as PostgreSQL does.
const TEXT_BYTES_MAX: usize = 1023;

/// A session as others see it.
#[derive(Clone)]
pub(super) struct SessionState {
    pub(super) pid: Option<i32>,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) started: Timestamp,
    pub(super) state: &'static str,
    pub(super) statement: Option<Arc<str>>,
    pub(super) since: Timestamp,
}

/// A statement that has ended.
#[derive(Clone)]
pub(super) struct StatementState {
    pub(super) id: u64,
    pub(super) session: u64,
    pub(super) text: Arc<str>,
    pub(super) started: Timestamp,
    pub(super) took_ns: u64,
    /// Nanoseconds of each stage that was reached, in order.
    pub(super) stages_ns: [Option<u64>; Stage::COUNT],
    pub(super) sent: Sent,
    pub(super) error: Option<String>,
}

#[derive(Default)]
struct State {
    sessions: BTreeMap<u64, SessionState>,
    sessions_so_far: u64,
    statements: VecDeque<StatementState>,
    statements_so_far: u64,
}

/// What all sessions are doing.
#[derive(Default)]
pub(in crate::session) struct Activity {
    state: Mutex<State>,
    is_on: AtomicBool,
}

/// A session's entry; it goes when this is dropped.
pub(in crate::session) struct Presence {
    activity: Arc<Activity>,
    id: u64,
    /// When the stage before ended, while a statement runs that somebody is interested in.
    since: Option<Instant>,
    stages_ns: [Option<u64>; Stage::COUNT],
}

/// What is done of a statement, one after the other; some have not all of it.
#[derive(Clone, Copy)]
pub(in crate::session) enum Stage {
    /// Its text is read.
    Parse,
    /// Names and types are found.
    Bind,
    /// It is decided how to answer.
    Plan,
    /// The answer is made, as far as it has to be before the first row goes out.
    Run,
    /// What it wrote is durable.
    Commit,
    /// Rows are made and sent.
    Send,
}

impl Stage {
    /// How many there are.
    pub(super) const COUNT: usize = 6;
}

/// A statement that has begun.
pub(in crate::session) struct Begun {
    text: Arc<str>,
    started: Timestamp,
    at: Instant,
    sent: Sent,
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// The beginning of a text.
fn beginning(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl Activity {
    /// Has sessions say what they do, or not any more.
    pub(super) fn switch(&self, on: bool) {
        self.is_on.store(on, Ordering::Relaxed);
    }

    /// Enters a session.
    pub(in crate::session) fn enter(self: &Arc<Self>, user: &str, database: &str) -> Presence {
        let id = self.with(|state| {
            state.sessions_so_far += 1;
            let session = SessionState {
                pid: None,
                user: user.to_owned(),
                database: database.to_owned(),
                started: now(),
                state: "idle",
                statement: None,
                since: now(),
            };
            state.sessions.insert(state.sessions_so_far, session);
            state.sessions_so_far
        });
        let (activity, stages_ns) = (Arc::clone(self), [None; Stage::COUNT]);
        Presence { activity, id, since: None, stages_ns }
    }

    /// The sessions, by number.
    pub(super) fn sessions(&self) -> BTreeMap<u64, SessionState> {
        self.with(|state| state.sessions.clone())
    }

    /// The statements that have ended, from a number on.
    pub(super) fn statements_from(&self, id: u64) -> Vec<StatementState> {
        self.with(|state| state.statements.iter().filter(|s| s.id >= id).cloned().collect())
    }

    /// About how many bytes that takes.
    pub(super) fn bytes(&self) -> u64 {
        self.with(|state| {
            let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
            let sessions = state.sessions.values().map(|session| {
                let names = session.user.len() + session.database.len();
                size_of::<(u64, SessionState)>() + names + text(&session.statement)
            });
            let statements = state.statements.iter().map(|statement| statement.text.len());
            let places = state.statements.capacity() * size_of::<StatementState>();
            (sessions.sum::<usize>() + statements.sum::<usize>() + places) as u64
        })
    }

    fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        // Nothing in here is left half done by a panic.
        f(&mut self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl Presence {
    /// Tells the number by which the session is cancelled.
    pub(in crate::session) fn number(&self, pid: i32) {
        self.change(|session| session.pid = Some(pid));
    }

    fn change(&self, f: impl FnOnce(&mut SessionState)) {
        self.activity.with(|state| state.sessions.get_mut(&self.id).map(f));
    }

    /// A statement begins; none, while nobody listens. `sent`: to the client so far.
    pub(in crate::session) fn begin(&mut self, text: &str, sent: Sent) -> Option<Begun> {
        if !self.activity.is_on.load(Ordering::Relaxed) {
            return None;
        }
        let at = Instant::now();
        let begun = Begun { text: beginning(text).into(), started: now(), at, sent };
        (self.since, self.stages_ns) = (Some(at), [None; Stage::COUNT]);
        self.change(|session| {
            session.state = "active";
            session.statement = Some(Arc::clone(&begun.text));
            session.since = begun.started;
        });
        Some(begun)
    }

    /// A stage of it ends.
    pub(in crate::session) fn mark(&mut self, stage: Stage) {
        if let Some(since) = &mut self.since {
            let end = Instant::now();
            let ns = u64::try_from((end - *since).as_nanos()).unwrap_or(u64::MAX);
            // A text of several statements goes through them several times.
            *self.stages_ns[stage as usize].get_or_insert(0) += ns;
            *since = end;
        }
    }

    /// It ends. `status`: that of the transaction, as ReadyForQuery carries it.
    pub(in crate::session) fn end(
        &mut self,
        begun: Option<Begun>,
        result: &Result<()>,
        (status, sent): (u8, Sent),
    ) {
        self.since = None;
        let Some(Begun { text, started, at, sent: before }) = begun else { return };
        let (rows, bytes) = (sent.rows - before.rows, sent.bytes - before.bytes);
        let (sent, stages_ns) = (Sent { rows, bytes }, self.stages_ns);
        let took_ns = u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let error = result.as_ref().err().map(|error| error.code.as_str().to_owned());
        self.activity.with(|state| {
            if let Some(session) = state.sessions.get_mut(&self.id) {
                session.since = started.saturating_add(took_ns);
                session.state = match (status, &error) {
                    (b'T', Some(_)) | (b'E', _) => "idle in transaction (aborted)",
                    (b'T', None) => "idle in transaction",
                    _ => "idle",
                };
            }
            let (id, session) = (state.statements_so_far, self.id);
            state.statements_so_far += 1;
            if state.statements.len() >= STATEMENTS_MAX {
                state.statements.pop_front();
            }
            state.statements.push_back(StatementState {
                id,
                session,
                text,
                started,
                took_ns,
                stages_ns,
                sent,
                error,
            });
        });
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.activity.with(|state| state.sessions.remove(&self.id));
    }
}
