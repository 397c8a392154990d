//! Multiranges, and multiranges beside ranges, which count as multiranges of one range.

use crate::expr::functions::access::{multirange, range};
use crate::expr::functions::ranges::comparison;
use crate::expr::functions::registry;
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot::*};
use crate::expr::table::listed;
use crate::repr::Datum;
use crate::repr::ScalarType::Bool;
use crate::repr::range::{Multirange, Range};
use crate::repr::value::pack;

const EQUALITY: u32 = 4244;

/// `=`.
pub fn equality() -> &'static PolyDef {
    registry::polymorphic(EQUALITY).expect("it is in the table")
}

/// The ranges of a range or a multirange.
fn several(datum: Datum<'_>) -> Multirange<'_> {
    match datum {
        Datum::Range(kind, bytes) => Multirange::of(kind, [Range::read(kind, bytes)]),
        other => multirange(other),
    }
}

fn has(whole: Datum<'_>, value: Datum<'_>) -> bool {
    multirange(whole).ranges.iter().any(|range| range.has(value))
}

macro_rules! test {
    ($oid:literal $name:expr, $l:ident $r:ident |$a:ident, $b:ident| $test:expr) => {
        PolyDef::new($oid, $name, &[$l, $r], Is(Bool), |_, args, _| {
            let ($a, $b) = (several(args[0]), several(args[1]));
            Ok(Datum::Bool($test))
        })
        .total()
    };
}

/// Tests of a range and a multirange, of these the other way round, and of two multiranges.
macro_rules! tests {
    ($($name:literal $right:literal $left:literal $both:literal
        |$a:ident, $b:ident| $test:expr;)*) => {
        pub(super) const TESTS: &[PolyDef] = &[$(
            test!($right concat!("range_", $name, "_multirange"), AnyRange AnyMultirange
                |$a, $b| $test),
            test!($left concat!("multirange_", $name, "_range"), AnyMultirange AnyRange
                |$a, $b| $test),
            test!($both concat!("multirange_", $name, "_multirange"), AnyMultirange AnyMultirange
                |$a, $b| $test),
        )*];
    };
}

tests! {
    "overlaps" 4246 4247 4248 |a, b| a.overlaps(&b);
    "contains" 4541 4250 4251 |a, b| a.contains(&b);
    "contained_by" 4253 4542 4254 |a, b| b.contains(&a);
    "adjacent" 4255 4257 4256 |a, b| a.span().is_adjacent(&b.span());
    "before" 4258 4259 4260 |a, b| a.span().is_before(&b.span());
    "after" 4261 4262 4263 |a, b| b.span().is_before(&a.span());
    "overleft" 4264 4265 4266 |a, b| a.span().ends_within(&b.span());
    "overright" 4267 4268 4269 |a, b| a.span().begins_within(&b.span());
}

macro_rules! fact {
    ($oid:literal $name:literal |$a:ident| $fact:expr) => {
        PolyDef::new($oid, $name, &[AnyMultirange], Is(Bool), |_, args, _| {
            let $a = multirange(args[0]).span();
            Ok(Datum::Bool($fact))
        })
        .total()
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    comparison!(EQUALITY, "multirange_eq", AnyMultirange, is_eq),
    comparison!(4245, "multirange_ne", AnyMultirange, is_ne),
    comparison!(4274, "multirange_lt", AnyMultirange, is_lt),
    comparison!(4275, "multirange_le", AnyMultirange, is_le),
    comparison!(4277, "multirange_gt", AnyMultirange, is_gt),
    comparison!(4276, "multirange_ge", AnyMultirange, is_ge),
    PolyDef::new(4249, "multirange_contains_elem", &[AnyMultirange, AnyElement], Is(Bool), {
        |_, args, _| Ok(Datum::Bool(has(args[0], args[1])))
    })
    .total(),
    PolyDef::new(4252, "elem_contained_by_multirange", &[AnyElement, AnyMultirange], Is(Bool), {
        |_, args, _| Ok(Datum::Bool(has(args[1], args[0])))
    })
    .total(),
    PolyDef::new(
        4270,
        "multirange_union",
        &[AnyMultirange, AnyMultirange],
        AnyMultirange,
        |_, args, cx| Ok(multirange(args[0]).union(multirange(args[1])).datum_in(cx.arena)),
    )
    .total(),
    PolyDef::new(
        4271,
        "multirange_minus",
        &[AnyMultirange, AnyMultirange],
        AnyMultirange,
        |_, args, cx| Ok(multirange(args[0]).without(&multirange(args[1]))?.datum_in(cx.arena)),
    ),
    PolyDef::new(
        4272,
        "multirange_intersect",
        &[AnyMultirange, AnyMultirange],
        AnyMultirange,
        |_, args, cx| Ok(multirange(args[0]).intersection(&multirange(args[1])).datum_in(cx.arena)),
    )
    .total(),
    PolyDef::new(4235, "lower", &[AnyMultirange], AnyElement, |_, args, _| {
        Ok(multirange(args[0]).span().edges.map_or(Datum::Null, |(lower, _)| lower.datum()))
    })
    .nullable()
    .total(),
    PolyDef::new(4236, "upper", &[AnyMultirange], AnyElement, |_, args, _| {
        Ok(multirange(args[0]).span().edges.map_or(Datum::Null, |(_, upper)| upper.datum()))
    })
    .nullable()
    .total(),
    fact!(4237 "isempty" |a| a.is_empty()),
    fact!(4238 "lower_inc" |a| a.edges.is_some_and(|(lower, _)| lower.is_inclusive())),
    fact!(4239 "upper_inc" |a| a.edges.is_some_and(|(_, upper)| upper.is_inclusive())),
    fact!(4240 "lower_inf" |a| a.edges.is_some_and(|(lower, _)| lower.value.is_none())),
    fact!(4241 "upper_inf" |a| a.edges.is_some_and(|(_, upper)| upper.value.is_none())),
    PolyDef::new(4228, "range_merge", &[AnyMultirange], AnyRange, |_, args, cx| {
        Ok(multirange(args[0]).span().datum_in(cx.arena))
    })
    .total(),
    PolyDef::new(4298, "multirange", &[AnyRange], AnyMultirange, |_, args, cx| {
        let range = range(args[0]);
        Ok(Multirange::of(range.kind, [range]).datum_in(cx.arena))
    })
    .total(),
    PolyDef::set(1293, "unnest", &[AnyMultirange], AnyRange, |args, cx| {
        let ranges = multirange(args[0]).ranges.into_iter();
        Ok(listed(ranges.map(|range| pack(&[range.datum_in(cx.arena)])).collect()))
    })
    .total(),
];

macro_rules! operators {
    ($($symbol:literal: $($func:literal)*;)*) => {
        pub(super) const OPERATORS: &[PolyOperator] =
            &[$($(PolyOperator { symbol: $symbol, func: $func },)*)*];
    };
}

operators! {
    "=": 4244;
    "<>": 4245;
    "<": 4274;
    "<=": 4275;
    ">": 4277;
    ">=": 4276;
    "&&": 4246 4247 4248;
    "@>": 4541 4249 4250 4251;
    "<@": 4252 4253 4542 4254;
    "-|-": 4255 4257 4256;
    "<<": 4258 4259 4260;
    ">>": 4261 4262 4263;
    "&<": 4264 4265 4266;
    "&>": 4267 4268 4269;
    "+": 4270;
    "-": 4271;
    "*": 4272;
}
