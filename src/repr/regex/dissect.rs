//! What the groups of a match hold, by PostgreSQL's rules.
//!
//! The whole match is known. Its parts divide it among them: of a sequence, each in turn takes as
//! much, or as little, as it wants and the others can live with; of alternatives, the first that
//! matches the whole span is taken; of repetitions that may be none, each takes what it wants as a
//! sequence's part does, and of others, all but the last take what they want together. The last
//! one's groups remain.
//!
//! The ends that a part can reach from a place are computed once and kept. Work is bounded: beyond
//! that the expression is too complex, as PostgreSQL says when it gives up.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::rc::Rc;

use regex_automata::util::look::{Look, LookMatcher};

use crate::error::Error;
use crate::repr::regex::fault::Fault;
use crate::repr::regex::program::Groups;
use crate::repr::regex::syntax::{Node, Repeat, Wants};

/// How many ends may be looked at.
const WORK_MAX: usize = 20_000_000;

type Ends = Rc<BTreeSet<usize>>;

/// What the groups of an expression hold, whose match is `whole`.
pub(super) fn dissect(
    node: &Node,
    groups: usize,
    text: &str,
    whole: Range<usize>,
) -> Result<Groups, Error> {
    let mut dissection = Dissection {
        text,
        looks: LookMatcher::new(),
        ends: HashMap::new(),
        work: 0,
        groups: vec![None; groups + 1],
    };
    dissection.divide(node, whole.clone())?;
    dissection.groups[0] = Some(whole);
    Ok(dissection.groups)
}

struct Dissection<'t> {
    text: &'t str,
    looks: LookMatcher,
    /// By part, which is known by where it lies, and place.
    ends: HashMap<(*const Node, usize), Ends>,
    work: usize,
    groups: Groups,
}

