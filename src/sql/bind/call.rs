//! Calls of functions.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::expr::functions::aggregates::{is_aggregate, ordered_set};
use crate::expr::functions::sequence::is_sequence_function;
use crate::expr::scalar::Expr;
use crate::repr::{Datum, ScalarType};
use crate::sql::bind::arguments::{Arguments, arguments, arranged, refuse_untyped};
use crate::sql::bind::clock;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::grouping_sets::is_grouping_word;
use crate::sql::bind::relation::Typed;
use crate::sql::bind::window::refuse_plain;

/// PostgreSQL's functions that return sets and are not there.
const UNSUPPORTED_SETS: [&str; 1] = ["pg_get_keywords"];

impl Binder<'_, '_> {
    /// A call.
    pub fn function_call(
        &mut self,
        function: &ast::Function,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.position(function.name.span());
        let (qualified, name) = self.function_name(&function.name).map_err(|e| e.at(position))?;
        if let Some(array) = self.array_query(&name, function, cx)? {
            return Ok(array.into());
        }
        let args = arguments(&function.args).map_err(|e| e.at(position))?;
        if name == "pull"
            && !qualified
            && let Some(pulled) = self.pull(function, &args.exprs, cx)?
        {
            return Ok(pulled);
        }
        if name == "grouping" && !qualified && function.over.is_none() {
            return self.grouping_call(&args, position, cx).map(Bound::from);
        }
        if is_grouping_word(&name) {
            return Err(
                Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"SETS\"").at(position)
            );
        }
        refuse_names(&name, function, &args).map_err(|e| e.at(position))?;
        if let Some(over) = &function.over {
            return self.window(&name, function, &args, over, position, cx).map(Bound::from);
        }
        if is_aggregate(&name) || needs_group(&name, function, &args) {
            return self.aggregate(&name, function, &args, position, cx).map(Bound::from);
        }
        if args.star {
            // Without such a function, that it is none is the fault.
            self.function(&name, vec![], position)?;
        }
        self.find_with_group(&name, function, &args, cx).map_err(|e| e.at(position))?;
        plain_only(&name, function, &args).map_err(|e| e.at(position))?;
        let precision = clock::precision(&function.args);
        if precision.is_none() == args.exprs.is_empty()
            && let Some(time) = self.time_function(&name, precision)?
        {
            return Ok(time);
        }
        if is_sequence_function(&name) {
            return self.sequence_call(&name, &args.exprs, position, cx).map(Bound::from);
        }
        self.plain_call(function, (qualified, &name), &args, cx)
    }

    /// A call that is no aggregate's and no window's, by its name and whether that has a schema.
    fn plain_call(
        &mut self,
        function: &ast::Function,
        (qualified, name): (bool, &str),
        args: &Arguments<'_>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Bound> {
        let position = self.position(function.name.span());
        let in_from = cx.clause == Clause::FromCall;
        if in_from {
            cx.clause = Clause::From;
        }
        let before = cx.sets();
        let bound = args.exprs.iter().map(|arg| self.expr(arg, cx)).collect::<Result<Vec<_>>>()?;
        refuse_untyped(name, &bound).map_err(|e| e.at(position))?;
        let bound = arranged(name, bound, args, self).map_err(|e| e.at(position))?;
        if args.variadic {
            let call = self.spread_function(name, bound, position)?;
            return self.refuse_volatile(&call, name).map(|()| call.into());
        }
        if let Some(filled) = self.filled_call(name, &bound)? {
            return match &filled.expr {
                Expr::Call { func, .. } if func.set.is_some() => {
                    self.set_call(&filled, name, position, cx).map(Bound::from)
                }
                _ => Ok(filled.into()),
            };
        }
        if !qualified && let Some(special) = self.special_call(name, &bound, position)? {
            if name == "coalesce" {
                self.refuse_sets_since(before, "COALESCE", cx).map_err(|e| e.at(position))?;
            }
            return Ok(special.into());
        }
        if let Some(answer) = self.session_function(name, &bound, position)? {
            self.refuse_maintained(
                &format!("session function {name}"),
                "Write the value itself, or use the function in the query that reads the view.",
            )
            .map_err(|e| e.at(position))?;
            return Ok(answer);
        }
        self.refuse_labels(name).map_err(|e| e.at(position))?;
        refuse_missing(qualified, name).map_err(|e| e.at(position))?;
        let call = self.function(name, bound, position)?;
        let call = self.inlined_call(call, function).map_err(|e| e.at(position))?;
        if matches!(&call.expr, Expr::Call { func, .. } if func.set.is_some()) && !in_from {
            return self.set_call(&call, name, position, cx).map(Bound::from);
        }
        self.refuse_volatile(&call, name).map_err(|e| e.at(position))?;
        Ok(call.into())
    }

    /// Where there is a WITHIN GROUP, looks for the function with all that it is given.
    fn find_with_group(
        &mut self,
        name: &str,
        function: &ast::Function,
        args: &Arguments<'_>,
        cx: &mut ExprContext<'_>,
    ) -> Result<()> {
        if !function.within_group.is_empty() {
            let sorted = function.within_group.iter().map(|item| &item.expr);
            let all = args.exprs.iter().copied().chain(sorted).map(|arg| self.expr(arg, cx));
            let all = all.collect::<Result<Vec<_>>>()?;
            self.function(name, all, None)?;
        }
        Ok(())
    }

    /// Calls that are syntax rather than functions.
    fn special_call(
        &mut self,
        name: &str,
        args: &[Bound],
        position: Option<u32>,
    ) -> Result<Option<Typed>> {
        match name {
            "coalesce" => self.coalesce(args.to_vec(), position).map(Some),
            "nullif" => self.nullif(args.to_vec(), position).map(Some),
            "greatest" | "least" => self.extreme(name, args.to_vec(), position).map(Some),
            "pg_typeof" if args.len() == 1 => {
                let unknown = 705;
                let ty = args[0].scalar(self).map_or(unknown, ScalarType::oid);
                Ok(Some(Typed::literal(Datum::Oid(ty), ScalarType::RegType)))
            }
            "age" if args.len() == 1 => self.age_today(&args[0], position),
            _ => Ok(None),
        }
    }

    /// `age` of one time: up to the midnight before now.
    fn age_today(&mut self, time: &Bound, position: Option<u32>) -> Result<Option<Typed>> {
        let Some(today) = self.time_function("current_date", None)? else {
            return Ok(None);
        };
        self.function("age", vec![today, time.clone()], position).map(Some)
    }

    /// Refuses what a change of a type would change.
    fn refuse_labels(&self, name: &str) -> Result<()> {
        if !matches!(name, "enum_first" | "enum_last" | "enum_range") {
            return Ok(());
        }
        let hint = "ALTER TYPE would change what it answers: write the values out.";
        self.refuse_maintained(&format!("function {name}"), hint)
    }

    fn refuse_volatile(&self, call: &Typed, name: &str) -> Result<()> {
        match &call.expr {
            Expr::Call { func, .. }
                if func.volatility == crate::expr::func::Volatility::Volatile =>
            {
                self.refuse_maintained(
                    &format!("volatile function {name}"),
                    "Compute the value when the row is written, and store it.",
                )
            }
            _ => Ok(()),
        }
    }
}

