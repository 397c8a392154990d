//! Clauses that `sqlparser` does not know, spelled so that it does.
//!
//! `ROWS FROM (` becomes the call of a function whose name no other has; `WITH MUTUALLY RECURSIVE`
//! is [`mutual`]'s; the star of `(r).*` becomes a field that no other is called.

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::Result;
use crate::sql::parse::cursor::is_word;
use crate::sql::parse::fault::Source;
use crate::sql::parse::mutual;

/// The name under which `ROWS FROM (…)` is called.
const ROWS_FROM: &str = "rows from";

/// The field that stands for all fields.
pub const ALL_FIELDS: &str = "all fields";

/// Whether a star stands for the fields of what is in parentheses or brackets before it.
fn is_star(tokens: &[TokenWithSpan], at: usize) -> bool {
    at >= 2
        && tokens[at].token == Token::Mul
        && tokens[at - 1].token == Token::Period
        && matches!(tokens[at - 2].token, Token::RParen | Token::RBracket)
}

fn named(name: &str) -> Token {
    Token::Word(Word { value: name.into(), quote_style: Some('"'), keyword: NO_KEYWORD })
}

/// The tokens with what the parser knows.
pub fn rewrite<'t>(
    source: &Source<'_>,
    tokens: &'t [TokenWithSpan],
) -> Result<Cow<'t, [TokenWithSpan]>> {
    let is_place = |at: &usize| {
        mutual::is_mutual(tokens, *at)
            || is_star(tokens, *at)
            || (*at > 0 && is_rows_from(tokens, *at))
    };
    let Some(first) = (0..tokens.len()).find(is_place) else { return Ok(Cow::Borrowed(tokens)) };
    let mut out = tokens[..first].to_vec();
    let mut at = first;
    while let Some(token) = tokens.get(at) {
        if !is_place(&at) {
            out.push(token.clone());
            at += 1;
        } else if mutual::is_mutual(tokens, at) {
            at += mutual::rewrite(source, &tokens[at..], &mut out)?;
        } else if is_star(tokens, at) {
            out.push(TokenWithSpan { token: named(ALL_FIELDS), span: token.span });
            at += 1;
        } else {
            out.push(TokenWithSpan { token: named(ROWS_FROM), span: token.span });
            at += 2;
        }
    }
    Ok(Cow::Owned(out))
}

const NO_KEYWORD: sqlparser::keywords::Keyword = sqlparser::keywords::Keyword::NoKeyword;

/// Whether `ROWS FROM (` stands here where FROM's items do, and functions are called behind it:
/// `SELECT a, rows FROM (SELECT …)` has a column of that name.
fn is_rows_from(tokens: &[TokenWithSpan], at: usize) -> bool {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let is = |at: usize, token: &Token| tokens.get(at).is_some_and(|t| t.token == *token);
    if !(word(at, "rows") && word(at + 1, "from") && is(at + 2, &Token::LParen)) {
        return false;
    }
    let behind = ["from", "join", "lateral"].iter().any(|w| word(at - 1, w))
        || is(at - 1, &Token::Comma)
        || is(at - 1, &Token::LParen);
    let name = matches!(tokens.get(at + 3).map(|t| &t.token), Some(Token::Word(_)));
    let qualified = is(at + 4, &Token::Period) && is(at + 6, &Token::LParen);
    behind && name && (is(at + 4, &Token::LParen) || qualified)
}
