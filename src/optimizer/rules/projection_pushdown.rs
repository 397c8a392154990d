//! `projection_pushdown`: only columns that are needed travel.
//!
//! From the top down each operator is told which of its columns are used, and leaves out the
//! others and what computes them. Operators that compare whole rows keep them whole: a threshold,
//! the keys of groups, and a limit whose order leaves ties (they are decided by the rest of the
//! row, and must be decided alike for every reader).

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::scalar::Expr;
use crate::expr::window::call::WindowCall;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::{input_of, input_starts};
use crate::plan::relation::{Id, Relation, RelationType};
use crate::plan::visit::grow;
use crate::repr::value::{decode_values, pack};

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut state = State { locals: BTreeMap::new(), changed: false };
    let all: BTreeSet<usize> = (0..relation.arity()).collect();
    state.prune(relation, &all);
    state.changed
}

struct State {
    /// What the readers of a binding use of it.
    locals: BTreeMap<u64, BTreeSet<usize>>,
    changed: bool,
}

/// Where the kept columns are afterwards.
fn positions(kept: &BTreeSet<usize>) -> BTreeMap<usize, usize> {
    kept.iter().enumerate().map(|(new, old)| (*old, new)).collect()
}

impl State {
    /// Leaves the node with exactly the needed columns, in their order.
    fn prune(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        grow(|| match node {
            Relation::Constant { .. } => self.constant(node, needed),
            Relation::Get { id, ty } => {
                if let Id::Local(id) = id {
                    self.locals.entry(*id).or_default().extend(needed);
                }
                let arity = ty.arity();
                self.cut(node, &(0..arity).collect(), needed);
            }
            Relation::Let { .. } => self.binding(node, needed),
            // What a round leaves out the next one may need.
            Relation::LetRec { bindings, body, .. } => {
                self.prune(body, needed);
                for binding in bindings.iter_mut() {
                    let all = (0..binding.columns.len()).collect();
                    self.prune(&mut binding.value, &all);
                }
                bindings.iter().for_each(|binding| {
                    self.locals.remove(&binding.id);
                });
            }
            Relation::Project { .. } => self.project(node, needed),
            Relation::Map { .. } => self.map(node, needed),
            Relation::FlatMap { .. } => self.flat_map(node, needed),
            Relation::Filter { input, predicates } => {
                let mut below = needed.clone();
                below.extend(predicates.iter().flat_map(Expr::columns));
                self.prune(input, &below);
                let to = positions(&below);
                predicates.iter_mut().for_each(|p| p.map_columns(|c| to[&c]));
                self.cut(node, &below, needed);
            }
            Relation::Join { .. } => self.join(node, needed),
            Relation::Reduce { .. } => self.reduce(node, needed),
            Relation::TopK { .. } => self.top_k(node, needed),
            Relation::Window { .. } => self.window(node, needed),
            Relation::Negate { input } => self.prune(input, needed),
            Relation::Threshold { input } => {
                let all = (0..input.arity()).collect();
                self.prune(input, &all);
                self.cut(node, &all, needed);
            }
            Relation::Union { inputs } => inputs.iter_mut().for_each(|i| self.prune(i, needed)),
        });
    }

    /// Takes from what a node has to what is needed.
    fn cut(&mut self, node: &mut Relation, has: &BTreeSet<usize>, needed: &BTreeSet<usize>) {
        if has != needed {
            let to = positions(has);
            let outputs = needed.iter().map(|c| to[c]).collect();
            *node = node.take().project(outputs);
        }
    }

    fn constant(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Constant { rows, ty } = node else { return };
        if needed.len() == ty.arity() {
            return;
        }
        self.changed = true;
        let types = ty.scalars();
        for (row, _) in rows.iter_mut().flatten() {
            let mut datums = Vec::new();
            decode_values(&types, row.bytes(), &mut datums);
            let kept: Vec<_> = needed.iter().map(|c| datums[*c]).collect();
            *row = pack(&kept);
        }
        let keys = if ty.keys.contains(&Vec::new()) { vec![Vec::new()] } else { Vec::new() };
        *ty = RelationType { columns: needed.iter().map(|c| ty.columns[*c]).collect(), keys };
    }

    fn binding(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Let { id, value, body } = node else { return };
        let id = *id;
        self.prune(body, needed);
        let used = self.locals.remove(&id).unwrap_or_default();
        let whole = used.len() == value.arity();
        self.prune(value, &used);
        if whole {
            return;
        }
        let (to, ty) = (positions(&used), value.typ());
        body.visit_mut_pre(&mut |n| match n {
            Relation::Project { input, outputs } => {
                if matches!(&**input, Relation::Get { id: Id::Local(l), .. } if *l == id) {
                    outputs.iter_mut().for_each(|c| *c = to[c]);
                }
            }
            Relation::Get { id: Id::Local(l), ty: old } if *l == id => *old = ty.clone(),
            _ => {}
        });
    }

    fn project(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Project { input, outputs } = node else { return };
        self.changed |= needed.len() < outputs.len();
        let used: Vec<usize> = needed.iter().map(|c| outputs[*c]).collect();
        let below: BTreeSet<usize> = used.iter().copied().collect();
        self.prune(input, &below);
        let to = positions(&below);
        *outputs = used.iter().map(|c| to[c]).collect();
    }

