//! The queries around a query, whose columns a subquery may use.
//!
//! While a subquery is bound, the scope that its expression stands in is a [`Level`]. A name that
//! the subquery's own FROM does not have is looked for there, from the innermost level outwards.
//! What is found becomes an argument of the subquery: an expression over the outer row, to which
//! the subquery refers by its number ([`Expr::Outer`]). So all that happens to the outer query
//! (grouping, a join that moves its columns) happens to the arguments, and nothing has to be
//! changed inside the subquery.
//!
//! The items of FROM before a LATERAL one are a level too. A derived table without LATERAL does not
//! see those of its own FROM: they are `hidden` for so long.

use std::collections::BTreeSet;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::scalar::Expr;
use crate::repr::ColumnType;
use crate::sql::bind::aggregate::{AGGREGATES, not_allowed};
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::{Scope, Table};

/// The column of the outer row that stands for an aggregate of that query, until it is known which.
const PENDING: usize = 1 << 42;

/// A query around the one that is being bound.
pub struct Level {
    /// Its names.
    scope: Scope,
    /// What is taken from its rows so far.
    args: Vec<Typed>,
    /// Where each of that was first used.
    positions: Vec<Option<u32>>,
    /// Whether it cannot be seen from where binding is.
    hidden: bool,
    /// Aggregates of that query that were written in the subquery.
    aggregates: Vec<Aggregate>,
    /// Arguments that stood in conditions which are decided without them.
    folded: BTreeSet<usize>,
}

/// What a subquery takes from the query around it.
pub struct Taken {
    /// Expressions over the outer row.
    pub args: Vec<Typed>,
    positions: Vec<Option<u32>>,
    aggregates: Vec<Aggregate>,
    folded: BTreeSet<usize>,
}

impl Taken {
    /// What an item of FROM takes from those before it. Errors: 42803.
    pub fn columns(self, position: Option<u32>) -> Result<Vec<Typed>> {
        if self.aggregates.is_empty() {
            return Ok(self.args);
        }
        let message = "aggregate functions are not allowed in FROM clause of their own query level";
        Err(Error::new(SqlState::GROUPING_ERROR, message).at(position))
    }
}

impl Binder<'_, '_> {
    /// Binds something inside the scope of another query, and says what it took from there.
    pub fn inside<T>(
        &mut self,
        scope: &Scope,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Taken)> {
        self.levels.push(Level {
            scope: scope.clone(),
            args: vec![],
            positions: vec![],
            hidden: false,
            aggregates: vec![],
            folded: BTreeSet::new(),
        });
        let bound = bind(self);
        let level = self.levels.pop().ok_or_else(|| Error::internal("a level was lost"))?;
        let Level { args, positions, aggregates, folded, .. } = level;
        Ok((bound?, Taken { args, positions, aggregates, folded }))
    }

    /// Folds a condition. What it takes from outside is still taken, as far as checks go.
    pub fn fold_condition(&mut self, condition: &mut Expr) {
        let taken = |condition: &Expr| {
            let mut taken = BTreeSet::new();
            condition.visit(&mut |node| {
                if let Expr::Outer { level, index, .. } = node {
                    taken.insert((*level, *index));
                }
            });
            taken
        };
        let before = taken(condition);
        condition.fold(self.cx.settings);
        for (level, index) in before.difference(&taken(condition)) {
            if let Some(level) = self.levels.get_mut(*level) {
                level.folded.insert(*index);
            }
        }
    }

    /// Runs `bind` where the levels from `base` on cannot be seen.
    pub fn hiding<T>(
        &mut self,
        base: usize,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before: Vec<bool> = self.levels.iter().map(|level| level.hidden).collect();
        self.levels.iter_mut().skip(base).for_each(|level| level.hidden = true);
        let bound = bind(self);
        for (level, hidden) in self.levels.iter_mut().zip(before) {
            level.hidden = hidden;
        }
        bound
    }

