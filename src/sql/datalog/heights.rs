//! The heights of facts: in which round of a recursion each appears at the earliest.
//!
//! A fact's height is one more than the greatest height of the recursive facts that one instance
//! of a rule derives it from, and of all instances the least: a recursion with a lattice, which the
//! rules here derive beside the one that they are made of. What a lattice's recursion derives on
//! its way to its values is not among its facts, so its heights are those of the values alone: the
//! recursion is whole before, and only what is in it gets a height.

use std::collections::BTreeMap;

use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;

use crate::error::{Error, Result};
use crate::sql::datalog::ast::{
    Argument, Atom, Extreme, HeadTerm, Literal, Name, Rule, Term, Value,
};
use crate::sql::datalog::body::ways;
use crate::sql::datalog::demand::{is_demand, object};
use crate::sql::datalog::head::lattice_of;
use crate::sql::datalog::shown::derived;
use crate::sql::datalog::strata::Stratum;

/// The name of the column that has the height.
const COLUMN: &str = "height of a fact";

/// The rules that derive heights.
pub struct Heights {
    /// These.
    pub rules: Vec<Rule>,
    /// The predicates that have heights, and the strata that they are in.
    pub strata: BTreeMap<String, usize>,
}

/// What becomes of the column for the height in an atom.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Height {
    /// It has a variable.
    Named,
    /// Nothing is said of it.
    Any,
}

/// The name of the predicate that has the facts of another with their heights.
pub fn with_height(predicate: &str) -> String {
    format!("height of {predicate}")
}

/// A name that nobody wrote.
pub fn made(name: impl Into<String>) -> Name {
    let folded = name.into();
    Name { written: folded.clone(), folded, position: None }
}

/// A variable that nobody wrote, as an expression.
fn identifier(name: &str) -> ast::Expr {
    ast::Expr::Identifier(ast::Ident::with_quote('"', name))
}

impl Heights {
    /// The heights of the recursions of a program.
    ///
    /// Errors: 0A000 where a lattice is of a kind that has none.
    pub fn of(rules: &[Rule], strata: &[Stratum]) -> Result<Heights> {
        let mut heights = Heights { rules: vec![], strata: BTreeMap::new() };
        for (number, stratum) in strata.iter().enumerate().filter(|(_, s)| s.recursive) {
            let names = stratum.names.iter().filter(|name| !is_demand(name));
            heights.strata.extend(names.map(|name| (name.clone(), number)));
        }
        let recursive = rules.iter().filter(|r| heights.strata.contains_key(&r.name.folded));
        let mut made = vec![];
        for (at, rule) in recursive.enumerate() {
            made.extend(heights.of_rule(rule, rules, at)?);
        }
        heights.rules = made;
        Ok(heights)
    }

    fn of_rule(&self, rule: &Rule, rules: &[Rule], number: usize) -> Result<Vec<Rule>> {
        let own = rules.iter().filter(|other| other.name.folded == rule.name.folded);
        let lattice = lattice_of(own)?;
        let folds = |head: &HeadTerm| matches!(&head.term, Term::Value(v) if v.aggregates);
        if lattice.is_none() && rule.head.iter().any(folds) {
            return self.of_groups(rule, number);
        }
        let stratum = self.strata.get(&rule.name.folded).copied();
        let mut out = vec![];
        for way in ways(&rule.body)? {
            let (body, names) = self.raised(&way, stratum, Height::Named);
            let mut head: Vec<HeadTerm> = vec![];
            for term in &rule.head {
                let term = derived(term, lattice.is_some()).clone();
                head.push(HeadTerm { term, alias: None, lattice: None });
            }
            let mut body: Vec<Literal> = body;
            if lattice.is_some() {
                body.extend(finally(rule, &head));
            }
            head.push(least(&names)?);
            out.push(self.made_of(rule, head, body));
        }
        Ok(out)
    }

