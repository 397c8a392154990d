//! The arrange operator for keyed rows, and what readers of its trace need.
//!
//! Rows go to the worker that the hash of their key names, so equal keys meet and all arrangements
//! by the same key lie alike.

use std::hash::BuildHasher;
use std::rc::Rc;

use differential_dataflow::VecCollection;
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::trace::TraceReader;
use timely::progress::Antichain;

use super::batch::{RowBatch, Time};
use super::batcher::{RowBatcher, WholeRows};
use super::container::RowRef;
use super::layout::RowUpdate;
use super::maintain::arrange;
use super::size::note_rows;
use super::spine::Spine;
use crate::dataflow::channel::ByHash;
use crate::repr::{Diff, Row, Timestamp};

/// Rows that change over time.
pub type Rows<'s, T = Timestamp> = VecCollection<'s, T, Row, Diff>;
/// Rows that change over time, as key and value.
pub type RowsByKey<'s, T = Timestamp> = VecCollection<'s, T, (Row, Row), Diff>;
/// The batches of an arrangement, merged in the background.
pub type RowSpine<T = Timestamp> = Spine<Rc<RowBatch<T>>>;
/// A handle on an arrangement's batches that holds back compaction.
pub type RowTrace<T = Timestamp> = TraceAgent<RowSpine<T>>;
/// An arrangement inside the dataflow that makes or imports it.
pub type RowArranged<'s, T = Timestamp> = Arranged<'s, RowTrace<T>>;

/// The hash that decides on which worker a key lives: equal in all processes of a run.
#[inline]
pub fn route(key: &[u8]) -> u64 {
    foldhash::fast::FixedState::with_seed(0).hash_one(key)
}

/// Arranges rows by their key.
pub fn arrange_rows<'s, T: Time>(rows: RowsByKey<'s, T>, name: &str) -> RowArranged<'s, T> {
    let arranged = arrange::<_, _, _, _, RowSpine<T>>(
        rows.inner,
        ByHash(|update: &RowUpdate<T>| route(update.0.0.bytes())),
        name,
        RowBatcher::<T>::default(),
    );
    note_rows(&arranged.trace);
    arranged
}

/// Arranges whole rows, which are the values: each is a key, without a value.
pub fn arrange_whole<'s, T: Time>(rows: RowsByKey<'s, T>, name: &str) -> RowArranged<'s, T> {
    let arranged = arrange::<_, _, _, _, RowSpine<T>>(
        rows.inner,
        ByHash(|update: &RowUpdate<T>| route(update.0.1.bytes())),
        name,
        WholeRows::<T>::default(),
    );
    note_rows(&arranged.trace);
    arranged
}

/// Arranges errors: each is a key, without a value.
pub fn arrange_errors<'s, T: Time>(errors: Rows<'s, T>, name: &str) -> RowArranged<'s, T> {
    let arranged = arrange::<_, _, _, _, RowSpine<T>>(
        errors.inner,
        ByHash(|error: &(Row, T, Diff)| route(error.0.bytes())),
        name,
        RowBatcher::<T>::default(),
    );
    note_rows(&arranged.trace);
    arranged
}

/// Fills a reduction's output buffer for one key: the `push` argument of `reduce_abelian`.
pub fn fill<T: Time>(
    buffer: &mut Vec<RowUpdate<T>>,
    key: RowRef<'_>,
    updates: &mut Vec<(Row, T, Diff)>,
) {
    buffer.clear();
    let key = Row::new(key.0);
    buffer.extend(updates.drain(..).map(|(value, time, diff)| ((key.clone(), value), time, diff)));
}

/// The time below which the trace is complete; `None` if no more will come.
pub fn upper_of(trace: &mut RowTrace) -> Option<Timestamp> {
    let mut upper = Antichain::new();
    trace.read_upper(&mut upper);
    upper.first().copied()
}

