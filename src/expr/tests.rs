//! Evaluation rules: laziness, folding, rows with faults, depth, resolution.

use bumpalo::Bump;

use crate::error::SqlState;
use crate::expr::func::EvalContext;
use crate::expr::functions::{
    ResolveError, common_type, comparison, resolve_aggregate, resolve_function, resolve_operator,
};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::repr::ScalarType::{self, *};
use crate::repr::settings::FormatSettings;
use crate::repr::{ColumnType, Datum};

fn int(value: i32) -> Expr {
    Expr::literal(Datum::Int4(value), Int4)
}

fn op(symbol: &str, a: Expr, b: Expr) -> Expr {
    let found = resolve_operator(symbol, Some(Some(Int4)), Some(Int4)).expect("is there");
    found.call(vec![a, b])
}

fn null() -> Expr {
    Expr::null(Bool)
}

/// 1 / column: fails where the column is 0.
fn inverse(column: usize) -> Expr {
    op("/", int(1), Expr::Column(column))
}

/// A predicate that fails on a 0.
fn fails(column: usize) -> Expr {
    op("=", inverse(column), int(1))
}

fn eval(expr: &Expr, row: &[Datum<'_>]) -> String {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    match expr.eval(row, &cx) {
        Ok(datum) => format!("{datum:?}"),
        Err(e) => format!("{} {}", e.code, e.message),
    }
}

const DIVISION: &str = "22012 division by zero";

#[test]
fn the_decisive_value_beats_an_error_in_either_order() {
    let row = [Datum::Int4(0)];
    let (t, f) = (Expr::bool(true), Expr::bool(false));
    let cases = [
        (Expr::And(vec![fails(0), f.clone()]), "Bool(false)"),
        (Expr::And(vec![f.clone(), fails(0)]), "Bool(false)"),
        (Expr::And(vec![fails(0), null(), t.clone()]), DIVISION),
        (Expr::And(vec![null(), t.clone()]), "Null"),
        (Expr::And(vec![null(), f.clone()]), "Bool(false)"),
        (Expr::Or(vec![fails(0), t.clone()]), "Bool(true)"),
        (Expr::Or(vec![t.clone(), fails(0)]), "Bool(true)"),
        (Expr::Or(vec![null(), fails(0)]), DIVISION),
        (Expr::Or(vec![null(), f.clone()]), "Null"),
        (Expr::And(vec![]), "Bool(true)"),
        (Expr::Or(vec![]), "Bool(false)"),
        (Expr::Coalesce(vec![null(), t.clone(), fails(0)]), "Bool(true)"),
        (Expr::Coalesce(vec![null(), fails(0)]), DIVISION),
        (
            Expr::Case {
                branches: vec![(null(), fails(0)), (op("=", Expr::Column(0), int(0)), t.clone())],
                otherwise: Box::new(fails(0)),
            },
            "Bool(true)",
        ),
    ];
    for (expr, expected) in cases {
        assert_eq!(eval(&expr, &row), expected, "{expr}");
        let mut folded = expr.clone();
        folded.fold(&FormatSettings::default());
        assert_eq!(eval(&folded, &row), expected, "{expr} folded to {folded}");
    }
}

#[test]
fn folding_keeps_failures_in_their_places() {
    let fold = |mut expr: Expr| {
        expr.fold(&FormatSettings::default());
        expr.to_string()
    };
    let zero = || op("/", int(1), int(0));
    assert_eq!(fold(op("+", int(2), op("*", int(3), int(4)))), "14");
    assert_eq!(fold(zero()), "raise(\"division by zero\")");
    let guarded = Expr::Case {
        branches: vec![(op("=", Expr::Column(0), int(0)), int(7))],
        otherwise: Box::new(zero()),
    };
    assert_eq!(fold(guarded), "CASE WHEN #0 = 0 THEN 7 ELSE raise(\"division by zero\") END");
    let and = Expr::And(vec![op("=", Expr::Column(0), int(1)), op("=", zero(), int(1))]);
    assert_eq!(fold(and), "(#0 = 1) AND raise(\"division by zero\")");
    let strict = op("+", inverse(0), Expr::null(Int4));
    assert_eq!(fold(strict), "NULL::integer");
    let random = Expr::call(resolve_function("random", &[]).expect("is there").func, vec![]);
    assert!(random.is_volatile() && !random.is_constant());
    assert_eq!(fold(random), "random()");
    assert_eq!(fold(op("-", Expr::Column(1), int(-3))), "#1 - (-3)");
    assert_eq!(fold(Expr::Column(0).is_null().not()), "#0 IS NOT NULL");
}

