//! How large a statement may be.
//!
//! PostgreSQL stops at 1 GB of text and at a stack depth; here both are bounds on the text, checked
//! before anything recursive looks at it. Nesting is what parentheses and prefix operators build,
//! a chain is what operators of one level build (`1 + 1 + …`): both are depth in the tree.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::{Error, Result, SqlState};

/// The most bytes of one string of statements.
pub const TEXT_BYTES_MAX: usize = 256 << 20;

/// The deepest nesting of parentheses, CASE and prefix operators.
pub const NESTING_MAX: usize = 2_000;

/// The longest chain of operators on one level.
pub const CHAIN_MAX: usize = 200_000;

/// The deepest tree of expressions that is bound (chains of AND and OR are flat).
pub const DEPTH_MAX: usize = 4_000;

/// Depths below which an ordinary stack is enough.
const ORDINARY_NESTING: usize = 16;
const ORDINARY_CHAIN: usize = 200;

/// The error of a statement that is too deep, as PostgreSQL words it.
pub fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
        .with_hint("Split the statement, or nest it less.")
}

/// Checks the length of a text.
pub fn check_bytes(text: &str) -> Result<()> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::new(
            SqlState::PROGRAM_LIMIT_EXCEEDED,
            format!("the statement is longer than {TEXT_BYTES_MAX} bytes"),
        ));
    }
    Ok(())
}

/// Checks the depth of a statement; answers whether it needs a large stack.
pub fn check_depth(tokens: &[TokenWithSpan]) -> Result<bool> {
    let mut open: Vec<usize> = vec![0];
    let (mut deepest, mut longest, mut prefixes) = (0usize, 0usize, 0usize);
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket => open.push(0),
            Token::RParen | Token::RBracket if open.len() > 1 => {
                open.pop();
            }
            Token::Comma | Token::SemiColon => *open.last_mut().expect("never empty") = 0,
            Token::Whitespace(_) => continue,
            Token::Word(word) => match word.keyword {
                Keyword::CASE | Keyword::NOT => prefixes += 1,
                Keyword::END => prefixes = prefixes.saturating_sub(1),
                Keyword::NoKeyword => {}
                _ => *open.last_mut().expect("never empty") += 1,
            },
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Placeholder(_) => {}
            _ => *open.last_mut().expect("never empty") += 1,
        }
        deepest = deepest.max(open.len() - 1).max(prefixes);
        longest = longest.max(*open.last().expect("never empty"));
    }
    if deepest > NESTING_MAX || longest > CHAIN_MAX {
        return Err(too_deep());
    }
    Ok(deepest > ORDINARY_NESTING || longest > ORDINARY_CHAIN)
}
