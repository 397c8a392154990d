//! Each rule alone, as EXPLAIN shows what it makes.

use super::shapes::{T, col, divide, eq, int, lt, names, plus, t, u};
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::scalar::Expr;
use crate::optimizer::pipeline::{FINISH, OptimizerConfig, SIMPLIFY, optimize};
use crate::plan::explain;
use crate::plan::relation::{ColumnOrder, Equivalence, Relation, RelationType};
use crate::repr::value::pack;
use crate::repr::{ColumnType, Datum, ScalarType};

/// The plan after one rule, which must change it.
fn after(rule: &str, mut relation: Relation) -> String {
    let rule = SIMPLIFY.iter().chain(FINISH).find(|r| r.name == rule).unwrap();
    assert!((rule.apply)(&mut relation, &OptimizerConfig::default()), "nothing changed");
    text(&relation)
}

/// Asserts that the rule has nothing to do.
fn unchanged(rule: &str, mut relation: Relation) {
    let before = relation.clone();
    let rule = SIMPLIFY.iter().chain(FINISH).find(|r| r.name == rule).unwrap();
    assert!(!(rule.apply)(&mut relation, &OptimizerConfig::default()));
    assert_eq!(relation, before);
}

fn text(relation: &Relation) -> String {
    explain::relation(relation, &names).text()
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|l| format!("{l}\n")).collect()
}

fn classes(of: &[&[usize]]) -> Vec<Equivalence> {
    of.iter().map(|c| Equivalence::new(c.iter().map(|c| col(*c)).collect())).collect()
}

fn one_row() -> Relation {
    let ty = RelationType::new(vec![ColumnType::not_null(ScalarType::Int4)]);
    Relation::constant(vec![(pack(&[Datum::Int4(7)]), 1)], ty)
}

fn by(column: usize) -> ColumnOrder {
    ColumnOrder { column, descending: false, nulls_first: false }
}

#[test]
fn let_inlining() {
    let shared = || Relation::local(1, u().distinct().typ());
    assert_eq!(
        after("let_inlining", u().distinct().let_in(1, shared().negate())),
        lines(&["Negate", "  Distinct [#0, #1, #2]", "    Get u"])
    );
    let twice = Relation::union(vec![shared(), shared()]);
    unchanged("let_inlining", u().distinct().let_in(1, twice));
    let cheap = Relation::union(vec![Relation::local(1, t().typ()), Relation::local(1, t().typ())]);
    assert_eq!(
        after("let_inlining", t().let_in(1, cheap)),
        lines(&["Union", "  Get t", "  Get t"])
    );
}

#[test]
fn constant_folding() {
    let predicates = vec![eq(col(0), plus(int(1), int(1))), lt(int(1), int(2))];
    assert_eq!(
        after("constant_folding", t().filter(predicates)),
        lines(&["Filter [#0 = 2]", "  Get t"])
    );
    // The key has no NULL, and false beats the error.
    let never = vec![col(0).is_null(), eq(divide(int(1), col(1)), int(1))];
    assert_eq!(after("constant_folding", t().filter(never)), lines(&["Constant []"]));
    let fails = after("constant_folding", t().map(vec![divide(int(1), int(0))]));
    assert_eq!(fails, lines(&["Map [raise(\"division by zero\")]", "  Get t"]));
}

#[test]
fn constant_relations() {
    let mapped = one_row().map(vec![plus(col(0), int(1))]).filter(vec![eq(col(1), int(8))]);
    assert_eq!(after("constant_relations", mapped), lines(&["Constant [(7, 8)]"]));
    unchanged("constant_relations", one_row().map(vec![divide(col(0), int(0))]));
    let none = Relation::empty(t().typ().columns);
    assert_eq!(after("constant_relations", t().cross(none)), lines(&["Constant []"]));
    let two = Relation::union(vec![one_row(), one_row()]).distinct();
    assert_eq!(after("constant_relations", two), lines(&["Constant [(7)]"]));
}

#[test]
fn constant_join_inputs() {
    let join = Relation::join(vec![one_row(), t()], classes(&[&[0, 1]]));
    assert_eq!(
        after("constant_join_inputs", join),
        lines(&["Project [#3, #0, #1, #2]", "  Map [7]", "    Join [7 = #0]", "      Get t"])
    );
}

#[test]
fn union_flattening() {
    let inner = Relation::union(vec![u().negate(), t()]).negate();
    assert_eq!(
        after("union_flattening", Relation::union(vec![t(), inner])),
        lines(&["Union", "  Get t", "  Get u", "  Negate", "    Get t"])
    );
}

#[test]
fn fuse() {
    let relation = t().project(vec![1, 0]).map(vec![plus(col(0), int(1))]).map(vec![col(1)]);
    assert_eq!(
        after("fuse", relation.project(vec![2, 3]).project(vec![1])),
        lines(&["Project [#0]", "  Get t"])
    );
}

