//! UNION, INTERSECT, EXCEPT, and the ORDER BY behind them.
//!
//! Rows are compared as SQL compares them, in which 1.0 equals 1.00: so INTERSECT and EXCEPT are
//! joins of distinct rows rather than sums of byte-equal ones. Their ALL forms count: byte-equal
//! rows by adding them up, others by groups, of which a row of the left side comes out.

use sqlparser::ast;
use sqlparser::ast::Spanned;
use sqlparser::ast::{SetOperator, SetQuantifier};

use crate::error::{Error, Result, SqlState};
use crate::expr::aggregate::Aggregate;
use crate::expr::func::Func;
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::expr::table::{Part, TableFunc};
use crate::plan::relation::{ColumnOrder, Equivalence, Relation};
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::name;
use crate::sql::bind::order;
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::recursive::Effect;
use crate::sql::bind::relation::{Plan, Typed};

/// PostgreSQL's functions of bigints that counts are computed with.
const GENERATE_SERIES: u32 = 1069;
const INT8_LT: u32 = 469;
const INT8_MINUS: u32 = 464;

impl Binder<'_, '_> {
    /// A query's body.
    pub fn set_expr(&mut self, body: &ast::SetExpr, keep_literals: bool) -> Result<Query> {
        self.deeper(|binder| binder.set_expr_here(body, keep_literals))
    }

