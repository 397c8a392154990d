//! The tables of the oracle, their rows, and how they change.

use rand::Rng;
use rand::rngs::StdRng;

use crate::array;
use crate::documents;
use crate::query::Type;
use crate::ranges;
use crate::times;
use crate::user_types;
use crate::values;

/// A table: its name, and its columns by name, type as SQL spells it, and kind.
pub struct Table {
    pub name: &'static str,
    pub columns: &'static [(&'static str, &'static str, Type)],
    /// How many rows it starts with.
    pub rows: usize,
}

/// Small domains, so that joins meet and groups are more than one row; NULLs everywhere but keys.
pub const TABLES: &[Table] = &[
    Table {
        name: "t1",
        columns: &[
            ("id", "int4 PRIMARY KEY", Type::Int),
            ("a", "int4", Type::Int),
            ("b", "int8", Type::Big),
            ("c", "text", Type::Text),
            ("d", "numeric(8,2)", Type::Numeric),
            ("e", "float8", Type::Float),
            ("f", "bool", Type::Bool),
            ("g", "date", Type::Date),
            ("j", "jsonb", Type::Doc),
            ("m", "timestamptz", Type::Moment),
            ("o", "mood", Type::Mood),
            ("p", "pair", Type::Pair),
        ],
        rows: 40,
    },
    Table {
        name: "t2",
        columns: &[
            ("a", "int4", Type::Int),
            ("c", "text", Type::Text),
            ("d", "numeric(8,2)", Type::Numeric),
            ("h", "timestamp", Type::Stamp),
            ("i", "int4[]", Type::Ints),
            ("b", "varbit", Type::Bits),
            ("r", "int4range", Type::Range),
            ("m", "int4multirange", Type::Multi),
            ("n", "inet", Type::Net),
            ("s", "interval", Type::Span),
            ("o", "mood", Type::Mood),
            ("l", "small", Type::Small),
            ("q", "numrange", Type::Spread),
        ],
        rows: 30,
    },
    Table {
        name: "t3",
        columns: &[
            ("k", "int8", Type::Big),
            ("c", "text", Type::Text),
            ("f", "bool NOT NULL", Type::Bool),
            ("e", "float8", Type::Float),
            ("n", "inet", Type::Net),
            ("s", "interval", Type::Span),
            ("m", "timestamptz", Type::Moment),
            ("j", "jsonb", Type::Doc),
            ("r", "int4range", Type::Range),
            ("l", "small", Type::Small),
            ("p", "pair", Type::Pair),
            ("q", "numrange", Type::Spread),
        ],
        rows: 15,
    },
];

/// The statements that make the tables.
pub fn schema() -> Vec<String> {
    let types = user_types::TYPES.iter().map(|sql| (*sql).to_string());
    types.chain(TABLES.iter().map(create)).collect()
}

/// The statement that makes a table.
fn create(table: &Table) -> String {
    let columns = table.columns.iter().map(|(name, ty, _)| format!("{name} {ty}"));
    format!("CREATE TABLE {} ({})", table.name, columns.collect::<Vec<_>>().join(", "))
}

/// A value of a type, from a small domain.
pub fn literal(rng: &mut StdRng, ty: Type) -> String {
    match ty {
        Type::Int => rng.random_range(-3..10).to_string(),
        Type::Big => format!("{}::int8", rng.random_range(-2..12)),
        Type::Numeric => format!("{:.2}", f64::from(rng.random_range(-400..900)) / 100.0),
        Type::Float => match rng.random_range(0..20) {
            0 => "'NaN'::float8".to_string(),
            n => format!("{}::float8", f64::from(n) / 4.0),
        },
        Type::Text => {
            let words = ["", "a", "b", "ab", "Ab", "abc", "é", "x y", "10"];
            format!("'{}'::text", words[rng.random_range(0..words.len())])
        }
        Type::Bool => rng.random_bool(0.5).to_string(),
        Type::Date => {
            format!("date '2024-0{}-1{}'", rng.random_range(1..4), rng.random_range(0..9))
        }
        Type::Stamp => {
            let (month, hour) = (rng.random_range(1..4), rng.random_range(0..10));
            format!("timestamp '2024-0{month}-15 0{hour}:30:00'")
        }
        Type::Ints => array::literal(rng),
        Type::Bits => values::bits(rng),
        Type::Net => values::address(rng),
        Type::Span => times::span(rng),
        Type::Moment => times::moment(rng),
        Type::Doc => documents::document(rng),
        Type::Range => ranges::range(rng),
        Type::Multi => ranges::multirange(rng),
        Type::Mood => user_types::mood(rng),
        Type::Small => user_types::small(rng),
        Type::Pair => user_types::pair(rng),
        Type::Spread => user_types::spread(rng),
    }
}

fn row(rng: &mut StdRng, table: &Table, id: &mut i32) -> String {
    let values = table.columns.iter().map(|(name, ty, kind)| {
        if *name == "id" {
            *id += 1;
            return id.to_string();
        }
        if !ty.ends_with("NOT NULL") && rng.random_bool(0.15) {
            return "NULL".to_string();
        }
        literal(rng, *kind)
    });
    format!("({})", values.collect::<Vec<_>>().join(", "))
}

/// A statement that fills a table.
pub fn fill(rng: &mut StdRng, table: &Table, id: &mut i32) -> String {
    let rows: Vec<String> = (0..table.rows).map(|_| row(rng, table, id)).collect();
    format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "))
}

/// One to three statements that change tables.
pub fn change(rng: &mut StdRng, id: &mut i32) -> Vec<String> {
    let count = rng.random_range(1..4);
    (0..count).map(|_| change_one(rng, id)).collect()
}

fn change_one(rng: &mut StdRng, id: &mut i32) -> String {
    let table = &TABLES[rng.random_range(0..TABLES.len())];
    let column = |rng: &mut StdRng| {
        let first = usize::from(table.columns[0].0 == "id");
        table.columns[rng.random_range(first..table.columns.len())]
    };
    match rng.random_range(0..5) {
        4 => merge(rng, id),
        0 => {
            let (name, _, kind) = column(rng);
            format!("DELETE FROM {} WHERE {name} = {}", table.name, literal(rng, kind))
        }
        1 => {
            let ((set, _, kind), (name, _, other)) = (column(rng), column(rng));
            let (value, bound) = (literal(rng, kind), literal(rng, other));
            format!("UPDATE {} SET {set} = {value} WHERE {name} >= {bound}", table.name)
        }
        _ => {
            let rows: Vec<String> =
                (0..rng.random_range(1..5)).map(|_| row(rng, table, id)).collect();
            format!("INSERT INTO {} VALUES {}", table.name, rows.join(", "))
        }
    }
}

/// A statement that changes, deletes and inserts.
fn merge(rng: &mut StdRng, id: &mut i32) -> String {
    *id += 1;
    let first = rng.random_range(1..=*id);
    let last = *id + 1;
    *id = last;
    let (number, label) = (literal(rng, Type::Int), literal(rng, Type::Mood));
    format!(
        "MERGE INTO t1 USING (SELECT id, {number} AS a FROM generate_series({first}, {last}, 3) \
         id) s ON t1.id = s.id WHEN MATCHED AND t1.a > s.a THEN DELETE WHEN MATCHED THEN UPDATE \
         SET a = s.a, o = {label} WHEN NOT MATCHED AND s.id % 2 = 0 THEN INSERT (id, a) VALUES \
         (s.id, s.a)"
    )
}
