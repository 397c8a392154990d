//! Reads: rows of a time, from an arrangement or by a dataflow that ends with them.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::coord::coordinator::Coordinator;
use crate::coord::objects::Object;
use crate::coord::request::{Observed, READER_CREDIT, Read, Reply, RowEvent, RowStream, dropped};
use crate::coord::shared::{Hub, Member};
use crate::coord::subscriptions::Subscription;
use crate::dataflow::command::{Command, Peek, ReaderId};
use crate::error::{Error, Result, SqlState};
use crate::expr::error::EvalError;
use crate::plan::physical::Dataflow;
use crate::repr::{Diff, GlobalId, Row, Timestamp};

/// Somebody who is being sent something.
pub(super) struct Reader {
    /// The objects that it stands on.
    pub(super) objects: Vec<GlobalId>,
    /// Its transient dataflow.
    pub(super) dataflow: Option<GlobalId>,
    pub(super) kind: ReaderKind,
}

/// What a reader is sent.
pub(super) enum ReaderKind {
    Peek {
        /// Workers that are not done.
        remaining: usize,
        /// The least error of those that are.
        failed: Option<EvalError>,
        rows: mpsc::UnboundedSender<RowEvent>,
        /// Who is told what its dataflow cost.
        observer: Option<(Arc<Dataflow>, Reply<Observed>)>,
    },
    Subscription(Box<Subscription>),
    /// A dataflow that subscriptions share.
    Hub(Box<Hub>),
    /// A subscription that shares one.
    Member(Box<Member>),
}

impl ReaderKind {
    /// Whether it is a dataflow whose changes somebody hears.
    pub(super) fn has_dataflow(&self) -> bool {
        matches!(self, ReaderKind::Subscription(_) | ReaderKind::Hub(_))
    }

    /// Whether it is a client's subscription.
    pub(super) fn is_subscription(&self) -> bool {
        matches!(self, ReaderKind::Subscription(_) | ReaderKind::Member(_))
    }
}

impl Coordinator {
    pub(super) fn read(
        &mut self,
        at: Timestamp,
        read: Read,
        observer: Option<Reply<Observed>>,
    ) -> Result<RowStream> {
        self.flush();
        let objects: Vec<GlobalId> = match &read {
            Read::Arrangement(read) => vec![read.target.index],
            Read::Dataflow(plan) => plan.imports.iter().map(|i| i.id.index).collect(),
        };
        self.check_readable(&objects, at)?;
        self.let_time_pass(objects.iter().map(|id| (*id, at)).collect());
        let reader = self.number();
        let (rows, receiver) = mpsc::unbounded_channel();
        let dataflow = matches!(read, Read::Dataflow(_)).then(|| self.transient());
        self.add_reader(
            reader,
            objects.clone(),
            dataflow,
            ReaderKind::Peek {
                remaining: self.workers.count(),
                failed: None,
                rows,
                observer: None,
            },
        );
        match read {
            Read::Arrangement(read) => self.workers.send(Command::Peek(Arc::new(Peek {
                reader,
                need: self.objects.need(read.target.index, at),
                target: read.target,
                layout: read.layout,
                at,
                bounds: read.bounds,
                mfp: read.mfp,
                limit: read.limit,
                settings: read.settings,
                credit: READER_CREDIT,
            }))),
            Read::Dataflow(mut plan) => {
                plan.id = dataflow.unwrap_or(plan.id);
                plan.as_of = at;
                let timed = plan.reads_clock();
                self.objects.add(plan.id, Object { imports: objects, timed, ..Object::default() });
                let promise = self.objects.promise(plan.id, at);
                let plan: Arc<Dataflow> = Arc::from(plan);
                if let Some(Reader { kind: ReaderKind::Peek { observer: by, .. }, .. }) =
                    self.readers.get_mut(&reader)
                {
                    *by = observer.map(|observer| (Arc::clone(&plan), observer));
                }
                self.workers.send(Command::CreateDataflow { plan, reader: Some(reader), promise });
                self.workers.send(Command::Credit { reader, bytes: READER_CREDIT });
            }
        }
        Ok(RowStream { reader, rows: receiver, events: self.events.clone(), done: false })
    }

