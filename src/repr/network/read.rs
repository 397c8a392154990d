//! Addresses from text.

use super::inet::{Inet, V4, V6};
use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;
use crate::repr::text::invalid;

/// Reads an inet or a cidr.
pub(in crate::repr) fn parse_text(ty: ScalarType, text: &str) -> Result<Inet> {
    let is_cidr = ty == ScalarType::Cidr;
    let bytes = text.as_bytes();
    let read = match (bytes.contains(&b':'), is_cidr) {
        (true, _) => version_6(bytes),
        (false, true) => network_4(bytes),
        (false, false) => address_4(bytes),
    };
    let inet = read.ok_or_else(|| invalid(ty, text))?;
    if is_cidr && inet != inet.network() {
        let message = format!("invalid cidr value: \"{text}\"");
        return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
            .with_detail("Value has bits set to right of mask."));
    }
    Ok(inet)
}

/// Takes a byte off the front; zero at the end, as C has it.
fn take(at: &mut &[u8]) -> u8 {
    match at.split_first() {
        Some((first, rest)) => {
            *at = rest;
            *first
        }
        None => 0,
    }
}

/// An octet that begins with a digit, and the byte behind it.
fn octet(first: u8, at: &mut &[u8]) -> Option<(u8, u8)> {
    let (mut value, mut c) = (0u32, first);
    while c.is_ascii_digit() {
        value = 10 * value + u32::from(c - b'0');
        if value > 255 {
            return None;
        }
        c = take(at);
    }
    Some((value as u8, c))
}

/// The bits behind a slash, where there are any: all that is left.
fn width_4(c: u8, at: &mut &[u8], given: usize) -> Option<Option<u8>> {
    if c == b'/' && at.first().is_some_and(u8::is_ascii_digit) && given > 0 {
        let mut bits = 0u32;
        for c in at.iter() {
            let digit = char::from(*c).to_digit(10)?;
            bits = (10 * bits + digit).min(1000);
        }
        return if bits > V4.into() { None } else { Some(Some(bits as u8)) };
    }
    if c == 0 && at.is_empty() { Some(None) } else { None }
}

fn filled(bits: u8, octets: &[u8]) -> Inet {
    let mut address = [0; 4];
    address[..octets.len()].copy_from_slice(octets);
    Inet::new(bits, &address)
}

/// An address of version 4 (`inet_net_pton_ipv4`): all octets, or as many as its bits need.
fn address_4(text: &[u8]) -> Option<Inet> {
    let mut octets = vec![];
    let mut at = text;
    let mut c = take(&mut at);
    while c.is_ascii_digit() {
        let (value, next) = octet(c, &mut at)?;
        if octets.len() == 4 {
            return None;
        }
        octets.push(value);
        c = next;
        match c {
            0 | b'/' => break,
            b'.' => c = take(&mut at),
            _ => return None,
        }
    }
    let bits = match width_4(c, &mut at, octets.len())? {
        Some(bits) => bits,
        None if octets.len() == 4 => V4,
        None => return None,
    };
    (usize::from(bits / 8) <= octets.len()).then(|| filled(bits, &octets))
}

/// A network of version 4 (`inet_cidr_pton_ipv4`): octets or hexadecimal digits, whose class tells
/// the bits where nothing else does.
fn network_4(text: &[u8]) -> Option<Inet> {
    let mut octets = vec![];
    let mut at = text;
    let mut c = take(&mut at);
    let is_hex = c == b'0' && matches!(at, [b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit());
    if is_hex {
        take(&mut at);
        c = take(&mut at);
        let mut digits = vec![];
        while let Some(digit) = char::from(c).to_digit(16) {
            digits.push(digit as u8);
            c = take(&mut at);
        }
        octets.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)));
    } else {
        if !c.is_ascii_digit() {
            return None;
        }
        loop {
            let (value, next) = octet(c, &mut at)?;
            octets.push(value);
            c = next;
            match c {
                0 | b'/' => break,
                b'.' => c = take(&mut at),
                _ => return None,
            }
            if !c.is_ascii_digit() {
                return None;
            }
        }
    }
    if octets.len() > 4 {
        return None;
    }
    let bits = match width_4(c, &mut at, octets.len())? {
        Some(bits) => bits,
        None => class_bits(octets[0], octets.len()),
    };
    Some(filled(bits, &octets))
}

