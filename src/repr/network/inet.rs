//! What an address is, its order, and its binary form.

use std::cmp::Ordering;

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;

/// The bits of an address of version 4.
pub const V4: u8 = 32;
/// The bits of an address of version 6.
pub const V6: u8 = 128;

/// An address, and how many bits of it name the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inet {
    /// [`V4`] or [`V6`].
    pub width: u8,
    /// The bits of the network.
    pub bits: u8,
    /// The address, highest byte first; of version 4 the first four bytes, and zeros.
    pub address: [u8; 16],
}

impl Inet {
    /// An address of so many bytes, 4 or 16.
    pub fn new(bits: u8, bytes: &[u8]) -> Inet {
        let mut address = [0; 16];
        address[..bytes.len()].copy_from_slice(bytes);
        Inet { width: 8 * bytes.len() as u8, bits, address }
    }

    /// The bytes of the address.
    pub fn bytes(&self) -> &[u8] {
        &self.address[..usize::from(self.width / 8)]
    }

    /// The address as a number, the highest bit first whatever the width is.
    pub fn number(&self) -> u128 {
        u128::from_be_bytes(self.address)
    }

    /// The same with another number for an address.
    pub fn with_number(self, number: u128) -> Inet {
        Inet { address: number.to_be_bytes(), ..self }
    }

    /// Ones where the network is.
    pub fn mask(&self) -> u128 {
        ones(self.bits)
    }

    /// Ones where an address of this width has bits.
    pub fn all(&self) -> u128 {
        ones(self.width)
    }

    /// The same without what stands behind the network.
    pub fn network(self) -> Inet {
        self.with_number(self.number() & self.mask())
    }

    /// Whether the network of `self` has that of `other` in it, or is it.
    pub fn contains(&self, other: &Inet) -> bool {
        self.width == other.width
            && self.bits <= other.bits
            && (self.number() ^ other.number()) & self.mask() == 0
    }

    /// PostgreSQL's order (`network_cmp`): by version, then by what both networks have, then by
    /// the networks' sizes, the larger first, then by the addresses.
    pub fn compare(&self, other: &Inet) -> Ordering {
        let shared = ones(self.bits.min(other.bits));
        (self.width.cmp(&other.width))
            .then_with(|| (self.number() & shared).cmp(&(other.number() & shared)))
            .then_with(|| self.bits.cmp(&other.bits))
            .then_with(|| self.number().cmp(&other.number()))
    }
}

/// So many ones, from the highest bit on.
fn ones(count: u8) -> u128 {
    match count {
        0 => 0,
        count => u128::MAX << (128 - u32::from(count)),
    }
}

/// The address family in the binary form.
const FAMILY_V4: u8 = 2;
const FAMILY_V6: u8 = 3;

/// Reads family, bits, whether it is a cidr, the number of bytes, and these.
pub(in crate::repr) fn parse_binary(ty: ScalarType, bytes: &[u8]) -> Result<Inet> {
    let invalid = |message: String| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
    let name = ty.name();
    let short = || Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message");
    let (&[family, bits, _, length], address) = bytes.split_first_chunk().ok_or_else(short)?;
    let width = match family {
        FAMILY_V4 => V4,
        FAMILY_V6 => V6,
        _ => return Err(invalid(format!("invalid address family in external \"{name}\" value"))),
    };
    if bits > width {
        return Err(invalid(format!("invalid bits in external \"{name}\" value")));
    }
    if length != width / 8 {
        return Err(invalid(format!("invalid length in external \"{name}\" value")));
    }
    match address.len().cmp(&usize::from(length)) {
        Ordering::Less => return Err(short()),
        Ordering::Greater => return Err(invalid("incorrect binary data format".to_owned())),
        Ordering::Equal => {}
    }
    let inet = Inet::new(bits, address);
    if ty == ScalarType::Cidr && inet != inet.network() {
        let error = invalid("invalid external \"cidr\" value".to_owned());
        return Err(error.with_detail("Value has bits set to right of mask."));
    }
    Ok(inet)
}

/// Appends the binary form.
pub(in crate::repr) fn format_binary(inet: &Inet, ty: ScalarType, out: &mut Vec<u8>) {
    let family = if inet.width == V4 { FAMILY_V4 } else { FAMILY_V6 };
    out.extend_from_slice(&[family, inet.bits, u8::from(ty == ScalarType::Cidr), inet.width / 8]);
    out.extend_from_slice(inet.bytes());
}
