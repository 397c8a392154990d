//! Predicates over the time of the content: when a row comes into a filter and when it leaves.
//!
//! `now()` stands in comparisons of something that follows it with something that it does not
//! touch, under AND, OR, NOT, CASE and whatever else makes booleans of booleans. For a given row
//! such a comparison changes at few moments, which are looked for by bisection: what follows
//! `now()` never goes back, so no two of them are hidden between equal ends. Between the moments of
//! all its comparisons the whole predicate is constant, and is evaluated as any other, with `now()`
//! in its place. So nothing here knows what an operator means.
//!
//! Where clocks are set back or forward a local time does go back; around such a day, moments are
//! looked for in each quarter of an hour.

use bumpalo::Bump;

use crate::error::{Error, Result};
use crate::expr::cast::Cast;
use crate::expr::error::EvalError;
use crate::expr::func::EvalContext;
use crate::expr::functions;
use crate::expr::scalar::Expr;
use crate::repr::datetime::nanos_to_timestamptz;
use crate::repr::settings::FormatSettings;
use crate::repr::{Datum, ScalarType};

/// Functions that follow the argument in which the time stands, up or down.
const FOLLOWING: &[&str] = &[
    "timestamptz_pl_interval",
    "timestamptz_mi_interval",
    "timestamp_pl_interval",
    "timestamp_mi_interval",
    "interval_pl_timestamptz",
    "interval_pl_timestamp",
    "timestamptz_mi",
    "timestamp_ns_pl_interval",
    "timestamp_ns_mi_interval",
    "interval_pl_timestamp_ns",
    "timestamp_ns_mi",
    "timestamp_mi",
    "date_pli",
    "date_mii",
    "date_mi",
    "date_pl_interval",
    "date_mi_interval",
    "date_trunc",
    "date_bin",
];

const MICROS_PER_SECOND: i64 = 1_000_000;
/// How far from a moment the clocks' changes matter.
const NEARBY: i64 = 3 * 86_400 * MICROS_PER_SECOND;
/// The pieces in which moments near such a change are looked for.
const PIECE: i64 = 900 * MICROS_PER_SECOND;

/// A filter that depends on the time.
#[derive(Debug)]
pub struct Temporal {
    /// What must be true, over the row's columns and, behind them, the time.
    predicates: Vec<Expr>,
    comparisons: Vec<Comparison>,
    /// Where the time stands.
    column: usize,
    settings: FormatSettings,
}

#[derive(Debug)]
struct Comparison {
    left: Expr,
    right: Expr,
    types: [ScalarType; 2],
}

/// What a comparison says; only whether it is the same matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Order(std::cmp::Ordering),
    Null,
    Failed,
}

/// What a filter says of a row from a moment on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The row passes.
    In,
    /// It does not.
    Out,
    /// The filter fails on it.
    Failed(EvalError),
}

impl Temporal {
    /// A filter over rows of these types. Fails where `now()` stands elsewhere than in comparisons
    /// (0A000).
    pub fn new(
        mut predicates: Vec<Expr>,
        types: &[ScalarType],
        settings: &FormatSettings,
    ) -> Result<Temporal> {
        let column = types.len();
        let mut comparisons = vec![];
        for predicate in &mut predicates {
            predicate.visit_mut(&mut |node| {
                if *node == Expr::Now {
                    *node = Expr::Column(column);
                }
            });
            gather(predicate, column, &mut comparisons)?;
        }
        let mut columns: Vec<_> = types.iter().map(|&ty| ty.into()).collect();
        columns.push(ScalarType::TimestampTz.into());
        let comparisons = comparisons.into_iter().map(|(left, right)| {
            let types = [left.typ(&columns).scalar, right.typ(&columns).scalar];
            Comparison { left, right, types }
        });
        let comparisons = comparisons.collect();
        Ok(Temporal { predicates, comparisons, column, settings: settings.clone() })
    }

