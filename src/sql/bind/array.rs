//! Arrays: `ARRAY[…]`, subscripts and slices, `op ANY (array)` and `op ALL (array)`.

use sqlparser::ast;
use sqlparser::ast::{AccessExpr, Subscript};

use crate::error::{Error, Result, SqlState};
use crate::expr::cast::Cast;
use crate::expr::func::Func;
use crate::expr::functions::{self, arrays};
use crate::expr::polymorphic;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, Datum, Element, ScalarType};
use crate::sql::bind::apply;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::{name, operator};

/// How many elements `op ANY (ARRAY[…])` has at most to become a disjunction, which can be answered
/// by keys.
const WRITTEN_OUT_MAX: usize = 64;

/// The array that an expression is, parentheses aside.
pub fn literal(mut expr: &ast::Expr) -> Option<&ast::Array> {
    loop {
        match expr {
            ast::Expr::Nested(inner) => expr = inner,
            ast::Expr::Array(array) => return Some(array),
            _ => return None,
        }
    }
}

/// What `LIKE ALL (…)` has in its parentheses.
pub enum AllOf<'a> {
    /// An array.
    Array(&'a ast::Expr),
    /// A subquery.
    Query(&'a ast::Query),
}

/// The pattern of `LIKE ALL (…)`, which the parser takes for a call.
pub fn quantified_by_all(pattern: &ast::Expr) -> Option<AllOf<'_>> {
    let ast::Expr::Function(function) = pattern else { return None };
    let [ast::ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else { return None };
    if name.quote_style.is_some() || !name.value.eq_ignore_ascii_case("all") {
        return None;
    }
    match &function.args {
        ast::FunctionArguments::Subquery(query) => Some(AllOf::Query(query)),
        ast::FunctionArguments::List(list) => match list.args.as_slice() {
            [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(array))] => {
                Some(AllOf::Array(array))
            }
            _ => None,
        },
        ast::FunctionArguments::None => None,
    }
}

fn call(oid: u32, element: Element, args: Vec<Typed>, nullable: bool) -> Typed {
    let func = instance(oid, element).expect("arrays of every type have their functions");
    let ty = ColumnType { nullable, ..ColumnType::nullable(func.ret) };
    Typed { expr: Expr::call(func, args.into_iter().map(|arg| arg.expr).collect()), ty }
}

/// What tells whether `whole` is NULL, where a subscript can fail: subscripts of NULL are not
/// computed.
fn null_guard(whole: &Typed, subscripts: &[Typed]) -> Option<Expr> {
    let can_fail = subscripts.iter().any(|subscript| subscript.expr.is_fallible());
    let is_known = !whole.ty.nullable || whole.expr.is_volatile();
    (can_fail && !is_known).then(|| Expr::IsNull(Box::new(whole.expr.clone())))
}

/// The value, or NULL where the guard holds.
fn guarded(guard: Option<Expr>, made: Typed) -> Typed {
    let Some(guard) = guard else { return made };
    let null = Expr::null(made.ty);
    let expr = Expr::Case { branches: vec![(guard, null)], otherwise: Box::new(made.expr) };
    Typed { expr, ty: ColumnType { nullable: true, ..made.ty } }
}

fn instance(oid: u32, element: Element) -> Option<Func> {
    functions::registry::polymorphic(oid).map(|def| Func(def.instance(element)))
}

