//! The tables of the benches, and views over them, planned as the server plans them.

use smallvec::SmallVec;
use weir::expr::aggregate::{AggFunc, Aggregate};
use weir::expr::scalar::Expr;
use weir::optimizer::physical::{JoinStrategy, Lowered, Want, lower, table_layout, view_layout};
use weir::optimizer::{OptimizerConfig, optimize};
use weir::plan::physical::{Arrangement, ArrangementId, Dataflow, Sink};
use weir::plan::relation::{Equivalence, Relation, RelationType};
use weir::repr::key::encode_key;
use weir::repr::numeric::NumericRef;
use weir::repr::value::{decode_values, encode_values};
use weir::repr::{ColumnType, Datum, GlobalId, Row, ScalarType};

/// A table or a view.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its name.
    pub id: GlobalId,
    /// Its columns and keys.
    pub ty: RelationType,
    /// How it is arranged.
    pub layout: Arrangement,
}

/// The arrangement that a relation makes of itself.
pub fn own(id: GlobalId) -> ArrangementId {
    ArrangementId { relation: id, index: id }
}

impl Object {
    /// A table of so many columns of that integer type, the first of which is the primary key.
    pub fn table(id: u64, ty: ScalarType, arity: usize) -> Object {
        let columns = vec![ColumnType::not_null(ty); arity];
        let layout = table_layout(&columns, Some(&[0]));
        let ty = RelationType { columns, keys: vec![vec![0]] };
        Object { id: GlobalId(id), ty, layout }
    }

    /// A table of two numbers without a key.
    pub fn edges(id: u64) -> Object {
        let columns = vec![ColumnType::not_null(ScalarType::Int4); 2];
        let layout = table_layout(&columns, None);
        Object { id: GlobalId(id), ty: RelationType::new(columns), layout }
    }

    /// The name of this relation in a plan.
    pub fn get(&self) -> Relation {
        Relation::global(self.id, self.ty.clone())
    }

    /// A row of a table as a write brings it.
    pub fn row(&self, values: &[i64], scratch: &mut Vec<u8>) -> (Row, Row) {
        let datum = |c: &usize| match self.layout.types[*c] {
            ScalarType::Int4 => Datum::Int4(values[*c] as i32),
            _ => Datum::Int8(values[*c]),
        };
        scratch.clear();
        let key = self.layout.key.iter().map(|part| match part {
            Expr::Column(column) => datum(column),
            other => panic!("{other:?} is no column"),
        });
        let key: SmallVec<[Datum<'_>; 4]> = key.collect();
        encode_key(self.layout.mode, &self.layout.key_types, &key, scratch);
        let key = Row::new(scratch);
        scratch.clear();
        let datums: SmallVec<[Datum<'_>; 4]> = self.layout.value.iter().map(datum).collect();
        encode_values(&datums, scratch);
        (key, Row::new(scratch))
    }

    /// The numbers of a row in value encoding.
    pub fn numbers(&self, row: &Row) -> Vec<i64> {
        let mut datums = Vec::new();
        decode_values(&self.layout.types, row.bytes(), &mut datums);
        datums.iter().map(number).collect()
    }
}

fn number(datum: &Datum<'_>) -> i64 {
    match datum {
        Datum::Int4(number) => i64::from(*number),
        Datum::Int8(number) => *number,
        Datum::Numeric(number) => {
            NumericRef::to_owned(*number).to_i64().expect("sums are small here")
        }
        other => panic!("{other:?} is no number"),
    }
}

/// `SELECT c.#1, count(*), sum(f.#2) FROM facts f JOIN dimension c ON f.#1 = c.#0 GROUP BY c.#1`,
/// kept as a view.
pub fn join_and_sum(id: u64, facts: &Object, dimension: &Object) -> (Object, Dataflow) {
    let of_dimension = facts.ty.columns.len();
    let equal = Equivalence::new(vec![Expr::Column(1), Expr::Column(of_dimension)]);
    let joined = Relation::join(vec![facts.get(), dimension.get()], vec![equal]);
    let ty = facts.ty.columns[2].scalar;
    let sum = AggFunc::Sum(ty);
    let aggregates = vec![Aggregate::count_star(), Aggregate::of(sum, Expr::Column(2))];
    let grouped = joined.reduce(vec![Expr::Column(of_dimension + 1)], aggregates);
    let columns =
        vec![ColumnType::not_null(ty), AggFunc::CountStar.output_type(), sum.output_type()];
    let layout = view_layout(&columns, &[vec![0]]);
    let ty = RelationType { columns, keys: vec![vec![0]] };
    let view = Object { id: GlobalId(id), ty, layout };
    let mut plan = plan(&grouped, &[facts, dimension], Want::Maintain);
    plan.id = view.id;
    plan.sink = Sink::Arrange(view.layout.clone());
    (view, plan)
}

/// `SELECT x.#0, y.#0, z.#0 FROM edges x, edges y, edges z` where each begins where the one before
/// ends, kept as a view.
pub fn triangles(id: u64, edges: &Object, joins: JoinStrategy) -> (Object, Dataflow) {
    let corner =
        |end: usize, begin: usize| Equivalence::new(vec![Expr::Column(end), Expr::Column(begin)]);
    let classes = vec![corner(1, 2), corner(3, 4), corner(5, 0)];
    let joined = Relation::join(vec![edges.get(); 3], classes).project(vec![0, 2, 4]);
    let columns = vec![ColumnType::not_null(ScalarType::Int4); 3];
    let layout = view_layout(&columns, &[]);
    let view = Object { id: GlobalId(id), ty: RelationType::new(columns), layout };
    let config = OptimizerConfig { joins, ..OptimizerConfig::default() };
    let mut plan = planned(&joined, &[edges], Want::Maintain, &config);
    plan.id = view.id;
    plan.sink = Sink::Arrange(view.layout.clone());
    (view, plan)
}

/// `SUBSCRIBE` to a relation.
pub fn subscription(id: u64, to: &Object) -> Dataflow {
    let mut plan = plan(&to.get(), &[to], Want::Subscribe);
    plan.id = GlobalId(GlobalId::FIRST_TRANSIENT.0 + id);
    plan.sink = Sink::Subscribe { up_to: None, snapshot: true, buffer_limit: 1 << 30 };
    plan
}

fn plan(relation: &Relation, objects: &[&Object], want: Want) -> Dataflow {
    planned(relation, objects, want, &OptimizerConfig::default())
}

fn planned(
    relation: &Relation,
    objects: &[&Object],
    want: Want,
    config: &OptimizerConfig,
) -> Dataflow {
    let available = |id: GlobalId| {
        let found = objects.iter().find(|object| object.id == id);
        found.map(|object| (own(id), object.layout.clone())).into_iter().collect()
    };
    let relation = optimize(relation.clone(), config);
    match lower(&relation, &available, config, want) {
        Ok(Lowered::Dataflow(plan)) => plan,
        other => panic!("no dataflow: {other:?}"),
    }
}
