//! What a relation contains, by the letter of its definition and with no thought of speed.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use bumpalo::Bump;

use crate::expr::aggregate::Aggregate;
use crate::expr::aggregate::fold::Fold;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::mfp::Mfp;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::expr::window::partition::OrderColumn;
use crate::expr::window::testing::append;
use crate::optimizer::physical::build::peel;
use crate::plan::relation::{Binding, ColumnOrder, Id, Relation, RoundLimit};
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, Datum, GlobalId, Row, ScalarType};

/// Rows with counts that are not 0, and errors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bag {
    pub rows: BTreeMap<Row, i64>,
    pub errors: BTreeSet<EvalError>,
}

impl Bag {
    pub fn add(&mut self, row: Row, diff: i64) {
        let count = self.rows.entry(row.clone()).or_insert(0);
        *count += diff;
        if *count == 0 {
            self.rows.remove(&row);
        }
    }

    pub fn extend(&mut self, other: Bag, sign: i64) {
        other.rows.into_iter().for_each(|(row, diff)| self.add(row, diff * sign));
        self.errors.extend(other.errors);
    }
}

/// Calls `f` with the datums of a row.
pub fn with<R>(types: &[ScalarType], row: &Row, f: impl FnOnce(&[Datum<'_>]) -> R) -> R {
    let mut datums = Vec::new();
    decode_values(types, row.bytes(), &mut datums);
    f(&datums)
}

/// Evaluates over a row's datums, packed into a row.
pub fn compute(exprs: &[Expr], datums: &[Datum<'_>]) -> Result<Row, EvalError> {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let values: Result<Vec<_>, _> = exprs.iter().map(|e| e.eval(datums, &cx)).collect();
    Ok(pack(&values?))
}

pub fn mfp(types: &[ScalarType], input: Bag, mfp: &Mfp) -> Bag {
    let mut out = Bag { errors: input.errors, ..Bag::default() };
    for (row, diff) in input.rows {
        with(types, &row, |datums| apply(mfp, datums, diff, &mut out));
    }
    out
}

pub fn apply(mfp: &Mfp, datums: &[Datum<'_>], diff: i64, out: &mut Bag) {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let mut datums = datums.to_vec();
    match mfp.evaluate(&mut datums, &cx) {
        Ok(true) => {
            let outputs: Vec<_> = mfp.projection.iter().map(|c| datums[*c]).collect();
            out.add(pack(&outputs), diff);
        }
        Ok(false) => {}
        Err(error) => {
            out.errors.insert(error);
        }
    }
}

/// Tables and bindings.
#[derive(Default)]
pub struct World {
    pub tables: BTreeMap<GlobalId, Bag>,
    pub locals: BTreeMap<u64, Bag>,
}

impl World {
    pub fn evaluate(&mut self, relation: &Relation) -> Bag {
        let (base, steps) = peel(relation);
        if !std::ptr::eq(base, relation) {
            let input = self.evaluate(base);
            return mfp(&base.typ().scalars(), input, &steps);
        }
        let bag = match relation {
            Relation::Constant { rows: Ok(rows), .. } => {
                let mut bag = Bag::default();
                rows.iter().for_each(|(row, diff)| bag.add(row.clone(), *diff));
                bag
            }
            Relation::Constant { rows: Err(e), .. } => {
                Bag { errors: BTreeSet::from([e.clone()]), ..Bag::default() }
            }
            Relation::Get { id: Id::Global(id), .. } => self.tables[id].clone(),
            Relation::Get { id: Id::Local(id), .. } => self.locals[id].clone(),
            Relation::Let { id, value, body } => {
                let value = self.evaluate(value);
                self.locals.insert(*id, value);
                self.evaluate(body)
            }
            Relation::LetRec { bindings, limit, body } => {
                self.let_rec(bindings, limit.as_ref(), body)
            }
            Relation::Join { .. } => self.join(relation),
            Relation::FlatMap { input, func, args } => {
                flat_map(&input.typ().scalars(), self.evaluate(input), func, args)
            }
            Relation::Reduce { input, group_key, aggregates } => {
                reduce(&input.typ().scalars(), self.evaluate(input), group_key, aggregates)
            }
            Relation::TopK { input, group_key, order, limit, offset, ties, rank } => {
                let of = (group_key.as_slice(), order.as_slice());
                let types = input.typ().scalars();
                top_k(&types, self.evaluate(input), of, (*limit, *offset, *ties), *rank)
            }
            Relation::Window { input, partition, order, calls } => {
                let types = input.typ().scalars();
                windows(&types, self.evaluate(input), partition, order, calls)
            }
            Relation::Negate { input } => {
                let mut bag = Bag::default();
                bag.extend(self.evaluate(input), -1);
                bag
            }
            Relation::Threshold { input } => threshold(self.evaluate(input)),
            Relation::Union { inputs } => {
                let mut bag = Bag::default();
                inputs.iter().for_each(|i| bag.extend(self.evaluate(i), 1));
                bag
            }
            other => panic!("peeled: {other:?}"),
        };
        check_type(relation, &bag);
        bag
    }

    /// Round after round, until nothing changes or the limit is there.
    fn let_rec(
        &mut self,
        bindings: &[Binding],
        limit: Option<&RoundLimit>,
        body: &Relation,
    ) -> Bag {
        bindings.iter().for_each(|b| {
            self.locals.insert(b.id, Bag::default());
        });
        let mut errors = BTreeSet::new();
        for round in 0.. {
            let next: Vec<Bag> = bindings.iter().map(|b| self.evaluate(&b.value)).collect();
            let same =
                bindings.iter().zip(&next).all(|(b, bag)| self.locals[&b.id].rows == bag.rows);
            if same || limit.is_some_and(|limit| round == limit.rounds) {
                errors.extend(next.into_iter().flat_map(|bag| bag.errors));
                break;
            }
            for (binding, bag) in bindings.iter().zip(next) {
                let rows = Bag { rows: bag.rows, ..Bag::default() };
                self.locals.insert(binding.id, rows);
            }
        }
        let mut bag = self.evaluate(body);
        bag.errors.extend(errors);
        bag
    }

    fn join(&mut self, relation: &Relation) -> Bag {
        let Relation::Join { inputs, equivalences } = relation else { panic!("a join") };
        let types = relation.typ().scalars();
        let mut out = Bag::default();
        let mut product: Vec<(Vec<(Row, usize)>, i64)> = vec![(Vec::new(), 1)];
        for (at, input) in inputs.iter().enumerate() {
            let bag = self.evaluate(input);
            out.errors.extend(bag.errors);
            product = product
                .iter()
                .flat_map(|(parts, n)| {
                    bag.rows.iter().map(move |(row, diff)| {
                        let mut parts = parts.clone();
                        parts.push((row.clone(), at));
                        (parts, n * diff)
                    })
                })
                .collect();
        }
        let of_inputs: Vec<Vec<ScalarType>> = inputs.iter().map(|i| i.typ().scalars()).collect();
        for (parts, diff) in product {
            let mut datums = Vec::new();
            for (row, at) in &parts {
                decode_values(&of_inputs[*at], row.bytes(), &mut datums);
            }
            let mut passes = true;
            for class in equivalences {
                match compute(&class.exprs, &datums) {
                    Ok(values) => {
                        let ty = class.exprs[0].typ(&relation.typ().columns).scalar;
                        let types = vec![ty; class.exprs.len()];
                        passes &= with(&types, &values, |values| {
                            values.iter().all(|v| v.compare_as(ty, &values[0]).is_eq())
                                && (class.null_safe || !values[0].is_null())
                        });
                    }
                    Err(error) => {
                        out.errors.insert(error);
                        passes = false;
                    }
                }
            }
            if passes {
                assert_eq!(datums.len(), types.len());
                out.add(pack(&datums), diff);
            }
        }
        out
    }
}

/// Each row with each that the function returns for it.
pub fn flat_map(types: &[ScalarType], input: Bag, func: &TableFunc, args: &[Expr]) -> Bag {
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let of_func: Vec<ScalarType> = func.columns().iter().map(|c| c.scalar).collect();
    let mut out = Bag { errors: input.errors, ..Bag::default() };
    for (row, diff) in input.rows {
        with(types, &row, |datums| {
            let values: Result<Vec<_>, _> = args.iter().map(|a| a.eval(datums, &cx)).collect();
            let rows = match values.and_then(|values| func.open(&values, &cx)) {
                Ok(rows) => rows,
                Err(error) => {
                    out.errors.insert(error);
                    return;
                }
            };
            for more in rows {
                match more {
                    Ok(more) => with(&of_func, &more, |more| {
                        out.add(pack(&[datums, more].concat()), diff);
                    }),
                    Err(error) => {
                        out.errors.insert(error);
                    }
                }
            }
        });
    }
    out
}

pub fn threshold(mut bag: Bag) -> Bag {
    bag.rows.retain(|_, diff| *diff > 0);
    bag
}

fn key_of(types: &[ScalarType], row: &Row) -> Vec<u8> {
    let mut key = Vec::new();
    with(types, row, |datums| encode_key(KeyMode::NullSafe, types, datums, &mut key));
    key
}

pub fn reduce(types: &[ScalarType], input: Bag, key: &[Expr], aggregates: &[Aggregate]) -> Bag {
    let columns: Vec<_> = types.iter().map(|t| ColumnType::nullable(*t)).collect();
    let key_types: Vec<_> = key.iter().map(|e| e.typ(&columns).scalar).collect();
    let mut out = Bag { errors: input.errors, ..Bag::default() };
    type Group = (Row, Vec<(Row, i64)>);
    let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
    for (row, diff) in input.rows {
        assert!(diff > 0, "a group has no negative rows");
        match with(types, &row, |datums| compute(key, datums)) {
            Ok(own) => {
                let group = groups.entry(key_of(&key_types, &own));
                group.or_insert((own, Vec::new())).1.push((row, diff));
            }
            Err(error) => {
                out.errors.insert(error);
            }
        }
    }
    for (own, rows) in groups.into_values() {
        let values: Result<Vec<(Row, ScalarType)>, _> =
            aggregates.iter().map(|a| aggregate(types, &rows, a)).collect();
        match values {
            Ok(values) => {
                let mut datums = Vec::new();
                decode_values(&key_types, own.bytes(), &mut datums);
                for (value, ty) in &values {
                    decode_values(&[*ty], value.bytes(), &mut datums);
                }
                out.add(pack(&datums), 1);
            }
            Err(error) => {
                out.errors.insert(error);
            }
        }
    }
    out
}

fn aggregate(
    types: &[ScalarType],
    rows: &[(Row, i64)],
    aggregate: &Aggregate,
) -> Result<(Row, ScalarType), EvalError> {
    let ty = aggregate.func.output_type().scalar;
    let columns: Vec<ColumnType> = types.iter().map(|ty| ColumnType::nullable(*ty)).collect();
    let (arena, settings) = (Bump::new(), FormatSettings::default());
    let cx = EvalContext { arena: &arena, settings: &settings };
    let mut fold = Fold::new(aggregate, aggregate.arg_types(&columns));
    for (row, diff) in rows {
        let mut datums = Vec::new();
        decode_values(types, row.bytes(), &mut datums);
        fold.add(&datums, *diff, &cx)?;
    }
    Ok((pack(&[fold.finish(&cx)?]), ty))
}

pub fn top_k(
    types: &[ScalarType],
    input: Bag,
    (group, order): (&[usize], &[ColumnOrder]),
    (limit, offset, ties): (Option<u64>, u64, bool),
    rank: bool,
) -> Bag {
    let group_types: Vec<_> = group.iter().map(|c| types[*c]).collect();
    let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    for (row, diff) in input.rows {
        let own = with(types, &row, |d| pack(&group.iter().map(|c| d[*c]).collect::<Vec<_>>()));
        let rows = groups.entry(key_of(&group_types, &own)).or_default();
        rows.extend((0..diff).map(|_| row.clone()));
    }
    let mut out = Bag { errors: input.errors, ..Bag::default() };
    for mut rows in groups.into_values() {
        rows.sort_by(|a, b| with(types, a, |a| with(types, b, |b| compare(order, a, b))));
        let mut limit = limit.map_or(usize::MAX, |n| n as usize);
        let end = |limit: usize| (offset as usize).saturating_add(limit);
        while ties
            && limit > 0
            && end(limit) < rows.len()
            && peers(types, order, &rows[end(limit) - 1], &rows[end(limit)])
        {
            limit += 1;
        }
        for (at, row) in rows.iter().enumerate().skip(offset as usize).take(limit) {
            with(types, row, |datums| {
                let mut datums = datums.to_vec();
                datums.extend(rank.then_some(Datum::Int8(at as i64 + 1)));
                out.add(pack(&datums), 1);
            });
        }
    }
    out
}

fn peers(types: &[ScalarType], order: &[ColumnOrder], a: &Row, b: &Row) -> bool {
    let equal = |a: &[Datum<'_>], b: &[Datum<'_>]| {
        order.iter().all(|o| a[o.column].compare(&b[o.column]).is_eq())
    };
    with(types, a, |a| with(types, b, |b| equal(a, b)))
}

pub fn windows(
    types: &[ScalarType],
    input: Bag,
    partition: &[usize],
    order: &[ColumnOrder],
    calls: &[WindowCall],
) -> Bag {
    let partition_types: Vec<_> = partition.iter().map(|c| types[*c]).collect();
    let mut partitions: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
    for (row, diff) in input.rows {
        let own = with(types, &row, |d| pack(&partition.iter().map(|c| d[*c]).collect::<Vec<_>>()));
        let rows = partitions.entry(key_of(&partition_types, &own)).or_default();
        rows.extend((0..diff).map(|_| row.clone()));
    }
    let mut out = Bag { errors: input.errors, ..Bag::default() };
    let single = match *order {
        [ColumnOrder { column, descending, nulls_first }] => {
            Some(OrderColumn { column, descending, nulls_first })
        }
        _ => None,
    };
    for mut rows in partitions.into_values() {
        rows.sort_by(|a, b| with(types, a, |a| with(types, b, |b| compare(order, a, b))));
        match append(calls, types, &rows, single, |a, b| peers(types, order, a, b)) {
            Ok(rows) => rows.into_iter().for_each(|row| out.add(row, 1)),
            Err(error) => {
                out.errors.insert(error);
            }
        }
    }
    out
}

fn compare(order: &[ColumnOrder], a: &[Datum<'_>], b: &[Datum<'_>]) -> Ordering {
    for by in order {
        let (x, y) = (&a[by.column], &b[by.column]);
        let nulls = match (x.is_null(), y.is_null()) {
            (true, true) => continue,
            (true, false) => Some(by.nulls_first),
            (false, true) => Some(!by.nulls_first),
            _ => None,
        };
        let ordering = match nulls {
            Some(true) => Ordering::Less,
            Some(false) => Ordering::Greater,
            None if by.descending => y.compare(x),
            None => x.compare(y),
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    a.cmp(b)
}

/// What the type says is true.
fn check_type(relation: &Relation, bag: &Bag) {
    let ty = relation.typ();
    let types = ty.scalars();
    assert_eq!(ty.arity(), relation.arity());
    for key in &ty.keys {
        let mut seen = BTreeSet::new();
        for (row, diff) in &bag.rows {
            let own = with(&types, row, |d| pack(&key.iter().map(|c| d[*c]).collect::<Vec<_>>()));
            assert!(*diff == 1 && seen.insert(own), "key {key:?} of {relation:?}");
        }
    }
    for row in bag.rows.keys() {
        with(&types, row, |datums| {
            for (datum, ty) in datums.iter().zip(&ty.columns) {
                assert!(ty.nullable || !datum.is_null(), "NULL in {relation:?}");
            }
        });
    }
}
