//! Random expressions over strings of bits and addresses, and from them.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

/// A string of bits: few lengths, so that operators of equal lengths meet.
pub fn bits(rng: &mut StdRng) -> String {
    let length = [0, 3, 3, 3, 3, 4, 9][rng.random_range(0..7)];
    let digits: String = (0..length).map(|_| ['0', '1'][rng.random_range(0..2)]).collect();
    format!("'{digits}'::varbit")
}

/// An address of either version.
pub fn address(rng: &mut StdRng) -> String {
    let (a, b) = (rng.random_range(0..2), rng.random_range(0..3));
    match rng.random_range(0..6) {
        0 => format!("'2001:db8::{a}:{b}'::inet"),
        1 => format!("'2001:db8::{b}/{}'::inet", [32, 127, 128][rng.random_range(0..3)]),
        2 => format!("'10.{a}.0.{b}'::inet"),
        _ => format!("'10.{a}.0.{b}/{}'::inet", [8, 16, 30, 32][rng.random_range(0..4)]),
    }
}

impl Scope {
    /// A string of bits. What would be of type bit is made a varbit again.
    pub fn bits(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Bits), next(Type::Bits), next(Type::Int));
        match rng.random_range(0..11) {
            0 => format!("({a} || {b})"),
            1 => format!("(~{a})::varbit"),
            2 => format!("({a} << ({n}))::varbit"),
            3 => format!("({a} >> ({n}))::varbit"),
            4 => format!("substring({a}, {n})::varbit"),
            5 => format!("({n})::bit(6)::varbit"),
            6 => format!("{a}::varbit(3)"),
            7 => format!("greatest({a}, {b})"),
            8 => format!("overlay({a} placing {b} from 2)::varbit"),
            // Of different lengths now and then, which fails.
            9 => format!("({a} # {b})::varbit"),
            _ => format!("CASE WHEN length({a}) = length({b}) THEN ({a} | {b})::varbit END"),
        }
    }

    /// An address.
    pub fn address(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Net), next(Type::Net), next(Type::Int));
        match rng.random_range(0..9) {
            0 => format!("(~{a})"),
            1 => format!("network({a})::inet"),
            2 => format!("broadcast({a})"),
            3 => format!("netmask({a})"),
            4 => format!("set_masklen({a}, 17)"),
            5 => format!("least({a}, {b})"),
            6 => format!("CASE WHEN inet_same_family({a}, {b}) THEN {a} | {b} END"),
            7 => format!("({a} + ({n}))"),
            _ => format!("hostmask({a})"),
        }
    }

    /// A number out of bits or an address.
    pub fn of_values(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, net) = (next(Type::Bits), next(Type::Bits), next(Type::Net));
        match rng.random_range(0..6) {
            0 => format!("length({a})"),
            1 => format!("position({a} in {b})"),
            2 => format!("CASE WHEN length({a}) > 0 THEN get_bit({a}, 0) END"),
            3 => format!("CASE WHEN length({a}) < 20 THEN {a}::bit(20)::int4 END"),
            4 => format!("masklen({net})"),
            _ => format!("family({net})"),
        }
    }

    /// A test of addresses.
    pub fn about_values(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b) = (next(Type::Net), next(Type::Net));
        let relation = ["<<", "<<=", ">>", ">>=", "&&"][rng.random_range(0..5)];
        format!("({a} {relation} {b})")
    }
}
