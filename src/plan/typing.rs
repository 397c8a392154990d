//! The type of a [`Relation`]: its columns, whether they can be NULL, and which are unique.
//!
//! What is said is always true but not always all: a column said to be nullable may have no NULL,
//! and a relation may have more keys. "Unique" is by SQL equality, and a relation with a key has
//! no row more than once, and none with a negative count.

use std::collections::BTreeSet;

use crate::expr::aggregate::{AggFunc, Aggregate};
use crate::expr::scalar::Expr;
use crate::expr::table::TableFunc;
use crate::expr::window::call::{WindowCall, WindowFunc};
use crate::plan::relation::{Equivalence, Relation, RelationType};
use crate::plan::visit::grow;
use crate::repr::{ColumnType, ScalarType};

/// More keys than this are not kept of one relation.
const KEYS_MAX: usize = 6;

impl RelationType {
    /// A type without keys.
    pub fn new(columns: Vec<ColumnType>) -> RelationType {
        RelationType { columns, keys: Vec::new() }
    }

    /// The number of columns.
    pub fn arity(&self) -> usize {
        self.columns.len()
    }

    /// The scalar types of the columns.
    pub fn scalars(&self) -> Vec<ScalarType> {
        self.columns.iter().map(|c| c.scalar).collect()
    }

    /// Whether no two rows agree on these columns.
    pub fn is_unique(&self, columns: &[usize]) -> bool {
        self.keys.iter().any(|key| key.iter().all(|c| columns.contains(c)))
    }

    /// Adds a key, unless a part of it is known to be one; forgets keys that hold it.
    fn add_key(&mut self, mut key: Vec<usize>) {
        key.sort_unstable();
        key.dedup();
        if !self.is_unique(&key) {
            self.keys.retain(|old| !key.iter().all(|c| old.contains(c)));
            if self.keys.len() < KEYS_MAX {
                self.keys.push(key);
            }
        }
    }
}

impl Relation {
    /// The number of columns.
    pub fn arity(&self) -> usize {
        grow(|| match self {
            Relation::Constant { ty, .. } | Relation::Get { ty, .. } => ty.arity(),
            Relation::Let { body, .. } | Relation::LetRec { body, .. } => body.arity(),
            Relation::Project { outputs, .. } => outputs.len(),
            Relation::Map { input, exprs } => input.arity() + exprs.len(),
            Relation::FlatMap { input, func, .. } => input.arity() + func.arity(),
            Relation::Filter { input, .. }
            | Relation::Negate { input }
            | Relation::Threshold { input } => input.arity(),
            Relation::Join { inputs, .. } => inputs.iter().map(Relation::arity).sum(),
            Relation::Reduce { group_key, aggregates, .. } => group_key.len() + aggregates.len(),
            Relation::TopK { input, rank, .. } => input.arity() + usize::from(*rank),
            Relation::Window { input, calls, .. } => input.arity() + calls.len(),
            Relation::Union { inputs } => inputs[0].arity(),
        })
    }

    /// The type.
    pub fn typ(&self) -> RelationType {
        grow(|| match self {
            Relation::Constant { ty, .. } | Relation::Get { ty, .. } => ty.clone(),
            Relation::Let { body, .. } | Relation::LetRec { body, .. } => body.typ(),
            Relation::Project { input, outputs } => project(input.typ(), outputs),
            Relation::Map { input, exprs } => {
                let mut ty = input.typ();
                for expr in exprs {
                    ty.columns.push(expr.typ(&ty.columns));
                }
                ty
            }
            Relation::FlatMap { input, func, .. } => flat_map(input.typ(), func),
            Relation::Filter { input, predicates } => filter(input.typ(), predicates),
            Relation::Join { inputs, equivalences } => {
                join(inputs.iter().map(Relation::typ).collect(), equivalences)
            }
            Relation::Reduce { input, group_key, aggregates } => {
                reduce(&input.typ(), group_key, aggregates)
            }
            Relation::TopK { input, group_key, limit, ties, rank, .. } => {
                let mut ty = input.typ();
                if *rank {
                    ty.columns.push(ColumnType::not_null(ScalarType::Int8));
                    let mut key = group_key.clone();
                    key.push(ty.arity() - 1);
                    ty.add_key(key);
                }
                if limit.is_some_and(|n| n == 0 || n == 1 && !*ties) {
                    ty.add_key(group_key.clone());
                }
                ty
            }
            Relation::Window { input, partition, calls, .. } => {
                window(input.typ(), partition, calls)
            }
            Relation::Negate { input } => RelationType::new(input.typ().columns),
            Relation::Threshold { input } => input.typ(),
            Relation::Union { inputs } => union(inputs.iter().map(Relation::typ).collect()),
        })
    }
}

