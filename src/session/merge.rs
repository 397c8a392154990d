//! `MERGE`, and statements that write inside WITH.
//!
//! The statements of one WITH all read what was there before: while they run, reads leave out what
//! the transaction's buffers have gained since ([`Together`]). What one of them returns becomes a
//! constant in those that name it. A row that two of them change is changed by the first.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, SqlState};
use crate::plan::relation::{Relation, RelationType};
use crate::plan::statement::{ColumnSource, Merge, MergeAction, Statement, Writes};
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, GlobalId, Row, ScalarType};
use crate::session::session::{Outcome, Session};

/// Statements that run as one.
#[derive(Default)]
pub(super) struct Together {
    /// How much of each buffer they see.
    pub(super) seen: BTreeMap<GlobalId, usize>,
    /// The rows that one of them has changed or taken away.
    changed: BTreeSet<(GlobalId, Row)>,
}

impl Session {
    pub(super) async fn merge(&mut self, merge: Merge) -> Result<Outcome> {
        self.check_writable("MERGE")?;
        let (rows, types) = self.selected(merge.selection).await?;
        let width = self.width(merge.table)?;
        let (mut inserted, mut updated, mut deleted) = (vec![], vec![], vec![]);
        let mut touched = BTreeSet::new();
        let mut total = 0;
        for (row, count) in &rows {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(&types, row.bytes(), &mut datums);
            let (old, rest) = datums.split_at(width);
            let action = match rest[width] {
                Datum::Int4(action) => merge.actions.get(action as usize).copied(),
                _ => None,
            };
            let action = action.ok_or_else(|| Error::internal("no such action of MERGE"))?;
            total += *count as usize;
            if action == MergeAction::Insert {
                let new = pack(&rest[..width]);
                inserted.extend(std::iter::repeat_n(new, *count as usize));
                continue;
            }
            if !touched.insert(pack(old)) {
                return Err(second_time());
            }
            match action {
                MergeAction::Update => updated.push((pack(&datums[..2 * width]), *count)),
                _ => deleted.push((pack(old), *count)),
            }
        }
        self.take_away(merge.table, &deleted, &types[..width]).await?;
        self.change(merge.table, &updated, &types[..2 * width]).await?;
        let columns: Vec<ColumnSource> = (0..width).map(ColumnSource::Source).collect();
        let new_types = &types[width..2 * width];
        let inserted = self.complete_rows(merge.table, &columns, &inserted, new_types).await?;
        self.put_rows(merge.table, inserted, false).await?;
        self.written("MERGE", vec![Row::EMPTY; total], None).await
    }

    /// A statement with others that write in its WITH.
    pub(super) async fn writes(&mut self, writes: Writes) -> Result<Outcome> {
        let transaction = self.transaction_mut()?;
        let buffers = transaction.work.buffers.iter();
        let seen = buffers.map(|(id, buffer)| (*id, buffer.updates.len())).collect();
        transaction.together = Some(Together { seen, changed: BTreeSet::new() });
        let outcome = self.run_together(writes).await;
        if let Ok(transaction) = self.transaction_mut() {
            transaction.together = None;
        }
        outcome
    }

    async fn run_together(&mut self, writes: Writes) -> Result<Outcome> {
        let mut returned: Vec<(u64, Relation)> = vec![];
        for (id, mut statement) in writes.parts {
            put_in(&mut statement, &returned);
            let outcome = Box::pin(self.start(statement)).await?;
            if let Outcome::Rows { desc, mut rows, .. } = outcome {
                let mut all = Vec::new();
                while let Some(row) = rows.next(&self.cancel).await? {
                    all.push((row, 1));
                }
                let ty = RelationType { columns: desc.types(), keys: vec![] };
                returned.push((id, Relation::Constant { rows: Ok(all), ty }));
            }
        }
        let mut main = *writes.main;
        put_in(&mut main, &returned);
        Box::pin(self.start(main)).await
    }

    /// Those rows of a table, its columns first, that none of the statements that run with this
    /// one has changed; they count as changed from now on.
    pub(super) fn unchanged(
        &mut self,
        table: GlobalId,
        rows: Vec<(Row, Diff)>,
        types: &[ScalarType],
    ) -> Result<Vec<(Row, Diff)>> {
        let width = self.width(table)?;
        let Some(together) = &mut self.transaction_mut()?.together else { return Ok(rows) };
        let old = |row: &Row| {
            let mut datums = Vec::with_capacity(types.len());
            decode_values(types, row.bytes(), &mut datums);
            (table, pack(&datums[..width]))
        };
        let left: Vec<(Row, Diff)> =
            rows.into_iter().filter(|(row, _)| !together.changed.contains(&old(row))).collect();
        together.changed.extend(left.iter().map(|(row, _)| old(row)));
        Ok(left)
    }
}

/// Puts what others returned where a statement reads it.
fn put_in(statement: &mut Statement, returned: &[(u64, Relation)]) {
    statement.each_written(&mut |relation| {
        for (id, value) in returned {
            *relation = value.clone().let_in(*id, relation.take());
        }
    });
}

fn second_time() -> Error {
    Error::new(SqlState::new(b"21000"), "MERGE command cannot affect row a second time")
        .with_hint("Ensure that not more than one source row matches any one target row.")
}
