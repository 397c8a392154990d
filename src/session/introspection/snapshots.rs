//! The rows of snapshots: activities, how much they participate, what does not hold, patterns.
//!
//! They are the same whether the events come from the workers of this server or from a file. A
//! snapshot is known by the time when it begins; its activities are numbered from 0.

use crate::error::Result;
use crate::profile::graph::{Edge, Graph};
use crate::profile::names::Names;
use crate::profile::participation::Participation;
use crate::profile::pattern::patterns;
use crate::profile::stream::Snapshot;
use crate::repr::{Datum, GlobalId};
use crate::session::introspection::operators::{int8, object};

/// The relations, as they are called in a schema of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::session) enum Part {
    /// The snapshots.
    Snapshots,
    /// Their activities.
    Activities,
    /// How much these participate.
    Participation,
    /// What does not hold.
    Violations,
    /// What leads up to waits.
    Patterns,
}

impl Part {
    /// All of them.
    pub(in crate::session) const ALL: [Part; 5] =
        [Part::Snapshots, Part::Activities, Part::Participation, Part::Violations, Part::Patterns];

    /// What it is called, without the prefix of the system's own.
    pub(in crate::session) fn name(self) -> &'static str {
        match self {
            Part::Snapshots => "snapshots",
            Part::Activities => "activities",
            Part::Participation => "critical_participation",
            Part::Violations => "invariant_violations",
            Part::Patterns => "patterns",
        }
    }
}

/// Gets the rows of a snapshot.
pub(in crate::session) type Emit<'e> = &'e mut dyn FnMut(Part, &[Datum<'_>]) -> Result<()>;

fn int4(number: usize) -> Datum<'static> {
    Datum::Int4(i32::try_from(number).unwrap_or(i32::MAX))
}

fn relation(names: &Names, operator: Option<usize>) -> Datum<'static> {
    let found = operator.and_then(|operator| names.object(operator));
    found.map_or(Datum::Null, |id| object(GlobalId(id)))
}

/// Makes the rows of a snapshot; where it has more than `most` activities, none for those.
pub(in crate::session) fn rows(
    snapshot: &Snapshot,
    participation: &mut Participation,
    names: &Names,
    hops: usize,
    most: usize,
    emit: Emit<'_>,
) -> Result<()> {
    let Snapshot { graph, violations } = snapshot;
    participation.find(graph);
    let begins = int8(graph.from);
    let is_there = participation.check.is_some();
    let row = [
        begins,
        int8(graph.until),
        int4(graph.bounds.len()),
        int8(graph.edges.len() as u64),
        if is_there { Datum::Float8(participation.paths.log2()) } else { Datum::Null },
        participation.check.map_or(Datum::Null, Datum::Float8),
        int8(graph.unmatched as u64),
    ];
    emit(Part::Snapshots, &row)?;
    let shown = if graph.edges.len() <= most { &graph.edges[..] } else { &[] };
    for (number, edge) in shown.iter().enumerate() {
        emit(Part::Activities, &activity(graph, names, number, edge))?;
        let share = participation.shares[number];
        if share > 0.0 {
            emit(Part::Participation, &[begins, int4(number), Datum::Float8(share)])?;
        }
    }
    for (number, violation) in violations.iter().enumerate() {
        let row = [
            begins,
            int4(number),
            Datum::Text(violation.invariant.name()),
            int8(violation.at),
            violation.worker.map_or(Datum::Null, int4),
            violation.operator.map_or(Datum::Null, |operator| int8(operator as u64)),
            relation(names, violation.operator),
            int8(violation.measured),
            int8(violation.allowed),
        ];
        emit(Part::Violations, &row)?;
    }
    for ((hop, kind, worker), found) in patterns(graph, hops) {
        let (kind, count) = (Datum::Text(kind.name()), int8(found.count));
        let row = [begins, int4(hop), kind, int4(worker), count, int8(found.duration_ns)];
        emit(Part::Patterns, &row)?;
    }
    Ok(())
}

fn activity<'d>(graph: &Graph, names: &Names, number: usize, edge: &Edge) -> [Datum<'d>; 11] {
    let (source, target) = (&graph.vertices[edge.source], &graph.vertices[edge.target]);
    [
        int8(graph.from),
        int4(number),
        Datum::Text(edge.kind.name()),
        int4(source.worker),
        int8(source.at),
        int4(target.worker),
        int8(target.at),
        int8(graph.duration_ns(edge)),
        edge.operator.map_or(Datum::Null, |operator| int8(operator as u64)),
        relation(names, edge.operator),
        int8(edge.records),
    ]
}
