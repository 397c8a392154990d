//! Columns that can fail are computed as late as can be.
//!
//! PostgreSQL takes the expressions of a derived table, a view or a common table expression that is
//! read once into the query that reads it: `SELECT 1 / a AS x` there is computed behind the joins
//! and conditions around it, for the rows that they leave, and only where somebody reads it. So
//! what joins or restricts a plan takes such columns off first ([`Plan::without_late`]), and puts
//! them back behind ([`Late::restore`]). Columns that a condition reads are computed before it.

use std::collections::{BTreeMap, BTreeSet};

use crate::expr::scalar::Expr;
use crate::plan::relation::Relation;
use crate::repr::ColumnType;
use crate::sql::bind::relation::{Plan, Typed};

/// Which columns of a side of a join may be late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// All rows of it that are shown are rows of it.
    Kept,
    /// Some rows have NULL for it: what is computed of NULLs must be NULL.
    Padded,
}

/// Where a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// A column of the plan.
    Early(usize),
    /// One of the late expressions.
    Late(usize),
}

/// The columns that an expression reads.
type Places = BTreeMap<usize, Place>;

/// Columns that a plan is to have, and has not yet.
#[derive(Debug, Default)]
pub struct Late {
    /// Expressions, and where the columns are that they read: in the plan, or expressions before.
    exprs: Vec<(Expr, Places)>,
    /// The columns that there were, and their types.
    outputs: Vec<(Place, ColumnType)>,
}

/// A relation without what can be late, while it is taken apart.
struct Taken {
    relation: Relation,
    arity: usize,
    exprs: Vec<(Expr, Places)>,
    outputs: Vec<Place>,
}

impl Plan {
    /// The plan without the columns that can fail and that nobody reads before: `read` are those
    /// that somebody does, where the plan's first column is number `start`.
    pub fn without_late(self, read: &BTreeSet<usize>, start: usize, side: Side) -> (Plan, Late) {
        if !may_be_late(&self.relation) {
            let late = Late::nothing(&self);
            return (self, late);
        }
        let own = read.range(start..start + self.arity()).map(|column| column - start).collect();
        let taken = take(self.relation.clone(), &own, side);
        if taken.exprs.is_empty() {
            let late = Late::nothing(&self);
            return (self, late);
        }
        let types = taken.relation.typ().columns;
        let mut read: BTreeSet<Place> = taken.outputs.iter().copied().collect();
        for (_, places) in taken.exprs.iter() {
            read.extend(places.values());
        }
        let columns = read.into_iter().filter_map(|place| match place {
            Place::Early(column) => Some(column),
            Place::Late(_) => None,
        });
        let columns: Vec<usize> = columns.collect();
        let moved = |place: Place| match place {
            Place::Early(column) => {
                Place::Early(columns.binary_search(&column).expect("it is among those read"))
            }
            late => late,
        };
        let plan = Plan { relation: taken.relation, types }.project(columns.clone());
        let mut exprs = taken.exprs;
        for place in exprs.iter_mut().flat_map(|(_, places)| places.values_mut()) {
            *place = moved(*place);
        }
        let outputs = taken.outputs.into_iter().map(moved).zip(self.types.iter().copied());
        let late = Late { exprs, outputs: outputs.collect() };
        (plan, late)
    }
}

impl Late {
    /// All columns of a plan, none of them late.
    pub fn nothing(plan: &Plan) -> Late {
        let outputs = plan.types.iter().enumerate();
        let outputs = outputs.map(|(column, &ty)| (Place::Early(column), ty)).collect();
        Late { exprs: vec![], outputs }
    }

    /// How many columns there were.
    pub fn arity(&self) -> usize {
        self.outputs.len()
    }

    /// The column that was this one, which is not late.
    pub fn column(&self, column: usize) -> usize {
        match self.outputs[column].0 {
            Place::Early(column) => column,
            Place::Late(_) => unreachable!("what a condition reads is early"),
        }
    }

