//! A cursor over tokens, for the statements that have a grammar of ours.
//!
//! It walks tokens without white space and hands stretches of them to `sqlparser` where a query or
//! an expression stands in between.

use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Error, Result};
use crate::sql::parse::fault::Source;
use crate::sql::parse::limits;

/// How deep the parser's own recursion goes; each nesting costs it a few levels.
const RECURSION_MAX: usize = 4 * limits::NESTING_MAX;

static DIALECT: PostgreSqlDialect = PostgreSqlDialect {};

/// A place among tokens.
pub struct Cursor<'a> {
    /// Where they come from.
    pub source: &'a Source<'a>,
    tokens: &'a [TokenWithSpan],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// A cursor before the first of `tokens`, none of which is white space.
    pub fn new(source: &'a Source<'a>, tokens: &'a [TokenWithSpan]) -> Cursor<'a> {
        Cursor { source, tokens, at: 0 }
    }

    /// The token `ahead` of the next one.
    pub fn peek(&self, ahead: usize) -> Option<&'a Token> {
        self.tokens.get(self.at + ahead).map(|token| &token.token)
    }

    /// Whether the token `ahead` of the next one is that word, unquoted, in any case.
    pub fn peek_word(&self, ahead: usize, word: &str) -> bool {
        self.peek(ahead).is_some_and(|token| is_word(token, word))
    }

    /// Whether the next tokens are these words; if so, passes them.
    pub fn words(&mut self, words: &[&str]) -> bool {
        let all = words.iter().enumerate().all(|(ahead, word)| self.peek_word(ahead, word));
        if all {
            self.at += words.len();
        }
        all
    }

    /// Whether the next token is that; if so, passes it.
    pub fn token(&mut self, token: &Token) -> bool {
        let is = self.peek(0) == Some(token);
        if is {
            self.at += 1;
        }
        is
    }

    /// Passes the words or fails.
    pub fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|word| match self.words(&[word]) {
            true => Ok(()),
            false => Err(self.error()),
        })
    }

    /// Passes the token or fails.
    pub fn expect_token(&mut self, token: &Token) -> Result<()> {
        if self.token(token) { Ok(()) } else { Err(self.error()) }
    }

    /// The next token, passed.
    pub fn next(&mut self) -> Option<&'a Token> {
        let token = self.peek(0)?;
        self.at += 1;
        Some(token)
    }

    /// The next token, passed, where it is a word.
    pub fn any_word(&mut self) -> Option<&'a Word> {
        match self.peek(0)? {
            Token::Word(word) => {
                self.at += 1;
                Some(word)
            }
            _ => None,
        }
    }

    /// Whether all tokens are passed.
    pub fn is_done(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// Fails unless all tokens are passed.
    pub fn finish(&self) -> Result<()> {
        if self.is_done() { Ok(()) } else { Err(self.error()) }
    }

    /// A syntax error at the next token.
    pub fn error(&self) -> Error {
        match self.tokens.get(self.at) {
            Some(token) => self.source.near(token),
            None => self.source.at_end(),
        }
    }

    /// The tokens that are left.
    pub fn rest(&self) -> &'a [TokenWithSpan] {
        &self.tokens[self.at..]
    }

    /// The tokens up to the first at this nesting that `stop` accepts (it sees the token and the
    /// one after it), passed.
    pub fn until(&mut self, stop: impl Fn(&Token, Option<&Token>) -> bool) -> &'a [TokenWithSpan] {
        let rest = self.rest();
        let mut depth = 0usize;
        let mut count = 0;
        while let Some(token) = rest.get(count) {
            match &token.token {
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket if depth > 0 => depth -= 1,
                other
                    if depth == 0 && stop(other, rest.get(count + 1).map(|token| &token.token)) =>
                {
                    break;
                }
                _ => {}
            }
            count += 1;
        }
        self.at += count;
        &rest[..count]
    }

    /// What `parse` makes of the next tokens; the cursor moves as far as it reads.
    pub fn with_parser<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser<'static>) -> std::result::Result<T, ParserError>,
    ) -> Result<T> {
        let tokens = self.rest();
        let mut parser = Parser::new(&DIALECT)
            .with_recursion_limit(RECURSION_MAX)
            .with_tokens_with_locations(tokens.to_vec());
        let parsed = parse(&mut parser).map_err(|e| self.source.parser_error(&e, tokens))?;
        self.at += parser.index().min(tokens.len());
        Ok(parsed)
    }

    /// An object's name.
    pub fn object_name(&mut self) -> Result<ast::ObjectName> {
        self.with_parser(|parser| parser.parse_object_name(false))
    }
}

/// Whether a token is that word, unquoted, in any case.
pub fn is_word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// What `parse` makes of all of `tokens`.
pub(in crate::sql) fn parse_tokens<T>(
    source: &Source<'_>,
    tokens: &[TokenWithSpan],
    parse: impl FnOnce(&mut Parser<'static>) -> std::result::Result<T, ParserError>,
) -> Result<T> {
    let mut cursor = Cursor::new(source, tokens);
    let parsed = cursor.with_parser(parse)?;
    cursor.finish()?;
    Ok(parsed)
}
