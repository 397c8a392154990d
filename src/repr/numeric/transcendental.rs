//! Roots, exponentials and logarithms.
//!
//! Results are correctly rounded to PostgreSQL's scale: at least sixteen significant digits by an
//! estimate of the size, at least the scale of the argument, at most a thousand digits.

use std::cmp::Ordering;
use std::f64::consts::LOG10_E;

use num_traits::ToPrimitive;

use super::arith::{MAX_DISPLAY_SCALE, MIN_SIG_DIGITS, division_by_zero, overflow};
use super::decimal::{Decimal, Numeric, Unscaled};
use super::fixed;
use crate::error::{Error, Result, SqlState};

/// The exponential of a number this large is an error, as in PostgreSQL.
pub(super) const MAX_EXPONENT: f64 = 6000.0;

/// `scale` within what an inexact result may have, and at least the scale of an argument.
pub(super) fn result_scale(scale: i32, arguments: &[&Decimal]) -> u16 {
    let least = arguments.iter().map(|a| a.dscale).max().unwrap_or(0);
    scale.max(least.into()).clamp(0, MAX_DISPLAY_SCALE) as u16
}

impl Decimal {
    /// The natural logarithm as a double, for numbers above zero.
    pub(super) fn ln_estimate(&self) -> f64 {
        let ln_unscaled = match &self.unscaled {
            Unscaled::Small(v) => (*v as f64).ln(),
            Unscaled::Big(v) => {
                let shift = v.bits().saturating_sub(64);
                let top = (v >> shift).to_f64().unwrap_or(1.0);
                top.ln() + shift as f64 * std::f64::consts::LN_2
            }
        };
        ln_unscaled - f64::from(self.dscale) * std::f64::consts::LN_10
    }

    /// PostgreSQL's estimate of the power of ten of the logarithm's first digit.
    pub(super) fn ln_weight(&self) -> i32 {
        let near_one = self.compare(&Decimal::new(9, 1)) != Ordering::Less
            && self.compare(&Decimal::new(11, 1)) != Ordering::Greater;
        if near_one {
            // ln(1 + x) is about x there.
            let (here, one) = self.aligned(&Decimal::new(1, 0));
            Decimal::from_big(here - one, self.dscale).magnitude().unwrap_or(0)
        } else {
            self.ln_estimate().abs().log10() as i32
        }
    }

    /// e^self with `scale` digits.
    pub(super) fn exp_with_scale(&self, scale: u16) -> Result<Decimal> {
        let size = Numeric::Finite(self.clone()).to_f64_lossy();
        if size.abs() >= MAX_EXPONENT {
            if size > 0.0 {
                return Err(overflow());
            }
            return Ok(Decimal::new(0, scale));
        }
        let bits = fixed::bits_for(i32::from(scale) + (size * LOG10_E) as i32);
        let (m, exponent) = fixed::exp(&fixed::from_decimal(self, bits), bits);
        Ok(fixed::to_decimal(&m, bits, exponent, scale))
    }

    /// The square root with `scale` digits behind the point; the number is not negative.
    fn sqrt(&self, scale: u16) -> Decimal {
        // The root of v·10^(2s) is the root of v times 10^s; one digit more decides the rounding.
        let more = 2 * (i32::from(scale) + 1) - i32::from(self.dscale);
        let square = Decimal::truncated(self.unscaled.clone(), 0, more).unscaled.into_big();
        let root = Unscaled::from_big(square.sqrt());
        Decimal::rescaled(root, i32::from(scale) + 1, scale.into())
    }
}

fn logarithm_of(what: &str) -> Error {
    let message = format!("cannot take logarithm of {what}");
    Error::new(SqlState::INVALID_LOGARITHM_ARGUMENT, message)
}

/// Fails where a number has no logarithm.
fn check_logarithm(sign: Option<i32>) -> Result<()> {
    match sign {
        Some(0) => Err(logarithm_of("zero")),
        Some(-1) => Err(logarithm_of("a negative number")),
        _ => Ok(()),
    }
}

impl Numeric {
    /// The square root.
    pub fn sqrt(&self) -> Result<Numeric> {
        if self.sign() == Some(-1) {
            return Err(Error::new(
                SqlState::INVALID_POWER_ARGUMENT,
                "cannot take square root of a negative number",
            ));
        }
        let Numeric::Finite(d) = self else { return Ok(self.clone()) };
        let weight = d.magnitude().unwrap_or(0).div_euclid(4);
        d.sqrt(result_scale(MIN_SIG_DIGITS - ((weight + 1) * 2 - 1), &[d])).checked()
    }

    /// The square root with `scale` digits behind the point, of a number that is not negative.
    pub fn sqrt_to(&self, scale: u16) -> Numeric {
        match self {
            Numeric::Finite(d) => Numeric::Finite(d.sqrt(scale)),
            other => other.clone(),
        }
    }

    /// e^self.
    pub fn exp(&self) -> Result<Numeric> {
        match self {
            Numeric::NegativeInfinity => Ok(Numeric::ZERO),
            Numeric::Finite(d) => {
                let size = self.to_f64_lossy() * LOG10_E;
                let scale = result_scale(MIN_SIG_DIGITS - size.clamp(-2000.0, 2000.0) as i32, &[d]);
                d.exp_with_scale(scale)?.checked()
            }
            special => Ok(special.clone()),
        }
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Numeric> {
        check_logarithm(self.sign())?;
        let Numeric::Finite(d) = self else { return Ok(self.clone()) };
        let scale = result_scale(MIN_SIG_DIGITS - d.ln_weight(), &[d]);
        let bits = fixed::bits_for(scale.into());
        fixed::to_decimal(&fixed::ln(d, bits), bits, 0, scale).checked()
    }

    /// The logarithm to the base ten.
    pub fn log10(&self) -> Result<Numeric> {
        self.log(&Numeric::from_i128(10))
    }

    /// The logarithm to that base.
    pub fn log(&self, base: &Numeric) -> Result<Numeric> {
        if self.is_nan() || base.is_nan() {
            return Ok(Numeric::NaN);
        }
        // Of two finite numbers the base is looked at first; otherwise signs before zeros.
        if matches!((base, self), (Numeric::Finite(_), Numeric::Finite(_))) {
            check_logarithm(base.sign())?;
        }
        let least = base.sign().min(self.sign());
        check_logarithm(least)?;
        let (base, number) = match (base, self) {
            (Numeric::Finite(base), Numeric::Finite(number)) => (base, number),
            (Numeric::Finite(_), _) => return Ok(Numeric::PositiveInfinity),
            (_, Numeric::Finite(_)) => return Ok(Numeric::ZERO),
            _ => return Ok(Numeric::NaN),
        };
        let (base_weight, number_weight) = (base.ln_weight(), number.ln_weight());
        let scale = result_scale(MIN_SIG_DIGITS - (number_weight - base_weight), &[base, number]);
        // Both logarithms need as many significant digits as the quotient, and some.
        let digits = i32::from(scale) + number_weight.abs() + 2 * base_weight.abs();
        let bits = fixed::bits_for(digits);
        let (number, base) = (fixed::ln(number, bits), fixed::ln(base, bits));
        if base.sign() == num_bigint::Sign::NoSign {
            return Err(division_by_zero());
        }
        fixed::to_decimal(&((number << bits) / base), bits, 0, scale).checked()
    }
}
