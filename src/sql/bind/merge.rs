//! MERGE.
//!
//! The source's rows, numbered, are joined with the table's: each pair, and each row of the source
//! without a partner, is given the first action whose condition is true, and the row that it
//! makes. The session then looks whether a row of the table is changed for two rows of the source.

use std::sync::Arc;

use sqlparser::ast;

use crate::catalog::item::{Item, ItemKind, Table};
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::statement::{ColumnSource, Merge, MergeAction, Statement};
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::join::{JoinKind, Lateral};
use crate::sql::bind::name;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::Scope;
use crate::sql::bind::write::named_table;

const INT4_EQ: u32 = 65;
const INT4_GE: u32 = 150;

/// What is done to the rows for which nothing is done.
const NOTHING: i32 = -1;

/// A WHEN clause: its condition, and what it does by number.
struct When {
    condition: Expr,
    action: i32,
}

/// The actions by number, and the row that each makes.
#[derive(Default)]
struct Actions {
    actions: Vec<MergeAction>,
    made: Vec<Option<Vec<Typed>>>,
}

impl Actions {
    /// The columns of the new row, where column `at` has the number of the action.
    fn new_columns(&self, table: &Table, at: usize) -> Vec<Typed> {
        let mut new: Vec<Typed> = vec![];
        for (column, desc) in table.desc.columns.iter().enumerate() {
            let ty = ColumnType { nullable: true, ..desc.ty };
            let branches = self.made.iter().enumerate().filter_map(|(action, row)| {
                let row: &Vec<Typed> = row.as_ref()?;
                let is = Expr::call_by_oid(INT4_EQ, vec![Expr::Column(at), int4(action as i32)]);
                Some((is, row[column].expr.clone()))
            });
            let branches: Vec<(Expr, Expr)> = branches.collect();
            let otherwise = Box::new(Typed::null(ty).expr);
            let expr = match branches.is_empty() {
                true => *otherwise,
                false => Expr::Case { branches, otherwise },
            };
            new.push(Typed { expr, ty });
        }
        new
    }
}

/// The number of the first action whose condition is true.
fn choice(whens: Vec<When>) -> Expr {
    let branches = whens.into_iter().map(|when| (when.condition, int4(when.action)));
    Expr::Case { branches: branches.collect(), otherwise: Box::new(int4(NOTHING)) }
}

fn int4(value: i32) -> Expr {
    Typed::literal(Datum::Int4(value), ScalarType::Int4).expr
}

