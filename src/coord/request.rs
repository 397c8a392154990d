//! What sessions ask of the coordinator, and the handles that they get.
//!
//! Everything that is held (a snapshot, a reader, exclusiveness) is held by a guard: dropping it
//! gives it back, whatever happens to the session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::catalog::item::Sequence;
use crate::catalog::objects::{Catalog, Change};
pub use crate::coord::log_writer::{Flush, LogBytes};
use crate::dataflow::command::{Bounds, ReaderId, Response};
use crate::error::{Error, Result};
use crate::expr::mfp::Mfp;
use crate::plan::observed::Observation;
use crate::plan::physical::{Arrangement, ArrangementId, Dataflow};
pub use crate::profile::report::{ChannelReport, HydratingReport, OperatorReport, Report};
use crate::repr::settings::FormatSettings;
use crate::repr::{Diff, GlobalId, Row, ScalarType, Timestamp};

/// Where an answer goes.
pub type Reply<T> = oneshot::Sender<Result<T>>;

/// Everything that the coordinator reacts to, in the order in which it arrives.
pub(crate) enum Event {
    Snapshot { when: When, reply: Reply<Snapshot> },
    Release { hold: u64 },
    Now { reply: Reply<Timestamp> },
    AwaitDurable { time: Timestamp, reply: Reply<()> },
    Ids { count: u64, reply: Reply<GlobalId> },
    Read { at: Timestamp, read: Read, observer: Option<Reply<Observed>>, reply: Reply<RowStream> },
    Observe { object: GlobalId, reply: Reply<Observed> },
    Introspect { reply: Reply<Introspection> },
    SwitchIntrospection { on: bool },
    Trace { whole: bool, reply: Reply<Vec<Vec<u8>>> },
    EndTrace,
    Subscribe { request: Box<SubscribeRequest>, reply: Reply<ChangeStream> },
    Advance { reader: ReaderId, reply: Reply<Timestamp> },
    Credit { reader: ReaderId, bytes: u64 },
    Cancel { reader: ReaderId },
    Commit { commit: Box<Commit>, reply: Reply<Timestamp> },
    Exclusive { reply: Reply<Exclusive> },
    EndExclusive { token: u64 },
    Feed { writes: Vec<TableWrite> },
    Provide { id: GlobalId, layout: Arrangement, rows: Arc<Vec<(Row, Row, Diff)>> },
    NextValues { sequence: GlobalId, definition: Sequence, count: u64, reply: Reply<Vec<i64>> },
    SetValue { sequence: GlobalId, value: i64, is_called: bool, reply: Reply<()> },
    KeepSetting { name: String, value: Option<String>, reply: Reply<()> },
    Worker(Response),
    Durable { through: Option<Timestamp>, lease: Timestamp },
    LogFailed(Error),
    Tick,
    Stop { reply: oneshot::Sender<()> },
}

/// Which content a snapshot shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The newest that is durable: covers every acknowledged commit, and waits for nobody.
    Durable,
    /// The newest there is: what a write is computed from.
    Tip,
    /// That of a given time. Error 22023 where it lies in the future.
    At(Timestamp),
}