fn class_bits(first: u8, octets: usize) -> u8 {
    let bits = match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    match bits.max(8 * octets as u8) {
        8 if first == 224 => 4,
        bits => bits,
    }
}

/// An address of version 6 (`inet_cidr_pton_ipv6`).
fn version_6(text: &[u8]) -> Option<Inet> {
    let mut at = text;
    if at.first() == Some(&b':') {
        take(&mut at);
        if at.first() != Some(&b':') {
            return None;
        }
    }
    let (mut bytes, mut gap) = (vec![], None);
    let mut token = at;
    let mut group: Option<(u16, u8)> = None;
    let mut bits = V6;
    while let Some(c) = (!at.is_empty()).then(|| take(&mut at)) {
        if let Some(digit) = char::from(c).to_digit(16) {
            let (value, digits) = group.unwrap_or((0, 0));
            if digits == 4 {
                return None;
            }
            group = Some((value << 4 | digit as u16, digits + 1));
            continue;
        }
        match c {
            b':' => {
                token = at;
                match group.take() {
                    None if gap.is_some() => return None,
                    None => gap = Some(bytes.len()),
                    Some(_) if at.is_empty() => return None,
                    Some((value, _)) => bytes.extend(value.to_be_bytes()),
                }
            }
            b'.' if bytes.len() <= 12 => {
                let (octets, given) = inner_4(token)?;
                bytes.extend(octets);
                bits = given.unwrap_or(bits);
                group = None;
                break;
            }
            b'/' => {
                bits = width_6(at)?;
                break;
            }
            _ => return None,
        }
        if bytes.len() > 16 {
            return None;
        }
    }
    if let Some((value, _)) = group {
        bytes.extend(value.to_be_bytes());
    }
    if bytes.len() > 16 || gap.is_none() && bytes.len() < 16 || gap.is_some() && bytes.len() == 16 {
        return None;
    }
    if let Some(gap) = gap {
        let missing = 16 - bytes.len();
        bytes.splice(gap..gap, std::iter::repeat_n(0, missing));
    }
    Some(Inet::new(bits, &bytes))
}

/// A number up to `most` without leading zeros, taken off the front; none within where there are
/// no digits.
fn number(at: &mut &[u8], most: u32) -> Option<Option<u8>> {
    let mut value = None;
    while let Some(digit) = at.first().and_then(|c| char::from(*c).to_digit(10)) {
        let next = match value {
            Some(0) => return None,
            before => 10 * before.unwrap_or(0) + digit,
        };
        if next > most {
            return None;
        }
        value = Some(next);
        take(at);
    }
    Some(value.map(|value| value as u8))
}

/// The bits behind the slash: all that is left.
fn width_6(mut at: &[u8]) -> Option<u8> {
    number(&mut at, V6.into())?.filter(|_| at.is_empty())
}

/// Octets in the place of the last two groups, perhaps with bits behind them. All but the last may
/// be empty.
fn inner_4(mut at: &[u8]) -> Option<([u8; 4], Option<u8>)> {
    let mut octets = [0; 4];
    let mut given = 0;
    loop {
        let value = number(&mut at, 255)?;
        let is_end = at.is_empty();
        *octets.get_mut(given)? = if is_end { value? } else { value.unwrap_or(0) };
        given += 1;
        match take(&mut at) {
            _ if is_end => return Some((octets, None)),
            b'.' => {}
            b'/' => return Some((octets, Some(width_6(at)?))),
            _ => return None,
        }
    }
}
