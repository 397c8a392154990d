//! Queries: WITH, the body, ORDER BY, LIMIT.

use std::ops::ControlFlow;

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::{ColumnOrder, Relation};
use crate::plan::statement::Statement;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::mutual::{Mutual, mutual_tables};
use crate::sql::bind::name;
use crate::sql::bind::order;
use crate::sql::bind::recursive::{Effect, not_recursive};
use crate::sql::bind::recursive_order::in_order;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;
use crate::sql::bind::writes;
use crate::sql::parse::search;
use crate::sql::stack;

/// PostgreSQL's functions of these operators between bigints.
const INT8_LT: u32 = 469;
const INT8_LE: u32 = 471;
const INT8_MINUS: u32 = 464;

/// A column of a query's result.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputColumn {
    /// Its name.
    pub name: String,
    /// Its type; text where it has none of its own.
    pub ty: ColumnType,
    /// The literal that it is in every row, where that has not been given a type: it takes the
    /// type of what it is united with or inserted into.
    pub literal: Option<Option<String>>,
}

/// A bound query.
#[derive(Clone, Debug)]
pub struct Query {
    /// The rows. Behind the result's columns there may be others, to order by.
    pub plan: Plan,
    /// The result's columns, the first ones of the plan.
    pub columns: Vec<OutputColumn>,
    /// The order of the rows.
    pub order: Vec<ColumnOrder>,
    /// LIMIT, an int8.
    pub limit: Option<Expr>,
    /// OFFSET, an int8.
    pub offset: Option<Expr>,
    /// Whether it has exactly one row, whatever it reads (before its limits).
    pub one_row: bool,
}

/// A common table expression that is visible.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Its binding in the plan; none where it cannot be read yet.
    pub id: Option<u64>,
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// Whether it was read.
    pub used: bool,
    /// How much of it there is.
    pub stage: Stage,
    /// Its rows, where they stand in the place of the only one who reads it, as PostgreSQL has it.
    once: Option<Plan>,
}

impl Cte {
    /// One that nobody has read yet.
    pub fn new(id: Option<u64>, columns: Vec<OutputColumn>, stage: Stage) -> Cte {
        Cte { id, columns, used: false, stage, once: None }
    }
}

/// How far binding has come with an expression of WITH RECURSIVE, while it is bound itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is there.
    Whole,
    /// It is there, and returns nothing.
    Silent,
    /// It stands behind the one that is being bound.
    Later,
    /// It is no UNION, and so cannot read itself.
    NoUnion,
    /// Its first term is being bound, which cannot read it.
    Base,
    /// Its recursive term is being bound.
    Term,
}

/// The expressions of WITH, visible in what stands behind it.
#[derive(Default)]
struct With {
    /// Their names, and their rows where each is one by itself.
    tables: Vec<(String, Option<Plan>)>,
    /// Where they are mutually recursive, all together.
    mutual: Option<Mutual>,
}

/// What WITH made visible, for what read it.
#[derive(Clone)]
struct Ended {
    tables: Vec<(Option<Cte>, Option<Plan>)>,
    mutual: Option<Mutual>,
}

impl Ended {
    /// The relation with what it reads of that around it.
    fn around(self, mut relation: Relation) -> Relation {
        for (cte, plan) in self.tables {
            if let (Some(Cte { id: Some(id), used: true, .. }), Some(plan)) = (cte, plan) {
                let (value, body) = (Box::new(plan.relation), Box::new(relation));
                relation = Relation::Let { id, value, body };
            }
        }
        match self.mutual {
            Some(mutual) => mutual.around(relation),
            None => relation,
        }
    }
}

/// How an expression of WITH is read.
#[derive(Clone, Copy)]
struct Reads {
    /// Whether it may read itself.
    recursive: bool,
    /// Whether it is read in one place alone.
    is_once: bool,
}

