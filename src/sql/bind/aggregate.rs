//! Aggregates and windows, gathered while the expressions around them are bound.
//!
//! Such a call has no value before its query is grouped. Until then it stands in the expression as
//! a column whose number is above all real ones: [`AGGREGATES`] plus the number of the call, or
//! [`WINDOWS`] plus it. [`super::grouping`] puts the real columns in their place.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::repr::ColumnType;
use crate::sql::bind::call::Arguments;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::Typed;
use crate::sql::bind::window::WindowCall;

/// The column that stands for the first aggregate.
pub const AGGREGATES: usize = 1 << 40;

/// The column that stands for the first window.
pub const WINDOWS: usize = 1 << 41;

/// The aggregates and windows of a query.
#[derive(Default)]
pub struct Calls {
    /// The aggregates; equal ones once.
    pub aggregates: Vec<Aggregate>,
    /// The windows.
    pub windows: Vec<WindowCall>,
    /// `WINDOW name AS (…)`.
    pub named: Vec<(String, ast::WindowSpec)>,
    /// Where columns were used outside aggregates.
    uses: Vec<(usize, Option<u32>)>,
}

impl Calls {
    /// No calls yet, and the windows that WINDOW names.
    pub fn new(named: Vec<(String, ast::WindowSpec)>) -> Calls {
        Calls { named, ..Calls::default() }
    }

    /// Notes a column that was used outside aggregates.
    pub fn note_use(&mut self, column: usize, position: Option<u32>) {
        self.uses.push((column, position));
    }

    /// Where a column was first used outside aggregates.
    pub fn first_use(&self, column: usize) -> Option<u32> {
        self.uses.iter().find(|(c, _)| *c == column).and_then(|(_, position)| *position)
    }

    /// The number of an aggregate.
    pub fn add(&mut self, aggregate: Aggregate) -> usize {
        let known = self.aggregates.iter().position(|other| *other == aggregate);
        known.unwrap_or_else(|| {
            self.aggregates.push(aggregate);
            self.aggregates.len() - 1
        })
    }
}

impl Binder<'_, '_> {
    /// A call of an aggregate.
    pub fn aggregate(
        &mut self,
        name: &str,
        function: &ast::Function,
        args: &Arguments<'_>,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        if !function.within_group.is_empty() {
            return Err(Error::unsupported(
                format!("{name} WITHIN GROUP"),
                "Compute it in the client.",
            )
            .at(position));
        }
        let mut inner = ExprContext::plain(cx.scope, Clause::Aggregate);
        let bound = if args.star {
            vec![]
        } else if args.exprs.is_empty() && name == "count" {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                "count(*) must be used to call a parameterless aggregate function",
            )
            .at(position));
        } else {
            let exprs = args.exprs.iter();
            exprs.map(|arg| self.expr(arg, &mut inner)).collect::<Result<Vec<_>>>()?
        };
        // The order in which an aggregate sees its rows decides nothing that is here.
        for order in args.order_by {
            self.expr(&order.expr, &mut inner)?;
        }
        let types: Vec<_> = bound.iter().map(|arg| arg.scalar(self)).collect();
        let resolved = functions::resolve_aggregate(name, &types)
            .map_err(|e| e.of_function(name, &types).at(position))?;
        let arguments = match bound.into_iter().next() {
            None => vec![],
            Some(arg) => vec![match resolved.ty {
                None => self.settle(arg)?.expr,
                Some(ty) => {
                    let typed = self.give_type(arg, ColumnType::nullable(ty))?;
                    match resolved.cast {
                        Some(cast) => typed.expr.cast(cast, ty, false),
                        None => typed.expr,
                    }
                }
            }],
        };
        let filter = match &function.filter {
            None => None,
            Some(filter) => {
                let mut inner = ExprContext::plain(cx.scope, Clause::Filter);
                Some(self.predicate(filter, &mut inner)?.expr)
            }
        };
        let aggregate = Aggregate {
            func: resolved.func,
            args: arguments,
            order: vec![],
            distinct: args.distinct,
            filter,
        };
        let ty = aggregate.func.output_type();
        if let Some(level) = level_of(&aggregate) {
            return self.aggregate_outside(level, aggregate, position);
        }
        let clause = cx.clause;
        let Some(calls) = &mut cx.calls else { return Err(not_allowed(clause).at(position)) };
        Ok(Typed::column(AGGREGATES + calls.add(aggregate), ty))
    }

    /// An aggregate that belongs to an enclosing query.
    fn aggregate_outside(
        &mut self,
        level: usize,
        mut aggregate: Aggregate,
        position: Option<u32>,
    ) -> Result<Typed> {
        for expr in aggregate.exprs_mut() {
            expr.visit_mut(&mut |node| {
                if let Expr::Outer { level: l, index, .. } = node
                    && *l == level
                {
                    *node = self.outer_value(level, *index).expr.clone();
                }
            });
        }
        Ok(self.outer_aggregate(level, aggregate, position))
    }
}

/// The enclosing query to which an aggregate belongs: the innermost of those that it takes
/// something from, where it takes nothing from the query that it stands in.
fn level_of(aggregate: &Aggregate) -> Option<usize> {
    let (mut level, mut is_own) = (None, false);
    for expr in aggregate.exprs() {
        expr.visit(&mut |node| match node {
            Expr::Column(_) => is_own = true,
            Expr::Outer { level: l, .. } => level = level.max(Some(*l)),
            _ => {}
        });
    }
    level.filter(|_| !is_own)
}

/// The error of an aggregate where there may be none.
pub fn not_allowed(clause: Clause) -> Error {
    let message = match clause {
        Clause::Aggregate => "aggregate function calls cannot be nested".to_owned(),
        clause => format!("aggregate functions are not allowed in {}", clause.name()),
    };
    Error::new(SqlState::GROUPING_ERROR, message)
}