impl Binder<'_, '_> {
    /// `ARRAY[…]`; `target` is the array type that it is converted to, where it is.
    pub fn array(
        &mut self,
        array: &ast::Array,
        target: Option<ColumnType>,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let mut is_nested = false;
        let mut items = vec![];
        for item in &array.elem {
            let at = self.expr_position(item);
            let bound = match literal(item) {
                Some(inner) => self.deeper(|binder| binder.array(inner, target, at, cx))?.into(),
                None => self.expr(item, cx)?,
            };
            is_nested |= bound.scalar(self).is_some_and(|ty| ty.element().is_some());
            items.push((bound, at));
        }
        let items = match target {
            Some(target) => {
                let element = target.scalar.element().unwrap_or(target.scalar);
                let scalar = if is_nested { target.scalar } else { element };
                let ty = ColumnType { scalar, ..target };
                items
                    .into_iter()
                    .map(|(bound, at)| self.convert(bound, ty, at))
                    .collect::<Result<Vec<_>>>()?
            }
            None if items.is_empty() => {
                let message = "cannot determine type of empty array";
                return Err(Error::new(SqlState::INDETERMINATE_DATATYPE, message)
                    .with_hint(
                        "Explicitly cast to the desired type, for example ARRAY[]::integer[].",
                    )
                    .at(position));
            }
            None => {
                self.unify(items.into_iter().map(|(bound, _)| bound).collect(), "ARRAY", position)?
            }
        };
        let of = items.first().map(|item| item.ty).or(target);
        let of = of.expect("an array without elements has a target");
        let typmod = of.typmod;
        let item = of.scalar.element().unwrap_or(of.scalar);
        let element = item.as_element().expect("what is no array is an element");
        let oid = if is_nested { arrays::NESTED_CONSTRUCTOR } else { arrays::CONSTRUCTOR };
        let mut made = call(oid, element, items, false);
        made.ty.typmod = typmod;
        Ok(made)
    }

    /// `a[1]`, `a[1:2]`, `t.a[1]`, and the same of jsonb.
    pub fn field_access(
        &mut self,
        root: &ast::Expr,
        chain: &[AccessExpr],
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(root);
        let mut names = match root {
            ast::Expr::Identifier(ident) => vec![ident.clone()],
            ast::Expr::CompoundIdentifier(parts) => parts.clone(),
            // (t).a is t.a, unless there is a column t; what comes behind are fields.
            ast::Expr::Nested(inner) => match &**inner {
                ast::Expr::Identifier(ident) if cx.scope.find(&name::ident(ident))?.is_none() => {
                    vec![ident.clone()]
                }
                _ => vec![],
            },
            _ => vec![],
        };
        let is_table = matches!(root, ast::Expr::Nested(_));
        let mut rest = chain;
        while let ([AccessExpr::Dot(ast::Expr::Identifier(part)), behind @ ..], false) =
            (rest, names.is_empty() || is_table && names.len() == 2)
        {
            names.push(part.clone());
            rest = behind;
        }
        let mut whole = match names.len() {
            0 | 1 => self.expr(root, cx)?,
            _ => self.expr(&ast::Expr::CompoundIdentifier(names), cx)?,
        };
        let is_dot = |access: &AccessExpr| matches!(access, AccessExpr::Dot(_));
        for accesses in rest.chunk_by(|a, b| !is_dot(a) && !is_dot(b)) {
            let of = self.settle(whole)?;
            whole = match &accesses[0] {
                AccessExpr::Dot(ast::Expr::Identifier(name)) => {
                    self.named_field(&of, name, position)?.into()
                }
                AccessExpr::Dot(other) => {
                    let message = format!("syntax error at or near \"{other}\"");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
                }
                AccessExpr::Subscript(_) => self.subscripted(of, accesses, position, cx)?,
            };
        }
        Ok(whole)
    }

