//! Bound text: how a view's query is stored.
//!
//! The text stays as it was written but for the names of relations, which are qualified, and `*`,
//! which is expanded: so it means the same whatever the reader's search path is and whatever comes
//! later. While a view is bound, each place that has to change is noted ([`Binder::edit`]); then
//! the edits are made in the text.

use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Span, Token, Tokenizer};

use crate::error::{Error, Result};
use crate::sql::bind::context::Binder;
use crate::sql::parse::position::{Lines, byte_offset};

/// A stretch of the string that is replaced.
#[derive(Clone, Debug)]
pub struct Edit {
    /// Characters from the beginning of the string.
    start: u32,
    end: u32,
    text: String,
}

impl Binder<'_, '_> {
    /// Notes what has to stand in the place of a span, if the text is going to be stored.
    pub fn edit(&mut self, span: Span, text: impl FnOnce() -> String) {
        let place = |lines: &Lines, location| lines.position(location)?.checked_sub(1);
        let (start, end) = (place(&self.lines, span.start), place(&self.lines, span.end));
        if let (Some(edits), Some(start), Some(end)) = (&mut self.edits, start, end)
            && start < end
        {
            edits.push(Edit { start, end, text: text() });
        }
    }
}

/// The query behind the AS of a CREATE VIEW, with the edits made. `offset`: where the statement's
/// text begins in the string, in characters.
pub fn query_text(statement: &str, offset: u32, mut edits: Vec<Edit>) -> Result<String> {
    let (start, end) = query_range(statement)?;
    edits.sort_by_key(|edit| edit.start);
    let mut text = String::with_capacity(end - start);
    let mut at = start;
    for edit in edits {
        let (from, to) = (edit.start.saturating_sub(offset), edit.end.saturating_sub(offset));
        let (from, to) = (byte_offset(statement, from), byte_offset(statement, to));
        if from < at || to > end {
            continue;
        }
        text.push_str(&statement[at..from]);
        text.push_str(&edit.text);
        at = to;
    }
    text.push_str(&statement[at..end]);
    Ok(text)
}

/// The bytes behind the first AS that is not in parentheses, without `WITH [NO] DATA`.
fn query_range(statement: &str) -> Result<(usize, usize)> {
    let lines = Lines::of(statement);
    let mut tokens = Tokenizer::new(&PostgreSqlDialect {}, statement)
        .tokenize_with_location()
        .map_err(|e| Error::internal(format!("a statement that parsed does not: {e}")))?;
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    let is = |at: usize, word: &str| {
        tokens.get(at).is_some_and(|token| {
            matches!(&token.token, Token::Word(w)
                if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
        })
    };
    let mut depth = 0usize;
    let found = (0..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is(*at, "as")
    });
    let as_at = found.ok_or_else(|| Error::internal("a view without AS"))?;
    let mut last = tokens.len() - 1;
    if is(last, "data") && is(last - 1, "with") {
        last -= 2;
    } else if is(last, "data") && is(last - 1, "no") && is(last - 2, "with") {
        last -= 3;
    }
    let byte = |location| {
        let position = lines.position(location).and_then(|p| p.checked_sub(1));
        byte_offset(statement, position.unwrap_or(0))
    };
    let first = tokens.get(as_at + 1).ok_or_else(|| Error::internal("a view without query"))?;
    Ok((byte(first.span.start), byte(tokens[last].span.end)))
}
