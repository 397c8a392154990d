//! To and from integers, floats, and the wire's binary form.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::decimal::{Decimal, Numeric, NumericRef, Unscaled, small_power};
use crate::error::{Error, Result, SqlState};

/// The signs of the binary form, which are also its special values.
mod sign {
    pub(super) const POSITIVE: u16 = 0x0000;
    pub(super) const NEGATIVE: u16 = 0x4000;
    pub(super) const NAN: u16 = 0xc000;
    pub(super) const POSITIVE_INFINITY: u16 = 0xd000;
    pub(super) const NEGATIVE_INFINITY: u16 = 0xf000;
}

impl Numeric {
    /// As PostgreSQL casts `double precision`: fifteen significant digits.
    pub fn from_f64(value: f64) -> Numeric {
        from_float(value, 15)
    }

    /// As PostgreSQL casts `real`: six significant digits.
    pub fn from_f32(value: f32) -> Numeric {
        from_float(value.into(), 6)
    }

    /// The nearest `double precision`.
    pub fn to_f64(&self) -> Result<f64> {
        let value = self.to_f64_lossy();
        let lost = value.is_infinite() || value == 0.0 && self.sign() != Some(0);
        if lost && matches!(self, Numeric::Finite(_)) {
            return Err(out_of_float_range(self, "double precision"));
        }
        Ok(value)
    }

    /// The nearest `double precision`, infinite where it is too large.
    pub fn to_f64_lossy(&self) -> f64 {
        match self {
            Numeric::NaN => f64::NAN,
            Numeric::PositiveInfinity => f64::INFINITY,
            Numeric::NegativeInfinity => f64::NEG_INFINITY,
            Numeric::Finite(d) => decimal_to_f64(d),
        }
    }

    /// The nearest `real`.
    pub fn to_f32(&self) -> Result<f32> {
        let value = match self {
            Numeric::Finite(d) => d.to_string().parse().unwrap_or(f32::NAN),
            special => special.to_f64_lossy() as f32,
        };
        let lost = value.is_infinite() || value == 0.0 && self.sign() != Some(0);
        if lost && matches!(self, Numeric::Finite(_)) {
            return Err(out_of_float_range(self, "real"));
        }
        Ok(value)
    }

    /// The nearest `smallint`, halves away from zero.
    pub fn to_i16(&self) -> Result<i16> {
        self.to_integer("smallint", |v| v.to_i16())
    }

    /// The nearest `integer`, halves away from zero.
    pub fn to_i32(&self) -> Result<i32> {
        self.to_integer("integer", |v| v.to_i32())
    }

    /// The nearest `bigint`, halves away from zero.
    pub fn to_i64(&self) -> Result<i64> {
        self.to_integer("bigint", |v| v.to_i64())
    }

    fn to_integer<T>(&self, name: &str, fit: impl FnOnce(i128) -> Option<T>) -> Result<T> {
        let what = match self {
            Numeric::Finite(d) => {
                let fitting = match d.round_to(0).unscaled {
                    Unscaled::Small(v) => fit(v),
                    Unscaled::Big(_) => None,
                };
                return fitting.ok_or_else(|| {
                    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{name} out of range"))
                });
            }
            Numeric::NaN => "NaN",
            _ => "infinity",
        };
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot convert {what} to {name}")))
    }

    /// Appends the wire's binary form.
    pub fn write_binary(&self, out: &mut Vec<u8>) {
        let mut put = |v: u16| out.extend_from_slice(&v.to_be_bytes());
        let special = match self {
            Numeric::Finite(d) => {
                let (weight, groups) = d.groups();
                put(groups.len() as u16);
                put(weight as u16);
                put(if d.is_negative() { sign::NEGATIVE } else { sign::POSITIVE });
                put(d.dscale);
                return groups.into_iter().for_each(put);
            }
            Numeric::NaN => [0, 0, sign::NAN, 0],
            // The scale says nothing; PostgreSQL sends this one.
            Numeric::PositiveInfinity => [0, 0, sign::POSITIVE_INFINITY, 32],
            Numeric::NegativeInfinity => [0, 0, sign::NEGATIVE_INFINITY, 32],
        };
        special.into_iter().for_each(put);
    }

