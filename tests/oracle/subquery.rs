//! Random subqueries: in conditions, as values, and LATERAL.
//!
//! A subquery sees the columns around it, and mostly compares one of them with one of its own.

use rand::Rng;

use crate::expression::Scope;
use crate::query::{Maker, Query, Type};

impl Maker<'_> {
    /// A query with subqueries in its condition and its select list.
    pub fn asking(&mut self, depth: usize) -> Query {
        let (from, scope) = self.source(depth.saturating_sub(1));
        let mut conditions = vec![];
        for _ in 0..self.rng.random_range(0..3) {
            conditions.push(self.asked(&scope, depth));
        }
        if self.rng.random_bool(0.3) {
            conditions.push(scope.expression(self.rng, Type::Bool, 1));
        }
        let types = self.types();
        let items: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(n, ty)| {
                let value = match self.rng.random_bool(0.5) {
                    true => self.scalar(&scope, *ty, depth),
                    false => scope.expression(self.rng, *ty, 1),
                };
                format!("{value} AS c{n}")
            })
            .collect();
        let joiner = if self.rng.random_bool(0.75) { " AND " } else { " OR " };
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(joiner)),
        };
        Query { sql: format!("SELECT {} FROM {from}{condition}", items.join(", ")), types }
    }

    /// A query over a table and what a LATERAL subquery makes of each of its rows.
    pub fn lateral(&mut self, depth: usize) -> Query {
        let (from, mut scope) = self.source(0);
        let name = self.name();
        let inner = self.types();
        let (rows, own, condition) = self.rows_for(&scope, depth);
        let items = self.items(&own, &inner, 1);
        let mut subquery = format!("SELECT {items} FROM {rows}{condition}");
        if self.rng.random_bool(0.4) {
            let order: Vec<String> = (1..=inner.len()).map(|n| n.to_string()).collect();
            let limit = self.rng.random_range(1..3);
            subquery = format!("{subquery} ORDER BY {} LIMIT {limit}", order.join(", "));
        }
        let made = inner.iter().enumerate().map(|(n, ty)| (format!("{name}.c{n}"), *ty));
        scope.columns.extend(made);
        let join = match self.rng.random_range(0..3) {
            0 => format!(", LATERAL ({subquery}) {name}"),
            1 => format!(" CROSS JOIN LATERAL ({subquery}) {name}"),
            _ => {
                let on = scope.expression(self.rng, Type::Bool, 1);
                format!(" LEFT JOIN LATERAL ({subquery}) {name} ON {on}")
            }
        };
        // A comma binds less than the joins before it.
        let from = if join.starts_with(',') { format!("({from})") } else { from };
        let from = if from.contains(" JOIN ") { from } else { from.replace(['(', ')'], "") };
        let types = self.types();
        let items = self.items(&scope, &types, 1);
        Query { sql: format!("SELECT {items} FROM {from}{join}"), types }
    }

    /// A condition that asks a subquery.
    fn asked(&mut self, scope: &Scope, depth: usize) -> String {
        let (rows, own, condition) = self.rows_for(scope, depth);
        let ty = Type::ALL[self.rng.random_range(0..Type::ALL.len())];
        let mut left = scope.expression(self.rng, ty, 1);
        if ty == Type::Pair {
            // A row that is written here would be several columns, even where it has a type.
            left = format!("coalesce({left}, NULL)");
        }
        let column = own.expression(self.rng, ty, 1);
        let comparison = ["=", "<>", "<", "<=", ">", ">="][self.rng.random_range(0..6)];
        let negation = if self.rng.random_bool(0.4) { "NOT " } else { "" };
        match self.rng.random_range(0..6) {
            // Marked, for those who want all its rows.
            0 | 1 => format!("{negation}EXISTS (SELECT 1 FROM {rows}{condition}/*rows*/)"),
            2 | 3 => format!("({left} {negation}IN (SELECT {column} FROM {rows}{condition}))"),
            4 => {
                let which = ["ANY", "ALL"][self.rng.random_range(0..2)];
                format!("({left} {comparison} {which} (SELECT {column} FROM {rows}{condition}))")
            }
            _ => format!("({left} {comparison} {})", self.scalar(scope, ty, depth)),
        }
    }

    /// A subquery of one value.
    fn scalar(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        let (rows, own, condition) = self.rows_for(scope, depth);
        let value = own.expression(self.rng, ty, 1);
        match ty {
            Type::Big if self.rng.random_bool(0.7) => {
                format!("(SELECT count(*) FROM {rows}{condition})")
            }
            Type::Int | Type::Numeric | Type::Date | Type::Text if self.rng.random_bool(0.7) => {
                format!("(SELECT max({value}) FROM {rows}{condition})")
            }
            // More rows than one are welcome, now and then, where the column is read: PostgreSQL
            // computes no column of a derived table that nobody reads.
            _ if self.level == 1 && self.rng.random_bool(0.05) => {
                format!("(SELECT {value} FROM {rows}{condition})")
            }
            _ => format!("(SELECT {value} FROM {rows}{condition} ORDER BY 1 LIMIT 1)"),
        }
    }

    /// A FROM clause and a condition for a subquery, and what its expressions see.
    fn rows_for(&mut self, around: &Scope, depth: usize) -> (String, Scope, String) {
        let (from, own) = self.source(0);
        let mut both = own.clone();
        both.columns.extend(around.columns.iter().cloned());
        let mut conditions = vec![];
        let pairs: Vec<(&String, &String)> = own
            .columns
            .iter()
            .flat_map(|l| around.columns.iter().map(move |r| (l, r)))
            .filter(|(l, r)| l.1 == r.1 && l.1 != Type::Bool)
            .map(|(l, r)| (&l.0, &r.0))
            .collect();
        if !pairs.is_empty() && self.rng.random_bool(0.7) {
            let (l, r) = pairs[self.rng.random_range(0..pairs.len())];
            let comparison = ["=", "=", "=", "<", "<>"][self.rng.random_range(0..5)];
            conditions.push(format!("{l} {comparison} {r}"));
        }
        if self.rng.random_bool(0.3) {
            conditions.push(both.expression(self.rng, Type::Bool, 1));
        }
        if depth > 0 && self.rng.random_bool(0.25) {
            let asked = self.asked(&both, depth - 1);
            conditions.push(asked);
        }
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        // What is chosen is the subquery's own, and now and then something from around it.
        let seen = if self.rng.random_bool(0.2) { both } else { own };
        (from, seen, condition)
    }
}
