//! What stands between the parentheses of a call: by place, by name, or as an array.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::functions::named::{Given, arranged as arranged_by_name};
use crate::repr::ScalarType;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;

/// What the parser calls an argument behind `VARIADIC` ([`mod@crate::sql::parse`]).
const VARIADIC: &str = "variadic argument";

/// What stands between the parentheses of a call.
pub struct Arguments<'a> {
    /// The arguments.
    pub exprs: Vec<&'a ast::Expr>,
    /// The names of the last ones.
    pub names: Vec<String>,
    /// Whether the last one is an array of arguments.
    pub variadic: bool,
    /// `(*)`.
    pub star: bool,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `ORDER BY`.
    pub order_by: &'a [ast::OrderByExpr],
}

/// The parts of what stands between the parentheses.
pub fn arguments(args: &ast::FunctionArguments) -> Result<Arguments<'_>> {
    let mut found = Arguments {
        exprs: vec![],
        names: vec![],
        variadic: false,
        star: false,
        distinct: false,
        order_by: &[],
    };
    let list = match args {
        ast::FunctionArguments::None => return Ok(found),
        ast::FunctionArguments::Subquery(_) => {
            return Err(Error::unsupported(
                "a subquery in an expression",
                "Put the subquery into FROM and join with it.",
            ));
        }
        ast::FunctionArguments::List(list) => list,
    };
    found.distinct = list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct);
    for arg in &list.args {
        found.add(arg)?;
    }
    for clause in &list.clauses {
        match clause {
            ast::FunctionArgumentClause::OrderBy(order) => found.order_by = order,
            other => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("syntax error at or near \"{other}\""),
                ));
            }
        }
    }
    Ok(found)
}

impl<'a> Arguments<'a> {
    fn add(&mut self, arg: &'a ast::FunctionArg) -> Result<()> {
        match arg {
            _ if self.variadic => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \",\""));
            }
            ast::FunctionArg::Unnamed(_) if !self.names.is_empty() => {
                let message = "positional argument cannot follow named argument";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => self.exprs.push(expr),
            ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard) => self.star = true,
            ast::FunctionArg::Unnamed(_) => {
                return Err(Error::unsupported(
                    "a reference to a whole row",
                    "Name the columns, or write count(*).",
                ));
            }
            ast::FunctionArg::ExprNamed {
                name: ast::Expr::Identifier(name),
                arg: ast::FunctionArgExpr::Expr(expr),
                ..
            } => {
                self.exprs.push(expr);
                let is_variadic = name.value == VARIADIC;
                self.variadic = is_variadic;
                let name = name::ident(name);
                if self.names.contains(&name) {
                    let message = format!("argument name \"{name}\" used more than once");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message));
                }
                self.names.extend((!is_variadic).then_some(name));
            }
            ast::FunctionArg::Named { .. } | ast::FunctionArg::ExprNamed { .. } => {
                return Err(Error::unsupported(
                    "a named argument",
                    "Give the arguments in their order, without names.",
                ));
            }
        }
        Ok(())
    }

    /// Whether all are given by their place, one by one.
    pub fn are_plain(&self) -> bool {
        self.names.is_empty() && !self.variadic
    }
}

/// The arguments in the order of the parameters, with what stands for those left out.
pub fn arranged(
    function: &str,
    bound: Vec<Bound>,
    args: &Arguments<'_>,
    binder: &Binder<'_, '_>,
) -> Result<Vec<Bound>> {
    // This one alone has no variants for fewer arguments.
    if args.names.is_empty() && (function != "make_interval" || args.variadic) {
        return Ok(bound);
    }
    let names: Vec<_> = args.names.iter().map(String::as_str).collect();
    let positional = bound.len() - names.len();
    let Some(order) = arranged_by_name(function, positional, &names) else {
        let types = bound.iter().enumerate().map(|(at, arg)| {
            let ty = arg.scalar(binder).map_or("unknown", ScalarType::display_name);
            match at.checked_sub(positional) {
                Some(named) => format!("{} => {ty}", names[named]),
                None => ty.to_owned(),
            }
        });
        let call = format!("{function}({})", types.collect::<Vec<_>>().join(", "));
        return Err(Error::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("function {call} does not exist"),
        )
        .with_hint(
            "No function matches the given name and argument types. You might need to add \
             explicit type casts.",
        ));
    };
    Ok(order
        .into_iter()
        .map(|given| match given {
            Given::Argument(at) => bound[at].clone(),
            Given::Default(text) => Bound::Unknown { text: Some(text.to_owned()), position: None },
        })
        .collect())
}

/// Refuses a value without a type where every type is taken. Errors: 42804.
pub fn refuse_untyped(function: &str, bound: &[Bound]) -> Result<()> {
    if matches!(function, "to_json" | "to_jsonb") && matches!(bound, [Bound::Unknown { .. }]) {
        let message = "could not determine polymorphic type because input has type unknown";
        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
    }
    Ok(())
}
