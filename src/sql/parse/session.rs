//! Statements about the session that have a grammar of ours: cursors over subscriptions, FETCH
//! with its forms and timeout, COPY of a subscription, PREPARE with the text it prepares.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::sql::parse::ast::{Fetch, Statement};
use crate::sql::parse::cursor::{Cursor, is_word, parse_tokens};
use crate::sql::parse::front;

/// The statement, if it is one of these.
pub fn statement(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    if cursor.words(&["fetch"]) {
        return fetch(cursor, false).map(Some);
    }
    if cursor.words(&["move"]) {
        return fetch(cursor, true).map(Some);
    }
    if cursor.words(&["declare"]) {
        return declare(cursor).map(Some);
    }
    if cursor.words(&["prepare"]) && !cursor.peek_word(0, "transaction") {
        return prepare(cursor).map(Some);
    }
    if cursor.words(&["alter", "system"]) {
        return alter_system(cursor).map(Some);
    }
    if cursor.peek_word(0, "copy") && cursor.peek(1) == Some(&Token::LParen) {
        return copy(cursor).map(Some);
    }
    Ok(None)
}

/// `ALTER SYSTEM { SET name { TO | = } { value | DEFAULT } | RESET name }`.
fn alter_system(cursor: &mut Cursor<'_>) -> Result<Statement> {
    if cursor.words(&["reset"]) {
        let name = cursor.object_name()?;
        cursor.finish()?;
        return Ok(Statement::AlterSystem { name, value: None });
    }
    cursor.expect_words(&["set"])?;
    let name = cursor.object_name()?;
    if !cursor.words(&["to"]) {
        cursor.expect_token(&Token::Eq)?;
    }
    let value = match cursor.next() {
        Some(token) if is_word(token, "default") => None,
        Some(Token::SingleQuotedString(text)) => Some(text.clone()),
        Some(Token::Number(number, _)) => Some(number.clone()),
        Some(Token::Word(word)) => Some(word.value.clone()),
        _ => return Err(cursor.error()),
    };
    cursor.finish()?;
    Ok(Statement::AlterSystem { name, value })
}

/// `FETCH [direction] [FROM | IN] cursor [WITH (timeout = '1s')]`.
fn fetch(cursor: &mut Cursor<'_>, is_move: bool) -> Result<Statement> {
    let count = direction(cursor)?;
    if !cursor.words(&["from"]) {
        cursor.words(&["in"]);
    }
    let name = cursor.with_parser(Parser::parse_identifier)?;
    let timeout = if cursor.words(&["with"]) { Some(timeout(cursor)?) } else { None };
    cursor.finish()?;
    Ok(Statement::Fetch(Fetch { cursor: name, count, timeout, is_move }))
}

/// How many rows; none: all.
fn direction(cursor: &mut Cursor<'_>) -> Result<Option<u64>> {
    for word in ["prior", "first", "last", "absolute", "relative", "backward"] {
        let is_name = cursor.peek(1).is_none();
        if cursor.peek_word(0, word) && !is_name {
            return Err(Error::unsupported(
                format!("FETCH {}", word.to_ascii_uppercase()),
                "Cursors go forward only: FETCH n, FETCH FORWARD n, FETCH ALL.",
            ));
        }
    }
    let followed = cursor.peek(1).is_some();
    if followed && cursor.words(&["next"]) {
        return Ok(Some(1));
    }
    let forward = followed && cursor.words(&["forward"]);
    if cursor.peek(1).is_some() && cursor.words(&["all"]) {
        return Ok(None);
    }
    if let Some(Token::Number(digits, false)) = cursor.peek(0) {
        let count = digits.parse().map_err(|_| cursor.error())?;
        cursor.next();
        return Ok(Some(count));
    }
    if cursor.peek(0) == Some(&Token::Minus) {
        let what = if forward { "FETCH FORWARD -n" } else { "FETCH -n" };
        return Err(Error::unsupported(what, "Cursors go forward only."));
    }
    Ok(Some(1))
}

