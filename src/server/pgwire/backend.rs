//! What a connection asks of the layer below: sessions.
//!
//! The second instance beside the real session is the tests' own, which answers what a test wants
//! to see on the wire.

use std::future::Future;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::session::engine;
use crate::session::frontend::{CancelToken, Field, Format, Frontend};
use crate::session::session::Session;

/// What makes sessions.
pub trait Engine: Clone + Send + Sync + 'static {
    /// A session.
    type Session: Backend;

    /// Begins a session with the parameters of a startup packet. Error 22023 where one is wrong.
    fn connect(&self, startup: Vec<(String, String)>, cancel: CancelToken)
    -> Result<Self::Session>;
}

/// A session, as its connection drives it.
///
/// The futures are never dropped before they end: to end one early, the cancel token is set.
pub trait Backend: Send {
    /// Hears the number by which its connection is cancelled.
    fn number(&self, pid: i32);

    /// The settings that a client is told of at the start.
    fn reported_parameters(&self) -> Vec<(String, String)>;

    /// `I` outside of a transaction block, `T` in one, `E` in a failed one.
    fn transaction_status(&self) -> u8;

    /// Runs all statements of a text, and says everything but ReadyForQuery.
    fn simple_query<F: Frontend>(
        &mut self,
        sql: &str,
        out: &mut F,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Prepares a statement.
    fn parse(
        &mut self,
        name: &str,
        sql: &str,
        parameter_oids: &[u32],
    ) -> impl Future<Output = Result<()>> + Send;

    /// Makes a portal of a prepared statement and its parameters.
    fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        parameter_formats: &[Format],
        parameters: Vec<Option<Bytes>>,
        result_formats: &[Format],
    ) -> impl Future<Output = Result<()>> + Send;

    /// The oids of a prepared statement's parameters, and its columns where it has any.
    fn describe_statement(
        &mut self,
        name: &str,
    ) -> impl Future<Output = Result<(Vec<u32>, Option<Vec<Field>>)>> + Send;

    /// The columns of a portal, where it has any.
    fn describe_portal(
        &mut self,
        name: &str,
    ) -> impl Future<Output = Result<Option<Vec<Field>>>> + Send;

    /// Runs a portal, up to so many rows; all of them at 0.
    fn execute<F: Frontend>(
        &mut self,
        portal: &str,
        max_rows: u32,
        out: &mut F,
    ) -> impl Future<Output = Result<()>> + Send;

    /// Forgets a prepared statement, if it exists.
    fn close_statement(&mut self, name: &str);

    /// Forgets a portal, if it exists.
    fn close_portal(&mut self, name: &str);

    /// Says what is still to be said before any request but Sync is answered.
    fn settle<F: Frontend>(&mut self, out: &mut F) -> impl Future<Output = Result<()>> + Send;

    /// Ends the implicit transaction of a series of extended messages.
    fn sync<F: Frontend>(&mut self, out: &mut F) -> impl Future<Output = Result<()>> + Send;

    /// Hears that an error was sent to the client.
    fn failed(&mut self, error: &Error);
}

impl Engine for engine::Engine {
    type Session = Session;

    fn connect(&self, startup: Vec<(String, String)>, cancel: CancelToken) -> Result<Session> {
        Session::new(self.clone(), startup, cancel)
    }
}

impl Backend for Session {
    fn number(&self, pid: i32) {
        self.number(pid);
    }

    fn reported_parameters(&self) -> Vec<(String, String)> {
        self.reported_parameters()
    }

    fn transaction_status(&self) -> u8 {
        self.transaction_status()
    }

    async fn simple_query<F: Frontend>(&mut self, sql: &str, out: &mut F) -> Result<()> {
        self.simple_query(sql, out).await
    }

    async fn parse(&mut self, name: &str, sql: &str, parameter_oids: &[u32]) -> Result<()> {
        self.parse(name, sql, parameter_oids).await
    }

    async fn bind(
        &mut self,
        portal: &str,
        statement: &str,
        parameter_formats: &[Format],
        parameters: Vec<Option<Bytes>>,
        result_formats: &[Format],
    ) -> Result<()> {
        self.bind(portal, statement, parameter_formats, parameters, result_formats).await
    }

    async fn describe_statement(&mut self, name: &str) -> Result<(Vec<u32>, Option<Vec<Field>>)> {
        self.describe_statement(name).await
    }

    async fn describe_portal(&mut self, name: &str) -> Result<Option<Vec<Field>>> {
        self.describe_portal(name).await
    }

    async fn execute<F: Frontend>(
        &mut self,
        portal: &str,
        max_rows: u32,
        out: &mut F,
    ) -> Result<()> {
        self.execute(portal, max_rows, out).await
    }

    fn close_statement(&mut self, name: &str) {
        self.close_statement(name);
    }

    fn close_portal(&mut self, name: &str) {
        self.close_portal(name);
    }

    async fn settle<F: Frontend>(&mut self, out: &mut F) -> Result<()> {
        self.settle(out).await
    }

    async fn sync<F: Frontend>(&mut self, out: &mut F) -> Result<()> {
        self.sync(out).await
    }

    fn failed(&mut self, error: &Error) {
        self.failed(error);
    }
}
