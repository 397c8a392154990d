//! Functions and conversions that an expression in SQL stands for, put in their place.
//!
//! The expression is bound as a scalar subquery would be: its own level of names are the arguments
//! (`_1`, `_2`) and what the session knows (`_path`, `_user`), and nothing of the query around it
//! can be seen. What it names becomes the arguments of the subquery; constants are put in directly.

use bumpalo::Bump;
use sqlparser::ast;

use crate::error::{Error, Result};
use crate::expr::cast::Cast;
use crate::expr::functions::catalog::cast_body;
use crate::expr::scalar::Expr;
use crate::plan::relation::Relation;
use crate::repr::array::ArrayBuilder;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::query::Query;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::bind::subquery::{Kind, Subquery, allowed};
use crate::sql::parse::ast::Statement;

impl Binder<'_, '_> {
    /// A call, or the expression that stands for it.
    pub fn inlined_call(&mut self, call: Typed, whole: &ast::Function) -> Result<Typed> {
        let Expr::Call { func, args } = &call.expr else { return Ok(call) };
        let Some(body) = func.sql else { return Ok(call) };
        let types = func.args.iter().map(|ty| ColumnType::nullable(*ty));
        let args = args.iter().zip(types).map(|(expr, ty)| Typed { expr: expr.clone(), ty });
        let bound = self.inlined(body, args.collect())?;
        let whole = ast::Expr::Function(whole.clone());
        Ok(self.as_before(bound, &whole, 0, self.clause))
    }

    /// A conversion, or the expression that stands for it.
    pub fn converted_by(
        &mut self,
        typed: Typed,
        cast: Cast,
        to: ColumnType,
        written: bool,
    ) -> Result<Typed> {
        match cast_body(cast.from, cast.to) {
            Some(body) => {
                let inlined = self.inlined(body, vec![typed])?;
                if inlined.ty.scalar == to.scalar {
                    return Ok(inlined);
                }
                match Cast::find(inlined.ty.scalar, to.scalar) {
                    Some(cast) => Ok(Typed { expr: inlined.expr.cast(cast, to, written), ty: to }),
                    None => Err(Error::internal("a conversion to another type")),
                }
            }
            None => Ok(Typed { expr: typed.expr.cast(cast, to, written), ty: to }),
        }
    }

    /// An expression in SQL over these values.
    fn inlined(&mut self, body: &str, args: Vec<Typed>) -> Result<Typed> {
        allowed(self.clause)?;
        let parsed = query_of(&format!("SELECT {body}"))?;
        let Statement::Select(select) = parsed.ast() else {
            return Err(Error::internal("the text of a function is not an expression"));
        };
        let values = self.values_of(args);
        let path = values.len() - 2;
        let scope = scope_of(&values);
        let ctes = std::mem::take(&mut self.ctes);
        let depends_on = std::mem::take(&mut self.depends_on);
        let lines = std::mem::replace(&mut self.lines, parsed.lines.clone());
        let edits = self.edits.take();
        let (level, clause) = (self.levels.len(), self.clause);
        let bound = self.deeper(|binder| {
            binder.hiding(0, |binder| binder.inside(&scope, |b| b.rows_of(&select.query)))
        });
        (self.ctes, self.depends_on, self.lines) = (ctes, depends_on, lines);
        (self.edits, self.clause) = (edits, clause);
        let (query, taken) = bound.map_err(|error| Error { position: None, ..error })?;
        let Query { mut plan, columns, .. } = query;
        let asked: Vec<usize> = taken.args.iter().filter_map(column_of).collect();
        if asked.iter().any(|column| *column >= path) {
            self.refuse_maintained(
                "a name as the session's search path spells it",
                "Compare oids, or ask for the name when the view is read.",
            )?;
        }
        let args = place_arguments(&mut plan.relation, level, &asked, &values);
        let ty = match columns.as_slice() {
            [column] => ColumnType { nullable: true, ..column.ty },
            _ => return Err(Error::internal("the text of a function is not one expression")),
        };
        let id = self.add_subquery(Subquery { kind: Kind::Scalar { one_row: true }, plan, level });
        Ok(Typed { expr: Expr::Subquery { id, args, output: 0, ty }, ty })
    }

    /// The arguments, and behind them the search path and the user.
    fn values_of(&self, mut args: Vec<Typed>) -> Vec<Typed> {
        let arena = Bump::new();
        let mut path = ArrayBuilder::new();
        path.extend(self.cx.search_path.iter().map(|schema| Datum::Text(schema)));
        let element = ScalarType::Text.as_element();
        let path = element.map_or(Datum::Null, |element| path.vector_in(element, &arena));
        let text_array = ScalarType::Text.array().unwrap_or(ScalarType::Text);
        args.push(Typed::literal(path, text_array));
        args.push(Typed::literal(Datum::Text(self.cx.current_user), ScalarType::Name));
        args
    }
}

fn column_of(arg: &Typed) -> Option<usize> {
    match arg.expr {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// The values under their names.
fn scope_of(values: &[Typed]) -> Scope {
    let count = values.len() - 2;
    let column = |(index, value): (usize, &Typed)| {
        let name = match index - index.min(count) {
            _ if index < count => format!("_{}", index + 1),
            0 => "_path".to_owned(),
            _ => "_user".to_owned(),
        };
        Column { name, ty: value.ty, index, table: None }
    };
    Scope::of_table(Table::derived("", values.iter().enumerate().map(column).collect()))
}

/// Puts constants where they are asked for, and renumbers the other arguments, which are returned.
fn place_arguments(
    relation: &mut Relation,
    level: usize,
    asked: &[usize],
    values: &[Typed],
) -> Vec<Expr> {
    let mut args: Vec<Expr> = vec![];
    let mut places: Vec<Expr> = vec![];
    for (index, column) in asked.iter().enumerate() {
        let value = &values[*column];
        places.push(match value.expr.as_literal() {
            Some(_) => value.expr.clone(),
            None => {
                args.push(value.expr.clone());
                Expr::Outer { level, index: args.len() - 1, ty: value.ty }
            }
        });
        debug_assert_eq!(places.len(), index + 1);
    }
    relation.visit_mut_post(&mut |node| {
        for expr in node.own_exprs_mut() {
            expr.visit_mut(&mut |e| {
                if let Expr::Outer { level: l, index, .. } = e
                    && *l == level
                    && let Some(place) = places.get(*index)
                {
                    *e = place.clone();
                }
            });
        }
    });
    args
}
