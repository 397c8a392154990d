//! Clauses that `sqlparser` does not know, spelled so that it does.
//!
//! `ROWS FROM (` becomes the call of a function whose name no other has; `WITH MUTUALLY RECURSIVE`
//! is [`mutual`]'s, `ASOF LEFT JOIN` [`asof`]'s, `BETWEEN SYMMETRIC` [`between`]'s, and SEARCH and
//! CYCLE are [`search`]'s; the star of `(r).*` becomes a field that no other is called, and
//! `VARIADIC` before an argument its name.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::Result;
use crate::sql::parse::cursor::is_word;
use crate::sql::parse::fault::Source;
use crate::sql::parse::{asof, between, mutual, search};

/// The name under which `ROWS FROM (…)` is called.
const ROWS_FROM: &str = "rows from";

/// The name that an argument behind `VARIADIC` gets.
const VARIADIC: &str = "variadic argument";

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

/// What has to change among tokens.
#[derive(Default)]
struct Edits {
    /// What comes before the token at a place.
    before: BTreeMap<usize, Vec<TokenWithSpan>>,
    /// The places of tokens that go.
    gone: BTreeSet<usize>,
}

impl Edits {
    fn insert(&mut self, at: usize, tokens: impl IntoIterator<Item = TokenWithSpan>) {
        self.before.entry(at).or_default().extend(tokens);
    }
}

/// The tokens with what the parser knows.
pub fn rewrite<'t>(
    source: &Source<'_>,
    tokens: &'t [TokenWithSpan],
) -> Result<Cow<'t, [TokenWithSpan]>> {
    let mut edits = Edits::default();
    for (at, token) in tokens.iter().enumerate() {
        let put = |token_of| TokenWithSpan { token: token_of, span: token.span };
        let (open, close) = (put(Token::LParen), put(Token::RParen));
        if is_star(tokens, at) {
            edits.insert(at, [put(named(ALL_FIELDS))]);
            edits.gone.insert(at);
        } else if !matches!(token.token, Token::Word(_)) {
            continue;
        } else if mutual::is_mutual(tokens, at) {
            let mut written = vec![];
            let length = mutual::rewrite(source, &tokens[at..], &mut written)?;
            edits.insert(at, written);
            edits.gone.extend(at..at + length);
        } else if search::begins(tokens, at) {
            let mut written = vec![];
            let length = search::rewrite(source, &tokens[at..], &mut written)?;
            edits.insert(at - 1, written);
            edits.gone.extend(at..at + length);
        } else if at > 0 && is_rows_from(tokens, at) {
            edits.insert(at, [put(named(ROWS_FROM))]);
            edits.gone.extend([at, at + 1]);
        } else if at > 0 && is_variadic(tokens, at) {
            edits.insert(at, [put(named(VARIADIC)), put(Token::RArrow)]);
            edits.gone.insert(at);
        } else if let Some(length) = asof::left_join(tokens, at) {
            let Some((begin, end)) = asof::condition(tokens, at + length) else { continue };
            edits.gone.extend(at + 1..at + length);
            edits.insert(begin + 1, [asof::mark(token), open]);
            edits.insert(end, [close]);
        } else if between::is_mode(tokens, at, "symmetric") {
            let Some(end) = between::bound_end(tokens, at + 1) else { continue };
            edits.gone.insert(at);
            edits.insert(at, [between::mark(token), open]);
            edits.insert(end, [close]);
        } else if between::is_mode(tokens, at, "asymmetric") {
            edits.gone.insert(at);
        }
    }
    if edits.before.is_empty() && edits.gone.is_empty() {
        return Ok(Cow::Borrowed(tokens));
    }
    let mut out = Vec::with_capacity(tokens.len() + edits.before.len());
    for (at, token) in tokens.iter().enumerate() {
        out.extend(edits.before.remove(&at).unwrap_or_default());
        if !edits.gone.contains(&at) {
            out.push(token.clone());
        }
    }
    Ok(Cow::Owned(out))
}

const NO_KEYWORD: sqlparser::keywords::Keyword = sqlparser::keywords::Keyword::NoKeyword;

/// Whether `VARIADIC` stands here before an argument; the word is reserved.
fn is_variadic(tokens: &[TokenWithSpan], at: usize) -> bool {
    let plain = |token: &Token| matches!(token, Token::Word(word) if word.quote_style.is_none());
    let here = &tokens[at].token;
    let opens = matches!(tokens[at - 1].token, Token::LParen | Token::Comma);
    opens && plain(here) && is_word(here, "variadic")
}

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
