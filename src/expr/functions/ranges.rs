//! Ranges: their order, what they have in common, their bounds.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::functions::access::range;
use crate::expr::functions::registry;
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot::*};
use crate::repr::Datum;
use crate::repr::ScalarType::Bool;
use crate::repr::range::Range;

type Answer<'a> = Result<Datum<'a>, EvalError>;

const EQUALITY: u32 = 3855;

/// `=`.
pub fn equality() -> &'static PolyDef {
    registry::polymorphic(EQUALITY).expect("it is in the table")
}

#[cold]
fn not_contiguous(what: &str) -> EvalError {
    let message = format!("result of range {what} would not be contiguous");
    EvalError::new(SqlState::new(b"22000"), message)
}

fn union<'a>(a: Range<'a>, b: Range<'a>, arena: &'a Bump) -> Answer<'a> {
    let is_apart = !(a.is_empty() || b.is_empty() || a.overlaps(&b) || a.is_adjacent(&b));
    if is_apart {
        return Err(not_contiguous("union"));
    }
    Ok(a.merge(b).datum_in(arena))
}

fn difference<'a>(a: Range<'a>, b: Range<'a>, arena: &'a Bump) -> Answer<'a> {
    let [before, behind] = a.without(&b)?;
    if !before.is_empty() && !behind.is_empty() {
        return Err(not_contiguous("difference"));
    }
    Ok(before.merge(behind).datum_in(arena))
}

/// A comparison of two of a slot's type.
macro_rules! comparison {
    ($oid:expr, $name:literal, $slot:expr, $test:ident) => {
        PolyDef::new($oid, $name, &[$slot, $slot], Is(Bool), |_, args, _| {
            Ok(Datum::Bool(args[0].compare(&args[1]).$test()))
        })
        .total()
    };
}
pub(super) use comparison;

macro_rules! test {
    ($oid:literal $name:literal |$a:ident, $b:ident| $test:expr) => {
        PolyDef::new($oid, $name, &[AnyRange, AnyRange], Is(Bool), |_, args, _| {
            let ($a, $b) = (range(args[0]), range(args[1]));
            Ok(Datum::Bool($test))
        })
        .total()
    };
}

macro_rules! fact {
    ($oid:literal $name:literal |$a:ident| $fact:expr) => {
        PolyDef::new($oid, $name, &[AnyRange], Is(Bool), |_, args, _| {
            let $a = range(args[0]);
            Ok(Datum::Bool($fact))
        })
        .total()
    };
}

macro_rules! made {
    ($oid:literal $name:literal |$a:ident, $b:ident, $arena:ident| $made:expr) => {
        PolyDef::new($oid, $name, &[AnyRange, AnyRange], AnyRange, |_, args, cx| {
            let ($a, $b, $arena) = (range(args[0]), range(args[1]), cx.arena);
            $made
        })
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    comparison!(EQUALITY, "range_eq", AnyRange, is_eq),
    comparison!(3856, "range_ne", AnyRange, is_ne),
    comparison!(3871, "range_lt", AnyRange, is_lt),
    comparison!(3872, "range_le", AnyRange, is_le),
    comparison!(3874, "range_gt", AnyRange, is_gt),
    comparison!(3873, "range_ge", AnyRange, is_ge),
    test!(3857 "range_overlaps" |a, b| a.overlaps(&b)),
    test!(3859 "range_contains" |a, b| a.contains(&b)),
    test!(3861 "range_contained_by" |a, b| b.contains(&a)),
    test!(3862 "range_adjacent" |a, b| a.is_adjacent(&b)),
    test!(3863 "range_before" |a, b| a.is_before(&b)),
    test!(3864 "range_after" |a, b| b.is_before(&a)),
    test!(3865 "range_overleft" |a, b| a.ends_within(&b)),
    test!(3866 "range_overright" |a, b| a.begins_within(&b)),
    PolyDef::new(3858, "range_contains_elem", &[AnyRange, AnyElement], Is(Bool), |_, args, _| {
        Ok(Datum::Bool(range(args[0]).has(args[1])))
    })
    .total(),
    PolyDef::new(
        3860,
        "elem_contained_by_range",
        &[AnyElement, AnyRange],
        Is(Bool),
        |_, args, _| Ok(Datum::Bool(range(args[1]).has(args[0]))),
    )
    .total(),
    made!(3867 "range_union" |a, b, arena| union(a, b, arena)),
    made!(3868 "range_intersect" |a, b, arena| Ok(a.intersection(b).datum_in(arena))).total(),
    made!(3869 "range_minus" |a, b, arena| difference(a, b, arena)),
    made!(4057 "range_merge" |a, b, arena| Ok(a.merge(b).datum_in(arena))).total(),
    PolyDef::new(3848, "lower", &[AnyRange], AnyElement, |_, args, _| {
        Ok(range(args[0]).edges.map_or(Datum::Null, |(lower, _)| lower.datum()))
    })
    .nullable()
    .total(),
    PolyDef::new(3849, "upper", &[AnyRange], AnyElement, |_, args, _| {
        Ok(range(args[0]).edges.map_or(Datum::Null, |(_, upper)| upper.datum()))
    })
    .nullable()
    .total(),
    fact!(3850 "isempty" |a| a.is_empty()),
    fact!(3851 "lower_inc" |a| a.edges.is_some_and(|(lower, _)| lower.is_inclusive())),
    fact!(3852 "upper_inc" |a| a.edges.is_some_and(|(_, upper)| upper.is_inclusive())),
    fact!(3853 "lower_inf" |a| a.edges.is_some_and(|(lower, _)| lower.value.is_none())),
    fact!(3854 "upper_inf" |a| a.edges.is_some_and(|(_, upper)| upper.value.is_none())),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "=", func: EQUALITY },
    PolyOperator { symbol: "<>", func: 3856 },
    PolyOperator { symbol: "<", func: 3871 },
    PolyOperator { symbol: "<=", func: 3872 },
    PolyOperator { symbol: ">", func: 3874 },
    PolyOperator { symbol: ">=", func: 3873 },
    PolyOperator { symbol: "&&", func: 3857 },
    PolyOperator { symbol: "@>", func: 3858 },
    PolyOperator { symbol: "@>", func: 3859 },
    PolyOperator { symbol: "<@", func: 3860 },
    PolyOperator { symbol: "<@", func: 3861 },
    PolyOperator { symbol: "-|-", func: 3862 },
    PolyOperator { symbol: "<<", func: 3863 },
    PolyOperator { symbol: ">>", func: 3864 },
    PolyOperator { symbol: "&<", func: 3865 },
    PolyOperator { symbol: "&>", func: 3866 },
    PolyOperator { symbol: "+", func: 3867 },
    PolyOperator { symbol: "*", func: 3868 },
    PolyOperator { symbol: "-", func: 3869 },
];
