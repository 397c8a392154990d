//! The byte form of events: what a trace file holds, and what workers hand over.
//!
//! ```text
//! file   = "weirtrac" version:u32 chunk*
//! chunk  = length:u32 crc32:u32 payload           (little-endian; both are of the payload)
//! payload = worker peers first through count event*   (each a varint)
//! event  = varint(nanoseconds since the one before << 4 | kind) its fields, as varints
//! ```
//!
//! A chunk holds events of one worker in order, and says that there are no others up to `through`:
//! whoever reads chunks knows how far it is with each worker, also with one that sleeps. A chunk
//! stands alone, so that chunks of several workers, or of several recordings, may follow each other
//! in any order that keeps those of one worker in theirs.
//!
//! An activation costs 4 to 6 bytes, a message 7 to 9. What is damaged is found by the checksum and
//! refused with its place; a file that ends within a chunk is damaged. A file of a newer version is
//! refused as such. Kinds are never given another meaning: a new one is a new version.

use std::io::{ErrorKind, Read};

use super::event::{Event, Message, OperatorId, Progress, Timed};
use crate::error::{Error, Result, SqlState};
use crate::repr::Timestamp;

/// How a file begins.
const MAGIC: &[u8; 8] = b"weirtrac";
/// The version that is written, and the newest that is read.
const VERSION: u32 = 1;
/// Bytes before the payload of a chunk.
const FRAME_BYTES: usize = 8;
/// No chunk is larger.
const CHUNK_BYTES_MAX: usize = 64 << 20;
/// The longest time between two events that can be told: 36 years.
const GAP_MAX: u64 = (1 << 60) - 1;

/// What each kind of event is called.
mod kind {
    pub(super) const OPERATOR: u64 = 0;
    pub(super) const CHANNEL: u64 = 1;
    pub(super) const ENDED: u64 = 2;
    pub(super) const STARTED: u64 = 3;
    pub(super) const STOPPED: u64 = 4;
    /// The operator that started last stopped.
    pub(super) const STOPPED_LAST: u64 = 5;
    pub(super) const SENT: u64 = 6;
    pub(super) const RECEIVED: u64 = 7;
    pub(super) const PARKED: u64 = 8;
    pub(super) const UNPARKED: u64 = 9;
    pub(super) const DATAFLOW: u64 = 10;
    pub(super) const PROGRESS_SENT: u64 = 11;
    pub(super) const PROGRESS_RECEIVED: u64 = 12;
    pub(super) const MISSED: u64 = 13;
}

/// Events of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// The worker.
    pub worker: usize,
    /// How many workers there are.
    pub peers: usize,
    /// There are no other events of this worker after the chunk before it, up to here.
    pub through: Timestamp,
    /// The events, in order.
    pub events: Vec<Timed>,
}

impl Chunk {
    /// The bytes of the chunk.
    pub fn bytes(&self) -> Vec<u8> {
        let mut writer = ChunkWriter::default();
        self.events.iter().for_each(|(at, event)| writer.add(*at, event));
        writer.take(self.worker, self.peers, self.through)
    }
}

/// How a file begins.
pub fn header() -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes()].concat()
}

/// Makes a chunk, event by event.
#[derive(Debug, Default)]
pub struct ChunkWriter {
    bytes: Vec<u8>,
    first: Timestamp,
    last: Timestamp,
    count: u64,
    started: OperatorId,
}

