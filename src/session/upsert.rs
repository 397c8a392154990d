//! `INSERT … ON CONFLICT DO UPDATE`.
//!
//! Which of the new rows are there already is looked up by key, as for any INSERT; those take the
//! place of a binding in the statement's selection, which answers what the rows that are there
//! become. The others are put. Both are computed from the tables as they were before.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, SqlState};
use crate::plan::relation::{Relation, RelationType};
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, GlobalId, Row, ScalarType};
use crate::session::layout::RowEncoder;
use crate::session::session::Session;

impl Session {
    /// Puts the rows whose keys are new and changes those that are there; answers the rows as they
    /// are now, in the order in which they came.
    pub(super) async fn upsert(
        &mut self,
        table: GlobalId,
        rows: Vec<Row>,
        (excluded, selection): (u64, Relation),
    ) -> Result<Vec<Row>> {
        let catalog = self.transaction()?.catalog.clone();
        let layout = self.engine.layout(&catalog, table)?;
        let keys = keys(&mut RowEncoder::new(&layout), &layout.types, &rows)?;
        let none = BTreeSet::new();
        let taken = self.existing_keys(table, &layout, keys.clone(), &none).await?;
        let mut fresh = BTreeMap::new();
        let mut there = vec![];
        for (key, row) in keys.iter().zip(&rows) {
            if taken.contains(key) {
                there.push((row.clone(), 1));
            } else if fresh.insert(key.clone(), row.clone()).is_some() {
                return Err(second_time());
            }
        }
        let mut now: BTreeMap<Row, Row> = BTreeMap::new();
        if !there.is_empty() {
            let columns = layout.types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
            let ty = RelationType { columns, keys: vec![] };
            let value = Relation::Constant { rows: Ok(there), ty };
            let (changed, types) = self.selected(value.let_in(excluded, selection)).await?;
            if changed.iter().any(|(_, count)| *count > 1) {
                return Err(second_time());
            }
            let old: Vec<Row> = changed.iter().map(|(row, _)| row.clone()).collect();
            let old = keys_of(&mut RowEncoder::new(&layout), &types, layout.types.len(), &old)?;
            if old.iter().collect::<BTreeSet<_>>().len() < old.len() {
                return Err(second_time());
            }
            let new = self.change(table, &changed, &types).await?;
            now.extend(old.into_iter().zip(new));
        }
        let put = self.put_rows(table, fresh.values().cloned().collect(), false).await?;
        if put.len() != fresh.len() {
            return Err(Error::internal("a new row that was not put"));
        }
        now.append(&mut fresh);
        Ok(keys.iter().filter_map(|key| now.remove(key)).collect())
    }
}

impl Session {
    /// The same by the key of an index: a row with NULL in it is always new.
    pub(super) async fn upsert_by(
        &mut self,
        index: GlobalId,
        table: GlobalId,
        rows: Vec<Row>,
        (excluded, selection): (u64, Relation),
    ) -> Result<Vec<Row>> {
        let key = self.unique_key("", table, index)?;
        let of_rows = key.of_rows(&rows)?;
        let wanted = of_rows.iter().flatten().cloned().collect();
        let counts = self.occurrences(table, &key, wanted).await?;
        let (mut fresh, mut there, mut seen) = (vec![], vec![], BTreeSet::new());
        for (of, row) in of_rows.iter().zip(&rows) {
            match of {
                Some(of) if counts.get(of).is_some_and(|count| *count > 0) => {
                    there.push((row.clone(), 1));
                }
                Some(of) if !seen.insert(of) => return Err(second_time()),
                _ => fresh.push(row.clone()),
            }
        }
        let mut changed_rows: BTreeMap<Row, Row> = BTreeMap::new();
        if !there.is_empty() {
            let types = key.types();
            let columns = types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
            let ty = RelationType { columns, keys: vec![] };
            let value = Relation::Constant { rows: Ok(there), ty };
            let (changed, all_types) = self.selected(value.let_in(excluded, selection)).await?;
            if changed.iter().any(|(_, count)| *count > 1) {
                return Err(second_time());
            }
            let mut old = vec![];
            for (row, _) in &changed {
                let mut datums = Vec::with_capacity(all_types.len());
                decode_values(&all_types, row.bytes(), &mut datums);
                old.push(pack(&datums[..types.len()]));
            }
            let old = key.of_rows(&old)?;
            if old.iter().collect::<BTreeSet<_>>().len() < old.len() {
                return Err(second_time());
            }
            let new = self.change(table, &changed, &all_types).await?;
            let old = old.into_iter().zip(new);
            changed_rows.extend(old.filter_map(|(of, new)| of.map(|of| (of, new))));
        }
        let put: BTreeSet<&Row> = fresh.iter().collect();
        let result = of_rows.iter().zip(&rows).filter_map(|(of, row)| {
            let changed = of.as_ref().and_then(|of| changed_rows.remove(of));
            changed.or_else(|| put.contains(row).then(|| row.clone()))
        });
        let result = result.collect();
        self.put_rows(table, fresh, false).await?;
        Ok(result)
    }
}

fn keys(encoder: &mut RowEncoder, types: &[ScalarType], rows: &[Row]) -> Result<Vec<Row>> {
    keys_of(encoder, types, types.len(), rows)
}

/// The keys of rows whose first columns are the table's.
fn keys_of(
    encoder: &mut RowEncoder,
    types: &[ScalarType],
    width: usize,
    rows: &[Row],
) -> Result<Vec<Row>> {
    let keys = rows.iter().map(|row| {
        let mut datums = Vec::with_capacity(types.len());
        decode_values(types, row.bytes(), &mut datums);
        Ok(encoder.encode(&datums[..width])?.0)
    });
    keys.collect()
}

fn second_time() -> Error {
    Error::new(
        SqlState::new(b"21000"),
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate \
         constrained values.",
    )
}
