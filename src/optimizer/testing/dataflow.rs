//! What a dataflow or a peek answers, by the letter of the physical plan.

use std::collections::{BTreeMap, BTreeSet};

use super::evaluate::{
    Bag, apply, compute, flat_map, mfp, reduce, threshold, top_k, windows, with,
};
use crate::expr::error::EvalError;
use crate::expr::mfp::Mfp;
use crate::optimizer::physical::Lowered;
use crate::plan::physical::{Arrangement, Bounds, Dataflow, Lookup, Node, Source};
use crate::repr::key::{KeyMode, decode_key, encode_key};
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, GlobalId, Row, ScalarType};

/// Rows as they lie in an arrangement.
#[derive(Clone, Default)]
struct Arranged {
    rows: BTreeMap<(Row, Row), i64>,
    errors: BTreeSet<EvalError>,
}

fn arrange(layout: &Arrangement, input: &Bag) -> Arranged {
    let mut out = Arranged { errors: input.errors.clone(), ..Arranged::default() };
    for (row, diff) in &input.rows {
        with(&layout.types, row, |datums| match compute(&layout.key, datums) {
            Ok(key) => with(&layout.key_types, &key, |parts| {
                if layout.mode == KeyMode::Strict && parts.iter().any(Datum::is_null) {
                    return;
                }
                let mut key = Vec::new();
                encode_key(layout.mode, &layout.key_types, parts, &mut key);
                let value: Vec<_> = layout.value.iter().map(|c| datums[*c]).collect();
                *out.rows.entry((Row::new(&key), pack(&value))).or_insert(0) += diff;
            }),
            Err(error) => {
                out.errors.insert(error);
            }
        });
    }
    out
}

fn read<'a>(layout: &Arrangement, key: &'a Row, value: &'a Row, out: &mut Vec<Datum<'a>>) {
    // Only the first parts of a key are read back.
    let read = layout.key_types.iter().take_while(|t| t.key_is_identity()).count();
    let (mut parts, mut values) = (Vec::new(), Vec::new());
    decode_key(layout.mode, &layout.key_types[..read], key.bytes(), &mut parts);
    let types: Vec<ScalarType> = layout.value.iter().map(|c| layout.types[*c]).collect();
    decode_values(&types, value.bytes(), &mut values);
    out.extend(layout.columns.iter().map(|source| match source {
        Source::Key(part) => parts[*part],
        Source::Value(part) => values[*part],
    }));
}

fn collection(layout: &Arrangement, arranged: &Arranged) -> Bag {
    let mut out = Bag { errors: arranged.errors.clone(), ..Bag::default() };
    for ((key, value), diff) in &arranged.rows {
        let mut datums = Vec::new();
        read(layout, key, value, &mut datums);
        out.add(pack(&datums), *diff);
    }
    out
}

#[derive(Clone)]
enum Done {
    Rows(Bag),
    Arranged(Arrangement, Arranged),
}

impl Done {
    fn rows(&self) -> Bag {
        match self {
            Done::Rows(bag) => bag.clone(),
            Done::Arranged(layout, arranged) => collection(layout, arranged),
        }
    }

    fn arranged(&self) -> (&Arrangement, &Arranged) {
        match self {
            Done::Arranged(layout, arranged) => (layout, arranged),
            Done::Rows(_) => panic!("joins and imports are of arrangements"),
        }
    }
}

/// The answer of a lowered relation.
pub fn answer(lowered: &Lowered, tables: &BTreeMap<GlobalId, Bag>) -> Bag {
    match lowered {
        Lowered::Dataflow(dataflow) => run(dataflow, tables),
        Lowered::Peek { target, layout, bounds, mfp: steps } => {
            let mut arranged = arrange(layout, &tables[&target.relation]);
            arranged.rows.retain(|(key, _), _| match bounds {
                Bounds::All => true,
                Bounds::Keys(keys) => {
                    assert!(keys.is_sorted());
                    keys.contains(key)
                }
                Bounds::Range { lo, hi } => {
                    lo.as_ref().is_none_or(|lo| lo <= key) && hi.as_ref().is_none_or(|hi| key < hi)
                }
            });
            mfp(&layout.types, collection(layout, &arranged), steps)
        }
    }
}

fn run(dataflow: &Dataflow, tables: &BTreeMap<GlobalId, Bag>) -> Bag {
    let done = run_nodes(dataflow, tables, &[], &[]);
    done.last().expect("a dataflow has nodes").rows()
}

