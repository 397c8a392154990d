//! Places in a text: from the tokenizer's line and column to characters from 1.

use std::sync::Arc;

use sqlparser::tokenizer::{Location, Span};

/// Where the lines of a text begin.
///
/// The tokenizer counts lines and columns from 1 in characters, which is also what the position
/// field of an error counts in; so this needs no look at the text but for its line feeds.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    /// For each line, how many characters come before it.
    starts: Arc<[u32]>,
    /// The text.
    text: Arc<str>,
}

impl Lines {
    /// The lines of a text.
    pub fn of(text: &str) -> Lines {
        let mut starts = vec![0];
        for (count, c) in (1..).zip(text.chars()) {
            if c == '\n' {
                starts.push(count);
            }
        }
        Lines { starts: starts.into(), text: text.into() }
    }

    /// The position of a place, none where the place is unknown.
    pub fn position(&self, place: Location) -> Option<u32> {
        let line = usize::try_from(place.line).ok()?.checked_sub(1)?;
        let start = *self.starts.get(line)?;
        start.checked_add(u32::try_from(place.column).ok()?)
    }

    /// Where `symbol` stands, if it is the last thing before a position but for white space and
    /// opening parentheses.
    pub fn just_before(&self, position: u32, symbol: &str) -> Option<u32> {
        let before = &self.text[..byte_offset(&self.text, position.checked_sub(1)?)];
        let before = before.trim_end_matches(|c: char| c.is_whitespace() || c == '(');
        let before = before.strip_suffix(symbol)?;
        u32::try_from(before.chars().count() + 1).ok()
    }

    /// The characters from one place to another, counted from 0.
    pub fn slice(&self, from: u32, to: u32) -> &str {
        &self.text[byte_offset(&self.text, from)..byte_offset(&self.text, to)]
    }

    /// The line and column of the character of that number, counted from 0.
    pub fn location(&self, character: u32) -> Location {
        let line = self.starts.partition_point(|start| *start <= character).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        Location::new(line as u64, u64::from(character - start) + 1)
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The position of a span's begin.
    pub fn of_span(&self, span: Span) -> Option<u32> {
        self.position(span.start)
    }
}

/// The byte offset of the character of that number (from 0), the length if there is none.
pub fn byte_offset(text: &str, characters: u32) -> usize {
    if text.is_ascii() {
        return text.len().min(characters as usize);
    }
    text.char_indices().nth(characters as usize).map_or(text.len(), |(at, _)| at)
}
