//! `json_to_record`, `json_populate_record` and their kin: calls whose result has the shape of an
//! argument or of a column definition list.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::expr::func::Func;
use crate::expr::functions::json_records::Filling;
use crate::expr::functions::records::RecordFunction;
use crate::expr::polymorphic::record_function;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnDesc, ColumnType, RecordName, RecordShape, RecordType, ScalarType};
use crate::sql::bind::arguments::arguments;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::name;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::Scope;

/// The functions; those of the first half have their shape from a column definition list.
const NAMES: [&str; 8] = [
    "json_to_record",
    "json_to_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "json_populate_record",
    "json_populate_recordset",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
];

fn known(name: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|known| *known == name)
}

fn is_populating(name: &str) -> bool {
    name.contains("_populate_")
}

/// Whether a column definition list may stand behind a call.
pub fn takes_definition(name: &str) -> bool {
    known(name).is_some()
}

fn filling(name: &'static str, ty: RecordType) -> Filling {
    Filling { ty, name, binary: name.starts_with("jsonb"), many: name.ends_with("set") }
}

impl Binder<'_, '_> {
    /// One of these functions in FROM, with its arguments; none where it is another.
    pub fn filled_source(
        &mut self,
        call: &ast::Function,
        alias: Option<&ast::TableAlias>,
        before: &Scope,
    ) -> Result<Option<(Func, Vec<Expr>)>> {
        let position = self.position(call.name.span());
        let (_, name) = self.function_name(&call.name).map_err(|e| e.at(position))?;
        let Some(name) = known(&name) else { return Ok(None) };
        let args = arguments(&call.args).map_err(|e| e.at(position))?;
        let mut cx = ExprContext::plain(before, Clause::From);
        let mut bound = vec![];
        for arg in &args.exprs {
            bound.push(self.expr(arg, &mut cx)?);
        }
        let defined = self.defined(alias)?;
        let required = || {
            let message = "a column definition list is required for functions returning \"record\"";
            Error::new(SqlState::SYNTAX_ERROR, message).at(position)
        };
        let ty = match (is_populating(name), defined) {
            (false, None) => return Err(required()),
            (false, Some(ty)) => ty,
            (true, defined) => {
                let first = bound.first().cloned();
                let of = self.row_type(name, first).map_err(|e| e.at(position))?;
                match (of.is_anonymous(), defined) {
                    (true, None) => return Err(required()),
                    (true, Some(defined)) if defined.scalars() == of.scalars() => of,
                    (true, Some(_)) => return Err(other_shape().at(position)),
                    (false, None) => of,
                    (false, Some(_)) => {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "a column definition list is redundant for a function returning a \
                             named composite type",
                        )
                        .at(position));
                    }
                }
            }
        };
        let args = self.filled_args(name, ty, bound).map_err(|e| e.at(position))?;
        let func = Func(record_function(RecordFunction::FilledRows(filling(name, ty))));
        Ok(Some((func, args)))
    }

    /// One of these functions as a value; none where it is another. That of several rows is a
    /// function that returns rows.
    pub fn filled_call(&mut self, name: &str, bound: &[Bound]) -> Result<Option<Typed>> {
        let Some(name) = known(name) else { return Ok(None) };
        if !is_populating(name) {
            let message = format!("could not determine row type for result of {name}");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(
                "Provide a non-null record argument, or call the function in the FROM clause \
                 using a column definition list.",
            ));
        }
        let ty = self.row_type(name, bound.first().cloned())?;
        let filling = filling(name, ty);
        let args = self.filled_args(name, ty, bound.to_vec())?;
        let function = match filling.many {
            true => {
                RecordFunction::Rows(ty, record_function(RecordFunction::FilledRows(filling)).oid)
            }
            false => RecordFunction::Filled(filling),
        };
        let expr = Expr::call(Func(record_function(function)), args);
        Ok(Some(Typed { expr, ty: ColumnType::nullable(ScalarType::Record(ty)) }))
    }

    /// The arguments: the record that is filled, and the document. Errors: 42883.
    fn filled_args(
        &mut self,
        name: &str,
        ty: RecordType,
        mut bound: Vec<Bound>,
    ) -> Result<Vec<Expr>> {
        let types: Vec<_> = bound.iter().map(|arg| arg.scalar(self)).collect();
        let document = if name.starts_with("jsonb") { ScalarType::Jsonb } else { ScalarType::Json };
        let wanted = 1 + usize::from(is_populating(name));
        let last = if bound.len() == wanted { bound.pop() } else { None };
        let last = match last {
            Some(last) => self.implicit(last, ColumnType::nullable(document))?,
            None => None,
        };
        let Some(last) = last else {
            let types = types.into_iter().map(|ty| ty.map_or("unknown", ScalarType::display_name));
            let types = types.collect::<Vec<_>>().join(", ");
            let message = format!("function {name}({types}) does not exist");
            return Err(Error::new(SqlState::UNDEFINED_FUNCTION, message).with_hint(
                "No function matches the given name and argument types. You might need to add \
                 explicit type casts.",
            ));
        };
        let base = match bound.pop() {
            Some(base) => self.settle(base)?.expr,
            None => Expr::null(ColumnType::nullable(ScalarType::Record(ty))),
        };
        Ok(vec![base, last.expr])
    }

    /// The type of the record that is filled. Errors: 42804.
    fn row_type(&mut self, name: &str, base: Option<Bound>) -> Result<RecordType> {
        let fault = |message: String| Error::new(SqlState::DATATYPE_MISMATCH, message);
        match base.as_ref().map(|base| base.scalar(self)) {
            Some(Some(ScalarType::Record(ty))) => Ok(ty),
            Some(None) | None => Err(fault(
                "could not determine polymorphic type because input has type unknown".into(),
            )),
            Some(Some(_)) => Err(fault(format!("first argument of {name} must be a row type"))),
        }
    }

    /// The shape that a column definition list gives.
    fn defined(&mut self, alias: Option<&ast::TableAlias>) -> Result<Option<RecordType>> {
        let Some(alias) = alias else { return Ok(None) };
        let mut fields = vec![];
        for column in &alias.columns {
            let Some(ty) = &column.data_type else { return Ok(None) };
            let position = self.position(column.name.span);
            let named = self.named_type(ty).map_err(|e| e.at(position))?;
            if named.domain.is_some() {
                return Err(Error::unsupported(
                    "a domain in a column definition list",
                    "Take the domain's own type, and cast the column.",
                )
                .at(position));
            }
            fields.push(ColumnDesc { name: name::ident(&column.name), ty: named.ty });
        }
        if fields.is_empty() {
            return Ok(None);
        }
        Ok(Some(RecordType::of(RecordShape { name: RecordName::Anonymous, fields })))
    }
}

fn other_shape() -> Error {
    Error::new(
        SqlState::DATATYPE_MISMATCH,
        "function return row and query-specified return row do not match",
    )
}
