//! The heads of rules: what is derived from the rows of a body.
//!
//! An aggregate ranges over the distinct bindings of all variables of the body, so the rows of all
//! ways through it are first made a set of those. `min` and `max` by themselves are different where
//! no other aggregate derives the same predicate: they are its *lattice*, over the values that all
//! of its rules derive together, which gives them a meaning in a cycle as well.

use sqlparser::ast;
use sqlparser::ast::SetOperator;

use crate::error::{Error, Result, SqlState};
use crate::expr::scalar::Expr;
use crate::sql::bind::aggregate::{AGGREGATES, Calls};
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::figure;
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::datalog::ast::{Extreme, HeadTerm, Literal, Rule, Term, Value};
use crate::sql::datalog::body::{Body, named, unbound, ways};
use crate::sql::datalog::parse::unbound_fact;
use crate::sql::datalog::program::Known;

/// For each column of a predicate the lattice that it is in.
pub type Lattice = Vec<Option<Extreme>>;

/// The lattice that the rules of one predicate derive into; none where they derive plain rows.
///
/// Errors: 42P19 where one column is the least and the greatest.
pub fn lattice_of<'r>(rules: impl Iterator<Item = &'r Rule> + Clone) -> Result<Option<Lattice>> {
    if rules.clone().any(Rule::aggregates) {
        return Ok(None);
    }
    let arity = rules.clone().map(|rule| rule.head.len()).max().unwrap_or(0);
    let mut lattice: Lattice = vec![None; arity];
    for rule in rules {
        for (column, head) in lattice.iter_mut().zip(&rule.head) {
            let Some((extreme, _)) = &head.lattice else { continue };
            if column.is_some_and(|other| other != *extreme) {
                return Err(Error::new(
                    SqlState::INVALID_RECURSION,
                    format!("rule \"{}\" has min and max in one column", rule.name.written),
                )
                .with_hint("Derive them into two columns, or by rules of two names.")
                .at(rule.name.position));
            }
            *column = Some(*extreme);
        }
    }
    Ok(lattice.iter().any(Option::is_some).then_some(lattice))
}

impl Binder<'_, '_> {
    /// The rows that a rule derives, not yet a set; in a lattice the values that go into it.
    pub fn rows_of_rule(
        &mut self,
        rule: &Rule,
        known: &Known,
        lattice: bool,
    ) -> Result<Vec<Query>> {
        self.deeper(|binder| {
            let ways = ways(&rule.body)?;
            let is_aggregated = |head: &HeadTerm| match &head.term {
                Term::Value(value) => value.aggregates && !(lattice && head.lattice.is_some()),
                _ => false,
            };
            if rule.head.iter().any(is_aggregated) {
                return binder.aggregated(rule, &ways, known).map(|query| vec![query]);
            }
            let mut queries = vec![];
            for way in ways {
                let body = binder.conjunction(rule, &way, known)?;
                queries.push(binder.plain(rule, body, lattice)?);
            }
            Ok(queries)
        })
    }

    /// A head without aggregates.
    fn plain(&mut self, rule: &Rule, body: Body, lattice: bool) -> Result<Query> {
        let (mut columns, mut exprs) = (vec![], vec![]);
        for (at, head) in rule.head.iter().enumerate() {
            let term = match &head.lattice {
                Some((_, inner)) if lattice => inner,
                _ => &head.term,
            };
            let bound = match term {
                Term::Value(value) if is_pull(&value.expr) => {
                    self.pulled_value(rule, value, &body)?
                }
                term => self.head_value(rule, term, &body)?,
            };
            let bound = match rule.types.get(at).copied().flatten() {
                Some(ty) => self.implicit(bound.clone(), ty)?.map_or(bound, Bound::Typed),
                None => bound,
            };
            let literal = match &bound {
                Bound::Unknown { text, .. } => Some(text.clone()),
                _ => None,
            };
            let typed = self.settle(bound)?;
            columns.push(OutputColumn { name: String::new(), ty: typed.ty, literal });
            exprs.push(typed);
        }
        let plan = self.place(body.plan, exprs.iter_mut().map(|typed| &mut typed.expr));
        Ok(Query::of(plan.select(exprs), columns))
    }

    /// What a term of a head is over the rows of a body.
    pub fn head_value(&mut self, rule: &Rule, term: &Term, body: &Body) -> Result<Bound> {
        match term {
            Term::Variable(name) if rule.body.is_empty() => Err(unbound_fact(&rule.text, name)),
            Term::Value(value) => self.value_of(rule, value, body),
            term => self.term_value(rule, term, body),
        }
    }

    /// A head with aggregates: groups of the distinct bindings.
    fn aggregated(&mut self, rule: &Rule, ways: &[Vec<&Literal>], known: &Known) -> Result<Query> {
        let body = self.bindings(rule, ways, known)?;
        let scope = body.scope();
        let mut calls = Calls::default();
        let mut outputs: Vec<(Typed, bool)> = vec![];
        for head in &rule.head {
            let (bound, aggregates) = match &head.term {
                Term::Value(value) if value.aggregates => {
                    let mut cx = ExprContext {
                        scope: &scope,
                        clause: Clause::Select,
                        calls: Some(&mut calls),
                    };
                    let bound = self.expr(&value.expr, &mut cx).map_err(|e| named(rule, e))?;
                    refuse_parts(&calls, &bound, value)?;
                    (bound, true)
                }
                term => (self.head_value(rule, term, &body)?, false),
            };
            outputs.push((self.settle(bound)?, aggregates));
        }
        let group: Vec<Typed> =
            outputs.iter().filter(|(_, a)| !a).map(|(typed, _)| typed.clone()).collect();
        comparable::equal(group.iter().map(|typed| typed.ty.scalar))?;
        let aggregates = calls.aggregates.clone();
        let mut columns = vec![];
        let mut exprs = vec![];
        let mut grouped = 0;
        for (at, (mut typed, aggregates)) in outputs.into_iter().enumerate() {
            if aggregates {
                over_groups(rule, &mut typed.expr, &group, at)?;
            } else {
                typed.expr = Expr::Column(grouped);
                grouped += 1;
            }
            columns.push(OutputColumn { name: String::new(), ty: typed.ty, literal: None });
            exprs.push(typed);
        }
        let plan = self.reduced(body.plan, group, aggregates);
        Ok(Query::of(plan.select(exprs), columns))
    }

