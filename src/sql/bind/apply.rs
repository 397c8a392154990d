//! Subqueries in expressions become columns of the relation that the expression is over.
//!
//! The *answers* of a subquery are a relation of its arguments and what it answers for them, made
//! for the different arguments that occur ([`super::decorrelate`]), and joined with the rows on
//! their arguments. A subquery that can fail is only asked where PostgreSQL would ask it: the
//! branch of a CASE is a *guard*, which the rows must pass to be in the domain. A condition that is
//! nothing but EXISTS or IN needs no answers, only the arguments for which it holds; and where the
//! arguments are compared with `=` and the rest does not depend on them, those are what they are
//! compared with, without any domain.

use std::collections::BTreeSet;

use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::cast::Cast;
use crate::expr::functions;
use crate::expr::functions::boolean;
use crate::expr::scalar::Expr;
use crate::plan::relation::{Equivalence, Relation};
use crate::repr::{ColumnType, ScalarType};
use crate::sql::bind::context::Binder;
use crate::sql::bind::decorrelate::{Decorrelation, refers_to, spelled};
use crate::sql::bind::late::{Late, Side};
use crate::sql::bind::relation::{Plan, Typed};
use crate::sql::bind::subquery::{Kind, Quantified, Subquery};

/// A plan to which subqueries are added.
struct Placing {
    plan: Plan,
    /// Those that are there: which, over what, behind which guards, and their first column.
    placed: Vec<(usize, Vec<Expr>, Vec<Expr>, usize)>,
}

