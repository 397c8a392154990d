//! The order of the rules.
//!
//! Rules that simplify run in rounds until none of them finds anything to do; what must see the
//! simplified plan as a whole runs once behind them.

use std::collections::BTreeSet;

use crate::optimizer::physical::JoinStrategy;
use crate::optimizer::rules;
use crate::plan::explain::{self, Item, Names};
use crate::plan::relation::Relation;
use crate::repr::settings::FormatSettings;

/// A rewriting of plans.
#[derive(Debug)]
pub struct Rule {
    /// How EXPLAIN and `disabled` call it.
    pub name: &'static str,
    /// Rewrites the whole plan and says whether anything changed.
    pub apply: fn(&mut Relation, &OptimizerConfig) -> bool,
}

/// What the rules depend on beside the plan.
#[derive(Clone, Debug, Default)]
pub struct OptimizerConfig {
    /// Rules that do not run, by name.
    pub disabled: BTreeSet<String>,
    /// The settings with which expressions are folded, those with which the plan will run.
    pub settings: FormatSettings,
    /// How joins are planned.
    pub joins: JoinStrategy,
}

/// Rules that run in rounds, in the order in which they run.
pub const SIMPLIFY: &[Rule] = &[
    Rule { name: "let_inlining", apply: rules::let_inlining::apply },
    Rule { name: "constant_folding", apply: rules::constant_folding::apply },
    Rule { name: "common_factors", apply: rules::common_factors::apply },
    Rule { name: "constant_relations", apply: rules::constant_relations::apply },
    Rule { name: "constant_join_inputs", apply: rules::constant_join_inputs::apply },
    Rule { name: "union_flattening", apply: rules::union_flattening::apply },
    Rule { name: "fuse", apply: rules::fuse::apply },
    Rule { name: "join_flattening", apply: rules::join_flattening::apply },
    Rule { name: "join_equalities", apply: rules::join_equalities::apply },
    Rule { name: "predicate_pushdown", apply: rules::predicate_pushdown::apply },
    Rule { name: "literal_propagation", apply: rules::literal_propagation::apply },
    Rule { name: "rank_limit", apply: rules::rank_limit::apply },
    Rule { name: "unique_keys", apply: rules::unique_keys::apply },
];

/// Rules that run once, behind the others.
pub const FINISH: &[Rule] = &[
    Rule { name: "reduction_pushdown", apply: rules::reduction_pushdown::apply },
    Rule { name: "projection_pushdown", apply: rules::projection_pushdown::apply },
    Rule { name: "fuse", apply: rules::fuse::apply },
    Rule { name: "union_flattening", apply: rules::union_flattening::apply },
    Rule { name: "union_cancelling", apply: rules::union_cancelling::apply },
    Rule { name: "let_inlining", apply: rules::let_inlining::apply },
    Rule { name: "redundant_joins", apply: rules::redundant_joins::apply },
    Rule { name: "fuse", apply: rules::fuse::apply },
    Rule { name: "common_subplans", apply: rules::common_subplans::apply },
];

/// Rounds after which simplification ends in any case.
const ROUNDS_MAX: usize = 12;

/// A rule that changed the plan.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its name.
    pub rule: &'static str,
    /// The plan after it.
    pub plan: Item,
}

/// The same relation, cheaper to compute.
pub fn optimize(mut relation: Relation, config: &OptimizerConfig) -> Relation {
    run(&mut relation, config, &mut |_, _| {});
    relation
}

/// As [`optimize`], with the plan after each rule that changed it.
pub fn optimize_traced(
    mut relation: Relation,
    config: &OptimizerConfig,
    names: Names<'_>,
) -> (Relation, Vec<Step>) {
    let mut steps: Vec<Step> = Vec::new();
    run(&mut relation, config, &mut |rule, relation| {
        let plan = explain::relation(relation, names);
        if steps.last().is_none_or(|last| last.plan.text() != plan.text()) {
            steps.push(Step { rule, plan });
        }
    });
    (relation, steps)
}

fn run(
    relation: &mut Relation,
    config: &OptimizerConfig,
    changed: &mut dyn FnMut(&'static str, &Relation),
) {
    let mut apply = |rule: &Rule, relation: &mut Relation| {
        let did = !config.disabled.contains(rule.name) && (rule.apply)(relation, config);
        if did {
            changed(rule.name, relation);
        }
        did
    };
    for _ in 0..ROUNDS_MAX {
        let mut any = false;
        for rule in SIMPLIFY {
            any |= apply(rule, relation);
        }
        if !any {
            break;
        }
    }
    for rule in FINISH {
        apply(rule, relation);
    }
}
