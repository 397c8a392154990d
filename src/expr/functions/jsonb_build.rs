//! Values made into jsonb. The arguments are of any type, and come as they are.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{EvalContext, FuncDef};
use crate::expr::functions::registry::Family;
use crate::expr::functions::text::{push_text_form, type_of};
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::jsonb::{JsonbBuilder, JsonbRef};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

type Answer<'a> = Result<Datum<'a>, EvalError>;

#[cold]
fn invalid(message: impl Into<Box<str>>) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn put(datum: &Datum<'_>, cx: &EvalContext<'_>, into: &mut JsonbBuilder) -> Result<(), EvalError> {
    Ok(into.datum(datum, type_of(datum), cx.settings)?)
}

/// A member's name: the text of a value, as JSON spells it. `null` is the message where it is NULL.
pub(crate) fn member_name(
    datum: &Datum<'_>,
    null: &str,
    cx: &EvalContext<'_>,
) -> Result<String, EvalError> {
    match datum {
        Datum::Null => Err(invalid(null)),
        Datum::Jsonb(_) | Datum::Json(_) | Datum::Array(..) | Datum::Record(..) => {
            Err(invalid("key value must be scalar, not array, composite, or json"))
        }
        Datum::Text(_) | Datum::Float4(_) | Datum::Float8(_) => {
            let mut key = String::new();
            push_text_form(datum, cx, &mut key);
            Ok(key)
        }
        datum => {
            let mut builder = JsonbBuilder::new();
            put(datum, cx, &mut builder)?;
            Ok(JsonbRef(builder.finish()).as_text().unwrap_or_default())
        }
    }
}

fn object<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    if !args.len().is_multiple_of(2) {
        let hint = "The arguments of jsonb_build_object() must consist of alternating keys and \
                    values.";
        let error = invalid("argument list must have even number of elements");
        return Err(EvalError { hint: Some(hint.into()), ..error });
    }
    let mut builder = JsonbBuilder::new();
    builder.begin_object();
    for (i, member) in args.chunks(2).enumerate() {
        let null = format!("argument {}: key must not be null", 2 * i + 1);
        builder.key(&member_name(&member[0], &null, cx)?);
        put(&member[1], cx, &mut builder)?;
    }
    builder.end();
    Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
}

fn array<'a>(args: &[Datum<'a>], cx: &EvalContext<'a>) -> Answer<'a> {
    let mut builder = JsonbBuilder::new();
    builder.begin_array();
    for arg in args {
        put(arg, cx, &mut builder)?;
    }
    builder.end();
    Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::new(3274, "jsonb_build_object", &[], Jsonb, object).lax().total().stable(),
    FuncDef::new(3273, "jsonb_build_object", &[], Jsonb, object)
        .variadic(Text)
        .any()
        .lax()
        .stable(),
    FuncDef::new(3272, "jsonb_build_array", &[], Jsonb, array).lax().total().stable(),
    FuncDef::new(3271, "jsonb_build_array", &[], Jsonb, array).variadic(Text).any().lax().stable(),
    FuncDef::new(3787, "to_jsonb", &[Text], Jsonb, |args, cx| {
        let mut builder = JsonbBuilder::new();
        put(&args[0], cx, &mut builder)?;
        Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
    })
    .any()
    .stable(),
];
