//! Variances, covariances and regressions of exact sums.
//!
//! The formulas are PostgreSQL's (`numeric.c`, `float.c`); where it carries rounded sums along,
//! these are exact. The sum of squared deviations, times the number of rows, is
//! `n·Σx² − (Σx)²`.

use bumpalo::Bump;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};

use super::Paired;
use super::exact::{self, BLOCK, Moments, overflow, quotient};
use super::sums::Part;
use crate::expr::error::EvalError;
use crate::repr::Datum;
use crate::repr::numeric::Numeric;

/// The variance of numerics or integers, or its root, by their sum and the sum of their squares,
/// which has twice its scale. `spread` is whether they are a sample, and whether the root is asked
/// for.
pub fn numeric_spread<'a>(
    sum: &Numeric,
    squares: BigInt,
    count: i128,
    spread: (bool, bool),
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let (sample, root) = spread;
    if sample && count <= 1 {
        return Ok(Datum::Null);
    }
    let Numeric::Finite(sum) = sum else {
        return Ok(Datum::Numeric(Numeric::NaN.encode_in(arena)));
    };
    // Intermediate results may be longer than any numeric.
    let deviation = squares * count - sum.unscaled().pow(2);
    if !deviation.is_positive() {
        return Ok(Datum::Numeric(Numeric::ZERO.encode_in(arena)));
    }
    let divisor = BigInt::from(count) * (count - i128::from(sample));
    let variance =
        Numeric::from_big(deviation, 2 * sum.dscale()).div(&Numeric::from_big(divisor, 0))?;
    let answer = match (root, variance.scale()) {
        (true, Some(scale)) => variance.sqrt_to(scale as u16),
        _ => variance,
    };
    Ok(Datum::Numeric(answer.encode_in(arena)))
}

/// The variance of floats, or its root.
pub fn float_spread<'a>(
    parts: &[Part],
    count: i128,
    (sample, root): (bool, bool),
) -> Result<Datum<'a>, EvalError> {
    if sample && count <= 1 {
        return Ok(Datum::Null);
    }
    let moments = Moments::of(parts);
    if !moments.finite {
        return Ok(Datum::Float8(f64::NAN));
    }
    let deviation = deviation(&moments, count);
    checked(&deviation, count)?;
    let divisor = BigInt::from(count) * (count - i128::from(sample));
    let variance = quotient(&deviation, &divisor, false).ok_or_else(overflow)?;
    Ok(Datum::Float8(if root { variance.sqrt() } else { variance }))
}

/// The sum of squared deviations, times the number of rows.
fn deviation(of: &Moments, count: i128) -> BigInt {
    &of.squares * count - &of.sum * &of.sum
}

/// A sum of products of deviations, which comes times the number of rows.
fn checked(deviation: &BigInt, count: i128) -> Result<f64, EvalError> {
    quotient(deviation, &BigInt::from(count), false).ok_or_else(overflow)
}

/// A statistic of pairs, of which there is one at least.
pub fn paired<'a>(func: Paired, parts: &[Part], count: i128) -> Result<Datum<'a>, EvalError> {
    let block = |number: u64| -> Vec<Part> {
        let (first, end) = (number * BLOCK, (number + 1) * BLOCK);
        let of_block = parts.iter().filter(|(part, _)| (first..end).contains(part));
        of_block.map(|(part, n)| (part - first, *n)).collect()
    };
    // The dependent variable comes first.
    let (of_y, of_x) = (block(0), block(1));
    let mean = |block: &[Part]| -> Result<Datum<'a>, EvalError> {
        Ok(Datum::Float8(exact::mean(block, count)?))
    };
    match func {
        Paired::RegrAvgX => return mean(&of_x),
        Paired::RegrAvgY => return mean(&of_y),
        _ => {}
    }
    let (y, x) = (Moments::of(&of_y), Moments::of(&of_x));
    let both = exact::integer(parts, 2 * BLOCK, 3 * BLOCK);
    // NaN stands for what infinities and NaNs leave undefined.
    let xx = x.finite.then(|| deviation(&x, count));
    let yy = y.finite.then(|| deviation(&y, count));
    let xy = (x.finite && y.finite).then(|| both * count - &x.sum * &y.sum);
    for sum in [&xx, &yy, &xy].into_iter().flatten() {
        checked(sum, count)?;
    }
    let scaled = |sum: &Option<BigInt>, divisor: i128| match sum {
        None => Ok(f64::NAN),
        Some(sum) => quotient(sum, &BigInt::from(divisor), false).ok_or_else(overflow),
    };
    let is_zero = |sum: &Option<BigInt>| sum.as_ref().is_some_and(BigInt::is_zero);
    let answer = match func {
        Paired::RegrSxx => scaled(&xx, count)?,
        Paired::RegrSyy => scaled(&yy, count)?,
        Paired::RegrSxy => scaled(&xy, count)?,
        Paired::CovarPop => scaled(&xy, count * count)?,
        Paired::CovarSamp if count < 2 => return Ok(Datum::Null),
        Paired::CovarSamp => scaled(&xy, count * (count - 1))?,
        Paired::Corr if is_zero(&xx) || is_zero(&yy) => return Ok(Datum::Null),
        Paired::RegrR2 | Paired::RegrSlope | Paired::RegrIntercept if is_zero(&xx) => {
            return Ok(Datum::Null);
        }
        Paired::RegrR2 if is_zero(&yy) => 1.0,
        _ => match (xx, yy, xy) {
            (Some(xx), _, Some(xy)) if func == Paired::RegrSlope => {
                quotient(&xy, &xx, true).ok_or_else(overflow)?
            }
            (Some(xx), _, Some(xy)) if func == Paired::RegrIntercept => {
                // (Σy − Σx·xy/xx) / n
                let numerator = &y.sum * &xx - &x.sum * xy;
                let divisor = (xx * count) << 1074u32;
                quotient(&numerator, &divisor, true).ok_or_else(overflow)?
            }
            (Some(xx), Some(yy), Some(xy)) => {
                let square = quotient(&(&xy * &xy), &(xx * yy), true).unwrap_or(f64::NAN);
                match func {
                    Paired::RegrR2 => square,
                    _ if xy < BigInt::zero() => -square.sqrt(),
                    _ => square.sqrt(),
                }
            }
            _ => f64::NAN,
        },
    };
    Ok(Datum::Float8(answer))
}
