//! The door: statements, and the stored texts of objects.

use sqlparser::ast;
use sqlparser::tokenizer::Span;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::observed::Measures;
use crate::plan::relation::Relation;
use crate::plan::statement;
use crate::plan::statement::{Analyzed, Statement};
use crate::repr::{ColumnDesc, ColumnType, GlobalId, RelationDesc, ScalarType};
use crate::sql::bind::context::{BindContext, Binder};
use crate::sql::bind::control::setting_name;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::parse::ast as syntax;
use crate::sql::parse::position::Lines;
use crate::sql::parse::{ParsedStatement, parse};

/// Binds a statement.
///
/// Errors: PostgreSQL's, with positions in the string that the statement was parsed from; 0A000
/// where Weir does not have something.
pub fn bind(statement: &ParsedStatement, cx: &mut BindContext<'_>) -> Result<Statement> {
    statement.on_stack(|| {
        let mut binder = Binder::new(cx, statement.lines.clone());
        let bound = binder.whole(statement)?;
        binder.check_parameters()?;
        Ok(bound)
    })
}

/// Binds the stored text of a maintained view (plain ones are inlined where they are read).
pub fn bind_view_text(text: &str, cx: &mut BindContext<'_>) -> Result<(Relation, RelationDesc)> {
    let parsed = query_of(text)?;
    let syntax::Statement::Select(select) = parsed.ast() else {
        return Err(Error::internal("the text of a view is not a query"));
    };
    parsed.on_stack(|| {
        let mut binder = Binder::new(cx, parsed.lines.clone());
        binder.maintained = true;
        let (plan, columns) = binder.subquery(&select.query)?;
        Ok((plan.relation, describe(&columns)))
    })
}

/// Binds the stored text of an expression over the columns of a relation (a default over none,
/// the key of an index).
pub fn bind_scalar_text(
    text: &str,
    columns: &RelationDesc,
    cx: &mut BindContext<'_>,
) -> Result<Expr> {
    let parsed = query_of(&format!("SELECT {text}"))?;
    let mut binder = Binder::new(cx, Lines::default());
    let scope = scope_of(columns);
    let syntax::Statement::Select(select) = parsed.ast() else {
        return Err(Error::internal("the text of an expression is none"));
    };
    let ast::SetExpr::Select(select) = &*select.query.body else {
        return Err(Error::internal("the text of an expression is none"));
    };
    let [ast::SelectItem::UnnamedExpr(expr)] = select.projection.as_slice() else {
        return Err(Error::internal("the text of an expression is not one expression"));
    };
    let mut cx = ExprContext::plain(&scope, Clause::Default);
    Ok(binder.typed_expr(expr, &mut cx)?.expr)
}

/// What a value of a type, column 0, must be to belong to a domain: an expression that fails where
/// it does not.
pub fn bind_domain(id: GlobalId, base: ColumnType, cx: &mut BindContext<'_>) -> Result<Expr> {
    let mut binder = Binder::new(cx, Lines::default());
    let value = Typed::column(0, ColumnType { nullable: true, ..base });
    Ok(binder.constrained(value, id)?.expr)
}

/// The one statement of a text that Weir wrote itself.
pub fn query_of(text: &str) -> Result<ParsedStatement> {
    let mut parsed = parse(text)?;
    match parsed.len() {
        1 => Ok(parsed.remove(0)),
        _ => Err(Error::internal("a stored text is not one statement")),
    }
}

/// The columns of a relation as a scope of one table without a name.
pub(super) fn scope_of(desc: &RelationDesc) -> Scope {
    let columns = desc.columns.iter().enumerate();
    let columns = columns.map(|(index, column)| Column {
        name: column.name.clone(),
        ty: column.ty,
        index,
        table: None,
    });
    Scope::of_table(Table::derived("", columns.collect()))
}

/// Names and types as a client sees them.
pub fn describe(columns: &[OutputColumn]) -> RelationDesc {
    let columns = columns
        .iter()
        .map(|column| ColumnDesc { name: column.name.clone(), ty: column.ty })
        .collect();
    RelationDesc { columns, keys: vec![] }
}

impl Binder<'_, '_> {
    /// A statement of a client, whose text may have to be stored.
    fn whole(&mut self, statement: &ParsedStatement) -> Result<Statement> {
        let (create, retain_ms) = match statement.ast() {
            syntax::Statement::Sql(create) => (create, None),
            syntax::Statement::Retaining { statement: create, history } => {
                (create, Some(self.milliseconds(history)?))
            }
            other => return self.statement(other),
        };
        match &**create {
            ast::Statement::CreateView(view) => {
                self.create_view(view, retain_ms, Some((&statement.text, statement.offset)))
            }
            ast::Statement::CreateTable(table) => self.create_table(table, retain_ms),
            other => self.sql(other),
        }
    }