    /// What is aggregated is whole before, and so a fact of the first round.
    fn of_groups(&self, rule: &Rule, number: usize) -> Result<Vec<Rule>> {
        let stratum = self.strata.get(&rule.name.folded);
        let reads = |(atom, _): &(&Atom, bool)| {
            atom.bare_name().is_some_and(|name| self.strata.get(&name) == stratum)
        };
        if rule.atoms().iter().any(reads) {
            return Err(Error::unsupported(
                format!("EXPLAIN WHY of \"{}\", which aggregates in a cycle,", rule.name.written),
                "Explain what it is derived from.",
            ));
        }
        let name = format!("groups {number}");
        let groups =
            Rule { name: Name { folded: name.clone(), ..rule.name.clone() }, ..rule.clone() };
        let variables: Vec<Term> =
            (0..rule.head.len()).map(|at| Term::Variable(made(format!("group {at}")))).collect();
        let plain = |term: &Term| HeadTerm { term: term.clone(), alias: None, lattice: None };
        let mut head: Vec<HeadTerm> = variables.iter().map(plain).collect();
        head.push(least(&[])?);
        let args = variables.into_iter().map(|term| Argument { column: None, term }).collect();
        let atom =
            Atom { name: object(&name), args, call: None, text: rule.text.clone(), position: None };
        Ok(vec![groups, self.made_of(rule, head, vec![Literal::Atom(atom)])])
    }

    fn made_of(&self, rule: &Rule, head: Vec<HeadTerm>, body: Vec<Literal>) -> Rule {
        let folded = with_height(&rule.name.folded);
        let name = Name { folded, ..rule.name.clone() };
        Rule { name, head, body, types: vec![], ..rule.clone() }
    }

    /// Literals whose atoms read facts with their heights, those of one stratum or of all, and the
    /// variables that have them. Where it is all, what is demanded is left out.
    pub fn raised(
        &self,
        way: &[&Literal],
        stratum: Option<usize>,
        height: Height,
    ) -> (Vec<Literal>, Vec<String>) {
        let (mut body, mut names) = (vec![], vec![]);
        for literal in way {
            let Literal::Atom(atom) = literal else {
                body.push((*literal).clone());
                continue;
            };
            let name = atom.bare_name().unwrap_or_default();
            if stratum.is_none() && is_demand(&name) {
                continue;
            }
            let found = self.strata.get(&name);
            if found.is_none() || stratum.is_some() && stratum.as_ref() != found {
                body.push((*literal).clone());
                continue;
            }
            let term = match height {
                Height::Named => {
                    names.push(format!("height {}", names.len()));
                    Term::Variable(made(names[names.len() - 1].clone()))
                }
                Height::Any => Term::Wildcard(None),
            };
            let named = atom.args.iter().any(|argument| argument.column.is_some());
            let mut atom = atom.clone();
            let column = named.then(|| made(COLUMN));
            if !named || height == Height::Named {
                atom.args.push(Argument { column, term });
            }
            atom.name = object(&with_height(&name));
            atom.call = None;
            body.push(Literal::Atom(atom));
        }
        (body, names)
    }

    /// Whether a variable has a height.
    pub fn is_height(name: &str) -> bool {
        name.strip_prefix("height ").is_some_and(|n| n.parse::<usize>().is_ok())
    }
}

/// `min(greatest(heights) + 1)`.
fn least(names: &[String]) -> Result<HeadTerm> {
    let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    let text = match names.as_slice() {
        [] => "1".to_owned(),
        names => format!("greatest({}) + 1", names.join(", ")),
    };
    let broken = |_| Error::internal("the height of a fact is no expression");
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&text).map_err(broken)?;
    let expr = { parser }.parse_expr().map_err(broken)?;
    let words = names.iter().map(|name| made(name.trim_matches('"'))).collect();
    let value = Term::Value(Box::new(Value { expr, words, aggregates: false, position: None }));
    Ok(HeadTerm {
        term: value.clone(),
        alias: Some(COLUMN.to_owned()),
        lattice: Some((Extreme::Min, Box::new(value))),
    })
}

/// That what a rule derives is a fact in the end.
fn finally(rule: &Rule, head: &[HeadTerm]) -> Vec<Literal> {
    let (mut args, mut out) = (vec![], vec![]);
    for (at, head) in head.iter().enumerate() {
        let name = made(format!("final {at}"));
        let expr = match &head.term {
            Term::Variable(variable) => identifier(&variable.folded),
            Term::Value(value) => ast::Expr::Nested(Box::new(value.expr.clone())),
            Term::Wildcard(_) => continue,
        };
        let mut words = head.term.words().to_vec();
        words.push(name.clone());
        let same = ast::Expr::IsNotDistinctFrom(Box::new(identifier(&name.folded)), Box::new(expr));
        let value = Value { expr: same, words, aggregates: false, position: None };
        out.push(Literal::Condition(Box::new(value)));
        args.push(Argument { column: None, term: Term::Variable(name) });
    }
    let name = object(&rule.name.folded);
    let atom = Atom { name, args, call: None, text: rule.text.clone(), position: None };
    out.insert(0, Literal::Atom(atom));
    out
}
