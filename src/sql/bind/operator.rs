//! Operators, and the predicates that are made of them.

use sqlparser::ast;
use sqlparser::ast::{BinaryOperator, UnaryOperator};

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::array::{self, AllOf};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::record;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::sets::refuse_set_argument;
use crate::sql::parse::between::SYMMETRIC;

/// The power `operand` with the sign on its base; none where it is no power.
fn signed_base(op: &UnaryOperator, operand: &ast::Expr) -> Option<ast::Expr> {
    let ast::Expr::BinaryOp { left, op: BinaryOperator::PGExp, right } = operand else {
        return None;
    };
    let base =
        signed_base(op, left).unwrap_or_else(|| ast::Expr::UnaryOp { op: *op, expr: left.clone() });
    let (left, right) = (Box::new(base), right.clone());
    Some(ast::Expr::BinaryOp { left, op: BinaryOperator::PGExp, right })
}

/// A junction or a test of booleans: a boolean that is NULL where an operand may be.
fn boolean(expr: Expr, nullable: bool) -> Typed {
    Typed { expr, ty: ColumnType { nullable, ..ColumnType::nullable(ScalarType::Bool) } }
}

/// The negation.
pub fn not(typed: Typed) -> Typed {
    boolean(typed.expr.not(), typed.ty.nullable)
}

/// The conjunction.
pub fn all(parts: Vec<Typed>) -> Typed {
    let nullable = parts.iter().any(|part| part.ty.nullable);
    boolean(Expr::and(parts.into_iter().map(|part| part.expr).collect()), nullable)
}

/// The disjunction.
pub fn any(parts: Vec<Typed>) -> Typed {
    let nullable = parts.iter().any(|part| part.ty.nullable);
    boolean(Expr::or(parts.into_iter().map(|part| part.expr).collect()), nullable)
}

impl Binder<'_, '_> {
    /// A prefix operator.
    pub fn unary(
        &mut self,
        op: &UnaryOperator,
        operand: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(operand);
        // The sign belongs to the number, so that -2147483648 is an integer.
        if let (UnaryOperator::Minus, ast::Expr::Value(value)) = (op, operand)
            && let ast::Value::Number(digits, _) = &value.value
        {
            return self.number(&format!("-{digits}"), position).map(Bound::from);
        }
        // A sign binds tighter than a power: -2 ^ 2 is 4.
        if let (UnaryOperator::Minus | UnaryOperator::Plus, Some(signed)) =
            (op, signed_base(op, operand))
        {
            return self.expr(&signed, cx);
        }
        let before = cx.sets();
        let bound = self.expr(operand, cx)?;
        if *op == UnaryOperator::Not {
            refuse_set_argument(before, "NOT", cx).map_err(|e| e.at(position))?;
            return Ok(not(self.condition(bound, "NOT", position)?).into());
        }
        self.operator(&op.to_string(), None, bound, position).map(Bound::from)
    }

    /// An infix operator.
    pub fn binary(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        match op {
            BinaryOperator::And | BinaryOperator::Or => self.junction(left, op, right, cx),
            BinaryOperator::Overlaps => self.overlaps(left, right, cx),
            _ => {
                let symbol = symbol(op);
                let is_comparison = matches!(&*symbol, "=" | "<>" | "!=" | "<" | "<=" | ">" | ">=");
                let row = record::values(left).filter(|_| is_comparison);
                if let (Some(a), Some(b)) = (&row, record::values(right)) {
                    return self.rows(a, &symbol, &b, cx).map(Bound::from);
                }
                if let (Some(row), ast::Expr::Subquery(query)) = (&row, right) {
                    return self.row_and_subquery(row, &symbol, right, query, cx).map(Bound::from);
                }
                let (l, r) = (self.expr(left, cx)?, self.expr(right, cx)?);
                let call = self.operator(&symbol, Some(l), r, None);
                call.map(Bound::from)
                    .map_err(|e| e.at(self.operator_position(left, &symbol, right)))
            }
        }
    }

    /// `(start, end) OVERLAPS (start, end)`; an end may be a length.
    fn overlaps(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let mut ends = vec![];
        for (side, name) in [(left, "left"), (right, "right")] {
            let period = match side {
                ast::Expr::Tuple(period) => period.as_slice(),
                other => std::slice::from_ref(other),
            };
            if period.len() != 2 {
                let message =
                    format!("wrong number of parameters on {name} side of OVERLAPS expression");
                let error = Error::new(SqlState::SYNTAX_ERROR, message);
                return Err(error.at(self.expr_position(side)));
            }
            for end in period {
                ends.push(self.expr(end, cx)?);
            }
        }
        self.function("overlaps", ends, self.expr_position(left)).map(Bound::from)
    }

    /// Where an operator stands between its operands; where the left one begins, if it cannot be
    /// told.
    fn operator_position(&self, left: &ast::Expr, symbol: &str, right: &ast::Expr) -> Option<u32> {
        let found = self.expr_position(right).and_then(|p| self.lines.just_before(p, symbol));
        found.or_else(|| self.expr_position(left))
    }

