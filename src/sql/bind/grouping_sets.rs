//! GROUPING SETS, ROLLUP and CUBE: which sets a GROUP BY means, and their union.
//!
//! Each item of GROUP BY means some sets; those of all items are multiplied. A query over several
//! sets is the union of one reduction for each, over a shared input: the columns that are not in a
//! set are NULL in its rows. What GROUPING answers is a constant of each set.

use sqlparser::ast;

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::scalar::Expr;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::aggregate::{GROUPINGS, not_allowed_as};
use crate::sql::bind::arguments::{Arguments, arguments};
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::order::bare;
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::parse::grouping::{CUBE, DISTINCT, NOTHING, QUOTE, ROLLUP, SETS};

/// The positions of grouping expressions that rows are grouped by together.
pub type Set = Vec<usize>;

/// PostgreSQL's bounds.
const SETS_MAX: usize = 4096;
const CUBE_MAX: usize = 12;
const GROUPING_ARGS_MAX: usize = 31;

/// What the parser calls a part of GROUP BY that is no function.
fn plain_name(expr: &ast::Expr) -> Option<(&str, &ast::Function)> {
    let ast::Expr::Function(function) = expr else { return None };
    match function.name.0.as_slice() {
        [ast::ObjectNamePart::Identifier(ident)] if ident.quote_style == Some(QUOTE) => {
            Some((&ident.value, function))
        }
        _ => None,
    }
}

/// Whether an item is the mark of GROUP BY DISTINCT.
pub fn is_distinct(item: &ast::Expr) -> bool {
    plain_name(item).is_some_and(|(name, _)| name == DISTINCT)
}

/// Whether a name stands for a part of GROUP BY that is no function.
pub fn is_grouping_word(name: &str) -> bool {
    [SETS, NOTHING, DISTINCT].contains(&name)
}

/// The sets that an item means; `index` finds or makes the position of an expression.
pub fn sets_of(
    item: &ast::Expr,
    index: &mut dyn FnMut(&ast::Expr) -> Result<usize>,
) -> Result<Vec<Set>> {
    let Some((name @ (SETS | ROLLUP | CUBE | NOTHING), function)) = plain_name(item) else {
        return Ok(vec![element(item, index)?]);
    };
    let Arguments { exprs, .. } = arguments(&function.args)?;
    if exprs.is_empty() && name != NOTHING {
        return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \")\""));
    }
    match name {
        NOTHING => return Ok(vec![vec![]]),
        SETS => {
            let mut sets = vec![];
            for expr in exprs {
                sets.extend(sets_of(expr, index)?);
                check_count(sets.len())?;
            }
            return Ok(sets);
        }
        _ => {}
    }
    let elements: Vec<Set> =
        exprs.into_iter().map(|expr| element(expr, index)).collect::<Result<_>>()?;
    let joined = |wanted: &dyn Fn(usize) -> bool| -> Set {
        elements
            .iter()
            .enumerate()
            .filter(|(i, _)| wanted(*i))
            .flat_map(|(_, e)| e.clone())
            .collect()
    };
    if name == ROLLUP {
        return Ok((0..=elements.len()).rev().map(|n| joined(&|i| i < n)).collect());
    }
    if elements.len() > CUBE_MAX {
        let message = format!("CUBE is limited to {CUBE_MAX} elements");
        return Err(Error::new(SqlState::new(b"54011"), message));
    }
    Ok((0..1usize << elements.len()).rev().map(|bits| joined(&|i| bits >> i & 1 == 1)).collect())
}

/// An expression, or several in parentheses that stand for one.
fn element(expr: &ast::Expr, index: &mut dyn FnMut(&ast::Expr) -> Result<usize>) -> Result<Set> {
    match bare(expr) {
        ast::Expr::Tuple(items) => {
            let parts =
                items.iter().map(|item| element(item, index)).collect::<Result<Vec<_>>>()?;
            Ok(parts.concat())
        }
        _ => Ok(vec![index(expr)?]),
    }
}

/// The product of the sets of one item and those of the items before it.
pub fn multiply(before: &[Set], item: &[Set]) -> Result<Vec<Set>> {
    check_count(before.len().saturating_mul(item.len()))?;
    Ok(before.iter().flat_map(|a| item.iter().map(|b| [a.as_slice(), b].concat())).collect())
}

/// The sets that differ.
pub fn distinct(sets: Vec<Set>) -> Vec<Set> {
    let normal = |set: &Set| set.iter().copied().collect::<std::collections::BTreeSet<_>>();
    let mut seen = std::collections::BTreeSet::new();
    sets.into_iter().filter(|set| seen.insert(normal(set))).collect()
}

