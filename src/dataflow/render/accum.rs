//! Sums as differences: what aggregates that can be added up keep of a group.
//!
//! Differential adds up the differences of equal rows. Give a row of a reduction not the
//! difference 1 but its contribution to each aggregate, and the engine itself computes counts and
//! sums: in the sorting of a load, in merges, and in the look-up of a group, which reads a number
//! or two however large the group is.
//!
//! An [`Accum`] is a formal sum ([`crate::expr::coefficients`]) as a difference.

use differential_dataflow::difference::{IsZero, Monoid, Semigroup};
use serde::{Deserialize, Serialize};

use crate::expr::coefficients::{self, Places};
use crate::repr::{Diff, Row};

/// A formal sum; see the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Accum(Row);

impl Accum {
    /// `count` times the contribution that a row carries.
    #[inline]
    pub fn times(contribution: Row, count: Diff) -> Accum {
        Accum(coefficients::times(contribution, count))
    }

    /// The coefficients, by place.
    pub fn places(&self) -> Places<'_> {
        coefficients::places(&self.0)
    }
}

impl IsZero for Accum {
    #[inline]
    fn is_zero(&self) -> bool {
        self.0.bytes().is_empty()
    }
}

impl Semigroup for Accum {
    #[inline]
    fn plus_equals(&mut self, other: &Accum) {
        if !other.is_zero() {
            self.0 = coefficients::add(&self.0, &other.0);
        }
    }
}

impl Monoid for Accum {
    fn zero() -> Accum {
        Accum::default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::prelude::*;

    use super::*;
    use crate::expr::coefficients::{AccumBytes, Place, put};

    fn accum(entries: &BTreeMap<(u32, u64), i128>) -> Row {
        let mut bytes = AccumBytes::new();
        for ((slot, part), coefficient) in entries {
            put(&mut bytes, Place { slot: *slot, part: *part }, *coefficient);
        }
        Row::new(&bytes)
    }

    #[test]
    fn sums_are_those_of_a_map_and_cancel_to_nothing() {
        let mut rng = StdRng::seed_from_u64(5);
        for _ in 0..2_000 {
            let mut sum: BTreeMap<(u32, u64), i128> = BTreeMap::new();
            let mut total = Accum::zero();
            let mut back = Vec::new();
            for _ in 0..rng.random_range(0..6) {
                let mut entries = BTreeMap::new();
                for _ in 0..rng.random_range(0..5) {
                    let part = [0, 1, 5, 6, 7, 8, 200, 1 << 40][rng.random_range(0..8)];
                    let wide = rng.random::<i128>() >> rng.random_range(2..128);
                    entries.insert((rng.random_range(0..40), part), wide);
                }
                let count = rng.random_range(-2..3);
                for (place, coefficient) in &entries {
                    *sum.entry(*place).or_default() += coefficient * i128::from(count);
                }
                total.plus_equals(&Accum::times(accum(&entries), count));
                back.push(Accum::times(accum(&entries), -count));
            }
            sum.retain(|_, coefficient| *coefficient != 0);
            assert_eq!(total, Accum(accum(&sum)));
            let places: Vec<_> = total.places().map(|(p, c)| ((p.slot, p.part), c)).collect();
            assert_eq!(places, sum.into_iter().collect::<Vec<_>>());
            back.iter().for_each(|accum| total.plus_equals(accum));
            assert!(total.is_zero());
        }
    }
}
