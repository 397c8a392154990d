//! Demand: of a recursion only what a query asks for is derived (magic sets).
//!
//! Where an atom's argument has a value before the atom is looked at (a constant, or a variable
//! that something selective has bound), only the rows with that value are wanted. Such an atom
//! reads a copy of the predicate whose rules are joined with a new predicate, the *demand*: the
//! values that are asked for. It begins with the constants and grows by rules of its own, since
//! what is asked of a rule is asked of its body: `path(1, Y)` asks of `path(X, Y), edge(Y, Z)` for
//! `path` of 1, and of `edge(X, Y), path(Y, Z)` for `path` of what follows 1.
//!
//! Invariants:
//! * What is demanded of a predicate is a key of whole groups: a term that is aggregated is never
//!   demanded, so a group that is there at all is complete.
//! * Negated atoms read the whole predicate.
//! * A copy binds no variable by its demand, which stands last in the body, so that its columns
//!   have the types that they had.
//! * NULL is never wanted: an argument is matched by `=`.
//!
//! It is given up, and the program bound as it was written, where a recursion would be needed whole
//! as well, and where demand would close a cycle through an aggregate that was none: a lattice may
//! only be in a cycle with what it was in one with before.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast;

use crate::repr::ColumnType;
use crate::sql::datalog::ast::{Argument, Atom, HeadTerm, Literal, Name, Rule, Term, Value};
use crate::sql::datalog::body::{declared, places, ways};
use crate::sql::datalog::strata::{Stratum, strata};

/// A predicate and which of its columns have a value.
type Asked = (String, Vec<bool>);

/// What is known of the predicates of a program.
pub struct Facts<'a> {
    /// Its strata.
    pub strata: &'a [Stratum],
    /// The types of a predicate's columns.
    pub types: &'a dyn Fn(&str) -> Option<Vec<ColumnType>>,
    /// Their names.
    pub names: &'a dyn Fn(&str) -> Option<Vec<String>>,
    /// Whether a constant is one of a type, or becomes one by itself.
    pub fits: &'a mut dyn FnMut(&Value, ColumnType) -> bool,
}

/// A program on its way to one that derives what is asked for.
struct Demand<'r, 'f, 'a> {
    rules: BTreeMap<&'r str, Vec<Rule>>,
    facts: &'f mut Facts<'a>,
    /// The predicates of recursions.
    recursive: BTreeSet<String>,
    /// Those, and all that depend on them.
    deep: BTreeSet<String>,
    /// The copies, by number.
    made: BTreeMap<Asked, usize>,
    todo: Vec<Asked>,
    out: Vec<Rule>,
    /// The recursions that are needed whole.
    whole: BTreeSet<String>,
}

/// The rules and the query with demand; none where there is nothing to be gained. `given`: an
/// atom of the query that stands before all others.
pub fn demanded(
    rules: &[Rule],
    find: &Rule,
    given: Option<&Atom>,
    facts: &mut Facts<'_>,
) -> Option<(Vec<Rule>, Rule)> {
    let recursive: BTreeSet<String> =
        facts.strata.iter().filter(|s| s.recursive).flat_map(|s| s.names.clone()).collect();
    if recursive.is_empty() {
        return None;
    }
    let mut deep = recursive.clone();
    for stratum in facts.strata {
        let reads = |rule: &&Rule| {
            stratum.names.contains(&rule.name.folded)
                && rule
                    .atoms()
                    .iter()
                    .any(|(a, _)| a.bare_name().is_some_and(|n| deep.contains(&n)))
        };
        if rules.iter().any(|rule| reads(&rule)) {
            deep.extend(stratum.names.iter().cloned());
        }
    }
    let mut by_name: BTreeMap<&str, Vec<Rule>> = BTreeMap::new();
    for rule in rules {
        let ways = alternatives(&positional(rule, facts))?;
        by_name.entry(&rule.name.folded).or_default().extend(ways);
    }
    let find = &positional(find, facts);
    let mut demand = Demand {
        rules: by_name,
        facts,
        recursive,
        deep,
        made: BTreeMap::new(),
        todo: vec![],
        out: rules.to_vec(),
        whole: BTreeSet::new(),
    };
    let find = demand.rule(find, given.cloned())?;
    while let Some((name, bound)) = demand.todo.pop() {
        demand.copy(&name, &bound)?;
    }
    let asks = demand.made.keys().any(|(_, bound)| bound.contains(&true));
    let both = demand.made.keys().any(|(name, _)| demand.whole.contains(name));
    if !asks || both || !demand.keeps_lattices()? {
        return None;
    }
    Some((demand.out, find))
}

