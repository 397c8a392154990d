//! The four operations and what is exact besides.
//!
//! Sums and differences have the greater of the two scales, products their sum. A quotient has at
//! least sixteen significant digits and at least the scales of both operands, at most
//! [`MAX_DISPLAY_SCALE`] digits behind the point.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, Zero};

use super::decimal::{Decimal, Numeric, Unscaled, power_of_ten, small_power};
use crate::error::{Error, Result, SqlState};

/// Significant digits that an inexact result has at least.
pub(super) const MIN_SIG_DIGITS: i32 = 16;
/// Digits behind the point that an inexact result has at most.
pub(super) const MAX_DISPLAY_SCALE: i32 = 1000;
/// Digits behind the point that any numeric can have.
pub(super) const MAX_DSCALE: u16 = 0x3fff;
/// Digits before the point that any numeric can have.
const MAX_INTEGER_DIGITS: i32 = 131_072;

pub(super) fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
}

pub(super) fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

impl Decimal {
    /// The number, if PostgreSQL can hold it.
    pub(super) fn checked(self) -> Result<Numeric> {
        // 128 bits are 39 digits, which are never too many.
        if let Unscaled::Big(v) = &self.unscaled
            && v.bits() > 400_000
            && self.magnitude().is_some_and(|m| m >= MAX_INTEGER_DIGITS)
        {
            return Err(overflow());
        }
        Ok(Numeric::Finite(self))
    }

    fn add(&self, other: &Decimal) -> Decimal {
        let dscale = self.dscale.max(other.dscale);
        if let (Unscaled::Small(a), Unscaled::Small(b)) = (&self.unscaled, &other.unscaled) {
            let raise = |v: i128, by: u16| small_power(by.into()).and_then(|p| v.checked_mul(p));
            let a = raise(*a, dscale - self.dscale);
            let b = raise(*b, dscale - other.dscale);
            if let (Some(a), Some(b)) = (a, b)
                && let Some(sum) = a.checked_add(b)
            {
                return Decimal::new(sum, dscale);
            }
        }
        let (a, b) = self.aligned(other);
        Decimal::from_big(a + b, dscale)
    }

    pub(super) fn neg(&self) -> Decimal {
        let unscaled = match &self.unscaled {
            Unscaled::Small(v) => match v.checked_neg() {
                Some(v) => Unscaled::Small(v),
                None => Unscaled::Big(-BigInt::from(*v)),
            },
            Unscaled::Big(v) => Unscaled::from_big(-v),
        };
        Decimal { unscaled, dscale: self.dscale }
    }

    pub(super) fn mul(&self, other: &Decimal) -> Decimal {
        let dscale = i32::from(self.dscale) + i32::from(other.dscale);
        let small = match (&self.unscaled, &other.unscaled) {
            (Unscaled::Small(a), Unscaled::Small(b)) => a.checked_mul(*b),
            _ => None,
        };
        let unscaled = match small {
            Some(product) => Unscaled::Small(product),
            None => Unscaled::from_big(self.unscaled.to_big() * other.unscaled.to_big()),
        };
        Decimal::rescaled(unscaled, dscale, dscale.min(MAX_DSCALE.into()))
    }

    /// The quotient with `rscale` digits, rounded or truncated; the divisor is not zero.
    pub(super) fn div(&self, other: &Decimal, rscale: i32, round: bool) -> Decimal {
        let shift = rscale - i32::from(self.dscale) + i32::from(other.dscale);
        let scaled = |v: &Decimal, by: i32| v.unscaled.scale_up(by.max(0) as u32);
        let (a, b) = (scaled(self, shift), scaled(other, -shift));
        let unscaled = match (a, b) {
            (Unscaled::Small(a), Unscaled::Small(b)) if a != i128::MIN => {
                Unscaled::Small(if round { divide_rounding(a, b) } else { a / b })
            }
            (a, b) => {
                let (a, b) = (a.into_big(), b.into_big());
                Unscaled::from_big(if round { divide_big_rounding(&a, &b) } else { a / b })
            }
        };
        Decimal { unscaled, dscale: rscale.max(0) as u16 }
    }

