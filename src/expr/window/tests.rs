//! Windows against their definitions, row by row.

use bumpalo::Bump;
use rand::prelude::*;

use crate::expr::aggregate::fold::Fold;
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::window::call::{Exclusion, Frame, FrameMode, WindowCall, WindowFunc};
use crate::expr::window::frame::{Edges, frames};
use crate::expr::window::in_range::{Reach, in_range};
use crate::expr::window::partition::{OrderColumn, Partition, evaluate};
use crate::expr::window::testing::random_frame;
use crate::repr::settings::FormatSettings;
use crate::repr::{Datum, Interval, ScalarType};

/// A column of small numbers, sorted, and another of any.
fn random_rows(rng: &mut StdRng, order: OrderColumn) -> (Vec<Datum<'static>>, Vec<bool>) {
    let mut keys: Vec<Option<i32>> = (0..rng.random_range(1..9))
        .map(|_| rng.random_bool(0.8).then(|| rng.random_range(0..6)))
        .collect();
    keys.sort_by_key(|key| match key {
        None => (!order.nulls_first, 0),
        Some(key) => (order.nulls_first, if order.descending { -key } else { *key }),
    });
    let starts = (0..keys.len()).map(|i| i == 0 || keys[i] != keys[i - 1]).collect();
    let int = |value: Option<i32>| value.map_or(Datum::Null, Datum::Int4);
    let mut datums = Vec::new();
    for key in keys {
        datums.push(int(key));
        datums.push(int(rng.random_bool(0.8).then(|| rng.random_range(-5..6))));
    }
    (datums, starts)
}

/// Whether a row is in the frame of another by the words of the standard.
fn belongs(frame: &Frame, rows: &Partition<'_, '_>, row: usize, other: usize) -> bool {
    let place = |row: usize| match frame.mode {
        FrameMode::Rows => row as i64,
        _ => rows.group_of(row) as i64,
    };
    let offset = |expr: &Expr| match expr.as_literal() {
        Some(Datum::Int8(offset)) => offset,
        Some(Datum::Int4(offset)) => offset.into(),
        _ => panic!("an offset"),
    };
    let descending = rows.order.is_some_and(|order| order.descending);
    let key = |row: usize| match rows.row(row)[0] {
        Datum::Int4(key) if descending => Some(-i64::from(key)),
        Datum::Int4(key) => Some(i64::from(key)),
        _ => None,
    };
    use crate::expr::window::call::Bound::*;
    let side = |bound: &crate::expr::window::call::Bound, start: bool| {
        let inside = |place: i64, limit: i64| if start { place >= limit } else { place <= limit };
        let sign = if matches!(bound, Preceding(_)) { -1 } else { 1 };
        match bound {
            UnboundedPreceding | UnboundedFollowing => true,
            CurrentRow => inside(place(other), place(row)),
            Preceding(by) | Following(by) if frame.mode != FrameMode::Range => {
                inside(place(other), place(row) + sign * offset(by))
            }
            Preceding(by) | Following(by) => match (key(row), key(other)) {
                (Some(row), Some(other)) => inside(other, row + sign * offset(by)),
                (None, None) => true,
                _ => inside(place(other), place(row)),
            },
        }
    };
    let peers = rows.group_of(row) == rows.group_of(other);
    let out = match frame.exclusion {
        Exclusion::NoOthers => false,
        Exclusion::CurrentRow => row == other,
        Exclusion::Group => peers,
        Exclusion::Ties => peers && row != other,
    };
    side(&frame.start, true) && side(&frame.end, false) && !out
}