/// A time whose content stays readable while this is held.
#[derive(Debug)]
pub struct Snapshot {
    /// The time of the content.
    pub time: Timestamp,
    /// When it was taken: what `now()` shows. No restart will give it again.
    pub taken: Timestamp,
    /// The objects at that time.
    pub catalog: Arc<Catalog>,
    pub(crate) hold: u64,
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

impl Snapshot {
    /// Gives up the content before the snapshot is dropped. It is not to be read any more.
    pub fn release(&self) {
        let _ = self.events.send(Event::Release { hold: self.hold });
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.release();
    }
}

/// A read of relations.
#[derive(Clone, Debug)]
pub enum Read {
    /// Straight from an arrangement.
    Arrangement(Box<ArrangementRead>),
    /// By a dataflow that ends with it; its sink is `Peek`.
    Dataflow(Box<Dataflow>),
}

/// A read of one arrangement.
#[derive(Clone, Debug)]
pub struct ArrangementRead {
    /// Which.
    pub target: ArrangementId,
    /// Its layout.
    pub layout: Arrangement,
    /// Which keys.
    pub bounds: Bounds,
    /// What is done to each row.
    pub mfp: Mfp,
    /// Stop after so many rows.
    pub limit: Option<u64>,
    /// What expressions see.
    pub settings: FormatSettings,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct SubscribeRequest {
    /// What is watched; its sink is `Subscribe`.
    pub dataflow: Dataflow,
    /// From when; none: from the newest durable time.
    pub as_of: Option<Timestamp>,
    /// Where the dataflow is one for many, which reads [`GlobalId::SEEDS`]: what it is to find for
    /// this one. It then shows changes from a time of its own on.
    pub shared: Option<SharedRequest>,
}

/// What a subscription asks of a dataflow that it shares.
#[derive(Clone, Debug)]
pub struct SharedRequest {
    /// How the seeds are laid out: under a number, in the first column.
    pub layout: Arrangement,
    /// The other columns of the seed, in value encoding.
    pub constants: Row,
    /// The types of what is found, the number first.
    pub types: Vec<ScalarType>,
}

/// What must not have changed between a transaction's snapshot and its commit.
#[derive(Clone, Debug)]
pub struct ReadSet {
    /// The table, maintained view or index that was read.
    pub object: GlobalId,
    /// The keys that were read, in the arrangement's encoding; none: all.
    pub keys: Option<Vec<Row>>,
    /// Which changes of the table, by key and value, would be of what was read; none: `keys` says.
    pub test: Option<RowTest>,
}

/// Whether a row, by its key and value in a table's layout, is meant.
#[derive(Clone)]
pub struct RowTest(pub Arc<Test>);

/// What is asked of a key and a value.
type Test = dyn Fn(&Row, &Row) -> bool + Send + Sync;

impl fmt::Debug for RowTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowTest")
    }
}

/// The changes of one table, in its layout.
#[derive(Clone, Debug)]
pub struct TableWrite {
    /// The table.
    pub table: GlobalId,
    /// Key, value and change; consolidated.
    pub updates: Arc<Vec<(Row, Row, Diff)>>,
}

/// A change of the catalog and what workers must do for it.
#[derive(Clone, Debug)]
pub struct DdlChange {
    /// The change.
    pub change: Change,
    /// What the new object is made of, where workers hold something for it.
    pub install: Option<Install>,
}

/// What workers hold for an object.
#[derive(Clone, Debug)]
pub enum Install {
    /// A table's input.
    Table(Arrangement),
    /// A maintained view or an index; its sink is `Arrange`, its `as_of` is set by the
    /// coordinator.
    Dataflow(Box<Dataflow>),
}

/// A transaction to be committed.
#[derive(Clone, Debug, Default)]
pub struct Commit {
    /// The time of what it read.
    pub snapshot: Timestamp,
    /// What it read.
    pub reads: Vec<ReadSet>,
    /// What it writes.
    pub writes: Vec<TableWrite>,
    /// What it defines; then `catalog_version` must be the newest.
    pub ddl: Vec<DdlChange>,
    /// What that changes in the system relations; not logged.
    pub system: Vec<TableWrite>,
    /// The version of the catalog that it was planned with.
    pub catalog_version: u64,
    /// Whether it is acknowledged before it is durable.
    pub asynchronous: bool,
    /// The token of [`Exclusive`], where the session holds it.
    pub exclusive: Option<u64>,
}

/// While it is held nobody else commits.
#[derive(Debug)]
pub struct Exclusive {
    pub(crate) token: u64,
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

impl Exclusive {
    /// To be named in [`Commit::exclusive`].
    pub fn token(&self) -> u64 {
        self.token
    }
}

impl Drop for Exclusive {
    fn drop(&mut self) {
        let _ = self.events.send(Event::EndExclusive { token: self.token });
    }
}

/// What a dataflow cost.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The dataflow.
    pub plan: Arc<Dataflow>,
    /// What each worker saw of it.
    pub workers: Vec<Observation>,
}

