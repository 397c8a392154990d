//! A join of any number of inputs, and its plan as a chain of joins of two.
//!
//! [`super::half_joins`] has the other plans; what they do in each step is the same, and here.
//! Each step joins what is there, arranged by the step's key, with one more input, and does at
//! once whatever can be done with its columns: the maps and filters of an input whose existing
//! arrangement is used as it is, equalities that are no part of a key, and predicates above the
//! join. Only columns that a later step needs are arranged again.
//!
//! NULL: strict keys leave rows with NULL out when they are arranged. Where a null-safe
//! arrangement serves an ordinary equality, NULLs of the other side are filtered out.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::optimizer::physical::build::{Builder, peel};
use crate::optimizer::physical::join_order::{Candidate, Order, Part, Problem, Step};
use crate::optimizer::physical::keys::{Access, access};
use crate::optimizer::physical::layout::keyed_as;
use crate::optimizer::rules::join_equalities::equality;
use crate::optimizer::substitute::{input_starts, is_free, moved, substitute_small};
use crate::plan::physical::{Arrangement, Node, NodeId};
use crate::plan::relation::{Equivalence, Id, Relation};
use crate::repr::key::KeyMode;
use crate::repr::{ColumnType, ScalarType};

/// One side of a step: an arranged node, and how the join's columns come from its columns.
pub(super) struct Side {
    pub(super) node: NodeId,
    /// From the node's columns to `columns`.
    pub(super) mfp: Mfp,
    /// The join's columns that the side has.
    pub(super) columns: Vec<usize>,
}

/// A join that is being built.
pub(super) struct Joining<'a> {
    pub(super) problem: &'a Problem<'a>,
    pub(super) inputs: &'a [Relation],
    /// What is above the join and cannot be done before all inputs are there.
    outer: Mfp,
}

/// What has been joined so far.
#[derive(Clone)]
pub(super) struct Progress {
    /// For each class, which of its expressions are known to be equal.
    equal: Vec<BTreeSet<usize>>,
    /// The join's columns that are there.
    there: BTreeSet<usize>,
    /// Predicates above the join that can be applied as soon as their columns are there.
    early: Vec<Expr>,
}

impl Progress {
    /// The columns of one more input are there.
    pub(super) fn take_in(&mut self, candidate: &Candidate) {
        self.there.extend(candidate.columns.clone());
    }
}

impl Builder<'_> {
    /// A join, with what stands above it.
    pub(super) fn join(
        &mut self,
        inputs: &[Relation],
        classes: &[Equivalence],
        mut outer: Mfp,
    ) -> Result<NodeId> {
        let types: Vec<ColumnType> = inputs.iter().flat_map(|i| i.typ().columns).collect();
        if inputs.len() < 2 {
            return self.single(inputs, classes, &types, outer);
        }
        let starts = input_starts(inputs);
        let candidates: Vec<Candidate> = inputs
            .iter()
            .zip(starts.windows(2))
            .map(|(input, ends)| self.candidate(input, ends[0]..ends[1]))
            .collect();
        let problem = Problem { inputs: &candidates, classes, types: &types };
        let is_early = |p: &Expr| is_free(p) && p.arity_needed() <= types.len();
        let (early, late) = outer.predicates.into_iter().partition(|(_, p)| is_early(p));
        outer.predicates = late;
        let progress = Progress {
            equal: vec![BTreeSet::new(); classes.len()],
            there: BTreeSet::new(),
            early: early.into_iter().map(|(_, p): (usize, Expr)| p).collect(),
        };
        if let Some(paths) = self.paths(&problem, inputs) {
            let problem = Problem { inputs: &paths.candidates, ..problem };
            let joining = Joining { problem: &problem, inputs, outer };
            return joining.half_joins(self, &paths, &progress);
        }
        let joining = Joining { problem: &problem, inputs, outer };
        joining.linear(self, &problem.solve(), progress)
    }

    /// A join of one input.
    fn single(
        &mut self,
        inputs: &[Relation],
        classes: &[Equivalence],
        types: &[ColumnType],
        outer: Mfp,
    ) -> Result<NodeId> {
        let unit = Relation::unit();
        let input = inputs.first().unwrap_or(&unit);
        let mut predicates = Vec::new();
        for class in classes {
            for pair in class.exprs.windows(2) {
                predicates.push(must_equal(&pair[0], &pair[1], class.null_safe, types)?);
            }
        }
        let node = self.collection(input)?;
        let mfp = Mfp::identity(types.len()).filter(predicates).then(outer);
        Ok(self.mfp(node, || types.iter().map(|t| t.scalar).collect(), mfp))
    }

    fn candidate(&self, input: &Relation, columns: std::ops::Range<usize>) -> Candidate {
        let (base, mfp) = peel(input);
        let ty = input.typ();
        let is_stable = !mfp.expressions.iter().any(Expr::is_volatile)
            && !mfp.predicates.iter().any(|(_, p)| p.is_volatile());
        let arrangements = match base {
            Relation::Get { id: Id::Global(id), .. } => (self.available)(*id),
            _ => Vec::new(),
        };
        let is_looked_up = |layout| matches!(access(layout, &mfp), Access::Keys(_));
        let is_small = matches!(base, Relation::Constant { .. }) || ty.keys.contains(&Vec::new());
        let breadth = match () {
            () if is_small || arrangements.iter().any(|(_, layout)| is_looked_up(layout)) => 0,
            () if !mfp.predicates.is_empty() => 1,
            () => 2,
        };
        let keys = ty.keys.iter().map(|key| key.iter().map(|c| c + columns.start).collect());
        Candidate {
            over_base: over_base(&mfp),
            arrangements: if is_stable { arrangements } else { Vec::new() },
            breadth,
            keys: keys.collect(),
            columns,
        }
    }
}

