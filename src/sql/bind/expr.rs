//! Scalar expressions.
//!
//! This file is the table of what there is; [`super::operator`], [`super::special`] and
//! [`super::call`] do the work.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::repr::{ColumnType, GlobalId, ScalarType};
use crate::sql::bind::aggregate::Calls;
use crate::sql::bind::array;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;
use crate::sql::bind::operator;
use crate::sql::bind::record;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::Scope;
use crate::sql::bind::types;
use crate::sql::bind::user_type::Named;

/// Where an expression stands, which decides what it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// The select list.
    Select,
    /// DISTINCT ON.
    DistinctOn,
    /// WHERE.
    Where,
    /// JOIN … ON.
    Join,
    /// A function in FROM itself.
    FromCall,
    /// An argument of a function in FROM.
    From,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// ORDER BY.
    OrderBy,
    /// LIMIT.
    Limit,
    /// OFFSET.
    Offset,
    /// VALUES.
    Values,
    /// The argument of an aggregate.
    Aggregate,
    /// FILTER.
    Filter,
    /// The definition of a window.
    Window,
    /// The argument of a call over a window.
    WindowArgument,
    /// An offset of ROWS.
    FrameRows,
    /// An offset of RANGE.
    FrameRange,
    /// An offset of GROUPS.
    FrameGroups,
    /// QUALIFY.
    Qualify,
    /// RETURNING.
    Returning,
    /// UPDATE … SET.
    Update,
    /// MERGE … WHEN.
    MergeWhen,
    /// A column's default.
    Default,
    /// The condition of a domain.
    Check,
    /// The key of an index.
    Index,
    /// AS OF and UP TO.
    Time,
    /// EXECUTE.
    Execute,
}

impl Clause {
    /// How messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Clause::Select => "SELECT",
            Clause::DistinctOn => "DISTINCT ON",
            Clause::Where => "WHERE",
            Clause::Join => "JOIN conditions",
            Clause::FromCall | Clause::From => "functions in FROM",
            Clause::GroupBy => "GROUP BY",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Limit => "LIMIT",
            Clause::Offset => "OFFSET",
            Clause::Values => "VALUES",
            Clause::Aggregate => "aggregate arguments",
            Clause::Filter => "FILTER",
            Clause::Window => "window definitions",
            Clause::WindowArgument => "window function arguments",
            Clause::FrameRows => "window ROWS",
            Clause::FrameRange => "window RANGE",
            Clause::FrameGroups => "window GROUPS",
            Clause::Qualify => "QUALIFY",
            Clause::Returning => "RETURNING",
            Clause::Update => "UPDATE",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Default => "DEFAULT expressions",
            Clause::Check => "check constraints",
            Clause::Index => "index expressions",
            Clause::Time => "AS OF",
            Clause::Execute => "EXECUTE parameters",
        }
    }
}

/// What an expression is bound in.
pub struct ExprContext<'s> {
    /// The names.
    pub scope: &'s Scope,
    /// The place.
    pub clause: Clause,
    /// Where aggregates and windows are gathered; none where there may be none.
    pub calls: Option<&'s mut Calls>,
}

impl<'s> ExprContext<'s> {
    /// A place where there may be no aggregates.
    pub fn plain(scope: &'s Scope, clause: Clause) -> ExprContext<'s> {
        ExprContext { scope, clause, calls: None }
    }

    /// How many calls that return rows were seen.
    pub fn sets(&self) -> usize {
        self.calls.as_ref().map_or(0, |calls| calls.sets_seen)
    }
}

impl Binder<'_, '_> {
    /// Where an expression begins. Walks down its left side without recursion, since this is asked
    /// of expressions of any depth.
    pub fn expr_position(&self, expr: &ast::Expr) -> Option<u32> {
        use ast::Expr::*;
        let mut leftmost = expr;
        loop {
            leftmost = match leftmost {
                BinaryOp { left, .. } | AnyOp { left, .. } | AllOp { left, .. } => left,
                IsNull(e) | IsNotNull(e) | IsTrue(e) | IsNotTrue(e) | IsFalse(e)
                | IsNotFalse(e) | IsUnknown(e) | IsNotUnknown(e) | Nested(e) => e,
                IsDistinctFrom(e, _) | IsNotDistinctFrom(e, _) => e,
                Between { expr, .. }
                | In { expr, .. }
                | Like { expr, .. }
                | ILike { expr, .. }
                | SimilarTo { expr, .. }
                | Collate { expr, .. }
                | UnaryOp { expr, .. }
                | Cast { expr, .. } => expr,
                AtTimeZone { timestamp, .. } => timestamp,
                CompoundFieldAccess { root, .. } => root,
                Case { case_token, .. } => return self.position(case_token.0.span),
                Function(function) => return self.position(function.name.span()),
                other => return self.position(other.span()),
            };
        }
    }

