//! A string split into statements.
//!
//! As in PostgreSQL the whole string is parsed before any of it runs, so that a syntax error
//! anywhere means that nothing happens.

use std::fmt;

use sqlparser::ast as sqlast;
use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::sql::datalog::edn::without_comments;
use crate::sql::datalog::recognize::recognize;
use crate::sql::parse::ast::Statement;
use crate::sql::parse::fault::Source;
use crate::sql::parse::position::{Lines, byte_offset};
use crate::sql::parse::rewrite::rewrite;
use crate::sql::parse::tokens::tokenize;
use crate::sql::parse::{facts, frames, front, grouping, limits};
use crate::sql::stack;

/// A statement with its text.
pub struct ParsedStatement {
    /// The text, without the semicolon.
    pub text: String,
    /// How many characters of the string come before it.
    pub offset: u32,
    /// The lines of the string, for positions.
    pub(in crate::sql) lines: Lines,
    /// The syntax tree; taken when dropped.
    ast: Option<Statement>,
    /// Whether the tree is too deep for an ordinary stack.
    deep: bool,
}

impl ParsedStatement {
    /// The syntax tree.
    pub(in crate::sql) fn ast(&self) -> &Statement {
        self.ast.as_ref().expect("only a drop takes it")
    }

    /// Whether it ends a transaction, which is all that a failed one lets through.
    pub fn is_transaction_exit(&self) -> bool {
        match self.ast() {
            Statement::Sql(statement) => matches!(
                **statement,
                sqlast::Statement::Commit { .. } | sqlast::Statement::Rollback { .. }
            ),
            _ => false,
        }
    }

    /// Runs what walks over the tree on a stack that is deep enough for it.
    pub(in crate::sql) fn on_stack<R>(&self, f: impl FnOnce() -> R) -> R {
        if self.deep { stack::large(f) } else { f() }
    }

    /// Whether there is nothing but comments.
    pub fn is_empty(&self) -> bool {
        matches!(self.ast(), Statement::Empty)
    }
}

impl Drop for ParsedStatement {
    fn drop(&mut self) {
        if self.deep {
            let ast = self.ast.take();
            stack::large(move || drop(ast));
        }
    }
}

impl fmt::Debug for ParsedStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParsedStatement")
            .field("text", &self.text)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// The statements of a string; empty ones (two semicolons) are left out.
///
/// Errors: 42601 with the position, 54000 and 54001 where a limit is passed.
pub fn parse(text: &str) -> Result<Vec<ParsedStatement>> {
    limits::check_bytes(text)?;
    let text = &*without_comments(text);
    let lines = Lines::of(text);
    let source = Source { text, lines: &lines };
    let tokens = grouping::rewrite(frames::rewrite(tokenize(&source)?));
    let mut statements = vec![];
    for tokens in tokens.split(|token| token.token == Token::SemiColon) {
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { continue };
        let deep = limits::check_depth(tokens)?;
        let recognized = recognize(&source, tokens)?;
        let deep = deep || recognized.deep;
        let ast = match (recognized.rules, recognized.facts) {
            (Some(stretch), _) => Statement::Rules(stretch),
            (None, Some(stretch)) => facts::transaction(&source, stretch, vec![])?,
            (None, None) => {
                let tokens = &*rewrite(&source, &recognized.tokens)?;
                match deep {
                    true => stack::large(|| front::statement(&source, tokens))?,
                    false => front::statement(&source, tokens)?,
                }
            }
        };
        let offset = lines.of_span(first.span).map_or(0, |p| p - 1);
        let end = lines.position(last.span.end).map_or(u32::MAX, |p| p - 1);
        let text = text[byte_offset(text, offset)..byte_offset(text, end)].to_owned();
        statements.push(ParsedStatement {
            text,
            offset,
            lines: lines.clone(),
            ast: Some(ast),
            deep,
        });
    }
    Ok(statements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, Option<u32>) {
        let error = parse(text).unwrap_err();
        (format!("{} {}", error.code, error.message), error.position)
    }

    #[test]
    fn statements_keep_their_text_and_place() {
        let text = " select 'ü;' ; /* x; */ ;\nselect 2 -- end";
        let parsed = parse(text).unwrap();
        let found: Vec<_> = parsed.iter().map(|s| (s.text.as_str(), s.offset)).collect();
        assert_eq!(found, vec![("select 'ü;'", 1), ("select 2", 26)]);
        assert!(parse("  -- nothing\n").unwrap().is_empty());
        assert!(parse("ROLLBACK").unwrap()[0].is_transaction_exit());
        assert!(!parse("BEGIN").unwrap()[0].is_transaction_exit());
    }

    #[test]
    fn faults_name_the_token_and_its_place() {
        let near = |token: &str| format!("42601 syntax error at or near \"{token}\"");
        assert_eq!(fault("select 1;\n selec 2"), (near("selec"), Some(12)));
        assert_eq!(fault("select 1 from where"), (near("where"), Some(15)));
        assert_eq!(fault("select (1"), ("42601 syntax error at end of input".into(), Some(10)));
        let open = "42601 unterminated quoted string at or near \"'abc\"";
        assert_eq!(fault("select 'abc"), (open.into(), Some(8)));
        assert_eq!(fault("subscribe (select 1) as").0, near("as"));
    }

    #[test]
    fn times_are_told_from_aliases() {
        let as_of = |text: &str| match parse(text).unwrap()[0].ast() {
            Statement::Select(select) => select.as_of.is_some(),
            _ => panic!("not a query"),
        };
        assert!(as_of("select * from t as of 5"));
        assert!(as_of("select a as of from t as of '2020-01-01'"));
        assert!(!as_of("select a as of, b from t"));
        assert!(!as_of("select * from t as of where of.a = 1"));
        assert!(!as_of("select * from (select 1 as of) x"));
    }

    #[test]
    fn deep_texts_are_parsed_and_dropped_on_small_stacks() {
        let run = || {
            let nested = format!("select {}1{}", "(".repeat(1500), ")".repeat(1500));
            assert_eq!(parse(&nested).unwrap().len(), 1);
            let chain = format!("select 1{}", " + 1".repeat(50_000));
            assert_eq!(parse(&chain).unwrap().len(), 1);
            let too_deep = format!("select {}1{}", "(".repeat(5_000), ")".repeat(5_000));
            assert_eq!(parse(&too_deep).unwrap_err().code.as_str(), "54001");
            let unions = format!("select 1{}", " union all select 1".repeat(5_000));
            assert_eq!(parse(&unions).unwrap().len(), 1);
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
    }
}
