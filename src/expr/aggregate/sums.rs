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
//! - bits: from 2 on, how often each bit is set, the lowest first.
//! - strings of bits: from 2 on, how many have each length, so that different ones are found;
//!   from [`SET_BITS`] on how often each bit is set.
//! - floats: 2, 3, 4 and 5 count NaN, infinity, -infinity and -0 (nothing but -0 adds up to -0);
//!   from 6 on a fixed-point number in limbs of 64 bits ([`super::exact`]).
//! - numerics: 1, 2 and 3 count NaN, Infinity and -Infinity; the others by display scale, so that
//!   a sum has the largest scale of the numbers now present, also after larger ones have left. For
//!   scale `s`, `4 + 2s` is the count and `5 + 2s` the lowest limb of the sum times 10^s; higher
//!   limbs, 64 bits each, stand from [`HIGH_LIMBS`] on.
//!
//! Those with squares have further parts for the sums of squares; pairs have a block of parts for
//! each argument ([`super::exact`]) and a third one for the sum of their products.

use bumpalo::Bump;
use num_bigint::{BigInt, Sign};

use super::exact::{self, BLOCK, Exact};
use super::statistics;
use super::{AggFunc, Paired};
use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::functions::bits::different_sizes;
use crate::repr::datetime::interval_divide;
use crate::repr::numeric::{Numeric, NumericRef};
use crate::repr::{BitsRef, Datum, Interval, ScalarType};

/// How the arguments of an aggregate are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // See the module.
pub enum Kind {
    Count,
    Int,
    Bool,
    Bits,
    BitStrings,
    Interval,
    Float,
    Numeric,
    IntSquares,
    FloatSquares,
    NumericSquares,
    Pairs,
}

/// A part of a sum and its coefficient.
pub type Part = (u64, i128);

/// The number of arguments that are not NULL; not for numerics.
const COUNT: u64 = 1;
/// The first part of a sum.
const SUM: u64 = 2;

const NUMERIC_NAN: u64 = 1;
const NUMERIC_INFINITY: u64 = 2;
const NUMERIC_NEGATIVE_INFINITY: u64 = 3;
const NUMERIC_SCALES: u64 = 4;
/// The second lowest and higher limbs of the sums of numerics, [`LIMBS_PER_SCALE`] a scale.
const HIGH_LIMBS: u64 = 1 << 16;
const LIMBS_PER_SCALE: u64 = 1 << 14;
/// The sums of squares of numerics, [`SQUARE_LIMBS_PER_SCALE`] for each scale of the arguments.
const NUMERIC_SQUARES: u64 = 1 << 40;
const SQUARE_LIMBS_PER_SCALE: u64 = 1 << 16;

/// The counts of set bits in strings of them.
const SET_BITS: u64 = 1 << 32;

