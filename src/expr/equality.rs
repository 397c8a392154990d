//! Equality as planning sees it: which calls are `=`, and how a `=` is written for a type.
//!
//! Also the other shapes that plans look into: NOT, and IS NOT DISTINCT FROM.

use crate::expr::cast::Cast;
use crate::expr::func::{Eval, Func};
use crate::expr::functions::registry::polymorphic;
use crate::expr::functions::{
    array_comparison, boolean, comparison, enums, multiranges, operator_of, operators, ranges,
    records,
};
use crate::expr::scalar::Expr;
use crate::repr::{ArrayRef, Datum, ScalarType};

/// The type that a function is the `=` of.
pub fn equality_of(func: Func) -> Option<ScalarType> {
    let operator = operator_of(func.oid)?;
    (operator.symbol == "=" && operator.left == Some(operator.right)).then_some(operator.right)
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

    /// `a op b` for each element `b` that is not NULL, if this is `a op ANY` of a constant array of
    /// at most so many elements: one of them holds where this does.
    pub fn alternatives(&self, elements_max: usize) -> Option<Vec<Expr>> {
        let Expr::Call { func, args } = self else { return None };
        let (Eval::Quantified(op, false), [left, Expr::Literal(array)]) = (func.eval, &args[..])
        else {
            return None;
        };
        let Datum::Array(element, bytes) = array.datum() else { return None };
        let array = ArrayRef::new(element, bytes);
        if array.len() > elements_max {
            return None;
        }
        let of =
            |item| Expr::call(Func(op), vec![left.clone(), Expr::literal(item, element.scalar())]);
        Some(array.iter().filter(|item| !item.is_null()).map(of).collect())
    }

    /// The operands, if this is `a IS NOT DISTINCT FROM b`.
    pub fn not_distinguished(&self) -> Option<(&Expr, &Expr)> {
        match self {
            Expr::Call { func, args } => match (args.as_slice(), func.args) {
                ([a, b], [ty, _]) if *func == comparison::not_distinct(*ty) => Some((a, b)),
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

    /// `a = b` of operands of that type; varchar has text's, cidr inet's, what names
    /// something in the catalog oid's. None where a type has no
    /// `=`.
    pub fn equal(ty: ScalarType, a: Expr, b: Expr) -> Option<Expr> {
        if ty == ScalarType::Varchar {
            let cast = Cast::find(ScalarType::Varchar, ScalarType::Text)?;
            let to_text = |e: Expr| e.cast(cast, ScalarType::Text, false);
            return Expr::equal(ScalarType::Text, to_text(a), to_text(b));
        }
        if ty == ScalarType::Cidr {
            let cast = Cast::find(ScalarType::Cidr, ScalarType::Inet)?;
            let to_inet = |e: Expr| e.cast(cast, ScalarType::Inet, false);
            return Expr::equal(ScalarType::Inet, to_inet(a), to_inet(b));
        }
        if ty.is_reg() {
            let cast = Cast::find(ty, ScalarType::Oid)?;
            let to_oid = |e: Expr| e.cast(cast, ScalarType::Oid, false);
            return Expr::equal(ScalarType::Oid, to_oid(a), to_oid(b));
        }
        if let ScalarType::Array(element) = ty {
            let func = Func(array_comparison::equality().instance(element));
            return Some(Expr::call(func, vec![a, b]));
        }
        if let (false, Some(element)) = (ty.is_built_in(), ty.as_element()) {
            let equality = match ty {
                ScalarType::Enum(_) => enums::EQUALITY,
                _ => records::EQUALITY,
            };
            let func = Func(polymorphic(equality)?.instance(element));
            return Some(Expr::call(func, vec![a, b]));
        }
        if let ScalarType::Range(kind) = ty {
            let element = kind.subtype().as_element()?;
            return Some(Expr::call(Func(ranges::equality().instance(element)), vec![a, b]));
        }
        if let ScalarType::Multirange(kind) = ty {
            let element = kind.subtype().as_element()?;
            return Some(Expr::call(Func(multiranges::equality().instance(element)), vec![a, b]));
        }
        let mut of_type = operators().filter(|o| o.left == Some(ty) && o.right == ty);
        let func = Func::by_oid(of_type.find(|o| o.symbol == "=")?.func)?;
        Some(Expr::call(func, vec![a, b]))
    }

    /// `a IS NOT DISTINCT FROM b` of operands of that type.
    pub fn not_distinct(ty: ScalarType, a: Expr, b: Expr) -> Expr {
        Expr::call(comparison::not_distinct(ty), vec![a, b])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_an_equality_that_is_recognised() {
        for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_comparable()) {
            let equal = Expr::equal(ty, Expr::Column(0), Expr::Column(1));
            let equal = equal.unwrap_or_else(|| panic!("{ty:?}"));
            assert!(equal.equated().is_some(), "{ty:?}");
            let same = Expr::not_distinct(ty, Expr::Column(0), Expr::Column(1));
            assert!(same.not_distinguished().is_some() && same.equated().is_none());
        }
        assert_eq!(Expr::bool(true).not().negated(), Some(&Expr::bool(true)));
    }
}