/// The rule with the arguments of each predicate in their places, whether they are named or not.
fn positional(rule: &Rule, facts: &Facts<'_>) -> Rule {
    Rule { body: in_places(&rule.body, facts), ..rule.clone() }
}

fn in_places(literals: &[Literal], facts: &Facts<'_>) -> Vec<Literal> {
    let placed = |atom: &Atom| {
        let names = (facts.names)(&atom.bare_name()?)?;
        let wildcard = || Argument { column: None, term: Term::Wildcard(atom.position) };
        let mut args: Vec<Argument> = names.iter().map(|_| wildcard()).collect();
        for (argument, place) in atom.args.iter().zip(places(atom, &names).ok()?) {
            args[place].term = argument.term.clone();
        }
        Some(Atom { args, ..atom.clone() })
    };
    let literal = |literal: &Literal| match literal {
        Literal::Atom(atom) => placed(atom).map_or_else(|| literal.clone(), Literal::Atom),
        Literal::Or(branches, position) => {
            let branches = branches.iter().map(|branch| in_places(branch, facts)).collect();
            Literal::Or(branches, *position)
        }
        other => other.clone(),
    };
    literals.iter().map(literal).collect()
}

/// A rule for each way through the ORs of one, where it does not aggregate what they derive
/// together.
fn alternatives(rule: &Rule) -> Option<Vec<Rule>> {
    if rule.aggregates() {
        return Some(vec![rule.clone()]);
    }
    let ways = ways(&rule.body).ok()?;
    let of = |way: Vec<&Literal>| Rule { body: way.into_iter().cloned().collect(), ..rule.clone() };
    Some(ways.into_iter().map(of).collect())
}

