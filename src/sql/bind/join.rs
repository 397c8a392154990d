//! Joins.
//!
//! An outer join is its inner join and, with NULLs, the rows of the kept side that are in none of
//! the pairs. They are found by counting, so that it holds for multisets, NULL keys and any
//! condition: a row that occurs *m* times and has *k* partners occurs *m·k* times in the inner
//! join; *m − m·k* is positive exactly if *k* is 0, and then it is *m*. The rows are compared byte
//! for byte there, so rows that are equal in SQL but not the same (1.0 and 1.00) are not mixed up.
//!
//! Where the condition is nothing but equalities between the sides (and filters on one of them
//! that cannot fail), the rows with a partner are those whose key is among the other side's keys:
//! a join with each key once, which leaves shared arrangements usable.

use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::plan::relation::{Equivalence, Relation};
use crate::sql::bind::context::Binder;
use crate::sql::bind::late::{Late, Side};
use crate::sql::bind::relation::{Plan, Typed};

/// Which sides' rows stay without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Neither's.
    Inner,
    /// The left one's.
    Left,
    /// The right one's.
    Right,
    /// Both.
    Full,
}

impl JoinKind {
    /// What becomes of each side's rows.
    fn sides(self) -> (Side, Side) {
        match self {
            JoinKind::Inner => (Side::Kept, Side::Kept),
            JoinKind::Left => (Side::Kept, Side::Padded),
            JoinKind::Right => (Side::Padded, Side::Kept),
            JoinKind::Full => (Side::Padded, Side::Padded),
        }
    }
}

/// What the right side of a join takes from the left one.
pub struct Lateral {
    /// The level that the left side is to it.
    pub level: usize,
    /// Expressions over the left side.
    pub args: Vec<Typed>,
}

/// A join condition, taken apart.
#[derive(Clone, Default)]
struct Condition {
    /// Equalities: the left side's expression, the right side's over its own columns.
    keys: Vec<(Typed, Typed)>,
    /// Conjuncts over the left side that cannot fail.
    left: Vec<Expr>,
    /// Conjuncts over the right side that cannot fail, over its own columns.
    right: Vec<Expr>,
    /// The rest.
    rest: Vec<Expr>,
}

impl Condition {
    /// Takes a condition over both sides' columns apart.
    fn of(predicate: Option<Expr>, left: &Plan, right: &Plan) -> Condition {
        let arity = left.arity();
        let mut condition = Condition::default();
        for conjunct in predicate.into_iter().flat_map(Expr::into_conjuncts) {
            if let Some(key) = equality(&conjunct, left, right) {
                condition.keys.push(key);
                continue;
            }
            let columns = conjunct.columns();
            // A subquery can fail, so it is among the rest.
            let safe = !conjunct.is_fallible() && !conjunct.is_volatile() && !columns.is_empty();
            if safe && columns.iter().all(|&column| column < arity) {
                condition.left.push(conjunct);
            } else if safe && columns.iter().all(|&column| column >= arity) {
                condition.right.push(shifted(conjunct, arity));
            } else {
                condition.rest.push(conjunct);
            }
        }
        condition
    }

    /// Whether the keys alone tell which rows have a partner, beside filters of each side.
    fn is_by_key(&self) -> bool {
        self.rest.is_empty() && !self.keys.is_empty()
    }

    /// The condition for the sides exchanged; it has no rest.
    fn turned(self) -> Condition {
        let keys = self.keys.into_iter().map(|(left, right)| (right, left)).collect();
        Condition { keys, left: self.right, right: self.left, rest: self.rest }
    }
}

/// The expression over the right side's own columns.
fn shifted(mut expr: Expr, by: usize) -> Expr {
    expr.map_columns(|column| column - by);
    expr
}

/// The two sides of an equality between them.
fn equality(conjunct: &Expr, left: &Plan, right: &Plan) -> Option<(Typed, Typed)> {
    let Expr::Call { func, args } = conjunct else { return None };
    let ([a, b], [x, y]) = (args.as_slice(), func.args) else { return None };
    let is_equality = functions::operator_of(func.oid).is_some_and(|op| op.symbol == "=");
    if !is_equality || x != y || conjunct.is_fallible() || conjunct.is_volatile() {
        return None;
    }
    let arity = left.arity();
    let (in_a, in_b) = (a.columns(), b.columns());
    if in_a.is_empty() || in_b.is_empty() {
        return None;
    }
    let is_left =
        |columns: &std::collections::BTreeSet<usize>| columns.iter().all(|&column| column < arity);
    let is_right =
        |columns: &std::collections::BTreeSet<usize>| columns.iter().all(|&column| column >= arity);
    let (l, r) = if is_left(&in_a) && is_right(&in_b) {
        (a, b)
    } else if is_left(&in_b) && is_right(&in_a) {
        (b, a)
    } else {
        return None;
    };
    let r = shifted(r.clone(), arity);
    let (lt, rt) = (l.typ(&left.types), r.typ(&right.types));
    Some((Typed { expr: l.clone(), ty: lt }, Typed { expr: r, ty: rt }))
}

