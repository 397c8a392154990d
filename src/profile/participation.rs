//! Critical participation: how much of the longest paths through a snapshot an activity is part of.
//!
//! A transient critical path leads from the beginning of a snapshot to its end; each is as long as
//! the snapshot, and there are N of them. An edge that is on `c` of them, for a time of `d`,
//! participates with `c · d / (N · length)`, and the sum over all edges is 1. `c` is the number of
//! paths that lead to the edge times the number that lead on from it, so that two passes over the
//! edges suffice and no path is ever made.
//!
//! One second of sixteen workers has 10²¹⁰ paths and more, so paths are counted in numbers with an
//! exponent of their own ([`Count`]). Edges on which a worker waits are on no path.

use std::cmp::Ordering;
use std::ops::{Add, Mul};

/// A count without bounds: a fraction of 53 bits, and the power of two that it is multiplied by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count {
    fraction: f64,
    exponent: i64,
}

impl Count {
    /// One.
    pub const ONE: Count = Count { fraction: 1.0, exponent: 0 };
    /// None.
    pub const ZERO: Count = Count { fraction: 0.0, exponent: 0 };

    /// Brings the fraction back to where it loses nothing.
    fn settled(fraction: f64, exponent: i64) -> Count {
        const STEP: i64 = 512;
        let step = 2f64.powi(STEP as i32);
        match fraction {
            f if f >= step => Count { fraction: f / step, exponent: exponent + STEP },
            _ => Count { fraction, exponent },
        }
    }

    /// Whether it is none.
    pub fn is_zero(self) -> bool {
        self.fraction == 0.0
    }

    /// This divided by another that is not none.
    pub fn over(self, other: Count) -> f64 {
        let power = (self.exponent - other.exponent).clamp(-4096, 1023) as i32;
        // What is smaller than any number is nothing.
        self.fraction / other.fraction * 2f64.powi(power)
    }
}

impl Add for Count {
    type Output = Count;

    fn add(self, other: Count) -> Count {
        let (large, small) = match self.exponent.cmp(&other.exponent) {
            _ if self.is_zero() => return other,
            _ if other.is_zero() => return self,
            Ordering::Less => (other, self),
            _ => (self, other),
        };
        let power = (small.exponent - large.exponent).max(-4096) as i32;
        Count::settled(large.fraction + small.fraction * 2f64.powi(power), large.exponent)
    }
}

impl Mul for Count {
    type Output = Count;

    fn mul(self, other: Count) -> Count {
        let exponent = self.exponent + other.exponent;
        // Neither is more than 2^512, so that the product is a number.
        Count::settled(self.fraction * other.fraction, exponent)
    }
}

/// An edge between two vertices, which are numbers.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Where it begins.
    pub source: usize,
    /// Where it ends.
    pub target: usize,
    /// How long it is.
    pub duration_ns: u64,
    /// Whether paths may lead over it.
    pub is_open: bool,
}

/// What came of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct Participation {
    /// On how many paths each edge is.
    pub counts: Vec<Count>,
    /// How many paths there are.
    pub paths: Count,
    /// How much each edge participates; nothing, where there is no path.
    pub shares: Vec<f64>,
    /// The sum of all shares; none, where there is no path. It has to be 1.
    pub check: Option<f64>,
}

/// How much each edge of a snapshot participates. Vertices are numbered from 0 on; paths lead from
/// a start to an end. Edges of a cycle, which only wrong clocks can make, are on no path.
pub fn participation(
    steps: &[Step],
    vertices: usize,
    starts: &[usize],
    ends: &[usize],
    length_ns: u64,
) -> Participation {
    let order = in_order(steps, vertices);
    let mut to = vec![Count::ZERO; vertices];
    let mut from = vec![Count::ZERO; vertices];
    starts.iter().for_each(|start| to[*start] = Count::ONE);
    ends.iter().for_each(|end| from[*end] = Count::ONE);
    for step in order.iter().map(|edge| &steps[*edge]).filter(|step| step.is_open) {
        to[step.target] = to[step.target] + to[step.source];
    }
    for step in order.iter().rev().map(|edge| &steps[*edge]).filter(|step| step.is_open) {
        from[step.source] = from[step.source] + from[step.target];
    }
    let paths = starts.iter().fold(Count::ZERO, |sum, start| sum + from[*start]);
    let mut counts = vec![Count::ZERO; steps.len()];
    for edge in order {
        let step = &steps[edge];
        if step.is_open {
            counts[edge] = to[step.source] * from[step.target];
        }
    }
    if paths.is_zero() || length_ns == 0 {
        return Participation { shares: vec![0.0; steps.len()], counts, paths, check: None };
    }
    let share = |(step, count): (&Step, &Count)| {
        count.over(paths) * (step.duration_ns as f64 / length_ns as f64)
    };
    let shares: Vec<f64> = steps.iter().zip(&counts).map(share).collect();
    let check = Some(shares.iter().sum());
    Participation { counts, paths, shares, check }
}

