//! Random calls over windows.
//!
//! They are computed over the columns `c0`, `c1`, … of a query, and shown beside them. What depends
//! on the order of peers is computed in an order of all columns, so that peers are alike in all
//! that is shown, and it makes no difference which of them is which.

use rand::Rng;

use crate::query::{Maker, Query, Type};

/// What one window is.
struct Window {
    /// The columns of its order, with directions.
    order: Vec<String>,
    /// The type of the single column that it is ordered by.
    single: Option<Type>,
    /// PARTITION BY and ORDER BY.
    text: String,
    /// Whether peers are alike in all that is shown.
    whole: bool,
}

impl Maker<'_> {
    /// A query with windows over another.
    pub fn windows(&mut self, depth: usize) -> Query {
        let mut inner = self.query(depth);
        // Their sums depend on the order of the rows.
        if inner.types.contains(&Type::Float) {
            inner = self.query_without_floats(depth);
        }
        let (name, cut) = (self.name(), self.name());
        let count = inner.types.len();
        // PostgreSQL takes the square of the number of rows for some frames.
        let numbers: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        let (numbers, rows) = (numbers.join(", "), self.rng.random_range(1..60));
        let few = format!("SELECT * FROM ({}) {cut} ORDER BY {numbers} LIMIT {rows}", inner.sql);
        let mut items: Vec<String> = (0..count).map(|n| format!("c{n}")).collect();
        let mut types = inner.types.clone();
        // Rows that are alike are told apart by one window only: how two orders of them go
        // together is nobody's promise.
        let mut may_be_whole = true;
        for _ in 0..self.rng.random_range(1..4) {
            let window = self.window(&inner.types, may_be_whole);
            may_be_whole &= !window.whole;
            for _ in 0..self.rng.random_range(1..3) {
                let (text, ty) = self.call(&inner.types, &window);
                items.push(format!("{text} AS c{}", types.len()));
                types.push(ty);
            }
        }
        let sql = format!("SELECT {} FROM ({few}) {name}", items.join(", "));
        Query { sql, types }
    }

    /// The first rows by some of the columns, and their peers.
    pub fn ties(&mut self, depth: usize) -> Query {
        // Sums of floats that are equal here may differ there, by the order of the rows.
        let inner = self.query_without_floats(depth);
        let (name, count) = (self.name(), self.rng.random_range(1..6));
        let order = self.order_of(inner.types.len(), 2).join(", ");
        let sql = format!(
            "SELECT * FROM ({}) {name} ORDER BY {order} FETCH FIRST {count} ROWS WITH TIES",
            inner.sql
        );
        Query { sql: format!("SELECT * FROM ({sql}) {name}"), ..inner }
    }

    pub fn query_without_floats(&mut self, depth: usize) -> Query {
        let before = self.wholes.len();
        loop {
            let query = self.query(depth);
            if !query.types.contains(&Type::Float) {
                return query;
            }
            self.wholes.truncate(before);
        }
    }

    /// So many columns at most, in any order and direction.
    fn order_of(&mut self, columns: usize, most: usize) -> Vec<String> {
        let directions = ["", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"];
        let first = self.rng.random_range(0..columns);
        (0..columns.min(most))
            .map(|n| {
                let direction = directions[self.rng.random_range(0..directions.len())];
                format!("c{}{direction}", (first + n) % columns)
            })
            .collect()
    }

    fn window(&mut self, types: &[Type], may_be_whole: bool) -> Window {
        let most = match self.rng.random_range(0..6) {
            0 => 0,
            1 | 2 => 1,
            3 => 2,
            _ => types.len(),
        };
        let order = self.order_of(types.len(), most);
        let single = match &order[..] {
            [column] => {
                let number = column.split(' ').next().and_then(|c| c[1..].parse::<usize>().ok());
                number.map(|n| types[n])
            }
            _ => None,
        };
        let mut text = match self.rng.random_bool(0.5) {
            true => format!("PARTITION BY c{} ", self.rng.random_range(0..types.len())),
            false => String::new(),
        };
        if !order.is_empty() {
            text = format!("{text}ORDER BY {} ", order.join(", "));
        }
        let whole = may_be_whole && order.len() == types.len();
        Window { order, single, text, whole }
    }

    /// A frame, and whether it counts rows.
    fn frame(&mut self, window: &Window) -> (String, bool) {
        let by_range = matches!(
            window.single,
            Some(Type::Int | Type::Big | Type::Numeric | Type::Date | Type::Stamp)
        );
        let mut modes = vec!["RANGE"];
        if window.whole {
            modes.extend(["ROWS", "ROWS"]);
        }
        if !window.order.is_empty() {
            modes.push("GROUPS");
        }
        let mode = modes[self.rng.random_range(0..modes.len())];
        let offsets = mode != "RANGE" || by_range;
        let mut offset = || match (mode, window.single) {
            ("RANGE", Some(Type::Date | Type::Stamp)) => {
                let intervals = ["'0'", "'1 day'", "'1 mon'", "interval '3 hours'", "'1 year'"];
                intervals[self.rng.random_range(0..intervals.len())].to_string()
            }
            ("RANGE", Some(Type::Numeric)) => format!("{}.5", self.rng.random_range(0..9)),
            _ => self.rng.random_range(0..5).to_string(),
        };
        let bounds = [
            "UNBOUNDED PRECEDING".to_string(),
            format!("{} PRECEDING", offset()),
            "CURRENT ROW".to_string(),
            format!("{} FOLLOWING", offset()),
            "UNBOUNDED FOLLOWING".to_string(),
        ];
        let other = [String::new(), format!("{} PRECEDING", offset()), String::new()];
        let allowed: Vec<usize> = if offsets { (0..5).collect() } else { vec![0, 2, 4] };
        let start = allowed[self.rng.random_range(0..allowed.len() - 1)];
        let ends: Vec<usize> =
            allowed.into_iter().filter(|end| *end >= start && *end > 0).collect();
        let end = ends[self.rng.random_range(0..ends.len())];
        let text = match end {
            1 => &other[1],
            end => &bounds[end],
        };
        let exclusions = ["", "", "", " EXCLUDE CURRENT ROW", " EXCLUDE GROUP", " EXCLUDE TIES"];
        let mut exclusion = exclusions[self.rng.random_range(0..exclusions.len())];
        // There PostgreSQL's first_value differs from the first of its own array_agg (or fails,
        // XX000): it takes the row itself for one of the frame.
        if exclusion == " EXCLUDE TIES" && (start > 2 || end < 2) {
            exclusion = "";
        }
        (format!("{mode} BETWEEN {} AND {text}{exclusion}", bounds[start]), mode == "ROWS")
    }

    fn call(&mut self, types: &[Type], window: &Window) -> (String, Type) {
        let argument = self.rng.random_range(0..types.len());
        let (c, ty) = (format!("c{argument}"), types[argument]);
        let Window { text, whole, .. } = window;
        let (frame, _) = match self.rng.random_bool(0.7) {
            true => self.frame(window),
            false => (String::new(), false),
        };
        let places = ["rank", "dense_rank", "percent_rank", "cume_dist"];
        if *whole && self.rng.random_bool(0.4) {
            let number = self.rng.random_range(1..4);
            let (call, ty) = match self.rng.random_range(0..7) {
                0 => ("row_number()".to_string(), Type::Big),
                1 => (format!("ntile({number})"), Type::Int),
                2 => (format!("lag({c}, {})", number - 1), ty),
                3 => (format!("lead({c})"), ty),
                4 => (format!("first_value({c})"), ty),
                5 => (format!("last_value({c})"), ty),
                _ => (format!("nth_value({c}, {number})"), ty),
            };
            return (format!("{call} OVER ({text}{frame})"), ty);
        }
        let (call, ty) = match self.rng.random_range(0..8) {
            n @ 0..2 => {
                let place = places[self.rng.random_range(n * 2..n * 2 + 2)];
                let ty = if n == 0 { Type::Big } else { Type::Float };
                return (format!("{place}() OVER ({text}{frame})"), ty);
            }
            2 => ("count(*)".to_string(), Type::Big),
            3 => (format!("count({c})"), Type::Big),
            4 if ty == Type::Bool => (format!("bool_and({c})"), Type::Bool),
            4 if ty.has_extremes() => (format!("min({c})"), ty),
            5 if ty == Type::Bool => (format!("bool_or({c})"), Type::Bool),
            5 if ty.has_extremes() => (format!("max({c})"), ty),
            6 if ty == Type::Int => (format!("sum({c})"), Type::Big),
            6 if matches!(ty, Type::Big | Type::Numeric) => (format!("sum({c})"), Type::Numeric),
            7 if matches!(ty, Type::Int | Type::Big | Type::Numeric) => {
                (format!("avg({c})"), Type::Numeric)
            }
            _ => ("count(*)".to_string(), Type::Big),
        };
        let filter = match self.rng.random_bool(0.15) {
            true => format!(" FILTER (WHERE {c} IS NOT NULL)"),
            false => String::new(),
        };
        (format!("{call}{filter} OVER ({text}{frame})"), ty)
    }
}