/// NULL for each column of a plan.
fn nulls(types: &[crate::repr::ColumnType]) -> Vec<Typed> {
    types.iter().map(|&ty| Typed::null(ty)).collect()
}

/// The rows of `kept` that `pairs` (over these columns of it) leaves out.
fn unmatched(kept: Plan, pairs: Plan, columns: std::ops::Range<usize>) -> Plan {
    kept.union(pairs.project(columns.collect()).negate()).threshold()
}

impl Binder<'_, '_> {
    /// The pairs of rows that meet a condition.
    fn inner(&mut self, left: Plan, right: Plan, condition: Condition) -> Plan {
        let left = left.filter(condition.left);
        let right = right.filter(condition.right);
        let arity = left.arity();
        let mut plan = left.cross(right);
        if let Relation::Join { equivalences, .. } = &mut plan.relation {
            equivalences.extend(condition.keys.into_iter().map(|(l, mut r)| {
                r.expr.map_columns(|column| column + arity);
                Equivalence { exprs: vec![l.expr, r.expr], null_safe: false }
            }));
        }
        self.restrict(plan, condition.rest)
    }

    /// The join of two plans, of which the right one may take something from the left one.
    pub fn join_sides(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        lateral: Lateral,
        mut predicate: Option<Expr>,
    ) -> Plan {
        if let Some(predicate) = &mut predicate {
            // A condition that is decided reads no column.
            let mut folded = predicate.clone();
            self.fold_condition(&mut folded);
            if folded.as_literal().is_some() {
                *predicate = folded;
            }
        }
        match lateral.args.is_empty() {
            true => self.join_plans(kind, left, right, predicate),
            false => self.lateral_join(kind, left, right, lateral, predicate),
        }
    }

    /// The join of two plans on a condition over the columns of both.
    fn join_plans(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        predicate: Option<Expr>,
    ) -> Plan {
        if right.is_open() {
            return self.join_call(kind, left, right, predicate);
        }
        let sides = kind.sides();
        let mut predicate = predicate;
        let read = predicate.iter().flat_map(Expr::columns).collect();
        let (left, left_late) = left.without_late(&read, 0, sides.0);
        let (right, right_late) = right.without_late(&read, left_late.arity(), sides.1);
        let start = left.arity();
        if let Some(predicate) = &mut predicate {
            let total = left_late.arity();
            predicate.map_columns(|column| match column < total {
                true => left_late.column(column),
                false => start + right_late.column(column - total),
            });
        }
        let plan = self.join_early(kind, left, right, predicate);
        Late::restore(plan, vec![(0, left_late, sides.0), (start, right_late, sides.1)])
    }

    /// The same, of columns that are all to be computed before.
    fn join_early(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        predicate: Option<Expr>,
    ) -> Plan {
        let (l, r) = (left.arity(), right.arity());
        match kind {
            JoinKind::Inner => {
                let condition = Condition::of(predicate, &left, &right);
                self.inner(left, right, condition)
            }
            JoinKind::Left => self.left_join(left, right, predicate),
            JoinKind::Right => {
                let swapped = predicate.map(|mut predicate| {
                    predicate.map_columns(|c| if c < l { c + r } else { c - l });
                    predicate
                });
                let plan = self.left_join(right, left, swapped);
                plan.project((r..r + l).chain(0..r).collect())
            }
            JoinKind::Full => self.full_join(left, right, predicate),
        }
    }

