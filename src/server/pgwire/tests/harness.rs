//! A server on a free port, and a client that speaks in frames.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::server::listener::{Limits, Server};
use crate::server::pgwire::tests::mock::MockEngine;

/// How long a test waits for what has to come.
const PATIENCE: Duration = Duration::from_secs(5);

pub struct Running {
    pub server: Arc<Server<MockEngine>>,
    pub engine: MockEngine,
    pub port: u16,
    pub accepting: JoinHandle<()>,
}

pub async fn start(connections_max: usize) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    let limits = Limits {
        connections_max,
        message_bytes_max: 4 << 20,
        client_timeout: Duration::from_secs(60),
    };
    let server = Arc::new(Server::new(limits));
    let engine = MockEngine::default();
    server.open(engine.clone());
    let accepting = tokio::spawn({
        let server = server.clone();
        async move { server.accept(listener).await }
    });
    Running { server, engine, port, accepting }
}

impl Running {
    /// A client that has been let in.
    pub async fn client(&self) -> Raw {
        let mut raw = Raw::connect(self.port).await;
        raw.startup(3 << 16, &["user", "me"]).await;
        raw.greeting().await;
        raw
    }

    /// Waits until so many sessions are alive.
    pub async fn sessions(&self, count: usize) {
        let wait = async {
            while self.engine.alive.load(Ordering::SeqCst) != count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("sessions end in time");
    }
}

/// A message from the server.
#[derive(Debug)]
pub struct Said {
    pub kind: u8,
    pub body: Vec<u8>,
}

impl Said {
    /// A field of an error or notice.
    pub fn field(&self, code: u8) -> Option<String> {
        let parts = self.body.split(|byte| *byte == 0);
        let part = parts.into_iter().find(|part| part.first() == Some(&code))?;
        Some(String::from_utf8_lossy(&part[1..]).into_owned())
    }
}

/// A client that says what it is told to.
pub struct Raw {
    pub stream: TcpStream,
    pub number: u32,
    pub secret: Vec<u8>,
}

pub fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

pub fn query(sql: &str) -> Vec<u8> {
    frame(b'Q', format!("{sql}\0").as_bytes())
}

/// Parse, Bind and Execute of a statement without names, without Sync.
pub fn run_extended(sql: &str, result_format: u8) -> Vec<u8> {
    let mut bytes = frame(b'P', format!("\0{sql}\0\0\0").as_bytes());
    bytes.extend(frame(b'B', &[0, 0, 0, 0, 0, 0, 0, 1, 0, result_format]));
    bytes.extend(frame(b'E', &[0, 0, 0, 0, 0]));
    bytes
}

impl Raw {
    pub async fn connect(port: u16) -> Raw {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.expect("listening");
        Raw { stream, number: 0, secret: Vec::new() }
    }

    pub async fn startup(&mut self, version: u32, parameters: &[&str]) {
        let mut packet = version.to_be_bytes().to_vec();
        for text in parameters {
            packet.extend_from_slice(text.as_bytes());
            packet.push(0);
        }
        packet.push(0);
        let length = packet.len() as u32 + 4;
        self.send(&[&length.to_be_bytes()[..], &packet].concat()).await;
    }

    /// Takes all up to the first ReadyForQuery.
    pub async fn greeting(&mut self) -> Vec<Said> {
        let said = self.until_ready().await;
        for message in &said {
            if message.kind == b'K' {
                let (number, secret) = message.body.split_at(4);
                self.number = u32::from_be_bytes(number.try_into().expect("four bytes"));
                self.secret = secret.to_vec();
            }
        }
        said
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("connected");
    }

    /// The next message; none at the end.
    pub async fn next(&mut self) -> Option<Said> {
        let read = async {
            let kind = self.stream.read_u8().await.ok()?;
            let length = self.stream.read_u32().await.ok()? as usize;
            let mut body = vec![0; length - 4];
            self.stream.read_exact(&mut body).await.ok()?;
            Some(Said { kind, body })
        };
        timeout(PATIENCE, read).await.expect("the server answers in time")
    }

    /// Everything up to ReadyForQuery.
    pub async fn until_ready(&mut self) -> Vec<Said> {
        let mut all = Vec::new();
        loop {
            let said = self.next().await.expect("the connection goes on");
            let ready = said.kind == b'Z';
            all.push(said);
            if ready {
                return all;
            }
        }
    }

    /// The types of everything up to ReadyForQuery, in a row.
    pub async fn kinds(&mut self) -> String {
        self.until_ready().await.iter().map(|said| char::from(said.kind)).collect()
    }

    /// The last words: the code of a FATAL error, after which the connection ends.
    pub async fn fatal(&mut self) -> String {
        loop {
            let said = self.next().await.expect("last words");
            if said.kind == b'E' && said.field(b'S').as_deref() == Some("FATAL") {
                assert!(self.next().await.is_none(), "the connection ends");
                return said.field(b'C').expect("a code");
            }
        }
    }

    /// Asks on a connection of its own that this one's statement be cancelled.
    pub async fn cancel(&self, port: u16) {
        let mut other = Raw::connect(port).await;
        let length = 12 + self.secret.len() as u32;
        let mut packet = length.to_be_bytes().to_vec();
        packet.extend_from_slice(&80_877_102u32.to_be_bytes());
        packet.extend_from_slice(&self.number.to_be_bytes());
        packet.extend_from_slice(&self.secret);
        other.send(&packet).await;
        assert!(other.next().await.is_none(), "a cancel request is not answered");
    }
}