    /// The distinct bindings of all variables of a body.
    pub fn bindings(&mut self, rule: &Rule, ways: &[Vec<&Literal>], known: &Known) -> Result<Body> {
        let (mut united, mut names) = (None, vec![]);
        for way in ways {
            let mut body = self.conjunction(rule, way, known)?;
            if names.is_empty() {
                names = body.variables.iter().map(|(name, _)| name.clone()).collect();
            }
            let mut exprs = vec![];
            for name in &names {
                let found = body.variables.iter().find(|(own, _)| own.folded == name.folded);
                exprs.push(found.ok_or_else(|| unbound(rule, name))?.1.clone());
            }
            let columns = names.iter().zip(&exprs).map(|(name, typed)| OutputColumn {
                name: name.folded.clone(),
                ty: typed.ty,
                literal: None,
            });
            let columns: Vec<_> = columns.collect();
            let rows = std::mem::replace(&mut body.plan, Plan::unit()).select(exprs);
            let query = Query::of(rows, columns);
            united = Some(match united {
                None => query,
                Some(before) => self.united(before, SetOperator::Union, true, query, false)?,
            });
        }
        let Some(Query { plan, .. }) = united else {
            return Err(Error::internal("a body without a way through it"));
        };
        comparable::equal(plan.types.iter().map(|ty| ty.scalar))?;
        let plan = plan.distinct();
        let variables = names.into_iter().enumerate();
        let variables = variables.map(|(at, name)| (name, Typed::column(at, plan.types[at])));
        Ok(Body { variables: variables.collect(), plan })
    }
}

/// An expression over the rows of a body and aggregates as one over its groups.
///
/// Errors: 42803 where it uses a variable that is neither grouped by nor aggregated.
fn over_groups(rule: &Rule, expr: &mut Expr, group: &[Typed], at: usize) -> Result<()> {
    if let Some(place) = group.iter().position(|typed| typed.expr == *expr) {
        *expr = Expr::Column(place);
        return Ok(());
    }
    if let Expr::Column(column) = expr {
        if *column >= AGGREGATES {
            *column = group.len() + (*column - AGGREGATES);
            return Ok(());
        }
        let position = match &rule.head[at].term {
            Term::Value(value) => value.position,
            other => other.position(),
        };
        return Err(Error::new(
            SqlState::GROUPING_ERROR,
            format!("a term of rule \"{}\" uses a variable beside an aggregate", rule.name.written),
        )
        .with_hint("Aggregate the variable too, or make it a term of the head of its own.")
        .at(position));
    }
    let mut result = Ok(());
    expr.for_each_child_mut(&mut |child| {
        if result.is_ok() {
            result = crate::sql::stack::level(|| over_groups(rule, child, group, at));
        }
    });
    result
}

/// Whether an expression asks for what is known of an entity, which is a subquery.
fn is_pull(expr: &ast::Expr) -> bool {
    let ast::Expr::Function(function) = expr else { return false };
    let [name] = function.name.0.as_slice() else { return false };
    name.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case("pull"))
}

fn refuse_parts(calls: &Calls, bound: &Bound, value: &Value) -> Result<()> {
    let subquery = matches!(bound, Bound::Typed(typed) if has_subquery(&typed.expr))
        || calls.aggregates.iter().any(|a| a.exprs().any(has_subquery));
    let what = match () {
        () if subquery => "a subquery in a rule",
        () if !calls.windows.is_empty() => "a window in a rule",
        () if !calls.sets.is_empty() => "a function that returns rows in a rule",
        () if !calls.groupings.is_empty() => "GROUPING in a rule",
        () => return Ok(()),
    };
    let hint = "Make it a view, and read that in an atom.";
    Err(Error::unsupported(what, hint).at(value.position))
}

/// The names of a predicate's columns: each the first that a rule has for it and that is not taken.
pub fn column_names(rules: &[Rule]) -> Vec<String> {
    let arity = rules.first().map_or(0, |rule| rule.head.len());
    let mut names: Vec<String> = vec![];
    for at in 0..arity {
        let own = rules.iter().filter_map(|rule| rule.head.get(at)).filter_map(name_of);
        let name = own.into_iter().find(|name| !names.contains(name));
        let mut number = at + 1;
        names.push(name.unwrap_or_else(|| {
            // A variable may be called so, too.
            while names.contains(&format!("column{number}")) {
                number += 1;
            }
            format!("column{number}")
        }));
    }
    names
}

fn name_of(head: &HeadTerm) -> Option<String> {
    match (&head.alias, &head.term) {
        (Some(alias), _) => Some(alias.clone()),
        (None, Term::Variable(name)) => Some(name.folded.clone()),
        (None, Term::Value(value)) => {
            Some(figure::column_name(&value.expr)).filter(|name| name != "?column?")
        }
        (None, Term::Wildcard(_)) => None,
    }
}
