//! Random plans under random updates, on one and two workers, against [`super::oracle`].

use rand::prelude::*;

use super::harness::{check, dataflow, layout, random_history, tables};
use crate::expr::aggregate::{AggFunc, Aggregate, ArgOrder, Hypothetical, Paired, Spread};
use crate::expr::func::Func;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::expr::window::testing::{random_call, random_frame};
use crate::plan::physical::{Dataflow, Node};
use crate::plan::relation::ColumnOrder;
use crate::repr::key::KeyMode;
use crate::repr::{ColumnType, Datum, ScalarType};

use ScalarType::{Bool, Float8, Int4, Int8, Interval as Span, Numeric as Num};

const INT4_LT: u32 = 66;
const INT4_DIV: u32 = 154;
const INT4_MOD: u32 = 156;
const SERIES: u32 = 1067;

/// Makes plans.
struct Planner<'r> {
    rng: &'r mut StdRng,
    nodes: Vec<Node>,
    types: Vec<Vec<ScalarType>>,
}

impl Planner<'_> {
    fn push(&mut self, node: Node, types: Vec<ScalarType>) -> usize {
        self.nodes.push(node);
        self.types.push(types);
        self.nodes.len() - 1
    }

    /// A node that is no arrangement made for a join.
    fn any(&mut self) -> usize {
        let usable: Vec<usize> = (0..self.nodes.len())
            .filter(|i| !matches!(self.nodes[*i], Node::Arrange { .. } | Node::Negate { .. }))
            .collect();
        // Late ones more often, so that plans grow deep.
        let a = usable[self.rng.random_range(0..usable.len())];
        if self.rng.random() { *usable.last().unwrap() } else { a }
    }

    fn column_of(&mut self, types: &[ScalarType], ty: ScalarType) -> Option<usize> {
        let columns: Vec<usize> = (0..types.len()).filter(|c| types[*c] == ty).collect();
        columns.choose(self.rng).copied()
    }

    /// A filter, a computation that can fail and a projection, each perhaps.
    fn mfp(&mut self, types: &[ScalarType], same_columns: bool) -> (Mfp, Vec<ScalarType>) {
        let mut mfp = Mfp::identity(types.len());
        let ints = (self.column_of(types, Int4), self.column_of(types, Int4));
        let mut out = types.to_vec();
        if let (Some(a), Some(b)) = ints {
            let args = || vec![Expr::Column(a), Expr::Column(b)];
            if self.rng.random_bool(0.3) {
                mfp = mfp.filter([Expr::call_by_oid(INT4_LT, args()).not()]);
            }
            if !same_columns && self.rng.random_bool(0.1) {
                mfp = mfp.map([Expr::call_by_oid(INT4_DIV, args())]);
                out.push(Int4);
            }
        }
        if self.rng.random_bool(0.3) {
            let column = self.rng.random_range(0..types.len());
            mfp = mfp.filter([Expr::Column(column).is_not_null()]);
        }
        if !same_columns {
            let mut columns: Vec<usize> = (0..out.len()).collect();
            columns.shuffle(self.rng);
            columns.truncate(self.rng.random_range(1..6));
            out = columns.iter().map(|c| out[*c]).collect();
            mfp = mfp.project(columns);
        }
        (mfp, out)
    }

    fn step(&mut self) {
        let input = self.any();
        let types = self.types[input].clone();
        if types.is_empty() {
            return;
        }
        match self.rng.random_range(0..9) {
            8 => self.flat_map(input, types),
            0 | 1 => {
                let (mfp, out) = self.mfp(&types, false);
                self.push(Node::Mfp { input, types, mfp }, out);
            }
            2 => self.join(input, types),
            3..6 => self.reduce(input, types),
            6 if self.rng.random() => self.windows(input, types),
            6 => self.top_k(input, types),
            _ => {
                // A multiset less a part of it.
                let (mfp, _) = self.mfp(&types, true);
                let part = Node::Mfp { input, types: types.clone(), mfp };
                let part = self.push(part, types.clone());
                if self.rng.random() {
                    let negated = self.push(Node::Negate { input: part }, types.clone());
                    let inputs = vec![input, part, negated, negated, input];
                    let union = self.push(Node::Union { inputs }, types.clone());
                    self.push(Node::Threshold { input: union, types: types.clone() }, types);
                } else {
                    self.push(Node::Union { inputs: vec![part, input] }, types);
                }
            }
        }
    }

    /// None to three rows of each.
    fn flat_map(&mut self, input: usize, mut types: Vec<ScalarType>) {
        let Some(column) = self.column_of(&types, Int4) else { return };
        let int = |value| Expr::literal(Datum::Int4(value), Int4);
        let rest = Expr::call_by_oid(INT4_MOD, vec![Expr::Column(column), int(3)]);
        let mut func = TableFunc::call(Func::by_oid(SERIES).unwrap());
        func.ordinality = self.rng.random();
        let out = func.columns().iter().map(|c| c.scalar).collect::<Vec<_>>();
        let node = Node::FlatMap { input, types: types.clone(), func, args: vec![int(0), rest] };
        types.extend(out);
        self.push(node, types);
    }

    fn join(&mut self, left: usize, left_types: Vec<ScalarType>) {
        let right = self.any();
        let right_types = self.types[right].clone();
        let common = (0..left_types.len())
            .flat_map(|a| (0..right_types.len()).map(move |b| (a, b)))
            .filter(|(a, b)| left_types[*a] == right_types[*b]);
        let Some((a, b)) = common.choose(self.rng) else { return };
        let mode = if self.rng.random() { KeyMode::Strict } else { KeyMode::NullSafe };
        let arrange = |input, types: &[ScalarType], key| Node::Arrange {
            input,
            layout: layout(types, &[key], mode),
        };
        let left = self.push(arrange(left, &left_types, a), left_types.clone());
        let right = self.push(arrange(right, &right_types, b), right_types.clone());
        let both: Vec<ScalarType> = left_types.iter().chain(&right_types).copied().collect();
        let (mfp, out) = self.mfp(&both, false);
        self.push(Node::Join { left, right, mfp }, out);
    }

    fn reduce(&mut self, input: usize, types: Vec<ScalarType>) {
        let keys = self.rng.random_range(0..3);
        let key: Vec<usize> = (0..keys).map(|_| self.rng.random_range(0..types.len())).collect();
        let count = self.rng.random_range(0..4);
        let aggregates: Vec<Aggregate> = (0..count).map(|_| self.aggregate(&types)).collect();
        let key_types: Vec<ScalarType> = key.iter().map(|c| types[*c]).collect();
        let of_aggregates = aggregates.iter().map(|a| a.func.output_type().scalar);
        let out = key_types.iter().copied().chain(of_aggregates).collect();
        let key = key.into_iter().map(Expr::Column).collect();
        self.push(Node::Reduce { input, types, key, key_types, aggregates }, out);
    }

    fn aggregate(&mut self, types: &[ScalarType]) -> Aggregate {
        let column = self.rng.random_range(0..types.len());
        let ty = types[column];
        let mut funcs = vec![AggFunc::Count];
        match ty {
            Bool => funcs.extend([AggFunc::BoolAnd, AggFunc::BoolOr]),
            Int4 | Int8 | Num | Float8 | Span => {
                let (sum, mean) = (AggFunc::Sum(ty), AggFunc::Avg(ty));
                funcs.extend([sum, mean, AggFunc::Min(ty), AggFunc::Max(ty)]);
            }
            _ => funcs.extend([AggFunc::Min(ty), AggFunc::Max(ty)]),
        }
        let filter = self.rng.random_range(0..types.len());
        let filter = self.rng.random_bool(0.3).then(|| Expr::Column(filter).is_not_null());
        if self.rng.random_bool(0.2) {
            return Aggregate { filter, ..Aggregate::count_star() };
        }
        let distinct = self.rng.random_bool(0.4);
        if self.rng.random_bool(0.3) {
            let column = Expr::Column(column);
            return Aggregate { distinct, filter, ..self.computed_again(column, ty) };
        }
        match ty {
            Int4 | Int8 => funcs.extend([AggFunc::BitXor(ty), AggFunc::BitAnd(ty)]),
            _ => {}
        }
        if let Int4 | Int8 | Num | Float8 = ty {
            let spread = Spread { ty, sample: self.rng.random() };
            funcs.extend([AggFunc::Variance(spread), AggFunc::Stddev(spread)]);
        }
        let func = *funcs.choose(self.rng).unwrap();
        if ty == Float8 && self.rng.random_bool(0.3) {
            let args = vec![Expr::Column(column), Expr::Column(column)];
            let func = AggFunc::Paired(Paired::CovarPop);
            return Aggregate { func, args, distinct, filter, ..Aggregate::count_star() };
        }
        Aggregate { distinct, filter, ..Aggregate::of(func, Expr::Column(column)) }
    }

    /// An aggregate that looks at all rows of a group, of a column of that type.
    fn computed_again(&mut self, column: Expr, ty: ScalarType) -> Aggregate {
        let order = |descending| vec![ArgOrder { arg: 0, descending, nulls_first: false }];
        let half = || Expr::literal(Datum::Float8(0.5), Float8);
        let descending = self.rng.random();
        let (func, args) = match self.rng.random_range(0..4) {
            0 => (AggFunc::JsonbAgg, vec![column]),
            1 => (AggFunc::Mode(ty), vec![column]),
            2 => (AggFunc::PercentileDisc(ty), vec![column, half()]),
            _ if matches!(ty, Float8 | Span) => (AggFunc::PercentileCont(ty), vec![column, half()]),
            _ => (AggFunc::Hypothetical(Hypothetical::DenseRank), vec![column, Expr::null(ty)]),
        };
        let order = order(descending);
        Aggregate { func, args, order, distinct: false, filter: None }
    }

    fn top_k(&mut self, input: usize, types: Vec<ScalarType>) {
        let mut columns: Vec<usize> = (0..types.len()).collect();
        columns.shuffle(self.rng);
        let groups = self.rng.random_range(0..2);
        let order = columns.iter().skip(1).take(self.rng.random_range(0..3));
        let order: Vec<ColumnOrder> = order
            .map(|c| ColumnOrder { column: *c, descending: c % 2 == 0, nulls_first: c % 3 == 0 })
            .collect();
        let rank = self.rng.random_bool(0.3);
        let limits = [None, Some(0), Some(1), Some(3)];
        let limit = *limits.choose(self.rng).unwrap();
        let offset = [0, 0, 1][self.rng.random_range(0..3)];
        let mut out = types.clone();
        out.extend(rank.then_some(Int8));
        let group_key = columns.into_iter().take(groups).collect();
        let ties = !rank && limit.is_some() && self.rng.random();
        self.push(Node::TopK { input, types, group_key, order, limit, offset, ties, rank }, out);
    }

    fn windows(&mut self, input: usize, types: Vec<ScalarType>) {
        let mut columns: Vec<usize> = (0..types.len()).collect();
        columns.shuffle(self.rng);
        let partitions = self.rng.random_range(0..2);
        let order = columns.iter().skip(1).take(self.rng.random_range(0..3));
        let order: Vec<ColumnOrder> = order
            .map(|c| ColumnOrder { column: *c, descending: c % 2 == 0, nulls_first: c % 3 == 0 })
            .collect();
        let by_int4 = order.first().is_some_and(|o| types[o.column] == Int4);
        let ints: Vec<usize> = (0..types.len()).filter(|c| types[*c] == Int4).collect();
        let calls = (0..self.rng.random_range(1..4)).map(|_| {
            let arg = match ints.choose(self.rng) {
                Some(column) => Expr::Column(*column),
                None => Expr::literal(Datum::Int4(1), Int4),
            };
            let filter = self.rng.random_bool(0.2).then(|| arg.clone().is_not_null());
            let frame = random_frame(self.rng, order.len(), by_int4);
            random_call(self.rng, arg, filter, frame)
        });
        let calls: Vec<WindowCall> = calls.collect();
        let nullable: Vec<_> = types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
        let mut out = types.clone();
        out.extend(calls.iter().map(|call| call.output_type(&nullable).scalar));
        let partition = columns.into_iter().take(partitions).collect();
        self.push(Node::Window { input, types, partition, order, calls }, out);
    }
}

