//! One worker: takes commands, steps its dataflows, sends what readers may have.
//!
//! Each turn of the loop executes all commands that have come, steps timely once (or parks until
//! a command or another worker's message comes), and then looks at what that made possible:
//! readers go on, new dataflows report that they are hydrated, and arrangements that have changed
//! are allowed to merge. Long peeks are resumed a slice at a time between steps.
//!
//! Commands are executed at once and in order, and what they do to the set of dataflows is a pure
//! function of them: identities of dataflows and channels are counters, and must agree on all
//! workers. A command about something that is not there (any more) is passed over: a reader may be
//! cancelled while its end is on the way.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use timely::worker::Worker;

use super::arrangement::{RowUpdate, waiting_bytes};
use super::blocked::Behind;
use super::built::{Built, BuiltSink, Imports, Rendering};
use super::command::{Command, Peek, Promise, ReaderId, Response, Write};
use super::import;
use super::input::TableInput;
use super::observe::{Ledger, Question};
use super::operator::Reading;
use super::readers::{ArrangementPeek, Next, Outlet, Stream, StreamKind};
use super::timing::has_run;
use super::traces::{Maintained, Traces};
use super::worker::{Mailbox, Respond, blame, claim_operators, disclaim_operators};
use crate::plan::physical::{Dataflow, Node, Sink};
use crate::profile::memory::measured;
use crate::profile::report::{BlockedReport, HydratingReport, Report};
use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// A dataflow that runs, other than a table's.
struct Running {
    index: usize,
    imports: Imports,
    reader: Option<ReaderId>,
}

/// A reader that is not done.
enum Reader {
    Peek(Box<ArrangementPeek>),
    Stream(Stream),
}

/// The state of one worker.
pub(super) struct Loop<'w> {
    worker: &'w mut Worker,
    rendering: Rendering,
    respond: Respond,
    tables: BTreeMap<GlobalId, TableInput>,
    traces: Traces,
    dataflows: BTreeMap<GlobalId, Running>,
    readers: BTreeMap<ReaderId, Reader>,
    /// Readers that may have something to send. Dataflows' sinks add to it while they run.
    awake: Rc<RefCell<BTreeSet<ReaderId>>>,
    /// Peeks that wait for their arrangement to be complete, or that have not had enough turns.
    peeking: BTreeSet<ReaderId>,
    /// New maintained dataflows, and the time at which they must be complete.
    hydrating: BTreeMap<GlobalId, Timestamp>,
    /// Imports that can go on by what was promised, and have not been told.
    promised: Vec<import::Promise>,
    /// Whether tables have been written since the last step.
    written: bool,
    /// Arrangements that will have changed once they are complete below a time, by their maker.
    settling: BTreeMap<GlobalId, Timestamp>,
    /// Arrangements that have changed and have not been let merge, and how often they changed.
    settled: BTreeMap<GlobalId, usize>,
    /// What the dataflows cost.
    ledger: Ledger,
}

/// How long a worker that has nothing left to do looks for another command before it parks: to be
/// woken takes longer than that, and whoever has just heard an answer is likely to go on.
const IDLE_SPIN: Duration = Duration::from_micros(20);

/// How often an arrangement may change before it is let merge, though the worker is busy.
const SETTLED_MAX: usize = 16;

/// Runs a worker until it is told to stop.
pub(super) fn run(worker: &mut Worker, mailbox: &Mailbox, rendering: Rendering, respond: Respond) {
    let mut state = Loop {
        worker,
        rendering,
        respond,
        tables: BTreeMap::new(),
        traces: Traces::default(),
        dataflows: BTreeMap::new(),
        readers: BTreeMap::new(),
        awake: Rc::default(),
        peeking: BTreeSet::new(),
        hydrating: BTreeMap::new(),
        promised: Vec::new(),
        written: false,
        settling: BTreeMap::new(),
        settled: BTreeMap::new(),
        ledger: Ledger::default(),
    };
    let mut busy = false;
    let mut last_work = Instant::now();
    loop {
        while let Some(command) = mailbox.take() {
            if matches!(command, Command::Stop) {
                return state.stop();
            }
            state.execute(command);
            // What was asked may be there already, with nothing for timely to do.
            busy = true;
        }
        if busy || has_run() {
            last_work = Instant::now();
        }
        if last_work.elapsed() < IDLE_SPIN {
            state.step();
        } else {
            state.maintain();
            // A wake-up that comes before the parking is not lost.
            state.measured(|worker| worker.step_or_park(None));
        }
        busy = state.look_around();
    }
}