/// What the columns that go out are over those that come in.
fn over_base(mfp: &Mfp) -> Vec<Option<Expr>> {
    let mut columns: Vec<Expr> = (0..mfp.input_arity).map(Expr::Column).collect();
    let mut usable = vec![true; mfp.input_arity];
    for expr in &mfp.expressions {
        let whole = is_free(expr) && expr.columns().iter().all(|c| usable[*c]);
        let form = if whole { substitute_small(expr, &columns) } else { None };
        usable.push(form.is_some());
        columns.push(form.unwrap_or(Expr::bool(false)));
    }
    mfp.projection.iter().map(|c| usable[*c].then(|| columns[*c].clone())).collect()
}

pub(super) fn must_equal(
    a: &Expr,
    b: &Expr,
    null_safe: bool,
    types: &[ColumnType],
) -> Result<Expr> {
    equality(a, b, null_safe, types)
        .ok_or_else(|| Error::internal("a type that is joined by has an equality"))
}

impl Joining<'_> {
    fn linear(
        &self,
        builder: &mut Builder<'_>,
        order: &Order,
        mut progress: Progress,
    ) -> Result<NodeId> {
        let Order { start, steps } = order;
        let candidates = self.problem.inputs;
        progress.take_in(&candidates[*start]);
        let mut not_null: Vec<Vec<Expr>> =
            steps.iter().map(|step| nulls_to_drop(self.problem, step)).collect();
        let first = &steps[0];
        let mut left = match first.left {
            Some(at) => self.existing(builder, *start, at),
            None => {
                let filter = std::mem::take(&mut not_null[0]);
                self.made(builder, *start, (*start, first), filter, true)?
            }
        };
        for (at, step) in steps.iter().enumerate() {
            let right = match step.right {
                Some(arrangement) => self.existing(builder, step.input, arrangement),
                None => self.made(builder, step.input, (*start, step), Vec::new(), false)?,
            };
            progress.take_in(&candidates[step.input]);
            let (mut mfp, place) = beside(&left, &right);
            let mut predicates = self.newly_decided(&mut progress, &step.key)?;
            // What the left side did not filter, because it was there, or for the next step.
            predicates.append(&mut not_null[at]);
            if let Some(next) = not_null.get_mut(at + 1) {
                predicates.append(next);
            }
            mfp = mfp.filter(predicates.iter().map(|p| moved(p, |c| place[&c])));
            let Some(next) = steps.get(at + 1) else {
                let mfp = self.finish(mfp, &place);
                return Ok(builder.add(Node::Join { left: left.node, right: right.node, mfp }));
            };
            let columns = self.needed(&progress, steps[at + 1..].iter().flat_map(|s| &s.key));
            mfp = mfp.project(columns.iter().map(|c| place[c]));
            mfp.prune();
            let node = builder.add(Node::Join { left: left.node, right: right.node, mfp });
            let key = next.key.iter().map(|p| &p.left);
            let node = self.arrange(builder, node, &columns, key, next, None);
            left = Side { node, mfp: Mfp::identity(columns.len()), columns };
        }
        Err(Error::internal("a join has a last step"))
    }

    /// The end of the last step: everything that stands above the join.
    pub(super) fn finish(&self, mfp: Mfp, place: &BTreeMap<usize, usize>) -> Mfp {
        let kept: Vec<usize> = place.keys().copied().collect();
        let mut outer = self.outer.clone();
        outer.permute(kept.len(), |c| kept.binary_search(&c).expect("what is used travels"));
        let mut mfp = mfp.project(place.values().copied()).then(outer);
        mfp.prune();
        mfp
    }

    /// An input's arrangement that exists; the input's maps and filters come after the step.
    pub(super) fn existing(&self, builder: &mut Builder<'_>, input: usize, at: usize) -> Side {
        let candidate = &self.problem.inputs[input];
        let (id, layout) = &candidate.arrangements[at];
        let (_, mfp) = peel(&self.inputs[input]);
        let node = builder.import(*id, layout);
        Side { node, mfp, columns: candidate.columns.clone().collect() }
    }

    /// An input, arranged for a step of a plan that begins with `start`.
    fn made(
        &self,
        builder: &mut Builder<'_>,
        input: usize,
        (start, step): (usize, &Step),
        filter: Vec<Expr>,
        is_left: bool,
    ) -> Result<Side> {
        let candidates = self.problem.inputs;
        let columns: Vec<usize> = candidates[input].columns.clone().collect();
        let first = candidates[input].columns.start;
        let filter = filter.iter().map(|p| moved(p, |c| c - first)).collect();
        let node = match Vec::is_empty(&filter) {
            true => builder.collection(&self.inputs[input])?,
            false => builder.collection(&self.inputs[input].clone().filter(filter))?,
        };
        // The other side may be there, and then says how keys are encoded.
        let other = match is_left {
            true => step.right.map(|at| &candidates[step.input].arrangements[at].1),
            false => step.left.map(|at| &candidates[start].arrangements[at].1),
        };
        let key = step.key.iter().map(|p| if is_left { &p.left } else { &p.right });
        let key_types = other.map(|layout| layout.key_types.clone());
        let node = self.arrange(builder, node, &columns, key, step, key_types);
        Ok(Side { node, mfp: Mfp::identity(columns.len()), columns })
    }

    /// Arranges rows that have these of the join's columns by a key for a step.
    pub(super) fn arrange<'e>(
        &self,
        builder: &mut Builder<'_>,
        input: NodeId,
        columns: &[usize],
        key: impl Iterator<Item = &'e Expr>,
        step: &Step,
        key_types: Option<Vec<ScalarType>>,
    ) -> NodeId {
        let layout = self.keyed(columns, key, step, key_types);
        builder.add(Node::Arrange { input, layout })
    }

    /// How rows that have these of the join's columns are keyed for a step.
    pub(super) fn keyed<'e>(
        &self,
        columns: &[usize],
        key: impl Iterator<Item = &'e Expr>,
        step: &Step,
        key_types: Option<Vec<ScalarType>>,
    ) -> Arrangement {
        let types: Vec<ScalarType> =
            columns.iter().map(|c| self.problem.types[*c].scalar).collect();
        let place = |c: usize| columns.partition_point(|other| *other < c);
        let key = key.map(|e| moved(e, place)).collect();
        let other = step.right.map(|at| &self.problem.inputs[step.input].arrangements[at].1);
        let key_types = key_types.or(other.map(|layout| layout.key_types.clone()));
        keyed_as(&types, key, step.mode, key_types)
    }

    /// Predicates that can be applied now: equalities that no key says, and early ones.
    pub(super) fn newly_decided(&self, progress: &mut Progress, key: &[Part]) -> Result<Vec<Expr>> {
        let mut predicates = Vec::new();
        let there = &progress.there;
        for (at, class) in self.problem.classes.iter().enumerate() {
            let equal = &mut progress.equal[at];
            for part in key.iter().filter(|part| part.class == at) {
                let of_key = |e: &Expr| *e == part.left || *e == part.right;
                equal.extend((0..class.exprs.len()).filter(|i| of_key(&class.exprs[*i])));
            }
            let is_there = |e: &Expr| e.columns().iter().all(|c| there.contains(c));
            let found: Vec<usize> =
                (0..class.exprs.len()).filter(|i| is_there(&class.exprs[*i])).collect();
            if found.len() < 2 {
                continue;
            }
            let anchor = equal.first().copied().unwrap_or(found[0]);
            equal.insert(anchor);
            for other in found {
                if equal.insert(other) {
                    let (a, b) = (&class.exprs[anchor], &class.exprs[other]);
                    predicates.push(must_equal(a, b, class.null_safe, self.problem.types)?);
                }
            }
        }
        let (now, later) = std::mem::take(&mut progress.early)
            .into_iter()
            .partition(|p| p.columns().iter().all(|c| there.contains(c)));
        progress.early = later;
        predicates.extend::<Vec<Expr>>(now);
        Ok(predicates)
    }

    /// The columns that are there and that is still used: above the join, or by later keys.
    pub(super) fn needed<'e>(
        &self,
        progress: &Progress,
        keys: impl Iterator<Item = &'e Part>,
    ) -> Vec<usize> {
        let mut needed: BTreeSet<usize> = self.outer.input_columns().into_iter().collect();
        needed.extend(progress.early.iter().flat_map(Expr::columns));
        needed.extend(keys.flat_map(|part| part.left.columns()));
        for (class, equal) in self.problem.classes.iter().zip(&progress.equal) {
            let is_there = |e: &Expr| e.columns().iter().all(|c| progress.there.contains(c));
            if class.exprs.iter().all(is_there) {
                continue;
            }
            let anchor = match equal.first() {
                Some(anchor) => class.exprs.get(*anchor),
                None => class.exprs.iter().find(|e| is_there(e)),
            };
            let open = class.exprs.iter().filter(|e| !is_there(e));
            needed.extend(open.chain(anchor).flat_map(Expr::columns));
        }
        needed.retain(|c| progress.there.contains(c));
        needed.into_iter().collect()
    }
}

