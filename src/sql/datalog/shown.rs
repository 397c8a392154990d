//! What stands in a rule as texts in which variables may be replaced by their values.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast;

use crate::plan::why::{Piece, Template};
use crate::sql::bind::name::ident;
use crate::sql::datalog::ast::{Atom, HeadTerm, Literal, Name, Rule, Term, Value};
use crate::sql::datalog::demand::is_copy;
use crate::sql::datalog::negation::is_negation;

/// What begins the name of a variable in a text, and what ends it; neither stands in any text.
const MARKS: [char; 2] = ['\u{1}', '\u{2}'];

/// A text in the making.
#[derive(Default)]
struct Writer(Vec<Piece>);

/// A literal. `declared`: the names that its rule uses as variables.
pub fn literal(literal: &Literal, declared: &BTreeSet<String>) -> Template {
    let mut out = Writer::default();
    out.literal(literal, declared);
    Template(out.0)
}

/// An atom, also a negated one, without its NOT.
pub fn atom(atom: &Atom, declared: &BTreeSet<String>) -> Template {
    let mut out = Writer::default();
    out.atom(atom, declared);
    Template(out.0)
}

/// What a rule derives.
pub fn head(rule: &Rule, terms: &[&Term], declared: &BTreeSet<String>) -> Template {
    let mut out = Writer::default();
    out.text(&format!("{}(", rule.name.written));
    for (at, term) in terms.iter().enumerate() {
        out.text(if at > 0 { ", " } else { "" });
        out.term(term, declared);
    }
    out.text(")");
    Template(out.0)
}

/// The term of a head whose values the rule derives itself: of a lattice what goes into it.
pub fn derived(head: &HeadTerm, lattice: bool) -> &Term {
    match &head.lattice {
        Some((_, inner)) if lattice => inner,
        _ => &head.term,
    }
}

impl Writer {
    fn text(&mut self, text: &str) {
        match self.0.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.0.push(Piece::Text(text.to_owned())),
        }
    }

    fn variable(&mut self, name: &Name) {
        self.0.push(Piece::Variable { name: name.folded.clone(), written: name.written.clone() });
    }

    fn literal(&mut self, literal: &Literal, declared: &BTreeSet<String>) {
        match literal {
            Literal::Atom(atom) => self.atom(atom, declared),
            Literal::Not(atom) => {
                self.text("NOT ");
                self.atom(atom, declared);
            }
            Literal::Equal(a, b, _) => {
                self.term(a, declared);
                self.text(" = ");
                self.term(b, declared);
            }
            Literal::Condition(value) => self.value(value, declared),
            Literal::Or(branches, _) => {
                for (at, branch) in branches.iter().enumerate() {
                    self.text(if at > 0 { " OR " } else { "" });
                    for (at, part) in branch.iter().enumerate() {
                        self.text(if at > 0 { ", " } else { "" });
                        self.literal(part, declared);
                    }
                }
            }
        }
    }

    fn atom(&mut self, atom: &Atom, declared: &BTreeSet<String>) {
        if atom.bare_name().is_some_and(|name| is_negation(&name)) {
            return self.text(&atom.text);
        }
        self.text(&format!("{}(", relation(atom)));
        for (at, argument) in atom.args.iter().enumerate() {
            self.text(if at > 0 { ", " } else { "" });
            if let Some(column) = &argument.column {
                self.text(&format!("{} => ", column.written));
            }
            self.term(&argument.term, declared);
        }
        self.text(")");
    }

    fn term(&mut self, term: &Term, declared: &BTreeSet<String>) {
        match term {
            Term::Variable(name) => self.variable(name),
            Term::Wildcard(_) => self.text("_"),
            Term::Value(value) => self.value(value, declared),
        }
    }

    /// An expression, as `sqlparser` spells it.
    fn value(&mut self, value: &Value, declared: &BTreeSet<String>) {
        let mut expr = value.expr.clone();
        let [open, close] = MARKS;
        let _: ControlFlow<()> = ast::visit_expressions_mut(&mut expr, |node| {
            if let ast::Expr::Identifier(named) = node
                && declared.contains(&ident(named))
            {
                let marked = format!("{open}{}{close}{}{close}", ident(named), named.value);
                *named = ast::Ident::new(marked);
            }
            ControlFlow::Continue(())
        });
        let text = expr.to_string();
        for part in text.split(open) {
            let mut parts = part.splitn(3, close);
            match (parts.next(), parts.next(), parts.next()) {
                (Some(name), Some(written), Some(rest)) => {
                    let (name, written) = (name.to_owned(), written.to_owned());
                    self.0.push(Piece::Variable { name, written });
                    self.text(rest);
                }
                _ => self.text(part),
            }
        }
    }
}

/// How an atom's relation is written, without quotes.
pub fn relation(atom: &Atom) -> String {
    match atom.bare_name() {
        // A copy is called as what it is one of.
        Some(name) if is_copy(&name) => {
            atom.text.split('(').next().unwrap_or_default().trim().to_owned()
        }
        _ => {
            let parts = atom.name.0.iter().filter_map(|part| part.as_ident());
            parts.map(|part| part.value.clone()).collect::<Vec<_>>().join(".")
        }
    }
}
