//! The loop of one connection: requests to the session, its answers and errors to the client.
//!
//! Errors follow PostgreSQL's rules. A simple query's error is followed by ReadyForQuery. After an
//! error in an extended request, everything is skipped until Sync. COPY data that comes outside of
//! a COPY belongs to one that has failed, and is ignored. An error that ends the connection is
//! FATAL. A panic is caught here: its connection ends with XX000, and no other one notices.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures::FutureExt;
use pgwire::messages::extendedquery::{Bind, Close, Describe};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::error::{Error, Result, SqlState};
use crate::server::pgwire::backend::{Backend, Engine};
use crate::server::pgwire::client::Client;
use crate::server::pgwire::decode::{Request, violation};
use crate::server::pgwire::encode::{Severity, WriteBuffer};
use crate::server::pgwire::reader::{self, Event};
use crate::server::pgwire::startup::{self, Opening, Startup};
use crate::server::registry::{Registration, Registry};
use crate::session::frontend::{CancelToken, Field, Format, Frontend};

/// How long a client may take until its startup packet is there.
const STARTUP_LIMIT: Duration = Duration::from_secs(60);
/// How long a client may take to close its side after the last words. One that is in the middle of
/// a message far too long hears them only when it has sent that.
const LINGER_LIMIT: Duration = Duration::from_secs(10);
/// The same, where the server stops, or the client never got a session.
const SHORT_LINGER_LIMIT: Duration = Duration::from_secs(1);

/// What all connections share.
#[derive(Debug)]
pub struct Context<E> {
    /// What makes sessions, once the data directory is open.
    pub engine: OnceLock<E>,
    /// Who is connected.
    pub registry: Arc<Registry>,
    /// The longest message that a client may send.
    pub message_bytes_max: usize,
    /// Set once the server stops.
    pub stopping: CancellationToken,
}

/// Talks to a client until one of both ends it.
pub async fn converse<E: Engine>(mut stream: TcpStream, context: &Context<E>) {
    let opening = tokio::select! {
        opening = startup::open(&mut stream) => opening,
        () = context.stopping.cancelled() => Ok(Opening::Gone),
        () = tokio::time::sleep(STARTUP_LIMIT) => Ok(Opening::Gone),
    };
    let startup = match opening {
        Ok(Opening::Startup(startup)) => startup,
        Ok(Opening::Cancel { number, secret }) => return context.registry.cancel(number, &secret),
        Ok(Opening::Gone) => return,
        Err(error) => return refuse(stream, &error).await,
    };
    let cancel = CancelToken::default();
    let (registration, session) = match admit(context, &startup, &cancel) {
        Ok(admitted) => admitted,
        Err(error) => return refuse(stream, &error).await,
    };
    let (read, write) = stream.into_split();
    let (sender, requests) = reader::queue();
    let reading = reader::run(read, sender, cancel.clone(), context.message_bytes_max);
    let reading = AbortOnDrop(tokio::spawn(reading));
    let mut client = Client::new(write, requests, cancel.clone());
    greet(&mut client.buffer, &startup, &registration, session.reported_parameters());
    let mut connection = Connection { session, client, cancel, skipping: false };
    let last_words = connection.run().await;
    let Connection { session, mut client, .. } = connection;
    // What the session holds is given back before the client is waited for.
    drop((session, registration));
    client.farewell(last_words.as_ref()).await;
    reading.finish(&context.stopping).await;
}

/// Finds out whether a client may have a session, and begins it.
fn admit<E: Engine>(
    context: &Context<E>,
    startup: &Startup,
    cancel: &CancelToken,
) -> Result<(Registration, E::Session)> {
    let Some(engine) = context.engine.get() else {
        return Err(Error::new(SqlState::CANNOT_CONNECT_NOW, "the database system is starting up"));
    };
    let registration = context.registry.register(cancel.clone(), startup.minor >= 2)?;
    let session = engine.connect(startup.parameters.clone(), cancel.clone())?;
    session.number(registration.number);
    Ok((registration, session))
}

