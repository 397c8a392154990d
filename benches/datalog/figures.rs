//! What is measured, and how it is told from one process to another.

use crate::graphs::mix;

/// How many changes a transaction makes, and how often that is measured.
pub const SIZES: [(u64, u64); 4] = [(1, 400), (10, 40), (100, 20), (1_000, 20)];

/// The sum over all rows of something that tells them apart, and how many they are: equal for
/// programs that have derived the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Check {
    /// How many.
    pub rows: i64,
    sum: u64,
}

impl Check {
    /// Takes in a row that has come or gone.
    pub fn add(&mut self, row: &[u32], diff: i64) {
        let mixed = row.iter().fold(1, |sum: u64, n| {
            mix(sum.wrapping_mul(0x1_0000_0001).wrapping_add(u64::from(*n)))
        });
        self.rows += diff;
        self.sum = self.sum.wrapping_add(mixed.wrapping_mul(diff as u64));
    }
}

/// Names and values.
#[derive(Default)]
pub struct Figures(pub Vec<(String, f64)>);

impl Figures {
    /// Adds one.
    pub fn add(&mut self, name: impl Into<String>, value: f64) {
        self.0.push((name.into(), value));
    }

    /// What the transactions of one size took: each, and all in processor time.
    pub fn add_changes(&mut self, size: u64, mut latencies_us: Vec<f64>, cpu_us: f64) {
        latencies_us.sort_by(f64::total_cmp);
        self.add(format!("change_{size}_p50_us"), latencies_us[latencies_us.len() / 2]);
        let all = 2 * latencies_us.len();
        self.add(format!("change_{size}_cpu_us"), cpu_us / all as f64);
    }

    /// What has been derived.
    pub fn add_check(&mut self, check: Check) {
        self.add("rows", check.rows as f64);
        // As much as a float tells exactly.
        self.add("check", (check.sum >> 12) as f64);
    }

    /// Prints them for [`Figures::read`].
    pub fn print(&self) {
        self.0.iter().for_each(|(name, value)| println!("{name} {value}"));
    }

    /// Reads what another process has printed.
    pub fn read(text: &str) -> Figures {
        let figure = |line: &str| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Figures(text.lines().filter_map(figure).collect())
    }

    /// A figure.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}
