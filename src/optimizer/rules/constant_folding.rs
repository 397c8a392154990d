//! `constant_folding`: expressions over constants become constants, tests for NULL that cannot
//! succeed become false, and predicates that are always true go.
//!
//! A filter that is never true becomes an empty relation, whatever its other predicates are: false
//! beats an error.

use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::OptimizerConfig;
use crate::plan::relation::Relation;
use crate::repr::ColumnType;

/// The rule.
pub fn apply(relation: &mut Relation, config: &OptimizerConfig) -> bool {
    let mut changed = false;
    relation.visit_mut_post(&mut |node| {
        changed |= fold_exprs(node, config);
        if let Relation::Filter { .. } = node {
            changed |= fold_filter(node);
        }
    });
    changed
}

fn fold_exprs(node: &mut Relation, config: &OptimizerConfig) -> bool {
    let types = match node.own_exprs().into_iter().any(tests_null) {
        true => input_types(node),
        false => None,
    };
    let mut changed = false;
    for expr in node.own_exprs_mut() {
        let before = expr.clone();
        if let Some(types) = &types {
            simplify_null_tests(expr, types);
        }
        expr.fold(&config.settings);
        changed |= *expr != before;
    }
    changed
}

fn tests_null(expr: &Expr) -> bool {
    expr.any(&mut |e| matches!(e, Expr::IsNull(_) | Expr::Coalesce(_)))
}

/// The columns that the node's expressions are over.
fn input_types(node: &Relation) -> Option<Vec<ColumnType>> {
    match node {
        // Later expressions of a map may use earlier ones.
        Relation::Map { .. } => Some(node.typ().columns),
        Relation::Filter { input, .. } | Relation::Reduce { input, .. } => {
            Some(input.typ().columns)
        }
        Relation::Join { inputs, .. } => {
            Some(inputs.iter().flat_map(|i| i.typ().columns).collect())
        }
        _ => None,
    }
}

fn simplify_null_tests(expr: &mut Expr, types: &[ColumnType]) {
    expr.visit_mut(&mut |e| {
        let is_never_null = |e: &Expr| !e.is_fallible() && !e.typ(types).nullable;
        match e {
            Expr::IsNull(of) if is_never_null(of) => *e = Expr::bool(false),
            Expr::Coalesce(args) => {
                if let Some(last) = args.iter().position(|a| !a.typ(types).nullable) {
                    args.truncate(last + 1);
                }
                if args.len() == 1 {
                    *e = args.remove(0);
                }
            }
            _ => {}
        }
    });
}

fn fold_filter(node: &mut Relation) -> bool {
    let Relation::Filter { predicates, .. } = node else { return false };
    let before = predicates.len();
    let mut kept: Vec<Expr> = Vec::with_capacity(before);
    for predicate in std::mem::take(predicates).into_iter().flat_map(Expr::into_conjuncts) {
        if predicate.is_false() || predicate.is_null_literal() {
            *node = Relation::empty(node.typ().columns);
            return true;
        }
        if !predicate.is_true() && (predicate.is_volatile() || !kept.contains(&predicate)) {
            kept.push(predicate);
        }
    }
    let changed = kept.len() != before;
    *predicates = kept;
    changed
}
