//! Strings of bits: `bit(n)` and `bit varying(n)`.
//!
//! A string's bytes are read in place. The first tells how many bits of the last byte are none of
//! the string's, from 0 to 7; they are zero. The bits follow, eight a byte, the highest first.
//! Strings compare bit by bit, and a beginning is less than the whole, which is how their bytes
//! compare before their lengths do.

use std::cmp::Ordering;

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;

/// The bits that a string has at most.
pub const BITS_MAX: usize = i32::MAX as usize - 7;

/// A string of bits, read in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitsRef<'a>(pub(in crate::repr) &'a [u8]);

impl<'a> BitsRef<'a> {
    /// The string whose bit at each place the function tells.
    pub fn make(len: usize, arena: &'a Bump, bit: impl Fn(usize) -> bool) -> BitsRef<'a> {
        let bytes = arena.alloc_slice_fill_copy(1 + len.div_ceil(8), 0u8);
        bytes[0] = (bytes.len() * 8 - 8 - len) as u8;
        for at in (0..len).filter(|at| bit(*at)) {
            bytes[1 + at / 8] |= 0x80 >> (at % 8);
        }
        BitsRef(bytes)
    }

    /// The string of so many bits whose bytes the function tells; what lies behind its end in the
    /// last byte counts for nothing.
    pub fn of_bytes(len: usize, arena: &'a Bump, byte: impl Fn(usize) -> u8) -> BitsRef<'a> {
        let bytes = arena.alloc_slice_fill_copy(1 + len.div_ceil(8), 0u8);
        let unused = bytes.len() * 8 - 8 - len;
        bytes[0] = unused as u8;
        for (at, to) in bytes[1..].iter_mut().enumerate() {
            *to = byte(at);
        }
        if unused > 0
            && let Some(last) = bytes.last_mut()
        {
            *last &= 0xff << unused;
        }
        BitsRef(bytes)
    }

    /// The bits, eight a byte.
    pub fn bytes(self) -> &'a [u8] {
        &self.0[1..]
    }

    /// The number of bits.
    pub fn len(self) -> usize {
        8 * self.bytes().len() - usize::from(self.0[0])
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0.len() == 1
    }

    /// The bit at a place; those behind the end are zero.
    pub fn bit(self, at: usize) -> bool {
        self.bytes().get(at / 8).is_some_and(|byte| byte << (at % 8) & 0x80 != 0)
    }

    /// The bits at places from `start` on, so many; behind the end there are zeros.
    pub fn part(self, start: usize, len: usize, arena: &'a Bump) -> BitsRef<'a> {
        let (skip, shift) = (start / 8, start % 8);
        let bytes = self.bytes();
        let at = |place: usize| u16::from(bytes.get(place).copied().unwrap_or(0));
        BitsRef::of_bytes(len, arena, |place| {
            let pair = at(skip + place) << 8 | at(skip + place + 1);
            (pair << shift >> 8) as u8
        })
    }

    /// Both strings, one behind the other.
    pub fn followed_by(self, other: BitsRef<'_>, arena: &'a Bump) -> BitsRef<'a> {
        let len = self.len();
        BitsRef::make(len + other.len(), arena, |at| match at.checked_sub(len) {
            None => self.bit(at),
            Some(at) => other.bit(at),
        })
    }

    /// PostgreSQL's order (`bit_cmp`).
    pub fn compare(self, other: BitsRef<'_>) -> Ordering {
        let (a, b) = (self.bytes(), other.bytes());
        let shared = a.len().min(b.len());
        a[..shared].cmp(&b[..shared]).then_with(|| self.len().cmp(&other.len()))
    }

    /// As `bit(n)` keeps it: only an explicit conversion cuts it off or fills it with zeros.
    pub fn fit(self, typmod: i32, explicit: bool, arena: &'a Bump) -> Result<BitsRef<'a>> {
        match usize::try_from(typmod) {
            Ok(length @ 1..) if length != self.len() => match explicit {
                true => Ok(self.part(0, length, arena)),
                false => Err(other_length(self.len(), typmod)),
            },
            _ => Ok(self),
        }
    }

    /// As `bit varying(n)` keeps it: only an explicit conversion cuts it off.
    pub fn fit_varying(self, typmod: i32, explicit: bool, arena: &'a Bump) -> Result<BitsRef<'a>> {
        match usize::try_from(typmod) {
            Ok(length @ 1..) if length < self.len() => match explicit {
                true => Ok(self.part(0, length, arena)),
                false => Err(too_long(typmod)),
            },
            _ => Ok(self),
        }
    }

    fn fit_as(self, ty: ScalarType, typmod: i32, arena: &'a Bump) -> Result<BitsRef<'a>> {
        match ty {
            ScalarType::Bit => self.fit(typmod, false, arena),
            _ => self.fit_varying(typmod, false, arena),
        }
    }
}

fn other_length(len: usize, typmod: i32) -> Error {
    let message = format!("bit string length {len} does not match type bit({typmod})");
    Error::new(SqlState::new(b"22026"), message)
}

fn too_long(typmod: i32) -> Error {
    let message = format!("bit string too long for type bit varying({typmod})");
    Error::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message)
}

/// Error 54000: PostgreSQL's limit.
pub fn too_many_bits() -> Error {
    let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// Reads binary digits, perhaps behind a `b`, or hexadecimal ones behind an `x`.
pub(in crate::repr) fn parse_text<'a>(
    ty: ScalarType,
    typmod: i32,
    text: &str,
    arena: &'a Bump,
) -> Result<BitsRef<'a>> {
    let (digits, radix, name) = match text.split_at_checked(1) {
        Some(("x" | "X", digits)) => (digits, 16, "hexadecimal"),
        Some(("b" | "B", digits)) => (digits, 2, "binary"),
        _ => (text, 2, "binary"),
    };
    let per_digit = if radix == 16 { 4 } else { 1 };
    if digits.len() > BITS_MAX / per_digit {
        return Err(too_many_bits());
    }
    // The length is a fault before the digits are.
    let len = digits.len() * per_digit;
    match ty {
        ScalarType::Bit if typmod > 0 && len as i32 != typmod => {
            return Err(other_length(len, typmod));
        }
        ScalarType::Varbit if typmod > 0 && len as i32 > typmod => return Err(too_long(typmod)),
        _ => {}
    }
    if let Some(c) = digits.chars().find(|c| !c.is_digit(radix)) {
        let message = format!("\"{c}\" is not a valid {name} digit");
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
    }
    let digits = digits.as_bytes();
    let digit = |at: usize| char::from(digits[at]).to_digit(radix).unwrap_or(0);
    Ok(BitsRef::make(len, arena, |at| {
        digit(at / per_digit) >> (per_digit - 1 - at % per_digit) & 1 != 0
    }))
}

/// Appends binary digits.
pub(in crate::repr) fn format_text(bits: BitsRef<'_>, out: &mut String) {
    out.extend((0..bits.len()).map(|at| if bits.bit(at) { '1' } else { '0' }));
}

/// Reads the number of bits, then their bytes.
pub(in crate::repr) fn parse_binary<'a>(
    ty: ScalarType,
    typmod: i32,
    bytes: &[u8],
    arena: &'a Bump,
) -> Result<BitsRef<'a>> {
    let short = || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
    let invalid = |message| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    let (raw, bytes) = bytes.split_first_chunk().ok_or_else(short)?;
    let len = usize::try_from(i32::from_be_bytes(*raw)).ok().filter(|len| *len <= BITS_MAX);
    let len = len.ok_or_else(|| invalid("invalid length in external bit string"))?;
    match bytes.len().cmp(&len.div_ceil(8)) {
        Ordering::Less => Err(short()),
        Ordering::Greater => Err(invalid("incorrect binary data format")),
        Ordering::Equal => BitsRef::of_bytes(len, arena, |at| bytes[at]).fit_as(ty, typmod, arena),
    }
}

/// Appends the number of bits and their bytes.
pub(in crate::repr) fn format_binary(bits: BitsRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&(bits.len() as i32).to_be_bytes());
    out.extend_from_slice(bits.bytes());
}
