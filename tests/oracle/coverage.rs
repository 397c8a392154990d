//! What the queries that were compared were made of: operators of plans, and functions.

use std::collections::BTreeMap;

use crate::support::wire::Outcome;

/// Operators that hardly any hundred queries go without.
const COMMON: [&str; 8] = ["Get", "Project", "Map", "Filter", "Join", "Reduce", "Union", "TopK"];

/// How often each was there.
#[derive(Debug, Default)]
pub struct Coverage {
    queries: usize,
    nodes: BTreeMap<String, usize>,
    functions: BTreeMap<String, usize>,
}

impl Coverage {
    /// Counts a query by its text and what EXPLAIN says of it.
    pub fn add(&mut self, sql: &str, plan: &Outcome) {
        self.queries += 1;
        for line in plan.rows.iter().flatten().flatten() {
            let node = line.trim_start().split(' ').next().unwrap_or_default();
            *self.nodes.entry(node.to_string()).or_default() += 1;
        }
        for name in calls(sql) {
            *self.functions.entry(name.to_string()).or_default() += 1;
        }
    }

    /// Prints what was there, and fails where something common was not.
    pub fn conclude(&self) {
        let list = |counts: &BTreeMap<String, usize>| {
            let mut counts: Vec<(&String, &usize)> = counts.iter().collect();
            counts.sort_by_key(|(name, count)| (usize::MAX - **count, (*name).clone()));
            let items = counts.iter().map(|(name, count)| format!("{name} {count}"));
            items.collect::<Vec<_>>().join(", ")
        };
        println!("{} queries", self.queries);
        println!("operators: {}", list(&self.nodes));
        println!("{} functions: {}", self.functions.len(), list(&self.functions));
        if self.queries >= 100 {
            let absent = COMMON.iter().filter(|node| !self.nodes.contains_key(**node));
            let absent: Vec<&&str> = absent.collect();
            assert!(absent.is_empty(), "no query has {absent:?}");
        }
    }
}

/// The names before parentheses; keywords are written in capitals.
fn calls(sql: &str) -> impl Iterator<Item = &str> {
    let parts = sql.split('(');
    parts.filter_map(|before| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let start = before.rfind(|c: char| !is_part(c)).map_or(0, |at| at + 1);
        let name = &before[start..];
        name.starts_with(|c: char| c.is_ascii_lowercase()).then_some(name)
    })
}
