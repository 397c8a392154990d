//! Medians, ranges, ratios, and how they are printed.

use std::collections::BTreeMap;

use crate::rounds::{Rounds, TARGETS};

/// Names and values.
pub type Figures = Vec<(String, f64)>;

/// The figures of several rounds, by name.
#[derive(Default)]
pub struct Summary(BTreeMap<String, Vec<f64>>);

impl Summary {
    /// Adds those of a round.
    pub fn add(&mut self, figures: &[(String, f64)]) {
        for (name, value) in figures {
            self.0.entry(name.clone()).or_default().push(*value);
        }
    }

    /// The median of a figure, or of its ratio to another in the same round.
    pub fn ratio(&self, name: &str, to: Option<&str>) -> Option<f64> {
        let ours = self.0.get(name)?;
        let Some(to) = to else { return Some(median(ours)) };
        let ratios: Vec<f64> = ours.iter().zip(self.0.get(to)?).map(|(a, b)| a / b).collect();
        Some(median(&ratios))
    }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: &[f64]) -> f64 {
    sorted(values)[values.len() / 2]
}

/// Prints all figures, and how the targets stand.
pub fn print(rounds: &Rounds) {
    println!("\n{:44} {:>10} {:>10} {:>10} {:>7}", "", "median", "least", "greatest", "ratio");
    for (name, values) in &rounds.summary.0 {
        let values = sorted(values);
        let (least, greatest) = (values[0], values[values.len() - 1]);
        let figure = name.split_once(' ').map_or("", |(_, figure)| figure);
        let ratio = rounds.summary.ratio(name, Some(&format!("reference {figure}")));
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        let middle = median(&values);
        println!("{name:44} {middle:10.1} {least:10.1} {greatest:10.1} {ratio:>7}");
    }
    println!();
    for target in TARGETS {
        let kind = if target.reference.is_some() { "of the reference" } else { "" };
        let Some(value) = rounds.summary.ratio(target.figure, target.reference) else {
            println!("{}: not measured", target.figure);
            continue;
        };
        let verdict = if value <= target.at_most { "met" } else { "MISSED" };
        let at_most = target.at_most;
        println!("{}: {value:.2} {kind} (target {at_most}): {verdict}", target.figure);
    }
    println!();
}
