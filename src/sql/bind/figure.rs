//! The names of columns that were not given one: PostgreSQL's `FigureColname`.

use sqlparser::ast;
use sqlparser::ast::{DataType, Expr};

use crate::sql::bind::{name, types};

/// The name of an expression's column.
pub fn column_name(expr: &Expr) -> String {
    figure(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// A name, and whether it is a good one: CASE and casts take a good one from inside.
fn figure(expr: &Expr) -> Option<(String, bool)> {
    let named = |name: &str| Some((name.to_owned(), true));
    match expr {
        Expr::Identifier(ident) => Some((name::ident(ident), true)),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| (name::ident(part), true)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figure(inner),
        Expr::Function(function) => {
            let last = function.name.0.last()?;
            Some((name::ident(last.as_ident()?), true))
        }
        Expr::Cast { expr: inner, data_type, .. } => match figure(inner) {
            Some((name, true)) => Some((name, true)),
            _ => type_name(data_type).map(|name| (name, false)),
        },
        Expr::TypedString(typed) => type_name(&typed.data_type).map(|name| (name, false)),
        Expr::Interval(_) => Some(("interval".to_owned(), false)),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(figure) {
            Some((name, true)) => Some((name, true)),
            _ => Some(("case".to_owned(), false)),
        },
        Expr::Extract { .. } => named("extract"),
        Expr::Position { .. } => named("position"),
        Expr::Substring { shorthand: false, .. } => named("substring"),
        Expr::Substring { shorthand: true, .. } => named("substr"),
        Expr::Overlay { .. } => named("overlay"),
        Expr::Trim { trim_where, .. } => match trim_where {
            Some(ast::TrimWhereField::Leading) => named("ltrim"),
            Some(ast::TrimWhereField::Trailing) => named("rtrim"),
            _ => named("btrim"),
        },
        Expr::Ceil { .. } => named("ceil"),
        Expr::Floor { .. } => named("floor"),
        Expr::AtTimeZone { .. } => named("timezone"),
        Expr::Exists { .. } => named("exists"),
        Expr::Subquery(query) => match &*query.body {
            ast::SetExpr::Select(select) => match select.projection.as_slice() {
                [ast::SelectItem::UnnamedExpr(inner)] => {
                    Some((column_name(inner), true)).filter(|(name, _)| name != "?column?")
                }
                [ast::SelectItem::ExprWithAlias { alias, .. }] => Some((name::ident(alias), true)),
                _ => None,
            },
            ast::SetExpr::Values(_) => named("column1"),
            _ => None,
        },
        Expr::Array(_) => named("array"),
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                ast::AccessExpr::Dot(Expr::Identifier(field)) => Some(name::ident(field)),
                _ => None,
            });
            field.map(|field| (field, true)).or_else(|| figure(root))
        }
        Expr::Tuple(_) => named("row"),
        _ => None,
    }
}

/// The last part of a type's name in `pg_type`.
fn type_name(ty: &DataType) -> Option<String> {
    let mut inner = ty;
    while let DataType::Array(
        ast::ArrayElemTypeDef::SquareBracket(of, _) | ast::ArrayElemTypeDef::Qualified(of, _),
    ) = inner
    {
        inner = of;
    }
    match (types::column_type(ty), inner) {
        (Ok(ty), _) => Some(ty.scalar.element().unwrap_or(ty.scalar).name().to_owned()),
        // A type that a user created.
        (Err(_), DataType::Custom(object, _)) => Some(name::ident(object.0.last()?.as_ident()?)),
        (Err(_), _) => None,
    }
}
