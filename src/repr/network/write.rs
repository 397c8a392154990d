//! Addresses as text.

use std::fmt::Write;

use super::inet::{Inet, V4};

const ROOM: &str = "a string takes all text";

/// Appends the address alone.
pub fn push_address(inet: &Inet, out: &mut String) {
    if inet.width == V4 {
        return push_octets(&inet.address[..4], out);
    }
    let words: Vec<u16> =
        inet.address.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let (gap, length) = longest_zeros(&words);
    let is_inner_4 = gap == 0
        && (length == 6 || (length == 7 && words[7] != 1) || (length == 5 && words[5] == 0xffff));
    let mut at = 0;
    while at < 8 {
        if length > 0 && at == gap {
            out.push(':');
            at += length;
            if at == 8 {
                out.push(':');
            }
            continue;
        }
        if at > 0 {
            out.push(':');
        }
        if at == 6 && is_inner_4 {
            return push_octets(&inet.address[12..], out);
        }
        write!(out, "{:x}", words[at]).expect(ROOM);
        at += 1;
    }
}

/// Appends the address, and the bits of the network behind a slash; without these where all are
/// and `always` is not set.
pub fn push_network(inet: &Inet, always: bool, out: &mut String) {
    push_address(inet, out);
    if always || inet.bits != inet.width {
        write!(out, "/{}", inet.bits).expect(ROOM);
    }
}

/// Appends numbers with points between them.
pub(super) fn push_octets(octets: &[u8], out: &mut String) {
    for (at, octet) in octets.iter().enumerate() {
        write!(out, "{}{octet}", if at > 0 { "." } else { "" }).expect(ROOM);
    }
}

/// Where the first of the longest runs of zeros begins, and its length; 0 where none has two.
fn longest_zeros(words: &[u16]) -> (usize, usize) {
    let (mut best, mut at) = ((0, 0), 0);
    while at < words.len() {
        let length = words[at..].iter().take_while(|word| **word == 0).count();
        if length > best.1 {
            best = (at, length);
        }
        at += length.max(1);
    }
    if best.1 < 2 { (0, 0) } else { best }
}
