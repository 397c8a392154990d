//! A blocking client of the protocol, version 3, that hides nothing: types by OID, every field of
//! an error, data as it comes.
//!
//! It is written against PostgreSQL's documentation and shares no code with the server, so that
//! one misunderstanding cannot hide another.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::Duration;

/// An error or a notice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub fields: BTreeMap<char, String>,
}

impl Report {
    pub fn field(&self, name: char) -> &str {
        self.fields.get(&name).map_or("", String::as_str)
    }

    pub fn severity(&self) -> &str {
        self.field('S')
    }

    pub fn code(&self) -> &str {
        self.field('C')
    }

    pub fn message(&self) -> &str {
        self.field('M')
    }
}

/// The fields that are shown below an error, and what stands before them.
const TITLES: [(char, &str); 4] =
    [('D', "DETAIL"), ('H', "HINT"), ('W', "CONTEXT"), ('P', "POSITION")];

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity(), self.code(), self.message())?;
        for (field, title) in TITLES {
            if let Some(text) = self.fields.get(&field) {
                write!(f, "\n{title}: {text}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Report {}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub oid: u32,
    pub typmod: i32,
}

/// What the server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    RowDescription(Vec<Column>),
    DataRow(Vec<Option<Vec<u8>>>),
    CommandComplete(String),
    EmptyQuery,
    Error(Report),
    Notice(Report),
    Ready(u8),
    CopyIn,
    CopyOut,
    CopyData(Vec<u8>),
    CopyDone,
    ParseComplete,
    BindComplete,
    CloseComplete,
    NoData,
    ParameterDescription(Vec<u32>),
    PortalSuspended,
    ParameterStatus(String, String),
    BackendKey(u32, Vec<u8>),
    Authentication(u32),
}

/// The answer to one statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub columns: Option<Vec<Column>>,
    pub rows: Vec<Vec<Option<String>>>,
    pub copied: Vec<u8>,
    pub tag: Option<String>,
    pub suspended: bool,
    pub error: Option<Report>,
    pub notices: Vec<Report>,
}

impl Outcome {
    /// The rows, or the error as a panic.
    pub fn rows(self, sql: &str) -> Vec<Vec<Option<String>>> {
        match self.error {
            Some(error) => panic!("{sql}\n{error}"),
            None => self.rows,
        }
    }
}

/// What ends another client's statement.
#[derive(Clone, Debug)]
pub struct Canceller {
    port: u16,
    pid: u32,
    secret: Vec<u8>,
}

impl Canceller {
    /// Asks for the end of what the client's server is doing.
    pub fn cancel(&self) -> io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        let length = 12 + self.secret.len() as u32;
        stream.write_all(&length.to_be_bytes())?;
        stream.write_all(&80_877_102u32.to_be_bytes())?;
        stream.write_all(&self.pid.to_be_bytes())?;
        stream.write_all(&self.secret)?;
        let mut end = Vec::new();
        stream.read_to_end(&mut end).map(|_| ())
    }
}

/// Closes a connection when it is dropped.
pub struct Closer(TcpStream);

impl Drop for Closer {
    fn drop(&mut self) {
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

/// A connection.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    consumed: usize,
    pub canceller: Canceller,
    pub parameters: BTreeMap<String, String>,
    /// Of the last ReadyForQuery: `I`, `T` or `E`.
    pub status: u8,
}

impl Client {
    /// Connects as user and to database `weir`.
    pub fn connect(port: u16) -> io::Result<Client> {
        Client::connect_with(port, &[("user", "weir"), ("database", "postgres")])
    }

    /// Connects with the given startup parameters.
    pub fn connect_with(port: u16, parameters: &[(&str, &str)]) -> io::Result<Client> {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_nodelay(true)?;
        let canceller = Canceller { port, pid: 0, secret: Vec::new() };
        let mut client = Client {
            stream,
            buffer: Vec::new(),
            consumed: 0,
            canceller,
            parameters: BTreeMap::new(),
            status: b'I',
        };
        let mut body = 196_608u32.to_be_bytes().to_vec();
        for (name, value) in parameters {
            put_text(&mut body, name);
            put_text(&mut body, value);
        }
        body.push(0);
        client.stream.write_all(&(body.len() as u32 + 4).to_be_bytes())?;
        client.stream.write_all(&body)?;
        loop {
            match client.receive()? {
                Message::Authentication(0) | Message::Notice(_) => {}
                Message::ParameterStatus(..) => {}
                Message::BackendKey(pid, secret) => {
                    client.canceller.pid = pid;
                    client.canceller.secret = secret;
                }
                Message::Ready(_) => return Ok(client),
                Message::Error(error) => return Err(io::Error::other(error)),
                other => return Err(io::Error::other(format!("at startup: {other:?}"))),
            }
        }
    }

