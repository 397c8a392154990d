//! The least or the greatest argument of each group.
//!
//! Rows are arranged by group with a value that sorts as the argument does (the other way round
//! for the greatest), so the answer is the first value, NULL where there is nothing else. Behind
//! the sortable bytes stands what was written, where the key does not tell.

use bumpalo::Bump;

use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::repr::key::{KeyMode, decode_key};
use crate::repr::value::{decode_column, encode_values};
use crate::repr::{Datum, ScalarType};

use super::order::put_ordered;

/// An aggregate that is an extreme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// Its argument.
    pub arg: Expr,
    /// The argument's type.
    pub ty: ScalarType,
    /// Which rows take part.
    pub filter: Option<Expr>,
    /// Whether it is the greatest.
    pub greatest: bool,
}

/// The bytes that say where in a value that what was written begins.
const SUFFIX: usize = 4;

impl Extreme {
    /// Appends a row's value. Rows that do not take part count as NULL: they keep the group alive.
    pub fn put<'a>(
        &'a self,
        datums: &[Datum<'a>],
        cx: &EvalContext<'a>,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        let datum = match &self.filter {
            Some(filter) if filter.eval(datums, cx)? != Datum::Bool(true) => Datum::Null,
            _ => self.arg.eval(datums, cx)?,
        };
        put_ordered(self.ty, &datum, self.greatest, false, out);
        if !datum.is_null() && !self.ty.key_is_identity() {
            let start = out.len() as u32;
            encode_values(&[datum], out);
            out.extend_from_slice(&start.to_le_bytes());
        }
        Ok(())
    }

    /// Whether making a value can fail.
    pub fn is_fallible(&self) -> bool {
        self.arg.is_fallible() || self.filter.as_ref().is_some_and(Expr::is_fallible)
    }

    /// Appends the argument that a value was made of.
    pub fn get<'a>(&self, value: &'a [u8], arena: &'a Bump, out: &mut Vec<Datum<'a>>) {
        let key = match value {
            [_] => return out.push(Datum::Null),
            value => &value[1..],
        };
        if !self.ty.key_is_identity() {
            let (rest, start) =
                value.split_last_chunk::<SUFFIX>().expect("a value ends with a position");
            let written = &rest[u32::from_le_bytes(*start) as usize..];
            return out.push(decode_column(&[self.ty], 0, written));
        }
        let key: &'a [u8] = if self.greatest {
            arena.alloc_slice_fill_iter(key.iter().map(|byte| !byte))
        } else {
            key
        };
        decode_key(KeyMode::Strict, &[self.ty], key, out);
    }
}
