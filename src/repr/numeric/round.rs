//! Rounding, scales and type modifiers.

use num_integer::Integer;

use super::arith::{divide_big_rounding, divide_rounding, overflow};
use super::decimal::{Decimal, Numeric, Unscaled, power_of_ten, small_power};
use crate::error::{Error, Result, SqlState};

/// What PostgreSQL limits the argument of `round` and `trunc` to.
const MAX_RESULT_SCALE: i32 = 2000;

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Halves away from zero.
    Round,
    /// Towards zero.
    Trunc,
    /// Towards −∞.
    Floor,
    /// Towards ∞.
    Ceil,
}

impl Decimal {
    /// `unscaled / 10^from` with `to` digits behind the point, which may be negative.
    pub(super) fn rescaled(unscaled: Unscaled, from: i32, to: i32) -> Decimal {
        rescale(unscaled, from, to, Mode::Round)
    }

    /// As [`Decimal::rescaled`], further digits being dropped.
    pub(super) fn truncated(unscaled: Unscaled, from: i32, to: i32) -> Decimal {
        rescale(unscaled, from, to, Mode::Trunc)
    }

    fn with_scale(&self, scale: i32, mode: Mode) -> Decimal {
        rescale(self.unscaled.clone(), self.dscale.into(), scale, mode)
    }

    /// Rounded to `scale` digits behind the point, or before it where negative.
    pub(super) fn round_to(&self, scale: i32) -> Decimal {
        self.with_scale(scale, Mode::Round)
    }

    /// The integer part, whose scale is zero.
    pub(super) fn integer(&self) -> Unscaled {
        self.with_scale(0, Mode::Trunc).unscaled
    }

    /// Whether there is nothing but zeros behind the point.
    pub(super) fn is_integral(&self) -> bool {
        self.trim_scale().dscale == 0
    }
}

fn rescale(unscaled: Unscaled, from: i32, to: i32, mode: Mode) -> Decimal {
    let dscale = to.max(0) as u16;
    if to >= from {
        return Decimal { unscaled: unscaled.scale_up((to - from) as u32), dscale };
    }
    let drop = (from - to) as u32;
    let kept = match unscaled {
        Unscaled::Small(v) => match small_power(drop) {
            Some(power) if v != i128::MIN => Unscaled::Small(match mode {
                Mode::Round => divide_rounding(v, power),
                Mode::Trunc => v / power,
                Mode::Floor => v.div_euclid(power),
                Mode::Ceil => -(-v).div_euclid(power),
            }),
            _ => rescale_big(v.into(), drop, mode),
        },
        Unscaled::Big(v) => rescale_big(v, drop, mode),
    };
    // Digits that were dropped before the point come back as zeros.
    let unscaled = if to < 0 { kept.scale_up(-to as u32) } else { kept };
    Decimal { unscaled, dscale }
}

fn rescale_big(v: num_bigint::BigInt, drop: u32, mode: Mode) -> Unscaled {
    let power = power_of_ten(drop);
    Unscaled::from_big(match mode {
        Mode::Round => divide_big_rounding(&v, &power),
        Mode::Trunc => v / power,
        Mode::Floor => v.div_floor(&power),
        Mode::Ceil => v.div_ceil(&power),
    })
}

impl Numeric {
    fn rounded(&self, scale: i32, mode: Mode) -> Result<Numeric> {
        match self {
            Numeric::Finite(d) => {
                let scale = scale.clamp(-MAX_RESULT_SCALE, MAX_RESULT_SCALE);
                d.with_scale(scale, mode).checked()
            }
            special => Ok(special.clone()),
        }
    }

    /// With `scale` digits behind the point, halves away from zero; negative scales count digits
    /// before it.
    pub fn round(&self, scale: i32) -> Result<Numeric> {
        self.rounded(scale, Mode::Round)
    }

    /// With `scale` digits behind the point, the others dropped.
    pub fn trunc(&self, scale: i32) -> Result<Numeric> {
        self.rounded(scale, Mode::Trunc)
    }

    /// The least integer not below.
    pub fn ceil(&self) -> Result<Numeric> {
        self.rounded(0, Mode::Ceil)
    }

    /// The greatest integer not above.
    pub fn floor(&self) -> Result<Numeric> {
        self.rounded(0, Mode::Floor)
    }

    /// How many digits are printed behind the point; none for what is not finite.
    pub fn scale(&self) -> Option<i32> {
        match self {
            Numeric::Finite(d) => Some(d.dscale.into()),
            _ => None,
        }
    }

    /// How many digits behind the point are needed; none for what is not finite.
    pub fn min_scale(&self) -> Option<i32> {
        match self {
            Numeric::Finite(d) => Some(d.trim_scale().dscale.into()),
            _ => None,
        }
    }

    /// Without zeros at the end behind the point.
    pub fn trim_scale(&self) -> Numeric {
        match self {
            Numeric::Finite(d) => Numeric::Finite(d.trim_scale()),
            special => special.clone(),
        }
    }

    /// As a column `numeric(p, s)` keeps it; `typmod` is PostgreSQL's, negative for `numeric`.
    pub fn with_typmod(self, typmod: i32) -> Result<Numeric> {
        let Some((precision, scale)) = typmod_parts(typmod) else { return Ok(self) };
        let d = match self {
            Numeric::Finite(d) => d,
            Numeric::NaN => return Ok(Numeric::NaN),
            _ => {
                return Err(field_overflow(format!(
                    "A field with precision {precision}, scale {scale} cannot hold an infinite \
                     value."
                )));
            }
        };
        let d = if i32::from(d.dscale) == scale { d } else { d.round_to(scale) };
        let most = precision - scale;
        if d.magnitude().is_some_and(|m| m >= most) {
            let bound = if most == 0 { "1".to_owned() } else { format!("10^{most}") };
            return Err(field_overflow(format!(
                "A field with precision {precision}, scale {scale} must round to an absolute \
                 value less than {bound}."
            )));
        }
        Ok(Numeric::Finite(d))
    }

    /// Fails where PostgreSQL cannot hold the number: too many digits on either side of the point.
    pub(super) fn in_format(self) -> Result<Numeric> {
        match self {
            Numeric::Finite(d) if d.dscale > super::arith::MAX_DSCALE => Err(overflow()),
            Numeric::Finite(d) => d.checked(),
            special => Ok(special),
        }
    }
}

/// Precision and scale of a type modifier of `numeric`.
pub fn typmod_parts(typmod: i32) -> Option<(i32, i32)> {
    let packed = typmod - 4;
    // The scale is eleven bits, signed.
    (packed >= 0).then(|| (packed >> 16 & 0xffff, ((packed & 0x7ff) ^ 1024) - 1024))
}

fn field_overflow(detail: String) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(detail)
}