impl Demand<'_, '_, '_> {
    /// The rules of a copy.
    fn copy(&mut self, name: &str, bound: &[bool]) -> Option<()> {
        let asked = (name.to_owned(), bound.to_vec());
        let number = *self.made.get(&asked)?;
        for rule in self.rules.get(name)?.clone() {
            let given = bound.contains(&true).then(|| demand_atom(&rule, number, bound));
            let mut copied = self.rule(&rule, given)?;
            copied.name.folded = copy_name(number);
            self.out.push(copied);
        }
        Some(())
    }

    /// A rule that reads copies, joined with the demand for it.
    fn rule(&mut self, rule: &Rule, demand: Option<Atom>) -> Option<Rule> {
        let declared = declared(rule);
        let mut known: BTreeSet<String> = BTreeSet::new();
        if let Some(atom) = &demand {
            known.extend(atom.args.iter().flat_map(|argument| variable(&argument.term)));
        }
        // What asks for more is bound by less: of a computed term nothing is known there.
        let asking = demand.clone().map(|mut atom| {
            for argument in &mut atom.args {
                if matches!(argument.term, Term::Value(_))
                    && !term_is_constant(&argument.term, &declared)
                {
                    argument.term = Term::Wildcard(argument.term.position());
                }
            }
            Literal::Atom(atom)
        });
        let demand = demand.map(Literal::Atom);
        let mut left: Vec<Literal> = rule.body.clone();
        let mut done: Vec<Literal> = vec![];
        while let Some(at) = self.next(&left, &known, &declared) {
            let literal = left.remove(at);
            let bound = variables(&literal);
            done.push(match literal {
                Literal::Atom(atom) if self.is_deep(&atom) => {
                    let before = [done.as_slice(), asking.as_slice()].concat();
                    Literal::Atom(self.asked(rule, atom, &known, &declared, before)?)
                }
                other => other,
            });
            known.extend(bound);
        }
        for literal in left {
            done.push(match literal {
                Literal::Atom(atom) if self.is_deep(&atom) => Literal::Atom(self.free(atom)?),
                other => {
                    self.need_whole(&other);
                    other
                }
            });
        }
        done.extend(demand);
        Some(Rule { body: done, ..rule.clone() })
    }

    /// The next literal that is selective, those that are at hand first.
    fn next(
        &self,
        left: &[Literal],
        known: &BTreeSet<String>,
        declared: &BTreeSet<String>,
    ) -> Option<usize> {
        let is_known = |term: &Term| has_value(term, known, declared);
        let rank = |literal: &Literal| match literal {
            Literal::Equal(a, b, _) => {
                let gives =
                    |to: &Term, from: &Term| matches!(to, Term::Variable(_)) && is_known(from);
                (gives(a, b) || gives(b, a)).then_some(0)
            }
            Literal::Atom(atom) if atom.args.iter().any(|arg| is_known(&arg.term)) => {
                Some(if self.is_deep(atom) { 2 } else { 1 })
            }
            _ => None,
        };
        let ranked = left.iter().enumerate().filter_map(|(at, l)| Some((rank(l)?, at)));
        ranked.min().map(|(_, at)| at)
    }

    fn is_deep(&self, atom: &Atom) -> bool {
        atom.bare_name().is_some_and(|name| self.deep.contains(&name))
    }

    /// An atom that reads a copy for what has a value, and the rule that asks for that.
    fn asked(
        &mut self,
        rule: &Rule,
        atom: Atom,
        known: &BTreeSet<String>,
        declared: &BTreeSet<String>,
        before: Vec<Literal>,
    ) -> Option<Atom> {
        let name = atom.bare_name()?;
        let keys = self.keys(&name)?;
        let types = (self.facts.types)(&name)?;
        let (mut bound, mut terms, mut wanted) = (vec![], vec![], vec![]);
        for ((argument, key), ty) in atom.args.iter().zip(keys).zip(types) {
            let term = &argument.term;
            let constant = match term {
                Term::Value(value) if term_is_constant(term, declared) => Some(value),
                _ => None,
            };
            let fits = constant.is_none_or(|value| (self.facts.fits)(value, ty));
            let is_bound = key && fits && has_value(term, known, declared);
            bound.push(is_bound);
            if is_bound {
                terms.push(HeadTerm { term: term.clone(), alias: None, lattice: None });
                wanted.push(constant.map(|_| ColumnType { nullable: true, ..ty }));
            }
        }
        if !bound.contains(&true) {
            return self.free(atom);
        }
        let number = self.number((name, bound));
        let named = Name { folded: demand_name(number), ..rule.name.clone() };
        let asks = Rule { name: named, head: terms, body: before, types: wanted, ..rule.clone() };
        if !repeats(&asks) {
            self.out.push(asks);
        }
        Some(Atom { name: object(&copy_name(number)), ..atom })
    }

    /// An atom of which nothing has a value: a recursion whole, a copy of what is none.
    fn free(&mut self, atom: Atom) -> Option<Atom> {
        let name = atom.bare_name()?;
        if self.recursive.contains(&name) {
            self.whole.insert(name);
            return Some(atom);
        }
        let arity = self.rules.get(name.as_str())?.first()?.head.len();
        let number = self.number((name, vec![false; arity]));
        Some(Atom { name: object(&copy_name(number)), ..atom })
    }

    /// Notes what is read whole where nothing is known of it.
    fn need_whole(&mut self, literal: &Literal) {
        match literal {
            Literal::Atom(atom) if self.is_deep(atom) => self.whole.extend(atom.bare_name()),
            Literal::Or(branches, _) => {
                branches.iter().flatten().for_each(|literal| self.need_whole(literal));
            }
            _ => {}
        }
    }

    fn number(&mut self, asked: Asked) -> usize {
        if let Some(number) = self.made.get(&asked) {
            return *number;
        }
        let number = self.made.len();
        self.todo.push(asked.clone());
        self.made.insert(asked, number);
        number
    }

    /// For each column of a predicate whether it tells groups apart in all of its rules.
    fn keys(&self, name: &str) -> Option<Vec<bool>> {
        let rules = self.rules.get(name)?;
        let is_key = |at: usize| {
            rules.iter().all(|rule| match rule.head.get(at) {
                Some(HeadTerm { lattice: None, term: Term::Value(value), .. }) => !value.aggregates,
                Some(HeadTerm { lattice, .. }) => lattice.is_none(),
                None => false,
            })
        };
        Some((0..rules.first()?.head.len()).map(is_key).collect())
    }

    /// Whether each lattice is in a cycle only with what it was in one with before.
    fn keeps_lattices(&self) -> Option<bool> {
        let mut origin: BTreeMap<String, &str> = BTreeMap::new();
        for ((name, _), number) in &self.made {
            origin.insert(copy_name(*number), name);
        }
        let folds = |name: &str| {
            let rules = self.rules.get(name);
            rules.is_some_and(|rules| {
                rules.iter().any(|r| r.aggregates() || r.head.iter().any(|h| h.lattice.is_some()))
            })
        };
        let stratum = |name: &str| {
            self.facts.strata.iter().position(|s| s.names.iter().any(|other| other == name))
        };
        for cycle in strata(&self.out).ok()? {
            let names: Vec<&str> =
                cycle.names.iter().filter_map(|name| origin.get(name).copied()).collect();
            let before: BTreeSet<_> = names.iter().map(|name| stratum(name)).collect();
            if before.len() > 1 && names.iter().any(|name| folds(name)) {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// The atom of the demand for a copy, with the terms of a rule's head.
fn demand_atom(rule: &Rule, number: usize, bound: &[bool]) -> Atom {
    let terms = rule.head.iter().zip(bound).filter(|(_, bound)| **bound);
    let args = terms.map(|(head, _)| Argument { column: None, term: head.term.clone() });
    Atom {
        name: object(&demand_name(number)),
        args: args.collect(),
        call: None,
        text: rule.text.clone(),
        position: rule.name.position,
    }
}

/// Whether a rule derives what it reads: `demand(X) <- demand(X)`.
fn repeats(rule: &Rule) -> bool {
    let [Literal::Atom(atom)] = rule.body.as_slice() else { return false };
    let same = |head: &HeadTerm, argument: &Argument| {
        matches!((&head.term, &argument.term),
            (Term::Variable(a), Term::Variable(b)) if a.folded == b.folded)
    };
    atom.bare_name().as_ref() == Some(&rule.name.folded)
        && rule.head.iter().zip(&atom.args).all(|(head, argument)| same(head, argument))
}

fn variable(term: &Term) -> Option<String> {
    match term {
        Term::Variable(name) => Some(name.folded.clone()),
        _ => None,
    }
}

/// The variables that a literal gives values to.
fn variables(literal: &Literal) -> Vec<String> {
    match literal {
        Literal::Atom(atom) => atom.args.iter().filter_map(|arg| variable(&arg.term)).collect(),
        Literal::Equal(a, b, _) => [a, b].into_iter().filter_map(variable).collect(),
        _ => vec![],
    }
}

/// Whether a term is the same for all rows.
pub fn term_is_constant(term: &Term, declared: &BTreeSet<String>) -> bool {
    matches!(term, Term::Value(value) if !value.aggregates)
        && !term.words().iter().any(|name| declared.contains(&name.folded))
}

fn has_value(term: &Term, known: &BTreeSet<String>, declared: &BTreeSet<String>) -> bool {
    let open = |name: &Name| declared.contains(&name.folded) && !known.contains(&name.folded);
    !matches!(term, Term::Wildcard(_)) && !term.words().iter().any(open)
}

/// Whether a predicate is a demand.
pub fn is_demand(name: &str) -> bool {
    name.starts_with(DEMAND)
}

/// Whether a predicate is a copy.
pub fn is_copy(name: &str) -> bool {
    name.starts_with(COPY)
}

/// A name as an atom has it.
pub fn object(name: &str) -> ast::ObjectName {
    ast::ObjectName::from(vec![ast::Ident::with_quote('"', name)])
}

/// The name of a copy, which no rule can have been given.
fn copy_name(number: usize) -> String {
    format!("{COPY}{number}")
}

const COPY: &str = "copy ";

/// The name of the demand for a copy.
fn demand_name(number: usize) -> String {
    format!("{DEMAND}{number}")
}

const DEMAND: &str = "demand ";
