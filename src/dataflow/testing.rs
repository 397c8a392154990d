//! What the tests of this module share: rows of numbers, chance, and a table that can be driven.

use differential_dataflow::AsCollection;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::operators::core::Input;
use timely::dataflow::operators::probe::{Handle, Probe};
use timely::dataflow::{InputHandle, Scope};
use timely::worker::Worker;

use super::arrangement::{
    RowArranged, RowTrace, RowUpdate, RowsByKey, arrange_rows, clamp_to_upper,
};
use crate::repr::{Diff, Row, Timestamp};

/// A row of big-endian numbers.
pub fn row(numbers: &[u64]) -> Row {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
    Row::new(&bytes)
}

/// A number of such a row.
pub fn number(bytes: &[u8], index: usize) -> u64 {
    u64::from_be_bytes(bytes[index * 8..][..8].try_into().unwrap())
}

/// Repeatable chance.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// An arranged table and its input.
pub struct Table {
    handle: InputHandle<Timestamp, CapacityContainerBuilder<Vec<RowUpdate>>>,
    pub trace: RowTrace,
    pub probe: Handle<Timestamp>,
}

impl Table {
    pub fn create(worker: &mut Worker) -> Table {
        let mut handle = InputHandle::new();
        let probe = Handle::new();
        let trace = worker.dataflow(|scope: Scope<'_, Timestamp>| {
            let rows: RowsByKey<'_> = scope.input_from(&mut handle).as_collection();
            let arranged: RowArranged<'_> = arrange_rows(rows, "table");
            arranged.stream.probe_with(&probe);
            arranged.trace
        });
        Table { handle, trace, probe }
    }

    /// Writes at a time and closes it.
    pub fn write(&mut self, changes: &[((Row, Row), Diff)], time: Timestamp) {
        let mut updates = changes.iter().map(|(row, diff)| (row.clone(), time, *diff)).collect();
        self.handle.send_batch(&mut updates);
        self.handle.advance_to(time + 1);
    }

    /// Steps until the arrangement has all that was written.
    pub fn settle(&mut self, worker: &mut Worker) {
        while self.probe.less_than(self.handle.time()) {
            worker.step();
        }
    }

    pub fn compact(&mut self, since: Timestamp) {
        clamp_to_upper(&mut self.trace, since);
    }
}