#[test]
fn a_division_by_a_literal_cannot_fail_but_by_0_and_by_minus_1() {
    let by = |symbol: &str, divisor: i32| op(symbol, Expr::Column(0), int(divisor)).is_fallible();
    assert!(!by("/", 20) && !by("%", 20) && !by("/", -2) && !by("%", -1));
    assert!(by("/", 0) && by("%", 0) && by("/", -1) && by("+", 1));
    assert!(op("%", Expr::Column(0), Expr::Column(1)).is_fallible());
    assert!(op("/", op("+", Expr::Column(0), int(1)), int(2)).is_fallible());
}

#[test]
fn a_filter_is_one_conjunction_wherever_columns_are_computed() {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let not_zero = || op("<>", Expr::Column(0), int(0));
    // SELECT 1/a FROM t WHERE a <> 0, filter after and before the computation.
    let after = Mfp::identity(1).map([inverse(0)]).filter([not_zero()]).project([1]);
    let before = Mfp::identity(1).filter([not_zero()]).map([inverse(0)]).project([1]);
    let composed =
        Mfp::identity(1).map([inverse(0)]).then(Mfp::identity(2).filter([not_zero()]).project([1]));
    // The predicate needs a later column than the one that fails.
    let mut late = Mfp::identity(1)
        .map([inverse(0), op("+", Expr::Column(0), int(5))])
        .filter([fails(0), op("<>", Expr::Column(2), int(5))])
        .project([1]);
    let run = |mfp: &Mfp, value| {
        let mut datums = vec![Datum::Int4(value)];
        mfp.evaluate(&mut datums, &cx)
            .map(|passes| passes.then(|| format!("{:?}", datums[mfp.projection[0]])))
    };
    for mfp in [&after, &before, &composed, &late] {
        assert_eq!(run(mfp, 0), Ok(None));
        assert_eq!(run(mfp, 1), Ok(Some("Int4(1)".to_owned())));
    }
    late.predicates.pop();
    assert_eq!(run(&late, 0).map_err(|e| e.code), Err(SqlState::DIVISION_BY_ZERO));
    // A column that fails and does not go out is no error.
    let unused = Mfp::identity(1).map([inverse(0)]).project([0]);
    assert_eq!(run(&unused, 0), Ok(Some("Int4(0)".to_owned())));
    let mut pruned = unused.clone();
    pruned.prune();
    assert!(pruned.is_identity());
    let mut moved = after.clone();
    moved.permute(3, |_| 2);
    assert_eq!(moved.input_columns(), [2]);
    let mut datums = vec![Datum::Null, Datum::Null, Datum::Int4(1)];
    assert_eq!(moved.evaluate(&mut datums, &cx), Ok(true));
    assert_eq!(format!("{:?}", datums[moved.projection[0]]), "Int4(1)");
}

#[test]
fn depth_costs_memory_not_the_stack() {
    let mut expr = Expr::Column(0);
    for _ in 0..20_000 {
        expr = op("+", expr, int(1));
    }
    assert_eq!(eval(&expr, &[Datum::Int4(1)]), "Int4(20001)");
    assert!(expr.is_fallible());
    assert!(expr.typ(&[ColumnType::nullable(Int4)]).nullable);
    assert_eq!(expr.columns().into_iter().collect::<Vec<_>>(), [0]);
    expr.map_columns(|_| 3);
    expr.visit_mut(&mut |e| {
        if matches!(e, Expr::Column(_)) {
            *e = int(1);
        }
    });
    expr.fold(&FormatSettings::default());
    assert_eq!(expr.to_string(), "20001");
}

