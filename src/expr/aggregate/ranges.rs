//! Aggregates of ranges and multiranges. NULLs have been passed over.

use crate::expr::func::EvalContext;
use crate::repr::range::{Multirange, Range, ranges_of};
use crate::repr::{Datum, RangeKind};

/// All that is in any of them; NULL where there are none.
pub(super) fn united<'a>(
    kind: RangeKind,
    rows: impl Iterator<Item = &'a [Datum<'a>]>,
    cx: &EvalContext<'a>,
) -> Datum<'a> {
    let mut ranges = vec![];
    let mut is_given = false;
    for args in rows {
        is_given = true;
        match args[0] {
            Datum::Range(kind, bytes) => ranges.push(Range::read(kind, bytes)),
            Datum::Multirange(kind, bytes) => ranges.extend(ranges_of(kind, bytes)),
            _ => {}
        }
    }
    match is_given {
        true => Multirange::of(kind, ranges).datum_in(cx.arena),
        false => Datum::Null,
    }
}

/// What all of them have; NULL where there are none.
pub(super) fn intersected<'a>(
    rows: impl Iterator<Item = &'a [Datum<'a>]>,
    cx: &EvalContext<'a>,
) -> Datum<'a> {
    let both = |a: Datum<'a>, b: Datum<'a>| match (a, b) {
        (Datum::Range(kind, a), Datum::Range(_, b)) => {
            Range::read(kind, a).intersection(Range::read(kind, b)).datum_in(cx.arena)
        }
        (Datum::Multirange(kind, a), Datum::Multirange(_, b)) => {
            let (a, b) = (Multirange::read(kind, a), Multirange::read(kind, b));
            a.intersection(&b).datum_in(cx.arena)
        }
        _ => Datum::Null,
    };
    rows.map(|args| args[0]).reduce(both).unwrap_or(Datum::Null)
}
