//! The rows of sessions and of their statements.

use crate::error::Result;
use crate::repr::Datum;
use crate::session::engine::Engine;
use crate::session::introspection::activity::{Activity, STATEMENTS_MAX};
use crate::session::introspection::content::Content;
use crate::session::introspection::operators::int8;

/// The relations that sessions make.
pub(super) struct Sessions {
    sessions: Content,
    statements: Content,
    /// The number of the next statement.
    next: u64,
}

impl Sessions {
    /// Nothing yet.
    pub(super) fn new(engine: &Engine) -> Result<Sessions> {
        let sessions = Content::new(engine, "weir_sessions")?;
        Ok(Sessions { sessions, statements: Content::new(engine, "weir_statements")?, next: 0 })
    }

    /// All of them.
    pub(super) fn contents(&mut self) -> impl Iterator<Item = &mut Content> {
        [&mut self.sessions, &mut self.statements].into_iter()
    }

    /// Takes what sessions are doing.
    pub(super) fn take(&mut self, activity: &Activity) -> Result<()> {
        let sessions = activity.sessions();
        for (id, session) in &sessions {
            let row = [
                int8(*id),
                session.pid.map_or(Datum::Null, Datum::Int4),
                Datum::Text(&session.user),
                Datum::Text(&session.database),
                int8(session.started),
                Datum::Text(session.state),
                session.statement.as_deref().map_or(Datum::Null, Datum::Text),
                int8(session.since),
            ];
            self.sessions.set((*id, 0, 0), &row)?;
        }
        self.sessions.retain(|place| sessions.contains_key(&place.0));
        for statement in activity.statements_from(self.next) {
            let mut row = vec![
                int8(statement.id),
                int8(statement.session),
                Datum::Text(&statement.text),
                int8(statement.started),
                int8(statement.took_ns),
            ];
            row.extend(statement.stages_ns.map(|ns| ns.map_or(Datum::Null, int8)));
            row.push(int8(statement.sent.rows));
            row.push(int8(statement.sent.bytes));
            row.push(statement.error.as_deref().map_or(Datum::Null, Datum::Text));
            self.statements.set((statement.id, 0, 0), &row)?;
            self.next = statement.id + 1;
        }
        let first = self.next.saturating_sub(STATEMENTS_MAX as u64);
        self.statements.retain(|place| place.0 >= first);
        Ok(())
    }
}
