//! Bringing a shared arrangement into a dataflow, with a frontier that the coordinator moves.
//!
//! If every input advanced whenever time does, each commit would wake each dataflow: 6 µs for each
//! installed view, though nothing that it reads has changed. So an input advances only when it is
//! written, and a dataflow that must answer at `t` while some of its inputs stand still is given a
//! [`Promise`] for each import: once the trace has reached `need` (the last write's time plus one),
//! nothing comes below `t`. No other dataflow notices.
//!
//! A batch that arrives after a promise carries, as the stamp of its message, the time at which its
//! input was last flushed, which may lie below what was promised meanwhile. Its updates do not: the
//! promise was kept. So the message is sent at the later of the two.
//!
//! The source hands over whole batches, which are shared and cost nothing. What must be sliced is
//! reading them: [`super::scan`] and [`super::join`] do.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use differential_dataflow::operators::arrange::TraceReplayInstruction;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::source;
use timely::scheduling::Activator;

use super::arrangement::{RowArranged, RowTrace};
use crate::repr::Timestamp;

/// Moves the frontier of one import on one worker.
#[derive(Clone, Default)]
pub struct Promise {
    // Who writes: the worker, on the coordinator's command. Who reads: the import source.
    standing: Rc<Cell<Standing>>,
    activator: Rc<RefCell<Option<Activator>>>,
}

#[derive(Clone, Copy, Default)]
struct Standing {
    need: Timestamp,
    below: Timestamp,
}

impl Promise {
    /// Promises that once the trace is complete below `need`, nothing comes below `time`.
    ///
    /// The promise must be true: no write of the imported relation may follow at a time from
    /// `need` up to `time`. An older promise is implied by a newer one.
    pub fn advance(&self, need: Timestamp, time: Timestamp) {
        self.standing.set(Standing { need, below: time });
        if let Some(activator) = &*self.activator.borrow() {
            activator.activate();
        }
    }
}

/// Imports a shared arrangement, and returns the means to promise for it.
///
/// All that the trace holds comes at once, at the times it still distinguishes; the trace's handle
/// in the result holds back compaction to where `trace` does.
pub fn import<'s>(
    trace: &mut RowTrace,
    scope: Scope<'s, Timestamp>,
    name: &str,
) -> (RowArranged<'s>, Promise) {
    let shared = trace.clone();
    let promise = Promise::default();
    let (standing, activator) = (promise.standing.clone(), promise.activator.clone());
    let stream = source(scope, name, move |capability, info| {
        *activator.borrow_mut() = Some(scope.activator_for(Rc::clone(&info.address)));
        let queue = trace.new_listener(scope.activator_for(info.address));
        let mut capability = Some(capability);
        let mut complete_below = Timestamp::MIN;
        move |output| {
            let Some(held) = capability.as_mut() else { return };
            for instruction in queue.1.borrow_mut().drain(..) {
                match instruction {
                    TraceReplayInstruction::Span(span, stamp) => {
                        if let Some(least) = stamp.least().filter(|_| span.has_updates()) {
                            let time = *least.max(held.time());
                            output.session(&held.delayed(&time)).give(span);
                        }
                    }
                    TraceReplayInstruction::Frontier(frontier) => {
                        complete_below = frontier.first().copied().unwrap_or(Timestamp::MAX);
                        if complete_below > *held.time() {
                            held.downgrade(&complete_below);
                        }
                    }
                }
            }
            let Standing { need, below } = standing.get();
            if complete_below >= need && below > *held.time() {
                held.downgrade(&below);
            }
            if complete_below == Timestamp::MAX {
                capability = None;
            }
        }
    });
    (RowArranged { stream, trace: shared }, promise)
}
