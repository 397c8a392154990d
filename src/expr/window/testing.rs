//! Windows over rows in value encoding, for the evaluators of tests, and random calls.

use bumpalo::Bump;
use rand::prelude::*;

use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Bound, Exclusion, Frame, FrameMode, WindowCall, WindowFunc};
use crate::expr::window::partition::{OrderColumn, Partition, evaluate};
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Row, ScalarType};

/// The sorted rows of a partition with the values of the calls; `is_peer` compares neighbours.
pub fn append(
    calls: &[WindowCall],
    types: &[ScalarType],
    rows: &[Row],
    order: Option<OrderColumn>,
    is_peer: impl Fn(&Row, &Row) -> bool,
) -> Result<Vec<Row>, EvalError> {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let mut datums = Vec::new();
    rows.iter().for_each(|row| decode_values(types, row.bytes(), &mut datums));
    let starts: Vec<bool> =
        (0..rows.len()).map(|i| i == 0 || !is_peer(&rows[i - 1], &rows[i])).collect();
    let partition = Partition::new(&datums, types, &starts, order);
    let columns = evaluate(calls, &partition, 0..partition.len(), &cx)?;
    let row = |i: usize| {
        let mut all = partition.row(i).to_vec();
        all.extend(columns.iter().map(|values| values[i]));
        pack(&all)
    };
    Ok((0..rows.len()).map(row).collect())
}

/// A frame for rows that are ordered by so many columns, the first (and only) of type int4 where
/// `by_int4`.
pub fn random_frame(rng: &mut StdRng, columns: usize, by_int4: bool) -> Frame {
    let modes = [FrameMode::Rows, FrameMode::Range, FrameMode::Groups];
    let mode = modes[rng.random_range(0..if columns == 0 { 2 } else { 3 })];
    let offsets = mode != FrameMode::Range || by_int4 && columns == 1;
    let offset = |rng: &mut StdRng| {
        let size = rng.random_range(0..4);
        match mode {
            FrameMode::Range => Expr::literal(Datum::Int4(size), ScalarType::Int4),
            _ => Expr::literal(Datum::Int8(size.into()), ScalarType::Int8),
        }
    };
    let roll = rng.random_range(0..if offsets { 4 } else { 2 });
    let start = match roll {
        0 => Bound::UnboundedPreceding,
        1 => Bound::CurrentRow,
        2 => Bound::Preceding(offset(rng)),
        _ => Bound::Following(offset(rng)),
    };
    let roll = rng.random_range(0..if offsets { 4 } else { 2 });
    let end = match roll {
        0 => Bound::UnboundedFollowing,
        1 => Bound::CurrentRow,
        2 => Bound::Preceding(offset(rng)),
        _ => Bound::Following(offset(rng)),
    };
    let exclusions =
        [Exclusion::NoOthers, Exclusion::CurrentRow, Exclusion::Group, Exclusion::Ties];
    let exclusion = exclusions[rng.random_range(0..4).min(rng.random_range(0..4))];
    Frame { mode, start, end, exclusion }
}

/// A call over an int4 argument.
pub fn random_call(rng: &mut StdRng, arg: Expr, filter: Option<Expr>, frame: Frame) -> WindowCall {
    use WindowFunc::{
        Aggregate as Over, CumeDist, DenseRank, FirstValue, Lag, LastValue, Lead, NthValue, Ntile,
        PercentRank, Rank, RowNumber,
    };
    let int4 = ScalarType::Int4;
    let int = |v: i32| Expr::literal(Datum::Int4(v), int4);
    let funcs = [
        RowNumber,
        Rank,
        DenseRank,
        PercentRank,
        CumeDist,
        Ntile,
        Lag,
        Lead,
        FirstValue,
        LastValue,
        NthValue,
    ];
    let funcs_over = [
        AggFunc::Count,
        AggFunc::Sum(int4),
        AggFunc::Min(int4),
        AggFunc::Max(int4),
        AggFunc::Avg(int4),
    ];
    if rng.random_bool(0.5) {
        let mut of = match funcs_over.choose(rng) {
            Some(func) if rng.random_bool(0.8) => Aggregate::of(*func, arg),
            _ => Aggregate::count_star(),
        };
        of.filter = filter;
        return WindowCall { func: Over(Box::new(of)), args: vec![], frame };
    }
    let func = funcs.choose(rng).expect("not empty").clone();
    let args = match func {
        Ntile => vec![int(rng.random_range(1..4))],
        Lag | Lead => vec![arg, int(rng.random_range(-1..3)), int(7)],
        FirstValue | LastValue => vec![arg],
        NthValue => vec![arg, int(rng.random_range(1..3))],
        _ => vec![],
    };
    WindowCall { func, args, frame }
}
