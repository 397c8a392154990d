//! Operators and functions of json that take it apart.

use std::borrow::Cow;

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{array, int4, json, text};
use crate::expr::functions::arrays::array_of;
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::{self, *};
use crate::repr::json::{JsonKind, JsonText, push_json_name};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

const TEXTS: ScalarType = array_of(Text);

#[cold]
fn invalid(message: &'static str) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn read<'a>(datum: Datum<'a>) -> Result<JsonText<'a>, EvalError> {
    Ok(JsonText::new(json(datum))?)
}

/// What `->` answers.
fn as_json<'a>(found: Option<JsonText<'a>>, _: &'a Bump) -> Datum<'a> {
    found.map_or(Datum::Null, |found| Datum::Json(found.text()))
}

/// What `->>` answers.
pub(super) fn as_text<'a>(found: Option<JsonText<'a>>, arena: &'a Bump) -> Datum<'a> {
    match found.and_then(JsonText::as_text) {
        None => Datum::Null,
        Some(Cow::Borrowed(text)) => Datum::Text(text),
        Some(Cow::Owned(text)) => Datum::Text(arena.alloc_str(&text)),
    }
}

/// What lies at the end of a path; nothing where a step is NULL.
fn at_path<'a>(args: &[Datum<'a>]) -> Result<Option<JsonText<'a>>, EvalError> {
    let (value, path) = (read(args[0])?, array(args[1]));
    match path.has_nulls() {
        true => Ok(None),
        false => Ok(value.at_path(path.iter().map(text))),
    }
}

fn type_name(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Null => "null",
        JsonKind::Bool => "boolean",
        JsonKind::Number => "number",
        JsonKind::String => "string",
        JsonKind::Array => "array",
        JsonKind::Object => "object",
    }
}

/// Leaves out members that are `null`, at every depth, and all white space.
fn strip_nulls(value: JsonText<'_>, out: &mut String) {
    match value.kind() {
        JsonKind::Object => {
            out.push('{');
            let members = value.members().into_iter();
            let kept = members.filter(|(_, member)| member.kind() != JsonKind::Null);
            for (i, (name, member)) in kept.enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                push_json_name(&name, out);
                out.push(':');
                stacker::maybe_grow(32 << 10, 1 << 20, || strip_nulls(member, out));
            }
            out.push('}');
        }
        JsonKind::Array => {
            out.push('[');
            for (i, element) in value.elements().into_iter().enumerate() {
                out.push_str(if i > 0 { "," } else { "" });
                stacker::maybe_grow(32 << 10, 1 << 20, || strip_nulls(element, out));
            }
            out.push(']');
        }
        JsonKind::String => push_json_name(&value.as_text().unwrap_or_default(), out),
        _ => out.push_str(value.text()),
    }
}

/// A function whose answer is a part, as json or as text.
macro_rules! part {
    ($oid:literal $name:literal $args:expr, $ret:ident by $show:ident,
        |$values:ident| $found:expr) => {
        FuncDef::new($oid, $name, $args, $ret, |$values, cx| Ok($show($found, cx.arena))).nullable()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    part!(3947 "json_object_field" &[Json, Text], Json by as_json, |args| {
        read(args[0])?.member(text(args[1]))
    }),
    part!(3948 "json_object_field_text" &[Json, Text], Text by as_text, |args| {
        read(args[0])?.member(text(args[1]))
    }),
    part!(3949 "json_array_element" &[Json, Int4], Json by as_json, |args| {
        read(args[0])?.element(int4(args[1]).into())
    }),
    part!(3950 "json_array_element_text" &[Json, Int4], Text by as_text, |args| {
        read(args[0])?.element(int4(args[1]).into())
    }),
    part!(90_310 "json #>" &[Json, TEXTS], Json by as_json, |args| at_path(args)?),
    part!(90_311 "json #>>" &[Json, TEXTS], Text by as_text, |args| at_path(args)?),
    part!(3951 "json_extract_path" &[Json], Json by as_json, |args| {
        read(args[0])?.at_path(args[1..].iter().map(|step| text(*step)))
    })
    .variadic(Text),
    part!(3953 "json_extract_path_text" &[Json], Text by as_text, |args| {
        read(args[0])?.at_path(args[1..].iter().map(|step| text(*step)))
    })
    .variadic(Text),
    FuncDef::new(3956, "json_array_length", &[Json], Int4, |args, _| {
        let value = read(args[0])?;
        match value.kind() {
            JsonKind::Array => Ok(Datum::Int4(value.elements().len() as i32)),
            JsonKind::Object => Err(invalid("cannot get array length of a non-array")),
            _ => Err(invalid("cannot get array length of a scalar")),
        }
    }),
    FuncDef::new(3968, "json_typeof", &[Json], Text, |args, _| {
        Ok(Datum::Text(type_name(read(args[0])?.kind())))
    }),
    FuncDef::new(3261, "json_strip_nulls", &[Json], Json, |args, cx| {
        let mut out = String::new();
        strip_nulls(read(args[0])?, &mut out);
        Ok(Datum::Json(cx.arena.alloc_str(&out)))
    }),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Json, "->", Text, 3947),
    OperatorDef::infix(Json, "->>", Text, 3948),
    OperatorDef::infix(Json, "->", Int4, 3949),
    OperatorDef::infix(Json, "->>", Int4, 3950),
    OperatorDef::infix(Json, "#>", TEXTS, 90_310),
    OperatorDef::infix(Json, "#>>", TEXTS, 90_311),
];
