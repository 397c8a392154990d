//! Tokens to rules.
//!
//! A program is clauses that end with a point; in a clause everything but parentheses is split by
//! hand, and what is an expression goes to `sqlparser`. A word alone is a variable whatever SQL
//! makes of it, and what stands in double quotes is a string, as other Datalogs have it.

use std::cell::RefCell;

use sqlparser::ast;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};
use crate::expr::functions::aggregates::is_aggregate;
use crate::plan::observed::Measures;
use crate::sql::bind::name;
use crate::sql::datalog::ast::{
    Argument, Atom, Extreme, Goal, HeadTerm, Literal, Name, Program, Rule, Term, Value,
};
use crate::sql::datalog::demand::object;
use crate::sql::datalog::negation::{self, Negations};
use crate::sql::datalog::text::{matching, split, top_level};
use crate::sql::parse::analyze;
use crate::sql::parse::cursor::{Cursor, is_word, parse_tokens};
use crate::sql::parse::fault::Source;
use crate::sql::parse::limits;
use crate::sql::stack;

/// The name that a query's head has.
pub const FIND: &str = "find";

/// Words of SQL that go on behind what is asked.
const TAILS: [&str; 4] = ["order", "limit", "offset", "fetch"];

/// Directives of other Datalogs.
const DIRECTIVES: [&str; 8] =
    ["decl", "input", "output", "type", "printsize", "pragma", "functor", "include"];

/// Operators of their own beside which `=` is part of an expression.
const CONNECTIVES: [&str; 8] = ["and", "not", "is", "in", "like", "ilike", "between", "similar"];

/// The program that these tokens are.
///
/// Errors: 42601 with the place; 54001 where it is too deep.
pub fn program(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<Program> {
    match limits::check_depth(tokens)? {
        true => stack::large(|| Parse::of(source).program(tokens)),
        false => Parse::of(source).program(tokens),
    }
}

/// Whether these tokens begin with the head of a rule that has an arrow.
pub fn begins_rule(tokens: &[TokenWithSpan]) -> bool {
    head_length(tokens).is_some_and(|length| arrow(&tokens[length..]))
}

/// Whether these tokens are a head and nothing else but a point: a fact.
pub fn is_fact(tokens: &[TokenWithSpan]) -> bool {
    head_length(tokens).is_some_and(|length| match &tokens[length..] {
        [] => true,
        [point, ..] => point.token == Token::Period,
    })
}

/// How many tokens the head in front is: a name and what stands in parentheses behind it.
fn head_length(tokens: &[TokenWithSpan]) -> Option<usize> {
    let named = matches!(tokens.first()?.token, Token::Word(_));
    let opens = tokens.get(1).is_some_and(|token| token.token == Token::LParen);
    (named && opens).then(|| matching(&tokens[1..]))?.map(|closing| closing + 2)
}

/// Whether an arrow comes first.
fn arrow(tokens: &[TokenWithSpan]) -> bool {
    match tokens {
        [first, second, ..] => {
            matches!(first.token, Token::Lt | Token::Colon)
                && second.token == Token::Minus
                && first.span.end == second.span.start
        }
        _ => false,
    }
}

/// Where a clause ends: its own tokens, and how many there are with the point.
pub fn clause(tokens: &[TokenWithSpan]) -> (&[TokenWithSpan], usize) {
    let point = top_level(tokens).find(|at| is_end(tokens, *at));
    match point {
        Some(at) => (&tokens[..at], at + 1),
        None => (tokens, tokens.len()),
    }
}

/// Whether a point ends a clause rather than standing in a name.
fn is_end(tokens: &[TokenWithSpan], at: usize) -> bool {
    if tokens[at].token != Token::Period {
        return false;
    }
    let is_name = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
    let before = at.checked_sub(1).and_then(|at| tokens.get(at));
    let behind = tokens.get(at + 1);
    let span = tokens[at].span;
    let sticks = before.is_some_and(|t| is_name(t) && t.span.end == span.start)
        && behind.is_some_and(|t| is_name(t) && t.span.start == span.end);
    !sticks
}

/// Where what is SQL's begins in a query's clause.
pub fn tail_at(tokens: &[TokenWithSpan]) -> usize {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let begins = |at: &usize| {
        TAILS.iter().any(|tail| word(*at, tail)) && !word(*at + 1, "where")
            || word(*at, "as") && word(*at + 1, "of")
    };
    let where_at = top_level(tokens).find(|at| word(*at, "where")).unwrap_or(0);
    top_level(tokens).filter(|at| *at > where_at).find(begins).unwrap_or(tokens.len())
}

/// Whether these tokens begin a query: `FIND`, a term, and WHERE at the same depth.
pub fn begins_find(tokens: &[TokenWithSpan]) -> bool {
    let first = tokens.first().is_some_and(|token| is_word(&token.token, FIND));
    first && !begins_rule(tokens) && top_level(tokens).any(|at| at > 1 && is_where(tokens, at))
}

/// Whether these tokens begin `EXPLAIN WHY`, with what may stand in between.
pub fn begins_why(tokens: &[TokenWithSpan]) -> bool {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    let at = match tokens.get(1).map(|token| &token.token) {
        Some(Token::LParen) => matching(&tokens[1..]).map_or(1, |closing| closing + 2),
        _ => 1,
    };
    word(0, "explain") && word(at, "why")
}

fn is_where(tokens: &[TokenWithSpan], at: usize) -> bool {
    is_word(&tokens[at].token, "where")
}

struct Parse<'a> {
    source: &'a Source<'a>,
    /// What is negated in the clause that is being parsed, where that is no atom.
    negations: RefCell<Negations>,
}

