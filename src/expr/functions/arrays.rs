//! Making arrays, taking them apart, and putting them together.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions::access::{array, int4};
use crate::expr::polymorphic::{
    PolyDef, PolyOperator,
    Slot::{self, *},
};
use crate::repr::ScalarType::{self, Int4, Text};
use crate::repr::array::{ArrayBuilder, DIMS_MAX, Dims};
use crate::repr::{ArrayRef, Datum, Element};

type Answer<'a> = Result<Datum<'a>, EvalError>;

const INT4_ARRAY: Slot = Is(array_of(Int4));

/// `ARRAY[…]` of elements.
pub const CONSTRUCTOR: u32 = 91_000;
/// `ARRAY[…]` of arrays.
pub const NESTED_CONSTRUCTOR: u32 = 91_001;
/// `a[i]`: the array and a subscript for each dimension.
pub const SUBSCRIPT: u32 = 91_002;
/// `a[l:u]`: the array, bits that tell which bounds were written (lower, upper; first dimension
/// lowest), and both bounds of each dimension, any where not written.
pub const SLICE: u32 = 91_003;

#[cold]
pub(super) fn subscript_error(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

fn with_detail(error: EvalError, detail: impl Into<Box<str>>) -> EvalError {
    EvalError { detail: Some(detail.into()), ..error }
}

/// The empty array.
pub(super) fn empty<'a>(element: Element) -> Datum<'a> {
    Datum::Array(element, &[])
}

fn constructed<'a>(element: Element, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut builder = ArrayBuilder::new();
    args.iter().for_each(|arg| builder.push(arg));
    Ok(builder.vector_in(element, cx.arena))
}

/// An array whose elements in the first dimension are the arguments, which have one shape.
fn nested<'a>(element: Element, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut builder = ArrayBuilder::new();
    let mut shape: Option<Dims> = None;
    let mut has_empty = false;
    let mismatch = || {
        let message =
            "multidimensional arrays must have array expressions with matching dimensions";
        Err(subscript_error(message))
    };
    for arg in args {
        let inner = match arg {
            Datum::Array(element, bytes) => ArrayRef::new(*element, bytes),
            _ => ArrayRef::new(element, &[]),
        };
        if inner.is_empty() {
            has_empty = true;
            continue;
        }
        if *shape.get_or_insert(inner.dims) != inner.dims {
            return mismatch();
        }
        builder.extend(inner.iter());
    }
    match shape {
        None => Ok(empty(element)),
        Some(_) if has_empty => mismatch(),
        Some(shape) => {
            let lengths = [&[args.len() as i32], shape.lengths()].concat();
            let lowers = [&[1], shape.lowers()].concat();
            Ok(builder.finish_in(element, &Dims::checked(&lengths, &lowers)?, cx.arena))
        }
    }
}

fn subscripted<'a>(of: ArrayRef<'a>, subscripts: &[Datum<'a>]) -> Datum<'a> {
    if subscripts.len() > DIMS_MAX {
        return Datum::Null;
    }
    let mut places = [0; DIMS_MAX];
    for (place, subscript) in places.iter_mut().zip(subscripts) {
        *place = int4(*subscript);
    }
    let offset = of.dims.offset(&places[..subscripts.len()]);
    offset.and_then(|offset| of.get(offset)).unwrap_or(Datum::Null)
}

/// The part of an array within bounds; dimensions without bounds are whole. Counts from 1.
fn sliced<'a>(
    of: ArrayRef<'a>,
    bounds: &[(Option<i32>, Option<i32>)],
    arena: &'a Bump,
) -> Datum<'a> {
    let dims = &of.dims;
    if dims.count() < bounds.len() || of.is_empty() {
        return empty(of.element);
    }
    let mut ranges = [(0, 0); DIMS_MAX];
    let mut shape = Dims::EMPTY;
    for (dim, range) in ranges[..dims.count()].iter_mut().enumerate() {
        let (lower, upper) = bounds.get(dim).copied().unwrap_or((None, None));
        let (least, most) = (dims.lowers()[dim], dims.upper(dim));
        let lower = lower.map_or(least, |lower| lower.max(least));
        let upper = upper.map_or(most, |upper| upper.min(most));
        if lower > upper {
            return empty(of.element);
        }
        *range = (lower - least, upper - least);
        shape.push(upper - lower + 1, 1);
    }
    let mut builder = ArrayBuilder::new();
    for (mut place, item) in of.iter().enumerate() {
        let inside = (0..dims.count()).rev().all(|dim| {
            let length = dims.lengths()[dim] as usize;
            let at = (place % length) as i32;
            place /= length;
            (ranges[dim].0..=ranges[dim].1).contains(&at)
        });
        if inside {
            builder.push(&item);
        }
    }
    builder.finish_in(of.element, &shape, arena)
}