/// What the engine does: the workers tell what has changed, all else is told whole.
#[derive(Clone, Debug)]
pub struct Introspection {
    /// When.
    pub taken: Timestamp,
    /// What the workers hold.
    pub objects: Vec<ObjectState>,
    /// What is being watched.
    pub subscriptions: Vec<SubscriptionState>,
    /// What has changed on each worker.
    pub workers: Vec<Report>,
    /// All up to here is on the disk.
    pub durable: Timestamp,
    /// Commands that workers have not taken.
    pub backlog: usize,
    /// What the log takes.
    pub log: LogBytes,
    /// Bytes that are allocated in the process, where they are counted.
    pub allocated: Option<u64>,
    /// How many of those were when the server began, with what it read back.
    pub started_with: u64,
    /// The newest groups of transactions that were made durable, of those not told before.
    pub flushes: Vec<Flush>,
}

/// A table, an index, a maintained view or a transient dataflow.
#[derive(Clone, Debug)]
pub struct ObjectState {
    /// Which.
    pub id: GlobalId,
    /// The earliest time at which it can be read.
    pub since: Timestamp,
    /// When it may last have changed; 0 where it never has.
    pub last_change: Timestamp,
    /// Workers on which it is not complete yet.
    pub hydrating: usize,
    /// How long that has taken; none for a table.
    pub took: Option<Duration>,
    /// Updates of other arrangements that the workers on which it is complete read for it.
    pub read: u64,
    /// Reads that stand on it.
    pub readers: usize,
    /// Dataflows that import it.
    pub dependents: usize,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct SubscriptionState {
    /// Its number.
    pub reader: ReaderId,
    /// Its dataflow.
    pub dataflow: Option<GlobalId>,
    /// What it reads.
    pub objects: Vec<GlobalId>,
    /// From when on it shows changes.
    pub as_of: Timestamp,
    /// All up to here has been told.
    pub told: Timestamp,
    /// Changes that are not complete everywhere, or not durable.
    pub waiting: usize,
}

/// What a read is going to have cost.
#[derive(Debug)]
pub struct Watch(oneshot::Receiver<Result<Observed>>);

impl Watch {
    /// What it cost, once all of its rows have come.
    pub async fn seen(self) -> Result<Observed> {
        self.0.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// What a stream of rows brings.
pub(crate) enum RowEvent {
    Rows(Vec<(Row, Diff)>),
    Done,
    Failed(Error),
}

/// What a stream of changes brings, in order of time.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeEvent {
    /// Changes, consolidated; times never decrease.
    Changes(Vec<(Timestamp, Row, Diff)>),
    /// All changes at or below this time have come.
    Progress(Timestamp),
    /// Nothing will come any more.
    End,
}

/// Bytes of rows that a reader may be ahead of its client.
pub(crate) const READER_CREDIT: u64 = 4 << 20;

/// The rows of a read, as they come.
#[derive(Debug)]
pub struct RowStream {
    pub(crate) reader: ReaderId,
    pub(crate) rows: mpsc::UnboundedReceiver<RowEvent>,
    pub(crate) events: mpsc::UnboundedSender<Event>,
    pub(crate) done: bool,
}

impl RowStream {
    /// The next rows (value encoding) and how often each occurs; none at the end. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Vec<(Row, Diff)>>> {
        if self.done {
            return Ok(None);
        }
        match self.rows.recv().await {
            Some(RowEvent::Rows(rows)) => {
                let bytes = rows.iter().map(|(row, _)| row.bytes().len().max(1) as u64).sum();
                let _ = self.events.send(Event::Credit { reader: self.reader, bytes });
                Ok(Some(rows))
            }
            Some(RowEvent::Done) => {
                self.done = true;
                Ok(None)
            }
            Some(RowEvent::Failed(error)) => {
                self.done = true;
                Err(error)
            }
            None => Err(gone()),
        }
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        if !self.done {
            let _ = self.events.send(Event::Cancel { reader: self.reader });
        }
    }
}

/// The changes of a subscription, as they come.
#[derive(Debug)]
pub struct ChangeStream {
    pub(crate) reader: ReaderId,
    pub(crate) as_of: Timestamp,
    pub(crate) changes: mpsc::UnboundedReceiver<Result<ChangeEvent>>,
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

impl ChangeStream {
    /// The time from which it shows changes.
    pub fn as_of(&self) -> Timestamp {
        self.as_of
    }

