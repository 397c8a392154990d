//! The operators of a join whose inputs' changes go ways of their own ([`super::paths`]).
//!
//! A path begins with the rows of an input. Each lookup keys the rows so far and finds the rows of
//! one more input under that key; what is done with the columns at once is as in a linear plan.
//! Where several lookups compete, each adds to a row how many matches it has, and the row goes on
//! where they are fewest; the branches have the same columns, and are united.

use crate::error::{Error, Result};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::optimizer::physical::build::Builder;
use crate::optimizer::physical::join::{Joining, Progress, Side, beside, nulls_to_drop};
use crate::optimizer::physical::join_order::Step;
use crate::optimizer::physical::layout::keyed_as;
use crate::optimizer::physical::paths::{Extension, Path, Paths};
use crate::optimizer::substitute::moved;
use crate::plan::physical::{Arrangement, Lookup, Node, NodeId};
use crate::repr::{Datum, ScalarType};

/// Rows on their way.
#[derive(Clone)]
struct Prefix {
    node: NodeId,
    /// The join's columns that they have.
    columns: Vec<usize>,
    progress: Progress,
}

/// What comes behind a lookup.
#[derive(Clone, Copy)]
struct Later<'a> {
    /// Lookups of the same branch.
    steps: &'a [Step],
    /// Behind the branch.
    rest: &'a [Extension],
}

impl<'a> Later<'a> {
    /// All lookups.
    fn all(self) -> impl Iterator<Item = &'a Step> {
        self.steps.iter().chain(self.rest.iter().flat_map(Extension::steps))
    }

    /// Those that come next.
    fn next(self) -> Vec<&'a Step> {
        match self.steps.first() {
            Some(step) => vec![step],
            None => self.rest.first().map(Extension::first).unwrap_or_default(),
        }
    }
}

impl Joining<'_> {
    /// The sum of all paths.
    pub(super) fn half_joins(
        &self,
        builder: &mut Builder<'_>,
        plan: &Paths,
        progress: &Progress,
    ) -> Result<NodeId> {
        let rows = vec![None; self.inputs.len()];
        let mut walk = Walk { joining: self, builder, plan, rows };
        let ends = plan.paths.iter().map(|path| walk.path(path, progress.clone()));
        let inputs = ends.collect::<Result<Vec<NodeId>>>()?;
        Ok(match inputs.as_slice() {
            [only] => *only,
            _ => builder.add(Node::Union { inputs }),
        })
    }
}

struct Walk<'a, 'b, 'c> {
    joining: &'a Joining<'a>,
    builder: &'b mut Builder<'c>,
    plan: &'a Paths,
    /// The rows of inputs that were asked for: once, as what is volatile must be the same in all
    /// paths.
    rows: Vec<Option<NodeId>>,
}

