//! What the parser's complaints look like to a client of PostgreSQL.
//!
//! `sqlparser` tells in words what it expected and where; PostgreSQL tells at which token the text
//! stopped making sense. The place is in the words, so it is read out of them.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, TokenizerError};

use crate::error::{Error, SqlState};
use crate::sql::parse::limits;
use crate::sql::parse::position::{Lines, byte_offset};

/// The text that is being parsed, for error messages.
pub struct Source<'a> {
    /// The whole string.
    pub text: &'a str,
    /// Its lines.
    pub lines: &'a Lines,
}

impl Source<'_> {
    /// The text of a token as it was written.
    fn written(&self, token: &TokenWithSpan) -> Option<&str> {
        let start = self.lines.position(token.span.start)?.checked_sub(1)?;
        let end = self.lines.position(token.span.end)?.checked_sub(1)?;
        let range = byte_offset(self.text, start)..byte_offset(self.text, end);
        self.text.get(range).filter(|written| !written.is_empty())
    }

    /// The text of tokens as they were written.
    pub fn text_of(&self, tokens: &[TokenWithSpan]) -> String {
        // Tokens that were spelled from other forms need not be in the order of their places.
        let place = |location| self.lines.position(location).and_then(|p| p.checked_sub(1));
        let start = tokens.iter().filter_map(|token| place(token.span.start)).min();
        let end = tokens.iter().filter_map(|token| place(token.span.end)).max();
        let (Some(start), Some(end)) = (start, end) else {
            return String::new();
        };
        let range = byte_offset(self.text, start)..byte_offset(self.text, end);
        self.text.get(range).unwrap_or_default().to_owned()
    }

    /// `syntax error at or near …`, at that token.
    pub fn near(&self, token: &TokenWithSpan) -> Error {
        let near = match (&token.token, self.written(token)) {
            (Token::EOF, _) => return self.at_end(),
            (_, Some(written)) => format!("syntax error at or near \"{written}\""),
            (other, None) => format!("syntax error at or near \"{other}\""),
        };
        Error::new(SqlState::SYNTAX_ERROR, near).at(self.lines.of_span(token.span))
    }

    /// `syntax error at end of input`.
    pub fn at_end(&self) -> Error {
        let end = u32::try_from(self.text.chars().count() + 1).ok();
        Error::new(SqlState::SYNTAX_ERROR, "syntax error at end of input").at(end)
    }

    /// A complaint of the parser about these tokens.
    pub fn parser_error(&self, error: &ParserError, tokens: &[TokenWithSpan]) -> Error {
        match error {
            ParserError::RecursionLimitExceeded => limits::too_deep(),
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => {
                let found = place_in(message)
                    .and_then(|place| tokens.iter().find(|token| token.span.start == place));
                match found {
                    Some(token) => self.near(token),
                    None => self.at_end(),
                }
            }
        }
    }

    /// A complaint of the tokenizer.
    pub fn tokenizer_error(&self, error: &TokenizerError) -> Error {
        let position = self.lines.position(error.location);
        let from = position.and_then(|p| p.checked_sub(1)).unwrap_or(0);
        let rest = &self.text[byte_offset(self.text, from)..];
        let message = error.message.to_ascii_lowercase();
        let what = if message.contains("comment") {
            "unterminated /* comment"
        } else if rest.starts_with('"') {
            "unterminated quoted identifier"
        } else if rest.starts_with('$') {
            "unterminated dollar-quoted string"
        } else if message.contains("unterminated") {
            "unterminated quoted string"
        } else {
            "syntax error"
        };
        Error::new(SqlState::SYNTAX_ERROR, format!("{what} at or near \"{rest}\"")).at(position)
    }
}

/// The place that ends a message: ` at Line: 3, Column: 7`.
fn place_in(message: &str) -> Option<Location> {
    let (_, place) = message.rsplit_once("at Line: ")?;
    let (line, column) = place.split_once(", Column: ")?;
    let digits = column.find(|c: char| !c.is_ascii_digit()).unwrap_or(column.len());
    Some(Location::new(line.parse().ok()?, column[..digits].parse().ok()?))
}
