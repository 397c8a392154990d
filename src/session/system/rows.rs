//! Rows of a system relation, written by the names of their columns.
//!
//! A column that is not named is NULL, or where it cannot be NULL, its type's zero: false, 0, the
//! empty text, the empty array.

use crate::error::{Error, Result};
use crate::plan::physical::Arrangement;
use crate::repr::{ColumnType, Datum, Diff, RelationDesc, Row, ScalarType};
use crate::session::layout::RowEncoder;

/// Rows in the layout of their relation.
pub(in crate::session) struct Rows<'l> {
    desc: &'l RelationDesc,
    encoder: RowEncoder<'l>,
    rows: Vec<(Row, Row)>,
}

impl<'l> Rows<'l> {
    /// No rows yet.
    pub(in crate::session) fn new(desc: &'l RelationDesc, layout: &'l Arrangement) -> Rows<'l> {
        Rows { desc, encoder: RowEncoder::new(layout), rows: Vec::new() }
    }

    /// Adds a row. Errors: XX000 where there is no such column.
    pub(in crate::session) fn add(&mut self, values: &[(&str, Datum<'_>)]) -> Result<()> {
        let mut row: Vec<Datum<'_>> = self.desc.columns.iter().map(|c| zero(c.ty)).collect();
        for (name, value) in values {
            let mut columns = self.desc.columns.iter();
            let at = columns.position(|column| column.name == *name).ok_or_else(|| {
                Error::internal(format!("a system relation without a column {name}"))
            })?;
            if !value.is_null() {
                row[at] = *value;
            }
        }
        let (key, value) = self.encoder.encode(&row)?;
        self.rows.push((key, value));
        Ok(())
    }

    /// All rows, as they come (1) or go (−1).
    pub(in crate::session) fn updates(self, diff: Diff) -> Vec<(Row, Row, Diff)> {
        self.rows.into_iter().map(|(key, value)| (key, value, diff)).collect()
    }
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
        ScalarType::Oid => Datum::Oid(0),
        ScalarType::Array(element) => Datum::Array(element, &[]),
        _ => Datum::Text(""),
    }
}
