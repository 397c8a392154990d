//! What was seen of a plan's operators while they ran.
//!
//! Workers build several operators for a node of a plan; what they cost is added up by the
//! [`Place`] in the plan that they came from.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::plan::physical::NodeId;

/// The part of a plan that an operator belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// A node.
    Node(NodeId),
    /// A node inside a loop: the loop, and the node in it.
    Inside(NodeId, NodeId),
    /// What becomes of the last node.
    Sink,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Node(node) => write!(f, "{node}"),
            Place::Inside(of, node) => write!(f, "{of}.{node}"),
            Place::Sink => f.write_str("sink"),
        }
    }
}

/// What was seen at one place of a plan, on one worker or on several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Updates that went on from there to elsewhere; none where none can, or where nobody counted.
    pub sent: Option<u64>,
    /// Updates that are arranged there; none where nothing is.
    pub arranged: Option<u64>,
    /// Bytes allocated for those. What is only imported is not counted.
    pub bytes: Option<u64>,
    /// Nanoseconds that the operators ran.
    pub elapsed_ns: Option<u64>,
    /// How often they ran.
    pub activations: Option<u64>,
}

impl Figures {
    /// Adds the figures of another worker.
    pub fn add(&mut self, other: &Figures) {
        let add =
            |a: &mut Option<u64>, b: Option<u64>| *a = a.map_or(b, |a| Some(a + b.unwrap_or(0)));
        add(&mut self.sent, other.sent);
        add(&mut self.arranged, other.arranged);
        add(&mut self.bytes, other.bytes);
        add(&mut self.elapsed_ns, other.elapsed_ns);
        add(&mut self.activations, other.activations);
    }
}

/// What one worker saw of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The worker.
    pub worker: usize,
    /// By place, as far as there is anything.
    pub figures: BTreeMap<Place, Figures>,
}

/// What of it is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measures {
    /// Times and activations.
    pub time: bool,
    /// Bytes.
    pub memory: bool,
    /// How long the whole took.
    pub summary: bool,
    /// As JSON, in place of text.
    pub json: bool,
}

impl Default for Measures {
    fn default() -> Measures {
        Measures { time: true, memory: true, summary: true, json: false }
    }
}

/// What the workers saw at a place, to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// By worker.
    pub workers: Vec<Figures>,
    /// What of it is shown.
    pub measures: Measures,
}

impl Seen {
    /// What is shown of figures, in order.
    fn shown(&self, figures: &Figures) -> Vec<(&'static str, Value)> {
        let Measures { time, memory, .. } = self.measures;
        let milliseconds = |ns: u64| json!(ns as f64 / 1e6);
        let timed = |value: Option<u64>| value.filter(|_| time);
        [
            ("rows", figures.sent.map(Value::from)),
            ("arranged", figures.arranged.map(Value::from)),
            ("memory_bytes", figures.bytes.filter(|_| memory).map(Value::from)),
            ("time_ms", timed(figures.elapsed_ns).map(milliseconds)),
            ("activations", timed(figures.activations).map(Value::from)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    fn total(&self) -> Figures {
        let mut total = Figures::default();
        self.workers.iter().for_each(|figures| total.add(figures));
        total
    }

    /// How much longer the slowest worker ran than all did on average.
    fn skew(&self) -> Option<f64> {
        let times = || self.workers.iter().filter_map(|figures| figures.elapsed_ns);
        let (sum, most) = (times().sum::<u64>(), times().max()?);
        let many = self.measures.time && self.workers.len() > 1 && sum > 0;
        many.then(|| most as f64 * self.workers.len() as f64 / sum as f64)
    }

    /// In one line; empty where nothing is shown.
    pub fn text(&self) -> String {
        let total = self.total();
        let mut parts: Vec<String> = Vec::new();
        for (name, value) in self.shown(&total) {
            parts.push(match name {
                "memory_bytes" => format!("memory={value}B"),
                "time_ms" => format!("time={:.3}ms", value.as_f64().unwrap_or_default()),
                _ => format!("{name}={value}"),
            });
        }
        parts.extend(self.skew().map(|skew| format!("skew={skew:.2}")));
        parts.join(" ")
    }

    /// As an object, with the workers apart where there are several.
    pub fn json(&self) -> Value {
        let object = |figures: &Figures| -> Map<String, Value> {
            self.shown(figures).into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
        };
        let mut whole = object(&self.total());
        if let Some(skew) = self.skew() {
            whole.insert("skew".into(), json!(skew));
        }
        if self.workers.len() > 1 && self.measures.time {
            let workers = self.workers.iter().map(|figures| Value::Object(object(figures)));
            whole.insert("workers".into(), Value::Array(workers.collect()));
        }
        Value::Object(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_summed_and_the_slowest_is_compared_to_the_average() {
        let fast = Figures { sent: Some(2), elapsed_ns: Some(1_000_000), ..Figures::default() };
        let slow = Figures { elapsed_ns: Some(3_000_000), arranged: Some(4), ..Figures::default() };
        let mut seen = Seen { workers: vec![fast, slow], measures: Measures::default() };
        assert_eq!(seen.text(), "rows=2 arranged=4 time=4.000ms skew=1.50");
        let workers = json!([{"rows": 2, "time_ms": 1.0}, {"arranged": 4, "time_ms": 3.0}]);
        let whole = json!({
            "rows": 2, "arranged": 4, "time_ms": 4.0, "skew": 1.5, "workers": workers
        });
        assert_eq!(seen.json(), whole);
        seen.measures.time = false;
        assert_eq!(seen.text(), "rows=2 arranged=4");
        seen.workers.clear();
        assert_eq!(seen.text(), "");
    }
}
