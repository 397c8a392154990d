//! Recursion: a loop and what is brought into it.
//!
//! What does not depend on the variables of a loop is built outside of it, once, and entered:
//! arranged, where the loop joins with it. So a loop holds rows on their way from one round to the
//! next, and no imports.

use std::collections::{BTreeSet, HashMap};

use crate::error::{Error, Result};
use crate::optimizer::physical::build::Builder;
use crate::plan::physical::{Arrangement, ArrangementId, Node, NodeId};
use crate::plan::relation::{Binding, Relation, RoundLimit};

/// What is around a loop.
pub struct Around {
    /// The operators so far.
    nodes: Vec<Node>,
    /// The nodes of bindings.
    locals: HashMap<u64, NodeId>,
    /// The bindings inside: variables, and what is made of them.
    inside: BTreeSet<u64>,
    /// What is entered.
    inputs: Vec<NodeId>,
}

impl Builder<'_> {
    /// Builds a loop; its variables are bound to what they become.
    pub(super) fn let_rec(
        &mut self,
        bindings: &[Binding],
        limit: Option<RoundLimit>,
    ) -> Result<()> {
        if let Some(around) = &self.around {
            if !bindings.iter().any(|binding| binding.value.reads_local(&around.inside)) {
                return self.outside(|builder| builder.let_rec(bindings, limit));
            }
            return Err(Error::unsupported(
                "a recursion inside a recursion that depends on it",
                "Compute the inner one first, for all that it may be asked.",
            ));
        }
        let inside: BTreeSet<u64> = bindings.iter().map(|binding| binding.id).collect();
        self.around = Some(Around {
            nodes: std::mem::take(&mut self.nodes),
            locals: std::mem::take(&mut self.locals),
            inside,
            inputs: Vec::new(),
        });
        let built = self.rounds(bindings);
        let nodes = std::mem::take(&mut self.nodes);
        let Some(around) = self.around.take() else {
            return Err(Error::internal("what is around a loop was lost"));
        };
        let Around { nodes: outer, locals, inputs, .. } = around;
        (self.nodes, self.locals) = (outer, locals);
        let of = self.add(Node::Loop { inputs, nodes, values: built?, limit });
        for (variable, binding) in bindings.iter().enumerate() {
            let node = self.add(Node::Leave { of, variable });
            self.locals.insert(binding.id, node);
        }
        Ok(())
    }

    fn rounds(&mut self, bindings: &[Binding]) -> Result<Vec<NodeId>> {
        for (variable, binding) in bindings.iter().enumerate() {
            let node = self.add(Node::Variable { variable });
            self.locals.insert(binding.id, node);
        }
        bindings.iter().map(|binding| self.collection(&binding.value)).collect()
    }

    /// Whether a relation inside a loop does not depend on it.
    pub(super) fn is_outside(&self, relation: &Relation) -> bool {
        self.around.as_ref().is_some_and(|around| !relation.reads_local(&around.inside))
    }

    /// Builds a relation outside of the loop that is being built, and enters it.
    pub(super) fn entered(&mut self, relation: &Relation) -> Result<NodeId> {
        let node = self.outside(|builder| builder.collection(relation))?;
        self.enter(node).ok_or_else(|| Error::internal("nothing is around what is no loop"))
    }

    /// Builds what a name stands for, inside a loop or outside of it.
    pub(super) fn bind(&mut self, id: u64, value: &Relation) -> Result<()> {
        if self.is_outside(value) {
            return self.outside(|builder| builder.bind(id, value));
        }
        let node = self.collection(value)?;
        if let Some(around) = &mut self.around {
            around.inside.insert(id);
        }
        self.locals.insert(id, node);
        Ok(())
    }

    /// An arrangement that exists, read from inside the loop that is being built; none where none
    /// is.
    pub(super) fn import_outside(
        &mut self,
        id: ArrangementId,
        layout: &Arrangement,
    ) -> Option<NodeId> {
        self.around.as_ref()?;
        let node = self.outside(|builder| builder.import(id, layout));
        self.enter(node)
    }

    /// What is entered, arranged before it enters; none where the rows are made inside.
    pub(super) fn arrange_outside(
        &mut self,
        input: NodeId,
        layout: &Arrangement,
    ) -> Option<NodeId> {
        let Some(Node::Entered { input: entered }) = self.nodes.get(input) else { return None };
        let (entered, around) = (*entered, self.around.as_mut()?);
        let rows = around.inputs[entered];
        // Rows that are entered to be arranged need not enter.
        if input + 1 == self.nodes.len() && entered + 1 == around.inputs.len() {
            self.nodes.pop();
            around.inputs.pop();
        }
        let arrange = Node::Arrange { input: rows, layout: layout.clone() };
        let node = self.outside(|builder| builder.add(arrange));
        self.enter(node)
    }

    /// A node outside of the loop that is being built, inside of it.
    fn enter(&mut self, node: NodeId) -> Option<NodeId> {
        let around = self.around.as_mut()?;
        let at = around.inputs.iter().position(|input| *input == node);
        let input = at.unwrap_or_else(|| {
            around.inputs.push(node);
            around.inputs.len() - 1
        });
        Some(self.add(Node::Entered { input }))
    }

    /// Builds something outside of the loop that is being built.
    fn outside<R>(&mut self, build: impl FnOnce(&mut Self) -> R) -> R {
        let mut around = self.around.take();
        self.swap(&mut around);
        let built = build(self);
        self.swap(&mut around);
        self.around = around;
        built
    }

    fn swap(&mut self, around: &mut Option<Around>) {
        if let Some(around) = around {
            std::mem::swap(&mut self.nodes, &mut around.nodes);
            std::mem::swap(&mut self.locals, &mut around.locals);
        }
    }

    /// Refuses what time changes inside a loop.
    pub(super) fn check_timed(&self) -> Result<()> {
        match self.around {
            None => Ok(()),
            Some(_) => Err(Error::unsupported(
                "a comparison with now() inside a recursion",
                "Compare in a subquery that the recursion reads, or behind it.",
            )),
        }
    }
}
