//! `WITH RECURSIVE`.
//!
//! PostgreSQL evaluates a recursive query by rounds: the recursive term is given the rows that the
//! round before has added, and what it answers is added. Where each row of the answer comes from
//! one row that is given, it makes no difference whether the term is given the new rows or all of
//! them, so that `UNION ALL` is the least multiset with `r = base + term(r)`, and `UNION` the least
//! set. That is a [`Relation::LetRec`], which is maintained as everything else is.
//!
//! PostgreSQL itself refuses most terms for which it does make a difference: aggregates, the outer
//! side of joins, more than one reference. The others (windows, limits, grouping in a subquery of
//! FROM, DISTINCT where the recursion keeps duplicates) are seen while the term is bound, by what
//! is done to rows that come from the reference ([`Recursion::note`]). Then the number of the round
//! travels with each row, and the term is made for the rows of each round by itself
//! (`Binder::by_rounds`), as a subquery is made for each outer row.

use sqlparser::ast;
use sqlparser::ast::{SetOperator, SetQuantifier};

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::plan::relation::{Binding, ColumnOrder, Relation, RoundLimit};
use crate::repr::numeric::typmod_parts;
use crate::repr::{ColumnType, Datum, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::decorrelate::Decorrelation;
use crate::sql::bind::name;
use crate::sql::bind::order;
use crate::sql::bind::query::{Cte, OutputColumn, Query, Stage};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::setop::common;
use crate::sql::parse::search;

/// PostgreSQL's function of `int8 + int8`.
const INT8_PLUS: u32 = 463;

/// What is known of the recursive term that is being bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recursion {
    /// Where binding is, if there may be no reference there.
    pub context: Option<&'static str>,
    /// How many references there have been.
    pub uses: usize,
    /// Whether the FROM that is being bound has one itself.
    pub direct: bool,
    /// What was done to its rows.
    effect: Effect,
}

/// How a term treats the rows that it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Each by itself.
    #[default]
    Single,
    /// Each by itself, equal ones once.
    Distinct,
    /// Together.
    Together,
}

impl Recursion {
    /// Notes what is done to rows, if they come from a reference that was made since.
    pub fn note(&mut self, uses_before: usize, effect: Effect) {
        if self.uses > uses_before {
            self.effect = self.effect.max(effect);
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_RECURSION, message)
}

impl Binder<'_, '_> {
    /// Runs `bind` where there may be no recursive reference.
    pub fn in_context<T>(
        &mut self,
        context: Option<&'static str>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.recursion.context;
        self.recursion.context = context.or(before);
        let bound = bind(self);
        self.recursion.context = before;
        bound
    }

    /// Fails where a common table expression may not be read at its stage; notes that it is.
    pub fn read_stage(&mut self, cte_name: &str, stage: Stage) -> Result<()> {
        let reference = format!("recursive reference to query \"{cte_name}\" must not appear");
        match stage {
            Stage::Whole | Stage::Silent => return Ok(()),
            Stage::Later => {
                return Err(Error::unsupported(
                    "a reference to a later expression of WITH RECURSIVE",
                    "Write that one first; mutual recursion is WITH MUTUALLY RECURSIVE.",
                ));
            }
            Stage::NoUnion => {
                return Err(invalid(format!(
                    "recursive query \"{cte_name}\" does not have the form non-recursive-term \
                     UNION [ALL] recursive-term"
                )));
            }
            Stage::Base => {
                return Err(invalid(format!("{reference} within its non-recursive term")));
            }
            Stage::Term => {}
        }
        if let Some(context) = self.recursion.context {
            return Err(invalid(format!("{reference} within {context}")));
        }
        if self.recursion.uses > 0 {
            return Err(invalid(format!("{reference} more than once")));
        }
        self.recursion.uses += 1;
        self.recursion.direct = true;
        Ok(())
    }

