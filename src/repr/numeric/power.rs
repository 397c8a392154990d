//! Raising to a power.
//!
//! A power whose exponent is an integer of 32 bits is a product, with sixteen digits behind the
//! point or the scale of the base; any other is e^(exponent · ln base).

use std::f64::consts::LOG10_E;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};

use super::arith::{
    MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, divide_big_rounding, division_by_zero, overflow,
};
use super::decimal::{Decimal, Numeric, Unscaled, power_of_ten};
use super::fixed;
use super::transcendental::{MAX_EXPONENT, result_scale};
use crate::error::{Error, Result, SqlState};

/// log10 of a result from which PostgreSQL gives up at once.
const MAX_LOG: f64 = 3.0 * 32_767.0 * 4.0;

fn invalid(message: &str) -> Error {
    Error::new(SqlState::INVALID_POWER_ARGUMENT, message)
}

impl Numeric {
    /// `self` raised to `exponent`.
    pub fn power(&self, exponent: &Numeric) -> Result<Numeric> {
        let one = |n: &Numeric| *n == Numeric::from_i128(1);
        let (Some(sign), Some(exponent_sign)) = (self.sign(), exponent.sign()) else {
            // NaN to the power of 0 is 1, and so is 1 to the power of NaN.
            let known = exponent.sign() == Some(0) || one(self);
            return Ok(if known { Numeric::from_i128(1) } else { Numeric::NaN });
        };
        if sign == 0 && exponent_sign < 0 {
            return Err(invalid("zero raised to a negative power is undefined"));
        }
        let integral = match exponent {
            Numeric::Finite(e) => e.is_integral(),
            _ => true,
        };
        if sign < 0 && !integral {
            return Err(invalid(
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        match (self, exponent) {
            (Numeric::Finite(base), Numeric::Finite(e)) => power_finite(base, e)?.checked(),
            _ => Ok(self.power_infinite(exponent, sign, exponent_sign)),
        }
    }

    /// POSIX's rules of `pow`, where base or exponent is infinite.
    fn power_infinite(&self, exponent: &Numeric, sign: i32, exponent_sign: i32) -> Numeric {
        if exponent_sign == 0 || *self == Numeric::from_i128(1) {
            return Numeric::from_i128(1);
        }
        if sign == 0 {
            return Numeric::ZERO;
        }
        match (self, exponent) {
            (base, Numeric::PositiveInfinity | Numeric::NegativeInfinity) => {
                let size = base.abs();
                if size == Numeric::from_i128(1) {
                    return size;
                }
                let grows = (size > Numeric::from_i128(1)) == (exponent_sign > 0);
                if grows { Numeric::PositiveInfinity } else { Numeric::ZERO }
            }
            (_, _) if exponent_sign < 0 => Numeric::ZERO,
            (Numeric::NegativeInfinity, Numeric::Finite(e)) if is_odd(e) => {
                Numeric::NegativeInfinity
            }
            _ => Numeric::PositiveInfinity,
        }
    }
}

fn is_odd(d: &Decimal) -> bool {
    d.integer().into_big().is_odd()
}

fn power_finite(base: &Decimal, exponent: &Decimal) -> Result<Decimal> {
    if exponent.is_integral()
        && let Unscaled::Small(e) = exponent.integer()
        && let Ok(e) = i32::try_from(e)
    {
        return power_integer(base, e, result_scale(MIN_SIG_DIGITS, &[base]));
    }
    if base.is_zero() {
        return Ok(Decimal::new(0, MIN_SIG_DIGITS as u16));
    }
    let negative = base.is_negative() && is_odd(exponent);
    let base = match Numeric::Finite(base.clone()).abs() {
        Numeric::Finite(d) => d,
        _ => return Err(overflow()),
    };
    let ln_weight = base.ln_weight();
    let size = estimate(&base, exponent, ln_weight);
    if size.abs() > MAX_EXPONENT * 3.01 / 3.0 {
        if size > 0.0 {
            return Err(overflow());
        }
        return Ok(Decimal::new(0, MAX_DISPLAY_SCALE as u16));
    }
    let weight = (size * LOG10_E) as i32;
    let scale = result_scale(MIN_SIG_DIGITS - weight, &[&base, exponent]);
    if base.compare(&Decimal::new(1, 0)).is_eq() {
        let one = Decimal::rescaled(Unscaled::Small(1), 0, scale.into());
        return Ok(if negative { one.neg() } else { one });
    }
    // As many digits of the logarithm as the result has, and those that the product costs.
    let exponent_digits = exponent.magnitude().unwrap_or(0).max(0);
    let digits = i32::from(scale) + weight.max(0) + exponent_digits + ln_weight.abs() + 8;
    let bits = fixed::bits_for(digits);
    let product = divide_big_rounding(
        &(fixed::ln(&base, bits) * exponent.unscaled.to_big()),
        &power_of_ten(exponent.dscale.into()),
    );
    if size.abs() >= MAX_EXPONENT {
        // Within the margin of the first test: let the exponential decide.
        return fixed::to_decimal(&product, bits, 0, 16).exp_with_scale(scale);
    }
    let (m, shift) = fixed::exp(&product, bits);
    let result = fixed::to_decimal(&m, bits, shift, scale);
    Ok(if negative { result.neg() } else { result })
}

/// exponent · ln base, roughly.
fn estimate(base: &Decimal, exponent: &Decimal, ln_weight: i32) -> f64 {
    let scale = (8 - ln_weight).clamp(0, MAX_DISPLAY_SCALE);
    let bits = fixed::bits_for(scale);
    let ln = fixed::to_decimal(&fixed::ln(base, bits), bits, 0, scale as u16);
    Numeric::Finite(ln.mul(exponent).round_to(scale)).to_f64_lossy()
}

fn power_integer(base: &Decimal, exponent: i32, scale: u16) -> Result<Decimal> {
    match exponent {
        0 => return Ok(Decimal::rescaled(Unscaled::Small(1), 0, scale.into())),
        1 => return Ok(base.round_to(scale.into())),
        -1 if base.is_zero() => return Err(division_by_zero()),
        -1 => return Ok(Decimal::new(1, 0).div(base, scale.into(), true)),
        _ => {}
    }
    if base.is_zero() {
        return if exponent < 0 { Err(division_by_zero()) } else { Ok(Decimal::new(0, scale)) };
    }
    let log = f64::from(exponent) * log10_size(base);
    if log > MAX_LOG {
        return Err(overflow());
    }
    if log + 1.0 < -f64::from(scale) || log + 1.0 < -f64::from(MAX_DISPLAY_SCALE) {
        return Ok(Decimal::new(0, scale));
    }
    let times = exponent.unsigned_abs();
    let digits = (1 + i32::from(scale) + log as i32).max(0) + f64::from(times).ln() as i32 + 8;
    let (m, shift) = power_digits(base, times, digits as u32);
    if exponent < 0 {
        return Ok(reciprocal(&m, shift, scale));
    }
    Ok(Decimal::rescaled(Unscaled::from_big(m), clamp_shift(shift)?, scale.into()))
}

/// log10 of the absolute value.
fn log10_size(d: &Decimal) -> f64 {
    let magnitude = d.unscaled.to_big().magnitude().clone();
    Decimal::from_big(magnitude.into(), d.dscale).ln_estimate() / std::f64::consts::LN_10
}

/// An integer m and s such that the power is about m / 10^s, with `digits` significant digits and
/// some; exact while it has no more.
fn power_digits(base: &Decimal, times: u32, digits: u32) -> (BigInt, i64) {
    let bits = u64::from(fixed::bits_for(digits as i32));
    let cut = |m: BigInt, shift: i64| {
        let excess = m.bits().saturating_sub(bits);
        let drop = (excess as f64 * std::f64::consts::LOG10_2) as u32;
        if drop == 0 { (m, shift) } else { (m / power_of_ten(drop), shift - i64::from(drop)) }
    };
    let (mut square, mut square_shift) = cut(base.unscaled.to_big(), base.dscale.into());
    let (mut product, mut shift) = (BigInt::one(), 0);
    let mut rest = times;
    loop {
        if rest & 1 == 1 {
            (product, shift) = cut(product * &square, shift + square_shift);
        }
        rest >>= 1;
        if rest == 0 {
            return (product, shift);
        }
        (square, square_shift) = cut(&square * &square, 2 * square_shift);
    }
}

/// 1 / (m / 10^shift) with `scale` digits.
fn reciprocal(m: &BigInt, shift: i64, scale: u16) -> Decimal {
    let power = shift + i64::from(scale);
    let unscaled = if power >= 0 {
        divide_big_rounding(&power_of_ten(power as u32), m)
    } else {
        BigInt::zero()
    };
    Decimal::from_big(unscaled, scale)
}

/// A shift that can be undone without filling the memory.
fn clamp_shift(shift: i64) -> Result<i32> {
    if shift < -400_000 {
        return Err(overflow());
    }
    i32::try_from(shift).map_err(|_| overflow())
}
