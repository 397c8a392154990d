//! What the coordinator and the process tell: frontiers, subscriptions, commits, memory.

use std::collections::{BTreeMap, BTreeSet};

use crate::coord::request::{HydratingReport, Introspection, LogBytes, ObjectState, Report};
use crate::error::Result;
use crate::repr::{Datum, GlobalId, Timestamp};
use crate::session::engine::Engine;
use crate::session::introspection::content::Content;
use crate::session::introspection::operators::{int8, object};

/// What is known of the memory beside what workers and the log tell, in bytes.
pub(super) struct Known {
    /// All arrangements.
    pub(super) arranged: u64,
    /// What sessions tell of themselves.
    pub(super) sessions: u64,
    /// The rows that the engine tells about itself, but of the relations that are made here.
    pub(super) introspection: u64,
}

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
    /// Of relations that are not hydrated, how many updates workers have read and have to.
    hydrating: BTreeMap<GlobalId, (u64, u64)>,
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
            hydrating: BTreeMap::new(),
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

    /// Takes what was told, and what else is known of the memory.
    pub(super) fn take(&mut self, told: &Introspection, known: &Known) -> Result<()> {
        self.hydrating.clear();
        for report in &told.workers {
            for HydratingReport { object, read, of } in &report.hydrating {
                let far = self.hydrating.entry(*object).or_default();
                *far = (far.0 + read, far.1 + of);
            }
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
        self.storage(&told.log)?;
        self.memory(told, known)
    }

    fn object(&mut self, state: &ObjectState, now: Timestamp) -> Result<()> {
        let ObjectState { id, since, last_change, readers, dependents, .. } = state;
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
        self.hydrates(state)
    }

    /// How far a relation is hydrated. What is complete on some workers is theirs to the end.
    fn hydrates(&mut self, state: &ObjectState) -> Result<()> {
        let ObjectState { id, hydrating, took, read, .. } = state;
        let (under_way, left) = self.hydrating.get(id).copied().unwrap_or_default();
        let (rows, of) = (read + under_way, read + left);
        let percent = match *hydrating {
            0 => 100,
            _ => (rows * 100).checked_div(of).unwrap_or(0).min(99),
        };
        let took = took.map(|took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        let of_view = |datum: Datum<'static>| if took.is_some() { datum } else { Datum::Null };
        let row = [
            object(*id),
            Datum::Bool(*hydrating == 0),
            count(*hydrating),
            of_view(int8(rows)),
            of_view(int8(of)),
            of_view(Datum::Int4(i32::try_from(percent).unwrap_or(100))),
            took.map_or(Datum::Null, int8),
        ];
        self.hydration.set((id.0, 0, 0), &row)
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

    /// What is on the disk: of each relation, and what is nobody's.
    fn storage(&mut self, taken: &LogBytes) -> Result<()> {
        let LogBytes { disk, log, checkpoint, relations, .. } = taken;
        let unused = disk.saturating_sub(*log).saturating_sub(*checkpoint);
        let whole = [("log", *log), ("checkpoint", *checkpoint), ("unused", unused)];
        for (number, (component, all)) in whole.into_iter().enumerate() {
            let mut left = all;
            for (id, taken) in relations.iter() {
                let bytes = [taken.log, taken.checkpoint, 0][number];
                let place = (number as u64, 1, id.0);
                if bytes == 0 {
                    self.storage.remove(place..=place);
                    continue;
                }
                left = left.saturating_sub(bytes);
                let row = [Datum::Text(component), object(*id), int8(bytes)];
                self.storage.set(place, &row)?;
            }
            let row = [Datum::Text(component), Datum::Oid(0), int8(left)];
            self.storage.set((number as u64, 0, 0), &row)?;
        }
        self.storage.retain(|place| place.1 == 0 || relations.contains_key(&GlobalId(place.2)));
        Ok(())
    }

    /// What the memory holds.
    fn memory(&mut self, told: &Introspection, known: &Known) -> Result<()> {
        let Some(Resident { all, program }) = resident() else { return Ok(()) };
        let live = told.allocated.unwrap_or(all.saturating_sub(program));
        let sum = |of: fn(&Report) -> u64| told.workers.iter().map(of).sum::<u64>();
        let parts = [
            ("program", program),
            ("free", all.saturating_sub(program).saturating_sub(live)),
            ("arrangements", known.arranged),
            ("waiting rows", sum(|report| report.waiting_bytes)),
            ("dataflows", sum(|report| report.dataflow_bytes)),
            ("log", u64::try_from(told.log.memory).unwrap_or(0)),
            ("catalog and start", told.started_with),
            ("sessions", known.sessions),
            ("introspection", known.introspection),
        ];
        let known: u64 = parts.iter().map(|(_, bytes)| bytes).sum();
        // What one part has grown by since the other was looked at is nobody's.
        let rest = i64::try_from(all).unwrap_or(i64::MAX) - i64::try_from(known).unwrap_or(0);
        let rows = parts.map(|(component, bytes)| (component, int8(bytes)));
        let ends = [("resident", int8(all)), ("unattributed", Datum::Int8(rest))];
        for (number, (component, bytes)) in rows.into_iter().chain(ends).enumerate() {
            self.memory.set((number as u64, 0, 0), &[Datum::Text(component), bytes])?;
        }
        Ok(())
    }
}

/// Memory of the machine that the process has.
struct Resident {
    all: u64,
    /// Of the program's file, and of others.
    program: u64,
}

fn resident() -> Option<Resident> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kilobytes * 1024)
    };
    let program = bytes("RssFile")? + bytes("RssShmem")?;
    Some(Resident { all: bytes("VmRSS")?, program })
}
