//! Equality as planning sees it: which calls are `=`, and how a `=` is written for a type.
//!
//! Also the two other shapes that plans look into: NOT, and IS NOT NULL.

use crate::expr::cast::Cast;
use crate::expr::func::Func;
use crate::expr::functions::boolean;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};

/// `pg_proc.oid` of the `=` of a type with itself; varchar has text's.
const fn equality_oid(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::Bool => 60,
        ScalarType::Int2 => 63,
        ScalarType::Int4 => 65,
        ScalarType::Int8 => 467,
        ScalarType::Float4 => 287,
        ScalarType::Float8 => 293,
        ScalarType::Numeric => 1718,
        ScalarType::Text | ScalarType::Varchar => 67,
        ScalarType::Bpchar => 1048,
        ScalarType::Bytea => 1948,
        ScalarType::Date => 1086,
        ScalarType::Time => 1145,
        ScalarType::Timestamp => 2052,
        ScalarType::TimestampTz => 1152,
        ScalarType::Interval => 1162,
        ScalarType::Uuid => 2956,
        ScalarType::Jsonb => 4043,
        ScalarType::Oid => 184,
        ScalarType::Name => 62,
    }
}

/// The type that a function is the `=` of.
pub fn equality_of(func: Func) -> Option<ScalarType> {
    let [left, right] = func.args else { return None };
    (left == right && func.oid == equality_oid(*left)).then_some(*left)
}

impl Expr {
    /// The operands, if this is `a = b` of one type.
    pub fn equated(&self) -> Option<(&Expr, &Expr)> {
        match self {
            Expr::Call { func, args } if equality_of(*func).is_some() => match args.as_slice() {
                [a, b] => Some((a, b)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The operand, if this is `NOT a`.
    pub fn negated(&self) -> Option<&Expr> {
        match self {
            Expr::Call { func, args } if func.oid == boolean::NOT => args.first(),
            _ => None,
        }
    }

    /// `a = b` of operands of that type. None where the function table has no such `=`.
    pub fn equal(ty: ScalarType, a: Expr, b: Expr) -> Option<Expr> {
        let func = Func::by_oid(equality_oid(ty))?;
        if ty != ScalarType::Varchar {
            return Some(Expr::Call { func, args: vec![a, b] });
        }
        let cast = Cast::find(ScalarType::Varchar, ScalarType::Text)?;
        let to_text = |input: Expr| Expr::Cast {
            cast,
            input: Box::new(input),
            to: ColumnType::nullable(ScalarType::Text),
            explicit: false,
        };
        Some(Expr::Call { func, args: vec![to_text(a), to_text(b)] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_equality() {
        for ty in ScalarType::ALL {
            let func = Func::by_oid(equality_oid(ty)).expect(ty.name());
            let operands = if ty == ScalarType::Varchar { ScalarType::Text } else { ty };
            assert_eq!(func.args, [operands, operands]);
        }
    }
}
