//! Subqueries in expressions: scalar ones, EXISTS, IN, and comparisons with ANY and ALL.
//!
//! A subquery is bound inside the scope of its expression, and stands in it as
//! [`Expr::Subquery`] over what it takes from there until [`super::apply`] computes it. Subqueries
//! that are written alike in one query are one.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::operator;
use crate::sql::bind::query::Query;
use crate::sql::bind::record;
use crate::sql::bind::relation::{Plan, Typed};

/// A bound subquery.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// What is asked of it.
    pub kind: Kind,
    /// Its rows; what it takes from outside is [`Expr::Outer`].
    pub plan: Plan,
    /// The level of the query around it.
    pub level: usize,
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The columns of its only row, NULLs where there is none.
    Scalar {
        /// Whether there always is one.
        one_row: bool,
    },
    /// Whether there is a row.
    Exists,
    /// Whether a comparison holds for any of its rows, or for all.
    Quantified(Quantified),
}

/// A comparison with the rows of a subquery.
#[derive(Clone, Debug)]
pub struct Quantified {
    /// Comparisons that must all hold, over the subquery's columns and the arguments.
    pub comparisons: Vec<Expr>,
    /// Whether it must hold for every row.
    pub every: bool,
    /// The columns that may be NULL, which makes it unknown: tests of the subquery's.
    pub inner_nulls: Vec<Expr>,
    /// And of the arguments.
    pub outer_nulls: Vec<Expr>,
}

impl Subquery {
    /// Whether asking it can fail.
    pub fn can_fail(&self) -> bool {
        let mut fails = matches!(self.kind, Kind::Scalar { one_row: false });
        self.plan.relation.visit(&mut |node| {
            fails = fails || node.own_fails();
        });
        fails
    }
}

/// A subquery as it was written, for finding it again.
pub struct Written {
    /// The query that it stands in.
    query: u64,
    /// The expression.
    expr: ast::Expr,
    /// What that is.
    bound: Typed,
}

