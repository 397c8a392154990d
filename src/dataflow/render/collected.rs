//! Aggregates that look at all rows of a group in order.
//!
//! Rows are arranged by group with their arguments as values, and an answer is computed again from
//! all of the group's rows when one of them changes.

use bumpalo::Bump;

use super::collate::Finish;
use super::window::GroupLogic;
use crate::expr::aggregate::Aggregate;
use crate::expr::aggregate::fold::Fold;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{Datum, ScalarType};

/// An aggregate that is computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collected {
    /// What is computed.
    pub aggregate: Aggregate,
    /// The types of its arguments.
    pub types: Vec<ScalarType>,
}

impl Collected {
    /// Appends a row's value: its arguments, or nothing where it does not take part, so that it
    /// keeps the group alive.
    pub fn put<'a>(
        &'a self,
        datums: &[Datum<'a>],
        cx: &EvalContext<'a>,
        out: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        if let Some(filter) = &self.aggregate.filter
            && filter.eval(datums, cx)? != Datum::Bool(true)
        {
            return Ok(());
        }
        let mut args = bumpalo::collections::Vec::new_in(cx.arena);
        for arg in &self.aggregate.args {
            args.push(arg.eval(datums, cx)?);
        }
        encode_values(&args, out);
        Ok(())
    }

    /// Answers by all rows of a group.
    pub fn logic(self, settings: FormatSettings, mut finish: Finish) -> GroupLogic {
        Box::new(move |key, rows, answer| {
            let mut live = rows.iter().filter(|(_, count)| *count > 0).peekable();
            if live.peek().is_none() {
                return;
            }
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &settings };
            finish.put(key, answer, |_, datums| {
                let mut fold = Fold::new(&self.aggregate, self.types.clone());
                let mut scratch = Vec::new();
                for (value, count) in live.filter(|(value, _)| !value.0.is_empty()) {
                    scratch.clear();
                    decode_values(&self.types, value.0, &mut scratch);
                    fold.take(arena.alloc_slice_copy(&scratch), *count);
                }
                datums.push(fold.finish(&cx)?);
                Ok(())
            });
        })
    }
}
