//! Putting the parts of a group's answer together.
//!
//! Sums, extremes and what was written of the key are kept apart, each by its own operator. Where
//! a reduction needs several, each sends its part of a group's answer as a row: its number, and
//! its datums. A group's parts change at the same times, so when all are there they belong
//! together; a part that is missing has become an error.

use super::group::Answer;
use super::rows::RowSink;
use super::window::GroupLogic;
use crate::expr::error::EvalError;
use crate::repr::key::{KeyMode, decode_key};
use crate::repr::scratch::DatumVec;
use crate::repr::value::{decode_values, encode_values};
use crate::repr::{Datum, Row, ScalarType};
use bumpalo::Bump;

/// The bytes of a part's number.
const NUMBER: usize = 2;

/// Where an operator puts its part of a group's answer.
pub enum Finish {
    /// It is the whole answer; the key's columns are read from the key where it tells them.
    Whole {
        /// Where rows go.
        sink: RowSink,
        /// The key's types, if its columns are to be read.
        key: Option<Vec<ScalarType>>,
    },
    /// It is one part of several.
    Part {
        /// Which.
        number: u16,
        /// Scratch space.
        arena: Bump,
        /// Scratch space.
        datums: DatumVec,
    },
}

impl Finish {
    /// The part of that number.
    pub fn part(number: usize) -> Finish {
        // PostgreSQL allows 1664 columns.
        Finish::Part { number: number as u16, arena: Bump::new(), datums: DatumVec::new() }
    }

    /// Answers with the datums that `fill` appends, or the error that it returns.
    #[inline]
    pub fn put<'a>(
        &'a mut self,
        key: &'a [u8],
        answer: &mut Answer,
        fill: impl FnOnce(&'a Bump, &mut Vec<Datum<'a>>) -> Result<(), EvalError>,
    ) {
        match self {
            Finish::Whole { sink, key: types } => sink.put(1, answer, |arena, datums| {
                if let Some(types) = types {
                    decode_key(KeyMode::NullSafe, types, key, datums);
                }
                fill(arena, datums)
            }),
            Finish::Part { number, arena, datums } => {
                arena.reset();
                let mut datums = datums.borrow();
                let filled = fill(arena, &mut datums);
                answer.add(1, |emit| match filled {
                    Ok(()) => {
                        let mut bytes = number.to_be_bytes().to_vec();
                        encode_values(&datums, &mut bytes);
                        emit.ok(Row::new(key), Row::new(&bytes));
                    }
                    Err(error) => emit.err(&error),
                });
            }
        }
    }
}

/// Puts parts together: `parts` are the types of each, and `columns` are those of the answer
/// behind the key, counted through all parts. `key` is as in [`Finish::Whole`].
pub fn collate(
    parts: Vec<Vec<ScalarType>>,
    columns: Vec<usize>,
    key: Option<Vec<ScalarType>>,
    mut sink: RowSink,
) -> GroupLogic {
    let mut scratch = DatumVec::new();
    Box::new(move |key_bytes, rows, answer| {
        if rows.len() != parts.len() {
            return;
        }
        let mut all = scratch.borrow();
        for (types, (row, _)) in parts.iter().zip(rows) {
            decode_values(types, &row.0[NUMBER..], &mut all);
        }
        sink.put(1, answer, |_, datums| {
            if let Some(types) = &key {
                decode_key(KeyMode::NullSafe, types, key_bytes, datums);
            }
            datums.extend(columns.iter().map(|column| all[*column]));
            Ok(())
        });
    })
}