fn timeout(cursor: &mut Cursor<'_>) -> Result<String> {
    cursor.expect_token(&Token::LParen)?;
    cursor.expect_words(&["timeout"])?;
    cursor.token(&Token::Eq);
    let text = match cursor.next() {
        Some(Token::SingleQuotedString(text)) => text.clone(),
        Some(Token::Number(text, _)) => text.clone(),
        _ => return Err(cursor.error()),
    };
    cursor.expect_token(&Token::RParen)?;
    Ok(text)
}

/// `DECLARE c [options] CURSOR [WITH HOLD | WITHOUT HOLD] FOR statement`.
fn declare(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let name = cursor.with_parser(Parser::parse_identifier)?;
    let (mut scroll, mut hold) = (false, false);
    loop {
        if cursor.words(&["no", "scroll"]) {
            scroll = false;
        } else if cursor.words(&["scroll"]) {
            scroll = true;
        } else if cursor.words(&["binary"]) {
            return Err(Error::unsupported(
                "DECLARE … BINARY CURSOR",
                "Ask for binary results by the extended protocol.",
            ));
        } else if !cursor.words(&["insensitive"]) && !cursor.words(&["asensitive"]) {
            break;
        }
    }
    cursor.expect_words(&["cursor"])?;
    if cursor.words(&["with", "hold"]) {
        hold = true;
    } else {
        cursor.words(&["without", "hold"]);
    }
    cursor.expect_words(&["for"])?;
    let query = inner(cursor)?;
    Ok(Statement::Declare { name, hold, scroll, query: Box::new(query) })
}

/// The rest of the tokens as a query or a SUBSCRIBE.
fn inner(cursor: &Cursor<'_>) -> Result<Statement> {
    if cursor.is_done() {
        return Err(cursor.error());
    }
    match front::statement(cursor.source, cursor.rest())? {
        statement @ (Statement::Select(_) | Statement::Subscribe(_)) => Ok(statement),
        _ => Err(cursor.error()),
    }
}

/// `PREPARE name [(types)] AS statement`.
fn prepare(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let name = cursor.with_parser(Parser::parse_identifier)?;
    let mut types = vec![];
    if cursor.token(&Token::LParen) {
        loop {
            types.push(cursor.with_parser(Parser::parse_data_type)?);
            if !cursor.token(&Token::Comma) {
                break;
            }
        }
        cursor.expect_token(&Token::RParen)?;
    }
    cursor.expect_words(&["as"])?;
    if cursor.is_done() {
        return Err(cursor.error());
    }
    // Its own errors are found now, with their places in the whole string.
    front::statement(cursor.source, cursor.rest())?;
    let text = cursor.source.text_of(cursor.rest());
    Ok(Statement::Prepare { name, types, text })
}

/// `COPY (query | SUBSCRIBE …) TO STDOUT [options]`.
fn copy(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let all = cursor.rest();
    cursor.next();
    cursor.next();
    let inside = cursor.until(|token, _| *token == Token::RParen);
    if inside.is_empty() {
        return Err(cursor.error());
    }
    let query = match inside.first() {
        Some(token) if is_word(&token.token, "subscribe") => {
            front::statement(cursor.source, inside)?
        }
        _ => match front::statement(cursor.source, inside)? {
            query @ Statement::Select(_) => query,
            Statement::Sql(statement) => Statement::Sql(statement),
            _ => return Err(cursor.error()),
        },
    };
    cursor.expect_token(&Token::RParen)?;
    // The options are read by a COPY of a query that is always the same.
    let mut tokens = vec![all[0].clone(), all[1].clone()];
    let mut one = all[1].clone();
    one.token = Token::make_keyword("SELECT");
    tokens.push(one.clone());
    one.token = Token::Number("1".into(), false);
    tokens.push(one.clone());
    one.token = Token::RParen;
    tokens.push(one);
    tokens.extend_from_slice(cursor.rest());
    let options: ast::Statement =
        parse_tokens(cursor.source, &tokens, |parser| parser.parse_statement())?;
    Ok(Statement::CopyQuery { query: Box::new(query), options: Box::new(options) })
}
