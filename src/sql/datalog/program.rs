//! Programs: rules bound stratum by stratum, and what is asked of them.
//!
//! A predicate that does not depend on itself is a `Let`, the predicates of a recursion are the
//! bindings of one `LetRec`; each is a set. The types of a recursion's columns come from the rules
//! that can be bound without knowing them, and widen until nothing changes: a rule whose types are
//! taken from itself alone says nothing.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::SetOperator;

use crate::error::{Error, Result, SqlState};
use crate::expr::functions;
use crate::plan::relation::{Binding, Relation, RoundLimit};
use crate::repr::ColumnType;
use crate::sql::bind::coerce::Bound;
use crate::sql::bind::comparable;
use crate::sql::bind::context::Binder;
use crate::sql::bind::expr::{Clause, ExprContext};
use crate::sql::bind::query::{OutputColumn, Query};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::scope::Scope;
use crate::sql::bind::setop::common;
use crate::sql::datalog::ast::{
    Argument, Atom, HeadTerm, Literal, Name, Program, Rule, Term, Value,
};
use crate::sql::datalog::demand::{Facts, demanded};
use crate::sql::datalog::head::{Lattice, column_names, lattice_of};
use crate::sql::datalog::monotone;
use crate::sql::datalog::negation::number;
use crate::sql::datalog::strata::{Stratum, strata};

/// How often the types of a recursion may widen.
const WIDENINGS_MAX: usize = 32;

/// A predicate that rules define.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// Its binding in the plan.
    pub id: u64,
    /// The names of its columns.
    pub names: Vec<String>,
    /// Their types, once they are known.
    pub types: Option<Vec<ColumnType>>,
}

/// The predicates that are known so far.
#[derive(Default)]
pub struct Known(BTreeMap<String, Predicate>);

impl Known {
    /// The predicate of that name.
    pub fn get(&self, name: &str) -> Option<&Predicate> {
        self.0.get(name)
    }

    /// Adds a predicate.
    pub fn define(&mut self, name: &str, predicate: Predicate) {
        self.0.insert(name.to_owned(), predicate);
    }

    /// The rows and columns of a predicate. Errors: 42P01.
    fn rows(&self, name: &Name) -> Result<(Plan, Vec<OutputColumn>)> {
        let predicate = self.get(&name.folded).ok_or_else(|| {
            Error::new(
                SqlState::UNDEFINED_TABLE,
                format!("the program has no rule \"{}\"", name.written),
            )
            .with_hint("End it with FIND \u{2026} WHERE \u{2026}, or derive that relation.")
            .at(name.position)
        })?;
        let types = predicate.types.clone().ok_or_else(unfinished)?;
        let columns = predicate.names.iter().zip(&types);
        let columns =
            columns.map(|(name, ty)| OutputColumn { name: name.clone(), ty: *ty, literal: None });
        let columns = columns.collect();
        Ok((Plan::local(predicate.id, types), columns))
    }

    /// Whether a rule reads a predicate whose types are not known.
    fn is_ahead(&self, rule: &Rule) -> bool {
        rule.atoms().iter().any(|(atom, _)| {
            let predicate = atom.bare_name().and_then(|name| self.0.get(&name));
            predicate.is_some_and(|predicate| predicate.types.is_none())
        })
    }
}

/// Rules that are bound, and what is asked of them.
struct BoundRules {
    plan: Plan,
    columns: Vec<OutputColumn>,
    layers: BoundLayers,
}

/// Rules that are bound.
pub struct BoundLayers {
    /// What is known of their predicates.
    pub known: Known,
    /// Their strata.
    pub strata: Vec<Stratum>,
    /// What each stratum derives.
    pub layers: Vec<Layer>,
}

/// What stands around a query: the predicates that it may read.
#[derive(Clone)]
pub enum Layer {
    /// A predicate that does not depend on itself.
    Plain(u64, Plan),
    /// A recursion, with what is said of it where it does not end.
    Recursive(Vec<Binding>, String),
}

impl Layer {
    /// The locals that it binds.
    pub fn ids(&self) -> BTreeSet<u64> {
        match self {
            Layer::Plain(id, _) => BTreeSet::from([*id]),
            Layer::Recursive(bindings, _) => bindings.iter().map(|b| b.id).collect(),
        }
    }
}

