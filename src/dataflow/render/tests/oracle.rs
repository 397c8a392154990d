//! The naive evaluator of physical plans that rendered dataflows are compared with.
//!
//! It knows the content of the imported relations at one time, and computes each node from
//! scratch, a list of rows from lists of rows, with arithmetic of its own where the renderer is
//! clever: sums are added one by one, groups are sorted, nothing is remembered.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bumpalo::Bump;

use super::super::order::compare_rows;
use crate::expr::aggregate::fold::Fold;
use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::window::call::WindowCall;
use crate::expr::window::partition::OrderColumn;
use crate::expr::window::testing::append;
use crate::plan::physical::{Arrangement, Dataflow, Lookup, Node};
use crate::plan::relation::ColumnOrder;
use crate::repr::datetime::{interval_add, interval_divide};
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::numeric::Numeric;
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{Datum, Diff, Interval, Row, ScalarType};

/// Rows with their counts, and errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    pub rows: BTreeMap<Row, Diff>,
    pub errors: BTreeSet<EvalError>,
}

impl Content {
    pub fn add(&mut self, row: Row, count: Diff) {
        let now = self.rows.entry(row.clone()).or_insert(0);
        *now += count;
        if *now == 0 {
            self.rows.remove(&row);
        }
    }

    fn with_errors_of(&self) -> Content {
        Content { rows: BTreeMap::new(), errors: self.errors.clone() }
    }

    fn with_rows_alone(&self) -> Content {
        Content { rows: self.rows.clone(), errors: BTreeSet::new() }
    }

    /// Decodes each row and passes its datums on; what it returns is noted if it is an error.
    fn for_each(
        &self,
        types: &[ScalarType],
        errors: &mut BTreeSet<EvalError>,
        mut f: impl for<'a> FnMut(&[Datum<'a>], &'a Bump, &Row, Diff) -> Result<(), EvalError>,
    ) {
        for (row, count) in &self.rows {
            let arena = Bump::new();
            let mut datums = Vec::new();
            decode_values(types, row.bytes(), &mut datums);
            errors.extend(f(&datums, &arena, row, *count).err());
        }
    }
}

/// The content of the last node.
pub fn evaluate(plan: &Dataflow, imports: &[Content]) -> Content {
    let mut done: Vec<Content> = Vec::new();
    for node in &plan.nodes {
        let content = evaluate_node(plan, node, imports, &done);
        done.push(content);
    }
    done.pop().unwrap()
}

fn windows(
    input: &Content,
    types: &[ScalarType],
    partition: &[usize],
    order: &[ColumnOrder],
    calls: &[WindowCall],
) -> Content {
    let mut out = input.with_errors_of();
    let mut partitions: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    input.for_each(types, &mut BTreeSet::new(), |datums, _, row, count| {
        let key: Vec<Datum<'_>> = partition.iter().map(|c| datums[*c]).collect();
        let key_types: Vec<ScalarType> = partition.iter().map(|c| types[*c]).collect();
        let rows = partitions.entry(key_of(&key_types, &key)).or_default();
        rows.extend((0..count).map(|_| row.clone()));
        Ok(())
    });
    let compare = |a: &Row, b: &Row| {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        decode_values(types, a.bytes(), &mut x);
        decode_values(types, b.bytes(), &mut y);
        compare_rows(types, order, &x, &y)
    };
    let single = match *order {
        [ColumnOrder { column, descending, nulls_first }] => {
            Some(OrderColumn { column, descending, nulls_first })
        }
        _ => None,
    };
    for mut rows in partitions.into_values() {
        rows.sort_by(|a, b| compare(a, b).then(a.cmp(b)));
        match append(calls, types, &rows, single, |a, b| compare(a, b).is_eq()) {
            Ok(rows) => rows.into_iter().for_each(|row| out.add(row, 1)),
            Err(error) => {
                out.errors.insert(error);
            }
        }
    }
    out
}