    /// A chain of AND, or of OR: flat, however long it is.
    fn junction(
        &mut self,
        left: &ast::Expr,
        op: &BinaryOperator,
        right: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let mut operands = vec![right];
        let mut rest = left;
        while let ast::Expr::BinaryOp { left, op: inner, right } = rest {
            if inner != op {
                break;
            }
            operands.push(right);
            rest = left;
        }
        operands.push(rest);
        let word = if *op == BinaryOperator::And { "AND" } else { "OR" };
        let mut parts = vec![];
        for operand in operands.into_iter().rev() {
            let before = cx.sets();
            let bound = self.expr(operand, cx)?;
            let position = self.expr_position(operand);
            refuse_set_argument(before, word, cx).map_err(|e| e.at(position))?;
            parts.push(self.condition(bound, word, position)?);
        }
        Ok(if *op == BinaryOperator::And { all(parts) } else { any(parts) }.into())
    }

    /// `(a, b) = (c, d)` and the other comparisons, column by column.
    fn rows(
        &mut self,
        left: &[&ast::Expr],
        symbol: &str,
        right: &[&ast::Expr],
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        if left.len() != right.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "unequal number of entries in row expressions",
            )
            .at(left.first().and_then(|e| self.expr_position(e))));
        }
        let mut pairs = vec![];
        for (a, b) in left.iter().zip(right) {
            let position = self.expr_position(a);
            pairs.push((self.expr(a, cx)?, self.expr(b, cx)?, position));
        }
        self.compared_rows(&pairs, symbol)
    }

    /// `(a, b) = (SELECT …)`.
    fn row_and_subquery(
        &mut self,
        row: &[&ast::Expr],
        symbol: &str,
        right: &ast::Expr,
        query: &ast::Query,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let position = self.expr_position(right);
        let left = row.iter().map(|item| self.expr(item, cx)).collect::<Result<Vec<_>>>()?;
        let columns = self.subquery_columns(right, query, cx)?;
        if columns.len() != left.len() {
            let many = if columns.len() > left.len() { "many" } else { "few" };
            let message = format!("subquery has too {many} columns");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let pairs = left.into_iter().zip(columns).map(|(l, r)| (l, r.into(), position));
        self.compared_rows(&pairs.collect::<Vec<_>>(), symbol)
    }

    /// The comparison of two rows, given column by column.
    pub fn compared_rows(
        &mut self,
        pairs: &[(Bound, Bound, Option<u32>)],
        symbol: &str,
    ) -> Result<Typed> {
        if let [(left, right, position)] = pairs {
            return self.operator(symbol, Some(left.clone()), right.clone(), *position);
        }
        let mut compare = |symbol: &str, pair: &(Bound, Bound, Option<u32>)| {
            self.operator(symbol, Some(pair.0.clone()), pair.1.clone(), pair.2)
        };
        match symbol {
            "=" => Ok(all(pairs.iter().map(|p| compare("=", p)).collect::<Result<_>>()?)),
            "<>" => Ok(any(pairs.iter().map(|p| compare("<>", p)).collect::<Result<_>>()?)),
            "<" | "<=" | ">" | ">=" => {
                // a < c OR (a = c AND (b < d OR …)), the last one with the operator itself.
                let strict = &symbol[..1];
                let mut pairs = pairs.iter().rev();
                let Some(last) = pairs.next() else { return Ok(Typed::boolean(true)) };
                let mut result = compare(symbol, last)?;
                for pair in pairs {
                    let equal = compare("=", pair)?;
                    result = any(vec![compare(strict, pair)?, all(vec![equal, result])]);
                }
                Ok(result)
            }
            _ => Err(Error::unsupported(
                format!("operator {symbol} between rows"),
                "Compare the columns one by one.",
            )),
        }
    }

    /// `IS [NOT] NULL`.
    pub fn is_null(
        &mut self,
        operand: &ast::Expr,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let typed = self.typed_expr(operand, cx)?;
        Ok(self.null_test(&typed, negated).into())
    }

    /// `IS [NOT] TRUE` and `IS [NOT] FALSE`: the operand with NULL replaced, perhaps negated.
    pub fn is_truth(
        &mut self,
        operand: &ast::Expr,
        test: &str,
        for_null: bool,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let (before, position) = (cx.sets(), self.expr_position(operand));
        let bound = self.expr(operand, cx)?;
        refuse_set_argument(before, test, cx).map_err(|e| e.at(position))?;
        let typed = self.condition(bound, test, position)?;
        let filled = match typed.ty.nullable {
            true => Expr::Coalesce(vec![typed.expr, Expr::bool(for_null)]),
            false => typed.expr,
        };
        let filled = boolean(filled, false);
        Ok(if negated { not(filled) } else { filled }.into())
    }

    /// `IS [NOT] UNKNOWN`.
    pub fn is_unknown(
        &mut self,
        operand: &ast::Expr,
        test: &str,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let bound = self.expr(operand, cx)?;
        let typed = self.condition(bound, test, self.expr_position(operand))?;
        let is_null = boolean(typed.expr.is_null(), false);
        Ok(if negated { not(is_null) } else { is_null }.into())
    }

    /// `IS [NOT] DISTINCT FROM`.
    pub fn distinct_from(
        &mut self,
        left: &ast::Expr,
        right: &ast::Expr,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(left);
        let left = self.expr(left, cx)?;
        let right = self.expr(right, cx)?;
        let equal = self.operator("=", Some(left.clone()), right.clone(), position)?;
        let left = self.settle(left)?;
        let right = self.settle(right)?;
        let same = if left.ty.nullable || right.ty.nullable {
            // Both sides NULL, or an equality that is not unknown.
            let both = vec![left.expr.is_null(), right.expr.is_null()];
            let known = Expr::Coalesce(vec![equal.expr, Expr::bool(false)]);
            boolean(Expr::or(vec![Expr::and(both), known]), false)
        } else {
            equal
        };
        Ok(if negated { same } else { not(same) }.into())
    }

    /// `IN (a, b, …)`.
    pub fn in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let rows = || list.iter().map(record::values).collect::<Option<Vec<_>>>();
        let rows = record::values(operand).and_then(|left| Some((left, rows()?)));
        let parts = if let Some((left, rows)) = rows {
            let mut parts = vec![];
            for right in rows {
                parts.push(self.rows(&left, "=", &right, cx)?);
            }
            parts
        } else {
            let position = self.expr_position(operand);
            let left = self.expr(operand, cx)?;
            let mut parts = vec![];
            for item in list {
                let right = self.expr(item, cx)?;
                parts.push(self.operator("=", Some(left.clone()), right, position)?);
            }
            parts
        };
        let found = any(parts);
        Ok(if negated { not(found) } else { found }.into())
    }

    /// `BETWEEN low AND high`.
    pub fn between(
        &mut self,
        operand: &ast::Expr,
        negated: bool,
        low: &ast::Expr,
        high: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(operand);
        let symmetric = symmetric_bound(low);
        let operand = self.expr(operand, cx)?;
        let low = self.expr(symmetric.unwrap_or(low), cx)?;
        let high = self.expr(high, cx)?;
        let (from, to) = if negated { ("<", ">") } else { (">=", "<=") };
        let mut within = |low: &Bound, high: &Bound| -> Result<Typed> {
            let from = self.operator(from, Some(operand.clone()), low.clone(), position)?;
            let to = self.operator(to, Some(operand.clone()), high.clone(), position)?;
            Ok(if negated { any(vec![from, to]) } else { all(vec![from, to]) })
        };
        let plain = within(&low, &high)?;
        if symmetric.is_none() {
            return Ok(plain.into());
        }
        let turned = within(&high, &low)?;
        Ok(if negated { all(vec![plain, turned]) } else { any(vec![plain, turned]) }.into())
    }

    /// `LIKE` and `ILIKE`, with one pattern or with `ANY` or `ALL` of several.
    #[allow(clippy::too_many_arguments)] // The parts of the syntax.
    pub fn like(
        &mut self,
        whole: &ast::Expr,
        operand: &ast::Expr,
        symbol: &str,
        any: bool,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        match (any, array::quantified_by_all(pattern)) {
            (false, None) => {}
            _ if escape.is_some() => {
                let message = "syntax error at or near \"ESCAPE\"";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            (true, _) => return self.any_of(whole, operand, symbol, pattern, false, cx),
            (false, Some(AllOf::Array(array))) => {
                return self.any_of(whole, operand, symbol, array, true, cx);
            }
            (false, Some(AllOf::Query(query))) => {
                return self.quantified(whole, operand, symbol, query, true, cx).map(Bound::from);
            }
        }
        let position = self.expr_position(operand);
        let operand = self.expr(operand, cx)?;
        let mut pattern = self.expr(pattern, cx)?;
        if let Some(escape) = escape {
            let escape = self.expr(escape, cx)?;
            pattern = self.function("like_escape", vec![pattern, escape], position)?.into();
        }
        self.operator(symbol, Some(operand), pattern, position).map(Bound::from)
    }

    /// `SIMILAR TO`.
    pub fn similar(
        &mut self,
        operand: &ast::Expr,
        negated: bool,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(operand);
        let operand = self.expr(operand, cx)?;
        let mut args = vec![self.expr(pattern, cx)?];
        if let Some(escape) = escape {
            args.push(self.expr(escape, cx)?);
        }
        let regex = self.function("similar_to_escape", args, position)?;
        let symbol = if negated { "!~" } else { "~" };
        self.operator(symbol, Some(operand), regex.into(), position).map(Bound::from)
    }
}

/// How an operator is spelled in `pg_operator`.
pub fn symbol(op: &BinaryOperator) -> String {
    match op {
        BinaryOperator::PGCustomBinaryOperator(parts) => parts.last().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// The first bound of BETWEEN SYMMETRIC, as the parser has it.
fn symmetric_bound(low: &ast::Expr) -> Option<&ast::Expr> {
    let ast::Expr::Function(function) = low else { return None };
    match (function.name.0.as_slice(), &function.args) {
        ([ast::ObjectNamePart::Identifier(ident)], ast::FunctionArguments::List(list))
            if ident.value == SYMMETRIC =>
        {
            match list.args.as_slice() {
                [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(inner))] => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}
