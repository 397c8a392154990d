//! Subscriptions that differ in constants alone share one dataflow.
//!
//! Their plan reads the *seeds*, an input that only this module writes: a row for each subscription
//! that lives, its number and its constants. The number is the first column of what the dataflow
//! finds, and tells whose a row is. A subscription begins at a time of its own, at which its row is
//! written: what is found under its number at that time is its snapshot, what comes later its
//! changes. When it ends its row is taken back, and with that all that nobody else demands. The
//! first who needs a plan has its dataflow built, the last to leave has it dropped; plans are the
//! same where they are equal.
//!
//! Invariants:
//! * The dataflow's changes are taken from the workers at once. What a client has not read waits
//!   here for its own credit, so that a slow one holds back nobody, and past its own limit ends.
//! * Who is told nothing else hears of time once in a while, or when it asks: a commit costs
//!   nothing for those whom it does not concern.
//! * An error tells nothing of whose it is. So the dataflow ends, and each subscription goes on in
//!   one of its own, from where it was: there it fails, or does not.
//!
//! Left out: two subscriptions to the same constants have what is found for them twice, though not
//! what it is derived from. AS OF another time and UP TO have a dataflow of their own.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::coord::coordinator::Coordinator;
use crate::coord::objects::Object;
use crate::coord::reads::{Reader, ReaderKind};
use crate::coord::request::{ChangeEvent, ChangeStream, READER_CREDIT, SharedRequest};
use crate::coord::subscriptions::{Arrivals, Subscription, too_slow};
use crate::dataflow::command::{Command, ReaderId, Write};
use crate::error::{Error, Result};
use crate::plan::physical::{Arrangement, Dataflow, Sink};
use crate::repr::key::encode_key;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, GlobalId, Row, ScalarType, Timestamp};

/// After how many nanoseconds all subscriptions of a dataflow hear how far it is.
const TELL_ALL: Timestamp = 500_000_000;

/// What a subscription's dataflow is made of.
#[derive(Debug)]
pub(super) struct Seeding {
    /// The plan: it reads [`GlobalId::SEEDS`], and has neither a name nor a time.
    plan: Dataflow,
    /// How the seeds are laid out.
    layout: Arrangement,
    /// The types of what it finds, the number first.
    types: Vec<ScalarType>,
}

/// A dataflow that subscriptions share.
pub(super) struct Hub {
    seeding: Arc<Seeding>,
    /// Its seeds.
    seeds: GlobalId,
    pub(super) arrivals: Arrivals,
    members: BTreeSet<ReaderId>,
    /// Members that are to be told as soon as it is so far.
    asking: BTreeMap<ReaderId, Timestamp>,
    /// All up to here has been parted.
    through: Timestamp,
    /// All members have been told all up to here.
    told_all: Timestamp,
}

/// A subscription that shares a dataflow.
pub(super) struct Member {
    out: mpsc::UnboundedSender<Result<ChangeEvent>>,
    hub: ReaderId,
    constants: Row,
    pub(super) as_of: Timestamp,
    snapshot: bool,
    /// All up to here has been told.
    pub(super) told: Timestamp,
    /// What its client has not read.
    pub(super) queue: VecDeque<(Timestamp, Row, Diff)>,
    /// How many bytes of that are no snapshot.
    bytes: u64,
    bytes_max: u64,
    credit: u64,
}

