//! Tests of rules and lowering: against what a plain evaluator of relations answers.

mod dataflow;
mod evaluate;
mod random;
mod same;

use crate::expr::scalar::Expr;
use crate::plan::relation::{Relation, RelationType};
use crate::repr::{ColumnType, Datum, GlobalId, ScalarType};

const T: GlobalId = GlobalId(20_000);
const U: GlobalId = GlobalId(20_001);

fn col(c: usize) -> Expr {
    Expr::Column(c)
}

fn int(v: i32) -> Expr {
    Expr::literal(Datum::Int4(v), ScalarType::Int4)
}

fn eq(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(65, vec![a, b])
}

fn lt(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(66, vec![a, b])
}

fn plus(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(177, vec![a, b])
}

fn divide(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(154, vec![a, b])
}

/// Both tables: an int4 key without NULLs, an int4 and a text.
fn table_type() -> RelationType {
    let mut ty = RelationType::new(vec![
        ColumnType::not_null(ScalarType::Int4),
        ColumnType::nullable(ScalarType::Int4),
        ColumnType::nullable(ScalarType::Text),
    ]);
    ty.keys = vec![vec![0]];
    ty
}

fn t() -> Relation {
    Relation::global(T, table_type())
}

/// The same columns without a key.
fn u() -> Relation {
    Relation::global(U, RelationType::new(table_type().columns))
}

fn names(id: GlobalId) -> String {
    if id == T { "t" } else { "u" }.to_owned()
}
