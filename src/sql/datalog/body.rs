//! The body of a rule as a relation: a column for each of its variables.
//!
//! Positive atoms are multiplied, and everything that says that two things are equal becomes a
//! condition on the product, which the optimizer makes joins of; so it is free to choose their
//! order and kind. `X = …` gives a value to a variable that has none. Then come the conditions and
//! last, since they need all variables, the negated atoms: from the rows go those for which the
//! atom has a partner. NULL equals nothing, so a row that is NULL there has none and stays.
//!
//! OR is multiplied out: each way through a body is a conjunction of its own, and their rows are
//! put together as sets. Its branches bind the same variables, or it would be left open what a
//! variable is where the other branch was taken.

use std::collections::BTreeSet;

use crate::error::{Error, Result, SqlState};
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::sql::bind::apply::has_subquery;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::{Column, Scope, Table};
use crate::sql::datalog::ast::{Argument, Atom, Literal, Name, Rule, Term, Value};
use crate::sql::datalog::program::Known;
use crate::sql::datalog::shown;

/// The most ways through the ORs of a body.
const BRANCHES_MAX: usize = 256;

/// The rows of a body, and its variables.
pub struct Body {
    /// The rows.
    pub plan: Plan,
    /// Each variable and what it is over them.
    pub variables: Vec<(Name, Typed)>,
}

/// What may still be asked of the rows of a conjunction.
#[derive(Default)]
struct Rest<'r> {
    /// A column of an atom, and what it has to equal.
    arguments: Vec<(Typed, &'r Term)>,
    /// `=`.
    equal: Vec<(&'r Term, &'r Term, Option<u32>)>,
    /// Conditions.
    conditions: Vec<&'r Value>,
    /// Negated atoms.
    negated: Vec<&'r Atom>,
}

impl Body {
    fn find(&self, name: &str) -> Option<&Typed> {
        self.variables.iter().find(|(known, _)| known.folded == name).map(|(_, typed)| typed)
    }

    /// The names that expressions over the body may use.
    pub fn scope(&self) -> Scope {
        let columns = self.variables.iter().filter_map(|(name, typed)| match typed.expr {
            Expr::Column(index) => {
                Some(Column { name: name.folded.clone(), ty: typed.ty, index, table: None })
            }
            _ => None,
        });
        Scope::of_table(Table::derived("", columns.collect()))
    }
}

/// All ways through the ORs of a body. Errors: 54001 where there are too many.
pub fn ways(body: &[Literal]) -> Result<Vec<Vec<&Literal>>> {
    let mut ways: Vec<Vec<&Literal>> = vec![vec![]];
    for (at, literal) in body.iter().enumerate() {
        let Literal::Or(branches, position) = literal else {
            ways.iter_mut().for_each(|way| way.push(literal));
            continue;
        };
        let others = body.iter().enumerate().filter(|(other, _)| *other != at);
        let around: BTreeSet<String> = others.flat_map(|(_, other)| names(other)).collect();
        let mut inner = vec![];
        let mut bound: Option<BTreeSet<String>> = None;
        for branch in branches {
            let own: BTreeSet<String> =
                branch.iter().flat_map(names).filter(|name| !around.contains(name)).collect();
            if let Some(first) = &bound
                && *first != own
            {
                let mut odd: Vec<_> = first.symmetric_difference(&own).cloned().collect();
                odd.sort();
                return Err(Error::new(
                    SqlState::INVALID_COLUMN_REFERENCE,
                    format!("the branches of OR bind different variables: {}", odd.join(", ")),
                )
                .with_hint("Write _ for what only one branch looks at, or two rules.")
                .at(*position));
            }
            bound.get_or_insert(own);
            inner.extend(self::ways(branch)?);
        }
        if ways.len().saturating_mul(inner.len()) > BRANCHES_MAX {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                format!("OR leaves more than {BRANCHES_MAX} ways through a rule"),
            )
            .with_hint("Derive a part of it by rules of its own.")
            .at(*position));
        }
        let pairs = ways.iter().flat_map(|way| {
            inner.iter().map(move |more| [way.as_slice(), more.as_slice()].concat())
        });
        ways = pairs.collect();
    }
    Ok(ways)
}

