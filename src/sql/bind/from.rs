//! FROM: tables, views, subqueries and how they are joined.

use std::sync::Arc;

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::{Item, ItemKind, RowSource, System};
use crate::error::{Error, Result, SqlState};
use crate::plan::relation::{Id, Relation, RelationType};
use crate::repr::GlobalId;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::join::{JoinKind, Lateral};
use crate::sql::bind::name;
use crate::sql::bind::operator;
use crate::sql::bind::query::OutputColumn;
use crate::sql::bind::query::Query;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::{Absent, Column, Scope, Table};
use crate::sql::bind::table_function::is_call;

/// A relation with its names.
pub struct Source {
    /// The rows.
    pub plan: Plan,
    /// The names.
    pub scope: Scope,
}

/// The right side of a join, and what it takes from the left one.
struct Right {
    source: Source,
    level: usize,
    args: Vec<Typed>,
}

impl Right {
    /// The right side of a join that compares times. Errors: 0A000 where it takes something.
    fn alone(self) -> Result<Source> {
        if !self.args.is_empty() || self.source.plan.is_open() {
            return Err(Error::unsupported(
                "an ASOF join with a right side that names columns of the left one",
                "Write JOIN LATERAL (… ORDER BY … LIMIT 1).",
            ));
        }
        Ok(self.source)
    }
}

impl Binder<'_, '_> {
    /// What FROM lists: the product of its items, one empty row where there is none.
    pub fn from(&mut self, items: &[ast::TableWithJoins]) -> Result<Source> {
        let around = std::mem::replace(&mut self.from_base, self.levels.len());
        let source = self.product_of(items);
        self.from_base = around;
        source
    }

    fn product_of(&mut self, items: &[ast::TableWithJoins]) -> Result<Source> {
        let mut source: Option<Source> = None;
        for item in items {
            source = Some(match source {
                None => self.table_with_joins(item)?,
                Some(before) if is_call(&item.relation) && item.joins.is_empty() => {
                    self.call_after(before, &item.relation)?
                }
                Some(before) => {
                    let level = self.levels.len();
                    let (next, taken) =
                        self.inside(&before.scope, |binder| binder.table_with_joins(item))?;
                    let args = taken.columns(self.position(item.span()))?;
                    let scope = before.scope.join(next.scope, before.plan.arity())?;
                    let lateral = Lateral { level, args };
                    let plan =
                        self.join_sides(JoinKind::Inner, before.plan, next.plan, lateral, None);
                    Source { plan, scope }
                }
            });
        }
        Ok(source.unwrap_or(Source { plan: Plan::unit(), scope: Scope::default() }))
    }

    /// A function behind other items of FROM, whose columns it may name.
    fn call_after(&mut self, before: Source, factor: &ast::TableFactor) -> Result<Source> {
        let call = self.call_source(factor, &before.scope)?;
        let scope = before.scope.join(call.scope, before.plan.arity())?;
        Ok(Source { plan: before.plan.cross(call.plan), scope })
    }

    fn table_with_joins(&mut self, item: &ast::TableWithJoins) -> Result<Source> {
        use ast::JoinOperator as Op;
        let missing = |join: &ast::Join| {
            matches!(join.join_operator, Op::Right(_) | Op::RightOuter(_) | Op::FullOuter(_))
        };
        let context = |joins: &[ast::Join]| joins.iter().any(missing).then_some("an outer join");
        let mut source = self.in_context(context(&item.joins), |binder| {
            binder.deeper(|binder| binder.table_factor(&item.relation))
        })?;
        for (at, join) in item.joins.iter().enumerate() {
            let outer = matches!(
                join.join_operator,
                Op::Left(_) | Op::LeftOuter(_) | Op::FullOuter(_) | Op::AsOf { .. }
            );
            let context = context(&item.joins[at + 1..]).or(outer.then_some("an outer join"));
            source = self.in_context(context, |binder| binder.join(source, join))?;
        }
        Ok(source)
    }

