//! A rule as a query for its instances: the values of all its variables and of its head, for each
//! way in which its body is satisfied.
//!
//! So that each fact is known that an instance rests on, what stands in an argument without a name
//! gets one: a wildcard, a column that is left out, a value that is computed, and a variable where
//! it stands once more.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::plan::why::{self, Groups, Step, Variable};
use crate::repr::ColumnType;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::datalog::ast::{Argument, Atom, HeadTerm, Literal, Name, Rule, Term};
use crate::sql::datalog::body::{Body, declared, places, ways};
use crate::sql::datalog::head::Lattice;
use crate::sql::datalog::heights::{Height, Heights, made};
use crate::sql::datalog::program::{Known, Layer, unfinished};
use crate::sql::datalog::shown;

/// What rules are bound among.
pub struct Among<'a> {
    /// The predicates.
    pub known: &'a Known,
    /// Their heights.
    pub heights: &'a Heights,
    /// What they derive, but for the heights.
    pub layers: &'a [Layer],
    /// The numbers of the predicates that are of interest.
    pub numbers: &'a BTreeMap<String, usize>,
}

/// A rule, and what it derives into.
#[derive(Clone, Copy)]
pub struct Derives<'a> {
    /// The rule.
    pub rule: &'a Rule,
    /// The types of its predicate.
    pub types: &'a [ColumnType],
    /// The predicate's lattice.
    pub lattice: Option<&'a Lattice>,
}

impl Derives<'_> {
    /// Whether a term of the head is of a group, rather than its key.
    fn folds(&self, head: &HeadTerm) -> bool {
        let aggregates = matches!(&head.term, Term::Value(value) if value.aggregates);
        aggregates && !(self.lattice.is_some() && head.lattice.is_some())
    }

    /// Which columns of the head tell groups apart; all, where there is no group.
    fn keys(&self) -> Vec<usize> {
        let head = self.rule.head.iter().enumerate();
        head.filter(|(_, head)| !self.folds(head)).map(|(at, _)| at).collect()
    }

    /// A term of the head as it is of an instance.
    fn term(&self, at: usize) -> &Term {
        shown::derived(&self.rule.head[at], self.lattice.is_some())
    }

    /// The rule with another body.
    fn with(&self, body: Vec<Literal>) -> Rule {
        Rule { body, ..self.rule.clone() }
    }
}

impl Binder<'_, '_> {
    /// A rule. `steps`: also one literal after the other.
    pub fn why_rule(
        &mut self,
        derives: Derives<'_>,
        among: &Among<'_>,
        steps: bool,
    ) -> Result<why::Rule> {
        self.of_rule(derives.rule, |binder| {
            let mut bound = why::Rule {
                text: one_line(&derives.rule.text),
                ways: vec![],
                groups: None,
                steps: vec![],
            };
            for way in ways(&derives.rule.body)? {
                bound.ways.push(binder.why_way(derives, &way, among)?);
                if steps {
                    bound.steps.push(binder.why_steps(derives, &way, among)?);
                }
            }
            if derives.keys().len() < derives.rule.head.len() {
                bound.groups = Some(binder.why_groups(derives, among)?);
            }
            Ok(bound)
        })
    }

