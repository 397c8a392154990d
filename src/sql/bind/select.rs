//! SELECT.
//!
//! Everything is bound over the rows of FROM first, aggregates and windows standing as columns
//! that are not there yet ([`super::aggregate`]); then the plan is built from the inside out:
//! WHERE, grouping, HAVING, windows, the select list, DISTINCT.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::scalar::Expr;
use crate::plan::relation::ColumnOrder;
use crate::sql::bind::aggregate::{AGGREGATES, Calls, GROUPINGS, WINDOWS};
use crate::sql::bind::call::unsupported_set;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::grouping::Grouping;
use crate::sql::bind::grouping_sets::{self, Set, sets_of};
use crate::sql::bind::name;
use crate::sql::bind::order::{self, direction};
use crate::sql::bind::output::Output;
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::recursive::Effect;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::{Column, Scope};
use crate::sql::bind::sets::{SETS, SetCall, call_sets, place};
use crate::sql::bind::window::{WindowUse, compute_windows};

/// The column that stands for the first of the select list, in QUALIFY.
const OUTPUTS: usize = 1 << 44;

/// What rows are ordered or told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// A column of the select list.
    Output(usize),
    /// An expression beside it.
    Extra(usize),
}

/// How a query makes its rows distinct.
enum Distinctness {
    /// Not at all.
    No,
    /// By all columns.
    Rows,
    /// By these; the first of each in the query's order stays.
    On(Vec<Target>),
}

/// A query's expressions, over its input and later over its groups.
struct Parts {
    outputs: Vec<Output>,
    extras: Vec<Typed>,
    order: Vec<(Target, bool, bool)>,
    distinct: Distinctness,
    having: Option<Typed>,
    qualify: Option<Typed>,
    group: Vec<Typed>,
    /// The grouping sets; none where there is no GROUP BY.
    grouping_sets: Vec<Set>,
    grouped: bool,
    sets: Vec<SetCall>,
}

impl Binder<'_, '_> {
    /// A SELECT with the ORDER BY that belongs to it.
    pub fn select(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        keep_literals: bool,
    ) -> Result<Query> {
        refuse_foreign(select)?;
        let number = self.begin_query();
        let bound = self.select_here(select, order_by, keep_literals);
        self.query_number = number;
        bound
    }

    fn select_here(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        keep_literals: bool,
    ) -> Result<Query> {
        let (uses, direct) = (self.recursion.uses, self.recursion.direct);
        self.recursion.direct = false;
        let source = self.from(&select.from)?;
        let direct = std::mem::replace(&mut self.recursion.direct, direct);
        let scope = source.scope;
        let mut calls = Calls::default();
        let mut plan = source.plan;
        let parts = self.parts(select, order_by, &scope, &mut calls)?;
        if let Some(selection) = &select.selection {
            let mut cx = ExprContext::plain(&scope, Clause::Where);
            let predicate = self.predicate(selection, &mut cx)?;
            plan = self.selected_by_demand(select, &scope, &plan).unwrap_or(plan);
            plan = self.restrict(plan, vec![predicate.expr]);
        }
        self.note_effect(uses, direct, &parts, &calls)?;
        let is_one = parts.sets.is_empty()
            && parts.qualify.is_none()
            && parts.grouping_sets.len() <= 1
            && match parts.grouped {
                true => parts.group.is_empty() && parts.having.is_none(),
                false => select.from.is_empty() && select.selection.is_none(),
            };
        let (plan, parts) = self.group(plan, parts, &scope, &mut calls)?;
        let (plan, parts) = self.windows(plan, parts, calls);
        let query = self.finish(plan, parts, keep_literals)?;
        Ok(Query { one_row: is_one, ..query })
    }

    /// What the query does to the rows of a recursive reference in its FROM.
    fn note_effect(
        &mut self,
        uses: usize,
        direct: bool,
        parts: &Parts,
        calls: &Calls,
    ) -> Result<()> {
        if direct && !calls.aggregates.is_empty() {
            return Err(Error::new(
                SqlState::INVALID_RECURSION,
                "aggregate functions are not allowed in a recursive query's recursive term",
            ));
        }
        let whole = parts.grouped && (parts.group.is_empty() || parts.grouping_sets.len() > 1);
        let together = whole || !calls.aggregates.is_empty() || !calls.windows.is_empty();
        let effect = match parts.distinct {
            _ if together => Effect::Together,
            Distinctness::On(_) => Effect::Together,
            Distinctness::Rows => Effect::Distinct,
            Distinctness::No if parts.grouped => Effect::Distinct,
            Distinctness::No => return Ok(()),
        };
        self.recursion.note(uses, effect);
        Ok(())
    }

