//! A compiled expression, and its search.

use std::cell::RefCell;
use std::ops::Range;

use regex_automata::nfa::thompson::{self, pikevm};
use regex_automata::util::captures::Captures;
use regex_automata::{Anchored, Input, MatchKind, meta};

use crate::error::Error;
use crate::repr::regex::dissect::dissect;
use crate::repr::regex::fault::Fault;
use crate::repr::regex::flags::Flags;
use crate::repr::regex::parse::parse;
use crate::repr::regex::syntax::{Node, Wants};

/// The bytes of an automaton; a larger one is too complex.
const AUTOMATON_BYTES_MAX: usize = 10 << 20;

/// What the groups of a match hold, in bytes of the text; the first is the whole match.
pub type Groups = Vec<Option<Range<usize>>>;

/// A compiled expression.
#[derive(Debug)]
pub struct Regex {
    /// Finds out whether there is a match, and where it starts.
    finder: meta::Regex,
    /// Finds out where a match that starts at a place ends.
    machine: pikevm::PikeVM,
    memory: RefCell<pikevm::Cache>,
    node: Node,
    groups: usize,
    wants: Wants,
    /// Whether every match at a place is of the same length.
    fixed: bool,
    ambiguous: bool,
}

impl Regex {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// 2201B in PostgreSQL's words, 0A000 for what is not there.
    pub fn new(text: &str, flags: Flags) -> Result<Regex, Error> {
        let parsed = parse(text, flags)?;
        let hir = parsed.node.to_hir();
        let properties = hir.properties();
        let fixed =
            properties.minimum_len() == properties.maximum_len() && !parsed.node.is_ambiguous();
        let finder = meta::Builder::new()
            .configure(meta::Config::new().nfa_size_limit(Some(AUTOMATON_BYTES_MAX)))
            .build_from_hir(&hir)
            .map_err(|_| Error::from(Fault::TooComplex))?;
        let automaton = thompson::Compiler::new()
            .configure(thompson::Config::new().nfa_size_limit(Some(AUTOMATON_BYTES_MAX)))
            .build_from_hir(&hir)
            .map_err(|_| Error::from(Fault::TooComplex))?;
        let machine = pikevm::Builder::new()
            .configure(pikevm::Config::new().match_kind(MatchKind::All))
            .build_from_nfa(automaton)
            .map_err(|_| Error::from(Fault::TooComplex))?;
        Ok(Regex {
            finder,
            memory: RefCell::new(machine.create_cache()),
            machine,
            groups: parsed.groups as usize,
            wants: parsed.node.wants().unwrap_or(Wants::Most),
            ambiguous: parsed.node.is_ambiguous(),
            node: parsed.node,
            fixed,
        })
    }

    /// How many groups keep what they match.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Whether there is a match.
    pub fn is_match(&self, text: &str) -> bool {
        self.finder.is_match(text)
    }

    /// The first match that starts at or behind a place, in bytes.
    pub fn find_at(&self, text: &str, from: usize) -> Option<Range<usize>> {
        let found = self.finder.search(&Input::new(text).span(from..text.len()))?;
        if self.fixed {
            return Some(found.range());
        }
        let input = Input::new(text)
            .span(found.start()..text.len())
            .anchored(Anchored::Yes)
            .earliest(self.wants == Wants::Least);
        let end = self.run(&input).get_match().map_or(found.end(), |found| found.end());
        Some(found.start()..end)
    }

    /// The same with what the groups hold.
    ///
    /// # Errors
    ///
    /// 2201B where finding that out takes too long.
    pub fn groups_at(&self, text: &str, from: usize) -> Result<Option<Groups>, Error> {
        let Some(whole) = self.find_at(text, from) else { return Ok(None) };
        if self.groups == 0 {
            return Ok(Some(vec![Some(whole)]));
        }
        if self.ambiguous {
            return dissect(&self.node, self.groups, text, whole).map(Some);
        }
        let input = Input::new(text).span(whole).anchored(Anchored::Yes);
        let found = self.run(&input);
        let spans = (0..=self.groups).map(|i| found.get_group(i).map(|span| span.range()));
        Ok(Some(spans.collect()))
    }

    fn run(&self, input: &Input<'_>) -> Captures {
        let mut captures = self.machine.create_captures();
        self.machine.search(&mut self.memory.borrow_mut(), input, &mut captures);
        captures
    }
}
