//! Walks over [`Relation`] trees.
//!
//! Trees can be deep (a chain of ten thousand UNIONs), so recursive walks grow the stack and the
//! others keep their own. Rust frees a tree recursively too: [`Relation::dismantle`] does not.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::aggregate::Aggregate;
use crate::expr::scalar::Expr;
use crate::expr::window::call::WindowCall;
use crate::plan::relation::{Id, Relation};
use crate::repr::GlobalId;

/// Stack that a step of a recursion must find free, and how much is added where it does not.
const RED_ZONE: usize = 64 * 1024;
const SEGMENT: usize = 1024 * 1024;

/// Runs a step of a recursion on a stack that is deep enough for it.
pub fn grow<R>(step: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(RED_ZONE, SEGMENT, step)
}

impl Relation {
    /// The direct inputs, in order; of a `Let` the values and then the body.
    pub fn children(&self) -> Vec<&Relation> {
        match self {
            Relation::Constant { .. } | Relation::Get { .. } => Vec::new(),
            Relation::Let { value, body, .. } => vec![value, body],
            Relation::LetRec { bindings, body, .. } => {
                let values = bindings.iter().map(|binding| &binding.value);
                values.chain([&**body]).collect()
            }
            Relation::Project { input, .. }
            | Relation::Map { input, .. }
            | Relation::FlatMap { input, .. }
            | Relation::Filter { input, .. }
            | Relation::Reduce { input, .. }
            | Relation::TopK { input, .. }
            | Relation::Window { input, .. }
            | Relation::Negate { input }
            | Relation::Threshold { input } => vec![input],
            Relation::Join { inputs, .. } | Relation::Union { inputs } => inputs.iter().collect(),
        }
    }

