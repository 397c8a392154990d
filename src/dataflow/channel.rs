//! Channels between operators that count in place what they carry.
//!
//! Timely's own channels log each message when it is sent and when it is received, and what logs
//! pays for the clock and for the room: 45 ns each, more than the message costs. These add to a
//! counter instead, and tell which counters have moved when somebody asks ([`take_carried`]).
//! While somebody records they tell each message, too.
//!
//! [`Local`] stands for timely's `Pipeline`, [`ByHash`] for its `Exchange`. Operators that
//! differential builds have channels of timely's still.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use timely::communication::allocator::thread::{ThreadPuller, ThreadPusher};
use timely::communication::{Pull, Push};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::ParallelizationContract;
use timely::dataflow::channels::pushers::Exchange;
use timely::dataflow::channels::pushers::exchange::DrainContainerDistributor;
use timely::dataflow::channels::{ContainerBytes, Message};
use timely::logging::TimelyLogger;
use timely::worker::Worker;
use timely::{Accountable, progress};

use super::timing::{now, tell, tells};
use crate::profile::event::{self, ChannelId, Event};
use crate::profile::tally::Traffic;

thread_local! {
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    /// The counters that have moved since they were taken.
    static CARRIED: RefCell<Vec<Rc<Counter>>> = const { RefCell::new(Vec::new()) };
}

/// Has this worker's channels count, or not.
pub fn count_messages(on: bool) {
    COUNTS.set(on);
    if !on {
        take_carried(|_, _| ());
    }
}

/// Takes what channels have carried since this was last called, by the worker that it was for.
pub fn take_carried(mut take: impl FnMut(ChannelId, &[Traffic])) {
    for counter in CARRIED.take() {
        counter.is_listed.set(false);
        let sent: Vec<Traffic> = counter.sent.iter().map(Cell::take).collect();
        take(counter.channel, &sent);
    }
}

/// What a channel has carried from this worker.
struct Counter {
    channel: ChannelId,
    /// By the worker that it was for.
    sent: Box<[Cell<Traffic>]>,
    is_listed: Cell<bool>,
}

impl Counter {
    fn new(channel: ChannelId, peers: usize) -> Rc<Counter> {
        let sent = vec![Cell::default(); peers].into();
        Rc::new(Counter { channel, sent, is_listed: Cell::new(false) })
    }

    #[inline]
    fn add(self: &Rc<Counter>, to: usize, records: i64) {
        let Traffic { messages, records: so_far } = self.sent[to].get();
        let records = so_far + records.unsigned_abs();
        self.sent[to].set(Traffic { messages: messages + 1, records });
        if !self.is_listed.replace(true) {
            CARRIED.with_borrow_mut(|carried| carried.push(Rc::clone(self)));
        }
    }
}

/// The sending end of a channel to one worker.
pub struct Sender<P> {
    pusher: P,
    counter: Rc<Counter>,
    /// How many messages went this way.
    number: usize,
    from: usize,
    to: usize,
}

impl<T, C: Accountable, P: Push<Message<T, C>>> Push<Message<T, C>> for Sender<P> {
    #[inline]
    fn push(&mut self, message: &mut Option<Message<T, C>>) {
        if let Some(message) = message {
            (message.from, message.seq) = (self.from, self.number);
            self.number += 1;
            if COUNTS.get() {
                self.counter.add(self.to, message.data.record_count());
            }
            if tells() {
                let (channel, from, to) = (self.counter.channel, message.from, self.to);
                let (number, records) = (message.seq, message.data.record_count());
                tell(now(), Event::Sent(event::Message { channel, from, to, number, records }));
            }
        }
        self.pusher.push(message);
    }
}

/// The receiving end of a channel.
pub struct Receiver<P> {
    puller: P,
    channel: ChannelId,
    to: usize,
}

impl<T, C: Accountable, P: Pull<Message<T, C>>> Pull<Message<T, C>> for Receiver<P> {
    #[inline]
    fn pull(&mut self) -> &mut Option<Message<T, C>> {
        let received = self.puller.pull();
        if tells()
            && let Some(message) = &*received
        {
            let (channel, from, to) = (self.channel, message.from, self.to);
            let (number, records) = (message.seq, message.data.record_count());
            tell(now(), Event::Received(event::Message { channel, from, to, number, records }));
        }
        received
    }
}

/// Everything stays on its worker.
pub struct Local;

impl<T: 'static, C: Accountable + 'static> ParallelizationContract<T, C> for Local {
    type Pusher = Sender<ThreadPusher<Message<T, C>>>;
    type Puller = Receiver<ThreadPuller<Message<T, C>>>;

    fn connect(
        self,
        worker: &Worker,
        channel: usize,
        address: Rc<[usize]>,
        _log: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pusher, puller) = worker.pipeline(channel, address);
        let (own, counter) = (worker.index(), Counter::new(channel, worker.peers()));
        let sender = Sender { pusher, counter, number: 0, from: own, to: own };
        (sender, Receiver { puller, channel, to: own })
    }
}

/// Everything goes to the worker that its hash names.
pub struct ByHash<F>(pub F);

/// Any end of a channel between workers.
type Remote<T, C> = Box<dyn Push<Message<T, C>>>;
/// Sorts records by the worker that they are for.
type Sorter<D, F> = DrainContainerDistributor<CapacityContainerBuilder<Vec<D>>, F>;

impl<T, D, F> ParallelizationContract<T, Vec<D>> for ByHash<F>
where
    T: progress::Timestamp,
    D: 'static,
    Vec<D>: ContainerBytes + Send,
    F: FnMut(&D) -> u64 + 'static,
{
    type Pusher = Exchange<T, Sender<Remote<T, Vec<D>>>, Sorter<D, F>>;
    type Puller = Receiver<Box<dyn Pull<Message<T, Vec<D>>>>>;

    fn connect(
        self,
        worker: &Worker,
        channel: usize,
        address: Rc<[usize]>,
        _log: Option<TimelyLogger>,
    ) -> (Self::Pusher, Self::Puller) {
        let (pushers, puller) = worker.allocate(channel, address);
        let (from, counter) = (worker.index(), Counter::new(channel, worker.peers()));
        let senders = pushers.into_iter().enumerate().map(|(to, pusher)| Sender {
            pusher,
            counter: Rc::clone(&counter),
            number: 0,
            from,
            to,
        });
        let sorter = DrainContainerDistributor::new(self.0, worker.peers());
        let pusher = Exchange::new(senders.collect(), sorter);
        (pusher, Receiver { puller, channel, to: from })
    }
}
