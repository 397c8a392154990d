//! The select list.

use sqlparser::ast;
use sqlparser::ast::Spanned;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::sql::bind::aggregate::Calls;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::Typed;
use crate::sql::bind::scope::{Column, Scope};
use crate::sql::bind::{figure, name, record};

/// A column of the select list.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its value over the query's input.
    pub value: Bound,
}

impl Output {
    /// Notes that the value may be NULL, whatever it is made of.
    pub fn may_be_null(&mut self) {
        if let Bound::Typed(typed) = &mut self.value {
            typed.ty.nullable = true;
        }
    }
}

impl Binder<'_, '_> {
    /// The columns of a select list.
    pub fn select_list(
        &mut self,
        items: &[ast::SelectItem],
        scope: &Scope,
        calls: &mut Calls,
        clause: Clause,
    ) -> Result<Vec<Output>> {
        let mut outputs = vec![];
        for item in items {
            match item {
                ast::SelectItem::UnnamedExpr(expr) => {
                    let mut cx = ExprContext { scope, clause, calls: Some(&mut *calls) };
                    if let Some(of) = record::starred(expr) {
                        let fields = self.all_fields(&of, &mut cx)?.into_iter();
                        let output =
                            |(name, value): (_, Typed)| Output { name, value: value.into() };
                        outputs.extend(fields.map(output));
                        continue;
                    }
                    let value = self.expr(expr, &mut cx)?;
                    outputs.push(Output { name: figure::column_name(expr), value });
                }
                ast::SelectItem::ExprWithAlias { expr, alias } => {
                    let mut cx = ExprContext { scope, clause, calls: Some(&mut *calls) };
                    let value = self.expr(expr, &mut cx)?;
                    outputs.push(Output { name: name::ident(alias), value });
                }
                ast::SelectItem::Wildcard(options) => {
                    let position = self.position(item.span());
                    refuse_options(options).map_err(|e| e.at(position))?;
                    if scope.tables.is_empty() {
                        return Err(Error::new(
                            SqlState::SYNTAX_ERROR,
                            "SELECT * with no tables specified is not valid",
                        )
                        .at(position));
                    }
                    expand(&scope.visible, position, calls, &mut outputs);
                    if let Some(text) = spelled(&scope.visible, scope) {
                        self.edit(item.span(), || text);
                    }
                }
                ast::SelectItem::QualifiedWildcard(kind, options) => {
                    let position = self.position(item.span());
                    refuse_options(options).map_err(|e| e.at(position))?;
                    if let Some(outer) = self.outer_star(kind, scope, position)? {
                        outputs.extend(outer);
                        continue;
                    }
                    let columns = self.wildcard(kind, scope).map_err(|e| e.at(position))?;
                    expand(columns, position, calls, &mut outputs);
                    if let Some(text) = spelled(columns, scope) {
                        self.edit(item.span(), || text);
                    }
                }
                ast::SelectItem::ExprWithAliases { .. } => {
                    return Err(Error::new(
                        SqlState::SYNTAX_ERROR,
                        "syntax error in the select list",
                    )
                    .at(self.position(item.span())));
                }
            }
        }
        Ok(outputs)
    }

    /// The columns of `t.*` where the table is that of an enclosing query.
    fn outer_star(
        &mut self,
        kind: &ast::SelectItemQualifiedWildcardKind,
        scope: &Scope,
        position: Option<u32>,
    ) -> Result<Option<Vec<Output>>> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(object) = kind else {
            return Ok(None);
        };
        let qualified = self.qualified(object)?;
        if qualified.schema.is_some() || scope.table(None, &qualified.name).is_some() {
            return Ok(None);
        }
        let Some((level, table)) = self.outer_table(&qualified.name) else { return Ok(None) };
        let output = |column: &Column| {
            let value = Typed::column(column.index, column.ty);
            let value = self.outer(level, value, position).into();
            Output { name: column.name.clone(), value }
        };
        Ok(Some(table.columns.iter().map(output).collect()))
    }

    /// The columns of `t.*`.
    fn wildcard<'s>(
        &self,
        kind: &ast::SelectItemQualifiedWildcardKind,
        scope: &'s Scope,
    ) -> Result<&'s [Column]> {
        let ast::SelectItemQualifiedWildcardKind::ObjectName(object) = kind else {
            return Err(Error::internal("a record that was not expanded"));
        };
        let qualified = self.qualified(object)?;
        let schema = qualified.schema.as_deref();
        match scope.table(schema, &qualified.name) {
            Some(table) => Ok(&table.columns),
            None => Err(scope.missing_table(schema, &qualified.name)),
        }
    }
}

fn expand(columns: &[Column], position: Option<u32>, calls: &mut Calls, outputs: &mut Vec<Output>) {
    for column in columns {
        calls.note_use(column.index, position);
        let value = Typed { expr: Expr::Column(column.index), ty: column.ty }.into();
        outputs.push(Output { name: column.name.clone(), value });
    }
}

/// A star's columns as they must be written; none where names alone do not tell the columns apart
/// (a subquery with a name twice), in which case they cannot change either.
fn spelled(columns: &[Column], scope: &Scope) -> Option<String> {
    let mut names = vec![];
    for column in columns {
        let table = column.table.and_then(|at| scope.tables.get(at));
        let (found, text) = match table.filter(|table| !table.name.is_empty()) {
            Some(table) => (
                scope.find_qualified(None, &table.name, &column.name).ok()?,
                format!("{}.{}", name::quoted(&table.name), name::quoted(&column.name)),
            ),
            None => (scope.find(&column.name).ok()??, name::quoted(&column.name)),
        };
        if found.expr != Expr::Column(column.index) {
            return None;
        }
        names.push(text);
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// Refuses `* EXCEPT (…)` and what else other dialects have.
fn refuse_options(options: &ast::WildcardAdditionalOptions) -> Result<()> {
    let plain = options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none();
    if plain {
        return Ok(());
    }
    Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error after \"*\""))
}
