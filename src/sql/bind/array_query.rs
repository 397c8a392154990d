//! `ARRAY (SELECT …)`: the rows of a query as an array, in the query's order.
//!
//! It is what `array_agg` makes of them, but that no rows make the empty array.

use sqlparser::ast;

use crate::error::{Error, Result};
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, Datum};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::expr::ExprContext;
use crate::sql::bind::relation::Typed;
use crate::sql::parse::ast::Statement;

/// The query around the one whose rows are taken.
const AROUND: &str = "SELECT array_agg(\"row\") FROM (SELECT 1) AS \"rows\" (\"row\")";

impl Binder<'_, '_> {
    /// The array that a call is, where it is one of a query's rows.
    pub fn array_query(
        &mut self,
        name: &str,
        function: &ast::Function,
        cx: &mut ExprContext<'_>,
    ) -> Result<Option<Typed>> {
        match &function.args {
            ast::FunctionArguments::Subquery(query) if name == "array" => {
                self.array_of_rows(query, function, cx).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// `ARRAY (SELECT …)`.
    fn array_of_rows(
        &mut self,
        query: &ast::Query,
        function: &ast::Function,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let around = query_of(AROUND)?;
        let Statement::Select(select) = around.ast() else {
            return Err(Error::internal("the query around an array's is none"));
        };
        let mut around = (*select.query).clone();
        if let ast::SetExpr::Select(select) = &mut *around.body
            && let Some(from) = select.from.first_mut()
            && let ast::TableFactor::Derived { subquery, .. } = &mut from.relation
        {
            **subquery = query.clone();
        }
        let whole = ast::Expr::Function(function.clone());
        let columns = self.subquery_columns(&whole, &around, cx)?;
        let Some(array) = columns.into_iter().next() else {
            return Err(Error::internal("an array's query without a column"));
        };
        let ty = ColumnType { nullable: false, ..array.ty };
        let empty = match ty.scalar.element().and_then(|element| element.as_element()) {
            Some(element) => Expr::literal(Datum::Array(element, &[]), ty),
            None => return Err(Error::internal("an array's query of another type")),
        };
        Ok(Typed { expr: Expr::Coalesce(vec![array.expr, empty]), ty })
    }
}