/// The variables that stand in a literal by themselves.
pub fn names(literal: &Literal) -> Vec<String> {
    let of_term = |term: &Term| match term {
        Term::Variable(name) => Some(name.folded.clone()),
        _ => None,
    };
    match literal {
        Literal::Atom(atom) | Literal::Not(atom) => {
            atom.args.iter().filter_map(|arg| of_term(&arg.term)).collect()
        }
        Literal::Equal(a, b, _) => [a, b].into_iter().filter_map(of_term).collect(),
        Literal::Condition(_) => vec![],
        Literal::Or(branches, _) => branches.iter().flatten().flat_map(names).collect(),
    }
}

impl Binder<'_, '_> {
    /// The rows of a conjunction.
    pub fn conjunction(
        &mut self,
        rule: &Rule,
        literals: &[&Literal],
        known: &Known,
    ) -> Result<Body> {
        let mut body = Body { plan: Plan::unit(), variables: vec![] };
        let mut rest = Rest::default();
        for literal in literals {
            match literal {
                Literal::Atom(atom) => self.positive(atom, known, &mut body, &mut rest)?,
                Literal::Not(atom) => rest.negated.push(atom),
                Literal::Equal(a, b, position) => rest.equal.push((a, b, *position)),
                Literal::Condition(value) => rest.conditions.push(value),
                Literal::Or(..) => {
                    return Err(Error::internal("an OR that was not multiplied out"));
                }
            }
        }
        self.give_values(rule, &mut body, &mut rest)?;
        let mut predicates = vec![];
        for (column, term) in std::mem::take(&mut rest.arguments) {
            let position = term.position();
            let value = self.term_value(rule, term, &body)?;
            predicates.push(self.equal(column.into(), value, position)?);
        }
        for (a, b, position) in std::mem::take(&mut rest.equal) {
            let a = self.term_value(rule, a, &body)?;
            let b = self.term_value(rule, b, &body)?;
            predicates.push(self.equal(a, b, position)?);
        }
        body.plan = body.plan.filter(predicates);
        let mut conditions = vec![];
        for value in rest.conditions {
            conditions.push(self.condition_of(rule, value, &body)?);
        }
        body.plan = body.plan.filter(conditions);
        for atom in rest.negated {
            self.without(rule, atom, known, &mut body)?;
        }
        Ok(body)
    }

