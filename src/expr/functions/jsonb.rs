//! Operators and functions of jsonb: taking apart, testing, and changing. What takes a path or a
//! list as an array (`#>`, `?|`, `jsonb_set`, …) is in [`super::jsonb_paths`].

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::{FuncDef, OperatorDef};
use crate::expr::functions::access::{int4, jsonb, text};
use crate::expr::functions::registry::Family;
use crate::repr::Datum;
use crate::repr::ScalarType::*;
use crate::repr::jsonb::{JsonbBuilder, JsonbItem, JsonbRef};

/// The functions and operators.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: OPERATORS };

type Answer<'a> = Result<Datum<'a>, EvalError>;

#[cold]
fn invalid(message: &'static str) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// What `->` answers.
pub(super) fn as_jsonb<'a>(found: Option<JsonbRef<'a>>, _: &'a Bump) -> Datum<'a> {
    found.map_or(Datum::Null, Datum::Jsonb)
}

/// What `->>` answers.
pub(super) fn as_text<'a>(found: Option<JsonbRef<'a>>, arena: &'a Bump) -> Datum<'a> {
    match found.map(JsonbRef::item) {
        None | Some(JsonbItem::Null) => Datum::Null,
        Some(JsonbItem::String(value)) => Datum::Text(value),
        Some(_) => {
            let spelled = found.and_then(JsonbRef::as_text);
            spelled.map_or(Datum::Null, |value| Datum::Text(arena.alloc_str(&value)))
        }
    }
}

/// The element of an array; a scalar is taken for an array of one.
fn element(value: JsonbRef<'_>, index: i32) -> Option<JsonbRef<'_>> {
    if value.is_scalar() {
        matches!(index, 0 | -1).then_some(value)
    } else {
        value.index(index.into())
    }
}

/// Whether a string is a member's name, an element or the whole.
pub(super) fn exists(value: JsonbRef<'_>, key: &str) -> bool {
    let is_key = |item: JsonbRef<'_>| matches!(item.item(), JsonbItem::String(s) if s == key);
    match value.item() {
        JsonbItem::Object(object) => object.get(key).is_some(),
        JsonbItem::Array(array) => array.iter().any(is_key),
        _ => is_key(value),
    }
}

/// The parts of an array; what is none is the only part.
fn push_elements(value: JsonbRef<'_>, builder: &mut JsonbBuilder) {
    match value.item() {
        JsonbItem::Array(array) => array.iter().for_each(|element| builder.raw(element)),
        _ => builder.raw(value),
    }
}

fn push_members(value: JsonbRef<'_>, builder: &mut JsonbBuilder) {
    if let JsonbItem::Object(object) = value.item() {
        for (key, member) in object.iter() {
            builder.key(key);
            builder.raw(member);
        }
    }
}

/// Objects become one object, everything else one array.
fn concatenated<'a>(left: JsonbRef<'a>, right: JsonbRef<'a>, arena: &'a Bump) -> Datum<'a> {
    let is_object = |value: JsonbRef<'_>| matches!(value.item(), JsonbItem::Object(_));
    let mut builder = JsonbBuilder::new();
    if is_object(left) && is_object(right) {
        builder.begin_object();
        push_members(left, &mut builder);
        push_members(right, &mut builder);
    } else {
        builder.begin_array();
        push_elements(left, &mut builder);
        push_elements(right, &mut builder);
    }
    builder.end();
    Datum::Jsonb(builder.finish_in(arena))
}

fn without_key<'a>(value: JsonbRef<'a>, key: &str, arena: &'a Bump) -> Answer<'a> {
    let mut builder = JsonbBuilder::new();
    match value.item() {
        JsonbItem::Object(object) => {
            builder.begin_object();
            for (name, member) in object.iter().filter(|(name, _)| *name != key) {
                builder.key(name);
                builder.raw(member);
            }
        }
        JsonbItem::Array(array) => {
            builder.begin_array();
            array.iter().filter(|element| !exists_as_string(*element, key)).for_each(|element| {
                builder.raw(element);
            });
        }
        _ => return Err(invalid("cannot delete from scalar")),
    }
    builder.end();
    Ok(Datum::Jsonb(builder.finish_in(arena)))
}

fn exists_as_string(element: JsonbRef<'_>, key: &str) -> bool {
    matches!(element.item(), JsonbItem::String(s) if s == key)
}

fn without_element<'a>(value: JsonbRef<'a>, index: i32, arena: &'a Bump) -> Answer<'a> {
    let array = match value.item() {
        JsonbItem::Array(array) => array,
        JsonbItem::Object(_) => {
            return Err(invalid("cannot delete from object using integer index"));
        }
        _ => return Err(invalid("cannot delete from scalar")),
    };
    let index = i64::from(index);
    let place = if index < 0 { array.len() as i64 + index } else { index };
    let mut builder = JsonbBuilder::new();
    builder.begin_array();
    for (_, element) in (0..).zip(array.iter()).filter(|(i, _)| *i != place) {
        builder.raw(element);
    }
    builder.end();
    Ok(Datum::Jsonb(builder.finish_in(arena)))
}