/// What a variable of a loop becomes: round after round from scratch.
fn run_loop(plan: &Dataflow, of: usize, variable: usize, done: &[Content]) -> Content {
    let Node::Loop { inputs, nodes, values, limit } = &plan.nodes[of] else { panic!("a loop") };
    // What is arranged outside lies inside as it does there.
    let layouts = nodes.iter().map(|node| match node {
        Node::Entered { input } if matches!(plan.nodes[inputs[*input]], Node::Arrange { .. }) => {
            plan.nodes[inputs[*input]].clone()
        }
        node => node.clone(),
    });
    let inner = Dataflow { nodes: layouts.collect(), ..plan.clone() };
    let mut variables = vec![Content::default(); values.len()];
    let mut errors = done[of].errors.clone();
    for round in 0.. {
        let mut made: Vec<Content> = Vec::new();
        for node in nodes {
            let content = match node {
                Node::Entered { input } => done[inputs[*input]].with_rows_alone(),
                Node::Variable { variable } => variables[*variable].with_rows_alone(),
                node => evaluate_node(&inner, node, &[], &made),
            };
            made.push(content);
        }
        let next: Vec<Content> = values.iter().map(|value| made[*value].clone()).collect();
        let same = next.iter().zip(&variables).all(|(a, b)| a.rows == b.rows);
        if same || limit.as_ref().is_some_and(|limit| round == limit.rounds) {
            if let Some(limit) = limit.as_ref().filter(|limit| !same && limit.fails) {
                errors.insert(super::super::iterate::endless(limit));
            }
            errors.extend(made.iter().flat_map(|content| content.errors.clone()));
            break;
        }
        variables = next;
    }
    Content { rows: variables[variable].rows.clone(), errors }
}

