//! Operators of a dataflow, one after the other.
//!
//! Maps, filters and projections above an operator become one step ([`peel`]), which joins take
//! into themselves. A node that is asked for twice is made once, so that two uses of a relation
//! share its arrangement.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::{Expr, Literal};
use crate::expr::temporal::Temporal;
use crate::optimizer::physical::keys::{Access, access};
use crate::optimizer::physical::layout::keyed_as;
use crate::optimizer::physical::looped::Around;
use crate::optimizer::physical::lower::{Available, Want, not_arranged};
use crate::optimizer::physical::paths::JoinStrategy;
use crate::plan::physical::{Arrangement, ArrangementId, Import, Node, NodeId};
use crate::plan::relation::{Id, Relation};
use crate::plan::visit::grow;
use crate::repr::key::KeyMode;
use crate::repr::settings::FormatSettings;
use crate::repr::value::pack;
use crate::repr::{Datum, GlobalId, Row, ScalarType};

/// More keys than this are not looked up, but filtered out of everything.
const LOOKUPS_MAX: usize = 1_000;

/// Takes off the maps, filters and projections above a relation.
pub fn peel(relation: &Relation) -> (&Relation, Mfp) {
    let mut layers = Vec::new();
    let mut base = relation;
    while let Relation::Project { input, .. }
    | Relation::Map { input, .. }
    | Relation::Filter { input, .. } = base
    {
        if reads_clock(base) {
            break;
        }
        layers.push(base);
        base = input;
    }
    let mut mfp = Mfp::identity(base.arity());
    for layer in layers.into_iter().rev() {
        mfp = match layer {
            Relation::Project { outputs, .. } => mfp.project(outputs.iter().copied()),
            Relation::Map { exprs, .. } => mfp.map(exprs.iter().cloned()),
            Relation::Filter { predicates, .. } => mfp.filter(predicates.iter().cloned()),
            _ => mfp,
        };
    }
    mfp.prune();
    (base, mfp)
}

/// Whether this is a filter whose rows come and go as time goes on.
fn reads_clock(relation: &Relation) -> bool {
    matches!(relation, Relation::Filter { predicates, .. }
        if predicates.iter().any(Expr::reads_clock))
}

/// A dataflow that is being put together.
pub struct Builder<'a> {
    /// The arrangements that exist.
    pub(super) available: Available<'a>,
    /// What is read.
    pub imports: Vec<Import>,
    /// Operators so far.
    pub nodes: Vec<Node>,
    /// The nodes of bindings.
    pub(super) locals: HashMap<u64, NodeId>,
    /// What is around the loop that is being built, where one is.
    pub(super) around: Option<Around>,
    /// How joins are planned.
    pub(super) strategy: JoinStrategy,
    /// What all of it is for.
    pub(super) want: Want,
}