fn slice<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let written = int4(args[1]);
    let bound = |i: usize| (written >> i & 1 != 0).then(|| int4(args[2 + i]));
    let bounds: Vec<_> =
        (0..(args.len() - 2) / 2).map(|dim| (bound(2 * dim), bound(2 * dim + 1))).collect();
    Ok(sliced(array(args[0]), &bounds, cx.arena))
}

/// An array and one more element, behind or before the others.
fn extended<'a>(
    element: Element,
    of: Datum<'a>,
    item: Datum<'a>,
    before: bool,
    arena: &'a Bump,
) -> Answer<'a> {
    let of = match of {
        Datum::Null => ArrayRef::new(element, &[]),
        of => array(of),
    };
    let lower = match of.dims.lowers() {
        [] => 1,
        [lower] => *lower,
        _ => {
            let message = "argument must be empty or one-dimensional array";
            return Err(EvalError::new(SqlState::DATA_EXCEPTION, message));
        }
    };
    let beyond = match before {
        true => !of.is_empty() && lower.checked_sub(1).is_none(),
        false => lower.checked_add(of.len() as i32).is_none(),
    };
    if beyond {
        return Err(EvalError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"));
    }
    let mut builder = ArrayBuilder::new();
    if before {
        builder.push(&item);
    }
    builder.extend(of.iter());
    if !before {
        builder.push(&item);
    }
    let dims = Dims::checked(&[builder.len() as i32], &[lower])?;
    Ok(builder.finish_in(element, &dims, arena))
}

/// Two arrays of one shape but for the outermost length, or one that is an element of the other.
fn concatenated<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let (a, b) = match (args[0], args[1]) {
        (Datum::Null, other) | (other, Datum::Null) => return Ok(other),
        (a, b) => (array(a), array(b)),
    };
    if a.is_empty() {
        return Ok(args[1]);
    }
    if b.is_empty() {
        return Ok(args[0]);
    }
    let incompatible = |detail: String| {
        Err(with_detail(subscript_error("cannot concatenate incompatible arrays"), detail))
    };
    let (m, n) = (a.dims.count(), b.dims.count());
    let (outer, inner) = if m >= n { (&a, &b) } else { (&b, &a) };
    let (mut lengths, lowers) = (outer.dims.lengths().to_vec(), outer.dims.lowers());
    let behind_first = |dims: &Dims| (dims.lengths()[1..].to_vec(), dims.lowers()[1..].to_vec());
    if m == n {
        if behind_first(&a.dims) != behind_first(&b.dims) {
            let detail = "Arrays with differing element dimensions are not compatible for \
                          concatenation.";
            return incompatible(detail.to_owned());
        }
        lengths[0] = lengths[0].saturating_add(b.dims.lengths()[0]);
    } else if m.abs_diff(n) == 1 {
        let all = (inner.dims.lengths().to_vec(), inner.dims.lowers().to_vec());
        if behind_first(&outer.dims) != all {
            let detail = "Arrays with differing dimensions are not compatible for concatenation.";
            return incompatible(detail.to_owned());
        }
        lengths[0] = lengths[0].saturating_add(1);
    } else {
        let detail =
            format!("Arrays of {m} and {n} dimensions are not compatible for concatenation.");
        return incompatible(detail);
    }
    // The one that is the outer array gives the bounds; of two alike it is the first.
    let dims = Dims::checked(&lengths, if m == n { a.dims.lowers() } else { lowers })?;
    let mut builder = ArrayBuilder::new();
    builder.extend(a.iter());
    builder.extend(b.iter());
    Ok(builder.finish_in(a.element, &dims, cx.arena))
}

fn trimmed<'a>(of: ArrayRef<'a>, count: i32, arena: &'a Bump) -> Answer<'a> {
    let length = of.dims.lengths().first().copied().unwrap_or(0);
    if !(0..=length).contains(&count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(subscript_error(message));
    }
    if of.is_empty() {
        return Ok(of.datum());
    }
    Ok(sliced(of, &[(None, Some(of.dims.upper(0) - count))], arena))
}

/// The values of an array that lists dimensions or bounds.
fn listed(list: ArrayRef<'_>) -> Result<Vec<i32>, EvalError> {
    if list.dims.count() > 1 {
        let detail = "Dimension array must be one dimensional.";
        return Err(with_detail(subscript_error("wrong number of array subscripts"), detail));
    }
    if list.has_nulls() {
        let message = "dimension values cannot be null";
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    Ok(list.iter().map(int4).collect())
}

fn filled<'a>(element: Element, args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if args[1..].iter().any(Datum::is_null) {
        let message = "dimension array or low bound array cannot be null";
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    let lengths = listed(array(args[1]))?;
    let mut lowers = vec![1; lengths.len()];
    // Too many dimensions are the fault before their bounds are looked at.
    if lengths.len() <= DIMS_MAX
        && let Some(given) = args.get(2)
    {
        lowers = listed(array(*given))?;
        if lowers.len() != lengths.len() {
            let detail = "Low bound array has different size than dimensions array.";
            return Err(with_detail(subscript_error("wrong number of array subscripts"), detail));
        }
    }
    let dims = match lengths.is_empty() {
        true => Dims::EMPTY,
        false => Dims::checked(&lengths, &lowers)?,
    };
    let mut builder = ArrayBuilder::new();
    (0..dims.items()).for_each(|_| builder.push(&args[0]));
    Ok(builder.finish_in(element, &dims, cx.arena))
}

