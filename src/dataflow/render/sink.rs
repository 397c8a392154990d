//! What becomes of the last node: it is kept, or sent.

use timely::dataflow::Scope;

use super::build::{Data, Walk};
use super::constant::no_errors;
use super::mfp::row_logic;
use super::reader::RowReader;
use super::rows::{reshape, whole_rows};
use crate::dataflow::arrangement::{arrange_errors, arrange_rows};
use crate::dataflow::built::{Built, BuiltSink, Imports, Notify};
use crate::dataflow::emit::RowLogic;
use crate::dataflow::follow::follow;
use crate::dataflow::subscribe::{SubscribeOptions, subscribe};
use crate::dataflow::traces::{Maintained, Traces};
use crate::plan::physical::{Dataflow, Import, Node, Sink};
use crate::repr::Timestamp;

/// A dataflow that is one arrangement, perhaps filtered and projected, sent to a reader.
pub(super) struct Followed<'p> {
    import: &'p Import,
    logic: RowLogic,
    options: SubscribeOptions,
}

impl Followed<'_> {
    /// Takes a plan for such a dataflow, if it is one.
    pub(super) fn of(plan: &Dataflow, peers: usize) -> Option<Followed<'_>> {
        let options = options(plan)?;
        let [import] = &plan.imports[..] else { return None };
        let (reader, settings) = (RowReader::arranged(&import.layout), &plan.settings);
        let logic = match &plan.nodes[..] {
            [Node::Import { .. }] => reshape(reader, settings.clone(), whole_rows()),
            // What is projected to equal rows may lie on different workers.
            [Node::Import { .. }, Node::Mfp { mfp, .. }] if peers == 1 => {
                row_logic(reader, mfp, settings, whole_rows())
            }
            _ => return None,
        };
        Some(Followed { import, logic, options })
    }

    /// Builds the dataflow.
    pub(super) fn build(
        self,
        scope: Scope<'_, Timestamp>,
        traces: &mut Traces,
        notify: Notify,
    ) -> Built {
        let Followed { import, logic, options } = self;
        let maintained =
            traces.made_by(import.id.index).expect("a plan imports what is maintained");
        let name = format!("Follow {}", import.id.relation);
        let (subscription, promises) = follow(maintained, scope, &name, logic, options, notify);
        let (imports, result) = (Imports(vec![promises]), BuiltSink::Sent(subscription));
        Built { imports, result, places: Vec::new() }
    }
}

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
            let errs = walk.errors(&errors);
            let errs = errs.map(|errors| arrange_errors(errors, "Errors of the result").trace);
            BuiltSink::Arranged(Box::new(Maintained::new(oks, errs, as_of)))
        }
        Sink::Subscribe { .. } | Sink::Peek { .. } => {
            let options = options(walk.plan).expect("the plan is for a reader");
            send(walk, options, notify)
        }
    }
}

/// What the reader of a plan is sent, where it has one.
fn options(plan: &Dataflow) -> Option<SubscribeOptions> {
    let as_of = plan.as_of;
    match plan.sink {
        Sink::Arrange(_) => None,
        Sink::Subscribe { up_to, snapshot, buffer_limit } => Some(SubscribeOptions {
            as_of,
            snapshot,
            up_to,
            buffer_bytes_max: buffer_limit,
            counts_snapshot: false,
            eager: false,
        }),
        Sink::Peek { buffer_limit } => Some(SubscribeOptions {
            as_of,
            snapshot: true,
            up_to: Some(as_of.saturating_add(1)),
            buffer_bytes_max: buffer_limit,
            counts_snapshot: true,
            eager: only_adds(&plan.nodes),
        }),
    }
}

/// Whether no row that comes is ever taken back, at one time: rows that were written out, and what
/// is made of them one by one.
fn only_adds(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Constant { rows } => rows.iter().flatten().all(|(_, count)| *count > 0),
        Node::Mfp { .. } | Node::FlatMap { .. } | Node::Union { .. } | Node::Leave { .. } => true,
        Node::Loop { nodes, .. } => nodes.iter().all(only_adds_inside),
        _ => false,
    })
}

/// The same of a node in a loop, whose rounds only add then.
fn only_adds_inside(node: &Node) -> bool {
    match node {
        Node::Reduce { aggregates, .. } => aggregates.is_empty(),
        Node::Entered { .. }
        | Node::Variable { .. }
        | Node::Mfp { .. }
        | Node::FlatMap { .. }
        | Node::Arrange { .. }
        | Node::Join { .. }
        | Node::Union { .. } => true,
        _ => false,
    }
}

fn send(walk: &mut Walk<'_, '_>, options: SubscribeOptions, notify: Notify) -> BuiltSink {
    let (last, _) = walk.last();
    let (rows, errors) = walk.whole(last);
    let errors = walk.errors(&errors).unwrap_or_else(|| no_errors(walk.scope));
    BuiltSink::Sent(subscribe(rows, errors, "Reader", options, walk.pressure.clone(), notify))
}