    /// Both integers at the greater of the two scales.
    pub(super) fn aligned(&self, other: &Decimal) -> (BigInt, BigInt) {
        let dscale = self.dscale.max(other.dscale);
        let a = self.unscaled.scale_up((dscale - self.dscale).into());
        let b = other.unscaled.scale_up((dscale - other.dscale).into());
        (a.into_big(), b.into_big())
    }

    fn rem(&self, other: &Decimal) -> Decimal {
        let dscale = self.dscale.max(other.dscale);
        let (a, b) = (
            self.unscaled.scale_up((dscale - self.dscale).into()),
            other.unscaled.scale_up((dscale - other.dscale).into()),
        );
        match (a, b) {
            (Unscaled::Small(a), Unscaled::Small(b)) => Decimal::new(a.wrapping_rem(b), dscale),
            (a, b) => Decimal::from_big(a.into_big() % b.into_big(), dscale),
        }
    }

    /// The place and the value of the first group of four digits; zeros for zero.
    fn first_group(&self) -> (i32, i32) {
        let Some(magnitude) = self.magnitude() else { return (0, 0) };
        let weight = magnitude.div_euclid(4);
        let shift = 4 * weight + i32::from(self.dscale);
        let first = match &self.unscaled {
            v if shift < 0 => v.scale_up(-shift as u32),
            Unscaled::Small(v) => Unscaled::Small(v / small_power(shift as u32).unwrap_or(1)),
            Unscaled::Big(v) => Unscaled::from_big(v / power_of_ten(shift as u32)),
        };
        match first {
            Unscaled::Small(v) => (weight, v.unsigned_abs() as i32),
            Unscaled::Big(_) => (weight, 0),
        }
    }
}

/// PostgreSQL's scale of a quotient (`select_div_scale`).
fn quotient_scale(a: &Decimal, b: &Decimal) -> i32 {
    let ((a_weight, a_first), (b_weight, b_first)) = (a.first_group(), b.first_group());
    let weight = a_weight - b_weight - i32::from(a_first <= b_first);
    (MIN_SIG_DIGITS - weight * 4)
        .max(a.dscale.into())
        .max(b.dscale.into())
        .clamp(0, MAX_DISPLAY_SCALE)
}

/// The quotient, halves away from zero. `a` is not the least integer.
pub(super) fn divide_rounding(a: i128, b: i128) -> i128 {
    let (quotient, rest) = (a / b, a % b);
    if rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs() {
        quotient + if (a < 0) == (b < 0) { 1 } else { -1 }
    } else {
        quotient
    }
}

/// The quotient, halves away from zero.
pub(super) fn divide_big_rounding(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, rest) = a.div_rem(b);
    if (rest.abs() << 1u32) >= b.abs() {
        quotient + if a.is_negative() == b.is_negative() { 1 } else { -1 }
    } else {
        quotient
    }
}

impl Numeric {
    /// `self + other`.
    pub fn add(&self, other: &Numeric) -> Result<Numeric> {
        use Numeric::{Finite, NaN, NegativeInfinity, PositiveInfinity};
        match (self, other) {
            (Finite(a), Finite(b)) => a.add(b).checked(),
            (NaN, _) | (_, NaN) => Ok(NaN),
            (PositiveInfinity, NegativeInfinity) | (NegativeInfinity, PositiveInfinity) => Ok(NaN),
            (Finite(_), infinite) | (infinite, _) => Ok(infinite.clone()),
        }
    }

    /// `self - other`.
    pub fn sub(&self, other: &Numeric) -> Result<Numeric> {
        self.add(&other.neg())
    }

    /// `-self`.
    pub fn neg(&self) -> Numeric {
        match self {
            Numeric::NaN => Numeric::NaN,
            Numeric::PositiveInfinity => Numeric::NegativeInfinity,
            Numeric::NegativeInfinity => Numeric::PositiveInfinity,
            Numeric::Finite(d) => Numeric::Finite(d.neg()),
        }
    }

    /// The absolute value.
    pub fn abs(&self) -> Numeric {
        if self.sign() == Some(-1) { self.neg() } else { self.clone() }
    }

