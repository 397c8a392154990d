//! Bytes to requests, without trust in a single one of them.
//!
//! A frame is a type byte, a length that counts itself, and a body. Faults come in two kinds, as in
//! PostgreSQL: where the frame stands but its body is wrong, the request fails and the connection
//! goes on; where the frame cannot be trusted, nothing behind it can, and the connection ends.

use bytes::{Bytes, BytesMut};
use pgwire::messages::extendedquery::{Bind, Close, Describe, Execute, Parse};

use crate::error::{Error, Result, SqlState};
use crate::repr::binary::utf8;

/// Bytes of a frame before its body.
const HEADER_BYTES: usize = 5;
/// The longest message of the types that only carry names: PostgreSQL's limit.
const SMALL_MESSAGE_BYTES: usize = 10_000;

/// What a client asks, after the startup.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each variant is the protocol's message of that name.
pub enum Request {
    Query(String),
    Parse(Parse),
    Bind(Bind),
    Describe(Describe),
    Execute(Execute),
    Close(Close),
    Flush,
    Sync,
    FunctionCall,
    CopyData(Bytes),
    CopyDone,
    CopyFail(String),
    Terminate,
}

impl Request {
    /// The type byte.
    pub fn kind(&self) -> u8 {
        match self {
            Request::Query(_) => b'Q',
            Request::Parse(_) => b'P',
            Request::Bind(_) => b'B',
            Request::Describe(_) => b'D',
            Request::Execute(_) => b'E',
            Request::Close(_) => b'C',
            Request::Flush => b'H',
            Request::Sync => b'S',
            Request::FunctionCall => b'F',
            Request::CopyData(_) => b'd',
            Request::CopyDone => b'c',
            Request::CopyFail(_) => b'f',
            Request::Terminate => b'X',
        }
    }
}

/// A request that is wrong in itself, in a frame that stands.
#[derive(Debug)]
pub struct Malformed {
    /// The type byte.
    pub kind: u8,
    /// What is wrong.
    pub error: Error,
}

/// What stands at the front of the buffer.
#[derive(Debug)]
pub enum Decoded {
    /// A request, or what is wrong with it; and its length in bytes.
    Frame(std::result::Result<Request, Malformed>, usize),
    /// The beginning of a frame, of which so many bytes are missing at least.
    Incomplete(usize),
    /// Nothing that can be gone on from.
    Broken(Error),
}

/// Takes one request from the front of what was read.
pub fn request(buffer: &mut BytesMut, message_bytes_max: usize) -> Decoded {
    let Some(kind) = buffer.first().copied() else { return Decoded::Incomplete(HEADER_BYTES) };
    let small = match kind {
        b'Q' | b'P' | b'B' | b'd' | b'F' => false,
        b'C' | b'D' | b'E' | b'H' | b'S' | b'X' | b'c' | b'f' => true,
        _ => return Decoded::Broken(violation(format!("invalid frontend message type {kind}"))),
    };
    let Some(length) = buffer.get(1..HEADER_BYTES).and_then(|raw| raw.first_chunk()) else {
        return Decoded::Incomplete(HEADER_BYTES - buffer.len());
    };
    // The length counts its own four bytes, but not the type.
    let length = u32::from_be_bytes(*length) as usize;
    if length < HEADER_BYTES - 1 || (small && length > SMALL_MESSAGE_BYTES) {
        return Decoded::Broken(violation("invalid message length"));
    }
    if length > message_bytes_max {
        return Decoded::Broken(
            Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "message is too long")
                .with_detail(format!("It has {length} bytes, and {message_bytes_max} may be sent."))
                .with_hint("Start the server with a higher --max-message-bytes."),
        );
    }
    let frame = length + 1;
    if buffer.len() < frame {
        return Decoded::Incomplete(frame - buffer.len());
    }
    let body = buffer.split_to(frame).split_off(HEADER_BYTES).freeze();
    Decoded::Frame(decode(kind, body).map_err(|error| Malformed { kind, error }), frame)
}

/// A fault in the protocol.
pub fn violation(message: impl Into<String>) -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, message)
}

fn decode(kind: u8, bytes: Bytes) -> Result<Request> {
    if kind == b'd' {
        return Ok(Request::CopyData(bytes));
    }
    let mut body = Body::new(bytes);
    let request = match kind {
        b'Q' => Request::Query(body.string()?),
        b'P' => {
            let (name, query) = (body.name()?, body.string()?);
            let count = body.u16()?;
            let oids = body.list(count, Body::u32)?;
            Request::Parse(Parse::new(name, query, oids))
        }
        b'B' => bind(&mut body)?,
        b'D' => Request::Describe(Describe::new(body.u8()?, body.name()?)),
        b'C' => Request::Close(Close::new(body.u8()?, body.name()?)),
        b'E' => {
            let (name, rows) = (body.name()?, body.u32()?);
            Request::Execute(Execute::new(name, rows as i32))
        }
        b'f' => Request::CopyFail(body.string()?),
        // The call's arguments are of no interest: there are no functions to call in this way.
        b'F' => return Ok(Request::FunctionCall),
        b'H' => Request::Flush,
        b'S' => Request::Sync,
        b'c' => Request::CopyDone,
        b'X' => Request::Terminate,
        _ => return Err(violation(format!("invalid frontend message type {kind}"))),
    };
    body.end()?;
    Ok(request)
}