fn evaluate_node(plan: &Dataflow, node: &Node, imports: &[Content], done: &[Content]) -> Content {
    match node {
        Node::Constant { rows: Ok(rows) } => {
            let mut out = Content::default();
            rows.iter().for_each(|(row, count)| out.add(row.clone(), *count));
            out
        }
        Node::Constant { rows: Err(error) } => {
            Content { errors: BTreeSet::from([error.clone()]), ..Content::default() }
        }
        Node::Import { import } => imports[*import].clone(),
        Node::Mfp { input, types, mfp } => {
            let mut out = done[*input].with_errors_of();
            let mut errors = BTreeSet::new();
            done[*input].for_each(types, &mut errors, |datums, _, _, count| {
                apply(mfp, datums, &plan.settings, count, &mut out)
            });
            out.errors.extend(errors);
            out
        }
        Node::Temporal { .. } => panic!("time does not go on here"),
        Node::FlatMap { input, types, func, args } => {
            let mut out = done[*input].with_errors_of();
            let mut errors = BTreeSet::new();
            let of_func: Vec<ScalarType> = func.columns().iter().map(|c| c.scalar).collect();
            done[*input].for_each(types, &mut errors, |datums, arena, _, count| {
                let cx = EvalContext { arena, settings: &plan.settings };
                let values = args.iter().map(|arg| arg.eval(datums, &cx));
                for more in func.open(&values.collect::<Result<Vec<_>, _>>()?, &cx)? {
                    let more = more?;
                    let mut whole = datums.to_vec();
                    decode_values(&of_func, more.bytes(), &mut whole);
                    out.add(pack(&whole), count);
                }
                Ok(())
            });
            out.errors.extend(errors);
            out
        }
        Node::Loop { inputs, .. } => {
            let mut out = Content::default();
            inputs.iter().for_each(|input| out.errors.extend(done[*input].errors.clone()));
            out
        }
        Node::Leave { of, variable } => run_loop(plan, *of, *variable, done),
        Node::Entered { .. } | Node::Variable { .. } => panic!("inside loops alone"),
        Node::Arrange { input, layout } => arrange(&done[*input], layout, &plan.settings),
        Node::HalfJoin { lookup, mfp } => {
            let mut left = arrange(&done[lookup.input], &lookup.layout, &plan.settings);
            if lookup.before {
                // All rows come at the same time.
                left.rows.clear();
            }
            let right = (&done[lookup.right], layout_of(plan, lookup.right));
            join(plan, (&left, &lookup.layout), right, mfp)
        }
        Node::Fewest { lookup, option } => {
            let right = (&done[lookup.right], layout_of(plan, lookup.right));
            fewest(plan, &done[lookup.input], lookup, right, *option)
        }
        Node::Join { left, right, mfp } => {
            let (a, b) = (layout_of(plan, *left), layout_of(plan, *right));
            join(plan, (&done[*left], a), (&done[*right], b), mfp)
        }
        Node::Reduce { input, types, key, key_types, aggregates } => {
            reduce(&done[*input], types, (key, key_types), aggregates, &plan.settings)
        }
        Node::TopK { input, types, group_key, order, limit, offset, ties, rank } => {
            let mut out = done[*input].with_errors_of();
            let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
            done[*input].for_each(types, &mut BTreeSet::new(), |datums, _, row, count| {
                let key: Vec<Datum<'_>> = group_key.iter().map(|c| datums[*c]).collect();
                let key_types: Vec<ScalarType> = group_key.iter().map(|c| types[*c]).collect();
                let group = groups.entry(key_of(&key_types, &key)).or_default();
                group.extend((0..count).map(|_| row.clone()));
                Ok(())
            });
            for (_, mut rows) in groups {
                rows.sort_by(|a, b| {
                    let (mut x, mut y) = (Vec::new(), Vec::new());
                    decode_values(types, a.bytes(), &mut x);
                    decode_values(types, b.bytes(), &mut y);
                    compare_rows(types, order, &x, &y).then(a.cmp(b))
                });
                let mut limit = limit.unwrap_or(u64::MAX) as usize;
                let last = |limit: usize| (*offset as usize).saturating_add(limit);
                let peers = |a: &Row, b: &Row| {
                    let (mut x, mut y) = (Vec::new(), Vec::new());
                    decode_values(types, a.bytes(), &mut x);
                    decode_values(types, b.bytes(), &mut y);
                    compare_rows(types, order, &x, &y).is_eq()
                };
                while *ties
                    && limit > 0
                    && last(limit) < rows.len()
                    && peers(&rows[last(limit)], &rows[last(limit) - 1])
                {
                    limit += 1;
                }
                let numbered = rows.iter().enumerate().skip(*offset as usize).take(limit);
                for (i, row) in numbered {
                    let mut datums = Vec::new();
                    decode_values(types, row.bytes(), &mut datums);
                    datums.extend(rank.then_some(Datum::Int8(i as i64 + 1)));
                    out.add(pack(&datums), 1);
                }
            }
            out
        }
        Node::Window { input, types, partition, order, calls } => {
            windows(&done[*input], types, partition, order, calls)
        }
        Node::Negate { input } => {
            let mut out = done[*input].clone();
            out.rows.values_mut().for_each(|count| *count = -*count);
            out
        }
        Node::Threshold { input, types } => threshold(&done[*input], types),
        Node::Union { inputs } => {
            let mut out = Content::default();
            for input in inputs {
                out.errors.extend(done[*input].errors.iter().cloned());
                done[*input].rows.iter().for_each(|(row, count)| out.add(row.clone(), *count));
            }
            out
        }
    }
}

fn apply(
    mfp: &Mfp,
    datums: &[Datum<'_>],
    settings: &FormatSettings,
    count: Diff,
    out: &mut Content,
) -> Result<(), EvalError> {
    let arena = Bump::new();
    let cx = EvalContext { arena: &arena, settings };
    let mut datums = datums.to_vec();
    if mfp.evaluate(&mut datums, &cx)? {
        let row: Vec<Datum<'_>> = mfp.projection.iter().map(|c| datums[*c]).collect();
        out.add(pack(&row), count);
    }
    Ok(())
}

fn evaluate_exprs<'a>(
    exprs: &'a [Expr],
    datums: &[Datum<'a>],
    cx: &EvalContext<'a>,
) -> Result<Vec<Datum<'a>>, EvalError> {
    exprs.iter().map(|expr| expr.eval(datums, cx)).collect()
}

