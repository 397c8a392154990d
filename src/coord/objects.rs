//! What the workers hold, as far as the coordinator must know it: who reads whom, when each was
//! last changed, and what history is still readable.
//!
//! An object is a table, an index, a maintained view or a transient dataflow. Invariant: an object
//! is complete up to any time once the worker has reached `last_change + 1`, because nothing that
//! it is computed from has changed since. That is what a promise says, so an object that nothing
//! has changed is neither advanced nor woken.
//!
//! An object whose query reads the clock, or that reads such a one, is `timed`: it changes though
//! nothing was written. It is complete up to a time only when it was promised that time, so whoever
//! is promised something is so together with the timed objects below it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dataflow::command::Promise;
use crate::plan::physical::Dataflow;
use crate::repr::{GlobalId, Timestamp};

/// What the coordinator knows of an object.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// The objects whose arrangements it imports, in the order of its dataflow's imports.
    pub(crate) imports: Vec<GlobalId>,
    /// The objects that import it.
    pub(crate) dependents: BTreeSet<GlobalId>,
    /// When it may last have changed; 0 where it never has.
    pub(crate) last_change: Timestamp,
    /// The earliest time at which it can be read.
    pub(crate) since: Timestamp,
    /// Whether compaction has anything to give up since it was last asked for.
    pub(crate) dirty: bool,
    /// How long its history stays, in nanoseconds.
    pub(crate) retain: Timestamp,
    /// Workers on which it is not complete yet.
    pub(crate) hydrating: usize,
    /// When it began to be built; none for a table.
    pub(crate) began: Option<Instant>,
    /// How long that took, once it has been complete on all workers.
    pub(crate) took: Option<Duration>,
    /// Updates of other arrangements that workers read for it, those that are complete.
    pub(crate) read: u64,
    /// Reads that stand on it.
    pub(crate) readers: usize,
    /// Whether it changes as time goes on, though nothing is written.
    pub(crate) timed: bool,
    /// What its dataflow is built of; none for a table and for what nobody asks about.
    pub(crate) plan: Option<Arc<Dataflow>>,
    /// Since when its rows are under the rules that there are.
    pub(crate) ruled: Timestamp,
    /// Whether it is an input for seeds, of which nobody reads the past.
    pub(crate) seeds: bool,
    /// Dropped from the catalog, and only waiting for its readers and dependents.
    pub(crate) retired: bool,
}

impl Object {
    /// Whether it is dropped and nothing stands on it.
    pub(crate) fn is_unused(&self) -> bool {
        self.retired && self.readers == 0 && self.dependents.is_empty()
    }
}

/// All objects that workers hold.
#[derive(Debug, Default)]
pub(crate) struct Objects(BTreeMap<GlobalId, Object>);

impl Objects {
    /// Adds an object; the ones that it imports are there already.
    pub(crate) fn add(&mut self, id: GlobalId, mut object: Object) {
        for import in &object.imports {
            if let Some(other) = self.0.get_mut(import) {
                other.dependents.insert(id);
                object.timed |= other.timed;
            }
        }
        self.0.insert(id, object);
    }

    /// Removes an object.
    pub(crate) fn remove(&mut self, id: GlobalId) -> Option<Object> {
        let object = self.0.remove(&id)?;
        for import in &object.imports {
            if let Some(other) = self.0.get_mut(import) {
                other.dependents.remove(&id);
            }
        }
        Some(object)
    }

    /// An object.
    pub(crate) fn get(&self, id: GlobalId) -> Option<&Object> {
        self.0.get(&id)
    }

    /// An object, to be changed.
    pub(crate) fn get_mut(&mut self, id: GlobalId) -> Option<&mut Object> {
        self.0.get_mut(&id)
    }

