//! The file of a checkpoint: everything as of one time, sorted.
//!
//! A file of frames, each with its length, its place and a checksum:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | CRC32 of all that follows |
//! | 4 | the payload's length |
//! | 8 | the frame's place, from 0 |
//! | 1 | kind: head, state, rows, end |
//!
//! First the head, then the state's entries, then rows by (relation, version, key, value), last the
//! end with its counts. A file without its end is not a checkpoint. A frame closes before it is
//! longer than [`FRAME_BYTES`]; only an entry that is longer alone makes a longer one.
//!
//! The runs that a fold sorts (see `fold`) are files of the same form without state.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::storage::files;
use crate::storage::frame::{Link, u32_at, u64_at};
use crate::storage::recovery::RowChunk;
use crate::storage::state::{Entry, State};
use crate::storage::usage::Usage;

/// Payload bytes of a frame that holds more than one entry, at most.
const FRAME_BYTES: usize = 60 << 10;
/// Bytes written between two syncs, so that no sync takes long.
const SYNC_BYTES: u64 = 8 << 20;
/// Bytes before a frame's payload.
const HEADER_BYTES: usize = 17;
/// Bytes of the last frame: its payload is the counts of frames and of rows before it.
const END_BYTES: usize = HEADER_BYTES + 16;

const HEAD: u8 = 0;
const STATE: u8 = 1;
const ROWS: u8 = 2;
const END: u8 = 3;

/// What a checkpoint is of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The state is the one at this time.
    pub time: Timestamp,
    /// The number of the last record that it covers.
    pub number: u64,
    /// That record's checksum, which the log's next record must name.
    pub crc: u32,
}

impl Head {
    /// The place after which the log goes on.
    pub fn base(&self) -> Link {
        Link { number: self.number, crc: self.crc }
    }
}

/// About how many bytes an update takes in a file.
pub(super) fn update_bytes(key: &Row, value: &Row) -> usize {
    key.bytes().len() + value.bytes().len() + 6
}

/// Writes a file of frames; rows must come sorted.
pub(super) struct ChunkWriter {
    path: PathBuf,
    out: BufWriter<File>,
    frames: u64,
    rows: u64,
    bytes: u64,
    unsynced: u64,
    chunk: RowChunk,
    chunk_bytes: usize,
    payload: Vec<u8>,
    usage: Usage,
}

impl ChunkWriter {
    /// Starts a file with its head and the state.
    pub fn create(path: &Path, head: &Head, state: &State) -> Result<ChunkWriter> {
        let file = File::create(path).map_err(|e| files::io_error("create file", path, &e))?;
        let mut writer = ChunkWriter {
            path: path.to_owned(),
            out: BufWriter::with_capacity(128 << 10, file),
            frames: 0,
            rows: 0,
            bytes: 0,
            unsynced: 0,
            chunk: RowChunk { relation: GlobalId(0), version: 0, updates: Vec::new() },
            chunk_bytes: 0,
            payload: Vec::new(),
            usage: Usage::default(),
        };
        writer.frame(HEAD, head)?;
        // An entry may be long, so each has its frame.
        for entry in state.entries() {
            writer.frame(STATE, &entry)?;
        }
        Ok(writer)
    }

    /// Writes one update.
    pub fn push(
        &mut self,
        relation: GlobalId,
        version: u32,
        key: Row,
        value: Row,
        diff: Diff,
    ) -> Result<()> {
        let bytes = update_bytes(&key, &value);
        if (self.chunk.relation, self.chunk.version) != (relation, version)
            || self.chunk_bytes + bytes > FRAME_BYTES
        {
            self.close_chunk()?;
            (self.chunk.relation, self.chunk.version) = (relation, version);
        }
        self.chunk_bytes += bytes;
        self.chunk.updates.push((key, value, diff));
        Ok(())
    }

    fn close_chunk(&mut self) -> Result<()> {
        if self.chunk.updates.is_empty() {
            return Ok(());
        }
        let mut chunk = std::mem::replace(
            &mut self.chunk,
            RowChunk { relation: GlobalId(0), version: 0, updates: Vec::new() },
        );
        self.frame(ROWS, &chunk)?;
        self.usage.add(chunk.relation, &chunk.updates);
        self.rows += chunk.updates.len() as u64;
        chunk.updates.clear();
        self.chunk = chunk;
        self.chunk_bytes = 0;
        Ok(())
    }

    fn frame<T: Serialize>(&mut self, kind: u8, content: &T) -> Result<()> {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        let mut payload = postcard::to_extend(content, payload)
            .map_err(|e| Error::internal(format!("could not encode a checkpoint: {e}")))?;
        self.put(kind, &payload)?;
        payload.clear();
        self.payload = payload;
        Ok(())
    }

    fn put(&mut self, kind: u8, payload: &[u8]) -> Result<()> {
        let len = u32::try_from(payload.len())
            .map_err(|_| Error::internal("an entry of a checkpoint is longer than 4 GiB"))?;
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&len.to_le_bytes());
        header[8..16].copy_from_slice(&self.frames.to_le_bytes());
        header[16] = kind;
        let crc = checksum(&header, payload);
        header[..4].copy_from_slice(&crc.to_le_bytes());
        let written = self.out.write_all(&header).and_then(|()| self.out.write_all(payload));
        written.map_err(|e| files::io_error("write to file", &self.path, &e))?;
        self.frames += 1;
        let bytes = (HEADER_BYTES + payload.len()) as u64;
        self.bytes += bytes;
        self.unsynced += bytes;
        if self.unsynced > SYNC_BYTES {
            self.sync()?;
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.unsynced = 0;
        let synced = self.out.flush().and_then(|()| self.out.get_ref().sync_data());
        synced.map_err(|e| files::io_error("fsync file", &self.path, &e))
    }