    /// Multiplies the rows with those of an atom.
    fn positive<'r>(
        &mut self,
        atom: &'r Atom,
        known: &Known,
        body: &mut Body,
        rest: &mut Rest<'r>,
    ) -> Result<()> {
        let Some((plan, columns)) = self.relation_of(atom, known)? else {
            let Some(call) = &atom.call else { return Err(self.no_relation(atom)) };
            if !self.is_function(atom) {
                return Err(self.no_relation(atom));
            }
            rest.conditions.push(call);
            return Ok(());
        };
        let offset = body.plan.arity();
        for (argument, column) in atom.args.iter().zip(places(atom, &columns)?) {
            let typed = Typed::column(offset + column, plan.types[column]);
            match &argument.term {
                Term::Wildcard(_) => {}
                Term::Variable(name) if body.find(&name.folded).is_none() => {
                    body.variables.push((name.clone(), typed));
                }
                term => rest.arguments.push((typed, term)),
            }
        }
        let before = std::mem::replace(&mut body.plan, Plan::unit());
        body.plan = if offset == 0 { plan } else { before.cross(plan) };
        Ok(())
    }

    /// Gives values to the variables that have none, as far as `=` says them.
    fn give_values<'r>(&mut self, rule: &Rule, body: &mut Body, rest: &mut Rest<'r>) -> Result<()> {
        loop {
            let before = rest.equal.len();
            let mut left = vec![];
            for (a, b, position) in std::mem::take(&mut rest.equal) {
                let free = |term: &Term| match term {
                    Term::Variable(name) if body.find(&name.folded).is_none() => Some(name.clone()),
                    _ => None,
                };
                let given = match (free(a), free(b)) {
                    (Some(name), None) if self.is_known(rule, b, body) => Some((name, b)),
                    (None, Some(name)) if self.is_known(rule, a, body) => Some((name, a)),
                    _ => None,
                };
                let Some((name, term)) = given else {
                    left.push((a, b, position));
                    continue;
                };
                let value = self.term_value(rule, term, body)?;
                let typed = self.settle(value)?;
                let column = Typed::column(body.plan.arity(), typed.ty);
                let plan = std::mem::replace(&mut body.plan, Plan::unit());
                body.plan = plan.map(vec![typed]);
                body.variables.push((name, column));
            }
            rest.equal = left;
            if rest.equal.len() == before {
                return Ok(());
            }
        }
    }

    /// Whether a term has no variable of the rule that is without a value.
    fn is_known(&self, rule: &Rule, term: &Term, body: &Body) -> bool {
        let declared = declared(rule);
        let open =
            |name: &Name| declared.contains(&name.folded) && body.find(&name.folded).is_none();
        !matches!(term, Term::Wildcard(_)) && !term.words().iter().any(open)
    }

    /// What a term is over the rows of a body.
    pub fn term_value(&mut self, rule: &Rule, term: &Term, body: &Body) -> Result<Bound> {
        match term {
            Term::Wildcard(position) => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("_ has no value in rule \"{}\"", rule.name.written),
            )
            .with_hint("_ stands for a column that nothing is said of: give it a name.")
            .at(*position)),
            Term::Variable(name) => match body.find(&name.folded) {
                Some(typed) => Ok(typed.clone().into()),
                None => Err(unbound(rule, name)),
            },
            Term::Value(value) => {
                let bound = self.value_of(rule, value, body)?;
                if matches!(&bound, Bound::Unknown { text: None, .. }) {
                    return Err(Error::new(
                        SqlState::NULL_VALUE_NOT_ALLOWED,
                        format!("null matches nothing in rule \"{}\"", rule.name.written),
                    )
                    .with_hint("Give the column a variable X, and say X IS NULL.")
                    .at(value.position));
                }
                Ok(bound)
            }
        }
    }

    /// What an expression is over the rows of a body, without aggregates.
    pub fn value_of(&mut self, rule: &Rule, value: &Value, body: &Body) -> Result<Bound> {
        refuse_unbound(rule, value, body)?;
        let scope = body.scope();
        let mut cx = ExprContext::plain(&scope, Clause::Where);
        let bound = self.expr(&value.expr, &mut cx).map_err(|error| named(rule, error))?;
        refuse_subquery(&bound, value)?;
        Ok(bound)
    }

    /// The same of an expression that may be a subquery.
    pub fn pulled_value(&mut self, rule: &Rule, value: &Value, body: &Body) -> Result<Bound> {
        refuse_unbound(rule, value, body)?;
        let scope = body.scope();
        let mut cx = ExprContext::plain(&scope, Clause::Select);
        self.expr(&value.expr, &mut cx).map_err(|error| named(rule, error))
    }

    fn condition_of(&mut self, rule: &Rule, value: &Value, body: &Body) -> Result<Expr> {
        refuse_unbound(rule, value, body)?;
        let scope = body.scope();
        let mut cx = ExprContext::plain(&scope, Clause::Where);
        let typed = self.predicate(&value.expr, &mut cx).map_err(|error| named(rule, error))?;
        refuse_subquery(&typed.clone().into(), value)?;
        Ok(typed.expr)
    }

    /// The condition that two values are equal, of one type, so that it can be a join's.
    pub fn equal(&mut self, a: Bound, b: Bound, position: Option<u32>) -> Result<Expr> {
        let plain = self.operator("=", Some(a.clone()), b.clone(), position)?;
        let same = matches!((a.scalar(self), b.scalar(self)), (Some(a), Some(b)) if a == b);
        if same {
            return Ok(plain.expr);
        }
        match self.unify(vec![a, b], "=", position) {
            Ok(mut both) => {
                let (right, left) = (both.pop(), both.pop());
                let (Some(left), Some(right)) = (left, right) else { return Ok(plain.expr) };
                Ok(self.operator("=", Some(left.into()), right.into(), position)?.expr)
            }
            Err(_) => Ok(plain.expr),
        }
    }

    /// Takes from the rows those for which a negated atom holds.
    fn without(&mut self, rule: &Rule, atom: &Atom, known: &Known, body: &mut Body) -> Result<()> {
        let Some((plan, columns)) = self.relation_of(atom, known)? else {
            let Some(call) = atom.call.as_ref().filter(|_| self.is_function(atom)) else {
                return Err(self.no_relation(atom));
            };
            let condition = self.condition_of(rule, call, body)?.not();
            let plan = std::mem::replace(&mut body.plan, Plan::unit());
            body.plan = plan.filter(vec![condition]);
            return Ok(());
        };
        let (mut ours, mut theirs) = (vec![], vec![]);
        let mut within = vec![];
        for (argument, column) in atom.args.iter().zip(places(atom, &columns)?) {
            let typed = Typed::column(column, plan.types[column]);
            let position = argument.term.position();
            match &argument.term {
                Term::Wildcard(_) => continue,
                Term::Variable(name) if body.find(&name.folded).is_none() => {
                    return Err(unbound_in_not(rule, atom, name));
                }
                term => {
                    let value = self.term_value(rule, term, body)?;
                    let constant = match &value {
                        Bound::Typed(typed) => typed.expr.columns().is_empty(),
                        _ => true,
                    };
                    if constant {
                        within.push(self.equal(typed.into(), value, position)?);
                        continue;
                    }
                    let (our, their) = self.pair(value, typed, position)?;
                    ours.push(our);
                    theirs.push(their);
                }
            }
        }
        let partners = plan.filter(within).select(theirs).distinct();
        let rows = std::mem::replace(&mut body.plan, Plan::unit());
        let (id, arity) = (self.fresh_let(), rows.arity());
        let mut conditions = vec![];
        for (at, our) in ours.into_iter().enumerate() {
            let their = Typed::column(arity + at, partners.types[at]);
            conditions.push(self.equal(our.into(), their.into(), atom.position)?);
        }
        body.plan = rows.shared(id, |rows| {
            let met = rows.clone().cross(partners).filter(conditions);
            rows.union(met.project((0..arity).collect()).negate())
        });
        Ok(())
    }

    /// A value of ours and a column of theirs in one type.
    fn pair(
        &mut self,
        ours: Bound,
        theirs: Typed,
        position: Option<u32>,
    ) -> Result<(Typed, Typed)> {
        self.operator("=", Some(ours.clone()), theirs.clone().into(), position)?;
        let mut both = self.unify(vec![ours, theirs.into()], "=", position)?;
        match (both.pop(), both.pop()) {
            (Some(theirs), Some(ours)) => Ok((ours, theirs)),
            _ => Err(Error::internal("two values in one type that are not two")),
        }
    }

    /// The rows of an atom's relation and the names of its columns; none where there is none.
    pub fn relation_of(
        &mut self,
        atom: &Atom,
        known: &Known,
    ) -> Result<Option<(Plan, Vec<String>)>> {
        if let Some(name) = atom.bare_name()
            && let Some(predicate) = known.get(&name)
        {
            let Some(types) = &predicate.types else {
                return Err(Error::internal("a rule that is not bound yet"));
            };
            return Ok(Some((Plan::local(predicate.id, types.clone()), predicate.names.clone())));
        }
        let name = self.qualified(&atom.name)?;
        if self.find_object(&name).is_none() {
            return Ok(None);
        }
        let source = self.named_relation(&atom.name, None)?;
        let columns = source.scope.visible.iter().map(|column| column.name.clone()).collect();
        Ok(Some((source.plan, columns)))
    }

    /// Whether an atom can only be the call of a function.
    fn is_function(&self, atom: &Atom) -> bool {
        let named = atom.args.iter().any(|argument| argument.column.is_some());
        let last = atom.name.0.last().and_then(|part| part.as_ident());
        !named
            && last.is_some_and(|ident| {
                let name = crate::sql::bind::name::ident(ident);
                functions::is_function(&name)
            })
    }

    fn no_relation(&self, atom: &Atom) -> Error {
        let name = match self.qualified(&atom.name) {
            Ok(name) => name.to_string(),
            Err(_) => atom.name.to_string(),
        };
        Error::new(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\" does not exist"))
            .with_detail(format!("In the atom {}.", atom.text))
            .with_hint("An atom names a table, a view or a rule.")
            .at(atom.position)
    }
}

