//! Exact sums of floats, of their squares and of products of two of them.
//!
//! A float is an integer times 2^-1074, and a product of two an integer times 2^-2148. Sums of
//! such integers are kept in limbs of 64 bits, a part each, and are rounded once, when they are
//! asked for: they are what PostgreSQL's would be without its rounding errors, whatever the order
//! of the rows.
//!
//! A *block* of parts belongs to one argument: how often it was not a finite number, its sum and
//! the sum of its squares.

use num_bigint::{BigInt, Sign};
use num_traits::{Signed, ToPrimitive, Zero};

use super::sums::Part;
use crate::error::SqlState;
use crate::expr::error::EvalError;

const NAN: u64 = 2;
const INFINITY: u64 = 3;
const NEGATIVE_INFINITY: u64 = 4;
const NEGATIVE_ZERO: u64 = 5;
/// The limbs of the sum, 33 at most.
const LIMBS: u64 = 6;
/// The limbs of the sum of squares, 66 at most.
const SQUARES: u64 = 64;
/// How many parts a block has.
pub const BLOCK: u64 = 256;

/// The unit of sums of products is 2 to the minus this.
const PRODUCT_UNIT: u64 = 2 * 1074;

/// Gives what a float adds to a block's sum.
#[inline]
pub fn contribute(value: f64, add: &mut impl FnMut(u64, i128)) {
    if value.is_nan() {
        return add(NAN, 1);
    }
    if value.is_infinite() {
        return add(if value > 0.0 { INFINITY } else { NEGATIVE_INFINITY }, 1);
    }
    if value.to_bits() == (-0.0f64).to_bits() {
        return add(NEGATIVE_ZERO, 1);
    }
    let (mantissa, position) = parts_of(value);
    let wide = u128::from(mantissa) << (position % 64);
    let sign = if value < 0.0 { -1 } else { 1 };
    let part = LIMBS + position / 64;
    add(part, sign * i128::from(wide as u64));
    add(part + 1, sign * i128::from((wide >> 64) as u64));
}

/// Gives what a float adds to a block's sum and sum of squares.
pub fn contribute_moments(value: f64, add: &mut impl FnMut(u64, i128)) {
    contribute(value, add);
    if value.is_finite() {
        contribute_product(value, value, |limb, n| add(SQUARES + limb, n));
    }
}

/// Gives the limbs of the product of two finite floats.
pub fn contribute_product(x: f64, y: f64, mut add: impl FnMut(u64, i128)) {
    let ((a, i), (b, j)) = (parts_of(x), parts_of(y));
    let product = u128::from(a) * u128::from(b);
    let sign = if (x < 0.0) != (y < 0.0) { -1 } else { 1 };
    let (first, shift) = ((i + j) / 64, (i + j) % 64);
    let low = u128::from(product as u64) << shift;
    let high = (u128::from((product >> 64) as u64) << shift) + (low >> 64);
    add(first, sign * i128::from(low as u64));
    add(first + 1, sign * i128::from(high as u64));
    add(first + 2, sign * i128::from((high >> 64) as u64));
}

/// `value` is, but for its sign, the mantissa times 2^(position - 1074).
#[inline]
fn parts_of(value: f64) -> (u64, u64) {
    let bits = value.to_bits();
    let exponent = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) }
}

/// The integer whose limbs are the parts from `first` to before `end`.
pub fn integer(parts: &[Part], first: u64, end: u64) -> BigInt {
    let limbs = parts.iter().filter(|(part, _)| (first..end).contains(part));
    limbs.map(|(part, n)| BigInt::from(*n) << (64 * (part - first))).sum()
}

fn part(parts: &[Part], part: u64) -> i128 {
    parts.iter().find(|(other, _)| *other == part).map_or(0, |(_, n)| *n)
}

/// The sum of `count` floats, rounded once by `round`.
pub fn sum<F: FloatSum>(
    parts: &[Part],
    count: i128,
    round: fn(&Exact) -> Option<F>,
) -> Result<F, EvalError> {
    let (infinity, negative) = (part(parts, INFINITY) > 0, part(parts, NEGATIVE_INFINITY) > 0);
    if part(parts, NAN) > 0 || (infinity && negative) {
        return Ok(F::NAN);
    }
    if infinity {
        return Ok(F::INFINITY);
    }
    if negative {
        return Ok(F::NEGATIVE_INFINITY);
    }
    let negative_zeros = part(parts, NEGATIVE_ZERO);
    if negative_zeros > 0 && negative_zeros == count {
        return Ok(F::NEGATIVE_ZERO);
    }
    round(&Exact(integer(parts, LIMBS, SQUARES))).ok_or_else(overflow)
}