    /// −1, 0 or 1; none for NaN.
    pub fn sign(&self) -> Option<i32> {
        match self {
            Numeric::NaN => None,
            Numeric::PositiveInfinity => Some(1),
            Numeric::NegativeInfinity => Some(-1),
            Numeric::Finite(d) if d.is_zero() => Some(0),
            Numeric::Finite(d) => Some(if d.is_negative() { -1 } else { 1 }),
        }
    }

    /// What the function `sign` answers.
    pub fn signum(&self) -> Numeric {
        self.sign().map_or(Numeric::NaN, |s| Numeric::from_i128(s.into()))
    }

    /// An infinity of that sign, which is not 0.
    fn infinity(sign: i32) -> Numeric {
        if sign < 0 { Numeric::NegativeInfinity } else { Numeric::PositiveInfinity }
    }

    /// `self * other`.
    pub fn mul(&self, other: &Numeric) -> Result<Numeric> {
        if let (Numeric::Finite(a), Numeric::Finite(b)) = (self, other) {
            return a.mul(b).checked();
        }
        Ok(match (self.sign(), other.sign()) {
            (Some(a), Some(b)) if a != 0 && b != 0 => Numeric::infinity(a * b),
            _ => Numeric::NaN,
        })
    }

    /// `self / other`.
    pub fn div(&self, other: &Numeric) -> Result<Numeric> {
        self.divide(other, |a, b| a.div(b, quotient_scale(a, b), true))
    }

    /// The quotient without its fraction: the function `div`.
    pub fn div_trunc(&self, other: &Numeric) -> Result<Numeric> {
        self.divide(other, |a, b| a.div(b, 0, false))
    }

    fn divide(
        &self,
        other: &Numeric,
        finite: impl FnOnce(&Decimal, &Decimal) -> Decimal,
    ) -> Result<Numeric> {
        match (self, other, self.sign(), other.sign()) {
            (_, _, None, _) | (_, _, _, None) => Ok(Numeric::NaN),
            (_, _, _, Some(0)) => Err(division_by_zero()),
            (Numeric::Finite(a), Numeric::Finite(b), ..) => finite(a, b).checked(),
            (Numeric::Finite(_), ..) => Ok(Numeric::ZERO),
            (_, Numeric::Finite(_), Some(a), Some(b)) => Ok(Numeric::infinity(a * b)),
            _ => Ok(Numeric::NaN),
        }
    }

    /// `self % other`; the sign is that of `self`.
    pub fn rem(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Numeric::NaN, _) | (_, Numeric::NaN) => Ok(Numeric::NaN),
            (_, Numeric::Finite(b)) if b.is_zero() => Err(division_by_zero()),
            (Numeric::Finite(a), Numeric::Finite(b)) => a.rem(b).checked(),
            (Numeric::Finite(a), _) => Ok(Numeric::Finite(a.clone())),
            _ => Ok(Numeric::NaN),
        }
    }

    /// The greatest common divisor.
    pub fn gcd(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Numeric::Finite(a), Numeric::Finite(b)) => {
                let (x, y) = a.aligned(b);
                Decimal::from_big(x.gcd(&y), a.dscale.max(b.dscale)).checked()
            }
            _ => Ok(Numeric::NaN),
        }
    }

    /// The least common multiple.
    pub fn lcm(&self, other: &Numeric) -> Result<Numeric> {
        match (self, other) {
            (Numeric::Finite(a), Numeric::Finite(b)) => {
                let (x, y) = a.aligned(b);
                let least = if x.is_zero() || y.is_zero() { BigInt::zero() } else { x.lcm(&y) };
                Decimal::from_big(least.abs(), a.dscale.max(b.dscale)).checked()
            }
            _ => Ok(Numeric::NaN),
        }
    }

    /// `n!`
    pub fn factorial(n: i64) -> Result<Numeric> {
        if n < 0 {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                "factorial of a negative number is undefined",
            ));
        }
        // PostgreSQL's bound: the next one has more digits than a numeric.
        if n > 32_177 {
            return Err(overflow());
        }
        let product = (2..=n).fold(BigInt::from(1), |product, factor| product * factor);
        Decimal::from_big(product, 0).checked()
    }
}