/// The edges so that each comes behind all that lead to where it begins.
fn in_order(steps: &[Step], vertices: usize) -> Vec<usize> {
    let mut incoming = vec![0usize; vertices];
    let mut outgoing: Vec<Vec<usize>> = vec![Vec::new(); vertices];
    for (edge, step) in steps.iter().enumerate() {
        incoming[step.target] += 1;
        outgoing[step.source].push(edge);
    }
    let mut ready: Vec<usize> = (0..vertices).filter(|vertex| incoming[*vertex] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(vertex) = ready.pop() {
        for edge in &outgoing[vertex] {
            order.push(*edge);
            let target = steps[*edge].target;
            incoming[target] -= 1;
            if incoming[target] == 0 {
                ready.push(target);
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(source: usize, target: usize, duration_ns: u64) -> Step {
        Step { source, target, duration_ns, is_open: true }
    }

    fn number(count: Count) -> f64 {
        count.over(Count::ONE)
    }

    #[test]
    fn edges_are_on_as_many_paths_as_there_are_ways_around_them() {
        let steps = [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4)].map(|(a, b)| step(a, b, 1));
        let found = participation(&steps, 5, &[0], &[4], 4);
        assert_eq!(
            found.counts.iter().map(|c| number(*c)).collect::<Vec<_>>(),
            [2., 1., 1., 1., 2.]
        );
        assert_eq!(number(found.paths), 2.0);
    }

    #[test]
    fn shares_are_those_of_the_worked_example() {
        // Two times three ways through five units: an edge before the second choice is on two of
        // six paths for each of its three alternatives, the one between the choices on all.
        let mut steps = vec![step(0, 3, 1), step(1, 3, 1), step(3, 4, 1), step(4, 5, 1)];
        steps.extend([step(2, 3, 1), step(5, 6, 2), step(5, 7, 2)]);
        let found = participation(&steps, 8, &[0, 1, 2], &[6, 7], 5);
        assert_eq!(number(found.paths), 6.0);
        let of = |edge: usize| (number(found.counts[edge]), found.shares[edge]);
        let (two, six) = (of(0), of(2));
        assert_eq!((two.0, six.0), (2.0, 6.0));
        assert!((two.1 - 0.0667).abs() < 1e-4 && (six.1 - 0.2).abs() < 1e-12);
        assert!((found.check.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn more_paths_than_any_float_can_count_still_add_up() {
        // Each of 5,000 diamonds doubles the number of paths.
        let mut steps = Vec::new();
        for n in 0..5000 {
            let at = 3 * n;
            steps.extend([step(at, at + 1, 1), step(at, at + 2, 1)]);
            steps.extend([step(at + 1, at + 3, 1), step(at + 2, at + 3, 1)]);
        }
        let found = participation(&steps, 15_001, &[0], &[15_000], 10_000);
        assert!((found.check.unwrap() - 1.0).abs() < 1e-9, "{:?}", found.check);
        assert!(found.shares.iter().all(|share| (share - 0.5 / 10_000.0).abs() < 1e-12));
    }

    #[test]
    fn where_all_wait_there_is_no_path() {
        let mut steps = [step(0, 1, 5), step(2, 3, 5)];
        steps[0].is_open = false;
        let found = participation(&steps, 4, &[0, 2], &[1, 3], 5);
        assert_eq!((found.shares.clone(), found.check), (vec![0.0, 1.0], Some(1.0)));
        steps[1].is_open = false;
        let found = participation(&steps, 4, &[0, 2], &[1, 3], 5);
        assert_eq!((found.paths, found.check), (Count::ZERO, None));
    }
}