#[test]
fn join_flattening() {
    let inner = Relation::join(vec![t(), u()], classes(&[&[0, 3]]));
    let between = inner.map(vec![Expr::Coalesce(vec![col(1), col(4)])]).project(vec![6, 0]);
    let outer = Relation::join(vec![u(), between], classes(&[&[0, 3]]));
    assert_eq!(
        after("join_flattening", outer),
        lines(&[
            "Project [#0, #1, #2, #9, #3]",
            "  Map [COALESCE(#4, #7)]",
            "    Join [#0 = COALESCE(#4, #7), #3 = #6]",
            "      Get u",
            "      Get t",
            "      Get u",
        ])
    );
    let fallible = Relation::join(vec![t(), u()], Vec::new()).map(vec![divide(int(1), col(0))]);
    unchanged("join_flattening", Relation::join(vec![fallible, u()], Vec::new()));
}

#[test]
fn join_equalities() {
    let mut all = classes(&[&[0, 3], &[3, 4]]);
    all.push(Equivalence::new(vec![col(1), int(5)]));
    assert_eq!(
        after("join_equalities", Relation::join(vec![t(), u()], all)),
        lines(&[
            "Join [#0 = #3]",
            "  Filter [5 = #1]",
            "    Get t",
            "  Filter [#0 = #1]",
            "    Get u",
        ])
    );
}

#[test]
fn common_factors() {
    let (joined, small) = (eq(col(0), col(3)), lt(col(1), int(3)));
    let both = Expr::and(vec![joined.clone(), small.clone()]);
    let other = Expr::and(vec![lt(col(1), col(4)), joined.clone()]);
    assert_eq!(
        after("common_factors", t().cross(u()).filter(vec![Expr::or(vec![both.clone(), other])])),
        lines(&["Filter [#0 = #3, (#1 < 3) OR (#1 < #4)]", "  Join []", "    Get t", "    Get u",])
    );
    assert_eq!(
        after("common_factors", t().filter(vec![Expr::or(vec![both, joined])])),
        lines(&["Filter [#0 = #3]", "  Get t"])
    );
    unchanged("common_factors", t().filter(vec![Expr::or(vec![small, eq(col(0), int(1))])]));
}

#[test]
fn predicate_pushdown() {
    let predicates = vec![
        eq(col(0), col(3)),
        lt(col(1), int(3)),
        eq(divide(int(1), col(4)), int(1)),
        lt(col(1), col(4)),
    ];
    assert_eq!(
        after("predicate_pushdown", t().cross(u()).filter(predicates)),
        lines(&[
            "Filter [(1 / #4) = 1, #1 < #4]",
            "  Join [#0 = #3]",
            "    Filter [#1 < 3]",
            "      Get t",
            "    Get u",
        ])
    );
    let count = Aggregate::count_star();
    let reduced = u().reduce(vec![plus(col(0), int(1))], vec![count]);
    assert_eq!(
        after("predicate_pushdown", reduced.filter(vec![eq(col(0), int(3))])),
        lines(&[
            "Reduce key=[#0 + 1] aggregates=[count(*)]",
            "  Filter [(#0 + 1) = 3]",
            "    Get u",
        ])
    );
    // Rows that the limit leaves out must not fail.
    let limited = || u().top_k(vec![0], vec![by(1)], Some(1), 0);
    unchanged("predicate_pushdown", limited().filter(vec![eq(divide(int(1), col(0)), int(1))]));
    assert_eq!(
        after("predicate_pushdown", limited().filter(vec![eq(col(0), int(1))])),
        lines(&["TopK group=[#0] order=[#1] limit=1", "  Filter [#0 = 1]", "    Get u"])
    );
}

#[test]
fn literal_propagation() {
    let known = t().filter(vec![eq(col(0), int(5)), lt(col(0), col(1))]);
    assert_eq!(
        after("literal_propagation", Relation::join(vec![known, u()], classes(&[&[0, 3]]))),
        lines(&[
            "Join [#0 = #3]",
            "  Filter [#0 = 5, 5 < #1]",
            "    Get t",
            "  Filter [#0 = 5]",
            "    Get u",
        ])
    );
}

#[test]
fn rank_limit() {
    let bound = |oid, n| {
        let n = Expr::literal(Datum::Int8(n), ScalarType::Int8);
        u().rank(vec![0], vec![by(1)]).filter(vec![Expr::call_by_oid(oid, vec![col(3), n])])
    };
    let top = |limit| format!("TopK group=[#0] order=[#1] limit={limit} rank");
    let filtered = lines(&["Filter []", &format!("  {}", top(3)), "    Get u"]);
    assert_eq!(after("rank_limit", bound(471, 3)), filtered);
    assert_eq!(after("rank_limit", bound(469, 4)), filtered);
    let second = lines(&["Filter [#3 = '2'::bigint]", &format!("  {}", top(2)), "    Get u"]);
    assert_eq!(after("rank_limit", bound(467, 2)), second);
    unchanged("rank_limit", bound(470, 2));
}