impl Coordinator {
    /// Subscribes by a dataflow that others may be using.
    pub(super) fn subscribe_shared(
        &mut self,
        mut plan: Dataflow,
        request: SharedRequest,
    ) -> Result<ChangeStream> {
        self.flush();
        let (mut snapshot, mut bytes_max) = (true, u64::MAX);
        if let Sink::Subscribe { snapshot: wanted, buffer_limit, .. } = plan.sink {
            (snapshot, bytes_max) = (wanted, buffer_limit);
        }
        plan.sink = Sink::Subscribe { up_to: None, snapshot: true, buffer_limit: u64::MAX };
        (plan.id, plan.as_of) = (GlobalId::SEEDS, 0);
        let objects: Vec<GlobalId> =
            plan.imports.iter().map(|i| i.id.index).filter(|id| *id != GlobalId::SEEDS).collect();
        let as_of = self.clock.next();
        self.check_readable(&objects, as_of)?;
        let same = |(id, reader): (&ReaderId, &Reader)| match &reader.kind {
            ReaderKind::Hub(hub) if hub.seeding.plan == plan => Some(*id),
            _ => None,
        };
        let hub = match self.readers.iter().find_map(same) {
            Some(hub) => hub,
            None => {
                let SharedRequest { layout, types, .. } = request;
                self.build_hub(Seeding { plan, layout, types }, as_of)
            }
        };
        let as_of = self.clock.next();
        self.ask_lease(as_of);
        let reader = self.number();
        let (out, changes) = mpsc::unbounded_channel();
        let member = Member {
            out,
            hub,
            constants: request.constants,
            as_of,
            snapshot,
            told: as_of.saturating_sub(1),
            queue: VecDeque::new(),
            bytes: 0,
            bytes_max,
            credit: READER_CREDIT,
        };
        if let Some(shared) = self.hub(hub) {
            shared.members.insert(reader);
        }
        self.seed(hub, reader, &member.constants, 1, as_of);
        self.add_reader(reader, objects, None, ReaderKind::Member(Box::new(member)));
        Ok(ChangeStream { reader, as_of, changes, events: self.events.clone() })
    }

    fn build_hub(&mut self, seeding: Seeding, as_of: Timestamp) -> ReaderId {
        let seeds = self.create_seeds(&seeding.layout, as_of);
        let reader = self.number();
        let plan = seeding.reading(seeds);
        let hub = Hub {
            seeding: Arc::new(seeding),
            seeds,
            arrivals: Arrivals::new(self.workers.count()),
            members: BTreeSet::new(),
            asking: BTreeMap::new(),
            through: 0,
            told_all: 0,
        };
        self.start_subscription(plan, reader, as_of, ReaderKind::Hub(Box::new(hub)));
        reader
    }

    /// Makes an input for seeds. It goes with the dataflow that reads it.
    fn create_seeds(&mut self, layout: &Arrangement, since: Timestamp) -> GlobalId {
        let id = self.transient();
        self.workers.send(Command::CreateTable { id, layout: layout.clone(), since });
        let object = Object { since, seeds: true, retired: true, ..Object::default() };
        self.objects.add(id, object);
        id
    }

    /// Adds the seed of a subscription, or takes it back.
    fn seed(
        &mut self,
        hub: ReaderId,
        member: ReaderId,
        constants: &Row,
        diff: Diff,
        time: Timestamp,
    ) {
        let Some(hub) = self.hub(hub) else { return };
        let (table, seeding) = (hub.seeds, Arc::clone(&hub.seeding));
        self.write_seed(table, seeding.seed(member, constants, diff), time);
    }

    fn write_seed(&mut self, table: GlobalId, seed: (Row, Row, Diff), time: Timestamp) {
        self.objects.written([table], time, &mut self.woken);
        self.writes.push(Write { time, table, updates: Arc::new(vec![seed]) });
    }

    fn hub(&mut self, reader: ReaderId) -> Option<&mut Hub> {
        match self.readers.get_mut(&reader) {
            Some(Reader { kind: ReaderKind::Hub(hub), .. }) => Some(hub),
            _ => None,
        }
    }

    fn member(&mut self, reader: ReaderId) -> Option<&mut Member> {
        match self.readers.get_mut(&reader) {
            Some(Reader { kind: ReaderKind::Member(member), .. }) => Some(member),
            _ => None,
        }
    }

    /// The dataflow that a subscription hears from.
    pub(super) fn dataflow_of(&self, reader: ReaderId) -> Option<GlobalId> {
        let reader = self.readers.get(&reader)?;
        match &reader.kind {
            ReaderKind::Member(member) => self.readers.get(&member.hub)?.dataflow,
            _ => reader.dataflow,
        }
    }

    /// Has a member told as soon as its dataflow is as far as its snapshot and `durable`; says
    /// when that is. None where the reader is no member.
    pub(super) fn ask_progress(
        &mut self,
        reader: ReaderId,
        durable: Timestamp,
    ) -> Option<Timestamp> {
        let member = self.member(reader)?;
        let (hub, by) = (member.hub, member.as_of.max(durable));
        self.hub(hub)?.asking.insert(reader, by);
        self.deliver(reader);
        Some(by)
    }

