//! `tumble`, `hop` and `session` in FROM: the rows of a relation with the windows of time that they
//! are in.
//!
//! ```text
//! tumble(t, ts, size [, offset])        each row in the window of that size that holds it
//! hop(t, ts, slide, size [, offset])    … in each of the windows that begin every `slide`
//! session(t, ts, gap [, key, …])        … in the run of rows of its key without such a gap
//! ```
//!
//! The relation's columns come first, then `window_start` (inclusive) and `window_end` (exclusive),
//! timestamps of the kind that `ts` is; a date counts as its midnight. Windows of fixed size begin
//! at the epoch and the offset. A session ends a gap after its last row: a row that comes exactly
//! then still belongs to it. A row without a time is in no window.
//!
//! Each is a query over the relation, written out here and bound like any other: `date_bin`,
//! `generate_series`, and for sessions `lag`, `count`, `min` and `max` over windows. So they are
//! maintained, and their faults are those of these functions.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::from::Source;
use crate::sql::bind::name;
use crate::sql::bind::query::{Cte, OutputColumn, Stage};
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::parse::ast as syntax;

/// Under which name the query reads the relation.
const INPUT: &str = "\"the rows in windows\"";

/// A call.
struct Call<'a> {
    kind: Kind,
    relation: &'a ast::Expr,
    time: &'a ast::Ident,
    args: Vec<&'a ast::Expr>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tumble,
    Hop,
    Session,
}

impl Kind {
    /// The fewest and the most arguments behind the time.
    fn arity(self) -> (usize, usize) {
        match self {
            Kind::Tumble => (1, 2),
            Kind::Hop => (2, 3),
            Kind::Session => (1, usize::MAX),
        }
    }
}

/// The name of a call in FROM, its arguments and its alias, where it assigns windows.
fn call(
    factor: &ast::TableFactor,
) -> Option<(Kind, &[ast::FunctionArg], Option<&ast::TableAlias>)> {
    let ast::TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } =
        factor
    else {
        return None;
    };
    let [part] = name.0.as_slice() else { return None };
    let kind = match name::ident(part.as_ident()?).as_str() {
        "tumble" => Kind::Tumble,
        "hop" => Kind::Hop,
        "session" => Kind::Session,
        _ => return None,
    };
    Some((kind, &args.args, alias.as_ref()))
}

fn parts(kind: Kind, args: &[ast::FunctionArg]) -> Option<Call<'_>> {
    let plain = |arg| match arg {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    let args: Vec<&ast::Expr> = args.iter().map(plain).collect::<Option<_>>()?;
    let [relation, ast::Expr::Identifier(time), rest @ ..] = args.as_slice() else { return None };
    let (fewest, most) = kind.arity();
    let fits = (fewest..=most).contains(&rest.len());
    fits.then(|| Call { kind, relation, time, args: rest.to_vec() })
}

impl Binder<'_, '_> {
    /// An item of FROM that assigns windows of time, if it is one.
    pub fn time_windows(&mut self, factor: &ast::TableFactor) -> Result<Option<Source>> {
        let Some((kind, args, alias)) = call(factor) else { return Ok(None) };
        let position = self.position(factor.span());
        let call = parts(kind, args).ok_or_else(|| wrong_call(kind).at(position))?;
        let object = match call.relation {
            ast::Expr::Identifier(ident) => ast::ObjectName::from(vec![ident.clone()]),
            ast::Expr::CompoundIdentifier(idents) => ast::ObjectName::from(idents.clone()),
            _ => return Err(wrong_call(kind).at(position)),
        };
        let input = self.named_relation(&object, None)?;
        let columns: Vec<OutputColumn> = input.scope.visible.iter().map(output).collect();
        let time = name::ident(call.time);
        let ty = columns.iter().find(|column| column.name == time).map(|column| column.ty.scalar);
        let ty = ty.ok_or_else(|| {
            let message = format!("column \"{time}\" does not exist");
            let position = self.position(call.time.span);
            Error::new(SqlState::UNDEFINED_COLUMN, message).at(position)
        })?;
        let text = call.query(&columns, ty).map_err(|e| e.at(self.position(call.time.span)))?;
        let id = self.fresh_let();
        let there = Cte::new(Some(id), columns, Stage::Whole);
        let cte_name = INPUT.trim_matches('"');
        self.ctes.entry(cte_name.to_owned()).or_default().push(there);
        // What the text names is not what is stored, and its places are not the statement's.
        let edits = self.edits.take();
        let bound = self.windows_query(&text);
        self.edits = edits;
        self.ctes.get_mut(cte_name).map(Vec::pop);
        let (plan, columns) = bound.map_err(|error| Error { position, ..error })?;
        let visible: Vec<usize> = input.scope.visible.iter().map(|column| column.index).collect();
        let plan = input.plan.project(visible).shared(id, |_| plan);
        let columns = columns.into_iter().enumerate().map(|(index, column)| Column {
            name: column.name,
            ty: column.ty,
            index,
            table: Some(0),
        });
        let mut table = Table::derived(
            alias.map_or_else(|| spelled(kind).to_owned(), |a| name::ident(&a.name)),
            columns.collect(),
        );
        if let Some(alias) = alias {
            self.rename(&mut table, alias)?;
        }
        Ok(Some(Source { plan, scope: Scope::of_table(table) }))
    }

