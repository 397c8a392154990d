//! CREATE DOMAIN and ALTER DOMAIN, which have a grammar of ours, and what ALTER TYPE has beyond
//! `sqlparser`'s.

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};
use crate::sql::parse::ast::{CreateDomain, DomainChange, NewCheck, Statement};
use crate::sql::parse::cursor::{Cursor, is_word, parse_tokens};

/// The statement, if it is one of these.
pub fn statement(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    if cursor.words(&["create", "domain"]) {
        return create_domain(cursor).map(Some);
    }
    if cursor.words(&["alter", "domain"]) {
        return alter_domain(cursor).map(Some);
    }
    if cursor.peek_word(0, "alter") && cursor.peek_word(1, "type") {
        refuse_type_changes(cursor)?;
    }
    Ok(None)
}

/// What begins another part of a domain's definition.
fn begins_part(token: &Token, _: Option<&Token>) -> bool {
    ["not", "null", "check", "constraint", "default", "unique", "primary", "references"]
        .iter()
        .any(|word| is_word(token, word))
}

fn expression(cursor: &Cursor<'_>, tokens: &[TokenWithSpan]) -> Result<ast::Expr> {
    match tokens {
        [] => Err(cursor.error()),
        tokens => parse_tokens(cursor.source, tokens, Parser::parse_expr),
    }
}

fn check(cursor: &mut Cursor<'_>, name: Option<ast::Ident>) -> Result<NewCheck> {
    cursor.expect_token(&Token::LParen)?;
    let condition = cursor.with_parser(Parser::parse_expr)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(NewCheck { name, condition })
}

/// `CREATE DOMAIN name [AS] type [DEFAULT …] [[CONSTRAINT name] NOT NULL | NULL | CHECK (…)] …`.
fn create_domain(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let name = cursor.object_name()?;
    cursor.words(&["as"]);
    let data_type = cursor.with_parser(Parser::parse_data_type)?;
    let mut domain = CreateDomain { name, data_type, default: None, null: None, checks: vec![] };
    while !cursor.is_done() {
        if cursor.words(&["collate"]) {
            return Err(Error::unsupported(
                "COLLATE of a domain",
                "Text is ordered by its bytes: leave COLLATE out.",
            ));
        }
        if cursor.words(&["default"]) {
            let tokens = cursor.until(begins_part);
            let default = expression(cursor, tokens)?;
            if domain.default.replace(default).is_some() {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "multiple default expressions"));
            }
            continue;
        }
        let constraint = match cursor.words(&["constraint"]) {
            true => Some(cursor.with_parser(Parser::parse_identifier)?),
            false => None,
        };
        if cursor.words(&["check"]) {
            domain.checks.push(check(cursor, constraint)?);
            continue;
        }
        refuse_constraint(cursor)?;
        let null = match cursor.words(&["not", "null"]) {
            true => false,
            false if cursor.words(&["null"]) => true,
            false => return Err(cursor.error()),
        };
        if *domain.null.get_or_insert(null) != null {
            let message = "conflicting NULL/NOT NULL constraints";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
    }
    Ok(Statement::CreateDomain(Box::new(domain)))
}

fn refuse_constraint(cursor: &Cursor<'_>) -> Result<()> {
    let kinds = [("unique", "unique"), ("primary", "primary key"), ("references", "foreign key")];
    match kinds.iter().find(|(word, _)| cursor.peek_word(0, word)) {
        None => Ok(()),
        Some((_, kind)) => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("{kind} constraints not possible for domains"),
        )),
    }
}

/// `ALTER DOMAIN name …`.
fn alter_domain(cursor: &mut Cursor<'_>) -> Result<Statement> {
    let name = cursor.object_name()?;
    let change = domain_change(cursor)?;
    cursor.finish()?;
    Ok(Statement::AlterDomain { name, change: Box::new(change) })
}

fn domain_change(cursor: &mut Cursor<'_>) -> Result<DomainChange> {
    if cursor.words(&["set", "default"]) {
        let tokens = cursor.until(|_, _| false);
        return expression(cursor, tokens).map(|default| DomainChange::Default(Some(default)));
    }
    if cursor.words(&["drop", "default"]) {
        return Ok(DomainChange::Default(None));
    }
    if cursor.words(&["set", "not", "null"]) {
        return Ok(DomainChange::NotNull(true));
    }
    if cursor.words(&["drop", "not", "null"]) {
        return Ok(DomainChange::NotNull(false));
    }
    if cursor.words(&["add"]) {
        let constraint = match cursor.words(&["constraint"]) {
            true => Some(cursor.with_parser(Parser::parse_identifier)?),
            false => None,
        };
        refuse_constraint(cursor)?;
        cursor.expect_words(&["check"])?;
        let check = check(cursor, constraint)?;
        if cursor.words(&["not", "valid"]) {
            return Err(Error::unsupported("NOT VALID", "Add the constraint with its check."));
        }
        return Ok(DomainChange::Add(check));
    }
    if cursor.words(&["drop", "constraint"]) {
        let if_exists = cursor.words(&["if", "exists"]);
        let name = cursor.with_parser(Parser::parse_identifier)?;
        if !cursor.words(&["cascade"]) {
            cursor.words(&["restrict"]);
        }
        return Ok(DomainChange::Drop { name, if_exists });
    }
    if cursor.words(&["rename", "constraint"]) {
        let from = cursor.with_parser(Parser::parse_identifier)?;
        cursor.expect_words(&["to"])?;
        let to = cursor.with_parser(Parser::parse_identifier)?;
        return Ok(DomainChange::RenameCheck { from, to });
    }
    if cursor.words(&["rename", "to"]) {
        return Ok(DomainChange::Rename(cursor.with_parser(Parser::parse_identifier)?));
    }
    let others = [&["validate", "constraint"][..], &["owner", "to"], &["set", "schema"]];
    match others.iter().find(|words| words.iter().enumerate().all(|(i, w)| cursor.peek_word(i, w)))
    {
        None => Err(cursor.error()),
        Some(words) => Err(Error::unsupported(
            format!("ALTER DOMAIN … {}", words.join(" ").to_ascii_uppercase()),
            "Create another domain.",
        )),
    }
}

/// Refuses what `sqlparser` would call a fault of the syntax.
fn refuse_type_changes(cursor: &Cursor<'_>) -> Result<()> {
    let words = ["attribute", "owner", "schema"];
    for ahead in 3..6 {
        if let Some(word) = words.iter().find(|word| cursor.peek_word(ahead, word)) {
            let is_verb = |verb| cursor.peek_word(ahead - 1, verb);
            if *word == "owner"
                || ["add", "drop", "alter", "rename", "set"].into_iter().any(is_verb)
            {
                return Err(Error::unsupported(
                    format!("ALTER TYPE … {}", word.to_ascii_uppercase()),
                    "Create another type.",
                ));
            }
        }
    }
    Ok(())
}