    fn table_factor(&mut self, factor: &ast::TableFactor) -> Result<Source> {
        use ast::TableFactor as Factor;
        let position = self.position(factor.span());
        match factor {
            _ if is_call(factor) => self.call_source(factor, &Scope::default()),
            Factor::Table {
                name,
                alias,
                args: None,
                version: None,
                with_ordinality: false,
                sample: None,
                json_path: None,
                ..
            } => self.named_relation(name, alias.as_ref()),
            Factor::Derived { lateral, subquery, alias, sample: None } => {
                let base = if *lateral { self.levels.len() } else { self.from_base };
                self.hiding(base, |binder| binder.derived(subquery, alias.as_ref(), position))
            }
            Factor::NestedJoin { table_with_joins, alias } => {
                let source = self.table_with_joins(table_with_joins)?;
                match alias {
                    None => Ok(source),
                    Some(alias) => self.aliased_join(source, alias),
                }
            }
            Factor::Table { args: Some(_), .. }
            | Factor::Function { .. }
            | Factor::TableFunction { .. }
            | Factor::UNNEST { .. } => Err(Error::unsupported(
                "a function in FROM",
                "Write the rows out with VALUES, or keep them in a table.",
            )
            .at(position)),
            _ => Err(Error::unsupported(
                "this form of FROM item",
                "Use a table, a view or a subquery.",
            )
            .at(position)),
        }
    }