    /// Whether the content of the objects at a time can be had.
    pub(super) fn check_readable(&self, objects: &[GlobalId], at: Timestamp) -> Result<()> {
        for id in objects {
            if let Some(error) = self.broken.get(id) {
                return Err(error.clone());
            }
            let Some(object) = self.objects.get(*id) else { return Err(dropped()) };
            if at < object.since {
                return Err(Error::new(
                    SqlState::INVALID_PARAMETER_VALUE,
                    format!("the content as of {at} is no longer readable"),
                )
                .with_detail(format!("The earliest readable time is {}.", object.since))
                .with_hint("RETAIN HISTORY FOR keeps more of it."));
            }
        }
        Ok(())
    }

    pub(super) fn add_reader(
        &mut self,
        id: ReaderId,
        objects: Vec<GlobalId>,
        dataflow: Option<GlobalId>,
        kind: ReaderKind,
    ) {
        for object in &objects {
            if let Some(object) = self.objects.get_mut(*object) {
                object.readers += 1;
            }
        }
        tracing::debug!(reader = id, "a reader begins");
        self.readers.insert(id, Reader { objects, dataflow, kind });
    }

    /// Forgets a reader, ends what workers do for it, and drops what only waited for it.
    pub(super) fn end_reader(&mut self, id: ReaderId) {
        let Some(reader) = self.readers.remove(&id) else { return };
        tracing::debug!(reader = id, "a reader ends");
        self.withheld.remove(&id);
        match &reader.kind {
            ReaderKind::Member(member) => self.leave_hub(id, member),
            _ => self.workers.send(Command::Cancel { reader: id }),
        }
        if let Some(dataflow) = reader.dataflow {
            self.objects.remove(dataflow);
            self.woken.remove(&dataflow);
        }
        self.release_objects(reader.objects);
    }

    /// A reader stands on these no more.
    pub(super) fn release_objects(&mut self, objects: Vec<GlobalId>) {
        for object in objects {
            let Some(state) = self.objects.get_mut(object) else { continue };
            state.readers -= 1;
            self.remove_unused(object);
        }
    }

    /// Drops a retired object once nobody stands on it: no reader, and no dataflow that imports
    /// it (a view may look rows up in an index that is dropped before the view is). What only it
    /// stood on goes with it.
    pub(super) fn remove_unused(&mut self, id: GlobalId) {
        let mut queue = vec![id];
        while let Some(id) = queue.pop() {
            if !self.objects.get(id).is_some_and(Object::is_unused) {
                continue;
            }
            self.flush();
            let object = self.objects.remove(id).unwrap_or_default();
            self.workers.send(Command::Drop { id });
            queue.extend(object.imports);
        }
    }

    pub(super) fn peek_rows(&mut self, reader: ReaderId, rows: Vec<(Row, Diff)>) {
        if let Some(Reader { kind: ReaderKind::Peek { rows: out, .. }, .. }) =
            self.readers.get(&reader)
        {
            let _ = out.send(RowEvent::Rows(rows));
        }
    }

    pub(super) fn peek_done(&mut self, id: ReaderId, result: std::result::Result<(), EvalError>) {
        let Some(Reader { kind: ReaderKind::Peek { remaining, failed, rows, observer }, .. }) =
            self.readers.get_mut(&id)
        else {
            return;
        };
        if let Err(error) = result {
            *failed = Some(match failed.take() {
                Some(least) => least.min(error),
                None => error,
            });
        }
        *remaining -= 1;
        if *remaining > 0 {
            return;
        }
        let last = match failed.take() {
            Some(error) => RowEvent::Failed(error.into()),
            None => RowEvent::Done,
        };
        let _ = rows.send(last);
        // The question reaches the workers before the end of the dataflow does.
        if let Some((plan, reply)) = observer.take() {
            self.observe(plan, 0, reply);
        }
        self.end_reader(id);
    }
}
