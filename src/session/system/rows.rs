//! Rows of a system relation in the layout of its arrangement, written by the names of columns.

use crate::catalog::system::named;
use crate::error::Result;
use crate::plan::physical::Arrangement;
use crate::repr::{Datum, Diff, RelationDesc, Row};
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
        let (key, value) = self.encoder.encode(&named::row(self.desc, values)?)?;
        self.rows.push((key, value));
        Ok(())
    }

    /// All rows, as they come (1) or go (−1).
    pub(in crate::session) fn updates(self, diff: Diff) -> Vec<(Row, Row, Diff)> {
        self.rows.into_iter().map(|(key, value)| (key, value, diff)).collect()
    }
}
