//! What a recursion may do with a least or greatest value of its own.
//!
//! Such a value moves one way from round to round, and what is derived from it has to move along: a
//! row that it made and takes away again might meanwhile have made others that keep each other
//! alive. So a least value may be passed on to a least value, with something added to it, and be
//! bounded from above (`D < 10`); it may not be matched, bounded from below, tell groups apart, or
//! go into a greatest value. Outside of the cycle the value is what it is in the end, and
//! everything is allowed.
//!
//! What an expression makes of the value is only refused where it surely turns it round; that
//! factors are positive and functions grow is left to those who write them.

use std::collections::BTreeMap;

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use crate::error::{Error, Result, SqlState};
use crate::sql::bind::name::ident;
use crate::sql::datalog::ast::{Atom, Extreme, Literal, Name, Rule, Term};
use crate::sql::datalog::head::{Lattice, column_names, lattice_of};
use crate::sql::datalog::strata::Stratum;

/// Whether something follows a value, goes against it, or has nothing to do with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Along,
    Against,
    Not,
    /// Nobody knows.
    Open,
}

impl Way {
    fn turned(self) -> Way {
        match self {
            Way::Along => Way::Against,
            Way::Against => Way::Along,
            other => other,
        }
    }

    fn with(self, other: Way) -> Way {
        match (self, other) {
            (Way::Not, way) | (way, Way::Not) => way,
            (a, b) if a == b => a,
            _ => Way::Open,
        }
    }
}

/// A variable that is a least or greatest value.
struct Moving<'r> {
    name: &'r Name,
    extreme: Extreme,
    of: String,
}

/// Fails where a cycle uses a lattice's values so that what they make may go again.
///
/// Errors: 42P19.
pub fn check(rules: &[Rule], strata: &[Stratum]) -> Result<()> {
    for stratum in strata.iter().filter(|stratum| stratum.recursive) {
        let mut lattices: BTreeMap<&str, (Lattice, Vec<String>)> = BTreeMap::new();
        for name in &stratum.names {
            let own: Vec<Rule> = rules.iter().filter(|r| r.name.folded == *name).cloned().collect();
            if let Some(lattice) = lattice_of(own.iter())? {
                lattices.insert(name, (lattice, column_names(&own)));
            }
        }
        let inside = |rule: &&Rule| stratum.names.contains(&rule.name.folded);
        for rule in rules.iter().filter(inside) {
            check_rule(rule, &lattices)?;
        }
    }
    Ok(())
}

fn check_rule(rule: &Rule, lattices: &BTreeMap<&str, (Lattice, Vec<String>)>) -> Result<()> {
    let mut moving: Vec<Moving<'_>> = vec![];
    for (atom, _) in rule.atoms() {
        let Some(name) = atom.bare_name() else { continue };
        let Some((lattice, columns)) = lattices.get(name.as_str()) else { continue };
        for (at, argument) in atom.args.iter().enumerate() {
            let at = match &argument.column {
                Some(column) => columns.iter().position(|name| *name == column.folded),
                None => Some(at),
            };
            let Some(extreme) = at.and_then(|at| lattice.get(at).copied().flatten()) else {
                continue;
            };
            match &argument.term {
                Term::Wildcard(_) => {}
                Term::Variable(name) => {
                    moving.push(Moving { name, extreme, of: atom.text.clone() });
                }
                Term::Value(_) => {
                    let detail = format!("The atom {} matches it.", atom.text);
                    return Err(broken(rule, extreme, detail, argument.term.position()));
                }
            }
        }
    }
    for variable in &moving {
        let places = moving.iter().filter(|other| other.name.folded == variable.name.folded);
        if places.count() > 1 {
            let detail = format!("\"{}\" is matched with itself.", variable.name.written);
            return Err(broken(rule, variable.extreme, detail, variable.name.position));
        }
        check_body(rule, &rule.body, variable)?;
        check_head(rule, variable, lattices.get(rule.name.folded.as_str()).map(|(l, _)| l))?;
    }
    Ok(())
}

fn check_body(rule: &Rule, body: &[Literal], variable: &Moving<'_>) -> Result<()> {
    let name = &variable.name.folded;
    let fails = |what: String, position| Err(broken(rule, variable.extreme, what, position));
    for literal in body {
        match literal {
            Literal::Atom(atom) | Literal::Not(atom) if atom.text != variable.of => {
                if reads(atom, name) {
                    let what = format!("The atom {} matches it.", atom.text);
                    return fails(what, atom.position);
                }
            }
            Literal::Atom(_) | Literal::Not(_) => {}
            Literal::Equal(a, b, position) => {
                // What is computed from it is a name for an expression, unless it has a value.
                let is = |term: &Term| matches!(term, Term::Variable(n) if n.folded == *name);
                if is(a) || is(b) {
                    let what = format!("\"{}\" is matched by =.", variable.name.written);
                    return fails(what, *position);
                }
            }
            Literal::Condition(value) => {
                if condition(&value.expr, name, variable.extreme) == Some(false) {
                    let text = value.expr.to_string();
                    return fails(format!("{text} may hold no more as it moves."), value.position);
                }
            }
            Literal::Or(branches, _) => {
                for branch in branches {
                    check_body(rule, branch, variable)?;
                }
            }
        }
    }
    Ok(())
}