/// Whether one place of a query reads the expression of its WITH that has this index, and is not
/// told to compute it by itself.
fn is_read_once(index: usize, with: &ast::With, query: &ast::Query) -> bool {
    let cte = &with.cte_tables[index];
    let cte_name = name::ident(&cte.alias.name);
    // It is not visible in itself, nor before.
    let hidden = with.cte_tables[..=index].iter().map(|cte| readers(&cte.query, &cte_name));
    let is_once = readers(query, &cte_name) == hidden.sum::<usize>() + 1;
    is_once && !matches!(cte.materialized, Some(ast::CteAsMaterialized::Materialized))
}

/// How often a query names a relation.
fn readers(query: &ast::Query, relation_name: &str) -> usize {
    let mut readers = 0;
    let mut count = |relation: &ast::ObjectName| {
        if let [ast::ObjectNamePart::Identifier(ident)] = relation.0.as_slice() {
            readers += usize::from(name::ident(ident) == relation_name);
        }
        ControlFlow::<()>::Continue(())
    };
    // The walk is not ours, as the parser's is not.
    let _ = stack::large(|| ast::visit_relations(query, &mut count));
    readers
}

/// Whether a relation has the same rows wherever it stands, and however often.
fn stands_anywhere(relation: &Relation) -> bool {
    let mut so = true;
    relation.visit(&mut |node| {
        let depends =
            |expr: &Expr| expr.is_volatile() || expr.any(&mut |e| matches!(e, Expr::Outer { .. }));
        so = so && !node.own_exprs().into_iter().any(depends);
    });
    so
}

impl Query {
    /// A query of these rows and columns.
    pub fn of(plan: Plan, columns: Vec<OutputColumn>) -> Query {
        Query { plan, columns, order: vec![], limit: None, offset: None, one_row: false }
    }
}

impl Binder<'_, '_> {
    /// A query whose rows go out or are read by another, which decides what becomes of its order.
    ///
    /// `keep_literals`: columns that are literals may still be given a type.
    pub fn query(&mut self, query: &ast::Query, keep_literals: bool) -> Result<Query> {
        self.deeper(|binder| binder.query_here(query, keep_literals))
    }

    fn query_here(&mut self, query: &ast::Query, keep_literals: bool) -> Result<Query> {
        refuse_foreign(query)?;
        if let ast::SetExpr::Query(inner) = &*query.body {
            return match merged(query, inner)? {
                Some(merged) => self.query(&merged, keep_literals),
                None => self.query(inner, keep_literals),
            };
        }
        if !query.locks.is_empty() {
            return Err(Error::unsupported(
                "FOR UPDATE",
                "Transactions are serializable without it: leave it out.",
            ));
        }
        let with = match &query.with {
            Some(with) => self.with(with, query)?,
            None => With::default(),
        };
        let uses = self.recursion.uses;
        // What is further inside may not write.
        let writes = self.writes.take();
        let bound = self.query_body(query, keep_literals);
        self.writes = writes;
        if query.limit_clause.is_some() || query.fetch.is_some() {
            self.recursion.note(uses, Effect::Together);
        }
        let tables = self.ended(with);
        let mut bound = bound?;
        bound.plan.relation = tables.around(bound.plan.relation);
        Ok(bound)
    }

    /// Ends what WITH has made visible.
    fn ended(&mut self, with: With) -> Ended {
        let tables = with.tables.into_iter().rev().map(|(cte_name, plan)| {
            let cte = self.ctes.get_mut(&cte_name).and_then(Vec::pop);
            (cte, plan)
        });
        Ended { tables: tables.collect(), mutual: with.mutual }
    }

    /// A statement that writes, behind WITH; none where the query writes nothing.
    pub fn writing(&mut self, query: &ast::Query) -> Result<Option<Statement>> {
        let (ast::SetExpr::Insert(statement)
        | ast::SetExpr::Update(statement)
        | ast::SetExpr::Delete(statement)
        | ast::SetExpr::Merge(statement)) = &*query.body
        else {
            return Ok(None);
        };
        let with = query.with.as_ref().map(|with| self.with(with, query)).transpose()?;
        let writes = self.writes.take();
        let bound = self.sql(statement);
        self.writes = writes;
        let tables = self.ended(with.unwrap_or_default());
        let mut bound = bound?;
        bound.each_written(&mut |relation| *relation = tables.clone().around(relation.take()));
        Ok(Some(bound))
    }

