//! Comparison of arrays: one order for all of them, that of [`ArrayRef::compare`].
//!
//! [`ArrayRef::compare`]: crate::repr::ArrayRef::compare

use std::cmp::Ordering;

use crate::expr::functions::comparison::{DISTINCT, GREATEST, LEAST, NOT_DISTINCT, extreme};
use crate::expr::functions::registry;
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot};
use crate::repr::ScalarType::{Array, Bool};
use crate::repr::{Datum, Element};

/// What is added to the oid of a function without a name in SQL to have the one of arrays.
pub(super) const UNNAMED: u32 = 1_000;

const EQUALITY: u32 = 744;

/// `=`.
pub fn equality() -> &'static PolyDef {
    registry::polymorphic(EQUALITY).expect("it is in the table")
}

fn same(args: &[Datum<'_>], element: Element) -> Ordering {
    args[0].compare_as(Array(element), &args[1])
}

macro_rules! comparison {
    ($oid:expr, $name:literal, $test:ident) => {
        PolyDef::new(
            $oid,
            $name,
            &[Slot::AnyArray, Slot::AnyArray],
            Slot::Is(Bool),
            |element, args, _| Ok(Datum::Bool(same(args, element).$test())),
        )
        .total()
    };
}

/// One of two arrays: the first where it is beyond the second.
macro_rules! larger {
    ($oid:literal, $name:literal, $test:ident) => {
        PolyDef::new(
            $oid,
            $name,
            &[Slot::AnyArray, Slot::AnyArray],
            Slot::AnyArray,
            |element, args, _| Ok(args[usize::from(!same(args, element).$test())]),
        )
        .total()
    };
}

macro_rules! extreme {
    ($oid:expr, $name:literal, $test:path) => {
        PolyDef::new($oid, $name, &[], Slot::AnyArray, |element, args, _| {
            extreme(Array(element), args, $test)
        })
        .variadic(Slot::AnyArray)
        .lax()
        .nullable()
        .total()
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    comparison!(EQUALITY, "array_eq", is_eq),
    comparison!(390, "array_ne", is_ne),
    comparison!(391, "array_lt", is_lt),
    comparison!(392, "array_gt", is_gt),
    comparison!(393, "array_le", is_le),
    comparison!(396, "array_ge", is_ge),
    comparison!(UNNAMED + DISTINCT, "IS DISTINCT FROM", is_ne).lax(),
    comparison!(UNNAMED + NOT_DISTINCT, "IS NOT DISTINCT FROM", is_eq).lax(),
    larger!(515, "array_larger", is_gt),
    larger!(516, "array_smaller", is_lt),
    extreme!(UNNAMED + GREATEST, "GREATEST", Ordering::is_gt),
    extreme!(UNNAMED + LEAST, "LEAST", Ordering::is_lt),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "=", func: EQUALITY },
    PolyOperator { symbol: "<>", func: 390 },
    PolyOperator { symbol: "<", func: 391 },
    PolyOperator { symbol: ">", func: 392 },
    PolyOperator { symbol: "<=", func: 393 },
    PolyOperator { symbol: ">=", func: 396 },
];
