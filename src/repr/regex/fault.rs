//! What is wrong with an expression, in PostgreSQL's words.

use crate::error::{Error, SqlState};

/// A fault of an expression's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    BackReference,
    Braces,
    Brackets,
    CharacterClass,
    Escape,
    Option,
    Parentheses,
    Pattern,
    Quantifier,
    Range,
    RepetitionCount,
    TooComplex,
    /// What PostgreSQL has and Weir does not.
    Unsupported(&'static str),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        let message = match fault {
            Fault::BackReference => "invalid backreference number",
            Fault::Braces => "braces {} not balanced",
            Fault::Brackets => "brackets [] not balanced",
            Fault::CharacterClass => "invalid character class",
            Fault::Escape => "invalid escape \\ sequence",
            Fault::Option => "invalid embedded option",
            Fault::Parentheses => "parentheses () not balanced",
            Fault::Pattern => "invalid regexp (reg version 0.8)",
            Fault::Quantifier => "quantifier operand invalid",
            Fault::Range => "invalid character range",
            Fault::RepetitionCount => "invalid repetition count(s)",
            Fault::TooComplex => "regular expression is too complex",
            Fault::Unsupported(what) => {
                let hint = "Write the regular expression without it.";
                return Error::unsupported(what, hint);
            }
        };
        let code = SqlState::INVALID_REGULAR_EXPRESSION;
        Error::new(code, format!("invalid regular expression: {message}"))
    }
}