/// Lets a trace forget the differences between times below `since`.
///
/// Both kinds of compaction move, since logical compaction alone frees nothing: the logical one to
/// `since`, the physical one as far as the trace is complete, so that batches merge although
/// history is held. Neither goes beyond what is complete: the next import would panic.
pub fn clamp_to_upper(trace: &mut RowTrace, since: Timestamp) {
    let Some(upper) = upper_of(trace) else { return };
    trace.set_logical_compaction(Antichain::from_elem(since.min(upper)).borrow());
    trace.set_physical_compaction(Antichain::from_elem(upper).borrow());
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::super::testing::{Random, Table, row};
    use super::*;
    use differential_dataflow::trace::Cursor;
    use differential_dataflow::trace::cursor::cursor_list;

    fn heap_size(trace: &RowTrace) -> usize {
        let mut sum = 0;
        trace.map_spans(|span| sum += span.inner.as_ref().map_or(0, |batch| batch.heap_size()));
        sum
    }

    fn with_idle_merging(logic: impl Fn(&mut timely::worker::Worker) + Send + Sync + 'static) {
        let mut config = timely::Config::thread();
        super::super::super::input::configure_merging(&mut config.worker);
        timely::execute(config, move |worker| logic(worker)).unwrap();
    }

    #[test]
    fn a_table_costs_its_bytes_and_little_more() {
        with_idle_merging(|worker| {
            let mut table = Table::create(worker);
            let count = 100_000u32;
            // A marker and a number as key; a null bitmap and two numbers as value.
            let keyed = |id: u32, version: u32| {
                let (mut key, mut value) = (vec![1], vec![0]);
                key.extend_from_slice(&id.to_be_bytes());
                value.extend_from_slice(&version.to_be_bytes());
                value.extend_from_slice(&(id % 1000).to_be_bytes());
                (Row::new(&key), Row::new(&value))
            };
            let mut time = 0;
            let mut commit = |worker: &mut _, changes: &[((Row, Row), Diff)]| {
                time += 1;
                table.write(changes, time);
                table.settle(worker);
                table.compact(time);
                for _ in 0..200 {
                    worker.step();
                }
                heap_size(&table.trace)
            };
            // Scattered over the key space, so that each merge interleaves.
            let mut size = 0;
            for part in 0..20 {
                let rows: Vec<_> = (0..count)
                    .filter(|id| id.wrapping_mul(2654435761) >> 16 & 63 == part)
                    .map(|id| (keyed(id, 0), 1))
                    .collect();
                size = commit(worker, &rows);
            }
            let loaded = (0..count).filter(|id| id.wrapping_mul(2654435761) >> 16 & 63 < 20);
            let ids: Vec<u32> = loaded.collect();
            assert!(size < 30 * ids.len(), "loaded: {} bytes a row", size / ids.len());
            for version in 1..4 {
                let update: Vec<_> = ids
                    .iter()
                    .flat_map(|id| [(keyed(*id, version - 1), -1), (keyed(*id, version), 1)])
                    .collect();
                // The merge of old and new reserves three times what is left of them.
                size = commit(worker, &update);
                assert!(size < 30 * ids.len(), "updated: {} bytes a row", size / ids.len());
            }
        });
    }

    #[test]
    fn content_is_right_at_every_time_that_is_held() {
        with_idle_merging(|worker| {
            let mut table = Table::create(worker);
            let mut random = Random(7);
            let mut content = BTreeMap::new();
            let mut history = Vec::new();
            for time in 0..60u64 {
                let changes: Vec<_> = (0..random.below(30))
                    .map(|_| {
                        // Values of different lengths, some of them on the heap.
                        let value = vec![random.below(3); random.below(5) as usize];
                        let data = (row(&[random.below(8)]), row(&value));
                        *content.entry(data.clone()).or_insert(0) += 1;
                        (data, 1)
                    })
                    .collect();
                table.write(&changes, time);
                table.settle(worker);
                history.push(content.clone());
                let since = time.saturating_sub(10);
                table.compact(since);
                for at in since..=time {
                    assert_eq!(read(&mut table.trace, at), history[at as usize], "{at} at {time}");
                }
            }
        });
    }

    fn read(trace: &mut RowTrace, at: Timestamp) -> BTreeMap<(Row, Row), Diff> {
        let batches = trace.batches_through(Antichain::new().borrow()).unwrap();
        let (mut cursor, batches) = cursor_list(batches);
        let mut content = BTreeMap::new();
        while let Some(key) = cursor.get_key(&batches) {
            while let Some(value) = cursor.get_val(&batches) {
                let mut count = 0;
                cursor.map_times(&batches, |t, d| count += if *t <= at { *d } else { 0 });
                if count != 0 {
                    content.insert((Row::new(key.0), Row::new(value.0)), count);
                }
                cursor.step_val(&batches);
            }
            cursor.step_key(&batches);
        }
        content
    }
}
