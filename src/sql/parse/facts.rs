//! `CREATE ATTRIBUTE`, `DROP ATTRIBUTE`, and the transactions of the entity store.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::error::{Error, Result, SqlState};
use crate::sql::datalog::edn::{self, Form};
use crate::sql::datalog::text::{Stretch, inside};
use crate::sql::parse::ast::Statement;
use crate::sql::parse::cursor::Cursor;
use crate::sql::parse::fault::Source;

/// `CREATE ATTRIBUTE`.
#[derive(Clone, Debug)]
pub struct CreateAttribute {
    /// Its name.
    pub name: ast::ObjectName,
    /// The type of its values; none: `REF`.
    pub data_type: Option<ast::DataType>,
    /// `UNIQUE`.
    pub unique: bool,
    /// `MANY`.
    pub many: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
}

/// `DROP ATTRIBUTE`.
#[derive(Clone, Debug)]
pub struct DropAttribute {
    /// Which.
    pub names: Vec<ast::ObjectName>,
    /// `IF EXISTS`.
    pub if_exists: bool,
    /// `CASCADE`.
    pub cascade: bool,
}

/// A transaction.
#[derive(Clone, Debug)]
pub struct Transact {
    /// What it says.
    pub form: Form,
    /// What `USING` gives for `$1`, `$2` and so on.
    pub using: Vec<ast::Expr>,
}

/// The statement, if it is one of these.
pub fn statement(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    if cursor.words(&["create", "attribute"]) {
        return create(cursor).map(Some);
    }
    if cursor.words(&["drop", "attribute"]) {
        return drop(cursor).map(Some);
    }
    if cursor.words(&["transact"]) {
        return transact(cursor).map(Some);
    }
    Ok(None)
}

/// `CREATE ATTRIBUTE [IF NOT EXISTS] name { type | REF } [UNIQUE] [MANY]`.
fn create(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let if_not_exists = cursor.words(&["if", "not", "exists"]);
    let name = cursor.object_name()?;
    let data_type = match cursor.words(&["ref"]) {
        true => None,
        false => Some(cursor.with_parser(Parser::parse_data_type)?),
    };
    let (mut unique, mut many) = (false, false);
    while !cursor.is_done() {
        let before = (unique, many);
        unique |= cursor.words(&["unique"]);
        many |= cursor.words(&["many"]);
        if before == (unique, many) {
            return Err(cursor.error());
        }
    }
    let create = CreateAttribute { name, data_type, unique, many, if_not_exists };
    Ok(Statement::CreateAttribute(Box::new(create)))
}

/// `DROP ATTRIBUTE [IF EXISTS] name, … [CASCADE | RESTRICT]`.
fn drop(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let if_exists = cursor.words(&["if", "exists"]);
    let mut names = vec![cursor.object_name()?];
    while cursor.token(&Token::Comma) {
        names.push(cursor.object_name()?);
    }
    let cascade = cursor.words(&["cascade"]);
    if !cascade {
        cursor.words(&["restrict"]);
    }
    cursor.finish()?;
    Ok(Statement::DropAttribute(DropAttribute { names, if_exists, cascade }))
}

/// `TRANSACT $$ … $$ [USING (…)]`.
fn transact(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let Some(quoted) = cursor.rest().first() else { return Err(cursor.error()) };
    let Some(stretch) = inside(&cursor.source.lines.clone(), quoted) else {
        return Err(cursor.error());
    };
    cursor.next();
    let mut using = vec![];
    if cursor.words(&["using"]) {
        cursor.expect_token(&Token::LParen)?;
        loop {
            using.push(cursor.with_parser(Parser::parse_expr)?);
            if !cursor.token(&Token::Comma) {
                break;
            }
        }
        cursor.expect_token(&Token::RParen)?;
    }
    cursor.finish()?;
    transaction(cursor.source, stretch, using)
}

/// The transaction that stands in a stretch of the string.
pub fn transaction(
    source: &Source<'_>,
    stretch: Stretch,
    using: Vec<ast::Expr>,
) -> Result<Statement> {
    let text = source.lines.slice(stretch.from, stretch.to);
    let form = edn::form_of(text, stretch.from)?;
    if edn::is_query(&form) {
        let message = "a transaction is a vector of facts, not a query";
        return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(Some(stretch.from + 1)));
    }
    Ok(Statement::Transact(Box::new(Transact { form, using })))
}
