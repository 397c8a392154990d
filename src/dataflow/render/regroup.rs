//! Grouping where each answer is computed again from all rows of its group.
//!
//! Outside of loops every aggregate is kept in the way that suits it ([`super::reduce`]). Inside a
//! loop, whose times are only partially ordered, differential's own operator collects the rows of a
//! group at each time; this is the logic for any aggregates over them. A group's value is the whole
//! row; what an aggregate makes of it is [`Fold`]'s business.

use bumpalo::Bump;

use super::rows::{Shaper, evaluate_all};
use super::window::GroupLogic;
use crate::expr::aggregate::Aggregate;
use crate::expr::aggregate::fold::Fold;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, encode_values, pack};
use crate::repr::{ColumnType, Datum, Diff, Row, ScalarType};

/// A reduction over whole rows.
#[derive(Clone)]
pub struct Regroup {
    /// The key, over the input's columns.
    pub key: Vec<Expr>,
    /// Its types.
    pub key_types: Vec<ScalarType>,
    /// What is computed.
    pub aggregates: Vec<Aggregate>,
    /// The input's column types.
    pub types: Vec<ScalarType>,
}

impl Regroup {
    /// Keys rows by group; says whether that can fail.
    pub fn shaper(&self) -> (Shaper, bool) {
        let (exprs, types) = (self.key.clone(), self.key_types.clone());
        let fallible = exprs.iter().any(Expr::is_fallible);
        let mut scratch = DatumVec::new();
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let shaper: Shaper = Box::new(move |datums, cx, emit| {
            let mut parts = scratch.borrow();
            if let Err(error) = evaluate_all(&exprs, datums, cx, &mut parts) {
                return emit.err(&error);
            }
            key.clear();
            encode_key(KeyMode::NullSafe, &types, &parts, &mut key);
            value.clear();
            encode_values(datums, &mut value);
            emit.ok(Row::new(&key), Row::new(&value));
        });
        (shaper, fallible)
    }

    /// Answers with whole rows: the least key that was written, and the aggregates.
    pub fn logic(self, settings: FormatSettings) -> GroupLogic {
        let columns: Vec<ColumnType> =
            self.types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
        let arg_types: Vec<Vec<ScalarType>> =
            self.aggregates.iter().map(|aggregate| aggregate.arg_types(&columns)).collect();
        Box::new(move |_, rows, answer| {
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &settings };
            let mut live: Vec<(&[Datum<'_>], Diff)> = Vec::new();
            for (value, count) in rows.iter().filter(|(_, count)| *count > 0) {
                let mut datums = Vec::new();
                decode_values(&self.types, value.0, &mut datums);
                live.push((arena.alloc_slice_copy(&datums), *count));
            }
            if live.is_empty() {
                return;
            }
            let made = self.answer(&live, &arg_types, &cx);
            answer.add(1, |emit| match made {
                Ok(row) => emit.ok(Row::EMPTY, row),
                Err(error) => emit.err(&error),
            });
        })
    }

    fn answer<'a>(
        &'a self,
        rows: &[(&'a [Datum<'a>], Diff)],
        arg_types: &[Vec<ScalarType>],
        cx: &EvalContext<'a>,
    ) -> Result<Row, EvalError> {
        let (mut least, mut written) = (Vec::new(), Vec::new());
        for (at, (row, _)) in rows.iter().enumerate() {
            let mut key = Vec::new();
            evaluate_all(&self.key, row, cx, &mut key)?;
            let mut bytes = Vec::new();
            encode_values(&key, &mut bytes);
            if at == 0 || bytes < least {
                (least, written) = (bytes, key);
            }
        }
        let mut datums = written;
        for (aggregate, types) in self.aggregates.iter().zip(arg_types) {
            let mut fold = Fold::new(aggregate, types.clone());
            for (row, count) in rows {
                fold.add(row, *count, cx)?;
            }
            datums.push(fold.finish(cx)?);
        }
        Ok(pack(&datums))
    }
}
