//! `union_cancelling`: a relation beside its own negation in a union is nothing.
//!
//! It is what is left of "the rows that were found, and NULL for those that were not" where nobody
//! reads what was found; what could fail in finding it is then not computed either.

use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::Relation;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        let Relation::Union { inputs } = node else { return };
        while let Some((relation, negation)) = pair(inputs) {
            changed = true;
            inputs.remove(relation.max(negation));
            let last = inputs.remove(relation.min(negation));
            if inputs.is_empty() {
                *node = Relation::empty(last.typ().columns);
                return;
            }
        }
        if inputs.len() == 1 {
            *node = inputs.remove(0);
        }
    });
    changed
}

/// A relation and its negation.
fn pair(inputs: &[Relation]) -> Option<(usize, usize)> {
    inputs.iter().enumerate().find_map(|(n, negation)| {
        let Relation::Negate { input } = negation else { return None };
        let relation = inputs.iter().position(|relation| *relation == **input)?;
        Some((relation, n))
    })
}