impl ChunkWriter {
    /// How many bytes the events take so far.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no events so far.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds an event. One that comes with an earlier time than the one before it gets that one's.
    pub fn add(&mut self, at: Timestamp, event: &Event) {
        if self.count == 0 {
            (self.first, self.last) = (at, at);
        }
        let gap = at.saturating_sub(self.last).min(GAP_MAX);
        self.last += gap;
        self.count += 1;
        let bytes = &mut self.bytes;
        let mut head = |kind: u64| put(bytes, gap << 4 | kind);
        match event {
            Event::Operator { id, address, name } => {
                head(kind::OPERATOR);
                put(bytes, *id as u64);
                put_path(bytes, address);
                put(bytes, name.len() as u64);
                bytes.extend_from_slice(name.as_bytes());
            }
            Event::Channel { id, scope, source, target, batches } => {
                head(kind::CHANNEL);
                put(bytes, *id as u64);
                put_path(bytes, scope);
                let (source, target) = ([source.0, source.1], [target.0, target.1]);
                source.iter().chain(&target).for_each(|n| put(bytes, *n as u64));
                put(bytes, u64::from(*batches));
            }
            Event::Ended(id) => {
                head(kind::ENDED);
                put(bytes, *id as u64);
            }
            Event::Started(id) => {
                head(kind::STARTED);
                put(bytes, *id as u64);
                self.started = *id;
            }
            Event::Stopped(id) if *id == self.started => head(kind::STOPPED_LAST),
            Event::Stopped(id) => {
                head(kind::STOPPED);
                put(bytes, *id as u64);
            }
            Event::Sent(message) => {
                head(kind::SENT);
                put_message(bytes, message);
            }
            Event::Received(message) => {
                head(kind::RECEIVED);
                put_message(bytes, message);
            }
            Event::Parked => head(kind::PARKED),
            Event::Unparked => head(kind::UNPARKED),
            Event::Dataflow { first, end, object } => {
                head(kind::DATAFLOW);
                [*first as u64, *end as u64, *object].iter().for_each(|n| put(bytes, *n));
            }
            Event::ProgressSent(progress) => {
                head(kind::PROGRESS_SENT);
                put_progress(bytes, progress);
            }
            Event::ProgressReceived(progress) => {
                head(kind::PROGRESS_RECEIVED);
                put_progress(bytes, progress);
            }
            Event::Missed(count) => {
                head(kind::MISSED);
                put(bytes, *count);
            }
        }
    }

    /// The chunk of what was added; what is added next begins another.
    pub fn take(&mut self, worker: usize, peers: usize, through: Timestamp) -> Vec<u8> {
        let mut chunk = Vec::with_capacity(FRAME_BYTES + 40 + self.bytes.len());
        chunk.extend_from_slice(&[0; FRAME_BYTES]);
        let first = if self.count == 0 { through } else { self.first };
        let head = [worker as u64, peers as u64, first, through, self.count];
        head.iter().for_each(|n| put(&mut chunk, *n));
        chunk.append(&mut self.bytes);
        (self.count, self.started) = (0, 0);
        let (frame, payload) = chunk.split_at_mut(FRAME_BYTES);
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        frame[..4].copy_from_slice(&length.to_le_bytes());
        frame[4..].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
        chunk
    }
}

/// Appends a number, seven bits a byte, the lowest first.
#[inline]
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_path(bytes: &mut Vec<u8>, path: &[usize]) {
    put(bytes, path.len() as u64);
    path.iter().for_each(|n| put(bytes, *n as u64));
}

fn put_message(bytes: &mut Vec<u8>, message: &Message) {
    let Message { channel, from, to, number, records } = *message;
    [channel, from, to, number].iter().for_each(|n| put(bytes, *n as u64));
    // Small numbers are short, whatever their sign.
    put(bytes, ((records << 1) ^ (records >> 63)) as u64);
}

fn put_progress(bytes: &mut Vec<u8>, progress: &Progress) {
    let Progress { channel, from, number, epoch } = *progress;
    [channel, from, number].iter().for_each(|n| put(bytes, *n as u64));
    put(bytes, u64::from(epoch.is_some()));
    epoch.into_iter().for_each(|epoch| put(bytes, epoch));
}

/// The chunks of a file, one after the other. After an error there are no more.
pub struct Chunks<R> {
    input: R,
    /// How many bytes have been read.
    offset: u64,
    ended: bool,
}

