//! The normalised, order-preserving key of a numeric.
//!
//! A class byte; for numbers other than zero then the decimal exponent in three biased bytes, the
//! significant digits in pairs (each pair plus one), and a zero. Digits begin with the first that
//! is not zero and end with the last, so that the display scale has no part in it. All bytes
//! behind the class are inverted in negative numbers.

use super::decimal::{Decimal, Numeric, NumericRef, Unscaled};

const NEGATIVE_INFINITY: u8 = 1;
const NEGATIVE: u8 = 2;
const ZERO: u8 = 3;
const POSITIVE: u8 = 4;
const POSITIVE_INFINITY: u8 = 5;
const NAN: u8 = 6;
/// What is added to the exponent, to make it positive.
const BIAS: i32 = 1 << 23;

impl NumericRef<'_> {
    /// Appends the key.
    pub fn encode_key(self, out: &mut Vec<u8>) {
        if let Some((unscaled, dscale)) = self.as_small() {
            return put_small(unscaled, dscale, out);
        }
        match self.to_owned() {
            Numeric::NaN => out.push(NAN),
            Numeric::PositiveInfinity => out.push(POSITIVE_INFINITY),
            Numeric::NegativeInfinity => out.push(NEGATIVE_INFINITY),
            Numeric::Finite(Decimal { unscaled: Unscaled::Small(v), dscale }) => {
                put_small(v, dscale, out);
            }
            Numeric::Finite(Decimal { unscaled: Unscaled::Big(v), dscale }) => {
                let negative = v.sign() == num_bigint::Sign::Minus;
                put_digits(negative, &v.magnitude().to_radix_be(10), dscale, out);
            }
        }
    }
}

/// How many of `bytes`, which begin with a key, belong to it.
pub(crate) fn key_length(bytes: &[u8]) -> usize {
    let end = match bytes.first() {
        Some(&POSITIVE) => 0,
        Some(&NEGATIVE) => 0xff,
        _ => return 1,
    };
    // Behind the class and the exponent, only the end has this byte.
    let digits = bytes[4..].iter().position(|b| *b == end);
    4 + digits.expect("a key of a numeric has an end") + 1
}

fn put_small(v: i128, dscale: u16, out: &mut Vec<u8>) {
    if v == 0 {
        return out.push(ZERO);
    }
    // 39 digits hold any i128; the rest stays zero.
    let mut buffer = [0u8; 40];
    let mut start = buffer.len();
    let mut rest = v.unsigned_abs();
    while rest > u64::MAX.into() {
        start -= 1;
        buffer[start] = (rest % 10) as u8;
        rest /= 10;
    }
    let mut rest = rest as u64;
    while rest > 0 {
        start -= 1;
        buffer[start] = (rest % 10) as u8;
        rest /= 10;
    }
    put_digits(v < 0, &buffer[start..], dscale, out);
}

fn put_digits(negative: bool, digits: &[u8], dscale: u16, out: &mut Vec<u8>) {
    let exponent = digits.len() as i32 - i32::from(dscale);
    let end = digits.iter().rposition(|d| *d != 0).map_or(0, |last| last + 1);
    let flip = if negative { 0xff } else { 0 };
    out.push(if negative { NEGATIVE } else { POSITIVE });
    out.extend((exponent + BIAS).to_be_bytes()[1..].iter().map(|b| b ^ flip));
    for pair in digits[..end].chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        out.push((pair[0] * 10 + low + 1) ^ flip);
    }
    out.push(flip);
}
