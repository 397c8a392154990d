//! What queries in EDN ask of the entity store: transactions of facts, and pull.
//!
//! `[?e :person/name ?v ?tx]` asks a rule that is spelled here for the transaction that asserted a
//! fact last; `[?e :person/name ?v ?tx ?added]` reads each step of the history. What is not
//! written in the query has no place there, so that nothing is edited where it is stored.

use sqlparser::tokenizer::Token;

use crate::catalog::attribute::history_name;
use crate::sql::datalog::edn::{Form, Kind, Spelled, is_variable, symbol};

/// The rule that derives an attribute's facts with their transactions.
fn dated(attribute: &str) -> String {
    format!("transactions of :{attribute}")
}

/// The entity and the pattern of `(pull ?e […])`.
pub(super) fn pulled(call: &[Form]) -> Option<(&Form, &Form)> {
    match call {
        [word, entity, pattern @ Form { kind: Kind::Vector(_), .. }]
            if symbol(word) == Some("pull") && is_variable(entity) =>
        {
            Some((entity, pattern))
        }
        _ => None,
    }
}

impl Spelled<'_> {
    /// The relation of a pattern, by how many terms stand behind its value.
    pub(super) fn relation(&mut self, attribute: &Form, name: &str, more: usize) {
        match more {
            0 => self.attribute(attribute, name),
            1 => {
                if !self.dated.iter().any(|(known, _)| known == name) {
                    self.dated.push((name.to_owned(), attribute.clone()));
                }
                self.unwritten(|spelled| spelled.name(attribute, &dated(name)));
            }
            _ => self.unwritten(|spelled| spelled.attribute(attribute, &history_name(name))),
        }
    }

    fn attribute(&mut self, place: &Form, name: &str) {
        match name.split_once('/') {
            Some((schema, name)) => self.qualified(place, schema, name),
            None => self.name(place, name),
        }
    }

    /// For each attribute that is asked for its facts' transactions, the rule of which those are:
    /// `dated(E, V, max(T)) <- attribute(E, V), attribute_history(E, V, T, true).`
    pub(super) fn dated_rules(&mut self) {
        for (name, place) in std::mem::take(&mut self.dated) {
            let query = std::mem::take(&mut self.tokens);
            self.unwritten(|spelled| spelled.dated_rule(&name, &place));
            let rule = std::mem::replace(&mut self.tokens, query);
            self.rules.extend(rule);
        }
    }

    /// Spells what is not written.
    fn unwritten(&mut self, spell: impl FnOnce(&mut Self)) {
        self.unwritten = true;
        spell(self);
        self.unwritten = false;
    }

    fn dated_rule(&mut self, name: &str, place: &Form) {
        self.name(place, &dated(name));
        self.put(place, Token::LParen);
        self.words(place, &["E", "V"]);
        self.put(place, Token::Comma);
        self.word(place, "max");
        self.put(place, Token::LParen);
        self.word(place, "T");
        self.put(place, Token::RParen);
        self.put(place, Token::RParen);
        self.arrow(place);
        self.attribute(place, name);
        self.put(place, Token::LParen);
        self.words(place, &["E", "V"]);
        self.put(place, Token::RParen);
        self.put(place, Token::Comma);
        self.attribute(place, &history_name(name));
        self.put(place, Token::LParen);
        self.words(place, &["E", "V", "T"]);
        self.put(place, Token::Comma);
        self.put(place, Token::make_keyword("TRUE"));
        self.put(place, Token::RParen);
        self.put(place, Token::Period);
    }

    fn words(&mut self, place: &Form, words: &[&str]) {
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                self.put(place, Token::Comma);
            }
            self.word(place, word);
        }
    }
}
