//! Cases that random plans do not reach: large groups, exact sums, overflow, readers that end.

use bumpalo::Bump;

use super::harness::{History, check, dataflow, layout, run, tables};
use crate::dataflow::emit::error_of;
use crate::error::SqlState;
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::error::EvalError;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Dataflow, Node, Sink};
use crate::repr::key::KeyMode;
use crate::repr::numeric::Numeric;
use crate::repr::value::pack;
use crate::repr::{Datum, Diff, Interval, Row, ScalarType};

/// A row of the table with numerics, floats and intervals.
fn mixed(numeric: Numeric, float: f64) -> Row {
    let arena = Bump::new();
    let numeric = Datum::Numeric(numeric.encode_in(&arena));
    let interval = Datum::Interval(Interval::default());
    pack(&[Datum::Int4(1), numeric, Datum::Float8(float), interval, Datum::Bool(true)])
}

/// An aggregate of a column over the whole of that table.
fn reduce(input: usize, func: AggFunc, column: usize) -> Dataflow {
    let types = tables()[input].types.clone();
    let aggregates = vec![Aggregate::of(func, Expr::Column(column))];
    let (key, key_types) = (Vec::new(), Vec::new());
    dataflow(vec![
        Node::Import { import: input },
        Node::Reduce { input: 0, types, key, key_types, aggregates },
    ])
}

fn final_row(plan: &Dataflow, history: &History) -> Row {
    let content = run(plan, history, 1, None).at(history.len() as u64);
    assert_eq!(content.rows.len(), 1, "{content:?}");
    content.rows.into_keys().next().unwrap()
}

