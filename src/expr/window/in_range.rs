//! How far apart two values of an order are: what `RANGE … PRECEDING` and `FOLLOWING` ask.
//!
//! These are the `in_range` functions of PostgreSQL's operator families. Each compares a value
//! with another moved by an offset, without being led astray where the sum lies outside of the
//! type; only sums of times can fail.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::repr::datetime::{
    date_to_timestamp, interval_add, interval_subtract, timestamp_add, timestamp_subtract,
    timestamptz_add, timestamptz_subtract,
};
use crate::repr::numeric::{Numeric, NumericRef};
use crate::repr::{Datum, Interval, ScalarType};

/// The question.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a> {
    /// How far.
    pub offset: Datum<'a>,
    /// Whether towards lesser values.
    pub subtract: bool,
    /// Whether a value must lie at or below the goal, or else at or above it.
    pub below: bool,
}

/// The types of offsets that go with a column of an order, by type; none if there are none.
pub fn offset_types(column: ScalarType) -> &'static [ScalarType] {
    use ScalarType::*;
    match column {
        Int2 | Int4 => &[Int8, Int4, Int2],
        Int8 => &[Int8],
        Float4 | Float8 => &[Float8],
        Numeric => &[Numeric],
        Date | Time | TimeTz | Timestamp | TimestampTz | Interval => &[Interval],
        _ => &[],
    }
}

/// Whether `value` lies on the asked side of `base` moved by the offset; none of them is NULL.
///
/// Errors: 22013 where the offset is negative, 22008 where a moved time is out of range.
pub fn in_range<'a>(
    value: &Datum<'a>,
    base: &Datum<'a>,
    reach: &Reach<'a>,
    cx: &EvalContext<'a>,
) -> Result<bool, EvalError> {
    let Reach { offset, subtract, .. } = *reach;
    if let (Some(value), Some(base), Some(offset)) =
        (integer(value), integer(base), integer(&offset))
    {
        let offset = not_negative(offset, offset < 0)?;
        return Ok(reach.holds(value, if subtract { base - offset } else { base + offset }));
    }
    if let (Some(value), Some(base), Datum::Float8(offset)) = (float(value), float(base), offset) {
        return floats(value, base, offset, reach);
    }
    match (value, base, offset) {
        (Datum::Numeric(value), Datum::Numeric(base), Datum::Numeric(offset)) => {
            numerics(*value, *base, offset, reach)
        }
        (_, _, Datum::Interval(offset)) => times(value, base, offset, reach, cx),
        _ => Ok(false),
    }
}

impl Reach<'_> {
    fn holds<T: PartialOrd>(&self, value: T, goal: T) -> bool {
        if self.below { value <= goal } else { value >= goal }
    }
}

fn not_negative<T>(offset: T, negative: bool) -> Result<T, EvalError> {
    if negative {
        return Err(EvalError::new(
            SqlState::INVALID_PRECEDING_OR_FOLLOWING_SIZE,
            "invalid preceding or following size in window function",
        ));
    }
    Ok(offset)
}

fn integer(datum: &Datum<'_>) -> Option<i128> {
    match datum {
        Datum::Int2(v) => Some((*v).into()),
        Datum::Int4(v) => Some((*v).into()),
        Datum::Int8(v) => Some((*v).into()),
        _ => None,
    }
}

fn float(datum: &Datum<'_>) -> Option<f64> {
    match datum {
        Datum::Float4(v) => Some((*v).into()),
        Datum::Float8(v) => Some(*v),
        _ => None,
    }
}

fn floats(value: f64, base: f64, offset: f64, reach: &Reach<'_>) -> Result<bool, EvalError> {
    let offset = not_negative(offset, offset.is_nan() || offset < 0.0)?;
    // NaN is equal to itself and above all else.
    match (value.is_nan(), base.is_nan()) {
        (true, true) => return Ok(true),
        (true, false) => return Ok(!reach.below),
        (false, true) => return Ok(reach.below),
        (false, false) => {}
    }
    let goal = if reach.subtract { base - offset } else { base + offset };
    // From infinity an infinite way back: everything is in range.
    Ok(goal.is_nan() || reach.holds(value, goal))
}

fn numerics(
    value: NumericRef<'_>,
    base: NumericRef<'_>,
    offset: NumericRef<'_>,
    reach: &Reach<'_>,
) -> Result<bool, EvalError> {
    let offset = offset.to_owned();
    let negative = offset.is_nan() || offset.compare(&Numeric::from_i128(0)).is_lt();
    let offset = not_negative(offset, negative)?;
    match (value.is_nan(), base.is_nan()) {
        (true, true) => return Ok(true),
        (true, false) => return Ok(!reach.below),
        (false, true) => return Ok(reach.below),
        (false, false) => {}
    }
    let (value, base) = (value.to_owned(), base.to_owned());
    let goal = if reach.subtract { base.sub(&offset)? } else { base.add(&offset)? };
    let order = value.compare(&goal);
    Ok(goal.is_nan() || if reach.below { order.is_le() } else { order.is_ge() })
}

fn times<'a>(
    value: &Datum<'a>,
    base: &Datum<'a>,
    offset: Interval,
    reach: &Reach<'a>,
    cx: &EvalContext<'a>,
) -> Result<bool, EvalError> {
    // A time of day knows neither months nor days, and does not wrap around here.
    if let (Datum::Time(value), Datum::Time(base)) = (value, base) {
        let way = i128::from(not_negative(offset.micros, offset.micros < 0)?);
        let base = i128::from(*base);
        return Ok(
            reach.holds((*value).into(), if reach.subtract { base - way } else { base + way })
        );
    }
    if let (Datum::TimeTz(value), Datum::TimeTz(base)) = (value, base) {
        let way = not_negative(offset.micros, offset.micros < 0)?;
        let way = if reach.subtract { -i128::from(way) } else { way.into() };
        let (value_utc, goal) =
            (i128::from(value.utc_micros()), i128::from(base.utc_micros()) + way);
        let order = value_utc.cmp(&goal).then(value.west.cmp(&base.west));
        return Ok(if reach.below { order.is_le() } else { order.is_ge() });
    }
    let way = not_negative(offset, offset.total_micros() < 0)?;
    Ok(match (value, base) {
        (Datum::Date(value), Datum::Date(base)) => {
            let (value, base) = (date_to_timestamp(*value)?, date_to_timestamp(*base)?);
            reach.holds(value, move_timestamp(base, &way, reach)?)
        }
        (Datum::Timestamp(value), Datum::Timestamp(base)) => {
            reach.holds(*value, move_timestamp(*base, &way, reach)?)
        }
        (Datum::TimestampTz(value), Datum::TimestampTz(base)) => {
            let zone = &cx.settings.time_zone;
            let goal = match reach.subtract {
                true => timestamptz_subtract(*base, &way, zone)?,
                false => timestamptz_add(*base, &way, zone)?,
            };
            reach.holds(*value, goal)
        }
        (Datum::Interval(value), Datum::Interval(base)) => {
            let goal = match reach.subtract {
                true => interval_subtract(base, &way)?,
                false => interval_add(base, &way)?,
            };
            reach.holds(value.total_micros(), goal.total_micros())
        }
        _ => false,
    })
}

fn move_timestamp(base: i64, way: &Interval, reach: &Reach<'_>) -> Result<i64, EvalError> {
    Ok(if reach.subtract { timestamp_subtract(base, way)? } else { timestamp_add(base, way)? })
}