    /// Any statement.
    pub fn statement(&mut self, statement: &syntax::Statement) -> Result<Statement> {
        match statement {
            syntax::Statement::Empty => Ok(Statement::Empty),
            syntax::Statement::Select(select) => self.select_statement(select),
            syntax::Statement::Subscribe(subscribe) => self.subscribe(subscribe),
            syntax::Statement::Explain { stage, json, explained } => {
                let statement = Box::new(self.statement(explained)?);
                Ok(Statement::Explain(statement::Explain { stage: *stage, json: *json, statement }))
            }
            syntax::Statement::ExplainAnalyze(of, measures) => self.analyze(of, *measures),
            syntax::Statement::Fetch(fetch) => self.fetch(fetch),
            syntax::Statement::Declare { name, hold, scroll, query } => {
                let query = Box::new(self.statement(query)?);
                if matches!(*query, Statement::Writes(_)) {
                    return Err(Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        "DECLARE CURSOR must not contain data-modifying statements in WITH",
                    ));
                }
                let name = name::ident(name);
                Ok(Statement::Declare { name, hold: *hold, scroll: *scroll, query })
            }
            syntax::Statement::CopyQuery { query, options } => {
                let query = self.statement(query)?;
                self.copy_query(query, options)
            }
            syntax::Statement::Prepare { name, types, text } => self.prepare(name, types, text),
            syntax::Statement::AlterSystem { name, value } => {
                let (name, value) = (setting_name(name), value.clone());
                Ok(Statement::AlterSystem { name, value })
            }
            syntax::Statement::CreateTraceSource { name, path, snapshot } => {
                self.create_trace_source(name, path, snapshot)
            }
            syntax::Statement::Retaining { statement, .. } => self.sql(statement),
            syntax::Statement::CreateDomain(create) => self.create_domain(create),
            syntax::Statement::AlterDomain { name, change } => self.alter_domain(name, change),
            syntax::Statement::Rules(stretch) => self.define_rules(*stretch),
            syntax::Statement::CreateAttribute(create) => self.create_attribute(create),
            syntax::Statement::DropAttribute(drop) => self.drop_attributes(drop),
            syntax::Statement::Transact(transact) => self.transact(transact),
            syntax::Statement::CopyMatching(copy) => self.copy_matching(copy),
            syntax::Statement::Sql(statement) => self.sql(statement),
        }
    }

    fn analyze(&mut self, of: &syntax::Analyzed, measures: Measures) -> Result<Statement> {
        let of = match of {
            syntax::Analyzed::Object(name) => Analyzed::Object(self.relation_or_index(name)?.id),
            syntax::Analyzed::Query(query) => match self.statement(query)? {
                Statement::Select(select) => Analyzed::Query(Box::new(select)),
                _ => {
                    return Err(Error::unsupported(
                        "EXPLAIN ANALYZE of this statement",
                        "Analyze a query, or name a materialized view or an index.",
                    ));
                }
            },
        };
        Ok(Statement::ExplainAnalyze(statement::ExplainAnalyze { of, measures }))
    }

    /// A statement that `sqlparser` knows.
    pub fn sql(&mut self, statement: &ast::Statement) -> Result<Statement> {
        if let Some(control) = self.control(statement)? {
            return Ok(control);
        }
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => self.update(update),
            ast::Statement::Delete(delete) => self.delete(delete),
            ast::Statement::Merge(merge) => self.merge(merge),
            ast::Statement::Truncate(truncate) => self.truncate(truncate),
            ast::Statement::Copy { .. } => self.copy(statement),
            ast::Statement::CreateSchema { schema_name, if_not_exists, .. } => {
                self.create_schema(schema_name, *if_not_exists)
            }
            ast::Statement::CreateSequence {
                name,
                sequence_options,
                if_not_exists,
                temporary,
                ..
            } if !temporary => self.create_sequence(name, sequence_options, *if_not_exists),
            ast::Statement::CreateTable(table) => self.create_table(table, None),
            ast::Statement::CreateIndex(index) => self.create_index(index),
            // EXPLAIN alone comes here: nothing is stored.
            ast::Statement::CreateView(view) => self.create_view(view, None, None),
            ast::Statement::CreateType { name, representation } => {
                self.create_type(name, representation.as_ref())
            }
            ast::Statement::AlterType(alter) => self.alter_type(alter),
            ast::Statement::AlterTable(alter) => self.alter_table(alter),
            ast::Statement::Drop {
                object_type: ast::ObjectType::Type,
                if_exists,
                names,
                cascade,
                ..
            } => self.drop_types(names, *if_exists, *cascade, false),
            ast::Statement::DropDomain(drop) => {
                let cascade = matches!(drop.drop_behavior, Some(ast::DropBehavior::Cascade));
                self.drop_types(std::slice::from_ref(&drop.name), drop.if_exists, cascade, true)
            }
            ast::Statement::Drop { object_type, if_exists, names, cascade, .. } => {
                self.drop(*object_type, *if_exists, names, *cascade)
            }
            ast::Statement::CreateDatabase { .. } => Err(Error::unsupported(
                "CREATE DATABASE",
                "There is one database, under any name. Create a schema.",
            )),
            other => Err(unsupported(other)),
        }
    }

    fn select_statement(&mut self, select: &syntax::Select) -> Result<Statement> {
        if let ast::SetExpr::Select(body) = &*select.query.body
            && let Some(into) = &body.into
        {
            return self.select_into(select, into);
        }
        self.writes = Some(vec![]);
        let written = match select.as_of {
            None => self.writing(&select.query)?,
            Some(_) => None,
        };
        let main = match written {
            Some(writing) => writing,
            None => {
                let query = self.query(&select.query, false)?;
                let as_of = self.time(select.as_of.as_ref())?;
                Statement::Select(finished(query, as_of))
            }
        };
        let parts = self.writes.take().unwrap_or_default();
        if parts.is_empty() {
            return Ok(main);
        }
        if select.as_of.is_some() {
            return Err(Error::unsupported(
                "AS OF in a statement that writes",
                "Read the past in a statement of its own.",
            ));
        }
        Ok(Statement::Writes(statement::Writes { parts, main: Box::new(main) }))
    }

    /// SELECT … INTO: CREATE TABLE … AS.
    fn select_into(
        &mut self,
        select: &syntax::Select,
        into: &ast::SelectInto,
    ) -> Result<Statement> {
        let [target] = into.targets.as_slice() else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"INTO\""));
        };
        let table = name::object_of(target)
            .ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "syntax error in SELECT INTO"))?;
        if select.as_of.is_some() {
            return Err(Error::unsupported("AS OF with INTO", "Write CREATE TABLE … AS."));
        }
        let mut query = (*select.query).clone();
        if let ast::SetExpr::Select(body) = &mut *query.body {
            body.into = None;
        }
        let parsed = query_of("CREATE TABLE t AS SELECT 1")?;
        let syntax::Statement::Sql(create) = parsed.ast() else {
            return Err(Error::internal("CREATE TABLE is another statement"));
        };
        let ast::Statement::CreateTable(create) = &**create else {
            return Err(Error::internal("CREATE TABLE is another statement"));
        };
        let create = ast::CreateTable {
            name: table,
            query: Some(Box::new(query)),
            temporary: into.temporary,
            ..create.clone()
        };
        self.create_table(&create, None)
    }

    fn subscribe(&mut self, subscribe: &syntax::Subscribe) -> Result<Statement> {
        self.maintained = true;
        let (plan, columns) = self.subquery(&subscribe.query)?;
        let seeded = self.seeded_query(&subscribe.query, &plan.types);
        self.maintained = false;
        Ok(Statement::Subscribe(statement::Subscribe {
            relation: plan.relation,
            seeded: seeded.map(Box::new),
            desc: describe(&columns),
            snapshot: subscribe.snapshot,
            progress: subscribe.progress,
            as_of: self.time(subscribe.as_of.as_ref())?,
            up_to: self.time(subscribe.up_to.as_ref())?,
        }))
    }

    /// A time: nanoseconds as a number, otherwise a timestamptz.
    fn time(&mut self, expr: Option<&ast::Expr>) -> Result<Option<Expr>> {
        let Some(expr) = expr else { return Ok(None) };
        let scope = Scope::default();
        let mut cx = ExprContext::plain(&scope, Clause::Time);
        let position = self.expr_position(expr);
        let bound = self.expr(expr, &mut cx)?;
        let wanted = match bound.scalar(self) {
            Some(ScalarType::Int2 | ScalarType::Int4 | ScalarType::Int8) => ScalarType::Int8,
            _ => ScalarType::TimestampTz,
        };
        let found = bound.scalar(self);
        let Some(Typed { mut expr, .. }) = self.implicit(bound, ColumnType::nullable(wanted))?
        else {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!(
                    "a time must be type bigint or timestamp with time zone, not type {}",
                    found.map_or("unknown", ScalarType::display_name)
                ),
            )
            .at(position));
        };
        expr.fold(self.cx.settings);
        Ok(Some(expr))
    }

    /// Fails where a parameter never got a type.
    fn check_parameters(&self) -> Result<()> {
        match self.cx.param_types.iter().position(Option::is_none) {
            None => Ok(()),
            Some(index) => Err(Error::new(
                SqlState::INDETERMINATE_DATATYPE,
                format!("could not determine data type of parameter ${}", index + 1),
            )),
        }
    }

    /// The position of the first of a statement's own tokens.
    pub fn span_position(&self, span: Span) -> Option<u32> {
        self.position(span)
    }
}

/// A query whose rows go out.
pub fn finished(query: Query, as_of: Option<Expr>) -> statement::Select {
    let width = query.columns.len();
    statement::Select {
        relation: query.plan.relation,
        desc: describe(&query.columns),
        finishing: statement::Finishing {
            order_by: query.order,
            limit: query.limit,
            offset: query.offset,
            project: (0..width).collect(),
        },
        as_of,
    }
}

/// What is not a statement of ours yet.
fn unsupported(statement: &ast::Statement) -> Error {
    let text = statement.to_string();
    let words: Vec<&str> = text.split_whitespace().take(2).collect();
    Error::unsupported(words.join(" "), "The README lists the statements that there are.")
}
