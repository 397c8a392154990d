//! Clauses that `sqlparser` does not know, spelled so that it does.
//!
//! `ROWS FROM (` becomes the call of a function whose name no other has.

use std::borrow::Cow;

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::parse::cursor::is_word;

/// The name under which `ROWS FROM (…)` is called.
const ROWS_FROM: &str = "rows from";

/// The tokens with what the parser knows.
pub fn rewrite(tokens: &[TokenWithSpan]) -> Cow<'_, [TokenWithSpan]> {
    let places: Vec<usize> = (1..tokens.len()).filter(|at| is_rows_from(tokens, *at)).collect();
    if places.is_empty() {
        return Cow::Borrowed(tokens);
    }
    let mut out = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        if places.contains(&at) {
            let word =
                Word { value: ROWS_FROM.into(), quote_style: Some('"'), keyword: NO_KEYWORD };
            out.push(TokenWithSpan { token: Token::Word(word), span: token.span });
        } else if at == 0 || !places.contains(&(at - 1)) {
            out.push(token.clone());
        }
    }
    Cow::Owned(out)
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