impl<'a> Parse<'a> {
    fn of(source: &'a Source<'a>) -> Parse<'a> {
        Parse { source, negations: RefCell::default() }
    }

    fn program(&self, mut tokens: &[TokenWithSpan]) -> Result<Program> {
        let mut program = Program::default();
        while let Some(first) = tokens.first() {
            if matches!(first.token, Token::Period | Token::SemiColon) {
                self.refuse_directive(tokens)?;
                tokens = &tokens[1..];
                continue;
            }
            if program.find.is_some() || program.why.is_some() {
                let hint = "A question ends a program: put the rules before it.";
                return Err(self.source.near(first).with_hint(hint));
            }
            let (own, length) = clause(tokens);
            if begins_why(own) {
                program.why = Some(self.why(own)?);
            } else if begins_find(own) {
                let end = tail_at(own);
                let find = self.find(&own[..end])?;
                program.find = Some(self.settled(find, &mut program.rules));
                program.tail = own[end..].to_vec();
            } else {
                let rule = self.rule(own)?;
                let rule = self.settled(rule, &mut program.rules);
                program.rules.push(rule);
            }
            tokens = &tokens[length..];
        }
        Ok(program)
    }

    fn settled(&self, rule: Rule, rules: &mut Vec<Rule>) -> Rule {
        negation::settled(rule, &mut self.negations.borrow_mut(), rules)
    }

    fn refuse_directive(&self, tokens: &[TokenWithSpan]) -> Result<()> {
        let Some(next) = tokens.get(1) else { return Ok(()) };
        let is_directive = DIRECTIVES.iter().any(|word| is_word(&next.token, word));
        let is_rule = tokens.get(2).is_some_and(|t| t.token == Token::LParen);
        if tokens[0].token == Token::Period && is_directive && !is_rule {
            return Err(Error::unsupported(
                format!("the directive .{}", next.token),
                "Relations are tables, views or rules, and need no declaration: leave it out.",
            )
            .at(self.source.lines.of_span(next.span)));
        }
        Ok(())
    }

    /// `EXPLAIN [( options )] WHY [NOT] [( options )] [AS JSON] [FOR] fact`.
    fn why(&self, tokens: &[TokenWithSpan]) -> Result<Goal> {
        let mut cursor = Cursor::new(self.source, tokens);
        let mut measures = Measures::default();
        let options = |cursor: &mut Cursor<'_>, measures: &mut Measures| match cursor.peek(0)
            == Some(&Token::LParen)
        {
            true => analyze::options(cursor, measures),
            false => Ok(()),
        };
        cursor.expect_words(&["explain"])?;
        options(&mut cursor, &mut measures)?;
        cursor.expect_words(&["why"])?;
        let negated = cursor.words(&["not"]);
        options(&mut cursor, &mut measures)?;
        analyze::format(&mut cursor, &mut measures)?;
        cursor.words(&["for"]);
        let hint = "Name a fact: EXPLAIN WHY path(1, 3).";
        match self.atom(cursor.rest())? {
            Some(atom) => Ok(Goal { atom, negated, json: measures.json }),
            None => Err(cursor.error().with_hint(hint)),
        }
    }

    /// `FIND terms WHERE body`.
    fn find(&self, tokens: &[TokenWithSpan]) -> Result<Rule> {
        let at = top_level(tokens).find(|at| *at > 1 && is_where(tokens, *at));
        let Some(at) = at else { return Err(self.source.at_end()) };
        let name = Name {
            folded: FIND.to_owned(),
            written: "FIND".to_owned(),
            position: self.source.lines.of_span(tokens[0].span),
        };
        let head = self.head(&tokens[1..at], &tokens[at])?;
        let body = self.body(&tokens[at + 1..], None)?;
        let text = self.source.text_of(tokens);
        Ok(Rule { name, head, body, types: vec![], text, lines: None })
    }

    fn rule(&self, tokens: &[TokenWithSpan]) -> Result<Rule> {
        let (Some(first), Some(length)) = (tokens.first(), head_length(tokens)) else {
            return Err(self.no_head(tokens));
        };
        let name = self.name(first).ok_or_else(|| self.source.near(first))?;
        let head = self.head(&tokens[2..length - 1], &tokens[length - 1])?;
        let rest = &tokens[length..];
        let body = match rest {
            [] => vec![],
            _ if arrow(rest) => self.body(&rest[2..], None)?,
            [other, ..] => return Err(self.source.near(other).with_hint(HEAD_HINT)),
        };
        let text = self.source.text_of(tokens);
        Ok(Rule { name, head, body, types: vec![], text, lines: None })
    }

    /// The error of a clause that has no head.
    fn no_head(&self, tokens: &[TokenWithSpan]) -> Error {
        let at = match tokens {
            [name, other, ..] if matches!(name.token, Token::Word(_)) => {
                if other.token == Token::LParen { None } else { Some(other) }
            }
            [first, ..] if !matches!(first.token, Token::Word(_)) => Some(first),
            _ => None,
        };
        at.map_or_else(|| self.source.at_end(), |token| self.source.near(token))
            .with_hint(HEAD_HINT)
    }

    fn head(&self, tokens: &[TokenWithSpan], end: &TokenWithSpan) -> Result<Vec<HeadTerm>> {
        let mut terms = vec![];
        for part in split(tokens, |token| *token == Token::Comma) {
            let (part, alias) = match part {
                [term @ .., word, alias] if is_word(&word.token, "as") && !term.is_empty() => {
                    let alias = self.name(alias).ok_or_else(|| self.source.near(alias))?;
                    (term, Some(alias.folded))
                }
                [first, ..] => (part, argument_of_extreme(first)),
                [] => (part, None),
            };
            let lattice = self.lattice(part)?;
            let term = self.term(&with_extremes(part), end)?;
            terms.push(HeadTerm { term, alias, lattice });
        }
        Ok(terms)
    }

    /// `min (x)` or `max (x)`, and nothing else.
    fn lattice(&self, tokens: &[TokenWithSpan]) -> Result<Option<(Extreme, Box<Term>)>> {
        let [word, open, inner @ .., close] = tokens else { return Ok(None) };
        let extreme = match () {
            () if is_word(&word.token, "min") => Extreme::Min,
            () if is_word(&word.token, "max") => Extreme::Max,
            () => return Ok(None),
        };
        let whole = open.token == Token::LParen && matching(&tokens[1..]) == Some(tokens.len() - 2);
        let plain = split(inner, |token| *token == Token::Comma).len() == 1
            && !top_level(inner).any(|at| {
                ["order", "distinct", "all"].iter().any(|w| is_word(&inner[at].token, w))
            });
        if !whole || !plain || inner.is_empty() {
            return Ok(None);
        }
        let term = self.term(inner, close)?;
        Ok(Some((extreme, Box::new(term))))
    }

    /// Literals between commas. `end`: the token behind them, for what is missing.
    fn body(&self, tokens: &[TokenWithSpan], end: Option<&TokenWithSpan>) -> Result<Vec<Literal>> {
        let is_or =
            |token: &Token| matches!(token, Token::Pipe | Token::SemiColon) || is_word(token, "or");
        let branches = split(tokens, is_or);
        if branches.len() > 1 {
            let position = tokens.first().and_then(|t| self.source.lines.of_span(t.span));
            let branches = branches.into_iter().map(|branch| self.conjunction(branch, end));
            return Ok(vec![Literal::Or(branches.collect::<Result<_>>()?, position)]);
        }
        self.conjunction(tokens, end)
    }

    fn conjunction(
        &self,
        tokens: &[TokenWithSpan],
        end: Option<&TokenWithSpan>,
    ) -> Result<Vec<Literal>> {
        let mut literals = vec![];
        let mut at = 0;
        for part in split(tokens, |token| *token == Token::Comma) {
            at += part.len() + 1;
            let next = tokens.get(at - 1).or(end);
            match part {
                [] => return Err(self.missing(next)),
                [open, inner @ .., _]
                    if open.token == Token::LParen && matching(part) == Some(part.len() - 1) =>
                {
                    literals.extend(self.body(inner, part.last())?);
                }
                _ => literals.push(self.literal(part)?),
            }
        }
        Ok(literals)
    }

    fn literal(&self, tokens: &[TokenWithSpan]) -> Result<Literal> {
        let first = &tokens[0];
        let negated = first.token == Token::ExclamationMark || is_word(&first.token, "not");
        if negated {
            let rest = &tokens[1..];
            if let Some(atom) = self.atom(rest)? {
                return Ok(Literal::Not(atom));
            }
            if rest.first().is_some_and(|t| t.token == Token::LParen)
                && matching(rest) == Some(rest.len() - 1)
                && self.holds_atom(&rest[1..rest.len() - 1])
            {
                let body = self.body(&rest[1..rest.len() - 1], rest.last())?;
                let position = self.source.lines.of_span(first.span);
                let (name, text) = (negation::name_at(position), self.source.text_of(rest));
                self.negations.borrow_mut().insert(name.clone(), body);
                let name = object(&name);
                return Ok(Literal::Not(Atom { name, args: vec![], call: None, text, position }));
            }
            let mut spelled = tokens.to_vec();
            spelled[0].token = Token::make_keyword("NOT");
            return self.value(&spelled).map(|value| Literal::Condition(Box::new(value)));
        }
        if let Some(atom) = self.atom(tokens)? {
            return Ok(Literal::Atom(atom));
        }
        let is_other = |at: usize| {
            let token = &tokens[at].token;
            matches!(token, Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::Neq)
                || CONNECTIVES.iter().any(|word| is_word(token, word))
        };
        let equals: Vec<usize> =
            top_level(tokens).filter(|at| tokens[*at].token == Token::Eq).collect();
        if let [at] = equals[..]
            && !top_level(tokens).any(is_other)
        {
            let (left, right) = (&tokens[..at], &tokens[at + 1..]);
            let position = self.source.lines.of_span(tokens[at].span);
            let (left, right) =
                (self.term(left, &tokens[at])?, self.term(right, &tokens[tokens.len() - 1])?);
            return Ok(Literal::Equal(left, right, position));
        }
        self.value(tokens).map(|value| Literal::Condition(Box::new(value)))
    }

    /// Whether a body has more than a condition.
    fn holds_atom(&self, tokens: &[TokenWithSpan]) -> bool {
        split(tokens, |token| *token == Token::Comma).len() > 1
            || split(tokens, |token| *token == Token::Pipe).len() > 1
    }

    /// `name (arguments)`, where that is all.
    fn atom(&self, tokens: &[TokenWithSpan]) -> Result<Option<Atom>> {
        let Some(open) = tokens.iter().position(|token| token.token == Token::LParen) else {
            return Ok(None);
        };
        let names = tokens[..open].iter().enumerate().all(|(at, token)| match at % 2 {
            0 => matches!(token.token, Token::Word(_)),
            _ => token.token == Token::Period,
        });
        if open % 2 == 0 || !names || matching(&tokens[open..]) != Some(tokens.len() - 1 - open) {
            return Ok(None);
        }
        let name = parse_tokens(self.source, &tokens[..open], |p| p.parse_object_name(false))?;
        let inner = &tokens[open + 1..tokens.len() - 1];
        let close = &tokens[tokens.len() - 1];
        let mut args = vec![];
        let parts = split(inner, |token| *token == Token::Comma);
        let is_syntax = parts.iter().any(|part| {
            top_level(part)
                .any(|at| ["from", "for", "as"].iter().any(|w| is_word(&part[at].token, w)))
                && part.len() > 1
        });
        if is_syntax {
            // `substring(x FROM 2)` and its like are functions.
            return Ok(None);
        }
        if !inner.is_empty() {
            for part in &parts {
                args.push(self.argument(part, close)?);
            }
        }
        let text = self.source.text_of(tokens);
        let position = self.source.lines.of_span(tokens[0].span);
        let call = self.value(tokens).ok().map(Box::new);
        Ok(Some(Atom { name, args, call, text, position }))
    }

    fn argument(&self, tokens: &[TokenWithSpan], end: &TokenWithSpan) -> Result<Argument> {
        match tokens {
            [column, arrow, term @ ..] if arrow.token == Token::RArrow => {
                let name = self.name(column).ok_or_else(|| self.source.near(column))?;
                Ok(Argument { column: Some(name), term: self.term(term, end)? })
            }
            _ => Ok(Argument { column: None, term: self.term(tokens, end)? }),
        }
    }

    /// `end`: the token behind the term, for what is missing.
    fn term(&self, tokens: &[TokenWithSpan], end: &TokenWithSpan) -> Result<Term> {
        match tokens {
            [] => Err(self.missing(Some(end))),
            [one] => match &one.token {
                Token::Word(word) if word.quote_style.is_none() && word.value == "_" => {
                    Ok(Term::Wildcard(self.source.lines.of_span(one.span)))
                }
                Token::Word(word) if word.quote_style.is_none() && !is_constant(&word.value) => {
                    Ok(Term::Variable(self.name(one).ok_or_else(|| self.source.near(one))?))
                }
                _ => self.value(tokens).map(|value| Term::Value(Box::new(value))),
            },
            _ => self.value(tokens).map(|value| Term::Value(Box::new(value))),
        }
    }

    fn missing(&self, next: Option<&TokenWithSpan>) -> Error {
        next.map_or_else(|| self.source.at_end(), |token| self.source.near(token))
    }

    fn value(&self, tokens: &[TokenWithSpan]) -> Result<Value> {
        let (mut words, mut spelled, mut aggregates) = (vec![], tokens.to_vec(), false);
        for (at, token) in tokens.iter().enumerate() {
            let Token::Word(word) = &token.token else { continue };
            let is = |at: usize, kind: &Token| tokens.get(at).is_some_and(|t| t.token == *kind);
            let calls = is(at + 1, &Token::LParen);
            let dotted = is(at + 1, &Token::Period)
                || at > 0 && matches!(tokens[at - 1].token, Token::Period | Token::DoubleColon);
            if word.quote_style.is_some() && !calls && !dotted {
                spelled[at].token = Token::SingleQuotedString(word.value.clone());
            } else if calls {
                aggregates |= is_aggregate(&word.value.to_ascii_lowercase());
            } else if word.quote_style.is_none() && !dotted {
                if word.value == "_" {
                    return Err(self.source.near(token).with_hint(
                        "_ stands for a column that nothing is said of: give it a name to use it.",
                    ));
                }
                words.extend(self.name(token));
            }
        }
        let expr: ast::Expr = parse_tokens(self.source, &spelled, Parser::parse_expr)?;
        let position = tokens.first().and_then(|t| self.source.lines.of_span(t.span));
        Ok(Value { expr, words, aggregates, position })
    }

    fn name(&self, token: &TokenWithSpan) -> Option<Name> {
        let Token::Word(word) = &token.token else { return None };
        let ident = ast::Ident {
            value: word.value.clone(),
            quote_style: word.quote_style,
            span: token.span,
        };
        let position = self.source.lines.of_span(token.span);
        Some(Name { folded: name::ident(&ident), written: word.value.clone(), position })
    }
}