    /// Computes what is late of several parts of a plan, each with the number of its first column.
    /// The result has the columns that the parts had, one part after the other.
    pub fn restore(plan: Plan, parts: Vec<(usize, Late, Side)>) -> Plan {
        if parts.iter().all(|(_, late, _)| late.exprs.is_empty()) {
            return plan;
        }
        let mut plan = plan;
        let mut outputs = vec![];
        for (start, late, side) in parts {
            let mut computed: Vec<usize> = vec![];
            let column = |place: Place, computed: &[usize]| match place {
                Place::Early(column) => start + column,
                Place::Late(index) => computed[index],
            };
            for (mut expr, places) in late.exprs {
                expr.map_columns(|n| column(places[&n], &computed));
                let mut ty = expr.typ(&plan.types);
                ty.nullable |= side == Side::Padded;
                computed.push(plan.arity());
                plan = plan.map(vec![Typed { expr, ty }]);
            }
            for (place, mut ty) in late.outputs {
                let at = column(place, &computed);
                ty.nullable = plan.types[at].nullable;
                outputs.push((at, ty));
            }
        }
        let types: Vec<ColumnType> = outputs.iter().map(|(_, ty)| *ty).collect();
        let mut plan = plan.project(outputs.into_iter().map(|(column, _)| column).collect());
        plan.types = types;
        plan
    }
}

/// Whether a relation may have columns that can be late, at a glance.
fn may_be_late(relation: &Relation) -> bool {
    match relation {
        Relation::Project { input, .. } | Relation::Filter { input, .. } => may_be_late(input),
        Relation::Map { input, exprs } => {
            exprs.iter().any(|expr| expr.is_fallible() && !expr.is_volatile()) || may_be_late(input)
        }
        _ => false,
    }
}

/// Takes a relation apart; `early` are its columns that have to stay.
fn take(relation: Relation, early: &BTreeSet<usize>, side: Side) -> Taken {
    match relation {
        Relation::Project { input, outputs } => {
            let early = early.iter().map(|&column| outputs[column]).collect();
            let taken = take(*input, &early, side);
            let outputs = outputs.into_iter().map(|column| taken.outputs[column]).collect();
            Taken { outputs, ..taken }
        }
        Relation::Filter { input, mut predicates } => {
            let read = predicates.iter().flat_map(Expr::columns);
            let early = early.iter().copied().chain(read).collect();
            let taken = take(*input, &early, side);
            for predicate in &mut predicates {
                predicate.map_columns(|column| match taken.outputs[column] {
                    Place::Early(column) => column,
                    Place::Late(_) => unreachable!("what a condition reads is early"),
                });
            }
            Taken { relation: taken.relation.filter(predicates), ..taken }
        }
        Relation::Map { input, exprs } => take_map(*input, exprs, early, side),
        relation => {
            let arity = relation.arity();
            let outputs = (0..arity).map(Place::Early).collect();
            Taken { relation, arity, exprs: vec![], outputs }
        }
    }
}

fn take_map(input: Relation, exprs: Vec<Expr>, early: &BTreeSet<usize>, side: Side) -> Taken {
    let arity = input.arity();
    let mut early = early.clone();
    for (i, expr) in exprs.iter().enumerate().rev() {
        let stays = !can_be_late(expr, side) || early.contains(&(arity + i));
        if stays {
            early.insert(arity + i);
            early.extend(expr.columns());
        }
    }
    let below = early.range(..arity).copied().collect();
    let mut taken = take(input, &below, side);
    let mut computed = vec![];
    for (i, mut expr) in exprs.into_iter().enumerate() {
        let late = |column: &usize| matches!(taken.outputs[*column], Place::Late(_));
        if !early.contains(&(arity + i)) && (expr.is_fallible() || expr.columns().iter().any(late))
        {
            let places = expr.columns().into_iter().map(|column| (column, taken.outputs[column]));
            let places = places.collect();
            taken.exprs.push((expr, places));
            taken.outputs.push(Place::Late(taken.exprs.len() - 1));
            continue;
        }
        expr.map_columns(|column| match taken.outputs[column] {
            Place::Early(column) => column,
            Place::Late(_) => unreachable!("what stays reads what stays"),
        });
        taken.outputs.push(Place::Early(taken.arity + computed.len()));
        computed.push(expr);
    }
    taken.arity += computed.len();
    if !computed.is_empty() {
        let input = Box::new(taken.relation);
        taken.relation = Relation::Map { input, exprs: computed };
    }
    taken
}

/// Whether an expression may be computed later: it has the same value there.
fn can_be_late(expr: &Expr, side: Side) -> bool {
    !expr.is_volatile() && (side == Side::Kept || is_null_of_nulls(expr))
}

/// Whether this is NULL, and does not fail, where all columns are NULL.
fn is_null_of_nulls(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) => true,
        Expr::Call { func, args } => {
            let safe = |arg: &Expr| !arg.is_fallible() || is_null_of_nulls(arg);
            func.strict && args.iter().any(is_null_of_nulls) && args.iter().all(safe)
        }
        Expr::Cast { input, .. } => is_null_of_nulls(input),
        _ => false,
    }
}