    /// What the filter says of a row from `from` on, and each moment after it, up to `until`, at
    /// which it says something else. Times are microseconds as timestamps have them; `row` has the
    /// row's datums, and is given back as it was.
    pub fn verdicts<'a>(
        &'a self,
        row: &mut Vec<Datum<'a>>,
        from: i64,
        until: i64,
        arena: &'a Bump,
    ) -> Vec<(i64, Verdict)> {
        let cx = EvalContext { arena, settings: &self.settings };
        debug_assert_eq!(row.len(), self.column);
        row.push(Datum::TimestampTz(from));
        let mut moments = vec![from];
        for comparison in &self.comparisons {
            let mut search = Search { comparison, row: &mut *row, cx, moments: &mut moments };
            search.between(from, until);
            search.around_clock_changes(from, until);
        }
        moments.sort_unstable();
        moments.dedup();
        let mut verdicts: Vec<(i64, Verdict)> = vec![];
        for moment in moments {
            row[self.column] = Datum::TimestampTz(moment);
            let verdict = self.verdict(row, &cx);
            if verdicts.last().is_none_or(|(_, before)| *before != verdict) {
                verdicts.push((moment, verdict));
            }
        }
        row.pop();
        verdicts
    }

    fn verdict<'a>(&'a self, row: &[Datum<'a>], cx: &EvalContext<'a>) -> Verdict {
        let mut failed = None;
        for predicate in &self.predicates {
            match predicate.eval(row, cx) {
                Ok(Datum::Bool(true)) => {}
                Ok(_) => return Verdict::Out,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Verdict::In, Verdict::Failed)
    }
}

/// A comparison on a row, over time.
struct Search<'s, 'a> {
    comparison: &'a Comparison,
    row: &'s mut Vec<Datum<'a>>,
    cx: EvalContext<'a>,
    moments: &'s mut Vec<i64>,
}

impl<'a> Search<'_, 'a> {
    fn sides(&mut self, now: i64) -> std::result::Result<[Datum<'a>; 2], EvalError> {
        *self.row.last_mut().expect("the time is the last column") = Datum::TimestampTz(now);
        let Comparison { left, right, .. } = self.comparison;
        Ok([left.eval(self.row, &self.cx)?, right.eval(self.row, &self.cx)?])
    }

    fn said(&mut self, now: i64) -> Said {
        match self.sides(now) {
            Err(_) => Said::Failed,
            Ok([left, right]) if left.is_null() || right.is_null() => Said::Null,
            Ok([left, right]) => Said::Order(left.compare_as(self.comparison.types[0], &right)),
        }
    }

    /// Adds the moments after `from`, up to `until`, at which something else is said than before.
    fn between(&mut self, from: i64, until: i64) {
        let (mut at, mut said) = (from, self.said(from));
        let last = self.said(until);
        while said != last {
            at = self.first_other(at, until, said);
            said = self.said(at);
            self.moments.push(at);
        }
    }

    /// The first moment after `from` at which something else is said; at `until` it is.
    fn first_other(&mut self, from: i64, until: i64, said: Said) -> i64 {
        let (mut same, mut other) = (from, until);
        // What moves as the time does meets the other side after their distance.
        for guess in self.distance(from).into_iter().flat_map(|d| [from + d, from + d + 1]) {
            if same < guess && guess < other {
                match self.said(guess) == said {
                    true => same = guess,
                    false => other = guess,
                }
            }
            if same + 1 == other {
                return other;
            }
            let before = other - 1;
            if same < before && self.said(before) == said {
                return other;
            }
        }
        while other - same > 1 {
            let middle = same + (other - same) / 2;
            match self.said(middle) == said {
                true => same = middle,
                false => other = middle,
            }
        }
        other
    }

    /// How far the sides are from each other, where both are timestamps.
    fn distance(&mut self, at: i64) -> Option<i64> {
        let [left, right] = self.sides(at).ok()?;
        let (left, right) = (micros(&left)?, micros(&right)?);
        i64::try_from(left.abs_diff(right)).ok().filter(|distance| *distance < i64::MAX / 4)
    }

    /// Adds moments near those found where the clocks of the time zone are changed.
    fn around_clock_changes(&mut self, from: i64, until: i64) {
        let zone = &self.cx.settings.time_zone;
        if zone.fixed_offset().is_some() {
            return;
        }
        let changes =
            |moment: i64| zone.offset_at(moment - NEARBY) != zone.offset_at(moment + NEARBY);
        for moment in self.moments.clone() {
            let other = self.sides(moment).ok().and_then(|sides| sides.iter().find_map(micros));
            if !changes(moment) && !other.is_some_and(changes) {
                continue;
            }
            let (first, last) = (from.max(moment - NEARBY), until.min(moment + NEARBY));
            let mut at = first;
            while at < last {
                let next = last.min((at.div_euclid(PIECE) + 1) * PIECE);
                // The pieces end where clocks change, so look at their last moments too.
                self.between(at, next - 1);
                if self.said(next - 1) != self.said(next) {
                    self.moments.push(next);
                }
                at = next;
            }
        }
    }
}

