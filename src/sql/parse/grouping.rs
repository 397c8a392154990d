//! GROUP BY in words that `sqlparser` can read.
//!
//! It knows grouping sets of plain expressions alone, no sets inside sets, and not GROUP BY
//! DISTINCT. So grouping sets become calls of functions with names that no function has (quoted,
//! where a keyword would be taken for its own), whose arguments are what stands between the
//! parentheses; the binder tells them by these names. Every token that is put in has the place of
//! the one that it stands for.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::parse::cursor::is_word;

/// How these names are quoted, as no text can quote them.
pub const QUOTE: char = '`';
/// `GROUPING SETS (…)`.
pub const SETS: &str = "grouping sets";
/// `ROLLUP (…)`.
pub const ROLLUP: &str = "rollup";
/// `CUBE (…)`.
pub const CUBE: &str = "cube";
/// `()` among grouping sets.
pub const NOTHING: &str = "empty grouping set";
/// The item that stands before the others of `GROUP BY DISTINCT`.
pub const DISTINCT: &str = "group by distinct";

/// Rewrites the tokens of a string.
pub fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let found = |word: &str| tokens.iter().any(|token| is_word(&token.token, word));
    if !["grouping", ROLLUP, CUBE, "group"].iter().any(|word| found(word)) {
        return tokens;
    }
    let mut out = Vec::with_capacity(tokens.len());
    // For each open parenthesis, whether it holds grouping sets.
    let mut open: Vec<bool> = vec![];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let rest = &tokens[at..];
        let is = |ahead: usize, word| rest.get(ahead).is_some_and(|t| is_word(&t.token, word));
        let paren = |ahead: usize, paren| rest.get(ahead).is_some_and(|t| t.token == paren);
        let by = is(0, "group") && is(1, "by");
        if is(0, "grouping") && is(1, "sets") && paren(2, Token::LParen) {
            out.extend([name(SETS, token), rest[2].clone()]);
            open.push(true);
            at += 3;
        } else if (is(0, ROLLUP) || is(0, CUBE)) && paren(1, Token::LParen) {
            out.push(name(if is(0, CUBE) { CUBE } else { ROLLUP }, token));
            at += 1;
        } else if by && (is(2, "distinct") || is(2, "all")) {
            out.extend_from_slice(&rest[..2]);
            if is(2, "distinct") {
                let like = |token| TokenWithSpan { token, span: rest[2].span };
                out.push(name(DISTINCT, &rest[2]));
                out.extend([Token::LParen, Token::RParen, Token::Comma].map(like));
            }
            at += 3;
        } else if open.last() == Some(&true) && !is_call(&out) && is_empty(rest) {
            out.push(name(NOTHING, token));
            out.extend_from_slice(&rest[..2]);
            at += 2;
        } else {
            match token.token {
                Token::LParen => open.push(false),
                Token::RParen => {
                    open.pop();
                }
                _ => {}
            }
            out.push(token.clone());
            at += 1;
        }
    }
    out
}

/// Whether parentheses behind these tokens are those of a call.
fn is_call(before: &[TokenWithSpan]) -> bool {
    matches!(before.last().map(|token| &token.token), Some(Token::Word(_)))
}

/// Whether tokens begin with parentheses that hold nothing.
fn is_empty(tokens: &[TokenWithSpan]) -> bool {
    matches!(tokens, [a, b, ..] if a.token == Token::LParen && b.token == Token::RParen)
}

/// A quoted name in the place of a token.
fn name(name: &str, token: &TokenWithSpan) -> TokenWithSpan {
    let (value, keyword) = (name.to_owned(), Keyword::NoKeyword);
    let token_of = Token::Word(Word { value, quote_style: Some(QUOTE), keyword });
    TokenWithSpan { token: token_of, span: token.span }
}