/// Adds the columns that are not NULL where the expression is not NULL.
pub fn strict_columns(expr: &Expr, out: &mut BTreeSet<usize>) {
    match expr {
        Expr::Column(c) => {
            out.insert(*c);
        }
        Expr::Call { func, args } if func.strict => {
            args.iter().for_each(|arg| strict_columns(arg, out));
        }
        // NULL converts to NULL.
        Expr::Cast { input, .. } => strict_columns(input, out),
        _ => {}
    }
}

/// Adds the columns that are not NULL where the predicate is true.
pub fn required_columns(predicate: &Expr, out: &mut BTreeSet<usize>) {
    match predicate {
        Expr::And(parts) => parts.iter().for_each(|part| required_columns(part, out)),
        Expr::Or(parts) => {
            let mut of_parts = parts.iter().map(|part| {
                let mut columns = BTreeSet::new();
                required_columns(part, &mut columns);
                columns
            });
            let first = of_parts.next().unwrap_or_default();
            out.extend(of_parts.fold(first, |all, one| &all & &one));
        }
        Expr::Call { args, .. } => match (predicate.negated(), args.as_slice()) {
            (Some(Expr::IsNull(tested)), _) => strict_columns(tested, out),
            _ => strict_columns(predicate, out),
        },
        other => strict_columns(other, out),
    }
}

/// The column and the literal that a predicate makes equal.
fn bound_column(predicate: &Expr) -> Option<usize> {
    match predicate.equated()? {
        (Expr::Column(c), Expr::Literal(_)) | (Expr::Literal(_), Expr::Column(c)) => Some(*c),
        _ => None,
    }
}

fn project(input: RelationType, outputs: &[usize]) -> RelationType {
    let mut ty = RelationType::new(outputs.iter().map(|c| input.columns[*c]).collect());
    for key in &input.keys {
        let places = key.iter().map(|c| outputs.iter().position(|o| o == c));
        if let Some(key) = places.collect() {
            ty.add_key(key);
        }
    }
    ty
}

/// Rows of one input row are told apart by their number alone.
fn flat_map(mut ty: RelationType, func: &TableFunc) -> RelationType {
    ty.columns.extend(func.columns());
    let ordinal = ty.arity() - 1;
    for mut key in std::mem::take(&mut ty.keys) {
        if func.ordinality {
            key.push(ordinal);
            ty.add_key(key);
        }
    }
    ty
}

fn filter(mut ty: RelationType, predicates: &[Expr]) -> RelationType {
    let mut required = BTreeSet::new();
    predicates.iter().for_each(|p| required_columns(p, &mut required));
    for column in required {
        ty.columns[column].nullable = false;
    }
    let bound: BTreeSet<usize> = predicates.iter().filter_map(bound_column).collect();
    if !bound.is_empty() {
        for key in std::mem::take(&mut ty.keys) {
            ty.add_key(key.into_iter().filter(|c| !bound.contains(c)).collect());
        }
    }
    ty
}

fn reduce(input: &RelationType, group_key: &[Expr], aggregates: &[Aggregate]) -> RelationType {
    let mut ty = RelationType::new(group_key.iter().map(|e| e.typ(&input.columns)).collect());
    for aggregate in aggregates {
        let mut column = aggregate.func.output_type();
        // A group has a row, so that there is something to aggregate unless it is left out.
        let strict = &aggregate.args[..aggregate.func.strict_args()];
        let always = aggregate.filter.is_none()
            && !matches!(aggregate.func, AggFunc::CountStar | AggFunc::Count)
            && aggregate.func.answers_when_given()
            && !strict.iter().any(|arg| arg.typ(&input.columns).nullable);
        column.nullable &= !always;
        ty.columns.push(column);
    }
    ty.add_key((0..group_key.len()).collect());
    for key in &input.keys {
        let place = |c: &usize| group_key.iter().position(|e| *e == Expr::Column(*c));
        if let Some(key) = key.iter().map(place).collect() {
            ty.add_key(key);
        }
    }
    ty
}

