//! Following an arrangement: a subscription to what is maintained already.
//!
//! The changes of an arranged relation, and what a filter and a projection make of them, need no
//! operators between them and their reader, and no progress protocol: the arrangement says itself
//! up to where it is complete. So one operator listens to both sides of the arrangement, reads the
//! batches that come, and fills the reader's buffer; it runs once for each change, and nothing else
//! of its dataflow does. It reads by fuel, as [`super::scan`] does.
//!
//! Rows stay on the worker on which the arrangement has them. Where a row's key follows from the
//! row, as in all that is not projected, what concerns a row meets on one worker all the same.

use std::collections::VecDeque;

use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::source;

use super::emit::{Emit, RowLogic};
use super::import::{Listener, News, Promise};
use super::pressure::Pressure;
use super::scan::{FUEL, Made, Reading};
use super::subscribe::{Buffer, SubscribeOptions, Subscription};
use super::traces::Maintained;
use crate::repr::{Row, Timestamp};

/// One side of the arrangement.
struct Side {
    listener: Listener,
    logic: RowLogic,
    todo: VecDeque<Todo>,
    /// All below has been read; `None` at the end.
    below: Option<Timestamp>,
}

/// What is still to be done, in the order in which it was heard.
enum Todo {
    Read(Reading),
    Close(Option<Timestamp>),
}

/// Sends the changes of an arranged relation to a [`Subscription`]; `logic` makes rows of it.
///
/// Returns the means to promise for the relation. `notify` is called, perhaps often, when
/// [`Subscription::take`] might have something.
pub fn follow(
    maintained: &mut Maintained,
    scope: Scope<'_, Timestamp>,
    name: &str,
    logic: RowLogic,
    options: SubscribeOptions,
    notify: Box<dyn Fn()>,
) -> (Subscription, Vec<Promise>) {
    let (as_of, until) = (options.as_of, options.up_to);
    let subscription = Subscription::new(options, Pressure::default(), notify);
    let to_fill = subscription.clone();
    let as_is: RowLogic = Box::new(|error, _, emit| emit.errs.push(Row::new(error)));
    let mut promises = Vec::new();
    source::<_, CapacityContainerBuilder<Vec<()>>, _, _>(scope, name, |capability, info| {
        let traces = [Some((&maintained.oks, logic)), maintained.errs.as_ref().map(|e| (e, as_is))];
        let sides = traces.into_iter().flatten().map(|(trace, logic)| {
            let promise = Promise::default();
            promises.push(promise.clone());
            let listener = Listener::new(trace, scope, &info, until, promise);
            Side { listener, logic, todo: VecDeque::new(), below: Some(Timestamp::MIN) }
        });
        let mut sides: Vec<Side> = sides.collect();
        let activator = scope.activator_for(info.address);
        let (mut emit, mut made) = (Emit::default(), Made::default());
        // Nothing is sent under it; it keeps the operator alive.
        let mut capability = Some(capability);
        move |_| {
            if capability.is_none() {
                return;
            }
            let mut buffer = to_fill.buffer();
            let mut fuel = FUEL;
            for side in &mut sides {
                side.hear();
                side.work(&mut fuel, as_of, (&mut emit, &mut made), &mut buffer);
            }
            buffer.advance(sides.iter().filter_map(|side| side.below).min());
            if buffer.is_over() {
                capability = None;
            } else if sides.iter().any(|side| !side.todo.is_empty()) {
                activator.activate();
            }
        }
    });
    (subscription, promises)
}

impl Side {
    fn hear(&mut self) {
        let todo = &mut self.todo;
        self.listener.hear(|news| match news {
            News::Batch(span, _) => todo.extend(span.inner.map(|b| Todo::Read(Reading::new(b)))),
            News::Below(time) => todo.push_back(Todo::Close(Some(time))),
            News::End => todo.push_back(Todo::Close(None)),
        });
    }

    /// Goes on until there is nothing to do or the fuel is spent.
    fn work(
        &mut self,
        fuel: &mut usize,
        as_of: Timestamp,
        (emit, made): (&mut Emit, &mut Made),
        buffer: &mut Buffer,
    ) {
        while let Some(todo) = self.todo.front_mut() {
            match todo {
                Todo::Close(time) => {
                    self.below = self.below.and_then(|below| time.map(|time| time.max(below)));
                }
                Todo::Read(reading) => {
                    let done = reading.read(fuel, as_of, &mut self.logic, emit, made);
                    let rows = made.oks.drain(..);
                    buffer.stash(rows.map(|((_, row), time, diff)| (row, time, diff)), 0);
                    buffer.stash(made.errs.drain(..), 1);
                    if !done && *fuel > 0 {
                        continue;
                    }
                    if !done {
                        return;
                    }
                }
            }
            self.todo.pop_front();
        }
    }
}
