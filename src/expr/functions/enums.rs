//! Enums: compared in the order of their labels, and the labels themselves. Also the functions
//! without a name in SQL of every type that a user can create.

use std::cmp::Ordering;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::comparison::{DISTINCT, GREATEST, LEAST, NOT_DISTINCT, extreme};
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot};
use crate::repr::ScalarType::{self, Bool};
use crate::repr::array::ArrayBuilder;
use crate::repr::{Datum, Element};

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// `=` of enums.
pub const EQUALITY: u32 = 3508;

/// What is added to the oid of a function without a name in SQL to have the one of these types.
pub(super) const UNNAMED: u32 = 2_000;

fn same(args: &[Datum<'_>], element: Element) -> Ordering {
    args[0].compare_as(element.scalar(), &args[1])
}

/// The keys of an enum's labels, in order.
fn keys(element: Element) -> Vec<String> {
    match element.scalar() {
        ScalarType::Enum(ty) => ty.facts().labels.iter().map(|label| label.key.clone()).collect(),
        _ => vec![],
    }
}

fn value<'a>(element: Element, key: Option<&String>, cx: &EvalContext<'a>) -> Answer<'a> {
    match (element.scalar(), key) {
        (ScalarType::Enum(ty), Some(key)) => Ok(Datum::Enum(ty, cx.arena.alloc_str(key))),
        _ => Err(EvalError::new(
            SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("enum {} contains no values", element.scalar().display_name()),
        )),
    }
}

/// The values from one to another, where NULL is no bound.
fn range<'a>(element: Element, [lower, upper]: [Datum<'a>; 2], cx: &EvalContext<'a>) -> Answer<'a> {
    let ScalarType::Enum(ty) = element.scalar() else { return Ok(Datum::Null) };
    let mut builder = ArrayBuilder::new();
    for key in keys(element) {
        let value = Datum::Enum(ty, &key);
        if (lower.is_null() || value >= lower) && (upper.is_null() || value <= upper) {
            builder.push(&value);
        }
    }
    Ok(builder.vector_in(element, cx.arena))
}

macro_rules! comparison {
    ($oid:expr, $name:literal, $slot:expr, $test:ident) => {
        PolyDef::new($oid, $name, &[$slot, $slot], Slot::Is(Bool), |element, args, _| {
            Ok(Datum::Bool(same(args, element).$test()))
        })
        .total()
    };
}

macro_rules! larger {
    ($oid:literal, $name:literal, $test:ident) => {
        PolyDef::new(
            $oid,
            $name,
            &[Slot::AnyEnum, Slot::AnyEnum],
            Slot::AnyEnum,
            |element, args, _| Ok(args[usize::from(!same(args, element).$test())]),
        )
        .total()
    };
}

macro_rules! extreme {
    ($oid:expr, $name:literal, $test:path) => {
        PolyDef::new($oid, $name, &[], Slot::AnyElement, |element, args, _| {
            extreme(element.scalar(), args, $test)
        })
        .variadic(Slot::AnyElement)
        .lax()
        .nullable()
        .total()
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    comparison!(EQUALITY, "enum_eq", Slot::AnyEnum, is_eq),
    comparison!(3509, "enum_ne", Slot::AnyEnum, is_ne),
    comparison!(3510, "enum_lt", Slot::AnyEnum, is_lt),
    comparison!(3511, "enum_gt", Slot::AnyEnum, is_gt),
    comparison!(3512, "enum_le", Slot::AnyEnum, is_le),
    comparison!(3513, "enum_ge", Slot::AnyEnum, is_ge),
    larger!(3524, "enum_smaller", is_lt),
    larger!(3525, "enum_larger", is_gt),
    PolyDef::new(3528, "enum_first", &[Slot::AnyEnum], Slot::AnyEnum, |element, _, cx| {
        value(element, keys(element).first(), cx)
    })
    .lax()
    .stable(),
    PolyDef::new(3529, "enum_last", &[Slot::AnyEnum], Slot::AnyEnum, |element, _, cx| {
        value(element, keys(element).last(), cx)
    })
    .lax()
    .stable(),
    PolyDef::new(
        3530,
        "enum_range",
        &[Slot::AnyEnum, Slot::AnyEnum],
        Slot::AnyArray,
        |element, args, cx| range(element, [args[0], args[1]], cx),
    )
    .lax()
    .stable(),
    PolyDef::new(3531, "enum_range", &[Slot::AnyEnum], Slot::AnyArray, |element, _, cx| {
        range(element, [Datum::Null, Datum::Null], cx)
    })
    .lax()
    .stable(),
    comparison!(UNNAMED + DISTINCT, "IS DISTINCT FROM", Slot::AnyElement, is_ne).lax(),
    comparison!(UNNAMED + NOT_DISTINCT, "IS NOT DISTINCT FROM", Slot::AnyElement, is_eq).lax(),
    extreme!(UNNAMED + GREATEST, "GREATEST", Ordering::is_gt),
    extreme!(UNNAMED + LEAST, "LEAST", Ordering::is_lt),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "=", func: EQUALITY },
    PolyOperator { symbol: "<>", func: 3509 },
    PolyOperator { symbol: "<", func: 3510 },
    PolyOperator { symbol: ">", func: 3511 },
    PolyOperator { symbol: "<=", func: 3512 },
    PolyOperator { symbol: ">=", func: 3513 },
];
