//! Random queries over the language that Weir has.
//!
//! Their results are determined as bags: whatever cuts rows off is ordered by all that is shown.

use std::collections::HashMap;

use rand::Rng;
use rand::rngs::StdRng;

use crate::expression::Scope;
use crate::tables::TABLES;

/// What an expression is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Int,
    Big,
    Numeric,
    Float,
    Text,
    Bool,
    Date,
    Stamp,
    Ints,
    /// A varbit.
    Bits,
    /// An inet.
    Net,
    /// An interval.
    Span,
    /// A timestamptz.
    Moment,
    /// A jsonb.
    Doc,
    /// An int4range.
    Range,
    /// An int4multirange.
    Multi,
    /// An enum.
    Mood,
    /// A domain.
    Small,
    /// A composite type.
    Pair,
    /// A numrange.
    Spread,
}

impl Type {
    pub const ALL: [Type; 20] = [
        Type::Int,
        Type::Big,
        Type::Numeric,
        Type::Float,
        Type::Text,
        Type::Bool,
        Type::Date,
        Type::Stamp,
        Type::Ints,
        Type::Bits,
        Type::Net,
        Type::Span,
        Type::Moment,
        Type::Doc,
        Type::Range,
        Type::Multi,
        Type::Mood,
        Type::Small,
        Type::Pair,
        Type::Spread,
    ];

    /// As SQL spells it.
    pub fn name(self) -> &'static str {
        match self {
            Type::Int => "int4",
            Type::Big => "int8",
            Type::Numeric => "numeric",
            Type::Float => "float8",
            Type::Text => "text",
            Type::Bool => "bool",
            Type::Date => "date",
            Type::Stamp => "timestamp",
            Type::Ints => "int4[]",
            Type::Bits => "varbit",
            Type::Net => "inet",
            Type::Span => "interval",
            Type::Moment => "timestamptz",
            Type::Doc => "jsonb",
            Type::Range => "int4range",
            Type::Multi => "int4multirange",
            Type::Mood => "mood",
            Type::Small => "small",
            Type::Pair => "pair",
            Type::Spread => "numrange",
        }
    }

    /// Whether there are `min` and `max` of it.
    pub fn has_extremes(self) -> bool {
        let has_none = matches!(self, Type::Bool | Type::Bits | Type::Doc | Type::Pair);
        !has_none && !matches!(self, Type::Range | Type::Multi | Type::Spread)
    }
}

/// A query, and the types of its columns `c0`, `c1`, ….
pub struct Query {
    pub sql: String,
    pub types: Vec<Type>,
}

/// Makes queries.
pub struct Maker<'a> {
    pub rng: &'a mut StdRng,
    /// How many names have been given.
    names: usize,
    /// What PostgreSQL computes as it is, not within the query around it: derived tables, or what
    /// they read.
    pub wholes: Vec<String>,
    /// The derived tables in joins. Where a condition of a join reads a column of one, PostgreSQL
    /// computes it for all rows, or for none where the other side has none.
    derived: HashMap<String, String>,
    /// How many queries are around what is being made.
    pub level: usize,
}