impl Loop<'_> {
    /// Steps once. Tables come before what reads them: dataflows that were promised a time run when
    /// the writes that came with the promise are there, not once for each.
    fn step(&mut self) {
        if !std::mem::take(&mut self.written) {
            self.wake_promised();
        }
        self.measured(Worker::step);
        self.wake_promised();
    }

    /// Has timely step, and sees how long that takes. What comes to be is looked at whole.
    fn measured(&mut self, step: impl FnOnce(&mut Worker) -> bool) {
        self.ledger.logs.begin_step(!self.hydrating.is_empty());
        step(self.worker);
        self.ledger.logs.end_step();
    }

    fn wake_promised(&mut self) {
        self.promised.drain(..).for_each(|import| import.wake());
    }

    fn execute(&mut self, command: Command) {
        match command {
            Command::CreateTable { id, since, .. } => self.create_table(id, since),
            Command::Write(writes) => self.write(&writes, TableInput::close_through),
            Command::Load(writes) => self.write(&writes, TableInput::close_below),
            Command::CreateDataflow { plan, reader, promise } => {
                self.create_dataflow(&plan, reader, &promise);
            }
            Command::Promise(promises) => promises.iter().for_each(|promise| self.promise(promise)),
            Command::Peek(peek) => self.peek(&peek),
            Command::Credit { reader, bytes } => self.credit(reader, bytes),
            Command::Cancel { reader } => self.cancel(reader),
            Command::Compact { relation, since } => {
                if let Some(maintained) = self.traces.made_by(relation) {
                    maintained.compact(since);
                }
            }
            Command::Drop { id } => self.drop_object(id),
            Command::Observe { request, dataflow, need } => {
                self.ledger.ask(Question { request, dataflow, need });
                self.observe();
            }
            Command::Report { request } => {
                let report = self.report();
                (self.respond)(Response::Reported { request, report: Box::new(report) });
            }
            Command::Trace { request, whole } => {
                let chunk = self.ledger.recorded(self.worker, whole);
                (self.respond)(Response::Traced { request, chunk });
            }
            Command::EndTrace => self.ledger.logs.end_recording(self.worker),
            Command::Introspect(on) => self.ledger.switch(self.worker, on),
            Command::Stop => {}
        }
    }

    fn create_table(&mut self, id: GlobalId, since: Timestamp) {
        let first = self.worker.peek_identifier();
        let name = format!("table {id}");
        let logs = &self.ledger.logs;
        let create = |worker: &mut Worker| TableInput::create(worker, &name, since);
        let build = || logs.building(self.worker, name.clone(), create);
        let ((input, trace), bytes) = measured(build);
        let operators = first..self.worker.peek_identifier();
        claim_operators(operators.clone(), id);
        self.ledger.claim_table(id, operators, bytes);
        self.tables.insert(id, input);
        self.traces.insert(id, Maintained::new(trace, None, since));
    }

    fn write(&mut self, writes: &[Write], close: fn(&mut TableInput, Timestamp)) {
        let (index, peers) = (self.worker.index(), self.worker.peers());
        let mut last: BTreeMap<GlobalId, Timestamp> = BTreeMap::new();
        for Write { time, table, updates } in writes {
            let Some(input) = self.tables.get_mut(table) else { continue };
            let update = |(key, value, diff): &(Row, Row, Diff)| -> RowUpdate {
                ((key.clone(), value.clone()), *time, *diff)
            };
            input.write(if peers == 1 {
                updates.iter().map(update).collect()
            } else {
                updates.iter().skip(index).step_by(peers).map(update).collect()
            });
            last.insert(*table, *time);
        }
        for (table, time) in last {
            if let Some(input) = self.tables.get_mut(&table) {
                close(input, time);
                self.written = true;
                self.settling.insert(table, input.open_from());
            }
        }
    }

    fn create_dataflow(&mut self, plan: &Dataflow, reader: Option<ReaderId>, promise: &Promise) {
        let index = self.worker.next_dataflow_index();
        let first = self.worker.peek_identifier();
        let awake = Rc::clone(&self.awake);
        let notify = Box::new(move || {
            if let Some(reader) = reader {
                awake.borrow_mut().insert(reader);
            }
        });
        let blamed = blame(plan.id);
        let (traces, logs) = (&mut self.traces, &self.ledger.logs);
        let render = |worker: &mut Worker| (self.rendering.build)(worker, plan, traces, notify);
        let is_loop = |node: &Node| matches!(node, Node::Loop { .. });
        let build = || match plan.nodes.iter().any(is_loop) {
            true => render(self.worker),
            false => logs.building(self.worker, plan.id.to_string(), render),
        };
        let (Built { imports, result, places }, bytes) = measured(build);
        drop(blamed);
        let operators = first..self.worker.peek_identifier();
        claim_operators(operators.clone(), plan.id);
        self.ledger.claim(plan, operators, places, bytes);
        match (result, reader) {
            (BuiltSink::Arranged(maintained), _) => {
                self.traces.insert(plan.id, *maintained);
                self.hydrating.insert(plan.id, plan.as_of);
            }
            (BuiltSink::Sent(subscription), Some(reader)) => {
                let kind = match plan.sink {
                    Sink::Peek { .. } => StreamKind::Peek,
                    Sink::Subscribe { .. } | Sink::Arrange(_) => StreamKind::Changes,
                };
                let stream = Stream::new(reader, kind, subscription);
                self.readers.insert(reader, Reader::Stream(stream));
            }
            // Nobody listens; the dataflow runs until it is dropped.
            (BuiltSink::Sent(_), None) => {}
        }
        self.dataflows.insert(plan.id, Running { index, imports, reader });
        self.promise(&Promise { dataflow: plan.id, ..promise.clone() });
    }

    fn promise(&mut self, promise: &Promise) {
        let Some(running) = self.dataflows.get(&promise.dataflow) else { return };
        running.imports.stand(&promise.needs, promise.upto, &mut self.promised);
        if running.reader.is_none() {
            self.settling.insert(promise.dataflow, promise.upto);
        }
    }

    fn peek(&mut self, peek: &Peek) {
        let logic = (self.rendering.row_logic)(&peek.layout, &peek.mfp, &peek.settings);
        let state = Box::new(ArrangementPeek::new(peek, logic));
        self.readers.insert(peek.reader, Reader::Peek(state));
        self.peeking.insert(peek.reader);
    }

    fn credit(&mut self, id: ReaderId, bytes: u64) {
        match self.readers.get_mut(&id) {
            Some(Reader::Peek(peek)) => {
                peek.add_credit(bytes);
                self.peeking.insert(id);
            }
            Some(Reader::Stream(stream)) => {
                stream.add_credit(bytes);
                self.awake.borrow_mut().insert(id);
            }
            None => {}
        }
    }

    fn cancel(&mut self, reader: ReaderId) {
        self.readers.remove(&reader);
        self.peeking.remove(&reader);
        let of_reader = |(_, running): &(&GlobalId, &Running)| running.reader == Some(reader);
        if let Some(id) = self.dataflows.iter().find(of_reader).map(|(id, _)| *id) {
            self.drop_object(id);
        }
    }

    fn drop_object(&mut self, id: GlobalId) {
        disclaim_operators(id);
        self.traces.remove(id);
        self.hydrating.remove(&id);
        self.settling.remove(&id);
        self.settled.remove(&id);
        if let Some(input) = self.tables.remove(&id) {
            let index = input.dataflow();
            drop(input);
            self.worker.drop_dataflow(index);
        }
        if let Some(running) = self.dataflows.remove(&id) {
            if let Some(reader) = running.reader {
                self.readers.remove(&reader);
            }
            self.worker.drop_dataflow(running.index);
        }
        self.ledger.release(id);
    }

    /// Does what the last step made possible; says whether there is more to do at once.
    fn look_around(&mut self) -> bool {
        self.pump_streams();
        let busy = self.resume_peeks();
        self.report_hydrated();
        self.observe();
        self.settle();
        busy
    }

    fn observe(&mut self) {
        let respond = &self.respond;
        self.ledger.answer(self.worker.index(), &mut self.traces, |request, observation| {
            respond(Response::Observed { request, observation });
        });
    }

    /// What has changed since the last report.
    fn report(&mut self) -> Report {
        let all = self.dataflows.values().flat_map(|running| running.imports.0.iter().flatten());
        let imports = all.map(|import| (import.operator(), import.progress().0)).collect();
        let mut report = self.ledger.report(self.worker.index(), &mut self.traces, imports);
        report.blocked = self.blocked();
        let ledger = &self.ledger;
        let far = |object: &GlobalId| {
            let Reading { done: read, of } = ledger.reading(*object);
            HydratingReport { object: *object, read, of }
        };
        report.hydrating = self.hydrating.keys().map(far).collect();
        report.waiting_bytes = waiting_bytes() as u64;
        report
    }

    /// What holds back relations that are behind.
    fn blocked(&mut self) -> Vec<BlockedReport> {
        let hydrating = self.hydrating.iter().map(|(id, as_of)| (*id, as_of.saturating_add(1)));
        let settling = self.settling.iter().map(|(id, complete)| (*id, *complete));
        // What belongs to subscriptions is no relation, and has no name to be told by.
        let named = |(id, _): &(GlobalId, Timestamp)| !id.is_transient();
        let behind: BTreeMap<GlobalId, Timestamp> =
            hydrating.chain(settling).filter(named).collect();
        let behind: Vec<Behind> = behind.into_iter().collect();
        let imports = |id: GlobalId| match self.dataflows.get(&id) {
            Some(running) => running.imports.0.as_slice(),
            None => &[],
        };
        self.ledger.blocked(&behind, &mut self.traces, imports)
    }

    fn settle(&mut self) {
        let (traces, settled) = (&mut self.traces, &mut self.settled);
        self.settling.retain(|maker, complete| {
            let Some(maintained) = traces.made_by(*maker) else { return false };
            let done = maintained.is_complete_below(*complete);
            if done {
                *settled.entry(*maker).or_default() += 1;
            }
            !done
        });
        if self.settled.values().any(|times| *times >= SETTLED_MAX) {
            self.maintain();
        }
    }

    /// Lets arrangements merge that have changed. Nobody waits for that, so it is done when there
    /// is nothing else to do, or when it has been put off for long.
    fn maintain(&mut self) {
        while let Some((maker, _)) = self.settled.pop_first() {
            if let Some(maintained) = self.traces.made_by(maker) {
                maintained.maintain();
            }
        }
    }

    fn report_hydrated(&mut self) {
        let (traces, worker) = (&mut self.traces, self.worker.index());
        let (respond, ledger) = (&self.respond, &self.ledger);
        self.hydrating.retain(|dataflow, as_of| {
            let Some(maintained) = traces.made_by(*dataflow) else { return false };
            let hydrated = maintained.is_complete_below(as_of.saturating_add(1));
            if hydrated {
                let (dataflow, read) = (*dataflow, ledger.reading(*dataflow).done);
                respond(Response::Hydrated { worker, dataflow, read });
            }
            !hydrated
        });
    }

    fn pump_streams(&mut self) {
        let awake = std::mem::take(&mut *self.awake.borrow_mut());
        let outlet = Outlet { worker: self.worker.index(), send: &*self.respond };
        for id in awake {
            if let Some(Reader::Stream(stream)) = self.readers.get_mut(&id)
                && stream.pump(&outlet) == Next::End
            {
                self.readers.remove(&id);
            }
        }
    }

    fn resume_peeks(&mut self) -> bool {
        let outlet = Outlet { worker: self.worker.index(), send: &*self.respond };
        let mut busy = false;
        for id in std::mem::take(&mut self.peeking) {
            let Some(Reader::Peek(peek)) = self.readers.get_mut(&id) else { continue };
            match peek.resume(&mut self.traces, &outlet) {
                Next::Turn => {
                    busy = true;
                    self.peeking.insert(id);
                }
                Next::Event => {
                    self.peeking.insert(id);
                }
                Next::End => {
                    self.readers.remove(&id);
                }
            }
        }
        busy
    }

    /// Drops everything, so that the thread can end.
    fn stop(self) {
        drop((self.tables, self.traces, self.readers, self.dataflows));
        for index in self.worker.installed_dataflows() {
            self.worker.drop_dataflow(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write as _;
    use std::sync::mpsc::{Receiver, channel};
    use std::sync::{Arc, Mutex};

    use super::super::arrangement::arrange_rows;
    use super::super::built::{Imports, Notify};
    use super::super::command::Bounds;
    use super::super::emit::{Emit, RowLogic};
    use super::super::import::import;
    use super::super::pressure::Pressure;
    use super::super::scan::scan;
    use super::super::subscribe::{SubscribeOptions, subscribe};
    use super::super::testing::{number, row};
    use super::super::worker::{Workers, on_fault};
    use super::*;
    use crate::error::SqlState;
    use crate::expr::error::EvalError;
    use crate::expr::mfp::Mfp;
    use crate::plan::physical::{Arrangement, ArrangementId, Import};
    use crate::repr::key::KeyMode;
    use crate::repr::settings::FormatSettings;

    const TABLE: GlobalId = GlobalId(20_000);
    const VIEW: GlobalId = GlobalId(20_001);
    const QUERY: GlobalId = GlobalId(GlobalId::FIRST_TRANSIENT.0);

    fn no_layout() -> Arrangement {
        Arrangement {
            types: vec![],
            key: vec![],
            key_types: vec![],
            mode: KeyMode::Strict,
            value: vec![],
            columns: vec![],
        }
    }

    fn no_mfp() -> Mfp {
        Mfp { input_arity: 0, expressions: vec![], predicates: vec![], projection: vec![] }
    }

    /// Rows by key; the value 99 is an error.
    fn copy(key: &[u8], value: &[u8], emit: &mut Emit) {
        match number(value, 0) {
            99 => emit.err(&EvalError::new(SqlState::DIVISION_BY_ZERO, "99")),
            _ => emit.ok(Row::new(key), Row::new(&[key, value].concat())),
        }
    }

    /// A rendering that knows one plan: the first import, as it is.
    fn build(worker: &mut Worker, plan: &Dataflow, traces: &mut Traces, notify: Notify) -> Built {
        worker.dataflow(|scope| {
            let source = traces.get_mut(&plan.imports[0].id).expect("imported");
            let (arranged, promise) = import(&mut source.oks, scope, "import");
            let (oks, errs) = scan(arranged, "scan", plan.as_of, Box::new(copy), true);
            let mut errs = errs.expect("it can fail");
            let mut promises = vec![promise];
            if let Some(trace) = &mut source.errs {
                let (arranged, promise) = import(trace, scope, "import errors");
                promises.push(promise);
                let every: RowLogic = Box::new(|key, _, emit| emit.ok(Row::EMPTY, Row::new(key)));
                let old = scan(arranged, "scan errors", plan.as_of, every, false).0;
                errs = errs.concat(old.map(|(_, error)| error));
            }
            let whole = oks.clone();
            let mut options = SubscribeOptions {
                as_of: plan.as_of,
                snapshot: true,
                up_to: None,
                buffer_bytes_max: 1 << 20,
                counts_snapshot: false,
                eager: false,
            };
            let result = match &plan.sink {
                Sink::Arrange(_) => {
                    let value = |(key, value): (Row, Row)| (key, Row::new(&value.bytes()[8..]));
                    let oks = arrange_rows(oks.map(value), "view").trace;
                    let errs = errs.map(|error| (error, Row::EMPTY));
                    let errs = arrange_rows(errs, "view errors").trace;
                    BuiltSink::Arranged(Box::new(Maintained::new(oks, Some(errs), plan.as_of)))
                }
                Sink::Subscribe { .. } => BuiltSink::Sent(subscribe(
                    whole,
                    errs,
                    "subscribe",
                    options,
                    Pressure::default(),
                    notify,
                )),
                Sink::Peek { .. } => {
                    options.up_to = Some(plan.as_of + 1);
                    BuiltSink::Sent(subscribe(
                        whole,
                        errs,
                        "peek",
                        options,
                        Pressure::default(),
                        notify,
                    ))
                }
            };
            Built { imports: Imports(vec![promises]), result, places: vec![] }
        })
    }

    fn row_logic(_: &Arrangement, _: &Mfp, _: &FormatSettings) -> RowLogic {
        Box::new(|key, value, emit| emit.ok(Row::EMPTY, Row::new(&[key, value].concat())))
    }

    struct Engine {
        workers: Workers,
        responses: Receiver<Response>,
        next_reader: ReaderId,
    }

    type Content = BTreeMap<(u64, u64), Diff>;

    impl Engine {
        fn start(count: usize) -> Engine {
            let (sender, responses) = channel();
            let sender = Mutex::new(sender);
            let respond = Arc::new(move |response| {
                let _ = sender.lock().expect("no panic").send(response);
            });
            let rendering = Rendering { build, row_logic };
            let workers = Workers::start_with(count, rendering, respond).unwrap();
            Engine { workers, responses, next_reader: 0 }
        }

        fn write(&self, changes: &[(u64, u64, Diff)], time: Timestamp) {
            let updates = changes.iter().map(|(k, v, d)| (row(&[*k]), row(&[*v]), *d)).collect();
            let write = Write { time, table: TABLE, updates: Arc::new(updates) };
            self.workers.send(Command::Write(Arc::new(vec![write])));
        }

        fn create(
            &self,
            id: GlobalId,
            of: GlobalId,
            sink: Sink,
            reader: Option<ReaderId>,
            at: Timestamp,
            need: Timestamp,
        ) {
            let of = ArrangementId { relation: of, index: of };
            let plan = Dataflow {
                id,
                imports: vec![Import { id: of, layout: no_layout() }],
                nodes: vec![],
                sink,
                as_of: at,
                settings: FormatSettings::default(),
            };
            let promise = Promise { dataflow: id, needs: vec![need], upto: at + 1 };
            let plan = Arc::new(plan);
            self.workers.send(Command::CreateDataflow { plan, reader, promise });
        }

        fn next(&self) -> Response {
            self.responses.recv_timeout(Duration::from_secs(20)).expect("a response in time")
        }

        fn hydrated(&self, id: GlobalId) {
            for _ in 0..self.workers.count() {
                let response = self.next();
                assert!(
                    matches!(response, Response::Hydrated { dataflow, .. } if dataflow == id),
                    "{response:?}"
                );
            }
        }

        fn new_reader(&mut self) -> ReaderId {
            self.next_reader += 1;
            self.next_reader
        }

        /// Collects a peek's answer from all workers, giving credit bit by bit.
        fn collect(&self, reader: ReaderId) -> Result<Content, EvalError> {
            let (mut content, mut failed) = (Content::new(), None);
            let mut done = 0;
            while done < self.workers.count() {
                match self.next() {
                    Response::Rows { rows, .. } => {
                        for (row, count) in rows {
                            let entry = (number(row.bytes(), 0), number(row.bytes(), 1));
                            *content.entry(entry).or_default() += count;
                        }
                        self.workers.send(Command::Credit { reader, bytes: 50 });
                    }
                    Response::PeekDone { result, .. } => {
                        done += 1;
                        failed = failed.or(result.err());
                    }
                    // What another reader was sent before it was cancelled.
                    other => assert!(matches!(other, Response::Changes { .. }), "{other:?}"),
                }
            }
            failed.map_or(Ok(content), Err)
        }

        fn peek(
            &mut self,
            relation: GlobalId,
            at: Timestamp,
            need: Timestamp,
        ) -> Result<Content, EvalError> {
            let reader = self.new_reader();
            self.workers.send(Command::Peek(Arc::new(Peek {
                reader,
                target: ArrangementId { relation, index: relation },
                layout: no_layout(),
                at,
                need,
                bounds: Bounds::All,
                mfp: no_mfp(),
                limit: None,
                settings: FormatSettings::default(),
                credit: 100,
            })));
            self.collect(reader)
        }

        fn query(
            &mut self,
            of: GlobalId,
            at: Timestamp,
            need: Timestamp,
        ) -> Result<Content, EvalError> {
            let reader = self.new_reader();
            let id = GlobalId(QUERY.0 + reader);
            self.create(id, of, Sink::Peek { buffer_limit: 1 << 20 }, Some(reader), at, need);
            self.workers.send(Command::Credit { reader, bytes: 100 });
            let answer = self.collect(reader);
            self.workers.send(Command::Cancel { reader });
            answer
        }
    }

    #[test]
    fn tables_views_and_queries_agree_on_one_worker_and_on_two() {
        for count in [1, 2] {
            let mut engine = Engine::start(count);
            let layout = no_layout();
            engine.workers.send(Command::CreateTable { id: TABLE, layout, since: 5 });
            let rows: Vec<_> = (0..100).map(|k| (k, k % 7, 1)).collect();
            engine.write(&rows, 10);
            engine.create(VIEW, TABLE, Sink::Arrange(no_layout()), None, 10, 11);
            engine.hydrated(VIEW);
            let mut expected: Content = rows.iter().map(|(k, v, d)| ((*k, *v), *d)).collect();
            for time in 20..60u64 {
                // The table is written at even times only; the view is read at all.
                let mut need = time + 1;
                if time % 2 == 0 {
                    engine.write(&[(time - 20, (time - 20) % 7, -1), (time, 50, 2)], time);
                    expected.remove(&(time - 20, (time - 20) % 7));
                    *expected.entry((time, 50)).or_default() += 2;
                } else {
                    need = time;
                }
                let promise = Promise { dataflow: VIEW, needs: vec![need], upto: time + 1 };
                engine.workers.send(Command::Promise(Arc::new(vec![promise])));
                assert_eq!(engine.peek(VIEW, time, time + 1).unwrap(), expected, "at {time}");
                assert_eq!(engine.peek(TABLE, time, need).unwrap(), expected, "at {time}");
                assert_eq!(engine.query(TABLE, time, need).unwrap(), expected, "at {time}");
                assert_eq!(engine.query(VIEW, time, time + 1).unwrap(), expected, "at {time}");
                for relation in [TABLE, VIEW] {
                    engine.workers.send(Command::Compact { relation, since: time - 5 });
                }
            }
            // An error in the view, and its end.
            engine.write(&[(1, 99, 1)], 60);
            engine.write(&[(1, 99, -1)], 61);
            let promise = Promise { dataflow: VIEW, needs: vec![62], upto: 62 };
            engine.workers.send(Command::Promise(Arc::new(vec![promise])));
            let failed = engine.peek(VIEW, 60, 62).unwrap_err();
            assert_eq!(failed.code, SqlState::DIVISION_BY_ZERO);
            assert_eq!(engine.query(VIEW, 60, 62).unwrap_err().code, failed.code);
            assert_eq!(engine.query(TABLE, 60, 62).unwrap_err().code, failed.code);
            assert_eq!(engine.peek(VIEW, 61, 62).unwrap(), expected);
            engine.workers.send(Command::Drop { id: VIEW });
            assert_eq!(engine.peek(VIEW, 61, 62).unwrap_err().code, SqlState::INTERNAL_ERROR);
            assert_eq!(engine.peek(TABLE, 61, 62).unwrap(), expected);
            engine.workers.stop();
        }
    }

    #[test]
    fn a_subscription_hears_every_change_and_ends_with_its_cancel() {
        let mut engine = Engine::start(2);
        let layout = no_layout();
        engine.workers.send(Command::CreateTable { id: TABLE, layout, since: 0 });
        engine.write(&[(1, 1, 1), (2, 2, 1), (3, 3, 1)], 1);
        let reader = engine.new_reader();
        let sink = Sink::Subscribe { up_to: None, snapshot: true, buffer_limit: 1 << 20 };
        engine.create(QUERY, TABLE, sink, Some(reader), 1, 2);
        engine.workers.send(Command::Credit { reader, bytes: 1 << 20 });
        engine.write(&[(2, 2, -1), (4, 4, 1)], 5);
        let (mut uppers, mut content) = ([0; 2], Content::new());
        let mut failed = None;
        let hear = |engine: &Engine,
                    until: Timestamp,
                    uppers: &mut [u64; 2],
                    content: &mut Content,
                    failed: &mut Option<Timestamp>| {
            while uppers.iter().any(|upper| *upper < until) {
                match engine.next() {
                    Response::Changes { worker, changes, upper, .. } => {
                        for (time, row, diff) in changes {
                            assert!(time >= uppers[worker]);
                            let entry = (number(row.bytes(), 0), number(row.bytes(), 1));
                            *content.entry(entry).or_default() += diff;
                        }
                        uppers[worker] = upper.unwrap_or(Timestamp::MAX);
                    }
                    Response::ChangesFailed { at, .. } => {
                        *failed = Some(at);
                        return;
                    }
                    other => panic!("{other:?}"),
                }
            }
        };
        hear(&engine, 6, &mut uppers, &mut content, &mut failed);
        content.retain(|_, count| *count != 0);
        assert_eq!(content, Content::from([((1, 1), 1), ((3, 3), 1), ((4, 4), 1)]));
        // Time passes, and nothing is written.
        let promise = Promise { dataflow: QUERY, needs: vec![6], upto: 50 };
        engine.workers.send(Command::Promise(Arc::new(vec![promise])));
        hear(&engine, 50, &mut uppers, &mut content, &mut failed);
        assert_eq!((uppers, failed), ([50, 50], None));
        engine.write(&[(9, 99, 1)], 60);
        hear(&engine, 61, &mut uppers, &mut content, &mut failed);
        assert_eq!(failed, Some(60));
        engine.workers.send(Command::Cancel { reader });
        engine.write(&[(9, 9, 1)], 70);
        assert_eq!(engine.peek(TABLE, 70, 71).unwrap().len(), 5);
        engine.workers.stop();
    }

    #[test]
    fn dataflows_come_and_go_a_thousand_times() {
        let mut engine = Engine::start(2);
        let layout = no_layout();
        engine.workers.send(Command::CreateTable { id: TABLE, layout, since: 0 });
        engine.write(&[(1, 1, 1)], 1);
        for _ in 0..1000 {
            assert_eq!(engine.query(TABLE, 1, 2).unwrap().len(), 1);
        }
        engine.workers.stop();
    }

    #[test]
    fn a_panic_of_a_worker_ends_the_process() {
        const CHILD: &str = "WEIR_TEST_PANICS";
        let name = "dataflow::executor::tests::a_panic_of_a_worker_ends_the_process";
        if let Some(report) = std::env::var_os(CHILD) {
            on_fault(move |dataflow| {
                let mut file = File::options().append(true).create(true).open(&report).unwrap();
                writeln!(file, "{dataflow}").unwrap();
            });
            let engine = Engine::start(2);
            // There is no such import, on both workers.
            engine.create(VIEW, TABLE, Sink::Peek { buffer_limit: 1 << 20 }, None, 0, 0);
            engine.next();
        }
        let folder = tempfile::tempdir().unwrap();
        let report = folder.path().join("report");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let child = child.args(["--exact", name]).env(CHILD, &report);
        let output = child.stdout(std::process::Stdio::null()).output().unwrap();
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        assert_eq!(signal, Some(libc::SIGABRT));
        // One crash is one fault, however many workers met it.
        assert_eq!(std::fs::read_to_string(report).unwrap(), format!("{VIEW}\n"));
    }
}
