//! Comparisons as planning sees them: `column < literal` and its kind.

use crate::expr::func::Func;
use crate::expr::functions::operator_of;
use crate::expr::scalar::{Expr, Literal};
use crate::repr::{ColumnType, Datum, ScalarType};

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `=`
    Eq,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Op {
    /// The comparison with the operands exchanged.
    pub fn flipped(self) -> Op {
        match self {
            Op::Eq => Op::Eq,
            Op::Lt => Op::Gt,
            Op::Le => Op::Ge,
            Op::Gt => Op::Lt,
            Op::Ge => Op::Le,
        }
    }
}

/// The comparison that a function computes.
pub fn op_of(func: Func) -> Option<Op> {
    match operator_of(func.oid)?.symbol {
        "=" => Some(Op::Eq),
        "<" => Some(Op::Lt),
        "<=" => Some(Op::Le),
        ">" => Some(Op::Gt),
        ">=" => Some(Op::Ge),
        _ => None,
    }
}

/// An expression compared with a literal, whichever comes first in the text.
pub fn with_literal(predicate: &Expr) -> Option<(&Expr, Op, &Literal)> {
    let Expr::Call { func, args } = predicate else { return None };
    let op = op_of(*func)?;
    match args.as_slice() {
        [Expr::Literal(_), Expr::Literal(_)] => None,
        [a, Expr::Literal(b)] => Some((a, op, b)),
        [Expr::Literal(a), b] => Some((b, op.flipped(), a)),
        _ => None,
    }
}

/// The expression without conversions that keep value, order and key: to wider integers, and
/// between the types of text that differ in name alone.
pub fn without_widening(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { cast, input, to, .. } if to.typmod == -1 && widens(cast.from, cast.to) => {
            without_widening(input)
        }
        other => other,
    }
}

/// Types whose values and keys are spelled alike.
fn is_text(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Text | ScalarType::Varchar)
}

fn widens(from: ScalarType, to: ScalarType) -> bool {
    use ScalarType::{Int2, Int4, Int8};
    matches!((from, to), (Int2, Int4 | Int8) | (Int4, Int8)) || (is_text(from) && is_text(to))
}

/// The literal as a value of another type that [`without_widening`] led to, if it is one.
pub fn literal_as(literal: &Literal, ty: ScalarType) -> Option<Literal> {
    if literal.ty.scalar == ty {
        return Some(literal.clone());
    }
    let datum = literal.datum();
    let long = match datum {
        Datum::Int2(v) => Some(i64::from(v)),
        Datum::Int4(v) => Some(i64::from(v)),
        Datum::Int8(v) => Some(v),
        _ => None,
    };
    let datum = match (ty, long) {
        (ScalarType::Int2, Some(v)) => Datum::Int2(v.try_into().ok()?),
        (ScalarType::Int4, Some(v)) => Datum::Int4(v.try_into().ok()?),
        (ScalarType::Int8, Some(v)) => Datum::Int8(v),
        (_, None) if is_text(ty) && is_text(literal.ty.scalar) => datum,
        _ => return None,
    };
    Some(Literal::new(datum, ColumnType::not_null(ty)))
}
