//! Opening a data directory: what is stored, handed over in the order in which it has to be
//! planned again.
//!
//! 1. [`Opening::open`] takes the lock, recovers the log and starts the workers.
//! 2. The session's boot gives the layout of each table ([`Opening::create_table`]).
//! 3. [`Opening::load`] replays rows: the checkpoint's at its time, the log's at their own, so that
//!    history and the times of resumed subscriptions survive.
//! 4. Boot plans each maintained object's text ([`Opening::install`]). One that no longer plans,
//!    one whose dataflow crashed the server twice, and what reads such a one, are *broken*: the
//!    server starts without them, and whoever reads them is told why.
//! 5. [`Opening::start`] gives the coordinator, and a client of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use crate::catalog::item::Item;
use crate::catalog::objects::{Catalog, Change};
use crate::coord::clock::Clock;
use crate::coord::commits::{NEXT_ID, Recent};
use crate::coord::coordinator::{Catalogs, Coordinator};
use crate::coord::gate::Gate;
use crate::coord::log_writer::LogWriter;
use crate::coord::objects::{Object, Objects};
use crate::coord::request::{Client, Commit, Event};
use crate::coord::sequences::Sequences;
use crate::dataflow::command::{Command, Write};
use crate::dataflow::worker::{self, Workers};
use crate::error::{Error, Result, SqlState};
use crate::plan::physical::{Arrangement, Dataflow};
use crate::profile::memory::{measured, own};
use crate::repr::{Diff, GlobalId, Row, Timestamp};
use crate::storage::faults::FAULTS_FILE;
use crate::storage::{self, CheckpointRows, LogTransactions, Store};

/// How many updates are handed to the workers at once.
const LOAD_UPDATES: usize = 1 << 16;
/// An object whose dataflow crashed the server so often is not built again.
const FAULTS_MAX: usize = 2;

/// How a server is opened.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// The data directory.
    pub data_dir: PathBuf,
    /// How many timely workers there are.
    pub workers: usize,
    /// How long history stays readable, in milliseconds, where nothing else is said.
    pub retain_ms: u64,
    /// How long the log grows before it is folded into a checkpoint.
    pub checkpoint_log_bytes: u64,
    /// How often the engine looks at itself, in milliseconds, where nothing else was set since;
    /// 0: never.
    pub introspection_ms: u64,
}

/// Rows in the layout of their relation.
type Updates = Vec<(Row, Row, Diff)>;

/// A server that is being opened.
pub struct Opening {
    pub(super) coordinator: Coordinator,
    rows: Option<(CheckpointRows, LogTransactions)>,
    checkpoint: Timestamp,
    /// How often each object crashed the server.
    faults: BTreeMap<GlobalId, usize>,
    /// What the log keeps of settings.
    pub(super) settings: BTreeMap<String, String>,
    /// Bytes of rows that were handed to the workers.
    loaded_bytes: i64,
    /// From when on the content of maintained objects is right.
    as_of: Timestamp,
}

impl Opening {
    /// Opens a data directory. Errors: those of [`Store::open`].
    pub fn open(config: &EngineConfig) -> Result<Opening> {
        let (mut store, recovered) = Store::open(&config.data_dir)?;
        store.fold_beyond(config.checkpoint_log_bytes);
        let catalog = Arc::new(read_catalog(recovered.catalog)?);
        let (events, receiver) = mpsc::unbounded_channel();
        let responses = events.clone();
        let faults = storage::faults::recorded(&config.data_dir)?;
        let data_dir = config.data_dir.clone();
        worker::on_fault(move |id| record_fault(&data_dir, id));
        let workers = Workers::start(
            config.workers,
            Arc::new(move |response| {
                let _ = responses.send(Event::Worker(response));
            }),
        )?;
        let retain = config.retain_ms.saturating_mul(1_000_000);
        let checkpoint = recovered.checkpoint.unwrap_or(0);
        let mut sequences = Sequences::default();
        for (id, (last, is_called)) in recovered.sequences {
            sequences.restore(id, last, is_called);
        }
        let last_id = catalog.items().map(|item| item.id.0 + 1).max();
        let stored_id = recovered.settings.get(NEXT_ID).and_then(|text| text.parse().ok());
        let next_id = last_id.max(stored_id).unwrap_or(0).max(GlobalId::FIRST_USER.0);
        let clock = Clock::starting_at(recovered.lease);
        let keep_until = clock.read().saturating_add(retain);
        let gate = Gate::new(recovered.lease);
        let coordinator = Coordinator {
            log: LogWriter::start(store, events.clone())?,
            events,
            receiver,
            workers,
            clock,
            gate,
            catalogs: Catalogs { tip: catalog.clone(), durable: catalog, pending: VecDeque::new() },
            objects: Objects::default(),
            started_with: 0,
            broken: BTreeMap::new(),
            holds: BTreeMap::new(),
            readers: BTreeMap::new(),
            withheld: BTreeSet::new(),
            sequences,
            observing: BTreeMap::new(),
            reporting: BTreeMap::new(),
            tracing: BTreeMap::new(),
            recent: Recent::default(),
            acks: Vec::new(),
            waiters: Vec::new(),
            spending: Vec::new(),
            exclusive: None,
            deferred: VecDeque::new(),
            writes: Vec::new(),
            woken: BTreeMap::new(),
            next_id: GlobalId(next_id),
            next_transient: 0,
            next_number: 0,
            keep_until,
            retain,
            ticks: 0,
        };
        Ok(Opening {
            coordinator,
            rows: Some((recovered.relations, recovered.log)),
            checkpoint,
            faults,
            settings: recovered.settings,
            loaded_bytes: 0,
            as_of: checkpoint.max(recovered.lease.saturating_sub(1).saturating_sub(retain)),
        })
    }