    /// The column of an enclosing query that a name means, if any.
    pub fn outer_column(
        &mut self,
        position: Option<u32>,
        find: impl Fn(&Scope) -> Result<Option<Typed>>,
    ) -> Result<Option<Typed>> {
        for level in (0..self.levels.len()).rev() {
            if self.levels[level].hidden {
                continue;
            }
            if let Some(found) = find(&self.levels[level].scope)? {
                return Ok(Some(self.outer(level, found, position)));
            }
        }
        Ok(None)
    }

    /// The table of an enclosing query that has a name, and the level of that query.
    pub fn outer_table(&self, name: &str) -> Option<(usize, Table)> {
        let mut levels = self.levels.iter().enumerate().rev().filter(|(_, level)| !level.hidden);
        levels.find_map(|(at, level)| Some((at, level.scope.table(None, name)?.clone())))
    }

    /// Whether a table of that name is there but cannot be seen from here.
    pub fn is_hidden_table(&self, schema: Option<&str>, name: &str) -> bool {
        let mut hidden = self.levels.iter().filter(|level| level.hidden);
        hidden.any(|level| level.scope.table(schema, name).is_some())
    }

    /// An argument that is taken from a level.
    pub fn outer(&mut self, level: usize, value: Typed, position: Option<u32>) -> Typed {
        let Level { args, positions, .. } = &mut self.levels[level];
        let index = args.iter().position(|arg| *arg == value).unwrap_or(args.len());
        let ty = value.ty;
        if index == args.len() {
            args.push(value);
            positions.push(position);
        }
        Typed { expr: Expr::Outer { level, index, ty }, ty }
    }

    /// The value of an argument over the outer row.
    pub fn outer_value(&self, level: usize, index: usize) -> &Typed {
        &self.levels[level].args[index]
    }

    /// An aggregate of an enclosing query: `of` is over that query's rows.
    pub fn outer_aggregate(&mut self, level: usize, of: Aggregate, position: Option<u32>) -> Typed {
        let ty: ColumnType = of.func.output_type();
        let aggregates = &mut self.levels[level].aggregates;
        aggregates.push(of);
        let column = PENDING + aggregates.len() - 1;
        self.outer(level, Typed::column(column, ty), position)
    }

    /// The arguments of a subquery, with the aggregates among them given to the query around; what
    /// only those used is taken no more.
    pub fn settle_taken(
        &mut self,
        taken: Taken,
        used: impl Fn(usize) -> bool,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Vec<Typed>> {
        let Taken { mut args, positions, aggregates, folded } = taken;
        if !aggregates.is_empty() {
            let is_unused = |index: usize| !used(index) && !folded.contains(&index);
            let unused = args.iter_mut().enumerate().filter(|(index, _)| is_unused(*index));
            unused.for_each(|(_, arg)| *arg = Typed::boolean(true));
        }
        if let Some(calls) = &mut cx.calls {
            for (arg, position) in args.iter().zip(positions) {
                if let Expr::Column(column @ ..AGGREGATES) = arg.expr {
                    calls.note_use(column, position);
                }
            }
        }
        if aggregates.is_empty() {
            return Ok(args);
        }
        let clause = cx.clause;
        let Some(calls) = &mut cx.calls else { return Err(not_allowed(clause).at(position)) };
        let numbers: Vec<usize> = aggregates.into_iter().map(|a| calls.add(a)).collect();
        for arg in &mut args {
            if let Expr::Column(column @ PENDING..) = &mut arg.expr {
                *column = AGGREGATES + numbers[*column - PENDING];
            }
        }
        Ok(args)
    }

    /// The error of a name whose table is in FROM, but not to be seen from here.
    pub fn hidden_table(&self, name: &str) -> Error {
        Error::new(
            SqlState::UNDEFINED_TABLE,
            format!("invalid reference to FROM-clause entry for table \"{name}\""),
        )
        .with_detail(format!(
            "There is an entry for table \"{name}\", but it cannot be referenced from this part of \
             the query."
        ))
    }
}
