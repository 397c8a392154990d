//! Map, filter, project: over a collection, over an arrangement, and at the end of a join.
//!
//! An [`Mfp`] is never an operator of its own where it can be part of one: over an arrangement it
//! is what a scan does to each row, after a join what the join does to each match.

use bumpalo::Bump;

use super::reader::RowReader;
use super::rows::Shaper;
use crate::dataflow::emit::{Emit, JoinLogic, RowLogic};
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::repr::Datum;
use crate::repr::scratch::DatumVec;
use crate::repr::settings::FormatSettings;

/// An [`Mfp`] and what becomes of the rows that it lets through.
struct Stage {
    mfp: Mfp,
    settings: FormatSettings,
    shaper: Shaper,
    projected: DatumVec,
}

impl Stage {
    /// Treats one row; `datums` are its columns, and grow by the computed ones.
    #[inline]
    fn apply<'a>(&'a mut self, datums: &mut Vec<Datum<'a>>, arena: &'a Bump, emit: &mut Emit) {
        let cx = EvalContext { arena, settings: &self.settings };
        match self.mfp.evaluate(datums, &cx) {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return emit.err(&error),
        }
        let mut projected = self.projected.borrow();
        projected.extend(self.mfp.projection.iter().map(|c| datums[*c]));
        (self.shaper)(&projected, &cx, emit);
    }
}

/// What a scan or a transformation does to each row.
pub fn row_logic(
    reader: RowReader,
    mfp: &Mfp,
    settings: &FormatSettings,
    shaper: Shaper,
) -> RowLogic {
    let mut reader = reader.for_mfp(mfp, 0);
    let mut stage =
        Stage { mfp: mfp.clone(), settings: settings.clone(), shaper, projected: DatumVec::new() };
    let mut scratch = DatumVec::new();
    let mut arena = Bump::new();
    Box::new(move |key, value, emit| {
        arena.reset();
        let mut datums = scratch.borrow();
        reader.read(key, value, &mut datums);
        stage.apply(&mut datums, &arena, emit);
    })
}

/// What a join does to each match. `left` and `right` read the two relations; `arity` is the left
/// one's.
pub fn join_logic(
    (left, arity): (RowReader, usize),
    right: RowReader,
    mfp: &Mfp,
    settings: &FormatSettings,
    shaper: Shaper,
) -> JoinLogic {
    let mut left = left.for_mfp(mfp, 0);
    let mut right = right.for_mfp(mfp, arity);
    let mut stage =
        Stage { mfp: mfp.clone(), settings: settings.clone(), shaper, projected: DatumVec::new() };
    let mut scratch = DatumVec::new();
    let mut arena = Bump::new();
    Box::new(move |key, left_value, right_value, emit| {
        arena.reset();
        let mut datums = scratch.borrow();
        left.read(key, left_value, &mut datums);
        right.read(key, right_value, &mut datums);
        stage.apply(&mut datums, &arena, emit);
    })
}