impl Binder<'_, '_> {
    /// The rows of a program's query or, where it has none, of its rule `wanted`.
    ///
    /// All rules are bound, so that what is wrong is found, but only those are in the plan that
    /// the query depends on.
    pub fn program(
        &mut self,
        program: &Program,
        wanted: Option<&Name>,
    ) -> Result<(Plan, Vec<OutputColumn>)> {
        let (mut rules, mut find) = (self.with_session_rules(program)?, program.find.clone());
        number(rules.iter_mut().chain(&mut find));
        check_rules(&rules)?;
        let bound = self.bind_rules(&rules, find.as_ref(), wanted)?;
        match self.by_demand(&rules, find.as_ref(), wanted, &bound)? {
            Some(plan) => Ok((plan, bound.columns)),
            None => Ok((bound.plan, bound.columns)),
        }
    }

    /// Rules, and what is asked of them.
    fn bind_rules(
        &mut self,
        rules: &[Rule],
        find: Option<&Rule>,
        wanted: Option<&Name>,
    ) -> Result<BoundRules> {
        let bound = self.bind_layers(rules)?;
        let (plan, columns) = match (find, wanted) {
            (Some(find), _) => {
                check_variables(find)?;
                let rules = std::slice::from_ref(find);
                let query = self.set_of(rules, &bound.known, None, None)?;
                let query = query.ok_or_else(unfinished)?;
                (query.plan, query.columns)
            }
            (None, Some(name)) => bound.known.rows(name)?,
            (None, None) => {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "a program that asks nothing stands alone as a statement",
                )
                .with_hint("End it with FIND \u{2026} WHERE \u{2026}."));
            }
        };
        let relation = self.around(plan.relation, bound.layers.clone());
        Ok(BoundRules { plan: Plan { relation, types: plan.types }, columns, layers: bound })
    }

    /// Rules, stratum by stratum.
    pub fn bind_layers(&mut self, rules: &[Rule]) -> Result<BoundLayers> {
        self.bind_layers_over(rules, Known::default(), vec![])
    }

    /// The same over predicates that are bound.
    pub fn bind_layers_over(
        &mut self,
        rules: &[Rule],
        mut known: Known,
        mut layers: Vec<Layer>,
    ) -> Result<BoundLayers> {
        let strata = strata(rules)?;
        for stratum in &strata {
            let layer = match stratum.recursive {
                true => self.recursion_of_rules(stratum, rules, &mut known)?,
                false => self.predicate_of_rules(&stratum.names[0], rules, &mut known)?,
            };
            layers.push(layer);
        }
        Ok(BoundLayers { known, strata, layers })
    }

    /// The same by demand; none where that is off, or where nothing is gained by it.
    fn by_demand(
        &mut self,
        rules: &[Rule],
        find: Option<&Rule>,
        wanted: Option<&Name>,
        bound: &BoundRules,
    ) -> Result<Option<Plan>> {
        let asked = match (find, wanted) {
            (Some(find), _) => find.clone(),
            (None, Some(name)) => whole_of(name, bound.columns.len()),
            (None, None) => return Ok(None),
        };
        let demanded = self.demanded_program(rules, &asked, None, &bound.layers);
        let Some((rules, find)) = demanded else { return Ok(None) };
        let by_demand = self.bind_rules(&rules, Some(&find), None)?;
        let scalars = |plan: &Plan| plan.types.iter().map(|ty| ty.scalar).collect::<Vec<_>>();
        let same = scalars(&by_demand.plan) == scalars(&bound.plan);
        Ok(same.then_some(by_demand.plan))
    }

    /// As [`Self::demanded_rules`], through the views that are read where that gains something.
    pub fn demanded_program(
        &mut self,
        rules: &[Rule],
        asked: &Rule,
        given: Option<&Atom>,
        bound: &BoundLayers,
    ) -> Option<(Vec<Rule>, Rule)> {
        let depends_on = self.depends_on.clone();
        // What cannot be bound so is bound as it was.
        let opened = match self.edn {
            true => None,
            false => self.opened(rules, asked).ok().flatten(),
        };
        self.depends_on = depends_on;
        let through =
            opened.and_then(|(rules, asked, of)| self.demanded_rules(&rules, &asked, given, &of));
        through.or_else(|| self.demanded_rules(rules, asked, given, bound))
    }

    /// The rules and the query that derive only what is asked for; none where that is off, or
    /// where nothing is gained by it. `given`: what has a value in the query.
    pub fn demanded_rules(
        &mut self,
        rules: &[Rule],
        asked: &Rule,
        given: Option<&Atom>,
        bound: &BoundLayers,
    ) -> Option<(Vec<Rule>, Rule)> {
        if (self.cx.variables)("weir.demand").is_some_and(|value| value == "off") {
            return None;
        }
        let types = |name: &str| bound.known.get(name)?.types.clone();
        let mut fits = |value: &Value, ty: ColumnType| {
            let scope = Scope::default();
            let mut cx = ExprContext::plain(&scope, Clause::Where);
            let value = self.expr(&value.expr, &mut cx);
            value.is_ok_and(|value| match value.scalar(self) {
                Some(from) => from == ty.scalar || functions::is_coercible(Some(from), ty.scalar),
                None => true,
            })
        };
        let names = |name: &str| bound.known.get(name).map(|known| known.names.clone());
        let mut facts =
            Facts { strata: &bound.strata, types: &types, names: &names, fits: &mut fits };
        demanded(rules, asked, given, &mut facts)
    }

    /// The relation with the layers that it reads, itself or through others.
    pub fn around(&mut self, mut relation: Relation, layers: Vec<Layer>) -> Relation {
        for layer in layers.into_iter().rev() {
            if !relation.reads_local(&layer.ids()) {
                continue;
            }
            let body = Box::new(relation);
            relation = match layer {
                Layer::Plain(id, plan) => {
                    Relation::Let { id, value: Box::new(plan.relation), body }
                }
                Layer::Recursive(bindings, of) => {
                    let limit = self.round_limit();
                    let limit = limit.map(|limit| RoundLimit { of: Some(of), ..limit });
                    Relation::LetRec { bindings, limit, body }
                }
            };
        }
        relation
    }

    /// A predicate that does not depend on itself.
    fn predicate_of_rules(
        &mut self,
        name: &str,
        rules: &[Rule],
        known: &mut Known,
    ) -> Result<Layer> {
        let own: Vec<Rule> = rules.iter().filter(|r| r.name.folded == name).cloned().collect();
        let lattice = lattice_of(own.iter())?;
        let query = self.set_of(&own, known, lattice.as_ref(), None)?.ok_or_else(unfinished)?;
        let id = self.fresh_let();
        let types = Some(query.plan.types.clone());
        let names = names_of(&query.columns);
        known.0.insert(name.to_owned(), Predicate { id, names, types });
        Ok(Layer::Plain(id, query.plan))
    }

    /// Predicates that depend on each other.
    fn recursion_of_rules(
        &mut self,
        stratum: &Stratum,
        rules: &[Rule],
        known: &mut Known,
    ) -> Result<Layer> {
        let mut members: Vec<(String, Vec<Rule>, Option<Lattice>)> = vec![];
        for name in &stratum.names {
            let own: Vec<Rule> = rules.iter().filter(|r| r.name.folded == *name).cloned().collect();
            let lattice = lattice_of(own.iter())?;
            members.push((name.clone(), own, lattice));
            let predicate = Predicate { id: self.fresh_let(), names: vec![], types: None };
            known.0.insert(name.clone(), predicate);
        }
        self.settle_types(&members, known)?;
        let mut bindings = vec![];
        for (name, own, lattice) in &members {
            let predicate = known.get(name).cloned().ok_or_else(unfinished)?;
            let Some(columns) = predicate.types else { return Err(no_types(&own[0])) };
            let query = self.set_of(own, known, lattice.as_ref(), Some(&columns))?;
            let value = query.ok_or_else(unfinished)?.plan.relation;
            bindings.push(Binding { id: predicate.id, value, columns });
        }
        let written = members.iter().map(|(_, own, _)| format!("\"{}\"", own[0].name.written));
        let names: BTreeSet<String> = written.collect();
        let names: Vec<String> = names.into_iter().collect();
        let what = if names.len() == 1 { "rule" } else { "the recursion of rules" };
        Ok(Layer::Recursive(bindings, format!("{what} {}", names.join(", "))))
    }

    /// Finds the types of the columns of a recursion.
    fn settle_types(
        &mut self,
        members: &[(String, Vec<Rule>, Option<Lattice>)],
        known: &mut Known,
    ) -> Result<()> {
        for _ in 0..WIDENINGS_MAX {
            let mut changed = false;
            for (name, own, lattice) in members {
                let ready: Vec<Rule> =
                    own.iter().filter(|rule| !known.is_ahead(rule)).cloned().collect();
                if ready.is_empty() {
                    continue;
                }
                let Some(query) = self.set_of(&ready, known, lattice.as_ref(), None)? else {
                    continue;
                };
                let Some(predicate) = known.0.get_mut(name) else { continue };
                let types: Vec<ColumnType> = query.columns.iter().map(|c| nullable(c.ty)).collect();
                if predicate.types.as_ref() != Some(&types) {
                    changed = true;
                    predicate.types = Some(types);
                }
                if predicate.names.is_empty() {
                    predicate.names = column_names(own);
                }
            }
            if !changed {
                return match members
                    .iter()
                    .find(|(_, own, _)| own.iter().any(|rule| known.is_ahead(rule)))
                {
                    None => Ok(()),
                    Some((_, own, _)) => Err(no_types(&own[0])),
                };
            }
        }
        Err(Error::new(
            SqlState::DATATYPE_MISMATCH,
            "the types of a recursion's columns do not settle",
        )
        .with_hint("Cast the terms of the heads to the types that are meant."))
    }

    /// What rules of one predicate derive, as a set; in these types, where they are given.
    pub fn set_of(
        &mut self,
        rules: &[Rule],
        known: &Known,
        lattice: Option<&Lattice>,
        types: Option<&[ColumnType]>,
    ) -> Result<Option<Query>> {
        let mut united: Option<Query> = None;
        for rule in rules {
            let queries =
                self.of_rule(rule, |binder| binder.rows_of_rule(rule, known, lattice.is_some()))?;
            for query in queries {
                united = Some(match united {
                    None => query,
                    Some(before) => {
                        self.united_rules(before, query).map_err(|error| differing(rule, error))?
                    }
                });
            }
        }
        let Some(mut query) = united else { return Ok(None) };
        for (column, name) in query.columns.iter_mut().zip(column_names(rules)) {
            column.name = name;
        }
        let wanted: Vec<ColumnType> = match types {
            Some(types) => types.to_vec(),
            None => query.columns.iter().map(|column| column.ty).collect(),
        };
        let columns = query.columns.clone();
        let mut plan = self.coerced(query, &wanted)?;
        comparable::equal(plan.types.iter().map(|ty| ty.scalar))?;
        plan = match lattice {
            Some(lattice) => self.joined(plan, lattice, types.is_some())?,
            None => plan.distinct(),
        };
        let columns = columns.into_iter().zip(&plan.types);
        let columns =
            columns.map(|(column, ty)| OutputColumn { ty: *ty, literal: None, ..column }).collect();
        Ok(Some(Query::of(plan, columns)))
    }

    /// The rows of two rules together; literals keep what they may still become.
    fn united_rules(&mut self, before: Query, query: Query) -> Result<Query> {
        let mut types = vec![];
        for (a, b) in before.columns.iter().zip(&query.columns) {
            types.push(common(a, b, "rule")?);
        }
        self.united(before, SetOperator::Union, true, query, false)
    }

    /// The least or greatest values of each group. `cyclic`: in a recursion, where no group means
    /// no row.
    fn joined(&mut self, plan: Plan, lattice: &Lattice, cyclic: bool) -> Result<Plan> {
        let typed = |at: usize| Typed::column(at, plan.types[at]);
        let (mut group, mut aggregates, mut places) = (vec![], vec![], vec![]);
        let groups = lattice.iter().filter(|extreme| extreme.is_none()).count();
        for (at, extreme) in lattice.iter().enumerate() {
            let Some(extreme) = extreme else {
                places.push((group.len(), None));
                group.push(typed(at));
                continue;
            };
            let bound = vec![Bound::Typed(typed(at))];
            let (func, _, args) = self.resolved_aggregate(extreme.name(), bound, None)?;
            places.push((groups + aggregates.len(), Some(plan.types[at])));
            aggregates.push(crate::expr::aggregate::Aggregate {
                func,
                args,
                order: vec![],
                distinct: false,
                filter: None,
            });
        }
        let reduced = match cyclic {
            true => plan.reduce(group, aggregates),
            false => self.reduced(plan, group, aggregates),
        };
        let mut exprs = vec![];
        for (at, before) in places {
            let column = Typed::column(at, reduced.types[at]);
            exprs.push(match before {
                Some(ty) if ty.scalar != column.ty.scalar => {
                    let wanted = nullable(ty);
                    self.implicit(column.clone().into(), wanted)?.unwrap_or(column)
                }
                _ => column,
            });
        }
        Ok(reduced.select(exprs))
    }

    /// Binds something of a rule: what is wrong in it names the rule.
    pub fn of_rule<T>(
        &mut self,
        rule: &Rule,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let Some(lines) = &rule.lines else {
            return bind(self).map_err(|error| in_rule(rule, error));
        };
        let lines = std::mem::replace(&mut self.lines, lines.clone());
        let edits = self.edits.take();
        let bound = bind(self);
        (self.lines, self.edits) = (lines, edits);
        bound.map_err(|error| Error { position: None, ..in_rule(rule, error) })
    }
}