impl Walk<'_, '_, '_> {
    fn path(&mut self, path: &Path, mut progress: Progress) -> Result<NodeId> {
        let candidate = &self.plan.candidates[path.start];
        progress.take_in(candidate);
        let columns: Vec<usize> = candidate.columns.clone().collect();
        let next = Later { steps: &[], rest: &path.steps }.next();
        let filter = self
            .nulls(&next)
            .iter()
            .map(|p| moved(p, |c| c - candidate.columns.start))
            .collect::<Vec<_>>();
        let node = self.rows(path.start)?;
        let types = self.types(&columns);
        let node = self.builder.mfp(node, || types, Mfp::identity(columns.len()).filter(filter));
        let mut prefix = Prefix { node, columns, progress };
        for (at, extension) in path.steps.iter().enumerate() {
            let rest = &path.steps[at + 1..];
            prefix = match extension {
                Extension::One(step) => {
                    self.lookup(path.start, prefix, step, Later { steps: &[], rest })?
                }
                Extension::Fewest(options) => self.fewest(path.start, prefix, options, rest)?,
            };
        }
        Ok(prefix.node)
    }

    /// The rows of an input, not arranged.
    fn rows(&mut self, input: usize) -> Result<NodeId> {
        if let Some(node) = self.rows[input] {
            return Ok(node);
        }
        let node = self.builder.collection(&self.joining.inputs[input])?;
        self.rows[input] = Some(node);
        Ok(node)
    }

    fn types(&self, columns: &[usize]) -> Vec<ScalarType> {
        columns.iter().map(|c| self.joining.problem.types[*c].scalar).collect()
    }

    /// Tests that nothing is NULL by which the next lookups would match wrongly.
    fn nulls(&self, next: &[&Step]) -> Vec<Expr> {
        let mut all: Vec<Expr> = Vec::new();
        for predicate in next.iter().flat_map(|step| nulls_to_drop(self.joining.problem, step)) {
            if !all.contains(&predicate) {
                all.push(predicate);
            }
        }
        all
    }

    /// The arrangement that a lookup reads.
    fn looked_up(&mut self, step: &Step) -> Result<Side> {
        if let Some(at) = step.right {
            return Ok(self.joining.existing(self.builder, step.input, at));
        }
        let rows = self.rows(step.input)?;
        let columns: Vec<usize> = self.plan.candidates[step.input].columns.clone().collect();
        let key = step.key.iter().map(|part| &part.right);
        let node = self.joining.arrange(self.builder, rows, &columns, key, step, None);
        Ok(Side { node, mfp: Mfp::identity(columns.len()), columns })
    }

    /// How rows are keyed for a lookup.
    fn keyed(&self, columns: &[usize], step: &Step) -> Arrangement {
        let key = step.key.iter().map(|part| &part.left);
        self.joining.keyed(columns, key, step, None)
    }

    fn lookup(
        &mut self,
        start: usize,
        prefix: Prefix,
        step: &Step,
        later: Later<'_>,
    ) -> Result<Prefix> {
        let Prefix { node: input, columns, mut progress } = prefix;
        let right = self.looked_up(step)?;
        let layout = self.keyed(&columns, step);
        let left = Side { node: input, mfp: Mfp::identity(columns.len()), columns };
        progress.take_in(&self.plan.candidates[step.input]);
        let (mut mfp, place) = beside(&left, &right);
        let mut predicates = self.joining.newly_decided(&mut progress, &step.key)?;
        predicates.extend(self.nulls(&later.next()));
        mfp = mfp.filter(predicates.iter().map(|p| moved(p, |c| place[&c])));
        let mut columns = Vec::new();
        if later.all().next().is_none() {
            mfp = self.joining.finish(mfp, &place);
        } else {
            columns = self.joining.needed(&progress, later.all().flat_map(|step| &step.key));
            mfp = mfp.project(columns.iter().map(|c| place[c]));
            mfp.prune();
        }
        let before = self.plan.is_before(start, step.input);
        let lookup = Lookup { input, layout, right: right.node, before };
        let node = self.builder.add(Node::HalfJoin { lookup, mfp });
        Ok(Prefix { node, columns, progress })
    }

    fn fewest(
        &mut self,
        start: usize,
        prefix: Prefix,
        options: &[Vec<Step>],
        rest: &[Extension],
    ) -> Result<Prefix> {
        let width = prefix.columns.len();
        let mut types = self.types(&prefix.columns);
        let mut input = prefix.node;
        for (option, step) in (0..).zip(options.iter().filter_map(|steps| steps.first())) {
            let right = self.looked_up(step)?.node;
            let Arrangement { key, mode, key_types, .. } = self.keyed(&prefix.columns, step);
            let layout = keyed_as(&types, key, mode, Some(key_types));
            let before = self.plan.is_before(start, step.input);
            let lookup = Lookup { input, layout, right, before };
            input = self.builder.add(Node::Fewest { lookup, option });
            if option == 0 {
                types.extend(Node::FEWEST_TYPES);
            }
        }
        let mut branches = Vec::new();
        for (option, steps) in (0..).zip(options) {
            let chosen = Expr::literal(Datum::Int4(option), ScalarType::Int4);
            let is_chosen = Expr::equal(ScalarType::Int4, Expr::Column(width + 1), chosen)
                .ok_or_else(|| Error::internal("integers have an equality"))?;
            let mfp = Mfp::identity(types.len()).filter([is_chosen]).project(0..width);
            let node = self.builder.mfp(input, || types.clone(), mfp);
            let mut branch = Prefix { node, ..prefix.clone() };
            for (at, step) in steps.iter().enumerate() {
                let later = Later { steps: &steps[at + 1..], rest };
                branch = self.lookup(start, branch, step, later)?;
            }
            branches.push(branch);
        }
        let inputs = branches.iter().map(|branch| branch.node).collect();
        let node = self.builder.add(Node::Union { inputs });
        let last = branches.pop().ok_or_else(|| Error::internal("a choice has options"))?;
        Ok(Prefix { node, ..last })
    }
}