    fn set_expr_here(&mut self, body: &ast::SetExpr, keep_literals: bool) -> Result<Query> {
        match body {
            ast::SetExpr::Select(select) => self.select(select, &[], keep_literals),
            ast::SetExpr::Query(query) => self.query(query, keep_literals),
            ast::SetExpr::Values(values) => self.values(values, keep_literals),
            ast::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.set_operation(left, *op, *set_quantifier, right, keep_literals)
            }
            ast::SetExpr::Table(table) => {
                let parts = table.schema_name.iter().chain(&table.table_name).cloned();
                let object = ast::ObjectName::from(parts.collect::<Vec<_>>());
                let item = self.relation(&object)?;
                self.depends_on.insert(item.id);
                self.edit(object.span(), || name::qualified_text(&item.schema, &item.name));
                let plan = self.read(&item)?;
                let desc = item.desc().ok_or_else(|| Error::internal("no shape"))?;
                let columns = desc.columns.iter().map(|column| OutputColumn {
                    name: column.name.clone(),
                    ty: column.ty,
                    literal: None,
                });
                Ok(Query::of(plan, columns.collect()))
            }
            ast::SetExpr::Insert(_)
            | ast::SetExpr::Update(_)
            | ast::SetExpr::Delete(_)
            | ast::SetExpr::Merge(_) => Err(Error::unsupported(
                "a statement that writes inside a query",
                "Run it on its own, with RETURNING.",
            )),
        }
    }

    fn set_operation(
        &mut self,
        left: &ast::SetExpr,
        op: SetOperator,
        quantifier: SetQuantifier,
        right: &ast::SetExpr,
        keep_literals: bool,
    ) -> Result<Query> {
        if op == SetOperator::Minus {
            let message = "syntax error at or near \"MINUS\"";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let every = match quantifier {
            SetQuantifier::All => true,
            SetQuantifier::None | SetQuantifier::Distinct => false,
            _ => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"BY\""));
            }
        };
        let uses = self.recursion.uses;
        let (of_left, of_right) = match (op, every) {
            (SetOperator::Intersect, true) => (Some("INTERSECT"), Some("INTERSECT")),
            (SetOperator::Except, true) => (Some("EXCEPT"), Some("EXCEPT")),
            (SetOperator::Except, false) => (None, Some("EXCEPT")),
            _ => (None, None),
        };
        let left = self.in_context(of_left, |binder| binder.operand(left))?;
        let right = self.in_context(of_right, |binder| binder.operand(right))?;
        if !every {
            self.recursion.note(uses, Effect::Distinct);
        }
        self.united(left, op, every, right, keep_literals)
    }

    /// The rows of two operands together.
    pub fn united(
        &mut self,
        left: Query,
        op: SetOperator,
        every: bool,
        right: Query,
        keep_literals: bool,
    ) -> Result<Query> {
        let word = match op {
            SetOperator::Union => "UNION",
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Except | SetOperator::Minus => "EXCEPT",
        };
        if left.columns.len() != right.columns.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("each {word} query must have the same number of columns"),
            ));
        }
        let mut types = vec![];
        for (a, b) in left.columns.iter().zip(&right.columns) {
            types.push(common(a, b, word)?);
        }
        // Two literals beside each other stay one literal's place only if they are the same.
        let columns = left.columns.iter().zip(&types).zip(&right.columns);
        let columns = columns.map(|((a, ty), b)| OutputColumn {
            name: a.name.clone(),
            ty: *ty,
            literal: a.literal.clone().filter(|_| keep_literals && a.literal == b.literal),
        });
        let columns: Vec<_> = columns.collect();
        if op != SetOperator::Union || !every {
            comparable::equal(types.iter().map(|ty| ty.scalar))?;
        }
        let left = self.coerced(left, &types)?;
        let right = self.coerced(right, &types)?;
        let plan = combine(self, left, op, every, right)?;
        let columns = columns.into_iter().zip(&plan.types);
        let columns = columns.map(|(column, &ty)| OutputColumn { ty, ..column }).collect();
        Ok(Query::of(plan, columns))
    }

    /// One side of a set operation: its rows and no others' columns.
    pub fn operand(&mut self, body: &ast::SetExpr) -> Result<Query> {
        let query = self.set_expr(body, true)?;
        let mut query = self.cut(query)?;
        query.plan = query.plan.project((0..query.columns.len()).collect());
        Ok(query)
    }

    /// The rows with their columns converted.
    pub fn coerced(&mut self, query: Query, types: &[ColumnType]) -> Result<Plan> {
        let mut exprs = vec![];
        for (index, (column, ty)) in query.columns.iter().zip(types).enumerate() {
            let bound = output_value(index, column);
            let typed = self.implicit(bound, *ty)?;
            exprs.push(typed.ok_or_else(|| {
                Error::internal("a common type to which a column does not convert")
            })?);
        }
        Ok(query.plan.select(exprs))
    }

    /// ORDER BY behind a set operation: names and numbers of the result's columns.
    pub fn order_by_output(&mut self, query: &mut Query, items: &[ast::OrderByExpr]) -> Result<()> {
        let mut order = vec![];
        for item in items {
            let (descending, nulls_first) = order::direction(item)?;
            let position = self.expr_position(&item.expr);
            let column = match order::ordinal(&item.expr, "ORDER BY").map_err(|e| e.at(position))? {
                Some(number) => usize::try_from(number - 1)
                    .ok()
                    .filter(|&index| index < query.columns.len())
                    .ok_or_else(|| order::no_such_position("ORDER BY", number).at(position))?,
                None => self.output_named(query, &item.expr)?,
            };
            comparable::ordered([query.columns[column].ty.scalar])?;
            order.push(ColumnOrder { column, descending, nulls_first });
        }
        if !order.is_empty() {
            query.order = order;
        }
        Ok(())
    }

    fn output_named(&self, query: &Query, expr: &ast::Expr) -> Result<usize> {
        let position = self.expr_position(expr);
        let ast::Expr::Identifier(ident) = expr else {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "invalid UNION/INTERSECT/EXCEPT ORDER BY clause",
            )
            .with_detail("Only result column names can be used, not expressions or functions.")
            .with_hint(
                "Add the expression/function to every SELECT, \
                 or move the UNION into a FROM clause.",
            )
            .at(position));
        };
        let wanted = name::ident(ident);
        let mut found = query.columns.iter().enumerate().filter(|(_, c)| c.name == wanted);
        match (found.next(), found.next()) {
            (Some((index, _)), None) => Ok(index),
            (Some(_), Some(_)) => Err(Error::new(
                SqlState::AMBIGUOUS_COLUMN,
                format!("ORDER BY \"{wanted}\" is ambiguous"),
            )
            .at(position)),
            (None, _) => Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{wanted}\" does not exist"),
            )
            .at(position)),
        }
    }
}

/// A column of a result as a value that may still be given a type.
pub fn output_value(index: usize, column: &OutputColumn) -> Bound {
    match &column.literal {
        Some(text) => Bound::Unknown { text: text.clone(), position: None },
        None => Typed::column(index, column.ty).into(),
    }
}

/// The type that two columns have together.
pub fn common(a: &OutputColumn, b: &OutputColumn, construct: &str) -> Result<ColumnType> {
    let known = |column: &OutputColumn| column.literal.is_none().then_some(column.ty.scalar);
    let scalar = functions::common_type(construct, &[known(a), known(b)])?;
    let typmod = match (known(a), known(b)) {
        (Some(_), Some(_)) if a.ty.scalar == b.ty.scalar && a.ty.typmod == b.ty.typmod => {
            a.ty.typmod
        }
        _ => -1,
    };
    Ok(ColumnType { typmod, ..ColumnType::nullable(scalar) })
}

