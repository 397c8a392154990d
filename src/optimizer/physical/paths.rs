//! Joins without intermediate arrangements: which way the changes of each input go.
//!
//! A change of one input is joined with the others by looking up its matches in one arrangement
//! after the other; each input has such a path, and their sum is the change of the join. When
//! several inputs change at the same time, a pair of changes must be counted once: inputs have
//! ranks, and a path sees the changes of lower ones at that time and not those of higher ones.
//!
//! A path is **fixed** (a delta join), or **adaptive** (worst-case optimal): then where several
//! inputs bind the same new value, each row goes on with the input that has the fewest matches
//! for it, and the others check what that one proposed. In a triangle no edge is then extended by
//! the many neighbours of a hub where the other end has few. Rows are proposed whole, so the bound
//! holds where an input binds one value at a time, as edges do; an input that binds several at once
//! extends a row by all of them.
//!
//! Which plan is taken ([`JoinStrategy::Auto`]):
//!
//! - adaptive paths, where the equalities are cyclic and no order follows unique keys alone (then
//!   the rows between could not outgrow the input that it begins with);
//! - fixed paths, for three inputs or more that are maintained, where they need no more new
//!   arrangements of inputs than a linear plan does; and none where an input is small, since a
//!   linear plan begins with it and reads nothing else;
//! - otherwise a linear plan. So it is inside loops: there times are not totally ordered, and
//!   "before" is not one moment.
//!
//! What can fail is computed at the end of a path or before it begins. In between, the errors of
//! one path would not be taken back by the changes of another.

use std::collections::BTreeSet;

use crate::expr::scalar::Expr;
use crate::optimizer::physical::build::{Builder, peel};
use crate::optimizer::physical::join_order::{Candidate, Part, Problem, Step};
use crate::optimizer::physical::lower::Want;
use crate::optimizer::substitute::{is_free, moved};
use crate::plan::relation::Relation;

/// More inputs than this are joined in a linear plan, since paths grow with their square.
const FIXED_MAX: usize = 8;
const ADAPTIVE_MAX: usize = 10;

/// How joins are planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JoinStrategy {
    /// As it seems best.
    #[default]
    Auto,
    /// A chain of joins of two.
    Linear,
    /// A fixed path for the changes of each input.
    Delta,
    /// An adaptive path for the changes of each input.
    WorstCaseOptimal,
}

/// A way of the changes of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Which input's.
    pub start: usize,
    /// The others.
    pub steps: Vec<Extension>,
}

/// A part of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Extension {
    /// The rows of one input.
    One(Step),
    /// The first of those lookups that has the fewest matches, and then the others behind it.
    Fewest(Vec<Vec<Step>>),
}

impl Extension {
    /// The lookups that begin it.
    pub fn first(&self) -> Vec<&Step> {
        match self {
            Extension::One(step) => vec![step],
            Extension::Fewest(options) => options.iter().filter_map(|o| o.first()).collect(),
        }
    }

    /// All its lookups.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        let (one, many) = match self {
            Extension::One(step) => (Some(step), None),
            Extension::Fewest(options) => (None, Some(options.iter().flatten())),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }
}

/// The paths of a join.
pub struct Paths {
    /// The inputs, with the arrangements that paths can use.
    pub candidates: Vec<Candidate>,
    /// The paths; only one where all changes come at the same time.
    pub paths: Vec<Path>,
    /// The input with the highest rank; the others are ranked by position.
    pub last: usize,
}

impl Paths {
    /// Whether a path does not see the changes of an input at the time of its own.
    pub fn is_before(&self, start: usize, input: usize) -> bool {
        let rank = |input: usize| (input == self.last, input);
        rank(input) > rank(start)
    }
}

