//! TPC-H's data and queries.

use std::collections::BTreeMap;
use std::fmt::Display;

use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator,
    PartSuppGenerator, RegionGenerator, SupplierGenerator,
};

pub const SCHEMA: &str = include_str!("schema.sql");
const QUERIES: &str = include_str!("queries.sql");

/// Tables whose rows do not change, as COPY takes them.
pub type Fixed = Vec<(&'static str, String)>;

/// The orders, and the lines of each, as COPY takes them.
pub struct Orders {
    pub orders: Vec<(i64, String)>,
    pub lines: BTreeMap<i64, String>,
}

/// One line of COPY's text form; the generator ends each with a separator too many.
fn line(row: impl Display) -> String {
    let row = row.to_string();
    format!("{}\n", row.strip_suffix('|').unwrap_or(&row))
}

fn lines<R: Display>(rows: impl IntoIterator<Item = R>) -> String {
    rows.into_iter().map(line).collect()
}

/// The tables that do not change.
pub fn fixed(scale: f64) -> Fixed {
    vec![
        ("region", lines(RegionGenerator::new(scale, 1, 1))),
        ("nation", lines(NationGenerator::new(scale, 1, 1))),
        ("part", lines(PartGenerator::new(scale, 1, 1))),
        ("supplier", lines(SupplierGenerator::new(scale, 1, 1))),
        ("partsupp", lines(PartSuppGenerator::new(scale, 1, 1))),
        ("customer", lines(CustomerGenerator::new(scale, 1, 1))),
    ]
}

/// The tables that change, by order.
pub fn orders(scale: f64) -> Orders {
    let orders = OrderGenerator::new(scale, 1, 1).iter().map(|o| (o.o_orderkey, line(o)));
    let mut all = Orders { orders: orders.collect(), lines: BTreeMap::new() };
    for item in LineItemGenerator::new(scale, 1, 1).iter() {
        all.lines.entry(item.l_orderkey).or_default().push_str(&line(item));
    }
    all
}

/// The queries, by number.
pub fn queries() -> Vec<(usize, &'static str)> {
    let texts = QUERIES.split(";\n").map(str::trim).filter(|text| !text.is_empty());
    texts.enumerate().map(|(index, text)| (index + 1, text)).collect()
}
