//! Loops under random histories, deletions above all: what is maintained is what is computed from
//! scratch, at every time.

use rand::prelude::*;

use super::harness::{check, dataflow, layout, random_history, tables};
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Dataflow, Node, NodeId};
use crate::plan::relation::{ColumnOrder, RoundLimit};
use crate::repr::key::KeyMode;
use crate::repr::{Datum, ScalarType};

use ScalarType::Int4;

const INT4_PLUS: u32 = 177;
const INT4_LT: u32 = 66;
const INT8_LT: u32 = 469;

fn int(value: i32) -> Expr {
    Expr::literal(Datum::Int4(value), Int4)
}

/// A loop over the first two columns of the first table, which are edges.
fn looped(nodes: Vec<Node>, values: Vec<NodeId>, limit: Option<RoundLimit>) -> Dataflow {
    let types = tables()[0].types.clone();
    let mfp = Mfp::identity(types.len()).project([0, 1]);
    let leave = values.len() - 1;
    dataflow(vec![
        Node::Import { import: 0 },
        Node::Mfp { input: 0, types, mfp },
        Node::Loop { inputs: vec![1], nodes, values, limit },
        Node::Leave { of: 2, variable: leave },
    ])
}

/// Nodes that take the rows of `from`, whose last column is a place, along the edges: the columns
/// before it stay.
fn step(nodes: &mut Vec<Node>, from: NodeId, arity: usize) -> NodeId {
    let types = vec![Int4; arity];
    let arrange = |input, types: &[ScalarType], key: usize| Node::Arrange {
        input,
        layout: layout(types, &[key], KeyMode::Strict),
    };
    nodes.push(arrange(from, &types, arity - 1));
    let left = nodes.len() - 1;
    nodes.push(arrange(0, &[Int4, Int4], 0));
    let right = nodes.len() - 1;
    let mfp = Mfp::identity(arity + 2).project((0..arity - 1).chain([arity + 1]));
    nodes.push(Node::Join { left, right, mfp });
    nodes.len() - 1
}

fn push(nodes: &mut Vec<Node>, node: Node) -> NodeId {
    nodes.push(node);
    nodes.len() - 1
}

fn distinct(nodes: &mut Vec<Node>, input: NodeId, arity: usize) -> NodeId {
    let types = vec![Int4; arity];
    let key = (0..arity).map(Expr::Column).collect();
    push(nodes, Node::Reduce { input, key_types: types.clone(), types, key, aggregates: vec![] })
}

/// `r = edges UNION r joined with edges`.
fn reachability(limit: Option<RoundLimit>) -> Dataflow {
    let mut nodes = vec![Node::Entered { input: 0 }, Node::Variable { variable: 0 }];
    let next = step(&mut nodes, 1, 2);
    let union = push(&mut nodes, Node::Union { inputs: vec![0, next] });
    let value = distinct(&mut nodes, union, 2);
    looped(nodes, vec![value], limit)
}

/// The same over edges that are arranged outside, met from either side.
fn entered_reachability(turned: bool) -> Dataflow {
    let types = vec![Int4; 2];
    let arrange = |input, key: usize| Node::Arrange {
        input,
        layout: layout(&types, &[key], KeyMode::Strict),
    };
    let mut nodes = vec![
        Node::Entered { input: 0 },
        Node::Entered { input: 1 },
        Node::Variable { variable: 0 },
        arrange(2, 1),
    ];
    let (left, right, kept) = if turned { (1, 3, [2, 1]) } else { (3, 1, [0, 3]) };
    let mfp = Mfp::identity(4).project(kept);
    let next = push(&mut nodes, Node::Join { left, right, mfp });
    let union = push(&mut nodes, Node::Union { inputs: vec![0, next] });
    let value = distinct(&mut nodes, union, 2);
    let all = tables()[0].types.clone();
    let mfp = Mfp::identity(all.len()).project([0, 1]);
    dataflow(vec![
        Node::Import { import: 0 },
        Node::Mfp { input: 0, types: all, mfp },
        arrange(1, 0),
        Node::Loop { inputs: vec![1, 2], nodes, values: vec![value], limit: None },
        Node::Leave { of: 3, variable: 0 },
    ])
}

/// The walks of at most three edges, each as often as there is one.
fn walks() -> Dataflow {
    let mut nodes = vec![Node::Entered { input: 0 }, Node::Variable { variable: 0 }];
    let begun = Mfp::identity(2).map([int(0)]).project([2, 0, 1]);
    let base = push(&mut nodes, Node::Mfp { input: 0, types: vec![Int4; 2], mfp: begun });
    let next = step(&mut nodes, 1, 3);
    let depth = Expr::call_by_oid(INT4_PLUS, vec![Expr::Column(0), int(1)]);
    let short = Expr::call_by_oid(INT4_LT, vec![Expr::Column(3), int(3)]);
    let mfp = Mfp::identity(3).map([depth]).filter([short]).project([3, 1, 2]);
    let next = push(&mut nodes, Node::Mfp { input: next, types: vec![Int4; 3], mfp });
    let value = push(&mut nodes, Node::Union { inputs: vec![base, next] });
    looped(nodes, vec![value], None)
}

