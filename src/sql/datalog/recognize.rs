//! Where SQL stops and Datalog begins.
//!
//! A query in Datalog, `FIND …` or `DATALOG $$ … $$`, may stand wherever a query may. Before
//! `sqlparser` sees the tokens each becomes `SELECT * FROM "datalog program"(from, to)`, a call
//! whose name no function has and whose arguments say where in the string the program is; the
//! binder parses it from there again. ORDER BY, LIMIT and AS OF stay SQL's. A statement that is
//! nothing but rules is one of its own.

use std::borrow::Cow;

use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

use crate::error::{Error, Result, SqlState};
use crate::sql::datalog::edn;
use crate::sql::datalog::parse::{
    begins_find, begins_rule, begins_why, clause, is_fact, program, tail_at,
};
use crate::sql::datalog::text::{Stretch, quoted_at, quoted_length, text_of};
use crate::sql::parse::cursor::is_word;
use crate::sql::parse::fault::Source;
use crate::sql::parse::limits;

/// The name under which a program is called.
pub const PROGRAM: &str = "datalog program";

/// Words behind which a query may stand.
const BEFORE_QUERIES: [&str; 10] =
    ["explain", "for", "as", "plan", "verbose", "text", "json", "rules", "physical", "optimized"];

/// Words that begin statements of SQL, which look like facts: `VALUES (1)`.
const NO_HEADS: [&str; 6] = ["select", "values", "table", "with", "explain", "subscribe"];

/// A statement with its programs marked.
pub struct Recognized<'t> {
    /// The tokens that are left for SQL.
    pub tokens: Cow<'t, [TokenWithSpan]>,
    /// The rules that the statement is, where it is nothing else.
    pub rules: Option<Stretch>,
    /// The transaction of the entity store that the statement is, where it is one.
    pub facts: Option<Stretch>,
    /// Whether a program in it is too deep for an ordinary stack.
    pub deep: bool,
}

/// Marks the programs among the tokens of a statement.
///
/// Errors: 42601 where a program is none.
pub fn recognize<'t>(source: &Source<'_>, tokens: &'t [TokenWithSpan]) -> Result<Recognized<'t>> {
    let borrowed = Cow::Borrowed(tokens);
    let mut found = Recognized { tokens: borrowed, rules: None, facts: None, deep: false };
    let is_head = !NO_HEADS.iter().any(|word| is_word(&tokens[0].token, word));
    let is_edn = matches!(tokens[0].token, Token::LBracket | Token::LBrace);
    if is_edn
        && let Some(stretch) = Stretch::of(source.lines, tokens)
        && !edn::is_query(&edn::form_of(
            source.lines.slice(stretch.from, stretch.to),
            stretch.from,
        )?)
    {
        found.facts = Some(stretch);
        return Ok(found);
    }
    let starts =
        is_edn || begins_why(tokens) || is_head && (begins_rule(tokens) || is_fact(tokens));
    if !starts && !tokens.iter().any(|t| is_word(&t.token, "find") || is_word(&t.token, "datalog"))
    {
        return Ok(found);
    }
    let mut out: Vec<TokenWithSpan> = vec![];
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let length = match at {
            0 if is_edn => Some(rest.len()),
            0 if starts => Some(plain_length(rest)),
            _ => length(tokens, at),
        };
        let Some(length) = length else {
            out.push(tokens[at].clone());
            at += 1;
            continue;
        };
        let Some(stretch) = Stretch::of(source.lines, &rest[..length]) else {
            return Err(source.near(&rest[0]));
        };
        let text = text_of(source.lines, stretch)?;
        found.deep |= limits::check_depth(&text.tokens)?;
        let parsed = program(source, &text.tokens)?;
        let alone = at == 0 && length == tokens.len();
        if let Some(why) = parsed.why.as_ref().filter(|_| !alone || text.rule.is_some()) {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "EXPLAIN WHY is a statement of its own",
            )
            .at(why.atom.position));
        }
        if alone && parsed.find.is_none() && text.rule.is_none() {
            found.rules = Some(stretch);
            return Ok(found);
        }
        out.extend(marked(&rest[..length], stretch));
        out.extend(parsed.tail);
        at += length;
    }
    found.tokens = Cow::Owned(out);
    Ok(found)
}

/// How many tokens the program at this place is; none where there is none.
fn length(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let rest = &tokens[at..];
    if is_word(&rest[0].token, "datalog") && quoted_at(rest, 0).is_some() {
        return quoted_length(rest);
    }
    let may_begin = match at.checked_sub(1).map(|before| &tokens[before].token) {
        None | Some(Token::LParen | Token::RParen) => true,
        Some(before) => BEFORE_QUERIES.iter().any(|word| is_word(before, word)),
    };
    let end = closing(rest);
    let inside = &rest[..end];
    (may_begin && begins_find(inside) && !is_sql(inside)).then(|| tail_at(inside))
}

/// Where the parenthesis around these tokens closes, or the statement ends.
fn closing(tokens: &[TokenWithSpan]) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Whether `find` is a name here, as in `SELECT 1 AS find FROM t WHERE …`.
fn is_sql(tokens: &[TokenWithSpan]) -> bool {
    let next = tokens.get(1).map(|token| &token.token);
    let goes_on = ["from", "where", "union", "except", "intersect", "window", "group", "having"];
    next.is_none_or(|next| {
        matches!(next, Token::Comma | Token::RParen | Token::Period)
            || goes_on.iter().any(|word| is_word(next, word))
    })
}

/// How many tokens rules, and perhaps a query behind them, are.
fn plain_length(tokens: &[TokenWithSpan]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        let (own, length) = clause(&tokens[at..]);
        if begins_find(own) {
            return at + tail_at(own);
        }
        at += length;
    }
    tokens.len()
}

/// `SELECT * FROM "datalog program"(from, to)`, which has the place of the first and of the last of
/// these tokens; what is in between has none, so that nothing is edited there.
fn marked(tokens: &[TokenWithSpan], stretch: Stretch) -> Vec<TokenWithSpan> {
    let first = tokens.first().map_or(Span::empty(), |token| token.span);
    let last = tokens.last().map_or(Span::empty(), |token| token.span);
    let name = Token::Word(Word {
        value: PROGRAM.into(),
        quote_style: Some('"'),
        keyword: sqlparser::keywords::Keyword::NoKeyword,
    });
    let number = |number: u32| Token::Number(number.to_string(), false);
    let inside = [
        Token::Mul,
        Token::make_keyword("FROM"),
        name,
        Token::LParen,
        number(stretch.from),
        Token::Comma,
        number(stretch.to),
    ];
    let mut out = vec![TokenWithSpan { token: Token::make_keyword("SELECT"), span: first }];
    out.extend(inside.map(|token| TokenWithSpan { token, span: Span::empty() }));
    out.push(TokenWithSpan { token: Token::RParen, span: last });
    out
}
