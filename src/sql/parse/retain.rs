//! `RETAIN HISTORY FOR '…'`: how long the past of a table or view stays readable.
//!
//! It may stand behind the name of a materialized view, behind the columns of a table, or in
//! `WITH (…)`. It is taken out of the tokens, and the rest is a statement that `sqlparser` knows.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::Result;
use crate::sql::parse::cursor::is_word;
use crate::sql::parse::fault::Source;

/// The tokens without the clause, and what it says; none where there is no such clause.
pub fn split(
    source: &Source<'_>,
    tokens: &[TokenWithSpan],
) -> Result<Option<(Vec<TokenWithSpan>, String)>> {
    if !tokens.first().is_some_and(|token| is_word(&token.token, "create")) {
        return Ok(None);
    }
    let words = |at: usize, words: &[&str]| {
        words.iter().enumerate().all(|(ahead, word)| {
            tokens.get(at + ahead).is_some_and(|token| is_word(&token.token, word))
        })
    };
    // Behind AS a query begins, where the words may be names.
    let end = tokens.iter().position(|t| is_word(&t.token, "as")).unwrap_or(tokens.len());
    let Some(at) = (0..end).find(|at| words(*at, &["retain", "history", "for"])) else {
        return Ok(None);
    };
    let Some(Token::SingleQuotedString(history)) = tokens.get(at + 3).map(|t| &t.token) else {
        return Err(match tokens.get(at + 3) {
            Some(token) => source.near(token),
            None => source.at_end(),
        });
    };
    let is = |at: usize, token: &Token| tokens.get(at).is_some_and(|t| t.token == *token);
    let with = at >= 2 && words(at - 2, &["with"]) && is(at - 1, &Token::LParen);
    let (first, last) = match with && is(at + 4, &Token::RParen) {
        true => (at - 2, at + 4),
        false => (at, at + 3),
    };
    let mut rest = tokens[..first].to_vec();
    rest.extend_from_slice(&tokens[last + 1..]);
    Ok(Some((rest, history.clone())))
}
