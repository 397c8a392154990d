//! Functions that take a jsonb apart into rows.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::jsonb;
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, SetRows, listed};
use crate::repr::ScalarType::{Jsonb, Text};
use crate::repr::jsonb::{JsonbArray, JsonbItem, JsonbObject, JsonbRef};
use crate::repr::value::pack;
use crate::repr::{Datum, Row};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

#[cold]
fn invalid(message: String) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// Calls `f` with the text that `->>` makes of a document, or NULL.
fn with_text<R>(value: JsonbRef<'_>, f: impl FnOnce(Datum<'_>) -> R) -> R {
    match value.item() {
        JsonbItem::Null => f(Datum::Null),
        JsonbItem::String(text) => f(Datum::Text(text)),
        _ => match value.as_text() {
            Some(text) => f(Datum::Text(&text)),
            None => f(Datum::Null),
        },
    }
}

fn array<'a>(value: JsonbRef<'a>) -> Result<JsonbArray<'a>, EvalError> {
    match value.item() {
        JsonbItem::Array(array) => Ok(array),
        JsonbItem::Object(_) => Err(invalid("cannot extract elements from an object".into())),
        _ => Err(invalid("cannot extract elements from a scalar".into())),
    }
}

fn members<'a>(value: JsonbRef<'a>, function: &str) -> Result<JsonbObject<'a>, EvalError> {
    match value.item() {
        JsonbItem::Object(object) => Ok(object),
        _ => Err(invalid(format!("cannot call {function} on a non-object"))),
    }
}

fn keys(value: JsonbRef<'_>) -> Result<SetRows, EvalError> {
    let object = match value.item() {
        JsonbItem::Object(object) => object,
        JsonbItem::Array(_) => {
            return Err(invalid("cannot call jsonb_object_keys on an array".into()));
        }
        _ => return Err(invalid("cannot call jsonb_object_keys on a scalar".into())),
    };
    Ok(listed(object.iter().map(|(key, _)| pack(&[Datum::Text(key)])).collect()))
}

fn elements(value: JsonbRef<'_>, row: fn(JsonbRef<'_>) -> Row) -> Result<SetRows, EvalError> {
    Ok(listed(array(value)?.iter().map(row).collect()))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::set(3931, "jsonb_object_keys", &[Jsonb], &[SetColumn::value(Text)], |args, _| {
        keys(jsonb(args[0]))
    }),
    FuncDef::set(
        3219,
        "jsonb_array_elements",
        &[Jsonb],
        &[SetColumn::named("value", Jsonb)],
        |args, _| elements(jsonb(args[0]), |element| pack(&[Datum::Jsonb(element)])),
    ),
    FuncDef::set(
        3465,
        "jsonb_array_elements_text",
        &[Jsonb],
        &[SetColumn::named("value", Text).nullable()],
        |args, _| elements(jsonb(args[0]), |element| with_text(element, |text| pack(&[text]))),
    ),
    FuncDef::set(
        3208,
        "jsonb_each",
        &[Jsonb],
        &[SetColumn::named("key", Text), SetColumn::named("value", Jsonb)],
        |args, _| {
            let object = members(jsonb(args[0]), "jsonb_each")?;
            let row = |(key, value)| pack(&[Datum::Text(key), Datum::Jsonb(value)]);
            Ok(listed(object.iter().map(row).collect()))
        },
    ),
    FuncDef::set(
        3932,
        "jsonb_each_text",
        &[Jsonb],
        &[SetColumn::named("key", Text), SetColumn::named("value", Text).nullable()],
        |args, _| {
            let object = members(jsonb(args[0]), "jsonb_each_text")?;
            let row = |(key, value)| with_text(value, |text| pack(&[Datum::Text(key), text]));
            Ok(listed(object.iter().map(row).collect()))
        },
    ),
];