    /// All objects.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (GlobalId, &Object)> {
        self.0.iter().map(|(id, object)| (*id, object))
    }

    /// All objects, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (GlobalId, &mut Object)> {
        self.0.iter_mut().map(|(id, object)| (*id, object))
    }

    /// When an object may last have changed.
    pub(crate) fn last_change(&self, id: GlobalId) -> Timestamp {
        self.get(id).map_or(0, |object| object.last_change)
    }

    /// The upper that an object's arrangement has once it shows all up to `at`.
    pub(crate) fn need(&self, id: GlobalId, at: Timestamp) -> Timestamp {
        match self.get(id) {
            Some(object) if object.timed => at + 1,
            Some(Object { last_change: 0, .. }) | None => 0,
            Some(object) => object.last_change.min(at) + 1,
        }
    }

    /// Tables are written at `time`: marks all that depends on them, and adds to `woken` the
    /// dataflows that have to go on.
    pub(crate) fn written(
        &mut self,
        tables: impl IntoIterator<Item = GlobalId>,
        time: Timestamp,
        woken: &mut BTreeMap<GlobalId, Timestamp>,
    ) {
        let mut queue: Vec<GlobalId> = tables.into_iter().collect();
        while let Some(id) = queue.pop() {
            let Some(object) = self.0.get_mut(&id) else { continue };
            if object.last_change >= time {
                continue;
            }
            object.last_change = time;
            object.dirty = true;
            if !object.imports.is_empty() {
                woken.insert(id, time);
            }
            queue.extend(object.dependents.iter().copied());
        }
    }

    /// The promise that lets a dataflow become complete through `time`, where the timed objects
    /// below it are promised as much.
    pub(crate) fn promise(&self, dataflow: GlobalId, time: Timestamp) -> Promise {
        let imports = self.get(dataflow).map_or(&[][..], |object| &object.imports);
        let needs = imports.iter().map(|import| self.need(*import, time)).collect();
        Promise { dataflow, needs, upto: time + 1 }
    }

    /// The promises for the timed objects among these and below them, inputs first; all of that has
    /// something to give up for compaction now.
    pub(crate) fn promises_of_time(
        &mut self,
        objects: impl IntoIterator<Item = (GlobalId, Timestamp)>,
    ) -> Vec<Promise> {
        let mut wanted: BTreeMap<GlobalId, Timestamp> = BTreeMap::new();
        let mut queue: Vec<(GlobalId, Timestamp)> = objects.into_iter().collect();
        while let Some((id, time)) = queue.pop() {
            let Some(object) = self.0.get_mut(&id).filter(|object| object.timed) else { continue };
            if wanted.get(&id).is_some_and(|known| *known >= time) {
                continue;
            }
            object.dirty = true;
            wanted.insert(id, time);
            queue.extend(object.imports.iter().map(|import| (*import, time)));
        }
        // What an object reads was made before it, and has a lower number.
        wanted.into_iter().map(|(id, time)| self.promise(id, time)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(imports: &[u64]) -> Object {
        Object { imports: imports.iter().map(|i| GlobalId(*i)).collect(), ..Object::default() }
    }

    #[test]
    fn only_what_depends_on_a_write_is_woken() {
        let mut objects = Objects::default();
        for (id, imports) in [(1, &[][..]), (2, &[]), (3, &[1]), (4, &[2, 3]), (5, &[2])] {
            objects.add(GlobalId(id), object(imports));
        }
        let mut woken = BTreeMap::new();
        objects.written([GlobalId(1)], 10, &mut woken);
        assert_eq!(woken.keys().map(|id| id.0).collect::<Vec<_>>(), [3, 4]);
        let promise = objects.promise(GlobalId(4), 10);
        assert_eq!((promise.needs, promise.upto), (vec![0, 11], 11));
        objects.remove(GlobalId(4));
        woken.clear();
        objects.written([GlobalId(2)], 20, &mut woken);
        assert_eq!(woken.keys().map(|id| id.0).collect::<Vec<_>>(), [5]);
    }
}
