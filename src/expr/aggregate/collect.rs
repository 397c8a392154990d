//! Aggregates that look at all rows in order: what is put together of them, and what depends on
//! where in the order a row stands.

use std::cmp::Ordering;

use super::fold::{Taken, compare_order};
use super::ranges;
use super::{AggFunc, Aggregate, Hypothetical};
use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::jsonb_build::member_name;
use crate::repr::array::{ArrayBuilder, Dims};
use crate::repr::datetime::{interval_add, interval_multiply, interval_subtract};
use crate::repr::json::{push_json, push_json_name};
use crate::repr::jsonb::JsonbBuilder;
use crate::repr::{ArrayRef, Datum, Diff, Element, ScalarType};

/// The rows of a group, in order, equal ones together.
pub struct Rows<'r, 'a> {
    /// Those that count.
    pub rows: &'r [Taken<'a>],
    /// The arguments of any row, also of one that does not count; for those arguments that all
    /// rows have in common. None where there is no row.
    pub any: Option<&'a [Datum<'a>]>,
    /// The types of the arguments.
    pub types: &'r [ScalarType],
}

impl<'a> Rows<'_, 'a> {
    /// The answer of an aggregate whose method is to collect.
    pub fn answer(
        &self,
        aggregate: &Aggregate,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        match aggregate.func {
            AggFunc::StringAgg(ScalarType::Bytea) => Ok(self.joined_bytes(cx)),
            AggFunc::StringAgg(_) => Ok(self.joined_text(cx)),
            AggFunc::ArrayAgg(ScalarType::Array(element)) => self.array_of_arrays(element, cx),
            AggFunc::ArrayAgg(ty) => Ok(self.array(ty, cx)),
            AggFunc::RangeAgg(kind) => Ok(ranges::united(kind, self.each(), cx)),
            AggFunc::RangeIntersectAgg(_) => Ok(ranges::intersected(self.each(), cx)),
            AggFunc::JsonAgg => Ok(self.json_array_text(cx)),
            AggFunc::JsonObjectAgg => self.json_object_text(cx),
            AggFunc::JsonbAgg => self.json_array(cx),
            AggFunc::JsonbObjectAgg => self.json_object(cx),
            AggFunc::Mode(ty) => Ok(self.mode(ty)),
            AggFunc::Only(_) => self.only(),
            AggFunc::PercentileDisc(_) => match self.any.and_then(|args| args.get(1)) {
                Some(Datum::Float8(fraction)) => Ok(self.percentile_disc(checked(*fraction)?)),
                _ => Ok(Datum::Null),
            },
            AggFunc::PercentileCont(_) => match self.any.and_then(|args| args.get(1)) {
                Some(Datum::Float8(fraction)) => self.percentile_cont(checked(*fraction)?),
                _ => Ok(Datum::Null),
            },
            AggFunc::PercentilesDisc(ty) => {
                self.percentiles(ty, cx, |fraction| Ok(self.percentile_disc(fraction)))
            }
            AggFunc::PercentilesCont(ty) => {
                self.percentiles(ty, cx, |fraction| self.percentile_cont(fraction))
            }
            AggFunc::Hypothetical(what) => Ok(self.hypothetical(what, aggregate)),
            _ => Ok(Datum::Null),
        }
    }

    fn total(&self) -> Diff {
        self.rows.iter().map(|row| row.count).sum()
    }

    /// The arguments of each row, as often as it is there.
    fn each(&self) -> impl Iterator<Item = &'a [Datum<'a>]> {
        let times = |row: &Taken<'a>| std::iter::repeat_n(row.args, row.count.max(0) as usize);
        self.rows.iter().flat_map(times)
    }

    fn joined_text(&self, cx: &EvalContext<'a>) -> Datum<'a> {
        let mut joined = bumpalo::collections::String::new_in(cx.arena);
        for (i, args) in self.each().enumerate() {
            if let (true, Some(Datum::Text(delimiter))) = (i > 0, args.get(1)) {
                joined.push_str(delimiter);
            }
            if let Datum::Text(text) = args[0] {
                joined.push_str(text);
            }
        }
        if self.rows.is_empty() { Datum::Null } else { Datum::Text(joined.into_bump_str()) }
    }

    fn joined_bytes(&self, cx: &EvalContext<'a>) -> Datum<'a> {
        let mut joined = bumpalo::collections::Vec::new_in(cx.arena);
        for (i, args) in self.each().enumerate() {
            if let (true, Some(Datum::Bytea(delimiter))) = (i > 0, args.get(1)) {
                joined.extend_from_slice(delimiter);
            }
            if let Datum::Bytea(bytes) = args[0] {
                joined.extend_from_slice(bytes);
            }
        }
        if self.rows.is_empty() { Datum::Null } else { Datum::Bytea(joined.into_bump_slice()) }
    }

    fn array(&self, ty: ScalarType, cx: &EvalContext<'a>) -> Datum<'a> {
        let Some(element) = ty.as_element().filter(|_| !self.rows.is_empty()) else {
            return Datum::Null;
        };
        let mut builder = ArrayBuilder::new();
        builder.extend(self.each().map(|args| args[0]));
        builder.vector_in(element, cx.arena)
    }

    fn array_of_arrays(
        &self,
        element: Element,
        cx: &EvalContext<'a>,
    ) -> Result<Datum<'a>, EvalError> {
        let refuse = |code, message: &str| Err(EvalError::new(code, message));
        let mut builder = ArrayBuilder::new();
        let mut shape: Option<Dims> = None;
        let mut count = 0;
        for args in self.each() {
            let Datum::Array(_, bytes) = args[0] else {
                let message = "cannot accumulate null arrays";
                return refuse(SqlState::NULL_VALUE_NOT_ALLOWED, message);
            };
            let inner = ArrayRef::new(element, bytes);
            if inner.is_empty() {
                let message = "cannot accumulate empty arrays";
                return refuse(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
            }
            if *shape.get_or_insert(inner.dims) != inner.dims {
                let message = "cannot accumulate arrays of different dimensionality";
                return refuse(SqlState::ARRAY_SUBSCRIPT_ERROR, message);
            }
            builder.extend(inner.iter());
            count += 1;
        }
        let Some(shape) = shape else { return Ok(Datum::Null) };
        let lengths = [&[count], shape.lengths()].concat();
        let lowers = [&[1], shape.lowers()].concat();
        Ok(builder.finish_in(element, &Dims::checked(&lengths, &lowers)?, cx.arena))
    }

    fn json_array(&self, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let mut builder = JsonbBuilder::new();
        builder.begin_array();
        for args in self.each() {
            builder.datum(&args[0], self.types[0], cx.settings)?;
        }
        builder.end();
        Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
    }

    fn json_array_text(&self, cx: &EvalContext<'a>) -> Datum<'a> {
        if self.rows.is_empty() {
            return Datum::Null;
        }
        let mut out = String::from("[");
        for (i, args) in self.each().enumerate() {
            out.push_str(match args[0] {
                _ if i == 0 => "",
                Datum::Array(..) | Datum::Record(..) => ", \n ",
                _ => ", ",
            });
            push_json(&args[0], self.types[0], cx.settings, &mut out);
        }
        out.push(']');
        Datum::Json(cx.arena.alloc_str(&out))
    }

    fn json_object_text(&self, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let mut out = String::from("{ ");
        for (i, args) in self.each().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            push_json_name(&member_name(&args[0], "field name must not be null", cx)?, &mut out);
            out.push_str(" : ");
            push_json(&args[1], self.types[1], cx.settings, &mut out);
        }
        out.push_str(" }");
        Ok(Datum::Json(cx.arena.alloc_str(&out)))
    }

    fn json_object(&self, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let mut builder = JsonbBuilder::new();
        builder.begin_object();
        for args in self.rows.iter().map(|row| row.args) {
            builder.key(&member_name(&args[0], "field name must not be null", cx)?);
            builder.datum(&args[1], self.types[1], cx.settings)?;
        }
        builder.end();
        Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
    }

    fn only(&self) -> Result<Datum<'a>, EvalError> {
        if self.total() > 1 {
            return Err(EvalError::new(
                SqlState::CARDINALITY_VIOLATION,
                "more than one row returned by a subquery used as an expression",
            ));
        }
        Ok(self.rows.first().map_or(Datum::Null, |row| row.args[0]))
    }

    fn mode(&self, ty: ScalarType) -> Datum<'a> {
        let equal = |a: &Taken<'_>, b: &Taken<'_>| a.args[0].compare_as(ty, &b.args[0]).is_eq();
        let (mut best, mut most) = (Datum::Null, 0);
        for run in self.rows.chunk_by(equal) {
            let count: Diff = run.iter().map(|row| row.count).sum();
            if count > most {
                (best, most) = (run[0].args[0], count);
            }
        }
        best
    }

    /// The percentile of each fraction of the second argument, an array.
    fn percentiles(
        &self,
        ty: ScalarType,
        cx: &EvalContext<'a>,
        percentile: impl Fn(f64) -> Result<Datum<'a>, EvalError>,
    ) -> Result<Datum<'a>, EvalError> {
        let (Some(Datum::Array(of, bytes)), Some(element)) =
            (self.any.and_then(|args| args.get(1)), ty.as_element())
        else {
            return Ok(Datum::Null);
        };
        let fractions = ArrayRef::new(*of, bytes);
        let mut builder = ArrayBuilder::new();
        for fraction in fractions.iter() {
            builder.push(&match fraction {
                Datum::Float8(fraction) => percentile(checked(fraction)?)?,
                _ => Datum::Null,
            });
        }
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        Ok(builder.finish_in(element, &fractions.dims, cx.arena))
    }

    /// The sorted argument of the row of that number, from 0.
    fn nth(&self, number: Diff) -> Datum<'a> {
        let mut passed = 0;
        let found = self.rows.iter().find(|row| {
            passed += row.count;
            passed > number
        });
        found.or(self.rows.last()).map_or(Datum::Null, |row| row.args[0])
    }

    fn percentile_disc(&self, fraction: f64) -> Datum<'a> {
        let number = (fraction * self.total() as f64).ceil() as Diff;
        self.nth((number - 1).max(0))
    }

    fn percentile_cont(&self, fraction: f64) -> Result<Datum<'a>, EvalError> {
        if self.rows.is_empty() {
            return Ok(Datum::Null);
        }
        let place = fraction * (self.total() - 1) as f64;
        let (first, second) = (place.floor() as Diff, place.ceil() as Diff);
        let low = self.nth(first);
        if first == second {
            return Ok(low);
        }
        let part = place - first as f64;
        Ok(match (low, self.nth(second)) {
            (Datum::Float8(low), Datum::Float8(high)) => Datum::Float8(low + part * (high - low)),
            (Datum::Interval(low), Datum::Interval(high)) => {
                let apart = interval_subtract(&high, &low)?;
                Datum::Interval(interval_add(&interval_multiply(&apart, part)?, &low)?)
            }
            _ => Datum::Null,
        })
    }

    fn hypothetical(&self, what: Hypothetical, aggregate: &Aggregate) -> Datum<'a> {
        let own = self.any.map(|args| &args[args.len() / 2..]).unwrap_or_default();
        let compare = |row: &Taken<'_>| compare_order(self.types, &aggregate.order, row.args, own);
        let before = |row: &&Taken<'_>| compare(row) == Ordering::Less;
        let count = |rows: &mut dyn Iterator<Item = &Taken<'_>>| -> Diff {
            rows.map(|row| row.count).sum()
        };
        let less = count(&mut self.rows.iter().filter(before));
        let total = self.total();
        match what {
            Hypothetical::Rank => Datum::Int8(less + 1),
            Hypothetical::DenseRank => {
                let rows: Vec<&Taken<'_>> = self.rows.iter().filter(before).collect();
                let different = rows.chunk_by(|a, b| {
                    compare_order(self.types, &aggregate.order, a.args, b.args).is_eq()
                });
                Datum::Int8(different.count() as i64 + 1)
            }
            Hypothetical::PercentRank if total == 0 => Datum::Float8(0.0),
            Hypothetical::PercentRank => Datum::Float8(less as f64 / total as f64),
            Hypothetical::CumeDist => {
                let not_after = |row: &&Taken<'_>| compare(row) != Ordering::Greater;
                let up_to = count(&mut self.rows.iter().filter(not_after));
                Datum::Float8((up_to + 1) as f64 / (total + 1) as f64)
            }
        }
    }
}

/// A fraction, if it is one.
fn checked(fraction: f64) -> Result<f64, EvalError> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    let message = format!("percentile value {fraction} is not between 0 and 1");
    Err(EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
}
