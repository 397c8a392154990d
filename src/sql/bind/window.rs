//! Calls of window functions, and of aggregates over windows.
//!
//! Calls over one partition in one order become one [`crate::plan::relation::Relation::Window`],
//! so that they agree about the order of peers. `row_number ()` alone over its window becomes a
//! top-k without a limit that adds the rank; a filter on the rank in an outer query is put into it
//! as a limit by the optimizer.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::{Aggregate, ArgOrder, Method};
use crate::expr::functions::aggregates::{is_aggregate, ordered_set};
use crate::expr::functions::{self, ResolveError};
use crate::expr::scalar::Expr;
use crate::expr::window::call::{WindowCall, WindowFunc};
use crate::plan::relation::ColumnOrder;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::aggregate::WINDOWS;
use crate::sql::bind::arguments::Arguments;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::window_spec::Window;

/// PostgreSQL's window functions.
const WINDOW_FUNCTIONS: [WindowFunc; 11] = [
    WindowFunc::RowNumber,
    WindowFunc::Rank,
    WindowFunc::DenseRank,
    WindowFunc::PercentRank,
    WindowFunc::CumeDist,
    WindowFunc::Ntile,
    WindowFunc::Lag,
    WindowFunc::Lead,
    WindowFunc::FirstValue,
    WindowFunc::LastValue,
    WindowFunc::NthValue,
];

/// A call with what it is computed over.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowUse {
    /// PARTITION BY.
    pub partition: Vec<Typed>,
    /// ORDER BY: what, greatest first, NULLs first.
    pub order: Vec<(Typed, bool, bool)>,
    /// The call, over the columns of the query's input.
    pub call: WindowCall,
    /// The type of its result.
    ty: ColumnType,
}

impl WindowUse {
    /// Notes that what it reads may be NULL, whatever it is made of.
    pub fn may_be_null(&mut self) {
        let order = self.order.iter_mut().map(|(typed, ..)| typed);
        self.partition.iter_mut().chain(order).for_each(|typed| typed.ty.nullable = true);
    }

    /// All but the frame's offsets, which have no columns.
    pub fn exprs_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let partition = self.partition.iter_mut().map(|typed| &mut typed.expr);
        let order = self.order.iter_mut().map(|(typed, ..)| &mut typed.expr);
        partition.chain(order).chain(self.call.func.exprs_mut(&mut self.call.args))
    }
}

/// The window function of a name.
fn window_function(name: &str) -> Option<WindowFunc> {
    WINDOW_FUNCTIONS.into_iter().find(|func| func.name() == name)
}

