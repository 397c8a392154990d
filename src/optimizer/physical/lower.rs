//! The way in: a peek of an arrangement, or a dataflow.

use crate::error::{Error, Result};
use crate::expr::mfp::Mfp;
use crate::expr::temporal;
use crate::optimizer::physical::build::{Builder, peel};
use crate::optimizer::physical::keys::{Access, access};
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::physical::{Arrangement, ArrangementId, Bounds, Dataflow, Sink};
use crate::plan::relation::{Id, Relation};
use crate::repr::GlobalId;

/// What a relation is lowered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Its rows at one time.
    Peek,
    /// To be kept up to date.
    Maintain,
    /// Its changes.
    Subscribe,
}

/// A relation, lowered.
#[derive(Clone, Debug, PartialEq)]
pub enum Lowered {
    /// A part of an arrangement, row by row.
    Peek {
        /// Which.
        target: ArrangementId,
        /// Its layout.
        layout: Arrangement,
        /// Which part of it.
        bounds: Bounds,
        /// What is done to each row.
        mfp: Mfp,
    },
    /// Operators. The caller sets id, sink and as-of.
    Dataflow(Dataflow),
}

/// The arrangements of a relation that exist, its own first.
pub type Available<'a> = &'a dyn Fn(GlobalId) -> Vec<(ArrangementId, Arrangement)>;

/// Chooses operators and arrangements for an optimized relation.
pub fn lower(
    relation: &Relation,
    available: Available<'_>,
    config: &OptimizerConfig,
    want: Want,
) -> Result<Lowered> {
    if want == Want::Peek
        && let (Relation::Get { id: Id::Global(id), .. }, mfp) = peel(relation)
    {
        return peek(*id, mfp, available);
    }
    check_clock(relation)?;
    let mut builder = Builder::new(available, config.joins, want);
    builder.root(relation)?;
    Ok(Lowered::Dataflow(Dataflow {
        id: GlobalId::FIRST_TRANSIENT,
        imports: builder.imports,
        nodes: builder.nodes,
        sink: Sink::Peek { buffer_limit: u64::MAX / 2 },
        as_of: 0,
        settings: config.settings.clone(),
    }))
}

/// Refuses the time of the content anywhere but in filters.
fn check_clock(relation: &Relation) -> Result<()> {
    let mut elsewhere = false;
    relation.visit(&mut |node| {
        let is_filter = matches!(node, Relation::Filter { .. });
        elsewhere |= !is_filter && node.own_exprs().iter().any(|expr| expr.reads_clock());
    });
    match elsewhere {
        true => Err(temporal::refused()),
        false => Ok(()),
    }
}

fn peek(id: GlobalId, mfp: Mfp, available: Available<'_>) -> Result<Lowered> {
    // The first is the relation's own, which is preferred among equals.
    let mut best: Option<(Access, ArrangementId, Arrangement)> = None;
    for (target, layout) in available(id) {
        let found = access(&layout, &mfp);
        if best.as_ref().is_none_or(|(old, _, _)| found.is_better_than(old)) {
            best = Some((found, target, layout));
        }
    }
    let Some((access, target, layout)) = best else { return Err(not_arranged(id)) };
    Ok(Lowered::Peek { target, layout, bounds: access.bounds(), mfp })
}

/// What is read must be arranged: tables and maintained views are, and others are inlined.
pub(super) fn not_arranged(id: GlobalId) -> Error {
    Error::internal(format!("relation {id} has no arrangement"))
}
