//! Which arrangements plans use, as EXPLAIN shows them.

use super::same::arrangements;
use super::shapes::{T, U, col, eq, int, lt, t, u};
use crate::expr::scalar::Expr;
use crate::optimizer::physical::{Lowered, Want, lower};
use crate::optimizer::pipeline::{OptimizerConfig, optimize};
use crate::plan::explain;
use crate::plan::relation::{Equivalence, Relation};
use crate::repr::{Datum, GlobalId, ScalarType};

fn names(id: GlobalId) -> String {
    match id {
        T => "t".into(),
        U => "u".into(),
        GlobalId(id) => format!("i{}", id - 20_000),
    }
}

fn plan(relation: Relation, want: Want) -> String {
    let relation = optimize(relation, &OptimizerConfig::default());
    match lower(&relation, &arrangements, &OptimizerConfig::default(), want).unwrap() {
        Lowered::Peek { target, layout, bounds, mfp } => {
            explain::peek(target, &layout, &bounds, &mfp, &names).text()
        }
        Lowered::Dataflow(dataflow) => explain::dataflow(&dataflow, &names).text(),
    }
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|l| format!("{l}\n")).collect()
}

#[test]
fn a_key_is_looked_up() {
    let by_key = t().filter(vec![eq(col(0), int(3))]);
    assert_eq!(plan(by_key, Want::Peek), lines(&["Peek t by=[#0] keys=[(3)] filter=[#0 = 3]"]));
    let either = Expr::or(vec![eq(col(0), int(3)), eq(int(1), col(0))]);
    assert_eq!(
        plan(t().filter(vec![either]), Want::Peek),
        lines(&["Peek t by=[#0] keys=[(1), (3)] filter=[(#0 = 3) OR (1 = #0)]"])
    );
    // A bigint that is an integer is looked up as one.
    let long = Expr::literal(Datum::Int8(3), ScalarType::Int8);
    let mixed = Expr::call_by_oid(852, vec![col(0), long]);
    assert_eq!(
        plan(t().filter(vec![mixed]), Want::Peek),
        lines(&["Peek t by=[#0] keys=[(3)] filter=[#0 = '3'::bigint]"])
    );
    let by_index = t().filter(vec![eq(col(1), int(3))]);
    assert_eq!(
        plan(by_index, Want::Peek),
        lines(&["Peek t index=i100 by=[#1] keys=[\\x0080000003] filter=[#1 = 3]"])
    );
    assert_eq!(plan(t(), Want::Peek), lines(&["Peek t by=[#0]"]));
}

#[test]
fn a_range_is_read() {
    let between = t().filter(vec![lt(int(2), col(0)), lt(col(0), int(5))]);
    assert_eq!(
        plan(between, Want::Peek),
        lines(&["Peek t by=[#0] from=(3) below=(5) filter=[2 < #0, #0 < 5]"])
    );
    let none = t().filter(vec![lt(int(5), col(0)), lt(col(0), int(2))]);
    assert!(plan(none, Want::Peek).starts_with("Peek t by=[#0] keys=[]"));
}

#[test]
fn joins_use_the_arrangements_that_exist() {
    let classes = vec![Equivalence::new(vec![col(0), col(4)])];
    assert_eq!(
        plan(Relation::join(vec![t(), u()], classes), Want::Maintain),
        lines(&[
            "Return",
            "  Join",
            "    Arrange by=[#0] null_safe value=[#1, #2]",
            "      Read",
            "        Import t by=[#0]",
            "    Import u index=i301 by=[#1]",
        ])
    );
}

#[test]
fn a_known_key_begins_a_join() {
    let classes = vec![Equivalence::new(vec![col(1), col(4)])];
    let join = Relation::join(vec![u(), t()], classes).filter(vec![eq(col(3), int(2))]);
    let text = plan(join, Want::Maintain);
    assert!(text.contains("Constant rows=1"), "{text}");
    assert!(text.contains("Import t by=[#0]"), "{text}");
    assert!(text.contains("Import u index=i301 by=[#1]"), "{text}");
}