/// All nodes; inside a loop with what is entered, and its variables.
fn run_nodes(
    dataflow: &Dataflow,
    tables: &BTreeMap<GlobalId, Bag>,
    entered: &[Done],
    variables: &[Bag],
) -> Vec<Done> {
    let mut done: Vec<Done> = Vec::new();
    for node in &dataflow.nodes {
        let next = match node {
            Node::Constant { rows } => {
                let mut bag = Bag::default();
                match rows {
                    Ok(rows) => rows.iter().for_each(|(row, diff)| bag.add(row.clone(), *diff)),
                    Err(error) => bag.errors.extend([error.clone()]),
                }
                Done::Rows(bag)
            }
            Node::Import { import } => {
                let import = &dataflow.imports[*import];
                let arranged = arrange(&import.layout, &tables[&import.id.relation]);
                Done::Arranged(import.layout.clone(), arranged)
            }
            Node::Mfp { input, types, mfp: steps } => {
                Done::Rows(mfp(types, done[*input].rows(), steps))
            }
            Node::Temporal { .. } => panic!("time does not go on here"),
            Node::FlatMap { input, types, func, args } => {
                Done::Rows(flat_map(types, done[*input].rows(), func, args))
            }
            Node::Loop { .. } => Done::Rows(Bag::default()),
            Node::Leave { of, variable } => Done::Rows(run_loop(dataflow, *of, *variable, &done)),
            Node::Entered { input } => entered[*input].clone(),
            Node::Variable { variable } => Done::Rows(variables[*variable].clone()),
            Node::Arrange { input, layout } => {
                assert!(matches!(done[*input], Done::Rows(_)), "arranged twice");
                Done::Arranged(layout.clone(), arrange(layout, &done[*input].rows()))
            }
            Node::Join { left, right, mfp: steps } => {
                Done::Rows(join(done[*left].arranged(), done[*right].arranged(), steps))
            }
            Node::HalfJoin { lookup, mfp: steps } => {
                let mut left = arrange(&lookup.layout, &done[lookup.input].rows());
                if lookup.before {
                    // All rows come at the same time.
                    left.rows.clear();
                }
                let right = done[lookup.right].arranged();
                Done::Rows(join((&lookup.layout, &left), right, steps))
            }
            Node::Fewest { lookup, option } => Done::Rows(fewest(
                lookup,
                *option,
                &done[lookup.input].rows(),
                done[lookup.right].arranged().1,
            )),
            Node::Reduce { input, types, key, aggregates, .. } => {
                Done::Rows(reduce(types, done[*input].rows(), key, aggregates))
            }
            Node::TopK { input, types, group_key, order, limit, offset, ties, rank } => {
                let of = (group_key.as_slice(), order.as_slice());
                Done::Rows(top_k(types, done[*input].rows(), of, (*limit, *offset, *ties), *rank))
            }
            Node::Window { input, types, partition, order, calls } => {
                Done::Rows(windows(types, done[*input].rows(), partition, order, calls))
            }
            Node::Negate { input } => {
                let mut bag = Bag::default();
                bag.extend(done[*input].rows(), -1);
                Done::Rows(bag)
            }
            Node::Threshold { input, .. } => Done::Rows(threshold(done[*input].rows())),
            Node::Union { inputs } => {
                let mut bag = Bag::default();
                inputs.iter().for_each(|i| bag.extend(done[*i].rows(), 1));
                Done::Rows(bag)
            }
        };
        done.push(next);
    }
    done
}

/// Where an option has fewer rows than those before it.
fn fewest(lookup: &Lookup, option: i32, input: &Bag, right: &Arranged) -> Bag {
    let mut out = Bag { errors: input.errors.clone(), ..Bag::default() };
    out.errors.extend(right.errors.iter().cloned());
    for ((key, value), diff) in arrange(&lookup.layout, input).rows {
        let mut datums = Vec::new();
        read(&lookup.layout, &key, &value, &mut datums);
        let count = right.rows.keys().filter(|(other, _)| *other == key).count() as i64;
        let width = datums.len() - if option == 0 { 0 } else { Node::FEWEST_TYPES.len() };
        if !matches!(datums.get(width), Some(Datum::Int8(other)) if *other <= count) {
            datums.truncate(width);
            datums.extend([Datum::Int8(count), Datum::Int4(option)]);
        }
        if count > 0 && !lookup.before {
            out.add(pack(&datums), diff);
        }
    }
    out
}

/// What a variable of a loop becomes: round after round from scratch.
fn run_loop(dataflow: &Dataflow, of: usize, variable: usize, done: &[Done]) -> Bag {
    let Node::Loop { inputs, nodes, values, limit } = &dataflow.nodes[of] else { panic!("a loop") };
    let mut variables = vec![Bag::default(); values.len()];
    let mut errors = BTreeSet::new();
    inputs.iter().for_each(|input| errors.extend(done[*input].rows().errors));
    for round in 0.. {
        let inner = Dataflow { nodes: nodes.clone(), ..dataflow.clone() };
        let entered: Vec<Done> = inputs.iter().map(|input| done[*input].clone()).collect();
        let made = run_nodes(&inner, &BTreeMap::new(), &entered, &variables);
        let next: Vec<Bag> = values.iter().map(|value| made[*value].rows()).collect();
        let same = next.iter().zip(&variables).all(|(a, b)| a.rows == b.rows);
        if same || limit.as_ref().is_some_and(|limit| round == limit.rounds) {
            errors.extend(next.into_iter().flat_map(|bag| bag.errors));
            break;
        }
        variables = next.into_iter().map(|bag| Bag { rows: bag.rows, ..Bag::default() }).collect();
    }
    Bag { rows: variables.swap_remove(variable).rows, errors }
}

fn join(
    (a, left): (&Arrangement, &Arranged),
    (b, right): (&Arrangement, &Arranged),
    steps: &Mfp,
) -> Bag {
    assert_eq!((a.mode, &a.key_types), (b.mode, &b.key_types));
    let mut out = Bag::default();
    out.errors.extend(left.errors.iter().chain(&right.errors).cloned());
    for ((key, value), n) in &left.rows {
        for ((other, with), m) in right.rows.iter().filter(|((k, _), _)| k == key) {
            let mut datums = Vec::new();
            read(a, key, value, &mut datums);
            read(b, other, with, &mut datums);
            apply(steps, &datums, n * m, &mut out);
        }
    }
    out
}
