//! dbsp: the workloads as circuits.

use dbsp::typed_batch::{IndexedZSetReader, SpineSnapshot};
use dbsp::utils::{Tup2, Tup3};
use dbsp::{
    DBData, DBSPHandle, OrdZSet, OutputHandle, RootCircuit, Runtime, SchedulerError, Stream,
    ZSetHandle,
};

use crate::Maintained;
use crate::figures::Check;
use crate::graphs::Fact;

type Pair = Tup2<u32, u32>;
type Rows<T> = Stream<RootCircuit, OrdZSet<T>>;

/// A circuit whose rows are `T`.
struct Running<T: DBData> {
    circuit: DBSPHandle,
    edges: ZSetHandle<Pair>,
    roots: ZSetHandle<u32>,
    changes: OutputHandle<SpineSnapshot<OrdZSet<T>>>,
    /// The numbers of a row.
    numbers: fn(&T, &mut dyn FnMut(&[u32])),
}

/// The workload of that name, if it is written.
pub fn maintain(name: &str) -> Option<Box<dyn Maintained>> {
    Some(match name {
        "closure" => start(|edges, _| closure(&edges.distinct()), |Tup2(x, y), add| add(&[*x, *y])),
        "reach" => start(|edges, roots| reach(&edges.distinct(), &roots), |x, add| add(&[*x])),
        "triangles" => start(
            |edges, _| Ok(triangles(&edges.distinct())),
            |Tup3(x, y, z), add| add(&[*x, *y, *z]),
        ),
        _ => return None,
    })
}

fn start<T: DBData>(
    query: fn(Rows<Pair>, Rows<u32>) -> Result<Rows<T>, SchedulerError>,
    numbers: fn(&T, &mut dyn FnMut(&[u32])),
) -> Box<dyn Maintained> {
    let built = Runtime::init_circuit(1, move |circuit| {
        let (edges, edge_input) = circuit.add_input_zset::<Pair>();
        let (roots, root_input) = circuit.add_input_zset::<u32>();
        let rows = query(edges, roots)?;
        Ok((edge_input, root_input, rows.accumulate_output()))
    });
    let (circuit, (edges, roots, changes)) = built.expect("the circuit can be built");
    Box::new(Running { circuit, edges, roots, changes, numbers })
}

fn closure(edges: &Rows<Pair>) -> Result<Rows<Pair>, SchedulerError> {
    edges.circuit().recursive(|child, paths: Stream<_, OrdZSet<Pair>>| {
        let edges = edges.delta0(child);
        let by_source = edges.map_index(|Tup2(x, y)| (*x, *y));
        let by_end = paths.map_index(|Tup2(x, y)| (*y, *x));
        let longer = by_end.join(&by_source, |_, x, z| Tup2(*x, *z));
        Ok(longer.plus(&edges))
    })
}

fn reach(edges: &Rows<Pair>, roots: &Rows<u32>) -> Result<Rows<u32>, SchedulerError> {
    edges.circuit().recursive(|child, reached: Stream<_, OrdZSet<u32>>| {
        let by_source = edges.delta0(child).map_index(|Tup2(x, y)| (*x, *y));
        let further = reached.map_index(|x| (*x, ())).join(&by_source, |_, (), y| *y);
        Ok(further.plus(&roots.delta0(child)))
    })
}

fn triangles(edges: &Rows<Pair>) -> Rows<Tup3<u32, u32, u32>> {
    let by_source = edges.map_index(|Tup2(x, y)| (*x, *y));
    let by_target = edges.map_index(|Tup2(x, y)| (*y, *x));
    let wedges = by_target.join_index(&by_source, |y, x, z| Some((Tup2(*z, *x), *y)));
    let closing = edges.map_index(|edge| (edge.clone(), ()));
    wedges.join(&closing, |Tup2(z, x), y, ()| Tup3(*x, *y, *z))
}

impl<T: DBData> Maintained for Running<T> {
    fn commit(&mut self, changes: &[(Fact, i64)], check: &mut Check) {
        for ((table, [x, y, _]), diff) in changes {
            match table {
                0 => self.edges.push(Tup2(*x, *y), *diff),
                _ => self.roots.push(*x, *diff),
            }
        }
        self.circuit.transaction().expect("the circuit runs");
        for (row, (), diff) in self.changes.concat().consolidate().iter() {
            (self.numbers)(&row, &mut |numbers| check.add(numbers, diff));
        }
    }
}
