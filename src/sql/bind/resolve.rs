//! Functions and operators with their arguments: the types that the rules ask for are given to
//! literals and parameters, and conversions are written out.

use crate::error::{Result, SqlState};
use crate::expr::func::Func;
use crate::expr::functions::{self, Resolved};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::record;
use crate::sql::bind::relation::Typed;

/// The type that a call of `func` with arguments of these types has.
fn call_type(func: Func, args: &[Typed]) -> ColumnType {
    let nullable = func.nullable || func.strict && args.iter().any(|arg| arg.ty.nullable);
    ColumnType { nullable, ..ColumnType::nullable(func.ret) }
}

impl Binder<'_, '_> {
    /// The call that was resolved, with its arguments converted.
    fn call(&mut self, resolved: &Resolved, args: Vec<Bound>) -> Result<Typed> {
        let mut typed = vec![];
        for ((arg, &ty), cast) in args.into_iter().zip(&resolved.types).zip(&resolved.casts) {
            typed.push(match (arg, cast) {
                (Bound::Typed(arg), Some(cast)) => {
                    let nullable = arg.ty.nullable || cast.nullable;
                    let to = ColumnType { nullable, ..ColumnType::nullable(ty) };
                    self.converted_by(arg, *cast, to, false)?
                }
                (Bound::Typed(arg), None) => arg,
                (untyped, _) => self.give_type(untyped, ColumnType::nullable(ty))?,
            });
        }
        let ty = call_type(resolved.func, &typed);
        let args = typed.into_iter().map(|arg| arg.expr).collect();
        Ok(Typed { expr: Expr::call(resolved.func, args), ty })
    }

    /// The operator of that spelling; `left` is none where it is prefix.
    ///
    /// Errors: 42883, 42725.
    pub fn operator(
        &mut self,
        symbol: &str,
        left: Option<Bound>,
        right: Bound,
        position: Option<u32>,
    ) -> Result<Typed> {
        let left_type = left.as_ref().map(|left| left.scalar(self));
        let right_type = right.scalar(self);
        record::check_comparable(left_type.flatten(), right_type).map_err(|e| e.at(position))?;
        let resolved = functions::resolve_operator(symbol, left_type, right_type)
            .map_err(|e| e.of_operator(symbol, left_type, right_type).at(position))?;
        self.call(&resolved, left.into_iter().chain([right]).collect())
    }

    /// The function of that name whose last arguments are the elements of an array.
    ///
    /// Errors: 42883, 42804.
    pub fn spread_function(
        &mut self,
        name: &str,
        args: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<Typed> {
        let types: Vec<_> = args.iter().map(|arg| arg.scalar(self)).collect();
        let resolved = functions::resolve_spread(name, &types);
        let resolved = resolved.map_err(|e| e.of_function(name, &types).at(position))?;
        self.call(&resolved, args)
    }

    /// The function of that name. A call with one argument may be a conversion instead, where the
    /// name is a type's.
    ///
    /// Errors: 42883, 42725.
    pub fn function(
        &mut self,
        name: &str,
        mut args: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<Typed> {
        let types: Vec<_> = args.iter().map(|arg| arg.scalar(self)).collect();
        let target = ScalarType::ALL.into_iter().find(|ty| ty.name() == name);
        if let (Some(target), [from]) = (target, types.as_slice())
            && from.is_none_or(|from| {
                // A varchar is a text already; the others have functions.
                from == target || (from, target) == (ScalarType::Varchar, ScalarType::Text)
            })
        {
            let arg = args.remove(0);
            return self.convert(arg, ColumnType::nullable(target), position);
        }
        let error = match functions::resolve_function(name, &types) {
            Ok(resolved) => return self.call(&resolved, args),
            Err(error) => error.of_function(name, &types),
        };
        if let (Some(target), 1, SqlState::UNDEFINED_FUNCTION) = (target, args.len(), error.code) {
            let arg = args.remove(0);
            if types[0].is_none_or(|from| functions::is_coercible(Some(from), target))
                || is_shape_conversion(types[0], target)
            {
                return self.convert(arg, ColumnType::nullable(target), position);
            }
        }
        Err(error.at(position))
    }
}

/// Whether `target(x)` is read as a conversion: those that are more than a change of spelling
/// exist as functions, so only conversions to and from text are left.
fn is_shape_conversion(from: Option<ScalarType>, to: ScalarType) -> bool {
    use functions::Category::String;
    let Some(from) = from else { return true };
    functions::category(to) == String || functions::category(from) == String
}
