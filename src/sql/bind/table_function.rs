//! Functions in FROM: `generate_series(1, 3) AS g(x)`, `ROWS FROM (…)`, `WITH ORDINALITY`.
//!
//! Their arguments may name columns of what stands before them, with or without LATERAL. A call
//! that does is *open*: a FlatMap over the one empty row whose arguments are columns that this row
//! does not have. Only [`Plan::cross`] and [`Binder::join_plans`] meet such a plan; they close it
//! by putting it over the rows whose columns the arguments mean.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::expr::func::Func;
use crate::expr::scalar::Expr;
use crate::expr::table::{Part, TableFunc};
use crate::plan::relation::Relation;
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::from::Source;
use crate::sql::bind::join::JoinKind;
use crate::sql::bind::json_records as records;
use crate::sql::bind::name;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::{Absent, Column, Scope, Table};

/// What the parser calls `ROWS FROM (…)`, which it does not know ([`mod@crate::sql::parse`]).
pub const ROWS_FROM: &str = "rows from";

/// Functions that stand as one item of FROM.
struct Item<'a> {
    calls: Vec<Call<'a>>,
    ordinality: bool,
    alias: Option<&'a ast::TableAlias>,
}

/// A call, or an expression with a syntax of its own.
enum Call<'a> {
    Function(Box<ast::Function>),
    Expr(&'a ast::Expr),
}

/// A call that was bound.
struct BoundCall {
    part: Part,
    args: Vec<Expr>,
    name: String,
    /// The names of the columns, where the function gives them.
    columns: Vec<Option<&'static str>>,
}

impl BoundCall {
    /// A call whose rows are filled from JSON.
    fn filled(func: Func, args: Vec<Expr>) -> BoundCall {
        let mut part = Part::of(func);
        let columns = func.set.map_or(&[][..], |set| set.columns).iter();
        if let ScalarType::Record(ty) = func.ret {
            part.columns = ty.fields().iter().map(|field| field.ty).collect();
        }
        let columns = columns.map(|column| column.name).collect();
        BoundCall { part, args, name: func.name.to_owned(), columns }
    }
}

/// Whether this item of FROM is a function.
pub fn is_call(factor: &ast::TableFactor) -> bool {
    item(factor).is_some()
}

fn item(factor: &ast::TableFactor) -> Option<Item<'_>> {
    use ast::TableFactor as Factor;
    match factor {
        Factor::Table { name, alias, args: Some(args), with_ordinality, .. } => {
            let calls = calls(name, &args.args)?;
            Some(Item { calls, ordinality: *with_ordinality, alias: alias.as_ref() })
        }
        Factor::Function { name, args, with_ordinality, alias, .. } => {
            let calls = calls(name, args)?;
            Some(Item { calls, ordinality: *with_ordinality, alias: alias.as_ref() })
        }
        Factor::UNNEST { alias, array_exprs, with_offset: false, with_ordinality, .. } => {
            let calls = array_exprs.iter().map(|array| {
                let name = ast::ObjectName::from(vec![ast::Ident::new("unnest")]);
                let arg = ast::FunctionArgExpr::Expr(array.clone());
                Call::Function(function(name, vec![ast::FunctionArg::Unnamed(arg)]))
            });
            Some(Item {
                calls: calls.collect(),
                ordinality: *with_ordinality,
                alias: alias.as_ref(),
            })
        }
        _ => None,
    }
}

fn calls<'a>(name: &ast::ObjectName, args: &'a [ast::FunctionArg]) -> Option<Vec<Call<'a>>> {
    match name.0.as_slice() {
        [part] if part.as_ident().is_some_and(|ident| ident.value == ROWS_FROM) => {
            args.iter().map(parenthesized).collect()
        }
        _ => Some(vec![Call::Function(function(name.clone(), args.to_vec()))]),
    }
}

/// What stands between the parentheses of `ROWS FROM`.
fn parenthesized(arg: &ast::FunctionArg) -> Option<Call<'_>> {
    match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(match expr {
            ast::Expr::Function(function) => Call::Function(Box::new(function.clone())),
            other => Call::Expr(other),
        }),
        _ => None,
    }
}

fn function(name: ast::ObjectName, args: Vec<ast::FunctionArg>) -> Box<ast::Function> {
    let list = ast::FunctionArgumentList { duplicate_treatment: None, args, clauses: vec![] };
    Box::new(ast::Function {
        name,
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(list),
        within_group: vec![],
        filter: None,
        null_treatment: None,
        over: None,
    })
}

impl Plan {
    /// The rows of a function, over a row without columns. With arguments that are columns it is
    /// open.
    fn of_call(func: TableFunc, args: Vec<Expr>) -> Plan {
        let types = func.columns();
        Plan { relation: Plan::unit().relation.flat_map(func, args), types }
    }

    /// Whether this is a call whose arguments are columns of what stands before it.
    pub fn is_open(&self) -> bool {
        self.open_args().next().is_some()
    }

    /// The arguments of a call that are columns of what stands before it.
    pub fn open_args(&self) -> impl Iterator<Item = &Expr> {
        let args: &[Expr] = match &self.relation {
            Relation::FlatMap { input, args, .. } if input.arity() == 0 => args,
            _ => &[],
        };
        args.iter().filter(|arg| !arg.columns().is_empty())
    }

    /// Each row with each that the function returns for it.
    pub fn flat_map(self, func: TableFunc, args: Vec<Expr>) -> Plan {
        let types = self.types.into_iter().chain(func.columns()).collect();
        Plan { relation: self.relation.flat_map(func, args), types }
    }

    /// An open call, closed over the rows whose columns its arguments are.
    pub fn closed_over(self, left: Plan) -> Plan {
        match self.relation {
            Relation::FlatMap { func, args, .. } => left.flat_map(func, args),
            relation => left.cross(Plan { relation, types: self.types }),
        }
    }
}

