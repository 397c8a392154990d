//! Networks without the octets that they do not have: `10.1/16` (`inet_cidr_ntop`).

use std::fmt::Write;

use super::inet::{Inet, V4};
use super::write::push_octets;

const ROOM: &str = "a string takes all text";

/// Appends a network as short as it can be.
pub fn push_abbreviated(inet: &Inet, out: &mut String) {
    if inet.width == V4 {
        match inet.bits {
            0 => out.push('0'),
            bits => push_octets(&inet.network().address[..usize::from(bits).div_ceil(8)], out),
        }
    } else if inet.bits == 0 {
        out.push_str("::");
    } else {
        push_words(inet, out);
    }
    write!(out, "/{}", inet.bits).expect(ROOM);
}

fn push_words(inet: &Inet, out: &mut String) {
    let bytes = inet.network().address;
    let words = usize::from(inet.bits).div_ceil(16).max(2);
    let (gap, length) = longest_zeros(&bytes, words);
    let is_inner_4 = length != words
        && gap == 0
        && (length == 6
            || (length == 5 && bytes[10] == 0xff && bytes[11] == 0xff)
            || (length == 7 && bytes[14] != 0 && bytes[15] != 1));
    let start = out.len();
    for word in 0..words {
        let (high, low) = (bytes[2 * word], bytes[2 * word + 1]);
        if length > 0 && (gap..gap + length).contains(&word) {
            out.push_str(if word == gap { ":" } else { "" });
            out.push_str(if word == words - 1 { ":" } else { "" });
        } else if is_inner_4 && word > 5 {
            write!(out, "{}{high}", if word == 6 { ':' } else { '.' }).expect(ROOM);
            // The last octet goes where the network has none of it.
            if word != 7 || inet.bits > 120 {
                write!(out, ".{low}").expect(ROOM);
            }
        } else {
            out.push_str(if out.len() > start { ":" } else { "" });
            write!(out, "{:x}", u16::from_be_bytes([high, low])).expect(ROOM);
        }
    }
}

/// As PostgreSQL finds the longest run of zeros: a run that is no longer than one before it goes
/// on in the next.
fn longest_zeros(bytes: &[u8], words: usize) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), (0, 0));
    for (word, pair) in bytes.chunks(2).take(words).enumerate() {
        if pair == [0, 0] {
            if run.1 == 0 {
                run.0 = word;
            }
            run.1 += 1;
        } else if run.1 > best.1 {
            best = run;
            run.1 = 0;
        }
    }
    if run.1 > best.1 { run } else { best }
}