/// Tests that the left parts of a null-safe key are not NULL, where NULLs would match wrongly.
pub(super) fn nulls_to_drop(problem: &Problem<'_>, step: &Step) -> Vec<Expr> {
    if step.mode == KeyMode::Strict {
        return Vec::new();
    }
    let nullable = |e: &Expr| e.typ(problem.types).nullable;
    let parts = step.key.iter().filter(|part| {
        !problem.compares_nulls(part) && nullable(&part.left) && nullable(&part.right)
    });
    parts.map(|part| part.left.clone().is_not_null()).collect()
}

/// Both sides' maps and filters over the columns of both nodes, and where the join's columns are.
pub(super) fn beside(left: &Side, right: &Side) -> (Mfp, BTreeMap<usize, usize>) {
    let width = left.mfp.input_arity;
    let mut mfp = Mfp::identity(width + right.mfp.input_arity);
    let mut place = BTreeMap::new();
    for (side, start) in [(left, 0), (right, width)] {
        let mut names: Vec<usize> = (start..start + side.mfp.input_arity).collect();
        for expr in &side.mfp.expressions {
            names.push(mfp.arity());
            mfp = mfp.map([moved(expr, |c| names[c])]);
        }
        let predicates = side.mfp.predicates.iter().map(|(_, p)| moved(p, |c| names[c]));
        mfp = mfp.filter(predicates);
        let outputs = side.mfp.projection.iter().map(|c| names[*c]);
        place.extend(side.columns.iter().copied().zip(outputs));
    }
    (mfp, place)
}