impl Binder<'_, '_> {
    /// `(SELECT …)` as a value.
    pub fn scalar_subquery(
        &mut self,
        whole: &ast::Expr,
        query: &ast::Query,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let columns = self.subquery_columns(whole, query, cx)?;
        match <[Typed; 1]>::try_from(columns) {
            Ok([column]) => Ok(column.into()),
            Err(_) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column")
                    .at(self.expr_position(whole)))
            }
        }
    }

    /// The columns of a subquery's only row.
    pub fn subquery_columns(
        &mut self,
        whole: &ast::Expr,
        query: &ast::Query,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<Typed>> {
        let level = self.levels.len();
        let (query, args) = self.asked(whole, query, cx)?;
        let Query { plan, columns, one_row, .. } = query;
        let kind = Kind::Scalar { one_row };
        let types = columns.iter().map(|column| ColumnType { nullable: true, ..column.ty });
        let types: Vec<_> = types.collect();
        let id = self.add_subquery(Subquery { kind, plan, level });
        let args: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        let column = |(output, ty)| {
            let expr = Expr::Subquery { id, args: args.clone(), output, ty };
            self.as_before(Typed { expr, ty }, whole, output, cx.clause)
        };
        Ok(types.into_iter().enumerate().map(column).collect())
    }

    /// `EXISTS (SELECT …)`.
    pub fn exists(
        &mut self,
        whole: &ast::Expr,
        query: &ast::Query,
        negated: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let level = self.levels.len();
        let (Query { plan, .. }, args) = self.asked(whole, query, cx)?;
        let id = self.add_subquery(Subquery { kind: Kind::Exists, plan, level });
        let args = args.into_iter().map(|arg| arg.expr).collect();
        let ty = ColumnType::not_null(ScalarType::Bool);
        let exists = Typed { expr: Expr::Subquery { id, args, output: 0, ty }, ty };
        let exists = self.as_before(exists, whole, 0, cx.clause);
        Ok(if negated { operator::not(exists) } else { exists }.into())
    }

    /// `left op ANY (SELECT …)`, or ALL; IN is `= ANY`.
    pub fn quantified(
        &mut self,
        whole: &ast::Expr,
        left: &ast::Expr,
        symbol: &str,
        query: &ast::Query,
        every: bool,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let position = self.expr_position(whole);
        let level = self.levels.len();
        let left = record::values(left).unwrap_or_else(|| vec![left]);
        let left = left.iter().map(|item| self.expr(item, cx)).collect::<Result<Vec<_>>>()?;
        let (Query { plan, columns, .. }, args) = self.asked(whole, query, cx)?;
        if columns.len() != left.len() {
            let many = if columns.len() > left.len() { "many" } else { "few" };
            let message = format!("subquery has too {many} columns");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let from_outside: Vec<Expr> = args.into_iter().map(|arg| arg.expr).collect();
        let mut args = from_outside.clone();
        let (mut pairs, mut inner_nulls, mut outer_nulls) = (vec![], vec![], vec![]);
        for (index, (left, column)) in left.into_iter().zip(&columns).enumerate() {
            // What has no type takes that of the column.
            let left = match left.scalar(self) {
                None => self.give_type(left, ColumnType::nullable(column.ty.scalar))?,
                Some(_) => self.settle(left)?,
            };
            let left = match left.expr.is_fallible() && !left.expr.is_constant() {
                true => self.where_asked(left, &plan, level, &from_outside),
                false => left,
            };
            let ty = left.ty;
            let asked = match left.expr.is_constant() {
                true => left.expr,
                false => {
                    args.push(left.expr);
                    Expr::Outer { level, index: args.len() - 1, ty }
                }
            };
            if ty.nullable {
                outer_nulls.push(asked.clone().is_null());
            }
            if column.ty.nullable {
                inner_nulls.push(Expr::Column(index).is_null());
            }
            let right = Typed::column(index, column.ty);
            pairs.push((Typed { expr: asked, ty }.into(), right.into(), position));
        }
        let compared = self.compared_rows(&pairs, symbol)?;
        let nullable = !inner_nulls.is_empty() || !outer_nulls.is_empty();
        let comparisons = compared.expr.into_conjuncts();
        let quantified = Quantified { comparisons, every, inner_nulls, outer_nulls };
        let kind = Kind::Quantified(quantified);
        let id = self.add_subquery(Subquery { kind, plan, level });
        let ty = ColumnType { nullable, ..ColumnType::nullable(ScalarType::Bool) };
        let asked = Typed { expr: Expr::Subquery { id, args, output: 0, ty }, ty };
        Ok(self.as_before(asked, whole, 0, cx.clause))
    }

    /// A value that can fail, computed only where a subquery has a row to compare it with.
    fn where_asked(&mut self, left: Typed, plan: &Plan, level: usize, args: &[Expr]) -> Typed {
        let id = self.add_subquery(Subquery { kind: Kind::Exists, plan: plan.clone(), level });
        let boolean = ColumnType::not_null(ScalarType::Bool);
        let exists = Expr::Subquery { id, args: args.to_vec(), output: 0, ty: boolean };
        let ty = ColumnType { nullable: true, ..left.ty };
        let otherwise = Box::new(Expr::null(ty));
        Typed { expr: Expr::Case { branches: vec![(exists, left.expr)], otherwise }, ty }
    }

    /// Binds a subquery of an expression; also what it takes from outside.
    fn asked(
        &mut self,
        whole: &ast::Expr,
        query: &ast::Query,
        cx: &mut ExprContext<'_>,
    ) -> Result<(Query, Vec<Typed>)> {
        let position = self.expr_position(whole);
        allowed(cx.clause).map_err(|e| e.at(position))?;
        let (query, taken) = self.in_context(Some("a subquery"), |binder| {
            binder.inside(cx.scope, |binder| binder.rows_of(query))
        })?;
        let level = self.levels.len();
        let used = |index: usize| {
            let mut found = false;
            query.plan.relation.visit(&mut |node| {
                let takes = |expr: &&Expr| {
                    expr.any(&mut |e| {
                        matches!(e, Expr::Outer { level: l, index: i, .. }
                            if *l == level && *i == index)
                    })
                };
                found = found || node.own_exprs().iter().any(takes);
            });
            found
        };
        let args = self.settle_taken(taken, used, position, cx)?;
        Ok((query, args))
    }

    pub(super) fn add_subquery(&mut self, subquery: Subquery) -> usize {
        self.subqueries.push(subquery);
        self.subqueries.len() - 1
    }

    /// The value of the same expression where it was written before in this query.
    pub(super) fn as_before(
        &mut self,
        bound: Typed,
        whole: &ast::Expr,
        output: usize,
        clause: Clause,
    ) -> Typed {
        // The conditions of joins are over rows of their own.
        if clause == Clause::Join {
            return bound;
        }
        let query = self.query_number;
        let is_same = |written: &&Written| {
            let Expr::Subquery { output: o, .. } = &written.bound.expr else { return false };
            written.query == query && *o == output && written.expr == *whole
        };
        if let Some(written) = self.written.iter().find(is_same) {
            return written.bound.clone();
        }
        self.written.push(Written { query, expr: whole.clone(), bound: bound.clone() });
        bound
    }
}

/// Refuses subqueries in the clauses that are computed without reading anything.
pub(super) fn allowed(clause: Clause) -> Result<()> {
    let place = match clause {
        Clause::Default => "DEFAULT expression",
        Clause::Check => "check constraint",
        Clause::Index => "index expression",
        Clause::Execute => "EXECUTE parameter",
        Clause::Limit | Clause::Offset | Clause::Time | Clause::Returning => {
            return Err(Error::unsupported(
                format!("a subquery in {}", clause.name()),
                "Ask it first, and write its answer.",
            ));
        }
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("cannot use subquery in {place}")))
}