    /// The rows and columns of an expression of WITH RECURSIVE.
    pub fn recursive_table(
        &mut self,
        cte: &ast::Cte,
        cte_name: &str,
    ) -> Result<(Plan, Vec<OutputColumn>)> {
        let marked = search::marked(cte);
        let (clauses, cte) = match &marked {
            Some((clauses, bare)) => (Some(clauses), bare),
            None => (None, cte),
        };
        let query = &*cte.query;
        if clauses.is_some() && !matches!(*query.body, ast::SetExpr::SetOperation { .. }) {
            return Err(not_recursive());
        }
        let ast::SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } =
            &*query.body
        else {
            return self.at_stage(cte_name, Stage::NoUnion, None, vec![], |b| b.subquery(query));
        };
        if query.with.is_some() {
            return self.at_stage(cte_name, Stage::NoUnion, None, vec![], |b| b.subquery(query));
        }
        let every = *set_quantifier == SetQuantifier::All;
        let base = self.at_stage(cte_name, Stage::Base, None, vec![], |b| b.operand(left))?;
        let mut columns: Vec<OutputColumn> = base.columns.clone();
        for column in &mut columns {
            column.ty.nullable = true;
            column.literal = None;
        }
        self.name_columns(cte, &mut columns)?;
        if let Some(clauses) = clauses {
            let names: Vec<String> = columns.into_iter().map(|column| column.name).collect();
            let made = self.with_search_and_cycle(cte, &names, clauses)?;
            return self.deeper(|binder| binder.recursive_table(&made, cte_name));
        }
        let id = self.fresh_let();
        let around = std::mem::take(&mut self.recursion);
        let named = columns.clone();
        let term = self.at_stage(cte_name, Stage::Term, Some(id), named, |b| b.operand(right));
        let recursion = std::mem::replace(&mut self.recursion, around);
        let term = term?;
        if recursion.uses == 0 {
            let mut united = self.united(base, SetOperator::Union, every, term, false)?;
            self.order_by_output(&mut united, order::items(query.order_by.as_ref())?)?;
            (united.limit, united.offset) = self.limits(query)?;
            let united = self.cut(united)?;
            let arity = united.columns.len();
            return Ok((united.plan.project((0..arity).collect()), united.columns));
        }
        refuse_clauses(query)?;
        let types = self.recursive_types(cte_name, &base, &term)?;
        let (base, term) = (self.coerced(base, &types)?, self.coerced(term, &types)?);
        for (column, ty) in columns.iter_mut().zip(&types) {
            column.ty = *ty;
        }
        if recursion.effect > if every { Effect::Single } else { Effect::Distinct } {
            return Ok((self.by_rounds(id, base, term, every), columns));
        }
        let rows = base.union(term);
        let rows = if every { rows } else { rows.distinct() };
        let body = Plan::local(id, types.clone());
        Ok((self.recursion_of(id, rows, types, body), columns))
    }

    /// What a binding becomes, in a body that reads it.
    fn recursion_of(&self, id: u64, value: Plan, columns: Vec<ColumnType>, body: Plan) -> Plan {
        let relation = Relation::LetRec {
            bindings: vec![Binding { id, value: value.relation, columns }],
            limit: self.round_limit(),
            body: Box::new(body.relation),
        };
        Plan { relation, types: body.types }
    }

    /// A recursion whose term is given the rows of each round by themselves. Its first column is
    /// the round in which a row was first there; it is not among those that are answered.
    fn by_rounds(&mut self, id: u64, base: Plan, term: Plan, every: bool) -> Plan {
        let int8 = ColumnType::not_null(ScalarType::Int8);
        let types: Vec<ColumnType> = [&[int8], &base.types[..]].concat();
        let arity = types.len();
        let first = Typed::literal(Datum::Int8(0), ScalarType::Int8);
        let base =
            base.map(vec![first]).project([arity - 1].into_iter().chain(0..arity - 1).collect());
        let there = Plan::local(id, types.clone());
        let rounds = there.clone().project(vec![0]).distinct();
        let rows = rounds.shared(self.fresh_let(), |rounds| {
            let next = Decorrelation::of_binding(id, rounds).of(term);
            let one = Expr::literal(Datum::Int8(1), ScalarType::Int8);
            let number = Expr::call_by_oid(INT8_PLUS, vec![Expr::Column(0), one]);
            let columns = next.types.iter().enumerate().skip(1);
            let columns = columns.map(|(at, &ty)| Typed::column(at, ty));
            let exprs = [Typed { expr: number, ty: int8 }].into_iter().chain(columns).collect();
            base.union(next.select(exprs))
        });
        let rows = match every {
            true => rows,
            false => {
                let by_round = ColumnOrder { column: 0, descending: false, nulls_first: false };
                rows.top((1..arity).collect(), vec![by_round], Some(1), 0)
            }
        };
        self.recursion_of(id, rows, types, there.project((1..arity).collect()))
    }