/// Gathers the comparisons in which the time stands. Errors: 0A000 where it stands elsewhere.
fn gather(expr: &Expr, time: usize, found: &mut Vec<(Expr, Expr)>) -> Result<()> {
    let has_time = |e: &Expr| e.any(&mut |node| *node == Expr::Column(time));
    if !has_time(expr) {
        return Ok(());
    }
    if let Expr::Call { func, args } = expr
        && let [left, right] = args.as_slice()
        && functions::operator_of(func.oid)
            .is_some_and(|op| matches!(op.symbol, "=" | "<>" | "<" | "<=" | ">" | ">="))
        && let Some((left, right)) = alike(left, right, func.args)
    {
        let (left, right) = (&left, &right);
        let (l, r) = (follows(left, time), follows(right, time));
        if l && !has_time(right) || r && !has_time(left) {
            found.push((left.clone(), right.clone()));
            return Ok(());
        }
        return Err(refused());
    }
    match expr {
        Expr::Column(_) => Err(refused()),
        // Only booleans are made of booleans.
        Expr::Call { func, .. } if func.args.iter().any(|ty| *ty != ScalarType::Bool) => {
            Err(refused())
        }
        Expr::Cast { .. } => Err(refused()),
        _ => {
            let mut result = Ok(());
            expr.for_each_child(&mut |child| {
                if result.is_ok() {
                    result = gather(child, time, found);
                }
            });
            result
        }
    }
}

/// The sides of a comparison as they compare with each other, where they are no booleans. An
/// instant with nanoseconds is no coarser than the other one, and what it does not reach is on one
/// side of all.
fn alike(left: &Expr, right: &Expr, types: &[ScalarType]) -> Option<(Expr, Expr)> {
    use ScalarType::{Bool, TimestampNs, TimestampTz};
    let finer = |side: &Expr| {
        let cast = Cast::find(TimestampTz, TimestampNs)?;
        Some(side.clone().cast(cast, TimestampNs, false))
    };
    match *types {
        [a, b] if a == b && a != Bool => Some((left.clone(), right.clone())),
        [TimestampNs, TimestampTz] => Some((left.clone(), finer(right)?)),
        [TimestampTz, TimestampNs] => Some((finer(left)?, right.clone())),
        _ => None,
    }
}

/// The microseconds of a point in time.
fn micros(datum: &Datum<'_>) -> Option<i64> {
    match datum {
        Datum::Timestamp(micros) | Datum::TimestampTz(micros) => Some(*micros),
        Datum::TimestampNs(nanos) => Some(nanos_to_timestamptz(*nanos).0),
        _ => None,
    }
}

/// Whether an expression goes up, or down, with the time.
fn follows(expr: &Expr, time: usize) -> bool {
    match expr {
        Expr::Column(column) => *column == time,
        Expr::Cast { input, to, .. } => {
            let to_time = matches!(
                to.scalar,
                ScalarType::Timestamp
                    | ScalarType::TimestampTz
                    | ScalarType::TimestampNs
                    | ScalarType::Date
            );
            to_time && follows(input, time)
        }
        Expr::Call { func, args } if FOLLOWING.contains(&func.name) || is_utc(func.name, args) => {
            let with_time: Vec<&Expr> =
                args.iter().filter(|arg| arg.columns().contains(&time)).collect();
            matches!(with_time.as_slice(), [one] if follows(one, time))
        }
        _ => false,
    }
}

/// Whether a call is a conversion from or to UTC, whose clocks are never changed.
fn is_utc(name: &str, args: &[Expr]) -> bool {
    let zone = args.first().and_then(Expr::as_literal);
    name == "timezone"
        && matches!(zone, Some(Datum::Text(zone)) if zone.eq_ignore_ascii_case("utc"))
}

