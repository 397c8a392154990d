//! The rows of a result on their way to the client: ordered, cut, counted.

use std::cmp::Ordering;
use std::collections::VecDeque;

use crate::coord::request::RowStream;
use crate::error::Result;
use crate::plan::relation::ColumnOrder;
use crate::repr::value::decode_values;
use crate::repr::{Datum, Diff, Row, ScalarType};
use crate::session::frontend::CancelToken;

/// A result that is read row by row.
pub(super) struct Rows {
    /// The types of the rows, before `project`.
    pub(super) types: Vec<ScalarType>,
    /// The columns that the client gets.
    pub(super) project: Vec<usize>,
    stream: Option<RowStream>,
    waiting: VecDeque<(Row, Diff)>,
    /// Rows to pass over.
    skip: u64,
    /// Rows that may still come.
    left: Option<u64>,
}

impl Rows {
    /// Rows as they come, all columns.
    pub(super) fn streamed(stream: RowStream, types: Vec<ScalarType>) -> Rows {
        Rows { stream: Some(stream), ..Rows::ready(Vec::new(), types) }
    }

    /// Rows that are there, all columns.
    pub(super) fn ready(rows: Vec<Row>, types: Vec<ScalarType>) -> Rows {
        let project = (0..types.len()).collect();
        let waiting = rows.into_iter().map(|row| (row, 1)).collect();
        Rows { types, project, stream: None, waiting, skip: 0, left: None }
    }

    /// Of these columns, without the first `skip` rows, and not more than `left`.
    pub(super) fn finished(self, project: Vec<usize>, skip: u64, left: Option<u64>) -> Rows {
        Rows { project, skip, left, ..self }
    }

    /// The next row, not projected. Cancel-safe.
    pub(super) async fn next(&mut self, cancel: &CancelToken) -> Result<Option<Row>> {
        loop {
            if self.left == Some(0) {
                self.stream = None;
                self.waiting.clear();
                return Ok(None);
            }
            if let Some((row, count)) = self.waiting.front_mut() {
                if *count > 0 && self.skip > 0 {
                    let passed = self.skip.min(*count as u64);
                    self.skip -= passed;
                    *count -= passed as Diff;
                }
                if *count <= 0 {
                    self.waiting.pop_front();
                    continue;
                }
                *count -= 1;
                self.left = self.left.map(|left| left - 1);
                let last = *count == 0;
                let row = if last { std::mem::take(row) } else { row.clone() };
                return Ok(Some(row));
            }
            let Some(stream) = &mut self.stream else { return Ok(None) };
            match cancel.or(stream.next()).await? {
                Some(rows) => self.waiting.extend(rows),
                None => self.stream = None,
            }
        }
    }

    /// Reads all rows and puts them in order.
    pub(super) async fn sort(&mut self, order: &[ColumnOrder], cancel: &CancelToken) -> Result<()> {
        let mut rows: Vec<_> = std::mem::take(&mut self.waiting).into();
        if let Some(mut stream) = self.stream.take() {
            while let Some(more) = cancel.or(stream.next()).await? {
                rows.extend(more);
            }
        }
        cancel.check()?;
        self.waiting = sorted(rows, &self.types, order).into();
        Ok(())
    }
}

/// Rows in order; rows that compare equal are ordered by their bytes, so that a result is the
/// same each time.
pub(super) fn sorted(
    mut rows: Vec<(Row, Diff)>,
    types: &[ScalarType],
    order: &[ColumnOrder],
) -> Vec<(Row, Diff)> {
    let places = {
        let width = order.len();
        let mut keys: Vec<Datum<'_>> = Vec::with_capacity(rows.len() * width);
        let mut datums = Vec::with_capacity(types.len());
        for (row, _) in &rows {
            datums.clear();
            decode_values(types, row.bytes(), &mut datums);
            keys.extend(order.iter().map(|o| datums[o.column]));
        }
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_unstable_by(|a, b| {
            let key = |at: usize| &keys[at * width..(at + 1) * width];
            compare(key(*a), key(*b), order).then_with(|| rows[*a].0.cmp(&rows[*b].0))
        });
        places
    };
    places.into_iter().map(|at| std::mem::take(&mut rows[at])).collect()
}

fn compare(left: &[Datum<'_>], right: &[Datum<'_>], order: &[ColumnOrder]) -> Ordering {
    for ((a, b), by) in left.iter().zip(right).zip(order) {
        let ordering = match (a.is_null(), b.is_null()) {
            (true, true) => Ordering::Equal,
            (true, false) if by.nulls_first => Ordering::Less,
            (true, false) => Ordering::Greater,
            (false, true) if by.nulls_first => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if by.descending => b.compare(a),
            (false, false) => a.compare(b),
        };
        if ordering != Ordering::Equal {
            return ordering;
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::value::pack;

    #[test]
    fn order_puts_nulls_where_it_says() {
        let types = [ScalarType::Int4];
        let row = |v: Option<i32>| (pack(&[v.map_or(Datum::Null, Datum::Int4)]), 1);
        let rows = vec![row(Some(2)), row(None), row(Some(-1))];
        for (descending, nulls_first, expected) in [
            (false, false, [Some(-1), Some(2), None]),
            (true, true, [None, Some(2), Some(-1)]),
            (true, false, [Some(2), Some(-1), None]),
        ] {
            let order = [ColumnOrder { column: 0, descending, nulls_first }];
            let expected: Vec<_> = expected.into_iter().map(row).collect();
            assert_eq!(sorted(rows.clone(), &types, &order), expected);
        }
    }
}
