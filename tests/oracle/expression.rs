//! Random expressions of a given type over the columns in scope.

use rand::Rng;
use rand::rngs::StdRng;

use crate::query::Type;
use crate::tables::literal;

/// The columns that an expression may name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    pub columns: Vec<(String, Type)>,
}

impl Scope {
    /// An expression of that type, so many operators deep.
    pub fn expression(&self, rng: &mut StdRng, ty: Type, depth: usize) -> String {
        if depth == 0 || rng.random_bool(0.25) {
            return self.leaf(rng, ty);
        }
        if rng.random_bool(0.15) {
            return self.conditional(rng, ty, depth - 1);
        }
        match ty {
            Type::Int | Type::Big => self.integer(rng, ty, depth - 1),
            Type::Numeric => self.numeric(rng, depth - 1),
            Type::Float => self.float(rng, depth - 1),
            Type::Text => self.text(rng, depth - 1),
            Type::Bool => self.boolean(rng, depth - 1),
            Type::Date => self.date(rng, depth - 1),
            Type::Stamp => self.stamp(rng, depth - 1),
            Type::Ints => self.array(rng, depth - 1),
            Type::Bits => self.bits(rng, depth - 1),
            Type::Net => self.address(rng, depth - 1),
            Type::Span => self.span(rng, depth - 1),
            Type::Moment => self.moment(rng, depth - 1),
            Type::Doc => self.document(rng, depth - 1),
            Type::Range => self.range(rng, depth - 1),
            Type::Multi => self.multirange(rng, depth - 1),
            Type::Mood => self.mood(rng, depth - 1),
            Type::Small => self.small(rng, depth - 1),
            Type::Pair => self.pair(rng, depth - 1),
            Type::Spread => self.spread(rng, depth - 1),
        }
    }

    fn leaf(&self, rng: &mut StdRng, ty: Type) -> String {
        let columns: Vec<&String> =
            self.columns.iter().filter(|c| c.1 == ty).map(|c| &c.0).collect();
        if columns.is_empty() || rng.random_bool(0.15) {
            return match rng.random_range(0..12) {
                0 => format!("NULL::{}", ty.name()),
                _ => literal(rng, ty),
            };
        }
        columns[rng.random_range(0..columns.len())].clone()
    }

    fn conditional(&self, rng: &mut StdRng, ty: Type, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, c) = (next(ty), next(ty), next(Type::Bool));
        match rng.random_range(0..4) {
            0 => format!("CASE WHEN {c} THEN {a} ELSE {b} END"),
            1 => format!("CASE WHEN {c} THEN {a} END"),
            2 => format!("coalesce({a}, {b})"),
            _ => format!("nullif({a}, {b})"),
        }
    }

    fn integer(&self, rng: &mut StdRng, ty: Type, depth: usize) -> String {
        if ty == Type::Int && rng.random_bool(0.15) {
            return self.of_array(rng, depth);
        }
        if ty == Type::Int && rng.random_bool(0.1) {
            return self.of_values(rng, depth);
        }
        if ty == Type::Int && rng.random_bool(0.1) {
            return self.of_times(rng, depth);
        }
        if ty == Type::Int && rng.random_bool(0.1) {
            return self.of_range(rng, depth);
        }
        if ty == Type::Int && rng.random_bool(0.1) {
            return self.of_user_type(rng, depth);
        }
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, text) = (next(ty), next(ty), next(Type::Text));
        let date = next(Type::Date);
        let name = ty.name();
        match rng.random_range(0..9) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("({a} / nullif({b}, 0))"),
            4 => format!("({a} % nullif({b}, 0))"),
            5 => format!("abs({a})"),
            6 => format!("length({text})::{name}"),
            7 => format!("extract(month from {date})::{name}"),
            // Divisions by zero are welcome, now and then.
            _ if rng.random_bool(0.5) => format!("({a} / {b})"),
            _ => format!("greatest({a}, {b})"),
        }
    }

    fn numeric(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Numeric), next(Type::Numeric), next(Type::Int));
        match rng.random_range(0..7) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {n})"),
            2 => format!("({a} * {b})"),
            3 => format!("({a} / nullif({b}, 0))"),
            4 => format!("round({a}, 1)"),
            5 => format!("floor({a})"),
            _ => format!("abs({a})"),
        }
    }

    fn float(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Float), next(Type::Float), next(Type::Int));
        match rng.random_range(0..6) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} - {n})"),
            3 => format!("({a} / nullif({b}, 0))"),
            4 => format!("sqrt(abs({a}))"),
            _ => format!("floor({a})"),
        }
    }

    fn text(&self, rng: &mut StdRng, depth: usize) -> String {
        if rng.random_bool(0.15) {
            return self.of_document(rng, depth);
        }
        if rng.random_bool(0.1) {
            return self.text_of_user_type(rng, depth);
        }
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Text), next(Type::Text), next(Type::Int));
        let other = next(Type::Date);
        match rng.random_range(0..10) {
            0 => format!("({a} || {b})"),
            1 => format!("upper({a})"),
            2 => format!("lower({a})"),
            3 => format!("substring({a} from 2)"),
            4 => format!("left({a}, 2)"),
            5 => format!("replace({a}, 'a', {b})"),
            6 => format!("{n}::text"),
            7 => format!("lpad({a}, 4, '*')"),
            8 => format!("{other}::text"),
            _ => format!("concat({a}, {n})"),
        }
    }

    fn boolean(&self, rng: &mut StdRng, depth: usize) -> String {
        if rng.random_bool(0.1) {
            return self.about_array(rng, depth);
        }
        if rng.random_bool(0.1) {
            return self.about_document(rng, depth);
        }
        if rng.random_bool(0.08) {
            return self.about_values(rng, depth);
        }
        if rng.random_bool(0.1) {
            return self.about_range(rng, depth);
        }
        if rng.random_bool(0.1) {
            return self.about_user_type(rng, depth);
        }
        let ty = Type::ALL[rng.random_range(0..Type::ALL.len())];
        let comparison = ["=", "<>", "<", "<=", ">", ">="][rng.random_range(0..6)];
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, c) = (next(ty), next(ty), next(ty));
        let (p, q, text) = (next(Type::Bool), next(Type::Bool), next(Type::Text));
        match rng.random_range(0..12) {
            0 => format!("({p} AND {q})"),
            1 => format!("({p} OR {q})"),
            2 => format!("(NOT {p})"),
            3 => format!("({a} IS NULL)"),
            4 => format!("({a} IS DISTINCT FROM {b})"),
            // A row that is written out would be compared column by column, whatever its type.
            5 if ty == Type::Pair => format!("(coalesce({a}, NULL) IN ({b}, {c}))"),
            5 => format!("({a} IN ({b}, {c}))"),
            6 => format!("({a} BETWEEN {b} AND {c})"),
            7 => format!("({text} LIKE 'a%')"),
            8 => format!("({p} IS NOT TRUE)"),
            _ => format!("({a} {comparison} {b})"),
        }
    }

    fn date(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, n, stamp) = (next(Type::Date), next(Type::Int), next(Type::Stamp));
        match rng.random_range(0..3) {
            0 => format!("({a} + {n})"),
            1 => format!("{stamp}::date"),
            _ => format!("least({a}, date '2024-02-10')"),
        }
    }

    fn stamp(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, date) = (next(Type::Stamp), next(Type::Date));
        match rng.random_range(0..3) {
            0 => format!("({a} + interval '1 month 2 hours')"),
            1 => format!("date_trunc('day', {a})"),
            _ => format!("({date} - interval '90 minutes')"),
        }
    }
}
