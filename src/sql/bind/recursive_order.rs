//! In which order the expressions of WITH RECURSIVE are bound: each behind those that it reads.
//!
//! What reads what is told by words: behind FROM, JOIN and TABLE a name is one of a relation.
//! Behind a comma or a parenthesis it may be one, and counts as long as that makes no circle. So an
//! order can be missed where names mean several things; the reference is then refused as one to a
//! later expression, and never taken for something else.

use std::collections::BTreeSet;

use sqlparser::ast;
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::error::{Error, Result, SqlState};
use crate::sql::bind::name;

/// What an expression reads of the others, by number.
#[derive(Default)]
struct Reads {
    surely: BTreeSet<usize>,
    perhaps: BTreeSet<usize>,
}

/// The expressions, each behind those that it reads, otherwise as they were written.
///
/// Errors: 0A000, PostgreSQL's own, where two read each other.
pub fn in_order<'a>(tables: &[&'a ast::Cte]) -> Result<Vec<&'a ast::Cte>> {
    if tables.len() < 2 {
        return Ok(tables.to_vec());
    }
    let names: Vec<String> = tables.iter().map(|cte| name::ident(&cte.alias.name)).collect();
    let reads: Vec<Reads> = tables.iter().map(|cte| reads(&cte.query, &names)).collect();
    let every: Vec<BTreeSet<usize>> =
        reads.iter().map(|reads| &reads.surely | &reads.perhaps).collect();
    let surely: Vec<BTreeSet<usize>> = reads.into_iter().map(|reads| reads.surely).collect();
    let order = sorted(&every).or_else(|| sorted(&surely)).ok_or_else(|| {
        Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "mutual recursion between WITH items is not implemented",
        )
        .with_hint("WITH MUTUALLY RECURSIVE name (column type, …) AS (…), … is there for that.")
    })?;
    Ok(order.into_iter().map(|at| tables[at]).collect())
}

/// The numbers, each behind those that it needs; none where there is a circle of several.
fn sorted(needs: &[BTreeSet<usize>]) -> Option<Vec<usize>> {
    let mut done: Vec<usize> = vec![];
    while done.len() < needs.len() {
        let ready = |at: &usize| {
            !done.contains(at) && needs[*at].iter().all(|n| n == at || done.contains(n))
        };
        let next = (0..needs.len()).find(ready)?;
        done.push(next);
    }
    Some(done)
}

fn reads(query: &ast::Query, names: &[String]) -> Reads {
    let text = query.to_string();
    let mut found = Reads::default();
    let Ok(mut tokens) = Tokenizer::new(&PostgreSqlDialect {}, &text).tokenize() else {
        return found;
    };
    tokens.retain(|token| !matches!(token, Token::Whitespace(_)));
    for (at, token) in tokens.iter().enumerate().skip(1) {
        let Token::Word(word) = token else { continue };
        let ident = ast::Ident { quote_style: word.quote_style, ..ast::Ident::new(&word.value) };
        let own = name::ident(&ident);
        let Some(number) = names.iter().position(|name| *name == own) else { continue };
        match &tokens[at - 1] {
            Token::Word(before)
                if ["FROM", "JOIN", "TABLE", "LATERAL", "ONLY"]
                    .iter()
                    .any(|w| before.value.eq_ignore_ascii_case(w)) =>
            {
                found.surely.insert(number);
            }
            Token::Comma | Token::LParen => {
                found.perhaps.insert(number);
            }
            _ => {}
        }
    }
    found
}