impl<'a> Builder<'a> {
    /// Nothing yet.
    pub fn new(available: Available<'a>, strategy: JoinStrategy, want: Want) -> Builder<'a> {
        let (imports, nodes, locals) = (Vec::new(), Vec::new(), HashMap::new());
        Builder { available, imports, nodes, locals, around: None, strategy, want }
    }

    /// Builds the relation, as the last node.
    pub fn root(&mut self, relation: &Relation) -> Result<()> {
        let node = self.collection(relation)?;
        if node + 1 != self.nodes.len() {
            // A binding that was made earlier is the result.
            self.nodes.push(Node::Union { inputs: vec![node] });
        }
        Ok(())
    }

    /// The node, or an equal one that is there.
    pub(super) fn add(&mut self, node: Node) -> NodeId {
        match node {
            Node::Mfp { input, types, mfp } if mfp.is_volatile() => {
                let input = self.steady(input, &types);
                self.push(Node::Mfp { input, types, mfp })
            }
            Node::Join { left, right, mfp } if mfp.is_volatile() && self.around.is_none() => {
                let types = [self.arranged_types(left), self.arranged_types(right)].concat();
                let every = Mfp::identity(types.len());
                let input = self.push(Node::Join { left, right, mfp: every });
                self.add(Node::Mfp { input, types, mfp })
            }
            Node::FlatMap { input, types, func, args }
                if func.is_volatile() || args.iter().any(Expr::is_volatile) =>
            {
                let input = self.steady(input, &types);
                self.push(Node::FlatMap { input, types, func, args })
            }
            node => self.push(node),
        }
    }

    /// A collection of the same rows in which none comes and goes at one time, so that what is
    /// volatile is computed once for each.
    fn steady(&mut self, input: NodeId, types: &[ScalarType]) -> NodeId {
        if self.around.is_some() {
            return input;
        }
        if let Node::Import { import } = self.nodes[input] {
            let layout = self.imports[import].layout.clone();
            let every = Mfp::identity(types.len());
            let rows = self.push(Node::Mfp { input, types: types.to_vec(), mfp: every });
            return self.push(Node::Arrange { input: rows, layout });
        }
        match self.may_cancel(input) {
            true => self.arrange(input, types, vec![], KeyMode::Strict, None),
            false => input,
        }
    }

    /// Whether a row can come and go at one time.
    fn may_cancel(&self, node: NodeId) -> bool {
        match &self.nodes[node] {
            Node::Import { .. } | Node::Negate { .. } | Node::Leave { .. } => true,
            Node::Join { .. } | Node::HalfJoin { .. } => true,
            Node::Union { inputs } => inputs.iter().any(|input| self.may_cancel(*input)),
            Node::Mfp { input, .. } | Node::FlatMap { input, .. } => self.may_cancel(*input),
            _ => false,
        }
    }

    /// The column types of an arranged node.
    fn arranged_types(&self, node: NodeId) -> Vec<ScalarType> {
        match &self.nodes[node] {
            Node::Import { import } => self.imports[*import].layout.types.clone(),
            Node::Arrange { layout, .. } => layout.types.clone(),
            _ => vec![],
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        let shared = match &node {
            Node::Constant { .. } => false,
            Node::Mfp { mfp, .. } | Node::Join { mfp, .. } => !mfp.is_volatile(),
            // Each path of a join has its own errors, which are counted.
            Node::HalfJoin { mfp, .. } => !mfp.is_fallible() && !mfp.is_volatile(),
            Node::FlatMap { func, args, .. } => {
                !func.is_volatile() && !args.iter().any(Expr::is_volatile)
            }
            _ => true,
        };
        if let Some(at) = self.nodes.iter().position(|n| shared && *n == node) {
            return at;
        }
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// An arrangement that exists, as a node.
    pub(super) fn import(&mut self, id: ArrangementId, layout: &Arrangement) -> NodeId {
        if let Some(entered) = self.import_outside(id, layout) {
            return entered;
        }
        let import = match self.imports.iter().position(|i| i.id == id) {
            Some(import) => import,
            None => {
                self.imports.push(Import { id, layout: layout.clone() });
                self.imports.len() - 1
            }
        };
        self.add(Node::Import { import })
    }

    /// Rows in value encoding, not arranged.
    pub(super) fn collection(&mut self, relation: &Relation) -> Result<NodeId> {
        grow(|| {
            if self.is_outside(relation) {
                return self.entered(relation);
            }
            let (base, mfp) = peel(relation);
            match base {
                Relation::Get { id: Id::Global(id), .. } => self.read(*id, mfp),
                Relation::Join { inputs, equivalences } => self.join(inputs, equivalences, mfp),
                _ => {
                    let input = self.operator(base)?;
                    Ok(self.mfp(input, || base.typ().scalars(), mfp))
                }
            }
        })
    }

    /// Rows of a collection, changed; the same where nothing changes.
    pub(super) fn mfp(
        &mut self,
        input: NodeId,
        types: impl FnOnce() -> Vec<ScalarType>,
        mfp: Mfp,
    ) -> NodeId {
        if mfp.is_identity() {
            return input;
        }
        self.add(Node::Mfp { input, types: types(), mfp })
    }

    /// Rows of a table or view: those under known keys, or all.
    pub(super) fn read(&mut self, id: GlobalId, mfp: Mfp) -> Result<NodeId> {
        let found = (self.available)(id);
        let lookup = found.iter().filter_map(|(id, layout)| match access(layout, &mfp) {
            Access::Keys(keys) if keys.len() <= LOOKUPS_MAX => Some((*id, layout, keys)),
            _ => None,
        });
        if let Some((id, layout, keys)) = lookup.min_by_key(|(_, _, keys)| keys.len()) {
            return Ok(self.look_up(id, layout, keys.into_values().collect(), mfp));
        }
        // One that is read anyway costs no second import.
        let imported = found.iter().find(|(id, _)| self.imports.iter().any(|i| i.id == *id));
        let Some((id, layout)) = imported.or(found.first()) else { return Err(not_arranged(id)) };
        let input = self.import(*id, layout);
        Ok(self.add(Node::Mfp { input, types: layout.types.clone(), mfp }))
    }

    /// Rows under keys: a join of the keys, so that nothing else is read.
    fn look_up(
        &mut self,
        id: ArrangementId,
        layout: &Arrangement,
        keys: Vec<Vec<Literal>>,
        mut mfp: Mfp,
    ) -> NodeId {
        let rows: Vec<(Row, i64)> = keys
            .iter()
            .map(|key| (pack(&key.iter().map(Literal::datum).collect::<Vec<Datum<'_>>>()), 1))
            .collect();
        let input = self.add(Node::Constant { rows: Ok(rows) });
        let parts = layout.key_types.len();
        let key = (0..parts).map(Expr::Column).collect();
        let left = self.arrange(input, &layout.key_types, key, layout.mode, None);
        let right = self.import(id, layout);
        mfp.permute(parts + layout.types.len(), |c| c + parts);
        self.add(Node::Join { left, right, mfp })
    }

    /// A collection, arranged; `key_types` are another arrangement's that encodes alike.
    pub(super) fn arrange(
        &mut self,
        input: NodeId,
        types: &[ScalarType],
        key: Vec<Expr>,
        mode: KeyMode,
        key_types: Option<Vec<ScalarType>>,
    ) -> NodeId {
        let layout = keyed_as(types, key, mode, key_types);
        let entered = self.arrange_outside(input, &layout);
        entered.unwrap_or_else(|| self.add(Node::Arrange { input, layout }))
    }

    /// The rows that pass a filter while they do.
    fn temporal(&mut self, input: &Relation, predicates: &[Expr]) -> Result<NodeId> {
        if self.around.is_some() {
            return Err(Error::unsupported(
                "now() in the part of a recursion that depends on it",
                "Filter what the recursion starts from, or what comes of it.",
            ));
        }
        // What can fail must not be asked of rows that the clock keeps out.
        let (timed, plain): (Vec<Expr>, Vec<Expr>) =
            predicates.iter().cloned().partition(|p| p.reads_clock() || p.is_fallible());
        let types = input.typ().scalars();
        // Whether it can be evaluated is found out now, because workers cannot say so.
        Temporal::new(timed.clone(), &types, &FormatSettings::default())?;
        let input = self.collection(&input.clone().filter(plain))?;
        self.check_timed()?;
        Ok(self.add(Node::Temporal { input, types, predicates: timed }))
    }

    /// A relation that is neither a read, nor a join, nor made row by row.
    fn operator(&mut self, relation: &Relation) -> Result<NodeId> {
        let node = match relation {
            Relation::Constant { rows, .. } => Node::Constant { rows: rows.clone() },
            Relation::Get { id: Id::Local(id), .. } => {
                return self.locals.get(id).copied().ok_or_else(|| {
                    Error::internal(format!("l{id} is read outside of its binding"))
                });
            }
            Relation::Let { id, value, body } => {
                self.bind(*id, value)?;
                return self.collection(body);
            }
            Relation::FlatMap { input, func, args } => Node::FlatMap {
                input: self.collection(input)?,
                types: input.typ().scalars(),
                func: func.clone(),
                args: args.clone(),
            },
            Relation::LetRec { bindings, limit, body } => {
                self.let_rec(bindings, limit.clone())?;
                return self.collection(body);
            }
            Relation::Reduce { input, group_key, aggregates } => {
                let columns = input.typ().columns;
                Node::Reduce {
                    input: self.collection(input)?,
                    types: columns.iter().map(|c| c.scalar).collect(),
                    key: group_key.clone(),
                    key_types: group_key.iter().map(|e| e.typ(&columns).scalar).collect(),
                    aggregates: aggregates.clone(),
                }
            }
            Relation::TopK { input, group_key, order, limit, offset, ties, rank } => Node::TopK {
                input: self.collection(input)?,
                types: input.typ().scalars(),
                group_key: group_key.clone(),
                order: order.clone(),
                limit: *limit,
                offset: *offset,
                ties: *ties,
                rank: *rank,
            },
            Relation::Window { input, partition, order, calls } => Node::Window {
                input: self.collection(input)?,
                types: input.typ().scalars(),
                partition: partition.clone(),
                order: order.clone(),
                calls: calls.clone(),
            },
            Relation::Negate { input } => Node::Negate { input: self.collection(input)? },
            Relation::Threshold { input } => {
                Node::Threshold { input: self.collection(input)?, types: input.typ().scalars() }
            }
            Relation::Union { inputs } => {
                let inputs = inputs.iter().map(|i| self.collection(i)).collect::<Result<_>>()?;
                Node::Union { inputs }
            }
            Relation::Filter { input, predicates } if reads_clock(relation) => {
                return self.temporal(input, predicates);
            }
            Relation::Project { .. }
            | Relation::Map { .. }
            | Relation::Filter { .. }
            | Relation::Join { .. }
            | Relation::Get { id: Id::Global(_), .. } => return self.collection(relation),
        };
        Ok(self.add(node))
    }
}
