//! From a connection's first byte to its startup packet.
//!
//! What comes here has no type byte: a length, a number that is a version or one of three codes,
//! and the rest. Encryption is declined, so that clients which prefer it go on without.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::error::{Error, Result, SqlState};
use crate::server::pgwire::decode::{Body, violation};

/// The longest packet: PostgreSQL's limit.
const PACKET_BYTES_MAX: usize = 10_000;
/// The shortest one: a length and a number.
const PACKET_BYTES_MIN: usize = 8;

const CANCEL_REQUEST: u32 = 80_877_102;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_ENCRYPTION_REQUEST: u32 = 80_877_104;

/// What a connection begins with.
#[derive(Debug, PartialEq, Eq)]
pub enum Opening {
    /// A session is wanted.
    Startup(Startup),
    /// Another connection's statement is to be cancelled.
    Cancel {
        /// The other connection's number.
        number: i32,
        /// What proves the right to.
        secret: Bytes,
    },
    /// Nothing: it ended.
    Gone,
}

/// A startup packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Startup {
    /// The minor version that is spoken.
    pub minor: u16,
    /// The minor version that was asked for.
    pub minor_asked: u16,
    /// Options of the protocol that are not known.
    pub unknown_options: Vec<String>,
    /// The session's settings, with `user` and `database`.
    pub parameters: Vec<(String, String)>,
}

impl Startup {
    /// The newest minor version that is spoken.
    const MINOR_MAX: u16 = 2;

    /// Whether the client has to be told that less is spoken than it asked for.
    pub fn negotiates(&self) -> bool {
        self.minor != self.minor_asked || !self.unknown_options.is_empty()
    }

    /// The version that is spoken, as the protocol writes it.
    pub fn version(&self) -> i32 {
        3 << 16 | i32::from(self.minor)
    }
}

/// Reads what a connection begins with. The error is the last thing to be sent.
pub async fn open<S>(stream: &mut S) -> Result<Opening>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Each kind of encryption is asked for once; a client that goes on asking is not one.
    for _ in 0..3 {
        let Some(mut packet) = read_packet(stream).await? else { return Ok(Opening::Gone) };
        match packet.u32()? {
            SSL_REQUEST | GSS_ENCRYPTION_REQUEST if packet.is_empty() => {
                if stream.write_all(b"N").await.is_err() {
                    return Ok(Opening::Gone);
                }
            }
            CANCEL_REQUEST => {
                let number = packet.u32()? as i32;
                return Ok(Opening::Cancel { number, secret: packet.rest() });
            }
            version => return startup(version, packet).map(Opening::Startup),
        }
    }
    Err(unsupported(SSL_REQUEST))
}

/// The next packet without its length; none at the end of the stream.
async fn read_packet<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<Body>> {
    let mut length = [0; 4];
    if stream.read_exact(&mut length).await.is_err() {
        return Ok(None);
    }
    let length = u32::from_be_bytes(length) as usize;
    if !(PACKET_BYTES_MIN..=PACKET_BYTES_MAX).contains(&length) {
        return Err(violation("invalid length of startup packet"));
    }
    let mut packet = vec![0; length - 4];
    match stream.read_exact(&mut packet).await {
        Ok(_) => Ok(Some(Body::new(packet.into()))),
        Err(_) => Ok(None),
    }
}

fn unsupported(version: u32) -> Error {
    let (major, minor) = (version >> 16, version & 0xffff);
    Error::new(
        SqlState::FEATURE_NOT_SUPPORTED,
        format!(
            "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.{}",
            Startup::MINOR_MAX
        ),
    )
}