/// A plan and the types of its result.
fn random_plan(rng: &mut StdRng) -> (Dataflow, Vec<ScalarType>) {
    let mut planner = Planner { rng, nodes: Vec::new(), types: Vec::new() };
    for (import, table) in tables().into_iter().enumerate() {
        planner.push(Node::Import { import }, table.types);
    }
    for _ in 0..planner.rng.random_range(1..5) {
        planner.step();
    }
    let types = planner.types.pop().unwrap();
    (dataflow(planner.nodes), types)
}

fn check_random_plans(seed: u64, plans: usize, workers: usize) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut seen = 0;
    for _ in 0..plans {
        let (mut plan, types) = random_plan(&mut rng);
        let history = random_history(&mut rng, 8, 9);
        plan.as_of = [0, 1, 4][rng.random_range(0..3)];
        let key = if types.is_empty() { &[][..] } else { &[0] };
        let kept = rng.random_bool(0.3).then(|| layout(&types, key, KeyMode::NullSafe));
        seen += check(&plan, &history, workers, kept);
    }
    assert!(seen > 3 * plans, "{seen} times with rows are too few");
}

#[test]
fn random_plans_equal_the_naive_answer() {
    check_random_plans(1, 300, 1);
}

#[test]
fn random_plans_equal_the_naive_answer_on_two_workers() {
    check_random_plans(2, 80, 2);
}
