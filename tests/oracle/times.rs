//! Random expressions over intervals and moments (timestamptz), and from them.
//!
//! Intervals are of hours alone, so that equal ones are spelled alike: which of `1 day` and `24:00`
//! stands for a group is nobody's promise.

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::query::Type;

pub fn span(rng: &mut StdRng) -> String {
    let spans = ["0", "01:00", "-02:30", "25:00", "00:00:01.5", "01:00", "100:00"];
    format!("'{}'::interval", spans[rng.random_range(0..spans.len())])
}

/// A moment, some of them the same in different zones.
pub fn moment(rng: &mut StdRng) -> String {
    let (day, hour) = (rng.random_range(1..4), rng.random_range(0..4));
    let zone = ["+00", "+02", "-05:30"][rng.random_range(0..3)];
    format!("'2024-03-3{} 0{hour}:00:00{zone}'::timestamptz", day % 2)
}

impl Scope {
    /// An interval.
    pub fn span(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, n) = (next(Type::Span), next(Type::Span), next(Type::Int));
        match rng.random_range(0..6) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * ({n}))"),
            3 => format!("make_interval(hours => {n})"),
            4 => format!("(- {a})"),
            _ => format!("greatest({a}, {b})"),
        }
    }

    /// A moment.
    pub fn moment(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (a, b, stamp) = (next(Type::Moment), next(Type::Moment), next(Type::Stamp));
        let span = next(Type::Span);
        match rng.random_range(0..6) {
            0 => format!("({a} + {span})"),
            1 => format!("({a} - {span})"),
            2 => format!("date_trunc('day', {a}, 'Europe/Berlin')"),
            3 => format!("({stamp} AT TIME ZONE 'America/New_York')"),
            4 => format!("date_bin('90 minutes', {a}, '2024-01-01+00')"),
            _ => format!("least({a}, {b})"),
        }
    }

    /// A number out of an interval or a moment.
    pub fn of_times(&self, rng: &mut StdRng, depth: usize) -> String {
        let mut next = |ty| self.expression(rng, ty, depth);
        let (span, moment) = (next(Type::Span), next(Type::Moment));
        match rng.random_range(0..4) {
            0 => format!("extract(hour from {span})::int4"),
            1 => format!("extract(dow from {moment})::int4"),
            2 => format!("date_part('minute', {span})::int4"),
            _ => format!("extract(hour from {moment} AT TIME ZONE 'Asia/Kolkata')::int4"),
        }
    }
}
