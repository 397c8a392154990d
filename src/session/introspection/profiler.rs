//! Snapshots of this server's own workers, as rows of the `weir_` relations.
//!
//! Events go in as chunks, in the order in which workers hand them over; complete snapshots come
//! out as rows, which stay for a while. Rows of a snapshot are written at one time, and removed
//! together at another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::objects::Catalog;
use crate::catalog::system::declared;
use crate::coord::request::TableWrite;
use crate::error::{Error, Result};
use crate::plan::physical::Arrangement;
use crate::profile::participation::Participation;
use crate::profile::stream::{Snapshot, Stream};
use crate::profile::trace;
use crate::repr::{Datum, Diff, GlobalId, Row, Timestamp};
use crate::session::engine::Engine;
use crate::session::introspection::profiling::Profiling;
use crate::session::introspection::snapshots::{self, Part};
use crate::session::layout::RowEncoder;

/// A snapshot with more activities than these shows none: it would take more than it tells.
const ACTIVITIES_MAX: usize = 500_000;

/// A row that is there: its key and its value.
type Encoded = (Row, Row);

/// A relation whose rows come and go by snapshots.
struct History {
    relation: GlobalId,
    layout: Arc<Arrangement>,
    /// The rows of each snapshot, by when it ends.
    kept: VecDeque<(Timestamp, Vec<Encoded>)>,
    changes: Vec<(Row, Row, Diff)>,
}

impl History {
    fn new(engine: &Engine, part: Part) -> Result<History> {
        let name = format!("weir_{}", part.name());
        let item = declared::by_name("weir_catalog", &name)
            .ok_or_else(|| Error::internal(format!("{name} is not declared")))?;
        let layout = engine.layout(&Catalog::default(), item.id)?;
        Ok(History { relation: item.id, layout, kept: VecDeque::new(), changes: Vec::new() })
    }

    fn add(&mut self, end: Timestamp, datums: &[Datum<'_>]) -> Result<()> {
        let (key, value) = RowEncoder::new(&self.layout).encode(datums)?;
        self.changes.push((key.clone(), value.clone(), 1));
        match self.kept.back_mut() {
            Some((known, rows)) if *known == end => rows.push((key, value)),
            _ => self.kept.push_back((end, vec![(key, value)])),
        }
        Ok(())
    }

    /// Removes the rows of snapshots that end before a time.
    fn forget_before(&mut self, time: Timestamp) {
        while let Some((_, rows)) = self.kept.pop_front_if(|(end, _)| *end < time) {
            self.changes.extend(rows.into_iter().map(|(key, value)| (key, value, -1)));
        }
    }

    fn take(&mut self) -> Option<TableWrite> {
        let updates = std::mem::take(&mut self.changes);
        let table = self.relation;
        (!updates.is_empty()).then(|| TableWrite { table, updates: Arc::new(updates) })
    }
}

/// Makes snapshots.
pub(super) struct Profiler {
    stream: Stream,
    length: Duration,
    snapshot: Snapshot,
    participation: Participation,
    histories: BTreeMap<Part, History>,
}

impl Profiler {
    /// Snapshots of this length.
    pub(super) fn new(engine: &Engine, length: Duration) -> Result<Profiler> {
        let history = |part| Ok((part, History::new(engine, part)?));
        Ok(Profiler {
            stream: stream(length),
            length,
            snapshot: Snapshot::default(),
            participation: Participation::default(),
            histories: Part::ALL.into_iter().map(history).collect::<Result<_>>()?,
        })
    }

    /// Has snapshots be of this length from now on; whether that is news.
    pub(super) fn set_length(&mut self, length: Duration) -> bool {
        let is_new = self.length != length;
        if is_new {
            (self.stream, self.length) = (stream(length), length);
        }
        is_new
    }

    /// Takes chunks of events, and makes the snapshots that they complete.
    pub(super) fn take(&mut self, chunks: &[Vec<u8>], profiling: &Profiling) -> Result<()> {
        self.stream.limit(profiling.limits());
        for bytes in chunks {
            self.stream.add(&trace::chunk(bytes)?);
        }
        while self.stream.complete(&mut self.snapshot) {
            let end = self.snapshot.graph.until;
            let histories = &mut self.histories;
            let emit = &mut |part: Part, datums: &[Datum<'_>]| match histories.get_mut(&part) {
                Some(history) => history.add(end, datums),
                None => Ok(()),
            };
            let (snapshot, participation) = (&self.snapshot, &mut self.participation);
            let (names, hops) = (self.stream.names(), profiling.hops());
            snapshots::rows(snapshot, participation, names, hops, ACTIVITIES_MAX, emit)?;
            debug_assert!(self.adds_up(), "a snapshot does not add up");
            let kept = u64::try_from(profiling.retention().as_nanos()).unwrap_or(u64::MAX);
            self.forget_before(end.saturating_sub(kept));
        }
        Ok(())
    }

    /// Whether what each worker did fills the snapshot, and participation adds up to 1: so it is
    /// with events of one host, and tests look at every snapshot that there ever is.
    fn adds_up(&self) -> bool {
        let graph = &self.snapshot.graph;
        let mut filled = vec![0; graph.bounds.len()];
        for edge in &graph.edges[..graph.locals] {
            filled[graph.vertices[edge.source].worker] += graph.duration_ns(edge);
        }
        let is_filled = filled.iter().all(|sum| *sum == graph.length_ns());
        is_filled && self.participation.check.is_none_or(|sum| (sum - 1.0).abs() < 1e-9)
    }

    /// When the next snapshot ends.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.stream.next_end()
    }

    fn forget_before(&mut self, time: Timestamp) {
        self.histories.values_mut().for_each(|history| history.forget_before(time));
    }

    /// Begins anew, without a row.
    pub(super) fn clear(&mut self) {
        self.stream = stream(self.length);
        self.forget_before(Timestamp::MAX);
    }

    /// What has changed.
    pub(super) fn writes(&mut self) -> impl Iterator<Item = TableWrite> {
        self.histories.values_mut().filter_map(History::take)
    }
}

fn stream(length: Duration) -> Stream {
    let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    Stream::new(length_ns, Default::default())
}