impl Dissection<'_> {
    fn spend(&mut self, work: usize) -> Result<(), Error> {
        self.work += work;
        if self.work > WORK_MAX { Err(Fault::TooComplex.into()) } else { Ok(()) }
    }

    /// Where a part can end that starts at a place.
    fn ends(&mut self, node: &Node, at: usize) -> Result<Ends, Error> {
        let key = (std::ptr::from_ref(node), at);
        if let Some(ends) = self.ends.get(&key) {
            return Ok(Rc::clone(ends));
        }
        let ends = Rc::new(self.compute_ends(node, at)?);
        self.spend(1 + ends.len())?;
        self.ends.insert(key, Rc::clone(&ends));
        Ok(ends)
    }

    fn compute_ends(&mut self, node: &Node, at: usize) -> Result<BTreeSet<usize>, Error> {
        Ok(match node {
            Node::Empty => [at].into(),
            Node::Set(set) => {
                let c = self.text[at..].chars().next();
                let holds = |c: &char| set.iter().any(|r| (r.start()..=r.end()).contains(c));
                c.filter(holds).map(|c| at + c.len_utf8()).into_iter().collect()
            }
            Node::Look(look) => {
                // Both crates count places alike.
                let look = Look::from_repr(look.as_repr());
                let holds = look.is_some_and(|l| self.looks.matches(l, self.text.as_bytes(), at));
                holds.then_some(at).into_iter().collect()
            }
            Node::Group(_, node) => self.ends(node, at)?.as_ref().clone(),
            Node::Choice(nodes) => {
                let mut ends = BTreeSet::new();
                for node in nodes {
                    ends.extend(self.ends(node, at)?.iter());
                }
                ends
            }
            Node::Sequence(nodes) => self.ends_of_sequence(nodes, [at].into())?,
            Node::Repeat(repeat) => self.ends_of_repeat(repeat, repeat.min, repeat.max, at)?,
        })
    }

    fn step(&mut self, node: &Node, from: &BTreeSet<usize>) -> Result<BTreeSet<usize>, Error> {
        let mut ends = BTreeSet::new();
        for at in from {
            let of_one = self.ends(node, *at)?;
            self.spend(1 + of_one.len())?;
            ends.extend(of_one.iter());
        }
        Ok(ends)
    }

    fn ends_of_sequence(
        &mut self,
        nodes: &[Node],
        from: BTreeSet<usize>,
    ) -> Result<BTreeSet<usize>, Error> {
        nodes.iter().try_fold(from, |from, node| self.step(node, &from))
    }

    fn ends_of_repeat(
        &mut self,
        repeat: &Repeat,
        min: u32,
        max: Option<u32>,
        at: usize,
    ) -> Result<BTreeSet<usize>, Error> {
        let mut current = BTreeSet::from([at]);
        for _ in 0..min {
            current = self.step(&repeat.node, &current)?;
        }
        let mut ends = current.clone();
        let mut round = min;
        while !current.is_empty() && max.is_none_or(|max| round < max) {
            current = self.step(&repeat.node, &current)?;
            current.retain(|end| ends.insert(*end));
            round += 1;
        }
        Ok(ends)
    }

    /// Finds the groups in a part that matches a span.
    fn divide(&mut self, node: &Node, span: Range<usize>) -> Result<(), Error> {
        match node {
            Node::Empty | Node::Set(_) | Node::Look(_) => Ok(()),
            Node::Group(index, node) => {
                if let Some(index) = index {
                    self.groups[*index as usize] = Some(span.clone());
                }
                self.divide(node, span)
            }
            Node::Choice(nodes) => {
                for node in nodes {
                    if self.ends(node, span.start)?.contains(&span.end) {
                        return self.divide(node, span);
                    }
                }
                Ok(())
            }
            Node::Sequence(nodes) => self.divide_sequence(nodes, span),
            Node::Repeat(repeat) => self.divide_repeat(repeat, span),
        }
    }

    fn divide_sequence(&mut self, nodes: &[Node], span: Range<usize>) -> Result<(), Error> {
        let mut at = span.start;
        for (i, node) in nodes.iter().enumerate() {
            let rest = &nodes[i + 1..];
            let taken = self.choose(node, node.wants(), at..span.end, |dissection, end| {
                Ok(dissection.ends_of_sequence(rest, [end].into())?.contains(&span.end))
            })?;
            let Some(end) = taken else { return Ok(()) };
            self.divide(node, at..end)?;
            at = end;
        }
        Ok(())
    }

    fn divide_repeat(&mut self, repeat: &Repeat, span: Range<usize>) -> Result<(), Error> {
        self.forget_groups(&repeat.node);
        let wants = repeat.wants.or_else(|| repeat.node.wants());
        if repeat.min > 0 {
            return self.divide_last_round(repeat, wants, span);
        }
        if span.is_empty() {
            // A round is made where one without characters can be.
            let ends = self.ends(&repeat.node, span.start)?;
            let can = repeat.max != Some(0) && ends.contains(&span.end);
            return if can { self.divide(&repeat.node, span) } else { Ok(()) };
        }
        let (mut at, mut round) = (span.start, 0);
        while at < span.end {
            round += 1;
            let max = repeat.max.map(|max| max.saturating_sub(round));
            let here = at;
            let taken = self.choose(&repeat.node, wants, at..span.end, |dissection, end| {
                let ends = dissection.ends_of_repeat(repeat, 0, max, end)?;
                Ok(end > here && ends.contains(&span.end))
            })?;
            let Some(end) = taken else { return Ok(()) };
            self.forget_groups(&repeat.node);
            self.divide(&repeat.node, at..end)?;
            at = end;
        }
        Ok(())
    }

    /// Where a round must be made, the rounds before the last are a part of their own, which takes
    /// what it wants first.
    fn divide_last_round(
        &mut self,
        repeat: &Repeat,
        wants: Option<Wants>,
        span: Range<usize>,
    ) -> Result<(), Error> {
        let max = repeat.max.map(|max| max.saturating_sub(1));
        let ends = self.ends_of_repeat(repeat, repeat.min - 1, max, span.start)?;
        let last = self.pick(&ends, wants, span.end, |dissection, start| {
            Ok(dissection.ends(&repeat.node, start)?.contains(&span.end))
        })?;
        last.map_or(Ok(()), |start| self.divide(&repeat.node, start..span.end))
    }

    /// The end that a part takes of those that the rest can live with.
    fn choose(
        &mut self,
        node: &Node,
        wants: Option<Wants>,
        span: Range<usize>,
        fits: impl FnMut(&mut Self, usize) -> Result<bool, Error>,
    ) -> Result<Option<usize>, Error> {
        let ends = self.ends(node, span.start)?;
        self.pick(&ends, wants, span.end, fits)
    }

    fn pick(
        &mut self,
        ends: &BTreeSet<usize>,
        wants: Option<Wants>,
        last: usize,
        mut fits: impl FnMut(&mut Self, usize) -> Result<bool, Error>,
    ) -> Result<Option<usize>, Error> {
        let mut possible: Vec<usize> = ends.range(..=last).copied().collect();
        if wants != Some(Wants::Least) {
            possible.reverse();
        }
        for end in possible {
            self.spend(1)?;
            if fits(self, end)? {
                return Ok(Some(end));
            }
        }
        Ok(None)
    }

    fn forget_groups(&mut self, node: &Node) {
        match node {
            Node::Empty | Node::Set(_) | Node::Look(_) => {}
            Node::Group(index, node) => {
                if let Some(index) = index {
                    self.groups[*index as usize] = None;
                }
                self.forget_groups(node);
            }
            Node::Sequence(nodes) | Node::Choice(nodes) => {
                nodes.iter().for_each(|node| self.forget_groups(node));
            }
            Node::Repeat(repeat) => self.forget_groups(&repeat.node),
        }
    }
}