    /// The next event. Cancel-safe. The reader's credit is not renewed: see [`Self::consumed`].
    pub async fn next(&mut self) -> Result<ChangeEvent> {
        self.changes.recv().await.unwrap_or_else(|| Err(gone()))
    }

    /// Has progress made through the newest durable time now, and tells that time.
    pub async fn advance(&self) -> Result<Timestamp> {
        let (reply, answer) = oneshot::channel();
        let event = Event::Advance { reader: self.reader, reply };
        self.events.send(event).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// The next event, if it is there already.
    pub fn try_next(&mut self) -> Option<Result<ChangeEvent>> {
        match self.changes.try_recv() {
            Ok(event) => Some(event),
            Err(mpsc::error::TryRecvError::Empty) => None,
            Err(mpsc::error::TryRecvError::Disconnected) => Some(Err(gone())),
        }
    }

    /// Says that the client has taken so many bytes of rows, so that as many more may come.
    pub fn consumed(&self, bytes: u64) {
        let _ = self.events.send(Event::Credit { reader: self.reader, bytes });
    }
}

impl Drop for ChangeStream {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Cancel { reader: self.reader });
    }
}

/// What using something that was dropped meanwhile answers.
pub(crate) fn dropped() -> Error {
    Error::new(crate::error::SqlState::UNDEFINED_TABLE, "relation was dropped by another session")
}

/// The engine has ended under the session.
pub(crate) fn gone() -> Error {
    Error::new(
        crate::error::SqlState::ADMIN_SHUTDOWN,
        "terminating connection due to administrator command",
    )
}

/// A session's line to the coordinator.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) events: mpsc::UnboundedSender<Event>,
}

impl Client {
    async fn ask<T>(&self, make: impl FnOnce(Reply<T>) -> Event) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.events.send(make(reply)).map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Holds the content of a time.
    pub async fn snapshot(&self, when: When) -> Result<Snapshot> {
        self.ask(|reply| Event::Snapshot { when, reply }).await
    }

    /// A new time, above all commits so far; no restart will give it again.
    pub async fn now(&self) -> Result<Timestamp> {
        self.ask(|reply| Event::Now { reply }).await
    }

    /// Waits until all up to a time may leave the server. Whoever answers from a [`When::Tip`]
    /// snapshot without a commit waits for its time first.
    pub async fn durable(&self, time: Timestamp) -> Result<()> {
        self.ask(|reply| Event::AwaitDurable { time, reply }).await
    }

    /// Writes to system relations, at a time of its own and without the log. Never waits.
    pub fn feed(&self, writes: Vec<TableWrite>) {
        let _ = self.events.send(Event::Feed { writes });
    }

    /// Makes a system relation whose rows never change; what is asked later finds it.
    pub fn provide(&self, id: GlobalId, layout: Arrangement, rows: Vec<(Row, Row, Diff)>) {
        let rows = Arc::new(rows);
        let _ = self.events.send(Event::Provide { id, layout, rows });
    }

    /// The first of `count` new object ids in a row.
    pub async fn ids(&self, count: u64) -> Result<GlobalId> {
        self.ask(|reply| Event::Ids { count, reply }).await
    }

    /// Rows that are known already, as if they were read.
    pub fn constant(&self, known: Vec<(Row, Diff)>) -> RowStream {
        let (sender, rows) = mpsc::unbounded_channel();
        let _ = sender.send(RowEvent::Rows(known));
        let _ = sender.send(RowEvent::Done);
        RowStream { reader: 0, rows, events: self.events.clone(), done: false }
    }