    /// Binds a query's expressions over its input.
    fn parts(
        &mut self,
        select: &ast::Select,
        order_by: &[ast::OrderByExpr],
        scope: &Scope,
        calls: &mut Calls,
    ) -> Result<Parts> {
        self.define_windows(select, scope, calls)?;
        let outputs = self.select_list(&select.projection, scope, calls, Clause::Select)?;
        let mut parts = Parts {
            outputs,
            extras: vec![],
            order: vec![],
            distinct: Distinctness::No,
            having: None,
            qualify: None,
            group: vec![],
            grouping_sets: vec![],
            grouped: false,
            sets: vec![],
        };
        let items = match &select.group_by {
            ast::GroupByExpr::Expressions(items, modifiers) if modifiers.is_empty() => items,
            _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in GROUP BY")),
        };
        self.grouping_sets(items, scope, &mut parts)?;
        if let Some(having) = &select.having {
            let mut cx = ExprContext { scope, clause: Clause::Having, calls: Some(calls) };
            parts.having = Some(self.predicate(having, &mut cx)?);
        }
        if let Some(qualify) = &select.qualify {
            parts.qualify = Some(self.qualify(qualify, scope, calls, &parts)?);
        }
        for item in order_by {
            let (descending, nulls_first) = direction(item)?;
            let target = self.target(&item.expr, Clause::OrderBy, scope, calls, &mut parts)?;
            parts.order.push((target, descending, nulls_first));
        }
        match &select.distinct {
            None | Some(ast::Distinct::All) => {}
            Some(ast::Distinct::Distinct) => parts.distinct = Distinctness::Rows,
            Some(ast::Distinct::On(exprs)) => {
                let mut on = vec![];
                for expr in exprs {
                    on.push(self.target(expr, Clause::DistinctOn, scope, calls, &mut parts)?);
                }
                parts.distinct = Distinctness::On(on);
            }
        }
        comparable::equal(parts.group.iter().map(|typed| typed.ty.scalar))?;
        parts.grouped = !items.is_empty()
            || parts.having.is_some()
            || !calls.aggregates.is_empty()
            || !calls.groupings.is_empty();
        parts.sets = std::mem::take(&mut calls.sets);
        Ok(parts)
    }

    /// QUALIFY, which is not PostgreSQL's: a condition that sees windows and, where no column of
    /// the input has such a name, columns of the select list.
    fn qualify(
        &mut self,
        condition: &ast::Expr,
        scope: &Scope,
        calls: &mut Calls,
        parts: &Parts,
    ) -> Result<Typed> {
        let mut scope = scope.clone();
        for (i, output) in parts.outputs.iter().enumerate() {
            if let Bound::Typed(typed) = &output.value
                && scope.named(&output.name).next().is_none()
            {
                let (name, ty) = (output.name.clone(), typed.ty);
                scope.visible.push(Column { name, ty, index: OUTPUTS + i, table: None });
            }
        }
        let mut cx = ExprContext { scope: &scope, clause: Clause::Qualify, calls: Some(calls) };
        let mut typed = self.predicate(condition, &mut cx)?;
        typed.expr.visit_mut(&mut |expr| {
            if let Expr::Column(column @ OUTPUTS..) = expr
                && let Bound::Typed(output) = &parts.outputs[*column - OUTPUTS].value
            {
                *expr = output.expr.clone();
            }
        });
        if typed.expr.any(&mut |e| matches!(e, Expr::Column(SETS..))) {
            return Err(Error::unsupported(
                "a set-returning function in QUALIFY",
                "Filter in an outer query.",
            ));
        }
        Ok(typed)
    }

    /// The items of GROUP BY, and the sets that they mean together.
    fn grouping_sets(
        &mut self,
        items: &[ast::Expr],
        scope: &Scope,
        parts: &mut Parts,
    ) -> Result<()> {
        let (mark, items) = match items.split_first() {
            Some((first, rest)) if grouping_sets::is_distinct(first) => (true, rest),
            _ => (false, items),
        };
        if items.is_empty() {
            return Ok(());
        }
        parts.grouping_sets = vec![vec![]];
        for item in items {
            let of_item = sets_of(item, &mut |expr| self.group_item(expr, scope, parts))?;
            parts.grouping_sets = grouping_sets::multiply(&parts.grouping_sets, &of_item)?;
        }
        if mark {
            parts.grouping_sets = grouping_sets::distinct(std::mem::take(&mut parts.grouping_sets));
        }
        Ok(())
    }

