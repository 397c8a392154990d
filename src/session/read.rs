//! From a relation to its rows: optimize, lower, read.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::catalog::item::ItemKind;
use crate::catalog::objects::{Catalog, Change};
use crate::coord::request::{ArrangementRead, Read, ReadSet, RowStream};
use crate::error::{Error, Result};
use crate::expr::scalar::Expr;
use crate::optimizer::physical::{JoinStrategy, Lowered, Want, lower};
use crate::optimizer::{OptimizerConfig, optimize};
use crate::plan::physical::{Arrangement, ArrangementId, Bounds, Dataflow, Sink};
use crate::plan::relation::Relation;
use crate::repr::GlobalId;
use crate::repr::settings::FormatSettings;
use crate::session::engine::Engine;
use crate::session::introspection::activity::Stage;
use crate::session::overlay;
use crate::session::session::Session;

/// How the relations of a stored text are planned again: as it seems best by now.
pub(super) fn default_config(settings: &FormatSettings) -> OptimizerConfig {
    OptimizerConfig { settings: settings.clone(), ..OptimizerConfig::default() }
}

/// Optimizes and lowers a relation over the arrangements of a catalog.
pub(super) fn plan(
    engine: &Engine,
    catalog: &Catalog,
    relation: Relation,
    config: &OptimizerConfig,
    want: Want,
) -> Result<Lowered> {
    let relation = optimize(relation, config);
    lower_relation(engine, catalog, &relation, config, want)
}

/// Optimizes and lowers a relation that is to be maintained over seeds of that layout.
pub(super) fn plan_seeded(
    engine: &Engine,
    catalog: &Catalog,
    relation: Relation,
    seeds: &Arrangement,
    config: &OptimizerConfig,
) -> Result<Dataflow> {
    let relation = optimize(relation, config);
    let id = ArrangementId { relation: GlobalId::SEEDS, index: GlobalId::SEEDS };
    let mut arrangements = BTreeMap::from([(GlobalId::SEEDS, vec![(id, seeds.clone())])]);
    for id in relation.depends_on().into_iter().filter(|id| *id != GlobalId::SEEDS) {
        arrangements.insert(id, engine.arrangements(catalog, id)?);
    }
    let available = |id| arrangements.get(&id).cloned().unwrap_or_default();
    maintained(lower(&relation, &available, config, Want::Subscribe)?)
}

fn lower_relation(
    engine: &Engine,
    catalog: &Catalog,
    relation: &Relation,
    config: &OptimizerConfig,
    want: Want,
) -> Result<Lowered> {
    let mut arrangements: BTreeMap<GlobalId, Vec<(ArrangementId, Arrangement)>> = BTreeMap::new();
    for id in relation.depends_on() {
        arrangements.insert(id, engine.arrangements(catalog, id)?);
    }
    let available = |id| arrangements.get(&id).cloned().unwrap_or_default();
    lower(relation, &available, config, want)
}

/// A catalog as readers of the past plan with it: an index may be younger than its relation.
pub(super) fn without_indexes(catalog: &Catalog) -> Result<Arc<Catalog>> {
    let indexes = catalog.items().filter(|item| matches!(item.kind, ItemKind::Index(_)));
    let drops: Vec<_> = indexes.map(|item| Change { id: item.id, item: None }).collect();
    Ok(Arc::new(catalog.with(&drops)?))
}

/// Optimizes and lowers a relation that is to be maintained.
pub(super) fn plan_maintained(
    engine: &Engine,
    catalog: &Catalog,
    relation: Relation,
    config: &OptimizerConfig,
    want: Want,
) -> Result<Dataflow> {
    maintained(plan(engine, catalog, relation, config, want)?)
}

fn maintained(lowered: Lowered) -> Result<Dataflow> {
    match lowered {
        Lowered::Dataflow(dataflow) => Ok(dataflow),
        Lowered::Peek { .. } => Err(Error::internal("a maintained plan must be a dataflow")),
    }
}

impl Session {
    /// How the relations of this session are planned.
    pub(super) fn optimizer(&self) -> OptimizerConfig {
        OptimizerConfig {
            settings: self.variables.format().clone(),
            disabled: self.variables.disabled_rules(),
            joins: match self.variables.join_strategy().as_str() {
                "linear" => JoinStrategy::Linear,
                "delta" => JoinStrategy::Delta,
                "wco" => JoinStrategy::WorstCaseOptimal,
                _ => JoinStrategy::Auto,
            },
        }
    }

    /// Begins to read a relation in the open transaction, and notes what it reads.
    ///
    /// `limit`: the reader takes no more rows than that, in any order.
    pub(super) async fn read_relation(
        &mut self,
        mut relation: Relation,
        limit: Option<u64>,
    ) -> Result<RowStream> {
        let engine = self.engine.clone();
        let config = self.optimizer();
        let buffer_limit = self.variables.result_buffer_limit();
        let transaction = self.transaction()?;
        overlay::apply(&mut relation, transaction, &engine)?;
        let relation = optimize(relation, &config);
        if let Relation::Constant { rows: Ok(rows), .. } = &relation
            && rows.iter().all(|(_, count)| *count > 0)
        {
            // In the order in which they were written: VALUES, and the numbers that rows are given.
            return Ok(engine.client.constant(rows.clone()));
        }
        // What it has made is not there to be read before COMMIT, its indexes neither.
        let catalog = &transaction.base;
        let lowered = lower_relation(&engine, catalog, &relation, &config, Want::Peek)?;
        let (read, sets) = match lowered {
            Lowered::Peek { target, layout, bounds, mfp } => {
                let keys = match &bounds {
                    Bounds::Keys(keys) if target.index == target.relation => Some(keys.to_vec()),
                    _ => None,
                };
                let sets = vec![ReadSet { object: target.index, keys, test: None }];
                let settings = config.settings;
                let read = ArrangementRead { target, layout, bounds, mfp, limit, settings };
                (Read::Arrangement(Box::new(read)), sets)
            }
            Lowered::Dataflow(mut dataflow) => {
                dataflow.sink = Sink::Peek { buffer_limit };
                let sets = dataflow
                    .imports
                    .iter()
                    .map(|import| ReadSet { object: import.id.index, keys: None, test: None })
                    .collect();
                (Read::Dataflow(Box::new(dataflow)), sets)
            }
        };
        self.presence.mark(Stage::Plan);
        let transaction = self.transaction_mut()?;
        transaction.work.reads.extend(sets);
        let snapshot = transaction.snapshot.clone();
        self.cancel.or(self.engine.client.read(&snapshot, read)).await
    }

    /// The value of an expression over nothing.
    pub(super) fn constant<T>(
        &self,
        expr: &Expr,
        take: impl FnOnce(crate::repr::Datum<'_>) -> Result<T>,
    ) -> Result<T> {
        let arena = bumpalo::Bump::new();
        let settings = self.variables.format();
        let cx = crate::expr::func::EvalContext { arena: &arena, settings };
        take(expr.eval(&[], &cx)?)
    }
}