    fn why_way(
        &mut self,
        derives: Derives<'_>,
        way: &[&Literal],
        among: &Among<'_>,
    ) -> Result<why::Way> {
        let declared = declared(derives.rule);
        let (raised, _) = among.heights.raised(way, None, Height::Named);
        // What is demanded is in the way alone.
        let plain = way.iter().filter(|literal| !is_demanded(literal));
        let (mut body, mut found) = (vec![], vec![]);
        let mut names = Names::default();
        for (literal, written) in raised.into_iter().zip(plain) {
            let (shown, literals) = match (&literal, written) {
                (Literal::Atom(atom), Literal::Atom(plain)) => {
                    match self.named_atom(atom, among.known, &mut names)? {
                        Some((names, literals)) => (Shown::Fact(plain, names), literals),
                        None => (Shown::Other(written), vec![literal]),
                    }
                }
                _ => (Shown::Other(written), vec![literal]),
            };
            body.extend(literals);
            found.push(shown);
        }
        let rule = derives.with(body);
        let literals: Vec<&Literal> = rule.body.iter().collect();
        let conjunction = self.conjunction(&rule, &literals, among.known)?;
        let variables = variables_of(&conjunction, &declared);
        let columns = |names: &[String]| -> Vec<usize> {
            names.iter().filter_map(|n| variables.iter().position(|v| v.name == *n)).collect()
        };
        // Demand has put them in its own order.
        found.sort_by_key(Shown::position);
        let shown = found.into_iter().map(|shown| match shown {
            Shown::Fact(atom, names) => {
                let predicate = atom.bare_name().and_then(|n| among.numbers.get(&n).copied());
                let mut columns = columns(&names);
                let is_height = |at: &usize| Heights::is_height(&variables[*at].name);
                let height = columns.last().copied().filter(is_height);
                columns.truncate(columns.len() - usize::from(height.is_some()));
                why::Literal::Fact { name: shown::relation(atom), predicate, columns, height }
            }
            Shown::Other(Literal::Not(atom)) => why::Literal::Absent(shown::atom(atom, &declared)),
            Shown::Other(other) => why::Literal::Condition(shown::literal(other, &declared)),
        });
        let literals = shown.collect();
        let head = derives.keys();
        let plan = self.bindings_and_head(derives, &rule, conjunction, &head)?;
        let instances = self.around(plan.relation, among.layers.to_vec());
        Ok(why::Way { instances, variables, literals })
    }

    /// An atom with a variable in each column of its relation, and what those have to equal; none
    /// where it is a function.
    fn named_atom(
        &mut self,
        atom: &Atom,
        known: &Known,
        taken: &mut Names,
    ) -> Result<Option<(Vec<String>, Vec<Literal>)>> {
        let Some((_, columns)) = self.relation_of(atom, known)? else { return Ok(None) };
        let places = places(atom, &columns)?;
        let (mut names, mut args, mut equal) = (vec![], vec![], vec![]);
        for column in 0..columns.len() {
            let at = places.iter().position(|place| *place == column);
            let given = at.map(|at| &atom.args[at].term);
            let name = match given {
                Some(Term::Variable(name)) if taken.bound.insert(name.folded.clone()) => {
                    name.clone()
                }
                other => {
                    taken.made += 1;
                    let name = made(format!("value {}", taken.made));
                    if let Some(term @ (Term::Value(_) | Term::Variable(_))) = other {
                        let own = Term::Variable(name.clone());
                        equal.push(Literal::Equal(own, term.clone(), term.position()));
                    }
                    name
                }
            };
            names.push(name.folded.clone());
            args.push(Argument { column: None, term: Term::Variable(name) });
        }
        let atom = Atom { args, call: None, ..atom.clone() };
        equal.insert(0, Literal::Atom(atom));
        Ok(Some((names, equal)))
    }

    /// The variables of a body, then some columns of the head in the types of the predicate.
    fn bindings_and_head(
        &mut self,
        derives: Derives<'_>,
        rule: &Rule,
        body: Body,
        head: &[usize],
    ) -> Result<Plan> {
        let mut exprs: Vec<Typed> = body.variables.iter().map(|(_, typed)| typed.clone()).collect();
        for at in head {
            let value = self.head_value(rule, derives.term(*at), &body)?;
            exprs.push(match self.implicit(value.clone(), derives.types[*at])? {
                Some(typed) => typed,
                None => self.settle(value)?,
            });
        }
        Ok(body.plan.select(exprs))
    }

