//! Logarithm and exponential in binary fixed point.
//!
//! A number x is kept as the integer x · 2^bits, cut off. Results are exact but for a few units of
//! the last place times the number of steps, so callers ask for [`GUARD`] bits more than they need.

use num_bigint::BigInt;
use num_traits::{One, Signed, ToPrimitive, Zero};

use super::arith::divide_big_rounding;
use super::decimal::{Decimal, power_of_ten};

/// Bits beyond those of the result.
pub(super) const GUARD: u32 = 96;

/// How many bits `digits` decimal digits need, with [`GUARD`].
pub(super) fn bits_for(digits: i32) -> u32 {
    (f64::from(digits.max(0)) * std::f64::consts::LOG2_10) as u32 + GUARD
}

/// `d` in fixed point.
pub(super) fn from_decimal(d: &Decimal, bits: u32) -> BigInt {
    (d.unscaled.to_big() << bits) / power_of_ten(d.dscale.into())
}

/// The fixed-point `v` times 2^`exponent` as a decimal with `scale` digits, rounded.
pub(super) fn to_decimal(v: &BigInt, bits: u32, exponent: i64, scale: u16) -> Decimal {
    let scaled = v * power_of_ten(scale.into());
    let shift = i64::from(bits) - exponent;
    let rounded = if shift > 0 {
        divide_big_rounding(&scaled, &(BigInt::one() << shift as u64))
    } else {
        scaled << (-shift) as u64
    };
    Decimal::from_big(rounded, scale)
}

/// The arc tangent, hyperbolic, of 1/n.
fn atanh_inverse(n: i64, bits: u32) -> BigInt {
    let mut power = (BigInt::one() << bits) / n;
    let mut sum = power.clone();
    let square = n * n;
    for odd in (3i64..).step_by(2) {
        power /= square;
        if power.is_zero() {
            break;
        }
        sum += &power / odd;
    }
    sum
}

/// ln 2.
fn ln_2(bits: u32) -> BigInt {
    18 * atanh_inverse(26, bits) - 2 * atanh_inverse(4801, bits) + 8 * atanh_inverse(8749, bits)
}

/// The natural logarithm of a number above zero.
pub(super) fn ln(x: &Decimal, bits: u32) -> BigInt {
    let numerator = x.unscaled.to_big();
    let denominator = power_of_ten(x.dscale.into());
    let mut exponent = numerator.bits() as i64 - denominator.bits() as i64;
    let shift = i64::from(bits) - exponent;
    let mut m = if shift >= 0 {
        (numerator << shift as u64) / denominator
    } else {
        numerator / (denominator << (-shift) as u64)
    };
    // Bring it near 1, where the series is short: within a factor of the root of two.
    let one = BigInt::one() << bits;
    if &m * &m > &one << (bits + 1) {
        m >>= 1u32;
        exponent += 1;
    } else if &m * &m * 2 < &one << bits {
        m <<= 1u32;
        exponent -= 1;
    }
    // ln m = 2 artanh((m − 1) / (m + 1))
    let z = ((&m - &one) << bits) / (&m + &one);
    let square = (&z * &z) >> bits;
    let mut power = z.clone();
    let mut sum = z;
    for odd in (3i64..).step_by(2) {
        power = (&power * &square) >> bits;
        let term = &power / odd;
        if term.is_zero() {
            break;
        }
        sum += term;
    }
    if exponent == 0 { sum << 1u32 } else { (sum << 1u32) + exponent * ln_2(bits) }
}

/// How often the argument of the exponential is halved, and the result squared.
const HALVINGS: u32 = 8;

/// e^x as a fixed-point number near 1 and a power of two.
pub(super) fn exp(x: &BigInt, bits: u32) -> (BigInt, i64) {
    let ln_2 = ln_2(bits);
    let exponent = divide_big_rounding(x, &ln_2);
    let rest = (x - &exponent * ln_2) >> HALVINGS;
    let mut term = BigInt::one() << bits;
    let mut sum = term.clone();
    for i in 1i64.. {
        term = ((&term * &rest) >> bits) / i;
        // A negative term cut off towards −∞ never becomes zero.
        if term.abs() <= BigInt::one() {
            break;
        }
        sum += &term;
    }
    for _ in 0..HALVINGS {
        sum = (&sum * &sum) >> bits;
    }
    (sum, exponent.to_i64().unwrap_or(i64::MAX))
}
