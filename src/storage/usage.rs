//! How much of the log and of the checkpoint is whose.
//!
//! Counted are the bytes of a relation's updates in their stored form. What is around them (frames,
//! times, the catalog, sled's own pages) is nobody's. Sums are kept as updates are written, and
//! made again as they are read back when a store is opened: until then they are too small.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::repr::{Diff, GlobalId, Row};
use crate::storage::record::{Change, Transaction};

/// Bytes by relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage(pub BTreeMap<GlobalId, u64>);

/// Sums that are made where updates are read, and looked at elsewhere.
pub(super) type Shared = Arc<Mutex<Usage>>;

impl Usage {
    /// Counts updates of a relation.
    pub fn add(&mut self, relation: GlobalId, updates: &[(Row, Row, Diff)]) {
        let bytes: usize = updates.iter().map(stored_bytes).sum();
        *self.0.entry(relation).or_default() += bytes as u64;
    }

    /// Counts what a transaction changes.
    pub fn add_transaction(&mut self, transaction: &Transaction) {
        for change in &transaction.changes {
            if let Change::Rows { relation, updates, .. } = change {
                self.add(*relation, updates);
            }
        }
    }

    /// Takes away what is not there any more.
    pub fn remove(&mut self, gone: &Usage) {
        for (relation, bytes) in &gone.0 {
            if let Some(sum) = self.0.get_mut(relation) {
                *sum = sum.saturating_sub(*bytes);
            }
        }
        self.0.retain(|_, sum| *sum > 0);
    }
}

/// What an update takes in postcard's form: both rows behind their lengths, and a signed varint.
fn stored_bytes((key, value, diff): &(Row, Row, Diff)) -> usize {
    let row = |row: &Row| varint_bytes(row.bytes().len() as u64) + row.bytes().len();
    row(key) + row(value) + varint_bytes(((diff << 1) ^ (diff >> 63)).cast_unsigned())
}

fn varint_bytes(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    bits.div_ceil(7).max(1) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_takes_what_is_counted() {
        let lengths = [0, 1, 100, 127, 128, 20_000];
        let diffs = [0, 1, -1, 63, 64, -64, -65, 1 << 40, i64::MAX, i64::MIN];
        for (length, diff) in lengths.into_iter().flat_map(|l| diffs.map(|diff| (l, diff))) {
            let update = (Row::new(&vec![7; length]), Row::new(b"value"), diff);
            let stored = postcard::to_allocvec(&update).unwrap();
            assert_eq!(stored_bytes(&update), stored.len(), "{length} {diff}");
        }
    }
}
