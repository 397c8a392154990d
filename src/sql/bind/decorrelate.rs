//! A subquery for all outer rows at once.
//!
//! The *domain* is a relation of the different arguments that a subquery is given, each once. The
//! decorrelated subquery holds, for each row of the domain, that row followed by each row which the
//! subquery answers for it. It is made node by node, from the leaves: what does not depend on the
//! arguments stays as it is until it meets what does; grouping, limits and numbering happen within
//! each row of the domain. A global aggregate over nothing is right by itself, because its row of
//! defaults is made from the relation with one row, which becomes the domain.

use std::collections::BTreeSet;

use crate::expr::func::Func;
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::plan::relation::{Binding, ColumnOrder, Equivalence, Id, Relation, RelationType};
use crate::plan::visit::grow;
use crate::repr::ColumnType;
use crate::sql::bind::relation::Plan;

/// The rewriting of one subquery.
pub struct Decorrelation {
    /// The level whose arguments are replaced.
    level: usize,
    /// The domain, small: the binding of a `Let`, or the unit.
    domain: Plan,
    /// Whether the domain is one row without columns, in which case nothing is to be done.
    asks_always: bool,
    /// Whether nothing that can fail is computed where the domain is empty.
    guarded: bool,
    /// The bindings that start with the columns of the domain.
    bindings: BTreeSet<u64>,
}

impl Decorrelation {
    /// A rewriting of references to a level by the columns of a domain.
    ///
    /// `guarded`: what can fail is computed for the rows of the domain alone, though it does not
    /// depend on them.
    pub fn new(level: usize, domain: Plan, guarded: bool) -> Decorrelation {
        let guarded = guarded || domain.arity() == 0;
        let asks_always = domain.relation == Relation::unit();
        Decorrelation { level, domain, asks_always, guarded, bindings: BTreeSet::new() }
    }

    /// A rewriting of a relation whose binding `id` is to start with the columns of a domain: what
    /// is made of it is made for each row of the domain by itself.
    pub fn of_binding(id: u64, domain: Plan) -> Decorrelation {
        let none = usize::MAX;
        let bindings = BTreeSet::from([id]);
        Decorrelation { bindings, ..Decorrelation::new(none, domain, true) }
    }

    /// The domain's columns and then those of the subquery.
    pub fn of(mut self, subquery: Plan) -> Plan {
        let types = [self.domain.types.clone(), subquery.types].concat();
        Plan { relation: self.rewrite(subquery.relation), types }
    }

    fn width(&self) -> usize {
        self.domain.arity()
    }

    fn is_correlated(&self, relation: &Relation) -> bool {
        let mut found = false;
        relation.visit(&mut |node| {
            found = found
                || matches!(node, Relation::Get { id: Id::Local(id), .. }
                    if self.bindings.contains(id))
                || node.own_exprs().iter().any(|expr| refers_to(expr, self.level))
                || self.guarded && node.own_fails();
        });
        found
    }

    fn rewrite(&mut self, relation: Relation) -> Relation {
        if !self.is_correlated(&relation) {
            return match self.asks_always {
                true => relation,
                false => self.domain.relation.clone().cross(relation),
            };
        }
        grow(|| self.rewrite_node(relation))
    }

    fn rewrite_node(&mut self, relation: Relation) -> Relation {
        let width = self.width();
        let prefixed =
            |columns: Vec<usize>| (0..width).chain(columns.into_iter().map(|c| c + width));
        match relation {
            Relation::Constant { .. } => unreachable!("a constant depends on nothing"),
            Relation::Get { id, ty } => {
                let columns = [self.domain.types.clone(), ty.columns].concat();
                Relation::Get { id, ty: RelationType { columns, keys: vec![] } }
            }
            Relation::Let { id, value, body } => {
                let value = match self.is_correlated(&value) {
                    true => {
                        self.bindings.insert(id);
                        self.rewrite(*value)
                    }
                    false => *value,
                };
                value.let_in(id, self.rewrite(*body))
            }
            Relation::LetRec { bindings, limit, body } => {
                self.bindings.extend(bindings.iter().map(|binding| binding.id));
                let bindings = bindings.into_iter().map(|binding| Binding {
                    id: binding.id,
                    value: self.rewrite(binding.value),
                    columns: [self.domain.types.clone(), binding.columns].concat(),
                });
                let bindings = bindings.collect();
                Relation::LetRec { bindings, limit, body: Box::new(self.rewrite(*body)) }
            }
            Relation::Project { input, outputs } => {
                self.rewrite(*input).project(prefixed(outputs).collect())
            }
            Relation::Map { input, mut exprs } => {
                exprs.iter_mut().for_each(|expr| self.shift(expr));
                self.rewrite(*input).map(exprs)
            }
            Relation::FlatMap { input, func, mut args } => {
                args.iter_mut().for_each(|arg| self.shift(arg));
                self.rewrite(*input).flat_map(func, args)
            }
            Relation::Filter { input, mut predicates } => {
                predicates.iter_mut().for_each(|expr| self.shift(expr));
                self.rewrite(*input).filter(predicates)
            }
            Relation::Join { inputs, equivalences } => self.rewrite_join(inputs, equivalences),
            Relation::Reduce { input, group_key, aggregates } => {
                let mut key: Vec<Expr> = (0..width).map(Expr::Column).collect();
                let mut reduce = self.rewrite(*input).reduce(group_key, aggregates);
                reduce.own_exprs_mut().into_iter().for_each(|expr| self.shift(expr));
                if let Relation::Reduce { group_key, .. } = &mut reduce {
                    key.append(group_key);
                    *group_key = key;
                }
                reduce
            }
            Relation::TopK { input, group_key, order, limit, offset, ties, rank } => {
                let group_key = prefixed(group_key).collect();
                let order = order
                    .into_iter()
                    .map(|by| ColumnOrder { column: by.column + width, ..by })
                    .collect();
                let input = Box::new(self.rewrite(*input));
                Relation::TopK { input, group_key, order, limit, offset, ties, rank }
            }
            Relation::Window { input, partition, order, calls } => {
                let partition = prefixed(partition).collect();
                let order = order.into_iter();
                let order = order.map(|by| ColumnOrder { column: by.column + width, ..by });
                let order = order.collect();
                let mut window = self.rewrite(*input).window(partition, order, calls);
                window.own_exprs_mut().into_iter().for_each(|expr| self.shift(expr));
                window
            }
            Relation::Negate { input } => self.rewrite(*input).negate(),
            Relation::Threshold { input } => self.rewrite(*input).threshold(),
            Relation::Union { inputs } => {
                let inputs = inputs.into_iter().map(|input| self.rewrite(input)).collect();
                Relation::Union { inputs }
            }
        }
    }

