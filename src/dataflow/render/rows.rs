//! From datums to bytes: how operators shape rows.
//!
//! A row that travels between operators is a key and a value. Where nothing groups or arranges it
//! the key is empty and the value is the whole row in value encoding; otherwise key and value are
//! what the consumer asked for. A [`RowReader`] turns either form into datums, a [`Shaper`] turns
//! datums into what the consumer wants. So a chain of a join, a filter and an arrangement decodes
//! each row once and encodes it once.

use bumpalo::Bump;

use super::group::Answer;
use super::reader::RowReader;
use crate::dataflow::emit::{Emit, RowLogic};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::plan::physical::Arrangement;
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::encode_values;
use crate::repr::{Datum, Diff, Row};

/// Makes a key and a value of a row's datums and emits them, or an error.
pub type Shaper = Box<dyn for<'a> FnMut(&[Datum<'a>], &EvalContext<'a>, &mut Emit)>;

/// Shapes rows as they are.
pub fn whole_rows() -> Shaper {
    let mut bytes = Vec::new();
    Box::new(move |datums, _, emit| {
        bytes.clear();
        encode_values(datums, &mut bytes);
        emit.ok(Row::EMPTY, Row::new(&bytes));
    })
}

/// Shapes rows as an arrangement has them; those whose strict key has a NULL are left out.
pub fn arranged_rows(layout: &Arrangement) -> Shaper {
    let (mode, types) = (layout.mode, layout.key_types.clone());
    let (exprs, columns) = (layout.key.clone(), layout.value.clone());
    let mut scratch = DatumVec::new();
    let (mut key, mut value) = (Vec::new(), Vec::new());
    Box::new(move |datums, cx, emit| {
        let mut parts = scratch.borrow();
        if let Err(error) = evaluate_all(&exprs, datums, cx, &mut parts) {
            return emit.err(&error);
        }
        if mode == KeyMode::Strict && parts.iter().any(Datum::is_null) {
            return;
        }
        key.clear();
        encode_key(mode, &types, &parts, &mut key);
        parts.clear();
        parts.extend(columns.iter().map(|c| datums[*c]));
        value.clear();
        encode_values(&parts, &mut value);
        emit.ok(Row::new(&key), Row::new(&value));
    })
}

/// Appends the values of expressions on a row.
#[inline]
pub fn evaluate_all<'a>(
    exprs: &'a [Expr],
    datums: &[Datum<'a>],
    cx: &EvalContext<'a>,
    out: &mut Vec<Datum<'a>>,
) -> Result<(), EvalError> {
    for expr in exprs {
        out.push(expr.eval(datums, cx)?);
    }
    Ok(())
}

/// Reads rows, shapes them, and nothing else.
pub fn reshape(mut reader: RowReader, settings: FormatSettings, mut shaper: Shaper) -> RowLogic {
    let mut scratch = DatumVec::new();
    let mut arena = Bump::new();
    Box::new(move |key, value, emit| {
        arena.reset();
        let cx = EvalContext { arena: &arena, settings: &settings };
        let mut datums = scratch.borrow();
        reader.read(key, value, &mut datums);
        shaper(&datums, &cx, emit);
    })
}

/// Where the operators that answer per key put the rows of their answers.
pub struct RowSink {
    settings: FormatSettings,
    shaper: Shaper,
    arena: Bump,
    scratch: DatumVec,
}

impl RowSink {
    /// Shapes rows by `shaper`.
    pub fn new(settings: &FormatSettings, shaper: Shaper) -> RowSink {
        RowSink { settings: settings.clone(), shaper, arena: Bump::new(), scratch: DatumVec::new() }
    }

    /// Adds `count` times the row whose datums `fill` appends, or the error that it returns.
    #[inline]
    pub fn put<'a>(
        &'a mut self,
        count: Diff,
        answer: &mut Answer,
        fill: impl FnOnce(&'a Bump, &mut Vec<Datum<'a>>) -> Result<(), EvalError>,
    ) {
        self.arena.reset();
        let cx = EvalContext { arena: &self.arena, settings: &self.settings };
        let mut datums = self.scratch.borrow();
        let filled = fill(cx.arena, &mut datums);
        answer.add(count, |emit| match filled {
            Ok(()) => (self.shaper)(&datums, &cx, emit),
            Err(error) => emit.err(&error),
        });
    }
}