    fn query_body(&mut self, query: &ast::Query, keep_literals: bool) -> Result<Query> {
        let items = order::items(query.order_by.as_ref())?;
        let mut bound = match &*query.body {
            ast::SetExpr::Select(select) => self.select(select, items, keep_literals)?,
            body => {
                let mut bound = self.set_expr(body, keep_literals)?;
                self.order_by_output(&mut bound, items)?;
                bound
            }
        };
        (bound.limit, bound.offset) = match self.limits(query) {
            Err(error)
                if [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_TABLE]
                    .contains(&error.code) =>
            {
                return Err(self.limit_of_columns(query, error));
            }
            limits => limits?,
        };
        match &query.fetch {
            Some(fetch) if fetch.with_ties => self.with_ties(bound),
            _ => Ok(bound),
        }
    }

    /// Binds the expressions of the WITH of a query and makes them visible.
    fn with(&mut self, with: &ast::With, query: &ast::Query) -> Result<With> {
        if let Some((limit, tables)) = mutual_tables(with) {
            let (names, mutual) = self.mutual(limit, tables)?;
            let tables = names.into_iter().map(|cte_name| (cte_name, None)).collect();
            return Ok(With { tables, mutual: Some(mutual) });
        }
        let mut seen: Vec<String> = vec![];
        for cte in &with.cte_tables {
            let cte_name = name::ident(&cte.alias.name);
            if seen.contains(&cte_name) {
                return Err(self.named_twice(&cte_name, cte));
            }
            seen.push(cte_name);
        }
        let mut later: Vec<String> = vec![];
        let mut tables: Vec<&ast::Cte> = with.cte_tables.iter().collect();
        if with.recursive {
            tables = in_order(&tables)?;
            later = tables.iter().map(|cte| name::ident(&cte.alias.name)).rev().collect();
            for cte_name in &later {
                let cte = Cte::new(None, vec![], Stage::Later);
                self.ctes.entry(cte_name.clone()).or_default().push(cte);
            }
        }
        let mut bound: Vec<(String, Option<Plan>)> = vec![];
        for (index, cte) in tables.into_iter().enumerate() {
            if let Some(cte_name) = later.pop() {
                self.ctes.get_mut(&cte_name).map(Vec::pop);
            }
            let is_once = !with.recursive && is_read_once(index, with, query);
            let reads = Reads { recursive: with.recursive, is_once };
            match self.common_table(cte, reads, &bound) {
                Ok((cte_name, plan)) => bound.push((cte_name, plan)),
                Err(error) => {
                    for cte_name in bound.iter().map(|(name, _)| name).chain(&later) {
                        self.ctes.get_mut(cte_name).map(Vec::pop);
                    }
                    return Err(error);
                }
            }
        }
        Ok(With { tables: bound, mutual: None })
    }

    /// An expression of WITH behind others. It has no plan where it writes.
    fn common_table(
        &mut self,
        cte: &ast::Cte,
        reads: Reads,
        others: &[(String, Option<Plan>)],
    ) -> Result<(String, Option<Plan>)> {
        let cte_name = name::ident(&cte.alias.name);
        let mut writes = self.writes.take();
        if writes::is_writing(&cte.query) {
            let columns = self.writing_table(cte, others, writes.as_mut())?;
            self.writes = writes;
            self.ctes.entry(cte_name.clone()).or_default().push(columns);
            return Ok((cte_name, None));
        }
        let bound = self.reading_table(cte, reads, &cte_name);
        self.writes = writes;
        let (plan, table) = bound?;
        self.ctes.entry(cte_name.clone()).or_default().push(table);
        Ok((cte_name, Some(plan)))
    }