/// Leaves out members that are `null`, at every depth.
fn strip_nulls(value: JsonbRef<'_>, builder: &mut JsonbBuilder) {
    match value.item() {
        JsonbItem::Object(object) => {
            builder.begin_object();
            let is_null = |member: JsonbRef<'_>| matches!(member.item(), JsonbItem::Null);
            for (key, member) in object.iter().filter(|(_, member)| !is_null(*member)) {
                builder.key(key);
                stacker::maybe_grow(32 << 10, 1 << 20, || strip_nulls(member, builder));
            }
            builder.end();
        }
        JsonbItem::Array(array) => {
            builder.begin_array();
            for element in array.iter() {
                stacker::maybe_grow(32 << 10, 1 << 20, || strip_nulls(element, builder));
            }
            builder.end();
        }
        _ => builder.raw(value),
    }
}

/// Access by a name or a number, as jsonb or as text.
macro_rules! access {
    ($oid:literal $name:literal $key:ident by $get_key:ident -> $ret:ident by $show:ident,
        |$value:ident, $place:ident| $compute:expr) => {
        FuncDef::new($oid, $name, &[Jsonb, $key], $ret, |args, cx| {
            let ($value, $place) = (jsonb(args[0]), $get_key(args[1]));
            Ok($show($compute, cx.arena))
        })
        .nullable()
        .total()
    };
}

/// The value at the end of a path of names.
macro_rules! extract_path {
    ($oid:literal $name:literal -> $ret:ident by $show:ident) => {
        FuncDef::new($oid, $name, &[Jsonb], $ret, |args, cx| {
            let path = args[1..].iter().map(|step| text(*step));
            Ok($show(jsonb(args[0]).get_path(path), cx.arena))
        })
        .variadic(Text)
        .nullable()
        .total()
    };
}

const FUNCTIONS: &[FuncDef] = &[
    access!(3478 "jsonb_object_field" Text by text -> Jsonb by as_jsonb, |v, key| v.get(key)),
    access!(3214 "jsonb_object_field_text" Text by text -> Text by as_text, |v, key| v.get(key)),
    access!(3215 "jsonb_array_element" Int4 by int4 -> Jsonb by as_jsonb, |v, i| element(v, i)),
    access!(3216 "jsonb_array_element_text" Int4 by int4 -> Text by as_text, |v, i| {
        element(v, i)
    }),
    extract_path!(3217 "jsonb_extract_path" -> Jsonb by as_jsonb),
    extract_path!(3940 "jsonb_extract_path_text" -> Text by as_text),
    FuncDef::new(4046, "jsonb_contains", &[Jsonb, Jsonb], Bool, |args, _| {
        Ok(Datum::Bool(jsonb(args[0]).contains(jsonb(args[1]))))
    })
    .total(),
    FuncDef::new(4050, "jsonb_contained", &[Jsonb, Jsonb], Bool, |args, _| {
        Ok(Datum::Bool(jsonb(args[1]).contains(jsonb(args[0]))))
    })
    .total(),
    FuncDef::new(4047, "jsonb_exists", &[Jsonb, Text], Bool, |args, _| {
        Ok(Datum::Bool(exists(jsonb(args[0]), text(args[1]))))
    })
    .total(),
    FuncDef::new(3301, "jsonb_concat", &[Jsonb, Jsonb], Jsonb, |args, cx| {
        Ok(concatenated(jsonb(args[0]), jsonb(args[1]), cx.arena))
    })
    .total(),
    FuncDef::new(3302, "jsonb_delete", &[Jsonb, Text], Jsonb, |args, cx| {
        without_key(jsonb(args[0]), text(args[1]), cx.arena)
    }),
    FuncDef::new(3303, "jsonb_delete", &[Jsonb, Int4], Jsonb, |args, cx| {
        without_element(jsonb(args[0]), int4(args[1]), cx.arena)
    }),
    FuncDef::new(3210, "jsonb_typeof", &[Jsonb], Text, |args, _| {
        Ok(Datum::Text(jsonb(args[0]).type_name()))
    })
    .total(),
    FuncDef::new(3207, "jsonb_array_length", &[Jsonb], Int4, |args, _| {
        match jsonb(args[0]).item() {
            JsonbItem::Array(array) => Ok(Datum::Int4(array.len() as i32)),
            JsonbItem::Object(_) => Err(invalid("cannot get array length of a non-array")),
            _ => Err(invalid("cannot get array length of a scalar")),
        }
    }),
    FuncDef::new(3262, "jsonb_strip_nulls", &[Jsonb], Jsonb, |args, cx| {
        let mut builder = JsonbBuilder::new();
        strip_nulls(jsonb(args[0]), &mut builder);
        Ok(Datum::Jsonb(builder.finish_in(cx.arena)))
    })
    .total(),
    FuncDef::new(3306, "jsonb_pretty", &[Jsonb], Text, |args, cx| {
        Ok(Datum::Text(cx.arena.alloc_str(&jsonb(args[0]).pretty())))
    })
    .total(),
];

const OPERATORS: &[OperatorDef] = &[
    OperatorDef::infix(Jsonb, "->", Text, 3478),
    OperatorDef::infix(Jsonb, "->", Int4, 3215),
    OperatorDef::infix(Jsonb, "->>", Text, 3214),
    OperatorDef::infix(Jsonb, "->>", Int4, 3216),
    OperatorDef::infix(Jsonb, "@>", Jsonb, 4046),
    OperatorDef::infix(Jsonb, "<@", Jsonb, 4050),
    OperatorDef::infix(Jsonb, "?", Text, 4047),
    OperatorDef::infix(Jsonb, "||", Jsonb, 3301),
    OperatorDef::infix(Jsonb, "-", Text, 3302),
    OperatorDef::infix(Jsonb, "-", Int4, 3303),
];
