//! One aggregate over rows, one after another.
//!
//! A [`Fold`] is the one way in which aggregates are evaluated where the rows are at hand: over a
//! group that is computed again, over the frame of a window, in the evaluators that tests compare
//! with. It takes rows in any order. What can be added up is kept as a sum, from which rows can be
//! taken away again ([`Fold::can_retract`]); of extremes the best so far is kept; of all others
//! the arguments, sorted at the end.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::collect::Rows;
use super::sums::{Kind, Part, answer};
use super::{Aggregate, ArgOrder, Method};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::repr::value::pack;
use crate::repr::{Datum, Diff, ScalarType};

/// An aggregate under way.
pub struct Fold<'a> {
    aggregate: &'a Aggregate,
    types: Vec<ScalarType>,
    state: State<'a>,
    /// The arguments of a row, whichever.
    any: Option<&'a [Datum<'a>]>,
}

enum State<'a> {
    /// The coefficients by part.
    Sum(Kind, BTreeMap<u64, i128>),
    /// The best argument so far.
    Extreme { greatest: bool, best: Datum<'a> },
    /// The arguments of all rows that take part.
    Rows(Vec<Taken<'a>>),
}

/// The arguments of a row, and how often it is there.
#[derive(Clone, Copy, Debug)]
pub struct Taken<'a> {
    /// The arguments.
    pub args: &'a [Datum<'a>],
    /// How often.
    pub count: Diff,
}

impl<'a> Fold<'a> {
    /// An aggregate over no rows yet; `types` are those of its arguments
    /// ([`Aggregate::arg_types`]).
    pub fn new(aggregate: &'a Aggregate, types: Vec<ScalarType>) -> Fold<'a> {
        let state = match aggregate.func.method() {
            Method::Sum(kind) if !aggregate.distinct => State::Sum(kind, BTreeMap::new()),
            Method::Extreme { greatest, .. } => State::Extreme { greatest, best: Datum::Null },
            _ => State::Rows(Vec::new()),
        };
        Fold { aggregate, types, state, any: None }
    }

    /// The same, where the parts of a sum over other rows are already in it.
    pub fn resumed(mut self, parts: &BTreeMap<u64, i128>) -> Fold<'a> {
        if let State::Sum(_, sum) = &mut self.state {
            sum.clone_from(parts);
        }
        self
    }

    /// Whether rows can be taken away again, by negative counts.
    pub fn can_retract(&self) -> bool {
        matches!(self.state, State::Sum(..))
    }

    /// Takes `count` times a row of the aggregate's input. What the row's datums refer to must
    /// live as long as the fold; `cx` has the arena of the computed ones.
    pub fn add(
        &mut self,
        row: &[Datum<'a>],
        count: Diff,
        cx: &EvalContext<'a>,
    ) -> Result<(), EvalError> {
        let aggregate = self.aggregate;
        if let Some(filter) = &aggregate.filter
            && filter.eval(row, cx)? != Datum::Bool(true)
        {
            return Ok(());
        }
        let mut args = bumpalo::collections::Vec::with_capacity_in(aggregate.args.len(), cx.arena);
        for arg in &aggregate.args {
            args.push(arg.eval(row, cx)?);
        }
        self.take(args.into_bump_slice(), count);
        Ok(())
    }

    /// Takes `count` times a row that takes part, by its arguments.
    pub fn take(&mut self, args: &'a [Datum<'a>], count: Diff) {
        self.any = Some(args);
        if args[..self.aggregate.func.strict_args()].iter().any(Datum::is_null) {
            return;
        }
        match &mut self.state {
            State::Sum(kind, parts) => kind.contribute(args, |part, coefficient| {
                let sum = parts.entry(part).or_default();
                *sum = sum.wrapping_add(coefficient.wrapping_mul(count.into()));
            }),
            State::Extreme { greatest, best } => {
                if is_better(self.types[0], *greatest, &args[0], best) {
                    *best = args[0];
                }
            }
            State::Rows(rows) => rows.push(Taken { args, count }),
        }
    }

