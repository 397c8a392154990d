//! Aggregates and windows, gathered while the expressions around them are bound.
//!
//! Such a call has no value before its query is grouped. Until then it stands in the expression as
//! a column whose number is above all real ones: [`AGGREGATES`] plus the number of the call, or
//! [`WINDOWS`] plus it. [`super::grouping`] puts the real columns in their place.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::{AggFunc, Aggregate, ArgOrder, Method};
use crate::expr::functions::aggregates::{OrderedSet, ordered_set};
use crate::expr::functions::{self, ResolveError};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::arguments::Arguments;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::order::direction;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::Scope;
use crate::sql::bind::sets::SetCall;
use crate::sql::bind::window::WindowUse;
use crate::sql::bind::window_spec::Window;

/// The column that stands for the first aggregate.
pub const AGGREGATES: usize = 1 << 40;

/// The column that stands for the first call of GROUPING.
pub const GROUPINGS: usize = 1 << 39;

/// The column that stands for the first window.
pub const WINDOWS: usize = 1 << 41;

/// A call of an aggregate as it is written.
#[derive(Clone, Copy)]
pub struct Call<'a, 'b> {
    /// What is called.
    pub name: &'a str,
    /// What stands between the parentheses.
    pub args: &'a Arguments<'b>,
    /// Where.
    pub position: Option<u32>,
}

/// The aggregates and windows of a query.
#[derive(Default)]
pub struct Calls {
    /// The aggregates; equal ones once.
    pub aggregates: Vec<Aggregate>,
    /// The arguments of each call of GROUPING, and where it stands.
    pub groupings: Vec<(Vec<Expr>, Option<u32>)>,
    /// The windows.
    pub windows: Vec<WindowUse>,
    /// The calls that return rows; equal ones once.
    pub sets: Vec<SetCall>,
    /// How many of these were written.
    pub sets_seen: usize,
    /// `WINDOW name AS (…)`.
    pub named: Vec<(String, Window)>,
    /// Arguments of aggregates that are the same for all rows of a group.
    pub direct: Vec<(Expr, Option<u32>)>,
    /// Where columns were used outside aggregates.
    uses: Vec<(usize, Option<u32>)>,
}

impl Calls {
    /// Notes a column that was used outside aggregates.
    pub fn note_use(&mut self, column: usize, position: Option<u32>) {
        self.uses.push((column, position));
    }

    /// Where a column was first used outside aggregates.
    pub fn first_use(&self, column: usize) -> Option<u32> {
        self.uses.iter().find(|(c, _)| *c == column).and_then(|(_, position)| *position)
    }

    /// The number of a call of GROUPING.
    pub fn add_grouping(&mut self, args: Vec<Expr>, position: Option<u32>) -> usize {
        let known = self.groupings.iter().position(|(other, _)| *other == args);
        known.unwrap_or_else(|| {
            self.groupings.push((args, position));
            self.groupings.len() - 1
        })
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
        let call = Call { name, args, position };
        let mut aggregate = self.aggregate_call(&call, &function.within_group, cx)?;
        if let Some(filter) = &function.filter {
            let mut inner = ExprContext::plain(cx.scope, Clause::Filter);
            aggregate.filter = Some(self.predicate(filter, &mut inner)?.expr);
        }
        let ty = aggregate.func.output_type();
        if let Some(level) = level_of(&aggregate) {
            return self.aggregate_outside(level, aggregate, position);
        }
        let clause = cx.clause;
        let Some(calls) = &mut cx.calls else { return Err(not_allowed(clause).at(position)) };
        if matches!(ordered_set(name), Some(set) if set != OrderedSet::Mode) {
            let direct = direct_args(&aggregate);
            calls.direct.extend(direct.iter().map(|expr| (expr.clone(), position)));
        }
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

    /// A call without its filter, which is allowed where it stands.
    pub fn aggregate_call(
        &mut self,
        call: &Call<'_, '_>,
        within_group: &[ast::OrderByExpr],
        cx: &mut ExprContext<'_>,
    ) -> Result<Aggregate> {
        let (name, position) = (call.name, call.position);
        let wrong =
            |message: String| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        match (ordered_set(name), within_group) {
            (None, []) => self.plain_aggregate(call, cx),
            (Some(set), order) if !order.is_empty() => self.ordered_set(call, set, order, cx),
            (set, order) => {
                // The function is looked for first, with all that it is given.
                let mut inner = ExprContext::plain(cx.scope, Clause::Aggregate);
                let mut types = vec![];
                let sorted = order.iter().map(|item| &item.expr);
                for arg in call.args.exprs.iter().copied().chain(sorted) {
                    types.push(self.expr(arg, &mut inner)?.scalar(self));
                }
                let missing = |e: ResolveError| e.of_function(name, &types).at(position);
                match set {
                    Some(set) if set.arity().is_some_and(|arity| arity != types.len()) => {
                        Err(missing(ResolveError::NotFound))
                    }
                    Some(_) => {
                        wrong(format!("WITHIN GROUP is required for ordered-set aggregate {name}"))
                    }
                    None => {
                        functions::resolve_aggregate(name, &types).map_err(missing)?;
                        wrong(format!(
                            "{name} is not an ordered-set aggregate, so it cannot have WITHIN GROUP"
                        ))
                    }
                }
            }
        }
    }

    /// An aggregate whose rows are in the order that ORDER BY between the parentheses says.
    fn plain_aggregate(
        &mut self,
        call: &Call<'_, '_>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Aggregate> {
        let Call { name, args, position } = *call;
        let mut inner = ExprContext::plain(cx.scope, Clause::Aggregate);
        if !args.star && args.exprs.is_empty() && name == "count" {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                "count(*) must be used to call a parameterless aggregate function",
            )
            .at(position));
        }
        let mut bound = vec![];
        if !args.star {
            for arg in &args.exprs {
                bound.push(self.expr(arg, &mut inner)?);
            }
        }
        if args.distinct {
            comparable::equal(bound.iter().filter_map(|arg| arg.scalar(self)))?;
        }
        let (func, given, mut exprs) = self.resolved_aggregate(name, bound, position)?;
        let mut order = self.order_within(args, &given, &mut exprs, &mut inner)?;
        if func.method() != Method::Collect {
            // The order in which rows are added decides nothing.
            exprs.truncate(given.len());
            order.clear();
        }
        Ok(Aggregate { func, args: exprs, order, distinct: args.distinct, filter: None })
    }

