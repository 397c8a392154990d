//! `constant_join_inputs`: an input of a join that is one constant row becomes literals.
//!
//! Also the row without columns, which a query without FROM reads: it goes without a trace.

use crate::expr::scalar::{Expr, Literal};
use crate::optimizer::pipeline::OptimizerConfig;
use crate::optimizer::substitute::{input_starts, substitute};
use crate::plan::relation::Relation;
use crate::repr::value::decode_values;

/// The rule.
pub fn apply(relation: &mut Relation, _: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        while dissolve(node) {
            changed = true;
        }
    });
    changed
}

/// The columns of a relation of one row, as literals.
fn single_row(relation: &Relation) -> Option<Vec<Expr>> {
    let Relation::Constant { rows: Ok(rows), ty } = relation else { return None };
    let [(row, 1)] = rows.as_slice() else { return None };
    let mut datums = Vec::new();
    decode_values(&ty.scalars(), row.bytes(), &mut datums);
    let literals = datums.iter().zip(&ty.columns).map(|(d, t)| Literal::new(*d, *t));
    Some(literals.map(Expr::Literal).collect())
}

fn dissolve(node: &mut Relation) -> bool {
    let Relation::Join { inputs, equivalences } = node else { return false };
    if inputs.len() < 2 {
        return false;
    }
    let found = inputs.iter().enumerate().find_map(|(i, r)| Some((i, single_row(r)?)));
    let Some((at, literals)) = found else { return false };
    let starts = input_starts(inputs);
    let (start, end, arity) = (starts[at], starts[at + 1], starts[inputs.len()]);
    let rest = arity - literals.len();
    let columns: Vec<Expr> = (0..arity)
        .map(|c| match c {
            c if c < start => Expr::Column(c),
            c if c < end => literals[c - start].clone(),
            c => Expr::Column(c - (end - start)),
        })
        .collect();
    for class in equivalences.iter_mut() {
        class.exprs.iter_mut().for_each(|e| *e = substitute(e, &columns));
    }
    inputs.remove(at);
    let outputs = (0..arity)
        .map(|c| match c {
            c if c < start => c,
            c if c < end => rest + c - start,
            c => c - (end - start),
        })
        .collect();
    *node = node.take().map(literals).project(outputs);
    true
}
