//! What a relation contains, worked out the plain way: the other side of comparisons in tests.

use std::collections::BTreeMap;

use bumpalo::Bump;

use crate::expr::aggregate::Aggregate;
use crate::expr::aggregate::fold::Fold;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::WindowCall;
use crate::expr::window::partition::OrderColumn;
use crate::expr::window::testing::append;
use crate::plan::relation::{Binding, ColumnOrder, Equivalence, Id, Relation};
use crate::repr::key::{KeyMode, encode_key};
use crate::repr::settings::FormatSettings;
use crate::repr::value::{decode_values, pack};
use crate::repr::{ColumnType, Datum, GlobalId, Row, ScalarType};

/// Rows and how often each occurs.
pub type Rows = BTreeMap<Row, i64>;

/// The key that a group puts out, and its rows.
type Group = (Row, Vec<(Row, i64)>);

/// An interpreter over tables.
pub struct Interpreter {
    /// The tables.
    pub tables: BTreeMap<GlobalId, Rows>,
    locals: BTreeMap<u64, Rows>,
    settings: FormatSettings,
}

impl Interpreter {
    /// An interpreter over these tables.
    pub fn new(tables: BTreeMap<GlobalId, Rows>) -> Interpreter {
        Interpreter { tables, locals: BTreeMap::new(), settings: FormatSettings::default() }
    }

    /// The rows of a relation.
    pub fn rows(&mut self, relation: &Relation) -> Result<Rows, EvalError> {
        let mut out = Rows::new();
        match relation {
            Relation::Constant { rows, .. } => {
                for (row, diff) in rows.clone()? {
                    *out.entry(row).or_default() += diff;
                }
            }
            Relation::Get { id: Id::Global(id), .. } => return Ok(self.tables[id].clone()),
            Relation::Get { id: Id::Local(id), .. } => return Ok(self.locals[id].clone()),
            Relation::Let { id, value, body } => {
                let value = self.rows(value)?;
                self.locals.insert(*id, value);
                return self.rows(body);
            }
            Relation::Project { input, outputs } => {
                out = self.each(input, |datums, _| {
                    let row: Vec<Datum<'_>> = outputs.iter().map(|&c| datums[c]).collect();
                    Ok(Some(pack(&row)))
                })?;
            }
            Relation::Map { input, exprs } => {
                out = self.each(input, |datums, cx| {
                    let mut row = datums.to_vec();
                    for expr in exprs {
                        // The value lives as long as the arena, so what it is computed from must.
                        row.push(cx.arena.alloc(expr.clone()).eval(&row, cx)?);
                    }
                    Ok(Some(pack(&row)))
                })?;
            }
            Relation::Filter { input, predicates } => {
                let all = Expr::And(predicates.clone());
                out = self.each(input, |datums, cx| {
                    let all = cx.arena.alloc(all.clone());
                    let keep = matches!(all.eval(datums, cx)?, Datum::Bool(true));
                    Ok(keep.then(|| pack(datums)))
                })?;
            }
            Relation::LetRec { bindings, body, .. } => return self.let_rec(bindings, body),
            Relation::FlatMap { input, func, args } => out = self.flat_map(input, func, args)?,
            Relation::Join { inputs, equivalences } => {
                let columns = relation.typ().columns;
                return self.join(inputs, equivalences, &columns);
            }
            Relation::Reduce { input, group_key, aggregates } => {
                return self.reduce(input, group_key, aggregates);
            }
            Relation::TopK { input, group_key, order, limit, offset, ties, rank } => {
                return self.top(input, group_key, order, (*limit, *offset, *ties), *rank);
            }
            Relation::Window { input, partition, order, calls } => {
                return self.windows(input, partition, order, calls);
            }
            Relation::Negate { input } => {
                out = self.rows(input)?.into_iter().map(|(row, n)| (row, -n)).collect();
            }
            Relation::Threshold { input } => {
                out = self.rows(input)?.into_iter().filter(|(_, n)| *n > 0).collect();
            }
            Relation::Union { inputs } => {
                for input in inputs {
                    for (row, diff) in self.rows(input)? {
                        *out.entry(row).or_default() += diff;
                    }
                }
            }
        }
        out.retain(|_, n| *n != 0);
        Ok(out)
    }

    fn let_rec(&mut self, bindings: &[Binding], body: &Relation) -> Result<Rows, EvalError> {
        for binding in bindings {
            self.locals.insert(binding.id, Rows::new());
        }
        loop {
            let next = bindings.iter().map(|binding| self.rows(&binding.value));
            let next = next.collect::<Result<Vec<_>, _>>()?;
            let mut changed = false;
            for (binding, rows) in bindings.iter().zip(next) {
                let before = self.locals.insert(binding.id, rows.clone());
                changed |= before != Some(rows);
            }
            if !changed {
                return self.rows(body);
            }
        }
    }