/// Refuses a window function without OVER.
pub fn refuse_plain(name: &str) -> Result<()> {
    match window_function(name) {
        Some(_) => Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("window function {name} requires an OVER clause"),
        )),
        None => Ok(()),
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
        refuse_place(cx.clause).map_err(|e| e.at(position))?;
        let func = window_function(name);
        if func.is_none() && !is_aggregate(name) {
            // Without such a function, that it is none of these is not the fault.
            let args = args.exprs.iter().map(|arg| self.expr(arg, cx));
            let args = args.collect::<Result<Vec<_>>>()?;
            self.function(name, args, position)?;
            let message = format!(
                "OVER specified, but {name} is not a window function nor an aggregate function"
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        }
        let mut inner = ExprContext {
            scope: cx.scope,
            clause: Clause::WindowArgument,
            calls: cx.calls.as_deref_mut(),
        };
        let bound = args.exprs.iter().map(|arg| self.expr(arg, &mut inner));
        let bound = bound.collect::<Result<Vec<_>>>()?;
        refuse_options(name, func.is_some(), function, args).map_err(|e| e.at(position))?;
        let (mut func, args) = match func {
            Some(func) => self.window_arguments(func, bound, position)?,
            None => (self.aggregate_over(name, bound, args.star, position)?, vec![]),
        };
        if let (Some(filter), WindowFunc::Aggregate(aggregate)) = (&function.filter, &mut func) {
            let mut inner = ExprContext::plain(cx.scope, Clause::Filter);
            aggregate.filter = Some(self.predicate(filter, &mut inner)?.expr);
        }
        let ty = func.output_type(args.first().map(|value| value.ty));
        let args = args.into_iter().map(|arg| arg.expr).collect();
        let Window { partition, order, frame, .. } = self.over(over, cx)?;
        comparable::equal(partition.iter().map(|typed| typed.ty.scalar))?;
        comparable::ordered(order.iter().map(|(typed, ..)| typed.ty.scalar))?;
        let call = WindowCall { func, args, frame };
        let call = WindowUse { partition, order, call, ty };
        let calls = cx.calls.as_mut().ok_or_else(|| Error::internal("a window without calls"))?;
        let number = calls.windows.iter().position(|other| *other == call);
        let number = number.unwrap_or_else(|| {
            calls.windows.push(call);
            calls.windows.len() - 1
        });
        Ok(Typed::column(WINDOWS + number, ty))
    }

    /// The arguments of a window function in the types that it takes, and its result's type.
    fn window_arguments(
        &mut self,
        func: WindowFunc,
        args: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<(WindowFunc, Vec<Typed>)> {
        let types: Vec<_> = args.iter().map(|arg| arg.scalar(self)).collect();
        let not_found = || ResolveError::NotFound.of_function(func.name(), &types).at(position);
        let counts = match func {
            WindowFunc::Ntile | WindowFunc::FirstValue | WindowFunc::LastValue => 1..=1,
            WindowFunc::NthValue => 2..=2,
            WindowFunc::Lag | WindowFunc::Lead => 1..=3,
            _ => 0..=0,
        };
        if !counts.contains(&args.len()) {
            use WindowFunc::{CumeDist, DenseRank, PercentRank, Rank};
            // With arguments they are aggregates.
            if matches!(func, Rank | DenseRank | PercentRank | CumeDist) {
                let name = func.name();
                return Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
                )
                .at(position));
            }
            return Err(not_found());
        }
        let int4 = ColumnType::nullable(ScalarType::Int4);
        let mut args = args.into_iter();
        let (value, number, default) = match func {
            WindowFunc::Ntile => (None, args.next(), None),
            _ => (args.next(), args.next(), args.next()),
        };
        let number = match number {
            Some(number) => Some(self.implicit(number, int4)?.ok_or_else(not_found)?),
            None => None,
        };
        let values = match (value, default) {
            (None, _) => vec![],
            (Some(value), None) if value.scalar(self).is_none() => {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    "could not determine polymorphic type because input has type unknown",
                )
                .at(position));
            }
            (Some(value), None) => vec![self.settle(value)?],
            (Some(value), Some(default)) => {
                let both = [value.scalar(self), default.scalar(self)];
                functions::common_type("", &both).map_err(|_| not_found())?;
                self.unify(vec![value, default], func.name(), position)?
            }
        };
        let mut values = values.into_iter();
        let args = values.next().into_iter().chain(number).collect::<Vec<_>>();
        Ok((func, args.into_iter().chain(values).collect()))
    }

    /// An aggregate over a frame. One that needs an order has the frame's: see
    /// [`WindowFunc::Aggregate`].
    fn aggregate_over(
        &mut self,
        name: &str,
        args: Vec<Bound>,
        star: bool,
        position: Option<u32>,
    ) -> Result<WindowFunc> {
        if args.is_empty() && !star && name == "count" {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                "count(*) must be used to call a parameterless aggregate function",
            )
            .at(position));
        }
        if matches!(ordered_set(name), Some(set) if set.arity().is_some()) {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("WITHIN GROUP is required for ordered-set aggregate {name}"),
            )
            .at(position));
        }
        let (func, _, args) = self.resolved_aggregate(name, args, position)?;
        let mut order = vec![];
        if func.method() == Method::Collect {
            order.push(ArgOrder { arg: args.len(), descending: false, nulls_first: false });
        }
        let aggregate = Aggregate { func, args, order, distinct: false, filter: None };
        Ok(WindowFunc::Aggregate(Box::new(aggregate)))
    }
}