/// Refuses names and VARIADIC where arguments are not those of a function of the tables.
fn refuse_names(name: &str, function: &ast::Function, args: &Arguments<'_>) -> Result<()> {
    let special = function.over.is_some() || is_aggregate(name) || is_sequence_function(name);
    if special && !args.are_plain() {
        return Err(Error::unsupported(
            "a named or VARIADIC argument of an aggregate, a window or a sequence function",
            "Give the arguments in their order, without names.",
        ));
    }
    Ok(())
}

/// Whether a call can only be that of an ordered-set aggregate: a window function of its name
/// would have no arguments.
fn needs_group(name: &str, function: &ast::Function, args: &Arguments<'_>) -> bool {
    let used = !function.within_group.is_empty() || !args.exprs.is_empty();
    used && ordered_set(name).is_some()
}

/// Refuses what only aggregates and windows may have.
fn plain_only(name: &str, function: &ast::Function, args: &Arguments<'_>) -> Result<()> {
    refuse_plain(name)?;
    let wrong = |what: &str| {
        Err(Error::new(
            SqlState::WRONG_OBJECT_TYPE,
            format!("{what} specified, but {name} is not an aggregate function"),
        ))
    };
    if args.star {
        return wrong(&format!("{name}(*)"));
    }
    if args.distinct {
        return wrong("DISTINCT");
    }
    if !function.within_group.is_empty() {
        return wrong("WITHIN GROUP");
    }
    if !args.order_by.is_empty() {
        return wrong("ORDER BY");
    }
    if function.filter.is_some() {
        return wrong("FILTER");
    }
    Ok(())
}

/// The refusal of a function that returns rows.
pub fn unsupported_set(what: &str, hint: &str) -> Error {
    Error::unsupported(what, hint)
}

/// Refuses what PostgreSQL has beside the functions of the tables. Errors: 0A000.
fn refuse_missing(qualified: bool, name: &str) -> Result<()> {
    if !qualified && name == "values" {
        // The parser takes `(VALUES (1))` for a call.
        return Err(Error::unsupported(
            "VALUES as a value",
            "Write (SELECT column1 FROM (VALUES …) AS v).",
        ));
    }
    if name == "grouping" {
        return Err(Error::unsupported(
            "GROUPING",
            "Unite one grouped query for each set, with a constant that tells them apart.",
        ));
    }
    if UNSUPPORTED_SETS.contains(&name) {
        let what = format!("the set-returning function {name}");
        let hint = "Write the rows out with VALUES, or keep them in a table.";
        return Err(unsupported_set(&what, hint));
    }
    Ok(())
}