    /// What a rule aggregates.
    fn why_groups(&mut self, derives: Derives<'_>, among: &Among<'_>) -> Result<Groups> {
        let mut body = vec![];
        for way in ways(&derives.rule.body)? {
            body.push(among.heights.raised(&way, None, Height::Any).0);
        }
        let position = derives.rule.name.position;
        let body = match body.len() {
            1 => body.remove(0),
            _ => vec![Literal::Or(body, position)],
        };
        let rule = derives.with(body);
        let derived =
            self.set_of(std::slice::from_ref(&rule), among.known, None, Some(derives.types))?;
        let derived = derived.ok_or_else(unfinished)?.plan.relation;
        let bindings = self.bindings(&rule, &ways(&rule.body)?, among.known)?;
        let variables = variables_of(&bindings, &declared(derives.rule));
        let keys = derives.keys();
        let bindings = self.bindings_and_head(derives, &rule, bindings, &keys)?.relation;
        Ok(Groups {
            derived: self.around(derived, among.layers.to_vec()),
            bindings: self.around(bindings, among.layers.to_vec()),
            variables,
            keys,
        })
    }

    /// The constants of the head, where there are any; the literals of a body one after the other,
    /// each once what it needs has a value; and last what the head computes.
    ///
    /// Where the fact has another constant nobody asks for what the body reads: it may be missing.
    fn why_steps(
        &mut self,
        derives: Derives<'_>,
        way: &[&Literal],
        among: &Among<'_>,
    ) -> Result<Vec<Step>> {
        let names = declared(derives.rule);
        let plain = way.iter().filter(|literal| !is_demanded(literal));
        let (raised, _) = among.heights.raised(way, None, Height::Any);
        let mut left: Vec<(Literal, &Literal)> = raised.into_iter().zip(plain.copied()).collect();
        let (mut rule, mut steps) = (derives.with(vec![]), vec![]);
        let mut bound: BTreeSet<String> = BTreeSet::new();
        let is_constant = |at: &usize| {
            let term = derives.term(*at);
            matches!(term, Term::Value(value) if value.words.is_empty() && !value.aggregates)
        };
        let (constants, others): (Vec<usize>, Vec<usize>) =
            derives.keys().into_iter().partition(is_constant);
        if !constants.is_empty() {
            let text = head_text(derives, &names);
            steps.push(self.why_step(derives, &rule, constants, text, among)?);
        }
        while !left.is_empty() {
            let mut ready = None;
            for (at, (literal, _)) in left.iter().enumerate() {
                if self.is_ready(literal, &bound, &names, among.known)? {
                    ready = Some(at);
                    break;
                }
            }
            // What needs each other is one step.
            let next = match ready {
                Some(at) => vec![left.remove(at)],
                None => std::mem::take(&mut left),
            };
            let mut text = why::Template::default();
            for (at, (literal, written)) in next.into_iter().enumerate() {
                if at > 0 {
                    text.0.push(why::Piece::Text(", ".to_owned()));
                }
                text.0.extend(shown::literal(written, &names).0);
                bound.extend(given(&literal));
                rule.body.push(literal);
            }
            let head: Vec<usize> = derives
                .keys()
                .into_iter()
                .filter(|at| {
                    matches!(derives.term(*at), Term::Variable(n) if bound.contains(&n.folded))
                })
                .collect();
            steps.push(self.why_step(derives, &rule, head, text, among)?);
        }
        if others.iter().any(|at| !matches!(derives.term(*at), Term::Variable(_))) {
            let text = head_text(derives, &names);
            steps.push(self.why_step(derives, &rule, derives.keys(), text, among)?);
        }
        Ok(steps)
    }

    fn why_step(
        &mut self,
        derives: Derives<'_>,
        rule: &Rule,
        head: Vec<usize>,
        shown: why::Template,
        among: &Among<'_>,
    ) -> Result<Step> {
        let literals: Vec<&Literal> = rule.body.iter().collect();
        let body = self.conjunction(rule, &literals, among.known)?;
        let variables = variables_of(&body, &declared(derives.rule));
        let mut plan = self.bindings_and_head(derives, rule, body, &head)?;
        if comparable::equal(plan.types.iter().map(|ty| ty.scalar)).is_ok() {
            plan = plan.distinct();
        }
        let bindings = self.around(plan.relation, among.layers.to_vec());
        let width = variables.len();
        let head = head.into_iter().enumerate().map(|(n, at)| (width + n, at)).collect();
        let names = derives.keys().into_iter().filter_map(|at| match derives.term(at) {
            Term::Variable(name) => Some((name.folded.clone(), at)),
            _ => None,
        });
        Ok(Step { shown, bindings, variables, head, names: names.collect() })
    }

