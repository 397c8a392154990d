//! The settings of profiling, which `ALTER SYSTEM` changes while the server runs.
//!
//! Their limits and defaults are those of `settings.tsv`; what is set holds for the whole server.

use std::time::Duration;

use crate::profile::invariant::Limits;
use crate::session::variables::table::find;
use crate::session::variables::value::Value;

/// The settings: how each is called, and where it is.
const SETTINGS: &[(&str, Place)] = &[
    ("introspection_max_epoch", |p| &mut p.max_epoch_ms),
    ("introspection_max_message", |p| &mut p.max_message_ms),
    ("introspection_max_operator", |p| &mut p.max_operator_ms),
    ("introspection_max_progress", |p| &mut p.max_progress_ms),
    ("introspection_pattern_hops", |p| &mut p.hops),
    ("introspection_retention", |p| &mut p.retention_ms),
    ("introspection_snapshot", |p| &mut p.snapshot_ms),
    ("introspection_some_progress", |p| &mut p.some_progress),
];

type Place = fn(&mut Profiling) -> &mut i64;

/// How workers are profiled, as it was set. Limits are in milliseconds; -1: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::session) struct Profiling {
    snapshot_ms: i64,
    retention_ms: i64,
    hops: i64,
    max_epoch_ms: i64,
    max_operator_ms: i64,
    max_message_ms: i64,
    max_progress_ms: i64,
    some_progress: i64,
}

fn number(value: &Value) -> i64 {
    match value {
        Value::Int(number) => *number,
        Value::Bool(on) => i64::from(*on),
        _ => 0,
    }
}

impl Profiling {
    /// As `settings.tsv` has it.
    pub(in crate::session) fn at_start() -> Profiling {
        let mut profiling = Profiling::default();
        for (name, place) in SETTINGS {
            if let Some(setting) = find(name) {
                *place(&mut profiling) = number(&setting.default);
            }
        }
        profiling
    }

    /// Whether a setting is one of these.
    pub(in crate::session) fn has(name: &str) -> bool {
        SETTINGS.iter().any(|(known, _)| *known == name)
    }

    /// Changes a setting.
    pub(in crate::session) fn set(&mut self, name: &str, value: &Value) {
        if let Some((_, place)) = SETTINGS.iter().find(|(known, _)| *known == name) {
            *place(self) = number(value);
        }
    }

    /// All settings and their values.
    pub(in crate::session) fn all(mut self) -> Vec<(&'static str, Value)> {
        let value = |(name, place): &(&'static str, Place)| {
            let (name, number) = (*name, *place(&mut self));
            match find(name).map(|setting| &setting.default) {
                Some(Value::Bool(_)) => (name, Value::Bool(number != 0)),
                _ => (name, Value::Int(number)),
            }
        };
        SETTINGS.iter().map(value).collect()
    }

    /// How long a snapshot is; none: nothing is profiled.
    pub(in crate::session) fn snapshot(&self) -> Option<Duration> {
        millis(self.snapshot_ms).filter(|length| !length.is_zero())
    }

    /// How long the results of a snapshot stay.
    pub(in crate::session) fn retention(&self) -> Duration {
        millis(self.retention_ms).unwrap_or_default()
    }

    /// How many hops patterns have.
    pub(in crate::session) fn hops(&self) -> usize {
        usize::try_from(self.hops).unwrap_or(0)
    }

    /// The limits of invariants.
    pub(in crate::session) fn limits(&self) -> Limits {
        let nanos = |ms: i64| u64::try_from(ms).ok().map(|ms| ms.saturating_mul(1_000_000));
        Limits {
            epoch_ns: nanos(self.max_epoch_ms),
            operator_ns: nanos(self.max_operator_ms),
            message_ns: nanos(self.max_message_ms),
            progress_ns: nanos(self.max_progress_ms),
            some_progress: self.some_progress != 0,
        }
    }
}

fn millis(ms: i64) -> Option<Duration> {
    u64::try_from(ms).ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_declared_and_starts_as_that_says() {
        for (name, _) in SETTINGS {
            assert!(find(name).is_some(), "{name}");
        }
        let start = Profiling::at_start();
        assert_eq!((start.snapshot(), start.retention()), (None, Duration::from_secs(10)));
        assert_eq!(start.limits(), Limits::default());
        let mut changed = start;
        changed.set("introspection_max_operator", &Value::Int(0));
        changed.set("introspection_some_progress", &Value::Bool(true));
        let limits = changed.limits();
        assert_eq!((limits.operator_ns, limits.some_progress), (Some(0), true));
    }
}
