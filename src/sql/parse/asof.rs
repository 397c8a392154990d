//! `ASOF [LEFT] JOIN`, of which `sqlparser` knows the form without LEFT.
//!
//! LEFT is taken out, and the condition in `MATCH_CONDITION (…)` behind it becomes the argument of
//! a function with a name that none has ([`LEFT`]).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::parse::cursor::is_word;

/// The function that stands around the condition of a left join.
pub const LEFT: &str = "asof left";

/// How many tokens stand for `ASOF LEFT [OUTER]`, if JOIN comes behind.
pub fn left_join(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    if !(word(at, "asof") && word(at + 1, "left")) {
        return None;
    }
    let length = if word(at + 2, "outer") { 3 } else { 2 };
    word(at + length, "join").then_some(length)
}

/// The condition of the join that begins at `at`, in parentheses: where it begins and ends.
pub fn condition(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize)> {
    let mut depth = 0usize;
    let mut begin = None;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => {
                depth = depth.checked_sub(1)?;
                if let (0, Some(begin)) = (depth, begin) {
                    return Some((begin, place));
                }
            }
            word if depth == 0 && begin.is_none() && is_word(word, "match_condition") => {
                begin = Some(place + 1);
            }
            _ => {}
        }
    }
    None
}

/// The function's name in the place of a token.
pub fn mark(token: &TokenWithSpan) -> TokenWithSpan {
    let (value, keyword) = (LEFT.to_owned(), Keyword::NoKeyword);
    let word = Token::Word(Word { value, quote_style: Some('"'), keyword });
    TokenWithSpan { token: word, span: token.span }
}
