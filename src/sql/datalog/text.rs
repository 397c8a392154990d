//! Where a program stands in a statement, and its tokens.
//!
//! A program is a stretch of the string that was sent; its tokens keep the places that they have
//! in the whole string, whether they stand there plainly or inside `$$ … $$`, so that an error
//! points at the right character and what is stored can be edited in place.

use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan};

use crate::error::{Error, Result};
use crate::sql::datalog::edn;
use crate::sql::parse::cursor::is_word;
use crate::sql::parse::fault::Source;
use crate::sql::parse::position::Lines;
use crate::sql::parse::tokens::tokenize;

/// A stretch of a string, in characters from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The first.
    pub from: u32,
    /// The one behind the last.
    pub to: u32,
}

/// A program's text: plain, or quoted with what stands around it.
pub struct Text {
    /// Its tokens.
    pub tokens: Vec<TokenWithSpan>,
    /// The rule that is asked for, where the statement says that.
    pub rule: Option<(String, Span)>,
    /// The word `DATALOG`, where the program is quoted.
    pub word: Option<Span>,
    /// Whether it is a query in EDN.
    pub edn: bool,
}

impl Stretch {
    /// The stretch from the first to the last of these tokens.
    pub fn of(lines: &Lines, tokens: &[TokenWithSpan]) -> Option<Stretch> {
        let (first, last) = (tokens.first()?, tokens.last()?);
        let from = lines.position(first.span.start)?.checked_sub(1)?;
        let to = lines.position(last.span.end)?.checked_sub(1)?;
        Some(Stretch { from, to })
    }

    /// Its tokens.
    fn tokens(self, lines: &Lines) -> Result<Vec<TokenWithSpan>> {
        self.tokens_of(lines, lines.slice(self.from, self.to))
    }

    /// The tokens of `text`, which stands in the place of the stretch.
    fn tokens_of(self, lines: &Lines, text: &str) -> Result<Vec<TokenWithSpan>> {
        if is_edn(text) {
            return edn::tokens(lines, text, self.from);
        }
        let own = Lines::of(text);
        let found = tokenize(&Source { text, lines: &own }).map_err(|error| Error {
            position: error.position.map(|position| position + self.from),
            ..error
        })?;
        let base = lines.location(self.from);
        let moved = |place: Location| match place.line {
            1 => Location::new(base.line, base.column + place.column - 1),
            line => Location::new(base.line + line - 1, place.column),
        };
        let moved = found.into_iter().map(|token| TokenWithSpan {
            token: token.token,
            span: Span::new(moved(token.span.start), moved(token.span.end)),
        });
        Ok(split_numbers(moved.collect()))
    }
}