    fn windows_query(
        &mut self,
        text: &str,
    ) -> Result<(crate::sql::bind::relation::Plan, Vec<OutputColumn>)> {
        let parsed = query_of(text)?;
        let syntax::Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("windows that are no query"));
        };
        self.subquery(&select.query)
    }
}

impl Call<'_> {
    /// The query over the relation with these columns; the time is of that type.
    fn query(&self, columns: &[OutputColumn], ty: ScalarType) -> Result<String> {
        let kind = match ty {
            ScalarType::TimestampTz => "timestamptz",
            ScalarType::Timestamp | ScalarType::Date => "timestamp",
            other => {
                let message = format!(
                    "the times of windows must be of type timestamp or date, not {}",
                    other.display_name()
                );
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
            }
        };
        let time = format!("i.{}::{kind}", quoted(&name::ident(self.time)));
        let interval = |at: usize| format!("CAST(({}) AS interval)", self.args[at]);
        let origin = |at: usize| match self.args.get(at) {
            Some(_) => format!("({kind} 'epoch' + {})", interval(at)),
            None => format!("{kind} 'epoch'"),
        };
        let all: Vec<String> =
            columns.iter().map(|column| format!("i.{}", quoted(&column.name))).collect();
        let all = all.join(", ");
        Ok(match self.kind {
            Kind::Tumble => {
                let (size, origin) = (interval(0), origin(1));
                let start = format!("date_bin({size}, {time}, {origin})");
                format!(
                    "SELECT {all}, {start} AS window_start, {start} + {size} AS window_end \
                     FROM {INPUT} i WHERE {time} IS NOT NULL"
                )
            }
            Kind::Hop => {
                let (slide, size, origin) = (interval(0), interval(1), origin(2));
                format!(
                    "SELECT {all}, s.s AS window_start, s.s + {size} AS window_end \
                     FROM {INPUT} i, generate_series(date_bin({slide}, {time}, {origin}), \
                     {time} - {size}, - {slide}) s(s) WHERE s.s + {size} > {time}"
                )
            }
            Kind::Session => self.sessions(&all, &time, &interval(0)),
        })
    }

    fn sessions(&self, all: &str, time: &str, gap: &str) -> String {
        let keys: Vec<String> = self.args[1..].iter().map(ToString::to_string).collect();
        let by = |more: Option<&str>| {
            let keys: Vec<&str> = keys.iter().map(String::as_str).chain(more).collect();
            if keys.is_empty() {
                String::new()
            } else {
                format!("PARTITION BY {}", keys.join(", "))
            }
        };
        let (key, run) = (by(None), by(Some("\"its run\"")));
        format!(
            "SELECT {all}, min({time}) OVER ({run}) AS window_start, \
             max({time}) OVER ({run}) + {gap} AS window_end FROM (\
             SELECT {all}, count(*) FILTER (WHERE \"begins\") OVER ({key} ORDER BY {time}) \
             AS \"its run\" FROM (\
             SELECT {all}, coalesce({time} > lag({time}) OVER ({key} ORDER BY {time}) + {gap}, \
             true) AS \"begins\" FROM {INPUT} i WHERE {time} IS NOT NULL) i) i"
        )
    }
}

fn output(column: &Column) -> OutputColumn {
    OutputColumn { name: column.name.clone(), ty: column.ty, literal: None }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn spelled(kind: Kind) -> &'static str {
    match kind {
        Kind::Tumble => "tumble",
        Kind::Hop => "hop",
        Kind::Session => "session",
    }
}

fn wrong_call(kind: Kind) -> Error {
    let usage = match kind {
        Kind::Tumble => "tumble(relation, time, size [, offset])",
        Kind::Hop => "hop(relation, time, slide, size [, offset])",
        Kind::Session => "session(relation, time, gap [, key, …])",
    };
    Error::new(
        SqlState::UNDEFINED_FUNCTION,
        format!("function {} is called with other arguments", spelled(kind)),
    )
    .with_hint(format!("Call {usage}."))
}
