//! Syntax of rules: our own tree, with `sqlparser`'s expressions as its leaves.
//!
//! Names of variables are folded as SQL folds names. What an expression names is found among its
//! tokens and not in its tree: it is whatever else the rule uses as a variable.

use sqlparser::ast;
use sqlparser::tokenizer::TokenWithSpan;

use crate::repr::ColumnType;
use crate::sql::parse::position::Lines;

/// Rules, and what is asked of them.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The rules, in the order in which they are written.
    pub rules: Vec<Rule>,
    /// `FIND … WHERE …`, as a rule whose head has no name of its own.
    pub find: Option<Rule>,
    /// What stands behind WHERE and is SQL's: ORDER BY, LIMIT, AS OF.
    pub tail: Vec<TokenWithSpan>,
    /// `EXPLAIN WHY …`.
    pub why: Option<Goal>,
}

/// A fact whose derivation is asked for.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The fact.
    pub atom: Atom,
    /// `WHY NOT`.
    pub negated: bool,
    /// As JSON, in place of text.
    pub json: bool,
}

/// A rule or, without a body, a fact.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it derives into.
    pub name: Name,
    /// What it derives.
    pub head: Vec<HeadTerm>,
    /// From what: all of these.
    pub body: Vec<Literal>,
    /// The types that terms of the head are converted to; none: those that they have.
    pub types: Vec<Option<ColumnType>>,
    /// How it is written, for messages.
    pub text: String,
    /// The text that it stands in, where that is not the statement's.
    pub lines: Option<Lines>,
}

/// A name, and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    /// Folded, as it is compared.
    pub folded: String,
    /// As it is written.
    pub written: String,
    /// Where.
    pub position: Option<u32>,
}

/// A term of a head.
#[derive(Clone, Debug)]
pub struct HeadTerm {
    /// What it is.
    pub term: Term,
    /// The name that `AS` gives it.
    pub alias: Option<String>,
    /// The aggregate that it is, where that is `min` or `max` of a value and nothing else, and
    /// that value: such rules have one meaning also through a cycle.
    pub lattice: Option<(Extreme, Box<Term>)>,
}

/// An aggregate that is a lattice's join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// `min`.
    Min,
    /// `max`.
    Max,
}

impl Extreme {
    /// The aggregate's name.
    pub fn name(self) -> &'static str {
        match self {
            Extreme::Min => "min",
            Extreme::Max => "max",
        }
    }
}

/// What may stand as an argument.
#[derive(Clone, Debug)]
pub enum Term {
    /// A variable.
    Variable(Name),
    /// `_`.
    Wildcard(Option<u32>),
    /// Anything else.
    Value(Box<Value>),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Value {
    /// The expression.
    pub expr: ast::Expr,
    /// The words in it that may be variables.
    pub words: Vec<Name>,
    /// Whether it calls an aggregate.
    pub aggregates: bool,
    /// Where it begins.
    pub position: Option<u32>,
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum Literal {
    /// `edge(X, Y)`: rows of a relation, or a condition where it is a function.
    Atom(Atom),
    /// `NOT edge(X, Y)`.
    Not(Atom),
    /// `X = Y + 1`: a condition, or the value of a variable that has none.
    Equal(Term, Term, Option<u32>),
    /// Any other condition.
    Condition(Box<Value>),
    /// `a(X) OR b(X)`.
    Or(Vec<Vec<Literal>>, Option<u32>),
}

/// A relation with arguments.
#[derive(Clone, Debug)]
pub struct Atom {
    /// The relation.
    pub name: ast::ObjectName,
    /// The arguments.
    pub args: Vec<Argument>,
    /// The same as a call, where it can be one.
    pub call: Option<Box<Value>>,
    /// How it is written, for messages.
    pub text: String,
    /// Where.
    pub position: Option<u32>,
}

/// An argument.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The column that `=>` names.
    pub column: Option<Name>,
    /// What it is matched with.
    pub term: Term,
}

impl Term {
    /// What may be variables in it.
    pub fn words(&self) -> &[Name] {
        match self {
            Term::Variable(name) => std::slice::from_ref(name),
            Term::Wildcard(_) => &[],
            Term::Value(value) => &value.words,
        }
    }

    /// Where it stands.
    pub fn position(&self) -> Option<u32> {
        match self {
            Term::Variable(name) => name.position,
            Term::Wildcard(position) => *position,
            Term::Value(value) => value.position,
        }
    }
}

impl Atom {
    /// Its name, where that has no schema.
    pub fn bare_name(&self) -> Option<String> {
        match self.name.0.as_slice() {
            [part] => part.as_ident().map(crate::sql::bind::name::ident),
            _ => None,
        }
    }
}

impl Rule {
    /// Whether one of its aggregates is more than a lattice's join.
    pub fn aggregates(&self) -> bool {
        self.head.iter().any(|head| {
            let aggregates = matches!(&head.term, Term::Value(value) if value.aggregates);
            aggregates && head.lattice.is_none()
        })
    }

    /// All atoms of the body, and whether each is negated.
    pub fn atoms(&self) -> Vec<(&Atom, bool)> {
        let mut found = vec![];
        gather(&self.body, &mut found);
        found
    }
}

fn gather<'a>(body: &'a [Literal], found: &mut Vec<(&'a Atom, bool)>) {
    for literal in body {
        match literal {
            Literal::Atom(atom) => found.push((atom, false)),
            Literal::Not(atom) => found.push((atom, true)),
            Literal::Or(branches, _) => branches.iter().for_each(|b| gather(b, found)),
            Literal::Equal(..) | Literal::Condition(_) => {}
        }
    }
}
