//! A random relation, its optimized form and its dataflow answer the same.

use std::collections::BTreeSet;

use rand::prelude::*;

use super::dataflow::answer;
use super::evaluate::{Bag, World};
use super::random::Random;
use super::shapes::{T, U, col, names, plus, table_type};
use crate::optimizer::physical::{JoinStrategy, Want, index_layout, lower, table_layout};
use crate::optimizer::pipeline::{FINISH, OptimizerConfig, SIMPLIFY, optimize, optimize_traced};
use crate::plan::explain;
use crate::plan::physical::{Arrangement, ArrangementId};
use crate::plan::relation::Relation;
use crate::repr::GlobalId;

/// The tables' own arrangements and some indexes.
pub fn arrangements(id: GlobalId) -> Vec<(ArrangementId, Arrangement)> {
    let types = table_type().columns;
    let mut found = match id {
        T => vec![table_layout(&types, Some(&[0]))],
        _ => vec![table_layout(&types, None)],
    };
    found.push(match id {
        T => index_layout(&types, &[col(1)]),
        _ => index_layout(&types, &[col(0), col(2)]),
    });
    if id == U {
        found.push(index_layout(&types, &[plus(col(0), col(1))]));
        found.push(index_layout(&types, &[col(1)]));
    }
    let named = found.into_iter().enumerate().map(|(at, layout)| {
        let index = if at == 0 { id } else { GlobalId(id.0 + 100 * at as u64) };
        (ArrangementId { relation: id, index }, layout)
    });
    named.collect()
}

/// What each relation is lowered for, and how its joins are planned.
const LOWERED: [(Want, JoinStrategy); 7] = [
    (Want::Peek, JoinStrategy::Auto),
    (Want::Maintain, JoinStrategy::Auto),
    (Want::Peek, JoinStrategy::Delta),
    (Want::Peek, JoinStrategy::WorstCaseOptimal),
    (Want::Maintain, JoinStrategy::Linear),
    (Want::Maintain, JoinStrategy::Delta),
    (Want::Maintain, JoinStrategy::WorstCaseOptimal),
];

fn agree(raw: &Bag, other: &Bag, what: &str, plans: impl Fn() -> String) {
    let fits = match raw.errors.is_empty() {
        true => raw == other,
        // Less is evaluated, and nothing that was not evaluated before.
        false => other.errors.is_subset(&raw.errors),
    };
    assert!(fits, "{what}\n{}\n{raw:?}\n{other:?}", plans());
}

fn check(
    relation: &Relation,
    tables: &std::collections::BTreeMap<GlobalId, Bag>,
    seed: u64,
) -> Option<Bag> {
    let mut world = World { tables: tables.clone(), ..World::default() };
    let raw = world.evaluate(relation);
    if raw.rows.values().any(|diff| *diff < 0) {
        return None;
    }
    let optimized = optimize(relation.clone(), &OptimizerConfig::default());
    let plans = || {
        let mut text = explain::relation(relation, &names).text();
        let (_, steps) = optimize_traced(relation.clone(), &OptimizerConfig::default(), &names);
        for step in steps {
            text.push_str(&format!("-- {}\n{}", step.rule, step.plan.text()));
        }
        text
    };
    agree(&raw, &world.evaluate(&optimized), "optimized", plans);
    let rules: Vec<&str> = SIMPLIFY.iter().chain(FINISH).map(|rule| rule.name).collect();
    let without = rules[seed as usize % rules.len()].to_owned();
    let config =
        OptimizerConfig { disabled: BTreeSet::from([without]), ..OptimizerConfig::default() };
    let other = optimize(relation.clone(), &config);
    agree(&raw, &world.evaluate(&other), "optimized but for a rule", || {
        format!("without {:?}\n{}", config.disabled, plans())
    });
    let lowered = lower(&other, &arrangements, &config, Want::Maintain).unwrap();
    agree(&raw, &answer(&lowered, tables), "optimized but for a rule, and lowered", plans);
    for (plan, what) in [(&optimized, "optimized and lowered"), (relation, "lowered")] {
        // The usual ones, and one of the others.
        let (usual, others) = LOWERED.split_at(2);
        for (want, joins) in usual.iter().chain([&others[seed as usize % others.len()]]).copied() {
            let config = OptimizerConfig { joins, ..OptimizerConfig::default() };
            let lowered = lower(plan, &arrangements, &config, want).unwrap();
            let plans = || format!("{joins:?}\n{}\n{lowered:#?}", plans());
            agree(&raw, &answer(&lowered, tables), what, plans);
        }
    }
    Some(raw)
}

#[test]
fn random_relations_keep_their_rows() {
    let seeds = std::env::var("WEIR_SEEDS").ok().and_then(|s| s.parse().ok()).unwrap_or(1_500);
    let (mut with_rows, mut with_errors, mut wrong) = (0, 0, Vec::new());
    for seed in 0..seeds {
        let mut random = Random(StdRng::seed_from_u64(seed));
        let tables = random.tables();
        let depth = random.0.random_range(1..5);
        let relation = random.relation(depth);
        if relation.arity() > 40 {
            continue;
        }
        match std::panic::catch_unwind(|| check(&relation, &tables, seed)) {
            Ok(Some(raw)) => {
                with_rows += usize::from(!raw.rows.is_empty());
                with_errors += usize::from(!raw.errors.is_empty());
            }
            Ok(None) => {}
            Err(_) => wrong.push(seed),
        }
    }
    assert!(wrong.is_empty(), "wrong with seeds {wrong:?}");
    assert!(with_rows > seeds as usize / 4, "{with_rows} relations have rows");
    assert!(with_errors > 0, "no relation has an error");
}