#[test]
fn resolution_fails_as_postgresqls() {
    let function = |name: &str, args: &[Option<ScalarType>]| {
        let error = resolve_function(name, args).expect_err(name).of_function(name, args);
        format!("{} {}", error.code, error.message)
    };
    assert_eq!(function("abs", &[Some(Text)]), "42883 function abs(text) does not exist");
    assert_eq!(
        function("mod", &[None, None]),
        "42725 function mod(unknown, unknown) is not unique"
    );
    assert_eq!(
        function("nothing", &[Some(Int4), None]),
        "42883 function nothing(integer, unknown) does not exist"
    );
    assert_eq!(
        function("pg_column_size", &[Some(Int8)]),
        "0A000 function pg_column_size(bigint) is not supported"
    );
    assert_eq!(resolve_function("abs", &[None]).map(|r| r.types).ok(), Some(vec![Float8]));
}

#[test]
fn untyped_literals_take_the_type_that_is_likely() {
    let types = |symbol, left, right| resolve_operator(symbol, Some(left), right).map(|r| r.types);
    assert_eq!(types("+", Some(Int8), None), Ok(vec![Int8, Int8]));
    assert_eq!(types("=", Some(Varchar), None), Ok(vec![Text, Text]));
    assert_eq!(types("=", Some(Bpchar), None), Ok(vec![Bpchar, Bpchar]));
    assert_eq!(types("=", Some(Date), None), Ok(vec![Date, Date]));
    assert_eq!(types("=", None, None), Ok(vec![Text, Text]));
    assert_eq!(types("||", None, None), Ok(vec![Text, Text]));
    assert_eq!(types("+", Some(Bool), Some(Int4)), Err(ResolveError::NotFound));
    assert_eq!(types("||", Some(Int4), Some(Int4)), Err(ResolveError::NotFound));
    let call = |name, args: &[Option<ScalarType>]| resolve_function(name, args).map(|r| r.func.oid);
    assert_eq!(call("quote_literal", &[None]), Ok(1283));
    assert_eq!(call("quote_literal", &[Some(Varchar)]), Ok(1283));
    assert_eq!(call("quote_literal", &[Some(Int4)]), Ok(1285));
    let error = ResolveError::NotFound.of_operator("+", Some(Some(Int4)), None);
    assert_eq!(error.message, "operator does not exist: integer + unknown");
}

#[test]
fn common_types_and_aggregates() {
    let common = |types: &[Option<ScalarType>]| common_type("CASE", types).map_err(|e| e.message);
    assert_eq!(common(&[Some(Int4), None, Some(Numeric), Some(Int2)]), Ok(Numeric));
    assert_eq!(common(&[Some(Numeric), Some(Float8)]), Ok(Float8));
    assert_eq!(common(&[None, None]), Ok(Text));
    assert_eq!(
        common(&[Some(Int4), Some(Text)]),
        Err("CASE types integer and text cannot be matched".to_owned())
    );
    let ty = |name, arg| resolve_aggregate(name, &[arg]).map(|a| a.types[0]);
    assert_eq!(ty("sum", Some(Int4)), Ok(Some(Int4)));
    assert_eq!(ty("max", Some(Varchar)), Ok(Some(Text)));
    assert_eq!(ty("max", None), Ok(Some(Text)));
    assert_eq!(ty("sum", Some(Text)), Err(ResolveError::NotFound));
    assert_eq!(ty("sum", None), Err(ResolveError::Ambiguous));
    assert_eq!(ty("array_agg", Some(Text)), Ok(Some(Text)));
}

#[test]
fn nulls_in_distinct_and_greatest() {
    let call = |func, a: Expr, b: Expr| eval(&Expr::call(func, vec![a, b]), &[]);
    let none = || Expr::null(Int4);
    assert_eq!(call(comparison::distinct(Int4), int(1), none()), "Bool(true)");
    assert_eq!(call(comparison::distinct(Int4), none(), none()), "Bool(false)");
    assert_eq!(call(comparison::not_distinct(Int4), int(1), int(1)), "Bool(true)");
    assert_eq!(call(comparison::greatest(Int4), none(), int(1)), "Int4(1)");
    assert_eq!(call(comparison::least(Int4), int(3), int(1)), "Int4(1)");
    assert_eq!(call(comparison::least(Int4), none(), none()), "Null");
}
