//! Random expressions over ranges and multiranges of integers, and from them.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

/// A range as it is written: empty ones, open ones, and bounds of either kind.
fn range_text(rng: &mut StdRng) -> String {
    let low = rng.random_range(-2..8);
    let high = low + rng.random_range(0..5);
    let end = |rng: &mut StdRng, value: i32| match rng.random_range(0..7) {
        0 => String::new(),
        _ => value.to_string(),
    };
    let (left, right) = (["[", "("][rng.random_range(0..2)], ["]", ")"][rng.random_range(0..2)]);
    format!("{left}{},{}{right}", end(rng, low), end(rng, high))
}

/// A range.
pub fn range(rng: &mut StdRng) -> String {
    format!("'{}'::int4range", range_text(rng))
}

/// A multirange of a few ranges, which may overlap as they are written.
pub fn multirange(rng: &mut StdRng) -> String {
    let count = rng.random_range(0..4);
    let ranges: Vec<String> = (0..count).map(|_| range_text(rng)).collect();
    format!("'{{{}}}'::int4multirange", ranges.join(","))
}

impl Scope {
    /// A range.
    pub fn range(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, m) = (next(Type::Range), next(Type::Range), next(Type::Multi));
        let (n, flag) = (next(Type::Int), next(Type::Bool));
        match rng.random_range(0..9) {
            0 => format!("({a} * {b})"),
            1 => format!("range_merge({a}, {b})"),
            2 => format!("range_merge({m})"),
            3 => format!("int4range(({n}) % 9, ({n}) % 9 + 3, '(]')"),
            4 => format!("CASE WHEN {a} && {b} THEN {a} + {b} END"),
            5 => format!("greatest({a}, {b})"),
            6 => format!("CASE WHEN {flag} THEN {a} ELSE 'empty' END"),
            // What falls apart fails, now and then.
            7 => format!("({a} - {b})"),
            _ => format!("({a} + {b})"),
        }
    }

    /// A multirange.
    pub fn multirange(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, r) = (next(Type::Multi), next(Type::Multi), next(Type::Range));
        match rng.random_range(0..7) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} * {b})"),
            2 => format!("({a} - {b})"),
            3 => format!("multirange({r})"),
            4 => format!("int4multirange({r}, {r})"),
            5 => format!("least({a}, {b})"),
            _ => format!("({r})::int4multirange"),
        }
    }

    /// A number out of a range or a multirange.
    pub fn of_range(&self, rng: &mut StdRng, depth: usize) -> String {
        let ty = [Type::Range, Type::Multi][rng.random_range(0..2)];
        let bound = ["lower", "upper"][rng.random_range(0..2)];
        format!("{bound}({})", self.expression(rng, ty, depth))
    }

    /// A test of ranges and multiranges.
    pub fn about_range(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut side = || {
            let ty = [Type::Range, Type::Multi][rng.random_range(0..2)];
            self.expression(rng, ty, depth)
        };
        let (a, b) = (side(), side());
        let n = self.expression(rng, Type::Int, depth);
        let relation = ["&&", "@>", "<@", "<<", ">>", "&<", "&>", "-|-"][rng.random_range(0..8)];
        let fact =
            ["isempty", "lower_inc", "upper_inc", "lower_inf", "upper_inf"][rng.random_range(0..5)];
        match rng.random_range(0..5) {
            0 => format!("({a} @> ({n}))"),
            1 => format!("{fact}({a})"),
            _ => format!("({a} {relation} {b})"),
        }
    }
}
