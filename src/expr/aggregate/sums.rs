//! What each aggregate that can be added up keeps of a row, and what it answers.
//!
//! A row's contribution is a list of coefficients by part ([`crate::expr::coefficients`]), which
//! are added part by part; so sums are exact, do not depend on the order of the rows, and rows can
//! be taken away again. Parts by kind, part 1 being the count of arguments that are not NULL unless
//! said otherwise:
//!
//! - integers: 2 is the sum, exact in 128 bits.
//! - booleans: 2 counts the true ones.
//! - intervals: 2, 3 and 4 are months, days and microseconds.
//! - floats: 2, 3, 4 and 5 count NaN, infinity, -infinity and -0 (nothing but -0 adds up to -0);
//!   from 6 on a fixed-point number in limbs of 64 bits, the lowest of which begins at 2^-1074. The
//!   sum is exact, and rounded once.
//! - numerics: 1, 2 and 3 count NaN, Infinity and -Infinity; the others by display scale, so that
//!   a sum has the largest scale of the numbers now present, also after larger ones have left. For
//!   scale `s`, `4 + 2s` is the count and `5 + 2s` the lowest limb of the sum times 10^s; higher
//!   limbs, 64 bits each, stand from [`HIGH_LIMBS`] on.

use bumpalo::Bump;
use num_bigint::{BigInt, Sign};
use num_traits::ToPrimitive;

use super::AggFunc;
use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::repr::datetime::interval_divide;
use crate::repr::numeric::{Numeric, NumericRef};
use crate::repr::{Datum, Interval, ScalarType};

/// How the arguments of an aggregate are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // See the module.
pub enum Kind {
    Count,
    Int,
    Bool,
    Interval,
    Float,
    Numeric,
}

/// A part of a sum and its coefficient.
pub type Part = (u64, i128);

/// The number of arguments that are not NULL; not for numerics.
const COUNT: u64 = 1;
/// The first part of a sum.
const SUM: u64 = 2;

const FLOAT_NAN: u64 = 2;
const FLOAT_INFINITY: u64 = 3;
const FLOAT_NEGATIVE_INFINITY: u64 = 4;
const FLOAT_NEGATIVE_ZERO: u64 = 5;
const FLOAT_LIMBS: u64 = 6;

const NUMERIC_NAN: u64 = 1;
const NUMERIC_INFINITY: u64 = 2;
const NUMERIC_NEGATIVE_INFINITY: u64 = 3;
const NUMERIC_SCALES: u64 = 4;
/// The second lowest and higher limbs of the sums of numerics, [`LIMBS_PER_SCALE`] a scale.
const HIGH_LIMBS: u64 = 1 << 16;
const LIMBS_PER_SCALE: u64 = 1 << 14;

impl Kind {
    /// How arguments of that type are summed for their sum or mean.
    pub fn of_type(ty: ScalarType) -> Kind {
        use ScalarType::*;
        match ty {
            Int2 | Int4 | Int8 => Kind::Int,
            Float4 | Float8 => Kind::Float,
            Interval => Kind::Interval,
            _ => Kind::Numeric,
        }
    }

