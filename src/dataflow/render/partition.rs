//! Window functions: the rows of each partition with what the calls answer.
//!
//! Rows are arranged by partition in their order, as for a top-k. A partition that changes is
//! computed anew ([`crate::expr::window`]), and the rows that come out different go on; of large
//! ones only what a change reaches, where the calls allow that ([`super::moving`]). An error in a
//! partition takes the place of its rows.

use std::ops::Range;

use bumpalo::Bump;

use super::group::Answer;
use super::order::{compare_rows, is_sortable};
use super::rows::{RowSink, Shaper};
use super::topk::{TopK, order_and_row};
use super::window::GroupLogic;
use crate::dataflow::arrangement::RowRef;
use crate::expr::func::EvalContext;
use crate::expr::window::call::WindowCall;
use crate::expr::window::partition::{OrderColumn, Partition, evaluate};
use crate::plan::relation::ColumnOrder;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_column, decode_values};
use crate::repr::{Datum, Diff, ScalarType};

/// Calls over the partitions of a relation.
#[derive(Clone)]
pub struct Windowed {
    /// All rows of each partition, in order.
    rows: TopK,
    pub(super) calls: Vec<WindowCall>,
}

impl Windowed {
    /// Calls over rows of these types.
    pub fn new(
        types: &[ScalarType],
        partition: &[usize],
        order: &[ColumnOrder],
        calls: &[WindowCall],
    ) -> Windowed {
        let rows = TopK {
            types: types.to_vec(),
            group_key: partition.to_vec(),
            order: order.to_vec(),
            limit: None,
            offset: 0,
            ties: false,
            rank: false,
        };
        Windowed { rows, calls: calls.to_vec() }
    }

    /// Keys rows by their partition, and puts them in order.
    pub fn shaper(&self) -> Shaper {
        self.rows.shaper()
    }

    /// Whether computing the calls can fail.
    pub fn is_fallible(&self) -> bool {
        self.calls.iter().any(WindowCall::is_fallible)
    }

    /// Answers with all rows of a partition.
    pub fn logic(&self, mut sink: RowSink, settings: &FormatSettings) -> GroupLogic {
        let windowed = self.clone();
        let settings = settings.clone();
        let mut arena = Bump::new();
        Box::new(move |_, rows, answer| {
            arena.reset();
            let cx = EvalContext { arena: &arena, settings: &settings };
            let stretch = windowed.stretch(rows.iter().copied());
            if stretch.len() == 0 {
                return;
            }
            let partition = windowed.partition(&stretch);
            match evaluate(&windowed.calls, &partition, 0..partition.len(), &cx) {
                Ok(columns) => put(&partition, 0..partition.len(), &columns, &mut sink, answer),
                Err(error) => answer.add(1, |emit| emit.err(&error)),
            }
        })
    }

    /// The types of the input's columns.
    pub(super) fn types(&self) -> &[ScalarType] {
        &self.rows.types
    }

    /// Whether rows lie in the arrangement as the order says.
    pub(super) fn is_sortable(&self) -> bool {
        is_sortable(&self.rows.types, &self.rows.order)
    }

    /// The order's column, if it is one.
    pub(super) fn single(&self) -> Option<OrderColumn> {
        match self.rows.order[..] {
            [ColumnOrder { column, descending, nulls_first }] => {
                Some(OrderColumn { column, descending, nulls_first })
            }
            _ => None,
        }
    }

    /// The value of that column.
    pub(super) fn order_of<'a>(&self, value: RowRef<'a>) -> Option<Datum<'a>> {
        let order = self.single()?;
        Some(decode_column(&self.rows.types, order.column, order_and_row(value.0).1))
    }

    /// Rows decoded, each as often as it is there.
    pub(super) fn stretch<'a>(
        &self,
        rows: impl Iterator<Item = (RowRef<'a>, Diff)>,
    ) -> Stretch<'a> {
        let rows: Vec<(RowRef<'a>, Diff)> = rows.filter(|(_, count)| *count > 0).collect();
        let mut stretch = Stretch { datums: Vec::new(), starts_group: Vec::new() };
        read(&self.rows, &rows, &mut stretch.datums, &mut stretch.starts_group);
        stretch
    }

    /// The same as windows see them.
    pub(super) fn partition<'p, 'a>(&'p self, rows: &'p Stretch<'a>) -> Partition<'p, 'a> {
        Partition::new(&rows.datums, &self.rows.types, &rows.starts_group, self.single())
    }
}

/// Neighbouring rows of a partition, decoded.
pub(super) struct Stretch<'a> {
    datums: Vec<Datum<'a>>,
    starts_group: Vec<bool>,
}

impl Stretch<'_> {
    /// How many rows.
    pub fn len(&self) -> usize {
        self.starts_group.len()
    }
}

/// Answers with those rows of a partition, the values of the calls behind each.
pub(super) fn put(
    partition: &Partition<'_, '_>,
    wanted: Range<usize>,
    columns: &[Vec<Datum<'_>>],
    sink: &mut RowSink,
    answer: &mut Answer,
) {
    for (i, row) in wanted.enumerate() {
        sink.put(1, answer, |_, out| {
            out.extend_from_slice(partition.row(row));
            out.extend(columns.iter().map(|values| values[i]));
            Ok(())
        });
    }
}

/// Decodes the rows of a partition in order, each as often as it is there, and says which begin a
/// group of peers.
fn read<'a>(
    sorted: &TopK,
    rows: &[(RowRef<'a>, Diff)],
    datums: &mut Vec<Datum<'a>>,
    starts_group: &mut Vec<bool>,
) {
    let TopK { types, order, .. } = sorted;
    let by_bytes = is_sortable(types, order);
    let mut resorted = Vec::new();
    let rows = if by_bytes {
        rows
    } else {
        resorted.extend_from_slice(rows);
        sorted.sort(&mut resorted);
        &resorted
    };
    let mut last: &[u8] = &[];
    for (value, count) in rows.iter().filter(|(_, count)| *count > 0) {
        let (order_bytes, row) = order_and_row(value.0);
        let start = datums.len();
        decode_values(types, row, datums);
        let is_peer = start > 0
            && match by_bytes {
                true => last == order_bytes,
                false => {
                    let (before, own) = datums.split_at(start);
                    compare_rows(types, order, &before[start - types.len()..], own).is_eq()
                }
            };
        last = order_bytes;
        starts_group.push(!is_peer);
        for _ in 1..*count {
            datums.extend_from_within(start..start + types.len());
            starts_group.push(false);
        }
    }
}
