//! `EXPLAIN WHY`: the rules of a program as queries for their instances, and what is shown of them.
//!
//! A rule is a relation of its *instances*: a row for each way its body is satisfied, with the
//! values of its variables and of its head. The predicates of recursions stand in it as locals
//! that nothing binds: whoever asks puts their facts in their places, with the round, the
//! *height*, in which each appears at the earliest. An instance whose facts are all lower than the
//! fact that it derives is a step of a derivation that ends; one is there for each fact, since that
//! is how its height came about.

use serde_json::{Map, Value, json};

use crate::expr::scalar::Expr;
use crate::plan::relation::Relation;
use crate::repr::{ColumnType, ScalarType};

/// A question for the derivation of a fact, or for what prevents it.
#[derive(Clone, Debug, PartialEq)]
pub struct Why {
    /// `WHY NOT`.
    pub negated: bool,
    /// As JSON, in place of text.
    pub json: bool,
    /// What the fact's predicate is called by the one who asks.
    pub name: String,
    /// The fact: one row in the predicate's types.
    pub fact: Relation,
    /// Which of its values are NULL as they are written.
    pub nulls: Vec<bool>,
    /// The predicates that it may depend on; it is one of the first.
    pub predicates: Vec<Predicate>,
}

/// A predicate that rules derive.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    /// Its name.
    pub name: String,
    /// The types of its columns.
    pub types: Vec<ColumnType>,
    /// Its facts.
    pub content: Relation,
    /// What is known of it beside where it depends on itself.
    pub recursion: Option<Recursion>,
    /// Whether each column is a group's least or greatest value over all of its rules.
    pub lattice: Option<Vec<bool>>,
    /// Its rules.
    pub rules: Vec<Rule>,
}

/// A predicate that depends on itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Recursion {
    /// The predicates that depend on each other have one number.
    pub stratum: usize,
    /// The local that stands for its facts, with their heights as the last column.
    pub id: u64,
    /// The types of those columns.
    pub types: Vec<ColumnType>,
    /// Those facts.
    pub facts: Relation,
}

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// How it is written.
    pub text: String,
    /// The ways through the ORs of its body.
    pub ways: Vec<Way>,
    /// What it aggregates, where it does.
    pub groups: Option<Groups>,
    /// The literals of its body one after the other, for each way; where that is of interest.
    pub steps: Vec<Vec<Step>>,
}

/// A column that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The name, folded.
    pub name: String,
    /// As it is written; none where the rule has no name for it.
    pub written: Option<String>,
    /// Its type.
    pub scalar: ScalarType,
}

/// A conjunction.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The variables, then the values of the head in the predicate's types; of a head that
    /// aggregates, those that tell its groups apart.
    pub instances: Relation,
    /// The variables.
    pub variables: Vec<Variable>,
    /// What it is made of.
    pub literals: Vec<Literal>,
}

/// A part of a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A fact.
    Fact {
        /// How its relation is written.
        name: String,
        /// Its predicate, where rules derive it.
        predicate: Option<usize>,
        /// The variables that have its values.
        columns: Vec<usize>,
        /// The variable that has its height, where its predicate is recursive.
        height: Option<usize>,
    },
    /// That there is no such fact.
    Absent(Template),
    /// Anything else that is true.
    Condition(Template),
}

/// A text with variables in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Template(pub Vec<Piece>);

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// As it is.
    Text(String),
    /// The value of a variable or, where it has none, its name.
    Variable {
        /// The name, folded.
        name: String,
        /// As it is written.
        written: String,
    },
}

/// What a rule aggregates.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// What the rule derives, in the predicate's types.
    pub derived: Relation,
    /// The distinct bindings of its variables, then what tells groups apart.
    pub bindings: Relation,
    /// The variables.
    pub variables: Vec<Variable>,
    /// Which columns of the head tell groups apart.
    pub keys: Vec<usize>,
}

/// A conjunction up to one of its literals.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// That literal.
    pub shown: Template,
    /// The bindings of the variables so far.
    pub bindings: Relation,
    /// The variables.
    pub variables: Vec<Variable>,
    /// Which columns have to be which column of the head.
    pub head: Vec<(usize, usize)>,
    /// The variables that are a column of the head.
    pub names: Vec<(String, usize)>,
}