/// The column of each argument.
///
/// Errors: 42P10 where there are too many or too few, 42703 where a name is no column's.
pub fn places(atom: &Atom, columns: &[String]) -> Result<Vec<usize>> {
    let named = atom.args.iter().filter(|argument| argument.column.is_some()).count();
    let relation = shown::relation(atom);
    let signature = || format!("{relation} ({})", columns.join(", "));
    if named == 0 {
        if atom.args.len() != columns.len() {
            let count = |n: usize, what: &str| match n {
                1 => format!("1 {what}"),
                n => format!("{n} {what}s"),
            };
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "relation \"{relation}\" has {}, but the atom has {}",
                    count(columns.len(), "column"),
                    count(atom.args.len(), "argument")
                ),
            )
            .with_detail(format!("The atom is {}, and the relation {}.", atom.text, signature()))
            .with_hint("Write _ for a column of no interest, or name those that are: column => X.")
            .at(atom.position));
        }
        return Ok((0..columns.len()).collect());
    }
    let mut found: Vec<usize> = vec![];
    for argument in &atom.args {
        let Argument { column: Some(name), .. } = argument else {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "an atom has named arguments or positional ones, not both",
            )
            .with_detail(format!("The atom is {}.", atom.text))
            .at(argument.term.position()));
        };
        let Some(at) = columns.iter().position(|column| *column == name.folded) else {
            return Err(Error::new(
                SqlState::UNDEFINED_COLUMN,
                format!("column \"{}\" of relation \"{relation}\" does not exist", name.folded),
            )
            .with_hint(format!("The relation is {}.", signature()))
            .at(name.position));
        };
        if found.contains(&at) {
            return Err(Error::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{}\" specified more than once", name.folded),
            )
            .at(name.position));
        }
        found.push(at);
    }
    Ok(found)
}