/// Says in which rule something is wrong, where nothing else is said.
fn in_rule(rule: &Rule, error: Error) -> Error {
    match error.detail {
        Some(_) => error,
        None => error.with_detail(format!("In the rule {}.", rule.text)),
    }
}

/// The query for all rows of a predicate.
fn whole_of(name: &Name, arity: usize) -> Rule {
    let variables = (0..arity).map(|at| {
        let folded = format!("column {at}");
        Term::Variable(Name { written: folded.clone(), folded, position: None })
    });
    let variables: Vec<Term> = variables.collect();
    let head = variables.iter().cloned();
    let head = head.map(|term| HeadTerm { term, alias: None, lattice: None }).collect();
    let args = variables.into_iter().map(|term| Argument { column: None, term }).collect();
    let ident = sqlparser::ast::Ident::with_quote('"', name.folded.clone());
    let object = sqlparser::ast::ObjectName::from(vec![ident]);
    let text = name.written.clone();
    let atom = Atom { name: object, args, call: None, text: text.clone(), position: name.position };
    let body = vec![Literal::Atom(atom)];
    Rule { name: name.clone(), head, body, types: vec![], text, lines: None }
}

fn nullable(ty: ColumnType) -> ColumnType {
    ColumnType { nullable: true, ..ty }
}

