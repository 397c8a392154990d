//! `CREATE SOURCE name FROM TRACE FILE 'path' [WITH (SNAPSHOT = '1s')]`.

use sqlparser::tokenizer::Token;

use crate::error::{Error, Result};
use crate::sql::parse::ast::Statement;
use crate::sql::parse::cursor::Cursor;

/// The statement, if it is one of these.
pub fn statement(cursor: &mut Cursor<'_>) -> Result<Option<Statement>> {
    if !cursor.words(&["create", "source"]) {
        return Ok(None);
    }
    let name = cursor.object_name()?;
    cursor.expect_words(&["from"])?;
    if !cursor.words(&["trace"]) {
        return Err(Error::unsupported(
            "a source of this kind",
            "CREATE SOURCE … FROM TRACE FILE '…' reads what `weir trace record` wrote.",
        ));
    }
    cursor.expect_words(&["file"])?;
    let path = text(cursor)?;
    let mut snapshot = None;
    if cursor.words(&["with"]) {
        cursor.expect_token(&Token::LParen)?;
        cursor.expect_words(&["snapshot"])?;
        cursor.token(&Token::Eq);
        snapshot = Some(text(cursor)?);
        cursor.expect_token(&Token::RParen)?;
    }
    cursor.finish()?;
    Ok(Some(Statement::CreateTraceSource { name, path, snapshot }))
}

fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    match cursor.next() {
        Some(Token::SingleQuotedString(text)) => Ok(text.clone()),
        _ => Err(cursor.error()),
    }
}
