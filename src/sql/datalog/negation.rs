//! NOT of more than one atom: a rule of its own for what is negated, and NOT of its atom.
//!
//! `orphan(P) <- package(P), NOT (needs(P, Q), package(Q))` is `orphan(P) <- package(P), NOT n(P)`
//! and `n(P) <- needs(P, Q), package(Q)`. The rule is over the variables that stand outside too;
//! the others are its own. Where nothing inside gives such a variable a value, as in `NOT (needs(P,
//! Q), Q < R)`, what is around it does, inside once more.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use sqlparser::ast;

use crate::sql::datalog::ast::{Argument, HeadTerm, Literal, Name, Rule, Term, Value};
use crate::sql::datalog::body::{declared, names};
use crate::sql::datalog::demand::object;

/// What begins the names of these rules, which no rule can have been given.
const NEGATION: &str = "negation ";

/// What is negated, by the name that its atom has until its rule is known.
pub type Negations = BTreeMap<String, Vec<Literal>>;

/// Whether a predicate is something that is negated.
pub fn is_negation(name: &str) -> bool {
    name.starts_with(NEGATION)
}

/// The name of what is negated at some place.
pub fn name_at(position: Option<u32>) -> String {
    format!("{NEGATION}{}", position.unwrap_or(0))
}

/// Numbers negations in the order in which they stand: the plan of a program does not depend on how
/// its text is spelled.
pub fn number<'r>(rules: impl Iterator<Item = &'r mut Rule>) {
    let mut rules: Vec<&mut Rule> = rules.collect();
    let names = rules.iter().map(|rule| &rule.name.folded).filter(|name| is_negation(name));
    let names = names.enumerate().map(|(n, name)| (name.clone(), format!("{NEGATION}{n:06}")));
    let names: BTreeMap<String, String> = names.collect();
    for rule in &mut rules {
        if let Some(name) = names.get(&rule.name.folded) {
            rule.name.folded.clone_from(name);
        }
        rename(&mut rule.body, &names);
    }
}

fn rename(body: &mut [Literal], names: &BTreeMap<String, String>) {
    for literal in body {
        match literal {
            Literal::Not(atom) => {
                if let Some(name) = atom.bare_name().and_then(|name| names.get(&name)) {
                    atom.name = object(name);
                }
            }
            Literal::Or(branches, _) => branches.iter_mut().for_each(|b| rename(b, names)),
            Literal::Atom(_) | Literal::Equal(..) | Literal::Condition(_) => {}
        }
    }
}

/// A rule whose negations are atoms, behind the rules that those read.
pub fn settled(mut rule: Rule, negations: &mut Negations, out: &mut Vec<Rule>) -> Rule {
    if negations.is_empty() {
        return rule;
    }
    let outside = declared(&rule);
    let given = |literal: &&Literal| matches!(literal, Literal::Atom(_) | Literal::Equal(..));
    let around: Vec<Literal> = rule.body.iter().filter(given).cloned().collect();
    let like = Rule { head: vec![], body: vec![], ..rule.clone() };
    let mut made = vec![];
    settle(&mut rule.body, &mut |atom_name: &str| {
        let inner = negations.remove(atom_name)?;
        let shared = shared(&inner, &outside);
        let args: Vec<Term> = match shared.is_empty() {
            true => vec![one()],
            false => shared.iter().cloned().map(Term::Variable).collect(),
        };
        let has: BTreeSet<String> =
            inner.iter().filter(|l| !matches!(l, Literal::Not(_))).flat_map(names).collect();
        let mut body = match shared.iter().all(|name| has.contains(&name.folded)) {
            true => vec![],
            false => around.clone(),
        };
        body.extend(inner);
        // Names are short: the rule's text stands in it as a number.
        let mut hasher = DefaultHasher::new();
        like.text.hash(&mut hasher);
        let folded = format!("{atom_name} of {:x}", hasher.finish());
        let head = args.iter().cloned();
        let head = head.map(|term| HeadTerm { term, alias: None, lattice: None }).collect();
        let name = Name { folded: folded.clone(), ..like.name.clone() };
        made.push(Rule { name, head, body, ..like.clone() });
        Some((folded, args))
    });
    for negation in made {
        let negation = settled(negation, negations, out);
        out.push(negation);
    }
    rule
}

/// The name and arguments of a negation, by the name that stands for it.
type Settled<'s> = dyn FnMut(&str) -> Option<(String, Vec<Term>)> + 's;

/// Gives the atoms of negations their names and arguments.
fn settle(body: &mut [Literal], of: &mut Settled<'_>) {
    for literal in body {
        match literal {
            Literal::Not(atom) => {
                let Some((name, args)) = atom.bare_name().and_then(|name| of(&name)) else {
                    continue;
                };
                atom.name = object(&name);
                let args = args.into_iter().map(|term| Argument { column: None, term });
                atom.args = args.collect();
            }
            Literal::Or(branches, _) => branches.iter_mut().for_each(|branch| settle(branch, of)),
            Literal::Atom(_) | Literal::Equal(..) | Literal::Condition(_) => {}
        }
    }
}

/// The variables in what is negated that stand outside too, in the order in which they come.
fn shared(inner: &[Literal], outside: &BTreeSet<String>) -> Vec<Name> {
    let mut found: Vec<Name> = vec![];
    let mut words: Vec<&Name> = vec![];
    inner.iter().for_each(|literal| gather(literal, &mut words));
    for word in words {
        let known = found.iter().any(|name| name.folded == word.folded);
        if outside.contains(&word.folded) && !known {
            found.push(word.clone());
        }
    }
    found
}

fn gather<'l>(literal: &'l Literal, words: &mut Vec<&'l Name>) {
    match literal {
        Literal::Atom(atom) | Literal::Not(atom) => {
            words.extend(atom.args.iter().flat_map(|argument| argument.term.words()));
        }
        Literal::Equal(a, b, _) => words.extend(a.words().iter().chain(b.words())),
        Literal::Condition(value) => words.extend(&value.words),
        Literal::Or(branches, _) => {
            branches.iter().flatten().for_each(|literal| gather(literal, words));
        }
    }
}

fn one() -> Term {
    let number = ast::Value::Number("1".to_owned(), false).with_empty_span();
    let expr = ast::Expr::Value(number);
    Term::Value(Box::new(Value { expr, words: vec![], aggregates: false, position: None }))
}