impl Step {
    /// Whether it is what the head says by itself, before any of the body.
    pub fn is_of_constants(&self) -> bool {
        self.variables.is_empty() && !self.head.is_empty()
    }
}

impl Why {
    /// Visits what may hold parameters.
    pub fn each_expr(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.fact.visit_exprs_mut(f);
        for predicate in &mut self.predicates {
            predicate.content.visit_exprs_mut(f);
            if let Some(recursion) = &mut predicate.recursion {
                recursion.facts.visit_exprs_mut(f);
            }
            for rule in &mut predicate.rules {
                rule.ways.iter_mut().for_each(|way| way.instances.visit_exprs_mut(f));
                if let Some(groups) = &mut rule.groups {
                    groups.derived.visit_exprs_mut(f);
                    groups.bindings.visit_exprs_mut(f);
                }
                let steps = rule.steps.iter_mut().flatten();
                steps.for_each(|step| step.bindings.visit_exprs_mut(f));
            }
        }
    }
}

impl Template {
    /// The text, with the values of variables that have one.
    pub fn filled(&self, value: impl Fn(&str) -> Option<String>) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Variable { name, written } => value(name).unwrap_or_else(|| written.clone()),
        };
        self.0.iter().map(piece).collect()
    }
}

/// A statement of an answer, and what it rests on.
#[derive(Clone, Debug, Default)]
pub struct Proof {
    /// What kind it is.
    pub kind: Kind,
    /// What is said.
    pub what: String,
    /// The rule that derives it.
    pub rule: Option<String>,
    /// What else is to be said.
    pub note: Option<String>,
    /// More for those who read JSON.
    pub details: Vec<(&'static str, Value)>,
    /// By their numbers, what it rests on.
    pub from: Vec<usize>,
}

/// What a statement of an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// A fact.
    #[default]
    Fact,
    /// A fact that is not there.
    Absent,
    /// A condition.
    Condition,
    /// The bindings of a group, or one of them.
    Binding,
    /// A rule that does not derive something.
    Rule,
}

impl Kind {
    fn key(self) -> &'static str {
        match self {
            Kind::Fact => "Fact",
            Kind::Absent => "Absent",
            Kind::Condition => "Condition",
            Kind::Binding => "Binding",
            Kind::Rule => "Rule",
        }
    }
}

/// The statement of number 0 and what it rests on, one a line.
pub fn text(proofs: &[Proof]) -> Vec<String> {
    let (mut lines, mut todo) = (vec![], vec![(0, 0)]);
    while let Some((number, depth)) = todo.pop() {
        let Some(proof) = proofs.get(number) else { continue };
        let mut line = "  ".repeat(depth);
        if proof.kind == Kind::Absent {
            line.push_str("NOT ");
        }
        line.push_str(&proof.what);
        if let Some(rule) = &proof.rule {
            line.push_str(&format!(" by {rule}"));
        }
        if let Some(note) = &proof.note {
            line.push_str(&format!(": {note}"));
        }
        lines.push(line);
        todo.extend(proof.from.iter().rev().map(|input| (*input, depth + 1)));
    }
    lines
}

/// The same as a tree of objects. What a statement rests on has greater numbers than itself.
pub fn as_json(proofs: &[Proof]) -> Value {
    let mut done: Vec<Value> = vec![Value::Null; proofs.len()];
    for (number, proof) in proofs.iter().enumerate().rev() {
        let mut object = Map::new();
        object.insert(proof.kind.key().to_owned(), json!(proof.what));
        if let Some(rule) = &proof.rule {
            object.insert("By".to_owned(), json!(rule));
        }
        if let Some(note) = &proof.note {
            object.insert("Note".to_owned(), json!(note));
        }
        for (key, value) in &proof.details {
            object.insert((*key).to_owned(), value.clone());
        }
        let from = proof.from.iter().filter_map(|input| done.get_mut(*input).map(Value::take));
        let from: Vec<Value> = from.collect();
        if !from.is_empty() {
            object.insert("From".to_owned(), Value::Array(from));
        }
        done[number] = Value::Object(object);
    }
    let first = done.first_mut().map(Value::take).unwrap_or_default();
    Value::Array(vec![first])
}
