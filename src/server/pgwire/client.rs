//! The client, as a session talks to it: [`Frontend`] over a socket.
//!
//! Output gathers in a buffer. It is sent where the protocol wants it (ReadyForQuery, Flush, an
//! error), where the session asks, and wherever the session can wait and enough has gathered. While
//! it is being sent, a cancel request ends the wait, and not what has been written: the rest goes
//! out before the error. Once the client is gone, everything that is said goes nowhere.

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc::Receiver;

use crate::error::{Error, Result, SqlState};
use crate::repr::{Datum, FormatSettings};
use crate::server::pgwire::decode::{Malformed, Request, violation};
use crate::server::pgwire::encode::{Severity, WriteBuffer};
use crate::server::pgwire::reader::{Event, Queued};
use crate::session::frontend::{CancelReason, CancelToken, Field, Format, Frontend, Notice, Sent};

/// From how many bytes on waiting output is sent without being asked for.
const HIGH_WATER_BYTES: usize = 64 << 10;
/// How long a client may take for the last words.
const FAREWELL_LIMIT: Duration = Duration::from_secs(1);

/// A connected client.
pub struct Client {
    stream: OwnedWriteHalf,
    requests: Receiver<Queued>,
    cancel: CancelToken,
    /// What is to be sent.
    pub buffer: WriteBuffer,
    sent: Sent,
    /// Whether nothing can be sent any more.
    gone: bool,
    /// Whether the client broke the protocol in the middle of a COPY, so that it is not known what
    /// it means by whatever it says next.
    out_of_step: bool,
}

impl Client {
    /// A client that says what comes from the queue.
    pub fn new(stream: OwnedWriteHalf, requests: Receiver<Queued>, cancel: CancelToken) -> Client {
        let (buffer, sent) = (WriteBuffer::default(), Sent::default());
        Client { stream, requests, cancel, buffer, sent, gone: false, out_of_step: false }
    }

    /// Whether nothing can be sent any more.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Whether the connection has to end, because it is no longer known where messages begin.
    pub fn is_out_of_step(&self) -> bool {
        self.out_of_step
    }

    /// The next request. Error 08006 or 57P01 where there is to be none.
    pub async fn request(&mut self) -> Result<Event> {
        loop {
            tokio::select! {
                biased;
                error = self.cancel.cancelled() => {
                    // Nothing is running that a cancel request could mean.
                    if error.code != SqlState::QUERY_CANCELED {
                        return Err(error);
                    }
                    self.cancel.clear();
                }
                queued = self.requests.recv() => {
                    return queued.map(|queued| queued.event).ok_or_else(lost);
                }
            }
        }
    }

    /// Sends all that is buffered; a cancel request does not end the wait.
    pub async fn flush_through(&mut self) -> Result<()> {
        loop {
            match self.send().await {
                Err(error) if error.code == SqlState::QUERY_CANCELED => self.cancel.clear(),
                result => return result,
            }
        }
    }

    /// Says the last words, if the client takes them in time, and closes this side.
    pub async fn farewell(&mut self, error: Option<&Error>) {
        if let Some(error) = error {
            self.buffer.take_fault();
            self.buffer.error(Severity::Fatal, error);
        }
        if !self.gone {
            let last = async {
                self.stream.write_all(self.buffer.unsent()).await?;
                self.stream.shutdown().await
            };
            // A client that is gone, or takes nothing, misses them.
            let _ = tokio::time::timeout(FAREWELL_LIMIT, last).await;
        }
        self.buffer.clear();
        self.requests.close();
    }

    /// Sends all that is buffered, or as much as is taken before the session is to give up.
    async fn send(&mut self) -> Result<()> {
        if self.gone {
            return Err(lost());
        }
        while !self.buffer.unsent().is_empty() {
            let written = tokio::select! {
                biased;
                error = self.cancel.cancelled() => return Err(error),
                written = self.stream.write(self.buffer.unsent()) => written,
            };
            match written {
                Ok(count @ 1..) => self.buffer.advance(count),
                Ok(0) | Err(_) => {
                    self.gone = true;
                    self.buffer.clear();
                    self.cancel.cancel(CancelReason::Disconnected);
                    return Err(lost());
                }
            }
        }
        Ok(())
    }

