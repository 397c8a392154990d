//! What the logic of an operator makes of a row.
//!
//! Joins, scans and peeks call a boxed closure per row or match. It writes into an [`Emit`] that is
//! reused, so a match costs no allocation of its own; the operator adds times and diffs.

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

    /// Emits an error.
    #[inline]
    pub fn err(&mut self, error: Row) {
        self.errs.push(error);
    }
}

/// Makes rows of a key and a value: for scans and peeks.
pub type RowLogic = Box<dyn FnMut(&[u8], &[u8], &mut Emit)>;

/// Makes rows of a key and the two values that meet at it: for joins.
pub type JoinLogic = Box<dyn FnMut(&[u8], &[u8], &[u8], &mut Emit)>;