const HEAD_HINT: &str =
    "Rules are head(X, …) <- body(X, …), …; facts name(constant, …); queries FIND … WHERE ….";

fn is_constant(word: &str) -> bool {
    ["true", "false", "null"].iter().any(|constant| word.eq_ignore_ascii_case(constant))
}

/// The column's name of `argmin(…)` and `argmax(…)`.
fn argument_of_extreme(first: &TokenWithSpan) -> Option<String> {
    let names = ["argmin", "argmax"];
    names.into_iter().find(|name| is_word(&first.token, name)).map(str::to_owned)
}

/// `argmin(x, y)` as SQL has it: the first `x` of an array in the order of `y`.
fn with_extremes(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let (mut out, mut at) = (Vec::with_capacity(tokens.len()), 0);
    while let Some(token) = tokens.get(at) {
        let least = is_word(&token.token, "argmin");
        let call = (least || is_word(&token.token, "argmax"))
            .then(|| tokens[at + 1..].first().filter(|t| t.token == Token::LParen))
            .flatten()
            .and_then(|_| matching(&tokens[at + 1..]));
        let parts = call.map(|closing| {
            split(&tokens[at + 2..at + 1 + closing], |token| *token == Token::Comma)
        });
        match (call, parts.as_deref()) {
            (Some(closing), Some([what, by])) if !what.is_empty() && !by.is_empty() => {
                out.extend(extreme(token, what, by, least));
                at += closing + 2;
            }
            _ => {
                out.push(token.clone());
                at += 1;
            }
        }
    }
    out
}