    /// How long [`Client::receive`] waits before it fails with `WouldBlock`.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    /// What ends the connection from another thread, without a word.
    pub fn closer(&self) -> Closer {
        Closer(self.stream.try_clone().expect("another handle of a socket"))
    }

    /// Sends one message.
    pub fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let mut frame = vec![kind];
        frame.extend((body.len() as u32 + 4).to_be_bytes());
        frame.extend(body);
        self.stream.write_all(&frame)
    }

    /// Sends bytes as they are.
    pub fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Sends a simple query; its answer is to be [`Client::collect`]ed.
    pub fn send_query(&mut self, sql: &str) -> io::Result<()> {
        let mut body = Vec::new();
        put_text(&mut body, sql);
        self.send(b'Q', &body)
    }

    /// The next message. A timeout loses nothing.
    pub fn receive(&mut self) -> io::Result<Message> {
        loop {
            let unread = &self.buffer[self.consumed..];
            if let Some(header) = unread.first_chunk::<5>() {
                let [kind, length @ ..] = *header;
                let end = u32::from_be_bytes(length) as usize + 1;
                if unread.len() >= end {
                    let message = decode(kind, &unread[5..end]);
                    self.consumed += end;
                    match &message {
                        Message::Ready(status) => self.status = *status,
                        Message::ParameterStatus(name, value) => {
                            self.parameters.insert(name.clone(), value.clone());
                        }
                        _ => {}
                    }
                    return Ok(message);
                }
            }
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
            let mut chunk = [0; 16 << 10];
            match self.stream.read(&mut chunk)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                length => self.buffer.extend(&chunk[..length]),
            }
        }
    }

    /// Runs a simple query. One outcome for each statement that was answered.
    pub fn query(&mut self, sql: &str) -> io::Result<Vec<Outcome>> {
        self.send_query(sql)?;
        self.collect(b"")
    }

    /// Runs one statement.
    pub fn run(&mut self, sql: &str) -> Outcome {
        let outcomes = self.query(sql).unwrap_or_else(|error| panic!("{sql}\n{error}"));
        outcomes.into_iter().last().unwrap_or_default()
    }

    /// Runs `COPY … FROM STDIN` with its data.
    pub fn copy_in(&mut self, sql: &str, data: &[u8]) -> io::Result<Vec<Outcome>> {
        self.send_query(sql)?;
        self.collect(data)
    }

    /// Gathers the answers up to ReadyForQuery; `data` is sent where it is asked for.
    pub fn collect(&mut self, data: &[u8]) -> io::Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        let mut outcome = Outcome::default();
        loop {
            let message = self.receive()?;
            let ready = matches!(message, Message::Ready(_));
            if message == Message::CopyIn {
                for chunk in data.chunks(8 << 10) {
                    self.send(b'd', chunk)?;
                }
                self.send(b'c', b"")?;
            } else if outcome.take(message) || ready && outcome != Outcome::default() {
                outcomes.push(std::mem::take(&mut outcome));
            }
            if ready {
                return Ok(outcomes);
            }
        }
    }

    /// Runs one statement by the extended protocol, in text format. `limit` rows at most; 0 is all.
    pub fn extended(
        &mut self,
        sql: &str,
        parameters: &[Option<&str>],
        limit: u32,
    ) -> io::Result<Outcome> {
        let mut parse = vec![0];
        put_text(&mut parse, sql);
        parse.extend(0u16.to_be_bytes());
        self.send(b'P', &parse)?;
        let mut bind = vec![0, 0];
        bind.extend(0u16.to_be_bytes());
        bind.extend((parameters.len() as u16).to_be_bytes());
        for parameter in parameters {
            match parameter {
                None => bind.extend((-1i32).to_be_bytes()),
                Some(text) => {
                    bind.extend((text.len() as u32).to_be_bytes());
                    bind.extend(text.as_bytes());
                }
            }
        }
        bind.extend(0u16.to_be_bytes());
        self.send(b'B', &bind)?;
        self.send(b'D', b"P\0")?;
        let mut execute = vec![0];
        execute.extend(limit.to_be_bytes());
        self.send(b'E', &execute)?;
        self.send(b'S', b"")?;
        Ok(self.collect(b"")?.pop().unwrap_or_default())
    }
}