fn key_of(types: &[ScalarType], datums: &[Datum<'_>]) -> Vec<u8> {
    let mut key = Vec::new();
    encode_key(KeyMode::NullSafe, types, datums, &mut key);
    key
}

/// The rows that an arrangement holds.
fn arrange(input: &Content, layout: &Arrangement, settings: &FormatSettings) -> Content {
    let mut out = input.with_errors_of();
    let mut errors = BTreeSet::new();
    input.for_each(&layout.types, &mut errors, |datums, arena, row, count| {
        let cx = EvalContext { arena, settings };
        let key = evaluate_exprs(&layout.key, datums, &cx)?;
        if layout.mode == KeyMode::NullSafe || !key.iter().any(Datum::is_null) {
            out.add(row.clone(), count);
        }
        Ok(())
    });
    out.errors.extend(errors);
    out
}

fn join(
    plan: &Dataflow,
    (a, a_layout): (&Content, &Arrangement),
    (b, b_layout): (&Content, &Arrangement),
    mfp: &Mfp,
) -> Content {
    let mut out = a.with_errors_of();
    out.errors.extend(b.errors.iter().cloned());
    let mut errors = BTreeSet::new();
    let settings = &plan.settings;
    a.for_each(&a_layout.types, &mut BTreeSet::new(), |left, arena, _, n| {
        let cx = EvalContext { arena, settings };
        let left_key = key_of(&a_layout.key_types, &evaluate_exprs(&a_layout.key, left, &cx)?);
        b.for_each(&b_layout.types, &mut errors, |right, arena, _, m| {
            let cx = EvalContext { arena, settings };
            let right_key = evaluate_exprs(&b_layout.key, right, &cx)?;
            if key_of(&b_layout.key_types, &right_key) != left_key {
                return Ok(());
            }
            let both: Vec<Datum<'_>> = left.iter().chain(right).copied().collect();
            apply(mfp, &both, settings, n * m, &mut out)
        });
        Ok(())
    });
    out.errors.extend(errors);
    out
}

fn layout_of(plan: &Dataflow, node: usize) -> &Arrangement {
    match &plan.nodes[node] {
        Node::Import { import } => &plan.imports[*import].layout,
        Node::Arrange { layout, .. } => layout,
        _ => panic!("only arrangements are joined"),
    }
}

/// Where an option has fewer rows than those before it.
fn fewest(
    plan: &Dataflow,
    input: &Content,
    lookup: &Lookup,
    (right, layout): (&Content, &Arrangement),
    option: i32,
) -> Content {
    let mut out = input.with_errors_of();
    out.errors.extend(right.errors.iter().cloned());
    if lookup.before {
        return out;
    }
    let settings = &plan.settings;
    let own = &lookup.layout;
    let arranged = arrange(input, own, settings);
    arranged.for_each(&own.types, &mut BTreeSet::new(), |datums, arena, _, n| {
        let cx = EvalContext { arena, settings };
        let key = key_of(&own.key_types, &evaluate_exprs(&own.key, datums, &cx)?);
        let mut count = 0;
        right.for_each(&layout.types, &mut BTreeSet::new(), |other, arena, _, _| {
            let cx = EvalContext { arena, settings };
            let other = evaluate_exprs(&layout.key, other, &cx)?;
            count += i64::from(key_of(&layout.key_types, &other) == key);
            Ok(())
        });
        let width = datums.len() - if option == 0 { 0 } else { Node::FEWEST_TYPES.len() };
        let mut datums = datums.to_vec();
        if !matches!(datums.get(width), Some(Datum::Int8(other)) if *other <= count) {
            datums.truncate(width);
            datums.extend([Datum::Int8(count), Datum::Int4(option)]);
        }
        if count > 0 {
            out.add(pack(&datums), n);
        }
        Ok(())
    });
    out
}

fn threshold(input: &Content, types: &[ScalarType]) -> Content {
    let mut out = input.with_errors_of();
    let mut groups: BTreeMap<Vec<u8>, Vec<(Row, Diff)>> = BTreeMap::new();
    input.for_each(types, &mut BTreeSet::new(), |datums, _, row, count| {
        groups.entry(key_of(types, datums)).or_default().push((row.clone(), count));
        Ok(())
    });
    for rows in groups.values() {
        let mut left: Diff = rows.iter().map(|(_, count)| count).sum();
        for (row, count) in rows {
            let count = (*count).min(left);
            if count > 0 {
                out.add(row.clone(), count);
                left -= count;
            }
        }
    }
    out
}

fn reduce(
    input: &Content,
    types: &[ScalarType],
    (key, key_types): (&[Expr], &[ScalarType]),
    aggregates: &[Aggregate],
    settings: &FormatSettings,
) -> Content {
    let mut out = input.with_errors_of();
    let mut errors = BTreeSet::new();
    // For each group the least key as written, and for each aggregate its arguments.
    type Args = Vec<Vec<Row>>;
    let mut groups: BTreeMap<Vec<u8>, (Row, Args)> = BTreeMap::new();
    input.for_each(types, &mut errors, |datums, arena, _, count| {
        let cx = EvalContext { arena, settings };
        let written = evaluate_exprs(key, datums, &cx)?;
        let mut args = Vec::new();
        for aggregate in aggregates {
            let takes_part = match &aggregate.filter {
                Some(filter) => filter.eval(datums, &cx)? == Datum::Bool(true),
                None => true,
            };
            if !is_simple(aggregate.func) {
                let all = evaluate_exprs(&aggregate.args, datums, &cx)?;
                args.push(takes_part.then(|| pack(&all)));
                continue;
            }
            let arg = aggregate.args.first();
            let arg = arg.map_or(Ok(Datum::Bool(true)), |arg| arg.eval(datums, &cx))?;
            args.push((takes_part && !arg.is_null()).then(|| pack(&[arg])));
        }
        let row = pack(&written);
        let group = groups.entry(key_of(key_types, &written));
        let (least, all) =
            group.or_insert_with(|| (row.clone(), vec![Vec::new(); aggregates.len()]));
        *least = row.min(least.clone());
        for (all, arg) in all.iter_mut().zip(&args) {
            if let Some(arg) = arg {
                all.extend((0..count).map(|_| arg.clone()));
            }
        }
        Ok(())
    });
    for (least, args) in groups.values() {
        let arena = Bump::new();
        let mut datums = Vec::new();
        decode_values(key_types, least.bytes(), &mut datums);
        let mut failed = None;
        for (aggregate, args) in aggregates.iter().zip(args) {
            match aggregate_of(aggregate, args, types, &arena) {
                Ok(datum) => datums.push(datum),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            None => out.add(pack(&datums), 1),
            Some(error) => errors.extend([error]),
        }
    }
    out.errors.extend(errors);
    out
}

fn aggregate_of<'a>(
    aggregate: &Aggregate,
    args: &'a [Row],
    types: &[ScalarType],
    arena: &'a Bump,
) -> Result<Datum<'a>, EvalError> {
    let columns: Vec<_> = types.iter().map(|t| crate::repr::ColumnType::nullable(*t)).collect();
    let ty = aggregate.args.first().map_or(ScalarType::Bool, |arg| arg.typ(&columns).scalar);
    if !is_simple(aggregate.func) {
        let of_args = aggregate.arg_types(&columns);
        let settings = arena.alloc(FormatSettings::default());
        let cx = EvalContext { arena, settings };
        let mut fold = Fold::new(arena.alloc(aggregate.clone()), of_args.clone());
        for arg in args {
            let mut datums = Vec::new();
            decode_values(&of_args, arg.bytes(), &mut datums);
            fold.take(arena.alloc_slice_copy(&datums), 1);
        }
        return fold.finish(&cx);
    }
    let mut datums = Vec::new();
    args.iter().for_each(|arg| decode_values(&[ty], arg.bytes(), &mut datums));
    let mut with_rows: Vec<(Datum<'_>, &Row)> = datums.into_iter().zip(args).collect();
    with_rows.sort_by(|a, b| a.0.compare_as(ty, &b.0).then(a.1.cmp(b.1)));
    if aggregate.distinct {
        with_rows.dedup_by(|a, b| a.0.compare_as(ty, &b.0) == Ordering::Equal);
    }
    let datums: Vec<Datum<'_>> = with_rows.iter().map(|(datum, _)| *datum).collect();
    let count = datums.len();
    if matches!(aggregate.func, AggFunc::CountStar | AggFunc::Count) {
        return Ok(Datum::Int8(count as i64));
    }
    if count == 0 {
        return Ok(Datum::Null);
    }
    Ok(match aggregate.func {
        AggFunc::Min(_) => datums[0],
        // The first of the greatest, which are sorted by what was written.
        AggFunc::Max(ty) => {
            let greatest = datums[count - 1];
            *datums.iter().find(|d| d.compare_as(ty, &greatest).is_eq()).unwrap()
        }
        AggFunc::BoolAnd => Datum::Bool(datums.iter().all(|d| *d == Datum::Bool(true))),
        AggFunc::BoolOr => Datum::Bool(datums.contains(&Datum::Bool(true))),
        AggFunc::Sum(ty) => sum(ty, &datums)?.datum(ty, arena),
        AggFunc::Avg(_) => match sum(ty, &datums)? {
            Sum::Number(sum) => {
                let mean = sum.div(&Numeric::from_i128(count as i128))?;
                Datum::Numeric(mean.encode_in(arena))
            }
            Sum::Float(sum) => Datum::Float8((sum + 0.0) / count as f64),
            Sum::Span(sum) => Datum::Interval(interval_divide(&sum, count as f64)?),
        },
        _ => unreachable!("counts and what is not simple are treated above"),
    })
}

/// Whether an aggregate is worked out here; the others are folded over all rows.
fn is_simple(func: AggFunc) -> bool {
    use AggFunc::{Avg, BoolAnd, BoolOr, Count, CountStar, Max, Min, Sum};
    matches!(func, CountStar | Count | Min(_) | Max(_) | Sum(_) | Avg(_) | BoolAnd | BoolOr)
}

enum Sum {
    Number(Numeric),
    Float(f64),
    Span(Interval),
}

impl Sum {
    fn datum(self, ty: ScalarType, arena: &Bump) -> Datum<'_> {
        match self {
            Sum::Number(sum) if matches!(ty, ScalarType::Int2 | ScalarType::Int4) => {
                Datum::Int8(sum.to_i64().unwrap())
            }
            Sum::Number(sum) => Datum::Numeric(sum.encode_in(arena)),
            Sum::Float(sum) if ty == ScalarType::Float4 => Datum::Float4(sum as f32),
            Sum::Float(sum) => Datum::Float8(sum),
            Sum::Span(sum) => Datum::Interval(sum),
        }
    }
}

/// Adds up one by one.
fn sum(ty: ScalarType, datums: &[Datum<'_>]) -> Result<Sum, EvalError> {
    let mut number = Numeric::from_i128(0);
    let mut float = -0.0;
    let mut span = Interval::default();
    for datum in datums {
        match *datum {
            Datum::Int2(v) => number = number.add(&i64::from(v).into())?,
            Datum::Int4(v) => number = number.add(&i64::from(v).into())?,
            Datum::Int8(v) => number = number.add(&v.into())?,
            Datum::Numeric(v) => number = number.add(&v.to_owned())?,
            Datum::Float4(v) => float += f64::from(v),
            Datum::Float8(v) => float += v,
            Datum::Interval(v) => span = interval_add(&span, &v)?,
            _ => panic!("not a sum"),
        }
    }
    Ok(match ty {
        // NaN has many bit patterns.
        ScalarType::Float4 | ScalarType::Float8 if float.is_nan() => Sum::Float(f64::NAN),
        ScalarType::Float4 | ScalarType::Float8 => Sum::Float(float),
        ScalarType::Interval => Sum::Span(span),
        _ => Sum::Number(number),
    })
}
