//! Random recursions, and functions that return rows.
//!
//! A recursion ends because it counts its rounds. Its term follows the rows into a table, or looks
//! at the rows of a round together: the first of them, groups, numbers, each once. Whatever depends
//! on an order is ordered by all that there is.

use rand::Rng;

use crate::expression::Scope;
use crate::query::{Maker, Query, Type};
use crate::tables::TABLES;

/// How many rounds there are at most.
const ROUNDS_MAX: usize = 3;

impl Maker<'_> {
    /// A query over what a recursion makes.
    pub fn recursion(&mut self, depth: usize) -> Query {
        let base = self.limited(depth);
        if base.types.contains(&Type::Float) {
            // Which of two sums of floats is meant depends on the order of the rows.
            let base = self.query_without_floats(depth);
            let (name, count) = (self.name(), base.types.len());
            let order: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
            let order = order.join(", ");
            let sql = format!("SELECT * FROM ({}) {name} ORDER BY {order} LIMIT 12", base.sql);
            return self.recursion_from(Query { sql, ..base });
        }
        self.recursion_from(base)
    }

    fn recursion_from(&mut self, base: Query) -> Query {
        let Query { sql, types } = base;
        let (name, from) = (self.name(), self.name());
        // A sum has no precision, which a column may have.
        let cast = |text: String, ty: Type| match ty {
            Type::Numeric => format!("(({text}) + 0)::numeric"),
            _ => format!("({text})::{}", ty.name()),
        };
        let columns: Vec<String> = (0..types.len()).map(|n| format!("c{n}")).collect();
        let shown: Vec<String> =
            columns.iter().zip(&types).map(|(c, ty)| cast(format!("{from}.{c}"), *ty)).collect();
        let first = format!("SELECT 0, {} FROM ({sql}) {from}", shown.join(", "));
        let all = if self.rng.random_bool(0.5) { " ALL" } else { "" };
        let (rounds, x) = (self.rng.random_range(1..=ROUNDS_MAX), self.name());
        let (source, scope) = self.round(&name, &x, &types);
        let mut condition = format!("{x}.d < {rounds}");
        if self.rng.random_bool(0.4) {
            let more = scope.expression(self.rng, Type::Bool, 1);
            condition = format!("{condition} AND {more}");
        }
        let items: Vec<String> =
            types.iter().map(|ty| cast(scope.expression(self.rng, *ty, 1), *ty)).collect();
        let distinct = if self.rng.random_bool(0.2) { "DISTINCT " } else { "" };
        let term = format!(
            "SELECT {distinct}{x}.d + 1, {} FROM {source} WHERE {condition}",
            items.join(", ")
        );
        let list = columns.join(", ");
        let sql = format!(
            "WITH RECURSIVE {name}(d, {list}) AS ({first} UNION{all} {term}) \
             SELECT {list} FROM {name}"
        );
        Query { sql, types }
    }

    /// What a term reads: the rows of a round as they are, with rows of a table, or together.
    fn round(&mut self, name: &str, x: &str, types: &[Type]) -> (String, Scope) {
        let columns = types.iter().enumerate().map(|(n, ty)| (format!("{x}.c{n}"), *ty));
        let mut scope = Scope { columns: columns.collect() };
        let list: Vec<String> = (0..types.len()).map(|n| format!("c{n}")).collect();
        let list = list.join(", ");
        let text = match self.rng.random_range(0..6) {
            0 => {
                let count = self.rng.random_range(1..5);
                format!("(SELECT * FROM {name} ORDER BY d, {list} LIMIT {count}) {x}")
            }
            1 => {
                scope.columns.push((format!("{x}.n"), Type::Big));
                let (rows, by) = (self.name(), format!("d, {list}"));
                // PostgreSQL refuses aggregates right above the reference.
                let rows = format!("(SELECT * FROM {name}) {rows}");
                format!("(SELECT {by}, count(*) AS n FROM {rows} GROUP BY {by}) {x}")
            }
            2 => {
                scope.columns.push((format!("{x}.n"), Type::Big));
                let number = "count(*) OVER (PARTITION BY c0) AS n";
                format!("(SELECT d, {list}, {number} FROM {name}) {x}")
            }
            3 => {
                let table = &TABLES[self.rng.random_range(0..TABLES.len())];
                let y = self.name();
                let kinds = |ty: Type| {
                    let same = |column: &&(&str, &str, Type)| column.2 == ty;
                    table.columns.iter().filter(same).map(|column| column.0).next()
                };
                let pair = types.iter().enumerate().find_map(|(n, ty)| Some((n, kinds(*ty)?)));
                let Some((n, column)) = pair else { return (format!("{name} {x}"), scope) };
                let more = table.columns.iter().filter(|column| column.2 != Type::Float);
                scope.columns.extend(more.map(|(c, _, ty)| (format!("{y}.{c}"), *ty)));
                format!("{name} {x} JOIN {} {y} ON {x}.c{n} = {y}.{column}", table.name)
            }
            _ => format!("{name} {x}"),
        };
        (text, scope)
    }

    /// A function that returns rows, over what stands before it; and what it brings.
    pub fn rows_of_call(&mut self, scope: &Scope) -> (String, Scope) {
        let name = self.name();
        let array = scope.columns.iter().find(|column| column.1 == Type::Ints);
        let call = match (self.rng.random_range(0..3), array) {
            (0, Some((array, _))) => format!("unnest({array})"),
            (1, Some((array, _))) => format!("generate_subscripts({array}, 1)"),
            _ => {
                let number = scope.expression(self.rng, Type::Int, 1);
                format!("generate_series(1, 1 + abs(({number}) % 3))")
            }
        };
        let (ordinality, columns) = match self.rng.random_bool(0.3) {
            true => (" WITH ORDINALITY", format!("{name}(v, o)")),
            false => ("", format!("{name}(v)")),
        };
        let mut made = vec![(format!("{name}.v"), Type::Int)];
        if !ordinality.is_empty() {
            made.push((format!("{name}.o"), Type::Big));
        }
        (format!("{call}{ordinality} AS {columns}"), Scope { columns: made })
    }

    /// The same with functions that return rows in its select list.
    pub fn with_rows_of_calls(&mut self, query: Query) -> Query {
        let Query { sql, mut types } = query;
        let name = self.name();
        let array = types.iter().position(|ty| *ty == Type::Ints);
        let mut items: Vec<String> = (0..types.len()).map(|n| format!("c{n}")).collect();
        for _ in 0..self.rng.random_range(1..3) {
            let call = match array {
                Some(array) if self.rng.random_bool(0.7) => format!("unnest(c{array})"),
                _ => format!("generate_series(1, {})", self.rng.random_range(0..4)),
            };
            items.push(format!("{call} AS c{}", types.len()));
            types.push(Type::Int);
        }
        Query { sql: format!("SELECT {} FROM ({sql}) {name}", items.join(", ")), types }
    }
}