/// Whether a program is a query in EDN.
fn is_edn(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{'])
}

/// The text of the program in a stretch.
pub fn text_of(lines: &Lines, stretch: Stretch) -> Result<Text> {
    let tokens = stretch.tokens(lines)?;
    match tokens.first() {
        Some(first) if is_word(&first.token, "datalog") && quoted_at(&tokens, 0).is_some() => {
            quoted(lines, &tokens)
        }
        _ => {
            let edn = is_edn(lines.slice(stretch.from, stretch.to));
            Ok(Text { tokens, rule: None, word: None, edn })
        }
    }
}

/// Where the quoted program stands behind the word `DATALOG` at that place, if one does.
pub fn quoted_at(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let is_text =
        |at: usize| matches!(tokens.get(at).map(|t| &t.token), Some(Token::DollarQuotedString(_)));
    let is_name = matches!(tokens.get(at + 1).map(|t| &t.token), Some(Token::Word(_)));
    if is_text(at + 1) { Some(at + 1) } else { (is_name && is_text(at + 2)).then_some(at + 2) }
}

/// How many tokens `DATALOG [rule] $$ … $$ [USING (…)]` is, from that word.
pub fn quoted_length(tokens: &[TokenWithSpan]) -> Option<usize> {
    let end = quoted_at(tokens, 0)? + 1;
    let opens = tokens.get(end + 1).is_some_and(|t| t.token == Token::LParen);
    if !opens || !tokens.get(end).is_some_and(|t| is_word(&t.token, "using")) {
        return Some(end);
    }
    let length = matching(&tokens[end + 1..])?;
    Some(end + 1 + length + 1)
}

/// The place of the parenthesis that closes the first of these tokens.
pub fn matching(tokens: &[TokenWithSpan]) -> Option<usize> {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn quoted(lines: &Lines, tokens: &[TokenWithSpan]) -> Result<Text> {
    let broken = || Error::internal("a quoted program that is none");
    let at = quoted_at(tokens, 0).ok_or_else(broken)?;
    let rule = match (&tokens[1].token, at) {
        (Token::Word(word), 2) => {
            let ident = sqlparser::ast::Ident {
                value: word.value.clone(),
                quote_style: word.quote_style,
                span: tokens[1].span,
            };
            Some((crate::sql::bind::name::ident(&ident), tokens[1].span))
        }
        _ => None,
    };
    let inner = inside(lines, &tokens[at]).ok_or_else(broken)?;
    let text = without_line_comments(lines.slice(inner.from, inner.to));
    let mut given = match tokens.get(at + 2..tokens.len() - 1) {
        Some(list) if tokens.len() > at + 1 => arguments(list),
        _ => vec![],
    };
    let found = match is_edn(&text) {
        true => edn::tokens_with(lines, &text, inner.from, &mut given)?,
        false => inner.tokens_of(lines, &text)?,
    };
    let tokens_of = substituted(found, &given, lines)?;
    Ok(Text { tokens: tokens_of, rule, word: Some(tokens[0].span), edn: is_edn(&text) })
}

/// Where the text of a quoted string stands.
pub fn inside(lines: &Lines, token: &TokenWithSpan) -> Option<Stretch> {
    let whole = Stretch::of(lines, std::slice::from_ref(token))?;
    let quotes = match token.token {
        Token::DollarQuotedString(_) => {
            let written = lines.slice(whole.from, whole.to);
            let tag = written.get(1..)?.find('$')? + 2;
            u32::try_from(written[..tag].chars().count()).ok()?
        }
        _ => return None,
    };
    Some(Stretch { from: whole.from + quotes, to: whole.to - quotes })
}

/// What is given by `USING (…)`, from behind its parenthesis up to the closing one.
fn arguments(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let Some((open, list)) = tokens.split_first() else { return vec![] };
    if open.token != Token::LParen {
        return vec![];
    }
    split(list, |token| *token == Token::Comma)
}

/// The tokens with what `USING` gives in the places of `$1`, `$2`, …
fn substituted(
    tokens: Vec<TokenWithSpan>,
    given: &[&[TokenWithSpan]],
    lines: &Lines,
) -> Result<Vec<TokenWithSpan>> {
    if given.is_empty() {
        return Ok(tokens);
    }
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        let Token::Placeholder(number) = &token.token else {
            out.push(token);
            continue;
        };
        let number = number.trim_start_matches('$').parse::<usize>().unwrap_or(0);
        let Some(value) = number.checked_sub(1).and_then(|at| given.get(at)) else {
            return Err(Error::new(
                crate::error::SqlState::UNDEFINED_PARAMETER,
                format!("there is no parameter ${number}"),
            )
            .with_hint("USING gives the values of $1, $2 and so on, in that order.")
            .at(lines.of_span(token.span)));
        };
        let put = |symbol| TokenWithSpan { token: symbol, span: token.span };
        out.push(put(Token::LParen));
        out.extend(value.iter().cloned());
        out.push(put(Token::RParen));
    }
    Ok(out)
}

/// The stretches between separators that are in no parentheses and no CASE.
pub fn split(
    tokens: &[TokenWithSpan],
    is_separator: impl Fn(&Token) -> bool,
) -> Vec<&[TokenWithSpan]> {
    let (mut parts, mut start) = (vec![], 0);
    for at in top_level(tokens) {
        if is_separator(&tokens[at].token) {
            parts.push(&tokens[start..at]);
            start = at + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// The places of tokens that are in no parentheses and no CASE.
pub fn top_level(tokens: &[TokenWithSpan]) -> impl Iterator<Item = usize> {
    let mut depth = 0usize;
    let is_top = tokens.iter().enumerate().filter_map(move |(at, token)| {
        let before = depth;
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
            word if is_word(word, "case") => depth += 1,
            word if is_word(word, "end") => depth = depth.saturating_sub(1),
            _ => {}
        }
        (before == 0 && depth == 0).then_some(at)
    });
    is_top.collect::<Vec<_>>().into_iter()
}

/// `1.` as the number and the point that ends a rule.
fn split_numbers(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        match &token.token {
            Token::Number(digits, long) if digits.len() > 1 && digits.ends_with('.') => {
                let Span { start, end } = token.span;
                let point = Location::new(end.line, end.column.saturating_sub(1));
                let number = Token::Number(digits[..digits.len() - 1].to_owned(), *long);
                out.push(TokenWithSpan { token: number, span: Span::new(start, point) });
                out.push(TokenWithSpan { token: Token::Period, span: Span::new(point, end) });
            }
            _ => out.push(token),
        }
    }
    out
}

/// The text with blanks in the place of comments that begin with `//`, as other Datalogs have them.
fn without_line_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut quote, mut comment, mut kept) = (None, false, false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if comment || kept {
            (comment, kept) = (comment && c != '\n', kept && c != '\n');
        } else if quote.is_some() {
            quote = quote.filter(|open| *open != c);
        } else if c == '\'' || c == '"' {
            quote = Some(c);
        } else if c == '/' && chars.peek() == Some(&'/') {
            comment = true;
        } else if c == '-' && chars.peek() == Some(&'-') {
            kept = true;
        }
        out.push(if comment { ' ' } else { c });
    }
    out
}