/// The least numbers of edges from 0, at most five; as groups' minima, or as their first rows.
fn distances(top: bool) -> Dataflow {
    let mut nodes = vec![Node::Entered { input: 0 }, Node::Variable { variable: 0 }];
    let is_start = Expr::call_by_oid(65, vec![Expr::Column(0), int(0)]);
    let begun = Mfp::identity(2).map([int(1)]).filter([is_start]).project([2, 1]);
    let base = push(&mut nodes, Node::Mfp { input: 0, types: vec![Int4; 2], mfp: begun });
    let next = step(&mut nodes, 1, 2);
    let further = Expr::call_by_oid(INT4_PLUS, vec![Expr::Column(0), int(1)]);
    let near = Expr::call_by_oid(INT4_LT, vec![Expr::Column(2), int(6)]);
    let mfp = Mfp::identity(2).map([further]).filter([near]).project([2, 1]);
    let next = push(&mut nodes, Node::Mfp { input: next, types: vec![Int4; 2], mfp });
    let input = push(&mut nodes, Node::Union { inputs: vec![base, next] });
    let types = vec![Int4; 2];
    if top {
        let order = ColumnOrder { column: 0, descending: false, nulls_first: false };
        let (group_key, order, limit, offset) = (vec![1], vec![order], Some(1), 0);
        let (ties, rank) = (false, false);
        let top = Node::TopK { input, types, group_key, order, limit, offset, ties, rank };
        let value = push(&mut nodes, top);
        return looped(nodes, vec![value], None);
    }
    let aggregates = vec![Aggregate::of(AggFunc::Min(Int4), Expr::Column(0))];
    let (key, key_types) = (vec![Expr::Column(1)], vec![Int4]);
    let least = push(&mut nodes, Node::Reduce { input, types, key, key_types, aggregates });
    let turned = Mfp::identity(2).project([1, 0]);
    let value = push(&mut nodes, Node::Mfp { input: least, types: vec![Int4; 2], mfp: turned });
    looped(nodes, vec![value], None)
}

/// Places at even and at odd distances from anywhere, less those that are sources of edges to 0.
fn parities() -> Dataflow {
    let mut nodes = vec![
        Node::Entered { input: 0 },
        Node::Variable { variable: 0 },
        Node::Variable { variable: 1 },
    ];
    let sources = Mfp::identity(2).project([0]);
    let base = push(&mut nodes, Node::Mfp { input: 0, types: vec![Int4; 2], mfp: sources });
    let is_zero = Expr::call_by_oid(65, vec![Expr::Column(1), int(0)]);
    let barred = Mfp::identity(2).filter([is_zero]).project([0]);
    let barred = push(&mut nodes, Node::Mfp { input: 0, types: vec![Int4; 2], mfp: barred });
    let barred = push(&mut nodes, Node::Negate { input: barred });
    let from_odd = step(&mut nodes, 2, 1);
    let union = push(&mut nodes, Node::Union { inputs: vec![base, from_odd] });
    let even = distinct(&mut nodes, union, 1);
    let from_even = step(&mut nodes, 1, 1);
    let odd = distinct(&mut nodes, from_even, 1);
    let rest = push(&mut nodes, Node::Union { inputs: vec![odd, barred] });
    let odd = push(&mut nodes, Node::Threshold { input: rest, types: vec![Int4] });
    looped(nodes, vec![even, odd], None)
}

/// Places by what leads to them: a place stays in the first variable while few edges come from
/// places of the second, which has those that are there by an even sum.
fn counted() -> Dataflow {
    let mut nodes = vec![
        Node::Entered { input: 0 },
        Node::Variable { variable: 0 },
        Node::Variable { variable: 1 },
    ];
    let sources = Mfp::identity(2).project([0]);
    let base = push(&mut nodes, Node::Mfp { input: 0, types: vec![Int4; 2], mfp: sources });
    let reached = step(&mut nodes, 2, 1);
    let input = push(&mut nodes, Node::Union { inputs: vec![base, reached] });
    let grouped = |nodes: &mut Vec<Node>, input, limit: i64| {
        let (types, key_types) = (vec![Int4], vec![Int4]);
        let (key, sum) = (vec![Expr::Column(0)], AggFunc::Sum(Int4));
        let aggregates = vec![Aggregate::count_star(), Aggregate::of(sum, Expr::Column(0))];
        let reduce = Node::Reduce { input, types, key, key_types, aggregates };
        let input = push(nodes, reduce);
        let limit = Expr::literal(Datum::Int8(limit), ScalarType::Int8);
        let few = Expr::call_by_oid(INT8_LT, vec![Expr::Column(1), limit]);
        let types = vec![Int4, ScalarType::Int8, ScalarType::Int8];
        push(nodes, Node::Mfp { input, types, mfp: Mfp::identity(3).filter([few]).project([0]) })
    };
    let first = grouped(&mut nodes, input, 3);
    let next = step(&mut nodes, 1, 1);
    let second = grouped(&mut nodes, next, 4);
    looped(nodes, vec![first, second], Some(RoundLimit { rounds: 4, fails: false, of: None }))
}

fn check_all(workers: usize, seeds: u64) {
    let mut seen = 0;
    for seed in 0..seeds {
        let plans = [
            reachability(None),
            reachability(Some(RoundLimit { rounds: 2, fails: false, of: None })),
            reachability(Some(RoundLimit { rounds: 2, fails: true, of: None })),
            walks(),
            distances(false),
            distances(true),
            parities(),
            counted(),
            entered_reachability(false),
            entered_reachability(true),
        ];
        for (number, plan) in plans.iter().enumerate() {
            let mut rng = StdRng::seed_from_u64(seed * 100 + number as u64);
            let history = random_history(&mut rng, 12, 8);
            seen += check(plan, &history, workers, None);
        }
    }
    assert!(seen as u64 > seeds * 30, "{seen} times with rows are too few");
}

#[test]
fn loops_equal_the_naive_answer() {
    check_all(1, 20);
}

#[test]
fn loops_equal_the_naive_answer_on_two_workers() {
    check_all(2, 5);
}