    /// A value with subscripts behind it.
    fn subscripted(
        &mut self,
        whole: Typed,
        accesses: &[AccessExpr],
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let subscripts: Vec<_> = accesses.iter().filter_map(subscript_of).collect();
        match whole.ty.scalar {
            ScalarType::Array(element) => self.array_access(whole, element, &subscripts, cx),
            ScalarType::Jsonb => self.jsonb_access(whole, &subscripts, cx),
            other => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "cannot subscript type {} because it does not support subscripting",
                    other.display_name()
                ),
            )
            .at(position)),
        }
        .map(Bound::from)
    }

    fn array_access(
        &mut self,
        whole: Typed,
        element: Element,
        subscripts: &[&Subscript],
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let typmod = whole.ty.typmod;
        if subscripts.len() > crate::repr::array::DIMS_MAX {
            let message = format!(
                "number of array dimensions ({}) exceeds the maximum allowed (6)",
                subscripts.len()
            );
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        let is_slice = subscripts.iter().any(|s| matches!(s, Subscript::Slice { .. }));
        let integer = |value| Typed::literal(Datum::Int4(value), ScalarType::Int4);
        let mut bounds = vec![];
        let mut written = 0;
        for subscript in subscripts {
            let (lower, upper) = match subscript {
                Subscript::Index { index } if !is_slice => {
                    bounds.push(self.subscript(index, cx)?);
                    continue;
                }
                // Beside a slice, a number is a slice from 1.
                Subscript::Index { index } => (Some(integer(1)), Some(self.subscript(index, cx)?)),
                Subscript::Slice { stride: Some(_), .. } => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "syntax error at or near \":\"",
                    ));
                }
                Subscript::Slice { lower_bound, upper_bound, .. } => {
                    let mut bound = |bound: &Option<ast::Expr>| match bound {
                        Some(bound) => self.subscript(bound, cx).map(Some),
                        None => Ok(None),
                    };
                    (bound(lower_bound)?, bound(upper_bound)?)
                }
            };
            for bound in [lower, upper] {
                if bound.is_some() {
                    written |= 1 << bounds.len();
                }
                bounds.push(bound.unwrap_or_else(|| integer(0)));
            }
        }
        let nullable = whole.ty.nullable || bounds.iter().any(|bound| bound.ty.nullable);
        let guard = null_guard(&whole, &bounds);
        let mut made = if is_slice {
            let args = [vec![whole, integer(written)], bounds].concat();
            call(arrays::SLICE, element, args, nullable)
        } else {
            call(arrays::SUBSCRIPT, element, [vec![whole], bounds].concat(), true)
        };
        made.ty.typmod = typmod;
        Ok(guarded(guard, made))
    }

    /// A subscript, or a bound of a slice.
    fn subscript(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Typed> {
        let position = self.expr_position(expr);
        let bound = self.expr(expr, cx)?;
        let ty = ColumnType::nullable(ScalarType::Int4);
        let found = self.assignable(bound, ty)?;
        found.ok_or_else(|| {
            let message = "array subscript must have type integer";
            Error::new(SqlState::DATATYPE_MISMATCH, message).at(position)
        })
    }

    /// jsonb takes names and numbers, as a path does.
    fn jsonb_access(
        &mut self,
        whole: Typed,
        subscripts: &[&Subscript],
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let mut steps = vec![];
        for subscript in subscripts {
            let Subscript::Index { index } = subscript else {
                let message = "jsonb subscript does not support slices";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            };
            let position = self.expr_position(index);
            let bound = self.expr(index, cx)?;
            let is_coercible = |to| functions::is_coercible(bound.scalar(self), to);
            let text = ColumnType::nullable(ScalarType::Text);
            let step = match bound.scalar(self) {
                None => self.give_type(bound, text)?,
                Some(from) => match (is_coercible(ScalarType::Int4), is_coercible(text.scalar)) {
                    (true, false) => {
                        let number = ColumnType::nullable(ScalarType::Int4);
                        let number = self.convert(bound, number, position)?;
                        self.convert(number.into(), text, position)?
                    }
                    (false, true) => self.convert(bound, text, position)?,
                    _ => {
                        let message =
                            format!("subscript type {} is not supported", from.display_name());
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                            .with_hint(
                                "jsonb subscript must be coercible to either integer or text.",
                            )
                            .at(position));
                    }
                },
            };
            steps.push(step);
        }
        let guard = null_guard(&whole, &steps);
        let args = std::iter::once(whole).chain(steps).map(Bound::from).collect();
        Ok(guarded(guard, self.function("jsonb_extract_path", args, None)?))
    }

    /// `op ANY (…)` and `op ALL (…)` of an array or a subquery.
    pub fn any_of(
        &mut self,
        whole: &ast::Expr,
        operand: &ast::Expr,
        symbol: &str,
        right: &ast::Expr,
        every: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let mut list = right;
        while let ast::Expr::Nested(inner) = list {
            list = inner;
        }
        if let ast::Expr::Subquery(query) = list {
            return self.quantified(whole, operand, symbol, query, every, cx).map(Bound::from);
        }
        let position = self.expr_position(operand);
        let left = self.expr(operand, cx)?;
        let right_position = self.expr_position(right);
        let right = self.expr(right, cx)?;
        let item = match right.scalar(self) {
            None => None,
            Some(ScalarType::Array(element)) => Some(element.scalar()),
            Some(_) => {
                let message = "op ANY/ALL (array) requires array on right side";
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
            }
        };
        let left_type = Some(left.scalar(self));
        let resolved = functions::resolve_operator(symbol, left_type, item)
            .map_err(|e| e.of_operator(symbol, left_type, item).at(position))?;
        if resolved.func.ret != ScalarType::Bool {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        }
        let array_type = resolved.types[1].array().ok_or_else(|| {
            let message = format!(
                "could not find array type for data type {}",
                resolved.types[1].display_name()
            );
            Error::new(SqlState::UNDEFINED_OBJECT, message).at(position)
        })?;
        let left = self.give_type(left, ColumnType::nullable(resolved.types[0]))?;
        let left = converted(left, resolved.types[0]);
        let right = self.give_type(right, ColumnType::nullable(array_type))?;
        let items = written_out(&right.expr).filter(|items| {
            let fallible = |expr: &Expr| expr.is_fallible() || apply::has_subquery(expr);
            !resolved.func.fallible && !items.iter().any(fallible) && !fallible(&left.expr)
        });
        if let Some(items) = items {
            let item_type = right.ty.scalar.element().unwrap_or(resolved.types[1]);
            let mut parts = vec![];
            for item in items {
                let item = Typed { expr: item.clone(), ty: ColumnType::nullable(item_type) };
                let item = converted(item, resolved.types[1]);
                let nullable = left.ty.nullable || item.ty.nullable || resolved.func.nullable;
                let expr = Expr::call(resolved.func, vec![left.expr.clone(), item.expr]);
                let ty = ColumnType { nullable, ..ColumnType::nullable(ScalarType::Bool) };
                parts.push(Typed { expr, ty });
            }
            return Ok(if every { operator::all(parts) } else { operator::any(parts) }.into());
        }
        let right = converted(right, array_type);
        let func = polymorphic::quantified(resolved.func.0, every).ok_or_else(|| {
            Error::internal("an operator that ANY cannot be applied to").at(right_position)
        })?;
        let ty = ColumnType::nullable(ScalarType::Bool);
        Ok(Typed { expr: Expr::call(Func(func), vec![left.expr, right.expr]), ty }.into())
    }
}

fn subscript_of(access: &AccessExpr) -> Option<&Subscript> {
    match access {
        AccessExpr::Subscript(subscript) => Some(subscript),
        AccessExpr::Dot(_) => None,
    }
}

/// A value converted without being asked to, where its type is another.
fn converted(value: Typed, to: ScalarType) -> Typed {
    if value.ty.scalar == to {
        return value;
    }
    match Cast::find(value.ty.scalar, to) {
        Some(cast) => {
            let nullable = value.ty.nullable || cast.nullable;
            let ty = ColumnType { nullable, ..ColumnType::nullable(to) };
            Typed { expr: value.expr.cast(cast, ty, false), ty }
        }
        None => value,
    }
}

/// The elements of an array that is written out, if they are few.
fn written_out(array: &Expr) -> Option<&[Expr]> {
    match array {
        Expr::Call { func, args } if args.len() <= WRITTEN_OUT_MAX => {
            let element = func.ret.element()?.as_element()?;
            (instance(arrays::CONSTRUCTOR, element) == Some(*func)).then_some(args)
        }
        _ => None,
    }
}
