//! What must hold between answers of Weir's own, whatever they are.
//!
//! A query falls by a condition into the rows for which it is true, those for which it is false and
//! those for which it is NULL; and as many rows pass a filter as a CASE counts. This finds what
//! Weir and PostgreSQL have in common, and needs no PostgreSQL.

use rand::Rng;

use crate::answer::Answer;
use crate::query::{Maker, Type};

/// A query whole and in its three parts, and the same by counting.
pub struct Split {
    pub whole: String,
    pub parts: [String; 3],
    /// How many rows pass each condition, by filters and by CASE.
    pub filtered: String,
    pub counted: String,
}

impl Maker<'_> {
    /// A query and what it falls into.
    pub fn split(&mut self) -> Split {
        let depth = self.rng.random_range(0..2);
        let (from, scope) = self.source(depth);
        let condition = scope.expression(self.rng, Type::Bool, 2);
        let types = self.types();
        let items = self.items(&scope, &types, 1);
        let whole = format!("SELECT {items} FROM {from}");
        let parts = [
            format!("{whole} WHERE {condition}"),
            format!("{whole} WHERE NOT {condition}"),
            format!("{whole} WHERE ({condition}) IS NULL"),
        ];
        let filtered = format!(
            "SELECT (SELECT count(*) FROM {from} WHERE {condition}) AS c0, \
             (SELECT count(*) FROM {from} WHERE NOT {condition}) AS c1"
        );
        let counted = format!(
            "SELECT count(CASE WHEN {condition} THEN 1 END) AS c0, \
             coalesce(sum(CASE {condition} WHEN false THEN 1 ELSE 0 END), 0)::int8 AS c1 \
             FROM {from}"
        );
        Split { whole, parts, filtered, counted }
    }
}

impl Split {
    /// What does not add up; `read` is how a query is answered.
    pub fn fault(&self, mut read: impl FnMut(&str) -> Answer) -> Option<String> {
        let whole = read(&self.whole);
        let parts = self.parts.each_ref().map(|part| read(part));
        let (filtered, counted) = (read(&self.filtered), read(&self.counted));
        if whole.error.is_some() || parts.iter().any(|part| part.error.is_some()) {
            return None;
        }
        let mut sum: Vec<_> = parts.iter().flat_map(|part| part.rows.clone()).collect();
        let mut rows = whole.rows;
        sum.sort();
        rows.sort();
        if sum != rows {
            let counts = parts.map(|part| part.rows.len());
            let whole = rows.len();
            return Some(format!("{}\n  {whole} rows, in parts {counts:?}", self.parts[0]));
        }
        if filtered.error.is_none() && counted.error.is_none() && filtered.rows != counted.rows {
            let (filtered, counted) = (filtered.rows, counted.rows);
            return Some(format!("{}\n  {filtered:?}, counted {counted:?}", self.counted));
        }
        None
    }
}