impl Outcome {
    /// Takes one message; says whether it ends the statement.
    pub fn take(&mut self, message: Message) -> bool {
        match message {
            Message::RowDescription(columns) => self.columns = Some(columns),
            Message::DataRow(values) => {
                let text = |v: Vec<u8>| String::from_utf8_lossy(&v).into_owned();
                self.rows.push(values.into_iter().map(|value| value.map(text)).collect());
            }
            Message::CopyData(data) => self.copied.extend(data),
            Message::Notice(notice) => self.notices.push(notice),
            Message::CommandComplete(tag) => {
                self.tag = Some(tag);
                return true;
            }
            Message::EmptyQuery => {
                self.tag = Some(String::new());
                return true;
            }
            Message::PortalSuspended => {
                self.suspended = true;
                return true;
            }
            Message::Error(error) => {
                self.error = Some(error);
                return true;
            }
            _ => {}
        }
        false
    }
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.as_bytes());
    body.push(0);
}

/// A reader over a message's body. What does not fit the protocol panics: it is the server's fault.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let (head, tail) = self.0.split_at(length);
        self.0 = tail;
        head.to_vec()
    }

    fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.bytes(2).try_into().unwrap())
    }

    fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.bytes(4).try_into().unwrap())
    }

    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).expect("a terminated string");
        // A message of PostgreSQL's quotes a "char" as it is, whatever byte that is.
        let text = String::from_utf8_lossy(&self.bytes(end)).into_owned();
        self.bytes(1);
        text
    }

    fn report(&mut self) -> Report {
        let mut report = Report::default();
        while self.0.first().is_some_and(|kind| *kind != 0) {
            let kind = self.bytes(1)[0] as char;
            report.fields.insert(kind, self.text());
        }
        report
    }

    fn column(&mut self) -> Column {
        let name = self.text();
        self.bytes(6);
        let oid = self.u32();
        self.bytes(2);
        let typmod = self.u32() as i32;
        self.bytes(2);
        Column { name, oid, typmod }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let length = self.u32() as i32;
        usize::try_from(length).ok().map(|length| self.bytes(length))
    }
}

fn decode(kind: u8, body: &[u8]) -> Message {
    let mut body = Body(body);
    match kind {
        b'R' => Message::Authentication(body.u32()),
        b'S' => Message::ParameterStatus(body.text(), body.text()),
        b'K' => Message::BackendKey(body.u32(), body.0.to_vec()),
        b'Z' => Message::Ready(body.bytes(1)[0]),
        b'T' => {
            let count = body.u16();
            Message::RowDescription((0..count).map(|_| body.column()).collect())
        }
        b'D' => {
            let count = body.u16();
            Message::DataRow((0..count).map(|_| body.value()).collect())
        }
        b'C' => Message::CommandComplete(body.text()),
        b'I' => Message::EmptyQuery,
        b'E' => Message::Error(body.report()),
        b'N' => Message::Notice(body.report()),
        b'G' => Message::CopyIn,
        b'H' => Message::CopyOut,
        b'd' => Message::CopyData(body.0.to_vec()),
        b'c' => Message::CopyDone,
        b'1' => Message::ParseComplete,
        b'2' => Message::BindComplete,
        b'3' => Message::CloseComplete,
        b'n' => Message::NoData,
        b's' => Message::PortalSuspended,
        b't' => {
            let count = body.u16();
            Message::ParameterDescription((0..count).map(|_| body.u32()).collect())
        }
        other => panic!("a message of unknown kind {:?}", other as char),
    }
}

/// A type's name; for the others, its number.
pub fn type_name(oid: u32) -> String {
    let name = match oid {
        16 => "bool",
        17 => "bytea",
        18 => "char",
        19 => "name",
        20 => "int8",
        21 => "int2",
        23 => "int4",
        25 => "text",
        26 => "oid",
        700 => "float4",
        701 => "float8",
        705 => "unknown",
        1042 => "bpchar",
        1043 => "varchar",
        1082 => "date",
        1083 => "time",
        1114 => "timestamp",
        1184 => "timestamptz",
        1186 => "interval",
        1700 => "numeric",
        2205 => "regclass",
        2950 => "uuid",
        3802 => "jsonb",
        other => return other.to_string(),
    };
    name.to_string()
}