    fn reading_table(
        &mut self,
        cte: &ast::Cte,
        Reads { recursive, is_once }: Reads,
        cte_name: &str,
    ) -> Result<(Plan, Cte)> {
        let (plan, mut columns) = match recursive {
            true => self.recursive_table(cte, cte_name)?,
            false if search::marked(cte).is_some() => return Err(not_recursive()),
            false => self.subquery(&cte.query)?,
        };
        self.name_columns(cte, &mut columns)?;
        let mut cte = Cte::new(Some(self.fresh_let()), columns, Stage::Whole);
        if is_once && stands_anywhere(&plan.relation) {
            cte.once = Some(plan.clone());
        }
        Ok((plan, cte))
    }

    /// A common table expression by name, if there is one.
    pub fn cte(&mut self, cte_name: &str) -> Result<Option<(Plan, Vec<OutputColumn>)>> {
        let found = self.ctes.get(cte_name).and_then(|stack| stack.last());
        let Some(stage) = found.map(|cte| cte.stage) else { return Ok(None) };
        self.read_stage(cte_name, stage)?;
        let found = self.ctes.get_mut(cte_name).and_then(|stack| stack.last_mut());
        let Some(cte) = found else { return Ok(None) };
        let Some(id) = cte.id else {
            return Err(Error::internal("an expression of WITH that is not there yet"));
        };
        if let Some(plan) = &cte.once {
            let (plan, columns) = (plan.clone(), cte.columns.clone());
            return Ok(Some((self.renumbered(plan), columns)));
        }
        if cte.stage == Stage::Silent {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                format!("WITH query \"{cte_name}\" does not have a RETURNING clause"),
            ));
        }
        cte.used = true;
        let types = cte.columns.iter().map(|column| column.ty).collect();
        Ok(Some((Plan::local(id, types), cte.columns.clone())))
    }

    /// A query that another one reads: its rows, without an order.
    pub fn subquery(&mut self, query: &ast::Query) -> Result<(Plan, Vec<OutputColumn>)> {
        let Query { plan, columns, .. } = self.rows_of(query)?;
        Ok((plan, columns))
    }

    /// A query that another one reads: its limits are applied, and the plan has its columns only.
    pub fn rows_of(&mut self, query: &ast::Query) -> Result<Query> {
        let bound = self.query(query, false)?;
        let mut bound = self.cut(bound)?;
        let arity = bound.columns.len();
        bound.plan = bound.plan.project((0..arity).collect());
        Ok(bound)
    }

    /// The query with its limits applied to the rows.
    pub fn cut(&mut self, mut query: Query) -> Result<Query> {
        if [&query.limit, &query.offset].into_iter().flatten().any(is_parameter) {
            return Ok(cut_by_parameters(query));
        }
        let limit = match query.limit.take() {
            Some(limit) => self.constant_count(limit, "LIMIT")?,
            None => None,
        };
        let offset = match query.offset.take() {
            Some(offset) => self.constant_count(offset, "OFFSET")?.unwrap_or(0),
            None => 0,
        };
        if limit.is_some() || offset > 0 {
            let order = std::mem::take(&mut query.order);
            query.plan = query.plan.top(vec![], order, limit, offset);
            query.one_row = false;
        }
        query.order.clear();
        Ok(query)
    }

    /// The query with its limits applied to the rows, and the peers of the last one. The order
    /// stays.
    fn with_ties(&mut self, mut query: Query) -> Result<Query> {
        if query.order.is_empty() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "WITH TIES cannot be specified without ORDER BY clause",
            ));
        }
        let limit = match query.limit.take() {
            Some(limit) => self.constant_count(limit, "LIMIT")?,
            None => None,
        };
        let limit = limit.ok_or_else(|| {
            let message = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            Error::new(SqlState::INVALID_ROW_COUNT_IN_LIMIT, message)
        })?;
        let offset = match query.offset.take() {
            Some(offset) => self.constant_count(offset, "OFFSET")?.unwrap_or(0),
            None => 0,
        };
        query.plan = query.plan.top_with_ties(query.order.clone(), limit, offset);
        Ok(query)
    }

    /// A number of rows that must be known when the plan is made; none where it is NULL.
    fn constant_count(&self, mut expr: Expr, clause: &str) -> Result<Option<u64>> {
        expr.fold(self.cx.settings);
        if let Expr::Raise(error, _) = expr {
            return Err(error.into());
        }
        match expr.as_literal() {
            Some(Datum::Null) => Ok(None),
            Some(Datum::Int8(count)) => match u64::try_from(count) {
                Ok(count) => Ok(Some(count)),
                Err(_) => Err(negative(clause)),
            },
            _ => Err(Error::unsupported(
                format!("a parameter in {clause} of a subquery"),
                "Write the number out.",
            )),
        }
    }

    /// LIMIT, OFFSET and FETCH FIRST.
    pub fn limits(&mut self, query: &ast::Query) -> Result<(Option<Expr>, Option<Expr>)> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset { limit: l, offset: o, limit_by })
                if limit_by.is_empty() =>
            {
                limit = l.as_ref();
                offset = o.as_ref().map(|o| &o.value);
            }
            Some(_) => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "LIMIT #,# syntax is not supported",
                )
                .with_hint("Use separate LIMIT and OFFSET clauses."));
            }
        }
        let limit = match limit {
            Some(limit) => Some(self.count(limit, Clause::Limit)?),
            None => None,
        };
        let offset = match offset {
            Some(offset) => Some(self.count(offset, Clause::Offset)?),
            None => None,
        };
        let Some(fetch) = &query.fetch else { return Ok((limit, offset)) };
        if fetch.percent {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"PERCENT\""));
        }
        if limit.is_some() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"FETCH\""));
        }
        let limit = match &fetch.quantity {
            Some(quantity) => self.count(quantity, Clause::Limit)?,
            None => Typed::literal(Datum::Int8(1), ScalarType::Int8).expr,
        };
        Ok((Some(limit), offset))
    }

    /// The error of a limit that names a column: whether or not the rows have it.
    fn limit_of_columns(&mut self, query: &ast::Query, error: Error) -> Error {
        let ast::SetExpr::Select(select) = &*query.body else { return error };
        let Some(ast::LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause else {
            return error;
        };
        let Ok(source) = self.from(&select.from) else { return error };
        let counts = [("LIMIT", limit.as_ref()), ("OFFSET", offset.as_ref().map(|o| &o.value))];
        for (clause, count) in counts {
            let mut cx = ExprContext::plain(&source.scope, Clause::Where);
            let bound = count.map(|count| self.expr(count, &mut cx));
            if let Some(Ok(Bound::Typed(typed))) = bound
                && !typed.expr.columns().is_empty()
            {
                let message = format!("argument of {clause} must not contain variables");
                let variables = Error::new(SqlState::INVALID_COLUMN_REFERENCE, message);
                return variables.at(error.position);
            }
        }
        error
    }

    fn count(&mut self, expr: &ast::Expr, clause: Clause) -> Result<Expr> {
        let scope = Scope::default();
        let mut cx = ExprContext::plain(&scope, clause);
        let position = self.expr_position(expr);
        let bound = self.expr(expr, &mut cx)?;
        let mut count = self.row_count(bound, clause.name(), position)?.expr;
        count.fold(self.cx.settings);
        if let Some(Datum::Int8(..0)) = count.as_literal() {
            return Err(negative(clause.name()));
        }
        Ok(count)
    }
}

