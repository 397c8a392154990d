//! Random expressions over an enum, a domain, a composite type and ranges of numerics.
//!
//! Bounds of ranges are written with one number of digits and never computed: which of two equal
//! ranges stands for a group is not determined.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

/// What makes the types.
pub const TYPES: &[&str] = &[
    "CREATE TYPE mood AS ENUM ('low', 'high')",
    "ALTER TYPE mood ADD VALUE 'mid' BEFORE 'high'",
    "CREATE DOMAIN small AS int4 CHECK (VALUE < 40)",
    "CREATE TYPE pair AS (n int4, s text)",
];

pub fn mood(rng: &mut StdRng) -> String {
    format!("'{}'::mood", ["low", "mid", "high"][rng.random_range(0..3)])
}

pub fn small(rng: &mut StdRng) -> String {
    format!("({})::small", rng.random_range(-2..9))
}

pub fn pair(rng: &mut StdRng) -> String {
    let n = ["NULL", "0", "1", "2"][rng.random_range(0..4)];
    let s = ["NULL", "'a'", "'b'", "''"][rng.random_range(0..4)];
    format!("ROW({n}, {s})::pair")
}

/// A range of numerics.
pub fn spread(rng: &mut StdRng) -> String {
    let low = rng.random_range(-200..600);
    let high = low + rng.random_range(0..3) * 150;
    let end = |rng: &mut StdRng, value: i32| match rng.random_range(0..8) {
        0 => String::new(),
        _ => format!("{:.2}", f64::from(value) / 100.0),
    };
    let (left, right) = (["[", "("][rng.random_range(0..2)], ["]", ")"][rng.random_range(0..2)]);
    format!("'{left}{},{}{right}'::numrange", end(rng, low), end(rng, high))
}

impl Scope {
    pub fn mood(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, text) = (next(Type::Mood), next(Type::Mood), next(Type::Text));
        match rng.random_range(0..6) {
            0 => format!("greatest({a}, {b})"),
            1 => format!("least({a}, {b})"),
            2 => format!("(enum_range({a}, {b}))[1]"),
            3 => format!("enum_last({a})"),
            4 => format!("CASE WHEN {text} IN ('low', 'mid') THEN ({text})::mood END"),
            // No label, as a rule, which fails.
            _ => format!("coalesce({a}, ({text})::mood)"),
        }
    }

    pub fn small(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Small), next(Type::Small), next(Type::Int));
        match rng.random_range(0..5) {
            0 => format!("greatest({a}, {b})"),
            1 => format!("(({n}) % 20)::small"),
            2 => format!("({a} - {b})::small"),
            3 => format!("CASE WHEN {a} < 5 THEN ({a} * 7)::small END"),
            // Beyond what the domain allows, now and then.
            _ => format!("({a} + {n})::small"),
        }
    }

    pub fn pair(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b) = (next(Type::Pair), next(Type::Pair));
        let (n, text) = (next(Type::Int), next(Type::Text));
        match rng.random_range(0..4) {
            0 => format!("ROW({n}, {text})::pair"),
            1 => format!("greatest({a}, {b})"),
            2 => format!("ROW(({a}).n, ({b}).s)::pair"),
            _ => format!("ROW(({a}).n + {n}, NULL)::pair"),
        }
    }

    pub fn spread(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b) = (next(Type::Spread), next(Type::Spread));
        match rng.random_range(0..5) {
            0 => format!("({a} * {b})"),
            1 => format!("range_merge({a}, {b})"),
            2 => format!("CASE WHEN {a} && {b} THEN {a} + {b} END"),
            3 => format!("greatest({a}, {b})"),
            // What falls apart fails, now and then.
            _ => format!("({a} - {b})"),
        }
    }

    /// A number out of what users have made.
    pub fn of_user_type(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (mood, small, pair) = (next(Type::Mood), next(Type::Small), next(Type::Pair));
        match rng.random_range(0..4) {
            0 => format!("({pair}).n"),
            1 => format!("{small}::int4"),
            2 => format!("({small} * 2)"),
            _ => format!("cardinality(enum_range(NULL, {mood}))"),
        }
    }

    /// A text out of what users have made.
    pub fn text_of_user_type(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (mood, pair) = (next(Type::Mood), next(Type::Pair));
        match rng.random_range(0..3) {
            0 => format!("({pair}).s"),
            1 => format!("{mood}::text"),
            _ => format!("{pair}::text"),
        }
    }

    /// A test of what users have made.
    pub fn about_user_type(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, d) = (next(Type::Spread), next(Type::Spread), next(Type::Numeric));
        let (mood, pair) = (next(Type::Mood), next(Type::Pair));
        let relation = ["&&", "@>", "<@", "<<", ">>", "&<", "&>", "-|-"][rng.random_range(0..8)];
        match rng.random_range(0..6) {
            0 => format!("({a} @> ({d}))"),
            1 => format!("({mood} = ANY (enum_range('mid'::mood, NULL)))"),
            2 => format!("({pair} IS NOT NULL)"),
            3 => format!("(({pair}).n = 1)"),
            _ => format!("({a} {relation} {b})"),
        }
    }
}
