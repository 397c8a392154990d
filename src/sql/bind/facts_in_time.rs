//! `facts_as_of` and `facts_since` in FROM: an attribute of the entity store at another time.
//!
//! ```text
//! facts_as_of(person.name, t)   the facts that held after transaction t
//! facts_since(person.name, t)   the facts that hold and were last asserted after it
//! ```
//!
//! `t` is the entity of a transaction, or a time: then it is every transaction whose
//! `db.tx_instant` is not later. Both are queries over the attribute's history, which is stored
//! with it, so they reach back to its first fact, and are maintained as any other.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::repr::ScalarType;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::from::Source;
use crate::sql::bind::name;
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::parse::ast as syntax;

/// The functions.
const AS_OF: &str = "facts_as_of";
const SINCE: &str = "facts_since";

/// A call: whether it is `facts_as_of`, its arguments and its alias.
type Call<'a> = (bool, &'a [ast::FunctionArg], Option<&'a ast::TableAlias>);

fn call(factor: &ast::TableFactor) -> Option<Call<'_>> {
    let ast::TableFactor::Table { name, args: Some(args), alias, with_ordinality: false, .. } =
        factor
    else {
        return None;
    };
    let [part] = name.0.as_slice() else { return None };
    let as_of = match name::ident(part.as_ident()?).as_str() {
        AS_OF => true,
        SINCE => false,
        _ => return None,
    };
    Some((as_of, &args.args, alias.as_ref()))
}

fn parts(args: &[ast::FunctionArg]) -> Option<(ast::ObjectName, &ast::Expr)> {
    let plain = |arg| match arg {
        &ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    let args: Vec<&ast::Expr> = args.iter().map(plain).collect::<Option<_>>()?;
    let [relation, time] = args.as_slice() else { return None };
    Some((name::object_of(relation)?, *time))
}

impl Binder<'_, '_> {
    /// An item of FROM that is an attribute at another time, if it is one.
    ///
    /// Errors: 42883 for other arguments, 42P01, 42809 for what has no history.
    pub fn facts_in_time(&mut self, factor: &ast::TableFactor) -> Result<Option<Source>> {
        let Some((as_of, args, alias)) = call(factor) else { return Ok(None) };
        let position = self.position(factor.span());
        let word = if as_of { AS_OF } else { SINCE };
        let (object, time) = parts(args).ok_or_else(|| wrong_call(word).at(position))?;
        let item = self.relation(&object)?;
        let history = item.attribute().and_then(|attribute| attribute.history);
        let Some(history) = history.and_then(|id| self.cx.catalog.get(id)).cloned() else {
            return Err(Error::new(
                SqlState::WRONG_OBJECT_TYPE,
                format!("\"{}\" is not an attribute with a history", item.name),
            )
            .with_hint("SELECT … AS OF reads the past of any relation, as far as it is retained.")
            .at(self.position(object.span())));
        };
        self.edit(object.span(), || name::qualified_text(&item.schema, &item.name));
        let before = self.until(time)?;
        let history = name::qualified_text(&history.schema, &history.name);
        let (among, behind) = match as_of {
            true => (format!(" WHERE h.tx {before}"), String::new()),
            false => (String::new(), format!(" WHERE NOT h.tx {before}")),
        };
        let text = format!(
            "SELECT h.e, h.v FROM (SELECT h.e, h.v, max(h.tx) AS tx FROM {history} h{among} \
             GROUP BY h.e, h.v) l JOIN {history} h \
             ON h.e = l.e AND h.v = l.v AND h.tx = l.tx AND h.added{behind}"
        );
        let parsed = query_of(&text)?;
        let syntax::Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("facts that are no query"));
        };
        // What the text names is not what is stored, and its places are not the statement's.
        let edits = self.edits.take();
        let bound = self.subquery(&select.query);
        self.edits = edits;
        let (plan, columns) = bound.map_err(|error| Error { position, ..error })?;
        let columns = columns.into_iter().enumerate().map(|(index, column)| Column {
            name: column.name,
            ty: column.ty,
            index,
            table: Some(0),
        });
        let mut table = Table::derived(
            alias.map_or_else(|| word.to_owned(), |alias| name::ident(&alias.name)),
            columns.collect(),
        );
        if let Some(alias) = alias {
            self.rename(&mut table, alias)?;
        }
        Ok(Some(Source { plan, scope: Scope::of_table(table) }))
    }

    /// The condition that a transaction is not later than a time.
    fn until(&mut self, time: &ast::Expr) -> Result<String> {
        let scope = Scope::default();
        let bound = self.expr(time, &mut ExprContext::plain(&scope, Clause::From))?;
        let is_number = match &bound {
            Bound::Unknown { text: Some(text), .. } => text.trim().parse::<i64>().is_ok(),
            bound => !matches!(
                bound.scalar(self),
                Some(ScalarType::TimestampTz | ScalarType::Timestamp | ScalarType::Date)
            ),
        };
        Ok(match is_number {
            true => format!("<= CAST(({time}) AS bigint)"),
            false => {
                format!("IN (SELECT e FROM db.tx_instant WHERE v <= CAST(({time}) AS timestamptz))")
            }
        })
    }
}

fn wrong_call(word: &str) -> Error {
    let message = format!("function {word} is called with other arguments");
    Error::new(SqlState::UNDEFINED_FUNCTION, message)
        .with_hint(format!("Call {word}(attribute, transaction or time)."))
}
