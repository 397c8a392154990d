//! `EXPLAIN`.
//!
//! ```text
//! EXPLAIN [RAW | DECORRELATED | OPTIMIZED | PHYSICAL | RULES] [PLAN] [VERBOSE]
//!   [( option [, …] )] [AS { TEXT | JSON }] [FOR] statement
//! ```
//!
//! `RULES` shows the plan as it was written and after each rule of the optimizer that changed it;
//! without a word it is the optimized plan. PostgreSQL's options are taken: `FORMAT` is obeyed, the
//! others say how much of something is shown that is not there.

use sqlparser::tokenizer::Token;

use crate::error::Result;
use crate::plan::observed::Measures;
use crate::plan::statement::ExplainStage;
use crate::sql::parse::analyze;
use crate::sql::parse::ast::Statement;
use crate::sql::parse::cursor::Cursor;
use crate::sql::parse::front;

/// The statement behind `EXPLAIN`.
pub fn explain(mut cursor: Cursor<'_>) -> Result<Statement> {
    if let Some(analyze) = analyze::analyze(&mut cursor)? {
        return Ok(analyze);
    }
    let stages = [
        ("raw", ExplainStage::Raw),
        ("decorrelated", ExplainStage::Decorrelated),
        ("optimized", ExplainStage::Optimized),
        ("physical", ExplainStage::Physical),
        ("rules", ExplainStage::Rules),
    ];
    let stage = stages.into_iter().find(|(word, _)| cursor.words(&[word]));
    cursor.words(&["plan"]);
    cursor.words(&["verbose"]);
    let mut measures = Measures::default();
    if has_options(&cursor) {
        analyze::options(&mut cursor, &mut measures)?;
    }
    analyze::format(&mut cursor, &mut measures)?;
    cursor.words(&["for"]);
    if cursor.is_done() {
        return Err(cursor.error());
    }
    let stage = stage.map_or(ExplainStage::Optimized, |(_, stage)| stage);
    let explained = Box::new(front::statement(cursor.source, cursor.rest())?);
    Ok(Statement::Explain { stage, json: measures.json, explained })
}

/// Whether what stands in parentheses next is no query.
fn has_options(cursor: &Cursor<'_>) -> bool {
    let is_query = ["select", "with", "values", "table"].iter().any(|w| cursor.peek_word(1, w));
    cursor.peek(0) == Some(&Token::LParen) && !is_query && cursor.peek(1) != Some(&Token::LParen)
}
