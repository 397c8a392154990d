//! The text form.

use std::fmt;
use std::fmt::Write;

use num_bigint::BigInt;

use super::arith::overflow;
use super::decimal::{Decimal, Numeric, NumericRef, Unscaled};
use crate::error::{Error, Result, SqlState};

/// More digits than this never make a numeric, whatever the exponent; checked before computing.
const MAX_SHIFT: i64 = 150_000;

/// What C's `isspace` takes for white space.
fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

impl Numeric {
    /// Reads the text form: digits with a point and an exponent, or a special value.
    pub fn parse(text: &str) -> Result<Numeric> {
        let fault = || {
            Error::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type numeric: \"{text}\""),
            )
        };
        let bytes = text.as_bytes();
        let start = bytes.iter().position(|c| !is_space(*c)).ok_or_else(fault)?;
        let end = bytes.iter().rposition(|c| !is_space(*c)).ok_or_else(fault)?;
        let body = &bytes[start..=end];
        match special(body) {
            Some(special) => Ok(special),
            None => parse_finite(body).ok_or_else(fault)?,
        }
    }
}

fn special(body: &[u8]) -> Option<Numeric> {
    let (negative, name) = match body {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest if rest.eq_ignore_ascii_case(b"nan") => return Some(Numeric::NaN),
        rest => (false, rest),
    };
    let infinite = name.eq_ignore_ascii_case(b"infinity") || name.eq_ignore_ascii_case(b"inf");
    infinite.then_some(if negative { Numeric::NegativeInfinity } else { Numeric::PositiveInfinity })
}

/// A number; none where the text is none, an error where it is too large.
fn parse_finite(body: &[u8]) -> Option<Result<Numeric>> {
    let (negative, body) = match body {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mantissa_end =
        body.iter().position(|c| !c.is_ascii_digit() && *c != b'.').unwrap_or(body.len());
    let (mantissa, rest) = body.split_at(mantissa_end);
    let mut halves = mantissa.splitn(2, |c| *c == b'.');
    let whole = halves.next().unwrap_or_default();
    let fraction = halves.next().unwrap_or_default();
    if fraction.contains(&b'.') || whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', digits @ ..] => match parse_exponent(digits)? {
            Some(exponent) => exponent,
            None => return Some(Err(overflow())),
        },
        _ => return None,
    };
    Some(assemble(negative, whole, fraction, exponent))
}

/// The exponent; `Some(None)` where it is too large for any number.
fn parse_exponent(digits: &[u8]) -> Option<Option<i64>> {
    let start = digits.iter().position(|c| !is_space(*c))?;
    let text = std::str::from_utf8(&digits[start..]).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned.is_empty() || !unsigned.bytes().all(|c| c.is_ascii_digit()) {
        return None;
    }
    Some(text.parse::<i64>().ok().filter(|e| e.abs() < i64::from(i32::MAX / 2)))
}

fn assemble(negative: bool, whole: &[u8], fraction: &[u8], exponent: i64) -> Result<Numeric> {
    let scale = fraction.len() as i64 - exponent;
    let dscale = u16::try_from(scale.max(0)).map_err(|_| overflow())?;
    let zeros = whole.iter().take_while(|c| **c == b'0').count();
    if (whole.len() - zeros) as i64 > MAX_SHIFT {
        return Err(overflow());
    }
    let mut small = Some(0i128);
    for digit in whole.iter().chain(fraction) {
        small = small
            .and_then(|v| v.checked_mul(10))
            .and_then(|v| v.checked_add((digit - b'0').into()));
    }
    let unscaled = match small {
        Some(v) => Unscaled::Small(if negative { -v } else { v }),
        None => {
            let digits = [whole, fraction].concat();
            let v = BigInt::parse_bytes(&digits, 10).ok_or_else(overflow)?;
            Unscaled::from_big(if negative { -v } else { v })
        }
    };
    if unscaled.is_zero() {
        return Numeric::new(0, dscale).in_format();
    }
    if -scale > MAX_SHIFT {
        return Err(overflow());
    }
    Numeric::Finite(Decimal { unscaled: unscaled.scale_up((-scale).max(0) as u32), dscale })
        .in_format()
}

impl fmt::Display for Numeric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Numeric::NaN => f.write_str("NaN"),
            Numeric::PositiveInfinity => f.write_str("Infinity"),
            Numeric::NegativeInfinity => f.write_str("-Infinity"),
            Numeric::Finite(d) => d.fmt(f),
        }
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unscaled {
            Unscaled::Small(v) => write_small(*v, self.dscale.into(), f),
            Unscaled::Big(v) => {
                write_digits(self.is_negative(), &v.magnitude().to_string(), self.dscale.into(), f)
            }
        }
    }
}

impl fmt::Display for NumericRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_small() {
            Some((v, dscale)) => write_small(v, dscale.into(), f),
            None => (*self).to_owned().fmt(f),
        }
    }
}

fn write_small(v: i128, dscale: usize, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if dscale == 0 {
        return match i64::try_from(v) {
            Ok(short) => write!(f, "{short}"),
            Err(_) => write!(f, "{v}"),
        };
    }
    let magnitude = v.unsigned_abs();
    match (u64::try_from(magnitude), 10u64.checked_pow(dscale as u32)) {
        (Ok(magnitude), Some(power)) => {
            let sign = if v < 0 { "-" } else { "" };
            write!(f, "{sign}{}.{:0dscale$}", magnitude / power, magnitude % power)
        }
        _ => write_digits(v < 0, &magnitude.to_string(), dscale, f),
    }
}

fn write_digits(
    negative: bool,
    digits: &str,
    dscale: usize,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if negative {
        f.write_char('-')?;
    }
    let whole = digits.len().saturating_sub(dscale);
    f.write_str(if whole == 0 { "0" } else { &digits[..whole] })?;
    if dscale > 0 {
        f.write_char('.')?;
        (digits.len()..dscale).try_for_each(|_| f.write_char('0'))?;
        f.write_str(&digits[whole..])?;
    }
    Ok(())
}
