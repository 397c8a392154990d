//! One record of the log as bytes, and the chain that records form.
//!
//! A transaction is a run of records, since a sled value must stay small (see
//! [`PAYLOAD_BYTES_MAX`]). Each record is 29 bytes and its part of the transaction:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | CRC32 of all that follows |
//! | 4 | the CRC32 of the record before |
//! | 8 | the record's number, dense from 1 over the whole life of the store |
//! | 8 | the transaction's time |
//! | 1 | flags: first of its transaction, last of it, changes more than rows |
//! | 4 | the payload's length |
//!
//! Integers are little-endian. The transaction is there only if its last record is, which makes a
//! run of any length atomic.

use crate::repr::Timestamp;

/// Payload bytes in one record at most.
///
/// sled keeps up to 17 items in a leaf before it splits, rewrites leaves whole, and moves what
/// is longer than a quarter of its 512 KiB segment to a file of its own. So a full leaf of ours
/// must stay under 128 KiB: 17 records of 7,168 + 29 bytes and their keys do.
pub(super) const PAYLOAD_BYTES_MAX: usize = 7 * 1024;

/// Bytes before the payload.
pub(super) const HEADER_BYTES: usize = 29;

/// The first record of its transaction.
pub(super) const FIRST: u8 = 1;
/// The last record of its transaction.
pub(super) const LAST: u8 = 2;
/// The transaction changes catalog, sequences or settings.
pub(super) const STATE: u8 = 4;

/// A place in the chain: a record's number and checksum. The default is before the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    /// The record's number.
    pub number: u64,
    /// The record's checksum.
    pub crc: u32,
}

/// A record whose length and checksum are right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    /// Its own place.
    pub link: Link,
    /// The checksum of the record that was before it when it was written.
    pub previous_crc: u32,
    /// Its transaction's time.
    pub time: Timestamp,
    /// [`FIRST`], [`LAST`], [`STATE`].
    pub flags: u8,
    /// Its part of the transaction.
    pub payload: &'a [u8],
}

impl<'a> Record<'a> {
    /// Reads a record; `None` if its length or its checksum is wrong.
    pub fn decode(bytes: &'a [u8]) -> Option<Record<'a>> {
        let (header, payload) = bytes.split_at_checked(HEADER_BYTES)?;
        let crc = u32_at(header, 0)?;
        let len = usize::try_from(u32_at(header, 25)?).ok()?;
        if len != payload.len() || crc32fast::hash(&bytes[4..]) != crc {
            return None;
        }
        Some(Record {
            link: Link { number: u64_at(header, 8)?, crc },
            previous_crc: u32_at(header, 4)?,
            time: u64_at(header, 16)?,
            flags: header[24],
            payload,
        })
    }

    /// Whether this record stands right after `previous`, in a transaction that is open or not.
    pub fn follows(&self, previous: Link, inside_transaction: bool) -> bool {
        self.link.number == previous.number + 1
            && self.previous_crc == previous.crc
            && (self.flags & FIRST == 0) == inside_transaction
    }
}

/// Writes the record after `previous` into `out`, replacing what was there; gives its place.
pub(super) fn encode(
    previous: Link,
    time: Timestamp,
    flags: u8,
    payload: &[u8],
    out: &mut Vec<u8>,
) -> Link {
    let number = previous.number + 1;
    out.clear();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&previous.crc.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&time.to_le_bytes());
    out.push(flags);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(payload);
    let crc = crc32fast::hash(&out[4..]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    Link { number, crc }
}

/// The little-endian integer at a place, if the bytes reach so far.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The little-endian integer at a place, if the bytes reach so far.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_flipped_bit_or_lost_byte_is_seen() {
        let mut bytes = Vec::new();
        let before = Link { number: 6, crc: 77 };
        let link = encode(before, 5, FIRST | LAST, b"payload", &mut bytes);
        let record = Record::decode(&bytes).expect("just written");
        assert_eq!((record.link, record.time, record.payload), (link, 5, &b"payload"[..]));
        assert!(record.follows(before, false) && !record.follows(before, true));
        assert!(!record.follows(Link { number: 6, crc: 78 }, false));
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(Record::decode(&damaged).is_none(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(Record::decode(&bytes[..len]).is_none(), "cut to {len}");
        }
    }
}