    /// All objects.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.coordinator.catalogs.tip.clone()
    }

    /// Makes a table's input.
    pub fn create_table(&mut self, id: GlobalId, layout: Arrangement) {
        let since = self.checkpoint;
        self.coordinator.workers.send(Command::CreateTable { id, layout, since });
        let retain = self.coordinator.retain_of(id);
        self.coordinator
            .objects
            .add(id, Object { since: self.as_of, retain, dirty: true, ..Object::default() });
    }

    /// Gives the workers all rows. All tables are there.
    pub fn load(&mut self) -> Result<()> {
        let (done, bytes) = measured(|| self.load_rows());
        self.loaded_bytes += bytes;
        done
    }

    fn load_rows(&mut self) -> Result<()> {
        let Some((relations, log)) = self.rows.take() else { return Ok(()) };
        let mut loader = Loader { coordinator: &mut self.coordinator, writes: vec![], updates: 0 };
        for chunk in relations {
            let chunk = chunk?;
            loader.rows(self.checkpoint, chunk.relation, Arc::new(chunk.updates));
        }
        for transaction in log {
            let transaction = transaction?;
            for change in transaction.changes {
                if let storage::Change::Rows { relation, updates, .. } = change {
                    loader.rows(transaction.time, relation, updates);
                }
            }
        }
        loader.finish();
        let since = self.as_of;
        let tables: Vec<GlobalId> = self.coordinator.objects.iter_mut().map(|(id, _)| id).collect();
        for relation in tables {
            self.coordinator.workers.send(Command::Compact { relation, since });
        }
        Ok(())
    }

    /// Makes a system relation that is fed, with the rows that it begins with. All rows of tables
    /// are loaded. Its history begins now.
    pub fn create_system(&mut self, id: GlobalId, layout: Arrangement, rows: Updates) {
        let since = self.coordinator.gate.durable().max(1);
        self.coordinator.provide(id, layout, since, Arc::new(rows));
    }

    /// Builds a maintained view or an index; what it reads is there. Its history begins where that
    /// of all that it reads has begun.
    pub fn install(&mut self, id: GlobalId, mut plan: Dataflow) {
        while let Ok(event) = self.coordinator.receiver.try_recv() {
            self.coordinator.handle(event);
        }
        plan.id = id;
        let imports = plan.imports.iter().filter_map(|i| self.coordinator.objects.get(i.id.index));
        plan.as_of = imports.map(|object| object.since).fold(self.as_of, Timestamp::max);
        let through = self.coordinator.gate.durable();
        self.coordinator.create_dataflow(plan, through);
    }

    /// Whether an object's dataflow crashed the server so often that it is not built again.
    pub fn is_at_fault(&self, id: GlobalId) -> bool {
        self.faults.get(&id).is_some_and(|count| *count >= FAULTS_MAX)
    }

    /// Marks an object that crashed the server ([`Self::is_at_fault`]).
    pub fn suspend_object(&mut self, id: GlobalId, name: &str) {
        self.break_object(id, name, broken_by_faults(name));
    }

    /// Marks an object whose text no longer plans.
    pub fn break_unplanned(&mut self, id: GlobalId, name: &str, reason: &Error) {
        let what = format!("\"{name}\" is broken: its stored definition no longer plans: {reason}");
        let error = Error::new(SqlState::INTERNAL_ERROR, what);
        self.break_object(
            id,
            name,
            error.with_hint(format!("Drop \"{name}\" and create it again.")),
        );
    }

    /// Marks an object that reads one which is broken, for the same reason.
    pub fn break_dependent(&mut self, id: GlobalId, name: &str, on: GlobalId) {
        let Some(cause) = self.coordinator.broken.get(&on) else { return };
        let error = Error { message: format!("\"{name}\" cannot be read"), ..cause.clone() };
        let error = error.with_detail(format!("It depends on another relation: {cause}."));
        self.break_object(id, name, error);
    }

    /// Whoever reads the object is answered with the error.
    fn break_object(&mut self, id: GlobalId, name: &str, error: Error) {
        let (detail, hint) = (error.detail.as_deref(), error.hint.as_deref());
        tracing::error!(object = name, detail, hint, "{error}");
        self.coordinator.broken.insert(id, error);
    }

    /// Whether an object is broken.
    pub fn is_broken(&self, id: GlobalId) -> bool {
        self.coordinator.broken.contains_key(&id)
    }

    /// A client of the coordinator to be.
    pub fn client(&self) -> Client {
        Client { events: self.coordinator.events.clone() }
    }

    /// An id for an object that every data directory has.
    pub fn first_id(&mut self) -> GlobalId {
        let id = self.coordinator.next_id;
        self.coordinator.next_id = GlobalId(id.0 + 1);
        id
    }

    /// Commits what every data directory has, before anybody else can.
    pub fn commit(&mut self, commit: Commit) -> Result<()> {
        let (reply, mut answer) = oneshot::channel();
        self.coordinator.commit_request(Box::new(commit), reply);
        // A refusal comes at once; otherwise it is acknowledged when it is durable.
        match answer.try_recv() {
            Ok(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// The coordinator, to be run.
    pub fn start(mut self) -> Coordinator {
        // It is one thread that opens.
        let bytes = own() - self.loaded_bytes;
        self.coordinator.started_with = u64::try_from(bytes).unwrap_or(0);
        self.coordinator
    }
}

/// Called as the process ends: what cannot be recorded is only logged.
fn record_fault(data_dir: &Path, id: GlobalId) {
    if id.is_transient() {
        return;
    }
    if let Err(error) = storage::faults::record(data_dir, id) {
        tracing::error!("{error}");
    }
}

fn broken_by_faults(name: &str) -> Error {
    let what = format!("\"{name}\" is broken: its dataflow has crashed the server repeatedly");
    Error::new(SqlState::INTERNAL_ERROR, what).with_hint(format!(
        "Drop \"{name}\" and create it again, or remove the file {FAULTS_FILE} from the data \
         directory and restart the server."
    ))
}

fn read_catalog(stored: BTreeMap<GlobalId, Vec<u8>>) -> Result<Catalog> {
    let mut changes = Vec::with_capacity(stored.len());
    for (id, bytes) in stored {
        let item: Item = postcard::from_bytes(&bytes).map_err(|e| {
            Error::new(SqlState::DATA_CORRUPTED, format!("could not read object {id}: {e}"))
        })?;
        item.register();
        changes.push(Change { id, item: Some(Arc::new(item)) });
    }
    Catalog::default().with(&changes)
}

/// Gathers rows for the workers.
struct Loader<'a> {
    coordinator: &'a mut Coordinator,
    writes: Vec<Write>,
    updates: usize,
}

impl Loader<'_> {
    fn rows(&mut self, time: Timestamp, table: GlobalId, updates: Arc<Vec<(Row, Row, Diff)>>) {
        // The rows of a table that is gone are still in the checkpoint before it went.
        if updates.is_empty() || self.coordinator.objects.get(table).is_none() {
            return;
        }
        let mut woken = BTreeMap::new();
        self.coordinator.objects.written([table], time, &mut woken);
        self.updates += updates.len();
        self.writes.push(Write { time, table, updates });
        if self.updates >= LOAD_UPDATES {
            let writes = Arc::new(std::mem::take(&mut self.writes));
            self.coordinator.workers.send(Command::Load(writes));
            self.updates = 0;
        }
    }

    /// Closes all tables at their last times.
    fn finish(mut self) {
        let loaded = std::mem::take(&mut self.writes);
        self.coordinator.workers.send(Command::Load(Arc::new(loaded)));
        let closing: Vec<Write> = self
            .coordinator
            .objects
            .iter_mut()
            .filter(|(_, object)| object.last_change > 0)
            .map(|(table, object)| Write {
                time: object.last_change,
                table,
                updates: Arc::default(),
            })
            .collect();
        self.coordinator.workers.send(Command::Write(Arc::new(closing)));
    }
}