impl<R: Read> Chunks<R> {
    /// Reads the beginning of a file. Error 22023 where it is none, or of a newer version; 58030
    /// where it cannot be read.
    pub fn open(mut input: R) -> Result<Chunks<R>> {
        let mut head = [0; MAGIC.len() + 4];
        let refused = |message: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, message);
        if filled(&mut input, &mut head)? < head.len() || head[..MAGIC.len()] != MAGIC[..] {
            return Err(refused("this is not a trace file".to_owned()));
        }
        let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
        if !(1..=VERSION).contains(&version) {
            return Err(refused(format!("trace file of unknown version {version}")).with_hint(
                format!("Versions up to {VERSION} are known here: a newer weir may know it."),
            ));
        }
        Ok(Chunks { input, offset: head.len() as u64, ended: false })
    }

    fn read(&mut self) -> Result<Option<Chunk>> {
        let begin = self.offset;
        let damaged = |what: &str| damaged(begin, what);
        let mut frame = [0; FRAME_BYTES];
        match filled(&mut self.input, &mut frame)? {
            0 => return Ok(None),
            FRAME_BYTES => {}
            _ => return Err(damaged("it ends within a chunk")),
        }
        let number = |from: usize| u32::from_le_bytes([0, 1, 2, 3].map(|n| frame[from + n]));
        let length = number(0) as usize;
        if length > CHUNK_BYTES_MAX {
            return Err(damaged("a chunk is too long"));
        }
        let mut payload = Vec::new();
        let mut input = (&mut self.input).take(length as u64);
        input.read_to_end(&mut payload).map_err(unreadable)?;
        if payload.len() < length {
            return Err(damaged("it ends within a chunk"));
        }
        if crc32fast::hash(&payload) != number(4) {
            return Err(damaged("a checksum is wrong"));
        }
        self.offset += (FRAME_BYTES + length) as u64;
        let chunk = Payload { bytes: &payload, at: 0 }.chunk();
        chunk.map(Some).ok_or_else(|| damaged("a chunk is not well formed"))
    }
}

impl<R: Read> Iterator for Chunks<R> {
    type Item = Result<Chunk>;

    fn next(&mut self) -> Option<Result<Chunk>> {
        if self.ended {
            return None;
        }
        let next = self.read();
        self.ended = !matches!(next, Ok(Some(_)));
        next.transpose()
    }
}

/// Reads a single chunk, as [`ChunkWriter::take`] made it.
pub fn chunk(bytes: &[u8]) -> Result<Chunk> {
    let mut chunks = Chunks { input: bytes, offset: 0, ended: false };
    chunks.read()?.ok_or_else(|| damaged(0, "it is empty"))
}

/// The worker of a chunk, and up to where it tells all, without a look at its events.
pub fn head(bytes: &[u8]) -> Result<(usize, Timestamp)> {
    let mut payload = Payload { bytes, at: FRAME_BYTES };
    let mut head = || {
        let worker = payload.size()?;
        let (_peers, _first) = (payload.number()?, payload.number()?);
        Some((worker, payload.number()?))
    };
    head().ok_or_else(|| damaged(0, "a chunk is not well formed"))
}

fn damaged(offset: u64, what: &str) -> Error {
    let message = format!("trace file is damaged at byte {offset}: {what}");
    Error::new(SqlState::DATA_CORRUPTED, message)
}

fn unreadable(error: std::io::Error) -> Error {
    Error::new(SqlState::IO_ERROR, format!("could not read trace file: {error}"))
}

/// Reads until a buffer is full or the input ends; how many bytes there were.
fn filled(input: &mut impl Read, buffer: &mut [u8]) -> Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
    }
    Ok(length)
}