fn combine(
    binder: &mut Binder<'_, '_>,
    left: Plan,
    op: SetOperator,
    every: bool,
    right: Plan,
) -> Result<Plan> {
    match (op, every) {
        (SetOperator::Union, true) => Ok(left.union(right)),
        (SetOperator::Union, false) => Ok(left.union(right).distinct()),
        (SetOperator::Intersect, false) => Ok(in_both(left.distinct(), right.distinct())),
        (_, false) => {
            let id = binder.fresh_let();
            Ok(left
                .distinct()
                .shared(id, |left| left.clone().union(in_both(left, right.distinct()).negate())))
        }
        (op, true) => {
            let same_bytes = left.types.iter().all(|ty| ty.scalar.key_is_identity());
            if !same_bytes {
                return binder.counted(left, op, right);
            }
            let id = binder.fresh_let();
            Ok(left.shared(id, |left| {
                let rest = left.clone().union(right.negate()).threshold();
                if op == SetOperator::Intersect { left.union(rest.negate()) } else { rest }
            }))
        }
    }
}

impl Binder<'_, '_> {
    /// INTERSECT ALL and EXCEPT ALL where equal values may be spelled in several ways: of rows that
    /// are equal one of the left side is there as often as the counts of both sides say.
    fn counted(&mut self, left: Plan, op: SetOperator, right: Plan) -> Result<Plan> {
        let arity = left.arity();
        let count = |plan: Plan| {
            let group = plan.types.iter().enumerate();
            let group = group.map(|(at, &ty)| Typed::column(at, ty)).collect();
            plan.reduce(group, vec![Aggregate::count_star()])
        };
        let series = Func::by_oid(GENERATE_SERIES)
            .ok_or_else(|| Error::internal("generate_series of int8 is not there"))?;
        let int8 = ColumnType::not_null(ScalarType::Int8);
        let counts = || [Expr::Column(arity), Expr::Column(2 * arity + 1)];
        let typed = |expr| Some(Typed { expr, ty: int8 });
        let smaller = || {
            let ([a, b], fewer) = (counts(), Expr::call_by_oid(INT8_LT, counts().to_vec()));
            typed(Expr::Case { branches: vec![(fewer, a)], otherwise: Box::new(b) })
        };
        let difference = || typed(Expr::call_by_oid(INT8_MINUS, counts().to_vec()));
        let keep = |plan: Plan, number: Option<Typed>| {
            let columns = plan.types.iter().enumerate().take(arity);
            let mut exprs: Vec<Typed> = columns.map(|(at, &ty)| Typed::column(at, ty)).collect();
            exprs.extend(number);
            plan.select(exprs)
        };
        let (left, right) = (count(left), count(right));
        let numbered = match op {
            SetOperator::Intersect => keep(meet(left, right, arity), smaller()),
            _ => left.shared(self.fresh_let(), |left| {
                let both = meet(left.clone(), right, arity);
                both.shared(self.fresh_let(), |both| {
                    let here = Typed::column(arity, int8);
                    let alone = left.union(keep(both.clone(), Some(here)).negate());
                    alone.union(keep(both, difference()))
                })
            }),
        };
        let one = Expr::literal(Datum::Int8(1), ScalarType::Int8);
        let func = TableFunc { parts: vec![Part::of(series)], ordinality: false };
        let rows = numbered.flat_map(func, vec![one, Expr::Column(arity)]);
        Ok(rows.project((0..arity).collect()))
    }
}

/// The rows of one set of distinct rows beside the equal ones of the other; behind `arity` columns
/// that are compared each has others.
fn meet(left: Plan, right: Plan, arity: usize) -> Plan {
    let width = left.arity();
    let mut plan = left.cross(right);
    if let Relation::Join { equivalences, .. } = &mut plan.relation {
        equivalences.extend((0..arity).map(|column| Equivalence {
            exprs: vec![Expr::Column(column), Expr::Column(column + width)],
            null_safe: true,
        }));
    }
    plan
}

/// The rows of one set of distinct rows that are in the other.
fn in_both(left: Plan, right: Plan) -> Plan {
    let arity = left.arity();
    meet(left, right, arity).project((0..arity).collect())
}
