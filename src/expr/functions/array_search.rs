//! Finding elements in arrays: positions, containment, removal and replacement.
//!
//! Elements are the same where their type's `=` says so; NULL is found by NULL where a single
//! element is looked for, and contained in nothing.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::{array, int4};
use crate::expr::functions::arrays::{array_of, empty, subscript_error};
use crate::expr::polymorphic::{PolyDef, PolyOperator, Slot::*};
use crate::repr::ScalarType::{Bool, Int4};
use crate::repr::array::{ArrayBuilder, Dims};
use crate::repr::{ArrayRef, Datum, Element};

type Answer<'a> = Result<Datum<'a>, EvalError>;

/// Whether two elements are the same, NULLs too.
fn same(element: Element, a: &Datum<'_>, b: &Datum<'_>) -> bool {
    a.compare_as(element.scalar(), b).is_eq()
}

/// Whether all elements of `part` are in `whole`.
fn contains(whole: ArrayRef<'_>, part: ArrayRef<'_>) -> bool {
    part.iter().all(|item| is_in(&item, whole))
}

fn is_in(item: &Datum<'_>, whole: ArrayRef<'_>) -> bool {
    !item.is_null() && whole.iter().any(|other| same(whole.element, item, &other))
}

fn vectors_only(of: ArrayRef<'_>, what: &str) -> Result<(), EvalError> {
    if of.dims.count() <= 1 {
        return Ok(());
    }
    let message = format!(
        "{what} elements {} multidimensional arrays is not supported",
        match what {
            "searching for" => "in",
            _ => "from",
        }
    );
    Err(EvalError::new(SqlState::FEATURE_NOT_SUPPORTED, message))
}

/// The subscripts of the elements that are the same as one.
fn found<'a>(
    of: ArrayRef<'a>,
    item: Datum<'a>,
) -> Result<impl Iterator<Item = i32> + use<'a>, EvalError> {
    vectors_only(of, "searching for")?;
    let lower = of.dims.lowers().first().copied().unwrap_or(1);
    let places = of.iter().enumerate().filter(move |(_, other)| same(of.element, &item, other));
    Ok(places.map(move |(place, _)| lower + place as i32))
}

fn position<'a>(args: &[Datum<'a>]) -> Answer<'a> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let of = array(args[0]);
    let mut found = found(of, args[1])?;
    let null_decides = of.is_empty() || args[1].is_null() && !of.has_nulls();
    let start = match args.get(2) {
        None => i32::MIN,
        _ if null_decides => return Ok(Datum::Null),
        Some(Datum::Null) => {
            let message = "initial position must not be null";
            return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
        }
        Some(start) => int4(*start),
    };
    Ok(found.find(|place| *place >= start).map_or(Datum::Null, Datum::Int4))
}

fn positions<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let mut builder = ArrayBuilder::new();
    builder.extend(found(array(args[0]), args[1])?.map(Datum::Int4));
    let element = Int4.as_element().expect("integers are no arrays");
    Ok(builder.vector_in(element, cx.arena))
}

fn removed<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let of = array(args[0]);
    vectors_only(of, "removing")?;
    let mut builder = ArrayBuilder::new();
    builder.extend(of.iter().filter(|item| !same(of.element, &args[1], item)));
    if builder.is_empty() {
        return Ok(empty(of.element));
    }
    let dims = Dims::checked(&[builder.len() as i32], of.dims.lowers())?;
    Ok(builder.finish_in(of.element, &dims, cx.arena))
}

fn replaced<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[0].is_null() {
        return Ok(Datum::Null);
    }
    let of = array(args[0]);
    let mut builder = ArrayBuilder::new();
    builder.extend(of.iter().map(|item| match same(of.element, &args[1], &item) {
        true => args[2],
        false => item,
    }));
    Ok(builder.finish_in(of.element, &of.dims, cx.arena))
}

/// How many of the ascending thresholds are not above a value.
fn bucket<'a>(value: Datum<'a>, thresholds: ArrayRef<'a>) -> Answer<'a> {
    if thresholds.dims.count() > 1 {
        return Err(subscript_error("thresholds must be one-dimensional array"));
    }
    if thresholds.has_nulls() {
        let message = "thresholds array must not contain NULLs";
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    let ty = thresholds.element.scalar();
    let (mut low, mut high) = (0, thresholds.len());
    while low < high {
        let middle = (low + high) / 2;
        let threshold = thresholds.get(middle).unwrap_or(Datum::Null);
        if value.compare_as(ty, &threshold).is_lt() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(Datum::Int4(low as i32))
}

macro_rules! between_arrays {
    ($oid:literal $name:literal, |$a:ident, $b:ident| $test:expr) => {
        PolyDef::new($oid, $name, &[AnyArray, AnyArray], Is(Bool), |_, args, _| {
            let ($a, $b) = (array(args[0]), array(args[1]));
            Ok(Datum::Bool($test))
        })
        .total()
    };
}

macro_rules! search {
    ($oid:literal $name:literal, $args:expr, $ret:expr, $eval:expr) => {
        PolyDef::new($oid, $name, $args, $ret, $eval).lax().nullable()
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    between_arrays!(2748 "arraycontains", |a, b| contains(a, b)),
    between_arrays!(2749 "arraycontained", |a, b| contains(b, a)),
    between_arrays!(2747 "arrayoverlap", |a, b| a.iter().any(|item| is_in(&item, b))),
    search!(3277 "array_position", &[AnyCompatibleArray, AnyCompatible], Is(Int4), |_, args, _| {
        position(args)
    }),
    search!(
        3278 "array_position",
        &[AnyCompatibleArray, AnyCompatible, Is(Int4)],
        Is(Int4),
        |_, args, _| position(args)
    ),
    search!(
        3279 "array_positions",
        &[AnyCompatibleArray, AnyCompatible],
        Is(array_of(Int4)),
        |_, args, cx| positions(args, cx)
    ),
    search!(
        3167 "array_remove",
        &[AnyCompatibleArray, AnyCompatible],
        AnyCompatibleArray,
        |_, args, cx| removed(args, cx)
    ),
    search!(
        3168 "array_replace",
        &[AnyCompatibleArray, AnyCompatible, AnyCompatible],
        AnyCompatibleArray,
        |_, args, cx| replaced(args, cx)
    ),
    PolyDef::new(
        3218,
        "width_bucket",
        &[AnyCompatible, AnyCompatibleArray],
        Is(Int4),
        |_, args, _| bucket(args[0], array(args[1])),
    ),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "@>", func: 2748 },
    PolyOperator { symbol: "<@", func: 2749 },
    PolyOperator { symbol: "&&", func: 2747 },
];