impl Binder<'_, '_> {
    /// MERGE.
    pub fn merge(&mut self, merge: &ast::Merge) -> Result<Statement> {
        let ast::TableFactor::Table { name: object, alias, .. } = &merge.table else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error: a table is expected"));
        };
        if !merge.into || merge.output.is_some() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in MERGE"));
        }
        let item = self.table(object, "merging into")?;
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("not a table"));
        };
        let width = table.desc.arity();
        let alias = alias.as_ref().map(|alias| name::ident(&alias.name));
        let from = ast::TableWithJoins { relation: merge.source.clone(), joins: vec![] };
        let source = self.from(std::slice::from_ref(&from))?;
        let number = width + 1 + source.plan.arity();
        // Behind the table's columns one says that there is a row.
        let others = Scope::default().join(source.scope.clone(), width + 1)?;
        let all = Scope::of_table(named_table(&item, alias)).join(source.scope, width + 1);
        let all = all.map_err(|error| match error.code {
            SqlState::DUPLICATE_ALIAS => {
                Error { message: error.message.replacen("table ", "", 1), ..error }
            }
            _ => error,
        })?;
        let on = self.predicate(&merge.on, &mut ExprContext::plain(&all, Clause::Join))?;
        let rows = self.read(&item)?.map(vec![Typed::boolean(true)]);
        let source = source.plan.ranked(vec![], vec![]);
        let apart = Lateral { level: self.levels.len(), args: vec![] };
        let rows = self.join_sides(JoinKind::Right, rows, source, apart, Some(on.expr));

        let (whens, plan) = self.whens(merge, &item, table, (&all, &others))?;
        let mut expr = choice(whens);
        let rows = self.place(rows, [&mut expr]);
        let at = rows.arity();
        let rows = rows.map(vec![Typed { expr, ty: ColumnType::nullable(ScalarType::Int4) }]);
        let acts = Expr::call_by_oid(INT4_GE, vec![Expr::Column(at), int4(0)]);
        let rows = self.restrict(rows, vec![acts]);

        let mut new = plan.new_columns(table, at);
        let rows = self.place(rows, new.iter_mut().map(|typed| &mut typed.expr));
        let types = rows.types.clone();
        let column = |at: usize| Typed::column(at, types[at]);
        let columns = (0..width).map(column).chain(new).chain([column(at), column(number)]);
        let selection = rows.select(columns.collect()).relation;
        Ok(Statement::Merge(Merge { table: item.id, selection, actions: plan.actions }))
    }

    /// The WHEN clauses. `all` names are for pairs, `others` for rows of the source alone.
    fn whens(
        &mut self,
        merge: &ast::Merge,
        item: &Arc<Item>,
        table: &Table,
        (all, others): (&Scope, &Scope),
    ) -> Result<(Vec<When>, Actions)> {
        let width = table.desc.arity();
        let (mut plan, mut whens) = (Actions::default(), vec![]);
        let mut ended = [false; 2];
        for clause in &merge.clauses {
            let is_matched = match clause.clause_kind {
                ast::MergeClauseKind::Matched => true,
                ast::MergeClauseKind::NotMatched => false,
                _ => return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in MERGE")),
            };
            let ended = &mut ended[usize::from(is_matched)];
            if *ended {
                let message = "unreachable WHEN clause specified after unconditional WHEN clause";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            *ended = clause.predicate.is_none();
            let names = if is_matched { all } else { others };
            let there = Expr::Column(width).is_not_null();
            let mut condition = vec![if is_matched { there } else { there.not() }];
            if let Some(predicate) = &clause.predicate {
                let mut cx = ExprContext::plain(names, Clause::MergeWhen);
                condition.push(self.predicate(predicate, &mut cx)?.expr);
            }
            let action = self.merge_action(item, table, &clause.action, names, &mut plan.made)?;
            let number = match action {
                None => NOTHING,
                Some(action) => {
                    plan.actions.push(action);
                    plan.actions.len() as i32 - 1
                }
            };
            whens.push(When { condition: Expr::and(condition), action: number });
        }
        Ok((whens, plan))
    }

    /// What an action is, and the row that it makes, which goes to `made`.
    fn merge_action(
        &mut self,
        item: &Arc<Item>,
        table: &Table,
        action: &ast::MergeAction,
        names: &Scope,
        made: &mut Vec<Option<Vec<Typed>>>,
    ) -> Result<Option<MergeAction>> {
        let refused = || Error::new(SqlState::SYNTAX_ERROR, "syntax error in MERGE");
        Ok(match action {
            ast::MergeAction::DoNothing { .. } => None,
            ast::MergeAction::Delete { .. } => {
                made.push(None);
                Some(MergeAction::Delete)
            }
            ast::MergeAction::Update(update) => {
                let ast::MergeUpdateKind::Set(assignments) = &update.kind else {
                    return Err(refused());
                };
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return Err(refused());
                }
                made.push(Some(self.new_row(item, table, assignments, names)?));
                Some(MergeAction::Update)
            }
            ast::MergeAction::Insert(insert) => {
                let ast::MergeInsertKind::Values(values) = &insert.kind else {
                    return Err(refused());
                };
                let [row] = values.rows.as_slice() else { return Err(refused()) };
                if insert.insert_predicate.is_some() {
                    return Err(refused());
                }
                let targets = self.targets(item, table, &insert.columns)?;
                let row = self.merge_row(table, &targets, &insert.columns, &row.content, names)?;
                made.push(Some(row));
                Some(MergeAction::Insert)
            }
        })
    }

    /// The row that INSERT makes of a row of the source.
    fn merge_row(
        &mut self,
        table: &Table,
        targets: &[usize],
        named: &[ast::ObjectName],
        values: &[ast::Expr],
        names: &Scope,
    ) -> Result<Vec<Typed>> {
        if values.len() > targets.len() {
            let message = "INSERT has more expressions than target columns";
            let at = values.get(targets.len()).and_then(|value| self.expr_position(value));
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        if values.len() < targets.len() && !named.is_empty() {
            let message = "INSERT has more target columns than expressions";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut row: Vec<Option<Typed>> = vec![None; table.desc.arity()];
        for (value, at) in values.iter().zip(targets) {
            let is_default = matches!(value, ast::Expr::Identifier(ident)
                if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"));
            if is_default {
                continue;
            }
            let mut given = vec![None; table.desc.arity()];
            given[*at] = Some(ColumnSource::Source(0));
            self.check_identity(table, &[*at], &mut given, None)?;
            let position = self.expr_position(value);
            let bound = self.expr(value, &mut ExprContext::plain(names, Clause::Values))?;
            let column = &table.desc.columns[*at];
            row[*at] = Some(self.assign(bound, &column.name, column.ty, position)?);
        }
        let complete = row.into_iter().enumerate().map(|(at, value)| match value {
            Some(value) => Ok(value),
            None => self.default_value(table, at),
        });
        complete.collect()
    }
}
