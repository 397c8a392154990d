//! Which rules depend on which: the order in which predicates are bound, and the refusal of
//! negation and aggregation through a cycle.
//!
//! Predicates that depend on each other are one *stratum*, a recursion. Within one, rules may only
//! add rows as rows are added; `min` and `max` alone may stand in it, since a lattice's join only
//! ever moves one way. What is negated or aggregated has to be whole before, and so belongs to a
//! stratum before.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Error, Result, SqlState};
use crate::sql::datalog::ast::Rule;

/// Predicates that depend on each other, or one that does not depend on itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stratum {
    /// Their names.
    pub names: Vec<String>,
    /// Whether they depend on themselves.
    pub recursive: bool,
}

/// How one predicate depends on another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Its rows make rows.
    Positive,
    /// Its rows prevent rows.
    Negated,
    /// Its rows are counted.
    Aggregated,
}

/// A dependency, and the place of the atom.
struct Edge {
    to: String,
    kind: Kind,
    position: Option<u32>,
}

/// The dependencies among predicates.
struct Graph<'a> {
    edges: BTreeMap<&'a str, Vec<Edge>>,
}

/// The strata of rules, each behind those that it depends on.
///
/// Errors: 42P19 where a cycle negates or aggregates.
pub fn strata(rules: &[Rule]) -> Result<Vec<Stratum>> {
    let graph = Graph::of(rules);
    let mut walk = Walk::default();
    for name in graph.edges.keys() {
        if !walk.index.contains_key(*name) {
            graph.walk(name, &mut walk);
        }
    }
    for stratum in &walk.found {
        graph.check(stratum)?;
    }
    Ok(walk.found)
}

/// Tarjan's walk, which finds strongly connected parts in the order of their dependencies.
#[derive(Default)]
struct Walk {
    index: BTreeMap<String, usize>,
    low: BTreeMap<String, usize>,
    open: Vec<String>,
    found: Vec<Stratum>,
}

impl<'a> Graph<'a> {
    fn of(rules: &'a [Rule]) -> Graph<'a> {
        let mut edges: BTreeMap<&str, Vec<Edge>> =
            rules.iter().map(|rule| (rule.name.folded.as_str(), vec![])).collect();
        for rule in rules {
            for (atom, negated) in rule.atoms() {
                let Some(to) = atom.bare_name().filter(|to| edges.contains_key(to.as_str())) else {
                    continue;
                };
                let kind = match () {
                    () if negated => Kind::Negated,
                    () if rule.aggregates() => Kind::Aggregated,
                    () => Kind::Positive,
                };
                let edge = Edge { to, kind, position: atom.position };
                edges.entry(rule.name.folded.as_str()).or_default().push(edge);
            }
        }
        Graph { edges }
    }

    fn of_name(&self, name: &str) -> &[Edge] {
        self.edges.get(name).map_or(&[], Vec::as_slice)
    }

    fn walk(&self, name: &str, walk: &mut Walk) {
        let index = walk.index.len();
        walk.index.insert(name.to_owned(), index);
        walk.low.insert(name.to_owned(), index);
        walk.open.push(name.to_owned());
        for edge in self.of_name(name) {
            let reached = match walk.index.get(&edge.to) {
                None => {
                    crate::sql::stack::level(|| self.walk(&edge.to, walk));
                    walk.low.get(&edge.to).copied()
                }
                Some(_) if walk.open.contains(&edge.to) => walk.index.get(&edge.to).copied(),
                Some(_) => None,
            };
            if let (Some(reached), Some(low)) = (reached, walk.low.get_mut(name)) {
                *low = reached.min(*low);
            }
        }
        if walk.low.get(name) == Some(&index) {
            let at = walk.open.iter().position(|open| open == name).unwrap_or(0);
            let names = walk.open.split_off(at);
            let recursive = names.len() > 1 || self.of_name(name).iter().any(|e| e.to == name);
            walk.found.push(Stratum { names, recursive });
        }
    }

    fn check(&self, stratum: &Stratum) -> Result<()> {
        let inside: BTreeSet<&str> = stratum.names.iter().map(String::as_str).collect();
        for name in &stratum.names {
            let worst = self.of_name(name).iter().filter(|edge| inside.contains(edge.to.as_str()));
            let Some(edge) = worst.filter(|e| e.kind != Kind::Positive).max_by_key(|e| e.kind)
            else {
                continue;
            };
            return Err(self.cycle(name, edge, &inside));
        }
        Ok(())
    }

    /// The error of a cycle through a dependency that may not be in one.
    fn cycle(&self, name: &str, edge: &Edge, inside: &BTreeSet<&str>) -> Error {
        let (what, hint) = match edge.kind {
            Kind::Negated => (
                "negation",
                "What is negated has to be whole before: derive it by rules that do not depend on \
                 this one.",
            ),
            _ => (
                "aggregation",
                "What is aggregated has to be whole before; in a cycle only min and max may stand, \
                 as terms of the head by themselves.",
            ),
        };
        let not = if edge.kind == Kind::Negated { "NOT " } else { "" };
        let mut cycle = format!("{name} <- {not}{}", edge.to);
        for step in self.path(&edge.to, name, inside) {
            cycle.push_str(&format!(" <- {step}"));
        }
        Error::new(
            SqlState::INVALID_RECURSION,
            format!("rule \"{name}\" depends on itself through {what}"),
        )
        .with_detail(format!("The cycle is {cycle}."))
        .with_hint(hint)
        .at(edge.position)
    }

    /// The shortest way from one predicate to another, without the first.
    fn path(&self, from: &str, to: &str, inside: &BTreeSet<&str>) -> Vec<String> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut queue = std::collections::VecDeque::from([from]);
        let mut seen = BTreeSet::from([from]);
        while let Some(at) = queue.pop_front() {
            if at == to {
                break;
            }
            for edge in self.of_name(at) {
                let next = edge.to.as_str();
                if inside.contains(next) && seen.insert(next) {
                    before.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        let (mut way, mut at) = (vec![], to);
        while at != from {
            way.push(at.to_owned());
            let Some(previous) = before.get(at) else { break };
            at = previous;
        }
        way.reverse();
        way
    }
}