    /// Parts what is complete everywhere and may leave.
    pub(super) fn release_hub(&mut self, id: ReaderId) {
        let released = self.gate.released();
        let Some(hub) = self.hub(id) else { return };
        let Some(complete) = hub.arrivals.complete() else { return };
        let through = complete.saturating_sub(1).min(released);
        let found = hub.arrivals.take_through(through);
        hub.through = hub.through.max(through);
        let seeding = Arc::clone(&hub.seeding);
        let asked = hub.asking.extract_if(.., |_, by| *by <= through);
        let mut concerned: BTreeSet<ReaderId> = asked.map(|(reader, _)| reader).collect();
        if through >= hub.told_all.saturating_add(TELL_ALL) {
            hub.told_all = through;
            concerned.clone_from(&hub.members);
        }
        for (time, row, diff) in found {
            let (number, row) = seeding.parted(&row);
            // Who has left does not hear of it.
            let Some(member) = self.member(number) else { continue };
            member.take(time, row, diff);
            concerned.insert(number);
        }
        for member in concerned {
            self.deliver(member);
        }
        if through.saturating_add(1) < complete {
            self.withheld.insert(id);
        }
    }

    /// Sends a member what its credit allows.
    pub(super) fn deliver(&mut self, reader: ReaderId) {
        let Some(hub) = self.member(reader).map(|member| member.hub) else { return };
        let Some(through) = self.hub(hub).map(|hub| hub.through) else { return };
        let Some(member) = self.member(reader) else { return };
        let ready = member.ready();
        member.send(ready, through);
        if member.bytes > member.bytes_max {
            let _ = member.out.send(Err(too_slow()));
            self.end_reader(reader);
        }
    }

    /// A client has taken so many bytes; says whether it shares a dataflow.
    pub(super) fn member_credit(&mut self, reader: ReaderId, bytes: u64) -> bool {
        let Some(member) = self.member(reader) else { return false };
        member.credit = member.credit.saturating_add(bytes);
        self.deliver(reader);
        true
    }

    /// Ends a member with an error.
    pub(super) fn fail_member(&mut self, reader: ReaderId, error: Error) {
        if let Some(member) = self.member(reader) {
            let _ = member.out.send(Err(error));
        }
    }

    /// Takes back what only one who has ended demanded.
    pub(super) fn leave_hub(&mut self, reader: ReaderId, member: &Member) {
        let Some(hub) = self.hub(member.hub) else { return };
        hub.members.remove(&reader);
        hub.asking.remove(&reader);
        if hub.members.is_empty() {
            return self.end_reader(member.hub);
        }
        let time = self.clock.next();
        self.seed(member.hub, reader, &member.constants, -1, time);
    }

    /// A shared dataflow has failed: each of its subscriptions goes on in one of its own.
    /// Nothing happens to other readers.
    pub(super) fn divide_hub(&mut self, id: ReaderId) -> bool {
        self.flush();
        let Some(hub) = self.hub(id) else { return false };
        let (members, through) = (std::mem::take(&mut hub.members), hub.through);
        let seeding = Arc::clone(&hub.seeding);
        for reader in members {
            let Some(found) = self.readers.remove(&reader) else { continue };
            let ReaderKind::Member(member) = found.kind else { continue };
            self.go_alone(reader, *member, &seeding, through);
            self.release_objects(found.objects);
        }
        self.end_reader(id);
        true
    }

    /// A member goes on from where its dataflow was, in one of its own.
    fn go_alone(
        &mut self,
        reader: ReaderId,
        mut member: Member,
        seeding: &Arc<Seeding>,
        through: Timestamp,
    ) {
        let queue: Vec<_> = member.queue.drain(..).collect();
        member.send(queue, through);
        let began = through >= member.as_of;
        let as_of = if began { through } else { member.as_of };
        let snapshot = member.snapshot && !began;
        let read = seeding.plan.imports.iter().map(|import| import.id.index);
        let objects: Vec<GlobalId> = read.filter(|id| *id != GlobalId::SEEDS).collect();
        if let Err(error) = self.check_readable(&objects, as_of) {
            let _ = member.out.send(Err(error));
            return;
        }
        let seeds = self.create_seeds(&seeding.layout, as_of);
        self.write_seed(seeds, seeding.seed(reader, &member.constants, 1), as_of);
        self.flush();
        let mut plan = seeding.reading(seeds);
        plan.sink = Sink::Subscribe { up_to: None, snapshot, buffer_limit: member.bytes_max };
        let workers = self.workers.count();
        let told = as_of.saturating_sub(u64::from(!began));
        let seeding = Some(Arc::clone(seeding));
        let subscription = Subscription::going_on(member.out, workers, as_of, told, seeding);
        let kind = ReaderKind::Subscription(Box::new(subscription));
        self.start_subscription(plan, reader, as_of, kind);
    }
}