/// Refuses windows where there may be none.
fn refuse_place(clause: Clause) -> Result<()> {
    let windowing = |message: String| Err(Error::new(SqlState::WINDOWING_ERROR, message));
    match clause {
        Clause::Select | Clause::OrderBy | Clause::DistinctOn | Clause::Qualify => Ok(()),
        Clause::WindowArgument => windowing("window function calls cannot be nested".into()),
        Clause::Aggregate => Err(Error::new(
            SqlState::GROUPING_ERROR,
            "aggregate function calls cannot contain window function calls",
        )),
        Clause::FrameRows | Clause::FrameRange | Clause::FrameGroups => {
            refuse_place(Clause::Window)
        }
        clause => windowing(format!("window functions are not allowed in {}", clause.name())),
    }
}

/// Refuses what PostgreSQL does not have of calls over windows; `is_plain`: of functions that are
/// no aggregates.
fn refuse_options(
    name: &str,
    is_plain: bool,
    function: &ast::Function,
    args: &Arguments<'_>,
) -> Result<()> {
    let refuse = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    if function.null_treatment.is_some() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"NULLS\""));
    }
    if !function.within_group.is_empty() {
        return refuse(format!("OVER is not supported for ordered-set aggregate {name}"));
    }
    if args.distinct {
        return refuse("DISTINCT is not implemented for window functions".into());
    }
    if !args.order_by.is_empty() {
        return refuse("aggregate ORDER BY is not implemented for window functions".into());
    }
    if function.filter.is_some() && is_plain {
        return refuse("FILTER is not implemented for non-aggregate window functions".into());
    }
    Ok(())
}

/// Computes the windows over a plan; answers the column of each.
pub fn compute_windows(mut plan: Plan, uses: Vec<WindowUse>) -> (Plan, Vec<usize>) {
    let mut columns = vec![0; uses.len()];
    let mut todo: Vec<(usize, WindowUse)> = uses.into_iter().enumerate().collect();
    while let Some((_, WindowUse { partition, order, .. })) = todo.first().cloned() {
        let same =
            |(_, other): &(usize, WindowUse)| other.partition == partition && other.order == order;
        let (together, rest): (Vec<_>, Vec<_>) = todo.into_iter().partition(same);
        todo = rest;
        let mut computed = vec![];
        let arity = plan.arity();
        let mut column = |typed: Typed| match typed.expr {
            Expr::Column(column) => column,
            _ => {
                computed.push(typed);
                arity + computed.len() - 1
            }
        };
        let partition: Vec<usize> = partition.into_iter().map(&mut column).collect();
        let order = order.into_iter().map(|(typed, descending, nulls_first)| ColumnOrder {
            column: column(typed),
            descending,
            nulls_first,
        });
        let order: Vec<ColumnOrder> = order.collect();
        plan = plan.map(computed);
        for (n, (number, _)) in together.iter().enumerate() {
            columns[*number] = plan.arity() + n;
        }
        let is_numbering = |call: &WindowCall| {
            let offsets = [&call.frame.start, &call.frame.end];
            call.func == WindowFunc::RowNumber && offsets.iter().all(|b| b.offset().is_none())
        };
        plan = match &together[..] {
            [(_, one)] if is_numbering(&one.call) => plan.ranked(partition, order),
            _ => {
                let types = together.iter().map(|(_, one)| one.ty).collect();
                let calls = together.into_iter().map(|(_, one)| one.call).collect();
                plan.windows(partition, order, calls, types)
            }
        };
    }
    (plan, columns)
}
