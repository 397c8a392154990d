//! Functions that return rows in a select list: `SELECT generate_series(1, 3), x FROM t`.
//!
//! As aggregates do, such a call stands in the expressions around it as a column whose number is
//! above all real ones, [`SETS`] plus the number of the call, until the rows are there that it is
//! called for: after grouping and windows. Calls run side by side, as in PostgreSQL since its
//! version 10: those whose arguments hold no other call first, then those that take what these
//! return, and so on.

use crate::error::{Error, Result, SqlState};
use crate::expr::func::Func;
use crate::expr::functions::records::RecordFunction;
use crate::expr::polymorphic::record_function;
use crate::expr::scalar::Expr;
use crate::expr::table::{Part, SetColumn, TableFunc};
use crate::repr::{ColumnDesc, ColumnType, RecordName, RecordShape, RecordType};
use crate::sql::bind::call::unsupported_set;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::{Plan, Typed};

/// The column that stands for the first call.
pub const SETS: usize = 1 << 43;

/// A call that returns rows.
#[derive(Clone, Debug, PartialEq)]
pub struct SetCall {
    /// What is called.
    pub func: Func,
    /// With what.
    pub args: Vec<Expr>,
    /// How deep calls are nested in it, itself counted.
    level: usize,
}

impl Binder<'_, '_> {
    /// A call of a function that returns rows, outside FROM.
    pub fn set_call(
        &mut self,
        call: &Typed,
        name: &str,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let Expr::Call { func, args } = &call.expr else {
            return Err(Error::internal("a call that is none").at(position));
        };
        let calls = match (cx.clause, &mut cx.calls) {
            (Clause::Select | Clause::OrderBy | Clause::DistinctOn, Some(calls)) => calls,
            (clause, _) => return Err(not_allowed(clause, name).at(position)),
        };
        let func = &in_one_column(*func);
        let [column] = func.set.map_or(&[][..], |set| set.columns) else {
            return Err(Error::internal("a call that returns rows without columns").at(position));
        };
        let mut level = 1;
        for column in args.iter().flat_map(Expr::columns) {
            if let Some(inner) = column.checked_sub(SETS) {
                level = level.max(calls.sets[inner].level + 1);
            }
        }
        calls.sets_seen += 1;
        let set = SetCall { func: *func, args: args.clone(), level };
        let number = calls.sets.iter().position(|other| *other == set);
        let number = number.unwrap_or_else(|| {
            calls.sets.push(set);
            calls.sets.len() - 1
        });
        // With fewer rows than another, it goes on with NULL.
        Ok(Typed::column(SETS + number, ColumnType::nullable(column.ty)))
    }

    /// The error of calls that return rows among the parts of CASE or COALESCE.
    pub fn refuse_sets_since(
        &self,
        count: usize,
        construct: &str,
        cx: &ExprContext<'_>,
    ) -> Result<()> {
        if cx.sets() == count {
            return Ok(());
        }
        Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("set-returning functions are not allowed in {construct}"),
        )
        .with_hint(
            "You might be able to move the set-returning function into a LATERAL FROM item.",
        ))
    }
}

/// A function whose rows have one column: where there are several, they are one record.
fn in_one_column(func: Func) -> Func {
    let columns = func.set.map_or(&[][..], |set| set.columns);
    if columns.len() < 2 {
        return func;
    }
    let field = |column: &SetColumn| ColumnDesc {
        name: column.name.unwrap_or(func.name).to_owned(),
        ty: ColumnType::nullable(column.ty),
    };
    let fields = columns.iter().map(field).collect();
    let ty = RecordType::of(RecordShape { name: RecordName::Anonymous, fields });
    Func(record_function(RecordFunction::Rows(ty, func.oid)))
}

/// Refuses calls that return rows within an operand of AND, OR, NOT and their like. Errors: 42804.
pub fn refuse_set_argument(before: usize, operator: &str, cx: &ExprContext<'_>) -> Result<()> {
    if cx.sets() == before {
        return Ok(());
    }
    let message = format!("argument of {operator} must not return a set");
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message))
}

fn not_allowed(clause: Clause, name: &str) -> Error {
    let message = match clause {
        Clause::From | Clause::FromCall => {
            "set-returning functions must appear at top level of FROM".to_owned()
        }
        Clause::Aggregate => {
            return Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "aggregate function calls cannot contain set-returning function calls",
            )
            .with_hint(
                "You might be able to move the set-returning function into a LATERAL FROM item.",
            );
        }
        Clause::GroupBy => {
            return unsupported_set(
                &format!("the set-returning function {name} in GROUP BY"),
                "Call it in FROM and group by its column.",
            );
        }
        clause => format!("set-returning functions are not allowed in {}", clause.name()),
    };
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

/// Calls the functions over a plan; answers the column of each.
pub fn call_sets(mut plan: Plan, calls: Vec<SetCall>) -> (Plan, Vec<usize>) {
    let mut columns = vec![0; calls.len()];
    let deepest = calls.iter().map(|call| call.level).max().unwrap_or(0);
    for level in 1..=deepest {
        let (mut parts, mut args, mut at) = (vec![], vec![], plan.arity());
        let mut found = vec![];
        for (number, call) in calls.iter().enumerate().filter(|(_, call)| call.level == level) {
            parts.push(Part::of(call.func));
            args.extend(call.args.iter().cloned().map(|mut arg| {
                place(&mut arg, &columns);
                arg
            }));
            found.push((number, at));
            at += 1;
        }
        plan = plan.flat_map(TableFunc { parts, ordinality: false }, args);
        for (number, at) in found {
            columns[number] = at;
        }
    }
    (plan, columns)
}

/// Puts the columns of calls in the places of those that stand for them.
pub fn place(expr: &mut Expr, columns: &[usize]) {
    expr.map_columns(|column| match column.checked_sub(SETS) {
        Some(number) => columns[number],
        None => column,
    });
}