impl Binder<'_, '_> {
    /// Adds to a plan the columns of the subqueries in expressions over it, and puts those columns
    /// in their places.
    pub fn place<'e>(&mut self, plan: Plan, exprs: impl IntoIterator<Item = &'e mut Expr>) -> Plan {
        let mut placing = Placing { plan, placed: vec![] };
        for expr in exprs {
            self.place_in(&mut placing, expr, &[]);
        }
        placing.plan
    }

    /// The rows for which all conditions are true. Their subqueries leave no columns.
    pub fn restrict(&mut self, plan: Plan, mut conditions: Vec<Expr>) -> Plan {
        // What is decided without its subqueries does not ask them.
        for condition in conditions.iter_mut().filter(|condition| has_subquery(condition)) {
            self.fold_condition(condition);
        }
        let conjuncts = conditions.into_iter().flat_map(Expr::into_conjuncts);
        let (mut asking, plain): (Vec<Expr>, Vec<Expr>) = conjuncts.partition(has_subquery);
        let plan = plan.filter(plain);
        if asking.is_empty() {
            return plan;
        }
        let read = asking.iter().flat_map(Expr::columns).collect();
        let (plan, late) = plan.without_late(&read, 0, Side::Kept);
        asking.iter_mut().for_each(|expr| expr.map_columns(|column| late.column(column)));
        let plan = self.restrict_asking(plan, asking);
        Late::restore(plan, vec![(0, late, Side::Kept)])
    }

    /// The rows for which conditions are true that all have subqueries.
    fn restrict_asking(&mut self, mut plan: Plan, mut conditions: Vec<Expr>) -> Plan {
        let arity = plan.arity();
        let mut rest = vec![];
        // Those that can fail are asked for the rows that the others leave.
        conditions.sort_by_key(|condition| self.can_fail(condition));
        for conjunct in conditions {
            match self.whether(plan.clone(), &conjunct) {
                Some(restricted) => plan = restricted,
                None => rest.push(conjunct),
            }
        }
        let mut placing = Placing { plan, placed: vec![] };
        for mut conjunct in rest {
            self.place_in(&mut placing, &mut conjunct, &[]);
            placing.plan = placing.plan.filter(vec![conjunct]);
        }
        placing.plan.project((0..arity).collect())
    }

    /// Whether an expression can fail, its subqueries included.
    fn can_fail(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Subquery { id, args, .. } => {
                self.subqueries[*id].can_fail() || args.iter().any(|arg| self.can_fail(arg))
            }
            other => {
                let mut fails = other.own_fails();
                other.for_each_child(&mut |child| {
                    fails = fails || crate::sql::stack::level(|| self.can_fail(child));
                });
                fails
            }
        }
    }

    fn place_in(&mut self, placing: &mut Placing, expr: &mut Expr, guards: &[Expr]) {
        if !has_subquery(expr) {
            return;
        }
        match expr {
            Expr::Subquery { id, args, output, .. } => {
                for arg in args.iter_mut() {
                    self.place_in(placing, arg, guards);
                    where_reached(arg, guards, &placing.plan.types);
                }
                let first = self.column_of(placing, *id, args, guards);
                *expr = Expr::Column(first + *output);
            }
            Expr::Case { branches, otherwise } => {
                let mut guards = guards.to_vec();
                for (condition, result) in branches {
                    self.place_in(placing, condition, &guards);
                    guards.push(condition.clone());
                    self.place_in(placing, result, &guards);
                    guards.pop();
                    guards.push(filled(condition.clone(), false).not());
                }
                self.place_in(placing, otherwise, &guards);
            }
            Expr::Coalesce(exprs) => {
                let mut guards = guards.to_vec();
                for expr in exprs {
                    self.place_in(placing, expr, &guards);
                    guards.push(expr.clone().is_null());
                }
            }
            // What decides without a subquery is asked first, then one after the other.
            Expr::And(exprs) => self.place_junction(placing, exprs, guards, |e| filled(e, true)),
            Expr::Or(exprs) => {
                self.place_junction(placing, exprs, guards, |e| filled(e, false).not());
            }
            other => other.for_each_child_mut(&mut |child| {
                crate::sql::stack::level(|| self.place_in(placing, child, guards));
            }),
        }
    }

    fn place_junction(
        &mut self,
        placing: &mut Placing,
        exprs: &mut [Expr],
        guards: &[Expr],
        undecided: fn(Expr) -> Expr,
    ) {
        let plain = exprs.iter().filter(|expr| !has_subquery(expr)).cloned().map(undecided);
        let mut guards: Vec<Expr> = guards.iter().cloned().chain(plain).collect();
        for expr in exprs.iter_mut().filter(|expr| has_subquery(expr)) {
            self.place_in(placing, expr, &guards);
            guards.push(undecided(expr.clone()));
        }
    }

    /// The first column of a subquery's answers.
    fn column_of(
        &mut self,
        placing: &mut Placing,
        id: usize,
        args: &[Expr],
        guards: &[Expr],
    ) -> usize {
        let guards = if self.subqueries[id].can_fail() { guards } else { &[] };
        let same = placing.placed.iter().find(|(i, a, g, _)| *i == id && a == args && g == guards);
        if let Some((.., first)) = same {
            return *first;
        }
        let first = placing.plan.arity();
        let plan = std::mem::replace(&mut placing.plan, Plan::unit());
        placing.plan = self.answered(plan, id, args, guards);
        placing.placed.push((id, args.to_vec(), guards.to_vec(), first));
        first
    }

    /// A plan with what a subquery answers for each row.
    fn answered(&mut self, plan: Plan, id: usize, args: &[Expr], guards: &[Expr]) -> Plan {
        let subquery = self.copy_of(id);
        let arity = plan.arity();
        let asks_nothing = args.is_empty() && !subquery.can_fail();
        let (plan, keys) = keyed(plan, &subquery, args);
        let guarded = !guards.is_empty();
        let width = keys.len();
        let rows = self.fresh_let();
        plan.shared(rows, |rows| {
            let domain = match asks_nothing {
                true => Plan::unit(),
                false => {
                    let asking = rows.clone().filter(guards.to_vec());
                    asking.project(keys.clone()).distinct()
                }
            };
            let name = self.fresh_let();
            if asks_nothing {
                return self.beside_answers(rows, subquery, domain, arity);
            }
            let answers = domain.shared(name, |domain| {
                let answers = self.answers(subquery, domain.clone(), guarded);
                if !guarded {
                    return answers;
                }
                let all = rows.clone().project(keys.clone()).distinct();
                let nothing = all.union(domain.negate());
                let nulls = nulls(&answers.types[width..]);
                answers.union(nothing.map(nulls))
            });
            let total = rows.arity();
            let columns = (0..arity).chain(total + width..total + answers.arity()).collect();
            meet(rows, answers, &keys, true).project(columns)
        })
    }

    /// The rows with the answers of a subquery that takes nothing from them.
    fn beside_answers(
        &mut self,
        rows: Plan,
        subquery: Subquery,
        domain: Plan,
        arity: usize,
    ) -> Plan {
        let answers = self.answers(subquery, domain, false);
        let total = rows.arity();
        let columns = (0..arity).chain(total..total + answers.arity()).collect();
        rows.cross(answers).project(columns)
    }

    /// For each row of a domain, that row and what a subquery answers for it: one row.
    fn answers(&mut self, subquery: Subquery, domain: Plan, guarded: bool) -> Plan {
        let width = domain.arity();
        let Subquery { kind, plan, level } = subquery;
        let decorrelated = |plan: Plan| Decorrelation::new(level, domain.clone(), guarded).of(plan);
        let truth = |value: bool| vec![Typed::boolean(value)];
        match kind {
            Kind::Scalar { one_row: true } => decorrelated(plan),
            Kind::Scalar { one_row: false } => {
                let answers = decorrelated(plan);
                let outputs = answers.types[width..].to_vec();
                let only = outputs.iter().enumerate().map(|(i, ty)| {
                    Aggregate::of(AggFunc::Only(ty.scalar), Expr::Column(width + i))
                });
                let only = only.collect();
                let name = self.fresh_let();
                answers.reduce(key_of(&domain), only).shared(name, |answers| {
                    let some = answers.clone().project((0..width).collect());
                    let none = domain.union(some.negate()).map(nulls(&outputs));
                    answers.union(none)
                })
            }
            Kind::Exists => {
                let found = keys_of(decorrelated(plan.project(vec![])), width);
                let name = self.fresh_let();
                found.shared(name, |found| {
                    let rest = domain.union(found.clone().negate());
                    found.map(truth(true)).union(rest.map(truth(false)))
                })
            }
            Kind::Quantified(quantified) => {
                let hits = plan.clone().filter(vec![quantified.hit()]).project(vec![]);
                let hits = keys_of(decorrelated(hits), width).map(truth(true));
                let mut verdicts = hits;
                for unknown in quantified.unknown() {
                    let plan = self.renumbered(plan.clone());
                    let unknown = plan.filter(unknown).project(vec![]);
                    let unknown = keys_of(decorrelated(unknown), width).map(truth(false));
                    verdicts = verdicts.union(unknown);
                }
                let key = key_of(&domain);
                let verdicts =
                    verdicts.reduce(key, vec![Aggregate::of(AggFunc::BoolOr, Expr::Column(width))]);
                let name = self.fresh_let();
                verdicts.shared(name, |verdicts| {
                    let decided = verdicts.clone().project((0..width).collect());
                    let rest = domain.union(decided.negate());
                    let answer = quantified.answer(Expr::Column(width));
                    let known = verdicts.map(vec![answer]);
                    let columns = (0..width).chain([width + 1]).collect();
                    known.project(columns).union(rest.map(truth(quantified.every)))
                })
            }
        }
    }

    /// The rows for which EXISTS or IN is true, or NOT EXISTS; none where the condition is another.
    fn whether(&mut self, plan: Plan, condition: &Expr) -> Option<Plan> {
        let (asked, wanted) = match condition {
            Expr::Call { func, args } if func.oid == boolean::NOT => (&args[0], false),
            asked => (asked, true),
        };
        let Expr::Subquery { id, args, .. } = asked else { return None };
        if args.iter().any(has_subquery) {
            return None;
        }
        let condition = match &self.subqueries[*id].kind {
            Kind::Exists => vec![],
            Kind::Quantified(quantified) if wanted && !quantified.every => {
                quantified.hit().into_conjuncts()
            }
            _ => return None,
        };
        let subquery = self.copy_of(*id);
        let arity = plan.arity();
        let columns: Vec<usize> = (0..arity).collect();
        if let Some(partners) = partners(&subquery, condition.clone(), args.len()) {
            // They are compared and nothing else, so their spelling does not matter.
            let (plan, keys) = keyed_by(plan, args, &BTreeSet::new());
            let partners = partners.distinct();
            if wanted {
                return Some(meet(plan, partners, &keys, false).project(columns));
            }
            let name = self.fresh_let();
            return Some(plan.shared(name, |rows| {
                let found = meet(rows.clone(), partners, &keys, false);
                let width = rows.arity();
                let found = found.project((0..width).collect());
                rows.union(found.negate()).project(columns)
            }));
        }
        let (plan, keys) = keyed(plan, &subquery, args);
        let (rows, name) = (self.fresh_let(), self.fresh_let());
        Some(plan.shared(rows, |rows| {
            let domain = rows.clone().project(keys.clone()).distinct();
            let width = keys.len();
            let chosen = domain.shared(name, |domain| {
                let plan = subquery.plan.filter(condition).project(vec![]);
                let found = Decorrelation::new(subquery.level, domain.clone(), false).of(plan);
                let found = keys_of(found, width);
                if wanted { found } else { domain.union(found.negate()) }
            });
            meet(rows, chosen, &keys, true).project(columns)
        }))
    }

    /// Each row of `left` with each row that `right`, a subquery over it, has for it.
    pub fn lateral(&mut self, left: Plan, right: Plan, level: usize, args: &[Typed]) -> Plan {
        if args.is_empty() {
            return left.cross(right);
        }
        let (arity, types) = (left.arity(), right.types.clone());
        let subquery = Subquery { kind: Kind::Exists, plan: right, level };
        let args: Vec<Expr> = args.iter().map(|arg| arg.expr.clone()).collect();
        let (left, keys) = keyed(left, &subquery, &args);
        let (rows, name) = (self.fresh_let(), self.fresh_let());
        let mut plan = left.shared(rows, |rows| {
            let domain = rows.clone().project(keys.clone()).distinct();
            let answers = domain
                .shared(name, |domain| Decorrelation::new(level, domain, false).of(subquery.plan));
            let (total, width) = (rows.arity(), keys.len());
            let columns = (0..arity).chain(total + width..total + answers.arity()).collect();
            meet(rows, answers, &keys, true).project(columns)
        });
        plan.types.splice(arity.., types);
        plan
    }

    fn copy_of(&mut self, id: usize) -> Subquery {
        let subquery = self.subqueries[id].clone();
        let plan = self.renumbered(subquery.plan);
        Subquery { plan, ..subquery }
    }

    /// The same plan with names of its own for its bindings.
    pub fn renumbered(&mut self, mut plan: Plan) -> Plan {
        let mut names = std::collections::BTreeMap::new();
        plan.relation.visit(&mut |node| {
            names.extend(node.own_bindings().into_iter().map(|id| (id, 0)));
        });
        names.values_mut().for_each(|name| *name = self.fresh_let());
        plan.relation.rename_locals(&names);
        plan
    }
}

