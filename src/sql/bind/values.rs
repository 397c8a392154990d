//! VALUES.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::repr::ColumnType;
use crate::repr::value::pack;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;

impl Binder<'_, '_> {
    /// VALUES as a query.
    pub fn values(&mut self, values: &ast::Values, keep_literals: bool) -> Result<Query> {
        let scope = Scope::default();
        let mut rows: Vec<Vec<Bound>> = vec![];
        let mut places = vec![];
        for row in &values.rows {
            let row = &row.content;
            let mut bound = vec![];
            for expr in row {
                let mut cx = ExprContext::plain(&scope, Clause::Values);
                bound.push(self.expr(expr, &mut cx)?);
            }
            if rows.first().is_some_and(|first: &Vec<Bound>| first.len() != bound.len()) {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "VALUES lists must all be the same length",
                )
                .at(row.first().and_then(|expr| self.expr_position(expr))));
            }
            places.push(row.first().and_then(|expr| self.expr_position(expr)));
            rows.push(bound);
        }
        let arity = rows.first().map_or(0, Vec::len);
        let position = places.first().copied().flatten();
        let literals = literals(&rows, arity, keep_literals);
        let mut typed: Vec<Vec<Typed>> = rows.iter().map(|_| vec![]).collect();
        for column in 0..arity {
            let values = rows.iter().map(|row| row[column].clone()).collect();
            let values = self.unify(values, "VALUES", position)?;
            for (row, value) in typed.iter_mut().zip(values) {
                row.push(value);
            }
        }
        let plan = self.constant_rows(typed);
        let columns = plan.types.iter().enumerate().map(|(index, &ty)| OutputColumn {
            name: format!("column{}", index + 1),
            ty,
            literal: literals[index].clone(),
        });
        let columns = columns.collect();
        Ok(Query::of(plan, columns))
    }

    /// The relation of these rows, all of the same types; at least one.
    pub fn constant_rows(&mut self, rows: Vec<Vec<Typed>>) -> Plan {
        let mut types: Vec<ColumnType> =
            rows.first().map_or(vec![], |row| row.iter().map(|typed| typed.ty).collect());
        for row in &rows {
            for (ty, typed) in types.iter_mut().zip(row) {
                ty.nullable |= typed.ty.nullable;
                if ty.typmod != typed.ty.typmod {
                    ty.typmod = -1;
                }
            }
        }
        // In the order of the text: identity columns are numbered in it.
        let mut parts: Vec<Plan> = vec![];
        let mut constant = vec![];
        for mut row in rows {
            for typed in &mut row {
                if typed.expr.is_constant() {
                    typed.expr.fold(self.cx.settings);
                }
            }
            let datums: Option<Vec<_>> = row.iter().map(|typed| typed.expr.as_literal()).collect();
            match datums {
                Some(datums) => constant.push(pack(&datums)),
                None => {
                    if !constant.is_empty() {
                        let before = std::mem::take(&mut constant);
                        parts.push(Plan::constant(before, types.clone()));
                    }
                    let width = row.len();
                    let row_of =
                        self.place(Plan::unit(), row.iter_mut().map(|typed| &mut typed.expr));
                    let skipped = row_of.arity();
                    let row_of = row_of.map(row);
                    parts.push(row_of.project((skipped..skipped + width).collect()));
                }
            }
        }
        if !constant.is_empty() || parts.is_empty() {
            parts.push(Plan::constant(constant, types.clone()));
        }
        let plan = parts.into_iter().reduce(Plan::union);
        let mut plan = plan.unwrap_or_else(Plan::unit);
        plan.types = types;
        plan
    }
}

/// The columns that are one literal in every row.
fn literals(rows: &[Vec<Bound>], arity: usize, keep: bool) -> Vec<Option<Option<String>>> {
    let literal = |bound: &Bound| match bound {
        Bound::Unknown { text, .. } => Some(text.clone()),
        _ => None,
    };
    (0..arity)
        .map(|column| {
            let first = rows.first().and_then(|row| literal(&row[column]));
            let same = rows.iter().all(|row| literal(&row[column]) == first);
            first.filter(|_| keep && same)
        })
        .collect()
}
