//! `SEARCH … SET` and `CYCLE … SET … USING` behind an expression of WITH, which `sqlparser` does
//! not know.
//!
//! Both become a name behind FOR UPDATE OF at the end of the expression, which begins as no name
//! does (`MARK`). The binder takes it apart again ([`marked`]).

use sqlparser::ast;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::error::Result;
use crate::sql::parse::cursor::{Cursor, is_word};
use crate::sql::parse::fault::Source;

/// What such a name begins with.
const MARK: &str = "\0search or cycle";
/// Between clauses, between parts of a clause, and between names of a list.
const SEPARATORS: [char; 3] = ['\u{1}', '\u{2}', '\u{3}'];

/// What stands behind an expression.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// SEARCH.
    pub search: Option<Search>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
}

/// `SEARCH { BREADTH | DEPTH } FIRST BY columns SET column`.
#[derive(Clone, Debug)]
pub struct Search {
    /// Whether BREADTH is first.
    pub breadth: bool,
    /// By which columns.
    pub by: Vec<String>,
    /// What is added.
    pub column: String,
}

/// `CYCLE columns SET mark [TO value DEFAULT value] USING path`.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Which columns tell that a row was there.
    pub by: Vec<String>,
    /// What is added.
    pub mark: String,
    /// What it is in a row that was there, as SQL.
    pub value: String,
    /// What it is in others.
    pub default: String,
    /// The path that is added.
    pub path: String,
}

/// Whether a clause begins here.
pub fn begins(tokens: &[TokenWithSpan], at: usize) -> bool {
    let word = |at: usize, word: &str| tokens.get(at).is_some_and(|t| is_word(&t.token, word));
    if at == 0 || tokens[at - 1].token != Token::RParen {
        return false;
    }
    let search = word(at, "search")
        && (word(at + 1, "breadth") || word(at + 1, "depth"))
        && word(at + 2, "first");
    let mut end = at + 2;
    while tokens.get(end).is_some_and(|t| t.token == Token::Comma) {
        end += 2;
    }
    search || word(at, "cycle") && word(end, "set")
}

/// Writes what the parser knows for the clauses at the begin of `tokens`; answers how many tokens
/// they are.
pub fn rewrite(
    source: &Source<'_>,
    tokens: &[TokenWithSpan],
    out: &mut Vec<TokenWithSpan>,
) -> Result<usize> {
    let mut cursor = Cursor::new(source, tokens);
    let [between, within, _] = SEPARATORS;
    let mut value = MARK.to_owned();
    if cursor.words(&["search"]) {
        let breadth = cursor.words(&["breadth"]);
        if !breadth {
            cursor.expect_words(&["depth"])?;
        }
        cursor.expect_words(&["first", "by"])?;
        let by = names(&mut cursor)?;
        cursor.expect_words(&["set"])?;
        let (kind, column) = (if breadth { "breadth" } else { "depth" }, name(&mut cursor)?);
        value.push_str(&format!("{between}{kind}{within}{by}{within}{column}"));
    }
    if cursor.words(&["cycle"]) {
        let by = names(&mut cursor)?;
        cursor.expect_words(&["set"])?;
        let mark = name(&mut cursor)?;
        let (mut to, mut default) = ("true".to_owned(), "false".to_owned());
        if cursor.words(&["to"]) {
            to = text(cursor.until(|token, _| is_word(token, "default")));
            cursor.expect_words(&["default"])?;
            default = text(cursor.until(|token, _| is_word(token, "using")));
        }
        cursor.expect_words(&["using"])?;
        let path = name(&mut cursor)?;
        let parts = ["cycle", &by, &mark, &to, &default, &path].join(&within.to_string());
        value.push_str(&format!("{between}{parts}"));
    }
    let put = |token| TokenWithSpan { token, span: tokens[0].span };
    let word = Word { value, quote_style: Some('"'), keyword: Keyword::NoKeyword };
    out.extend(["FOR", "UPDATE", "OF"].map(|word| put(Token::make_word(word, None))));
    out.push(put(Token::Word(word)));
    Ok(tokens.len() - cursor.rest().len())
}

fn name(cursor: &mut Cursor<'_>) -> Result<String> {
    let Some(word) = cursor.any_word() else { return Err(cursor.error()) };
    Ok(match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_ascii_lowercase(),
    })
}

fn names(cursor: &mut Cursor<'_>) -> Result<String> {
    let mut all = name(cursor)?;
    while cursor.token(&Token::Comma) {
        all.push(SEPARATORS[2]);
        all.push_str(&name(cursor)?);
    }
    Ok(all)
}

fn text(tokens: &[TokenWithSpan]) -> String {
    tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ")
}

/// The clauses behind an expression, and the expression without them; none where there are none.
pub fn marked(cte: &ast::Cte) -> Option<(Clauses, ast::Cte)> {
    let name_of = |lock: &ast::LockClause| match lock.of.as_ref()?.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] => Some(ident.value.clone()),
        _ => None,
    };
    let names = cte.query.locks.iter().filter_map(name_of);
    let name = names.into_iter().find(|name| name.starts_with(MARK))?;
    let mut bare = cte.clone();
    bare.query.locks.retain(|lock| name_of(lock).is_none_or(|name| !name.starts_with(MARK)));
    Some((clauses(name.strip_prefix(MARK)?), bare))
}

fn clauses(rest: &str) -> Clauses {
    let [between, within, listed] = SEPARATORS;
    let list = |text: &str| text.split(listed).map(str::to_owned).collect();
    let mut clauses = Clauses::default();
    for clause in rest.split(between) {
        match clause.split(within).collect::<Vec<_>>()[..] {
            [kind @ ("breadth" | "depth"), by, column] => {
                let (by, column) = (list(by), column.to_owned());
                clauses.search = Some(Search { breadth: kind == "breadth", by, column });
            }
            ["cycle", by, mark, value, default, path] => {
                let [mark, value, default, path] = [mark, value, default, path].map(str::to_owned);
                clauses.cycle = Some(Cycle { by: list(by), mark, value, default, path });
            }
            _ => {}
        }
    }
    clauses
}
