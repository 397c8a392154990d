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

    /// Reads all rows and puts them in order. Where only the first are wanted, no more are kept.
    pub(super) async fn sort(&mut self, order: &[ColumnOrder], cancel: &CancelToken) -> Result<()> {
        let wanted = self.left.map(|left| left.saturating_add(self.skip));
        let mut first = First::new(&self.types, order, wanted);
        first.add(std::mem::take(&mut self.waiting).into());
        if let Some(mut stream) = self.stream.take() {
            while let Some(more) = cancel.or(stream.next()).await? {
                first.add(more);
            }
        }
        cancel.check()?;
        self.waiting = first.finish().into();
        Ok(())
    }
}

/// How many rows may gather beyond those that are wanted, before the others are given up.
const SURPLUS: usize = 4096;

/// The first rows of an order, out of all that come.
struct First<'a> {
    types: &'a [ScalarType],
    order: &'a [ColumnOrder],
    /// How many are wanted; a row that occurs more than once counts as one.
    wanted: usize,
    rows: Vec<(Row, Diff)>,
    /// The last of the wanted rows so far: what comes after it is of no use.
    last: Option<Row>,
}

impl<'a> First<'a> {
    fn new(types: &'a [ScalarType], order: &'a [ColumnOrder], wanted: Option<u64>) -> First<'a> {
        let wanted = wanted.and_then(|wanted| wanted.try_into().ok()).unwrap_or(usize::MAX);
        First { types, order, wanted, rows: Vec::new(), last: None }
    }

    fn add(&mut self, mut more: Vec<(Row, Diff)>) {
        if let Some(last) = &self.last {
            let (mut limit, mut datums) = (Vec::new(), Vec::new());
            decode_values(self.types, last.bytes(), &mut limit);
            let limit: Vec<_> = self.order.iter().map(|by| limit[by.column]).collect();
            let mut keys = Vec::new();
            for (row, count) in &mut more {
                datums.clear();
                decode_values(self.types, row.bytes(), &mut datums);
                keys.clear();
                keys.extend(self.order.iter().map(|by| datums[by.column]));
                if compare(&keys, &limit, self.order).is_gt() {
                    *count = 0;
                }
            }
            more.retain(|(_, count)| *count > 0);
        }
        match self.rows.is_empty() {
            true => self.rows = more,
            false => self.rows.extend(more),
        }
        if self.rows.len() > self.wanted.saturating_mul(2).max(SURPLUS) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        self.rows = sorted(std::mem::take(&mut self.rows), self.types, self.order);
        self.rows.truncate(self.wanted);
        self.last = self.rows.last().map(|(row, _)| row.clone());
    }

    fn finish(self) -> Vec<(Row, Diff)> {
        sorted(self.rows, self.types, self.order)
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
    fn the_first_of_many_are_those_of_all() {
        let types = [ScalarType::Int4, ScalarType::Int4];
        let order = [ColumnOrder { column: 0, descending: true, nulls_first: false }];
        let number = |n: u32| (n.wrapping_mul(2_654_435_761) % 1000) as i32;
        let row = |n: u32| {
            let key = if n.is_multiple_of(7) { Datum::Null } else { Datum::Int4(number(n)) };
            (pack(&[key, Datum::Int4(number(n + 1) % 3)]), 1)
        };
        let all: Vec<_> = (0..20_000).map(row).collect();
        let expected = sorted(all.clone(), &types, &order);
        for wanted in [0, 1, 10, 3000, 30_000] {
            let mut first = First::new(&types, &order, Some(wanted));
            all.chunks(777).for_each(|chunk| first.add(chunk.to_vec()));
            let wanted = expected.len().min(wanted as usize);
            assert!(first.rows.len() <= SURPLUS.max(2 * wanted) + 777);
            assert_eq!(first.finish()[..wanted], expected[..wanted]);
        }
    }

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
