//! How far the log was acknowledged, and how far time was leased, outside the log.
//!
//! sled heals itself: where a checksum fails it takes the rest of its log for a torn write and
//! drops it, acknowledged or not. The chain of our records cannot see that, since what is left is
//! a chain too. So the last acknowledged record is also written here, and a log that ends before
//! it is refused.
//!
//! The file has three slots in three different sectors. Two take turns for the *lease* and are
//! synced each time, so one of them is always whole. The third takes a *hint* after each sync of
//! the log and is not synced: a lost hint only weakens the check, and a hint that is there was
//! written after the log was durable, so it never claims too much.
//!
//! Slot: CRC32, sequence number, lease, record number, the record's checksum; little-endian.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::repr::Timestamp;
use crate::storage::files;
use crate::storage::frame::{Link, u32_at, u64_at};

/// Bytes of a slot.
const SLOT_BYTES: usize = 32;
/// Bytes between the starts of two slots.
const SLOT_STRIDE: u64 = 4096;
/// The slot that is not synced.
const HINT: u64 = 2;

/// The open file and what it says.
pub(super) struct Watermark {
    path: PathBuf,
    file: File,
    sequence: u64,
    /// Times below it are spent.
    pub lease: Timestamp,
    /// The last record known to be durable.
    pub synced: Link,
}

impl Watermark {
    /// Makes the file of a new store.
    pub fn create(path: &Path) -> Result<Watermark> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(|e| files::io_error("create file", path, &e))?;
        let (path, synced) = (path.to_owned(), Link::default());
        let mut watermark = Watermark { path, file, sequence: 0, lease: 0, synced };
        watermark.write(0, synced)?;
        Ok(watermark)
    }

    /// Opens the file of a store that exists.
    pub fn open(path: &Path) -> Result<Watermark> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|e| files::io_error("open file", path, &e))?;
        let content = files::read_small(path)?.unwrap_or_default();
        let slot = |at: u64| {
            let start = usize::try_from(at * SLOT_STRIDE).ok()?;
            decode(content.get(start..start + SLOT_BYTES)?)
        };
        let leases = [slot(0), slot(1)];
        let newest = leases.iter().flatten().max_by_key(|slot| slot.0);
        let Some(&(sequence, lease, mut synced)) = newest else {
            return Err(files::corrupted(path, "neither copy of the lease is whole"));
        };
        if let Some((_, _, hint)) = slot(HINT)
            && hint.number > synced.number
        {
            synced = hint;
        }
        Ok(Watermark { path: path.to_owned(), file, sequence, lease, synced })
    }

    /// Whether anything was acknowledged or leased since the store was made.
    pub fn says_anything(&self) -> bool {
        self.lease > 0 || self.synced.number > 0
    }

    /// Writes a lease and the last durable record, durably.
    pub fn write(&mut self, lease: Timestamp, synced: Link) -> Result<()> {
        self.sequence += 1;
        self.lease = lease.max(self.lease);
        self.synced = synced;
        self.put(self.sequence % 2)?;
        self.file.sync_data().map_err(|e| files::io_error("fsync file", &self.path, &e))
    }

    /// Writes the last durable record, in passing.
    pub fn hint(&mut self, synced: Link) -> Result<()> {
        self.synced = synced;
        self.put(HINT)
    }

    fn put(&self, slot: u64) -> Result<()> {
        let mut bytes = Vec::with_capacity(SLOT_BYTES);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&self.lease.to_le_bytes());
        bytes.extend_from_slice(&self.synced.number.to_le_bytes());
        bytes.extend_from_slice(&self.synced.crc.to_le_bytes());
        let crc = crc32fast::hash(&bytes[4..]);
        bytes[..4].copy_from_slice(&crc.to_le_bytes());
        self.file
            .write_all_at(&bytes, slot * SLOT_STRIDE)
            .map_err(|e| files::io_error("write to file", &self.path, &e))
    }
}

/// Sequence number, lease and record of a slot, if its checksum is right.
fn decode(bytes: &[u8]) -> Option<(u64, Timestamp, Link)> {
    if u32_at(bytes, 0)? != crc32fast::hash(&bytes[4..]) {
        return None;
    }
    let link = Link { number: u64_at(bytes, 20)?, crc: u32_at(bytes, 28)? };
    Some((u64_at(bytes, 4)?, u64_at(bytes, 12)?, link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_slot_falls_back_to_the_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("WATERMARK");
        let mut watermark = Watermark::create(&path).unwrap();
        watermark.write(10, Link { number: 1, crc: 1 }).unwrap();
        watermark.write(20, Link { number: 2, crc: 2 }).unwrap();
        watermark.hint(Link { number: 5, crc: 5 }).unwrap();
        let found = Watermark::open(&path).unwrap();
        assert_eq!((found.lease, found.synced.number), (20, 5));

        let newest = watermark.sequence % 2;
        watermark.file.write_all_at(&[9; 8], newest * SLOT_STRIDE).unwrap();
        watermark.file.write_all_at(&[9; 8], HINT * SLOT_STRIDE).unwrap();
        let found = Watermark::open(&path).unwrap();
        assert_eq!((found.lease, found.synced.number), (10, 1));

        watermark.file.write_all_at(&[9; 8], (newest + 1) % 2 * SLOT_STRIDE).unwrap();
        assert!(Watermark::open(&path).is_err());
    }
}
