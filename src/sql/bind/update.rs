//! UPDATE, DELETE and what INSERT does where a key is there already.
//!
//! `FROM` and `USING` join other rows with those of the table. A row of the table is changed once,
//! by whichever of its partners: so each is given one of them ([`Binder::nearest`] without an
//! order), and the partner's columns come last in what is selected, for RETURNING.
//!
//! `ON CONFLICT DO UPDATE` is an UPDATE of the rows that are there, joined by their key with the
//! new ones: a binding, `excluded`, that the session fills.

use std::borrow::Cow;
use std::sync::Arc;

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::{ColumnDefault, Item, ItemKind, Table};
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::{Equivalence, Relation};
use crate::plan::statement::{Delete, OnConflict, Returning, Statement, Update};
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc};
use crate::sql::bind::aggregate::Calls;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::from::table_of;
use crate::sql::bind::join::JoinKind;
use crate::sql::bind::name;
use crate::sql::bind::record;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;
use crate::sql::bind::write::{column_of, named_table};
use crate::sql::parse::ast as syntax;

impl Binder<'_, '_> {
    /// What happens to a row whose key is there.
    pub fn on_conflict(
        &mut self,
        item: &Arc<Item>,
        table: &Table,
        scope: &Scope,
        on: Option<&ast::OnInsert>,
    ) -> Result<OnConflict> {
        let Some(on) = on else { return Ok(OnConflict::Fail) };
        let ast::OnInsert::OnConflict(conflict) = on else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in INSERT"));
        };
        if table.attribute().is_some() {
            return Err(Error::unsupported(
                format!("ON CONFLICT of attribute \"{}\"", item.name),
                "A fact that is there stays; a new value of one that is not MANY replaces.",
            ));
        }
        let arbiter = self.conflict_arbiter(item, table, conflict.conflict_target.as_ref())?;
        let update = match &conflict.action {
            ast::OnConflictAction::DoNothing => {
                let keys = self.unique_keys(item, table).len();
                let keys = keys + usize::from(table.primary_key.is_some());
                if arbiter.is_some() && keys > 1 {
                    return Err(Error::unsupported(
                        "ON CONFLICT (…) DO NOTHING in a table with other unique keys",
                        "Write ON CONFLICT DO NOTHING.",
                    ));
                }
                return Ok(OnConflict::Nothing);
            }
            ast::OnConflictAction::DoUpdate(update) => update,
        };
        let Some((key, by)) = arbiter else {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            )
            .with_hint("For example, ON CONFLICT (column_name)."));
        };
        let width = table.desc.arity();
        let new = crate::sql::bind::scope::Table { name: "excluded".into(), ..table_of(item) };
        let scope = scope.clone().join(Scope::of_table(new), width)?;
        let excluded = self.fresh_let();
        let mut rows = self.read(item)?.cross(Plan::local(excluded, table.desc.types()));
        if let Relation::Join { equivalences, .. } = &mut rows.relation {
            equivalences.extend(key.iter().map(|&column| {
                Equivalence::new(vec![Expr::Column(column), Expr::Column(column + width)])
            }));
        }
        if let Some(selection) = &update.selection {
            let mut cx = ExprContext::plain(&scope, Clause::Where);
            let predicate = self.predicate(selection, &mut cx)?;
            rows = self.restrict(rows, vec![predicate.expr]);
        }
        let new = self.new_row(item, table, &update.assignments, &scope)?;
        let selection = self.changed(rows, width, new).relation;
        Ok(OnConflict::Update { excluded, selection, by })
    }

    /// By which columns a row is looked for, and by which index, where it is no primary key.
    /// Errors: 42P10 where the columns are no key, 42704 where the constraint is none.
    fn conflict_arbiter(
        &self,
        item: &Item,
        table: &Table,
        target: Option<&ast::ConflictTarget>,
    ) -> Result<Option<(Vec<usize>, Option<GlobalId>)>> {
        let primary = table.primary_key.iter();
        let primary = primary.map(|key| (key.name.clone(), key.columns.clone(), None));
        let others = self.unique_keys(item, table).into_iter();
        let others = others.map(|(name, columns, index)| (name, columns, Some(index)));
        let mut keys = primary.chain(others);
        match target {
            None => Ok(None),
            Some(ast::ConflictTarget::Columns { columns, .. }) => {
                let mut names: Vec<String> = columns.iter().map(name::ident).collect();
                names.sort();
                names.dedup();
                let columns = columns.iter().map(|column| (column, name::ident(column)));
                for (column, wanted) in columns {
                    if !table.desc.columns.iter().any(|c| c.name == wanted) {
                        let message = format!("column \"{wanted}\" does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message)
                            .at(self.position(column.span)));
                    }
                }
                let found = keys.find(|(_, columns, _)| {
                    let mut key: Vec<_> =
                        columns.iter().map(|c| table.desc.columns[*c].name.clone()).collect();
                    key.sort();
                    key == names
                });
                if let Some((_, columns, by)) = found {
                    return Ok(Some((columns, by)));
                }
                Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    "there is no unique or exclusion constraint matching the ON CONFLICT \
                     specification",
                ))
            }
            Some(ast::ConflictTarget::OnConstraint(object)) => {
                let wanted = self.qualified(object)?.name;
                match keys.find(|(name, ..)| *name == wanted) {
                    Some((_, columns, by)) => Ok(Some((columns, by))),
                    None => Err(Error::new(
                        SqlState::UNDEFINED_OBJECT,
                        format!(
                            "constraint \"{wanted}\" for table \"{}\" does not exist",
                            item.name
                        ),
                    )),
                }
            }
        }
    }

    /// RETURNING over a row and what is joined with it, columns of these types.
    pub fn returning(
        &mut self,
        scope: &Scope,
        types: &[ColumnType],
        items: Option<&[ast::SelectItem]>,
    ) -> Result<Option<Returning>> {
        let Some(items) = items else { return Ok(None) };
        let mut calls = Calls::default();
        let outputs = self.select_list(items, scope, &mut calls, Clause::Returning)?;
        let (mut exprs, mut columns) = (vec![], vec![]);
        for output in outputs {
            let typed = self.settle(output.value)?;
            columns.push(ColumnDesc { name: output.name, ty: typed.ty });
            exprs.push(typed.expr);
        }
        let desc = RelationDesc { columns, keys: vec![] };
        let input = types.iter().map(|ty| ty.scalar).collect();
        Ok(Some(Returning { exprs, input, desc }))
    }

    /// UPDATE.
    pub fn update(&mut self, update: &ast::Update) -> Result<Statement> {
        use ast::UpdateTableFromKind::{AfterSet, BeforeSet};
        let from = match &update.from {
            None => &[],
            Some(AfterSet(items)) => items.as_slice(),
            Some(BeforeSet(_)) => {
                let message = "syntax error at or near \"FROM\"";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        };
        let (item, alias) = self.written_table(&update.table, "updating")?;
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("not a table"));
        };
        let width = table.desc.arity();
        let scope = Scope::of_table(named_table(&item, alias));
        let (scope, others) = self.beside(scope, width, from)?;
        let new = self.new_row(&item, table, &update.assignments, &scope)?;
        let rows = self.filtered(&item, &scope, others, update.selection.as_ref())?;
        let returning = self.returning(&scope, &rows.types, update.returning.as_deref())?;
        let selection = self.changed(rows, width, new).relation;
        Ok(Statement::Update(Update { table: item.id, selection, returning }))
    }

    /// What FROM or USING joins with a table of so many columns, and all names together.
    fn beside(
        &mut self,
        scope: Scope,
        width: usize,
        items: &[ast::TableWithJoins],
    ) -> Result<(Scope, Option<Plan>)> {
        if items.is_empty() {
            return Ok((scope, None));
        }
        let others = self.from(items)?;
        Ok((scope.join(others.scope, width)?, Some(others.plan)))
    }

    /// The rows of a table as they are, as they become, and the columns behind theirs.
    fn changed(&mut self, rows: Plan, width: usize, mut new: Vec<Typed>) -> Plan {
        let types = rows.types.clone();
        let rows = self.place(rows, new.iter_mut().map(|typed| &mut typed.expr));
        let column = |at: usize| Typed::column(at, types[at]);
        let others = width..types.len();
        rows.select((0..width).map(column).chain(new).chain(others.map(column)).collect())
    }

    /// What the assignments of SET make of a row.
    pub fn new_row(
        &mut self,
        item: &Item,
        table: &Table,
        written: &[ast::Assignment],
        scope: &Scope,
    ) -> Result<Vec<Typed>> {
        let columns = table.desc.columns.iter().enumerate();
        let mut new: Vec<Typed> = columns.map(|(at, c)| Typed::column(at, c.ty)).collect();
        let mut assigned = vec![];
        for (object, value) in self.assignments(written, scope)? {
            let position = self.position(object.span());
            let column = self.qualified(object)?;
            let at = column_of(item, table, &column.name).map_err(|e| e.at(position))?;
            if assigned.contains(&at) {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("multiple assignments to same column \"{}\"", column.name),
                )
                .at(position));
            }
            assigned.push(at);
            new[at] = self.assigned(table, at, &value, scope)?;
        }
        Ok(new)
    }

    fn assigned(
        &mut self,
        table: &Table,
        at: usize,
        value: &ast::Expr,
        scope: &Scope,
    ) -> Result<Typed> {
        let column = &table.desc.columns[at];
        let always =
            matches!(&table.defaults[at], Some(ColumnDefault::Sequence { always: true, .. }));
        let is_default = matches!(value, ast::Expr::Identifier(ident)
            if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"));
        if always && !is_default {
            return Err(Error::new(
                SqlState::GENERATED_ALWAYS,
                format!("column \"{}\" can only be updated to DEFAULT", column.name),
            )
            .with_detail(format!(
                "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                column.name
            )));
        }
        if is_default {
            return self.default_value(table, at);
        }
        let position = self.expr_position(value);
        let mut cx = ExprContext::plain(scope, Clause::Update);
        let bound = self.expr(value, &mut cx)?;
        self.assign(bound, &column.name, column.ty, position)
    }

    /// Each column of SET and its value; `(a, b) = (1, 2)` are two, and so are the columns of a
    /// query.
    fn assignments<'e>(
        &mut self,
        written: &'e [ast::Assignment],
        scope: &Scope,
    ) -> Result<Vec<(&'e ast::ObjectName, Cow<'e, ast::Expr>)>> {
        let mut all = vec![];
        for assignment in written {
            let columns = match &assignment.target {
                ast::AssignmentTarget::ColumnName(column) => {
                    all.push((column, Cow::Borrowed(&assignment.value)));
                    continue;
                }
                ast::AssignmentTarget::Tuple(columns) => columns,
            };
            let values: Vec<Cow<'e, ast::Expr>> = match &assignment.value {
                ast::Expr::Subquery(query) => {
                    let width = self.inside(scope, |binder| binder.subquery(query))?.0.1.len();
                    check_widths(columns.len(), width)?;
                    let column = |at| column_of_query(query, at, width).map(Cow::Owned);
                    (0..width).map(column).collect::<Result<_>>()?
                }
                other => {
                    let values = record::values(other).ok_or_else(|| self.no_row(other))?;
                    values.into_iter().map(Cow::Borrowed).collect()
                }
            };
            check_widths(columns.len(), values.len())?;
            all.extend(columns.iter().zip(values));
        }
        Ok(all)
    }

    fn no_row(&self, value: &ast::Expr) -> Error {
        Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
        )
        .at(self.expr_position(value))
    }

    /// DELETE.
    pub fn delete(&mut self, delete: &ast::Delete) -> Result<Statement> {
        let (ast::FromTable::WithFromKeyword(from) | ast::FromTable::WithoutKeyword(from)) =
            &delete.from;
        let [from] = from.as_slice() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "DELETE names one table"));
        };
        let (item, alias) = self.written_table(from, "deleting from")?;
        let desc = item.desc().ok_or_else(|| Error::internal("a table without columns"))?;
        let width = desc.arity();
        let scope = Scope::of_table(named_table(&item, alias));
        let using = delete.using.as_deref().unwrap_or_default();
        let (scope, others) = self.beside(scope, width, using)?;
        let rows = self.filtered(&item, &scope, others, delete.selection.as_ref())?;
        let returning = self.returning(&scope, &rows.types, delete.returning.as_deref())?;
        let (table, selection) = (item.id, rows.relation);
        Ok(Statement::Delete(Delete { table, selection, returning }))
    }

    fn written_table(
        &self,
        table: &ast::TableWithJoins,
        verb: &str,
    ) -> Result<(Arc<Item>, Option<String>)> {
        let ast::TableFactor::Table { name: object, alias, .. } = &table.relation else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error: a table is expected"));
        };
        if !table.joins.is_empty() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error: one table is expected"));
        }
        let item = self.table(object, verb)?;
        Ok((item, alias.as_ref().map(|alias| name::ident(&alias.name))))
    }

    /// The rows of a table for which a condition holds, with one of the others each.
    fn filtered(
        &mut self,
        item: &Arc<Item>,
        scope: &Scope,
        others: Option<Plan>,
        selection: Option<&ast::Expr>,
    ) -> Result<Plan> {
        let rows = self.read(item)?;
        let mut conditions = vec![];
        if let Some(selection) = selection {
            let mut cx = ExprContext::plain(scope, Clause::Where);
            conditions.push(self.predicate(selection, &mut cx)?.expr);
        }
        Ok(match others {
            None => self.restrict(rows, conditions),
            Some(others) => self.nearest(JoinKind::Inner, rows, others, conditions, None),
        })
    }
}

fn check_widths(columns: usize, values: usize) -> Result<()> {
    if columns == values {
        return Ok(());
    }
    let message = "number of columns does not match number of values";
    Err(Error::new(SqlState::SYNTAX_ERROR, message))
}

/// A column of a query, as a query.
fn column_of_query(query: &ast::Query, at: usize, width: usize) -> Result<ast::Expr> {
    let names: Vec<String> = (0..width).map(|at| format!("c{at}")).collect();
    let text = format!("SELECT c{at} FROM (SELECT 1) s ({})", names.join(", "));
    let parsed = query_of(&text)?;
    let syntax::Statement::Select(select) = parsed.ast() else {
        return Err(Error::internal("a column of a query that is none"));
    };
    let mut outer = (*select.query).clone();
    if let ast::SetExpr::Select(select) = &mut *outer.body
        && let Some(from) = select.from.first_mut()
        && let ast::TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = query.clone();
    }
    Ok(ast::Expr::Subquery(Box::new(outer)))
}
