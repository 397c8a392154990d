//! From expressions over a query's input to expressions over its groups.
//!
//! What equals a grouping expression is that column of the grouped relation, what stands for an
//! aggregate is its column, and any other column of the input is an error (42803) unless the
//! grouping columns hold its table's primary key: then it is added to the key, which changes
//! nothing about the groups.

use std::collections::BTreeMap;

use bumpalo::Bump;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::aggregate::fold::Fold;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::repr::Datum;
use crate::repr::settings::FormatSettings;
use crate::sql::bind::aggregate::{AGGREGATES, Calls, GROUPINGS, WINDOWS};
use crate::sql::bind::context::Binder;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;

/// The grouping of a query.
pub struct Grouping<'a> {
    /// The names of the input, for messages and for keys.
    scope: &'a Scope,
    /// Where columns were used.
    calls: &'a Calls,
    /// The grouping expressions, then the columns that depend on them.
    group: Vec<Typed>,
    /// The position of each grouping expression.
    index: BTreeMap<usize, usize>,
    /// How many aggregates there are.
    aggregates: usize,
    /// Those of the grouping expressions that are in every grouping set.
    common: Vec<usize>,
}

impl<'a> Grouping<'a> {
    /// A grouping by these expressions, of which those in `common` are in every grouping set.
    pub fn new(
        scope: &'a Scope,
        calls: &'a Calls,
        (group, common): (Vec<Typed>, Vec<usize>),
        aggregates: usize,
    ) -> Grouping<'a> {
        let index = BTreeMap::new();
        let mut grouping = Grouping { scope, calls, group, index, aggregates, common };
        for (i, typed) in grouping.group.iter().enumerate() {
            if let Expr::Column(column) = typed.expr {
                grouping.index.entry(column).or_insert(i);
            }
        }
        grouping
    }

    /// Takes in what an expression needs beside the grouping expressions. Errors: 42803.
    pub fn admit(&mut self, expr: &Expr) -> Result<()> {
        if self.position(expr).is_some() {
            return Ok(());
        }
        match expr {
            Expr::Column(column) if *column < GROUPINGS => self.admit_column(*column),
            Expr::Subquery { args, .. } => args.iter().try_for_each(|arg| match arg {
                Expr::Column(column) if *column < GROUPINGS => self.admit(arg).map_err(|error| {
                    let name = self.scope.describe(*column);
                    let message =
                        format!("subquery uses ungrouped column \"{name}\" from outer query");
                    Error { message, ..error }
                }),
                other => self.admit(other),
            }),
            _ => {
                let mut result = Ok(());
                expr.for_each_child(&mut |child| {
                    if result.is_ok() {
                        result = crate::sql::stack::level(|| self.admit(child));
                    }
                });
                result
            }
        }
    }

    fn admit_column(&mut self, column: usize) -> Result<()> {
        let table = self.scope.tables.iter().find(|table| {
            table.columns.iter().any(|c| c.index == column)
                && table
                    .primary_key
                    .as_ref()
                    .is_some_and(|key| key.iter().all(|c| self.is_common(*c)))
        });
        let found = table.and_then(|t| t.columns.iter().find(|c| c.index == column));
        let Some(found) = found else {
            return Err(Error::new(
                SqlState::GROUPING_ERROR,
                format!(
                    "column \"{}\" must appear in the GROUP BY clause or be used in an aggregate \
                     function",
                    self.scope.describe(column)
                ),
            )
            .at(self.calls.first_use(column)));
        };
        self.index.insert(column, self.group.len());
        self.group.push(Typed::column(column, found.ty));
        Ok(())
    }

    /// Whether a column is grouped by in every set.
    fn is_common(&self, column: usize) -> bool {
        self.index.get(&column).is_some_and(|position| self.common.contains(position))
    }

    /// The positions of the arguments of GROUPING. Errors: 42803 where one is not grouped by.
    pub fn grouping_args(&self, args: &[Expr], position: Option<u32>) -> Result<Vec<usize>> {
        let found = args.iter().map(|arg| {
            self.position(arg).ok_or_else(|| {
                Error::new(
                    SqlState::GROUPING_ERROR,
                    "arguments to GROUPING must be grouping expressions of the associated query \
                     level",
                )
                .at(position)
            })
        });
        found.collect()
    }

    fn position(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Column(column) => self.index.get(column).copied(),
            // A constant is the same in every grouping set.
            Expr::Literal(_) => None,
            _ => self.group.iter().position(|typed| typed.expr == *expr),
        }
    }

    /// As [`Grouping::rewrite`], of a whole column of the select list, which may itself be what
    /// rows are grouped by.
    pub fn rewrite_output(&self, expr: &mut Expr) {
        match self.group.iter().position(|typed| typed.expr == *expr) {
            Some(position) => *expr = Expr::Column(position),
            None => self.rewrite(expr),
        }
    }

    /// Rewrites an admitted expression.
    pub fn rewrite(&self, expr: &mut Expr) {
        if let Some(position) = self.position(expr) {
            *expr = Expr::Column(position);
            return;
        }
        if let Expr::Column(column) = expr {
            if (AGGREGATES..WINDOWS).contains(column) {
                *column = self.group.len() + (*column - AGGREGATES);
            } else if (GROUPINGS..AGGREGATES).contains(column) {
                *column = self.group.len() + self.aggregates + (*column - GROUPINGS);
            }
            return;
        }
        expr.for_each_child_mut(&mut |child| crate::sql::stack::level(|| self.rewrite(child)));
    }

    /// The grouping expressions with what was admitted beside them.
    pub fn into_group(self) -> Vec<Typed> {
        self.group
    }
}

/// What an aggregate over no rows is.
fn over_nothing(aggregate: &Aggregate) -> Typed {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let ty = aggregate.func.output_type();
    match Fold::new(aggregate, vec![]).finish(&cx) {
        Ok(Datum::Null) => Typed::null(ty),
        Ok(datum) => Typed::literal(datum, ty.scalar),
        Err(error) => Typed { expr: Expr::Raise(error, ty), ty },
    }
}

impl Binder<'_, '_> {
    /// The groups of a plan. Without grouping expressions there is one group, also of no rows.
    pub fn reduced(&mut self, plan: Plan, group: Vec<Typed>, aggregates: Vec<Aggregate>) -> Plan {
        if !group.is_empty() {
            return plan.reduce(group, aggregates);
        }
        let defaults: Vec<Typed> = aggregates.iter().map(over_nothing).collect();
        let reduced = plan.reduce(group, aggregates);
        let id = self.fresh_let();
        reduced.shared(id, |one| {
            // The row of defaults is there exactly where the row of aggregates is not.
            let absent = Plan::unit().union(one.clone().project(vec![]).negate());
            one.union(absent.map(defaults))
        })
    }
}