    /// Ends the file and makes it durable; gives its length, and how much of it is whose.
    pub fn finish(mut self) -> Result<(u64, Usage)> {
        self.close_chunk()?;
        let mut counts = [0; 16];
        counts[..8].copy_from_slice(&self.frames.to_le_bytes());
        counts[8..].copy_from_slice(&self.rows.to_le_bytes());
        self.put(END, &counts)?;
        self.sync()?;
        Ok((self.bytes, self.usage))
    }
}

/// The checksum of a frame: of its header but for the checksum itself, and its payload.
fn checksum(header: &[u8; HEADER_BYTES], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&header[4..]);
    hasher.update(payload);
    hasher.finalize()
}

/// Reads a file of frames from its start to its end, checking each.
pub(super) struct ChunkReader {
    path: PathBuf,
    input: BufReader<File>,
    /// The file's length.
    pub bytes: u64,
    at: u64,
    frames: u64,
    rows: u64,
    payload: Vec<u8>,
    /// The kind of the frame in `payload`, while nobody has used it.
    kind: Option<u8>,
}

impl ChunkReader {
    /// Opens a file, checks that it has its end, and reads its head.
    pub fn open(path: &Path) -> Result<(ChunkReader, Head)> {
        let fail = |e: std::io::Error| files::io_error("read file", path, &e);
        let mut file = File::open(path).map_err(fail)?;
        let bytes = file.metadata().map_err(fail)?.len();
        let mut end = [0; END_BYTES];
        let too_short = || files::corrupted(path, "it is shorter than any checkpoint");
        let start = bytes.checked_sub(END_BYTES as u64).ok_or_else(too_short)?;
        file.seek(SeekFrom::Start(start)).map_err(fail)?;
        file.read_exact(&mut end).map_err(fail)?;
        let (header, payload) = end.split_at(HEADER_BYTES);
        let header: &[u8; HEADER_BYTES] = header.try_into().map_err(|_| too_short())?;
        if u32_at(header, 0) != Some(checksum(header, payload)) || header[16] != END {
            return Err(files::corrupted(path, "its end is damaged or missing"));
        }
        file.seek(SeekFrom::Start(0)).map_err(fail)?;
        let mut reader = ChunkReader {
            path: path.to_owned(),
            input: BufReader::with_capacity(64 << 10, file),
            bytes,
            at: 0,
            frames: 0,
            rows: 0,
            payload: Vec::new(),
            kind: None,
        };
        if reader.fill()? != HEAD {
            return Err(reader.damaged());
        }
        let head = reader.take()?;
        Ok((reader, head))
    }

    /// Reads the state, which stands before the rows.
    pub fn read_state(&mut self) -> Result<State> {
        let mut state = State::default();
        while self.fill()? == STATE {
            let entry: Entry = self.take()?;
            state.restore(entry);
        }
        Ok(state)
    }

    /// Reads the next rows; `None` at the end, if all that was written has come.
    pub fn next_rows(&mut self) -> Result<Option<RowChunk>> {
        match self.fill()? {
            ROWS => {
                let chunk: RowChunk = self.take()?;
                self.rows += chunk.updates.len() as u64;
                Ok(Some(chunk))
            }
            END => {
                let counts = (u64_at(&self.payload, 0), u64_at(&self.payload, 8));
                // The end is a frame too, and does not count itself.
                if counts != (Some(self.frames - 1), Some(self.rows)) || self.at != self.bytes {
                    return Err(self.damaged());
                }
                Ok(None)
            }
            _ => Err(self.damaged()),
        }
    }

    fn damaged(&self) -> Error {
        files::corrupted(&self.path, format!("frame {} before byte {}", self.frames, self.at))
    }

    /// Reads the next frame, unless the last one was not used; gives its kind.
    fn fill(&mut self) -> Result<u8> {
        if let Some(kind) = self.kind {
            return Ok(kind);
        }
        let mut header = [0; HEADER_BYTES];
        self.read_exact(Some(&mut header))?;
        let len = u32_at(&header, 4).unwrap_or(u32::MAX);
        // The length itself may be what is damaged: never allocate beyond the file.
        if u64::from(len) > self.bytes - self.at {
            return Err(self.damaged());
        }
        self.payload.resize(len as usize, 0);
        self.read_exact(None)?;
        let whole = u32_at(&header, 0) == Some(checksum(&header, &self.payload))
            && u64_at(&header, 8) == Some(self.frames);
        if !whole {
            return Err(self.damaged());
        }
        self.frames += 1;
        self.kind = Some(header[16]);
        Ok(header[16])
    }

    /// Fills a buffer, or the payload, from the file.
    fn read_exact(&mut self, header: Option<&mut [u8; HEADER_BYTES]>) -> Result<()> {
        let buffer: &mut [u8] = match header {
            Some(header) => header,
            None => &mut self.payload,
        };
        match self.input.read_exact(buffer) {
            Ok(()) => {
                self.at += buffer.len() as u64;
                Ok(())
            }
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Err(self.damaged()),
            Err(e) => Err(files::io_error("read file", &self.path, &e)),
        }
    }

    /// Uses the frame that was read.
    fn take<T: for<'de> Deserialize<'de>>(&mut self) -> Result<T> {
        self.kind = None;
        postcard::from_bytes(&self.payload).map_err(|_| self.damaged())
    }
}
