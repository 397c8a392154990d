//! What the coordinator and the process tell: frontiers, subscriptions, commits, memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::coord::request::{Introspection, ObjectState};
use crate::error::Result;
use crate::repr::{Datum, GlobalId, Timestamp};
use crate::session::engine::Engine;
use crate::session::introspection::content::Content;
use crate::session::introspection::operators::{int8, object};

/// How many groups of transactions are shown.
const COMMITS_MAX: u64 = 256;

/// The relations that the coordinator and the process make.
pub(super) struct Server {
    frontiers: Content,
    hydration: Content,
    subscriptions: Content,
    commits: Content,
    storage: Content,
    memory: Content,
    /// How far each relation is complete on each worker; none: for ever.
    uppers: BTreeMap<(GlobalId, usize), Option<Timestamp>>,
    /// How many groups of transactions were shown.
    groups: u64,
}

fn count(number: usize) -> Datum<'static> {
    Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX))
}

impl Server {
    /// Nothing yet.
    pub(super) fn new(engine: &Engine) -> Result<Server> {
        Ok(Server {
            frontiers: Content::new(engine, "weir_frontiers")?,
            hydration: Content::new(engine, "weir_hydration")?,
            subscriptions: Content::new(engine, "weir_subscriptions")?,
            commits: Content::new(engine, "weir_commits")?,
            storage: Content::new(engine, "weir_storage")?,
            memory: Content::new(engine, "weir_memory")?,
            uppers: BTreeMap::new(),
            groups: 0,
        })
    }

    /// All of them.
    pub(super) fn contents(&mut self) -> impl Iterator<Item = &mut Content> {
        [
            &mut self.frontiers,
            &mut self.hydration,
            &mut self.subscriptions,
            &mut self.commits,
            &mut self.storage,
            &mut self.memory,
        ]
        .into_iter()
    }

    /// Takes what was told. `arranged`: bytes of all arrangements.
    pub(super) fn take(&mut self, told: &Introspection, arranged: u64) -> Result<()> {
        for report in &told.workers {
            for frontier in &report.frontiers {
                let place = (frontier.object, report.worker);
                match frontier.since {
                    Some(_) => self.uppers.insert(place, frontier.upper),
                    None => self.uppers.remove(&place),
                };
            }
        }
        let lasting = || told.objects.iter().filter(|object| !object.id.is_transient());
        for state in lasting() {
            self.object(state, told.taken)?;
        }
        let there: BTreeSet<u64> = lasting().map(|state| state.id.0).collect();
        self.frontiers.retain(|place| there.contains(&place.0));
        self.hydration.retain(|place| there.contains(&place.0));
        self.subscriptions(told)?;
        for group in &told.flushes {
            let took = u64::try_from(group.took.as_nanos()).unwrap_or(u64::MAX);
            let row = [int8(group.through), int8(group.transactions as u64), int8(took)];
            self.commits.set((self.groups, 0, 0), &row)?;
            self.groups += 1;
        }
        let first = self.groups.saturating_sub(COMMITS_MAX);
        self.commits.retain(|place| place.0 >= first);
        self.storage.set((0, 0, 0), &[Datum::Text("log and checkpoint"), int8(told.log_bytes)])?;
        self.memory(arranged)
    }

    fn object(&mut self, state: &ObjectState, now: Timestamp) -> Result<()> {
        let ObjectState { id, since, last_change, hydrating, readers, dependents } = state;
        let of_workers = self.uppers.range((*id, 0)..=(*id, usize::MAX));
        let upper = of_workers.filter_map(|(_, upper)| *upper).min();
        let waits = upper.is_some_and(|upper| upper <= *last_change);
        let lag = if waits { now.saturating_sub(*last_change) } else { 0 };
        let place = (id.0, 0, 0);
        let row = [
            object(*id),
            int8(*since),
            if *last_change == 0 { Datum::Null } else { int8(*last_change) },
            upper.map_or(Datum::Null, int8),
            int8(lag),
            count(*readers),
            count(*dependents),
        ];
        self.frontiers.set(place, &row)?;
        let row = [object(*id), Datum::Bool(*hydrating == 0), count(*hydrating)];
        self.hydration.set(place, &row)
    }

    fn subscriptions(&mut self, told: &Introspection) -> Result<()> {
        let mut there = BTreeSet::new();
        for state in &told.subscriptions {
            let objects: BTreeSet<GlobalId> = state.objects.iter().copied().collect();
            for read in objects {
                there.insert((state.reader, read.0));
                let row = [
                    int8(state.reader),
                    object(read),
                    int8(state.as_of),
                    int8(state.told),
                    int8(state.waiting as u64),
                ];
                self.subscriptions.set((state.reader, read.0, 0), &row)?;
            }
        }
        self.subscriptions.retain(|place| there.contains(&(place.0, place.1)));
        Ok(())
    }

    fn memory(&mut self, arranged: u64) -> Result<()> {
        let Some(resident) = resident_bytes() else { return Ok(()) };
        let rest = resident.saturating_sub(arranged);
        let parts = [("resident", resident), ("arrangements", arranged), ("unattributed", rest)];
        for (number, (component, bytes)) in parts.into_iter().enumerate() {
            let row = [Datum::Text(component), int8(bytes)];
            self.memory.set((number as u64, 0, 0), &row)?;
        }
        Ok(())
    }
}

/// How much memory of the machine the process has.
fn resident_bytes() -> Option<u64> {
    const PAGE_BYTES: u64 = 4096;
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}
