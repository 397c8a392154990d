//! What can be wrong with a row: small, ordered and cloneable, because it travels as data.

use serde::{Deserialize, Serialize};

use crate::error::{Error, SqlState};

/// The failure of an expression on one row.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error,
)]
#[error("{message}")]
pub struct EvalError {
    /// What kind of fault.
    pub code: SqlState,
    /// What is wrong.
    pub message: Box<str>,
    /// More about it.
    pub detail: Option<Box<str>>,
    /// What to do.
    pub hint: Option<Box<str>>,
}

impl EvalError {
    /// A failure with a code and a message.
    pub fn new(code: SqlState, message: impl Into<Box<str>>) -> EvalError {
        EvalError { code, message: message.into(), detail: None, hint: None }
    }
}

impl From<Error> for EvalError {
    fn from(e: Error) -> EvalError {
        EvalError {
            code: e.code,
            message: e.message.into(),
            detail: e.detail.map(Into::into),
            hint: e.hint.map(Into::into),
        }
    }
}

impl From<EvalError> for Error {
    fn from(e: EvalError) -> Error {
        Error {
            code: e.code,
            message: e.message.into(),
            detail: e.detail.map(Into::into),
            hint: e.hint.map(Into::into),
            position: None,
            context: None,
        }
    }
}
