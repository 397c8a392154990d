//! What `sqlparser` does not know of window frames: `EXCLUDE …`, and offsets that are plain
//! strings, which it takes for intervals.
//!
//! Both are rewritten before it sees them. A string in the place of an offset gets parentheses. An
//! exclusion is taken out and travels in the name of the window that the specification begins
//! with: behind a NUL ([`MARK`]), which no name has. The binder takes it apart again.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::sql::parse::cursor::is_word;

/// What comes before an exclusion in a window's name.
pub const MARK: char = '\0';

/// The ways to exclude.
const EXCLUSIONS: [(&[&str], &str); 4] = [
    (&["current", "row"], "current row"),
    (&["group"], "group"),
    (&["ties"], "ties"),
    (&["no", "others"], "no others"),
];

/// A parenthesis that is open.
#[derive(Default)]
struct Open {
    /// Where it stands.
    at: usize,
    /// Whether a window's specification may stand in it.
    may_be_window: bool,
    /// Whether a frame has begun.
    in_frame: bool,
}

/// The tokens with frames as `sqlparser` takes them.
pub fn rewrite(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has_frame = |t: &TokenWithSpan| is_any(&t.token, &["preceding", "following", "exclude"]);
    if !tokens.iter().any(has_frame) {
        return tokens;
    }
    let mut out: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut open: Vec<Open> = vec![];
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        let before = out.last().map(|t| &t.token);
        match &token.token {
            Token::LParen => {
                let may_be_window = before.is_some_and(|t| is_any(t, &["over", "as"]));
                open.push(Open { at: out.len(), may_be_window, in_frame: false });
            }
            Token::RParen => drop(open.pop()),
            word if is_any(word, &["rows", "range", "groups"]) => {
                if let Some(inner) = open.last_mut().filter(|inner| inner.may_be_window) {
                    inner.in_frame = true;
                }
            }
            Token::SingleQuotedString(_) => {
                let words = ["rows", "range", "groups", "between", "and"];
                let in_frame = open.last().is_some_and(|inner| inner.in_frame);
                if in_frame && before.is_some_and(|t| is_any(t, &words)) {
                    let parenthesis = |token| TokenWithSpan { token, span: tokens[at - 1].span };
                    out.push(parenthesis(Token::LParen));
                    out.push(token.clone());
                    out.push(parenthesis(Token::RParen));
                    continue;
                }
            }
            word if is_word(word, "exclude") => {
                let found = exclusion(&tokens[at..]);
                let inner = open.last().filter(|inner| inner.in_frame);
                if let (Some((length, name)), Some(inner)) = (found, inner) {
                    let spec = inner.at + 1;
                    mark(&mut out, spec, name);
                    at += length;
                    continue;
                }
            }
            _ => {}
        }
        out.push(token.clone());
    }
    out
}

fn is_any(token: &Token, words: &[&str]) -> bool {
    words.iter().any(|word| is_word(token, word))
}

/// The exclusion that stands before a closing parenthesis, and how many tokens it has.
fn exclusion(tokens: &[TokenWithSpan]) -> Option<(usize, &'static str)> {
    EXCLUSIONS.into_iter().find_map(|(words, name)| {
        let is = |(n, word): (usize, &&str)| tokens.get(n).is_some_and(|t| is_word(&t.token, word));
        let ends = tokens.get(words.len()).is_some_and(|t| t.token == Token::RParen);
        (ends && words.iter().enumerate().all(is)).then_some((words.len(), name))
    })
}

/// Puts an exclusion into the name at the begin of a specification.
fn mark(out: &mut Vec<TokenWithSpan>, spec: usize, exclusion: &str) {
    let begins = ["partition", "order", "rows", "range", "groups"];
    let base = match &out[spec].token {
        Token::Word(word) if !is_any(&out[spec].token, &begins) => Some(match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_ascii_lowercase(),
        }),
        _ => None,
    };
    let value = format!("{}{MARK}{exclusion}", base.as_deref().unwrap_or_default());
    let word = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    let marked = TokenWithSpan { token: Token::Word(word), span: out[spec].span };
    match base {
        Some(_) => out[spec] = marked,
        None => out.insert(spec, marked),
    }
}