    /// Writes a message, if there is anybody to read it.
    fn say(&mut self, write: impl FnOnce(&mut WriteBuffer)) {
        if !self.gone {
            let before = self.buffer.unsent().len();
            write(&mut self.buffer);
            self.sent.bytes += self.buffer.unsent().len().saturating_sub(before) as u64;
        }
    }
}

fn lost() -> Error {
    Error::new(SqlState::new(b"08006"), "connection to client lost")
}

impl Frontend for Client {
    fn notice(&mut self, notice: &Notice) {
        self.say(|buffer| buffer.notice(notice));
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.say(|buffer| buffer.parameter_status(name, value));
    }

    fn row_description(&mut self, fields: &[Field]) {
        self.say(|buffer| buffer.row_description(fields));
    }

    fn data_row(&mut self, datums: &[Datum<'_>], fields: &[Field], settings: &FormatSettings) {
        self.sent.rows += 1;
        self.say(|buffer| buffer.data_row(datums, fields, settings));
    }

    fn command_complete(&mut self, tag: &str) {
        self.say(|buffer| buffer.command_complete(tag));
    }

    fn empty_query(&mut self) {
        self.say(|buffer| buffer.empty(b'I'));
    }

    fn portal_suspended(&mut self) {
        self.say(|buffer| buffer.empty(b's'));
    }

    fn copy_in_response(&mut self, format: Format, columns: usize) {
        self.say(|buffer| buffer.copy_in_response(format, columns));
    }

    fn copy_out_response(&mut self, format: Format, columns: usize) {
        self.say(|buffer| buffer.copy_out_response(format, columns));
    }

    fn copy_data(&mut self, data: &[u8]) {
        self.sent.rows += 1;
        self.say(|buffer| buffer.copy_data(data));
    }

    fn sent(&self) -> Sent {
        self.sent
    }

    fn copy_done(&mut self) {
        self.say(|buffer| buffer.empty(b'c'));
    }

    async fn ready(&mut self) -> Result<()> {
        if let Some(fault) = self.buffer.take_fault() {
            return Err(fault);
        }
        if self.gone || self.buffer.unsent().len() >= HIGH_WATER_BYTES {
            return self.send().await;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<()> {
        if let Some(fault) = self.buffer.take_fault() {
            return Err(fault);
        }
        self.send().await
    }

    async fn copy_in_data(&mut self) -> Result<Option<Bytes>> {
        // The client waits to be told that its data is wanted.
        self.flush().await?;
        loop {
            let queued = tokio::select! {
                biased;
                error = self.cancel.cancelled() => return Err(error),
                queued = self.requests.recv() => queued.ok_or_else(lost)?,
            };
            let request = match queued.event {
                Event::Request(request) => request,
                Event::Malformed(malformed) if malformed.kind == b'f' => {
                    return Err(malformed.error);
                }
                Event::Malformed(Malformed { error, .. }) | Event::Broken(error) => {
                    self.out_of_step = true;
                    return Err(error);
                }
            };
            match request {
                Request::CopyData(data) => return Ok(Some(data)),
                Request::CopyDone => return Ok(None),
                Request::CopyFail(reason) => {
                    let message = format!("COPY from stdin failed: {reason}");
                    return Err(Error::new(SqlState::QUERY_CANCELED, message));
                }
                // Clients send these before they know that the statement is a COPY.
                Request::Flush | Request::Sync => {}
                other => {
                    self.out_of_step = true;
                    let byte = other.kind();
                    return Err(violation(format!(
                        "unexpected message type 0x{byte:02X} during COPY from stdin"
                    )));
                }
            }
        }
    }
}
