//! `BETWEEN SYMMETRIC`, which `sqlparser` does not know: the first bound becomes the argument of a
//! function with a name that none has ([`SYMMETRIC`]).

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::parse::cursor::is_word;

/// The function that stands around the first bound.
pub const SYMMETRIC: &str = "between symmetric";

/// Whether the word that stands here says how the bounds behind BETWEEN are taken.
pub fn is_mode(tokens: &[TokenWithSpan], at: usize, word: &str) -> bool {
    at > 0 && is_word(&tokens[at - 1].token, "between") && is_word(&tokens[at].token, word)
}

/// Where the AND between the bounds stands, for a first bound that begins at `at`.
pub fn bound_end(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let (mut depth, mut cases) = (0usize, 0usize);
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            word if is_word(word, "case") => cases += 1,
            word if is_word(word, "end") => cases = cases.checked_sub(1)?,
            word if depth == 0 && cases == 0 && is_word(word, "and") => return Some(place),
            _ => {}
        }
    }
    None
}

/// The function's name in the place of a token.
pub fn mark(token: &TokenWithSpan) -> TokenWithSpan {
    let (value, keyword) = (SYMMETRIC.to_owned(), Keyword::NoKeyword);
    let word = Token::Word(Word { value, quote_style: Some('"'), keyword });
    TokenWithSpan { token: word, span: token.span }
}