/// The two limbs of a sum of squares of integers.
const INT_SQUARES: u64 = 3;

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

    /// How arguments of that type are summed with their squares.
    pub fn squares_of(ty: ScalarType) -> Kind {
        match Kind::of_type(ty) {
            Kind::Int => Kind::IntSquares,
            Kind::Float => Kind::FloatSquares,
            _ => Kind::NumericSquares,
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
        if !matches!(self, Kind::Numeric | Kind::NumericSquares) {
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
            (Kind::Float, Datum::Float4(v)) => exact::contribute((*v).into(), &mut add),
            (Kind::Float, Datum::Float8(v)) => exact::contribute(*v, &mut add),
            (Kind::Numeric, Datum::Numeric(v)) => match v.as_small() {
                Some((unscaled, scale)) if i64::try_from(unscaled).is_ok() => {
                    let count = NUMERIC_SCALES + 2 * u64::from(scale);
                    add(count, 1);
                    add(count + 1, unscaled);
                }
                _ => contribute_numeric(&NumericRef::to_owned(*v), &mut add),
            },
            (Kind::Count, _) => {}
            _ => self.contribute_more(args, &mut add),
        }
    }

    /// As [`Kind::contribute`], for what is asked for less often.
    #[cold]
    fn contribute_more(self, args: &[Datum<'_>], add: &mut impl FnMut(u64, i128)) {
        match (self, args) {
            (Kind::Bits, [datum]) => {
                let bits = integer_of(datum).unwrap_or(0);
                (0..64).for_each(|at| add(SUM + at, (bits >> at & 1).into()));
            }
            (Kind::BitStrings, [Datum::Bits(bits)]) => {
                add(SUM + bits.len() as u64, 1);
                let set = (0..bits.len()).filter(|at| bits.bit(*at));
                set.for_each(|at| add(SET_BITS + at as u64, 1));
            }
            (Kind::IntSquares, [datum]) => {
                let value = i128::from(integer_of(datum).unwrap_or(0));
                let square = (value * value).unsigned_abs();
                add(SUM, value);
                add(INT_SQUARES, (square as u64).into());
                add(INT_SQUARES + 1, ((square >> 64) as u64).into());
            }
            (Kind::FloatSquares, [datum]) => exact::contribute_moments(float_of(datum), add),
            (Kind::NumericSquares, [Datum::Numeric(v)]) => {
                let value = NumericRef::to_owned(*v);
                contribute_numeric(&value, add);
                if let Numeric::Finite(decimal) = value {
                    let square = decimal.unscaled().pow(2);
                    let first =
                        NUMERIC_SQUARES + u64::from(decimal.dscale()) * SQUARE_LIMBS_PER_SCALE;
                    for (k, limb) in square.to_u64_digits().1.into_iter().enumerate() {
                        add(first + k as u64, limb.into());
                    }
                }
            }
            (Kind::Pairs, [first, second]) => {
                let (x, y) = (float_of(first), float_of(second));
                exact::contribute_moments(x, add);
                exact::contribute_moments(y, &mut |part, n| add(BLOCK + part, n));
                if x.is_finite() && y.is_finite() {
                    exact::contribute_product(x, y, |limb, n| add(2 * BLOCK + limb, n));
                }
            }
            _ => {}
        }
    }
}

fn integer_of(datum: &Datum<'_>) -> Option<i64> {
    match datum {
        Datum::Int2(v) => Some((*v).into()),
        Datum::Int4(v) => Some((*v).into()),
        Datum::Int8(v) => Some(*v),
        _ => None,
    }
}

fn float_of(datum: &Datum<'_>) -> f64 {
    match datum {
        Datum::Float4(v) => (*v).into(),
        Datum::Float8(v) => *v,
        _ => f64::NAN,
    }
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
    let count = count(kind, parts);
    if matches!(func, AggFunc::CountStar | AggFunc::Count) {
        return to_int8(count);
    }
    if func == AggFunc::Paired(Paired::RegrCount) {
        return to_int8(count);
    }
    if count <= 0 {
        return Ok(Datum::Null);
    }
    Ok(match func {
        AggFunc::BoolAnd => Datum::Bool(part(parts, SUM) == count),
        AggFunc::BoolOr => Datum::Bool(part(parts, SUM) > 0),
        AggFunc::BitAnd(ScalarType::Bit) => bit_string("AND", parts, |n| n == count, arena)?,
        AggFunc::BitOr(ScalarType::Bit) => bit_string("OR", parts, |n| n > 0, arena)?,
        AggFunc::BitXor(ScalarType::Bit) => bit_string("XOR", parts, |n| n % 2 != 0, arena)?,
        AggFunc::BitAnd(ty) => bits(ty, parts, |n| n == count),
        AggFunc::BitOr(ty) => bits(ty, parts, |n| n > 0),
        AggFunc::BitXor(ty) => bits(ty, parts, |n| n % 2 != 0),
        AggFunc::Sum(ty) => match ty {
            ScalarType::Int2 | ScalarType::Int4 => to_int8(part(parts, SUM))?,
            ScalarType::Int8 => {
                Datum::Numeric(Numeric::from_i128(part(parts, SUM)).encode_in(arena))
            }
            ScalarType::Float4 => Datum::Float4(exact::sum(parts, count, Exact::to_f32)?),
            ScalarType::Float8 => Datum::Float8(exact::sum(parts, count, Exact::to_f64)?),
            ScalarType::Interval => Datum::Interval(interval_sum(parts)?),
            _ => Datum::Numeric(numeric_sum(parts).encode_in(arena)),
        },
        AggFunc::Avg(ty) => match ty {
            ScalarType::Float4 | ScalarType::Float8 => Datum::Float8(exact::mean(parts, count)?),
            ScalarType::Interval => {
                Datum::Interval(interval_divide(&interval_sum(parts)?, count as f64)?)
            }
            ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8 => {
                average(&Numeric::from_i128(part(parts, SUM)), count, arena)?
            }
            _ => average(&numeric_sum(parts), count, arena)?,
        },
        AggFunc::Variance(spread) | AggFunc::Stddev(spread) => {
            let root = matches!(func, AggFunc::Stddev(_));
            let spread = (spread.sample, root);
            match kind {
                Kind::FloatSquares => statistics::float_spread(parts, count, spread)?,
                Kind::IntSquares => {
                    let sum = Numeric::from_i128(part(parts, SUM));
                    let squares = exact::integer(parts, INT_SQUARES, INT_SQUARES + 2);
                    statistics::numeric_spread(&sum, squares, count, spread, arena)?
                }
                _ => {
                    let (sum, squares) = (numeric_sum(parts), numeric_squares(parts));
                    statistics::numeric_spread(&sum, squares, count, spread, arena)?
                }
            }
        }
        AggFunc::Paired(paired) => statistics::paired(paired, parts, count)?,
        // The others are no sums.
        _ => Datum::Null,
    })
}

/// The number of rows that took part.
fn count(kind: Kind, parts: &[Part]) -> i128 {
    match kind {
        Kind::Numeric | Kind::NumericSquares => numeric_count(parts),
        _ => part(parts, COUNT),
    }
}

/// The integer of the bits that are set so often as asked for.
fn bits<'a>(ty: ScalarType, parts: &[Part], is_set: impl Fn(i128) -> bool) -> Datum<'a> {
    let bits = (0..64).filter(|at| is_set(part(parts, SUM + at))).fold(0, |all, at| all | 1 << at);
    match ty {
        ScalarType::Int2 => Datum::Int2(bits as i16),
        ScalarType::Int4 => Datum::Int4(bits as i32),
        _ => Datum::Int8(bits),
    }
}

/// The string of the bits that are set so often as asked for; all strings have one length.
fn bit_string<'a>(
    verb: &str,
    parts: &[Part],
    is_set: impl Fn(i128) -> bool,
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let lengths = parts.iter().filter(|(part, n)| (SUM..SET_BITS).contains(part) && *n != 0);
    let lengths: Vec<u64> = lengths.map(|(part, _)| part - SUM).collect();
    let [length] = lengths[..] else { return Err(different_sizes(verb)) };
    let set: Vec<u64> = parts
        .iter()
        .filter(|(part, n)| *part >= SET_BITS && is_set(*n))
        .map(|(part, _)| part - SET_BITS)
        .collect();
    let bit = |at: usize| set.binary_search(&(at as u64)).is_ok();
    Ok(Datum::Bits(BitsRef::make(length as usize, arena, bit)))
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
        let of_sum = |(part, _): &&Part| (NUMERIC_SCALES..NUMERIC_SQUARES).contains(part);
        parts.iter().filter(of_sum).map(|(part, n)| {
            let (scale, limb) = scale_and_limb(*part);
            (scale, limb, *n)
        })
    };
    let scale = numeric_scale(parts);
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

/// The largest display scale of the numerics that are there.
fn numeric_scale(parts: &[Part]) -> u64 {
    let counts = parts.iter().filter(|(part, n)| {
        (NUMERIC_SCALES..HIGH_LIMBS).contains(part) && part.is_multiple_of(2) && *n > 0
    });
    counts.map(|(part, _)| (part - NUMERIC_SCALES) / 2).max().unwrap_or(0)
}

/// The sum of the squares of finite numerics, in twice the scale of their sum.
fn numeric_squares(parts: &[Part]) -> BigInt {
    let scale = numeric_scale(parts);
    let mut sum = BigInt::ZERO;
    for (part, n) in parts.iter().filter(|(part, _)| *part >= NUMERIC_SQUARES) {
        let place = part - NUMERIC_SQUARES;
        let (of, limb) = (place / SQUARE_LIMBS_PER_SCALE, place % SQUARE_LIMBS_PER_SCALE);
        let raise = BigInt::from(10).pow(2 * scale.saturating_sub(of) as u32);
        sum += (BigInt::from(*n) << (64 * limb)) * raise;
    }
    sum
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
