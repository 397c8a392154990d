//! The worker threads: starting them, commanding them, ending them.
//!
//! Every worker has a channel and gets every command, in the order in which they were sent. That
//! is all the sequencing there is: a channel and an unpark take 10–40 µs, a quarter of what a
//! dataflow that broadcasts commands would take.
//!
//! A panic in a worker would leave the others waiting for it for ever. So it ends the process,
//! after the dataflow at fault has been reported; what is durable is recovered when the engine
//! starts again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use timely::WorkerConfig;
use timely::communication::WorkerGuards;
use timely::scheduling::current::operator_id;

use super::built::Rendering;
use super::command::{Command, Response};
use super::input::configure_merging;
use crate::error::{Error, Result};
use crate::profile::memory::claim_thread;
use crate::repr::GlobalId;

/// Gets what workers say. Called on their threads; must not block.
pub type Respond = Arc<dyn Fn(Response) + Send + Sync>;

/// Told which dataflow was running when a worker panicked.
type OnFault = Box<dyn Fn(GlobalId) + Send + Sync>;

static ON_FAULT: OnceLock<OnFault> = OnceLock::new();

/// Has `report` called when a worker panics in a dataflow, just before the process ends. The first
/// call counts.
pub fn on_fault(report: impl Fn(GlobalId) + Send + Sync + 'static) {
    let _ = ON_FAULT.set(Box::new(report));
}

/// The workers of this process.
pub struct Workers {
    ends: Vec<End>,
    /// Commands that have been sent and not been taken, over all workers.
    backlog: Arc<AtomicUsize>,
    guards: Option<WorkerGuards<()>>,
}

/// The sending end of a worker's channel.
struct End {
    commands: Sender<Command>,
    thread: Thread,
}

/// The receiving end of a worker's channel.
pub(super) struct Mailbox {
    commands: Receiver<Command>,
    backlog: Arc<AtomicUsize>,
}

impl Mailbox {
    /// The next command, if one has come.
    pub(super) fn take(&self) -> Option<Command> {
        match self.commands.try_recv() {
            Ok(command) => {
                self.backlog.fetch_sub(1, Ordering::Relaxed);
                Some(command)
            }
            Err(std::sync::mpsc::TryRecvError::Empty) => None,
            // Whoever commanded is gone.
            Err(std::sync::mpsc::TryRecvError::Disconnected) => Some(Command::Stop),
        }
    }
}

impl Workers {
    /// Starts so many workers.
    pub fn start(count: usize, respond: Respond) -> Result<Workers> {
        Workers::start_with(count, super::render::RENDERING, respond)
    }

    /// Starts so many workers, which build dataflows as `rendering` does.
    pub fn start_with(count: usize, rendering: Rendering, respond: Respond) -> Result<Workers> {
        abort_on_worker_panic();
        let mut config = match count {
            0 | 1 => timely::Config::thread(),
            _ => timely::Config::process(count),
        };
        // Timely's own spinning would not see a command; ours does.
        config.worker = WorkerConfig::default().idle_spin(Duration::ZERO);
        configure_merging(&mut config.worker);
        let backlog = Arc::new(AtomicUsize::new(0));
        let (senders, mailboxes): (Vec<_>, Vec<_>) = (0..count.max(1))
            .map(|_| {
                let (commands, receiver) = channel();
                let mailbox = Mailbox { commands: receiver, backlog: Arc::clone(&backlog) };
                (commands, Mutex::new(Some(mailbox)))
            })
            .unzip();
        let (started, starts) = channel();
        let started = Mutex::new(started);
        let guards = timely::execute(config, move |worker| {
            let index = worker.index();
            IS_WORKER.set(true);
            claim_thread();
            let mailbox = mailboxes[index].lock().ok().and_then(|mut mailbox| mailbox.take());
            if let Ok(started) = started.lock() {
                let _ = started.send((index, std::thread::current()));
            }
            if let Some(mailbox) = mailbox {
                super::executor::run(worker, &mailbox, rendering, Arc::clone(&respond));
            }
        })
        .map_err(Error::internal)?;
        let threads: BTreeMap<usize, Thread> = starts.iter().take(senders.len()).collect();
        let ends = senders.into_iter().zip(threads.into_values());
        let ends = ends.map(|(commands, thread)| End { commands, thread }).collect();
        Ok(Workers { ends, backlog, guards: Some(guards) })
    }

    /// Sends a command to all workers.
    pub fn send(&self, command: Command) {
        for end in &self.ends {
            self.backlog.fetch_add(1, Ordering::Relaxed);
            // A worker that is gone has been stopped, or has ended the process.
            let _ = end.commands.send(command.clone());
            end.thread.unpark();
        }
    }

    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// How many commands wait to be taken, over all workers: whoever sends many should wait while
    /// this is large.
    pub fn backlog(&self) -> usize {
        self.backlog.load(Ordering::Relaxed)
    }

    /// Stops all workers and waits for their end.
    pub fn stop(&mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(guards) = self.guards.take() {
            self.send(Command::Stop);
            // Waits for the threads.
            drop(guards);
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.end();
    }
}

thread_local! {
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// The dataflow that is being built.
    static BUILDING: Cell<Option<GlobalId>> = const { Cell::new(None) };
    /// Which dataflow each operator of this worker belongs to, by the first operator's number.
    static OPERATORS: RefCell<BTreeMap<usize, (usize, GlobalId)>> =
        const { RefCell::new(BTreeMap::new()) };
}

/// Notes that the operators of a range make up a dataflow.
pub(super) fn claim_operators(operators: Range<usize>, dataflow: GlobalId) {
    OPERATORS.with(|map| {
        map.borrow_mut().insert(operators.start, (operators.end, dataflow));
    });
}

/// Forgets the operators of a dataflow.
pub(super) fn disclaim_operators(dataflow: GlobalId) {
    OPERATORS.with(|map| map.borrow_mut().retain(|_, (_, owner)| *owner != dataflow));
}

/// Has a dataflow blamed for a panic of this worker until the guard is dropped: while it is built,
/// it has no operators that run.
pub(super) fn blame(dataflow: GlobalId) -> Blame {
    BUILDING.set(Some(dataflow));
    Blame(())
}

/// See [`blame`].
pub(super) struct Blame(());

impl Drop for Blame {
    fn drop(&mut self) {
        BUILDING.set(None);
    }
}

/// The dataflow that this worker is building or running.
fn running_dataflow() -> Option<GlobalId> {
    if let Some(dataflow) = BUILDING.get() {
        return Some(dataflow);
    }
    let operator = operator_id()?;
    OPERATORS.with(|map| {
        let map = map.try_borrow().ok()?;
        let (_, (end, dataflow)) = map.range(..=operator).next_back()?;
        (operator < *end).then_some(*dataflow)
    })
}

/// Makes panics of workers, and only theirs, end the process.
fn abort_on_worker_panic() {
    static ONCE: Once = Once::new();
    static FAILING: Mutex<()> = Mutex::new(());
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            if IS_WORKER.get() {
                // Other workers may fail by the same fault: it is one crash. They wait here until
                // the process ends.
                let _first = FAILING.lock();
                if let Some(dataflow) = running_dataflow() {
                    tracing::error!("a worker panicked in dataflow {dataflow}");
                    if let Some(on_fault) = ON_FAULT.get() {
                        on_fault(dataflow);
                    }
                }
                std::process::abort();
            }
        }));
    });
}
