//! Which grammar a statement is parsed by.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::Result;
use crate::sql::datalog::parse::begins_why;
use crate::sql::datalog::text::Stretch;
use crate::sql::parse::ast::{Select, Statement};
use crate::sql::parse::cursor::{Cursor, is_word, parse_tokens};
use crate::sql::parse::fault::Source;
use crate::sql::parse::{explain, facts, retain, session, subscribe, trace_source, types};

/// Words that go on after `AS of` where `of` is a name.
const NOT_A_TIME: [&str; 24] = [
    "from",
    "where",
    "group",
    "having",
    "window",
    "union",
    "intersect",
    "except",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "join",
    "inner",
    "left",
    "right",
    "full",
    "cross",
    "natural",
    "on",
    "using",
    "into",
    "as",
];

/// The statement that these tokens are.
pub fn statement(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<Statement> {
    let mut cursor = Cursor::new(source, tokens);
    if cursor.is_done() {
        return Ok(Statement::Empty);
    }
    if cursor.words(&["subscribe"]) {
        return subscribe::subscribe(cursor).map(|s| Statement::Subscribe(Box::new(s)));
    }
    if begins_why(tokens)
        && let Some(stretch) = Stretch::of(source.lines, tokens)
    {
        return Ok(Statement::Rules(stretch));
    }
    if cursor.words(&["explain"]) {
        return explain::explain(cursor);
    }
    if is_query(&cursor) {
        return select(source, tokens).map(|s| Statement::Select(Box::new(s)));
    }
    if let Some(ours) = trace_source::statement(&mut cursor)? {
        return Ok(ours);
    }
    if let Some(ours) = session::statement(&mut cursor)? {
        return Ok(ours);
    }
    if let Some(ours) = facts::statement(&mut cursor)? {
        return Ok(ours);
    }
    if let Some(ours) = types::statement(&mut cursor)? {
        return Ok(ours);
    }
    if let Some((tokens, history)) = retain::split(source, tokens)? {
        let statement = Box::new(parse_tokens(source, &tokens, Parser::parse_statement)?);
        return Ok(Statement::Retaining { statement, history });
    }
    if let Some(tokens) = header_match(tokens) {
        let statement = parse_tokens(source, &tokens, Parser::parse_statement)?;
        return Ok(Statement::CopyMatching(Box::new(statement)));
    }
    let statement = parse_tokens(source, tokens, Parser::parse_statement)?;
    Ok(Statement::Sql(Box::new(statement)))
}

/// The tokens of a COPY without the MATCH of its `HEADER MATCH`, where there is one.
fn header_match(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    if !word(0, "copy") {
        return None;
    }
    let is_option = |at: usize| matches!(tokens[at - 1].token, Token::LParen | Token::Comma);
    let at = (1..tokens.len())
        .find(|at| is_option(*at) && word(*at, "header") && word(at + 1, "match"))?;
    Some([&tokens[..=at], &tokens[at + 2..]].concat())
}

fn is_query(cursor: &Cursor<'_>) -> bool {
    let words = ["select", "with", "values", "table"];
    cursor.peek(0) == Some(&Token::LParen) || words.iter().any(|word| cursor.peek_word(0, word))
}

/// A query, with `AS OF` at its end.
pub fn select(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<Select> {
    let (tokens, time) = match as_of(tokens) {
        Some(at) => (&tokens[..at], Some(&tokens[at + 2..])),
        None => (tokens, None),
    };
    let query = parse_tokens(source, tokens, Parser::parse_query)?;
    let as_of = time.map(|time| parse_tokens(source, time, Parser::parse_expr)).transpose()?;
    Ok(Select { query, as_of })
}

/// Where the last `AS OF` outside parentheses stands, unless `of` is an alias there.
fn as_of(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    let mut found = None;
    for (at, token) in tokens.iter().enumerate() {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            word if depth == 0 && is_word(word, "as") => {
                let of = tokens.get(at + 1).is_some_and(|t| is_word(&t.token, "of"));
                let time = tokens.get(at + 2).is_some_and(|t| match &t.token {
                    Token::Comma | Token::RParen => false,
                    other => !NOT_A_TIME.iter().any(|word| is_word(other, word)),
                });
                if of && time {
                    found = Some(at);
                }
            }
            _ => {}
        }
    }
    found
}