    /// An expression of GROUP BY: any, an input column, a number or name of the select list.
    /// Answers its position among them.
    fn group_item(&mut self, item: &ast::Expr, scope: &Scope, parts: &mut Parts) -> Result<usize> {
        let item = order::bare(item);
        let position = self.expr_position(item);
        let number = order::ordinal(item, "GROUP BY").map_err(|e| e.at(position))?;
        let output = match (number, item) {
            (Some(number), _) => Some(
                position_in(parts, number)
                    .ok_or_else(|| order::no_such_position("GROUP BY", number).at(position))?,
            ),
            (None, ast::Expr::Identifier(ident)) => {
                let wanted = name::ident(ident);
                match scope.named(&wanted).next() {
                    Some(_) => None,
                    None => self.output_of_name(parts, &wanted, "GROUP BY", position)?,
                }
            }
            _ => None,
        };
        let typed = match output {
            Some(index) => self.settle_output(parts, index)?,
            None => {
                let mut cx = ExprContext::plain(scope, Clause::GroupBy);
                self.typed_expr(item, &mut cx)?
            }
        };
        let mut forbidden = None;
        let mut has_sets = false;
        typed.expr.visit(&mut |expr| match expr {
            Expr::Column(SETS..) => has_sets = true,
            Expr::Column(WINDOWS..) => forbidden = Some((SqlState::WINDOWING_ERROR, "window")),
            Expr::Column(AGGREGATES..) => {
                forbidden = Some((SqlState::GROUPING_ERROR, "aggregate"));
            }
            Expr::Column(GROUPINGS..) => {
                forbidden = Some((SqlState::GROUPING_ERROR, "grouping"));
            }
            _ => {}
        });
        if has_sets {
            return Err(unsupported_set(
                "a set-returning function in GROUP BY",
                "Call it in FROM and group by its column.",
            )
            .at(position));
        }
        if let Some((code, what)) = forbidden {
            let things = if what == "grouping" { "operations" } else { "functions" };
            let message = format!("{what} {things} are not allowed in GROUP BY");
            return Err(Error::new(code, message).at(position));
        }
        let known = parts.group.iter().position(|other| other.expr == typed.expr);
        Ok(known.unwrap_or_else(|| {
            parts.group.push(typed);
            parts.group.len() - 1
        }))
    }

    /// An item of ORDER BY or DISTINCT ON.
    fn target(
        &mut self,
        expr: &ast::Expr,
        clause: Clause,
        scope: &Scope,
        calls: &mut Calls,
        parts: &mut Parts,
    ) -> Result<Target> {
        let expr = order::bare(expr);
        let position = self.expr_position(expr);
        let word = clause.name();
        if let Some(number) = order::ordinal(expr, word).map_err(|e| e.at(position))? {
            return position_in(parts, number)
                .map(Target::Output)
                .ok_or_else(|| order::no_such_position(word, number).at(position));
        }
        if let ast::Expr::Identifier(ident) = expr {
            let wanted = name::ident(ident);
            if let Some(index) = self.output_of_name(parts, &wanted, word, position)? {
                return Ok(Target::Output(index));
            }
        }
        let mut cx = ExprContext { scope, clause, calls: Some(calls) };
        let typed = self.typed_expr(expr, &mut cx)?;
        let same = parts.outputs.iter().position(
            |output| matches!(&output.value, Bound::Typed(other) if other.expr == typed.expr),
        );
        if let Some(index) = same {
            return Ok(Target::Output(index));
        }
        let known = parts.extras.iter().position(|other| other.expr == typed.expr);
        Ok(Target::Extra(known.unwrap_or_else(|| {
            parts.extras.push(typed);
            parts.extras.len() - 1
        })))
    }

    /// The column of the select list that has a name, where that means one thing.
    fn output_of_name(
        &self,
        parts: &Parts,
        wanted: &str,
        clause: &str,
        position: Option<u32>,
    ) -> Result<Option<usize>> {
        let mut named = parts.outputs.iter().enumerate().filter(|(_, o)| o.name == wanted);
        let Some((index, first)) = named.next() else { return Ok(None) };
        if named.any(|(_, other)| other.value != first.value) {
            return Err(Error::new(
                SqlState::AMBIGUOUS_COLUMN,
                format!("{clause} \"{wanted}\" is ambiguous"),
            )
            .at(position));
        }
        Ok(Some(index))
    }