    /// Reads at a snapshot. Error 22023 where the history is gone.
    pub async fn read(&self, snapshot: &Snapshot, read: Read) -> Result<RowStream> {
        let (at, observer) = (snapshot.time, None);
        self.ask(|reply| Event::Read { at, read, observer, reply }).await
    }

    /// Reads at a snapshot by a dataflow, and tells what that cost once all rows have come.
    pub async fn read_observed(
        &self,
        snapshot: &Snapshot,
        dataflow: Dataflow,
    ) -> Result<(RowStream, Watch)> {
        let (at, read) = (snapshot.time, Read::Dataflow(Box::new(dataflow)));
        let (reply, seen) = oneshot::channel();
        let observer = Some(reply);
        let rows = self.ask(|reply| Event::Read { at, read, observer, reply }).await?;
        Ok((rows, Watch(seen)))
    }

    /// What the engine does, and what of that has changed since this was last asked.
    pub async fn introspect(&self) -> Result<Introspection> {
        self.ask(|reply| Event::Introspect { reply }).await
    }

    /// Has workers log what operators do, or not any more.
    pub fn switch_introspection(&self, on: bool) {
        let _ = self.events.send(Event::SwitchIntrospection { on });
    }

    /// All events since this was last asked, a chunk of [`crate::profile::trace`] for each worker;
    /// they are kept from then on. `whole`: begins with what was made before.
    pub async fn trace(&self, whole: bool) -> Result<Vec<Vec<u8>>> {
        self.ask(|reply| Event::Trace { whole, reply }).await
    }

    /// Has events kept no more.
    pub fn end_trace(&self) {
        let _ = self.events.send(Event::EndTrace);
    }

    /// What a maintained view or an index costs, once it shows all that is written.
    pub async fn observe(&self, object: GlobalId) -> Result<Observed> {
        self.ask(|reply| Event::Observe { object, reply }).await
    }

    /// Subscribes. Error 22023 where the history is gone or the time lies in the future.
    pub async fn subscribe(&self, request: SubscribeRequest) -> Result<ChangeStream> {
        let request = Box::new(request);
        self.ask(|reply| Event::Subscribe { request, reply }).await
    }

    /// Commits and returns the transaction's time, once it is durable and what it made is
    /// complete. Error 40001 where something that it read has changed.
    ///
    /// Once sent, a commit goes through even if the future is dropped.
    pub async fn commit(&self, commit: Commit) -> Result<Timestamp> {
        let commit = Box::new(commit);
        self.ask(|reply| Event::Commit { commit, reply }).await
    }

    /// Waits until nobody else is exclusive, and then keeps everybody else from committing.
    pub async fn exclusive(&self) -> Result<Exclusive> {
        self.ask(|reply| Event::Exclusive { reply }).await
    }

    /// The next values of a sequence, durable. Error 2200H at its end. The definition is given,
    /// because an open transaction may have made the sequence.
    pub async fn next_values(
        &self,
        sequence: GlobalId,
        definition: Sequence,
        count: u64,
    ) -> Result<Vec<i64>> {
        self.ask(|reply| Event::NextValues { sequence, definition, count, reply }).await
    }

    /// Sets a sequence.
    pub async fn set_value(&self, sequence: GlobalId, value: i64, is_called: bool) -> Result<()> {
        self.ask(|reply| Event::SetValue { sequence, value, is_called, reply }).await
    }

    /// Keeps a setting of the server over restarts, or keeps it no more.
    pub async fn keep_setting(&self, name: &str, value: Option<String>) -> Result<()> {
        let name = name.to_owned();
        self.ask(|reply| Event::KeepSetting { name, value, reply }).await
    }

    /// Ends the engine cleanly: the log is synced, the workers stop.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.events.send(Event::Stop { reply }).is_ok() {
            let _ = done.await;
        }
    }
}