impl Member {
    /// Takes what was found under its number.
    fn take(&mut self, time: Timestamp, row: Row, diff: Diff) {
        if time <= self.as_of && !self.snapshot {
            return;
        }
        if time > self.as_of {
            self.bytes += cost(&row);
        }
        self.queue.push_back((time, row, diff));
    }

    /// Takes from the queue what its credit allows.
    fn ready(&mut self) -> Vec<(Timestamp, Row, Diff)> {
        let mut ready = vec![];
        while self.credit > 0
            && let Some((time, row, diff)) = self.queue.pop_front()
        {
            let cost = cost(&row);
            self.credit = self.credit.saturating_sub(cost);
            if time > self.as_of {
                self.bytes = self.bytes.saturating_sub(cost);
            }
            ready.push((time, row, diff));
        }
        ready
    }

    /// Sends changes, and how far it is by now where all is parted up to `through`.
    fn send(&mut self, mut changes: Vec<(Timestamp, Row, Diff)>, through: Timestamp) {
        let far = self.queue.front().map_or(through, |next| through.min(next.0 - 1));
        // That the snapshot is whole is told before anything that comes later.
        if self.told < self.as_of && far >= self.as_of {
            let rest = changes.split_off(changes.partition_point(|c| c.0 <= self.as_of));
            self.pass(changes, self.as_of);
            changes = rest;
        }
        self.pass(changes, far);
    }

    fn pass(&mut self, changes: Vec<(Timestamp, Row, Diff)>, far: Timestamp) {
        if !changes.is_empty() {
            let _ = self.out.send(Ok(ChangeEvent::Changes(changes)));
        }
        if far > self.told {
            self.told = far;
            let _ = self.out.send(Ok(ChangeEvent::Progress(far)));
        }
    }
}

impl Seeding {
    /// The plan over an input for seeds.
    fn reading(&self, seeds: GlobalId) -> Dataflow {
        let mut plan = self.plan.clone();
        for import in &mut plan.imports {
            if import.id.relation == GlobalId::SEEDS {
                (import.id.relation, import.id.index) = (seeds, seeds);
            }
        }
        plan
    }

    /// A subscription's seed, as it is written.
    fn seed(&self, number: ReaderId, constants: &Row, diff: Diff) -> (Row, Row, Diff) {
        let mut key = Vec::with_capacity(8);
        let datum = Datum::Int8(number as i64);
        encode_key(self.layout.mode, &self.layout.key_types, &[datum], &mut key);
        (Row::new(&key), constants.clone(), diff)
    }

    /// Whose a row is, and the row without that.
    pub(super) fn parted(&self, row: &Row) -> (ReaderId, Row) {
        let mut datums = Vec::with_capacity(self.types.len());
        decode_values(&self.types, row.bytes(), &mut datums);
        let number = match datums.first() {
            Some(Datum::Int8(number)) => *number as ReaderId,
            _ => 0,
        };
        (number, pack(&datums[1..]))
    }

    /// Leaves of the rows of one subscription what its client is sent; says how many bytes of their
    /// cost it does not see.
    pub(super) fn part_all(&self, changes: &mut [(Timestamp, Row, Diff)]) -> u64 {
        let mut spared = 0;
        for (_, row, _) in changes {
            let before = cost(row);
            *row = self.parted(row).1;
            spared += before.saturating_sub(cost(row));
        }
        spared
    }
}

/// What sending a row takes of a reader's credit.
pub(super) fn cost(row: &Row) -> u64 {
    row.bytes().len().max(1) as u64
}