fn bind(body: &mut Body) -> Result<Request> {
    let (portal, statement) = (body.name()?, body.name()?);
    let count = body.u16()?;
    let formats = body.list(count, Body::i16)?;
    let count = body.u16()?;
    let values = body.list(count, |body| match body.u32()? {
        u32::MAX => Ok(None),
        length => Ok(Some(body.take(length as usize)?)),
    })?;
    let count = body.u16()?;
    let result_formats = body.list(count, Body::i16)?;
    Ok(Request::Bind(Bind::new(portal, statement, formats, values, result_formats)))
}

/// A body that is read from its front.
pub struct Body {
    rest: Bytes,
}

impl Body {
    /// A body of these bytes.
    pub fn new(rest: Bytes) -> Body {
        Body { rest }
    }

    /// The next bytes, shared and not copied.
    pub fn take(&mut self, length: usize) -> Result<Bytes> {
        if length > self.rest.len() {
            return Err(violation("insufficient data left in message"));
        }
        Ok(self.rest.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(&self.take(N)?);
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    /// All that is left.
    pub fn rest(self) -> Bytes {
        self.rest
    }

    /// A 32-bit number.
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// What the terminating zero ends.
    pub fn string(&mut self) -> Result<String> {
        let end = self.rest.iter().position(|byte| *byte == 0);
        let raw = self.take(end.ok_or_else(|| violation("invalid string in message"))?)?;
        self.take(1)?;
        utf8(&raw).map(str::to_owned)
    }

    /// A string that stands for nothing where it is empty.
    fn name(&mut self) -> Result<Option<String>> {
        Ok(Some(self.string()?).filter(|name| !name.is_empty()))
    }

    fn list<T>(
        &mut self,
        count: u16,
        mut item: impl FnMut(&mut Body) -> Result<T>,
    ) -> Result<Vec<T>> {
        (0..count).map(|_| item(self)).collect()
    }

    /// Whether all has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    fn end(&self) -> Result<()> {
        if self.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, body: &[u8]) -> BytesMut {
        let mut bytes = BytesMut::from(&[kind][..]);
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        bytes
    }

    fn decoded(kind: u8, body: &[u8]) -> std::result::Result<Request, SqlState> {
        match request(&mut frame(kind, body), 1 << 20) {
            Decoded::Frame(Ok(request), _) => Ok(request),
            Decoded::Frame(Err(malformed), _) => Err(malformed.error.code),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn bodies_are_taken_apart() {
        assert_eq!(decoded(b'Q', b"SELECT 1\0"), Ok(Request::Query("SELECT 1".to_owned())));
        let parse = decoded(b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x17").expect("parse");
        let expected = Parse::new(Some("s".to_owned()), "SELECT $1".to_owned(), vec![23]);
        assert_eq!(parse, Request::Parse(expected));
        let bind = decoded(b'B', b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0");
        let values = vec![Some(Bytes::from_static(b"x")), None];
        let expected = Bind::new(None, Some("s".to_owned()), vec![1], values, vec![]);
        assert_eq!(bind, Ok(Request::Bind(expected)));
    }

    #[test]
    fn wrong_bodies_fail_alone() {
        let violation = Err(SqlState::PROTOCOL_VIOLATION);
        assert_eq!(decoded(b'Q', b"SELECT 1"), violation);
        assert_eq!(decoded(b'Q', b"SELECT\0 1\0"), violation);
        assert_eq!(decoded(b'Q', b""), violation);
        assert_eq!(decoded(b'S', b"x"), violation);
        assert_eq!(decoded(b'B', b"\0\0\xff\xff"), violation);
        assert_eq!(decoded(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"), violation);
        assert_eq!(decoded(b'B', b"\0\0\0\0\0\x01\xff\xff\xff\xfe\0\0"), violation);
        assert_eq!(decoded(b'E', b"\0\0\0"), violation);
        assert_eq!(decoded(b'Q', b"\xff\0"), Err(SqlState::CHARACTER_NOT_IN_REPERTOIRE));
        assert_eq!(decoded(b'D', b"S\xc3\0"), Err(SqlState::CHARACTER_NOT_IN_REPERTOIRE));
    }

    #[test]
    fn every_prefix_waits_and_every_cut_fails() {
        let whole = frame(b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x01x\0\x01\0\0");
        for end in 0..whole.len() {
            let decoded = request(&mut BytesMut::from(&whole[..end]), 1 << 20);
            assert!(matches!(decoded, Decoded::Incomplete(1..)), "{end}: {decoded:?}");
        }
        for end in HEADER_BYTES..whole.len() {
            assert!(decoded(b'B', &whole[HEADER_BYTES..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn broken_frames_end_the_connection() {
        let broken = |bytes: &[u8]| match request(&mut BytesMut::from(bytes), 1 << 20) {
            Decoded::Broken(error) => error.code,
            other => panic!("{other:?}"),
        };
        assert_eq!(broken(b"\x01"), SqlState::PROTOCOL_VIOLATION);
        assert_eq!(broken(b"p\0\0\0\x04"), SqlState::PROTOCOL_VIOLATION);
        assert_eq!(broken(b"Q\0\0\0\x03"), SqlState::PROTOCOL_VIOLATION);
        assert_eq!(broken(b"S\0\x01\0\0"), SqlState::PROTOCOL_VIOLATION);
        assert_eq!(broken(b"Q\xff\xff\xff\xff"), SqlState::PROGRAM_LIMIT_EXCEEDED);
        assert_eq!(broken(b"Q\0\x10\0\x01"), SqlState::PROGRAM_LIMIT_EXCEEDED);
    }
}
