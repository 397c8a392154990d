//! Rules that are statements: they define views that the session alone sees.
//!
//! Rules of one name add up, as they do in a program, until `DROP VIEW` or `DISCARD TEMP` forgets
//! them. They are kept as text and bound where they are read, so they follow what tables become.

use std::sync::Arc;

use crate::error::Result;
use crate::sql::datalog::ast::Rule;
use crate::sql::datalog::parse::program;
use crate::sql::parse::fault::Source;
use crate::sql::parse::position::Lines;
use crate::sql::parse::tokens::tokenize;

/// The rules of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRules(Arc<Vec<(String, String)>>);

impl SessionRules {
    /// Whether a rule derives into that name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| known == name)
    }

    /// Adds rules: the name that each derives into, and its text.
    pub fn add(&mut self, rules: Vec<(String, String)>) {
        let own = Arc::make_mut(&mut self.0);
        for rule in rules {
            if !own.contains(&rule) {
                own.push(rule);
            }
        }
    }

    /// Forgets the rules of a name.
    pub fn remove(&mut self, name: &str) {
        Arc::make_mut(&mut self.0).retain(|(known, _)| known != name);
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.0 = Arc::default();
    }

    /// The rules of a name.
    pub(in crate::sql) fn of(&self, name: &str) -> Result<Vec<Rule>> {
        let own = self.0.iter().filter(|(known, _)| known == name);
        own.map(|(_, text)| parsed(text)).collect::<Result<Vec<_>>>().map(|rules| rules.concat())
    }

    /// All of them.
    pub(in crate::sql) fn all(&self) -> Result<Vec<Rule>> {
        let all = self.0.iter().map(|(_, text)| parsed(text));
        all.collect::<Result<Vec<_>>>().map(|rules| rules.concat())
    }
}

fn parsed(text: &str) -> Result<Vec<Rule>> {
    let lines = Lines::of(text);
    let source = Source { text, lines: &lines };
    let mut rules = program(&source, &tokenize(&source)?)?.rules;
    rules.iter_mut().for_each(|rule| rule.lines = Some(lines.clone()));
    Ok(rules)
}
