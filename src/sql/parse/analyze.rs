//! `EXPLAIN ANALYZE`, of a query and of what is maintained.
//!
//! ```text
//! EXPLAIN { ANALYZE [VERBOSE] | ( ANALYZE [, option …] ) } [AS { TEXT | JSON }] [FOR]
//!   { query | [MATERIALIZED VIEW | VIEW | INDEX] name [AS { TEXT | JSON }] }
//! ```
//!
//! A word that no statement begins with is the name of an object.

use sqlparser::ast;
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result, SqlState};
use crate::plan::observed::Measures;
use crate::sql::parse::ast::{Analyzed, Statement};
use crate::sql::parse::cursor::Cursor;
use crate::sql::parse::front;

/// Words that begin a statement, which EXPLAIN ANALYZE may have to refuse.
const STATEMENTS: [&str; 14] = [
    "select",
    "with",
    "values",
    "table",
    "insert",
    "update",
    "delete",
    "merge",
    "create",
    "execute",
    "declare",
    "subscribe",
    "copy",
    "refresh",
];

/// The statement behind `EXPLAIN`, where it goes on with ANALYZE.
pub fn analyze(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    let mut measures = Measures::default();
    if cursor.words(&["analyze"]) || cursor.words(&["analyse"]) {
        cursor.words(&["verbose"]);
    } else if has_analyze(cursor) {
        options(cursor, &mut measures)?;
    } else {
        return Ok(None);
    }
    format(cursor, &mut measures)?;
    cursor.words(&["for"]);
    if cursor.is_done() {
        return Err(cursor.error());
    }
    let analyzed = match object(cursor, &mut measures)? {
        Some(name) => Analyzed::Object(name),
        None => Analyzed::Query(Box::new(front::statement(cursor.source, cursor.rest())?)),
    };
    Ok(Some(Statement::ExplainAnalyze(analyzed, measures)))
}

/// Whether the next tokens are options in parentheses with ANALYZE among them, switched on.
fn has_analyze(cursor: &Cursor<'_>) -> bool {
    if cursor.peek(0) != Some(&Token::LParen) {
        return false;
    }
    let word = |at: usize, word: &str| cursor.peek_word(at, word);
    let mut begins = true;
    for at in 1.. {
        match cursor.peek(at) {
            None | Some(Token::RParen | Token::LParen) => return false,
            Some(Token::Comma) => begins = true,
            Some(_) if begins && (word(at, "analyze") || word(at, "analyse")) => {
                let off = word(at + 1, "off") || word(at + 1, "false");
                let zero = matches!(cursor.peek(at + 1), Some(Token::Number(n, _)) if n == "0");
                return !off && !zero;
            }
            Some(_) => begins = false,
        }
    }
    false
}

/// PostgreSQL's options, in parentheses.
pub fn options(cursor: &mut Cursor<'_>, measures: &mut Measures) -> Result<()> {
    cursor.expect_token(&Token::LParen)?;
    loop {
        let Some(word) = cursor.any_word() else { return Err(cursor.error()) };
        let name = word.value.to_ascii_lowercase();
        match name.as_str() {
            "analyze" | "analyse" | "verbose" | "costs" | "settings" | "wal" => {
                switch(cursor, &name)?;
            }
            "timing" => measures.time = switch(cursor, &name)?,
            "buffers" => measures.memory = switch(cursor, &name)?,
            "summary" => measures.summary = switch(cursor, &name)?,
            "format" => format_name(cursor, measures)?,
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("unrecognized EXPLAIN option \"{name}\""),
                ));
            }
        }
        if !cursor.token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::RParen)
}

/// The value of an option; on, where none is given.
fn switch(cursor: &mut Cursor<'_>, option: &str) -> Result<bool> {
    let value = match cursor.peek(0) {
        Some(Token::Comma | Token::RParen) | None => return Ok(true),
        Some(Token::Word(word)) => word.value.to_ascii_lowercase(),
        Some(Token::Number(number, _)) => number.clone(),
        Some(Token::SingleQuotedString(text)) => text.to_ascii_lowercase(),
        Some(_) => return Err(cursor.error()),
    };
    cursor.next();
    match value.as_str() {
        "on" | "true" | "1" => Ok(true),
        "off" | "false" | "0" => Ok(false),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{option} requires a Boolean value"))),
    }
}

/// `AS { TEXT | JSON }`, where it stands next.
pub fn format(cursor: &mut Cursor<'_>, measures: &mut Measures) -> Result<()> {
    if cursor.words(&["as"]) { format_name(cursor, measures) } else { Ok(()) }
}

fn format_name(cursor: &mut Cursor<'_>, measures: &mut Measures) -> Result<()> {
    let name = match cursor.peek(0) {
        Some(Token::Word(word)) => word.value.to_ascii_lowercase(),
        Some(Token::SingleQuotedString(text)) => text.to_ascii_lowercase(),
        _ => return Err(cursor.error()),
    };
    measures.json = match name.as_str() {
        "json" => true,
        "text" => false,
        _ => {
            return Err(Error::unsupported(
                format!("EXPLAIN (FORMAT {})", name.to_ascii_uppercase()),
                "The formats are TEXT and JSON.",
            ));
        }
    };
    cursor.next();
    Ok(())
}

/// The name of an object, where one stands next.
fn object(cursor: &mut Cursor<'_>, measures: &mut Measures) -> Result<Option<ast::ObjectName>> {
    let is_named = cursor.words(&["materialized", "view"])
        || cursor.words(&["view"])
        || cursor.words(&["index"]);
    let is_statement = match cursor.peek(0) {
        Some(Token::Word(_)) => STATEMENTS.iter().any(|word| cursor.peek_word(0, word)),
        _ => true,
    };
    if is_statement && !is_named {
        return Ok(None);
    }
    if !matches!(cursor.peek(0), Some(Token::Word(_))) || cursor.peek_word(0, "as") {
        return Err(cursor.error());
    }
    let name = cursor.object_name()?;
    format(cursor, measures)?;
    cursor.finish()?;
    Ok(Some(name))
}