    /// An expression.
    pub fn expr(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Bound> {
        self.clause = cx.clause;
        let bound = self.deeper(|binder| binder.expr_here(expr, cx));
        self.clause = cx.clause;
        bound
    }

    /// An expression with a type; text where nothing gives it one.
    pub fn typed_expr(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Typed> {
        let bound = self.expr(expr, cx)?;
        self.settle(bound)
    }

    /// A condition.
    pub fn predicate(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Typed> {
        let bound = self.expr(expr, cx)?;
        let clause = match cx.clause {
            Clause::Join => "JOIN/ON",
            clause => clause.name(),
        };
        self.condition(bound, clause, self.expr_position(expr))
    }

    fn expr_here(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Bound> {
        use ast::Expr::*;
        match expr {
            Identifier(ident) => self.column(ident, cx),
            CompoundIdentifier(parts) => self.qualified_column(parts, cx),
            Value(value) => self.value(value),
            Nested(inner) => self.expr(inner, cx),
            UnaryOp { op, expr: operand } => self.unary(op, operand, cx),
            BinaryOp { left, op, right } => self.binary(left, op, right, cx),
            IsNull(e) => self.is_null(e, false, cx),
            IsNotNull(e) => self.is_null(e, true, cx),
            IsTrue(e) => self.is_truth(e, "IS TRUE", false, false, cx),
            IsNotTrue(e) => self.is_truth(e, "IS NOT TRUE", false, true, cx),
            IsFalse(e) => self.is_truth(e, "IS FALSE", true, true, cx),
            IsNotFalse(e) => self.is_truth(e, "IS NOT FALSE", true, false, cx),
            IsUnknown(e) => self.is_unknown(e, "IS UNKNOWN", false, cx),
            IsNotUnknown(e) => self.is_unknown(e, "IS NOT UNKNOWN", true, cx),
            IsDistinctFrom(a, b) => self.distinct_from(a, b, false, cx),
            IsNotDistinctFrom(a, b) => self.distinct_from(a, b, true, cx),
            In { expr: e, target: ast::InTarget::List(list), negated, .. } => {
                self.in_list(e, list, *negated, cx)
            }
            In { expr: e, target: ast::InTarget::Subquery(query), negated, .. } => {
                let found = self.quantified(expr, e, "=", query, false, cx)?;
                Ok(if *negated { operator::not(found) } else { found }.into())
            }
            Exists { subquery, negated } => self.exists(expr, subquery, *negated, cx),
            Subquery(query) => self.scalar_subquery(expr, query, cx),
            Between { expr: e, negated, low, high } => self.between(e, *negated, low, high, cx),
            Like { negated, any, expr: e, pattern, escape_char } => {
                let symbol = if *negated { "!~~" } else { "~~" };
                self.like(expr, e, symbol, *any, pattern, escape_char.as_deref(), cx)
            }
            ILike { negated, any, expr: e, pattern, escape_char } => {
                let symbol = if *negated { "!~~*" } else { "~~*" };
                self.like(expr, e, symbol, *any, pattern, escape_char.as_deref(), cx)
            }
            SimilarTo { negated, expr: e, pattern, escape_char } => {
                self.similar(e, *negated, pattern, escape_char.as_deref(), cx)
            }
            AnyOp { left, compare_op, right, .. } => {
                self.any_of(expr, left, &operator::symbol(compare_op), right, false, cx)
            }
            AllOp { left, compare_op, right } => {
                self.any_of(expr, left, &operator::symbol(compare_op), right, true, cx)
            }
            Cast { kind, expr: e, data_type, format: None } => {
                self.cast(kind, e, data_type, expr, cx)
            }
            TypedString(typed) => self.typed_string(typed),
            Interval(interval) => self.interval(interval, cx),
            AtTimeZone { timestamp, time_zone } => {
                self.function_of("timezone", &[&**time_zone, &**timestamp], expr, cx)
            }
            Extract { field, expr: e, .. } => self.extract(field, e, expr, cx),
            Ceil { expr: e, field } => self.rounded("ceil", e, field, expr, cx),
            Floor { expr: e, field } => self.rounded("floor", e, field, expr, cx),
            Position { expr: e, r#in } => self.function_of("position", &[&**r#in, &**e], expr, cx),
            Substring { expr: e, substring_from, substring_for, shorthand, .. } => {
                let name = if *shorthand { "substr" } else { "substring" };
                let parts = [substring_from.as_deref(), substring_for.as_deref()];
                self.substring(name, e, parts, expr, cx)
            }
            Trim { .. } => self.trim(expr, cx),
            Overlay { expr: e, overlay_what, overlay_from, overlay_for } => {
                let mut args = vec![&**e, &**overlay_what, &**overlay_from];
                args.extend(overlay_for.as_deref());
                self.function_of("overlay", &args, expr, cx)
            }
            Collate { expr: e, collation } => self.collate(e, collation, cx),
            Tuple(_) => self.written_row(expr, cx),
            Function(function) => match record::items(expr) {
                Some(_) => self.written_row(expr, cx),
                None => self.function_call(function, cx),
            },
            Array(array) => self.array(array, None, self.expr_position(expr), cx).map(Bound::from),
            CompoundFieldAccess { root, access_chain } => self.field_access(root, access_chain, cx),
            Case { operand, conditions, else_result, .. } => {
                let before = cx.sets();
                let case =
                    self.case(operand.as_deref(), conditions, else_result.as_deref(), expr, cx)?;
                self.refuse_sets_since(before, "CASE", cx)?;
                Ok(case)
            }
            other => Err(unsupported(other).at(self.expr_position(other))),
        }
    }

    fn written_row(&mut self, expr: &ast::Expr, cx: &mut ExprContext<'_>) -> Result<Bound> {
        let items = record::items(expr).unwrap_or_default();
        let position = self.expr_position(expr);
        self.row(&items, cx).map(Bound::from).map_err(|e| e.at(position))
    }

    /// A column by its name alone.
    fn column(&mut self, ident: &ast::Ident, cx: &mut ExprContext<'_>) -> Result<Bound> {
        let name = name::ident(ident);
        let position = self.position(ident.span);
        match cx.scope.find(&name).map_err(|e| e.at(position))? {
            Some(column) => Ok(self.used(column, position, cx)),
            None => {
                if let Some(outer) = self
                    .outer_column(position, |scope| scope.find(&name))
                    .map_err(|e| e.at(position))?
                {
                    return Ok(outer.into());
                }
                if ident.quote_style.is_none()
                    && let Some(constant) = self.session_word(&name, position)?
                {
                    return Ok(constant);
                }
                if let Some(row) = self.whole_row(&name, position, cx)? {
                    return Ok(row.into());
                }
                Err(cx.scope.missing_column(&name).at(position))
            }
        }
    }

    /// A column by a name with dots.
    fn qualified_column(
        &mut self,
        parts: &[ast::Ident],
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let names: Vec<String> = parts.iter().map(name::ident).collect();
        let position = parts.first().and_then(|part| self.position(part.span));
        let (schema, table, column) = match names.as_slice() {
            [table, column] => (None, table, column),
            [schema, table, column] => (Some(schema.as_str()), table, column),
            [database, schema, table, column] if *database == self.cx.database => {
                (Some(schema.as_str()), table, column)
            }
            _ => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("improper qualified name (too many dotted names): {}", names.join(".")),
                )
                .at(position));
            }
        };
        if cx.scope.table(schema, table).is_none() {
            let found = self.outer_column(position, |scope| match scope.table(schema, table) {
                Some(_) => scope.find_qualified(schema, table, column).map(Some),
                None => Ok(None),
            });
            if let Some(outer) = found.map_err(|e| e.at(position))? {
                return Ok(outer.into());
            }
            if self.is_hidden_table(schema, table) {
                return Err(self.hidden_table(table).at(position));
            }
        }
        let column = cx.scope.find_qualified(schema, table, column).map_err(|e| e.at(position))?;
        Ok(self.used(column, position, cx))
    }

    /// Notes where a column was used, for messages about grouping.
    fn used(&mut self, column: Typed, position: Option<u32>, cx: &mut ExprContext<'_>) -> Bound {
        self.noted(column, position, cx).into()
    }

    /// As [`Binder::used`].
    pub fn noted(
        &mut self,
        column: Typed,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Typed {
        if let (Some(calls), crate::expr::scalar::Expr::Column(index)) =
            (&mut cx.calls, &column.expr)
        {
            calls.note_use(*index, position);
        }
        column
    }

    fn cast(
        &mut self,
        kind: &ast::CastKind,
        inner: &ast::Expr,
        data_type: &ast::DataType,
        whole: &ast::Expr,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.expr_position(whole);
        if !matches!(kind, ast::CastKind::Cast | ast::CastKind::DoubleColon) {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in a cast").at(position));
        }
        let Named { ty, domain } = self.named_type(data_type).map_err(|e| e.at(position))?;
        // An array that is written out gets its elements' type from the conversion.
        if let (ScalarType::Array(_), Some(array)) = (ty.scalar, array::literal(inner)) {
            let array = self.array(array, Some(ty), position, cx)?;
            return self.belonging(array, domain).map(Bound::from);
        }
        let bound = self.expr(inner, cx)?;
        let mut converted = self.convert(bound, ty, position)?;
        // A conversion to a type without a modifier takes the value's own away.
        converted.ty.typmod = ty.typmod;
        self.belonging(converted, domain).map(Bound::from)
    }

    /// A value that was converted, as one of the domain that was named.
    fn belonging(&mut self, value: Typed, domain: Option<GlobalId>) -> Result<Typed> {
        match domain {
            Some(domain) => self.constrained(value, domain),
            None => Ok(value),
        }
    }

    /// `date '2020-01-01'`.
    fn typed_string(&mut self, typed: &ast::TypedString) -> Result<Bound> {
        let position = self.position(typed.value.span);
        let Named { ty, domain } = self.named_type(&typed.data_type).map_err(|e| e.at(position))?;
        let bound = self.value(&typed.value)?;
        match bound {
            Bound::Unknown { text: Some(_), .. } => {
                let converted = self.convert(bound, ty, position)?;
                self.belonging(converted, domain).map(Bound::from)
            }
            _ => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("syntax error at or near \"{}\"", typed.value),
            )
            .at(position)),
        }
    }

    /// `INTERVAL '1' DAY`.
    fn interval(&mut self, interval: &ast::Interval, cx: &mut ExprContext<'_>) -> Result<Bound> {
        let position = self.expr_position(&interval.value);
        let ty: ColumnType = types::interval_literal(interval).map_err(|e| e.at(position))?;
        let bound = self.expr(&interval.value, cx)?;
        match bound {
            Bound::Unknown { text: Some(_), .. } => {
                self.convert(bound, ty, position).map(Bound::from)
            }
            _ => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("syntax error at or near \"{}\"", interval.value),
            )
            .at(position)),
        }
    }
}

/// What is not an expression of ours yet.
fn unsupported(expr: &ast::Expr) -> Error {
    use ast::Expr::*;
    match expr {
        In { .. } => Error::unsupported("IN with this operand", "Write (SELECT …) or a list."),
        other => {
            let mut text = other.to_string();
            if text.chars().count() > 40 {
                text = text.chars().take(40).chain(['…']).collect();
            }
            Error::unsupported(format!("the expression {text}"), "Write it another way.")
        }
    }
}