    /// As [`Relation::children`], to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Relation> {
        match self {
            Relation::Constant { .. } | Relation::Get { .. } => Vec::new(),
            Relation::Let { value, body, .. } => vec![value, body],
            Relation::LetRec { bindings, body, .. } => {
                let values = bindings.iter_mut().map(|binding| &mut binding.value);
                values.chain([&mut **body]).collect()
            }
            Relation::Project { input, .. }
            | Relation::Map { input, .. }
            | Relation::FlatMap { input, .. }
            | Relation::Filter { input, .. }
            | Relation::Reduce { input, .. }
            | Relation::TopK { input, .. }
            | Relation::Window { input, .. }
            | Relation::Negate { input }
            | Relation::Threshold { input } => vec![input],
            Relation::Join { inputs, .. } | Relation::Union { inputs } => {
                inputs.iter_mut().collect()
            }
        }
    }

    /// Calls `f` for each node, inputs after their users.
    pub fn visit(&self, f: &mut dyn FnMut(&Relation)) {
        let mut todo = vec![self];
        while let Some(node) = todo.pop() {
            f(node);
            todo.extend(node.children().into_iter().rev());
        }
    }

    /// Calls `f` for each node, inputs before their users.
    pub fn visit_mut_post(&mut self, f: &mut dyn FnMut(&mut Relation)) {
        grow(|| {
            for child in self.children_mut() {
                child.visit_mut_post(f);
            }
            f(self);
        });
    }

    /// Calls `f` for each node, inputs after their users.
    pub fn visit_mut_pre(&mut self, f: &mut dyn FnMut(&mut Relation)) {
        grow(|| {
            f(self);
            for child in self.children_mut() {
                child.visit_mut_pre(f);
            }
        });
    }

    /// The expressions of this node alone.
    pub fn own_exprs(&self) -> Vec<&Expr> {
        match self {
            Relation::Map { exprs, .. } => exprs.iter().collect(),
            Relation::FlatMap { args, .. } => args.iter().collect(),
            Relation::Filter { predicates, .. } => predicates.iter().collect(),
            Relation::Join { equivalences, .. } => {
                equivalences.iter().flat_map(|e| &e.exprs).collect()
            }
            Relation::Reduce { group_key, aggregates, .. } => {
                group_key.iter().chain(aggregates.iter().flat_map(Aggregate::exprs)).collect()
            }
            Relation::Window { calls, .. } => calls.iter().flat_map(WindowCall::exprs).collect(),
            _ => Vec::new(),
        }
    }

    /// The expressions of this node alone, to be changed.
    pub fn own_exprs_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Relation::Map { exprs, .. } => exprs.iter_mut().collect(),
            Relation::FlatMap { args, .. } => args.iter_mut().collect(),
            Relation::Filter { predicates, .. } => predicates.iter_mut().collect(),
            Relation::Join { equivalences, .. } => {
                equivalences.iter_mut().flat_map(|e| &mut e.exprs).collect()
            }
            Relation::Reduce { group_key, aggregates, .. } => {
                let of_aggregates = aggregates.iter_mut().flat_map(Aggregate::exprs_mut);
                group_key.iter_mut().chain(of_aggregates).collect()
            }
            Relation::Window { calls, .. } => {
                calls.iter_mut().flat_map(WindowCall::exprs_mut).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether this node alone can fail.
    pub fn own_fails(&self) -> bool {
        let func = matches!(self, Relation::FlatMap { func, .. } if func.is_fallible());
        func || self.own_exprs().into_iter().any(Expr::is_fallible)
    }

    /// Calls `f` for each expression of each node (not for the parts of expressions).
    pub fn visit_exprs_mut(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        self.visit_mut_pre(&mut |node| node.own_exprs_mut().into_iter().for_each(&mut *f));
    }

    /// The tables and views that are read.
    pub fn depends_on(&self) -> BTreeSet<GlobalId> {
        let mut ids = BTreeSet::new();
        self.visit(&mut |node| {
            if let Relation::Get { id: Id::Global(id), .. } = node {
                ids.insert(*id);
            }
        });
        ids
    }

    /// Gives the bindings other names, and what reads them.
    pub fn rename_locals(&mut self, names: &BTreeMap<u64, u64>) {
        self.visit_mut_pre(&mut |node| {
            for id in node.own_locals_mut() {
                if let Some(name) = names.get(id) {
                    *id = *name;
                }
            }
        });
    }

    /// The least number above all that bindings of this tree use as names.
    pub fn next_local(&self) -> u64 {
        let mut next = 0;
        self.visit(&mut |node| {
            if let Relation::Get { id: Id::Local(id), .. } = node {
                next = next.max(id + 1);
            }
            next = node.own_bindings().into_iter().fold(next, |next, id| next.max(id + 1));
        });
        next
    }

    /// The names that this node binds.
    pub fn own_bindings(&self) -> Vec<u64> {
        match self {
            Relation::Let { id, .. } => vec![*id],
            Relation::LetRec { bindings, .. } => bindings.iter().map(|b| b.id).collect(),
            _ => Vec::new(),
        }
    }

    /// The names that this node binds or reads, to be changed.
    fn own_locals_mut(&mut self) -> Vec<&mut u64> {
        match self {
            Relation::Let { id, .. } | Relation::Get { id: Id::Local(id), .. } => vec![id],
            Relation::LetRec { bindings, .. } => bindings.iter_mut().map(|b| &mut b.id).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether one of these bindings is read.
    pub fn reads_local(&self, ids: &BTreeSet<u64>) -> bool {
        let mut found = false;
        self.visit(&mut |node| {
            found |= matches!(node, Relation::Get { id: Id::Local(id), .. } if ids.contains(id));
        });
        found
    }

    /// Frees the tree without recursion.
    pub fn dismantle(self) {
        let mut todo = vec![self];
        while let Some(mut node) = todo.pop() {
            todo.extend(node.children_mut().into_iter().map(Relation::take));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::relation::RelationType;

    #[test]
    fn deep_trees_are_walked_and_freed() {
        let mut deep = Relation::global(GlobalId(7), RelationType::default());
        for _ in 0..200_000 {
            deep = deep.negate();
        }
        let mut count = 0;
        deep.visit_mut_post(&mut |_| count += 1);
        assert_eq!(count, 200_001);
        assert_eq!(deep.depends_on().len(), 1);
        assert_eq!(deep.typ(), RelationType::default());
        deep.dismantle();
    }
}