/// Which of so many grouping expressions are in all sets.
pub fn common(sets: &[Set], count: usize) -> Set {
    (0..count).filter(|column| sets.iter().all(|set| set.contains(column))).collect()
}

fn check_count(count: usize) -> Result<()> {
    if count > SETS_MAX {
        let message = format!("too many grouping sets present (maximum {SETS_MAX})");
        return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message));
    }
    Ok(())
}

impl Binder<'_, '_> {
    /// A call of GROUPING.
    pub fn grouping_call(
        &mut self,
        args: &Arguments<'_>,
        position: Option<u32>,
        cx: &mut ExprContext<'_>,
    ) -> Result<Typed> {
        let clause = cx.clause;
        if cx.calls.is_none() {
            return Err(not_allowed_as(clause, "grouping operations").at(position));
        }
        if args.exprs.len() > GROUPING_ARGS_MAX {
            let message = "GROUPING must have fewer than 32 arguments";
            return Err(Error::new(SqlState::new(b"54023"), message).at(position));
        }
        let mut inner = ExprContext::plain(cx.scope, Clause::Aggregate);
        let exprs = args.exprs.iter().map(|arg| Ok(self.typed_expr(arg, &mut inner)?.expr));
        let exprs = exprs.collect::<Result<Vec<_>>>()?;
        let calls = cx.calls.as_mut().expect("looked at above");
        let number = calls.add_grouping(exprs, position);
        Ok(Typed::column(GROUPINGS + number, ColumnType::not_null(ScalarType::Int4)))
    }

    /// The groups of a plan by each of the sets, with a column for each call of GROUPING, whose
    /// arguments are positions of grouping expressions. Columns from `common` on depend on those
    /// that are in all sets.
    pub fn reduced_by_sets(
        &mut self,
        plan: Plan,
        group: &[Typed],
        (sets, common): (&[Set], usize),
        aggregates: &[Aggregate],
        groupings: &[Set],
    ) -> Plan {
        let id = self.fresh_let();
        plan.shared(id, |input| {
            let mut union: Option<Plan> = None;
            for set in sets {
                let is_in = |column: &usize| set.contains(column) || *column >= common;
                let columns: Vec<usize> = (0..group.len()).filter(is_in).collect();
                let key = columns.iter().map(|column| group[*column].clone()).collect();
                let reduced = self.reduced(input.clone(), key, aggregates.to_vec());
                let of_group = group.iter().enumerate().map(|(column, typed)| {
                    match columns.iter().position(|c| *c == column) {
                        Some(at) => Typed::column(at, reduced.types[at]),
                        None => Typed::null(typed.ty),
                    }
                });
                let of_aggregates = (columns.len()..reduced.arity())
                    .map(|column| Typed::column(column, reduced.types[column]));
                let masks = groupings.iter().map(|args| mask(args, set));
                let exprs = of_group.chain(of_aggregates).chain(masks).collect();
                let branch = reduced.select(exprs);
                union = Some(match union {
                    None => branch,
                    Some(union) => union.union(branch),
                });
            }
            union.unwrap_or_else(|| input.filter(vec![Expr::bool(false)]))
        })
    }
}

/// What GROUPING answers in a set: a bit for each argument that is not in it, the last one lowest.
pub fn mask(args: &Set, set: &Set) -> Typed {
    let bits = args.iter().fold(0, |bits, arg| bits << 1 | i32::from(!set.contains(arg)));
    Typed::literal(Datum::Int4(bits), ScalarType::Int4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_multiplied_and_made_distinct() {
        let before = vec![vec![0, 1], vec![0], vec![]];
        let product = multiply(&before, &[vec![2], vec![0]]).unwrap();
        assert_eq!(product[0], vec![0, 1, 2]);
        assert_eq!(product.len(), 6);
        assert_eq!(distinct(product).len(), 5);
        let many = vec![vec![]; 65];
        assert_eq!(multiply(&many, &many).unwrap_err().code.as_str(), "54001");
    }

    #[test]
    fn masks_have_the_last_argument_lowest() {
        let bits = |args: &[usize]| mask(&args.to_vec(), &vec![1]).expr;
        assert_eq!(bits(&[0, 1, 2]), Expr::literal(Datum::Int4(5), ScalarType::Int4));
        assert_eq!(bits(&[1]), Expr::literal(Datum::Int4(0), ScalarType::Int4));
    }
}