    /// Reads the wire's binary form.
    pub fn read_binary(bytes: &[u8]) -> Result<Numeric> {
        let (words, rest) = bytes.as_chunks::<2>();
        let words: Vec<u16> = words.iter().map(|w| u16::from_be_bytes(*w)).collect();
        let [count, weight, sign, dscale, groups @ ..] = words.as_slice() else {
            return Err(short_message());
        };
        let groups = groups.get(..usize::from(*count)).ok_or_else(short_message)?;
        if groups.len() + 4 < words.len() || !rest.is_empty() {
            return Err(invalid_binary("incorrect binary data format"));
        }
        let negative = match *sign {
            sign::POSITIVE => false,
            sign::NEGATIVE => true,
            sign::NAN => return Ok(Numeric::NaN),
            sign::POSITIVE_INFINITY => return Ok(Numeric::PositiveInfinity),
            sign::NEGATIVE_INFINITY => return Ok(Numeric::NegativeInfinity),
            _ => return Err(invalid_binary("invalid sign in external \"numeric\" value")),
        };
        if *dscale > super::arith::MAX_DSCALE {
            return Err(invalid_binary("invalid scale in external \"numeric\" value"));
        }
        if groups.iter().any(|g| *g > 9999) {
            return Err(invalid_binary("invalid digit in external \"numeric\" value"));
        }
        let magnitude = groups.iter().fold(BigInt::from(0), |v, g| v * 10_000 + *g);
        let signed = Unscaled::from_big(if negative { -magnitude } else { magnitude });
        let scale = 4 * (groups.len() as i32 - 1 - i32::from(*weight as i16));
        Numeric::Finite(Decimal::truncated(signed, scale, (*dscale).into())).in_format()
    }
}

fn short_message() -> Error {
    Error::new(SqlState::PROTOCOL_VIOLATION, "insufficient data left in message")
}

fn invalid_binary(message: &str) -> Error {
    Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
}

impl Decimal {
    /// The weight of the first group of four digits, and the groups up to the last that is not
    /// zero.
    fn groups(&self) -> (i32, Vec<u16>) {
        let Some(magnitude) = self.magnitude() else { return (0, Vec::new()) };
        let pad = (4 - self.dscale % 4) % 4;
        let digits = match self.unscaled.scale_up(pad.into()) {
            Unscaled::Small(v) => v.unsigned_abs().to_string(),
            Unscaled::Big(v) => v.magnitude().to_string(),
        };
        let mut groups: Vec<u16> = digits
            .as_bytes()
            .rchunks(4)
            .map(|group| group.iter().fold(0, |v, d| 10 * v + u16::from(d - b'0')))
            .collect();
        groups.reverse();
        while groups.last() == Some(&0) {
            groups.pop();
        }
        (magnitude.div_euclid(4), groups)
    }
}

fn from_float(value: f64, digits: usize) -> Numeric {
    if value.is_nan() {
        return Numeric::NaN;
    }
    if value.is_infinite() {
        return if value > 0.0 { Numeric::PositiveInfinity } else { Numeric::NegativeInfinity };
    }
    let text = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = text.split_once('e').expect("the format has an exponent");
    let mut unscaled: i128 = 0;
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        unscaled = 10 * unscaled + i128::from(digit - b'0');
    }
    if unscaled == 0 {
        return Numeric::ZERO;
    }
    let mut scale = digits as i32 - 1 - exponent.parse::<i32>().expect("the exponent is a number");
    while unscaled % 10 == 0 {
        unscaled /= 10;
        scale -= 1;
    }
    let signed = Unscaled::Small(if value < 0.0 { -unscaled } else { unscaled });
    Numeric::Finite(Decimal {
        unscaled: signed.scale_up((-scale).max(0) as u32),
        dscale: scale.max(0) as u16,
    })
}

fn decimal_to_f64(d: &Decimal) -> f64 {
    // Both exact in a double, so that one division rounds correctly.
    if let Some((v, dscale)) = d.as_small()
        && v.abs() < 1 << 53
        && dscale <= 22
        && let Some(power) = small_power(dscale.into())
    {
        return v as f64 / power as f64;
    }
    d.to_string().parse().unwrap_or(f64::NAN)
}

fn out_of_float_range(value: &Numeric, name: &str) -> Error {
    Error::new(
        SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("\"{value}\" is out of range for type {name}"),
    )
}

impl From<i16> for Numeric {
    fn from(value: i16) -> Numeric {
        Numeric::from_i128(value.into())
    }
}

impl From<i32> for Numeric {
    fn from(value: i32) -> Numeric {
        Numeric::from_i128(value.into())
    }
}

impl NumericRef<'_> {
    /// The nearest `double precision`, infinite where it is too large.
    pub fn to_f64_lossy(self) -> f64 {
        self.to_owned().to_f64_lossy()
    }
}