    /// The answer over the rows taken so far. More rows may come after it.
    pub fn finish(&mut self, cx: &EvalContext<'a>) -> Result<Datum<'a>, EvalError> {
        let Aggregate { func, order, distinct, .. } = self.aggregate;
        match &mut self.state {
            State::Extreme { best, .. } => Ok(*best),
            State::Sum(kind, parts) => {
                let parts: Vec<Part> =
                    parts.iter().map(|(part, n)| (*part, *n)).filter(|(_, n)| *n != 0).collect();
                answer(*func, *kind, &parts, cx.arena)
            }
            State::Rows(rows) => {
                rows.retain(|row| row.count > 0);
                rows.sort_by(|a, b| compare(&self.types, order, a.args, b.args));
                if *distinct {
                    let same = |a: &Taken<'_>, b: &Taken<'_>| {
                        compare_equal(&self.types, a.args, b.args).is_eq()
                    };
                    rows.dedup_by(|next, kept| same(next, kept));
                    rows.iter_mut().for_each(|row| row.count = 1);
                }
                match func.method() {
                    Method::Sum(kind) => {
                        let mut sum = BTreeMap::<u64, i128>::new();
                        for row in rows.iter() {
                            kind.contribute(row.args, |part, coefficient| {
                                *sum.entry(part).or_default() += coefficient;
                            });
                        }
                        let parts: Vec<Part> = sum.into_iter().filter(|(_, n)| *n != 0).collect();
                        answer(*func, kind, &parts, cx.arena)
                    }
                    _ => {
                        Rows { rows, any: self.any, types: &self.types }.answer(self.aggregate, cx)
                    }
                }
            }
        }
    }
}

/// Whether an argument, which is not NULL, takes the place of the best one before it. Of those
/// that are equal the one with the least encoding is kept.
pub fn is_better(ty: ScalarType, greatest: bool, arg: &Datum<'_>, best: &Datum<'_>) -> bool {
    if best.is_null() {
        return true;
    }
    match arg.compare_as(ty, best) {
        Ordering::Less => !greatest,
        Ordering::Greater => greatest,
        Ordering::Equal => !ty.key_is_identity() && pack(&[*arg]) < pack(&[*best]),
    }
}

/// The order of the rows of an aggregate: what was asked for, then the arguments, then how they
/// are written, so that it never depends on how the rows came.
fn compare(types: &[ScalarType], order: &[ArgOrder], a: &[Datum<'_>], b: &[Datum<'_>]) -> Ordering {
    compare_order(types, order, a, b)
        .then_with(|| compare_equal(types, a, b))
        .then_with(|| pack(a).cmp(&pack(b)))
}

/// The order that was asked for.
pub(super) fn compare_order(
    types: &[ScalarType],
    order: &[ArgOrder],
    a: &[Datum<'_>],
    b: &[Datum<'_>],
) -> Ordering {
    let asked = order.iter().map(|by| {
        let (x, y) = (&a[by.arg], &b[by.arg]);
        match (x.is_null(), y.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if by.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if by.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if by.descending => y.compare_as(types[by.arg], x),
            (false, false) => x.compare_as(types[by.arg], y),
        }
    });
    asked.fold(Ordering::Equal, Ordering::then)
}

/// Compares all arguments in turn.
fn compare_equal(types: &[ScalarType], a: &[Datum<'_>], b: &[Datum<'_>]) -> Ordering {
    let pairs = a.iter().zip(b).zip(types);
    pairs.map(|((a, b), ty)| a.compare_as(*ty, b)).fold(Ordering::Equal, Ordering::then)
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::expr::aggregate::AggFunc;
    use crate::expr::scalar::Expr;
    use crate::repr::settings::FormatSettings;

    fn over(aggregate: &Aggregate, rows: &[(Option<i32>, Diff)]) -> Option<i64> {
        let (arena, settings) = (Bump::new(), FormatSettings::default());
        let cx = EvalContext { arena: &arena, settings: &settings };
        let mut fold = Fold::new(aggregate, vec![ScalarType::Int4]);
        for (value, count) in rows {
            fold.add(&[value.map_or(Datum::Null, Datum::Int4)], *count, &cx).unwrap();
        }
        match fold.finish(&cx).unwrap() {
            Datum::Int4(v) => Some(v.into()),
            Datum::Int8(v) => Some(v),
            other => {
                assert!(other.is_null());
                None
            }
        }
    }

    #[test]
    fn folds_take_rows_in_any_order_and_sums_give_them_back() {
        let (int4, column) = (ScalarType::Int4, Expr::Column(0));
        let rows = [(Some(3), 2), (None, 1), (Some(-5), 1), (Some(3), 1)];
        let of = |func| Aggregate::of(func, column.clone());
        assert_eq!(over(&of(AggFunc::Sum(int4)), &rows), Some(4));
        assert_eq!(over(&of(AggFunc::Count), &rows), Some(4));
        assert_eq!(over(&Aggregate::count_star(), &rows), Some(5));
        assert_eq!(over(&of(AggFunc::Min(int4)), &rows), Some(-5));
        assert_eq!(over(&of(AggFunc::Max(int4)), &rows), Some(3));
        assert_eq!(over(&of(AggFunc::Max(int4)), &[(None, 1)]), None);
        let distinct = Aggregate { distinct: true, ..of(AggFunc::Sum(int4)) };
        assert_eq!(over(&distinct, &rows), Some(-2));
        let filter = Some(column.clone().is_null());
        assert_eq!(over(&Aggregate { filter, ..of(AggFunc::Count) }, &rows), Some(0));
        let back = [(Some(3), 2), (Some(8), 1), (Some(3), -2)];
        assert_eq!(over(&of(AggFunc::Sum(int4)), &back), Some(8));
        assert_eq!(over(&of(AggFunc::Sum(int4)), &[(Some(3), 1), (Some(3), -1)]), None);
    }
}