    /// A relation by name: a common table expression, or an object.
    pub fn named_relation(
        &mut self,
        object: &ast::ObjectName,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Source> {
        let position = self.position(object.span());
        if let [part] = object.0.as_slice()
            && let Some(ident) = part.as_ident()
        {
            let cte_name = name::ident(ident);
            if let Some((plan, columns)) = self.cte(&cte_name).map_err(|e| e.at(position))? {
                let table = Table::derived(cte_name, table_columns(&columns));
                return self.aliased(plan, table, alias);
            }
            if let Some((plan, table)) = self.session_rule(&cte_name).map_err(|e| e.at(position))? {
                return self.aliased(plan, table, alias);
            }
        }
        let item = self.relation(object)?;
        self.depends_on.insert(item.id);
        let written = match self.edn {
            true => self.edn_name(position, &item.schema, &item.name),
            false => name::qualified_text(&item.schema, &item.name),
        };
        self.edit(object.span(), || written);
        let plan = self.read(&item).map_err(|e| e.at(position))?;
        let table = table_of(&item);
        self.aliased(plan, table, alias)
    }

    /// The rows of an object: what workers hold of it, or a plain view's query in its place.
    pub fn read(&mut self, item: &Arc<Item>) -> Result<Plan> {
        match &item.kind {
            ItemKind::View(view) if !view.materialized => {
                self.deeper(|binder| binder.inline_view(item, &view.text))
            }
            ItemKind::System(System { desc, source: RowSource::Session, .. }) => {
                self.session_relation(item, desc)
            }
            ItemKind::System(System { desc, source: RowSource::Empty, .. }) => {
                Ok(Plan::constant(vec![], desc.types()))
            }
            _ => {
                let desc =
                    item.desc().ok_or_else(|| Error::internal("a relation without shape"))?;
                let types = desc.types();
                let ty = RelationType { columns: types.clone(), keys: desc.keys.clone() };
                Ok(Plan { relation: Relation::Get { id: Id::Global(item.id), ty }, types })
            }
        }
    }

    fn derived(
        &mut self,
        subquery: &ast::Query,
        alias: Option<&ast::TableAlias>,
        position: Option<u32>,
    ) -> Result<Source> {
        let Some(alias) = alias else {
            let what = match *subquery.body {
                ast::SetExpr::Values(_) => "VALUES",
                _ => "subquery",
            };
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("{what} in FROM must have an alias"),
            )
            .with_hint(match what {
                "VALUES" => "For example, FROM (VALUES ...) [AS] foo.",
                _ => "For example, FROM (SELECT ...) [AS] foo.",
            })
            .at(position));
        };
        let bound = self.query(subquery, false)?;
        let arity = bound.columns.len();
        // What is ordered by behind the columns is not there any more.
        let order = bound.order.iter().copied().take_while(|by| by.column < arity).collect();
        let Query { plan, columns, .. } = self.cut(bound)?;
        let plan = plan.project((0..arity).collect());
        let table = Table::derived("", table_columns(&columns));
        let Source { plan, scope } = self.aliased(plan, table, Some(alias))?;
        Ok(Source { plan, scope: Scope { order, ..scope } })
    }

    /// A table under its alias, with its columns renamed.
    pub fn aliased(
        &self,
        plan: Plan,
        mut table: Table,
        alias: Option<&ast::TableAlias>,
    ) -> Result<Source> {
        if let Some(alias) = alias {
            let new = name::ident(&alias.name);
            if !table.name.is_empty() && table.name != new {
                table.hidden = Some(std::mem::take(&mut table.name));
            }
            table.name = new;
            table.schema = None;
            self.rename(&mut table, alias)?;
        }
        Ok(Source { plan, scope: Scope::of_table(table) })
    }

    /// Renames columns as an alias says. Errors: 42P10 where it names too many.
    pub fn rename(&self, table: &mut Table, alias: &ast::TableAlias) -> Result<()> {
        if alias.columns.len() > table.columns.len() {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "table \"{}\" has {} columns available but {} columns specified",
                    table.name,
                    table.columns.len(),
                    alias.columns.len()
                ),
            )
            .at(self.position(alias.name.span)));
        }
        for (column, new) in table.columns.iter_mut().zip(&alias.columns) {
            column.name = name::ident(&new.name);
        }
        Ok(())
    }

    /// `(a JOIN b …) AS j`: one table with the visible columns.
    fn aliased_join(&self, source: Source, alias: &ast::TableAlias) -> Result<Source> {
        let indexes = source.scope.visible.iter().map(|column| column.index).collect();
        let columns = source.scope.visible.iter().enumerate();
        let columns = columns.map(|(index, column)| Column { index, ..column.clone() }).collect();
        let table = Table::derived("", columns);
        self.aliased(source.plan.project(indexes), table, Some(alias))
    }

    fn join(&mut self, left: Source, join: &ast::Join) -> Result<Source> {
        use ast::JoinOperator as Op;
        let position = self.position(join.relation.span());
        let level = self.levels.len();
        let right = match is_call(&join.relation) {
            true => {
                let source = self.call_source(&join.relation, &left.scope)?;
                Right { source, level, args: vec![] }
            }
            false => {
                let (source, taken) = self.inside(&left.scope, |binder| {
                    binder.deeper(|binder| binder.table_factor(&join.relation))
                })?;
                Right { source, level, args: taken.columns(position)? }
            }
        };
        if let Op::AsOf { match_condition, constraint } = &join.join_operator {
            let right = right.alone().map_err(|e| e.at(position))?;
            return self.asof_join(left, right, match_condition, constraint);
        }
        let (kind, constraint) = match &join.join_operator {
            Op::Join(c) | Op::Inner(c) => (JoinKind::Inner, c),
            Op::Left(c) | Op::LeftOuter(c) => (JoinKind::Left, c),
            Op::Right(c) | Op::RightOuter(c) => (JoinKind::Right, c),
            Op::FullOuter(c) => (JoinKind::Full, c),
            Op::CrossJoin(ast::JoinConstraint::None) => {
                let Right { source: right, level, args } = right;
                let scope = left.scope.join(right.scope, left.plan.arity())?;
                let lateral = Lateral { level, args };
                let plan = self.join_sides(JoinKind::Inner, left.plan, right.plan, lateral, None);
                return Ok(Source { plan, scope });
            }
            _ => {
                return Err(
                    Error::new(SqlState::SYNTAX_ERROR, "syntax error in a join").at(position)
                );
            }
        };
        refuse_lateral(kind, &left.scope, &right).map_err(|e| e.at(position))?;
        match constraint {
            ast::JoinConstraint::On(condition) => self.join_on(kind, left, right, condition),
            ast::JoinConstraint::Using(names) => {
                let names = names.iter().map(|n| self.using_name(n)).collect::<Result<Vec<_>>>()?;
                self.join_using(kind, left, right, &names, None, position)
            }
            ast::JoinConstraint::UsingAlias(names, alias) => {
                let names = names.iter().map(|n| self.using_name(n)).collect::<Result<Vec<_>>>()?;
                let alias = name::ident(alias);
                self.join_using(kind, left, right, &names, Some(alias), position)
            }
            ast::JoinConstraint::Natural => {
                let mut names: Vec<String> = vec![];
                for column in &left.scope.visible {
                    if right.source.scope.named(&column.name).next().is_some()
                        && !names.contains(&column.name)
                    {
                        names.push(column.name.clone());
                    }
                }
                self.join_using(kind, left, right, &names, None, position)
            }
            ast::JoinConstraint::None => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "a join needs ON or USING").at(position))
            }
        }
    }

    fn using_name(&self, object: &ast::ObjectName) -> Result<String> {
        let qualified = self.qualified(object)?;
        match qualified.schema {
            None => Ok(qualified.name),
            Some(_) => Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \".\"")
                .at(self.position(object.span()))),
        }
    }

    fn join_on(
        &mut self,
        kind: JoinKind,
        left: Source,
        right: Right,
        condition: &ast::Expr,
    ) -> Result<Source> {
        let Right { source: right, level, args } = right;
        let mut scope = left.scope.join(right.scope, left.plan.arity())?;
        let base = self.from_base;
        let predicate = self.hiding(base, |binder| {
            binder.predicate(condition, &mut ExprContext::plain(&scope, Clause::Join))
        })?;
        let (l, r) = (left.plan.arity(), right.plan.arity());
        let lateral = Lateral { level, args };
        let plan = self.join_sides(kind, left.plan, right.plan, lateral, Some(predicate.expr));
        note_nullable(&mut scope, kind, l, r);
        Ok(Source { plan, scope })
    }

    fn join_using(
        &mut self,
        kind: JoinKind,
        left: Source,
        right: Right,
        names: &[String],
        alias: Option<String>,
        position: Option<u32>,
    ) -> Result<Source> {
        let Right { source: right, level, args } = right;
        let (l, r) = (left.plan.arity(), right.plan.arity());
        let mut pairs = vec![];
        for name in names {
            let a = using_column(&left.scope, name, "left").map_err(|e| e.at(position))?;
            let b = using_column(&right.scope, name, "right").map_err(|e| e.at(position))?;
            pairs.push((a, Typed { expr: shifted(b.expr, l), ty: b.ty }));
        }
        let mut equalities = vec![];
        for (a, b) in &pairs {
            let (a, b) = (Bound::from(a.clone()), Bound::from(b.clone()));
            equalities.push(self.operator("=", Some(a), b, position)?);
        }
        let predicate = (!equalities.is_empty()).then(|| operator::all(equalities).expr);
        let mut scope = left.scope.join(right.scope, l)?;
        let lateral = Lateral { level, args };
        let mut plan = self.join_sides(kind, left.plan, right.plan, lateral, predicate);
        note_nullable(&mut scope, kind, l, r);
        let mut merged = vec![];
        for ((a, b), name) in pairs.into_iter().zip(names) {
            let (typed, used);
            (plan, typed, used) = self.merged(kind, plan, a, b, position)?;
            merged.push((
                Column { name: name.clone(), ty: typed.ty, index: used, table: None },
                name.clone(),
            ));
        }
        scope.visible.retain(|column| !names.contains(&column.name));
        if let Some(alias) = alias {
            scope.tables.push(Table::derived(
                alias,
                merged.iter().map(|(column, _)| column.clone()).collect(),
            ));
        }
        scope.visible.splice(0..0, merged.into_iter().map(|(column, _)| column));
        Ok(Source { plan, scope })
    }

    /// The column that USING makes of two: the one of the side that is always there, both where
    /// neither is, in their common type.
    fn merged(
        &mut self,
        kind: JoinKind,
        plan: Plan,
        a: Typed,
        b: Typed,
        position: Option<u32>,
    ) -> Result<(Plan, Typed, usize)> {
        let now = |typed: &Typed| match typed.expr {
            crate::expr::scalar::Expr::Column(column) => Typed::column(column, plan.types[column]),
            _ => typed.clone(),
        };
        let (a, b) = (now(&a), now(&b));
        let both = self.unify(vec![a.clone().into(), b.clone().into()], "JOIN/USING", position)?;
        let [left, right] = <[Typed; 2]>::try_from(both)
            .map_err(|_| Error::internal("two values unified to another number"))?;
        let merged = match kind {
            JoinKind::Inner if left != a && right == b => right,
            JoinKind::Inner | JoinKind::Left => left,
            JoinKind::Right => right,
            JoinKind::Full => self.coalesce(vec![left.into(), right.into()], position)?,
        };
        if let crate::expr::scalar::Expr::Column(column) = merged.expr {
            return Ok((plan, merged, column));
        }
        let plan = plan.map(vec![merged.clone()]);
        let column = plan.arity() - 1;
        Ok((plan, Typed::column(column, merged.ty), column))
    }
}