fn extreme(
    place: &TokenWithSpan,
    what: &[TokenWithSpan],
    by: &[TokenWithSpan],
    least: bool,
) -> Vec<TokenWithSpan> {
    let put = |token| TokenWithSpan { token, span: place.span };
    let word = |text: &str| put(Token::make_keyword(text));
    let mut out = vec![put(Token::LParen), put(Token::make_word("array_agg", None))];
    out.push(put(Token::LParen));
    out.extend_from_slice(what);
    out.extend([word("ORDER"), word("BY")]);
    out.extend_from_slice(by);
    out.extend(if least { None } else { Some(word("DESC")) });
    out.push(put(Token::Comma));
    out.extend_from_slice(what);
    out.extend([put(Token::RParen), word("FILTER"), put(Token::LParen), word("WHERE")]);
    out.push(put(Token::LParen));
    out.extend_from_slice(by);
    out.extend([put(Token::RParen), word("IS"), word("NOT"), word("NULL")]);
    out.extend([put(Token::RParen), put(Token::RParen), put(Token::LBracket)]);
    out.extend([put(Token::Number("1".to_owned(), false)), put(Token::RBracket)]);
    out
}

/// The error of a fact with a name in it.
pub fn unbound_fact(fact: &str, name: &Name) -> Error {
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("\"{}\" in the fact \"{fact}\" has no value", name.written),
    )
    .with_hint(format!("A bare name is a variable; a string is quoted: '{}'.", name.written))
    .at(name.position)
}