    /// The join with a right side that is another for each row of the left one.
    pub fn lateral_join(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        Lateral { level, args }: Lateral,
        predicate: Option<Expr>,
    ) -> Plan {
        let (mut conditions, mut args) = (Vec::from_iter(predicate), args);
        let asked = args.iter().map(|arg| &arg.expr).chain(&conditions);
        let read = asked.flat_map(Expr::columns).collect();
        let (left, late) = left.without_late(&read, 0, Side::Kept);
        let (total, start) = (late.arity(), left.arity());
        for expr in args.iter_mut().map(|arg| &mut arg.expr).chain(&mut conditions) {
            expr.map_columns(|column| match column < total {
                true => late.column(column),
                false => start + column - total,
            });
        }
        let right_late = Late::nothing(&right);
        let plan = self.lateral_early(kind, left, right, Lateral { level, args }, conditions);
        Late::restore(plan, vec![(0, late, Side::Kept), (start, right_late, Side::Kept)])
    }

    fn lateral_early(
        &mut self,
        kind: JoinKind,
        left: Plan,
        right: Plan,
        Lateral { level, args }: Lateral,
        conditions: Vec<Expr>,
    ) -> Plan {
        if kind == JoinKind::Inner {
            let pairs = self.lateral(left, right, level, &args);
            return self.restrict(pairs, conditions);
        }
        let (kept, matched) = (self.fresh_let(), self.fresh_let());
        let (arity, missing) = (left.arity(), nulls(&right.types));
        left.shared(kept, |kept| {
            let pairs = self.lateral(kept.clone(), right, level, &args);
            self.restrict(pairs, conditions).shared(matched, |pairs| {
                let alone = unmatched(kept, pairs.clone(), 0..arity);
                pairs.union(alone.map(missing))
            })
        })
    }

    fn left_join(&mut self, left: Plan, right: Plan, predicate: Option<Expr>) -> Plan {
        let condition = Condition::of(predicate, &left, &right);
        let (kept_id, other_id, pairs_id) = (self.fresh_let(), self.fresh_let(), self.fresh_let());
        let arity = left.arity();
        let missing = nulls(&right.types);
        if !condition.is_by_key() {
            return left.shared(kept_id, |kept| {
                self.inner(kept.clone(), right, condition).shared(pairs_id, |pairs| {
                    let alone = unmatched(kept, pairs.clone(), 0..arity);
                    pairs.union(alone.map(missing))
                })
            });
        }
        left.shared(kept_id, |kept| {
            right.shared(other_id, |other| {
                let alone = self.without_key(kept.clone(), other.clone(), condition.clone());
                self.inner(kept, other, condition).union(alone.map(missing))
            })
        })
    }

    /// The rows of `kept` whose key is not among those of `other`.
    fn without_key(&mut self, kept: Plan, other: Plan, condition: Condition) -> Plan {
        let arity = kept.arity();
        let (ours, theirs): (Vec<_>, Vec<_>) = condition.keys.into_iter().unzip();
        let keys = other.filter(condition.right).reduce(theirs, vec![]);
        let theirs = keys.types.iter().enumerate().map(|(i, &ty)| Typed::column(i, ty));
        let partnered = Condition {
            keys: ours.into_iter().zip(theirs).collect(),
            left: condition.left,
            ..Condition::default()
        };
        let partnered = self.inner(kept.clone(), keys, partnered);
        kept.union(partnered.project((0..arity).collect()).negate())
    }

    fn full_join(&mut self, left: Plan, right: Plan, predicate: Option<Expr>) -> Plan {
        let condition = Condition::of(predicate, &left, &right);
        let ids = [self.fresh_let(), self.fresh_let(), self.fresh_let()];
        let (l, r) = (left.arity(), right.arity());
        let (no_left, no_right) = (nulls(&left.types), nulls(&right.types));
        let left_last = |right_first: Plan| right_first.project((r..r + l).chain(0..r).collect());
        left.shared(ids[0], |left| {
            right.shared(ids[1], |right| {
                if condition.is_by_key() {
                    let left_alone =
                        self.without_key(left.clone(), right.clone(), condition.clone());
                    let right_alone =
                        self.without_key(right.clone(), left.clone(), condition.clone().turned());
                    let pairs = self.inner(left, right, condition);
                    let right_alone = left_last(right_alone.map(no_left));
                    return pairs.union(left_alone.map(no_right)).union(right_alone);
                }
                self.inner(left.clone(), right.clone(), condition).shared(ids[2], |pairs| {
                    let left_alone = unmatched(left, pairs.clone(), 0..l).map(no_right);
                    let right_alone = unmatched(right, pairs.clone(), l..l + r).map(no_left);
                    pairs.union(left_alone).union(left_last(right_alone))
                })
            })
        })
    }
}