    /// A column of the select list with the type that it has.
    fn settle_output(&mut self, parts: &mut Parts, index: usize) -> Result<Typed> {
        let typed = self.settle(parts.outputs[index].value.clone())?;
        parts.outputs[index].value = typed.clone().into();
        Ok(typed)
    }

    /// Groups the rows, where the query does.
    fn group(
        &mut self,
        plan: Plan,
        mut parts: Parts,
        scope: &Scope,
        calls: &mut Calls,
    ) -> Result<(Plan, Parts)> {
        if !parts.grouped {
            return Ok((plan, parts));
        }
        let group = std::mem::take(&mut parts.group);
        let mut windows = std::mem::take(&mut calls.windows);
        let mut aggregates = std::mem::take(&mut calls.aggregates);
        let direct = std::mem::take(&mut calls.direct);
        let groupings = std::mem::take(&mut calls.groupings);
        let grouped_by = group.len();
        let common = grouping_sets::common(&parts.grouping_sets, grouped_by);
        let mut grouping = Grouping::new(scope, calls, (group, common), aggregates.len());
        let mut exprs: Vec<&mut Expr> = vec![];
        for output in &mut parts.outputs {
            if let Bound::Typed(typed) = &mut output.value {
                exprs.push(&mut typed.expr);
            }
        }
        exprs.extend(parts.extras.iter_mut().map(|typed| &mut typed.expr));
        let listed = exprs.len();
        let conditions = parts.having.iter_mut().chain(&mut parts.qualify);
        exprs.extend(conditions.map(|typed| &mut typed.expr));
        exprs.extend(parts.sets.iter_mut().flat_map(|call| &mut call.args));
        exprs.extend(windows.iter_mut().flat_map(WindowUse::exprs_mut));
        for expr in &exprs {
            grouping.admit(expr)?;
        }
        for (expr, position) in &direct {
            grouping.admit(expr).map_err(|e| of_direct_argument(e, *position))?;
        }
        let masks = groupings.iter().map(|(args, at)| grouping.grouping_args(args, *at));
        let masks = masks.collect::<Result<Vec<Set>>>()?;
        let (of_list, others) = exprs.split_at_mut(listed);
        of_list.iter_mut().for_each(|expr| grouping.rewrite_output(expr));
        others.iter_mut().for_each(|expr| grouping.rewrite(expr));
        let mut group = grouping.into_group();
        calls.windows = windows;
        let of_aggregates = aggregates.iter_mut().flat_map(Aggregate::exprs_mut);
        let read = group.iter_mut().map(|typed| &mut typed.expr).chain(of_aggregates);
        let plan = self.place(plan, read);
        let mut plan = match &parts.grouping_sets[..] {
            several @ [_, _, ..] => {
                let sets = (several, grouped_by);
                let plan = self.reduced_by_sets(plan, &group, sets, &aggregates, &masks);
                parts.outputs.iter_mut().for_each(Output::may_be_null);
                parts.extras.iter_mut().for_each(|typed| typed.ty.nullable = true);
                calls.windows.iter_mut().for_each(WindowUse::may_be_null);
                plan
            }
            sets => {
                let set = sets.first().cloned().unwrap_or_default();
                let masks = masks.iter().map(|args| grouping_sets::mask(args, &set)).collect();
                self.reduced(plan, group, aggregates).map(masks)
            }
        };
        if let Some(having) = parts.having.take() {
            plan = self.restrict(plan, vec![having.expr]);
        }
        Ok((plan, parts))
    }

    /// Computes the windows and puts their columns into the expressions.
    fn windows(&mut self, plan: Plan, mut parts: Parts, mut calls: Calls) -> (Plan, Parts) {
        let read = calls.windows.iter_mut().flat_map(WindowUse::exprs_mut);
        let plan = self.place(plan, read);
        let (mut plan, columns) = compute_windows(plan, calls.windows);
        let place = |expr: &mut Expr| {
            expr.map_columns(|column| match column {
                WINDOWS..SETS => columns[column - WINDOWS],
                _ => column,
            });
        };
        parts.sets.iter_mut().flat_map(|call| &mut call.args).for_each(place);
        for output in &mut parts.outputs {
            if let Bound::Typed(typed) = &mut output.value {
                place(&mut typed.expr);
            }
        }
        parts.extras.iter_mut().for_each(|typed| place(&mut typed.expr));
        if let Some(mut qualify) = parts.qualify.take() {
            place(&mut qualify.expr);
            plan = self.restrict(plan, vec![qualify.expr]);
        }
        (plan, parts)
    }

