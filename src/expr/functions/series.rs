//! `generate_series`: numbers and times from one to another.
//!
//! A series has no end of its own until it is asked for: it is an iterator of three numbers.

use std::cmp::Ordering;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::{int4, int8, interval, numeric, timestamp, timestamptz};
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, SetRows};
use crate::repr::ScalarType::*;
use crate::repr::datetime::{timestamp_add, timestamptz_add};
use crate::repr::numeric::{Numeric, NumericRef};
use crate::repr::value::pack;
use crate::repr::{Datum, Interval, Row};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

#[cold]
fn invalid(message: &str) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

#[cold]
fn no_step() -> EvalError {
    invalid("step size cannot equal zero")
}

/// From `next` on while `until` is not passed; `after` makes the one that follows, if there is
/// one, when it is asked for.
struct Series<T, F> {
    next: Option<T>,
    until: T,
    ascending: bool,
    compare: fn(&T, &T) -> Ordering,
    after: F,
    row: fn(&T) -> Row,
}

impl<T, F> Iterator for Series<T, F>
where
    F: FnMut(&T) -> Option<Result<T, EvalError>>,
{
    type Item = Result<Row, EvalError>;

    fn next(&mut self) -> Option<Result<Row, EvalError>> {
        let now = self.next.take()?;
        let passed = (self.compare)(&now, &self.until);
        if passed == (if self.ascending { Ordering::Greater } else { Ordering::Less }) {
            return None;
        }
        let row = (self.row)(&now);
        match (self.after)(&now) {
            Some(Ok(next)) => self.next = Some(next),
            Some(Err(error)) => return Some(Err(error)),
            None => {}
        }
        Some(Ok(row))
    }
}

fn integers(
    (start, until, step): (i64, i64, i64),
    least_greatest: (i64, i64),
    row: fn(&i64) -> Row,
) -> Result<SetRows, EvalError> {
    if step == 0 {
        return Err(no_step());
    }
    let (least, greatest) = least_greatest;
    let after = move |now: &i64| {
        let next = now.checked_add(step).filter(|next| (least..=greatest).contains(next));
        next.map(Ok)
    };
    let ascending = step > 0;
    Ok(Box::new(Series { next: Some(start), until, ascending, compare: Ord::cmp, after, row }))
}

fn int4_series(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let step = args.get(2).map_or(1, |step| int4(*step));
    let bounds = (int4(args[0]).into(), int4(args[1]).into(), step.into());
    // The bounds are of the type, and what leaves it is not made.
    let row = |now: &i64| pack(&[Datum::Int4(*now as i32)]);
    integers(bounds, (i32::MIN.into(), i32::MAX.into()), row)
}

fn int8_series(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let step = args.get(2).map_or(1, |step| int8(*step));
    let bounds = (int8(args[0]), int8(args[1]), step);
    integers(bounds, (i64::MIN, i64::MAX), |now| pack(&[Datum::Int8(*now)]))
}

/// A finite number, or PostgreSQL's error of that bound.
fn finite(value: NumericRef<'_>, what: &str) -> Result<Numeric, EvalError> {
    match value.to_owned() {
        Numeric::NaN => Err(invalid(&format!("{what} cannot be NaN"))),
        number @ Numeric::Finite(_) => Ok(number),
        _ => Err(invalid(&format!("{what} cannot be infinity"))),
    }
}

fn numeric_series(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let start = finite(numeric(args[0]), "start value")?;
    let until = finite(numeric(args[1]), "stop value")?;
    let step = match args.get(2) {
        Some(step) => finite(numeric(*step), "step size")?,
        None => Numeric::from_i128(1),
    };
    let ascending = match step.compare(&Numeric::ZERO) {
        Ordering::Equal => return Err(no_step()),
        sign => sign.is_gt(),
    };
    let after = move |now: &Numeric| Some(now.add(&step).map_err(EvalError::from));
    let row = |now: &Numeric| {
        let mut bytes = Vec::new();
        now.encode(&mut bytes);
        pack(&[Datum::Numeric(NumericRef(&bytes))])
    };
    let compare = Numeric::compare;
    Ok(Box::new(Series { next: Some(start), until, ascending, compare, after, row }))
}

pub(super) fn times(
    (start, until, step): (i64, i64, Interval),
    add: impl Fn(i64, &Interval) -> crate::error::Result<i64> + 'static,
    row: fn(&i64) -> Row,
) -> Result<SetRows, EvalError> {
    let ascending = match step.total_micros() {
        0 => return Err(no_step()),
        sign => sign > 0,
    };
    let after = move |now: &i64| Some(add(*now, &step).map_err(EvalError::from));
    Ok(Box::new(Series { next: Some(start), until, ascending, compare: Ord::cmp, after, row }))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::set(1067, "generate_series", &[Int4, Int4], &[SetColumn::value(Int4)], |args, _| {
        int4_series(args)
    }),
    FuncDef::set(
        1066,
        "generate_series",
        &[Int4, Int4, Int4],
        &[SetColumn::value(Int4)],
        |args, _| int4_series(args),
    ),
    FuncDef::set(1069, "generate_series", &[Int8, Int8], &[SetColumn::value(Int8)], |args, _| {
        int8_series(args)
    }),
    FuncDef::set(
        1068,
        "generate_series",
        &[Int8, Int8, Int8],
        &[SetColumn::value(Int8)],
        |args, _| int8_series(args),
    ),
    FuncDef::set(
        3260,
        "generate_series",
        &[Numeric, Numeric],
        &[SetColumn::value(Numeric)],
        |args, _| numeric_series(args),
    ),
    FuncDef::set(
        3259,
        "generate_series",
        &[Numeric, Numeric, Numeric],
        &[SetColumn::value(Numeric)],
        |args, _| numeric_series(args),
    ),
    FuncDef::set(
        938,
        "generate_series",
        &[Timestamp, Timestamp, Interval],
        &[SetColumn::value(Timestamp)],
        |args, _| {
            let bounds = (timestamp(args[0]), timestamp(args[1]), interval(args[2]));
            times(bounds, timestamp_add, |now| pack(&[Datum::Timestamp(*now)]))
        },
    ),
    FuncDef::set(
        939,
        "generate_series",
        &[TimestampTz, TimestampTz, Interval],
        &[SetColumn::value(TimestampTz)],
        |args, cx| {
            let bounds = (timestamptz(args[0]), timestamptz(args[1]), interval(args[2]));
            let zone = cx.settings.time_zone.clone();
            let add = move |time: i64, step: &_| timestamptz_add(time, step, &zone);
            times(bounds, add, |now| pack(&[Datum::TimestampTz(*now)]))
        },
    )
    .stable(),
];
