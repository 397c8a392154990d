//! INSERT, UPDATE, DELETE, TRUNCATE, and what they return.

use std::sync::Arc;

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::catalog::item::{ColumnDefault, Item, ItemKind, Table};
use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::statement::{ColumnSource, Finishing, Insert, Select, Statement};
use crate::repr::{ColumnDesc, ColumnType, RelationDesc};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::from::table_of;
use crate::sql::bind::name;
use crate::sql::bind::query::Query;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;
use crate::sql::parse::ast as syntax;

/// A cell of an INSERT's VALUES.
enum Cell {
    Value(Bound, Option<u32>),
    Default,
}

impl Binder<'_, '_> {
    /// The table that a statement writes. Errors: 42P01, 42809.
    pub fn table(&self, object: &ast::ObjectName, verb: &str) -> Result<Arc<Item>> {
        let item = self.relation(object)?;
        let position = self.position(object.span());
        match &item.kind {
            _ if item.is_system() => Err(Error::new(
                SqlState::INSUFFICIENT_PRIVILEGE,
                format!("permission denied for {} {}", item.kind_name(), item.name),
            )),
            ItemKind::Table(_) => match item.kept_by().and_then(|by| self.cx.catalog.get(by)) {
                None => Ok(item),
                Some(by) => Err(Error::new(
                    SqlState::WRONG_OBJECT_TYPE,
                    format!("cannot change relation \"{}\"", item.name),
                )
                .with_hint(format!("Attribute {}.{} keeps it.", by.schema, by.name))
                .at(position)),
            },
            ItemKind::View(view) if view.materialized => Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("cannot change materialized view \"{}\"", item.name),
            )
            .at(position)),
            _ => Err(Error::unsupported(
                format!("{verb} view \"{}\"", item.name),
                "Write to the tables that the view reads.",
            )
            .at(position)),
        }
    }

    /// INSERT.
    pub fn insert(&mut self, insert: &ast::Insert) -> Result<Statement> {
        let ast::TableObject::TableName(object) = &insert.table else {
            return Err(Error::unsupported("INSERT INTO a function", "Name a table."));
        };
        if insert.overwrite || insert.partitioned.is_some() || insert.by_name {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error in INSERT"));
        }
        let item = self.table(object, "inserting into")?;
        let ItemKind::Table(table) = &item.kind else {
            return Err(Error::internal("not a table"));
        };
        let targets = self.targets(&item, table, &insert.columns)?;
        let (source, mut columns) = match &insert.source {
            None => (unit_source(), vec![None; table.desc.arity()]),
            Some(query) => self.insert_source(table, &targets, query, insert)?,
        };
        let overriding = insert.overriding.as_ref().map(ToString::to_string);
        self.check_identity(table, &targets, &mut columns, overriding.as_deref())?;
        let mut sources = vec![];
        for (at, given) in columns.into_iter().enumerate() {
            sources.push(match given {
                Some(source) => source,
                None => self.default_of(table, at)?,
            });
        }
        let alias = insert.table_alias.as_ref().map(|alias| name::ident(&alias.alias));
        let scope = Scope::of_table(named_table(&item, alias));
        let on_conflict = self.on_conflict(&item, table, &scope, insert.on.as_ref())?;
        let types = table.desc.types();
        let returning = self.returning(&scope, &types, insert.returning.as_deref())?;
        let table = item.id;
        let insert = Insert { table, source, columns: sources, on_conflict, returning };
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// The positions of the columns that are named, or of all. Errors: 42703, 42701.
    pub fn targets(
        &self,
        item: &Item,
        table: &Table,
        columns: &[ast::ObjectName],
    ) -> Result<Vec<usize>> {
        if columns.is_empty() {
            return Ok((0..table.desc.arity()).collect());
        }
        let mut targets = vec![];
        for column in columns {
            let position = self.position(column.span());
            let column = self.qualified(column)?;
            let at = column_of(item, table, &column.name).map_err(|e| e.at(position))?;
            if targets.contains(&at) {
                return Err(Error::new(
                    SqlState::DUPLICATE_COLUMN,
                    format!("column \"{}\" specified more than once", column.name),
                )
                .at(position));
            }
            targets.push(at);
        }
        Ok(targets)
    }

    /// The rows that are inserted, and where each column of the table finds its value.
    fn insert_source(
        &mut self,
        table: &Table,
        targets: &[usize],
        query: &ast::Query,
        insert: &ast::Insert,
    ) -> Result<(Select, Vec<Option<ColumnSource>>)> {
        let mut columns = vec![None; table.desc.arity()];
        if let ast::SetExpr::Values(values) = &*query.body
            && query.with.is_none()
            && query.order_by.is_none()
            && query.limit_clause.is_none()
        {
            for row in &values.rows {
                let row = &row.content;
                let position = row.get(targets.len()).and_then(|e| self.expr_position(e));
                self.check_count(row.len(), targets, insert, position)?;
            }
            let source = self.values_source(table, targets, values, &mut columns)?;
            return Ok((source, columns));
        }
        let query = self.query(query, true)?;
        self.check_count(query.columns.len(), targets, insert, None)?;
        let source = self.query_source(table, targets, query)?;
        for (from, at) in targets.iter().enumerate().take(source.finishing.project.len()) {
            columns[*at] = Some(ColumnSource::Source(from));
        }
        Ok((source, columns))
    }

    fn check_count(
        &self,
        given: usize,
        targets: &[usize],
        insert: &ast::Insert,
        position: Option<u32>,
    ) -> Result<()> {
        if given > targets.len() {
            let message = "INSERT has more expressions than target columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        if given < targets.len() && !insert.columns.is_empty() {
            let message = "INSERT has more target columns than expressions";
            let at = insert.columns.get(given).and_then(|column| self.position(column.span()));
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        Ok(())
    }

    /// VALUES, whose cells may say DEFAULT.
    fn values_source(
        &mut self,
        table: &Table,
        targets: &[usize],
        values: &ast::Values,
        columns: &mut [Option<ColumnSource>],
    ) -> Result<Select> {
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut cells: Vec<Vec<Cell>> = vec![];
        for row in &values.rows {
            if row.content.len() != width {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                )
                .at(row.content.first().and_then(|e| self.expr_position(e))));
            }
            let mut bound = vec![];
            for expr in &row.content {
                bound.push(self.cell(expr)?);
            }
            cells.push(bound);
        }
        let mut rows: Vec<Vec<Typed>> = cells.iter().map(|_| vec![]).collect();
        let mut from = 0;
        for column in 0..width {
            let at = targets[column];
            let target = &table.desc.columns[at];
            let taken: Vec<Cell> = cells
                .iter_mut()
                .map(|row| std::mem::replace(&mut row[column], Cell::Default))
                .collect();
            if taken.iter().all(|cell| matches!(cell, Cell::Default)) {
                continue;
            }
            for (row, cell) in rows.iter_mut().zip(taken) {
                row.push(match cell {
                    Cell::Value(bound, position) => {
                        self.assign(bound, &target.name, target.ty, position)?
                    }
                    Cell::Default => self.default_value(table, at)?,
                });
            }
            columns[at] = Some(ColumnSource::Source(from));
            from += 1;
        }
        let plan = match from {
            // Only defaults: that many rows of nothing.
            0 => Plan::constant(vec![crate::repr::Row::EMPTY; rows.len()], vec![]),
            _ => self.constant_rows(rows),
        };
        Ok(all_of(plan))
    }

    fn cell(&mut self, expr: &ast::Expr) -> Result<Cell> {
        if let ast::Expr::Identifier(ident) = expr
            && ident.quote_style.is_none()
            && ident.value.eq_ignore_ascii_case("default")
        {
            return Ok(Cell::Default);
        }
        let scope = Scope::default();
        let mut cx = ExprContext::plain(&scope, Clause::Values);
        let position = self.expr_position(expr);
        Ok(Cell::Value(self.expr(expr, &mut cx)?, position))
    }

    /// A query whose columns are converted to those of the table.
    fn query_source(&mut self, table: &Table, targets: &[usize], query: Query) -> Result<Select> {
        let width = query.columns.len();
        let mut exprs = vec![];
        for (from, (column, at)) in query.columns.iter().zip(targets).enumerate() {
            let target = &table.desc.columns[*at];
            let value = match &column.literal {
                Some(text) => Bound::Unknown { text: text.clone(), position: None },
                None => Typed::column(from, column.ty).into(),
            };
            exprs.push(self.assign(value, &target.name, target.ty, None)?);
        }
        let arity = query.plan.arity();
        let plan = query.plan.map(exprs);
        let order_by = query.order;
        let types: Vec<ColumnType> = plan.types[arity..].to_vec();
        let columns = types.iter().map(|ty| ColumnDesc { name: String::new(), ty: *ty });
        Ok(Select {
            relation: plan.relation,
            desc: RelationDesc { columns: columns.collect(), keys: vec![] },
            finishing: Finishing {
                order_by,
                limit: query.limit,
                offset: query.offset,
                project: (arity..arity + width).collect(),
            },
            as_of: None,
        })
    }

    /// What a column is where no value is given.
    pub fn default_of(&mut self, table: &Table, at: usize) -> Result<ColumnSource> {
        let ty = table.desc.columns[at].ty;
        let (domain, own) = ColumnDefault::split(table.defaults[at].as_ref());
        let text = match own {
            Some(ColumnDefault::Sequence { id, .. }) => return Ok(ColumnSource::Sequence(*id)),
            Some(ColumnDefault::Expression(text)) => Some(text.clone()),
            _ => domain.and_then(|id| self.cx.catalog.domain_default(id)),
        };
        let Some(text) = text else {
            return Ok(ColumnSource::Default(Typed::null(ty).expr));
        };
        let name = &table.desc.columns[at].name;
        Ok(ColumnSource::Default(self.default_expr(&text, name, ty)?))
    }

    /// The default of a column as a value among others.
    pub fn default_value(&mut self, table: &Table, at: usize) -> Result<Typed> {
        let column = &table.desc.columns[at];
        match self.default_of(table, at)? {
            ColumnSource::Default(expr) => Ok(Typed { ty: expr.typ(&[]), expr }),
            ColumnSource::Sequence(id) => {
                let next = self.next_value(id)?;
                self.assign(next.into(), &column.name, column.ty, None)
            }
            ColumnSource::Source(_) => Err(Error::internal("a default of another column")),
        }
    }

    /// The default of a column from its text.
    pub fn default_expr(&mut self, text: &str, column: &str, ty: ColumnType) -> Result<Expr> {
        let parsed = query_of(&format!("SELECT {text}"))?;
        let syntax::Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("the text of a default is no expression"));
        };
        let ast::SetExpr::Select(select) = &*select.query.body else {
            return Err(Error::internal("the text of a default is no expression"));
        };
        let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
            return Err(Error::internal("the text of a default is not one expression"));
        };
        let scope = Scope::default();
        let lines = std::mem::take(&mut self.lines);
        let bound = self.expr(expr, &mut ExprContext::plain(&scope, Clause::Default));
        self.lines = lines;
        let typed = bound.and_then(|bound| self.assign(bound, column, ty, None));
        let typed = typed.map_err(|error| match error.code {
            SqlState::UNDEFINED_COLUMN => Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "cannot use column reference in DEFAULT expression",
            ),
            _ => Error { position: None, ..error },
        });
        Ok(typed?.expr)
    }

    /// `GENERATED ALWAYS` takes no value, unless the statement overrides it.
    pub fn check_identity(
        &self,
        table: &Table,
        targets: &[usize],
        columns: &mut [Option<ColumnSource>],
        overriding: Option<&str>,
    ) -> Result<()> {
        for at in targets {
            let (_, default) = ColumnDefault::split(table.defaults[*at].as_ref());
            let Some(ColumnDefault::Sequence { always, identity, .. }) = default else {
                continue;
            };
            let user = overriding.is_some_and(|text| text.contains("USER"));
            let system = overriding.is_some_and(|text| text.contains("SYSTEM"));
            if *identity && user {
                columns[*at] = None;
            } else if *always && columns[*at].is_some() && !system {
                let name = &table.desc.columns[*at].name;
                return Err(Error::new(
                    SqlState::GENERATED_ALWAYS,
                    format!("cannot insert a non-DEFAULT value into column \"{name}\""),
                )
                .with_detail(format!(
                    "Column \"{name}\" is an identity column defined as GENERATED ALWAYS."
                ))
                .with_hint("Use OVERRIDING SYSTEM VALUE to override."));
            }
        }
        Ok(())
    }

    /// TRUNCATE.
    pub fn truncate(&mut self, truncate: &ast::Truncate) -> Result<Statement> {
        if matches!(truncate.identity, Some(ast::TruncateIdentityOption::Restart)) {
            return Err(Error::unsupported(
                "TRUNCATE … RESTART IDENTITY",
                "Call setval for the sequence.",
            ));
        }
        let mut tables = vec![];
        for target in &truncate.table_names {
            tables.push(self.table(&target.name, "truncating")?.id);
        }
        Ok(Statement::Truncate { tables })
    }
}

/// The position of a column. Error 42703.
pub fn column_of(item: &Item, table: &Table, column: &str) -> Result<usize> {
    table.desc.columns.iter().position(|c| c.name == column).ok_or_else(|| {
        Error::new(
            SqlState::UNDEFINED_COLUMN,
            format!("column \"{column}\" of relation \"{}\" does not exist", item.name),
        )
    })
}

/// A table under its alias.
pub fn named_table(item: &Item, alias: Option<String>) -> crate::sql::bind::scope::Table {
    let mut table = table_of(item);
    if let Some(alias) = alias {
        table.hidden = Some(std::mem::replace(&mut table.name, alias));
        table.schema = None;
    }
    table
}

/// One row of no columns.
fn unit_source() -> Select {
    all_of(Plan::unit())
}

/// A plan as a query of all its columns.
fn all_of(plan: Plan) -> Select {
    let columns = plan.types.iter().map(|ty| ColumnDesc { name: String::new(), ty: *ty });
    let desc = RelationDesc { columns: columns.collect(), keys: vec![] };
    let project = (0..plan.types.len()).collect();
    Select {
        relation: plan.relation,
        desc,
        finishing: Finishing { project, ..Finishing::default() },
        as_of: None,
    }
}
