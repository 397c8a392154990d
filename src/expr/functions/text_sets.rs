//! Functions that split a text into rows.

use crate::expr::error::EvalError;
use crate::expr::func::FuncDef;
use crate::expr::functions::access::text;
use crate::expr::functions::regexp::split;
use crate::expr::functions::registry::Family;
use crate::expr::table::{SetColumn, SetRows, listed};
use crate::repr::ScalarType::Text;
use crate::repr::value::pack;
use crate::repr::{Datum, Row};

/// The functions.
pub static FAMILY: Family = Family { functions: FUNCTIONS, operators: &[] };

fn row(part: &str) -> Row {
    pack(&[Datum::Text(part)])
}

/// Splits at a delimiter, at none into characters; parts equal to the third argument are NULL.
fn string_to_table(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let Datum::Text(value) = args[0] else { return Ok(listed(Vec::new())) };
    let null = args.get(2).filter(|null| !null.is_null()).map(|null| text(*null));
    let part = |part: &str| match null {
        Some(null) if null == part => pack(&[Datum::Null]),
        _ => row(part),
    };
    let rows = match args[1] {
        _ if value.is_empty() => Vec::new(),
        Datum::Null => value.chars().map(|c| part(c.encode_utf8(&mut [0; 4]))).collect(),
        delimiter => match text(delimiter) {
            "" => vec![part(value)],
            delimiter => value.split(delimiter).map(part).collect(),
        },
    };
    Ok(listed(rows))
}

fn regexp_split(args: &[Datum<'_>]) -> Result<SetRows, EvalError> {
    let parts = split(args, "regexp_split_to_table")?;
    Ok(listed(parts.into_iter().map(row).collect()))
}

const FUNCTIONS: &[FuncDef] = &[
    FuncDef::set(6160, "string_to_table", &[Text, Text], &[SetColumn::value(Text)], |args, _| {
        string_to_table(args)
    })
    .lax()
    .total(),
    FuncDef::set(
        6161,
        "string_to_table",
        &[Text, Text, Text],
        &[SetColumn::value(Text).nullable()],
        |args, _| string_to_table(args),
    )
    .lax()
    .total(),
    FuncDef::set(
        2765,
        "regexp_split_to_table",
        &[Text, Text],
        &[SetColumn::value(Text)],
        |args, _| regexp_split(args),
    ),
    FuncDef::set(
        2766,
        "regexp_split_to_table",
        &[Text, Text, Text],
        &[SetColumn::value(Text)],
        |args, _| regexp_split(args),
    ),
];
