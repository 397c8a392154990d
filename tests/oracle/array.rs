//! Random expressions over arrays of integers, and from them.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

/// An array, from a small domain: empty ones, NULL elements, other lower bounds, two dimensions.
pub fn literal(rng: &mut StdRng) -> String {
    let item = |rng: &mut StdRng| match rng.random_range(0..6) {
        0 => "NULL".to_string(),
        _ => rng.random_range(-2..4).to_string(),
    };
    let text = match rng.random_range(0..12) {
        0 => "{}".to_string(),
        1 => format!("{{{{{},{}}},{{1,{}}}}}", item(rng), item(rng), item(rng)),
        2 => format!("[0:1]={{{},{}}}", item(rng), item(rng)),
        _ => {
            let count = rng.random_range(1..4);
            let items: Vec<String> = (0..count).map(|_| item(rng)).collect();
            format!("{{{}}}", items.join(","))
        }
    };
    format!("'{text}'::int4[]")
}

impl Scope {
    /// An array.
    pub fn array(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, m, n) = (next(Type::Ints), next(Type::Ints), next(Type::Int), next(Type::Int));
        match rng.random_range(0..12) {
            // Of two dimensions it fails: what does is guarded.
            0 => format!("CASE WHEN array_ndims({a}) > 1 THEN {b} ELSE {a} || {m} END"),
            1 => {
                format!("CASE WHEN array_ndims({a}) > 1 THEN {b} ELSE array_prepend({m}, {a}) END")
            }
            2 => format!("CASE WHEN array_ndims({a}) = array_ndims({b}) THEN NULL ELSE {a} END"),
            3 => format!("ARRAY[{m}, {n}]"),
            4 => format!("({a})[{m}:{n}]"),
            5 => format!("({a})[:{n}]"),
            6 => format!("({a})[2:]"),
            7 => format!("array_replace({a}, {m}, {n})"),
            8 => format!("CASE WHEN array_ndims({a}) > 1 THEN {b} ELSE array_remove({a}, {m}) END"),
            9 => format!("greatest({a}, {b})"),
            10 => format!("nullif({a}::text, '{{}}')::int4[]"),
            _ => format!("trim_array({a}, least(cardinality({a}), 0))"),
        }
    }

    /// A number out of an array.
    pub fn of_array(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, n) = (next(Type::Ints), next(Type::Int));
        match rng.random_range(0..6) {
            0 => format!("({a})[{n}]"),
            1 => format!("({a})[1]"),
            2 => format!("cardinality({a})"),
            3 => format!("array_length({a}, 1)"),
            4 => format!("array_lower({a}, 1)"),
            _ => format!("CASE WHEN array_ndims({a}) = 1 THEN array_position({a}, {n}) END"),
        }
    }

    /// A test of arrays.
    pub fn about_array(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Ints), next(Type::Ints), next(Type::Int));
        let comparison = ["=", "<>", "<", "<=", ">", ">="][rng.random_range(0..6)];
        match rng.random_range(0..6) {
            0 => format!("({a} @> {b})"),
            1 => format!("({a} <@ {b})"),
            2 => format!("({a} && {b})"),
            3 => format!("({n} {comparison} ANY ({a}))"),
            4 => format!("({n} {comparison} ALL ({a}))"),
            _ => format!("({a} {comparison} {b})"),
        }
    }
}