/// A payload that is read; nothing, where it is not well formed.
struct Payload<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Payload<'_> {
    fn chunk(&mut self) -> Option<Chunk> {
        let (worker, peers) = (self.size()?, self.size()?);
        let (mut at, through, count) = (self.number()?, self.number()?, self.number()?);
        // An event takes a byte at the least.
        let capacity = usize::try_from(count).ok()?.min(self.bytes.len());
        let mut events = Vec::with_capacity(capacity);
        let mut started = 0;
        for _ in 0..count {
            let head = self.number()?;
            at = at.checked_add(head >> 4)?;
            events.push((at, self.event(head & 15, &mut started)?));
        }
        (self.at == self.bytes.len()).then_some(Chunk { worker, peers, through, events })
    }

    fn event(&mut self, kind: u64, started: &mut OperatorId) -> Option<Event> {
        Some(match kind {
            kind::OPERATOR => {
                let (id, address, length) = (self.size()?, self.path()?, self.size()?);
                let end = self.at.checked_add(length)?;
                let name = std::str::from_utf8(self.bytes.get(self.at..end)?).ok()?.to_owned();
                self.at = end;
                Event::Operator { id, address, name }
            }
            kind::CHANNEL => {
                let (id, scope) = (self.size()?, self.path()?);
                let source = (self.size()?, self.size()?);
                let target = (self.size()?, self.size()?);
                Event::Channel { id, scope, source, target, batches: self.flag()? }
            }
            kind::ENDED => Event::Ended(self.size()?),
            kind::STARTED => {
                *started = self.size()?;
                Event::Started(*started)
            }
            kind::STOPPED => Event::Stopped(self.size()?),
            kind::STOPPED_LAST => Event::Stopped(*started),
            kind::SENT => Event::Sent(self.message()?),
            kind::RECEIVED => Event::Received(self.message()?),
            kind::PARKED => Event::Parked,
            kind::UNPARKED => Event::Unparked,
            kind::DATAFLOW => {
                let (first, end, object) = (self.size()?, self.size()?, self.number()?);
                Event::Dataflow { first, end, object }
            }
            kind::PROGRESS_SENT => Event::ProgressSent(self.progress()?),
            kind::PROGRESS_RECEIVED => Event::ProgressReceived(self.progress()?),
            kind::MISSED => Event::Missed(self.number()?),
            _ => return None,
        })
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    #[inline]
    fn size(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn path(&mut self) -> Option<Vec<usize>> {
        let length = self.size()?;
        // Each step takes a byte at the least.
        (length <= self.bytes.len() - self.at).then_some(())?;
        (0..length).map(|_| self.size()).collect()
    }

    fn message(&mut self) -> Option<Message> {
        let (channel, from, to) = (self.size()?, self.size()?, self.size()?);
        let (number, folded) = (self.size()?, self.number()?);
        let records = (folded >> 1) as i64 ^ -((folded & 1) as i64);
        Some(Message { channel, from, to, number, records })
    }

    fn progress(&mut self) -> Option<Progress> {
        let (channel, from, number) = (self.size()?, self.size()?, self.size()?);
        let epoch = if self.flag()? { Some(self.number()?) } else { None };
        Some(Progress { channel, from, number, epoch })
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn size(random: &mut StdRng) -> usize {
        let bits = random.random_range(0..64);
        random.random::<u64>() as usize >> bits
    }

    fn event(random: &mut StdRng) -> Event {
        let message = Message {
            channel: size(random),
            from: size(random),
            to: size(random),
            number: size(random),
            records: size(random) as i64,
        };
        let epoch = random.random::<bool>().then(|| size(random) as u64);
        let (channel, from, number) = (size(random), size(random), size(random));
        let progress = Progress { channel, from, number, epoch };
        let path: Vec<usize> = (0..random.random_range(0..4)).map(|_| size(random)).collect();
        match random.random_range(0..13) {
            0 => Event::Operator { id: size(random), address: path, name: "Größe ≤ 7".into() },
            1 => Event::Channel {
                id: size(random),
                scope: path,
                source: (size(random), size(random)),
                target: (size(random), size(random)),
                batches: random.random(),
            },
            2 => Event::Ended(size(random)),
            3 => Event::Started(size(random)),
            4 => Event::Stopped(size(random)),
            5 => Event::Sent(message),
            6 => Event::Received(message),
            7 => Event::Parked,
            8 => Event::Unparked,
            9 => Event::Dataflow { first: from, end: number, object: size(random) as u64 },
            10 => Event::ProgressSent(progress),
            11 => Event::ProgressReceived(progress),
            _ => Event::Missed(size(random) as u64),
        }
    }

    fn chunks(seed: u64, count: usize) -> Vec<Chunk> {
        let mut random = StdRng::seed_from_u64(seed);
        let mut chunks = Vec::new();
        for _ in 0..count {
            let mut at = random.random_range(0..1 << 61);
            let mut events = Vec::new();
            for _ in 0..random.random_range(0..40) {
                let made = event(&mut random);
                // An activation, as it mostly is.
                let stop = match made {
                    Event::Started(id) if random.random() => Some(Event::Stopped(id)),
                    _ => None,
                };
                at += random.random_range(0..5000);
                events.push((at, made));
                events.extend(stop.map(|stop| (at + 3, stop)));
                at += 3;
            }
            let (worker, peers) = (size(&mut random), size(&mut random));
            chunks.push(Chunk { worker, peers, through: at, events });
        }
        chunks
    }

    fn file(chunks: &[Chunk]) -> Vec<u8> {
        chunks.iter().fold(header(), |file, chunk| [file, chunk.bytes()].concat())
    }

    fn read(file: &[u8]) -> Result<Vec<Chunk>> {
        Chunks::open(file)?.collect()
    }

    #[test]
    fn what_is_written_is_read() {
        for seed in 0..50 {
            let written = chunks(seed, 20);
            assert_eq!(read(&file(&written)).unwrap(), written, "seed {seed}");
        }
        assert_eq!(read(&header()).unwrap(), []);
    }

    #[test]
    fn an_activation_is_short() {
        let mut writer = ChunkWriter::default();
        let before = |writer: &mut ChunkWriter| {
            writer.add(1_000_000, &Event::Started(100));
            writer.len()
        };
        let first = before(&mut writer);
        writer.add(1_000_900, &Event::Stopped(100));
        writer.add(1_001_000, &Event::Started(101));
        writer.add(1_001_900, &Event::Stopped(101));
        assert!(writer.len() - first <= 2 + 3 + 2, "{}", writer.len() - first);
    }

    #[test]
    fn every_damage_is_found_and_none_panics() {
        let whole = file(&chunks(7, 3));
        assert!(read(&whole).is_ok());
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert!(read(&bytes).is_err(), "bit {bit} of byte {at}");
            }
        }
        let begins: Vec<usize> = chunks(7, 3)
            .iter()
            .scan(header().len(), |end, chunk| {
                let begin = *end;
                *end += chunk.bytes().len();
                Some(begin)
            })
            .collect();
        for end in 0..whole.len() {
            // A file that ends behind a chunk is whole.
            assert_eq!(read(&whole[..end]).is_ok(), begins.contains(&end), "{end} bytes");
        }
    }

    #[test]
    fn a_payload_that_is_anything_is_refused_or_read() {
        let mut random = StdRng::seed_from_u64(3);
        let mut well_formed = 0;
        for _ in 0..20_000 {
            let mut payload: Vec<u8> =
                (0..random.random_range(0..60)).map(|_| random.random::<u8>()).collect();
            // Often few events, and short numbers.
            payload.iter_mut().for_each(|byte| *byte &= if random.random() { 0xff } else { 0x0f });
            let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
            bytes.extend(crc32fast::hash(&payload).to_le_bytes());
            bytes.extend(&payload);
            well_formed += usize::from(chunk(&bytes).is_ok());
        }
        assert!(well_formed > 10, "{well_formed}");
    }

    #[test]
    fn other_files_and_newer_ones_are_refused() {
        let code = |file: &[u8]| read(file).unwrap_err();
        assert_eq!(code(b"").message, "this is not a trace file");
        assert_eq!(code(b"#!/bin/sh\necho").message, "this is not a trace file");
        let mut newer = header();
        newer[8] = 9;
        assert_eq!(code(&newer).message, "trace file of unknown version 9");
        let mut huge = header();
        huge.extend([0xff; 8]);
        assert_eq!(code(&huge).code, SqlState::DATA_CORRUPTED);
    }
}