/// Whether a subquery stands in an expression.
pub fn has_subquery(expr: &Expr) -> bool {
    expr.any(&mut |node| matches!(node, Expr::Subquery { .. }))
}

/// An argument that can fail is NULL where guards keep the subquery from being asked.
fn where_reached(arg: &mut Expr, guards: &[Expr], types: &[ColumnType]) {
    if guards.is_empty() || !arg.is_fallible() {
        return;
    }
    let ty = ColumnType { nullable: true, ..arg.typ(types) };
    let value = std::mem::replace(arg, Expr::null(ty));
    let otherwise = Box::new(Expr::null(ty));
    *arg = Expr::Case { branches: vec![(Expr::and(guards.to_vec()), value)], otherwise };
}

/// A boolean with NULL replaced.
fn filled(expr: Expr, value: bool) -> Expr {
    Expr::Coalesce(vec![expr, Expr::bool(value)])
}

/// NULL for each column.
fn nulls(types: &[ColumnType]) -> Vec<Typed> {
    types.iter().map(|&ty| Typed::null(ty)).collect()
}

/// All columns of a domain.
fn key_of(domain: &Plan) -> Vec<Typed> {
    domain.types.iter().enumerate().map(|(i, &ty)| Typed::column(i, ty)).collect()
}

/// The rows of a domain for which there are rows.
fn keys_of(answers: Plan, width: usize) -> Plan {
    answers.project((0..width).collect()).distinct()
}