fn startup(version: u32, mut packet: Body) -> Result<Startup> {
    if version >> 16 != 3 {
        return Err(unsupported(version));
    }
    let minor_asked = (version & 0xffff) as u16;
    let mut unknown_options = Vec::new();
    // A name that comes twice has its last value.
    let mut parameters = BTreeMap::new();
    let layout = || violation("invalid startup packet layout: expected terminator as last byte");
    loop {
        if packet.is_empty() {
            return Err(layout());
        }
        let name = packet.string()?;
        if name.is_empty() {
            break;
        }
        if packet.is_empty() {
            return Err(layout());
        }
        let value = packet.string()?;
        if name.starts_with("_pq_.") {
            unknown_options.push(name);
        } else {
            parameters.insert(name, value);
        }
    }
    if !packet.is_empty() {
        return Err(layout());
    }
    if parameters.get("user").is_none_or(String::is_empty) {
        return Err(Error::new(
            SqlState::new(b"28000"),
            "no PostgreSQL user name specified in startup packet",
        ));
    }
    if let Some(replication) = parameters.remove("replication")
        && !["false", "off", "no", "0"].contains(&replication.as_str())
    {
        return Err(Error::unsupported("replication", "Use SUBSCRIBE to follow changes."));
    }
    let minor = minor_asked.min(Startup::MINOR_MAX);
    let parameters = parameters.into_iter().collect();
    Ok(Startup { minor, minor_asked, unknown_options, parameters })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(number: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = (rest.len() as u32 + 8).to_be_bytes().to_vec();
        bytes.extend_from_slice(&number.to_be_bytes());
        bytes.extend_from_slice(rest);
        bytes
    }

    async fn opened(bytes: &[u8]) -> (Result<Opening>, Vec<u8>) {
        let (mut server, mut client) = tokio::io::duplex(1 << 16);
        client.write_all(bytes).await.expect("room");
        client.shutdown().await.expect("open");
        let opening = open(&mut server).await;
        drop(server);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.expect("readable");
        (opening, answer)
    }

    #[tokio::test]
    async fn encryption_is_declined_and_the_startup_follows() {
        let mut bytes = packet(GSS_ENCRYPTION_REQUEST, b"");
        bytes.extend(packet(SSL_REQUEST, b""));
        bytes.extend(packet(3 << 16, b"user\0me\0TimeZone\0UTC\0\0"));
        let (opening, answer) = opened(&bytes).await;
        assert_eq!(answer, b"NN");
        let Ok(Opening::Startup(startup)) = opening else { panic!("{opening:?}") };
        assert!(!startup.negotiates());
        assert_eq!(startup.parameters.len(), 2);
    }

    #[tokio::test]
    async fn versions_are_negotiated() {
        let (opening, _) = opened(&packet(3 << 16 | 9999, b"user\0me\0_pq_.x\x001\0\0")).await;
        let Ok(Opening::Startup(startup)) = opening else { panic!("{opening:?}") };
        assert!(startup.negotiates());
        assert_eq!((startup.version(), startup.minor), (196_610, 2));
        assert_eq!(startup.unknown_options, ["_pq_.x"]);
        let (old, _) = opened(&packet(2 << 16, b"user\0me\0\0")).await;
        assert_eq!(old.expect_err("too old").code, SqlState::FEATURE_NOT_SUPPORTED);
    }

    #[tokio::test]
    async fn what_is_no_startup_is_refused() {
        for wrong in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[0, 0, 0, 7, 0, 0, 0],
            &packet(3 << 16, b"user\0me\0"),
            &packet(3 << 16, b"user\0me"),
            &packet(3 << 16, b"user\0me\0\0x"),
            &packet(3 << 16, b""),
        ] {
            let (opening, _) = opened(wrong).await;
            let error = opening.expect_err("refused");
            assert_eq!(error.code, SqlState::PROTOCOL_VIOLATION, "{wrong:?}");
        }
        let (nobody, _) = opened(&packet(3 << 16, b"\0")).await;
        assert_eq!(nobody.expect_err("no user").code, SqlState::new(b"28000"));
        let (short, _) = opened(&[0, 0, 1]).await;
        assert_eq!(short, Ok(Opening::Gone));
    }
}