fn window(mut ty: RelationType, partition: &[usize], calls: &[WindowCall]) -> RelationType {
    let input = ty.columns.clone();
    for call in calls {
        ty.columns.push(call.output_type(&input));
        if call.func == WindowFunc::RowNumber {
            let number = ty.arity() - 1;
            ty.add_key(partition.iter().copied().chain([number]).collect());
        }
    }
    ty
}

fn union(inputs: Vec<RelationType>) -> RelationType {
    let single = inputs.len() == 1;
    let mut inputs = inputs.into_iter();
    let mut ty = inputs.next().expect("a union has an input");
    if !single {
        ty.keys.clear();
    }
    for input in inputs {
        for (column, other) in ty.columns.iter_mut().zip(input.columns) {
            column.nullable |= other.nullable;
            if column.typmod != other.typmod {
                column.typmod = -1;
            }
        }
    }
    ty
}

fn join(inputs: Vec<RelationType>, equivalences: &[Equivalence]) -> RelationType {
    let keys = join_keys(&inputs, equivalences);
    let mut ty = RelationType::new(inputs.into_iter().flat_map(|i| i.columns).collect());
    let mut required = BTreeSet::new();
    for class in equivalences.iter().filter(|class| !class.null_safe) {
        class.exprs.iter().for_each(|e| strict_columns(e, &mut required));
    }
    for column in required {
        ty.columns[column].nullable = false;
    }
    for key in keys {
        ty.add_key(key);
    }
    ty
}

/// Keys of a join: one of each input together, less those of inputs whose row follows from the
/// others' rows.
fn join_keys(inputs: &[RelationType], equivalences: &[Equivalence]) -> Vec<Vec<usize>> {
    if inputs.iter().any(|i| i.keys.is_empty()) {
        return Vec::new();
    }
    let starts: Vec<usize> = inputs
        .iter()
        .scan(0, |at, i| {
            *at += i.arity();
            Some(*at - i.arity())
        })
        .collect();
    let full: BTreeSet<usize> = (0..inputs.len()).collect();
    let shrink = |order: &mut dyn Iterator<Item = usize>| {
        let mut kept = full.clone();
        for input in order {
            kept.remove(&input);
            if determined(&kept, inputs, &starts, equivalences) != full {
                kept.insert(input);
            }
        }
        kept
    };
    let mut found = vec![shrink(&mut (0..inputs.len()).rev()), shrink(&mut (0..inputs.len()))];
    found.dedup();
    let mut keys = Vec::new();
    for kept in found {
        let mut of_kept = vec![Vec::new()];
        for input in kept {
            of_kept = of_kept
                .iter()
                .flat_map(|head: &Vec<usize>| {
                    inputs[input].keys.iter().map(move |key| (head.clone(), key))
                })
                .map(|(mut head, key)| {
                    head.extend(key.iter().map(|c| c + starts[input]));
                    head
                })
                .take(KEYS_MAX)
                .collect();
        }
        keys.extend(of_kept);
    }
    keys
}

/// The inputs whose row is known once those of `kept` are.
fn determined(
    kept: &BTreeSet<usize>,
    inputs: &[RelationType],
    starts: &[usize],
    equivalences: &[Equivalence],
) -> BTreeSet<usize> {
    let mut rows = kept.clone();
    let mut columns = BTreeSet::new();
    // Inputs without columns start where the next one does, which then is found.
    let owner = |column: usize| starts.partition_point(|s| *s <= column) - 1;
    loop {
        let before = (rows.len(), columns.len());
        for class in equivalences {
            // A row that is known gives the exact values; a column only what is equal to them.
            let is_known = class.exprs.iter().any(|e| {
                matches!(e, Expr::Column(c) if columns.contains(c))
                    || e.columns().iter().all(|c| rows.contains(&owner(*c)))
            });
            if is_known {
                columns.extend(class.exprs.iter().filter_map(|e| match e {
                    Expr::Column(c) => Some(*c),
                    _ => None,
                }));
            }
        }
        for (input, ty) in inputs.iter().enumerate() {
            let known = |c: &usize| columns.contains(&(c + starts[input]));
            if ty.keys.iter().any(|key| key.iter().all(known)) {
                rows.insert(input);
            }
        }
        if before == (rows.len(), columns.len()) {
            return rows;
        }
    }
}