#[test]
fn sums_of_floats_are_exact_and_heal() {
    let row = |float| mixed(Numeric::from_i128(1), float);
    let sum = reduce(1, AggFunc::Sum(ScalarType::Float8), 2);
    let values = [1e308, 1e308, -1e308, 1.0, 1e-300, f64::MIN_POSITIVE / 4.0, -1e308, -1.0, 0.1];
    let history: History = values.iter().map(|v| vec![(1, row(*v), 1)]).collect();
    // Added from left to right even the 0.1 would be lost.
    assert_eq!(final_row(&sum, &history), pack(&[Datum::Float8(0.1)]));

    let mut history: History = vec![vec![(1, row(1e308), 1), (1, row(1.7e308), 1)]];
    let outcome = run(&sum, &history, 1, None);
    let (_, error, _) = &outcome.errs[0];
    assert_eq!(error_of(error.bytes()).code, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    history.push(vec![(1, row(1.7e308), -1)]);
    assert!(run(&sum, &history, 1, None).at(2).errors.is_empty());
    assert_eq!(final_row(&sum, &history), pack(&[Datum::Float8(1e308)]));
    history.push(vec![(1, row(f64::INFINITY), 1), (1, row(1e308), -1)]);
    history.push(vec![(1, row(f64::INFINITY), -1), (1, row(-0.5), 1)]);
    assert_eq!(final_row(&sum, &history), pack(&[Datum::Float8(-0.5)]));
}

#[test]
fn floats_round_once_ties_to_even() {
    let sum = reduce(1, AggFunc::Sum(ScalarType::Float8), 2);
    let big = 2f64.powi(53);
    let cases: [(&[f64], f64); 8] = [
        (&[-0.0, -0.0], -0.0),
        (&[-0.0, 1.5, -1.5], 0.0),
        (&[big, 1.0], big),
        (&[big, 1.0, 2f64.powi(-60)], big + 2.0),
        (&[big, 3.0], big + 4.0),
        (&[-big, -1.0, -5e-324], -big - 2.0),
        (&[f64::MAX, 2f64.powi(969)], f64::MAX),
        (&[5e-324, 5e-324, f64::MIN_POSITIVE], f64::MIN_POSITIVE + 1e-323),
    ];
    for (values, expected) in cases {
        let row = |v: &f64| (1, mixed(Numeric::from_i128(1), *v), 1);
        let history: History = vec![values.iter().map(row).collect()];
        assert_eq!(final_row(&sum, &history), pack(&[Datum::Float8(expected)]), "{values:?}");
    }
}

#[test]
fn sums_of_numerics_have_the_scale_of_what_is_there() {
    let sum = reduce(1, AggFunc::Sum(ScalarType::Numeric), 1);
    let huge = || Numeric::from_big(num_bigint::BigInt::from(10).pow(60) + 7, 3);
    let row = |numeric| mixed(numeric, 0.0);
    let steps: Vec<(Numeric, Diff)> = vec![
        (Numeric::new(15, 1), 2),
        (Numeric::new(100_000, 5), 1),
        (huge(), 3),
        (Numeric::new(i128::MIN, 0), 1),
        (Numeric::new(100_000, 5), -1),
        (huge(), -2),
        (huge(), -1),
        (Numeric::new(i128::MIN, 0), -1),
        (Numeric::new(15, 1), -1),
    ];
    let history: History =
        steps.into_iter().map(|(numeric, diff)| vec![(1, row(numeric), diff)]).collect();
    assert_eq!(check(&sum, &history, 1, None), history.len());
    let arena = Bump::new();
    let last = Datum::Numeric(Numeric::new(15, 1).encode_in(&arena));
    assert_eq!(final_row(&sum, &history), pack(&[last]));
}

#[test]
fn a_sum_of_int4_can_exceed_int8_and_comes_back() {
    let sum = reduce(0, AggFunc::Sum(ScalarType::Int4), 1);
    let row = pack(&[Datum::Int4(0), Datum::Int4(i32::MAX), Datum::Text(""), Datum::Null]);
    let many = 1 << 33;
    let history: History = vec![vec![(0, row.clone(), many)], vec![(0, row, 1 - many)]];
    let outcome = run(&sum, &history, 1, None);
    let errors = outcome.at(1).errors;
    let error = errors.first().unwrap();
    assert_eq!(error.code, SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    assert_eq!(&*error.message, "bigint out of range");
    assert!(outcome.at(1).rows.is_empty());
    assert!(outcome.at(2).errors.is_empty());
    assert_eq!(final_row(&sum, &history), pack(&[Datum::Int8(i32::MAX.into())]));
}

#[test]
fn a_queue_that_loses_its_least_row_stays_right() {
    let row = |n: i32| pack(&[Datum::Int4(0), Datum::Int4(n), Datum::Text("q"), Datum::Null]);
    let mut history: History = vec![(0..400).map(|n| (0, row(n), 1)).collect()];
    for n in (0..390).step_by(5) {
        history.push((n..n + 5).map(|n| (0, row(n), -1)).collect());
    }
    // What comes back below all that is remembered is seen, and what follows it, too.
    history.push(vec![(0, row(3), 1)]);
    history.push(vec![(0, row(3), -1)]);
    history.push((390..400).map(|n| (0, row(n), -1)).collect());
    history.push(vec![(0, row(7), 1), (0, row(500), 1)]);
    let least = reduce(0, AggFunc::Min(ScalarType::Int4), 1);
    assert_eq!(check(&least, &history, 1, None), history.len() - 1);
    let greatest = reduce(0, AggFunc::Max(ScalarType::Int4), 1);
    assert_eq!(check(&greatest, &history, 2, None), history.len() - 1);
}

#[test]
fn a_peek_ends_with_the_rows_of_its_time() {
    let types = tables()[0].types.clone();
    let row = |n: i32| pack(&[Datum::Int4(n), Datum::Null, Datum::Text("p"), Datum::Null]);
    let history: History = (0..5).map(|n| vec![(0, row(n), 1)]).collect();
    let mut plan = dataflow(vec![
        Node::Import { import: 0 },
        Node::Arrange { input: 0, layout: layout(&types, &[2], KeyMode::Strict) },
    ]);
    plan.as_of = 3;
    plan.sink = Sink::Peek { buffer_limit: u64::MAX / 2 };
    for workers in [1, 2] {
        let outcome = run(&plan, &history, workers, None);
        assert!(outcome.oks.iter().all(|(time, _, diff)| *time == 3 && *diff == 1));
        assert_eq!(outcome.oks.len(), 3);
    }
}

#[test]
fn constants_come_once_whatever_the_number_of_workers() {
    let row = pack(&[Datum::Int4(7)]);
    let rows = Node::Constant { rows: Ok(vec![(row.clone(), 2), (row, 1)]) };
    let error = EvalError::new(SqlState::DIVISION_BY_ZERO, "division by zero");
    let error = Node::Constant { rows: Err(error) };
    let history: History = vec![Vec::new(), Vec::new()];
    for workers in [1, 2] {
        let mut plan = dataflow(vec![rows.clone(), Node::Union { inputs: vec![0, 0] }]);
        plan.as_of = 1;
        let kept = layout(&[ScalarType::Int4], &[0], KeyMode::Strict);
        assert_eq!(check(&plan, &history, workers, Some(kept)), 2);
        let nodes = vec![rows.clone(), error.clone(), Node::Union { inputs: vec![1, 0, 1] }];
        let outcome = run(&dataflow(nodes), &history, workers, None);
        assert_eq!(outcome.errs.len(), 1, "{outcome:?}");
    }
}