/// Sends an error to a client that gets no session.
async fn refuse(mut stream: TcpStream, error: &Error) {
    let mut buffer = WriteBuffer::default();
    buffer.error(Severity::Fatal, error);
    let last = async {
        stream.write_all(buffer.unsent()).await?;
        stream.shutdown().await?;
        // Closing while bytes are unread would reset the connection, and the error might be lost.
        let mut waste = [0; 1024];
        while stream.read(&mut waste).await? > 0 {}
        std::io::Result::Ok(())
    };
    // A client that does not listen misses it.
    let _ = tokio::time::timeout(SHORT_LINGER_LIMIT, last).await;
}

fn greet(
    buffer: &mut WriteBuffer,
    startup: &Startup,
    registration: &Registration,
    parameters: Vec<(String, String)>,
) {
    if startup.negotiates() {
        buffer.negotiate_version(startup.version(), startup.unknown_options.clone());
    }
    buffer.authentication_ok();
    for (name, value) in parameters {
        buffer.parameter_status(&name, &value);
    }
    buffer.key_data(registration.number, &registration.secret);
}

/// The reading task, which does not outlive the connection.
struct AbortOnDrop(JoinHandle<()>);

impl AbortOnDrop {
    /// Lets it read until the client has closed its side, but not for long.
    async fn finish(mut self, stopping: &CancellationToken) {
        let stopped = async {
            stopping.cancelled().await;
            tokio::time::sleep(SHORT_LINGER_LIMIT).await;
        };
        tokio::select! {
            _ = &mut self.0 => {}
            () = tokio::time::sleep(LINGER_LIMIT) => {}
            () = stopped => {}
        }
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

struct Connection<S> {
    session: S,
    client: Client,
    cancel: CancelToken,
    /// Whether an extended request has failed, and the Sync behind it has not come yet.
    skipping: bool,
}

/// Why a connection ends: with last words, or without.
type End = Option<Error>;

impl<S: Backend> Connection<S> {
    async fn run(&mut self) -> End {
        self.client.buffer.ready_for_query(self.session.transaction_status());
        if let Err(error) = self.client.flush_through().await {
            return last_words(error);
        }
        loop {
            let event = match self.client.request().await {
                Ok(event) => event,
                Err(error) => return last_words(error),
            };
            match AssertUnwindSafe(self.step(event)).catch_unwind().await {
                Ok(Ok(())) => {}
                Ok(Err(end)) => return end,
                Err(panic) => {
                    self.client.buffer.discard_open();
                    return Some(panicked(panic.as_ref()));
                }
            }
        }
    }

    /// Answers one request.
    async fn step(&mut self, event: Event) -> std::result::Result<(), End> {
        let (kind, request) = match event {
            Event::Request(request) => (request.kind(), Ok(request)),
            Event::Malformed(malformed) => (malformed.kind, Err(malformed.error)),
            Event::Broken(error) => return Err(Some(error)),
        };
        match kind {
            b'X' => return Err(None),
            b'S' => self.skipping = false,
            _ if self.skipping => return Ok(()),
            // What is left of a COPY that has failed.
            b'd' | b'c' | b'f' => return Ok(()),
            _ => {}
        }
        self.cancel.clear();
        let outcome = match request {
            Ok(request) => self.answer(request).await,
            Err(error) => Err(error),
        };
        // A row that was too long for a message fails its statement, whatever came after it.
        let fault = self.client.buffer.take_fault();
        let error = outcome.err().or(fault);
        if let Some(error) = &error {
            self.report(kind, error)?;
        }
        let ready = matches!(kind, b'Q' | b'F' | b'S');
        if ready {
            self.client.buffer.ready_for_query(self.session.transaction_status());
        }
        if ready || kind == b'H' || error.is_some() {
            return self.client.flush_through().await.map_err(last_words);
        }
        match self.client.ready().await {
            Err(error) if error.code == SqlState::QUERY_CANCELED => Ok(()),
            result => result.map_err(last_words),
        }
    }

    /// Tells the client of an error, or ends the connection with it.
    fn report(&mut self, kind: u8, error: &Error) -> std::result::Result<(), End> {
        if self.client.is_gone() {
            return Err(None);
        }
        if self.client.is_out_of_step() {
            return Err(Some(error.clone()));
        }
        match self.cancel.check() {
            Err(reason) if reason.code != SqlState::QUERY_CANCELED => {
                return Err(last_words(reason));
            }
            _ if error.code == SqlState::ADMIN_SHUTDOWN => return Err(Some(error.clone())),
            _ => {}
        }
        self.session.failed(error);
        self.client.buffer.error(Severity::Error, error);
        self.skipping = matches!(kind, b'P' | b'B' | b'D' | b'E' | b'C' | b'H');
        Ok(())
    }

    async fn answer(&mut self, request: Request) -> Result<()> {
        let Connection { session, client, .. } = self;
        if !matches!(request, Request::Sync) {
            session.settle(client).await?;
        }
        match request {
            Request::Query(sql) => session.simple_query(&sql, client).await,
            Request::Parse(parse) => {
                let name = parse.name.as_deref().unwrap_or_default();
                session.parse(name, &parse.query, &parse.type_oids).await?;
                client.buffer.empty(b'1');
                Ok(())
            }
            Request::Bind(bind) => self.bind(bind).await,
            Request::Describe(describe) => self.describe(&describe).await,
            Request::Execute(execute) => {
                let portal = execute.name.as_deref().unwrap_or_default();
                // A limit below zero is none, as in PostgreSQL.
                let max_rows = u32::try_from(execute.max_rows).unwrap_or(0);
                session.execute(portal, max_rows, client).await
            }
            Request::Close(close) => self.close(&close),
            Request::Sync => session.sync(client).await,
            Request::FunctionCall => Err(Error::unsupported(
                "the function call message",
                "Call the function in a SELECT statement.",
            )),
            Request::Flush
            | Request::CopyData(_)
            | Request::CopyDone
            | Request::CopyFail(_)
            | Request::Terminate => Ok(()),
        }
    }

    async fn bind(&mut self, bind: Bind) -> Result<()> {
        let portal = bind.portal_name.as_deref().unwrap_or_default();
        let statement = bind.statement_name.as_deref().unwrap_or_default();
        let parameters = formats(&bind.parameter_format_codes)?;
        let results = formats(&bind.result_column_format_codes)?;
        self.session.bind(portal, statement, &parameters, bind.parameters, &results).await?;
        self.client.buffer.empty(b'2');
        Ok(())
    }

    async fn describe(&mut self, describe: &Describe) -> Result<()> {
        let name = describe.name.as_deref().unwrap_or_default();
        let fields = match describe.target_type {
            b'S' => {
                let (oids, fields) = self.session.describe_statement(name).await?;
                self.client.buffer.parameter_description(oids);
                fields
            }
            b'P' => self.session.describe_portal(name).await?,
            other => return Err(violation(format!("invalid DESCRIBE message subtype {other}"))),
        };
        self.say_fields(fields.as_deref());
        Ok(())
    }

    fn say_fields(&mut self, fields: Option<&[Field]>) {
        match fields {
            Some(fields) => self.client.buffer.row_description(fields),
            None => self.client.buffer.empty(b'n'),
        }
    }

    fn close(&mut self, close: &Close) -> Result<()> {
        let name = close.name.as_deref().unwrap_or_default();
        match close.target_type {
            b'S' => self.session.close_statement(name),
            b'P' => self.session.close_portal(name),
            other => return Err(violation(format!("invalid CLOSE message subtype {other}"))),
        }
        self.client.buffer.empty(b'3');
        Ok(())
    }
}

fn formats(codes: &[i16]) -> Result<Vec<Format>> {
    let format = |code: &i16| match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        other => Err(Error::new(
            SqlState::INVALID_PARAMETER_VALUE,
            format!("unsupported format code: {other}"),
        )),
    };
    codes.iter().map(format).collect()
}

/// A client that is gone hears nothing any more; every other end is explained.
fn last_words(error: Error) -> End {
    (error.code != SqlState::new(b"08006")).then_some(error)
}

fn panicked(panic: &(dyn Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let what = text.unwrap_or("unknown");
    tracing::error!("a session panicked: {what}");
    Error::internal(format!("internal error: {what}"))
        .with_hint("The connection was closed; the server goes on.")
}
