//! `SUBSCRIBE`.
//!
//! ```text
//! SUBSCRIBE [TO] { relation | ( query ) }
//!   [ENVELOPE UPSERT (KEY (k, …))] [WITHIN TIMESTAMP ORDER BY …]
//!   [WITH (SNAPSHOT [= true], PROGRESS [= false])] [AS OF t] [UP TO t]
//! ```

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};
use crate::sql::parse::ast::Subscribe;
use crate::sql::parse::cursor::{Cursor, is_word, parse_tokens};

/// A SUBSCRIBE, from behind that word.
pub fn subscribe(mut cursor: Cursor<'_>) -> Result<Subscribe> {
    cursor.words(&["to"]);
    let (query, relation) = watched(&mut cursor)?;
    let mut subscribe =
        Subscribe { query, relation, snapshot: true, progress: false, as_of: None, up_to: None };
    if cursor.peek_word(0, "envelope") {
        return Err(Error::unsupported(
            "SUBSCRIBE … ENVELOPE",
            "Leave the envelope out: changes come as rows with their count.",
        ));
    }
    if cursor.peek_word(0, "within") {
        return Err(Error::unsupported(
            "SUBSCRIBE … WITHIN TIMESTAMP ORDER BY",
            "Order the rows of a timestamp in the client.",
        ));
    }
    if cursor.words(&["with"]) {
        options(&mut cursor, &mut subscribe)?;
    }
    if cursor.words(&["as", "of"]) {
        let time = cursor.until(|token, next| {
            is_word(token, "up") && next.is_some_and(|next| is_word(next, "to"))
        });
        subscribe.as_of = Some(time_of(&cursor, time)?);
    }
    if cursor.words(&["up", "to"]) {
        let time = cursor.until(|_, _| false);
        subscribe.up_to = Some(time_of(&cursor, time)?);
    }
    cursor.finish()?;
    Ok(subscribe)
}

fn time_of(cursor: &Cursor<'_>, tokens: &[TokenWithSpan]) -> Result<ast::Expr> {
    if tokens.is_empty() {
        return Err(cursor.error());
    }
    parse_tokens(cursor.source, tokens, Parser::parse_expr)
}

fn watched(cursor: &mut Cursor<'_>) -> Result<(Box<ast::Query>, Option<ast::ObjectName>)> {
    if cursor.token(&Token::LParen) {
        let tokens = cursor.until(|token, _| *token == Token::RParen);
        let query = parse_tokens(cursor.source, tokens, Parser::parse_query)?;
        cursor.expect_token(&Token::RParen)?;
        return Ok((query, None));
    }
    if !matches!(cursor.peek(0), Some(Token::Word(_))) {
        return Err(cursor.error());
    }
    let name = cursor.object_name()?;
    Ok((select_all(name.clone()), Some(name)))
}

/// `SELECT * FROM name`.
fn select_all(name: ast::ObjectName) -> Box<ast::Query> {
    let text = "SELECT * FROM x";
    let dialect = sqlparser::dialect::PostgreSqlDialect {};
    let mut query = Parser::new(&dialect)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_query())
        .expect("a constant text that parses");
    if let ast::SetExpr::Select(select) = &mut *query.body
        && let Some(from) = select.from.first_mut()
        && let ast::TableFactor::Table { name: place, .. } = &mut from.relation
    {
        *place = name;
    }
    query
}

fn options(cursor: &mut Cursor<'_>, subscribe: &mut Subscribe) -> Result<()> {
    cursor.expect_token(&Token::LParen)?;
    loop {
        let Some(word) = cursor.any_word() else { return Err(cursor.error()) };
        let name = word.value.to_ascii_lowercase();
        let value = boolean(cursor, &name)?;
        match name.as_str() {
            "snapshot" => subscribe.snapshot = value,
            "progress" => subscribe.progress = value,
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("unrecognized SUBSCRIBE option \"{name}\""),
                ));
            }
        }
        if !cursor.token(&Token::Comma) {
            break;
        }
    }
    cursor.expect_token(&Token::RParen)
}

fn boolean(cursor: &mut Cursor<'_>, name: &str) -> Result<bool> {
    cursor.token(&Token::Eq);
    let text = match cursor.peek(0) {
        Some(Token::Comma | Token::RParen) | None => return Ok(true),
        Some(Token::Word(word)) => word.value.clone(),
        Some(Token::SingleQuotedString(text) | Token::Number(text, _)) => text.clone(),
        Some(_) => return Err(cursor.error()),
    };
    cursor.next();
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{name} requires a Boolean value"))),
    }
}