/// Whether a number of rows is known when the statement runs, and not before.
fn is_parameter(count: &Expr) -> bool {
    let asks = |e: &Expr| matches!(e, Expr::Outer { .. } | Expr::Subquery { .. });
    count.any(&mut |e| matches!(e, Expr::Parameter(..))) && !count.any(&mut |e| asks(e))
}

/// The query with limits that are parameters: conditions on the number of a row, which become
/// limits once values stand in the place of the parameters.
fn cut_by_parameters(mut query: Query) -> Query {
    let arity = query.plan.arity();
    let int8 = |value| Expr::literal(Datum::Int8(value), ScalarType::Int8);
    let fault =
        |clause: &str| Expr::Raise(negative(clause).into(), ColumnType::nullable(ScalarType::Bool));
    let is_negative = |count: &Expr| Expr::call_by_oid(INT8_LT, vec![count.clone(), int8(0)]);
    let mut number = Expr::Column(arity);
    let (mut faults, mut conditions) = (vec![], vec![]);
    if let Some(offset) = query.offset.take() {
        let passed = Expr::Coalesce(vec![offset.clone(), int8(0)]);
        faults.push((is_negative(&offset), fault("OFFSET")));
        conditions.push(Expr::call_by_oid(INT8_LT, vec![passed.clone(), number.clone()]));
        number = Expr::call_by_oid(INT8_MINUS, vec![number, passed]);
    }
    if let Some(limit) = query.limit.take() {
        let within = Expr::call_by_oid(INT8_LE, vec![number, limit.clone()]);
        faults.push((is_negative(&limit), fault("LIMIT")));
        conditions.push(Expr::or(vec![limit.is_null(), within]));
    }
    let otherwise = Box::new(Expr::and(conditions));
    let predicates = vec![Expr::Case { branches: faults, otherwise }];
    let order = std::mem::take(&mut query.order);
    let plan = query.plan.ranked(vec![], order).filter(predicates);
    query.plan = plan.project((0..arity).collect());
    query
}