impl Builder<'_> {
    /// The paths of a join, where it is not to have a linear plan.
    pub(super) fn paths(&self, problem: &Problem<'_>, inputs: &[Relation]) -> Option<Paths> {
        let free = problem.classes.iter().flat_map(|class| &class.exprs).all(is_free);
        if self.strategy == JoinStrategy::Linear || self.around.is_some() || !free {
            return None;
        }
        let candidates = problem.inputs.iter().zip(inputs).map(|(candidate, input)| {
            let mut candidate = candidate.clone();
            if peel(input).1.is_fallible() {
                candidate.arrangements.clear();
            }
            candidate
        });
        let candidates: Vec<Candidate> = candidates.collect();
        let planner = Planner {
            problem: &Problem { inputs: &candidates, ..*problem },
            inputs,
            shape: Shape::of(problem),
        };
        let once = self.want == Want::Peek;
        let adaptive = match self.strategy {
            JoinStrategy::Linear => return None,
            JoinStrategy::Delta => false,
            JoinStrategy::WorstCaseOptimal => true,
            JoinStrategy::Auto if planner.is_hard() => true,
            JoinStrategy::Auto if !once && planner.is_served() => false,
            JoinStrategy::Auto => return None,
        };
        let mut paths = planner.all(adaptive);
        let last = problem.solve().start;
        if once {
            // All rows come at one time, at which the highest input sees the others whole.
            paths.retain(|path| path.start == last);
        }
        Some(Paths { candidates, paths, last })
    }
}

struct Planner<'a> {
    problem: &'a Problem<'a>,
    inputs: &'a [Relation],
    shape: Shape,
}

impl Planner<'_> {
    fn all(&self, adaptive: bool) -> Vec<Path> {
        (0..self.inputs.len()).map(|start| self.path(start, adaptive)).collect()
    }

    /// Whether the equalities are cyclic, and rows between can become many.
    fn is_hard(&self) -> bool {
        let count = self.inputs.len();
        (3..=ADAPTIVE_MAX).contains(&count) && self.shape.is_cyclic() && !self.is_bounded()
    }

    /// Whether from some input on all others can be found by unique keys.
    fn is_bounded(&self) -> bool {
        let count = self.inputs.len();
        (0..count).any(|start| {
            let mut there = BTreeSet::from([start]);
            let next = |there: &BTreeSet<usize>| {
                let rest = (0..count).filter(|i| !there.contains(i));
                let is_unique =
                    |i: &usize| self.problem.is_unique(*i, &self.problem.parts(there, *i));
                rest.into_iter().find(is_unique)
            };
            while let Some(found) = next(&there) {
                there.insert(found);
            }
            there.len() == count
        })
    }

    /// Whether fixed paths need no more new arrangements than a linear plan.
    fn is_served(&self) -> bool {
        let inputs = self.problem.inputs;
        if !(3..=FIXED_MAX).contains(&inputs.len()) || inputs.iter().any(|i| i.breadth == 0) {
            return false;
        }
        let paths = self.all(false);
        let steps = || paths.iter().flat_map(|path| &path.steps).flat_map(Extension::steps);
        if steps().any(|step| step.key.is_empty()) {
            return false;
        }
        // Equal inputs, arranged by the same, are arranged once.
        let mut made: Vec<(&Relation, Vec<Expr>)> = Vec::new();
        for step in steps().filter(|step| step.right.is_none()) {
            let start = inputs[step.input].columns.start;
            let local = |part: &Part| moved(&part.right, |c| c - start);
            let arrangement = (&self.inputs[step.input], step.key.iter().map(local).collect());
            if !made.contains(&arrangement) {
                made.push(arrangement);
            }
        }
        let order = self.problem.solve();
        let first = order.steps.first().is_some_and(|step| step.left.is_none());
        let linear = order.steps.iter().filter(|step| step.right.is_none()).count();
        made.len() <= linear + usize::from(first)
    }

    fn path(&self, start: usize, adaptive: bool) -> Path {
        let mut there = BTreeSet::from([start]);
        let mut steps = Vec::new();
        while there.len() < self.inputs.len() {
            if adaptive && let Some(options) = self.fewest(&there) {
                there.extend(options.iter().flatten().map(|step| step.input));
                steps.push(Extension::Fewest(options));
                continue;
            }
            let rest = (0..self.inputs.len()).filter(|i| !there.contains(i));
            let possible = rest.map(|input| self.problem.lookup(&there, input, adaptive));
            let open = |step: &Step| adaptive && !self.shape.is_bound(&there, step.input);
            let best = possible.min_by_key(|s| (open(s), self.problem.preference(s)));
            let Some(step) = best else { break };
            there.insert(step.input);
            steps.push(Extension::One(step));
        }
        Path { start, steps }
    }

    /// The inputs that bind the same new value, where there are several: for each of them the
    /// lookups of all, with its own first. None if there is an input that binds no new one.
    fn fewest(&self, there: &BTreeSet<usize>) -> Option<Vec<Vec<Step>>> {
        let bound = self.shape.classes_of(there);
        let rest = || (0..self.inputs.len()).filter(|i| !there.contains(i));
        let joined = |i: &usize| !self.shape.0[*i].is_disjoint(&bound);
        if rest().filter(joined).any(|i| self.shape.0[i].is_subset(&bound)) {
            return None;
        }
        let binding = |class: usize| -> Vec<usize> {
            let only = |i: &usize| {
                let mut new = self.shape.0[*i].difference(&bound);
                new.next() == Some(&class) && new.next().is_none()
            };
            rest().filter(joined).filter(only).collect()
        };
        let classes = (0..self.problem.classes.len()).filter(|class| !bound.contains(class));
        let together = classes.map(binding).filter(|inputs| inputs.len() > 1);
        let together =
            together.max_by_key(|inputs| (inputs.len(), std::cmp::Reverse(inputs[0])))?;
        let option = |first: &usize| {
            let mut there = there.clone();
            let others = together.iter().filter(|i| *i != first);
            let steps = std::iter::once(first).chain(others).map(|input| {
                let step = self.problem.lookup(&there, *input, true);
                there.insert(*input);
                step
            });
            steps.collect()
        };
        Some(together.iter().map(option).collect())
    }
}

