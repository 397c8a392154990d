//! The task that asks workers for their events, while somebody wants them.
//!
//! The graph of activities and what is critical in it are made here, by code written for that
//! ([`crate::profile`]), and fed as changes of collections, on which everything else is views. They
//! could be operators on the workers. They are not, since they would observe themselves: a worker
//! that makes the graph of what it did has that in its next graph, and holds back by it what is
//! being looked at. A snapshot of 30,000 events may take up to 60 ms to make (`snapshot_ms` of
//! `benches/engine` is held to that), which here are nobody's but this task's, and between two
//! operators would be a pause for every commit. What a snapshot was made of is freed with it.
//!
//! Snapshots are made while `introspection_snapshot` is not zero; then events are asked for when
//! one has ended.
//!
//! Whoever subscribes to `weir_trace` has events recorded: each time they are asked for, the chunk
//! of each worker becomes a row. A row goes again after a while, so that what the relation holds is
//! bounded; a reader that comes late finds what the newest rows tell, and with the first rows that
//! come after it what was made before.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::catalog::system::declared;
use crate::coord::request::{Introspection, TableWrite};
use crate::error::{Error, Result};
use crate::profile::trace;
use crate::repr::{Datum, GlobalId, Timestamp};
use crate::session::engine::Engine;
use crate::session::introspection::content::Content;
use crate::session::introspection::operators::int8;
use crate::session::introspection::profiler::Profiler;
use crate::session::introspection::profiling::Profiling;

/// How often events are handed to who records them.
const PAUSE: Duration = Duration::from_millis(100);
/// How long after a snapshot's end its events are asked for.
const BEHIND: Duration = Duration::from_millis(2);
/// The least and the most that is waited for a snapshot's end: what is recorded is bounded.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// How long a row stays.
const KEPT: Duration = Duration::from_secs(5);
/// The relation.
const NAME: &str = "weir_trace";

/// Who reads events, by the numbers of subscriptions.
pub(in crate::session) type Listeners = BTreeSet<u64>;

/// The id of the relation.
pub(super) fn relation() -> Result<GlobalId> {
    let declared = declared::by_name("weir_catalog", NAME);
    let found = declared.ok_or_else(|| Error::internal(format!("{NAME} is not declared")))?;
    Ok(found.id)
}

/// Who of all subscriptions reads events.
pub(super) fn listeners(told: &Introspection, trace: GlobalId) -> Listeners {
    let reads = |objects: &[GlobalId]| objects.contains(&trace);
    let reading = told.subscriptions.iter().filter(|state| reads(&state.objects));
    reading.map(|state| state.reader).collect()
}

/// Records for as long as the engine runs, whenever somebody reads.
pub async fn run(engine: Engine) {
    if let Err(error) = follow(&engine).await {
        // The engine has ended, or a relation is declared otherwise than it is fed.
        tracing::debug!(%error, "tracing ends");
    }
}

async fn follow(engine: &Engine) -> Result<()> {
    let mut task = Task { rows: Rows::new(engine)?, profiler: None, known: None };
    let mut listeners = engine.listeners.subscribe();
    let mut profiling = engine.profiling.subscribe();
    let mut interval = engine.introspection.subscribe();
    loop {
        let reading = listeners.borrow_and_update().clone();
        let profiled = *profiling.borrow_and_update();
        let is_on = !interval.borrow_and_update().is_zero();
        let pause = if is_on && !(reading.is_empty() && profiled.snapshot().is_none()) {
            Some(task.turn(engine, reading, &profiled).await?)
        } else {
            task.rest(engine);
            None
        };
        let pause = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = pause => {}
            changed = listeners.changed() => if changed.is_err() { return Ok(()) },
            changed = profiling.changed() => if changed.is_err() { return Ok(()) },
            changed = interval.changed() => if changed.is_err() { return Ok(()) },
        }
    }
}

/// What the task has.
struct Task {
    rows: Rows,
    profiler: Option<Profiler>,
    /// Who read events the last time; none: they were not recorded.
    known: Option<Listeners>,
}

impl Task {
    /// Asks for events and writes what comes of them; how long to wait for the next ones.
    async fn turn(
        &mut self,
        engine: &Engine,
        reading: Listeners,
        profiled: &Profiling,
    ) -> Result<Duration> {
        let mut whole = self.known.as_ref().is_none_or(|known| !reading.is_subset(known));
        match (profiled.snapshot(), &mut self.profiler) {
            (Some(length), Some(profiler)) => whole |= profiler.set_length(length),
            (Some(length), none) => {
                *none = Some(Profiler::new(engine, length)?);
                whole = true;
            }
            (None, Some(profiler)) => profiler.clear(),
            (None, None) => {}
        }
        let is_read = !reading.is_empty();
        self.known = Some(reading);
        let chunks = engine.client.trace(whole).await?;
        let mut pause = PAUSE;
        if is_read {
            self.rows.add(&chunks)?;
        } else {
            self.rows.clear();
        }
        if let Some(profiler) = self.profiler.as_mut().filter(|_| profiled.snapshot().is_some()) {
            // Others on this thread would wait for it.
            tokio::task::block_in_place(|| profiler.take(&chunks, profiled))?;
            if let Some(end) = profiler.next_end() {
                let left = Duration::from_nanos(end.saturating_sub(now()));
                // A little later all workers can tell all of it.
                let left = left.max(PAUSE_MIN) + BEHIND;
                pause = if is_read { left.min(PAUSE) } else { left.min(PAUSE_MAX) };
            }
        }
        self.feed(engine);
        Ok(pause)
    }

    /// Records no more, and leaves no rows.
    fn rest(&mut self, engine: &Engine) {
        if self.known.take().is_some() {
            engine.client.end_trace();
            self.rows.clear();
            if let Some(profiler) = &mut self.profiler {
                profiler.clear();
            }
            self.feed(engine);
            self.profiler = None;
        }
    }

    fn feed(&mut self, engine: &Engine) {
        let profiler = self.profiler.iter_mut().flat_map(Profiler::writes);
        let writes: Vec<TableWrite> =
            self.rows.content.take().into_iter().chain(profiler).collect();
        if !writes.is_empty() {
            engine.client.feed(writes);
        }
    }
}

/// The wall clock's time, by which workers tell events.
fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

/// The rows of the relation.
struct Rows {
    content: Content,
    /// How many rows there were.
    count: u64,
    /// When the rows that are there came: the first number behind them.
    there: VecDeque<(Instant, u64)>,
}

impl Rows {
    fn new(engine: &Engine) -> Result<Rows> {
        let content = Content::new(engine, NAME)?;
        Ok(Rows { content, count: 0, there: VecDeque::new() })
    }

    /// Adds chunks, and removes old ones.
    fn add(&mut self, chunks: &[Vec<u8>]) -> Result<()> {
        for bytes in chunks {
            let (worker, through) = trace::head(bytes)?;
            let worker = Datum::Int4(i32::try_from(worker).unwrap_or(i32::MAX));
            let row = [int8(self.count), worker, int8(through), Datum::Bytea(bytes)];
            self.content.set((self.count, 0, 0), &row)?;
            self.count += 1;
        }
        self.there.push_back((Instant::now(), self.count));
        while let Some((_, end)) = self.there.pop_front_if(|(came, _)| came.elapsed() > KEPT) {
            self.content.remove((0, 0, 0)..=(end.saturating_sub(1), 0, 0));
        }
        Ok(())
    }

    /// Removes all rows.
    fn clear(&mut self) {
        self.there.clear();
        self.content.retain(|_| false);
    }
}