/// The error of a negative number of rows.
fn negative(clause: &str) -> Error {
    let code = match clause {
        "LIMIT" => SqlState::INVALID_ROW_COUNT_IN_LIMIT,
        _ => SqlState::INVALID_ROW_COUNT_IN_OFFSET,
    };
    Error::new(code, format!("{clause} must not be negative"))
}

/// A query in parentheses with the clauses that stand behind them; none where nothing does.
///
/// Parentheses make no query of their own: `(SELECT a FROM t) ORDER BY b` may name a column of `t`.
/// Errors: 42601 where a clause stands inside and outside.
fn merged(outer: &ast::Query, inner: &ast::Query) -> Result<Option<ast::Query>> {
    let limits = |query: &ast::Query| match &query.limit_clause {
        Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
            (limit.is_some() || query.fetch.is_some(), offset.is_some())
        }
        Some(ast::LimitClause::OffsetCommaLimit { .. }) => (true, true),
        None => (query.fetch.is_some(), false),
    };
    let ((limit, offset), (inner_limit, inner_offset)) = (limits(outer), limits(inner));
    let clauses = [
        ("ORDER BY", outer.order_by.is_some(), inner.order_by.is_some()),
        ("OFFSET", offset, inner_offset),
        ("LIMIT", limit, inner_limit),
        ("WITH", outer.with.is_some(), inner.with.is_some()),
    ];
    if let Some((clause, ..)) = clauses.iter().find(|(_, outside, inside)| *outside && *inside) {
        return Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("multiple {clause} clauses not allowed"),
        ));
    }
    if clauses.iter().all(|(_, outside, _)| !outside) && outer.locks.is_empty() {
        return Ok(None);
    }
    let mut query = inner.clone();
    query.with = outer.with.clone().or(query.with);
    query.order_by = outer.order_by.clone().or(query.order_by);
    query.fetch = outer.fetch.clone().or(query.fetch);
    query.locks.extend(outer.locks.iter().cloned());
    query.limit_clause = match (outer.limit_clause.clone(), query.limit_clause.take()) {
        (
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }),
            Some(ast::LimitClause::LimitOffset { limit: l, offset: o, .. }),
        ) => Some(ast::LimitClause::LimitOffset {
            limit: limit.or(l),
            offset: offset.or(o),
            limit_by,
        }),
        (outside, inside) => outside.or(inside),
    };
    Ok(Some(query))
}

/// Refuses what the parser takes from other dialects.
fn refuse_foreign(query: &ast::Query) -> Result<()> {
    let foreign = query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty();
    if foreign {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at the end of the query"));
    }
    Ok(())
}
