//! Values made into json. The arguments are of any type, and come as they are.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::access::{array, bool, text};
use crate::expr::functions::arrays::{array_of, subscript_error};
use crate::expr::functions::jsonb_build::member_name;
use crate::expr::functions::registry::Family;
use crate::expr::functions::text::type_of;
use crate::expr::polymorphic::{PolyDef, Slot};
use crate::repr::ScalarType::{self, *};
use crate::repr::json::{format_array, push_json, push_json_name};
use crate::repr::{ArrayRef, Datum};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

const TEXTS: ScalarType = array_of(Text);

#[cold]
fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn put(datum: &Datum<'_>, cx: &EvalContext<'_>, out: &mut String) {
    push_json(datum, type_of(datum), cx.settings, out);
}

fn done<'a>(out: &str, cx: &EvalContext<'a>) -> Answer<'a> {
    Ok(Datum::Json(cx.arena.alloc_str(out)))
}

fn built_object<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if !args.len().is_multiple_of(2) {
        let hint = "The arguments of json_build_object() must consist of alternating keys and \
                    values.";
        let error = invalid("argument list must have even number of elements");
        return Err(EvalError { hint: Some(hint.into()), ..error });
    }
    let mut out = String::from("{");
    for (i, member) in args.chunks(2).enumerate() {
        let null = format!("argument {} cannot be null", 2 * i + 1);
        let name = member_name(&member[0], &null, cx).map_err(|error| match member[0] {
            Datum::Null => {
                let hint = "Object keys should be text.";
                EvalError { hint: Some(hint.into()), ..error }
            }
            _ => error,
        })?;
        out.push_str(if i > 0 { ", " } else { "" });
        push_json_name(&name, &mut out);
        out.push_str(" : ");
        put(&member[1], cx, &mut out);
    }
    out.push('}');
    done(&out, cx)
}

fn built_array<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut out = String::from("[");
    for (i, arg) in args.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        put(arg, cx, &mut out);
    }
    out.push(']');
    done(&out, cx)
}

/// Appends a member of an object made of texts.
fn put_member(key: Datum<'_>, value: Datum<'_>, out: &mut String) -> Result<(), EvalError> {
    if key.is_null() {
        let message = "null value not allowed for object key";
        return Err(EvalError::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    out.push_str(if out.len() > 1 { ", " } else { "" });
    push_json_name(text(key), out);
    out.push_str(" : ");
    match value {
        Datum::Null => out.push_str("null"),
        value => push_json_name(text(value), out),
    }
    Ok(())
}

fn object_of_pairs<'a>(list: ArrayRef<'a>, cx: &EvalContext<'a>) -> Answer<'a> {
    match *list.dims.lengths() {
        [] => {}
        [count] if count % 2 != 0 => {
            return Err(subscript_error("array must have even number of elements"));
        }
        [_] | [_, 2] => {}
        [_, _] => return Err(subscript_error("array must have two columns")),
        _ => return Err(subscript_error("wrong number of array subscripts")),
    }
    let mut out = String::from("{");
    let mut items = list.iter();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        put_member(key, value, &mut out)?;
    }
    out.push('}');
    done(&out, cx)
}

fn object_of_lists<'a>(
    names: ArrayRef<'a>,
    values: ArrayRef<'a>,
    cx: &EvalContext<'a>,
) -> Answer<'a> {
    if names.dims.count() > 1 || names.dims.count() != values.dims.count() {
        return Err(subscript_error("wrong number of array subscripts"));
    }
    if names.len() != values.len() {
        return Err(subscript_error("mismatched array dimensions"));
    }
    let mut out = String::from("{");
    for (key, value) in names.iter().zip(values.iter()) {
        put_member(key, value, &mut out)?;
    }
    out.push('}');
    done(&out, cx)
}

fn of_array<'a>(args: &[Datum<'a>], pretty: bool, cx: &EvalContext<'a>) -> Answer<'a> {
    let mut out = String::new();
    format_array(&array(args[0]), pretty, cx.settings, &mut out);
    done(&out, cx)
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(3201, "json_build_object", &[], Json, built_object).lax().total().stable(),
    FuncDef::new(3200, "json_build_object", &[], Json, built_object)
        .variadic(Text)
        .any()
        .lax()
        .stable(),
    FuncDef::new(3199, "json_build_array", &[], Json, built_array).lax().total().stable(),
    FuncDef::new(3198, "json_build_array", &[], Json, built_array)
        .variadic(Text)
        .any()
        .lax()
        .stable(),
    FuncDef::new(3176, "to_json", &[Text], Json, |args, cx| {
        let mut out = String::new();
        put(&args[0], cx, &mut out);
        done(&out, cx)
    })
    .any()
    .total()
    .stable(),
    FuncDef::new(3202, "json_object", &[TEXTS], Json, |args, cx| {
        object_of_pairs(array(args[0]), cx)
    }),
    FuncDef::new(3203, "json_object", &[TEXTS, TEXTS], Json, |args, cx| {
        object_of_lists(array(args[0]), array(args[1]), cx)
    }),
];

pub(super) const POLYMORPHIC: &[PolyDef] = &[
    PolyDef::new(3153, "array_to_json", &[Slot::AnyArray], Slot::Is(Json), |_, args, cx| {
        of_array(args, false, cx)
    })
    .total()
    .stable(),
    PolyDef::new(
        3154,
        "array_to_json",
        &[Slot::AnyArray, Slot::Is(Bool)],
        Slot::Is(Json),
        |_, args, cx| of_array(args, bool(args[1]), cx),
    )
    .total()
    .stable(),
];
