//! Rows of a system relation, written by the names of their columns.
//!
//! A column that is not named is NULL, or where it cannot be NULL, its type's zero: false, 0, the
//! empty text, the empty array.

use crate::error::{Error, Result};
use crate::repr::{ColumnType, Datum, RelationDesc, ScalarType};

/// The datums of a row. Errors: XX000 where there is no such column.
pub fn row<'a>(desc: &RelationDesc, values: &[(&str, Datum<'a>)]) -> Result<Vec<Datum<'a>>> {
    let mut row: Vec<Datum<'a>> = desc.columns.iter().map(|c| zero(c.ty)).collect();
    for (name, value) in values {
        let mut columns = desc.columns.iter();
        let at = columns
            .position(|column| column.name == *name)
            .ok_or_else(|| Error::internal(format!("a system relation without a column {name}")))?;
        if !value.is_null() {
            row[at] = *value;
        }
    }
    Ok(row)
}

fn zero(ty: ColumnType) -> Datum<'static> {
    if ty.nullable {
        return Datum::Null;
    }
    match ty.scalar {
        ScalarType::Bool => Datum::Bool(false),
        ScalarType::Int2 => Datum::Int2(0),
        ScalarType::Int4 => Datum::Int4(0),
        ScalarType::Int8 => Datum::Int8(0),
        ScalarType::Float4 => Datum::Float4(0.0),
        ScalarType::Float8 => Datum::Float8(0.0),
        ty if ty.is_oid() => Datum::Oid(0),
        ScalarType::Array(element) => Datum::Array(element, &[]),
        _ => Datum::Text(""),
    }
}
