//! ASOF joins: each row of the left side with the one nearest in time of the right side.
//!
//! ```text
//! a ASOF [LEFT] JOIN b MATCH_CONDITION (a.ts >= b.ts) [ON a.key = b.key]
//! ```
//!
//! Of the rows of `b` for which both conditions hold the nearest one is taken: the last one under
//! `>=` and `>`, the first one under `<=` and `<`. Among several that are equally near the least
//! row is taken. A row of `a` without such a row is left out, or under LEFT stands beside NULLs.
//! So it is `a JOIN LATERAL (SELECT … FROM b WHERE … ORDER BY b.ts DESC LIMIT 1)`, and planned as
//! that.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::ColumnOrder;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::from::{Source, note_nullable};
use crate::sql::bind::join::{JoinKind, Lateral};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::parse::asof::LEFT;

impl Binder<'_, '_> {
    /// An ASOF join of two items of FROM.
    pub fn asof_join(
        &mut self,
        left: Source,
        right: Source,
        matching: &ast::Expr,
        constraint: &ast::JoinConstraint,
    ) -> Result<Source> {
        let position = self.expr_position(matching);
        let (kind, matching) = kind(matching);
        let on = match constraint {
            ast::JoinConstraint::On(condition) => Some(condition),
            ast::JoinConstraint::None => None,
            _ => {
                let what = "USING or NATURAL in an ASOF join";
                return Err(Error::unsupported(what, "Write ON.").at(position));
            }
        };
        let refuse = || {
            let message = "MATCH_CONDITION must compare a time of the left side with one of the \
                           right side by >=, >, <= or <";
            Error::new(SqlState::SYNTAX_ERROR, message).at(position)
        };
        let ast::Expr::BinaryOp { left: a, op, right: b } = bare(matching) else {
            return Err(refuse());
        };
        use ast::BinaryOperator as Op;
        let last = match op {
            Op::GtEq | Op::Gt => true,
            Op::LtEq | Op::Lt => false,
            _ => return Err(refuse()),
        };
        let arity = left.plan.arity();
        let mut scope = left.scope.join(right.scope, arity)?;
        let base = self.from_base;
        let conditions = [Some(matching), on].into_iter().flatten();
        let (predicates, sides) = self.hiding(base, |binder| {
            let mut cx = ExprContext::plain(&scope, Clause::Join);
            let bound = conditions.map(|c| Ok(binder.predicate(c, &mut cx)?.expr));
            let bound: Vec<Expr> = bound.collect::<Result<_>>()?;
            let mut side = |expr| {
                let bound = binder.expr(expr, &mut cx)?;
                binder.settle(bound)
            };
            Ok((bound, [side(a)?, side(b)?]))
        })?;
        let of_left = |side: &Typed| side.expr.columns().iter().all(|column| *column < arity);
        let of_right = |side: &Typed| side.expr.columns().iter().all(|column| *column >= arity);
        let [a, b] = sides;
        // Turned round, the left side's time stands on the right of the operator.
        let (mut time, last) = match () {
            () if !of_right(&a) && of_left(&a) && of_right(&b) && !of_left(&b) => (b, last),
            () if !of_left(&a) && of_right(&a) && of_left(&b) && !of_right(&b) => (a, !last),
            () => return Err(refuse()),
        };
        time.expr.map_columns(|column| column - arity);
        let nearest = (time, last);
        let plan = self.nearest(kind, left.plan, right.plan, predicates, Some(nearest));
        note_nullable(&mut scope, kind, arity, plan.arity() - arity);
        Ok(Source { plan, scope })
    }

    /// Each row of the left side with one row of the right side for which conditions over the
    /// columns of both hold: the one in which an expression over it is greatest (or least).
    pub fn nearest(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        mut conditions: Vec<Expr>,
        by: Option<(Typed, bool)>,
    ) -> Plan {
        let (arity, width, level) = (left.arity(), right.arity(), self.levels.len());
        let used: Vec<usize> = (0..arity)
            .filter(|column| conditions.iter().any(|c| c.columns().contains(column)))
            .collect();
        for condition in &mut conditions {
            condition.visit_mut(&mut |node| match node {
                Expr::Column(column) if *column < arity => {
                    let index = used.partition_point(|other| *other < *column);
                    let ty = left.types[*column];
                    *node = Expr::Outer { level, index, ty };
                }
                Expr::Column(column) => *column -= arity,
                _ => {}
            });
        }
        let args: Vec<Typed> =
            used.iter().map(|column| Typed::column(*column, left.types[*column])).collect();
        let mut one = self.restrict(right, conditions);
        let mut order = vec![];
        if let Some((time, descending)) = by {
            order.push(ColumnOrder { column: width, descending, nulls_first: false });
            one = one.map(vec![time]);
        }
        let one = one.top(vec![], order, Some(1), 0).project((0..width).collect());
        self.lateral_join(kind, left, one, Lateral { level, args }, None)
    }
}

/// The kind of join, which the condition says, and the condition itself.
fn kind(matching: &ast::Expr) -> (JoinKind, &ast::Expr) {
    if let ast::Expr::Function(function) = bare(matching)
        && let [ast::ObjectNamePart::Identifier(ident)] = function.name.0.as_slice()
        && ident.value == LEFT
        && let ast::FunctionArguments::List(list) = &function.args
        && let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(inner))] = list.args.as_slice()
    {
        return (JoinKind::Left, inner);
    }
    (JoinKind::Inner, matching)
}

fn bare(expr: &ast::Expr) -> &ast::Expr {
    let mut expr = expr;
    while let ast::Expr::Nested(inner) = expr {
        expr = inner;
    }
    expr
}
