//! Functions that take a json apart into rows.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::json;
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, SetRows, listed};
use crate::repr::ScalarType::{Json, Text};
use crate::repr::json::{JsonKind, JsonText};
use crate::repr::value::pack;
use crate::repr::{Datum, Row};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

#[cold]
fn invalid(message: String) -> EvalError {
    EvalError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn read(datum: Datum<'_>) -> Result<JsonText<'_>, EvalError> {
    Ok(JsonText::new(json(datum))?)
}

/// Calls `f` with the text that `->>` makes of a value, or NULL.
fn with_text<R>(value: JsonText<'_>, f: impl FnOnce(Datum<'_>) -> R) -> R {
    match value.as_text() {
        Some(text) => f(Datum::Text(&text)),
        None => f(Datum::Null),
    }
}

fn elements(
    value: JsonText<'_>,
    function: &str,
    row: fn(JsonText<'_>) -> Row,
) -> Result<SetRows, EvalError> {
    match value.kind() {
        JsonKind::Array => Ok(listed(value.elements().into_iter().map(row).collect())),
        JsonKind::Object => Err(invalid(format!("cannot call {function} on a non-array"))),
        _ => Err(invalid(format!("cannot call {function} on a scalar"))),
    }
}

fn members(value: JsonText<'_>, row: fn(&str, JsonText<'_>) -> Row) -> Result<SetRows, EvalError> {
    match value.kind() {
        JsonKind::Object => {
            let rows = value.members().into_iter().map(|(key, member)| row(&key, member));
            Ok(listed(rows.collect()))
        }
        JsonKind::Array => Err(invalid("cannot deconstruct an array as an object".into())),
        _ => Err(invalid("cannot deconstruct a scalar".into())),
    }
}

fn keys(value: JsonText<'_>) -> Result<SetRows, EvalError> {
    match value.kind() {
        JsonKind::Object => members(value, |key, _| pack(&[Datum::Text(key)])),
        JsonKind::Array => Err(invalid("cannot call json_object_keys on an array".into())),
        _ => Err(invalid("cannot call json_object_keys on a scalar".into())),
    }
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::set(3957, "json_object_keys", &[Json], &[SetColumn::value(Text)], |args, _| {
        keys(read(args[0])?)
    }),
    FuncDef::set(
        3955,
        "json_array_elements",
        &[Json],
        &[SetColumn::named("value", Json)],
        |args, _| {
            elements(read(args[0])?, "json_array_elements", |element| {
                pack(&[Datum::Json(element.text())])
            })
        },
    ),
    FuncDef::set(
        3969,
        "json_array_elements_text",
        &[Json],
        &[SetColumn::named("value", Text).nullable()],
        |args, _| {
            elements(read(args[0])?, "json_array_elements_text", |element| {
                with_text(element, |text| pack(&[text]))
            })
        },
    ),
    FuncDef::set(
        3958,
        "json_each",
        &[Json],
        &[SetColumn::named("key", Text), SetColumn::named("value", Json)],
        |args, _| {
            members(read(args[0])?, |key, value| {
                pack(&[Datum::Text(key), Datum::Json(value.text())])
            })
        },
    ),
    FuncDef::set(
        3959,
        "json_each_text",
        &[Json],
        &[SetColumn::named("key", Text), SetColumn::named("value", Text).nullable()],
        |args, _| {
            members(read(args[0])?, |key, value| {
                with_text(value, |text| pack(&[Datum::Text(key), text]))
            })
        },
    ),
];