    /// Calls the functions that return rows and puts their columns into the expressions.
    fn expand_sets(&mut self, plan: Plan, mut parts: Parts) -> (Plan, Parts) {
        if parts.sets.is_empty() {
            return (plan, parts);
        }
        let plan = self.place(plan, parts.sets.iter_mut().flat_map(|call| &mut call.args));
        let (plan, columns) = call_sets(plan, std::mem::take(&mut parts.sets));
        for output in &mut parts.outputs {
            if let Bound::Typed(typed) = &mut output.value {
                place(&mut typed.expr, &columns);
            }
        }
        parts.extras.iter_mut().for_each(|typed| place(&mut typed.expr, &columns));
        (plan, parts)
    }

    /// The select list, DISTINCT and the order.
    fn finish(&mut self, plan: Plan, parts: Parts, keep_literals: bool) -> Result<Query> {
        let (plan, parts) = self.expand_sets(plan, parts);
        let Parts { outputs, extras, order, distinct, .. } = parts;
        let (mut columns, mut exprs) = (vec![], vec![]);
        for output in outputs {
            let literal = match &output.value {
                Bound::Unknown { text, .. } if keep_literals => Some(text.clone()),
                _ => None,
            };
            let typed = self.settle(output.value)?;
            columns.push(OutputColumn { name: output.name, ty: typed.ty, literal });
            exprs.push(typed);
        }
        let width = exprs.len();
        exprs.extend(extras);
        let column = |target: &Target| match target {
            Target::Output(index) => *index,
            Target::Extra(index) => width + index,
        };
        let arity = exprs.len();
        let plan = self.place(plan, exprs.iter_mut().map(|typed| &mut typed.expr));
        let mut plan = plan.select(exprs);
        let scalar = |column: usize| plan.types[column].scalar;
        comparable::ordered(order.iter().map(|(target, ..)| scalar(column(target))))?;
        match &distinct {
            Distinctness::No => {}
            Distinctness::Rows => comparable::equal((0..width).map(scalar))?,
            Distinctness::On(on) => comparable::equal(on.iter().map(|on| scalar(column(on))))?,
        }
        let order: Vec<_> = order
            .iter()
            .map(|(target, descending, nulls_first)| ColumnOrder {
                column: column(target),
                descending: *descending,
                nulls_first: *nulls_first,
            })
            .collect();
        match distinct {
            Distinctness::No => {}
            Distinctness::Rows => {
                if arity > width {
                    return Err(Error::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                    ));
                }
                plan = plan.distinct();
            }
            Distinctness::On(on) => {
                let on: Vec<usize> = on.iter().map(column).collect();
                let leading = order.iter().take_while(|o| on.contains(&o.column)).count();
                let first = &order[..leading];
                let missing = on.iter().any(|c| !first.iter().any(|o| o.column == *c));
                if leading < order.len() && missing {
                    return Err(Error::new(
                        SqlState::INVALID_COLUMN_REFERENCE,
                        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
                    ));
                }
                plan = plan.top(on, order.clone(), Some(1), 0);
            }
        }
        Ok(Query { order, ..Query::of(plan, columns) })
    }
}

/// The column of the select list that has a number.
fn position_in(parts: &Parts, number: i64) -> Option<usize> {
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    (index < parts.outputs.len()).then_some(index)
}

/// The fault of an argument that is not the same for all rows of a group.
fn of_direct_argument(error: Error, position: Option<u32>) -> Error {
    error
        .at(position)
        .with_detail("Direct arguments of an ordered-set aggregate must use only grouped columns.")
}

/// Refuses what the parser takes from other dialects.
fn refuse_foreign(select: &ast::Select) -> Result<()> {
    let foreign = select.top.is_some()
        || select.select_modifiers.is_some()
        || select.exclude.is_some()
        || !select.lateral_views.is_empty()
        || select.prewhere.is_some()
        || !select.connect_by.is_empty()
        || !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
        || select.value_table_mode.is_some()
        || select.flavor != ast::SelectFlavor::Standard;
    if foreign {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in SELECT"));
    }
    if select.into.is_some() {
        return Err(Error::unsupported("SELECT INTO", "Write CREATE TABLE … AS."));
    }
    Ok(())
}
