//! What a session says to its client, and hears from it: the door as the session sees it.
//!
//! The session knows nothing of sockets and frames. Output is buffered by the implementation; a
//! session that sends much calls [`Frontend::ready`] between rows, which waits while the client
//! does not keep up. Every method after the client has gone does nothing; `ready`, `flush` and
//! `copy_in_data` then fail.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::error::{Error, Result, SqlState};
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnType, Datum};

/// How a value is spelled on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    #[default]
    Text,
    Binary,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// How its values are spelled.
    pub format: Format,
}

/// A NOTICE, WARNING or INFO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE`, `WARNING`, `INFO`, `DEBUG`, `LOG`.
    pub severity: &'static str,
    /// What it says; the code is 00000 for notices, 01000 for warnings.
    pub error: Error,
}

/// The client, as the session talks to it.
pub trait Frontend: Send {
    /// Says something beside the result.
    fn notice(&mut self, notice: &Notice);
    /// Tells the new value of a reported setting.
    fn parameter_status(&mut self, name: &str, value: &str);
    /// Names the columns of the rows to come.
    fn row_description(&mut self, fields: &[Field]);
    /// One row.
    fn data_row(&mut self, datums: &[Datum<'_>], fields: &[Field], settings: &FormatSettings);
    /// The end of a statement, with its tag (`SELECT 3`).
    fn command_complete(&mut self, tag: &str);
    /// The end of an empty statement.
    fn empty_query(&mut self);
    /// The row limit of an Execute is reached.
    fn portal_suspended(&mut self);
    /// Data is expected (`COPY FROM STDIN`).
    fn copy_in_response(&mut self, format: Format, columns: usize);
    /// Data follows (`COPY TO STDOUT`).
    fn copy_out_response(&mut self, format: Format, columns: usize);
    /// One piece of it, a whole line or tuple.
    fn copy_data(&mut self, data: &[u8]);
    /// Its end.
    fn copy_done(&mut self);
    /// What has been sent so far.
    fn sent(&self) -> Sent;
    /// Waits until there is room for more output.
    fn ready(&mut self) -> impl Future<Output = Result<()>> + Send;
    /// Sends all that is buffered.
    fn flush(&mut self) -> impl Future<Output = Result<()>> + Send;
    /// The next piece of the client's data; none at CopyDone. An error (57014) at CopyFail.
    /// Cancel-safe.
    fn copy_in_data(&mut self) -> impl Future<Output = Result<Option<Bytes>>> + Send;
}

/// How much a client was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Rows, and lines of data.
    pub rows: u64,
    /// Bytes, with what is around the rows.
    pub bytes: u64,
}

/// Asks a session to give up what it is doing.
///
/// Set by a cancel request or by a vanished client; the session looks at it wherever it waits or
/// works long, and answers 57014. The server clears it before each statement.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Debug, Default)]
struct CancelState {
    reason: AtomicU8,
    notify: Notify,
}

/// A statement's time limit, as long as the statement runs.
#[derive(Debug)]
pub struct TimeoutGuard(JoinHandle<()>);

impl Drop for TimeoutGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Why a session is to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CancelReason {
    /// A cancel request.
    User = 1,
    /// The statement takes longer than `statement_timeout`.
    Timeout = 2,
    /// Nobody is there any more.
    Disconnected = 3,
    /// The server stops.
    Shutdown = 4,
}

impl CancelToken {
    /// Asks. A disconnect or shutdown is not undone by a later cancel request.
    pub fn cancel(&self, reason: CancelReason) {
        self.0.reason.fetch_max(reason as u8, Ordering::SeqCst);
        self.0.notify.notify_waiters();
    }

    /// Forgets what was meant for one statement: a user's request, a timeout.
    pub fn clear(&self) {
        for reason in [CancelReason::User, CancelReason::Timeout] {
            let from = reason as u8;
            let _ = self.0.reason.compare_exchange(from, 0, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// Asks after a while, unless the guard is dropped before.
    pub fn cancel_after(&self, limit: Duration) -> TimeoutGuard {
        let token = self.clone();
        TimeoutGuard(tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            token.cancel(CancelReason::Timeout);
        }))
    }

    /// The error to answer with, if it was asked.
    pub fn check(&self) -> Result<()> {
        match self.0.reason.load(Ordering::SeqCst) {
            0 => Ok(()),
            1 => {
                Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"))
            }
            2 => Err(Error::new(
                SqlState::QUERY_CANCELED,
                "canceling statement due to statement timeout",
            )),
            3 => Err(Error::new(SqlState::new(b"08006"), "connection to client lost")),
            _ => Err(Error::new(
                SqlState::ADMIN_SHUTDOWN,
                "terminating connection due to administrator command",
            )),
        }
    }

    /// Waits until it is asked.
    pub async fn cancelled(&self) -> Error {
        loop {
            let notified = self.0.notify.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if let Err(error) = self.check() {
                return error;
            }
            notified.await;
        }
    }

    /// The future's result, unless it is asked before. The future is dropped then.
    pub async fn or<T>(&self, future: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            biased;
            error = self.cancelled() => Err(error),
            result = future => result,
        }
    }
}