#[test]
fn aggregates_and_frames_are_what_they_are_said_to_be() {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let mut rng = StdRng::seed_from_u64(3);
    let mut not_empty = 0;
    for _ in 0..20_000 {
        let order = OrderColumn { column: 0, descending: rng.random(), nulls_first: rng.random() };
        let (datums, starts) = random_rows(&mut rng, order);
        let rows = Partition::new(&datums, &[ScalarType::Int4; 2], &starts, Some(order));
        let int4 = ScalarType::Int4;
        let funcs = [AggFunc::Count, AggFunc::Sum(int4), AggFunc::Min(int4), AggFunc::Max(int4)];
        let func = *funcs.choose(&mut rng).unwrap();
        let frame = random_frame(&mut rng, 1, true);
        let nonzero = Expr::call_by_oid(144, vec![Expr::Column(1), Expr::Column(0)]);
        let filter = rng.random_bool(0.3).then_some(nonzero);
        let of = |func| WindowCall { func, args: vec![Expr::Column(1)], frame: frame.clone() };
        let aggregate = &*arena.alloc(Aggregate { filter, ..Aggregate::of(func, Expr::Column(1)) });
        let over = WindowFunc::Aggregate(Box::new(aggregate.clone()));
        let calls = vec![
            WindowCall { func: over, args: vec![], frame: frame.clone() },
            of(WindowFunc::FirstValue),
            of(WindowFunc::LastValue),
        ];
        // They live as long as the arena, as plans do.
        let calls: &Vec<WindowCall> = arena.alloc(calls);
        let values = evaluate(calls, &rows, 0..rows.len(), &cx).unwrap();
        for (row, found) in values[0].iter().enumerate() {
            let inside: Vec<usize> =
                (0..rows.len()).filter(|other| belongs(&frame, &rows, row, *other)).collect();
            not_empty += usize::from(!inside.is_empty());
            let value = |row: Option<&usize>| row.map_or(Datum::Null, |row| rows.row(*row)[1]);
            let mut fold = Fold::new(aggregate, vec![int4]);
            for other in &inside {
                fold.add(rows.row(*other), 1, &cx).unwrap();
            }
            let what = || format!("{frame} row {row} of {datums:?}");
            assert_eq!(*found, fold.finish(&cx).unwrap(), "{func:?} {}", what());
            assert_eq!(values[1][row], value(inside.first()), "first {}", what());
            assert_eq!(values[2][row], value(inside.last()), "last {}", what());
        }
    }
    assert!(not_empty > 10_000);
}

#[test]
fn numbers_far_apart_are_compared_without_overflow() {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let ask = |value, base, offset, subtract, below| {
        in_range(&value, &base, &Reach { offset, subtract, below }, &cx)
            .map_err(|e| e.code.to_string())
    };
    let big = Datum::Int8(i64::MAX);
    assert_eq!(ask(big, big, Datum::Int8(1), false, true), Ok(true));
    assert_eq!(ask(big, big, Datum::Int8(1), false, false), Ok(false));
    assert_eq!(ask(big, big, Datum::Int8(-1), false, false), Err("22013".into()));
    let (nan, infinity) = (Datum::Float8(f64::NAN), Datum::Float8(f64::INFINITY));
    assert_eq!(ask(nan, Datum::Float8(1.0), Datum::Float8(2.0), false, true), Ok(false));
    assert_eq!(ask(nan, nan, Datum::Float8(2.0), true, true), Ok(true));
    assert_eq!(ask(Datum::Float8(5.0), infinity, infinity, true, false), Ok(true));
    let interval = |months, days| Datum::Interval(Interval { months, days, micros: 0 });
    // 2024-03-31 less a month is 2024-02-29.
    let (march, february) = (Datum::Date(8856), Datum::Date(8825));
    assert_eq!(ask(february, march, interval(1, 0), true, false), Ok(true));
    assert_eq!(ask(february, march, interval(0, 30), true, false), Ok(false));
    assert_eq!(ask(february, march, interval(1, -31), true, false), Err("22013".into()));
}

#[test]
fn frames_only_move_on() {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let mut rng = StdRng::seed_from_u64(4);
    for _ in 0..2_000 {
        let order = OrderColumn { column: 0, descending: rng.random(), nulls_first: rng.random() };
        let (datums, starts) = random_rows(&mut rng, order);
        let rows = Partition::new(&datums, &[ScalarType::Int4; 2], &starts, Some(order));
        let frame = &*arena.alloc(random_frame(&mut rng, 1, true));
        let edges = Edges::new(frame, &cx).unwrap();
        let frames = frames(frame.mode, edges, &rows, &cx).unwrap();
        assert!(frames.windows(2).all(|w| w[0].start <= w[1].start && w[0].end <= w[1].end));
    }
}