    /// Whether all that a literal needs has a value.
    fn is_ready(
        &mut self,
        literal: &Literal,
        bound: &BTreeSet<String>,
        declared: &BTreeSet<String>,
        known: &Known,
    ) -> Result<bool> {
        let has = |name: &Name| !declared.contains(&name.folded) || bound.contains(&name.folded);
        let all = |term: &Term| term.words().iter().all(has);
        let open = |term: &Term| matches!(term, Term::Variable(name) if !has(name));
        Ok(match literal {
            Literal::Atom(atom) if self.relation_of(atom, known)?.is_some() => {
                let own: Vec<String> = given(literal);
                let computed = atom.args.iter().filter(|a| matches!(a.term, Term::Value(_)));
                let mut words = computed.flat_map(|argument| argument.term.words());
                words.all(|name| has(name) || own.contains(&name.folded))
            }
            Literal::Atom(atom) | Literal::Not(atom) => atom.args.iter().all(|a| all(&a.term)),
            Literal::Equal(a, b, _) => all(a) && (all(b) || open(b)) || open(a) && all(b),
            Literal::Condition(value) => value.words.iter().all(has),
            Literal::Or(..) => true,
        })
    }
}

/// The names that the atoms of a conjunction have taken.
#[derive(Default)]
struct Names {
    /// Variables that have a value; at its next place each gets another, of that column's type.
    bound: BTreeSet<String>,
    /// How many were made.
    made: usize,
}

/// What becomes of a literal in what is shown.
enum Shown<'a> {
    Fact(&'a Atom, Vec<String>),
    Other(&'a Literal),
}

impl Shown<'_> {
    /// Where it stands.
    fn position(&self) -> Option<u32> {
        match self {
            Shown::Fact(atom, _) => atom.position,
            Shown::Other(Literal::Atom(atom) | Literal::Not(atom)) => atom.position,
            Shown::Other(Literal::Equal(a, ..)) => a.position(),
            Shown::Other(Literal::Condition(value)) => value.position,
            Shown::Other(Literal::Or(_, position)) => *position,
        }
    }
}

fn is_demanded(literal: &Literal) -> bool {
    let Literal::Atom(atom) = literal else { return false };
    atom.bare_name().is_some_and(|name| crate::sql::datalog::demand::is_demand(&name))
}

/// The variables that a literal gives values to.
fn given(literal: &Literal) -> Vec<String> {
    let name = |term: &Term| match term {
        Term::Variable(name) => Some(name.folded.clone()),
        _ => None,
    };
    match literal {
        Literal::Atom(atom) => atom.args.iter().filter_map(|a| name(&a.term)).collect(),
        Literal::Equal(a, b, _) => [a, b].into_iter().filter_map(name).collect(),
        _ => vec![],
    }
}

fn variables_of(body: &Body, declared: &BTreeSet<String>) -> Vec<Variable> {
    let variables = body.variables.iter().map(|(name, typed)| Variable {
        name: name.folded.clone(),
        written: declared.contains(&name.folded).then(|| name.written.clone()),
        scalar: typed.ty.scalar,
    });
    variables.collect()
}

/// A text without the breaks of its lines.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The head of a rule, with room for the values of its variables.
fn head_text(derives: Derives<'_>, names: &BTreeSet<String>) -> why::Template {
    let terms: Vec<&Term> = (0..derives.rule.head.len()).map(|at| derives.term(at)).collect();
    shown::head(derives.rule, &terms, names)
}
