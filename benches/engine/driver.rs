//! A stand-in for the coordinator: assigns times, sends commands, collects responses.
//!
//! Responses are stamped on the worker's thread, when the worker hands them over; how long the
//! thread that waits for them takes to wake up is not the engine's time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use weir::dataflow::command::{Command, Peek, Promise, ReaderId, Response, Write};
use weir::dataflow::worker::Workers;
use weir::expr::mfp::Mfp;
use weir::plan::physical::{Bounds, Dataflow};
use weir::repr::{Diff, FormatSettings, GlobalId, Row, Timestamp};

use crate::plans::{Object, own};

/// How long a response may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How long to look for a response before sleeping.
const SPIN: Duration = Duration::from_micros(300);
/// How many commands may wait.
const BACKLOG_MAX: usize = 4;
/// Credit without end.
const ENOUGH: u64 = 1 << 40;

/// Changes of a table.
pub type Updates = Vec<(Row, Row, Diff)>;

/// One engine and its clock.
pub struct Driver {
    workers: Workers,
    responses: Receiver<(Instant, Response)>,
    /// The newest time.
    pub now: Timestamp,
    next_reader: ReaderId,
    /// Below which time relations will be complete: tables by their last write, views by their
    /// last promise.
    needs: BTreeMap<GlobalId, Timestamp>,
}

impl Driver {
    /// One worker.
    pub fn start() -> Driver {
        Driver::start_with(1)
    }

    /// So many workers.
    pub fn start_with(count: usize) -> Driver {
        let (sender, responses) = channel();
        let respond = Arc::new(move |response| {
            // Nobody listens any more at the very end.
            let _ = sender.send((Instant::now(), response));
        });
        let workers = Workers::start(count, respond).expect("a worker can be started");
        Driver { workers, responses, now: 1, next_reader: 1, needs: BTreeMap::new() }
    }

    /// Sends a command, when not too many wait.
    pub fn send(&self, command: Command) {
        while self.workers.backlog() > BACKLOG_MAX {
            std::thread::sleep(Duration::from_micros(50));
        }
        self.workers.send(command);
    }

    /// The next response and when it was made, other than a report.
    pub fn next(&self) -> (Instant, Response) {
        loop {
            match self.any() {
                (_, Response::Reported { .. }) => {}
                other => return other,
            }
        }
    }

    fn any(&self) -> (Instant, Response) {
        // Whoever sleeps at once finds the worker asleep with the next command.
        let start = Instant::now();
        while start.elapsed() < SPIN {
            match self.responses.try_recv() {
                Ok(response) => return response,
                Err(_) => std::hint::spin_loop(),
            }
        }
        self.responses.recv_timeout(PATIENCE).expect("a response in time")
    }

    /// Makes a table.
    pub fn create_table(&self, table: &Object) {
        let (id, layout) = (table.id, table.layout.clone());
        self.send(Command::CreateTable { id, layout, since: self.now });
    }

    /// Makes a view and waits until it is complete.
    pub fn create_view(&mut self, plan: Dataflow) {
        let id = plan.id;
        self.create(plan, None);
        self.needs.insert(id, self.now + 1);
        loop {
            match self.next().1 {
                Response::Hydrated { dataflow, .. } if dataflow == id => return,
                Response::Hydrated { .. } | Response::Changes { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Subscribes to a relation: its snapshot and then its changes.
    pub fn subscribe(&mut self, plan: Dataflow) -> ReaderId {
        let reader = self.new_reader();
        self.create(plan, Some(reader));
        self.send(Command::Credit { reader, bytes: ENOUGH });
        reader
    }

    fn create(&mut self, mut plan: Dataflow, reader: Option<ReaderId>) {
        plan.as_of = self.now;
        let promise = self.promise(&plan);
        self.send(Command::CreateDataflow { plan: Arc::new(plan), reader, promise });
    }

    fn promise(&self, plan: &Dataflow) -> Promise {
        let needs = plan.imports.iter().map(|import| self.need(import.id.relation)).collect();
        Promise { dataflow: plan.id, needs, upto: self.now + 1 }
    }

    fn need(&self, id: GlobalId) -> Timestamp {
        self.needs.get(&id).copied().unwrap_or(0)
    }

    /// Writes at the newest time, to which more may come.
    pub fn load(&mut self, table: &Object, updates: Updates) {
        let write = Write { time: self.now, table: table.id, updates: Arc::new(updates) };
        self.send(Command::Load(Arc::new(vec![write])));
    }

    /// Writes at the newest time, and closes it.
    pub fn write(&mut self, table: &Object, updates: Updates) {
        self.needs.insert(table.id, self.now + 1);
        let write = Write { time: self.now, table: table.id, updates: Arc::new(updates) };
        self.send(Command::Write(Arc::new(vec![write])));
    }

    /// Lets dataflows go on through the newest time; each comes after those that it reads.
    pub fn let_go_on(&mut self, plans: &[Dataflow]) {
        let mut promises = Vec::with_capacity(plans.len());
        for plan in plans {
            promises.push(self.promise(plan));
            self.needs.insert(plan.id, self.now + 1);
        }
        self.send(Command::Promise(Arc::new(promises)));
    }

    /// Gives up history below the newest time.
    pub fn compact(&self, relation: GlobalId) {
        self.send(Command::Compact { relation, since: self.now });
    }

    /// Collects the changes of a reader through the newest time; says when the last came.
    pub fn changes(&self, of: ReaderId, mut take: impl FnMut(Row, Diff)) -> Instant {
        loop {
            match self.next() {
                (at, Response::Changes { reader, changes, upper, .. }) if reader == of => {
                    changes.into_iter().for_each(|(_, row, diff)| take(row, diff));
                    if upper.is_none_or(|upper| upper > self.now) {
                        return at;
                    }
                }
                (_, Response::Hydrated { .. } | Response::Changes { .. }) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
    }

    /// Asks for rows of a relation at the newest time, as soon as it is complete there.
    pub fn ask(&mut self, relation: &Object, bounds: Bounds) -> ReaderId {
        let reader = self.new_reader();
        self.send(Command::Peek(Arc::new(Peek {
            reader,
            target: own(relation.id),
            layout: relation.layout.clone(),
            at: self.now,
            need: self.need(relation.id),
            bounds,
            mfp: Mfp::identity(relation.layout.types.len()),
            limit: None,
            settings: FormatSettings::default(),
            credit: ENOUGH,
        })));
        reader
    }

    /// Collects what was asked for; says when the last came.
    pub fn answer(&self, to: ReaderId, mut take: impl FnMut(Row, Diff)) -> Instant {
        loop {
            match self.next() {
                (_, Response::Rows { reader, rows }) if reader == to => {
                    rows.into_iter().for_each(|(row, count)| take(row, count));
                }
                (at, Response::PeekDone { reader, result, .. }) if reader == to => {
                    result.expect("the relation has no error");
                    return at;
                }
                (_, Response::Hydrated { .. } | Response::Changes { .. }) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
    }

    /// All rows of a relation now.
    pub fn content(&mut self, relation: &Object) -> BTreeMap<Row, Diff> {
        let reader = self.ask(relation, Bounds::All);
        let mut content = BTreeMap::new();
        self.answer(reader, |row, count| *content.entry(row).or_default() += count);
        content
    }

    fn new_reader(&mut self) -> ReaderId {
        self.next_reader += 1;
        self.next_reader
    }
}