    /// Binds a part of an expression of WITH RECURSIVE that may see the expression at a stage.
    fn at_stage<T>(
        &mut self,
        cte_name: &str,
        stage: Stage,
        id: Option<u64>,
        columns: Vec<OutputColumn>,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let itself = Cte::new(id, columns, stage);
        self.ctes.entry(cte_name.to_owned()).or_default().push(itself);
        let bound = bind(self);
        self.ctes.get_mut(cte_name).map(Vec::pop);
        bound
    }

    /// The columns' types, which the base decides. Errors: 42804 where the term has others.
    fn recursive_types(
        &self,
        cte_name: &str,
        base: &Query,
        term: &Query,
    ) -> Result<Vec<ColumnType>> {
        if base.columns.len() != term.columns.len() {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "each UNION query must have the same number of columns",
            ));
        }
        let mut types = vec![];
        for (number, (a, b)) in base.columns.iter().zip(&term.columns).enumerate() {
            let own = OutputColumn { literal: None, ..a.clone() };
            let overall = common(&own, b, "UNION")?;
            if overall.scalar != a.ty.scalar || overall.typmod != a.ty.typmod {
                return Err(Error::new(
                    SqlState::DATATYPE_MISMATCH,
                    format!(
                        "recursive query \"{cte_name}\" column {} has type {} in non-recursive \
                         term but type {} overall",
                        number + 1,
                        spelled(a.ty),
                        spelled(overall),
                    ),
                )
                .with_hint("Cast the output of the non-recursive term to the correct type."));
            }
            types.push(ColumnType { nullable: true, ..a.ty });
        }
        Ok(types)
    }

    /// After how many rounds a recursion is given up.
    pub fn round_limit(&self) -> Option<RoundLimit> {
        let setting = (self.cx.variables)("recursion_limit");
        let rounds = setting.and_then(|text| text.parse().ok()).filter(|rounds| *rounds > 0);
        rounds.map(|rounds| RoundLimit { rounds, fails: true, of: None })
    }

    /// Names columns as WITH does. Errors: 42P10 where it names too many.
    pub fn name_columns(&self, cte: &ast::Cte, columns: &mut [OutputColumn]) -> Result<()> {
        if cte.alias.columns.len() > columns.len() {
            let cte_name = name::ident(&cte.alias.name);
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "WITH query \"{cte_name}\" has {} columns available but {} columns specified",
                    columns.len(),
                    cte.alias.columns.len()
                ),
            )
            .at(self.position(cte.alias.name.span)));
        }
        for (column, alias) in columns.iter_mut().zip(&cte.alias.columns) {
            if let Some(ty) = &alias.data_type {
                let word = ty.to_string().to_lowercase();
                let word = word.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                let message = format!("syntax error at or near \"{word}\"");
                return Err(
                    Error::new(SqlState::SYNTAX_ERROR, message).at(self.position(alias.name.span))
                );
            }
            column.name = name::ident(&alias.name);
        }
        Ok(())
    }
}

/// A type as messages name it.
fn spelled(ty: ColumnType) -> String {
    let name = ty.scalar.display_name();
    match (ty.scalar, ty.typmod) {
        (_, ..0) => name.to_owned(),
        (ScalarType::Varchar | ScalarType::Bpchar, typmod) => format!("{name}({})", typmod - 4),
        (ScalarType::Numeric, typmod) => match typmod_parts(typmod) {
            Some((precision, scale)) => format!("{name}({precision},{scale})"),
            None => name.to_owned(),
        },
        _ => name.to_owned(),
    }
}

fn refuse_clauses(query: &ast::Query) -> Result<()> {
    let (mut limit, mut offset) = (query.fetch.is_some(), false);
    if let Some(ast::LimitClause::LimitOffset { limit: l, offset: o, .. }) = &query.limit_clause {
        limit |= l.is_some();
        offset |= o.is_some();
    }
    let clauses = [
        ("ORDER BY", query.order_by.is_some()),
        ("OFFSET", offset),
        ("LIMIT", limit),
        ("FOR UPDATE/SHARE", !query.locks.is_empty()),
    ];
    match clauses.iter().find(|(_, there)| *there) {
        None => Ok(()),
        Some((clause, _)) => Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            format!("{clause} in a recursive query is not implemented"),
        )),
    }
}

/// The error of SEARCH or CYCLE where there is nothing to follow.
pub fn not_recursive() -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "WITH query is not recursive")
}
