//! An encoded row in 24 bytes.
//!
//! A [`Row`] is a byte string. Up to 23 bytes lie inside it, zero-padded, with the length in the
//! last byte; longer ones lie on the heap, and the last byte says so. Two inline rows compare as
//! three big-endian words: padding with zeros and the length at the end keep the order of the byte
//! strings, since a prefix is padded with the smallest byte and then is the shorter one.
//!
//! What the bytes mean is not known here: see [`crate::repr::value`] and [`crate::repr::key`].

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// How many bytes lie inside the row itself.
const INLINE: usize = 23;
/// The last byte of a row whose bytes lie on the heap.
const HEAP: u8 = 255;

/// A byte string in 24 bytes; see the module.
///
/// Invariant: the last byte is a length up to 23, and the bytes behind that length are zero; or it
/// is `HEAP`, and the first 16 bytes are address and length of a boxed slice that this row owns.
#[repr(C, align(8))]
pub struct Row([u8; 24]);

// A row owns its bytes and nothing in it is shared or interior-mutable.
unsafe impl Send for Row {}
unsafe impl Sync for Row {}

impl Row {
    /// The empty row.
    pub const EMPTY: Row = Row([0; 24]);

    /// Copies `bytes` into a row.
    #[inline]
    pub fn new(bytes: &[u8]) -> Row {
        let mut raw = [0u8; 24];
        if bytes.len() <= INLINE {
            copy_short(bytes, &mut raw);
            raw[INLINE] = bytes.len() as u8;
        } else {
            let boxed: Box<[u8]> = bytes.into();
            let len = boxed.len();
            let address = Box::into_raw(boxed).cast::<u8>() as usize;
            raw[..8].copy_from_slice(&address.to_ne_bytes());
            raw[8..16].copy_from_slice(&len.to_ne_bytes());
            raw[INLINE] = HEAP;
        }
        Row(raw)
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        if self.is_heap() {
            // Sound by the invariant of the type.
            unsafe { &*self.heap_slice() }
        } else {
            &self.0[..self.0[INLINE] as usize]
        }
    }

    /// The bytes where they lie inside the row, with what pads them, and how many they are.
    #[inline]
    pub fn inline(&self) -> Option<(&[u8; 24], usize)> {
        (!self.is_heap()).then_some((&self.0, self.0[INLINE] as usize))
    }

    /// Bytes on the heap that this row owns.
    pub fn heap_size(&self) -> usize {
        if self.is_heap() { self.bytes().len() } else { 0 }
    }

    #[inline(always)]
    fn is_heap(&self) -> bool {
        self.0[INLINE] == HEAP
    }

    fn heap_slice(&self) -> *mut [u8] {
        let word = |at: usize| {
            let mut w = [0u8; 8];
            w.copy_from_slice(&self.0[at..at + 8]);
            usize::from_ne_bytes(w)
        };
        std::ptr::slice_from_raw_parts_mut(word(0) as *mut u8, word(8))
    }

    #[inline(always)]
    fn words(&self) -> (u64, u64, u64) {
        let word = |at: usize| {
            let mut w = [0u8; 8];
            w.copy_from_slice(&self.0[at..at + 8]);
            u64::from_be_bytes(w)
        };
        (word(0), word(8), word(16))
    }
}

/// Copies up to [`INLINE`] bytes. Two copies of fixed size that may overlap spare a call.
#[inline(always)]
fn copy_short(bytes: &[u8], raw: &mut [u8; 24]) {
    #[inline(always)]
    fn ends<const N: usize>(bytes: &[u8], raw: &mut [u8; 24]) -> bool {
        let (Some(first), Some(last)) = (bytes.first_chunk::<N>(), bytes.last_chunk::<N>()) else {
            return false;
        };
        raw[..N].copy_from_slice(first);
        raw[bytes.len() - N..bytes.len()].copy_from_slice(last);
        true
    }
    if bytes.len() > 16 {
        raw[8..16].copy_from_slice(&bytes[8..16]);
    }
    if bytes.len() >= 8 {
        ends::<8>(bytes, raw);
    } else if !ends::<4>(bytes, raw) {
        bytes.iter().zip(raw).for_each(|(from, to)| *to = *from);
    }
}

impl Drop for Row {
    #[inline]
    fn drop(&mut self) {
        if self.is_heap() {
            // Sound by the invariant of the type: the slice came from a box and is ours.
            drop(unsafe { Box::from_raw(self.heap_slice()) });
        }
    }
}

impl Clone for Row {
    #[inline]
    fn clone(&self) -> Row {
        if self.is_heap() { Row::new(self.bytes()) } else { Row(self.0) }
    }
}

impl Default for Row {
    fn default() -> Row {
        Row::EMPTY
    }
}

impl PartialEq for Row {
    #[inline]
    fn eq(&self, other: &Row) -> bool {
        if self.is_heap() || other.is_heap() {
            self.bytes() == other.bytes()
        } else {
            self.0 == other.0
        }
    }
}

impl Eq for Row {}

impl Ord for Row {
    #[inline]
    fn cmp(&self, other: &Row) -> Ordering {
        if self.is_heap() || other.is_heap() {
            self.bytes().cmp(other.bytes())
        } else {
            self.words().cmp(&other.words())
        }
    }
}

impl PartialOrd for Row {
    #[inline]
    fn partial_cmp(&self, other: &Row) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Row(")?;
        for byte in self.bytes() {
            write!(f, "{byte:02x}")?;
        }
        f.write_str(")")
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.bytes())
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        struct Bytes;
        impl<'de> Visitor<'de> for Bytes {
            type Value = Row;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a row")
            }
            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Row, E> {
                Ok(Row::new(bytes))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Row, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(Row::new(&bytes))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_compare_as_their_bytes() {
        let long = [7u8; 40];
        let samples: Vec<&[u8]> =
            vec![b"", b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b", &long[..23], &long[..24], &long];
        for a in &samples {
            for b in &samples {
                assert_eq!(Row::new(a).cmp(&Row::new(b)), a.cmp(b), "{a:?} {b:?}");
                assert_eq!(Row::new(a) == Row::new(b), a == b);
            }
            assert_eq!(Row::new(a).clone().bytes(), *a);
        }
        assert_eq!(size_of::<Row>(), 24);
        let bytes: Vec<u8> = (1..40).collect();
        for length in 0..bytes.len() {
            let row = Row::new(&bytes[..length]);
            assert_eq!(row.bytes(), &bytes[..length]);
            if let Some((raw, inside)) = row.inline() {
                assert!(inside == length && raw[length..INLINE].iter().all(|b| *b == 0));
            }
        }
    }
}
