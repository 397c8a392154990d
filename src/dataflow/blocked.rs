//! What holds back the relations that are behind.
//!
//! A relation is behind while its arrangement is not complete as far as was promised. Behind the
//! arrangement is a chain of operators, through one of which the time has not passed: one that has
//! work left, or holds what it was given; or an import, whose relation is behind itself or has
//! stalled. It is found by going from the arrangement against the stream, along the inputs that are
//! known to be behind, to the first operator none of whose inputs is. Loops count as one operator.
//!
//! An operator that is not told how far its inputs are passes on what it gets at once, unless it
//! says that it has work left; so where there is no knowing it is passed over.

use std::collections::{BTreeMap, BTreeSet};

use super::arrangement::size;
use super::import::Promise;
use super::observe::{Claim, Ledger};
use super::operator::{Progress, progress};
use super::traces::Traces;
use crate::profile::report::BlockedReport;
use crate::profile::tally::Tally;
use crate::repr::{GlobalId, Timestamp};

/// A relation that is behind: the time below which it has to be complete.
pub(super) type Behind = (GlobalId, Timestamp);

/// The operators of a dataflow, and how far they are.
struct Graph<'t> {
    need: Timestamp,
    /// For each operator, its inputs and who sends to them.
    inputs: BTreeMap<usize, Vec<(usize, usize)>>,
    noted: BTreeMap<usize, Progress>,
    /// How far the output of imports and of arrangements is.
    outputs: BTreeMap<usize, Timestamp>,
    imports: &'t [Vec<Promise>],
}

impl<'t> Graph<'t> {
    fn new(
        claim: &Claim,
        tally: &Tally,
        imports: &'t [Vec<Promise>],
        need: Timestamp,
    ) -> Graph<'t> {
        let by_address = claim.addresses(tally);
        let mut inputs: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for channel in claim.operators.clone().filter_map(|id| tally.channel(id)) {
            let end = |operator: usize| {
                let address = [channel.scope.as_slice(), &[operator]].concat();
                by_address.get(&address[..]).copied()
            };
            // What is inside a loop is the loop's.
            if let ([_], Some(from), Some(to)) =
                (&channel.scope[..], end(channel.source.0), end(channel.target.0))
            {
                inputs.entry(to).or_default().push((channel.target.1, from));
            }
        }
        let noted = progress(claim.operators.clone()).into_iter().collect();
        let mut outputs: BTreeMap<usize, Timestamp> =
            size::uppers(claim.operators.clone()).into_iter().collect();
        let of_imports = imports.iter().flatten().map(|import| (import.operator(), import));
        outputs.extend(of_imports.map(|(operator, import)| (operator, import.progress().0)));
        Graph { need, inputs, noted, outputs, imports }
    }

    /// Whether an operator has work left.
    fn is_busy(&self, operator: usize) -> bool {
        self.noted.get(&operator).is_some_and(|progress| progress.is_busy)
    }

    /// How far an input is, where that is known.
    fn input(&self, operator: usize, input: usize, from: usize) -> Option<Timestamp> {
        let noted = self.noted.get(&operator).and_then(|progress| *progress.inputs.get(input)?);
        // What an arrangement has taken is what it holds.
        let arranged = self.outputs.get(&operator).copied();
        noted.or(arranged).or_else(|| self.outputs.get(&from).copied())
    }

    /// Adds who holds an operator back, or is that operator itself, as far as that is known.
    fn blame(&self, operator: usize, seen: &mut BTreeSet<usize>, found: &mut BTreeSet<usize>) {
        if !seen.insert(operator) {
            return;
        }
        if self.is_busy(operator) {
            found.insert(operator);
            return;
        }
        for (input, from) in self.inputs.get(&operator).into_iter().flatten() {
            let known = self.input(operator, *input, *from);
            if known.is_some_and(|below| below >= self.need) {
                continue;
            }
            let before = found.len();
            self.blame(*from, seen, found);
            if known.is_some() && found.len() == before && !found.contains(from) {
                found.insert(self.source_of(*from));
            }
        }
    }

    /// The operator whose output an operator passes on.
    fn source_of(&self, mut operator: usize) -> usize {
        while let Some([(input, from)]) = self.inputs.get(&operator).map(Vec::as_slice)
            && self.input(operator, *input, *from).is_none()
        {
            operator = *from;
        }
        operator
    }
}

impl Ledger {
    /// What holds back relations that are behind. `imports`: those of a relation's dataflow.
    pub(super) fn blocked<'i>(
        &self,
        behind: &[Behind],
        traces: &mut Traces,
        imports: impl Fn(GlobalId) -> &'i [Vec<Promise>],
    ) -> Vec<BlockedReport> {
        let tally = self.logs.tally.borrow();
        let mut reports = BTreeSet::new();
        for (object, need) in behind {
            let (Some(claim), Some(maintained)) =
                (self.dataflows.get(object), traces.made_by(*object))
            else {
                continue;
            };
            let held_at = maintained.upper().unwrap_or(Timestamp::MAX);
            if held_at >= *need || *object < GlobalId::FIRST_USER {
                continue;
            }
            let graph = Graph::new(claim, &tally, imports(*object), *need);
            let errs = maintained.errs.iter().map(|errs| errs.operator().global_id);
            let ends = [maintained.oks.operator().global_id].into_iter().chain(errs);
            let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
            for end in ends.filter(|end| graph.outputs.get(end).is_some_and(|at| at < need)) {
                graph.blame(end, &mut seen, &mut found);
                if found.is_empty() {
                    found.insert(end);
                }
            }
            let report = |operator: usize| {
                let mut of_imports = graph.imports.iter().flatten();
                let import = of_imports.find(|import| import.operator() == operator);
                let waits = import.is_some_and(|import| import.progress().1);
                let waits_for = if waits { claim.imported_by(operator) } else { None };
                let (object, need, is_busy) = (*object, *need, graph.is_busy(operator));
                BlockedReport { object, operator, held_at, need, is_busy, waits_for }
            };
            reports.extend(found.into_iter().map(report));
        }
        reports.into_iter().collect()
    }
}
