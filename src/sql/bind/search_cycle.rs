//! SEARCH and CYCLE: columns that a recursion adds to say in which order its rows come, and whether
//! a row was on the way to itself.
//!
//! As PostgreSQL does, the recursion is written anew with these columns in its terms. DEPTH FIRST
//! adds the array of the rows (of the columns that are named) on the way to a row, BREADTH FIRST
//! the number of rows on the way and the row. CYCLE adds that array too, and a mark; a marked row
//! is not followed. The term takes the columns of the row that it follows from its reference to the
//! recursion, which has to stand in its own FROM.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::sql::bind::context::Binder;
use crate::sql::bind::entry::query_of;
use crate::sql::bind::name;
use crate::sql::parse::ast as syntax;
use crate::sql::parse::search::{Clauses, Cycle, Search};

impl Binder<'_, '_> {
    /// The expression with what its clauses add as columns of its terms; `columns` are those that
    /// it has without them.
    pub fn with_search_and_cycle(
        &self,
        cte: &ast::Cte,
        columns: &[String],
        clauses: &Clauses,
    ) -> Result<ast::Cte> {
        let cte_name = name::ident(&cte.alias.name);
        let position = self.position(cte.alias.name.span);
        let refuse = |side: &str| {
            let message = format!(
                "with a SEARCH or CYCLE clause, the {side} side of the UNION must be a SELECT"
            );
            Error::new(SqlState::SYNTAX_ERROR, message).at(position)
        };
        let ast::SetExpr::SetOperation { left, right, op, set_quantifier } = &*cte.query.body
        else {
            return Err(refuse("left"));
        };
        check(columns, clauses).map_err(|e| e.at(position))?;
        if !matches!(**left, ast::SetExpr::Select(_) | ast::SetExpr::Values(_)) {
            return Err(refuse("left"));
        }
        let ast::SetExpr::Select(term) = &**right else { return Err(refuse("right")) };
        let mut term = (**term).clone();
        let reference = reference(&term, &cte_name).ok_or_else(|| {
            let message = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \
                 \"{cte_name}\" must be at the top level of its right-hand SELECT"
            );
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position)
        })?;
        if term.projection.iter().any(|item| is_star(item, &reference)) {
            return Err(Error::unsupported(
                "a star that stands for the columns of a recursion with SEARCH or CYCLE",
                "Name the columns.",
            )
            .at(position));
        }
        let added = Added::of(clauses);
        follow(&mut term, &reference, &added, clauses)?;
        let own: Vec<String> = columns.iter().map(|column| quoted(column).to_string()).collect();
        let own = own.join(", ");
        let previous: Vec<String> =
            (0..added.names.len()).map(|n| format!("\"previous {n}\"")).collect();
        let left = around(
            &format!("SELECT {own}, {} FROM (SELECT 1) l ({own})", added.first.join(", ")),
            (**left).clone(),
        )?;
        let right = around(
            &format!(
                "SELECT {own}, {} FROM (SELECT 1) r ({own}, {})",
                added.next.join(", "),
                previous.join(", ")
            ),
            ast::SetExpr::Select(Box::new(term)),
        )?;
        let mut made = cte.clone();
        made.alias.columns = columns
            .iter()
            .chain(&added.names)
            .map(|column| ast::TableAliasColumnDef { name: quoted(column), data_type: None })
            .collect();
        let (left, right) = (Box::new(left), Box::new(right));
        let (op, set_quantifier) = (*op, *set_quantifier);
        made.query.body = Box::new(ast::SetExpr::SetOperation { left, op, set_quantifier, right });
        Ok(made)
    }
}

/// Gives a term what is added in the row that it follows; marked rows are not followed.
fn follow(
    term: &mut ast::Select,
    reference: &ast::Ident,
    added: &Added,
    clauses: &Clauses,
) -> Result<()> {
    for column in &added.names {
        let idents = vec![reference.clone(), quoted(column)];
        let column = ast::Expr::CompoundIdentifier(idents);
        term.projection.push(ast::SelectItem::UnnamedExpr(column));
    }
    let Some(cycle) = &clauses.cycle else { return Ok(()) };
    let goes_on = expression(&format!("{reference}.{} <> {}", quoted(&cycle.mark), cycle.value))?;
    term.selection = Some(match term.selection.take() {
        None => goes_on,
        Some(condition) => ast::Expr::BinaryOp {
            left: Box::new(goes_on),
            op: ast::BinaryOperator::And,
            right: Box::new(ast::Expr::Nested(Box::new(condition))),
        },
    });
    Ok(())
}

/// The columns that are added: their names, and what they are in the rows of the first term and
/// in those that follow others.
#[derive(Default)]
struct Added {
    names: Vec<String>,
    first: Vec<String>,
    next: Vec<String>,
}