fn shifted(mut expr: crate::expr::scalar::Expr, by: usize) -> crate::expr::scalar::Expr {
    expr.map_columns(|column| column + by);
    expr
}

/// Refuses a right side that takes something from a left side which may be missing. Errors: 42P10.
fn refuse_lateral(kind: JoinKind, left: &Scope, right: &Right) -> Result<()> {
    if matches!(kind, JoinKind::Inner | JoinKind::Left) {
        return Ok(());
    }
    let args = right.args.iter().map(|arg| &arg.expr).chain(right.source.plan.open_args());
    let Some(arg) = args.into_iter().next() else { return Ok(()) };
    let found = arg.columns().first().map(|&column| left.describe(column));
    let table = found.unwrap_or_default();
    let table = table.split('.').next().unwrap_or_default();
    Err(Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("invalid reference to FROM-clause entry for table \"{table}\""),
    )
    .with_detail("The combining JOIN type must be INNER or LEFT for a LATERAL reference."))
}

/// After an outer join the columns of a side that may be missing may be NULL.
pub fn note_nullable(scope: &mut Scope, kind: JoinKind, left: usize, right: usize) {
    if matches!(kind, JoinKind::Right | JoinKind::Full) {
        scope.make_nullable(0, left);
    }
    if matches!(kind, JoinKind::Left | JoinKind::Full) {
        scope.make_nullable(left, left + right);
    }
}

