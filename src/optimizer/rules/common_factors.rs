//! `common_factors`: what all alternatives of an OR demand is demanded beside it.
//!
//! `a AND b OR a AND c` becomes `a AND (b OR c)`, so that `a` can be pushed down or join its
//! relations. Conjunction distributes over disjunction in three-valued logic, and where an error
//! would be decided otherwise there are fewer of them.

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::Relation;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        let Relation::Filter { predicates, .. } = node else { return };
        if !predicates.iter().any(|predicate| matches!(predicate, Expr::Or(_))) {
            return;
        }
        let factored = std::mem::take(predicates).into_iter().flat_map(|predicate| {
            let Expr::Or(alternatives) = predicate else { return vec![predicate] };
            factor(alternatives, &mut changed)
        });
        *predicates = factored.collect();
    });
    changed
}

/// What all alternatives have, and the disjunction of what is left of them.
fn factor(alternatives: Vec<Expr>, changed: &mut bool) -> Vec<Expr> {
    let alternatives: Vec<Vec<Expr>> = alternatives.into_iter().map(Expr::into_conjuncts).collect();
    let Some((first, others)) = alternatives.split_first() else { return vec![Expr::or(vec![])] };
    let is_common = |expr: &&Expr| {
        !expr.is_volatile() && others.iter().all(|conjuncts| conjuncts.contains(expr))
    };
    let mut common: Vec<Expr> = first.iter().filter(is_common).cloned().collect();
    *changed |= !common.is_empty();
    let rest = alternatives.into_iter().map(|mut conjuncts| {
        conjuncts.retain(|conjunct| !common.contains(conjunct));
        Expr::and(conjuncts)
    });
    let rest: Vec<Expr> = rest.collect();
    // An alternative of which nothing is left is true.
    if !rest.iter().any(Expr::is_true) {
        common.push(Expr::or(rest));
    }
    common
}