/// The error of `now()` where it cannot stand.
pub fn refused() -> Error {
    Error::unsupported(
        "now() in a maintained query in this place",
        "Compare it, or it with an interval added or taken away, with what is not the time: WHERE \
         at > now() - interval '1 hour'.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repr::Interval;
    use crate::repr::datetime::zone::TimeZone;

    const HOUR: i64 = 3_600 * MICROS_PER_SECOND;

    fn call(name: &str, args: Vec<Expr>) -> Expr {
        let types = args.iter().map(|arg| match arg {
            Expr::Literal(literal) => literal.ty.scalar,
            _ => ScalarType::TimestampTz,
        });
        let types: Vec<ScalarType> = types.collect();
        let found = functions::functions().find(|f| f.name == name && f.args == types);
        Expr::call_by_oid(found.expect("there is one").oid, args)
    }

    fn interval(days: i32, micros: i64) -> Expr {
        let interval = Interval { months: 0, days, micros };
        Expr::literal(Datum::Interval(interval), ScalarType::Interval)
    }

    /// The moments from a filter, and those found by asking it again and again.
    fn both(
        predicate: Expr,
        zone: &str,
        at: i64,
        from: i64,
        steps: i64,
    ) -> [Vec<(i64, Verdict)>; 2] {
        let time_zone = TimeZone::parse(zone).unwrap();
        let settings = FormatSettings { time_zone, ..FormatSettings::default() };
        let filter = Temporal::new(vec![predicate], &[ScalarType::TimestampTz], &settings).unwrap();
        let arena = Bump::new();
        let cx = EvalContext { arena: &arena, settings: &settings };
        let until = from + steps * PIECE / 3;
        let found = filter.verdicts(&mut vec![Datum::TimestampTz(at)], from, until, &arena);
        let mut asked: Vec<(i64, Verdict)> = vec![];
        for step in 0..=steps {
            let now = from + step * PIECE / 3;
            let row = [Datum::TimestampTz(at), Datum::TimestampTz(now)];
            let verdict = filter.verdict(&row, &cx);
            if asked.last().is_none_or(|(_, before)| *before != verdict) {
                asked.push((now, verdict));
            }
        }
        [found, asked]
    }

    /// Both tell the same, but for what lies between two questions.
    fn agree(predicate: Expr, zone: &str, at: i64, from: i64, steps: i64) {
        let [found, asked] = both(predicate, zone, at, from, steps);
        let verdicts =
            |of: &[(i64, Verdict)]| of.iter().map(|(_, v)| v.clone()).collect::<Vec<_>>();
        assert_eq!(verdicts(&found), verdicts(&asked), "{zone} {at}: {found:?} {asked:?}");
        for ((exact, _), (rough, _)) in found.iter().zip(&asked) {
            assert!(exact <= rough && rough - exact < PIECE, "{zone} {at}: {exact} {rough}");
        }
    }

    #[test]
    fn moments_are_exact() {
        let at = 100 * HOUR;
        let recent = call(
            "timestamptz_gt",
            vec![
                Expr::Column(0),
                call("timestamptz_mi_interval", vec![Expr::Now, interval(0, HOUR)]),
            ],
        );
        let settings = FormatSettings::default();
        let filter = Temporal::new(vec![recent], &[ScalarType::TimestampTz], &settings).unwrap();
        let arena = Bump::new();
        let mut row = vec![Datum::TimestampTz(at)];
        assert_eq!(
            filter.verdicts(&mut row, at - HOUR, i64::MAX / 4, &arena),
            [(at - HOUR, Verdict::In), (at + HOUR, Verdict::Out)]
        );
        let equal = call("timestamptz_eq", vec![Expr::Now, Expr::Column(0)]);
        let filter = Temporal::new(vec![equal], &[ScalarType::TimestampTz], &settings).unwrap();
        assert_eq!(
            filter.verdicts(&mut row, 0, i64::MAX / 4, &arena),
            [(0, Verdict::Out), (at, Verdict::In), (at + 1, Verdict::Out)]
        );
    }

    #[test]
    fn moments_around_changes_of_the_clocks_are_found() {
        // The clocks of Berlin go forward on 2024-03-31 and back on 2024-10-27, at 01:00 UTC.
        for change in [765_162_000 * MICROS_PER_SECOND, 783_306_000 * MICROS_PER_SECOND] {
            for quarter in -120..120 {
                let at = change + quarter * PIECE + 7 * 60 * MICROS_PER_SECOND;
                for days in [0, 1] {
                    let shifted =
                        call("timestamptz_mi_interval", vec![Expr::Now, interval(days, HOUR)]);
                    let predicate = call("timestamptz_lt", vec![shifted, Expr::Column(0)]);
                    agree(predicate, "Europe/Berlin", at, change - 48 * HOUR, 1_500);
                }
            }
        }
    }

    #[test]
    fn elsewhere_the_time_is_refused() {
        let settings = FormatSettings::default();
        let null = Expr::Now.is_null();
        assert!(Temporal::new(vec![null], &[ScalarType::TimestampTz], &settings).is_err());
    }
}
