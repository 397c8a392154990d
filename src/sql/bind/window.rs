//! Window functions: `row_number () OVER (PARTITION BY … ORDER BY …)`.
//!
//! It becomes a [`crate::plan::relation::Relation::TopK`] without a limit that adds the rank; a
//! filter on the rank in an outer query is put into it as a limit by the optimizer.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::functions::aggregates::is_aggregate;
use crate::expr::scalar::Expr;
use crate::plan::relation::ColumnOrder;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::aggregate::WINDOWS;
use crate::sql::bind::call::Arguments;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::order::direction;
use crate::sql::bind::relation::{Plan, Typed};

/// PostgreSQL's window functions.
const WINDOW_FUNCTIONS: [&str; 11] = [
    "row_number",
    "rank",
    "dense_rank",
    "percent_rank",
    "cume_dist",
    "ntile",
    "lag",
    "lead",
    "first_value",
    "last_value",
    "nth_value",
];

/// A call of `row_number`.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowCall {
    /// PARTITION BY.
    pub partition: Vec<Typed>,
    /// ORDER BY: what, greatest first, NULLs first.
    pub order: Vec<(Typed, bool, bool)>,
}

impl WindowCall {
    /// Its expressions, to be changed.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        let order = self.order.iter_mut().map(|(typed, ..)| &mut typed.expr);
        self.partition.iter_mut().map(|typed| &mut typed.expr).chain(order).collect()
    }
}

impl Binder<'_, '_> {
    /// A call with OVER.
    pub fn window(
        &mut self,
        name: &str,
        function: &ast::Function,
        args: &Arguments<'_>,
        over: &ast::WindowType,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        if !matches!(cx.clause, Clause::Select | Clause::OrderBy | Clause::DistinctOn) {
            return Err(Error::new(
                SqlState::WINDOWING_ERROR,
                format!("window functions are not allowed in {}", cx.clause.name()),
            )
            .at(position));
        }
        if name != "row_number" {
            if !WINDOW_FUNCTIONS.contains(&name) && !is_aggregate(name) {
                // Without such a function, that it is none of these is not the fault.
                let args = args.exprs.iter().map(|arg| self.expr(arg, cx));
                let args = args.collect::<Result<Vec<_>>>()?;
                self.function(name, args, position)?;
            }
            return Err(if WINDOW_FUNCTIONS.contains(&name) || is_aggregate(name) {
                Error::unsupported(
                    format!("window function {name}"),
                    "row_number() is; for a total beside each row, join with a grouped subquery.",
                )
            } else {
                Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!(
                        "OVER specified, but {name} is not a window function nor an aggregate \
                         function"
                    ),
                )
            }
            .at(position));
        }
        if !args.exprs.is_empty() || args.star || args.distinct || function.filter.is_some() {
            return Err(Error::new(
                SqlState::UNDEFINED_FUNCTION,
                "function row_number takes no arguments",
            )
            .at(position));
        }
        let call = match over {
            ast::WindowType::WindowSpec(spec) => self.window_spec(spec, cx)?,
            ast::WindowType::NamedWindow(ident) => {
                let spec = self.named_window(ident, cx)?;
                self.window_spec(&spec, cx)?
            }
        };
        let calls = cx.calls.as_mut().ok_or_else(|| Error::internal("a window without calls"))?;
        let number = calls.windows.iter().position(|other| *other == call);
        let number = number.unwrap_or_else(|| {
            calls.windows.push(call);
            calls.windows.len() - 1
        });
        Ok(Typed::column(WINDOWS + number, ColumnType::not_null(ScalarType::Int8)))
    }

    fn named_window(&self, ident: &ast::Ident, cx: &ExprContext<'_>) -> Result<ast::WindowSpec> {
        let name = name::ident(ident);
        let named = cx.calls.iter().flat_map(|calls| &calls.named).find(|(n, _)| *n == name);
        named.map(|(_, spec)| spec.clone()).ok_or_else(|| {
            Error::new(SqlState::UNDEFINED_OBJECT, format!("window \"{name}\" does not exist"))
                .at(self.position(ident.span))
        })
    }

    fn window_spec(
        &mut self,
        spec: &ast::WindowSpec,
        cx: &mut ExprContext<'_>,
    ) -> Result<WindowCall> {
        let base = match &spec.window_name {
            Some(ident) => Some(self.named_window(ident, cx)?),
            None => None,
        };
        let partition = base.iter().flat_map(|b| &b.partition_by).chain(&spec.partition_by);
        let order = base.iter().flat_map(|b| &b.order_by).chain(&spec.order_by);
        let mut inner =
            ExprContext { scope: cx.scope, clause: Clause::Window, calls: cx.calls.as_deref_mut() };
        let partition =
            partition.map(|expr| self.typed_expr(expr, &mut inner)).collect::<Result<_>>()?;
        let order = order
            .map(|item| {
                let (descending, nulls_first) = direction(item)?;
                Ok((self.typed_expr(&item.expr, &mut inner)?, descending, nulls_first))
            })
            .collect::<Result<_>>()?;
        Ok(WindowCall { partition, order })
    }
}

/// Computes the windows over a plan; answers the column of each.
pub fn number_rows(mut plan: Plan, calls: Vec<WindowCall>) -> (Plan, Vec<usize>) {
    let mut columns = vec![];
    for call in calls {
        let mut computed = vec![];
        let arity = plan.arity();
        let mut column = |typed: Typed| match typed.expr {
            Expr::Column(column) => column,
            _ => {
                computed.push(typed);
                arity + computed.len() - 1
            }
        };
        let group: Vec<usize> = call.partition.into_iter().map(&mut column).collect();
        let order = call.order.into_iter().map(|(typed, descending, nulls_first)| ColumnOrder {
            column: column(typed),
            descending,
            nulls_first,
        });
        let order: Vec<ColumnOrder> = order.collect();
        plan = plan.map(computed).ranked(group, order);
        columns.push(plan.arity() - 1);
    }
    (plan, columns)
}
