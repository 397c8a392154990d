//! ORDER BY: directions, and items that name the select list.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};

/// Whether the greatest come first, and whether NULLs do.
pub fn direction(item: &ast::OrderByExpr) -> Result<(bool, bool)> {
    if item.with_fill.is_some() {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"WITH\""));
    }
    let descending = match &item.options.sort {
        None | Some(ast::OrderBySort::Asc) => false,
        Some(ast::OrderBySort::Desc) => true,
        Some(ast::OrderBySort::Using(operator)) => match operator.to_string().as_str() {
            "<" => false,
            ">" => true,
            other => {
                return Err(Error::unsupported(
                    format!("ORDER BY USING {other}"),
                    "Write ASC or DESC.",
                ));
            }
        },
    };
    Ok((descending, item.options.nulls_first.unwrap_or(descending)))
}

/// The items of an ORDER BY.
pub fn items(order_by: Option<&ast::OrderBy>) -> Result<&[ast::OrderByExpr]> {
    let Some(order_by) = order_by else { return Ok(&[]) };
    match &order_by.kind {
        ast::OrderByKind::Expressions(items) if order_by.interpolate.is_none() => Ok(items),
        _ => Err(Error::unsupported("ORDER BY ALL", "Name the columns, or write their numbers.")),
    }
}

/// An item without the parentheses around it, which mean nothing.
pub fn bare(mut item: &ast::Expr) -> &ast::Expr {
    while let ast::Expr::Nested(inner) = item {
        item = inner;
    }
    item
}

/// The number that an item is, where it is a whole number and nothing else.
///
/// Errors: 42601 where it is another constant.
pub fn ordinal(expr: &ast::Expr, clause: &str) -> Result<Option<i64>> {
    if let ast::Expr::UnaryOp { op: ast::UnaryOperator::Minus, expr } = expr
        && matches!(bare(expr), ast::Expr::Value(value)
            if matches!(value.value, ast::Value::Number(..)))
    {
        return Ok(ordinal(bare(expr), clause)?.map(|number| -number));
    }
    let ast::Expr::Value(value) = expr else { return Ok(None) };
    match &value.value {
        ast::Value::Number(digits, _) => match digits.parse::<i64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(not_an_integer(clause)),
        },
        ast::Value::Placeholder(_) => Ok(None),
        _ => Err(not_an_integer(clause)),
    }
}

fn not_an_integer(clause: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("non-integer constant in {clause}"))
}

/// The error of a number that no item of the select list has.
pub fn no_such_position(clause: &str, number: i64) -> Error {
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("{clause} position {number} is not in select list"),
    )
}
