//! The one thread that writes the log.
//!
//! It takes whatever has queued up, appends it, syncs once, and says how far the log is durable:
//! that is group commit, and while one sync runs the next group forms. Between groups it folds the
//! log in slices. An error after an append has begun is the end of the engine, since what is on
//! the disk is then unknown.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;

use crate::coord::request::Event;
use crate::error::{Error, Result};
use crate::profile::memory::{claim_thread, foreign, measured};
use crate::repr::{GlobalId, Timestamp};
use crate::storage::{FoldState, RelationBytes, Store, Transaction};

/// Below this much free space writes are refused.
const FREE_BYTES_MIN: u64 = 32 << 20;
/// How often free space is looked at.
const FREE_SPACE_INTERVAL: Duration = Duration::from_millis(200);
/// How much of a fold is done at once between two groups.
const FOLD_SLICE_BYTES: usize = 1 << 20;
/// How many groups are kept for whoever asks.
const FLUSHES_MAX: usize = 256;
/// How often the writer looks whether a fold is due.
const FOLD_INTERVAL: Duration = Duration::from_secs(1);

/// What the writer is asked for, in order.
pub(crate) enum LogRequest {
    /// Append.
    Append(Transaction),
    /// Make times below this spent.
    Lease(Timestamp),
    /// The log may be folded up to this time.
    FoldBelow(Timestamp),
    /// Sync and end.
    Stop,
}

/// A group of transactions that was made durable together.
#[derive(Clone, Debug)]
pub struct Flush {
    /// The time of the last transaction.
    pub through: Timestamp,
    /// How many there were.
    pub transactions: usize,
    /// How long it took to append them and to sync.
    pub took: Duration,
}

/// Bytes that the log takes.
#[derive(Clone, Debug, Default)]
pub struct LogBytes {
    /// Of the disk, with all that is in the data directory.
    pub disk: u64,
    /// Records that a restart has to replay.
    pub log: u64,
    /// The checkpoint.
    pub checkpoint: u64,
    /// Of both, what each relation takes.
    pub relations: Arc<BTreeMap<GlobalId, RelationBytes>>,
    /// Of memory that was allocated since the start.
    pub memory: i64,
}

/// What the writer tells whoever asks.
#[derive(Default)]
struct Seen {
    /// How much the log and its checkpoint take.
    disk_bytes: AtomicU64,
    /// How much of that is the log, and how much the checkpoint.
    log_bytes: AtomicU64,
    checkpoint_bytes: AtomicU64,
    relations: Mutex<Arc<BTreeMap<GlobalId, RelationBytes>>>,
    /// How much memory the log's thread has allocated for it.
    memory_bytes: AtomicI64,
    /// The newest groups that nobody has asked for.
    flushes: Mutex<VecDeque<Flush>>,
}

/// The coordinator's end.
pub(crate) struct LogWriter {
    requests: Sender<LogRequest>,
    full: Arc<AtomicBool>,
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl LogWriter {
    /// Starts the thread. It reports `Durable` and `LogFailed`.
    pub(crate) fn start(store: Store, events: UnboundedSender<Event>) -> Result<LogWriter> {
        let (requests, receiver) = channel();
        let full = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Seen::default());
        let writer = Writer {
            store,
            receiver,
            events,
            full: full.clone(),
            seen: seen.clone(),
            lease: 0,
            fold_below: 0,
            space_seen: None,
        };
        let thread = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run())
            .map_err(|e| Error::internal(format!("could not start the log's thread: {e}")))?;
        Ok(LogWriter { requests, full, seen, thread: Some(thread) })
    }

    /// Queues a request. A writer that has failed has said so by an event.
    pub(crate) fn send(&self, request: LogRequest) {
        let _ = self.requests.send(request);
    }

    /// Whether there is too little space for further writes.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// What the log takes, as last seen.
    pub(crate) fn taken(&self) -> LogBytes {
        let seen = &self.seen;
        LogBytes {
            disk: seen.disk_bytes.load(Ordering::Relaxed),
            log: seen.log_bytes.load(Ordering::Relaxed),
            checkpoint: seen.checkpoint_bytes.load(Ordering::Relaxed),
            relations: seen.relations.lock().map(|known| known.clone()).unwrap_or_default(),
            // Its library has threads of its own, which free what this one allocates.
            memory: seen.memory_bytes.load(Ordering::Relaxed) + foreign(),
        }
    }

    /// The newest groups of transactions, of those that were not asked for before.
    pub(crate) fn take_flushes(&self) -> Vec<Flush> {
        let flushes = self.seen.flushes.lock();
        flushes.map(|mut flushes| flushes.drain(..).collect()).unwrap_or_default()
    }

    /// Waits for what is queued, and for the thread's end.
    pub(crate) fn stop(&mut self) {
        self.send(LogRequest::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writer {
    store: Store,
    receiver: Receiver<LogRequest>,
    events: UnboundedSender<Event>,
    full: Arc<AtomicBool>,
    seen: Arc<Seen>,
    lease: Timestamp,
    fold_below: Timestamp,
    space_seen: Option<Instant>,
}

impl Drop for Writer {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let error = Error::internal("the log's thread has panicked");
            let _ = self.events.send(Event::LogFailed(error));
        }
    }
}