    /// The aggregate that is meant, and its arguments as they were given and as it takes them.
    pub fn resolved_aggregate(
        &mut self,
        name: &str,
        bound: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<(AggFunc, Vec<Expr>, Vec<Expr>)> {
        let types: Vec<_> = bound.iter().map(|arg| arg.scalar(self)).collect();
        let resolved = functions::resolve_aggregate(name, &types)
            .map_err(|e| e.of_function(name, &types).at(position))?;
        let (func, mut given, mut exprs) = (resolved.func, vec![], vec![]);
        if matches!(func, AggFunc::JsonbAgg | AggFunc::JsonAgg) && types == [None] {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "could not determine polymorphic type because input has type unknown",
            )
            .at(position));
        }
        for ((arg, ty), cast) in bound.into_iter().zip(resolved.types).zip(resolved.casts) {
            let typed = match ty {
                None => self.settle(arg)?,
                Some(ty) => self.give_type(arg, ColumnType::nullable(ty))?,
            };
            given.push(typed.expr.clone());
            exprs.push(match (cast, ty) {
                (Some(cast), Some(ty)) => typed.expr.cast(cast, ty, false),
                _ => typed.expr,
            });
        }
        Ok((func, given, exprs))
    }

    /// ORDER BY between the parentheses. Arguments are `given` as they are written and converted
    /// in `exprs`, to which what else is ordered by is added.
    fn order_within(
        &mut self,
        args: &Arguments<'_>,
        given: &[Expr],
        exprs: &mut Vec<Expr>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<ArgOrder>> {
        if args.order_by.is_empty() && !args.distinct {
            return Ok(order_of_rows(cx.scope, given, exprs));
        }
        let mut order = vec![];
        for item in args.order_by {
            let (descending, nulls_first) = direction(item)?;
            let by = self.typed_expr(&item.expr, cx)?;
            comparable::ordered([by.ty.scalar])?;
            let by = by.expr;
            let same = |other: &Expr| *other == by;
            let arg = match given.iter().position(same).or(exprs.iter().position(same)) {
                Some(arg) => arg,
                None if args.distinct => {
                    return Err(Error::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "in an aggregate with DISTINCT, ORDER BY expressions must appear in \
                         argument list",
                    )
                    .at(self.expr_position(&item.expr)));
                }
                None => {
                    exprs.push(by);
                    exprs.len() - 1
                }
            };
            order.push(ArgOrder { arg, descending, nulls_first });
        }
        Ok(order)
    }

    /// An aggregate over rows in the order of WITHIN GROUP.
    fn ordered_set(
        &mut self,
        call: &Call<'_, '_>,
        set: OrderedSet,
        within_group: &[ast::OrderByExpr],
        cx: &mut ExprContext<'_>,
    ) -> Result<Aggregate> {
        let Call { name, args, position } = *call;
        let not_with = |what: &str| {
            let message = format!("cannot use {what} with WITHIN GROUP");
            Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position))
        };
        if args.distinct {
            return not_with("DISTINCT");
        }
        if !args.order_by.is_empty() {
            return not_with("multiple ORDER BY clauses");
        }
        let mut inner = ExprContext::plain(cx.scope, Clause::Aggregate);
        let (mut direct, mut sorted, mut order) = (vec![], vec![], vec![]);
        for arg in &args.exprs {
            direct.push(self.expr(arg, &mut inner)?);
        }
        for (arg, item) in within_group.iter().enumerate() {
            let (descending, nulls_first) = direction(item)?;
            order.push(ArgOrder { arg, descending, nulls_first });
            sorted.push(self.expr(&item.expr, &mut inner)?);
        }
        let types: Vec<_> = direct.iter().chain(&sorted).map(|arg| arg.scalar(self)).collect();
        let not_found = || ResolveError::NotFound.of_function(name, &types).at(position);
        let (func, args) = match set {
            OrderedSet::Hypothetical(what) => {
                if direct.len() != sorted.len() {
                    return Err(not_found().with_hint(format!(
                        "To use the hypothetical-set aggregate {name}, the number of hypothetical \
                         direct arguments (here {}) must match the number of ordering columns \
                         (here {}).",
                        direct.len(),
                        sorted.len()
                    )));
                }
                (AggFunc::Hypothetical(what), self.hypothetical_args(direct, sorted, position)?)
            }
            _ => {
                let ([sorted], true) = (&sorted[..], direct.len() < 2) else {
                    return Err(not_found());
                };
                let fraction = direct.pop();
                self.value_of_set(set, sorted.clone(), fraction)?.ok_or_else(not_found)?
            }
        };
        Ok(Aggregate { func, args, order, distinct: false, filter: None })
    }

    /// The function and the arguments of an aggregate that answers with a value of its order, or
    /// with one between two; none where it does not take such.
    fn value_of_set(
        &mut self,
        set: OrderedSet,
        sorted: Bound,
        fraction: Option<Bound>,
    ) -> Result<Option<(AggFunc, Vec<Expr>)>> {
        let float8 = ColumnType::nullable(ScalarType::Float8);
        if fraction.is_some() == (set == OrderedSet::Mode) {
            return Ok(None);
        }
        let several = matches!(
            fraction.as_ref().and_then(|fraction| fraction.scalar(self)),
            Some(ScalarType::Array(_))
        );
        let fractions = float8.scalar.array().filter(|_| several).map(ColumnType::nullable);
        let fraction = match fraction {
            None => None,
            Some(fraction) => match self.implicit(fraction, fractions.unwrap_or(float8))? {
                None => return Ok(None),
                found => found,
            },
        };
        let sorted = match set {
            OrderedSet::PercentileCont => {
                let interval = sorted.scalar(self) == Some(ScalarType::Interval);
                let ty = if interval { ScalarType::Interval.into() } else { float8 };
                match self.implicit(sorted, ty)? {
                    None => return Ok(None),
                    Some(sorted) => sorted,
                }
            }
            _ => self.settle(sorted)?,
        };
        let ty = sorted.ty.scalar;
        let func = match set {
            OrderedSet::Mode => AggFunc::Mode(ty),
            OrderedSet::PercentileCont if several => AggFunc::PercentilesCont(ty),
            OrderedSet::PercentileCont => AggFunc::PercentileCont(ty),
            _ if several => AggFunc::PercentilesDisc(ty),
            _ => AggFunc::PercentileDisc(ty),
        };
        let args = std::iter::once(sorted).chain(fraction).map(|arg| arg.expr).collect();
        Ok(Some((func, args)))
    }

    /// The columns of a row that is not there, and those of the rows, in common types.
    fn hypothetical_args(
        &mut self,
        direct: Vec<Bound>,
        sorted: Vec<Bound>,
        position: Option<u32>,
    ) -> Result<Vec<Expr>> {
        let (mut of_rows, mut own) = (vec![], vec![]);
        for (direct, sorted) in direct.into_iter().zip(sorted) {
            let mut both = self.unify(vec![sorted, direct], "WITHIN GROUP", position)?;
            own.extend(both.pop().map(|typed| typed.expr));
            of_rows.extend(both.pop().map(|typed| typed.expr));
        }
        of_rows.extend(own);
        Ok(of_rows)
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

/// The order of an aggregate that says none: that in which its rows come, if it takes anything
/// from them.
fn order_of_rows(scope: &Scope, given: &[Expr], exprs: &mut Vec<Expr>) -> Vec<ArgOrder> {
    if !given.iter().any(|expr| expr.any(&mut |e| matches!(e, Expr::Column(_)))) {
        return vec![];
    }
    let by = scope.order.iter().map(|by| {
        let column = Expr::Column(by.column);
        let arg = exprs.iter().position(|other| *other == column).unwrap_or_else(|| {
            exprs.push(column);
            exprs.len() - 1
        });
        ArgOrder { arg, descending: by.descending, nulls_first: by.nulls_first }
    });
    by.collect()
}

/// The arguments of an ordered-set aggregate that are the same for all rows of a group.
fn direct_args(aggregate: &Aggregate) -> &[Expr] {
    &aggregate.args[aggregate.order.len()..]
}

/// The error of an aggregate where there may be none.
pub fn not_allowed(clause: Clause) -> Error {
    not_allowed_as(clause, "aggregate functions")
}

/// As [`not_allowed`], of what is called so.
pub fn not_allowed_as(clause: Clause, what: &str) -> Error {
    let message = match clause {
        Clause::Aggregate => "aggregate function calls cannot be nested".to_owned(),
        clause => format!("{what} are not allowed in {}", clause.name()),
    };
    Error::new(SqlState::GROUPING_ERROR, message)
}