fn using_column(scope: &Scope, name: &str, side: &str) -> Result<Typed> {
    let mut found = scope.named(name);
    let Some(column) = found.next() else {
        return Err(Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{name}\" specified in USING clause does not exist in {side} table"),
        ));
    };
    if found.next().is_some() {
        return Err(Error::new(
            SqlState::AMBIGUOUS_COLUMN,
            format!("common column name \"{name}\" appears more than once in {side} table"),
        ));
    }
    Ok(Typed::column(column.index, column.ty))
}

/// The columns of a subquery as those of a table.
fn table_columns(columns: &[OutputColumn]) -> Vec<Column> {
    let named = columns.iter().enumerate();
    named
        .map(|(index, column)| Column {
            name: column.name.clone(),
            ty: column.ty,
            index,
            table: None,
        })
        .collect()
}

/// An object as a table of a scope.
pub fn table_of(item: &Item) -> Table {
    let columns = item.desc().map_or(&[][..], |desc| &desc.columns);
    let columns = columns.iter().enumerate();
    let primary_key = match &item.kind {
        ItemKind::Table(table) => table.primary_key.as_ref().map(|key| key.columns.clone()),
        ItemKind::System(system) => Some(system.key.clone()).filter(|key| !key.is_empty()),
        _ => None,
    };
    let id: GlobalId = item.id;
    Table {
        name: item.name.clone(),
        schema: Some(item.schema.clone()),
        hidden: None,
        id: Some(id),
        columns: columns
            .map(|(index, column)| Column {
                name: column.name.clone(),
                ty: column.ty,
                index,
                table: None,
            })
            .collect(),
        primary_key,
        is_scalar: false,
        absent: Absent::Never,
    }
}