    /// Gives `add` what a row with these arguments contributes, parts ascending.
    #[inline]
    pub fn contribute(self, args: &[Datum<'_>], mut add: impl FnMut(u64, i128)) {
        let Some(datum) = args.first() else {
            return add(COUNT, 1);
        };
        if datum.is_null() {
            return;
        }
        if self != Kind::Numeric {
            add(COUNT, 1);
        }
        match (self, datum) {
            (Kind::Int, Datum::Int2(v)) => add(SUM, (*v).into()),
            (Kind::Int, Datum::Int4(v)) => add(SUM, (*v).into()),
            (Kind::Int, Datum::Int8(v)) => add(SUM, (*v).into()),
            (Kind::Bool, Datum::Bool(v)) => add(SUM, (*v).into()),
            (Kind::Interval, Datum::Interval(v)) => {
                add(SUM, v.months.into());
                add(SUM + 1, v.days.into());
                add(SUM + 2, v.micros.into());
            }
            (Kind::Float, Datum::Float4(v)) => contribute_float((*v).into(), &mut add),
            (Kind::Float, Datum::Float8(v)) => contribute_float(*v, &mut add),
            (Kind::Numeric, Datum::Numeric(v)) => match v.as_small() {
                Some((unscaled, scale)) if i64::try_from(unscaled).is_ok() => {
                    let count = NUMERIC_SCALES + 2 * u64::from(scale);
                    add(count, 1);
                    add(count + 1, unscaled);
                }
                _ => contribute_numeric(&NumericRef::to_owned(*v), &mut add),
            },
            // A count looks at no value.
            _ => {}
        }
    }
}

fn contribute_float(value: f64, add: &mut impl FnMut(u64, i128)) {
    if value.is_nan() {
        return add(FLOAT_NAN, 1);
    }
    if value.is_infinite() {
        return add(if value > 0.0 { FLOAT_INFINITY } else { FLOAT_NEGATIVE_INFINITY }, 1);
    }
    let bits = value.to_bits();
    if bits == (-0.0f64).to_bits() {
        return add(FLOAT_NEGATIVE_ZERO, 1);
    }
    let exponent = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    // The value is `mantissa * 2^(position - 1074)`.
    let (mantissa, position) =
        if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
    let wide = u128::from(mantissa) << (position % 64);
    let sign = if value < 0.0 { -1 } else { 1 };
    let part = FLOAT_LIMBS + position / 64;
    add(part, sign * i128::from(wide as u64));
    add(part + 1, sign * i128::from((wide >> 64) as u64));
}

#[cold]
fn contribute_numeric(value: &Numeric, add: &mut impl FnMut(u64, i128)) {
    let decimal = match value {
        Numeric::NaN => return add(NUMERIC_NAN, 1),
        Numeric::PositiveInfinity => return add(NUMERIC_INFINITY, 1),
        Numeric::NegativeInfinity => return add(NUMERIC_NEGATIVE_INFINITY, 1),
        Numeric::Finite(decimal) => decimal,
    };
    let scale = u64::from(decimal.dscale());
    let (sign, limbs) = decimal.unscaled().to_u64_digits();
    let sign = if sign == Sign::Minus { -1 } else { 1 };
    add(NUMERIC_SCALES + 2 * scale, 1);
    for (k, limb) in limbs.into_iter().enumerate() {
        let part = match k {
            0 => NUMERIC_SCALES + 2 * scale + 1,
            k => HIGH_LIMBS + scale * LIMBS_PER_SCALE + k as u64,
        };
        add(part, sign * i128::from(limb));
    }
}

/// The result of an aggregate over its parts, ascending.
pub fn answer<'a>(
    func: AggFunc,
    kind: Kind,
    parts: &[Part],
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let count = if kind == Kind::Numeric { numeric_count(parts) } else { part(parts, COUNT) };
    if matches!(func, AggFunc::CountStar | AggFunc::Count) {
        return to_int8(count);
    }
    if count <= 0 {
        return Ok(Datum::Null);
    }
    Ok(match func {
        AggFunc::BoolAnd => Datum::Bool(part(parts, SUM) == count),
        AggFunc::BoolOr => Datum::Bool(part(parts, SUM) > 0),
        AggFunc::Sum(ty) => match ty {
            ScalarType::Int2 | ScalarType::Int4 => to_int8(part(parts, SUM))?,
            ScalarType::Int8 => {
                Datum::Numeric(Numeric::from_i128(part(parts, SUM)).encode_in(arena))
            }
            ScalarType::Float4 => Datum::Float4(float_sum(parts, Exact::to_f32)?),
            ScalarType::Float8 => Datum::Float8(float_sum(parts, Exact::to_f64)?),
            ScalarType::Interval => Datum::Interval(interval_sum(parts)?),
            _ => Datum::Numeric(numeric_sum(parts).encode_in(arena)),
        },
        AggFunc::Avg(ty) => match ty {
            ScalarType::Float4 | ScalarType::Float8 => {
                Datum::Float8(float_sum(parts, Exact::to_f64)? / count as f64)
            }
            ScalarType::Interval => {
                Datum::Interval(interval_divide(&interval_sum(parts)?, count as f64)?)
            }
            ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => {
                average(&Numeric::from_i128(part(parts, SUM)), count, arena)?
            }
            _ => average(&numeric_sum(parts), count, arena)?,
        },
        // No sum is asked for these.
        AggFunc::CountStar | AggFunc::Count | AggFunc::Min(_) | AggFunc::Max(_) => Datum::Null,
    })
}

/// The number of arguments that were not NULL, in a slot of numerics.
fn numeric_count(parts: &[Part]) -> i128 {
    let counts = |part: u64| match part {
        0 => false,
        NUMERIC_NAN | NUMERIC_INFINITY | NUMERIC_NEGATIVE_INFINITY => true,
        part => part < HIGH_LIMBS && part.is_multiple_of(2),
    };
    parts.iter().filter(|(part, _)| counts(*part)).map(|(_, n)| n).sum()
}

fn part(parts: &[Part], part: u64) -> i128 {
    parts.iter().find(|(other, _)| *other == part).map_or(0, |(_, n)| *n)
}

/// An int8, where the number is one.
pub fn to_int8<'a>(value: i128) -> Result<Datum<'a>, EvalError> {
    let narrow = i64::try_from(value)
        .map_err(|_| EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range"))?;
    Ok(Datum::Int8(narrow))
}

fn average<'a>(sum: &Numeric, count: i128, arena: &'a Bump) -> Result<Datum<'a>, EvalError> {
    Ok(Datum::Numeric(sum.div(&Numeric::from_i128(count))?.encode_in(arena)))
}