impl Binder<'_, '_> {
    /// A function in FROM; its arguments may name the columns of `before`.
    pub fn call_source(&mut self, factor: &ast::TableFactor, before: &Scope) -> Result<Source> {
        if let Some(program) = self.datalog_source(factor)? {
            return Ok(program);
        }
        if let Some(windows) = self.time_windows(factor)? {
            return Ok(windows);
        }
        if let Some(facts) = self.facts_in_time(factor)? {
            return Ok(facts);
        }
        let position = self.position(factor.span());
        let Some(item) = item(factor) else {
            return Err(Error::internal("an item of FROM that calls nothing").at(position));
        };
        let mut calls = Vec::with_capacity(item.calls.len());
        for call in &item.calls {
            let filled = match call {
                Call::Function(function) => self.filled_source(function, item.alias, before)?,
                Call::Expr(_) => None,
            };
            calls.push(match filled {
                Some((func, args)) => BoundCall::filled(func, args),
                None => self.table_call(call, before)?,
            });
        }
        let table = self.call_table(&item, &calls)?;
        let (mut parts, mut args) = (vec![], vec![]);
        for call in calls {
            parts.push(call.part);
            args.extend(call.args);
        }
        let func = TableFunc { parts, ordinality: item.ordinality };
        let plan = match args.iter().any(has_subquery) {
            false => Plan::of_call(func, args),
            true if args.iter().all(|arg| arg.columns().is_empty()) => {
                let asked = self.place(Plan::unit(), &mut args);
                let width = asked.arity();
                let plan = asked.flat_map(func, args);
                let columns = (width..plan.arity()).collect();
                plan.project(columns)
            }
            true => {
                return Err(Error::unsupported(
                    "a subquery beside columns in the arguments of a function in FROM",
                    "Compute the argument in a LATERAL subquery.",
                )
                .at(position));
            }
        };
        Ok(Source { plan, scope: Scope::of_table(table) })
    }

    fn table_call(&mut self, call: &Call<'_>, before: &Scope) -> Result<BoundCall> {
        let mut cx = ExprContext::plain(before, Clause::FromCall);
        let (bound, name) = match call {
            Call::Function(function) => {
                let position = self.position(function.name.span());
                let (_, name) = self.function_name(&function.name).map_err(|e| e.at(position))?;
                (self.function_call(function, &mut cx)?, name)
            }
            Call::Expr(expr) => {
                let mut cx = ExprContext::plain(before, Clause::From);
                (self.expr(expr, &mut cx)?, super::figure::column_name(expr))
            }
        };
        let typed = self.settle(bound)?;
        if let Expr::Call { func, args } = &typed.expr
            && let Some(set) = &func.set
        {
            let columns = set.columns.iter().map(|column| column.name).collect();
            return Ok(BoundCall { part: Part::of(*func), args: args.clone(), name, columns });
        }
        let Typed { expr, ty } = typed;
        Ok(BoundCall { part: Part::value(ty), args: vec![expr], name, columns: vec![None] })
    }

    /// The names of a function's columns, which an alias may give.
    fn call_table(&self, item: &Item<'_>, calls: &[BoundCall]) -> Result<Table> {
        let padded = calls.len() > 1;
        let alias = item.alias.map(|alias| name::ident(&alias.name));
        let mut names: Vec<(String, ColumnType)> = vec![];
        for call in calls {
            let own = match (&alias, padded) {
                (Some(alias), false) => alias,
                _ => &call.name,
            };
            for (column, ty) in call.columns.iter().zip(&call.part.columns) {
                let ty = ColumnType { nullable: ty.nullable || padded, ..*ty };
                names.push((column.map_or_else(|| own.clone(), str::to_owned), ty));
            }
        }
        if item.ordinality {
            names.push(("ordinality".into(), ColumnType::not_null(ScalarType::Int8)));
        }
        let names_len = names.len();
        let columns = names.into_iter().enumerate();
        let columns = columns.map(|(index, (name, ty))| Column { name, ty, index, table: Some(0) });
        let first = calls.first().map(|call| call.name.clone());
        let mut table = Table {
            name: alias.or(first).unwrap_or_default(),
            schema: None,
            hidden: None,
            id: None,
            columns: columns.collect(),
            primary_key: None,
            is_scalar: names_len == 1 && !item.ordinality,
            absent: Absent::Never,
        };
        if let Some(alias) = item.alias {
            let defines = alias.columns.iter().any(|column| column.data_type.is_some());
            if defines && !calls.iter().all(|call| records::takes_definition(&call.name)) {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "a column definition list is only allowed for functions returning \"record\"",
                )
                .at(self.position(alias.name.span)));
            }
            self.rename(&mut table, alias)?;
        }
        Ok(table)
    }

    /// The join of rows with what an open call returns for them.
    pub fn join_call(
        &mut self,
        kind: JoinKind,
        left: Plan,
        call: Plan,
        predicate: Option<Expr>,
    ) -> Plan {
        let predicates: Vec<Expr> = predicate.into_iter().flat_map(Expr::into_conjuncts).collect();
        if kind == JoinKind::Inner {
            return call.closed_over(left).filter(predicates);
        }
        let arity = left.arity();
        let missing = call.types.iter().map(|&ty| Typed::null(ty)).collect();
        let (kept, pairs) = (self.fresh_let(), self.fresh_let());
        left.shared(kept, |kept| {
            call.closed_over(kept.clone()).filter(predicates).shared(pairs, |pairs| {
                let matched = pairs.clone().project((0..arity).collect());
                let alone = kept.union(matched.negate()).threshold();
                pairs.union(alone.map(missing))
            })
        })
    }
}