/// The mean of `count` floats. PostgreSQL adds them to 0, so that it is never -0.
pub fn mean(parts: &[Part], count: i128) -> Result<f64, EvalError> {
    Ok((sum(parts, count, Exact::to_f64)? + 0.0) / count as f64)
}

/// The error of a sum that is too large.
pub fn overflow() -> EvalError {
    EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// What the parts of a block say of its argument.
pub struct Moments {
    /// Whether all were finite.
    pub finite: bool,
    /// The sum, in units of 2^-1074.
    pub sum: BigInt,
    /// The sum of squares, in units of 2^-2148.
    pub squares: BigInt,
}

impl Moments {
    /// Those of a block.
    pub fn of(block: &[Part]) -> Moments {
        Moments {
            finite: [NAN, INFINITY, NEGATIVE_INFINITY].iter().all(|p| part(block, *p) == 0),
            sum: integer(block, LIMBS, SQUARES),
            squares: integer(block, SQUARES, BLOCK),
        }
    }
}

/// The fraction of two sums of products, in their unit: what `numerator / denominator` times
/// 2^-2148 is, or where `pure` without that factor. None where it is too large for a float8.
pub fn quotient(numerator: &BigInt, denominator: &BigInt, pure: bool) -> Option<f64> {
    if numerator.is_zero() {
        return Some(0.0);
    }
    // In units of 2^-1076, two bits below the smallest float, the last of which also says whether
    // anything was cut off.
    let (up, down) = if pure { (1074 + 2, 0) } else { (2, PRODUCT_UNIT - 1074) };
    let scaled: BigInt = numerator.abs() << up;
    let divisor: BigInt = denominator.abs() << down;
    let mut value = &scaled / &divisor;
    if &value * &divisor != scaled {
        value.set_bit(0, true);
    }
    let negative = numerator.is_negative() != denominator.is_negative();
    Exact(if negative { -value } else { value }).to_f64_below(2)
}

/// The special values of a float type.
pub trait FloatSum {
    /// Not a number.
    const NAN: Self;
    /// Above all numbers.
    const INFINITY: Self;
    /// Below all numbers.
    const NEGATIVE_INFINITY: Self;
    /// What zeros add up to that are all negative.
    const NEGATIVE_ZERO: Self;
}

impl FloatSum for f32 {
    const NAN: f32 = f32::NAN;
    const INFINITY: f32 = f32::INFINITY;
    const NEGATIVE_INFINITY: f32 = f32::NEG_INFINITY;
    const NEGATIVE_ZERO: f32 = -0.0;
}

impl FloatSum for f64 {
    const NAN: f64 = f64::NAN;
    const INFINITY: f64 = f64::INFINITY;
    const NEGATIVE_INFINITY: f64 = f64::NEG_INFINITY;
    const NEGATIVE_ZERO: f64 = -0.0;
}

/// An exact number: this many times 2^-1074.
pub struct Exact(BigInt);

impl Exact {
    /// The nearest float8, ties to even; none where it is too large.
    pub fn to_f64(&self) -> Option<f64> {
        self.to_f64_below(0)
    }

    /// As [`Exact::to_f64`] of a number in units smaller by that many bits.
    fn to_f64_below(&self, below: u64) -> Option<f64> {
        let (mantissa, dropped) = self.round(53, below);
        // The bits of a float count up through the exponents: 2^52 more is one exponent more, from
        // the subnormal numbers on. So rounding up to the next power of two is right, too.
        let bits = mantissa.checked_add((dropped - below).checked_mul(1 << 52)?)?;
        let finite = bits < f64::INFINITY.to_bits();
        finite.then(|| self.signed(f64::from_bits(bits)))
    }

    /// The nearest float4.
    pub fn to_f32(&self) -> Option<f32> {
        let least = 1074 - 149;
        let (mantissa, dropped) = self.round(24, least);
        let exponents = dropped - least;
        let bits = mantissa.checked_add(exponents << 23)?;
        let finite = exponents < 256 && bits < u64::from(f32::INFINITY.to_bits());
        finite.then(|| self.signed(f32::from_bits(bits as u32).into()) as f32)
    }

    /// The magnitude in at most `digits` bits, of which at least `least` low ones are dropped, and
    /// how many are.
    fn round(&self, digits: u64, least: u64) -> (u64, u64) {
        let magnitude = self.0.magnitude();
        let dropped = magnitude.bits().saturating_sub(digits).max(least);
        let kept = (magnitude >> dropped).to_u64().unwrap_or(u64::MAX);
        let half = dropped > 0 && magnitude.bit(dropped - 1);
        let sticky = magnitude.trailing_zeros().is_some_and(|zeros| zeros + 1 < dropped);
        (kept + u64::from(half && (sticky || kept % 2 == 1)), dropped)
    }

    fn signed(&self, magnitude: f64) -> f64 {
        if self.0.sign() == Sign::Minus { -magnitude } else { magnitude }
    }
}