    fn map(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Map { input, exprs } = node else { return };
        let arity = input.arity();
        let mut has = needed.clone();
        for (i, expr) in exprs.iter().enumerate().rev() {
            if has.contains(&(arity + i)) {
                has.extend(expr.columns());
            }
        }
        let before = exprs.len();
        let below: BTreeSet<usize> = has.range(..arity).copied().collect();
        self.prune(input, &below);
        let to = positions(&has);
        let kept = std::mem::take(exprs).into_iter().enumerate();
        let kept = kept.filter(|(i, _)| has.contains(&(arity + i))).map(|(_, mut expr)| {
            expr.map_columns(|c| to[&c]);
            expr
        });
        let kept: Vec<Expr> = kept.collect();
        self.changed |= kept.len() != before;
        *node = input.take().map(kept);
        self.cut(node, &has, needed);
    }

    /// What a function returns comes whole.
    fn flat_map(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::FlatMap { input, func, args } = node else { return };
        let arity = input.arity();
        let mut below: BTreeSet<usize> = needed.range(..arity).copied().collect();
        below.extend(args.iter().flat_map(Expr::columns));
        self.changed |= below.len() < arity;
        self.prune(input, &below);
        let to = positions(&below);
        args.iter_mut().for_each(|arg| arg.map_columns(|c| to[&c]));
        let mut has = below;
        has.extend(arity..arity + func.arity());
        self.cut(node, &has, needed);
    }

    fn join(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Join { inputs, equivalences } = node else { return };
        let starts = input_starts(inputs);
        let mut has = needed.clone();
        has.extend(equivalences.iter().flat_map(|c| &c.exprs).flat_map(Expr::columns));
        let mut below = vec![BTreeSet::new(); inputs.len()];
        for column in &has {
            let input = input_of(&starts, *column);
            below[input].insert(column - starts[input]);
        }
        for ((input, below), ends) in inputs.iter_mut().zip(below).zip(starts.windows(2)) {
            let cuts =
                below.len() < ends[1] - ends[0] && !matches!(input, Relation::Project { .. });
            self.changed |= cuts;
            self.prune(input, &below);
        }
        let to = positions(&has);
        for expr in equivalences.iter_mut().flat_map(|c| &mut c.exprs) {
            expr.map_columns(|c| to[&c]);
        }
        self.cut(node, &has, needed);
    }

    fn reduce(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Reduce { input, group_key, aggregates } = node else { return };
        let keys = group_key.len();
        let mut has: BTreeSet<usize> = (0..keys).collect();
        has.extend(needed);
        let before = aggregates.len();
        let mut place = keys;
        aggregates.retain(|_| {
            place += 1;
            has.contains(&(place - 1))
        });
        self.changed |= aggregates.len() != before;
        let mut below: BTreeSet<usize> = group_key.iter().flat_map(Expr::columns).collect();
        for aggregate in aggregates.iter() {
            below.extend(aggregate.exprs().flat_map(Expr::columns));
        }
        self.changed |= below.len() < input.arity() && !matches!(**input, Relation::Project { .. });
        self.prune(input, &below);
        let to = positions(&below);
        for expr in node.own_exprs_mut() {
            expr.map_columns(|c| to[&c]);
        }
        self.cut(node, &has, needed);
    }

    fn window(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::Window { input, partition, order, calls } = node else { return };
        let arity = input.arity();
        let mut has = needed.clone();
        let before = calls.len();
        let mut place = arity;
        calls.retain(|_| {
            place += 1;
            needed.contains(&(place - 1))
        });
        self.changed |= calls.len() != before;
        if calls.is_empty() {
            *node = input.take();
            return self.prune(node, needed);
        }
        let decisive: Vec<usize> =
            partition.iter().copied().chain(order.iter().map(|o| o.column)).collect();
        let mut below: BTreeSet<usize> = (0..arity).collect();
        if calls.iter().all(WindowCall::ignores_ties) || input.typ().is_unique(&decisive) {
            below = needed.range(..arity).copied().chain(decisive).collect();
            below.extend(calls.iter().flat_map(WindowCall::exprs).flat_map(Expr::columns));
            self.changed |= below.len() < arity;
        }
        has.extend(&below);
        self.prune(input, &below);
        let to = positions(&below);
        partition.iter_mut().for_each(|c| *c = to[c]);
        order.iter_mut().for_each(|o| o.column = to[&o.column]);
        for expr in calls.iter_mut().flat_map(WindowCall::exprs_mut) {
            expr.map_columns(|c| to[&c]);
        }
        self.cut(node, &has, needed);
    }

    fn top_k(&mut self, node: &mut Relation, needed: &BTreeSet<usize>) {
        let Relation::TopK { input, group_key, order, rank, .. } = node else { return };
        let arity = input.arity();
        let decisive: Vec<usize> =
            group_key.iter().copied().chain(order.iter().map(|o| o.column)).collect();
        let mut below: BTreeSet<usize> = (0..arity).collect();
        if input.typ().is_unique(&decisive) {
            below = needed.range(..arity).copied().chain(decisive).collect();
            self.changed |= below.len() < arity;
        }
        let mut has = below.clone();
        if *rank && needed.contains(&arity) {
            has.insert(arity);
        } else {
            self.changed |= *rank;
            *rank = false;
        }
        self.prune(input, &below);
        let to = positions(&below);
        group_key.iter_mut().for_each(|c| *c = to[c]);
        order.iter_mut().for_each(|o| o.column = to[&o.column]);
        self.cut(node, &has, needed);
    }
}