    fn flat_map(
        &mut self,
        input: &Relation,
        func: &TableFunc,
        args: &[Expr],
    ) -> Result<Rows, EvalError> {
        let of_func: Vec<ScalarType> = func.columns().iter().map(|c| c.scalar).collect();
        let types = input.typ().scalars();
        let (arena, settings) = (Bump::new(), FormatSettings::default());
        let cx = EvalContext { arena: &arena, settings: &settings };
        let mut out = Rows::new();
        for (row, diff) in self.rows(input)? {
            let mut datums = vec![];
            decode_values(&types, row.bytes(), &mut datums);
            let values = args.iter().map(|arg| arg.eval(&datums, &cx));
            for more in func.open(&values.collect::<Result<Vec<_>, _>>()?, &cx)? {
                let more = more?;
                let mut whole = datums.clone();
                decode_values(&of_func, more.bytes(), &mut whole);
                *out.entry(pack(&whole)).or_default() += diff;
            }
        }
        Ok(out)
    }

    fn join(
        &mut self,
        inputs: &[Relation],
        equivalences: &[Equivalence],
        columns: &[ColumnType],
    ) -> Result<Rows, EvalError> {
        let mut product: Vec<(Row, i64)> = vec![(Row::new(&[]), 1)];
        let mut types: Vec<ScalarType> = vec![];
        for input in inputs {
            let rows = self.rows(input)?;
            let right = input.typ().scalars();
            let mut next = vec![];
            for (a, n) in &product {
                for (b, m) in &rows {
                    let mut datums = vec![];
                    decode_values(&types, a.bytes(), &mut datums);
                    decode_values(&right, b.bytes(), &mut datums);
                    next.push((pack(&datums), n * m));
                }
            }
            types.extend(right);
            product = next;
        }
        let mut out = Rows::new();
        'rows: for (row, diff) in product {
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &self.settings };
            let mut datums = vec![];
            decode_values(&types, row.bytes(), &mut datums);
            for class in equivalences {
                let mut keys = vec![];
                for expr in &class.exprs {
                    let ty = expr.typ(columns).scalar;
                    let value = expr.eval(&datums, &cx)?;
                    if value.is_null() && !class.null_safe {
                        continue 'rows;
                    }
                    keys.push(key(&[ty], &[value]));
                }
                if keys.iter().any(|k| *k != keys[0]) {
                    continue 'rows;
                }
            }
            *out.entry(row).or_default() += diff;
        }
        out.retain(|_, n| *n != 0);
        Ok(out)
    }

    fn each(
        &mut self,
        input: &Relation,
        f: impl for<'x> Fn(&[Datum<'x>], &EvalContext<'x>) -> Result<Option<Row>, EvalError>,
    ) -> Result<Rows, EvalError> {
        let types = input.typ().scalars();
        let rows = self.rows(input)?;
        let mut out = Rows::new();
        for (row, diff) in rows {
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &self.settings };
            let bytes = arena.alloc_slice_copy(row.bytes());
            let mut datums = vec![];
            decode_values(&types, bytes, &mut datums);
            if let Some(row) = f(&datums, &cx)? {
                *out.entry(row).or_default() += diff;
            }
        }
        Ok(out)
    }

    fn reduce(
        &mut self,
        input: &Relation,
        group_key: &[Expr],
        aggregates: &[Aggregate],
    ) -> Result<Rows, EvalError> {
        let ty = input.typ();
        let types = ty.scalars();
        let key_types: Vec<ScalarType> =
            group_key.iter().map(|e| e.typ(&ty.columns).scalar).collect();
        let mut groups: BTreeMap<Vec<u8>, Group> = BTreeMap::new();
        for (row, diff) in self.rows(input)? {
            assert!(diff > 0, "a negative count met a Reduce");
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &self.settings };
            let mut datums = vec![];
            decode_values(&types, row.bytes(), &mut datums);
            let mut values = vec![];
            for expr in group_key {
                values.push(expr.eval(&datums, &cx)?);
            }
            let original = pack(&values);
            let group = groups
                .entry(key(&key_types, &values))
                .or_insert_with(|| (original.clone(), vec![]));
            group.0 = group.0.clone().min(original);
            group.1.push((row, diff));
        }
        let mut out = Rows::new();
        for (original, rows) in groups.into_values() {
            let arena = Bump::new();
            let cx = EvalContext { arena: &arena, settings: &self.settings };
            let mut datums = vec![];
            decode_values(&key_types, original.bytes(), &mut datums);
            for aggregate in aggregates {
                let mut fold = Fold::new(aggregate, aggregate.arg_types(&ty.columns));
                for (row, diff) in &rows {
                    let mut datums = vec![];
                    decode_values(&types, row.bytes(), &mut datums);
                    fold.add(&datums, *diff, &cx)?;
                }
                datums.push(fold.finish(&cx)?);
            }
            *out.entry(pack(&datums)).or_default() += 1;
        }
        Ok(out)
    }

    fn top(
        &mut self,
        input: &Relation,
        group_key: &[usize],
        order: &[ColumnOrder],
        (limit, offset, ties): (Option<u64>, u64, bool),
        rank: bool,
    ) -> Result<Rows, EvalError> {
        let types = input.typ().scalars();
        let key_types: Vec<ScalarType> = group_key.iter().map(|&c| types[c]).collect();
        let mut groups: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
        for (row, diff) in self.rows(input)? {
            let mut datums = vec![];
            decode_values(&types, row.bytes(), &mut datums);
            let values: Vec<Datum<'_>> = group_key.iter().map(|&c| datums[c]).collect();
            let group = groups.entry(key(&key_types, &values)).or_default();
            group.extend((0..diff).map(|_| row.clone()));
        }
        let mut out = Rows::new();
        for mut rows in groups.into_values() {
            rows.sort_by(|a, b| compare_rows(&types, order, a, b));
            let mut wanted = limit.map_or(usize::MAX, |limit| limit as usize);
            let of = |row: &Row| {
                let mut datums = vec![];
                decode_values(&types, row.bytes(), &mut datums);
                let values: Vec<_> = order.iter().map(|o| datums[o.column]).collect();
                let order_types: Vec<_> = order.iter().map(|o| types[o.column]).collect();
                key(&order_types, &values)
            };
            let end = |wanted: usize| (offset as usize).saturating_add(wanted);
            while ties
                && wanted > 0
                && end(wanted) < rows.len()
                && of(&rows[end(wanted)]) == of(&rows[end(wanted) - 1])
            {
                wanted += 1;
            }
            let numbered = rows.into_iter().enumerate().skip(offset as usize).take(wanted);
            for (number, row) in numbered {
                let mut datums = vec![];
                decode_values(&types, row.bytes(), &mut datums);
                if rank {
                    datums.push(Datum::Int8(number as i64 + 1));
                }
                *out.entry(pack(&datums)).or_default() += 1;
            }
        }
        Ok(out)
    }

    fn windows(
        &mut self,
        input: &Relation,
        partition: &[usize],
        order: &[ColumnOrder],
        calls: &[WindowCall],
    ) -> Result<Rows, EvalError> {
        let types = input.typ().scalars();
        let key_types: Vec<ScalarType> = partition.iter().map(|&c| types[c]).collect();
        let mut partitions: BTreeMap<Vec<u8>, Vec<Row>> = BTreeMap::new();
        for (row, diff) in self.rows(input)? {
            let mut datums = vec![];
            decode_values(&types, row.bytes(), &mut datums);
            let values: Vec<Datum<'_>> = partition.iter().map(|&c| datums[c]).collect();
            let rows = partitions.entry(key(&key_types, &values)).or_default();
            rows.extend((0..diff).map(|_| row.clone()));
        }
        let single = match *order {
            [ColumnOrder { column, descending, nulls_first }] => {
                Some(OrderColumn { column, descending, nulls_first })
            }
            _ => None,
        };
        let mut out = Rows::new();
        for mut rows in partitions.into_values() {
            rows.sort_by(|a, b| compare_rows(&types, order, a, b));
            let order_types: Vec<ScalarType> = order.iter().map(|o| types[o.column]).collect();
            let is_peer = |a: &Row, b: &Row| {
                let of = |row: &Row| {
                    let mut datums = vec![];
                    decode_values(&types, row.bytes(), &mut datums);
                    let values: Vec<_> = order.iter().map(|o| datums[o.column]).collect();
                    key(&order_types, &values)
                };
                of(a) == of(b)
            };
            for row in append(calls, &types, &rows, single, is_peer)? {
                *out.entry(row).or_default() += 1;
            }
        }
        Ok(out)
    }
}

/// The order of two rows: by `order`, then by all columns.
pub fn compare_rows(
    types: &[ScalarType],
    order: &[ColumnOrder],
    a: &Row,
    b: &Row,
) -> std::cmp::Ordering {
    let (mut x, mut y) = (vec![], vec![]);
    decode_values(types, a.bytes(), &mut x);
    decode_values(types, b.bytes(), &mut y);
    for item in order {
        let (x, y) = (&x[item.column], &y[item.column]);
        let by = match (x.is_null(), y.is_null()) {
            (true, true) => continue,
            (true, false) if item.nulls_first => std::cmp::Ordering::Less,
            (true, false) => std::cmp::Ordering::Greater,
            (false, true) if item.nulls_first => std::cmp::Ordering::Greater,
            (false, true) => std::cmp::Ordering::Less,
            (false, false) if item.descending => y.compare(x),
            (false, false) => x.compare(y),
        };
        if by.is_ne() {
            return by;
        }
    }
    let rest = x.iter().zip(&y).map(|(x, y)| x.compare(y));
    rest.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
}

fn key(types: &[ScalarType], datums: &[Datum<'_>]) -> Vec<u8> {
    let mut out = vec![];
    encode_key(KeyMode::NullSafe, types, datums, &mut out);
    out
}