fn check_head(rule: &Rule, variable: &Moving<'_>, lattice: Option<&Lattice>) -> Result<()> {
    for (at, head) in rule.head.iter().enumerate() {
        let into = lattice.and_then(|lattice| lattice.get(at).copied().flatten());
        let term = match (&head.lattice, into) {
            (Some((_, inner)), Some(_)) => inner,
            _ => &head.term,
        };
        let way = match term {
            Term::Variable(name) if name.folded == variable.name.folded => Way::Along,
            Term::Value(value) => follows(&value.expr, &variable.name.folded),
            _ => Way::Not,
        };
        let position = term.position().or(variable.name.position);
        let what = match into {
            _ if way == Way::Not => continue,
            None => "It tells groups apart in the head.",
            Some(extreme) if extreme != variable.extreme => "It goes into the opposite extreme.",
            Some(_) if way == Way::Against => "The head turns it round.",
            Some(_) => continue,
        };
        return Err(broken(rule, variable.extreme, what.to_owned(), position));
    }
    Ok(())
}

fn reads(atom: &Atom, name: &str) -> bool {
    atom.args.iter().any(|argument| argument.term.words().iter().any(|w| w.folded == name))
}

/// Whether a condition that holds goes on to; none where that is open.
fn condition(expr: &Expr, name: &str, extreme: Extreme) -> Option<bool> {
    match expr {
        Expr::Nested(inner) => condition(inner, name, extreme),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            let (a, b) = (condition(left, name, extreme), condition(right, name, extreme));
            if a == Some(false) || b == Some(false) { Some(false) } else { a.and(b) }
        }
        Expr::BinaryOp { left, op, right } => {
            let (a, b) = (follows(left, name), follows(right, name).turned());
            // The difference of both sides moves with the value, or against it.
            let way = match (a.with(b), extreme) {
                (way, Extreme::Min) => way,
                (way, Extreme::Max) => way.turned(),
            };
            match (way, op) {
                (Way::Not, _) => Some(true),
                (Way::Along, BinaryOperator::Lt | BinaryOperator::LtEq) => Some(true),
                (Way::Against, BinaryOperator::Gt | BinaryOperator::GtEq) => Some(true),
                (
                    Way::Along | Way::Against,
                    BinaryOperator::Lt
                    | BinaryOperator::LtEq
                    | BinaryOperator::Gt
                    | BinaryOperator::GtEq
                    | BinaryOperator::Eq
                    | BinaryOperator::NotEq,
                ) => Some(false),
                _ => None,
            }
        }
        _ => None,
    }
}

/// How an expression moves with a variable.
fn follows(expr: &Expr, name: &str) -> Way {
    match expr {
        Expr::Identifier(own) if ident(own) == name => Way::Along,
        Expr::Identifier(_) | Expr::Value(_) => Way::Not,
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => follows(inner, name),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => follows(inner, name).turned(),
        Expr::BinaryOp { left, op, right } => {
            let (a, b) = (follows(left, name), follows(right, name));
            match op {
                BinaryOperator::Plus => a.with(b),
                BinaryOperator::Minus => a.with(b.turned()),
                _ if a == Way::Not && b == Way::Not => Way::Not,
                _ => Way::Open,
            }
        }
        other => match mentions(other, name) {
            true => Way::Open,
            false => Way::Not,
        },
    }
}

fn mentions(expr: &Expr, name: &str) -> bool {
    let mut found = false;
    let _: std::ops::ControlFlow<()> = sqlparser::ast::visit_expressions(expr, |node| {
        found |= matches!(node, Expr::Identifier(own) if ident(own) == name);
        std::ops::ControlFlow::Continue(())
    });
    found
}

fn broken(rule: &Rule, extreme: Extreme, detail: String, position: Option<u32>) -> Error {
    let (value, from) = match extreme {
        Extreme::Min => ("least", "above"),
        Extreme::Max => ("greatest", "below"),
    };
    Error::new(
        SqlState::INVALID_RECURSION,
        format!(
            "rule \"{}\" uses a {value} value of its own cycle in a way that is not monotone",
            rule.name.written
        ),
    )
    .with_detail(detail)
    .with_hint(format!(
        "In its cycle such a value may be passed on to {} and be bounded from {from}; do the rest \
         by a rule outside of it.",
        extreme.name()
    ))
    .at(position)
}
