//! What becomes of the last node: it is kept, or sent.

use differential_dataflow::AsCollection;
use timely::dataflow::operators::generic::operator::empty;

use super::build::{Data, Walk};
use crate::dataflow::arrangement::arrange_rows;
use crate::dataflow::built::{BuiltSink, Notify};
use crate::dataflow::subscribe::{SubscribeOptions, subscribe};
use crate::dataflow::traces::Maintained;
use crate::plan::physical::{Node, Sink};
use crate::repr::Row;

/// Ends a dataflow.
pub(super) fn finish(walk: &mut Walk<'_, '_>, notify: Notify) -> BuiltSink {
    let as_of = walk.plan.as_of;
    let (last, data) = walk.last();
    match &walk.plan.sink {
        Sink::Arrange(layout) => {
            let kept = match data {
                // An arrangement of this dataflow in the layout that is asked for.
                Data::Arranged(arranged, own) if *own == layout && !walk.is_import(last) => {
                    Some(arranged.trace.clone())
                }
                _ => None,
            };
            let (oks, errors) = match kept {
                Some(trace) => (trace, walk.errors_of(last)),
                None => {
                    let (rows, errors) = walk.shaped(last, walk.plan.nodes.len());
                    (arrange_rows(rows, "Result").trace, errors)
                }
            };
            let errs = walk.errors(&errors).map(|errors| {
                let keyed = errors.map(|error| (error, Row::EMPTY));
                arrange_rows(keyed, "Errors of the result").trace
            });
            BuiltSink::Arranged(Box::new(Maintained::new(oks, errs, as_of)))
        }
        Sink::Subscribe { up_to, snapshot, buffer_limit } => {
            let options = SubscribeOptions {
                as_of,
                snapshot: *snapshot,
                up_to: *up_to,
                buffer_bytes_max: *buffer_limit,
                counts_snapshot: false,
                eager: false,
            };
            send(walk, options, notify)
        }
        Sink::Peek { buffer_limit } => {
            let options = SubscribeOptions {
                as_of,
                snapshot: true,
                up_to: Some(as_of.saturating_add(1)),
                buffer_bytes_max: *buffer_limit,
                counts_snapshot: true,
                eager: only_adds(&walk.plan.nodes),
            };
            send(walk, options, notify)
        }
    }
}

/// Whether no row that comes is ever taken back, at one time: rows that were written out, and what
/// is made of them one by one.
fn only_adds(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Constant { rows } => rows.iter().flatten().all(|(_, count)| *count > 0),
        Node::Mfp { .. } | Node::FlatMap { .. } | Node::Union { .. } => true,
        _ => false,
    })
}

fn send(walk: &mut Walk<'_, '_>, options: SubscribeOptions, notify: Notify) -> BuiltSink {
    let (last, _) = walk.last();
    let (rows, errors) = walk.whole(last);
    let errors = walk.errors(&errors).unwrap_or_else(|| empty(walk.scope).as_collection());
    BuiltSink::Sent(subscribe(rows, errors, "Reader", options, walk.pressure.clone(), notify))
}
