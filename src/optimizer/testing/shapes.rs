//! Tables and expressions that tests are made of.

use crate::expr::scalar::Expr;
use crate::plan::relation::{Relation, RelationType};
use crate::repr::{ColumnType, Datum, GlobalId, ScalarType};

pub const T: GlobalId = GlobalId(20_000);
pub const U: GlobalId = GlobalId(20_001);

pub fn col(c: usize) -> Expr {
    Expr::Column(c)
}

pub fn int(v: i32) -> Expr {
    Expr::literal(Datum::Int4(v), ScalarType::Int4)
}

pub fn eq(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(65, vec![a, b])
}

pub fn lt(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(66, vec![a, b])
}

pub fn plus(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(177, vec![a, b])
}

pub fn divide(a: Expr, b: Expr) -> Expr {
    Expr::call_by_oid(154, vec![a, b])
}

/// Both tables: an int4 key without NULLs, an int4 and a text.
pub fn table_type() -> RelationType {
    let mut ty = RelationType::new(vec![
        ColumnType::not_null(ScalarType::Int4),
        ColumnType::nullable(ScalarType::Int4),
        ColumnType::nullable(ScalarType::Text),
    ]);
    ty.keys = vec![vec![0]];
    ty
}

pub fn t() -> Relation {
    Relation::global(T, table_type())
}

/// The same columns without a key.
pub fn u() -> Relation {
    Relation::global(U, RelationType::new(table_type().columns))
}

pub fn names(id: GlobalId) -> String {
    if id == T { "t" } else { "u" }.to_owned()
}