/// A plan with the columns that are the domain of a subquery over it, and which those are: the
/// arguments, and the spelling of those that it matters of.
fn keyed(plan: Plan, subquery: &Subquery, args: &[Expr]) -> (Plan, Vec<usize>) {
    let types: Vec<ColumnType> = args.iter().map(|arg| arg.typ(&plan.types)).collect();
    let spelled = spelled(&subquery.plan.relation, subquery.level, &types);
    keyed_by(plan, args, &spelled)
}

/// The same, where the spelling of these arguments matters.
fn keyed_by(plan: Plan, args: &[Expr], spelled: &BTreeSet<usize>) -> (Plan, Vec<usize>) {
    let types: Vec<ColumnType> = args.iter().map(|arg| arg.typ(&plan.types)).collect();
    let mut keys: Vec<Typed> =
        args.iter().zip(&types).map(|(expr, &ty)| Typed { expr: expr.clone(), ty }).collect();
    for &index in spelled {
        let text = ColumnType { nullable: types[index].nullable, ..ScalarType::Text.into() };
        if let Some(cast) = Cast::find(types[index].scalar, ScalarType::Text) {
            keys.push(Typed { expr: args[index].clone().cast(cast, text, true), ty: text });
        }
    }
    let (mut computed, mut columns) = (vec![], vec![]);
    for key in keys {
        columns.push(match key.expr {
            Expr::Column(column) => column,
            _ => {
                computed.push(key);
                plan.arity() + computed.len() - 1
            }
        });
    }
    (plan.map(computed), columns)
}