/// The names that a rule uses as variables.
pub fn declared(rule: &Rule) -> BTreeSet<String> {
    let head = rule.head.iter().filter_map(|head| match &head.term {
        Term::Variable(name) => Some(name.folded.clone()),
        _ => None,
    });
    head.chain(rule.body.iter().flat_map(names)).collect()
}

fn refuse_unbound(rule: &Rule, value: &Value, body: &Body) -> Result<()> {
    let declared = declared(rule);
    let open = value
        .words
        .iter()
        .find(|name| declared.contains(&name.folded) && body.find(&name.folded).is_none());
    match open {
        Some(name) => Err(unbound(rule, name)),
        None => Ok(()),
    }
}

fn refuse_subquery(bound: &Bound, value: &Value) -> Result<()> {
    match bound {
        Bound::Typed(typed) if has_subquery(&typed.expr) => Err(Error::unsupported(
            "a subquery in a rule",
            "Make it a view or a rule, and read that in an atom.",
        )
        .at(value.position)),
        _ => Ok(()),
    }
}

/// An unknown column in an expression is a variable without a value.
pub fn named(rule: &Rule, error: Error) -> Error {
    if error.code != SqlState::UNDEFINED_COLUMN {
        return error;
    }
    let name = error.message.split('"').nth(1).unwrap_or_default();
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("variable \"{name}\" has no value in rule \"{}\"", rule.name.written),
    )
    .with_hint(UNBOUND_HINT)
    .at(error.position)
}

const UNBOUND_HINT: &str = "A variable gets its values from a positive atom, or from X = \u{2026}.";

/// The error of a variable that nothing gives a value.
pub fn unbound(rule: &Rule, name: &Name) -> Error {
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!("variable \"{}\" has no value in rule \"{}\"", name.written, rule.name.written),
    )
    .with_hint(UNBOUND_HINT)
    .at(name.position)
}

fn unbound_in_not(rule: &Rule, atom: &Atom, name: &Name) -> Error {
    Error::new(
        SqlState::INVALID_COLUMN_REFERENCE,
        format!(
            "variable \"{}\" of the negated atom {} has no value in rule \"{}\"",
            name.written, atom.text, rule.name.written
        ),
    )
    .with_hint("Write _ for any value, or bind the variable by a positive atom.")
    .at(name.position)
}
