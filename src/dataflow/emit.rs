//! What the logic of an operator makes of a row.
//!
//! Joins, scans and peeks call a boxed closure per row or match. It writes into an [`Emit`] that is
//! reused, so a match costs no allocation of its own; the operator adds times and diffs.
//!
//! The error side of a collection consists of rows, too, so that it is arranged, shared and read
//! by the same code: [`error_row`] and [`error_of`] convert.

use crate::error::SqlState;
use crate::expr::error::EvalError;
use crate::repr::Row;

/// Rows and errors made from one input row or match.
#[derive(Default)]
pub struct Emit {
    pub(super) oks: Vec<(Row, Row)>,
    pub(super) errs: Vec<Row>,
}

impl Emit {
    /// Emits a row, as the key it will be arranged by and its value.
    ///
    /// Where nothing arranges it, the key is [`Row::EMPTY`] and the value the whole row.
    #[inline]
    pub fn ok(&mut self, key: Row, value: Row) {
        self.oks.push((key, value));
    }

    /// Emits an error as a row of the error side.
    pub fn raw_error(&mut self, error: Row) {
        self.errs.push(error);
    }

    /// Emits an error.
    pub fn err(&mut self, error: &EvalError) {
        self.errs.push(error_row(error));
    }
}

/// What sending a row takes of its reader's credit; an empty row is not for nothing.
pub(super) fn encoded_bytes(row: &Row) -> u64 {
    row.bytes().len().max(1) as u64
}

/// An error as a row of the error side.
pub fn error_row(error: &EvalError) -> Row {
    // Strings and an array of bytes have no value that cannot be written.
    Row::new(&postcard::to_stdvec(error).expect("an error can always be encoded"))
}

/// The error that a row of the error side means.
pub fn error_of(row: &[u8]) -> EvalError {
    postcard::from_bytes(row).unwrap_or_else(|_| {
        EvalError::new(SqlState::INTERNAL_ERROR, "an error of the relation could not be read")
    })
}

/// Makes rows of a key and a value: for scans and peeks.
pub type RowLogic = Box<dyn FnMut(&[u8], &[u8], &mut Emit)>;

/// Makes rows of a key and the two values that meet at it: for joins.
pub type JoinLogic = Box<dyn FnMut(&[u8], &[u8], &[u8], &mut Emit)>;

/// Makes rows of a key, a value, and how many rows there are under the key elsewhere.
pub type CountLogic = Box<dyn FnMut(&[u8], &[u8], u64, &mut Emit)>;
