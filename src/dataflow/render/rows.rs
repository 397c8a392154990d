//! From bytes to datums and back: how operators read and shape rows.
//!
//! A row that travels between operators is a key and a value. Where nothing groups or arranges it
//! the key is empty and the value is the whole row in value encoding; otherwise key and value are
//! what the consumer asked for. A [`RowReader`] turns either form into datums; a [`Shaper`] turns
//! datums into what the consumer wants. So a chain of a join, a filter and an arrangement decodes
//! each row once and encodes it once.

use bumpalo::Bump;

use super::group::Answer;
use crate::dataflow::emit::{Emit, RowLogic};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Arrangement, Source};
use crate::repr::key::{KeyMode, decode_key_wanted, encode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, decode_wanted, encode_values};
use crate::repr::{Datum, Diff, Row, ScalarType};

/// Makes a key and a value of a row's datums and emits them, or an error.
pub type Shaper = Box<dyn for<'a> FnMut(&[Datum<'a>], &EvalContext<'a>, &mut Emit)>;

/// Reads the columns of a row from where it lies; those that nobody wants read as NULL.
pub struct RowReader {
    key_mode: KeyMode,
    key_types: Vec<ScalarType>,
    key_wanted: Vec<bool>,
    value_types: Vec<ScalarType>,
    value_wanted: Vec<bool>,
    /// Where each column is; none where the value is the row.
    columns: Option<Vec<Source>>,
    arity: usize,
    parts: DatumVec,
}

impl RowReader {
    /// Reads rows whose value is the whole row.
    pub fn whole(types: &[ScalarType]) -> RowReader {
        RowReader {
            key_mode: KeyMode::Strict,
            key_types: Vec::new(),
            key_wanted: Vec::new(),
            value_types: types.to_vec(),
            value_wanted: vec![true; types.len()],
            columns: None,
            arity: types.len(),
            parts: DatumVec::new(),
        }
    }

    /// Reads rows of an arrangement.
    pub fn arranged(layout: &Arrangement) -> RowReader {
        RowReader {
            key_mode: layout.mode,
            key_types: layout.key_types.clone(),
            key_wanted: Vec::new(),
            value_types: layout.value.iter().map(|c| layout.types[*c]).collect(),
            value_wanted: Vec::new(),
            columns: Some(layout.columns.clone()),
            arity: layout.types.len(),
            parts: DatumVec::new(),
        }
        .only(&vec![true; layout.types.len()])
    }

    /// Passes over the columns that are not wanted.
    pub fn only(mut self, wanted: &[bool]) -> RowReader {
        let Some(columns) = &self.columns else {
            let last = wanted.iter().rposition(|w| *w).map_or(0, |last| last + 1);
            self.value_wanted = wanted[..last].to_vec();
            return self;
        };
        // What lies behind the last wanted part is not even looked at.
        let (mut key, mut value) = (Vec::new(), Vec::new());
        for (source, _) in columns.iter().zip(wanted).filter(|(_, wanted)| **wanted) {
            let (list, at) = match source {
                Source::Key(at) => (&mut key, *at),
                Source::Value(at) => (&mut value, *at),
            };
            list.resize(list.len().max(at + 1), false);
            list[at] = true;
        }
        (self.key_wanted, self.value_wanted) = (key, value);
        self
    }

    /// Passes over the columns that `mfp` does not use, from `offset` on in its input.
    pub fn for_mfp(self, mfp: &Mfp, offset: usize) -> RowReader {
        let mut wanted = vec![false; self.arity];
        for column in mfp.input_columns() {
            if let Some(wanted) = column.checked_sub(offset).and_then(|c| wanted.get_mut(c)) {
                *wanted = true;
            }
        }
        self.only(&wanted)
    }

    /// Appends the columns of a row to `out`.
    #[inline]
    pub fn read<'a>(&'a mut self, key: &'a [u8], value: &'a [u8], out: &mut Vec<Datum<'a>>) {
        let Some(columns) = &self.columns else {
            let end = out.len() + self.arity;
            if self.value_wanted.len() == self.arity && self.value_wanted.iter().all(|w| *w) {
                decode_values(&self.value_types, value, out);
            } else {
                decode_wanted(&self.value_types, &self.value_wanted, value, out);
                out.resize(end, Datum::Null);
            }
            return;
        };
        let mut parts = self.parts.borrow();
        decode_key_wanted(self.key_mode, &self.key_types, &self.key_wanted, key, &mut parts);
        decode_wanted(&self.value_types, &self.value_wanted, value, &mut parts);
        let values = self.key_wanted.len();
        out.extend(columns.iter().map(|source| match *source {
            Source::Key(at) if at < values => parts[at],
            Source::Key(_) => Datum::Null,
            Source::Value(at) => parts.get(values + at).copied().unwrap_or(Datum::Null),
        }));
    }
}

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