impl Maker<'_> {
    pub fn new(rng: &mut StdRng) -> Maker<'_> {
        Maker { rng, names: 0, wholes: vec![], derived: HashMap::new(), level: 0 }
    }

    pub fn name(&mut self) -> String {
        self.names += 1;
        format!("r{}", self.names)
    }

    /// A query with so many levels of queries inside.
    pub fn query(&mut self, depth: usize) -> Query {
        self.level += 1;
        let kind = self.rng.random_range(0..20);
        let is_whole = match kind {
            3..=9 => true,
            14..=17 => depth > 0,
            18 => self.level < 3,
            _ => false,
        };
        let query = self.drawn(kind, depth);
        self.level -= 1;
        if is_whole && self.level > 0 {
            self.wholes.push(query.sql.clone());
        }
        query
    }

    fn drawn(&mut self, kind: usize, depth: usize) -> Query {
        match kind {
            10..=12 => self.asking(depth.min(1)),
            13 => self.lateral(depth.min(1)),
            14..=16 if depth > 0 => self.windows(depth - 1),
            17 if depth > 0 => self.ties(depth - 1),
            18 if self.level < 3 => self.recursion(0),
            0..=2 => self.plain(depth),
            3..=5 => self.grouped(depth),
            6 => self.distinct(depth),
            7 => self.united(depth),
            8 => self.best(depth),
            9 => self.with(depth),
            _ => self.plain(depth),
        }
    }

    /// The same, cut off by ORDER BY and LIMIT, which only the outermost level has.
    pub fn limited(&mut self, depth: usize) -> Query {
        let query = self.query(depth);
        let order: Vec<String> = (1..=query.types.len()).map(|n| n.to_string()).collect();
        let (limit, offset) = (self.rng.random_range(1..20), self.rng.random_range(0..3));
        let name = self.name();
        let sql = format!(
            "SELECT * FROM ({}) {name} ORDER BY {} LIMIT {limit} OFFSET {offset}",
            query.sql,
            order.join(", ")
        );
        Query { sql, ..query }
    }

    /// A FROM clause, and what it brings into scope.
    pub fn source(&mut self, depth: usize) -> (String, Scope) {
        let (mut text, mut scope) = self.input(depth);
        let joins = [0, 0, 1, 1, 2][self.rng.random_range(0..5)];
        for _ in 0..joins {
            let (other, other_scope) = self.input(depth);
            let kinds = ["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"];
            let kind = kinds[self.rng.random_range(0..kinds.len())];
            // PostgreSQL has FULL JOIN over equalities alone.
            let is_full = kind == "FULL JOIN";
            let is_small = [&text, &other].iter().all(|input| !input.contains(['(', 'J']));
            match self.join_condition(&scope, &other_scope, is_full) {
                Some(on) => text = format!("{text} {kind} {other} ON {on}"),
                None if is_small => text = format!("{text} CROSS JOIN {other}"),
                // Products of products are too many rows.
                None => continue,
            }
            scope.columns.extend(other_scope.columns);
        }
        if self.rng.random_bool(0.08) {
            let (call, made) = self.rows_of_call(&scope);
            text = format!("{text} CROSS JOIN LATERAL {call}");
            self.wholes.push(format!("SELECT count(*) FROM {text}"));
            scope.columns.extend(made.columns);
        }
        (text, scope)
    }

    /// None where the sides have no type in common.
    fn join_condition(&mut self, left: &Scope, right: &Scope, is_plain: bool) -> Option<String> {
        let pairs: Vec<(&String, &String)> = left
            .columns
            .iter()
            .flat_map(|l| right.columns.iter().map(move |r| (l, r)))
            .filter(|(l, r)| l.1 == r.1 && l.1 != Type::Bool)
            .map(|(l, r)| (&l.0, &r.0))
            .collect();
        if pairs.is_empty() {
            return None;
        }
        let (l, r) = pairs[self.rng.random_range(0..pairs.len())];
        for column in [l, r] {
            let name = column.split('.').next().unwrap();
            self.wholes.extend(self.derived.get(name).cloned());
        }
        let mut on = format!("{l} = {r}");
        if !is_plain && self.rng.random_bool(0.3) {
            let mut both = left.clone();
            both.columns.extend(right.columns.iter().cloned());
            on = format!("{on} AND {}", both.expression(self.rng, Type::Bool, 1));
        }
        Some(on)
    }

    fn input(&mut self, depth: usize) -> (String, Scope) {
        let name = self.name();
        if depth > 0 && self.rng.random_bool(0.3) {
            let query = self.query(depth - 1);
            let columns = query.types.iter().enumerate();
            let columns = columns.map(|(n, ty)| (format!("{name}.c{n}"), *ty)).collect();
            self.derived.insert(name.clone(), query.sql.clone());
            return (format!("({}) {name}", query.sql), Scope { columns });
        }
        let table = &TABLES[self.rng.random_range(0..TABLES.len())];
        let columns = table.columns.iter().map(|(c, _, kind)| (format!("{name}.{c}"), *kind));
        (format!("{} {name}", table.name), Scope { columns: columns.collect() })
    }

    fn condition(&mut self, scope: &Scope) -> String {
        match self.rng.random_bool(0.6) {
            true => format!(" WHERE {}", scope.expression(self.rng, Type::Bool, 2)),
            false => String::new(),
        }
    }

    pub fn types(&mut self) -> Vec<Type> {
        let count = self.rng.random_range(1..4);
        (0..count).map(|_| Type::ALL[self.rng.random_range(0..Type::ALL.len())]).collect()
    }

    pub fn items(&mut self, scope: &Scope, types: &[Type], depth: usize) -> String {
        let items = types.iter().enumerate();
        let item =
            |(n, ty): (usize, &Type)| format!("{} AS c{n}", scope.expression(self.rng, *ty, depth));
        items.map(item).collect::<Vec<_>>().join(", ")
    }

    fn plain_of(&mut self, depth: usize, types: Vec<Type>) -> Query {
        let (from, scope) = self.source(depth);
        let condition = self.condition(&scope);
        if self.level > 1 && !condition.is_empty() {
            self.wholes.push(format!("SELECT count(*) FROM {from}{condition}"));
        }
        let items = self.items(&scope, &types, 2);
        Query { sql: format!("SELECT {items} FROM {from}{condition}"), types }
    }

    fn plain(&mut self, depth: usize) -> Query {
        let types = self.types();
        let query = self.plain_of(depth, types);
        if self.rng.random_bool(0.06) { self.with_rows_of_calls(query) } else { query }
    }

    fn distinct(&mut self, depth: usize) -> Query {
        let (from, scope) = self.source(depth);
        let condition = self.condition(&scope);
        let types = self.types();
        let items = self.items(&scope, &types, 1);
        Query { sql: format!("SELECT DISTINCT {items} FROM {from}{condition}"), types }
    }

    fn united(&mut self, depth: usize) -> Query {
        let types = self.types();
        let (left, right) = (self.plain_of(0, types.clone()), self.plain_of(depth, types));
        let kinds = ["UNION ALL", "UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL"];
        let kind = kinds[self.rng.random_range(0..kinds.len())];
        Query { sql: format!("{} {kind} {}", left.sql, right.sql), ..left }
    }

    fn with(&mut self, depth: usize) -> Query {
        let name = self.name();
        let inner = self.query(depth.saturating_sub(1));
        let columns = |alias: &str| {
            let columns = inner.types.iter().enumerate();
            columns.map(|(n, ty)| (format!("{alias}.c{n}"), *ty)).collect::<Vec<_>>()
        };
        let mut scope = Scope { columns: columns("x") };
        let mut from = format!("{name} x");
        if self.rng.random_bool(0.4) {
            from = format!("{from} JOIN {name} y ON x.c0 = y.c0");
            scope.columns.extend(columns("y"));
            // PostgreSQL computes the rows that the join asks for.
            self.wholes.push(inner.sql.clone());
        }
        let condition = self.condition(&scope);
        let types = self.types();
        let items = self.items(&scope, &types, 1);
        let sql = format!("WITH {name} AS ({}) SELECT {items} FROM {from}{condition}", inner.sql);
        Query { sql, types }
    }

    /// The best rows of each group.
    fn best(&mut self, depth: usize) -> Query {
        let inner = self.plain(depth);
        let name = self.name();
        let columns: Vec<String> = (0..inner.types.len()).map(|n| format!("c{n}")).collect();
        let directions = ["", " DESC", " DESC NULLS LAST", " NULLS FIRST"];
        let mut order: Vec<String> = columns
            .iter()
            .map(|c| format!("{c}{}", directions[self.rng.random_range(0..directions.len())]))
            .collect();
        let first = self.rng.random_range(0..order.len());
        order.rotate_left(first);
        let partition = match self.rng.random_bool(0.8) {
            true => format!("PARTITION BY {} ", columns[self.rng.random_range(0..columns.len())]),
            false => String::new(),
        };
        let sql = format!(
            "SELECT {shown} FROM (SELECT {shown}, row_number() OVER ({partition}ORDER BY {order}) \
             AS rank FROM ({inner}) {name}) {name} WHERE rank <= {count}",
            shown = columns.join(", "),
            order = order.join(", "),
            inner = inner.sql,
            count = self.rng.random_range(1..4),
        );
        Query { sql, ..inner }
    }

    fn grouped(&mut self, depth: usize) -> Query {
        let (from, scope) = self.source(depth);
        let condition = self.condition(&scope);
        let keys: Vec<(String, Type)> = (0..self.rng.random_range(0..3))
            .map(|_| {
                let ty = Type::ALL[self.rng.random_range(0..Type::ALL.len())];
                (scope.expression(self.rng, ty, 1), ty)
            })
            // A constant would be a column's number, or nothing at all.
            .filter(|(text, _)| scope.columns.iter().any(|column| text.contains(&column.0)))
            .collect();
        let mut types: Vec<Type> = keys.iter().map(|key| key.1).collect();
        let mut items: Vec<String> = keys.iter().map(|key| key.0.clone()).collect();
        // Which of two equal columns a set leaves NULL, PostgreSQL decides by their numbers.
        let differ = (1..items.len()).all(|n| !items[..n].contains(&items[n]));
        let has_sets = differ && !keys.is_empty() && self.rng.random_bool(0.4);
        if has_sets && self.rng.random_bool(0.5) {
            items.push(format!("GROUPING({})", items.join(", ")));
            types.push(Type::Int);
        }
        for _ in 0..self.rng.random_range(1..4) {
            let (text, ty) = match self.rng.random_bool(0.4) {
                true => self.rich_aggregate(&scope),
                false => self.aggregate(&scope),
            };
            items.push(text);
            types.push(ty);
        }
        let shown: Vec<String> =
            items.iter().enumerate().map(|(n, item)| format!("{item} AS c{n}")).collect();
        let mut sql = format!("SELECT {} FROM {from}{condition}", shown.join(", "));
        if has_sets {
            sql = format!("{sql} {}", self.grouping(keys.len()));
        } else if !keys.is_empty() {
            let numbers: Vec<String> = (1..=keys.len()).map(|n| n.to_string()).collect();
            sql = format!("{sql} GROUP BY {}", numbers.join(", "));
        }
        if self.rng.random_bool(0.25) {
            sql = format!("{sql} HAVING count(*) > {}", self.rng.random_range(0..3));
        }
        Query { sql, types }
    }

    fn aggregate(&mut self, scope: &Scope) -> (String, Type) {
        let kinds = [Type::Int, Type::Numeric, Type::Float];
        let number = kinds[self.rng.random_range(0..kinds.len())];
        let any = Type::ALL[self.rng.random_range(0..Type::ALL.len())];
        let ordered = if any.has_extremes() { any } else { Type::Text };
        let total = if number == Type::Int { Type::Big } else { number };
        let mean = if number == Type::Float { Type::Float } else { Type::Numeric };
        let (text, ty) = match self.rng.random_range(0..8) {
            0 => ("count(*)".to_string(), Type::Big),
            1 => (format!("count({})", scope.expression(self.rng, any, 1)), Type::Big),
            2 => (format!("sum({})", scope.expression(self.rng, number, 1)), total),
            3 => (format!("avg({})", scope.expression(self.rng, number, 1)), mean),
            4 => (format!("min({})", scope.expression(self.rng, ordered, 1)), ordered),
            5 => (format!("max({})", scope.expression(self.rng, ordered, 1)), ordered),
            6 => (format!("bool_or({})", scope.expression(self.rng, Type::Bool, 1)), Type::Bool),
            _ => (format!("count(DISTINCT {})", scope.expression(self.rng, any, 1)), Type::Big),
        };
        if self.rng.random_bool(0.15) {
            let condition = scope.expression(self.rng, Type::Bool, 1);
            return (format!("{text} FILTER (WHERE {condition})"), ty);
        }
        (text, ty)
    }
}