#[test]
fn unique_keys() {
    assert_eq!(
        after("unique_keys", t().distinct()),
        lines(&["Project [#3, #4, #5]", "  Map [#0, #1, #2]", "    Get t"])
    );
    unchanged("unique_keys", u().distinct());
    assert_eq!(
        after("unique_keys", u().distinct().threshold()),
        lines(&["Distinct [#0, #1, #2]", "  Get u"])
    );
    let min = Aggregate {
        filter: Some(lt(col(1), int(3))),
        ..Aggregate::of(AggFunc::Min(ScalarType::Int4), col(1))
    };
    assert_eq!(
        after("unique_keys", t().reduce(vec![col(0)], vec![min])),
        lines(&[
            "Project [#3, #4]",
            "  Map [#0, CASE WHEN #1 < 3 THEN #1 ELSE NULL::integer END]",
            "    Get t",
        ])
    );
}

#[test]
fn projection_pushdown() {
    let join = Relation::join(vec![t(), u()], classes(&[&[0, 3]]));
    let plan = optimize(join.project(vec![1]), &OptimizerConfig::default());
    assert_eq!(
        text(&plan),
        lines(&[
            "Project [#1]",
            "  Join [#0 = #2]",
            "    Project [#0, #1]",
            "      Get t",
            "    Project [#0]",
            "      Get u",
        ])
    );
    // Ties are decided by the whole row.
    let tied = u().top_k(Vec::new(), vec![by(1)], Some(1), 0).project(vec![1]);
    let plan = optimize(tied, &OptimizerConfig::default());
    assert_eq!(text(&plan), lines(&["Project [#1]", "  TopK order=[#1] limit=1", "    Get u"]));
}

#[test]
fn common_subplans() {
    let join = || Relation::join(vec![t(), u()], classes(&[&[0, 3]])).project(vec![0]);
    assert_eq!(
        after("common_subplans", Relation::union(vec![join().distinct(), join().negate()])),
        lines(&[
            "Let l0",
            "  Project [#0]",
            "    Join [#0 = #3]",
            "      Get t",
            "      Get u",
            "  Union",
            "    Distinct [#0]",
            "      Get l0",
            "    Negate",
            "      Get l0",
        ])
    );
}

#[test]
fn disabled_rules_do_not_run() {
    let mut config = OptimizerConfig::default();
    config.disabled.insert("predicate_pushdown".into());
    let relation = t().cross(u()).filter(vec![eq(col(0), col(3))]);
    assert_eq!(optimize(relation.clone(), &config), relation);
    assert_eq!(relation.depends_on().first(), Some(&T));
}

#[test]
fn union_cancelling() {
    let found = || t().filter(vec![eq(divide(int(1), col(1)), int(1))]);
    let beside = Relation::union(vec![found(), u(), found().negate()]);
    assert_eq!(after("union_cancelling", beside), lines(&["Get u"]));
    let nothing = Relation::union(vec![found(), found().negate()]);
    assert_eq!(after("union_cancelling", nothing), lines(&["Constant []"]));
    unchanged("union_cancelling", Relation::union(vec![t(), found().negate()]));
    unchanged("union_cancelling", Relation::union(vec![found(), found()]));
}

#[test]
fn redundant_joins() {
    let keys = || t().project(vec![1]).distinct();
    let with = |relation: Relation, classes: Vec<Equivalence>, outputs: Vec<usize>| {
        Relation::join(vec![relation, keys()], classes).project(outputs)
    };
    let same = || vec![Equivalence::null_safe(vec![col(1), col(3)])];
    assert_eq!(
        after("redundant_joins", with(t(), same(), vec![0])),
        lines(&["Project [#0]", "  Get t"])
    );
    let some = t().filter(vec![lt(col(0), int(3))]);
    assert_eq!(
        after("redundant_joins", with(some, same(), vec![0])),
        lines(&["Project [#0]", "  Filter [#0 < 3]", "    Get t"])
    );
    // The key is read, NULL meets no NULL, another column is compared, or another relation.
    unchanged("redundant_joins", with(t(), same(), vec![0, 3]));
    unchanged("redundant_joins", with(t(), classes(&[&[1, 3]]), vec![0]));
    unchanged("redundant_joins", with(t(), vec![], vec![0]));
    unchanged("redundant_joins", with(u(), same(), vec![0]));
    let any = t().project(vec![]).distinct();
    assert_eq!(after("redundant_joins", Relation::join(vec![t(), any], vec![])), lines(&["Get t"]));
}

#[test]
fn each_rule_has_a_golden_record() {
    let golden = include_str!("../../../sqllogictest/rules.slt");
    for rule in SIMPLIFY.iter().chain(FINISH) {
        let shown = format!("\n-- {}\n", rule.name);
        assert!(golden.contains(&shown), "EXPLAIN RULES never shows {}", rule.name);
    }
}