/// For each input the classes of which it has an expression of its own.
struct Shape(Vec<BTreeSet<usize>>);

impl Shape {
    fn of(problem: &Problem<'_>) -> Shape {
        let of_input = |input: &Candidate| {
            let own = |e: &Expr| {
                let columns = e.columns();
                !columns.is_empty() && columns.iter().all(|c| input.columns.contains(c))
            };
            let classes = problem.classes.iter().enumerate();
            classes.filter(|(_, class)| class.exprs.iter().any(own)).map(|(at, _)| at).collect()
        };
        Shape(problem.inputs.iter().map(of_input).collect())
    }

    fn classes_of(&self, inputs: &BTreeSet<usize>) -> BTreeSet<usize> {
        inputs.iter().flat_map(|i| self.0[*i].iter().copied()).collect()
    }

    /// Whether an input has no class that the others do not have.
    fn is_bound(&self, there: &BTreeSet<usize>, input: usize) -> bool {
        self.0[input].is_subset(&self.classes_of(there))
    }

    /// Whether something is left when, as long as there are such, classes of one input are taken
    /// away, and inputs whose classes another one has (Graham, Yu and Özsoyoğlu).
    fn is_cyclic(&self) -> bool {
        let mut edges = self.0.clone();
        loop {
            let before = (edges.len(), edges.iter().map(BTreeSet::len).sum::<usize>());
            let all = edges.clone();
            let uses = |class: &usize| all.iter().filter(|edge| edge.contains(class)).count();
            edges.iter_mut().for_each(|edge| edge.retain(|class| uses(class) > 1));
            let covered = |edges: &[BTreeSet<usize>], at: usize| {
                let others = edges.iter().enumerate().filter(|(other, _)| *other != at);
                others.into_iter().any(|(_, edge)| edges[at].is_subset(edge))
            };
            if let Some(at) = (0..edges.len()).find(|at| covered(&edges, *at)) {
                edges.remove(at);
            }
            if before == (edges.len(), edges.iter().map(BTreeSet::len).sum::<usize>()) {
                return edges.len() > 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(edges: &[&[usize]]) -> Shape {
        Shape(edges.iter().map(|edge| edge.iter().copied().collect()).collect())
    }

    #[test]
    fn cycles_are_told_from_trees() {
        assert!(!shape(&[&[0], &[0, 1], &[1]]).is_cyclic());
        assert!(!shape(&[&[0, 1], &[0, 1]]).is_cyclic());
        assert!(!shape(&[&[0, 1], &[1, 2], &[0, 2], &[0, 1, 2]]).is_cyclic());
        assert!(!shape(&[&[], &[]]).is_cyclic());
        assert!(shape(&[&[0, 1], &[1, 2], &[0, 2]]).is_cyclic());
        assert!(shape(&[&[0, 1], &[1, 2], &[2, 3], &[3, 0], &[3, 4]]).is_cyclic());
    }
}