fn interval_sum(parts: &[Part]) -> Result<Interval, EvalError> {
    let out_of_range =
        |_| EvalError::new(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range");
    Ok(Interval {
        months: i32::try_from(part(parts, SUM)).map_err(out_of_range)?,
        days: i32::try_from(part(parts, SUM + 1)).map_err(out_of_range)?,
        micros: i64::try_from(part(parts, SUM + 2)).map_err(out_of_range)?,
    })
}

/// The sum of numerics, in the largest scale that is present.
fn numeric_sum(parts: &[Part]) -> Numeric {
    let (infinity, negative) =
        (part(parts, NUMERIC_INFINITY) > 0, part(parts, NUMERIC_NEGATIVE_INFINITY) > 0);
    if part(parts, NUMERIC_NAN) > 0 || (infinity && negative) {
        return Numeric::NaN;
    }
    if infinity {
        return Numeric::PositiveInfinity;
    }
    if negative {
        return Numeric::NegativeInfinity;
    }
    let finite = || {
        parts.iter().filter(|(part, _)| *part >= NUMERIC_SCALES).map(|(part, n)| {
            let (scale, limb) = scale_and_limb(*part);
            (scale, limb, *n)
        })
    };
    let counts = finite().filter(|(_, limb, n)| limb.is_none() && *n > 0);
    let scale = counts.map(|(scale, ..)| scale).max().unwrap_or(0);
    let sums = || finite().filter_map(|(scale, limb, n)| Some((scale, limb?, n)));
    let mut one = sums();
    match (one.next(), one.next()) {
        (None, _) => return Numeric::new(0, scale as u16),
        // What fits one limb, all in one scale: the common case.
        (Some((of, 0, n)), None) if of == scale => return Numeric::new(n, scale as u16),
        _ => {}
    }
    let mut sum = BigInt::ZERO;
    for (of, limb, n) in sums() {
        // Parts of larger scales cancel, except in states that no input has.
        let raise = BigInt::from(10).pow(scale.saturating_sub(of) as u32);
        sum += (BigInt::from(n) << (64 * limb)) * raise;
    }
    Numeric::from_big(sum, scale as u16)
}

/// The display scale of a part, and its limb unless it is a count.
fn scale_and_limb(part: u64) -> (u64, Option<u64>) {
    if part >= HIGH_LIMBS {
        let place = part - HIGH_LIMBS;
        return (place / LIMBS_PER_SCALE, Some(place % LIMBS_PER_SCALE));
    }
    let place = part - NUMERIC_SCALES;
    (place / 2, (!place.is_multiple_of(2)).then_some(0))
}

/// The sum of floats, rounded once by `round`.
fn float_sum<F: FloatSum>(parts: &[Part], round: fn(&Exact) -> Option<F>) -> Result<F, EvalError> {
    let (infinity, negative) =
        (part(parts, FLOAT_INFINITY) > 0, part(parts, FLOAT_NEGATIVE_INFINITY) > 0);
    if part(parts, FLOAT_NAN) > 0 || (infinity && negative) {
        return Ok(F::NAN);
    }
    if infinity {
        return Ok(F::INFINITY);
    }
    if negative {
        return Ok(F::NEGATIVE_INFINITY);
    }
    let negative_zeros = part(parts, FLOAT_NEGATIVE_ZERO);
    if negative_zeros > 0 && negative_zeros == part(parts, COUNT) {
        return Ok(F::NEGATIVE_ZERO);
    }
    let mut sum = BigInt::ZERO;
    for (part, n) in parts.iter().filter(|(part, _)| *part >= FLOAT_LIMBS) {
        sum += BigInt::from(*n) << (64 * (part - FLOAT_LIMBS));
    }
    round(&Exact(sum)).ok_or_else(|| {
        EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
    })
}

/// The special values of a float type.
trait FloatSum {
    const NAN: Self;
    const INFINITY: Self;
    const NEGATIVE_INFINITY: Self;
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
struct Exact(BigInt);

impl Exact {
    /// The nearest float8, ties to even; none where it is too large.
    fn to_f64(&self) -> Option<f64> {
        let (mantissa, dropped) = self.round(53, 0);
        // The bits of a float count up through the exponents: 2^52 more is one exponent more, from
        // the subnormal numbers on. So rounding up to the next power of two is right, too.
        let bits = mantissa.checked_add(dropped.checked_mul(1 << 52)?)?;
        let finite = bits < f64::INFINITY.to_bits();
        finite.then(|| self.signed(f64::from_bits(bits)))
    }

    /// The nearest float4.
    fn to_f32(&self) -> Option<f32> {
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
