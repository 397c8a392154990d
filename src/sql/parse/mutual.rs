//! `WITH MUTUALLY RECURSIVE`, which `sqlparser` does not know.
//!
//! It becomes `WITH RECURSIVE`, whose first expression has a name that no other has ([`MARK`]): it
//! says what stands between the parentheses behind the words. The binder takes it apart again
//! ([`marked`]).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::{Error, Result, SqlState};
use crate::plan::relation::RoundLimit;
use crate::sql::parse::cursor::{Cursor, is_word};
use crate::sql::parse::fault::Source;

/// What the name of the first expression begins with.
const MARK: &str = "\0mutually recursive";

/// Whether the words begin here.
pub fn is_mutual(tokens: &[TokenWithSpan], at: usize) -> bool {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    word(at, "with") && word(at + 1, "mutually") && word(at + 2, "recursive")
}

/// Writes what the parser knows for the words at the begin of `tokens`; answers how many tokens
/// that stands for.
pub fn rewrite(
    source: &Source<'_>,
    tokens: &[TokenWithSpan],
    out: &mut Vec<TokenWithSpan>,
) -> Result<usize> {
    let mut cursor = Cursor::new(source, tokens);
    cursor.expect_words(&["with", "mutually", "recursive"])?;
    let limit = if cursor.token(&Token::LParen) { Some(options(&mut cursor)?) } else { None };
    let mut value = MARK.to_owned();
    if let Some(RoundLimit { rounds, fails, .. }) = limit {
        value.push_str(&format!(" {} {rounds}", if fails { "error" } else { "return" }));
    }
    let mark = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let put = |token| TokenWithSpan { token, span: tokens[2].span };
    out.extend([tokens[0].clone(), tokens[2].clone(), put(Token::Word(mark))]);
    let words = ["AS", "(", "SELECT", ")", ","];
    out.extend(words.map(|word| {
        put(match word {
            "(" => Token::LParen,
            ")" => Token::RParen,
            "," => Token::Comma,
            word => Token::make_word(word, None),
        })
    }));
    Ok(tokens.len() - cursor.rest().len())
}

/// `RETURN AT RECURSION LIMIT n`, `ERROR AT RECURSION LIMIT n` or `RECURSION LIMIT n`.
fn options(cursor: &mut Cursor<'_>) -> Result<RoundLimit> {
    let returns = cursor.words(&["return", "at"]);
    if !returns {
        cursor.words(&["error", "at"]);
    }
    cursor.expect_words(&["recursion", "limit"])?;
    cursor.token(&Token::Eq);
    let Some(Token::Number(digits, _)) = cursor.peek(0) else { return Err(cursor.error()) };
    let rounds = match digits.parse::<u64>() {
        Ok(rounds) if rounds > 0 => rounds,
        _ => {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                "a recursion limit must be a whole number greater than 0",
            ));
        }
    };
    cursor.next();
    cursor.expect_token(&Token::RParen)?;
    Ok(RoundLimit { rounds, fails: !returns, of: None })
}

/// What the first expression of WITH RECURSIVE says of mutual recursion: nothing where it is one of
/// its own, otherwise the limit that was written.
pub fn marked(name: &str) -> Option<Option<RoundLimit>> {
    let mut words = name.strip_prefix(MARK)?.split_whitespace();
    let fails = words.next().map(|word| word == "error");
    let rounds = words.next().and_then(|rounds| rounds.parse().ok());
    Some(fails.zip(rounds).map(|(fails, rounds)| RoundLimit { rounds, fails, of: None }))
}