/// The rows of both whose keys are equal; the first columns of `right` are its keys.
fn meet(left: Plan, right: Plan, keys: &[usize], nulls_meet: bool) -> Plan {
    let arity = left.arity();
    let equivalences = keys.iter().enumerate().map(|(i, &key)| Equivalence {
        exprs: vec![Expr::Column(key), Expr::Column(arity + i)],
        null_safe: nulls_meet && left.types[key].nullable,
    });
    let equivalences: Vec<_> = equivalences.collect();
    let mut plan = left.cross(right);
    if let Relation::Join { equivalences: of_join, .. } = &mut plan.relation {
        *of_join = equivalences;
    }
    plan
}

/// The arguments for which a subquery that cannot fail has a row under a condition, where they are
/// all compared with `=` and nothing else depends on them.
fn partners(subquery: &Subquery, condition: Vec<Expr>, args: usize) -> Option<Plan> {
    let level = subquery.level;
    let (mut relation, mut conjuncts) = (subquery.plan.relation.clone(), condition);
    loop {
        relation = match relation {
            Relation::Project { input, outputs } => {
                conjuncts.iter_mut().for_each(|e| e.map_columns(|column| outputs[column]));
                *input
            }
            Relation::Map { input, exprs } => {
                let arity = input.arity();
                let substitute = |conjunct: &mut Expr| {
                    for (i, expr) in exprs.iter().enumerate().rev() {
                        conjunct.visit_mut(&mut |node| {
                            if *node == Expr::Column(arity + i) {
                                *node = expr.clone();
                            }
                        });
                    }
                };
                conjuncts.iter_mut().for_each(substitute);
                *input
            }
            Relation::Filter { input, predicates } => {
                conjuncts.extend(predicates.into_iter().flat_map(Expr::into_conjuncts));
                *input
            }
            other => break relation_without(other, level, conjuncts, args),
        };
    }
}

fn relation_without(
    relation: Relation,
    level: usize,
    conjuncts: Vec<Expr>,
    args: usize,
) -> Option<Plan> {
    let (asking, plain): (Vec<Expr>, Vec<Expr>) =
        conjuncts.into_iter().partition(|conjunct| refers_to(conjunct, level));
    let mut keys: Vec<Option<Expr>> = vec![None; args];
    for conjunct in asking {
        let Expr::Call { func, args } = &conjunct else { return None };
        let ([a, b], [x, y]) = (args.as_slice(), func.args) else { return None };
        let is_equality = functions::operator_of(func.oid).is_some_and(|op| op.symbol == "=");
        let (index, key) = match (a, b) {
            (Expr::Outer { level: l, index, .. }, key)
            | (key, Expr::Outer { level: l, index, .. })
                if *l == level =>
            {
                (*index, key)
            }
            _ => return None,
        };
        let taken = keys.get(index)?.is_some();
        if !is_equality || x != y || taken || refers_to(key, level) || key.is_fallible() {
            return None;
        }
        keys[index] = Some(key.clone());
    }
    let mut safe = plain.iter().all(|expr| !expr.is_fallible());
    relation.visit(&mut |node| {
        let asks = node.own_exprs().iter().any(|expr| refers_to(expr, level));
        safe = safe && !asks && !node.own_fails();
    });
    let keys: Vec<Expr> = keys.into_iter().collect::<Option<_>>()?;
    if !safe {
        return None;
    }
    let types = relation.typ().columns;
    let keys = keys.into_iter().map(|expr| Typed { ty: expr.typ(&types), expr }).collect();
    Some(Plan { relation, types }.filter(plain).select(keys))
}

impl Quantified {
    /// The comparison that decides: it is true, or for ALL false.
    fn hit(&self) -> Expr {
        let compare = Expr::and(self.comparisons.clone());
        if self.every { compare.not() } else { compare }
    }

    /// Conditions under which the comparison may be unknown, of which none holds twice for a row.
    fn unknown(&self) -> Vec<Vec<Expr>> {
        let compare = Expr::and(self.comparisons.clone());
        if self.inner_nulls.is_empty() && self.outer_nulls.is_empty() {
            return vec![];
        }
        let unknown = compare.is_null();
        let inner = Expr::or(self.inner_nulls.clone());
        let outer = Expr::or(self.outer_nulls.clone());
        let mut all = vec![];
        if !self.inner_nulls.is_empty() {
            all.push(vec![inner.clone(), unknown.clone()]);
        }
        if !self.outer_nulls.is_empty() {
            all.push(vec![outer, inner.not(), unknown]);
        }
        all
    }

    /// The answer where something decides (the column is true) or is unknown.
    fn answer(&self, decided: Expr) -> Typed {
        let ty = ColumnType::nullable(ScalarType::Bool);
        let answer = Box::new(Expr::null(ty));
        let expr =
            Expr::Case { branches: vec![(decided, Expr::bool(!self.every))], otherwise: answer };
        Typed { expr, ty }
    }
}