fn names_of(columns: &[OutputColumn]) -> Vec<String> {
    columns.iter().map(|column| column.name.clone()).collect()
}

/// Fails where rules of one name differ in arity, or a rule in the case of its variables, and where
/// a cycle is none that rules may have.
pub fn check_rules(rules: &[Rule]) -> Result<()> {
    let mut arity: BTreeMap<&str, &Rule> = BTreeMap::new();
    for rule in rules {
        check_variables(rule).map_err(|error| in_rule(rule, error))?;
        let first = arity.entry(&rule.name.folded).or_insert(rule);
        if first.head.len() != rule.head.len() {
            return Err(Error::new(
                SqlState::INVALID_COLUMN_REFERENCE,
                format!(
                    "rule \"{}\" derives {} columns here and {} there",
                    rule.name.written,
                    rule.head.len(),
                    first.head.len()
                ),
            )
            .with_detail(format!("The rules are {} and {}.", first.text, rule.text))
            .at(rule.name.position));
        }
    }
    monotone::check(rules, &strata(rules)?)
}

/// Fails where two names differ in their case alone: SQL makes one of them.
fn check_variables(rule: &Rule) -> Result<()> {
    let mut seen: BTreeMap<&str, &Name> = BTreeMap::new();
    let mut terms: Vec<&Term> = rule.head.iter().map(|head| &head.term).collect();
    for (atom, _) in rule.atoms() {
        terms.extend(atom.args.iter().map(|arg| &arg.term));
    }
    for term in terms {
        let Term::Variable(name) = term else { continue };
        let first = seen.entry(&name.folded).or_insert(name);
        if first.written != name.written {
            return Err(Error::new(
                SqlState::AMBIGUOUS_COLUMN,
                format!(
                    "variables \"{}\" and \"{}\" differ only in their case",
                    first.written, name.written
                ),
            )
            .with_hint("Names are folded as in SQL: spell them alike, or rename one.")
            .at(name.position));
        }
    }
    Ok(())
}

fn differing(rule: &Rule, error: Error) -> Error {
    let hint = "All rules of one name derive the same types: cast the term.";
    let error = in_rule(rule, error).at(rule.name.position);
    if error.hint.is_some() { error } else { error.with_hint(hint) }
}

fn no_types(rule: &Rule) -> Error {
    Error::new(
        SqlState::INDETERMINATE_DATATYPE,
        format!("rule \"{}\" derives from nothing but itself", rule.name.written),
    )
    .with_detail(format!("In the rule {}.", rule.text))
    .with_hint("A recursion begins with a rule that does not read it.")
    .at(rule.name.position)
}

/// The error of rules that derive nothing at all.
pub fn unfinished() -> Error {
    Error::internal("a rule without rows")
}