    /// The inputs that depend on the arguments meet on them; the others are joined as they are.
    fn rewrite_join(
        &mut self,
        inputs: Vec<Relation>,
        mut equivalences: Vec<Equivalence>,
    ) -> Relation {
        let width = self.width();
        let none = !inputs.iter().any(|input| self.is_correlated(input));
        let (mut joined, mut domains, mut places) = (vec![], vec![], vec![]);
        let mut base = 0;
        if none {
            joined.push(self.domain.relation.clone());
            domains.push(0);
            base = width;
        }
        for input in inputs {
            let arity = input.arity();
            if self.is_correlated(&input) {
                joined.push(self.rewrite(input));
                domains.push(base);
                base += width;
            } else {
                joined.push(input);
            }
            places.extend(base..base + arity);
            base += arity;
        }
        let first = domains[0];
        for equivalence in &mut equivalences {
            for expr in &mut equivalence.exprs {
                self.place(expr, first, &places);
            }
        }
        if domains.len() > 1 {
            equivalences.extend((0..width).map(|column| {
                let same = domains.iter().map(|at| Expr::Column(at + column)).collect();
                Equivalence::null_safe(same)
            }));
        }
        let outputs = (first..first + width).chain(places).collect();
        Relation::join(joined, equivalences).project(outputs)
    }

    /// An expression over the subquery's columns as one over the domain's and those.
    fn shift(&self, expr: &mut Expr) {
        let width = self.width();
        expr.visit_mut(&mut |node| match node {
            Expr::Column(column) => *column += width,
            Expr::Outer { level, index, .. } if *level == self.level => {
                *node = Expr::Column(*index);
            }
            _ => {}
        });
    }

    /// An expression whose columns are at other places, and the arguments from `domain` on.
    fn place(&self, expr: &mut Expr, domain: usize, places: &[usize]) {
        expr.visit_mut(&mut |node| match node {
            Expr::Column(column) => *column = places[*column],
            Expr::Outer { level, index, .. } if *level == self.level => {
                *node = Expr::Column(domain + *index);
            }
            _ => {}
        });
    }
}

/// Whether an expression takes something from a level.
pub fn refers_to(expr: &Expr, level: usize) -> bool {
    expr.any(&mut |node| matches!(node, Expr::Outer { level: l, .. } if *l == level))
}

/// The arguments of a level whose spelling matters, not only what they are equal to: 1.0 and 1.00
/// are one row of a domain, but may be told apart by what a subquery makes of them. Comparisons
/// do not.
pub fn spelled(relation: &Relation, level: usize, types: &[ColumnType]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    relation.visit(&mut |node| {
        for expr in node.own_exprs() {
            spelled_in(expr, level, &mut found);
        }
    });
    found.retain(|&index| !types[index].scalar.key_is_identity());
    found
}

/// Whether a function tells values apart only by their order.
fn is_comparison(func: Func) -> bool {
    let operator = functions::operator_of(func.oid);
    operator.is_some_and(|op| matches!(op.symbol, "=" | "<>" | "<" | "<=" | ">" | ">="))
}

fn spelled_in(expr: &Expr, level: usize, found: &mut BTreeSet<usize>) {
    let is_argument = |e: &Expr| matches!(e, Expr::Outer { level: l, .. } if *l == level);
    match expr {
        Expr::Outer { level: l, index, .. } if *l == level => {
            found.insert(*index);
        }
        Expr::IsNull(of) if is_argument(of) => {}
        Expr::Call { func, args } if is_comparison(*func) => {
            let others = args.iter().filter(|arg| !is_argument(arg));
            others.for_each(|arg| spelled_in(arg, level, found));
        }
        other => other.for_each_child(&mut |child| grow(|| spelled_in(child, level, found))),
    }
}
