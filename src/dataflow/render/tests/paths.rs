//! Joins along paths under random histories, in which several tables change at one time: a
//! triangle by half joins, with a choice of the input that has fewer rows.

use rand::prelude::*;

use super::harness::{check, dataflow, layout, random_history, tables};
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::plan::physical::{Arrangement, Dataflow, Lookup, Node, NodeId};
use crate::repr::key::KeyMode;
use crate::repr::{Datum, ScalarType};

use ScalarType::Int4;

const INT4_EQ: u32 = 65;
const INT4_DIV: u32 = 154;

struct Planner(Vec<Node>);

impl Planner {
    fn push(&mut self, node: Node) -> NodeId {
        self.0.push(node);
        self.0.len() - 1
    }

    fn arrange(&mut self, input: NodeId, key: &[usize]) -> NodeId {
        let layout = edges(key);
        self.push(Node::Arrange { input, layout })
    }

    /// The rows of an option.
    fn chosen(&mut self, input: NodeId, option: i32) -> NodeId {
        let number = Expr::literal(Datum::Int4(option), Int4);
        let is_chosen = Expr::call_by_oid(INT4_EQ, vec![Expr::Column(3), number]);
        let mfp = Mfp::identity(4).filter([is_chosen]).project([0, 1]);
        let types = [Int4, Int4].into_iter().chain(Node::FEWEST_TYPES).collect();
        self.push(Node::Mfp { input, types, mfp })
    }

    /// A path from edges `(p, q)` on: each edge of `from_p` out of `p` and of `to_q` into `q` that
    /// have the third corner in common. Which ones change before this one, and in which order the
    /// corners go out, is the caller's.
    fn path(
        &mut self,
        start: NodeId,
        [out, into, whole_out, whole_in]: [NodeId; 4],
        before: [bool; 2],
        corners: [usize; 3],
    ) -> NodeId {
        let lookup = |input, key: &[usize], right, before| {
            let layout =
                layout(&vec![Int4; if key.len() == 2 { 3 } else { 2 }], key, KeyMode::Strict);
            Lookup { input, layout, right, before }
        };
        let count = lookup(start, &[1], out, before[0]);
        let one = self.push(Node::Fewest { lookup: count, option: 0 });
        let mut count = lookup(one, &[0], into, before[1]);
        count.layout = layout(&[Int4, Int4, ScalarType::Int8, Int4], &[0], KeyMode::Strict);
        let both = self.push(Node::Fewest { lookup: count, option: 1 });
        // `(p, q, r)`: by q -> r, checked by r -> p; or by r -> p, checked by q -> r.
        let quotient =
            Expr::call_by_oid(INT4_DIV, vec![Expr::Column(corners[0]), Expr::Column(corners[1])]);
        let last = Mfp::identity(5).map([quotient]).project(corners.into_iter().chain([5]));
        let first = self.chosen(both, 0);
        let mfp = Mfp::identity(4).project([0, 1, 3]);
        let first = self.push(Node::HalfJoin { lookup: lookup(first, &[1], out, before[0]), mfp });
        let check = lookup(first, &[2, 0], whole_in, before[1]);
        let first = self.push(Node::HalfJoin { lookup: check, mfp: last.clone() });
        let second = self.chosen(both, 1);
        let mfp = Mfp::identity(4).project([0, 1, 2]);
        let second =
            self.push(Node::HalfJoin { lookup: lookup(second, &[0], into, before[1]), mfp });
        let check = lookup(second, &[1, 2], whole_out, before[0]);
        let second = self.push(Node::HalfJoin { lookup: check, mfp: last });
        self.push(Node::Union { inputs: vec![first, second] })
    }
}

fn edges(key: &[usize]) -> Arrangement {
    layout(&[Int4, Int4], key, KeyMode::Strict)
}

/// `x(a, b), y(b, c), z(c, a)`, with `a / b`, which can fail.
fn triangles(of: [usize; 3]) -> Dataflow {
    let mut planner = Planner((0..3).map(|import| Node::Import { import }).collect());
    let rows = of.map(|table| {
        // The second column is a number in the first table alone.
        let columns = if table == 0 { [0, 1] } else { [0, 0] };
        let types = tables()[table].types.clone();
        let mfp = Mfp::identity(types.len()).project(columns);
        planner.push(Node::Mfp { input: table, types, mfp })
    });
    let arranged = rows.map(|rows| [&[0][..], &[1], &[0, 1]].map(|key| planner.arrange(rows, key)));
    let paths = [0, 1, 2].map(|at| {
        let (next, last) = ((at + 1) % 3, (at + 2) % 3);
        let reads = [arranged[next][0], arranged[last][1], arranged[next][2], arranged[last][2]];
        let corners = [[0, 1, 2], [2, 0, 1], [1, 2, 0]][at];
        planner.path(rows[at], reads, [next > at, last > at], corners)
    });
    planner.push(Node::Union { inputs: paths.to_vec() });
    dataflow(planner.0)
}

fn check_triangles(seed: u64, histories: usize, workers: usize) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut seen = 0;
    for _ in 0..histories {
        // The same table three times, or others whose edges lead to where they begin.
        let mut plan = triangles([[0, 0, 0], [0, 1, 0], [0, 0, 2]][rng.random_range(0..3)]);
        plan.as_of = [0, 1, 4][rng.random_range(0..3)];
        let history = random_history(&mut rng, 10, 25);
        seen += check(&plan, &history, workers, None);
    }
    assert!(seen > histories, "{seen} times with rows are too few");
}

#[test]
fn triangles_equal_the_naive_answer() {
    check_triangles(1, 60, 1);
}

#[test]
fn triangles_equal_the_naive_answer_on_two_workers() {
    check_triangles(2, 20, 2);
}