/// A dimension of an array, if it has it, counting from 1.
fn dimension(args: &[Datum<'_>], fact: fn(&Dims, usize) -> i32) -> Datum<'static> {
    let dims = array(args[0]).dims;
    match usize::try_from(int4(args[1])) {
        Ok(dim) if (1..=dims.count()).contains(&dim) => Datum::Int4(fact(&dims, dim - 1)),
        _ => Datum::Null,
    }
}

fn spelled_dims<'a>(dims: &Dims, arena: &'a Bump) -> Datum<'a> {
    if dims.count() == 0 {
        return Datum::Null;
    }
    let one = |(dim, lower)| format!("[{lower}:{}]", dims.upper(dim));
    let spelled: String = dims.lowers().iter().enumerate().map(one).collect();
    Datum::Text(arena.alloc_str(&spelled))
}

macro_rules! of_dimension {
    ($oid:literal $name:literal, $fact:expr) => {
        PolyDef::new($oid, $name, &[AnyArray, Is(Int4)], Is(Int4), |_, args, _| {
            Ok(dimension(args, $fact))
        })
        .nullable()
        .total()
    };
}

pub(super) const FUNCTIONS: &[PolyDef] = &[
    PolyDef::new(CONSTRUCTOR, "ARRAY", &[], AnyArray, constructed)
        .variadic(AnyElement)
        .lax()
        .total(),
    PolyDef::new(NESTED_CONSTRUCTOR, "ARRAY", &[], AnyArray, nested).variadic(AnyArray).lax(),
    PolyDef::new(SUBSCRIPT, "subscript", &[AnyArray], AnyElement, |_, args, _| {
        Ok(subscripted(array(args[0]), &args[1..]))
    })
    .variadic(Is(Int4))
    .nullable()
    .total(),
    PolyDef::new(SLICE, "slice", &[AnyArray, Is(Int4)], AnyArray, |_, args, cx| slice(args, cx))
        .variadic(Is(Int4))
        .total(),
    PolyDef::new(
        378,
        "array_append",
        &[AnyCompatibleArray, AnyCompatible],
        AnyCompatibleArray,
        |element, args, cx| extended(element, args[0], args[1], false, cx.arena),
    )
    .lax(),
    PolyDef::new(
        379,
        "array_prepend",
        &[AnyCompatible, AnyCompatibleArray],
        AnyCompatibleArray,
        |element, args, cx| extended(element, args[1], args[0], true, cx.arena),
    )
    .lax(),
    PolyDef::new(
        383,
        "array_cat",
        &[AnyCompatibleArray, AnyCompatibleArray],
        AnyCompatibleArray,
        |_, args, cx| concatenated(args, cx),
    )
    .lax()
    .nullable(),
    PolyDef::new(748, "array_ndims", &[AnyArray], Is(Int4), |_, args, _| {
        let count = array(args[0]).dims.count();
        Ok(if count == 0 { Datum::Null } else { Datum::Int4(count as i32) })
    })
    .nullable()
    .total(),
    PolyDef::new(747, "array_dims", &[AnyArray], Is(Text), |_, args, cx| {
        Ok(spelled_dims(&array(args[0]).dims, cx.arena))
    })
    .nullable()
    .total(),
    of_dimension!(2176 "array_length", |dims, dim| dims.lengths()[dim]),
    of_dimension!(2091 "array_lower", |dims, dim| dims.lowers()[dim]),
    of_dimension!(2092 "array_upper", Dims::upper),
    PolyDef::new(3179, "cardinality", &[AnyArray], Is(Int4), |_, args, _| {
        Ok(Datum::Int4(array(args[0]).len() as i32))
    })
    .total(),
    PolyDef::new(6172, "trim_array", &[AnyArray, Is(Int4)], AnyArray, |_, args, cx| {
        trimmed(array(args[0]), int4(args[1]), cx.arena)
    }),
    PolyDef::new(1193, "array_fill", &[AnyElement, INT4_ARRAY], AnyArray, filled).lax(),
    PolyDef::new(1286, "array_fill", &[AnyElement, INT4_ARRAY, INT4_ARRAY], AnyArray, filled).lax(),
];

pub(super) const OPERATORS: &[PolyOperator] = &[
    PolyOperator { symbol: "||", func: 378 },
    PolyOperator { symbol: "||", func: 379 },
    PolyOperator { symbol: "||", func: 383 },
];

/// The array of an element type, for signatures.
pub(super) const fn array_of(ty: ScalarType) -> ScalarType {
    match ty.array() {
        Some(array) => array,
        None => ty,
    }
}