impl Writer {
    fn run(mut self) {
        claim_thread();
        loop {
            match self.group() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    let _ = self.events.send(Event::LogFailed(error));
                    return;
                }
            }
        }
    }

    /// Takes one group of requests and carries it out. False: it was the last one.
    fn group(&mut self) -> Result<bool> {
        self.look_at_space();
        let wait = if self.store.fold_due() { Duration::ZERO } else { FOLD_INTERVAL };
        let first = match self.receiver.recv_timeout(wait) {
            Ok(request) => request,
            Err(RecvTimeoutError::Timeout) => return self.fold().map(|()| true),
            Err(RecvTimeoutError::Disconnected) => LogRequest::Stop,
        };
        let (mut transactions, mut sync, mut stop) = (Vec::new(), false, false);
        let mut next = Some(first);
        while let Some(request) = next {
            match request {
                LogRequest::Append(transaction) => transactions.push(transaction),
                LogRequest::Lease(below) => {
                    self.store.lease(below)?;
                    self.lease = self.lease.max(below);
                    sync = true;
                }
                LogRequest::FoldBelow(time) => self.fold_below = time,
                LogRequest::Stop => {
                    stop = true;
                    break;
                }
            }
            next = self.receiver.try_recv().ok();
        }
        if !transactions.is_empty() || sync || stop {
            let began = Instant::now();
            let (done, bytes) = measured(|| {
                self.store.append(&transactions)?;
                self.store.sync()
            });
            done?;
            self.seen.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
            let through = transactions.last().map(|t| t.time);
            self.note_flush(through, transactions.len(), began);
            let _ = self.events.send(Event::Durable { through, lease: self.lease });
        }
        Ok(!stop)
    }

    fn note_flush(&self, through: Option<Timestamp>, transactions: usize, began: Instant) {
        let (Some(through), Ok(mut flushes)) = (through, self.seen.flushes.lock()) else { return };
        if flushes.len() >= FLUSHES_MAX {
            flushes.pop_front();
        }
        flushes.push_back(Flush { through, transactions, took: began.elapsed() });
    }

    fn fold(&mut self) -> Result<()> {
        if !self.store.fold_due() || self.fold_below == 0 {
            return Ok(());
        }
        let (done, bytes) = measured(|| self.store.fold(self.fold_below, FOLD_SLICE_BYTES));
        self.seen.memory_bytes.fetch_add(bytes, Ordering::Relaxed);
        match done? {
            FoldState::Done(time) => {
                let bytes = self.store.disk_bytes();
                tracing::info!(time, bytes, "the log is folded into a checkpoint");
            }
            FoldState::Abandoned(error) => tracing::warn!(%error, "a checkpoint was given up"),
            FoldState::Working | FoldState::Idle => {}
        }
        Ok(())
    }

    fn look_at_space(&mut self) {
        if self.space_seen.is_some_and(|seen| seen.elapsed() < FREE_SPACE_INTERVAL) {
            return;
        }
        self.space_seen = Some(Instant::now());
        let seen = &self.seen;
        seen.disk_bytes.store(self.store.disk_bytes(), Ordering::Relaxed);
        seen.log_bytes.store(self.store.log_bytes(), Ordering::Relaxed);
        seen.checkpoint_bytes.store(self.store.checkpoint_bytes(), Ordering::Relaxed);
        if let Ok(mut relations) = seen.relations.lock() {
            *relations = Arc::new(self.store.relation_bytes());
        }
        match self.store.free_space() {
            Ok(bytes) => self.full.store(bytes < FREE_BYTES_MIN, Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "free space is not known"),
        }
    }
}