impl Added {
    fn of(clauses: &Clauses) -> Added {
        let mut added = Added::default();
        let row = |by: &[String]| {
            by.iter().map(|column| quoted(column).to_string()).collect::<Vec<_>>().join(", ")
        };
        if let Some(Search { breadth, by, column }) = &clauses.search {
            let by = row(by);
            added.names.push(column.clone());
            let (first, next) = match breadth {
                true => {
                    (format!("ROW(0::int8, {by})"), format!("ROW((\"previous 0\").f1 + 1, {by})"))
                }
                false => {
                    (format!("ARRAY[ROW({by})]"), format!("\"previous 0\" || ARRAY[ROW({by})]"))
                }
            };
            added.first.push(first);
            added.next.push(next);
        }
        if let Some(Cycle { by, mark, value, default, path }) = &clauses.cycle {
            let (by, at) = (row(by), added.names.len() + 1);
            added.names.extend([mark.clone(), path.clone()]);
            added.first.extend([default.clone(), format!("ARRAY[ROW({by})]")]);
            added.next.extend([
                format!(
                    "CASE WHEN ROW({by}) = ANY (\"previous {at}\") THEN {value} ELSE {default} END"
                ),
                format!("\"previous {at}\" || ARRAY[ROW({by})]"),
            ]);
        }
        added
    }
}

/// Errors: 42703, 42701 and 42601, as PostgreSQL has them.
fn check(columns: &[String], clauses: &Clauses) -> Result<()> {
    let (search, cycle) = (&clauses.search, &clauses.cycle);
    let named = |by: &[String], what: &str| {
        for (at, column) in by.iter().enumerate() {
            if !columns.contains(column) {
                let message = format!("{what} column \"{column}\" not in WITH query column list");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            if by[..at].contains(column) {
                let message = format!("{what} column \"{column}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
        }
        Ok(())
    };
    let fresh = |column: &String, what: &str| match columns.contains(column) {
        false => Ok(()),
        true => Err(Error::new(
            SqlState::SYNTAX_ERROR,
            format!("{what} column name \"{column}\" already used in WITH query column list"),
        )),
    };
    let twice = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message));
    if let Some(search) = search {
        named(&search.by, "search")?;
        fresh(&search.column, "search sequence")?;
    }
    if let Some(cycle) = cycle {
        named(&cycle.by, "cycle")?;
        fresh(&cycle.mark, "cycle mark")?;
        fresh(&cycle.path, "cycle path")?;
        if cycle.mark == cycle.path {
            return twice("cycle mark column name and cycle path column name are the same");
        }
    }
    match (search, cycle) {
        (Some(search), Some(cycle)) if search.column == cycle.mark => {
            twice("search sequence column name and cycle mark column name are the same")
        }
        (Some(search), Some(cycle)) if search.column == cycle.path => {
            twice("search sequence column name and cycle path column name are the same")
        }
        _ => Ok(()),
    }
}

/// What the recursion is called in the FROM of its term.
fn reference(term: &ast::Select, cte_name: &str) -> Option<ast::Ident> {
    let joined = term.from.iter().flat_map(|item| {
        [&item.relation].into_iter().chain(item.joins.iter().map(|join| &join.relation))
    });
    joined.into_iter().find_map(|factor| match factor {
        ast::TableFactor::Table { name: object, alias, args: None, .. } => {
            let [part] = object.0.as_slice() else { return None };
            let ident = part.as_ident()?;
            let found = name::ident(ident) == cte_name;
            found.then(|| alias.as_ref().map_or_else(|| ident.clone(), |a| a.name.clone()))
        }
        _ => None,
    })
}

fn is_star(item: &ast::SelectItem, reference: &ast::Ident) -> bool {
    match item {
        ast::SelectItem::Wildcard(_) => true,
        ast::SelectItem::QualifiedWildcard(
            ast::SelectItemQualifiedWildcardKind::ObjectName(object),
            _,
        ) => object
            .0
            .last()
            .and_then(|part| part.as_ident())
            .is_some_and(|ident| name::ident(ident) == name::ident(reference)),
        _ => false,
    }
}

fn quoted(name: &str) -> ast::Ident {
    ast::Ident::with_quote('"', name)
}

/// A query over a term in the place of its subquery.
fn around(text: &str, term: ast::SetExpr) -> Result<ast::SetExpr> {
    let mut query = parsed(text)?;
    if let ast::SetExpr::Select(select) = &mut *query.body
        && let Some(from) = select.from.first_mut()
        && let ast::TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        *subquery.body = term;
    }
    Ok(*query.body)
}

fn expression(text: &str) -> Result<ast::Expr> {
    let query = parsed(&format!("SELECT {text}"))?;
    if let ast::SetExpr::Select(select) = &*query.body
        && let Some(ast::SelectItem::UnnamedExpr(expr)) = select.projection.first()
    {
        return Ok(expr.clone());
    }
    Err(Error::internal("a condition that is no expression"))
}

fn parsed(text: &str) -> Result<ast::Query> {
    let parsed = query_of(text)?;
    let syntax::Statement::Select(select) = parsed.ast() else {
        return Err(Error::internal("a term that is no query"));
    };
    Ok((*select.query).clone())
}
